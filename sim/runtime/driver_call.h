// A host thread in a call into the driver, which may have it wait (settings::driver).
#pragma once

#include <heddle/sim/runtime/entry.h>

namespace heddle::sim::runtime {

/// Ends the run where the thread is a function that a stream calls on the host. (CUDA Runtime API, "cudaLaunchHostFunc": it must not make any call
/// of the API. What it launched would wait for a thread that waits here.) Made before the simulator is entered.
inline void refuse_in_stream(lane& self, const caller& from) {
  if (!self.of->copies || self.of->bulk || static_cast<const stream_copy*>(self.body)->function == nullptr) return;
  const entered inside(self);
  refuse(self, scheduler::verdict::assertion,
         "a function that a stream calls on the host calls the driver, which it must not: hand the work to a thread",
         from);
}

/// From its beginning to its return. Made before the simulator is entered; not of calls that only ask.
class driver_call {
 public:
  enum class kind : uint8_t {
    work,    ///< allocates, frees, copies, makes or destroys a stream
    launch,  ///< never waits for what was launched before
    wait,    ///< for kernels, as its own purpose
  };

  driver_call(lane& self, const caller& from, kind what = kind::work) : self_(self), from_(from) {
    refuse_in_stream(self, from);
    const driver_calls how = execution::instance->machine().driver;
    // What only waits for the device has nothing to add, nor has a part of a call.
    waits_ = how != driver_calls::free && self.is_host() && !self.gives_as_one &&
             !(how == driver_calls::idle && what == kind::wait);
    if (!waits_) return;
    const entered inside(self_);
    const hidden_operands hidden(self_, static_cast<uint64_t>(what));
    execution::instance->enter_driver(self_, what == kind::launch,
                                      make_operation(operation_kind::none, nullptr, 0, from_));
  }
  ~driver_call() {
    if (!waits_) return;
    const entered inside(self_);
    execution::instance->leave_driver(self_, make_operation(operation_kind::none, nullptr, 0, from_));
  }
  driver_call(const driver_call&) = delete;
  driver_call& operator=(const driver_call&) = delete;

 private:
  lane& self_;
  const caller& from_;
  bool waits_ = false;
};

}  // namespace heddle::sim::runtime
