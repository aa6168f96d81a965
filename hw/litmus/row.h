// A row of a litmus table, compiled: its threads, their bodies, and what is asked of the outcome. For host threads and GPUs.
#pragma once

#include <heddle/rpc/target.h>

#include <stdint.h>

namespace heddle::machine_litmus {

inline constexpr uint32_t threads_max = 4;
inline constexpr uint32_t locations_max = 4;
inline constexpr uint32_t registers_max = 3;
inline constexpr uint32_t value_bits = 2;  ///< of each value that a row can leave
inline constexpr uint32_t value_mask = (1U << value_bits) - 1;

/// One thread of a row. Its body names locations a, b and c.
struct row_thread {
  int32_t block;       ///< of the device; -1: on the host
  uint32_t body;       ///< of the host's bodies, or the device's
  uint32_t registers;  ///< that it writes: r0 up to this one
  uint32_t locations[registers_max];
};

/// What an instance left.
struct final_state {
  uint32_t registers[threads_max][registers_max];
  uint32_t locations[locations_max];
};

struct row {
  const char* name;
  const char* expected;  ///< the model's verdict: "forbidden", "allowed", ...
  const char* program;
  const char* outcome;
  uint32_t threads;
  row_thread thread[threads_max];
  uint32_t locations;
  const char* location_names[locations_max];
  uint32_t asked;  ///< locations whose final value the outcome names, as bits
  bool (*holds)(const final_state& seen);

  bool on_host(uint32_t which) const { return thread[which].block < 0; }
  uint32_t host_threads() const {
    uint32_t counted = 0;
    for (uint32_t n = 0; n < threads; ++n) counted += on_host(n) ? 1 : 0;
    return counted;
  }
};

/// Where the values of an instance lie in its key: the index into a tally.
struct key_layout {
  uint32_t thread_shift[threads_max] = {};
  uint32_t location_shift[locations_max] = {};
  uint32_t bits = 0;

  explicit key_layout(const row& of) {
    for (uint32_t n = 0; n < of.threads; ++n) {
      thread_shift[n] = bits;
      bits += value_bits * of.thread[n].registers;
    }
    for (uint32_t n = 0; n < of.locations; ++n) {
      if ((of.asked >> n & 1) == 0) continue;
      location_shift[n] = bits;
      bits += value_bits;
    }
  }
  uint64_t keys() const { return uint64_t{1} << bits; }

  final_state decode(const row& of, uint64_t key) const {
    final_state seen = {};
    for (uint32_t n = 0; n < of.threads; ++n)
      for (uint32_t r = 0; r < of.thread[n].registers; ++r)
        seen.registers[n][r] = static_cast<uint32_t>(key >> (thread_shift[n] + value_bits * r)) & value_mask;
    for (uint32_t n = 0; n < of.locations; ++n)
      if ((of.asked >> n & 1) != 0) seen.locations[n] = static_cast<uint32_t>(key >> location_shift[n]) & value_mask;
    return seen;
  }
};

/// Where one location of all instances of a batch lies: instance i has a word of its own, at a place that the batch has drawn.
struct placed_location {
  uint32_t* words;
  uint32_t stride;  ///< in words: from neighbours in one line to a line each
  uint32_t factor;  ///< odd, so that instances and places are one to one
  uint32_t offset;
};

/// Many instances of one row, whose threads run at the same time.
struct batch {
  uint32_t instances;  ///< a power of two
  placed_location location[locations_max];
  uint8_t* results[threads_max];  ///< one byte an instance: r0, r1, r2

  HEDDLE_FUNCTION uint32_t* word(uint32_t which, uint32_t instance) const {
    const placed_location& at = location[which];
    return at.words + static_cast<uint64_t>((instance * at.factor + at.offset) & (instances - 1)) * at.stride;
  }
};

/// xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016).
class random_numbers {
 public:
  explicit random_numbers(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {
    if (state_ == 0) state_ = 1;
    for (int n = 0; n < 4; ++n) next();
  }
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>((uint64_t{next()} * bound) >> 32); }
  uint32_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<uint32_t>((state_ * 0x2545f4914f6cdd1dU) >> 32);
  }

 private:
  uint64_t state_;
};

/// Draws where the locations of a batch lie: `words` has room for `room` words of each. A batch in four keeps the order of its instances.
inline void place_locations(batch& into, uint32_t locations, uint32_t* words, uint32_t room, random_numbers& chance) {
  constexpr uint32_t line = 16;
  constexpr uint32_t strides[] = {1, 1, 2, 4, line};
  for (uint32_t n = 0; n < locations; ++n) {
    placed_location& at = into.location[n];
    at.words = words + static_cast<uint64_t>(n) * room;
    at.stride = strides[chance.below(5)];
    while (at.stride * into.instances > room) at.stride /= 2;
    at.factor = chance.below(4) == 0 ? chance.next() | 1 : 1;
    at.offset = chance.below(2) == 0 ? chance.next() : 0;
  }
}

}  // namespace heddle::machine_litmus
