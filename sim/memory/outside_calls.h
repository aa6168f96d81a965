// What host threads change and look at that is no memory of the run: files of the system, the environment of the process, the numbers that rand() gives. No
// state tells of it, and no call that does so is a choice. So a search has in a state what has been changed until then, where any run looks at it, and is
// no proof where one thread changes what another one changes or looks at beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace heddle::sim {

class outside_calls {
 public:
  /// A thing: a part of the process, what files hold, or the place in one, by its number or the address of its stream.
  using thing = uint64_t;

  /// The lane changes it; `alone`: no other lane can act until then.
  void changes(thing what, uint32_t lane, bool alone) {
    if (!alone) known_[what].changed_by |= bit_of(lane);
  }
  /// The lane looks at it. True where no lane has done so before.
  bool looks(thing what, uint32_t lane, bool alone) {
    use& known = known_[what];
    const bool fresh = !known.looked;
    known.looked = true;
    if (!alone) known.looked_by |= bit_of(lane);
    return fresh;
  }
  bool is_looked_at(thing what) const {
    const auto known = known_.find(what);
    return known != known_.end() && known->second.looked;
  }
  /// Whether all orders of these calls that count are gone through.
  bool are_ordered() const {
    for (const auto& [what, known] : known_) {
      const uint64_t by = known.changed_by | known.looked_by;
      if (known.looked && known.changed_by != 0 && (by & (by - 1)) != 0) return false;
    }
    return true;
  }

  void tell(std::vector<uint64_t>& into) const {
    into.push_back(known_.size());
    for (const auto& [what, known] : known_)
      into.insert(into.end(), {what, known.changed_by, known.looked_by, known.looked ? 1u : 0u});
  }
  void learn(const std::vector<uint64_t>& from, size_t& at) {
    for (uint64_t left = from[at++]; left != 0; --left, at += 4) {
      use& known = known_[from[at]];
      known.changed_by |= from[at + 1];
      known.looked_by |= from[at + 2];
      known.looked = known.looked || from[at + 3] != 0;
    }
  }

 private:
  struct use {
    uint64_t changed_by = 0;  ///< lanes, beside others
    uint64_t looked_by = 0;
    bool looked = false;  ///< by any lane, alone or not
  };
  static uint64_t bit_of(uint32_t lane) { return uint64_t{1} << lane % 64; }
  std::map<thing, use> known_;
};

}  // namespace heddle::sim
