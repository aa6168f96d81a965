// Stores of host threads that take effect at once although their processor may keep them back: those to frames, which lie in memory that code which is
// not seen uses too. A search has to know whether another thread could have missed one.
#pragma once

#include <heddle/sim/base/state_key.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::sim {

/// A store that is kept back is one that is made later, but for the loads of its thread that come behind it. So what another thread does there makes a
/// difference where such a load has come in between.
class hasty_stores {
 public:
  void reset() { kept_.clear(); }
  bool empty() const { return kept_.empty(); }
  void stored(uint32_t thread, const void* address, size_t size_bytes) {
    for_each_word(address, size_bytes, [&](uintptr_t word) {
      std::erase_if(kept_, [&](const store& one) { return one.thread == thread && one.word == word; });
      kept_.push_back({.thread = thread, .word = word});
    });
  }
  /// The thread loads: what it has stored before may still be kept back then.
  void loads(uint32_t thread) {
    for (store& each : kept_) each.is_passed = each.is_passed || each.thread == thread;
  }
  /// Nothing that the thread has stored is kept back any more.
  void drained(uint32_t thread) {
    std::erase_if(kept_, [&](const store& one) { return one.thread == thread; });
  }
  /// Whether a store of another thread there may be kept back behind loads of that thread.
  bool may_miss(uint32_t thread, const void* address, size_t size_bytes) const {
    bool found = false;
    for_each_word(address, size_bytes, [&](uintptr_t word) {
      found = found || std::any_of(kept_.begin(), kept_.end(), [&](const store& one) {
                return one.thread != thread && one.word == word && one.is_passed;
              });
    });
    return found;
  }

  void tell(state_reader& to) const {
    for (const store& each : kept_) {
      to.fact(uint64_t{each.thread} << 1 | (each.is_passed ? 1u : 0u));
      to.fact(each.word);
    }
    to.fact(kept_.size());
  }

 private:
  struct store {
    uint32_t thread = 0;
    uintptr_t word = 0;
    bool is_passed = false;
  };
  template <typename Each>
  static void for_each_word(const void* address, size_t size_bytes, const Each& each) {
    const auto first = reinterpret_cast<uintptr_t>(address);
    for (uintptr_t word = first / 8; word * 8 < first + size_bytes; ++word) each(word);
  }

  std::vector<store> kept_;
};

}  // namespace heddle::sim
