// The host side of an AMD GPU whose rings interrupt the host. For files that hipcc compiles; the program is linked with libhsa-runtime64.
#pragma once

#include <heddle/hw/hip/device.h>
#include <heddle/hw/hip_signal/target.h>

#include <memory>
#include <string>

namespace heddle::hip_signal {

namespace detail {

inline error hsa_error(hsa_status_t status, const char* call) {
  const char* text = nullptr;
  if (hsa_status_string(status, &text) != HSA_STATUS_SUCCESS || text == nullptr) text = "no text";
  return error{call, "the signal of doorbells", std::to_string(static_cast<int>(status)), text};
}

/// The program's one, made at the first call; or why there is none.
inline result<const interrupted_host*> interrupted_host_of_this_program() {
  static result<std::unique_ptr<interrupted_host>> made = []() -> result<std::unique_ptr<interrupted_host>> {
    if (const hsa_status_t status = hsa_init(); status != HSA_STATUS_SUCCESS) return hsa_error(status, "hsa_init");
    hsa_signal_t handle{};
    // No consumers are named: then any agent and any thread may wait for it, and it is of the kind that interrupts.
    const hsa_status_t status = hsa_signal_create(0, 0, nullptr, &handle);
    if (status != HSA_STATUS_SUCCESS) return hsa_error(status, "hsa_signal_create");
    return std::make_unique<interrupted_host>(handle);
  }();
  if (!made) return made.why();
  return static_cast<const interrupted_host*>(made.value().get());
}

struct runtime : hip::detail::runtime {
  using target = hip_signal::target;

  /// Tells the kernels of each file which signal they raise on the current device.
  static result<void> begin(const char* number) {
    result<const interrupted_host*> one = interrupted_host_of_this_program();
    if (!one) return one.why();
    const uint64_t address = one.value()->handle().handle;
    for (const void* const variable : variables_of_kernels()) {
      const status copied = hipMemcpyToSymbol(HIP_SYMBOL(variable), &address, sizeof address);
      if (copied != success) return gpu::failed<runtime>(copied, "hipMemcpyToSymbol", number);
    }
    return {};
  }
};

}  // namespace detail

using device = gpu::basic_device<detail::runtime>;

}  // namespace heddle::hip_signal
