// Stands between a run and its memory, and keeps the run's virtual time (virtual_clock.h): everything that orders lanes comes by here. It
// changes nothing and asks for no choice, so that a run with it is the run without it, to the bit.
#pragma once

#include <heddle/sim/call_times.h>
#include <heddle/sim/memory/immediate_memory.h>
#include <heddle/sim/memory/late_memory.h>
#include <heddle/sim/memory/load_times.h>
#include <heddle/sim/memory/timed/virtual_clock.h>
#include <heddle/sim/settings/timed.h>
#include <heddle/sim/space/devices.h>

#include <vector>

namespace heddle::sim {

struct run_core;

class timed_memory final : public late_memory, public load_times {
 public:
  timed_memory(run_core& core, const device_set& devices) : core_(core), devices_(devices) {}

  /// The run that begins has this memory; null: one memory for all. Its calls are told to `into`.
  void begin_run(late_memory* inner, const time_settings& costs, call_times& into);

  // -- what memory is not told of

  /// The lanes meet in something that carries values, and orders nothing else.
  void carry(lane* const* lanes, size_t count) override;
  /// The load that the lane is making has found the store of that step.
  void found(uint64_t store_step) override { found_step_ = store_step; }
  /// Blocks that start now start because of what the lane does.
  void starts_blocks(const lane& because) override { starter_ = &because; }
  uint64_t now(const lane& self) const override { return clock_.now(self.id); }
  void not_before(const lane& self, uint64_t time_ps) override {
    clock_.not_before(self.id, time_ps);
    note_time(self);
  }
  void lets_go_on(const lane& self, const void* object) override { clock_.gives(self.id, object); }
  /// What the lane does until the copy has ended is the copy, of so many bytes.
  void enters_copy(const lane& self, size_t size_bytes);
  void leaves_copy(const lane& self);
  /// The lane sleeps on the bell, which has not rung, for so long at most.
  void sleeps(const lane& self, const doorbell* bell, uint64_t timeout_ns);
  void call_begins(const lane& self);
  /// `answered`: it has come to something, and counts.
  void call_ends(const lane& self, bool answered);

  // -- late_memory

  void reset() override { inner_->reset(); }
  void begins(lane& fresh, const lane* by) override;
  void has_begun(const lane& fresh) override { inner_->has_begun(fresh); }
  void has_ended(const lane& last) override { inner_->has_ended(last); }
  void let_arrive(lane& self) override { inner_->let_arrive(self); }
  bool all_arrives(lane& self) override { return inner_->all_arrives(self); }
  bool something_arrives(lane& self) override { return inner_->something_arrives(self); }
  uint64_t load(lane& self, const operation& how) override;
  void store(lane& self, const operation& how, uint64_t value) override;
  uint64_t read_modify_write(lane& self, const operation& how, const modification& next) override;
  void fence(lane& self, const operation& how) override;
  void store_fence(lane& self, const operation& how) override { inner_->store_fence(self, how); }
  bool withdraw_store(lane& self, const void* loaded) override { return inner_->withdraw_store(self, loaded); }
  wide_value load_wide(lane& self, const operation& how) override;
  void store_wide(lane& self, const operation& how, wide_value value) override;
  wide_value modify_wide(lane& self, const operation& how, const wide_modification& next) override;
  void before_plain_load(lane& self, const operation& how) override;
  void before_plain_store(lane& self, const operation& how) override;
  void after_plain(lane& self) override { inner_->after_plain(self); }
  void see_again(lane& self) override { inner_->see_again(self); }
  void look_again(lane& self, const operation& how) override { inner_->look_again(self, how); }
  void meet(lane* const* lanes, size_t count) override;
  void order(const lane& first, lane& then) override;
  void arm(arm_event what, lane* const* lanes, size_t count) override { inner_->arm(what, lanes, count); }
  bool is_part_of_store(lane& self, const operation& how, const lane& by) override {
    return inner_->is_part_of_store(self, how, by);
  }
  void release_object(lane& self, const void* object) override;
  void acquire_object(lane& self, const void* object) override;
  void released(lane& self, const void* address, size_t size_bytes) override {
    inner_->released(self, address, size_bytes);
  }
  bool tell(state_reader& to, const still_to_come& others) override { return inner_->tell(to, others); }
  bool is_under_way() const override { return inner_->is_under_way(); }
  bool finds_nothing_new(const lane& self) override { return inner_->finds_nothing_new(self); }
  bool is_accessed_beside(const lane& self, const void* address, size_t size_bytes) const override {
    return inner_->is_accessed_beside(self, address, size_bytes);
  }
  void gives_frames(const lane& self, const std::byte* low, const std::byte* end) override {
    inner_->gives_frames(self, low, end);
  }
  void take_notes(search_notes* into) override { inner_->take_notes(into); }
  std::string overtakings() const override { return inner_->overtakings(); }
  std::string what_is_late() const override { return inner_->what_is_late(); }

 private:
  /// What the clock does not know of a lane.
  struct lane_calls {
    uint32_t depth = 0;                       ///< calls within calls are part of the outermost one
    uint64_t begun_at = 0;                    ///< that one
    bool launched = false;                    ///< it is of a kernel, and has not taken over when that was launched
    uint32_t in_copies = 0;                   ///< it performs a copy, which takes as long as copies do
    uint64_t noted = virtual_clock::forever;  ///< where its clock stood when that was told last
  };

  bool copies(const lane& self) const;
  /// Behind whatever may put its clock.
  void note_time(const lane& self);
  bool is_across(const lane& self, const void* address) const;
  uint64_t round_trip(const lane& self, const void* address);
  void fence_before(const lane& self, const operation& how);

  run_core& core_;
  const device_set& devices_;
  late_memory* inner_ = nullptr;
  immediate_memory immediate_;
  time_settings costs_;
  call_times* into_ = nullptr;
  virtual_clock clock_;
  std::vector<lane_calls> lanes_;
  std::vector<uint32_t> numbers_;  ///< of lanes that meet
  const lane* starter_ = nullptr;
  uint64_t found_step_ = 0;
};

}  // namespace heddle::sim
