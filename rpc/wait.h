// Waits that end: how long a caller is ready to wait, and how it learns that nothing will come any more.
#pragma once

#include <heddle/rpc/check.h>

namespace heddle::rpc {

/// A bound for a wait: how often it pauses and looks again. 0 looks once.
inline constexpr uint32_t without_bound = ~uint32_t{0};

/// The turns that a wait has left.
template <typename Target>
class bounded_wait {
 public:
  HEDDLE_FUNCTION explicit bounded_wait(uint32_t turns) : left_(turns) {}

  /// Pauses, unless the bound is reached: then false. A wait without bound counts nothing: its loop comes back to the state it was in.
  HEDDLE_FUNCTION bool again() {
    if (left_ == 0) return false;
    if (left_ != without_bound) --left_;
    Target::pause();
    return true;
  }

 private:
  uint32_t left_;
};

/// The word by which a server says that it has ended: zeroed memory that both ends reach. A view. Both ends must agree that the server may
/// end (may_end_and): a client that does not look at it waits for ever.
template <typename Target>
class end_word {
 public:
  HEDDLE_FUNCTION explicit end_word(uint32_t& word) : word_(word) {}

  HEDDLE_FUNCTION void set() const {
    // Release, system scope: pairs with the acquire in is_set. A client that has seen the end, and then looks for its answer once more, finds
    // every answer that was given before.
    ref(word_).store(1, memory_order::release);
  }
  /// To be asked behind a look that has found no answer; where it is set, look once more.
  HEDDLE_FUNCTION bool is_set() const {
    // Relaxed: it is asked at each turn of a wait, and nearly always not set.
    if (ref(word_).load(memory_order::relaxed) == 0) return false;
    // Acquire, system scope: pairs with the release in set.
    acquire_seen<Target, scope::system>(word_);
    return true;
  }

 private:
  using ref = typename Target::template atomic_ref<uint32_t, scope::system>;
  uint32_t& word_;
};

}  // namespace heddle::rpc
