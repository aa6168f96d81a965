// Which words the lanes of a program share, as all runs of a search have shown it so far.
//
// An atomic access is quiet where no other lane that is still live has made a conflicting access to the word in any run: then it changes
// nothing whether it comes before what the others do next or behind it, and the search need not try both. That is a guess from the runs that
// were made. When a later run refutes it, the search begins again. Why no run can be missed that would have refuted it: docs/verify.md.
// (Persistent sets: Godefroid, LNCS 1032, 1996; guessing and beginning again is done here as for what a state consists of.)
#pragma once

#include <algorithm>
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
    for (auto& [address, in] : words_) in.found.clear();
    for (auto& [granule, of] : users_) of.left_out = 0;
    denied_at_.clear();
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
    if (ends_behind_.insert(last_places_[lane]).second && denied_at_.contains(last_places_[lane])) grown_ = true;
  }

  /// Whether an access that comes next is quiet; notes that it was found so. `live`: lanes that have not ended.
  bool is_quiet(const void* address, size_t size_bytes, const access& next, uint64_t live);
  /// Whether a lane that is promised no turn may have to stand for ever before an access that it makes at `place`; notes if not.
  bool may_end_behind(const void* place) {
    if (ends_behind_.contains(place)) return true;
    denied_at_.insert(place);
    return false;
  }

  /// Whether something that was found quiet is not, since this was last asked.
  bool refuted() {
    const bool was = grown_;
    grown_ = false;
    return was;
  }
  /// All that has been noted, as numbers; learn() adds it to what another one has noted.
  void tell(std::vector<uint64_t>& into) const;
  void learn(const std::vector<uint64_t>& from, size_t& at);

 private:
  /// What one lane has done to a word: beside which others it has read, and written.
  struct by_lane {
    uint32_t lane = 0;
    bool joins = false;
    uint64_t reads_beside = 0;
    uint64_t writes_beside = 0;
  };
  /// A lane has had an access that was found quiet: which others were live then, where it conflicts with their writes, with their reads, or with
  /// reads of theirs that join.
  struct found_quiet {
    uint32_t lane = 0;
    uint64_t to_writes = 0;
    uint64_t to_reads = 0;
    uint64_t to_joins = 0;
  };
  struct word {
    std::vector<by_lane> by;
    std::vector<found_quiet> found;
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
  void note_found(word& in, const found_quiet& quiet);
  static bool refutes(const by_lane& made, const found_quiet& quiet) {
    if (made.lane == quiet.lane) return false;
    const uint64_t reads = quiet.to_reads | (made.joins ? quiet.to_joins : 0);
    return (made.writes_beside >> quiet.lane & quiet.to_writes >> made.lane & 1) != 0 ||
           (made.reads_beside >> quiet.lane & reads >> made.lane & 1) != 0;
  }
  static bool refutes(const freed_memory& freed, const found_quiet& quiet) {
    return freed.lane != quiet.lane && (freed.beside >> quiet.lane & quiet.to_writes >> freed.lane & 1) != 0;
  }
  void look_at(const word& in, uintptr_t address);

  std::unordered_map<uintptr_t, word> words_;
  std::unordered_map<uintptr_t, users> users_;
  std::vector<freed_memory> freed_;
  std::unordered_set<const void*> ends_behind_;
  std::unordered_set<const void*>
      denied_at_;  ///< places where a lane that was promised no turn has had an access that was found quiet
  std::array<const void*, most_lanes> last_places_{};
  bool grown_ = false;
};

inline void quiet_words::note_in(word& in, const access& made, uint64_t beside) {
  by_lane* known = nullptr;
  for (by_lane& each : in.by)
    if (each.lane == made.lane) known = &each;
  if (known == nullptr) known = &in.by.emplace_back(by_lane{.lane = made.lane});
  known->joins = known->joins || made.joins;
  (made.writes ? known->writes_beside : known->reads_beside) |= beside;
  for (const found_quiet& each : in.found) grown_ = grown_ || refutes(*known, each);
}

inline void quiet_words::note_found(word& in, const found_quiet& quiet) {
  for (found_quiet& each : in.found) {
    if (each.lane != quiet.lane) continue;
    each.to_writes |= quiet.to_writes;
    each.to_reads |= quiet.to_reads;
    each.to_joins |= quiet.to_joins;
    return;
  }
  in.found.push_back(quiet);
}

inline void quiet_words::look_at(const word& in, uintptr_t address) {
  for (const found_quiet& quiet : in.found) {
    for (const by_lane& made : in.by) grown_ = grown_ || refutes(made, quiet);
    for (const freed_memory& freed : freed_)
      grown_ = grown_ || (address - freed.base < freed.size_bytes && refutes(freed, quiet));
  }
}

inline void quiet_words::note_freed(const void* base, size_t size_bytes, uint32_t lane, uint64_t beside) {
  if (beside == 0) return;
  const auto at = reinterpret_cast<uintptr_t>(base);
  const auto is_it = [&](const freed_memory& each) {
    return each.base == at && each.size_bytes == size_bytes && each.lane == lane;
  };
  const auto known = std::find_if(freed_.begin(), freed_.end(), is_it);
  if (known == freed_.end()) {
    freed_.push_back({at, size_bytes, lane, beside});
    for (auto& [address, of] : users_)
      if (address - at < size_bytes) note_user_in(of, lane);
  } else {
    if ((beside & ~known->beside) == 0) return;
    known->beside |= beside;
  }
  for (const auto& [address, in] : words_)
    if (address - at < size_bytes) look_at(in, address);
}

inline bool quiet_words::is_quiet(const void* address, size_t size_bytes, const access& next, uint64_t live) {
  const uint64_t others = live & ~(uint64_t{1} << next.lane);
  const found_quiet found = {.lane = next.lane,
                             .to_writes = others,
                             .to_reads = next.writes ? others : 0,
                             .to_joins = next.joins ? others : 0};
  const uintptr_t first = first_of(address);
  const uintptr_t end = reinterpret_cast<uintptr_t>(address) + size_bytes;
  for (uintptr_t at = first; at < end; at += word_bytes) {
    for (const by_lane& each : words_[at].by)
      if (refutes(each, found)) return false;
    for (const freed_memory& each : freed_)
      if (at - each.base < each.size_bytes && refutes(each, found)) return false;
  }
  for (uintptr_t at = first; at < end; at += word_bytes) note_found(words_[at], found);
  return true;
}

inline void quiet_words::tell(std::vector<uint64_t>& into) const {
  into.push_back(words_.size());
  for (const auto& [address, in] : words_) {
    into.insert(into.end(), {address, in.by.size(), in.found.size()});
    for (const by_lane& each : in.by)
      into.insert(into.end(),
                  {uint64_t{each.lane} << 1 | (each.joins ? 1u : 0u), each.reads_beside, each.writes_beside});
    for (const found_quiet& each : in.found)
      into.insert(into.end(), {each.lane, each.to_writes, each.to_reads, each.to_joins});
  }
  into.push_back(users_.size());
  for (const auto& [granule, of] : users_) into.insert(into.end(), {granule, of.lanes, of.left_out});
  into.push_back(freed_.size());
  for (const freed_memory& each : freed_) into.insert(into.end(), {each.base, each.size_bytes, each.lane, each.beside});
  for (const auto* places : {&ends_behind_, &denied_at_}) {
    into.push_back(places->size());
    for (const void* each : *places) into.push_back(reinterpret_cast<uintptr_t>(each));
  }
}

inline void quiet_words::learn(const std::vector<uint64_t>& from, size_t& at) {
  const auto next = [&] { return from[at++]; };
  for (uint64_t words = next(); words > 0; --words) {
    word& in = words_[next()];
    uint64_t by = next();
    uint64_t found = next();
    for (; by > 0; --by) {
      const uint64_t lane = next();
      const access made = {.lane = static_cast<uint32_t>(lane >> 1), .joins = (lane & 1) != 0};
      note_in(in, made, next());
      note_in(in, {.lane = made.lane, .writes = true, .joins = made.joins}, next());
    }
    for (; found > 0; --found) {
      const auto lane = static_cast<uint32_t>(next());
      const uint64_t to_writes = next();
      const uint64_t to_reads = next();
      note_found(in, {.lane = lane, .to_writes = to_writes, .to_reads = to_reads, .to_joins = next()});
    }
  }
  for (uint64_t granules = next(); granules > 0; --granules) {
    users& of = users_[next()];
    of.lanes |= next();
    of.left_out |= next();
  }
  for (uint64_t freed = next(); freed > 0; --freed) {
    const uint64_t base = next();
    const uint64_t size_bytes = next();
    const auto lane = static_cast<uint32_t>(next());
    note_freed(reinterpret_cast<const void*>(base), size_bytes, lane, next());
  }
  for (auto* places : {&ends_behind_, &denied_at_})
    for (uint64_t count = next(); count > 0; --count) places->insert(reinterpret_cast<const void*>(next()));
  // Two notes that are right each for itself may refute each other.
  for (const auto& [address, in] : words_) look_at(in, address);
  for (const auto& [granule, of] : users_) grown_ = grown_ || (of.lanes & of.left_out) != 0;
  for (const void* place : ends_behind_) grown_ = grown_ || denied_at_.contains(place);
  for (const freed_memory& each : freed_)
    for (auto& [granule, of] : users_)
      if (granule - each.base < each.size_bytes) note_user_in(of, each.lane);
}

}  // namespace heddle::sim
