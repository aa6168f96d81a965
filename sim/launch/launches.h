// Kernels, copies and streams: what is launched, when its blocks get a place on a device, and what comes after what.
#pragma once

#include <heddle/rpc/result.h>
#include <heddle/sim/convergence/lockstep_waves.h>
#include <heddle/sim/core/run_core.h>
#include <heddle/sim/launch/bulk_copies.h>
#include <heddle/sim/launch/device_allocations.h>
#include <heddle/sim/launch/early_begins.h>
#include <heddle/sim/launch/evictions.h>
#include <heddle/sim/launch/function_turns.h>
#include <heddle/sim/machine/kernel.h>
#include <heddle/sim/wait/waits.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heddle::sim {

class command_driver;

struct event_state {
  std::vector<uint32_t> work;  ///< the launches that it waits for
  bool recorded = false;
  bool destroyed = false;
};

class launches {
 public:
  launches(run_core& core, device_allocations& memory, lockstep_waves& lockstep, waits& waiting);
  ~launches();

  /// The settings of the runs from the next one on are others. `drives`: what the driver's actor runs (execution::drive()).
  void take_settings(const fiber_body* drives);

  [[gnu::hot]] void reset() {
    kernels_running_ = 0;
    kernels_launched_ = device_waves_ = resident_waves_ = copies_given_ = named_launches_ = 0;
    seen_idle_ = {};
    functions_.forget();
    bulk_.reset();
    evictions_.reset();
    if (commands_ != nullptr) [[unlikely]]
      begin_commands();
  }
  /// Whether the run before has left streams, events or kernels.
  bool has_rest() const { return streams_used_; }
  void forget_rest();

  /// A kernel is launched by the lane's pending operation: its blocks start as soon as they may and fit. The number of blocks.
  uint32_t add(lane& self, const grid_shape& shape, const fiber_body& body, const void* bytes);
  /// Enqueues a copy in the stream, which a copy engine of its own performs by `how_to_run`. The number of the copy.
  uint32_t add_copy(lane& self, const stream_copy& what, uint32_t stream, const fiber_body& how_to_run);
  /// Starts an engine for a copy that has its place among launches: a copy engine is a lane of its own.
  lane& start_engine(lane& self, const stream_copy& what, const place_in_stream& at, const std::string& name,
                     const fiber_body& how_to_run);
  /// The last lane of a wave of a kernel has ended.
  void wave_ended(lane& last);
  /// The engine of a copy has ended.
  void copy_ended(lane& engine);
  /// Starts the blocks that may begin and fit. Where not all fit, those that were launched first get a place first.
  void start_blocks(lane& self);

  /// What of places is taken in turns (settings::evict).
  evictions& turns() { return evictions_; }
  const evictions& turns() const { return evictions_; }
  /// Starts blocks of the kernel that this GPU is to start, as many as fit.
  void start_blocks_of(lane& self, launched_kernel& runs, launched_kernel::share& of);
  /// So many more waves have a place on the GPU, or fewer.
  void more_have_places(uint32_t gpu, uint32_t change) {
    resident_waves_ += change;
    memory_.devices()[gpu].resident += change;
  }

  /// Those that lanes of kernels have issued.
  bulk_copies& bulk() { return bulk_; }
  /// Of kernels that may begin early. When a block of the device lets them, start_blocks() comes next.
  early_begins& early() { return early_; }
  /// Of functions of the host.
  function_turns& functions() { return functions_; }

  std::deque<launched_kernel>& kernels() { return kernels_; }
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

  // -- the driver, where its commands are stepped (settings::detail) ------------------------------------------------------------------

  /// Null where they are not.
  command_driver* commands() const { return commands_.get(); }
  /// What changes when a lane that waits for a page may find it; null where none can wait.
  const uint64_t* news_of_pages() const;
  /// The driver's actor does one thing; false when there is nothing to do.
  bool drive(lane& self);
  /// Enqueues the flush that must go before a copy from there by a host thread. Its number; none where it need not.
  std::optional<uint32_t> flush_before_copy(lane& self, uint32_t device, const void* from);

  // -- streams and events, named by numbers from 0; a number that is not one ends the run ---------------------------------------------

  /// Work of streams of higher priority gets places first.
  uint32_t create_stream(bool blocking, uint32_t device = 0, int32_t priority = 0);
  int32_t priority_of_stream(uint32_t stream) const { return stream < streams_.size() ? streams_[stream].priority : 0; }
  void destroy_stream(lane& self, uint32_t stream, const operation& how);
  /// Of a number that is no stream: 0.
  uint32_t device_of_stream(uint32_t stream) const { return stream < streams_.size() ? streams_[stream].device : 0; }
  uint32_t create_event();
  void destroy_event(lane& self, uint32_t event, const operation& how);
  /// The launches that a wait for the stream waits for.
  std::vector<uint32_t> work_of(lane& self, uint32_t stream, const operation& how);
  event_state& event(lane& self, uint32_t event, const operation& how);
  /// The event stands for all that the stream has been given by now.
  void record(lane& self, uint32_t event, uint32_t stream, const operation& how);
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
  void start_block(launched_kernel& runs, uint32_t block);
  void deal_out(launched_kernel& added) const;
  void more_or_less_runs(lane& self, uint32_t device, uint64_t change);
  /// Takes the next number among launches, at the end of the stream; the work that must end before it.
  std::vector<uint32_t> take_place_in(uint32_t stream, lane& self);
  void begin_commands();
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
  std::deque<launched_kernel> kernels_;   ///< launched; the first has not ended, others may have
  std::deque<uint64_t> kernel_ends_;      ///< by launch: 1 when it has ended; watched by what waits for it
  std::vector<uint32_t> launch_devices_;  ///< by launch
  std::vector<uint32_t> launch_streams_;  ///< likewise
  std::vector<stream_state> streams_;     ///< the first is the default stream
  std::vector<event_state> events_;
  bool streams_used_ = false;     ///< in this run
  uint64_t kernels_running_ = 0;  ///< on all devices
  /// The lane that has acquired the ends of so many launches last, all there were: it need not do so again.
  struct {
    uint32_t by = ~uint32_t{0};
    uint32_t device = 0;
    uint32_t launches = 0;
  } seen_idle_;
  uint32_t kernels_launched_ = 0;
  uint32_t device_waves_ = 0;
  uint32_t resident_waves_ = 0;
  uint32_t copies_given_ = 0;    ///< to streams
  uint32_t named_launches_ = 0;  ///< grid_shape::named
  early_begins early_;
  function_turns functions_;
  bulk_copies bulk_{core_};
  bool prioritised_ = false;  ///< some stream of this run has another priority than the others

  evictions evictions_{core_, memory_, lockstep_, *this};
  std::unique_ptr<command_driver> commands_;   ///< null where commands are no steps
  std::vector<uint32_t> streams_for_flushes_;  ///< by device
};

}  // namespace heddle::sim
