// Fidelity `link`: inside one side of the machine memory is coherent and immediate, or as x86 has it; what crosses the link between
// the sides is late, by the rules of transport.h.
#pragma once

#include <heddle/sim/memory/late_memory.h>
#include <heddle/sim/memory/link/hasty_stores.h>
#include <heddle/sim/memory/link/orders.h>
#include <heddle/sim/memory/link/transport.h>
#include <heddle/sim/settings/link.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace heddle::sim {

struct run_core;

/// Memory of the simulator's heap and of the program's own variables; the C++ heap is immediate, since it is not known when it is given
/// back. Variables of the program lie in the host's memory.
class link_memory final : public late_memory, private transport::surroundings {
 public:
  link_memory(run_core& core, arrival_listener& arrivals);

  void reset() override;
  void begins(lane& fresh, const lane* by) override;
  void let_arrive(lane& self) override;
  bool all_arrives(lane& self) override;
  bool something_arrives(lane& self) override;

  uint64_t load(lane& self, const operation& how) override;
  void store(lane& self, const operation& how, uint64_t value) override;
  uint64_t read_modify_write(lane& self, const operation& how, const modification& next) override;
  void fence(lane& self, const operation& how) override;
  void store_fence(lane& self, const operation& how) override;
  wide_value load_wide(lane& self, const operation& how) override;
  void store_wide(lane& self, const operation& how, wide_value value) override;
  wide_value modify_wide(lane& self, const operation& how, const wide_modification& next) override;
  void before_plain_load(lane& self, const operation& how) override;
  void before_plain_store(lane& self, const operation& how) override;
  void after_plain(lane& self) override;
  bool withdraw_store(lane& self, const void* loaded) override;
  void see_again(lane& self) override;
  void look_again(lane& self, const operation& how) override;

  void meet(lane* const* lanes, size_t count) override;
  void order(const lane& first, lane& then) override;
  void release_object(lane& self, const void* object) override;
  void acquire_object(lane& self, const void* object) override;
  void released(lane& self, const void* address, size_t size_bytes) override;

  bool tell(state_reader& to, const still_to_come& others) override;
  bool is_under_way() const override { return !link_.empty(); }
  void take_notes(search_notes* into) override { notes_ = into; }

  std::string overtakings() const override;
  std::string what_is_late() const override;
  /// Virtual time of the run so far; 0 when latency is not simulated.
  uint64_t virtual_ns() const { return link_.now_ns(); }

 private:
  /// Bytes that are not the newest ones while the code under test makes a plain access, and those that are.
  struct replaced {
    std::byte* address = nullptr;
    std::vector<std::byte> newest;
  };
  /// A launch, as its first wave sees it.
  struct kernel_start {
    uint64_t at_ns = 0;
    bool drawn = false;
  };

  /// A lane's last load of some bytes, where it has found an older value than there was, or has missed a store that was under way; in a run
  /// that is explained.
  struct late_load {
    const lane* by = nullptr;
    const void* address = nullptr;
    uint64_t step = 0;
    bool found_old = false;
    store_under_way missed;  ///< of no bytes: none
    whereabouts where = whereabouts::device;
  };
  /// The lane is about to load, or has loaded, across the link.
  void begin_load() { found_old_ = false; }
  void end_load(const lane& self, const operation& how);

  uint32_t choose(uint32_t thread, transport::question what, uint32_t count) override;
  void arrived(const store_under_way& what, bool changed) override;

  void note_forgotten();
  /// A store to memory that is immediate: what the lane has stored before comes first.
  void before_hasty_store(lane& self, const operation& how);
  /// In a search: whether the lane's access may miss a store that was made at once.
  void look_at_hasty(const lane& self, const operation& how, bool loads);
  void drained(const lane& self) {
    if (notes_ != nullptr) hasty_.drained(self.id);
  }
  bool covers(const void* address) const;
  bool is_on_device(const void* address) const;
  bool combines(const void* address) const;
  transport::access access_of(const operation& how) const;
  void show(std::byte* address, const std::byte* bytes, size_t size_bytes);
  void put_back();
  void start_kernel(lane& self);

  run_core& core_;
  arrival_listener& arrivals_;
  link_settings settings_;
  transport link_;
  std::vector<const lane*> lanes_;     ///< by thread
  lane* asking_ = nullptr;             ///< whose operation is performed
  std::vector<kernel_start> kernels_;  ///< by number of the kernel
  uint32_t lull_turns_ = 0;            ///< the longest in which nothing arrives, the next time that nothing is to
  uint32_t quiet_turns_ = 0;           ///< that are left of it
  std::vector<bool> started_;          ///< by thread: it has had a turn
  /// Which threads released an object: those of the host, with what each had stored by then, and the last one of the device; `none`: none did.
  struct releasers {
    struct thread_of_host {
      uint32_t thread = 0;
      uint64_t stores = 0;  ///< transport::stores_made()
    };
    std::vector<thread_of_host> hosts;
    uint32_t device = none;
  };
  static constexpr uint32_t none = ~uint32_t{0};
  std::unordered_map<const void*, releasers> releasers_;

  // The plain access that is being made; only one lane is in the code under test.
  std::vector<replaced> replaced_;  ///< in order; put back in the opposite one
  size_t replaced_used_ = 0;
  operation storing_;  ///< of no bytes: no store
  uint64_t storing_step_ = 0;
  std::vector<std::byte> own_;   ///< what the lane had at the address that it stores to
  std::vector<std::byte> seen_;  ///< what the last window showed
  const void* seen_at_ = nullptr;
  std::vector<std::byte> scratch_;
  hasty_stores hasty_;  ///< in a search
  std::vector<late_load> late_loads_;
  bool found_old_ = false;  ///< by the load that is performed
  search_notes* notes_ = nullptr;
};

}  // namespace heddle::sim
