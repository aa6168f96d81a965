// Clusters of blocks: as a cooperative group, and by the functions that nvcc's headers have. (CUDA C++ Programming Guide, "Thread Block Clusters".)
#pragma once

#include <heddle/sim/compat/groups.h>

namespace cooperative_groups {

/// The blocks of a cluster; one block where a launch has none.
class cluster_group {
 public:
  static constexpr ::heddle::scope reach = ::heddle::scope::cluster;
  struct arrival_token {};
  HEDDLE_COMPAT_INLINE static arrival_token barrier_arrive() {
    ::heddle::sim::runtime::arrive_at_cluster(::heddle::memory_order::release);
    return {};
  }
  HEDDLE_COMPAT_INLINE static void barrier_wait() {
    ::heddle::sim::runtime::wait_at_cluster(::heddle::memory_order::acquire);
  }
  HEDDLE_COMPAT_INLINE static void barrier_wait(arrival_token&&) { barrier_wait(); }
  HEDDLE_COMPAT_INLINE static void sync() {
    barrier_arrive();
    barrier_wait();
  }
  HEDDLE_COMPAT_INLINE static unsigned int block_rank() { return ::heddle::sim::runtime::position().cluster_rank(); }
  HEDDLE_COMPAT_INLINE static unsigned int num_blocks() {
    return static_cast<unsigned int>(::heddle::sim::runtime::position().cluster_size.count());
  }
  HEDDLE_COMPAT_INLINE static dim3 dim_blocks() {
    return ::heddle::compat::indices(::heddle::sim::runtime::position().cluster_size);
  }
  HEDDLE_COMPAT_INLINE static dim3 block_index() {
    return ::heddle::compat::indices(::heddle::sim::runtime::position().in_cluster());
  }
  HEDDLE_COMPAT_INLINE static unsigned int thread_rank() {
    return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
  }
  /// Along each axis, of all its blocks.
  HEDDLE_COMPAT_INLINE static dim3 thread_index() {
    const ::heddle::sim::grid_position here = ::heddle::sim::runtime::position();
    const ::heddle::sim::extent block = here.in_cluster();
    return {block.x * here.block_size.x + here.thread.x, block.y * here.block_size.y + here.thread.y,
            block.z * here.block_size.z + here.thread.z};
  }
  HEDDLE_COMPAT_INLINE static dim3 dim_threads() {
    const ::heddle::sim::grid_position here = ::heddle::sim::runtime::position();
    return {here.cluster_size.x * here.block_size.x, here.cluster_size.y * here.block_size.y,
            here.cluster_size.z * here.block_size.z};
  }
  HEDDLE_COMPAT_INLINE static unsigned int num_threads() { return num_blocks() * thread_block::num_threads(); }
  HEDDLE_COMPAT_INLINE static unsigned int size() { return num_threads(); }
  template <typename T>
  HEDDLE_COMPAT_INLINE static T* map_shared_rank(T* address, unsigned int rank) {
    return static_cast<T*>(
        ::heddle::sim::runtime::shared_of_cluster(const_cast<const std::remove_cv_t<T>*>(address), rank));
  }
  template <typename T>
  HEDDLE_COMPAT_INLINE static unsigned int query_shared_rank(const T* address) {
    return ::heddle::sim::runtime::rank_in_cluster(const_cast<const std::remove_cv_t<T>*>(address));
  }
};
HEDDLE_COMPAT_INLINE cluster_group this_cluster() { return {}; }

}  // namespace cooperative_groups

HEDDLE_COMPAT_INLINE void __cluster_barrier_arrive() { cooperative_groups::cluster_group::barrier_arrive(); }
HEDDLE_COMPAT_INLINE void __cluster_barrier_arrive_relaxed() {
  ::heddle::sim::runtime::arrive_at_cluster(::heddle::memory_order::relaxed);
}
HEDDLE_COMPAT_INLINE void __cluster_barrier_wait() { cooperative_groups::cluster_group::barrier_wait(); }
HEDDLE_COMPAT_INLINE dim3 __clusterDim() { return cooperative_groups::cluster_group::dim_blocks(); }
HEDDLE_COMPAT_INLINE unsigned int __clusterDimIsSpecified() {
  return cooperative_groups::cluster_group::num_blocks() > 1 ? 1 : 0;
}
HEDDLE_COMPAT_INLINE dim3 __clusterGridDimInClusters() {
  return ::heddle::compat::indices(::heddle::sim::runtime::position().clusters());
}
HEDDLE_COMPAT_INLINE dim3 __clusterIdx() {
  return ::heddle::compat::indices(::heddle::sim::runtime::position().cluster());
}
HEDDLE_COMPAT_INLINE dim3 __clusterRelativeBlockIdx() { return cooperative_groups::cluster_group::block_index(); }
HEDDLE_COMPAT_INLINE unsigned int __clusterRelativeBlockRank() {
  return cooperative_groups::cluster_group::block_rank();
}
HEDDLE_COMPAT_INLINE unsigned int __clusterSizeInBlocks() { return cooperative_groups::cluster_group::num_blocks(); }
template <typename T>
HEDDLE_COMPAT_INLINE T* __cluster_map_shared_rank(T* address, unsigned int rank) {
  return cooperative_groups::cluster_group::map_shared_rank(address, rank);
}
HEDDLE_COMPAT_INLINE unsigned int __cluster_query_shared_rank(const void* address) {
  return cooperative_groups::cluster_group::query_shared_rank(address);
}
