// <cuda/ptx> on the simulator: the instructions that move memory beside a block and meet at mbarriers. (libcu++, "PTX API".)
#pragma once

#include <heddle/sim/compat/ptx/async.h>

#include <cstdint>
#include <type_traits>

namespace cuda::ptx {

enum class dot_sem { acq_rel, acquire, relaxed, release, sc, weak };
enum class dot_scope { cta, cluster, gpu, sys };
enum class dot_space { global, cluster, shared };
template <dot_sem Sem>
using sem_t = ::std::integral_constant<dot_sem, Sem>;
template <dot_scope Scope>
using scope_t = ::std::integral_constant<dot_scope, Scope>;
template <dot_space Space>
using space_t = ::std::integral_constant<dot_space, Space>;
template <int N>
using n32_t = ::std::integral_constant<int, N>;

using sem_acquire_t = sem_t<dot_sem::acquire>;
using sem_relaxed_t = sem_t<dot_sem::relaxed>;
using sem_release_t = sem_t<dot_sem::release>;
using scope_cta_t = scope_t<dot_scope::cta>;
using scope_cluster_t = scope_t<dot_scope::cluster>;
using space_global_t = space_t<dot_space::global>;
using space_cluster_t = space_t<dot_space::cluster>;
using space_shared_t = space_t<dot_space::shared>;
inline constexpr sem_acquire_t sem_acquire{};
inline constexpr sem_relaxed_t sem_relaxed{};
inline constexpr sem_release_t sem_release{};
inline constexpr scope_cta_t scope_cta{};
inline constexpr scope_cluster_t scope_cluster{};
inline constexpr space_global_t space_global{};
inline constexpr space_cluster_t space_cluster{};
inline constexpr space_shared_t space_shared{};

// -- copies in bulk

HEDDLE_PTX_INLINE void cp_async_bulk(space_cluster_t, space_global_t, void* to, const void* from, const uint32_t& bytes,
                                     uint64_t* barrier) {
  ::heddle::ptx::bulk::load(to, const_cast<void*>(from), bytes, barrier);
}
HEDDLE_PTX_INLINE void cp_async_bulk(space_shared_t, space_global_t, void* to, const void* from, const uint32_t& bytes,
                                     uint64_t* barrier) {
  ::heddle::ptx::bulk::load(to, const_cast<void*>(from), bytes, barrier);
}
HEDDLE_PTX_INLINE void cp_async_bulk(space_global_t, space_shared_t, void* to, const void* from,
                                     const uint32_t& bytes) {
  ::heddle::ptx::bulk::store(to, const_cast<void*>(from), bytes);
}
HEDDLE_PTX_INLINE void cp_async_bulk_commit_group() { ::heddle::ptx::bulk::commit(); }
template <int N>
HEDDLE_PTX_INLINE void cp_async_bulk_wait_group(n32_t<N>) {
  ::heddle::ptx::bulk::wait(N, false);
}
template <int N>
HEDDLE_PTX_INLINE void cp_async_bulk_wait_group_read(n32_t<N>) {
  ::heddle::ptx::bulk::wait(N, true);
}

// -- clusters

HEDDLE_PTX_INLINE void barrier_cluster_arrive() {
  ::heddle::ptx::i_barrier<::heddle::ptx::m_cluster, ::heddle::ptx::m_arrive>();
}
HEDDLE_PTX_INLINE void barrier_cluster_arrive(sem_release_t) { barrier_cluster_arrive(); }
HEDDLE_PTX_INLINE void barrier_cluster_arrive(sem_relaxed_t) {
  ::heddle::ptx::i_barrier<::heddle::ptx::m_cluster, ::heddle::ptx::m_arrive, ::heddle::ptx::m_relaxed>();
}
HEDDLE_PTX_INLINE void barrier_cluster_wait() {
  ::heddle::ptx::i_barrier<::heddle::ptx::m_cluster, ::heddle::ptx::m_wait>();
}
HEDDLE_PTX_INLINE void barrier_cluster_wait(sem_acquire_t) { barrier_cluster_wait(); }
template <typename T>
HEDDLE_PTX_INLINE T* mapa(space_cluster_t, const T* address, const uint32_t& rank) {
  return static_cast<T*>(::heddle::sim::runtime::shared_of_cluster(address, rank));
}
HEDDLE_PTX_INLINE uint32_t getctarank(space_cluster_t, const void* address) {
  return ::heddle::sim::runtime::rank_in_cluster(address);
}

// -- fences

HEDDLE_PTX_INLINE void fence_proxy_async() { ::heddle::ptx::i_fence<::heddle::ptx::m_proxy, ::heddle::ptx::m_async>(); }
HEDDLE_PTX_INLINE void fence_proxy_async(space_global_t) {
  ::heddle::ptx::i_fence<::heddle::ptx::m_proxy, ::heddle::ptx::m_async, ::heddle::ptx::m_global>();
}
HEDDLE_PTX_INLINE void fence_proxy_async(space_cluster_t) {
  ::heddle::ptx::i_fence<::heddle::ptx::m_proxy, ::heddle::ptx::m_async, ::heddle::ptx::m_shared__cluster>();
}
HEDDLE_PTX_INLINE void fence_proxy_async(space_shared_t) {
  ::heddle::ptx::i_fence<::heddle::ptx::m_proxy, ::heddle::ptx::m_async, ::heddle::ptx::m_shared__cta>();
}
HEDDLE_PTX_INLINE void fence_mbarrier_init(sem_release_t, scope_cluster_t) {
  ::heddle::ptx::i_fence<::heddle::ptx::m_mbarrier_init, ::heddle::ptx::m_release, ::heddle::ptx::m_cluster>();
}

// -- mbarriers

HEDDLE_PTX_INLINE void mbarrier_init(uint64_t* barrier, const uint32_t& count) {
  ::heddle::ptx::mbarrier::init(barrier, count);
}
HEDDLE_PTX_INLINE uint64_t mbarrier_arrive(uint64_t* barrier, const uint32_t& count = 1) {
  return ::heddle::ptx::mbarrier::change<::heddle::ptx::m_release>(barrier, count, 0, 0);
}
template <dot_scope Scope>
HEDDLE_PTX_INLINE uint64_t mbarrier_arrive(sem_release_t, scope_t<Scope>, space_shared_t, uint64_t* barrier,
                                           const uint32_t& count = 1) {
  return ::heddle::ptx::mbarrier::change<::heddle::ptx::m_release>(barrier, count, 0, 0);
}
template <dot_scope Scope>
HEDDLE_PTX_INLINE uint64_t mbarrier_arrive_expect_tx(sem_release_t, scope_t<Scope>, space_shared_t, uint64_t* barrier,
                                                     const uint32_t& bytes) {
  return ::heddle::ptx::mbarrier::change<::heddle::ptx::m_release>(barrier, 1, 0, bytes);
}
template <dot_scope Scope>
HEDDLE_PTX_INLINE void mbarrier_expect_tx(sem_relaxed_t, scope_t<Scope>, space_shared_t, uint64_t* barrier,
                                          const uint32_t& bytes) {
  ::heddle::ptx::mbarrier::change<::heddle::ptx::m_relaxed>(barrier, 0, 0, bytes);
}
HEDDLE_PTX_INLINE bool mbarrier_try_wait_parity(uint64_t* barrier, const uint32_t& parity, const uint32_t& = 0) {
  return ::heddle::ptx::mbarrier::is_over<::heddle::ptx::m_acquire>(barrier, parity);
}
HEDDLE_PTX_INLINE bool mbarrier_try_wait(uint64_t* barrier, const uint64_t& state, const uint32_t& = 0) {
  return mbarrier_try_wait_parity(barrier, ::heddle::ptx::mbarrier::phase_of(state));
}
template <dot_scope Scope>
HEDDLE_PTX_INLINE bool mbarrier_try_wait_parity(sem_acquire_t, scope_t<Scope>, uint64_t* barrier,
                                                const uint32_t& parity, const uint32_t& = 0) {
  return mbarrier_try_wait_parity(barrier, parity);
}
template <dot_scope Scope>
HEDDLE_PTX_INLINE bool mbarrier_try_wait(sem_acquire_t, scope_t<Scope>, uint64_t* barrier, const uint64_t& state,
                                         const uint32_t& = 0) {
  return mbarrier_try_wait(barrier, state);
}
HEDDLE_PTX_INLINE bool mbarrier_test_wait(uint64_t* barrier, const uint64_t& state) {
  return mbarrier_try_wait(barrier, state);
}
HEDDLE_PTX_INLINE bool mbarrier_test_wait_parity(uint64_t* barrier, const uint32_t& parity) {
  return mbarrier_try_wait_parity(barrier, parity);
}

}  // namespace cuda::ptx
