// <cooperative_groups.h> on the simulator: blocks, tiles, lanes that stand together, and grids of cooperative launches.
// (CUDA C++ Programming Guide, "Cooperative Groups".)
#pragma once

#include <heddle/sim/compat/intrinsics.h>
#include <heddle/sim/compat/lanes.h>
#include <heddle/sim/compat/ptx/async.h>
#include <heddle/sim/compat/vectors.h>

#include <type_traits>
#include <utility>

namespace cooperative_groups {

namespace detail {

HEDDLE_COMPAT_INLINE uint32_t lane() { return ::heddle::sim::runtime::lane_id(); }
HEDDLE_COMPAT_INLINE uint32_t rank_in(const ::heddle::sim::extent& at, const ::heddle::sim::extent& of) {
  return static_cast<uint32_t>(number_of(at, of));
}
HEDDLE_COMPAT_INLINE uint32_t below(uint64_t mask, uint32_t lane) {
  return static_cast<uint32_t>(__builtin_popcountll(mask & ((uint64_t{1} << lane) - 1)));
}
/// The lane that has so many of the mask below it.
HEDDLE_COMPAT_INLINE uint32_t lane_of_rank(uint64_t mask, uint32_t rank) {
  for (uint32_t n = 0; n < rank && mask != 0; ++n) mask &= mask - 1;
  return mask == 0 ? lane() : static_cast<uint32_t>(__builtin_ctzll(mask));
}

/// A value of any size travels word by word.
template <typename T>
HEDDLE_COMPAT_INLINE T moved(uint64_t mask, const T& value, uint32_t source) {
  static_assert(std::is_trivially_copyable_v<T>);
  constexpr size_t words = (sizeof(T) + 3) / 4;
  uint32_t parts[words] = {};
  __builtin_memcpy(parts, &value, sizeof value);
  for (uint32_t& part : parts) part = ::heddle::compat::shuffle(mask, part, source);
  T made;
  __builtin_memcpy(&made, parts, sizeof made);
  return made;
}

}  // namespace detail

class thread_block {
 public:
  static constexpr ::heddle::scope reach = ::heddle::scope::block;
  /// As barrier.sync: lanes of a wave may come from different places.
  HEDDLE_COMPAT_INLINE static void sync() {
    ::heddle::sim::runtime::block_barrier(::heddle::sim::runtime::barrier_kind::plain, false);
  }
  HEDDLE_COMPAT_INLINE static unsigned int thread_rank() {
    const ::heddle::sim::grid_position here = ::heddle::sim::runtime::position();
    return detail::rank_in(here.thread, here.block_size);
  }
  HEDDLE_COMPAT_INLINE static unsigned int num_threads() {
    return static_cast<unsigned int>(::heddle::sim::runtime::position().block_size.count());
  }
  HEDDLE_COMPAT_INLINE static unsigned int size() { return num_threads(); }
  HEDDLE_COMPAT_INLINE static dim3 group_index() {
    return ::heddle::compat::indices(::heddle::sim::runtime::position().block);
  }
  HEDDLE_COMPAT_INLINE static dim3 thread_index() {
    return ::heddle::compat::indices(::heddle::sim::runtime::position().thread);
  }
  HEDDLE_COMPAT_INLINE static dim3 group_dim() { return dim_threads(); }
  HEDDLE_COMPAT_INLINE static dim3 dim_threads() {
    return ::heddle::compat::indices(::heddle::sim::runtime::position().block_size);
  }
  struct arrival_token {};
  HEDDLE_COMPAT_INLINE static arrival_token barrier_arrive() { return {}; }
  /// All come together here; nothing is left for the place where they arrived.
  HEDDLE_COMPAT_INLINE static void barrier_wait(arrival_token&&) { sync(); }
};
HEDDLE_COMPAT_INLINE thread_block this_thread_block() { return {}; }

/// Lanes of one warp, by their mask.
class lanes_of_warp {
 public:
  using bits = ::heddle::compat::lane_bits;
  static constexpr ::heddle::scope reach = ::heddle::scope::wave;
  HEDDLE_COMPAT_INLINE void sync() const { ::heddle::sim::runtime::sync_live(mask_); }
  HEDDLE_COMPAT_INLINE unsigned int thread_rank() const { return detail::below(mask_, detail::lane()); }
  HEDDLE_COMPAT_INLINE unsigned long long num_threads() const {
    return static_cast<unsigned long long>(__builtin_popcountll(mask_));
  }
  HEDDLE_COMPAT_INLINE unsigned long long size() const { return num_threads(); }
  HEDDLE_COMPAT_INLINE unsigned int meta_group_rank() const { return rank_; }
  HEDDLE_COMPAT_INLINE unsigned int meta_group_size() const { return groups_; }

  template <typename T>
  HEDDLE_COMPAT_INLINE T shfl(T value, unsigned int rank) const {
    return detail::moved(mask_, value, detail::lane_of_rank(mask_, rank % static_cast<unsigned int>(size())));
  }
  template <typename T>
  HEDDLE_COMPAT_INLINE T shfl_down(T value, unsigned int delta) const {
    const unsigned int from = thread_rank() + delta;
    return detail::moved(mask_, value, from < size() ? detail::lane_of_rank(mask_, from) : detail::lane());
  }
  template <typename T>
  HEDDLE_COMPAT_INLINE T shfl_up(T value, unsigned int delta) const {
    const unsigned int own = thread_rank();
    return detail::moved(mask_, value, own >= delta ? detail::lane_of_rank(mask_, own - delta) : detail::lane());
  }
  template <typename T>
  HEDDLE_COMPAT_INLINE T shfl_xor(T value, unsigned int ranks) const {
    const unsigned int from = thread_rank() ^ ranks;
    return detail::moved(mask_, value, from < size() ? detail::lane_of_rank(mask_, from) : detail::lane());
  }
  HEDDLE_COMPAT_INLINE int any(int predicate) const { return votes(predicate != 0) != 0 ? 1 : 0; }
  HEDDLE_COMPAT_INLINE int all(int predicate) const { return votes(predicate == 0) == 0 ? 1 : 0; }
  /// A bit for each rank.
  HEDDLE_COMPAT_INLINE bits ballot(int predicate) const { return by_rank(votes(predicate != 0)); }
  template <typename T>
  HEDDLE_COMPAT_INLINE bits match_any(T value) const {
    return by_rank(__match_any_sync(static_cast<bits>(mask_), value));
  }
  template <typename T>
  HEDDLE_COMPAT_INLINE bits match_all(T value, int& predicate) const {
    return by_rank(__match_all_sync(static_cast<bits>(mask_), value, &predicate));
  }
  HEDDLE_COMPAT_INLINE uint64_t heddle_mask() const { return mask_; }

 protected:
  HEDDLE_COMPAT_INLINE lanes_of_warp(uint64_t mask, unsigned int rank, unsigned int groups)
      : mask_(mask), rank_(rank), groups_(groups) {}

 private:
  friend class groups_maker;
  HEDDLE_COMPAT_INLINE uint64_t votes(bool predicate) const {
    return ::heddle::sim::runtime::ballot_of_live(mask_, predicate);
  }
  HEDDLE_COMPAT_INLINE bits by_rank(uint64_t lanes) const {
    bits made = 0;
    unsigned int rank = 0;
    for (uint64_t left = mask_; left != 0; left &= left - 1, ++rank)
      if ((lanes & left & -left) != 0) made |= bits{1} << rank;
    return made;
  }

  uint64_t mask_;
  unsigned int rank_;
  unsigned int groups_;
};

class coalesced_group : public lanes_of_warp {
 public:
  HEDDLE_COMPAT_INLINE explicit coalesced_group(uint64_t mask, unsigned int rank = 0, unsigned int groups = 1)
      : lanes_of_warp(mask, rank, groups) {}
};
/// The lanes that stand there together: of a wave whose lanes are scheduled one by one, any part of those that come.
HEDDLE_COMPAT_INLINE coalesced_group coalesced_threads() {
  return coalesced_group(::heddle::sim::runtime::lane_mask());
}

namespace detail {

/// The lanes of the tile of `size` that the thread is in, of which the last warp may have fewer.
HEDDLE_COMPAT_INLINE uint64_t tile_mask(unsigned int size) {
  const uint32_t threads = thread_block::num_threads();
  const uint32_t first = thread_block::thread_rank() - lane();
  const uint32_t in_warp = threads - first < warpSize ? threads - first : warpSize;
  const uint64_t warp = in_warp == 64 ? ~uint64_t{0} : (uint64_t{1} << in_warp) - 1;
  const uint64_t tile = size >= 64 ? ~uint64_t{0} : ((uint64_t{1} << size) - 1) << (lane() & ~(size - 1));
  return warp & tile;
}

}  // namespace detail

/// `Size` lanes of a warp; or more than a warp, which meet as a part of the block.
template <unsigned int Size, typename Parent = void>
class thread_block_tile : public lanes_of_warp {
  static_assert(Size <= static_cast<unsigned int>(warpSize) && (Size & (Size - 1)) == 0,
                "a tile of more than one warp is not simulated");

 public:
  HEDDLE_COMPAT_INLINE explicit thread_block_tile(unsigned int rank, unsigned int groups)
      : lanes_of_warp(detail::tile_mask(Size), rank, groups) {}
  template <typename Other>
  HEDDLE_COMPAT_INLINE thread_block_tile(const thread_block_tile<Size, Other>& from)
      : lanes_of_warp(from.heddle_mask(), from.meta_group_rank(), from.meta_group_size()) {}
  HEDDLE_COMPAT_INLINE static constexpr unsigned int size() { return Size; }
  HEDDLE_COMPAT_INLINE static constexpr unsigned int num_threads() { return Size; }
  HEDDLE_COMPAT_INLINE static unsigned int thread_rank() { return detail::lane() & (Size - 1); }
};
template <unsigned int Size>
HEDDLE_COMPAT_INLINE thread_block_tile<Size, thread_block> tiled_partition(const thread_block&) {
  return thread_block_tile<Size, thread_block>(thread_block::thread_rank() / Size,
                                               (thread_block::num_threads() + Size - 1) / Size);
}
template <unsigned int Size, unsigned int Larger, typename Parent>
HEDDLE_COMPAT_INLINE thread_block_tile<Size, thread_block_tile<Larger, Parent>> tiled_partition(
    const thread_block_tile<Larger, Parent>& from) {
  static_assert(Size <= Larger);
  return thread_block_tile<Size, thread_block_tile<Larger, Parent>>(from.thread_rank() / Size, Larger / Size);
}
HEDDLE_COMPAT_INLINE coalesced_group tiled_partition(const thread_block&, unsigned int size) {
  return coalesced_group(detail::tile_mask(size), thread_block::thread_rank() / size,
                         (thread_block::num_threads() + size - 1) / size);
}
HEDDLE_COMPAT_INLINE coalesced_group tiled_partition(const coalesced_group& from, unsigned int size) {
  const unsigned int part = from.thread_rank() / size;
  uint64_t mask = 0;
  unsigned int rank = 0;
  for (uint64_t left = from.heddle_mask(); left != 0; left &= left - 1, ++rank)
    if (rank / size == part) mask |= left & -left;
  return coalesced_group(mask, part, (static_cast<unsigned int>(from.size()) + size - 1) / size);
}
/// The lanes that give the same label.
template <typename Group, typename Label>
HEDDLE_COMPAT_INLINE coalesced_group labeled_partition(const Group& from, Label label) {
  return coalesced_group(__match_any_sync(static_cast<::heddle::compat::lane_bits>(from.heddle_mask()), label));
}
template <typename Group>
HEDDLE_COMPAT_INLINE coalesced_group binary_partition(const Group& from, bool predicate) {
  const uint64_t holds = ::heddle::sim::runtime::ballot_of_live(from.heddle_mask(), predicate);
  return coalesced_group(predicate ? holds : from.heddle_mask() & ~holds, predicate ? 1 : 0, 2);
}

/// A block, or lanes of a warp, of which is known when the program runs.
class thread_group {
 public:
  HEDDLE_COMPAT_INLINE thread_group(const thread_block&) : mask_(0) {}
  HEDDLE_COMPAT_INLINE thread_group(const lanes_of_warp& from) : mask_(from.heddle_mask()) {}
  HEDDLE_COMPAT_INLINE void sync() const {
    if (mask_ == 0)
      thread_block::sync();
    else
      ::heddle::sim::runtime::sync_live(mask_);
  }
  HEDDLE_COMPAT_INLINE unsigned int thread_rank() const {
    return mask_ == 0 ? thread_block::thread_rank() : detail::below(mask_, detail::lane());
  }
  HEDDLE_COMPAT_INLINE unsigned int size() const {
    return mask_ == 0 ? thread_block::size() : static_cast<unsigned int>(__builtin_popcountll(mask_));
  }
  HEDDLE_COMPAT_INLINE unsigned int num_threads() const { return size(); }

 private:
  uint64_t mask_;  ///< 0: the block
};

/// All blocks of a cooperative launch.
class grid_group {
 public:
  static constexpr ::heddle::scope reach = ::heddle::scope::device;
  HEDDLE_COMPAT_INLINE static bool is_valid() { return true; }
  /// The lanes of each block meet, then one of each counts its block up (acq_rel) and reads (acquire) until all have.
  HEDDLE_COMPAT_INLINE static void sync() {
    uint64_t* const word = ::heddle::compat::meeting_place();
    __syncthreads();
    if (thread_block::thread_rank() == 0) {
      const uint64_t blocks = num_blocks();
      const uint64_t before = ::heddle::sim::runtime::read_modify_write(
          ::heddle::sim::rmw_kind::add, word, 8, 1, ::heddle::memory_order::acq_rel, ::heddle::scope::device);
      const uint64_t last = (before / blocks + 1) * blocks;
      while (::heddle::sim::runtime::load(word, 8, ::heddle::memory_order::acquire, ::heddle::scope::device) < last)
        ::heddle::sim::runtime::pause();
    }
    __syncthreads();
  }
  HEDDLE_COMPAT_INLINE static unsigned long long thread_rank() {
    return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
  }
  HEDDLE_COMPAT_INLINE static unsigned long long block_rank() {
    const ::heddle::sim::grid_position here = ::heddle::sim::runtime::position();
    return detail::rank_in(here.block, here.grid_size);
  }
  HEDDLE_COMPAT_INLINE static unsigned long long num_blocks() {
    return ::heddle::sim::runtime::position().grid_size.count();
  }
  HEDDLE_COMPAT_INLINE static unsigned long long num_threads() { return num_blocks() * thread_block::num_threads(); }
  HEDDLE_COMPAT_INLINE static unsigned long long size() { return num_threads(); }
  HEDDLE_COMPAT_INLINE static dim3 group_dim() { return dim_blocks(); }
  HEDDLE_COMPAT_INLINE static dim3 dim_blocks() {
    return ::heddle::compat::indices(::heddle::sim::runtime::position().grid_size);
  }
  HEDDLE_COMPAT_INLINE static dim3 block_index() { return thread_block::group_index(); }
  HEDDLE_COMPAT_INLINE static dim3 dim_clusters() {
    return ::heddle::compat::indices(::heddle::sim::runtime::position().clusters());
  }
  HEDDLE_COMPAT_INLINE static unsigned long long num_clusters() {
    return ::heddle::sim::runtime::position().clusters().count();
  }
  HEDDLE_COMPAT_INLINE static dim3 cluster_index() {
    return ::heddle::compat::indices(::heddle::sim::runtime::position().cluster());
  }
  HEDDLE_COMPAT_INLINE static unsigned long long cluster_rank() {
    const ::heddle::sim::grid_position here = ::heddle::sim::runtime::position();
    return detail::rank_in(here.cluster(), here.clusters());
  }
};
HEDDLE_COMPAT_INLINE grid_group this_grid() { return {}; }

template <typename Group>
HEDDLE_COMPAT_INLINE void sync(const Group& group) {
  group.sync();
}
template <typename Group>
HEDDLE_COMPAT_INLINE unsigned int thread_rank(const Group& group) {
  return static_cast<unsigned int>(group.thread_rank());
}
template <typename Group>
HEDDLE_COMPAT_INLINE unsigned int group_size(const Group& group) {
  return static_cast<unsigned int>(group.size());
}
/// By the first lane alone.
template <typename Group, typename Function, typename... Arguments>
HEDDLE_COMPAT_INLINE void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
  if (group.thread_rank() == 0) std::forward<Function>(function)(std::forward<Arguments>(arguments)...);
}

// -- copies (CUDA C++ Programming Guide, "Cooperative Groups", "memcpy_async"): each call is a group of copies of each of its threads

template <typename Group, typename T, typename Size>
HEDDLE_COMPAT_INLINE void memcpy_async(const Group& group, T* to, const T* from, const Size& bytes) {
  constexpr size_t part = 16;
  const auto all = static_cast<size_t>(bytes);
  auto& copies = ::heddle::ptx::lane_copies();
  for (size_t at = size_t{group.thread_rank()} * part; at < all; at += size_t{group.size()} * part)
    copies.add_bytes(reinterpret_cast<char*>(to) + at, reinterpret_cast<const char*>(from) + at,
                     all - at < part ? all - at : part);
  copies.commit();
}
/// As many objects as both have.
template <typename Group, typename T, typename Into, typename Source>
HEDDLE_COMPAT_INLINE void memcpy_async(const Group& group, T* to, const Into& room, const T* from,
                                       const Source& objects) {
  const auto count = static_cast<size_t>(room) < static_cast<size_t>(objects) ? static_cast<size_t>(room)
                                                                              : static_cast<size_t>(objects);
  memcpy_async(group, to, from, count * sizeof(T));
}
/// For the copies of all calls but the last `But`, and for the others of the group.
template <unsigned int But, typename Group>
HEDDLE_COMPAT_INLINE void wait_prior(const Group& group) {
  ::heddle::ptx::lane_copies().wait(But);
  group.sync();
}
template <typename Group>
HEDDLE_COMPAT_INLINE void wait(const Group& group) {
  wait_prior<0>(group);
}

// -- reductions and scans (CUDA C++ Programming Guide, "Cooperative Groups", "Collective Operations")

#define HEDDLE_GROUP_OPERATION(name, result)                             \
  template <typename T>                                                  \
  struct name {                                                          \
    HEDDLE_COMPAT_INLINE T operator()(T a, T b) const { return result; } \
  };
HEDDLE_GROUP_OPERATION(plus, a + b)
HEDDLE_GROUP_OPERATION(less, b < a ? b : a)
HEDDLE_GROUP_OPERATION(greater, a < b ? b : a)
HEDDLE_GROUP_OPERATION(bit_and, a& b)
HEDDLE_GROUP_OPERATION(bit_or, a | b)
HEDDLE_GROUP_OPERATION(bit_xor, a ^ b)
#undef HEDDLE_GROUP_OPERATION

template <typename Group, typename T, typename Operation>
HEDDLE_COMPAT_INLINE T reduce(const Group& group, T value, Operation&& operation) {
  const auto count = static_cast<unsigned int>(group.size());
  T made = group.shfl(value, 0);
  for (unsigned int rank = 1; rank < count; ++rank) made = operation(made, group.shfl(value, rank));
  return made;
}
template <typename Group, typename T, typename Operation = plus<T>>
HEDDLE_COMPAT_INLINE T inclusive_scan(const Group& group, T value, Operation&& operation = {}) {
  const auto count = static_cast<unsigned int>(group.size());
  T made = group.shfl(value, 0);
  for (unsigned int rank = 1; rank < count; ++rank) {
    const T next = group.shfl(value, rank);
    if (rank <= group.thread_rank()) made = operation(made, next);
  }
  return made;
}
template <typename Group, typename T, typename Operation = plus<T>>
HEDDLE_COMPAT_INLINE T exclusive_scan(const Group& group, T value, Operation&& operation = {}) {
  const T with_own = inclusive_scan(group, value, operation);
  const T before = group.shfl_up(with_own, 1);
  return group.thread_rank() == 0 ? T{} : before;
}

}  // namespace cooperative_groups
