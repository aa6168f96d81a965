// The calling thread's current device, which much of a runtime goes by.
#pragma once

#include <heddle/hw/gpu/runtime.h>

#include <cstdio>
#include <string>

namespace heddle::gpu {

/// Makes a device the calling thread's current one, until the end of the scope. Converts to whether it is.
template <typename Runtime>
class current_device {
 public:
  explicit current_device(int index) : index_(index), status_(Runtime::get_device(&before_)) {
    if (status_ != Runtime::success || before_ == index) return;
    call_ = Runtime::set_device.name;
    status_ = Runtime::set_device(index);
    changed_ = status_ == Runtime::success;
  }

  /// The call that needed the device has answered: that its thread stays on that device can only be printed.
  ~current_device() {
    if (!changed_) return;
    const result<void> back =
        answered<Runtime>(Runtime::set_device(before_), Runtime::set_device.name, number(before_).c_str());
    if (!back)
      std::fprintf(stderr, "heddle: device %d stays a thread's current one after an error: %s\n", index_,
                   back.why().line().c_str());
  }
  current_device(const current_device&) = delete;
  current_device& operator=(const current_device&) = delete;

  explicit operator bool() const { return status_ == Runtime::success; }
  /// Where it is not.
  error why() const { return failed<Runtime>(status_, call_, number(index_).c_str()); }

 private:
  static std::string number(int index) { return std::to_string(index); }

  int index_;
  int before_ = 0;
  const char* call_ = Runtime::get_device.name;
  typename Runtime::status status_;
  bool changed_ = false;
};

}  // namespace heddle::gpu
