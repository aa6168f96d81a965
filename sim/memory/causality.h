// What happens before what: vector clocks of all lanes. (Lamport, CACM 21 (7), 1978; Mattern 1989; epochs as in FastTrack, PLDI 2009.)
//
// A lane's clock says, for each lane, up to which of its epochs everything that it did happens before what comes next. Two notions
// are kept apart where they differ. `ordered` is what the program asked for: the rules of the PTX model, and of C++ for the host.
// `seen` is what this machine gives: more where a host of type x86 orders what the program left unordered, less where a fault lets
// stores overtake each other. Races are judged by the first, values by the second. Until they differ there is one clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace heddle::sim {

using clock_entries = std::vector<uint32_t>;

/// Raises `to` to the maximum of both, entry by entry; what is missing counts as zero.
void join(clock_entries& to, const clock_entries& from);

/// Whether no entry of `part` is greater than that of `whole`.
inline bool includes(const clock_entries& whole, const clock_entries& part) {
  for (size_t n = 0; n < part.size(); ++n)
    if (part[n] > (n < whole.size() ? whole[n] : 0)) return false;
  return true;
}

inline uint32_t entry_of(const clock_entries& of, uint32_t lane) { return lane < of.size() ? of[lane] : 0; }
inline void raise(clock_entries& of, uint32_t lane, uint32_t epoch) {
  if (of.size() <= lane) of.resize(lane + 1, 0);
  if (of[lane] < epoch) of[lane] = epoch;
}

struct causal_clock {
  clock_entries ordered;
  clock_entries seen;  ///< empty: the same as `ordered`
  bool split = false;

  void clear() {
    ordered.clear();
    seen.clear();
    split = false;
  }
  const clock_entries& what_is_seen() const { return split ? seen : ordered; }
  /// From here on the two notions are kept apart.
  void separate() {
    if (split) return;
    seen = ordered;
    split = true;
  }
  void join_all(const causal_clock& from) {
    if (from.split) separate();
    if (split) join(seen, from.what_is_seen());
    join(ordered, from.ordered);
  }
};

/// A clock as it was at some moment, shared by all that refer to it. Lives in the pool of one memory, on one OS thread.
class snapshot {
 public:
  snapshot() = default;
  snapshot(const snapshot& other) : shared_(other.shared_) {
    if (shared_ != nullptr) ++shared_->users;
  }
  snapshot(snapshot&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
  snapshot& operator=(snapshot other) noexcept {
    std::swap(shared_, other.shared_);
    return *this;
  }
  ~snapshot() { drop(); }

  explicit operator bool() const { return shared_ != nullptr; }
  const causal_clock& operator*() const { return shared_->clock; }
  const causal_clock* operator->() const { return &shared_->clock; }

 private:
  friend class snapshot_pool;
  struct counted {
    causal_clock clock;
    uint32_t users = 0;
    class snapshot_pool* pool = nullptr;
  };
  explicit snapshot(counted* shared) : shared_(shared) { ++shared_->users; }
  void drop();

  counted* shared_ = nullptr;
};

/// Keeps the memory of snapshots that nobody refers to any more.
class snapshot_pool {
 public:
  snapshot_pool() = default;
  ~snapshot_pool();
  snapshot_pool(const snapshot_pool&) = delete;
  snapshot_pool& operator=(const snapshot_pool&) = delete;

  snapshot take(const causal_clock& of);

 private:
  friend class snapshot;
  std::vector<snapshot::counted*> free_;
};

inline void snapshot::drop() {
  if (shared_ != nullptr && --shared_->users == 0) shared_->pool->free_.push_back(shared_);
}

}  // namespace heddle::sim
