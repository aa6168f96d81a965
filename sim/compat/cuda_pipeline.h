// <cuda_pipeline.h> and <cuda_awbarrier_primitives.h> on the simulator. (CUDA C++ Programming Guide, "Pipeline Primitives Interface", "Memory Barrier
// Primitives Interface".)
#pragma once

#include <heddle/sim/compat/ptx/async.h>

#include <cstddef>
#include <cstdint>

/// 4, 8 or 16 bytes; the last `zeros` of them become 0 instead.
HEDDLE_PTX_INLINE void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0) {
  if (bytes != 4 && bytes != 8 && bytes != 16)
    ::heddle::sim::runtime::trap(::heddle::fault::assertion, "__pipeline_memcpy_async: it copies 4, 8 or 16 bytes");
  if (zeros > bytes)
    ::heddle::sim::runtime::trap(::heddle::fault::assertion, "__pipeline_memcpy_async: more zeros than bytes");
  ::heddle::ptx::lane_copies().add(to, const_cast<void*>(from), static_cast<uint32_t>(bytes),
                                   static_cast<uint32_t>(bytes - zeros));
}
HEDDLE_PTX_INLINE void __pipeline_commit() { ::heddle::ptx::lane_copies().commit(); }
HEDDLE_PTX_INLINE void __pipeline_wait_prior(size_t but) {
  ::heddle::ptx::lane_copies().wait(static_cast<uint32_t>(but));
}

using __mbarrier_t = uint64_t;
using __mbarrier_token_t = uint64_t;
HEDDLE_PTX_INLINE constexpr uint32_t __mbarrier_maximum_count() {
  return static_cast<uint32_t>(::heddle::ptx::mbarrier::counts);
}
HEDDLE_PTX_INLINE void __mbarrier_init(__mbarrier_t* barrier, uint32_t count) {
  ::heddle::ptx::mbarrier::init(barrier, count);
}
HEDDLE_PTX_INLINE void __mbarrier_inval(__mbarrier_t* barrier) { ::heddle::ptx::mbarrier::inval(barrier); }
HEDDLE_PTX_INLINE __mbarrier_token_t __mbarrier_arrive(__mbarrier_t* barrier) {
  return ::heddle::ptx::mbarrier::change<::heddle::ptx::m_release>(barrier, 1, 0, 0);
}
HEDDLE_PTX_INLINE __mbarrier_token_t __mbarrier_arrive_and_drop(__mbarrier_t* barrier) {
  return ::heddle::ptx::mbarrier::change<::heddle::ptx::m_release>(barrier, 1, 1, 0);
}
HEDDLE_PTX_INLINE bool __mbarrier_test_wait(__mbarrier_t* barrier, __mbarrier_token_t token) {
  return ::heddle::ptx::mbarrier::is_over<::heddle::ptx::m_acquire>(barrier, ::heddle::ptx::mbarrier::phase_of(token));
}
HEDDLE_PTX_INLINE bool __mbarrier_try_wait(__mbarrier_t* barrier, __mbarrier_token_t token, uint32_t = 0) {
  return __mbarrier_test_wait(barrier, token);
}
HEDDLE_PTX_INLINE bool __mbarrier_test_wait_parity(__mbarrier_t* barrier, bool parity) {
  return ::heddle::ptx::mbarrier::is_over<::heddle::ptx::m_acquire>(barrier, parity ? 1 : 0);
}
HEDDLE_PTX_INLINE bool __mbarrier_try_wait_parity(__mbarrier_t* barrier, bool parity, uint32_t = 0) {
  return __mbarrier_test_wait_parity(barrier, parity);
}
HEDDLE_PTX_INLINE uint32_t __mbarrier_token_pending_count(__mbarrier_token_t token) {
  return static_cast<uint32_t>(::heddle::ptx::mbarrier::pending_of(token));
}
/// Arrives when the lane's copies are there.
HEDDLE_PTX_INLINE void __pipeline_arrive_on(__mbarrier_t* barrier) {
  ::heddle::ptx::lane_copies().arrive_on(barrier, false);
}
