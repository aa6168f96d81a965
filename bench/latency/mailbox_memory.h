// Memory that both ends of a protocol share, at either placement.
#pragma once

#include "meter.h"

#include <heddle/rpc/selected_device.h>

#include <stddef.h>

namespace heddle::bench {

/// Two lines of a processor's cache, which it fetches in pairs; a word that one side writes has them for itself.
inline constexpr size_t line_bytes = 128;

/// Zeroed memory of a device, given back at the end of the scope.
class device_memory {
 public:
  explicit device_memory(device& on) : on_(on) {}
  ~device_memory() {
    for (void* const each : held_) on_.free(each);
  }
  device_memory(const device_memory&) = delete;
  device_memory& operator=(const device_memory&) = delete;

  /// Memory for mailboxes: both sides load and store.
  result<unsigned char*> mailboxes(size_t bytes, placement where) {
    return keep(where == placement::host ? on_.try_allocate_shared<unsigned char>(bytes, "mailboxes")
                                         : on_.try_allocate_mapped<unsigned char>(bytes, "mailboxes"));
  }
  /// Memory that only the device uses.
  template <typename T>
  result<T*> of_device(size_t count, const char* name) {
    return keep(on_.try_allocate_device<T>(count, name));
  }
  /// Memory that only the host uses while anything is timed.
  template <typename T>
  result<T*> of_host(size_t count, const char* name) {
    return keep(on_.try_allocate_shared<T>(count, name));
  }

 private:
  template <typename T>
  result<T*> keep(result<T*> allocated) {
    if (allocated) held_.push_back(allocated.value());
    return allocated;
  }

  device& on_;
  std::vector<void*> held_;
};

}  // namespace heddle::bench
