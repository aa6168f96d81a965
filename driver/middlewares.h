// The middlewares that execute launches, flushes, events and no-ops. Those of copies are in copy.h.
#pragma once

#include <heddle/driver/middleware.h>

#include <cstdint>
#include <vector>

namespace heddle::driver {

// Launches, of one GPU and of a unified device.

/// One request for each GPU that has work-groups to execute; the command ends when all have answered.
class launch_kernels final : public middleware {
 public:
  explicit launch_kernels(driver_services& driver) : driver_(&driver) {}

  const char* name() const override { return "launch"; }
  handling process(command& next) override;
  bool receive(const request& answer) override;

 private:
  driver_services* driver_;
};

// The flush of the caches, which comes before a copy to the host.

/// All GPUs write their dirty bytes back; the command ends when the last one has answered. Until then nothing of its
/// queue begins, so no byte is read before all are in memory.
class flush_caches final : public middleware {
 public:
  explicit flush_caches(driver_services& driver) : driver_(&driver) {}

  const char* name() const override { return "flush"; }
  handling process(command& next) override;
  bool receive(const request& answer) override;

 private:
  std::vector<device_id> gpus_of(const command& flush) const;

  driver_services* driver_;
  command nobodys_;  ///< driver_fault::late_flush: that of the requests for which no command waits
};

// Events that queues record and wait for, and commands that do nothing.

/// As events of CUDA and HIP: recorded again and again; a wait is for the record that was enqueued last before the wait
/// was enqueued. An event that was never recorded counts as reached.
class queue_events final : public middleware {
 public:
  const char* name() const override { return "events"; }

  event_id create() {
    events_.push_back({});
    return static_cast<event_id>(events_.size() - 1);
  }
  bool has(event_id event) const { return event < events_.size(); }
  /// Of a record that is enqueued now.
  uint64_t next_generation(event_id event) { return ++events_[event].enqueued; }
  /// Of a wait that is enqueued now.
  uint64_t generation(event_id event) const { return events_[event].enqueued; }
  /// Whether that record of it has been reached.
  bool has_come_to(event_id event, uint64_t generation) const { return events_[event].reached >= generation; }
  /// Whether the last record has been reached.
  bool reached(event_id event) const { return events_[event].reached >= events_[event].enqueued; }

  handling process(command& next) override;

 private:
  struct progress {
    uint64_t enqueued = 0;
    uint64_t reached = 0;
  };
  std::vector<progress> events_;
};

}  // namespace heddle::driver
