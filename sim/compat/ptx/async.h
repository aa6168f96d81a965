// Copies from global memory to that of the block which go on beside their lane. (PTX ISA, "Asynchronous Data Movement": cp.async.)
//
// A copy is made when its lane waits for it: as late as may be. From its issue on it is under way: an access that it conflicts with is a race with
// it, be it the lane's own. One that is never waited for is never made. Those that an mbarrier waits for are made by actors of their own.
#pragma once

#include <heddle/sim/compat/ptx/memory.h>

namespace heddle::ptx {

/// Those of one lane, in its kernel's frame or where the simulator keeps them (lane_copies()).
class async_copies {
 public:
  /// `bytes` is 4, 8 or 16; what lies behind the first `given` of them becomes 0.
  HEDDLE_PTX_INLINE void add(void* to, void* from, uint32_t bytes, uint32_t given) {
    // Earlier than it must be is allowed too.
    if (count_ == most) {
      make_first();
      // What the lane does between here and the wait is not compared with the copy.
      sim::runtime::leave_out_of_proofs();
    }
    if (given > bytes) given = bytes;
    check_alignment(to, bytes);
    if (given == bytes) check_alignment(from, bytes);
    sim::runtime::async_copy_begins(to, from, bytes, given);
    waiting_[(first_ + count_++) % most] = {to, from, bytes, given, groups_};
  }
  /// Any bytes, in pieces of 16, 8 and 4. Only from global memory to that of the block does hardware copy beside the lane, and only such pieces: all
  /// else is copied at once. (libcu++, "cuda::memcpy_async"; CUDA C++ Programming Guide, "memcpy_async".)
  HEDDLE_PTX_INLINE void add_bytes(void* to, const void* from, size_t bytes) {
    auto* const into = static_cast<unsigned char*>(to);
    auto* const source = static_cast<unsigned char*>(const_cast<void*>(from));
    const bool beside = i_isspacep<m_shared>(reinterpret_cast<uintptr_t>(to)) &&
                        i_isspacep<m_global>(reinterpret_cast<uintptr_t>(from));
    const auto misaligned = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from);
    for (size_t at = 0; at < bytes;) {
      uint32_t part = 16;
      while (part > 2 && ((misaligned | at) % part != 0 || part > bytes - at)) part /= 2;
      if (beside && part >= 4) {
        add(into + at, source + at, part, part);
        at += part;
      } else {
        into[at] = source[at];
        ++at;
      }
    }
  }
  HEDDLE_PTX_INLINE void commit() { ++groups_; }
  /// The mbarrier, which has one arrival for them if it is `counted`, waits for all copies.
  HEDDLE_PTX_INLINE void arrive_on(void* barrier, bool counted);
  /// For all groups but the last `but`.
  HEDDLE_PTX_INLINE void wait(uint32_t but) {
    while (count_ != 0 && waiting_[first_].group + but < groups_) make_first();
    if (has_arrived_on_ && groups_ > but) sim::runtime::wait_for_async_copies(groups_ - but);
  }

 private:
  static constexpr uint32_t most = 64;
  struct copy {
    void* to;
    void* from;
    uint32_t bytes;
    uint32_t given;
    uint32_t group;
  };

  /// The one that was issued first is under way no more.
  HEDDLE_PTX_INLINE copy take_first() {
    const copy one = waiting_[first_];
    first_ = (first_ + 1) % most;
    --count_;
    sim::runtime::async_copy_ends(one.to, one.from, one.bytes, one.given);
    return one;
  }
  HEDDLE_PTX_INLINE void make_first() {
    const copy one = take_first();
    unsigned char bytes[16] = {};
    if (one.given == one.bytes)
      announce(one.from, one.bytes, false);
    else
      for (uint32_t n = 0; n < one.given; ++n) announce_read<1>(static_cast<unsigned char*>(one.from) + n);
    for (uint32_t n = 0; n < one.given; ++n) bytes[n] = raw_load<uint8_t>(static_cast<unsigned char*>(one.from) + n);
    announce(one.to, one.bytes, true);
    for (uint32_t n = 0; n < one.bytes; ++n) raw_store<uint8_t>(static_cast<unsigned char*>(one.to) + n, bytes[n]);
  }
  HEDDLE_PTX_INLINE static void announce(void* address, uint32_t bytes, bool writes) {
    check_alignment(address, bytes);
    if (bytes == 4) writes ? announce_write<4>(address) : announce_read<4>(address);
    if (bytes == 8) writes ? announce_write<8>(address) : announce_read<8>(address);
    if (bytes == 16) writes ? announce_write<16>(address) : announce_read<16>(address);
  }

  copy waiting_[most];
  uint32_t first_ = 0;
  uint32_t count_ = 0;
  uint32_t groups_ = 0;
  bool has_arrived_on_ = false;
};

/// Of the lane that calls, wherever its calls have led it.
inline async_copies& lane_copies() {
  static constexpr char key = 0;
  sim::runtime::leave_out_of_proofs();
  return *static_cast<async_copies*>(sim::runtime::memory_of_lane(&key, sizeof(async_copies)));
}

// -- mbarriers: a word of 64 bits, changed by read-modify-writes. (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".)
//
// From the lowest bit: 20 of how many arrivals a phase expects, 20 of how many are pending, 22 of bytes that are under way, one that says that
// this is an mbarrier, and the parity of the phase.

namespace mbarrier {

inline constexpr uint64_t counts = (uint64_t{1} << 20) - 1;
inline constexpr uint64_t bytes = (uint64_t{1} << 22) - 1;
inline constexpr uint64_t is_one = uint64_t{1} << 62;
inline constexpr uint64_t phase = uint64_t{1} << 63;

HEDDLE_PTX_INLINE uint64_t expected_of(uint64_t word) { return word & counts; }
HEDDLE_PTX_INLINE uint64_t pending_of(uint64_t word) { return word >> 20 & counts; }
HEDDLE_PTX_INLINE uint64_t bytes_of(uint64_t word) { return word >> 40 & bytes; }

/// `change` has arrivals, 20 bits of how many fewer are expected from now on, and bytes.
inline uint64_t changed(uint64_t old, uint64_t change) {
  const uint64_t expected = (expected_of(old) - pending_of(change)) & counts;
  uint64_t pending = (pending_of(old) - expected_of(change)) & counts;
  const uint64_t under_way = (bytes_of(old) + bytes_of(change)) & bytes;
  uint64_t above = old & (phase | is_one);
  if (pending == 0 && under_way == 0) {
    pending = expected;
    above ^= phase;
  }
  return expected | pending << 20 | under_way << 40 | above;
}

HEDDLE_PTX_INLINE void check(uint64_t word) {
  if ((word & is_one) == 0) [[unlikely]]
    sim::runtime::trap(fault::assertion, "what is used as an mbarrier has not been made one by mbarrier.init");
}

HEDDLE_PTX_INLINE void init(void* word, uint32_t count) {
  if (count == 0 || count > counts) sim::runtime::trap(fault::assertion, "mbarrier.init: the count is 1 to 1048575");
  check_alignment(word, sizeof(uint64_t));
  announce_write<sizeof(uint64_t)>(word);
  raw_store<uint64_t>(word, count | uint64_t{count} << 20 | is_one);
}
/// An atomic store: what has come from a wait by other lanes of its wave may not be ordered before it. libcu++ has the last lane of a pipeline do
/// this (cuda::pipeline::quit), found by match.any. A wait behind it ends the run.
HEDDLE_PTX_INLINE void inval(void* word) {
  check_alignment(word, sizeof(uint64_t));
  sim::runtime::store(word, sizeof(uint64_t), 0, memory_order::relaxed, scope::cluster);
}

/// Returns what it was before: the state of the phase.
template <typename... M>
HEDDLE_PTX_INLINE uint64_t change(void* word, uint32_t arrivals, uint32_t dropped, uint32_t more_bytes) {
  check_alignment(word, sizeof(uint64_t));
  const uint64_t by = (arrivals & counts) | (dropped & counts) << 20 | (more_bytes & bytes) << 40;
  const uint64_t old =
      sim::runtime::modify(&changed, word, sizeof(uint64_t), by, order_of<M...>(), reach_of<M...>(scope::block));
  check(old);
  if (arrivals > pending_of(old)) [[unlikely]]
    sim::runtime::trap(fault::assertion, "mbarrier: more arrivals than the phase has pending");
  return old;
}

inline uint64_t with_pending(uint64_t old, uint64_t more) {
  return (old & ~(counts << 20)) | ((pending_of(old) + more) & counts) << 20;
}
/// The phase waits for so many arrivals more.
inline void expect_arrivals(void* word, uint32_t more) {
  check_alignment(word, sizeof(uint64_t));
  check(sim::runtime::modify(&with_pending, word, sizeof(uint64_t), more, memory_order::relaxed, scope::block));
}
/// The end of a copy that the phase waits for.
inline void copy_arrives(void* word, uint32_t) { change<m_release>(word, 1, 0, 0); }
/// Has bytes copied into the memory of the block, for which the phase waits.
HEDDLE_PTX_INLINE void copy_beside(void* to, const void* from, uint32_t size_bytes, void* word) {
  expect_arrivals(word, 1);
  sim::runtime::issue_async_copy(to, from, size_bytes, 0, word, &copy_arrives);
}

HEDDLE_PTX_INLINE uint32_t phase_of(uint64_t state) { return static_cast<uint32_t>(state >> 63); }
/// Whether the phase with this parity is over.
template <typename... M>
HEDDLE_PTX_INLINE bool is_over(void* word, uint32_t parity) {
  check_alignment(word, sizeof(uint64_t));
  const uint64_t now = sim::runtime::load(word, sizeof(uint64_t), order_of<M...>(), reach_of<M...>(scope::block));
  check(now);
  return phase_of(now) != (parity & 1);
}

}  // namespace mbarrier

// One with zeros is made now.
HEDDLE_PTX_INLINE void async_copies::arrive_on(void* barrier, bool counted) {
  while (count_ != 0) {
    if (waiting_[first_].given != waiting_[first_].bytes) {
      make_first();
      continue;
    }
    const copy one = take_first();
    has_arrived_on_ = true;
    mbarrier::expect_arrivals(barrier, 1);
    sim::runtime::issue_async_copy(one.to, one.from, one.bytes, one.group, barrier, &mbarrier::copy_arrives);
  }
  mbarrier::change<m_release>(barrier, counted ? 1 : 0, 0, 0);
}

// -- bulk copies, made by an actor of their own. (PTX ISA, "cp.async.bulk".)

namespace bulk {

/// The addresses and the size are multiples of 16.
HEDDLE_PTX_INLINE void check(const void* to, const void* from, uint32_t size_bytes) {
  constexpr uint32_t unit = 16;
  if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | size_bytes) % unit != 0) [[unlikely]]
    sim::runtime::trap(fault::assertion, "cp.async.bulk: addresses and size are multiples of 16");
}
/// So many bytes less are under way: what waits for the phase comes behind the copy.
inline void complete(void* barrier, uint32_t size_bytes) { mbarrier::change<m_release>(barrier, 0, 0, 0 - size_bytes); }
/// Into the memory of the block, with an mbarrier for its end.
HEDDLE_PTX_INLINE void load(void* to, void* from, uint32_t size_bytes, void* barrier) {
  check(to, from, size_bytes);
  check_alignment(barrier, sizeof(uint64_t));
  sim::runtime::issue_bulk_copy(to, from, size_bytes, true, barrier, &complete);
}
/// Out of it, as one of the lane's group.
HEDDLE_PTX_INLINE void store(void* to, void* from, uint32_t size_bytes) {
  check(to, from, size_bytes);
  sim::runtime::issue_bulk_copy(to, from, size_bytes, false, nullptr, nullptr);
}

HEDDLE_PTX_INLINE void commit() { sim::runtime::close_bulk_group(); }
HEDDLE_PTX_INLINE void wait(uint32_t but, bool reading) { sim::runtime::wait_for_bulk_groups(but, reading); }

}  // namespace bulk

}  // namespace heddle::ptx
