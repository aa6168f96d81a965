// First in, first out, in memory that is kept: once it has grown to what is needed, nothing is allocated.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace heddle::driver {

/// Elements must be cheap to make and to move. The oldest is front(), or [0].
template <typename T>
class fifo {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  T& front() { return room_[first_]; }
  const T& front() const { return room_[first_]; }
  T& operator[](size_t index) { return room_[(first_ + index) & (room_.size() - 1)]; }
  const T& operator[](size_t index) const { return room_[(first_ + index) & (room_.size() - 1)]; }

  void push(T what) {
    if (size_ == room_.size()) grow();
    room_[(first_ + size_) & (room_.size() - 1)] = std::move(what);
    ++size_;
  }

  /// Before the oldest.
  void push_front(T what) {
    if (size_ == room_.size()) grow();
    first_ = (first_ + room_.size() - 1) & (room_.size() - 1);
    room_[first_] = std::move(what);
    ++size_;
  }

  T pop() {
    T oldest = std::move(room_[first_]);
    first_ = (first_ + 1) & (room_.size() - 1);
    --size_;
    return oldest;
  }

  /// Takes out the one at this place; the others keep their order. Takes time in proportion to how many stand behind it.
  T take(size_t index) {
    T taken = std::move((*this)[index]);
    for (size_t n = index; n + 1 < size_; ++n) (*this)[n] = std::move((*this)[n + 1]);
    --size_;
    return taken;
  }

 private:
  void grow() {
    std::vector<T> larger(room_.empty() ? 8 : 2 * room_.size());
    for (size_t n = 0; n < size_; ++n) larger[n] = std::move((*this)[n]);
    room_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> room_;  ///< a power of two of them, or none
  size_t first_ = 0;
  size_t size_ = 0;
};

}  // namespace heddle::driver
