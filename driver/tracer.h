// What the driver's parts tell its listener with.
#pragma once

#include <heddle/driver/command.h>
#include <heddle/driver/engine.h>
#include <heddle/driver/request.h>
#include <heddle/driver/trace.h>

namespace heddle::driver {

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

}  // namespace heddle::driver
