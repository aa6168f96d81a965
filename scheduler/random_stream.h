// Random numbers for strategies: small, fast, and the same on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace heddle::scheduler {

/// SplitMix64: turns a seed, even a small one, into well mixed words.
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014; constants of S. Vigna's
/// splitmix64.c (public domain).
class split_mix {
 public:
  explicit constexpr split_mix(uint64_t seed) : state_(seed) {}

  constexpr uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

 private:
  uint64_t state_;
};

/// xoshiro256**, seeded by SplitMix64. `stream` tells streams of one seed apart.
/// Source: Blackman, Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47 (2021).
class random_stream {
 public:
  explicit random_stream(uint64_t seed = 0, uint64_t stream = 0) { begin(seed, mixed(stream)); }
  /// Begins anew, in place; `mixed_stream` is mixed(stream).
  void begin(uint64_t seed, uint64_t mixed_stream) {
    split_mix words(seed ^ mixed_stream);
    for (uint64_t& word : state_) word = words.next();
  }

  /// A stream's number is mixed before it meets the seed: seed 1 of stream 0 must not be seed 0 of stream 1.
  static constexpr uint64_t mixed(uint64_t stream) { return split_mix(stream).next(); }

  uint64_t next() {
    const uint64_t result = upcoming();
    advance();
    return result;
  }
  /// What next() will give.
  uint64_t upcoming() const { return rotated_left(state_[1] * 5, 7) * 9; }
  void advance() {
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotated_left(state_[3], 45);
  }

  /// A number in [0, bound), each equally likely; `bound` is at least 1.
  /// Source: Lemire, "Fast random integer generation in an interval", ACM TOMACS 29 (2019): one multiplication, and a
  /// division only in the rare case that a draw may have to be thrown away.
  uint32_t below(uint32_t bound) {
    uint64_t product = (next() >> 32) * bound;
    uint32_t low = static_cast<uint32_t>(product);
    if (low < bound) {
      const uint32_t threshold = (0 - bound) % bound;
      while (low < threshold) {
        product = (next() >> 32) * bound;
        low = static_cast<uint32_t>(product);
      }
    }
    return static_cast<uint32_t>(product >> 32);
  }

 private:
  static uint64_t rotated_left(uint64_t word, int bits) { return (word << bits) | (word >> (64 - bits)); }

  std::array<uint64_t, 4> state_;
};

/// An index, with a probability in proportion to its weight. `sum` is that of all weights, not 0, and less than 2^32.
inline uint32_t drawn_by_weight(random_stream& stream, const std::vector<uint64_t>& weights, uint64_t sum) {
  uint64_t drawn = stream.below(static_cast<uint32_t>(sum));
  uint32_t index = 0;
  while (drawn >= weights[index]) drawn -= weights[index++];
  return index;
}

}  // namespace heddle::scheduler
