// The enabled lanes by id, as a bitmap in two levels: finds the next enabled lane after an id without a look at each lane.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::sim {

/// A set of small numbers, as bits in two levels: a bit of the upper one stands for a word of the lower one that is not empty.
class turn_order {
 public:
  static constexpr uint32_t none = ~uint32_t{0};

  void clear() {
    // Mostly no number is left at the end of a run.
    if (next(0) == none) return;
    words_.assign(words_.size(), 0);
    summary_.assign(summary_.size(), 0);
  }
  void add(uint32_t number) {
    const size_t word = number / bits;
    if (word >= words_.size()) grow(word + 1);
    words_[word] |= uint64_t{1} << number % bits;
    summary_[word / bits] |= uint64_t{1} << word % bits;
  }
  void remove(uint32_t number) {
    const size_t word = number / bits;
    words_[word] &= ~(uint64_t{1} << number % bits);
    if (words_[word] == 0) summary_[word / bits] &= ~(uint64_t{1} << word % bits);
  }

  /// The lowest number of the set that is not below `from`; none when there is none.
  uint32_t next(uint64_t from) const {
    size_t word = from / bits;
    if (word >= words_.size()) return none;
    if (const uint64_t rest = words_[word] & (~uint64_t{0} << from % bits); rest != 0) return number(word, rest);
    ++word;
    size_t above = word / bits;
    if (above >= summary_.size()) return none;
    uint64_t rest = summary_[above] & (~uint64_t{0} << word % bits);
    while (rest == 0) {
      if (++above == summary_.size()) return none;
      rest = summary_[above];
    }
    word = number(above, rest);
    return number(word, words_[word]);
  }

 private:
  static constexpr size_t bits = 64;
  static uint32_t number(size_t word, uint64_t of) {
    return static_cast<uint32_t>(word * bits + static_cast<size_t>(std::countr_zero(of)));
  }
  void grow(size_t words) {
    words_.resize(words < 2 * words_.size() ? 2 * words_.size() : words, 0);
    summary_.resize((words_.size() + bits - 1) / bits, 0);
  }

  std::vector<uint64_t> words_;
  std::vector<uint64_t> summary_;
};

}  // namespace heddle::sim
