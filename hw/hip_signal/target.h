// The machine that is an AMD GPU whose rings interrupt the host: as hip, and behind each ring of a doorbell a kernel raises an HSA signal.
//
// HIP has no call for it; HSA, the layer below, has. A kernel adds to the signal's value, stores the signal's event to its mailbox, and sends
// the message that interrupts the host. The kernel driver looks which events lie in mailboxes, and wakes the thread that waits for that
// signal (HSA Platform System Architecture, "Signaling and synchronization"; ROCm's device library, hsaqs.cl).
#pragma once

#include <heddle/hw/hip/target.h>
#include <heddle/rpc/interrupts.h>
#include <hsa/hsa.h>
#include <stddef.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace heddle::hip_signal {

namespace detail {

/// What the handle of a signal is the address of, as far as a kernel needs it. The rest is the runtime's. The offsets are ROCm's binary
/// interface (amd_hsa_signal.h), which device code that was compiled long ago relies on.
struct signal_memory {
  int64_t kind;
  int64_t value;
  uint64_t mailbox;  ///< where an event is stored that interrupts the host; 0: the signal interrupts none
  uint32_t event;
};
static_assert(offsetof(signal_memory, value) == 8 && offsetof(signal_memory, mailbox) == 16);
static_assert(offsetof(signal_memory, event) == 24);

/// The signal that kernels of this file raise, 0 as long as there is none. Each file's code is a module of its own, and has its own.
[[maybe_unused]] static __device__ uint64_t signal_of_kernels = 0;

#ifdef __HIP_DEVICE_COMPILE__

/// Message 1 interrupts the host. What goes with it is a hint, 8 bits of the event: the mailbox has it all.
__device__ inline void interrupt(uint32_t event) {
  constexpr int message = 1;
  constexpr int event_bits = 0xff;
  __builtin_amdgcn_s_sendmsg(message, __builtin_amdgcn_readfirstlane(static_cast<int>(event)) & event_bits);
}

/// Counts and interrupts. One lane acts for its wave.
__device__ inline void raise(signal_memory& signal) {
  // Release: pairs with the acquire in hsa_signal::value. The doorbell has been rung when this is seen.
  hip::detail::gpu_atomic_ref<int64_t, scope::system>(signal.value).fetch_add(1, memory_order::release);
  // The value counts also where there is no interrupt: a thread that polls it is told.
  if (signal.mailbox == 0) return;
  const uint32_t event = signal.event;
  // Release: the driver that finds the event finds the value.
  hip::detail::gpu_atomic_ref<uint64_t, scope::system>(*reinterpret_cast<uint64_t*>(signal.mailbox))
      .store(event, memory_order::release);
  interrupt(event);
}

struct lanes : hip::detail::lanes {
  static __device__ void notify(doorbell& bell) {
    hip::detail::lanes::notify(bell);
    if (signal_of_kernels != 0) raise(*reinterpret_cast<signal_memory*>(signal_of_kernels));
  }
};

#endif

/// A signal as rpc::interrupts has it.
struct hsa_signal {
  hsa_signal_t handle;

  uint64_t value() const { return static_cast<uint64_t>(hsa_signal_load_scacquire(handle)); }
  /// The thread blocks in the kernel driver, and takes no core.
  void wait_while(uint64_t seen) const {
    (void)hsa_signal_wait_scacquire(handle, HSA_SIGNAL_CONDITION_NE, static_cast<hsa_signal_value_t>(seen),
                                    ~uint64_t{0}, HSA_WAIT_STATE_BLOCKED);
  }
  void raise() const { hsa_signal_add_screlease(handle, 1); }
};

/// The program's one signal and the thread that waits for it; ends with the program.
class interrupted_host {
 public:
  using passing = rpc::interrupts<host::target, hsa_signal>;

  explicit interrupted_host(hsa_signal_t handle)
      : signal_{handle}, all_(signal_, passed_on_, ends_), thread_([this] { all_.pass_on(); }) {
    // Release pairs with the acquire in here().
    current().store(this, std::memory_order_release);
  }
  interrupted_host(const interrupted_host&) = delete;
  interrupted_host& operator=(const interrupted_host&) = delete;
  ~interrupted_host() {
    current().store(nullptr, std::memory_order_release);
    all_.end();
    thread_.join();
    (void)hsa_signal_destroy(signal_.handle);
    (void)hsa_shut_down();
  }

  /// Null until a device has been opened.
  static const interrupted_host* here() { return current().load(std::memory_order_acquire); }

  const passing& all() const { return all_; }
  hsa_signal_t handle() const { return signal_.handle; }

 private:
  static std::atomic<const interrupted_host*>& current() {
    static std::atomic<const interrupted_host*> one{nullptr};
    return one;
  }

  hsa_signal signal_;
  doorbell passed_on_ = 0;
  uint32_t ends_ = 0;
  passing all_;
  std::thread thread_;
};

/// The variables signal_of_kernels of all files.
inline std::vector<const void*>& variables_of_kernels() {
  static std::vector<const void*> all;
  return all;
}

// In the GPU's compilation too, which must see that the host uses the variable: it would take its 0 for a constant.
[[maybe_unused]] static const bool signal_of_kernels_is_known = [] {
  variables_of_kernels().push_back(&signal_of_kernels);
  return true;
}();

/// Host threads beside it.
struct woken_target : host::polling_target {
  static void notify(doorbell& bell) {
    if (const interrupted_host* const found = interrupted_host::here())
      found->all().notify(bell);
    else
      host::polling_target::notify(bell);
  }
  static void wait(doorbell& bell, uint32_t seen, uint64_t timeout_ns) {
    if (const interrupted_host* const found = interrupted_host::here())
      found->all().wait(bell, seen, timeout_ns);
    else
      host::polling_target::wait(bell, seen, timeout_ns);
  }
};

struct machine : hip::detail::machine {
#ifdef __HIP_DEVICE_COMPILE__
  using here = lanes;
#else
  using here = woken_target;
#endif
};

}  // namespace detail

/// As hip::target, and:
///
/// - notify() of a lane raises the program's signal behind the ring: two atomics and a store to host memory, and an interrupt.
/// - wait() of a host thread sleeps until a ring, of a kernel or of a host thread, or its time-out. An interrupt may be lost on its way (a
///   few boards lose them): give a time-out, and look for work after it whatever the bell says.
struct target : gpu::basic_target<detail::machine> {
  static constexpr bool can_wake = true;

  /// In a lane: interrupts the host, which finds `event` in the mailbox of its signal. What rpc/llvm/client.h does behind a ring of its own.
  HEDDLE_FUNCTION static void interrupt([[maybe_unused]] uint32_t event) {
#ifdef __HIP_DEVICE_COMPILE__
    detail::interrupt(event);
#endif
  }
};

}  // namespace heddle::hip_signal
