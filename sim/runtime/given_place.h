// Where a stream was given what it does.
#pragma once

#include <heddle/sim/runtime/entry.h>

namespace heddle::sim::runtime {

/// The calls that have led to an entry point: they are kept with what the stream is given there.
inline call_chain calls_to(const lane& self, const caller& from) {
  return calls_of(self, make_operation(operation_kind::none, nullptr, 0, from));
}

/// No code under test does what a stream was given: reports tell it as done where the stream was given it. Stands on the stack of the lane that does
/// it, and looks there as the frames of those calls would.
class given_place {
 public:
  explicit given_place(const call_chain& calls) {
    for (size_t n = 0; n < calls.size(); ++n) {
      const bool is_last = n + 1 == calls.size() || calls[n + 1] == nullptr;
      frames_[n] = {is_last ? nullptr : &frames_[n + 1], const_cast<void*>(calls[n])};
    }
    from_ = {calls[0], &frames_[0].outer, reinterpret_cast<const std::byte*>(this)};
  }
  given_place(const given_place&) = delete;
  given_place& operator=(const given_place&) = delete;

  const caller& from() const { return from_; }
  /// Waits for what stands before it in the stream.
  void begin(lane& self) const {
    const entered inside(self);
    execution::instance->begin_copy(self, make_operation(operation_kind::synchronize, nullptr, 0, from_));
  }

 private:
  struct frame {
    void* outer = nullptr;
    void* returns_to = nullptr;
  };
  frame frames_[std::tuple_size_v<call_chain>];
  caller from_;
};

}  // namespace heddle::sim::runtime
