// Special registers, barriers and what the lanes of a warp do together, in PTX. (PTX ISA, "Special Registers", "Parallel Synchronization
// and Communication Instructions".)
#pragma once

#include <heddle/sim/compat/ptx/integers.h>
#include <heddle/sim/compat/ptx/memory.h>
#include <heddle/sim/compat/ptx/types.h>

namespace heddle::ptx {

// -- special registers

HEDDLE_PTX_INLINE uint32_t count_of(const sim::extent& of) { return static_cast<uint32_t>(of.count()); }
HEDDLE_PTX_INLINE uint32_t block_threads() { return count_of(sim::runtime::position().block_size); }
HEDDLE_PTX_INLINE uint32_t block_count() { return count_of(sim::runtime::position().grid_size); }
HEDDLE_PTX_INLINE uint32_t thread_number() {
  const sim::grid_position here = sim::runtime::position();
  return here.thread.x + here.block_size.x * (here.thread.y + here.block_size.y * here.thread.z);
}

#define HEDDLE_PTX_POSITION(name, member)                                                 \
  HEDDLE_PTX_INLINE uint32_t s_##name##_x() { return sim::runtime::position().member.x; } \
  HEDDLE_PTX_INLINE uint32_t s_##name##_y() { return sim::runtime::position().member.y; } \
  HEDDLE_PTX_INLINE uint32_t s_##name##_z() { return sim::runtime::position().member.z; }
HEDDLE_PTX_POSITION(tid, thread)
HEDDLE_PTX_POSITION(ntid, block_size)
HEDDLE_PTX_POSITION(ctaid, block)
HEDDLE_PTX_POSITION(nctaid, grid_size)
HEDDLE_PTX_POSITION(clusterid, cluster())
HEDDLE_PTX_POSITION(nclusterid, clusters())
HEDDLE_PTX_POSITION(cluster_ctaid, in_cluster())
HEDDLE_PTX_POSITION(cluster_nctaid, cluster_size)
#undef HEDDLE_PTX_POSITION

#define HEDDLE_PTX_SPECIAL(name, value) \
  HEDDLE_PTX_INLINE uint32_t s_##name() { return value; }
HEDDLE_PTX_SPECIAL(cluster_ctarank, sim::runtime::position().cluster_rank())
HEDDLE_PTX_SPECIAL(cluster_nctarank, count_of(sim::runtime::position().cluster_size))
HEDDLE_PTX_INLINE bool s_is_explicit_cluster() { return s_cluster_nctarank() > 1; }
HEDDLE_PTX_SPECIAL(laneid, sim::runtime::lane_id())
HEDDLE_PTX_SPECIAL(warpid, thread_number() / 32)
HEDDLE_PTX_SPECIAL(nwarpid, (block_threads() + 31) / 32)
// Which multiprocessor a block runs on is not simulated: each has its own.
HEDDLE_PTX_SPECIAL(smid, sim::runtime::block_id())
HEDDLE_PTX_SPECIAL(nsmid, block_count())
HEDDLE_PTX_SPECIAL(lanemask_eq, uint32_t{1} << s_laneid())
HEDDLE_PTX_SPECIAL(lanemask_lt, s_lanemask_eq() - 1)
HEDDLE_PTX_SPECIAL(lanemask_le, s_lanemask_eq() * 2 - 1)
HEDDLE_PTX_SPECIAL(lanemask_gt, ~s_lanemask_le())
HEDDLE_PTX_SPECIAL(lanemask_ge, ~s_lanemask_lt())
HEDDLE_PTX_SPECIAL(dynamic_smem_size, static_cast<uint32_t>(sim::runtime::position().shared_bytes))
HEDDLE_PTX_INLINE uint64_t s_gridid() { return sim::runtime::position().launch; }
HEDDLE_PTX_INLINE uint64_t s_clock64() { return sim::runtime::clock(); }
HEDDLE_PTX_INLINE uint64_t s_globaltimer() { return sim::runtime::clock(); }
HEDDLE_PTX_SPECIAL(clock, static_cast<uint32_t>(s_clock64()))
HEDDLE_PTX_SPECIAL(clock_hi, static_cast<uint32_t>(s_clock64() >> 32))
HEDDLE_PTX_SPECIAL(globaltimer_lo, static_cast<uint32_t>(s_globaltimer()))
HEDDLE_PTX_SPECIAL(globaltimer_hi, static_cast<uint32_t>(s_globaltimer() >> 32))
#undef HEDDLE_PTX_SPECIAL

// -- what a kernel says of the threads of a block

/// (PTX ISA, ".maxntid", ".reqntid": a launch with others is an error, and the kernel does not run.)
HEDDLE_PTX_INLINE void threads_at_most(sim::extent most) {
  if (block_threads() > most.count()) [[unlikely]]
    sim::runtime::trap(fault::assertion, "a launch with more threads in a block than the kernel's .maxntid has");
}
HEDDLE_PTX_INLINE void threads_are(sim::extent required) {
  const sim::extent& here = sim::runtime::position().block_size;
  if (here.x != required.x || here.y != required.y || here.z != required.z) [[unlikely]]
    sim::runtime::trap(fault::assertion, "a launch with other threads in a block than the kernel's .reqntid has");
}

// -- waiting and ending

HEDDLE_PTX_INLINE void i_trap() { trap_behind_line(); }
HEDDLE_PTX_INLINE void i_brkpt() { sim::runtime::trap(fault::assertion, "brkpt"); }
template <typename T>
HEDDLE_PTX_INLINE void i_nanosleep(uint32_t) {
  sim::runtime::pause();
}
/// At the jump back of a loop in which nothing can be seen: one that goes on and on lets others run, and is seen to come to nothing.
HEDDLE_PTX_INLINE void silent_loop(uint32_t& rounds) {
  constexpr uint32_t many = 100000;
  if (rounds < many)
    ++rounds;
  else
    sim::runtime::pause();
}

// -- barriers

/// The phase of a barrier of some lanes of a block, in a word of it. From the lowest bit: 10 of how many lanes have arrived, 10 of how many come less 1,
/// 10 of how many of them have come with a predicate, one that says that it reduces, 11 of how many did in the last phase that is over, 11 of those in
/// the one before, and 11 of how many are over. 0 when none has begun.
namespace phase {

inline constexpr uint64_t few = (1 << 10) - 1;
inline constexpr uint64_t many = (1 << 11) - 1;
inline constexpr uint64_t most_lanes = few + 1;

HEDDLE_PTX_INLINE uint64_t arrived(uint64_t word) { return word & few; }
/// How many come, and whether the phase reduces.
HEDDLE_PTX_INLINE uint32_t shape(uint64_t word) {
  return static_cast<uint32_t>((word >> 10 & few) + 1) | static_cast<uint32_t>(word >> 30 & 1) << 16;
}
HEDDLE_PTX_INLINE uint64_t over(uint64_t word) { return word >> 53; }
/// What the phase has reduced to that so many were before; valid for the last two.
HEDDLE_PTX_INLINE uint64_t result(uint64_t word, uint64_t back) { return word >> (back == 0 ? 31 : 42) & many; }

/// A lane arrives. The operand: a byte of the word before any phase, the predicate, and the shape.
inline uint64_t with_arrival(uint64_t word, uint64_t operand) {
  const uint64_t none = (operand & 0xff) * 0x0101010101010101;
  uint64_t now = word - none;
  const uint64_t shape = operand >> 16;
  const uint64_t lanes = shape & 0xffff;
  const uint64_t holds = (now >> 20 & few) + (operand >> 8 & 1);
  if (arrived(now) + 1 < lanes)
    now =
        (now & ~((uint64_t{1} << 31) - 1)) | (arrived(now) + 1) | (lanes - 1) << 10 | holds << 20 | (shape >> 16) << 30;
  else
    now = (over(now) + 1) << 53 | result(now, 0) << 42 | holds << 31;
  return now + none;
}

}  // namespace phase

/// One of the block's barriers, by the count of lanes that come to it. Number 0, for all, is the simulator's own; the others are a word of
/// the block: each lane that arrives changes it (acq_rel), each that waits reads it (acquire) until the phase is over.
/// `Aligned`: all lanes of a wave come to it by one instruction.
template <typename Kind, bool Aligned = true>
HEDDLE_PTX_INLINE uint32_t block_barrier(uint32_t id, uint32_t count, bool predicate = false) {
  using sim::runtime::barrier_kind;
  constexpr bool arrives = std::is_same_v<Kind, m_arrive>;
  constexpr bool reduces = !std::is_same_v<Kind, m_sync> && !arrives;
  const uint32_t all = block_threads();
  if (id == 0 && (count == 0 || count == all)) {
    if constexpr (arrives) {
      sim::runtime::arrive_at_block();
      return 0;
    }
    constexpr barrier_kind how = std::is_same_v<Kind, m_popc>  ? barrier_kind::count
                                 : std::is_same_v<Kind, m_and> ? barrier_kind::all
                                 : std::is_same_v<Kind, m_or>  ? barrier_kind::any
                                                               : barrier_kind::plain;
    return sim::runtime::block_barrier(how, predicate, Aligned);
  }
  const named_barrier here = barrier_of_block(id);
  const uint32_t lanes = count == 0 ? all : count;
  if (lanes > phase::most_lanes) sim::runtime::trap(fault::assertion, "a barrier of a block has a count of 1 to 1024");
  const uint32_t shape = lanes | (reduces ? 1u << 16 : 0u);
  const uint64_t operand = (here.none & 0xff) | (predicate ? 1u << 8 : 0u) | uint64_t{shape} << 16;
  const uint64_t before =
      sim::runtime::modify(&phase::with_arrival, here.word, 8, operand, memory_order::acq_rel, scope::block) -
      here.none;
  sim::runtime::arrives_at_part(id, phase::arrived(before) == 0 ? 0 : phase::shape(before), shape, Aligned && !arrives);
  if constexpr (arrives) return 0;
  const auto phases_since = [&](uint64_t word) { return (phase::over(word) - phase::over(before)) & phase::many; };
  uint64_t now = phase::with_arrival(before + here.none, operand) - here.none;
  while (phases_since(now) == 0) {
    now = sim::runtime::load(here.word, 8, memory_order::acquire, scope::block) - here.none;
    if (phases_since(now) == 0) sim::runtime::pause();
  }
  if constexpr (!reduces) return 0;
  if (phases_since(now) > 2)
    sim::runtime::refuse_call("barrier.red", "two more phases of a barrier are over before a lane has its result");
  const uint64_t holds = phase::result(now, phases_since(now) - 1);
  if constexpr (std::is_same_v<Kind, m_and>) return holds == lanes ? 1 : 0;
  if constexpr (std::is_same_v<Kind, m_or>) return holds != 0 ? 1 : 0;
  return static_cast<uint32_t>(holds);
}
HEDDLE_PTX_INLINE void warp_barrier(uint32_t mask) { sim::runtime::sync_live(mask); }
/// Of a cluster, in two steps.
template <typename... M>
HEDDLE_PTX_INLINE void i_barrier() {
  constexpr memory_order unless_relaxed = has<m_arrive, M...> ? memory_order::release : memory_order::acquire;
  constexpr memory_order order = has<m_relaxed, M...> ? memory_order::relaxed : unless_relaxed;
  if constexpr (has<m_arrive, M...>)
    sim::runtime::arrive_at_cluster(order);
  else
    sim::runtime::wait_at_cluster(order);
}

// -- kernels in a row

template <typename... M>
HEDDLE_PTX_INLINE void i_griddepcontrol() {
  if constexpr (has<m_wait, M...>)
    sim::runtime::wait_for_kernel_before();
  else
    sim::runtime::let_next_kernel_begin();
}

// -- memory of other blocks of a cluster

template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_mapa(word<T> address, uint32_t rank) {
  if constexpr (has<m_shared__cluster, M...>)
    return static_cast<word<T>>(shared_of_cluster(address, rank));
  else
    return static_cast<word<T>>(reinterpret_cast<uint64_t>(
        sim::runtime::shared_of_cluster(reinterpret_cast<const void*>(uint64_t{address}), rank)));
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE uint32_t i_getctarank(word<T> address) {
  const void* const generic =
      has<m_shared__cluster, M...> ? generic_of_shared(address) : reinterpret_cast<const void*>(uint64_t{address});
  return sim::runtime::rank_in_cluster(generic);
}

// -- lanes of a warp

template <typename... M>
HEDDLE_PTX_INLINE uint32_t source_lane(uint32_t lane, uint32_t b, uint32_t c, bool& within) {
  const uint32_t segment = c >> 8 & 31;
  const uint32_t clamp = c & 31;
  const uint32_t least = lane & segment;
  const uint32_t most = least | (clamp & ~segment);
  b &= 31;
  uint32_t from = 0;
  if constexpr (has<m_up, M...>) {
    from = lane - b;
    within = static_cast<int32_t>(from) >= static_cast<int32_t>(most);
  } else {
    from = has<m_down, M...> ? lane + b : has<m_bfly, M...> ? lane ^ b : least | (b & ~segment);
    within = from <= most;
  }
  return within ? from : lane;
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE void i_shfl(uint32_t& d, bool& p, uint32_t a, uint32_t b, uint32_t c, uint32_t mask) {
  bool within = false;
  const uint32_t from = source_lane<M...>(sim::runtime::lane_id(), b, c, within);
  d = static_cast<uint32_t>(sim::runtime::shuffle(mask, a, from));
  p = within;
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_vote(bool a, uint32_t mask) {
  if constexpr (has<m_ballot, M...>) return static_cast<word<T>>(sim::runtime::ballot_of_live(mask, a));
  if constexpr (has<m_any, M...>) return sim::runtime::ballot_of_live(mask, a) != 0;
  const bool none_differs = sim::runtime::ballot_of_live(mask, !a) == 0;
  if constexpr (has<m_all, M...>) return none_differs;
  return none_differs || sim::runtime::ballot_of_live(mask, a) == 0;
}
/// Calls `use(lane, value)` for each lane of the mask that has not ended, in order. Each value is a shuffle.
template <typename Use>
HEDDLE_PTX_INLINE void for_each_of(uint64_t mask, uint64_t own, Use&& use) {
  const uint64_t live = sim::runtime::ballot_of_live(mask, true);
  for (uint64_t left = live; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctzll(left));
    use(lane, sim::runtime::shuffle(mask, own, lane));
  }
}
/// The lanes of the mask that give the same value, and whether all that have not ended do.
HEDDLE_PTX_INLINE uint64_t lanes_with(uint64_t mask, uint64_t own, bool& all_give_it) {
  uint64_t same = 0;
  uint64_t all = 0;
  for_each_of(mask, own, [&](uint32_t lane, uint64_t value) {
    all |= uint64_t{1} << lane;
    if (value == own) same |= uint64_t{1} << lane;
  });
  all_give_it = same == all;
  return same;
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE void i_match(uint32_t& d, bool& p, word<T> a, uint32_t mask) {
  const auto same = static_cast<uint32_t>(lanes_with(mask, a, p));
  d = has<m_all, M...> && !p ? 0 : same;
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE uint32_t i_redux(uint32_t a, uint64_t mask) {
  uint32_t made = has<m_and, M...> ? ~uint32_t{0} : 0;
  bool is_first = true;
  for_each_of(mask, a, [&](uint32_t, uint64_t given) {
    const auto value = static_cast<uint32_t>(given);
    if constexpr (has<m_add, M...>) made += value;
    if constexpr (has<m_and, M...>) made &= value;
    if constexpr (has<m_or, M...>) made |= value;
    if constexpr (has<m_xor, M...>) made ^= value;
    if constexpr (has<m_min, M...>) made = is_first ? value : i_min<T>(made, value);
    if constexpr (has<m_max, M...>) made = is_first ? value : i_max<T>(made, value);
    is_first = false;
  });
  return made;
}
template <typename T>
HEDDLE_PTX_INLINE uint32_t i_activemask() {
  return static_cast<uint32_t>(sim::runtime::lane_mask());
}
template <typename... M>
HEDDLE_PTX_INLINE void i_elect(uint32_t& d, bool& p, uint32_t mask) {
  d = static_cast<uint32_t>(__builtin_ctzll(sim::runtime::ballot_of_live(mask, true)));
  p = d == sim::runtime::lane_id();
}

}  // namespace heddle::ptx
