// The driver of driver/ at work on the simulated machine (settings::detail): launches, copies and flushes are commands in its queues.
//
// An actor of the run, "host driver", executes them, and its steps are chosen like those of any other. It is there while there is a command:
// the thread that enqueues the first one begins it, and it ends when all queues are empty. What devices do for the driver is done by lanes: blocks of
// kernels, of which the driver is told when they have ended, and copy engines. So what the schedule leaves open is left open here, too: which
// queue goes on, when an answer is looked at, and what kernels, copies and host threads do meanwhile.
//
// Three copies go before each launch, as the room has it: of its code, its arguments and its packet. A device has them from there alone.
#pragma once

#include <heddle/driver/gpu_driver.h>
#include <heddle/sim/core/run_core.h>
#include <heddle/sim/launch/device_allocations.h>
#include <heddle/sim/machine/kernel.h>
#include <heddle/sim/wait/waits.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace heddle::sim {

class launches;

/// Work, a launch or a copy or a flush, goes by its number among the run's launches; streams by theirs.
class command_driver final : private driver::work_group_runner,
                             private driver::byte_mover,
                             private driver::trace_listener {
 public:
  /// `drives` is what the actor runs; it must call step().
  command_driver(run_core& core, device_allocations& memory, launches& launched, waits& waiting,
                 const fiber_body& drives);
  ~command_driver() override;

  /// What the driver of each run is made with; the devices' memory belongs to it (device_set::reset).
  const device_set::hands& hands() const { return hands_; }
  void reset();

  // -- what is enqueued, by a host thread's pending operation

  /// The work of this number comes next in the stream, behind these.
  void launch(lane& self, launched_kernel& runs);
  void copy(lane& self, const stream_copy& what, const place_in_stream& at, const fiber_body& how_to_run);
  void flush(lane& self, const place_in_stream& at);
  /// Whether a copy from these bytes, in the stream, must be preceded by a flush.
  bool needs_flush(uint32_t stream, const void* from);
  /// Others may come after these from now on.
  void recorded(lane& self, std::span<const uint32_t> work);

  // -- what lanes tell

  /// A block of the kernel has ended with this lane.
  void block_ended(lane& last);
  /// A copy engine has ended.
  void piece_ended(lane& engine);

  // -- pages that move

  /// Whether the lane may make its pending access to memory whose pages move (device_allocations::look_closer). A page that another GPU has is asked
  /// for; a host thread asks for none, but waits for one that is on its way.
  bool reaches(lane& self);
  /// Changes when a lane that waits for a page may find it.
  const uint64_t& news_of_pages() const { return news_; }
  /// When it last did, in virtual time.
  driver::picoseconds pages_came_at() const { return pages_came_at_; }

  // -- the actor

  /// Something may be done: a word to wait for, 1 from then on.
  const uint64_t& wanted() const { return wanted_; }
  /// Does one thing that can be done, by a choice among all. Whether there was one.
  bool step(lane& self);
  /// Whether nothing is left to do, and nothing under way.
  bool is_idle() const { return under_way_ == 0 && !room().migrates(); }
  void actor_ends() { actor_ = nullptr; }
  /// Work that has ended, and blocks that have come to a device, in the last step.
  const std::vector<uint32_t>& ended() const { return ended_; }
  bool blocks_have_come() const { return blocks_have_come_; }

  /// Equal for two runs in which the driver was told the same and has done the same.
  uint64_t past() const { return past_; }

 private:
  static constexpr driver::queue_id no_queue = ~driver::queue_id{0};
  static constexpr uint32_t no_command = ~uint32_t{0};

  /// The work of one number.
  struct work {
    place_in_stream at;
    uint64_t command = 0;  ///< the one whose end is its end
    bool has_ended = false;
    std::optional<driver::event_id> mark;  ///< recorded behind it
    // Of a launch.
    launched_kernel* runs = nullptr;
    std::vector<driver::work_group> groups;  ///< by block, those that have come
    std::vector<uint32_t> live_waves;        ///< by block
    // Of a copy.
    stream_copy copy;
    const fiber_body* how_to_run = nullptr;
    std::string name;
  };
  /// A piece of a copy that an engine moves.
  struct moving {
    const lane* engine = nullptr;
    driver::request what;
  };
  /// Copies that are not to or from the devices' memory: heddle's own part of the chain.
  class host_copies;

  // driver::work_group_runner, byte_mover, trace_listener
  driver::execution execute(const driver::work_group& group, driver::group_memory_port& memory) override;
  void retry(driver::device_id gpu) override;
  void move(const driver::request& piece) override;
  void flush(driver::device_id gpu) override;
  void copy_page(const driver::request& page) override;
  void record(const driver::trace_record& what) override;

  driver::gpu_driver& room() const { return *memory_.devices().commands(); }
  driver::command_queues& queues() const { return room().queues(); }
  driver::queue_id queue_of(uint32_t stream);
  /// The work takes its place in the stream's queue, behind what it comes after there and elsewhere.
  work& begin_work(const place_in_stream& at);
  /// Others may come after this work from now on; it is the last of its stream.
  driver::event_id mark(work& of);
  /// The last command that was enqueued is the work's.
  void enqueued(lane& self, work& of);
  std::optional<uint64_t> in_driver(uint32_t stream, const void* address, size_t size_bytes) const;
  /// Those that have been enqueued since are under way, too.
  void count_commands();
  void signal(lane& self);
  void begin_actor(lane& self);
  /// Has the first command of the queue begin, unless a middleware holds it back.
  void begin_next(driver::queue_id queue);
  work* work_of_command(uint64_t command);
  void start_engine(work& of, const stream_copy& what, const driver::request& piece);
  bool any_kernel_runs() const;
  void take_moved();
  void note(uint64_t what);

  run_core& core_;
  device_allocations& memory_;
  launches& launched_;
  waits& waits_;
  const fiber_body& drives_;
  device_set::hands hands_;
  lane* actor_ = nullptr;   ///< null while there is no command
  lane* acting_ = nullptr;  ///< the actor, in its step
  uint64_t wanted_ = 0;
  uint64_t under_way_ = 0;  ///< commands that have not ended
  uint64_t commands_ = 0;   ///< that have been enqueued
  uint64_t past_ = 0;
  uint64_t news_ = 0;
  driver::picoseconds pages_came_at_ = 0;
  uint32_t engines_ = 0;
  bool blocks_have_come_ = false;
  std::vector<driver::queue_id> queues_;  ///< by stream
  std::deque<work> work_;                 ///< by number
  std::vector<moving> pieces_;            ///< that are being moved
  std::vector<driver::request> moved_;    ///< have been, and their commands end with that
  std::vector<uint32_t> ended_;
  std::vector<driver::queue_id> ready_;
  std::vector<uint64_t> held_back_;  ///< commands that a middleware has held back since anything happened
};

}  // namespace heddle::sim
