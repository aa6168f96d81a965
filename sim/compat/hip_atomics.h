// The atomics that HIP has and CUDA has not. Included by hip.h alone.
// (HIP, "C++ language extensions", "Atomic functions": unsafe ones may take a faster way that not all memory can do, safe ones do not; both are one
// operation, relaxed and of the device.)
#pragma once

#include <heddle/sim/compat/atomics.h>

namespace heddle::compat {

template <typename T>
concept real = any_of<T, float, double>;

}  // namespace heddle::compat

#define HEDDLE_HIP_ATOMIC(name, operation, reach)                                                                 \
  template <::heddle::compat::real T>                                                                             \
  HEDDLE_COMPAT_INLINE T name(T* address, ::heddle::compat::as_is<T> value) {                                     \
    return ::heddle::compat::modify<::heddle::compat::operation>(address, value, ::heddle::memory_order::relaxed, \
                                                                 ::heddle::scope::reach);                         \
  }
HEDDLE_HIP_ATOMIC(atomicSub, minus, device)
HEDDLE_HIP_ATOMIC(atomicMin, smaller, device)
HEDDLE_HIP_ATOMIC(atomicMax, greater, device)
HEDDLE_HIP_ATOMIC(atomicSub_system, minus, system)
HEDDLE_HIP_ATOMIC(atomicMin_system, smaller, system)
HEDDLE_HIP_ATOMIC(atomicMax_system, greater, system)
HEDDLE_HIP_ATOMIC(unsafeAtomicAdd, plus, device)
HEDDLE_HIP_ATOMIC(unsafeAtomicMin, smaller, device)
HEDDLE_HIP_ATOMIC(unsafeAtomicMax, greater, device)
HEDDLE_HIP_ATOMIC(safeAtomicAdd, plus, device)
HEDDLE_HIP_ATOMIC(safeAtomicMin, smaller, device)
HEDDLE_HIP_ATOMIC(safeAtomicMax, greater, device)
#undef HEDDLE_HIP_ATOMIC

HEDDLE_COMPAT_INLINE double atomicExch(double* address, double value) {
  return ::heddle::compat::modify(::heddle::sim::runtime::rmw_kind::exchange, address, value,
                                  ::heddle::memory_order::relaxed, ::heddle::scope::device);
}
HEDDLE_COMPAT_INLINE void atomicAddNoRet(float* address, float value) { atomicAdd(address, value); }
