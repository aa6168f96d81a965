// The state of a machine in 128 bits.
//
// Two states with one key are taken for the same state ("hash compaction": Wolper and Leroy, CAV 1993; Stern and Dill, 1995). With n
// states that is wrong somewhere with a probability of about n * n / 2^129: less than 10^-20 for a thousand million of them.
#pragma once

#include <heddle/sim/base/state_reader.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

namespace heddle::sim {

/// Whether many bytes are one word of 8 again and again, as a fill leaves them. False for less than a kilobyte: to look at them is as fast.
inline bool repeats_one_word(const void* at, size_t size_bytes) {
  constexpr size_t word_bytes = sizeof(uint64_t);
  return size_bytes >= 1024 &&
         std::memcmp(at, static_cast<const std::byte*>(at) + word_bytes, size_bytes - word_bytes) == 0;
}

/// Fills memory with one byte. Whether that changes anything; what differs in its first bytes is not looked at any further.
inline bool fill_where_it_differs(void* at, std::byte byte, size_t size_bytes) {
  const auto* const first = static_cast<const std::byte*>(at);
  if (size_bytes == 0 || (*first == byte && std::memcmp(first, first + 1, size_bytes - 1) == 0)) return false;
  std::memset(at, static_cast<int>(byte), size_bytes);
  return true;
}

struct state_key {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(const state_key&, const state_key&) = default;
};

/// Makes a key of what it is told, in order.
class key_maker final : public state_reader {
 public:
  bool fact(uint64_t value) override {
    add(value);
    return true;
  }
  bool bytes(const void* at, size_t size_bytes) override;

  /// fact() without a virtual call. Two products of 128 bits whose halves are folded: each bit of the value reaches all bits of the
  /// key (the idea of wyhash).
  void add(uint64_t value) {
    low_ = folded(low_ ^ value, 0xa0761d6478bd642fu) ^ value;
    high_ = folded(high_ + value, 0xe7037ed1a0b428dbu) + 0x9e3779b97f4a7c15u;
  }
  state_key key() const { return {low_, high_}; }

 private:
  static uint64_t folded(uint64_t value, uint64_t with) {
    __extension__ using wide = unsigned __int128;
    const wide product = static_cast<wide>(value) * with;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }

  uint64_t low_ = 0x2d358dccaa6c78a5u;
  uint64_t high_ = 0x8bb84b93962eacc9u;
};

/// The sum of the keys of things that have no order: equal for every order in which they are added.
class key_sum {
 public:
  void add(const state_key& one) {
    low_ += one.low;
    high_ += one.high;
    ++count_;
  }
  void tell(state_reader& to) const {
    to.fact(low_);
    to.fact(high_);
    to.fact(count_);
  }

 private:
  uint64_t low_ = 0;
  uint64_t high_ = 0;
  uint64_t count_ = 0;
};

}  // namespace heddle::sim

template <>
struct std::hash<heddle::sim::state_key> {
  size_t operator()(const heddle::sim::state_key& key) const noexcept { return key.low; }
};
