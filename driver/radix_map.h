// A map from page numbers to values, as a tree of tables of 512 places in four levels: that is how page tables of real machines look.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace heddle::driver {

/// Keys are below 2^36. Each operation takes four steps, however many values there are. A value stays where it is until it is
/// erased. Tables that have become empty are kept for the next ones, so that inserting and erasing by turns allocates nothing.
template <typename T>
class radix_map {
 public:
  static constexpr unsigned key_bits = 36;

  radix_map() = default;
  radix_map(const radix_map&) = delete;
  radix_map& operator=(const radix_map&) = delete;

  size_t size() const { return size_; }

  /// Null when there is none.
  T* find(uint64_t key) const {
    if (key >> key_bits != 0) return nullptr;
    const void* at = &root_;
    for (unsigned level = levels - 1; level > 0; --level) {
      at = static_cast<const table*>(at)->below[place(key, level)];
      if (at == nullptr) return nullptr;
    }
    // The tree owns its leaves, and they are no part of its constness.
    leaf& found = *const_cast<leaf*>(static_cast<const leaf*>(at));
    const size_t where = place(key, 0);
    return (found.taken[where / 64] >> where % 64 & 1) != 0 ? &found.values[where] : nullptr;
  }

  /// The value of that key, which must be below 2^36; made anew where there is none.
  T& operator[](uint64_t key) {
    table* above = &root_;
    for (unsigned level = levels - 1; level > 1; --level) above = static_cast<table*>(below<table>(*above, key, level));
    leaf& found = *static_cast<leaf*>(below<leaf>(*above, key, 1));
    const size_t where = place(key, 0);
    const uint64_t bit = uint64_t{1} << where % 64;
    if ((found.taken[where / 64] & bit) == 0) {
      found.taken[where / 64] |= bit;
      found.values[where] = T{};
      ++found.used;
      ++size_;
    }
    return found.values[where];
  }

  /// Does nothing where there is none.
  void erase(uint64_t key) {
    if (find(key) == nullptr) return;
    std::array<table*, levels> path = {};
    path[levels - 1] = &root_;
    for (unsigned level = levels - 1; level > 1; --level)
      path[level - 1] = static_cast<table*>(path[level]->below[place(key, level)]);
    auto* const found = static_cast<leaf*>(path[1]->below[place(key, 1)]);
    const size_t where = place(key, 0);
    found->taken[where / 64] &= ~(uint64_t{1} << where % 64);
    found->values[where] = T{};
    --size_;
    if (--found->used != 0) return;
    leaves_.spare.push_back(found);
    for (unsigned level = 1; level < levels; ++level) {
      path[level]->below[place(key, level)] = nullptr;
      if (--path[level]->used != 0 || path[level] == &root_) return;
      tables_.spare.push_back(path[level]);
    }
  }

  /// In the order of the keys.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    walk(&root_, levels - 1, 0, visit);
  }

 private:
  static constexpr unsigned levels = 4;
  static constexpr unsigned bits_per_level = key_bits / levels;
  static constexpr size_t fan_out = size_t{1} << bits_per_level;

  struct leaf {
    uint32_t used = 0;
    std::array<uint64_t, fan_out / 64> taken = {};
    std::array<T, fan_out> values = {};
  };
  struct table {
    uint32_t used = 0;
    std::array<void*, fan_out> below = {};  ///< tables, or leaves in the lowest one
  };
  template <typename Node>
  struct pool {
    std::vector<std::unique_ptr<Node>> all;
    std::vector<Node*> spare;  ///< empty ones
  };

  static size_t place(uint64_t key, unsigned level) { return key >> bits_per_level * level & (fan_out - 1); }

  template <typename Node>
  Node* below(table& above, uint64_t key, unsigned level) {
    void*& next = above.below[place(key, level)];
    if (next == nullptr) {
      next = make(pool_of(static_cast<Node*>(nullptr)));
      ++above.used;
    }
    return static_cast<Node*>(next);
  }

  pool<leaf>& pool_of(const leaf*) { return leaves_; }
  pool<table>& pool_of(const table*) { return tables_; }

  template <typename Node>
  static Node* make(pool<Node>& from) {
    if (!from.spare.empty()) {
      Node* const again = from.spare.back();
      from.spare.pop_back();
      return again;
    }
    from.all.push_back(std::make_unique<Node>());
    return from.all.back().get();
  }

  template <typename Visit>
  static void walk(const void* at, unsigned level, uint64_t prefix, Visit& visit) {
    if (level > 0) {
      for (size_t n = 0; n < fan_out; ++n)
        if (const void* const next = static_cast<const table*>(at)->below[n])
          walk(next, level - 1, prefix << bits_per_level | n, visit);
      return;
    }
    const auto& found = *static_cast<const leaf*>(at);
    for (size_t word = 0; word < found.taken.size(); ++word)
      for (uint64_t left = found.taken[word]; left != 0; left &= left - 1) {
        const size_t where = word * 64 + static_cast<size_t>(std::countr_zero(left));
        visit(prefix << bits_per_level | where, found.values[where]);
      }
  }

  table root_;
  pool<leaf> leaves_;
  pool<table> tables_;
  size_t size_ = 0;
};

}  // namespace heddle::driver
