// The enabled actors, remembered from choice to choice: most of them have not changed.
#pragma once

#include <heddle/scheduler/choice.h>
#include <heddle/scheduler/round_robin.h>

#include <cstdint>
#include <vector>

namespace heddle::scheduler {

/// Looks at all candidates after one came or went, else only at the one that was picked last (candidate_list::version).
class crowd {
 public:
  /// A new run.
  void begin() { version_ = 0; }

  /// The candidates of this choice are known from here on. False when all were looked at, true when only the one at picked() was.
  bool look(const choice& asked) {
    const uint64_t version = asked.candidates.version();
    if (version != 0 && version == version_) {
      candidates_[picked_] = asked.candidates[picked_];
      return true;
    }
    version_ = version;
    candidates_.resize(asked.count);  // keeps its memory
    for (uint32_t index = 0; index < asked.count; ++index) candidates_[index] = candidate_at(asked, index);
    return false;
  }

  uint32_t count() const { return static_cast<uint32_t>(candidates_.size()); }
  const candidate& operator[](uint32_t index) const { return candidates_[index]; }

  /// Must be told what was answered, and returns it.
  uint32_t pick(uint32_t index) { return picked_ = index; }
  /// The index that was answered last.
  uint32_t picked() const { return picked_; }

 private:
  uint64_t version_ = 0;
  uint32_t picked_ = 0;
  std::vector<candidate> candidates_;
};

/// Something kept for each actor, by number; made when it is first asked for.
template <typename Entry>
class by_actor {
 public:
  void clear() { entries_.clear(); }
  Entry& operator[](uint32_t actor) {
    if (actor >= entries_.size()) entries_.resize(actor + size_t{1});
    return entries_[actor];
  }
  size_t size() const { return entries_.size(); }

 private:
  std::vector<Entry> entries_;
};

/// Operations that were not fruitless, as far as that is known yet.
inline uint32_t useful(const candidate& who) {
  // A pause that is still pending counts as fruitless already.
  return who.operations > who.fruitless ? who.operations - who.fruitless : 0;
}

/// Whether the pending operations of two actors are dependent: whether their order can matter.
inline bool depend(const candidate& a, const candidate& b) {
  return a.location == b.location && a.location != 0 && (a.writes || b.writes);
}

}  // namespace heddle::scheduler
