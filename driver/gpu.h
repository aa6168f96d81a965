// A GPU under the driver: what it does with requests, and how its work-groups come to be executed.
#pragma once

#include <heddle/driver/command.h>
#include <heddle/driver/contents.h>
#include <heddle/driver/dispatcher.h>
#include <heddle/driver/engine.h>
#include <heddle/driver/fifo.h>
#include <heddle/driver/grid_walk.h>
#include <heddle/driver/kernel.h>
#include <heddle/driver/l2_cache.h>
#include <heddle/driver/page_table.h>
#include <heddle/driver/settings.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace heddle::driver {

class gpu;

/// What a GPU sees of the machine that it is in.
class gpu_surroundings {
 public:
  virtual event_engine& engine() = 0;
  virtual const driver_settings& settings() const = 0;
  virtual const page_table& pages() const = 0;
  virtual contents& memory_bytes() = 0;
  /// The cache in front of that device's memory; null of the CPU's.
  virtual l2_cache* cache_of(device_id device) = 0;
  /// Null: work-groups do nothing, in no time.
  virtual work_group_runner* runner() const = 0;

  /// Null: bytes are moved in memory_bytes().
  virtual byte_mover* mover() const = 0;

  /// The answer reaches the driver after `delay`.
  virtual void answer(const request& what, picoseconds delay) = 0;
  /// A unified page that another device has is used here: it is to be moved.
  virtual void wants_page(page_slot& slot, device_id to) = 0;
  /// A work-group has been left to its runner (execution::state::later), or has been finished by it.
  virtual void left_outside(bool one_more) = 0;

 protected:
  ~gpu_surroundings() = default;
};

class gpu final : private ticking {
 public:
  gpu(device_id id, gpu_surroundings& around);
  gpu(const gpu&) = delete;
  gpu& operator=(const gpu&) = delete;
  ~gpu() = default;

  device_id id() const { return id_; }
  l2_cache& cache() { return cache_; }
  tlb& translations() { return translations_; }
  const dispatcher& units() const { return dispatcher_; }

  /// A request has come over the link.
  void arrive(const request& what);
  /// Work-groups that wait for a page may find it now.
  void retry();
  /// A work-group that was left to its runner has ended; false when there is none in that slot.
  bool finish(uint32_t slot);
  /// For a work-group that its runner executes later (execution::state::later): whether it may access these bytes now, as a group that is executed
  /// here may. A page of another device that may move is asked for.
  access reach(process_id process, uint64_t address, uint64_t bytes) {
    return translate_all(process, address, bytes, nullptr);
  }
  /// Work-groups that wait for a page.
  size_t waiting() const { return waiting_.size(); }

  /// How work-groups see memory. None of a whole access is done unless all of it can be.
  access read(process_id process, uint64_t address, std::span<std::byte> to, command* of);
  access write(process_id process, uint64_t address, std::span<const std::byte> from, command* of);

 private:
  /// One launch request that is being executed.
  struct running_kernel {
    request order;
    work_group pattern;  ///< what its groups have in common
    work_group_filter filter;
    dispatcher::work work;
    uint64_t on_units = 0;
    bool busy = false;
    bool answered = false;
  };
  enum class slot_state : uint8_t { free, runs, waits, outside };
  struct group_slot {
    work_group group;
    running_kernel* of = nullptr;
    slot_state state = slot_state::free;
  };
  /// Memory, in the name of one group.
  class port;
  /// Groups that are executed for a time of their own.
  class group_end final : public event_handler {
   public:
    explicit group_end(gpu& of) : of_(&of) {}
    void handle(const timed_event& now) override { of_->leave(static_cast<uint32_t>(now.detail)); }

   private:
    gpu* of_;
  };

  /// Flushes, which take their time.
  class flush_end final : public event_handler {
   public:
    explicit flush_end(gpu& of) : of_(&of) {}
    void handle(const timed_event&) override { of_->end_flush(); }

   private:
    gpu* of_;
  };

  bool tick() override;
  void write_back();
  /// Whether a launch may begin: the device does not stand still, and reaches what the launch says, where that is in the CPU's memory.
  bool takes_launches() const { return !paused_ && (rdma_open_ || !around_->settings().launches_from_host); }
  void begin_held_back();
  void end_flush();
  void begin(const request& order);
  uint32_t take_slot();
  void execute(uint32_t at);
  void leave(uint32_t at);
  void end_if_done(running_kernel& of);
  access translate(process_id process, uint64_t address, page& walked, command* of);
  access translate_all(process_id process, uint64_t address, uint64_t bytes, command* of);

  device_id id_;
  gpu_surroundings* around_;
  l2_cache cache_;
  tlb translations_;
  dispatcher dispatcher_;
  group_end group_end_{*this};
  flush_end flush_end_{*this};
  fifo<request> flushes_;           ///< that have not ended
  bool paused_ = false;             ///< between shoot_down and restart
  bool rdma_open_ = true;           ///< but between drain_rdma and restart_rdma
  std::vector<request> held_back_;  ///< launches that have come while it took none
  std::vector<std::unique_ptr<running_kernel>> kernels_;
  std::vector<running_kernel*> active_;  ///< in the order of their arrival
  size_t most_slots_;
  std::vector<group_slot> slots_;
  std::vector<uint32_t> free_slots_;
  std::vector<uint32_t> waiting_;  ///< for a page, in the order in which they came to wait
  std::vector<uint32_t> again_;    ///< to be executed again
  std::vector<uint32_t> now_again_;
};

}  // namespace heddle::driver
