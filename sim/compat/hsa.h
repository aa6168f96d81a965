// <hsa/hsa.h> on the simulator: its signals, and the names that headers need. Included by hip.h alone.
// (HSA Runtime Programmer's Reference Manual, "Signals"; ROCm's hsa.h, hsa_ext_amd.h and amd_hsa_signal.h.)
#pragma once

#include <heddle/sim/compat/memory.h>
#include <heddle/sim/compat/words.h>
#include <stddef.h>
#include <stdint.h>

struct hsa_agent_t {
  uint64_t handle;
};
struct hsa_signal_t {
  uint64_t handle;
};
struct hsa_amd_memory_pool_t {
  uint64_t handle;
};
enum hsa_status_t {
  HSA_STATUS_SUCCESS = 0,
  HSA_STATUS_ERROR = 0x1000,
  HSA_STATUS_ERROR_INVALID_ARGUMENT = 0x1001,
  HSA_STATUS_ERROR_INVALID_SIGNAL = 0x100a
};
using hsa_signal_value_t = int64_t;
enum hsa_signal_condition_t {
  HSA_SIGNAL_CONDITION_EQ = 0,
  HSA_SIGNAL_CONDITION_NE = 1,
  HSA_SIGNAL_CONDITION_LT = 2,
  HSA_SIGNAL_CONDITION_GTE = 3
};
enum hsa_wait_state_t { HSA_WAIT_STATE_BLOCKED = 0, HSA_WAIT_STATE_ACTIVE = 1 };

/// What the handle of a signal is the address of: ROCm's binary interface, which kernels use.
enum amd_signal_kind_t { AMD_SIGNAL_KIND_INVALID = 0, AMD_SIGNAL_KIND_USER = 1 };
struct alignas(64) amd_signal_t {
  int64_t kind;
  volatile int64_t value;
  uint64_t event_mailbox_ptr;
  uint32_t event_id;
  uint32_t reserved1;
  uint64_t start_ts;
  uint64_t end_ts;
  uint64_t reserved2;
  uint32_t reserved3[2];
};
static_assert(sizeof(amd_signal_t) == 64 && offsetof(amd_signal_t, value) == 8);

namespace heddle::compat {

inline int64_t* value_of(hsa_signal_t signal) {
  return const_cast<int64_t*>(&reinterpret_cast<amd_signal_t*>(signal.handle)->value);
}

inline bool signal_holds(int64_t value, hsa_signal_condition_t condition, int64_t other) {
  switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ:
      return value == other;
    case HSA_SIGNAL_CONDITION_NE:
      return value != other;
    case HSA_SIGNAL_CONDITION_LT:
      return value < other;
    default:
      return value >= other;
  }
}

/// Ends as soon as the condition holds, whatever has changed the value, or by time.
[[gnu::always_inline]] inline int64_t wait_for_signal(hsa_signal_t signal, hsa_signal_condition_t condition,
                                                      int64_t other, uint64_t timeout, memory_order order) {
  const uint64_t begin = timeout == UINT64_MAX ? 0 : sim::runtime::clock();
  while (true) {
    const auto value = static_cast<int64_t>(sim::runtime::load(value_of(signal), 8, order, scope::system));
    if (signal_holds(value, condition, other)) return value;
    if (timeout != UINT64_MAX && sim::runtime::clock() - begin >= timeout) return value;
    sim::runtime::pause();
  }
}

}  // namespace heddle::compat

inline hsa_status_t hsa_init() { return HSA_STATUS_SUCCESS; }
inline hsa_status_t hsa_shut_down() { return HSA_STATUS_SUCCESS; }

inline hsa_status_t hsa_signal_create(hsa_signal_value_t first, uint32_t, const hsa_agent_t*, hsa_signal_t* signal) {
  if (signal == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  void* const memory = ::heddle::sim::runtime::allocate_unnamed(
      sizeof(amd_signal_t), ::heddle::compat::memory_place::host, "hsa_signal_create");
  *signal = {reinterpret_cast<uint64_t>(new (memory) amd_signal_t{AMD_SIGNAL_KIND_USER, first, 0, 0, 0, 0, 0, 0, {}})};
  return HSA_STATUS_SUCCESS;
}
inline hsa_status_t hsa_amd_signal_create(hsa_signal_value_t first, uint32_t count, const hsa_agent_t* consumers,
                                          uint64_t, hsa_signal_t* signal) {
  return hsa_signal_create(first, count, consumers, signal);
}
inline hsa_status_t hsa_signal_destroy(hsa_signal_t signal) {
  if (signal.handle == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  ::heddle::compat::note_released(reinterpret_cast<void*>(signal.handle));
  ::heddle::sim::runtime::release(reinterpret_cast<void*>(signal.handle));
  return HSA_STATUS_SUCCESS;
}
inline hsa_status_t hsa_amd_signal_value_pointer(hsa_signal_t signal, volatile hsa_signal_value_t** value) {
  if (signal.handle == 0 || value == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *value = ::heddle::compat::value_of(signal);
  return HSA_STATUS_SUCCESS;
}

// The order of each call is in its name; those that end with the second name are what HSA 1.0 called them.
#define HEDDLE_HSA_LOADS(name, order)                                                                                  \
  HEDDLE_COMPAT_INLINE hsa_signal_value_t hsa_signal_load_##name(hsa_signal_t signal) {                                \
    return static_cast<int64_t>(::heddle::sim::runtime::load(::heddle::compat::value_of(signal), 8,                    \
                                                             ::heddle::memory_order::order, ::heddle::scope::system)); \
  }                                                                                                                    \
  HEDDLE_COMPAT_INLINE hsa_signal_value_t hsa_signal_wait_##name(hsa_signal_t signal, hsa_signal_condition_t test,     \
                                                                 hsa_signal_value_t value, uint64_t timeout,           \
                                                                 hsa_wait_state_t) {                                   \
    return ::heddle::compat::wait_for_signal(signal, test, value, timeout, ::heddle::memory_order::order);             \
  }
HEDDLE_HSA_LOADS(relaxed, relaxed)
HEDDLE_HSA_LOADS(scacquire, acquire)
HEDDLE_HSA_LOADS(acquire, acquire)
#undef HEDDLE_HSA_LOADS

#define HEDDLE_HSA_STORE(call, order)                                                                      \
  HEDDLE_COMPAT_INLINE void hsa_signal_##call(hsa_signal_t signal, hsa_signal_value_t value) {             \
    ::heddle::sim::runtime::store(::heddle::compat::value_of(signal), 8, ::heddle::compat::to_word(value), \
                                  ::heddle::memory_order::order, ::heddle::scope::system);                 \
  }
HEDDLE_HSA_STORE(store_relaxed, relaxed)
HEDDLE_HSA_STORE(store_screlease, release)
HEDDLE_HSA_STORE(store_release, release)
// Wakes no host thread that waits: what is not modelled.
HEDDLE_HSA_STORE(silent_store_relaxed, relaxed)
HEDDLE_HSA_STORE(silent_store_screlease, release)
#undef HEDDLE_HSA_STORE

#define HEDDLE_HSA_CHANGE(call, what, suffix, order)                                                            \
  HEDDLE_COMPAT_INLINE void hsa_signal_##call##_##suffix(hsa_signal_t signal, hsa_signal_value_t value) {       \
    ::heddle::compat::modify(::heddle::sim::runtime::rmw_kind::what, ::heddle::compat::value_of(signal), value, \
                             ::heddle::memory_order::order, ::heddle::scope::system);                           \
  }
#define HEDDLE_HSA_CHANGES(suffix, order)                                                                           \
  HEDDLE_HSA_CHANGE(add, add, suffix, order)                                                                        \
  HEDDLE_HSA_CHANGE(subtract, subtract, suffix, order)                                                              \
  HEDDLE_HSA_CHANGE(and, bit_and, suffix, order)                                                                    \
  HEDDLE_HSA_CHANGE(or, bit_or, suffix, order)                                                                      \
  HEDDLE_HSA_CHANGE(xor, bit_xor, suffix, order)                                                                    \
  HEDDLE_COMPAT_INLINE hsa_signal_value_t hsa_signal_exchange_##suffix(hsa_signal_t signal,                         \
                                                                       hsa_signal_value_t value) {                  \
    return ::heddle::compat::modify(::heddle::sim::runtime::rmw_kind::exchange, ::heddle::compat::value_of(signal), \
                                    value, ::heddle::memory_order::order, ::heddle::scope::system);                 \
  }                                                                                                                 \
  HEDDLE_COMPAT_INLINE hsa_signal_value_t hsa_signal_cas_##suffix(hsa_signal_t signal, hsa_signal_value_t expected, \
                                                                  hsa_signal_value_t value) {                       \
    return ::heddle::compat::compare_and_swap(::heddle::compat::value_of(signal), expected, value,                  \
                                              ::heddle::memory_order::order, ::heddle::scope::system);              \
  }
HEDDLE_HSA_CHANGES(relaxed, relaxed)
HEDDLE_HSA_CHANGES(scacquire, acquire)
HEDDLE_HSA_CHANGES(screlease, release)
HEDDLE_HSA_CHANGES(scacq_screl, acq_rel)
HEDDLE_HSA_CHANGES(acquire, acquire)
HEDDLE_HSA_CHANGES(release, release)
HEDDLE_HSA_CHANGES(acq_rel, acq_rel)
#undef HEDDLE_HSA_CHANGES
#undef HEDDLE_HSA_CHANGE
