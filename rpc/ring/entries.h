// Entries of a FIFO: where they lie, how one says that it is there, and how numbers of entries are read.
#pragma once

#include <heddle/rpc/check.h>
#include <heddle/rpc/layout.h>

namespace heddle::rpc {

inline constexpr uint32_t max_fifo_entries = uint32_t{1} << 20;

/// An entry where it lies, with the flag that says which lap it is of.
template <typename Entry>
struct fifo_slot {
  Entry entry;
  uint32_t flag;  ///< written last by the producer; 0, which no lap has, in zeroed memory
};

/// An entry for the form flag_inside: two words, of which the upper two bits are the flag's. It is all that lies there.
struct alignas(16) fifo_pair {
  static constexpr uint32_t word_bits = 62;
  uint64_t words[2];
};
template <>
struct fifo_slot<fifo_pair> {
  fifo_pair entry;
};

/// The producers' counters, in memory that only they use. Zeroed, or both as fifo_layout::begin_at was told.
struct fifo_counters {
  uint32_t head = 0;         ///< the number of the next entry to be reserved
  uint32_t cached_tail = 0;  ///< the consumer's tail as a producer saw it last: spares the others the way over the link
};

/// Where things lie in the shared allocation, in bytes; `entries` is a power of two in [1, max_fifo_entries]. Doorbell and tail have a line each.
template <typename Entry>
struct fifo_layout {
  uint32_t entries;

  HEDDLE_FUNCTION constexpr bool is_valid() const {
    return entries != 0 && entries <= max_fifo_entries && (entries & (entries - 1)) == 0;
  }
  HEDDLE_FUNCTION static constexpr size_t doorbell_offset() { return 0; }
  HEDDLE_FUNCTION static constexpr size_t tail_offset() { return line_bytes; }
  /// The word by which the consumer says that it has ended; in the line of its tail.
  HEDDLE_FUNCTION static constexpr size_t end_offset() { return tail_offset() + sizeof(uint32_t); }
  HEDDLE_FUNCTION static constexpr size_t slot_offset() { return 2 * line_bytes; }
  /// The size of the shared allocation, which must be zeroed and aligned to line_bytes.
  HEDDLE_FUNCTION constexpr size_t size_bytes() const { return slot_offset() + entries * sizeof(fifo_slot<Entry>); }

  /// Makes `number` the first entry's, before the ring is used: the producers' counters begin there too. Numbers wrap at 2^32.
  HEDDLE_FUNCTION static void begin_at(void* shared, uint32_t number) {
    *reinterpret_cast<uint32_t*>(static_cast<unsigned char*>(shared) + tail_offset()) = number;
  }
};

/// How numbers are read: an entry is there when its flag is that of its lap, and there is room as long as the last one is less than
/// a ring away from the tail. Differences of numbers are taken modulo 2^32, and never the numbers themselves compared. (MSCCL++
/// and NVSHMEM: the parity of the lap; here plus one, so that zeroed memory is of no lap, wherever the numbers begin.)
struct lap_parity {
  static constexpr bool clears = false;
  static constexpr bool is_inside = false;

  HEDDLE_FUNCTION static uint32_t flag_of(uint32_t number, uint32_t entries) { return (number & entries) != 0 ? 2 : 1; }
  /// Whether the entries below `end` fit in the ring behind `tail`. A tail that is past `end` means that the caller's
  /// `end` is old: the reservation then fails.
  HEDDLE_FUNCTION static bool has_room(uint32_t end, uint32_t tail, uint32_t entries) {
    return static_cast<int32_t>(end - tail) <= static_cast<int32_t>(entries);
  }
};

/// As lap_parity, with a flag that the consumer clears before it gives the entry back. (NCCL GIN; libgomp for AMD GPUs.)
struct cleared_flag : lap_parity {
  static constexpr bool clears = true;
  HEDDLE_FUNCTION static uint32_t flag_of(uint32_t, uint32_t) { return 1; }
};

/// As lap_parity, for entries of fifo_pair: each word carries the flag of its lap, so that either may arrive first and no store has to wait for
/// another. An entry so costs no fence, and publishes nothing but itself: where it names memory that its consumer reads, have a
/// Target::fence<scope::system>(memory_order::release) in front of the push. (MSCCL++'s triggers have one such bit.)
struct flag_inside : lap_parity {
  static constexpr bool is_inside = true;
  HEDDLE_FUNCTION static constexpr uint64_t word_of(uint64_t value, uint32_t flag) {
    return (value & ~(uint64_t{3} << fifo_pair::word_bits)) | uint64_t{flag} << fifo_pair::word_bits;
  }
};

namespace detail {

/// Stores both words of an entry, by one instruction where the machine has one. Relaxed: each says by itself of which lap it is.
template <typename Target>
HEDDLE_FUNCTION inline void store_pair(fifo_pair& to, uint64_t first, uint64_t second) {
  if constexpr (requires { Target::store_pair(to.words, first, second); }) {
    Target::store_pair(to.words, first, second);
  } else {
    using word_ref = typename Target::template atomic_ref<uint64_t, scope::system>;
    word_ref(to.words[0]).store(first, memory_order::relaxed);
    word_ref(to.words[1]).store(second, memory_order::relaxed);
  }
}

/// Takes the entry if both words are there.
template <typename Target>
HEDDLE_FUNCTION inline bool take_pair(fifo_pair& from, uint32_t flag, fifo_pair& into) {
  using word_ref = typename Target::template atomic_ref<uint64_t, scope::system>;
  for (uint32_t n = 0; n < 2; ++n) {
    const uint64_t word = word_ref(from.words[n]).load(memory_order::relaxed);
    if (word >> fifo_pair::word_bits != flag) return false;
    into.words[n] = flag_inside::word_of(word, 0);
  }
  // Acquire, system scope: pairs with a release fence of the producer in front of its push, if there is one.
  acquire_seen<Target, scope::system>(from.words[1]);
  return true;
}

}  // namespace detail

}  // namespace heddle::rpc
