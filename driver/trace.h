// What a driver tells its listener: when commands begin and end, and what goes over the link.
#pragma once

#include <heddle/driver/command.h>
#include <heddle/driver/engine.h>

#include <cstdint>

namespace heddle::driver {

enum class trace_kind : uint8_t { command_begins, command_ends, request_leaves, request_arrives, answer_arrives };

struct trace_record {
  picoseconds time = 0;
  trace_kind kind = trace_kind::command_begins;
  uint64_t command = 0;  ///< its number; 0 of a migration's request
  command_kind what = command_kind::no_op;
  queue_id queue = 0;
  uint64_t request = 0;  ///< its number; 0 of a command's own records
  request_kind asked = request_kind::write;
  device_id device = 0;
  uint64_t address = 0;  ///< virtual
  uint64_t bytes = 0;

  friend bool operator==(const trace_record&, const trace_record&) = default;
};

/// Called where it happens; without a listener no record is made. It may not call into the driver.
class trace_listener {
 public:
  virtual ~trace_listener() = default;
  virtual void record(const trace_record& what) = 0;
};

/// What the driver's parts tell its listener with.
class tracer {
 public:
  explicit tracer(const event_engine& engine) : engine_(&engine) {}

  /// Null for none.
  void set_listener(trace_listener* listener) { listener_ = listener; }
  /// Of a command, of a request, or of a request of a command.
  void tell(trace_kind kind, const command* of, const request* asked) const;

 private:
  const event_engine* engine_;
  trace_listener* listener_ = nullptr;
};

inline void tracer::tell(trace_kind kind, const command* of, const request* asked) const {
  if (listener_ == nullptr) return;
  trace_record what = {.time = engine_->now(), .kind = kind};
  if (of != nullptr) {
    what.command = of->number;
    what.what = of->kind;
    what.queue = of->queue;
    what.device = of->device;
    what.address = of->address;
    what.bytes = of->bytes;
  }
  if (asked != nullptr) {
    what.request = asked->number;
    what.asked = asked->kind;
    what.device = asked->device;
    what.address = asked->virtual_address;
    what.bytes = asked->bytes;
  }
  listener_->record(what);
}

}  // namespace heddle::driver
