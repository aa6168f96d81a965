// Binary relations on at most 64 events, as the axioms of a memory model use them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace heddle::sim::tests::axioms {

class relation {
 public:
  static constexpr size_t events_max = 64;

  explicit relation(size_t size) : size_(size) {}

  bool has(size_t from, size_t to) const { return (rows_[from] >> to & 1U) != 0; }
  bool empty(size_t from) const { return rows_[from] == 0; }
  void add(size_t from, size_t to) { rows_[from] |= uint64_t{1} << to; }
  void remove(size_t from, size_t to) { rows_[from] &= ~(uint64_t{1} << to); }

  relation& operator|=(const relation& other) {
    for (size_t each = 0; each < size_; ++each) rows_[each] |= other.rows_[each];
    return *this;
  }
  relation& operator&=(const relation& other) {
    for (size_t each = 0; each < size_; ++each) rows_[each] &= other.rows_[each];
    return *this;
  }
  friend relation operator|(relation left, const relation& right) { return left |= right; }
  friend relation operator&(relation left, const relation& right) { return left &= right; }

  /// From a to c where this leads from a to some b, and `next` from that b to c.
  relation then(const relation& next) const {
    relation made(size_);
    for (size_t each = 0; each < size_; ++each)
      for (uint64_t rest = rows_[each]; rest != 0; rest &= rest - 1)
        made.rows_[each] |= next.rows_[static_cast<size_t>(__builtin_ctzll(rest))];
    return made;
  }

  relation or_identity() const {
    relation made = *this;
    for (size_t each = 0; each < size_; ++each) made.add(each, each);
    return made;
  }

  relation inverse() const {
    relation made(size_);
    for (size_t each = 0; each < size_; ++each)
      for (uint64_t rest = rows_[each]; rest != 0; rest &= rest - 1)
        made.add(static_cast<size_t>(__builtin_ctzll(rest)), each);
    return made;
  }

  /// The transitive closure, by Warshall's algorithm.
  relation closed() const {
    relation made = *this;
    for (size_t middle = 0; middle < size_; ++middle)
      for (size_t each = 0; each < size_; ++each)
        if (made.has(each, middle)) made.rows_[each] |= made.rows_[middle];
    return made;
  }

  bool reflexive_somewhere() const {
    for (size_t each = 0; each < size_; ++each)
      if (has(each, each)) return true;
    return false;
  }

  bool cyclic() const { return closed().reflexive_somewhere(); }

 private:
  size_t size_;
  std::array<uint64_t, events_max> rows_{};
};

}  // namespace heddle::sim::tests::axioms
