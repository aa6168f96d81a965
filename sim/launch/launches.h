// Kernels, copies and streams: what is launched, when its blocks get a place on a device, and what comes after what.
#pragma once

#include <heddle/rpc/result.h>
#include <heddle/sim/convergence/lockstep_waves.h>
#include <heddle/sim/core/run_core.h>
#include <heddle/sim/launch/device_allocations.h>
#include <heddle/sim/machine/kernel.h>
#include <heddle/sim/wait/waits.h>

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace heddle::sim {

class launches {
 public:
  launches(run_core& core, device_allocations& memory, lockstep_waves& lockstep, waits& waiting)
      : core_(core), memory_(memory), lockstep_(lockstep), waits_(waiting) {}

  [[gnu::hot]] void reset() {
    kernels_running_ = 0;
    kernels_launched_ = device_waves_ = resident_waves_ = copies_given_ = 0;
    places_given_ = looked_at_ = 0;
    early_left_ = core_.machine.evictions_early;
    until_early_ = not_drawn;
  }
  /// Whether the run before has left streams, events or kernels.
  bool has_rest() const { return streams_used_; }
  void forget_rest();

  /// A kernel is launched by the lane's pending operation: its blocks start as soon as they may and fit. The number of blocks.
  uint32_t add(lane& self, const grid_shape& shape, const fiber_body& body, const void* bytes);
  /// Enqueues a copy in the stream, which a copy engine of its own performs by `how_to_run`. The number of the copy.
  uint32_t add_copy(lane& self, const stream_copy& what, uint32_t stream, const fiber_body& how_to_run);
  /// The last lane of a wave of a kernel has ended.
  void wave_ended(lane& last);
  /// The engine of a copy has ended.
  void copy_ended(lane& engine);
  /// Starts the blocks that may begin and fit. Where not all fit, those that were launched first get a place first.
  void start_blocks(lane& self);

  // -- places that are taken in turns (settings::evict) --------------------------------------------------------------------------------

  bool evicts() const { return core_.machine.evict != eviction::off; }
  /// Before a step: what waits for places gets those of waves whose turn is over. No lanes are taking a step together.
  void take_turns(lane& self);
  /// No lane that is promised a step can take one: turns end. Whether anything has got a place by that.
  bool take_turns_when_idle(lane& self);

  bool none_is_live() const { return kernels_.empty(); }
  const std::deque<launched_kernel>& kernels() const { return kernels_; }
  uint32_t launched() const { return kernels_launched_; }
  /// Whether everything that the launch comes after has ended.
  bool may_begin(const launched_kernel& runs) const;
  /// Whether waves of the device have no place on it that they could go on with. Of evicted ones, those of which no lane has had a turn in the
  /// fair tail behind this one.
  bool some_have_no_place(uint64_t turn) const;
  /// Launches of the device that have not ended: a word to wait for.
  const uint64_t& running(uint32_t device) const {
    return memory_.devices().size() == 1 ? kernels_running_ : memory_.devices()[device].running;
  }
  const uint64_t& running_anywhere() const { return kernels_running_; }
  /// 1 when the launch has ended: a word to wait for.
  const uint64_t& end_of_work(uint32_t launch) const { return kernel_ends_[launch]; }
  /// Whether the lane waits for the end of this work: of a kernel or a copy, or of a host thread.
  bool waits_for_end_of(const lane& who, const wave& work) const;
  /// The lane has seen that the device is idle: all that its kernels did happens before what the lane does next.
  void acquire_kernels(lane& self, uint32_t device);

  // Objects that are released and acquired: by a launch for its lanes, and by their ends for what waits for them.
  static const void* launch_of(uint32_t ordinal) { return reinterpret_cast<const void*>(uintptr_t{2} * ordinal + 2); }
  static const void* end_of(uint32_t ordinal) { return reinterpret_cast<const void*>(uintptr_t{2} * ordinal + 3); }

  // -- streams and events, named by numbers from 0; a number that is not one ends the run ---------------------------------------------

  /// Work of streams of higher priority gets places first.
  uint32_t create_stream(bool blocking, uint32_t device = 0, int32_t priority = 0);
  int32_t priority_of_stream(uint32_t stream) const { return stream < streams_.size() ? streams_[stream].priority : 0; }
  void destroy_stream(lane& self, uint32_t stream, const operation& how);
  /// Of a number that is no stream: 0.
  uint32_t device_of_stream(uint32_t stream) const { return stream < streams_.size() ? streams_[stream].device : 0; }
  uint32_t create_event();
  /// The launches that a wait for the stream waits for.
  std::vector<uint32_t> work_of(lane& self, uint32_t stream, const operation& how);
  std::vector<uint32_t>& event(lane& self, uint32_t event, const operation& how);
  /// The stream's later launches wait for these.
  void delay_stream(lane& self, uint32_t stream, const std::vector<uint32_t>& work, const operation& how);

  /// A device of these GPUs, with a default stream of its own.
  result<uint32_t> unify(std::span<const uint32_t> gpus);
  /// The GPU as another process has it; an error where there is no such GPU.
  result<uint32_t> open_process(uint32_t gpu);

  /// What of streams and counters can influence the future; false when the visitor has heard enough.
  bool visit_state(state_reader& to) const;
  /// What of kernels can, for a search.
  void visit_kernels(state_reader& to) const;

  void check_invariants() const;

 private:
  struct stream_state {
    bool blocking = true;  ///< takes part in the order of the default stream
    bool destroyed = false;
    uint32_t device = 0;
    int32_t priority = 0;
    std::vector<uint32_t> last;   ///< its latest launch, if any
    std::vector<uint32_t> waits;  ///< launches that its next one must wait for

    void forget() {
      blocking = true;
      destroyed = false;
      device = 0;
      priority = 0;
      last.clear();
      waits.clear();
    }
  };

  static uint64_t waves_of_block(const grid_shape& shape) {
    return (shape.block.count() + shape.wave_lanes - 1) / shape.wave_lanes;
  }
  void check_shape(lane& self, const grid_shape& shape) const;
  /// What waits for places on a GPU: a wave that has been evicted, or blocks that have not started.
  struct claim {
    launched_kernel* runs = nullptr;
    wave* back = nullptr;
    launched_kernel::share* blocks = nullptr;
    uint64_t since = 0;
    bool ready = false;  ///< it could take a step; otherwise it gets what places are left over
  };
  /// How far what has a place is with its turn.
  enum class standing : uint8_t {
    idle,          ///< it can take no step, or none that it is promised
    had_its_turn,  ///< it can, and has taken so many
    goes_on,
  };
  /// What has places, and is evicted as one.
  struct tenant {
    launched_kernel* runs = nullptr;
    wave* first = nullptr;
    uint64_t since = 0;
    uint32_t places = 0;
    standing stands = standing::idle;
  };
  /// Whether there are places for what waits.
  enum class room : uint8_t {
    free,
    by_eviction,  ///< of what may be evicted now
    later,        ///< when turns are over
    never,        ///< what has the places keeps them until it ends
  };
  place_turn& turn_of(wave& of) const { return core_.machine.evict == eviction::queue ? of.runs->place : of.place; }
  const place_turn& turn_of(const wave& of) const { return turn_of(const_cast<wave&>(of)); }
  template <typename Each>
  void for_each_placed(uint32_t gpu, Each&& each) {
    for (const launched_kernel& runs : kernels_)
      for (size_t n = 0; n < size_t{runs.blocks} * runs.waves_per_block; ++n)
        if (wave& of = core_.threads.waves[runs.first_wave + n]; of.live() && of.resident && of.gpu == gpu) each(of);
  }
  bool fits(uint32_t gpu, uint64_t places) const;
  void look_who_claims(uint32_t gpu);
  static uint32_t places_of(const claim& one);
  bool give_places(lane& self, uint32_t gpu, bool may_go);
  void place(lane& self, const claim& one);
  void begin_turn(wave& of);
  void begin_turns(uint32_t gpu);
  bool is_promised_turns(const wave& of) const;
  standing standing_of(const wave& of) const;
  void look_who_may_go(uint32_t gpu);
  void count_idle_steps();
  bool gives_way(const tenant& placed, const claim& to) const;
  bool may_be_evicted(const tenant& placed, const claim& to, bool idle) const;
  room room_for(uint32_t gpu, const claim& wanted, bool idle) const;
  void make_room(lane& self, uint32_t gpu, const claim& wanted, bool idle);
  void evict(const tenant& gone);
  void evict(wave& of, uint64_t now);
  void evict_early(lane& self);
  void evict_early(const tenant& gone);
  bool visit_turns(state_reader& to) const;
  void start_blocks_of(lane& self, launched_kernel& runs, launched_kernel::share& of);
  void start_block(launched_kernel& runs, uint32_t block);
  void deal_out(launched_kernel& added) const;
  void more_or_less_runs(lane& self, uint32_t device, uint64_t change);
  /// Takes the next number among launches, at the end of the stream; the work that must end before it.
  std::vector<uint32_t> take_place_in(uint32_t stream, lane& self);
  void kernel_ended(lane& self);
  /// The kernel or copy of this number has ended: others may begin.
  void work_ended(lane& self, uint32_t ordinal);
  std::vector<uint32_t> work_before(uint32_t stream) const;
  void check_stream(lane& self, uint32_t stream, const operation& how) const;
  bool visit_streams(state_reader& to) const;

  run_core& core_;
  device_allocations& memory_;
  lockstep_waves& lockstep_;
  waits& waits_;
  std::deque<launched_kernel> kernels_;        ///< launched; the first has not ended, others may have
  std::deque<uint64_t> kernel_ends_;           ///< by launch: 1 when it has ended; watched by what waits for it
  std::vector<uint32_t> launch_devices_;       ///< by launch
  std::vector<stream_state> streams_;          ///< the first is the default stream
  std::vector<std::vector<uint32_t>> events_;  ///< the launches that each waits for
  bool streams_used_ = false;                  ///< in this run
  uint64_t kernels_running_ = 0;               ///< on all devices
  uint32_t kernels_launched_ = 0;
  uint32_t device_waves_ = 0;
  uint32_t resident_waves_ = 0;
  uint32_t copies_given_ = 0;  ///< to streams
  bool prioritised_ = false;   ///< some stream of this run has another priority than the others

  // Where places are taken in turns.
  static constexpr uint32_t not_drawn = ~uint32_t{0};
  uint64_t places_given_ = 0;         ///< or taken, or asked for
  uint64_t looked_at_ = 0;            ///< the step before which turns were looked at last
  uint32_t early_left_ = 0;           ///< evictions of what has not had its turn
  uint32_t until_early_ = not_drawn;  ///< looks before the next of them
  std::vector<claim> claims_;         ///< of one look
  std::vector<tenant> tenants_;
};

}  // namespace heddle::sim
