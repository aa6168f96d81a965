// How a program that runs on this computer ends when a check of its own fails.
#pragma once

#include <heddle/rpc/target.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace heddle::host {

/// Called by trap() in the thread that failed. It may throw, which is how a test sees a trap; if it returns, the
/// program ends all the same.
using trap_handler = void (*)(fault reason, const char* message);

namespace detail {
inline std::atomic<trap_handler> installed_trap_handler{nullptr};
}  // namespace detail

/// Installs a handler for the whole process and returns the one before it; nullptr takes it out.
inline trap_handler set_trap_handler(trap_handler handler) noexcept {
  // acq_rel: pairs with the acquire in trap(), so that what the handler reads has been written when it runs.
  return detail::installed_trap_handler.exchange(handler, std::memory_order_acq_rel);
}

inline const char* fault_name(fault reason) noexcept {
  switch (reason) {
    case fault::assertion:
      return "assertion";
    case fault::protocol:
      return "protocol";
  }
  return "unknown fault";
}

/// Prints one line to stderr and ends the program, unless the installed handler throws.
[[noreturn]] inline void trap(fault reason, const char* message) {
  if (const trap_handler handler = detail::installed_trap_handler.load(std::memory_order_acquire))
    handler(reason, message);
  std::fprintf(stderr, "heddle: %s: %s\n", fault_name(reason), message);
  std::abort();
}

}  // namespace heddle::host
