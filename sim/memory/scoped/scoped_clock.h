// What a lane of scoped memory (scoped_memory.h) knows of the others. Lanes that have met, and have learnt the same since, share one clock.
#pragma once

#include <heddle/sim/memory/causality.h>
#include <heddle/sim/memory/pool.h>

#include <utility>

namespace heddle::sim::scoped {

/// A clock that others may refer to: it is copied before it changes.
class shared_clock {
 public:
  const causal_clock& operator*() const { return *now_; }
  const causal_clock* operator->() const { return now_; }
  /// Whether both are one clock, and equal thereby.
  bool is_same(const shared_clock& other) const { return now_ == other.now_; }

  /// None for what is still empty.
  const snapshot& as_snapshot() const { return held_; }
  void share(const snapshot& other) {
    held_ = other;
    now_ = held_ ? &*held_ : &nothing;
  }
  void clear() { share(snapshot()); }
  /// The clock, of which there is no other user then.
  causal_clock& edit(pool<causal_clock>& memory) {
    if (!held_.is_only()) copy_to(memory.take());
    return held_.edit();
  }

 private:
  [[gnu::noinline]] void copy_to(snapshot fresh) {
    fresh.edit().assign(*now_);
    held_ = std::move(fresh);
    now_ = &*held_;
  }

  static inline const causal_clock nothing{};
  snapshot held_;
  const causal_clock* now_ = &nothing;
};

/// Lanes that share a clock and learn the same share what comes of it: the last that was made so.
struct learnt_alike {
  shared_clock before;
  snapshot given;
  uint32_t releaser = 0;
  uint32_t epoch = 0;
  bool ordered = false;
  bool seen = false;
  snapshot after;

  void clear() {
    before.clear();
    given = after = snapshot();
  }
};

}  // namespace heddle::sim::scoped
