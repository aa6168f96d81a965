// Which words the lanes of a program share, as all runs of a search have shown it so far.
//
// An atomic access is quiet where no other lane that is still live has made a conflicting access to the word in any run: then it changes
// nothing whether it comes before what the others do next or behind it, and the search need not try both. That is a guess from the runs that
// were made. When a later run refutes it, the search begins again. Why no run can be missed that would have refuted it: docs/verify.md.
// (Persistent sets: Godefroid, LNCS 1032, 1996; guessing and beginning again is done here as for what a state consists of.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace heddle::sim {

class quiet_words {
 public:
  static constexpr uint32_t most_lanes = 64;  ///< a search has fewer
  static constexpr size_t word_bytes = 4;

  /// An access of a lane, and with which of them it conflicts.
  struct access {
    uint32_t lane = 0;
    bool writes = false;  ///< it may write
    bool joins = false;   ///< it is of an x86 host: what it reads, all threads of that host know
  };

  /// A new run begins.
  void begin_run() { last_places_ = {}; }
  /// The search begins again.
  void begin_again() {
    for (auto& [address, in] : words_) in.quiet_to_writes = in.quiet_to_reads = 0;
    for (auto& [granule, of] : users_) of.left_out = 0;
  }

  /// A lane makes an access while it is unknown to it whether the lanes in `beside`, a bit each, have ended.
  void note(const void* address, size_t size_bytes, const access& made, uint64_t beside) {
    for (uintptr_t at = first_of(address); at < reinterpret_cast<uintptr_t>(address) + size_bytes; at += word_bytes)
      note_in(words_[at], made, beside);
  }
  /// A lane accesses a granule of 8 bytes, be it plainly, while it does not know that all others have ended. Behind their ends it knows all
  /// that they did, whatever it knew before.
  void note_user(const void* granule, uint32_t lane) {
    const auto at = reinterpret_cast<uintptr_t>(granule);
    const auto [entry, is_new] = users_.try_emplace(at);
    note_user_in(entry->second, lane);
    if (!is_new) return;
    for (const freed_memory& each : freed_)
      if (at - each.base < each.size_bytes) note_user_in(entry->second, each.lane);
  }
  /// The lanes whose knowledge of a granule counts: those that use it, as far as runs have shown; all where one of them is still to begin,
  /// because it will know what the lane knows that begins it. A state leaves out what others know.
  uint64_t users_of(const void* granule, size_t lanes_begun) const {
    const auto found = users_.find(reinterpret_cast<uintptr_t>(granule));
    const uint64_t lanes = found == users_.end() ? 0 : found->second.lanes;
    return lanes_begun >= most_lanes || (lanes >> lanes_begun) != 0 ? ~uint64_t{0} : lanes;
  }
  /// What these lanes know of the granule has been left out of a state, and would have been told.
  void note_left_out(const void* granule, uint64_t lanes) {
    users_[reinterpret_cast<uintptr_t>(granule)].left_out |= lanes;
  }
  /// As note() of a store to each word of memory that the lane gives back.
  void note_freed(const void* base, size_t size_bytes, uint32_t lane, uint64_t beside);
  /// In the code, where the lane makes the access that it has just begun.
  void note_place(uint32_t lane, const void* place) { last_places_[lane] = place; }
  /// A lane that is promised no turn has ended, perhaps in the step that began with its last access: others may wait for its end, so that it
  /// must be able to stand before such an access for ever.
  void note_denied_end(uint32_t lane) {
    if (lane >= most_lanes || last_places_[lane] == nullptr) return;
    if (ends_behind_.insert(last_places_[lane]).second) grown_ = true;
  }

  /// Whether an access that comes next is quiet; notes that it was found so. `live`: lanes that have not ended.
  bool is_quiet(const void* address, size_t size_bytes, const access& next, uint64_t live);
  bool may_end_behind(const void* place) const { return ends_behind_.contains(place); }

  /// Whether something that was found quiet is not, since this was last asked.
  bool refuted() {
    const bool was = grown_;
    grown_ = false;
    return was;
  }

 private:
  /// What one lane has done to a word: beside which others it has read, and written.
  struct by_lane {
    uint32_t lane = 0;
    bool joins = false;
    uint64_t reads_beside = 0;
    uint64_t writes_beside = 0;
  };
  struct word {
    std::vector<by_lane> by;
    uint64_t quiet_to_writes = 0;  ///< lanes that have had an access which conflicts with the writes of others, and was found quiet
    uint64_t quiet_to_reads = 0;   ///< likewise, with the reads
  };
  struct users {
    uint64_t lanes = 0;
    uint64_t left_out = 0;
  };
  struct freed_memory {
    uintptr_t base = 0;
    size_t size_bytes = 0;
    uint32_t lane = 0;
    uint64_t beside = 0;
  };

  static uintptr_t first_of(const void* address) {
    return reinterpret_cast<uintptr_t>(address) & ~uintptr_t{word_bytes - 1};
  }
  void note_user_in(users& of, uint32_t lane) {
    const uint64_t bit = uint64_t{1} << lane;
    if ((of.lanes & bit) == 0 && (of.left_out & bit) != 0) grown_ = true;
    of.lanes |= bit;
  }
  void note_in(word& in, const access& made, uint64_t beside);
  static bool conflicts(const word& in, const access& next, uint64_t others);

  std::unordered_map<uintptr_t, word> words_;
  std::unordered_map<uintptr_t, users> users_;
  std::vector<freed_memory> freed_;
  std::unordered_set<const void*> ends_behind_;
  std::array<const void*, most_lanes> last_places_{};
  bool grown_ = false;
};

inline void quiet_words::note_in(word& in, const access& made, uint64_t beside) {
  by_lane* known = nullptr;
  for (by_lane& each : in.by)
    if (each.lane == made.lane) known = &each;
  if (known == nullptr) known = &in.by.emplace_back(by_lane{.lane = made.lane});
  known->joins = known->joins || made.joins;
  uint64_t& noted = made.writes ? known->writes_beside : known->reads_beside;
  const uint64_t fresh = beside & ~noted;
  noted |= beside;
  if ((fresh & (made.writes ? in.quiet_to_writes | in.quiet_to_reads : in.quiet_to_reads)) != 0) grown_ = true;
}

inline void quiet_words::note_freed(const void* base, size_t size_bytes, uint32_t lane, uint64_t beside) {
  const auto at = reinterpret_cast<uintptr_t>(base);
  for (freed_memory& each : freed_)
    if (each.base == at && each.size_bytes == size_bytes && each.lane == lane) {
      beside &= ~each.beside;
      each.beside |= beside;
      lane = most_lanes;
      break;
    }
  if (beside == 0) return;
  if (lane != most_lanes) {
    freed_.push_back({at, size_bytes, lane, beside});
    for (auto& [address, of] : users_)
      if (address - at < size_bytes) note_user_in(of, lane);
  }
  for (const auto& [address, in] : words_)
    if (address - at < size_bytes && (beside & (in.quiet_to_writes | in.quiet_to_reads)) != 0) grown_ = true;
}

inline bool quiet_words::conflicts(const word& in, const access& next, uint64_t others) {
  const uint64_t self = uint64_t{1} << next.lane;
  for (const by_lane& each : in.by) {
    if (each.lane == next.lane || (others >> each.lane & 1) == 0) continue;
    const bool with_reads = next.writes || (next.joins && each.joins);
    if (((each.writes_beside | (with_reads ? each.reads_beside : 0)) & self) != 0) return true;
  }
  return false;
}

inline bool quiet_words::is_quiet(const void* address, size_t size_bytes, const access& next, uint64_t live) {
  const uint64_t self = uint64_t{1} << next.lane;
  const uintptr_t first = first_of(address);
  const uintptr_t end = reinterpret_cast<uintptr_t>(address) + size_bytes;
  for (uintptr_t at = first; at < end; at += word_bytes)
    if (conflicts(words_[at], next, live & ~self)) return false;
  for (const freed_memory& each : freed_)
    if (each.lane != next.lane && (live >> each.lane & 1) != 0 && (each.beside & self) != 0 && first < each.base + each.size_bytes &&
        end > each.base)
      return false;
  for (uintptr_t at = first; at < end; at += word_bytes) {
    word& in = words_[at];
    in.quiet_to_writes |= self;
    if (next.writes || next.joins) in.quiet_to_reads |= self;
  }
  return true;
}

}  // namespace heddle::sim
