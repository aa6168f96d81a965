// A vector's push_back without the code that makes room, which in a hot function costs registers and cache lines though it hardly ever runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace heddle::scheduler {

/// Room for at least one element more, twice as many as there are; 16 at first.
template <typename Value>
[[gnu::cold, gnu::noinline]] void make_room(std::vector<Value>& list) {
  constexpr size_t least = 16;
  list.reserve(std::max(least, 2 * list.size()));
}

/// As list.push_back(value).
template <typename Value, typename Given = Value>
[[gnu::always_inline]] inline void append(std::vector<Value>& list, Given&& value) {
  if (list.size() == list.capacity()) [[unlikely]]
    make_room(list);
  if (list.size() == list.capacity()) __builtin_unreachable();
  list.push_back(std::forward<Given>(value));
}

/// As list.emplace_back(), for what is written in its place: a copy would wait for the members that were written last.
template <typename Value>
[[gnu::always_inline]] inline Value& append(std::vector<Value>& list) {
  if (list.size() == list.capacity()) [[unlikely]]
    make_room(list);
  if (list.size() == list.capacity()) __builtin_unreachable();
  return list.emplace_back();
}

}  // namespace heddle::scheduler
