// What runs use again and again: the elements stay where they are, with the memory that they hold.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace heddle::sim {

/// Only grows. Unlike a deque it says how long it is, and finds an element, without a division: both are asked for many times a run.
template <typename Value>
class reused_list {
 public:
  size_t size() const { return places_.size(); }
  Value& operator[](size_t n) { return *places_[n]; }
  const Value& operator[](size_t n) const { return *places_[n]; }

  [[gnu::cold, gnu::noinline]] Value& emplace_back() {
    const size_t within = places_.size() % per_block;
    if (within == 0) blocks_.push_back(std::make_unique<Value[]>(per_block));
    places_.push_back(&blocks_.back()[within]);
    return *places_.back();
  }

 private:
  static constexpr size_t per_block = 16;

  std::vector<std::unique_ptr<Value[]>> blocks_;
  std::vector<Value*> places_;
};

}  // namespace heddle::sim
