// Finds out whether a machine is back in an earlier state: from there on it repeats itself for ever.
//
// States are compared byte by byte with one copy, never by a hash alone: a collision would make a hang of a run that ends. The copy is
// taken anew at growing distances, so that a cycle of any length is found (Brent's cycle finding, BIT 20,
// 1980).
#pragma once

#include <heddle/sim/base/state_reader.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace heddle::sim {

class lasso {
 public:
  /// Tells the reader the machine's current state; false when the reader needs no more of it.
  using teller = std::function<bool(state_reader&)>;

  /// When the copy was taken, in the machine's own counts.
  struct moment {
    uint64_t turns = 0;
    uint64_t steps = 0;
    uint64_t changes = 0;  ///< of memory
  };

  static constexpr size_t state_bytes_most = size_t{64} << 20;    ///< of a copy
  static constexpr uint64_t work_bytes_most = uint64_t{4} << 30;  ///< copied and compared in a run

  /// A new run; keeps its memory.
  void reset() {
    forget();
    included_.clear();
    counts_.clear();
    looked_at_.clear();
    work_bytes_ = 0;
    ever_blind_ = too_large_ = false;
  }
  /// Drops the copy.
  void forget() {
    anchored_ = blind_ = false;
    differed_at_ = nullptr;
    since_ = 0;
    distance_ = distance_first;
  }

  /// Whether the current state equals the copied one. `fresh` receives whether a new copy was taken instead.
  bool returns(const moment& now, const teller& tell, bool& fresh);
  /// Of the copy.
  const moment& anchor() const { return anchor_; }

  /// Something has changed that cannot be compared.
  void blind() { blind_ = ever_blind_ = true; }
  /// These bytes, of a variable with static storage, have changed: they belong to the state from now on.
  void include(const void* address, size_t size_bytes);

  // Words that lanes only count in: they change them, and look at nothing of what they find there. No turn depends on what such a word is, so
  // that it is no part of the state; whatever else is done there makes it one again.

  /// A change of a word whose old value nothing looks at.
  void note_count(const void* address, size_t size_bytes);
  /// Any other access, once these have begun to be noted.
  void note_look(const void* address, size_t size_bytes) {
    if (!counts_.empty() && find_count(address, size_bytes) != counts_.end()) [[unlikely]]
      count_no_more(address, size_bytes);
  }
  /// Tells what lies there, without such words.
  bool tell_but_counts(state_reader& to, const std::byte* low, size_t size_bytes) const;

  /// Why no state may ever have been found again, to follow "no end after ..."; empty when there is no such reason.
  std::string reason() const;

 private:
  struct piece {
    const void* at;
    size_t size_bytes;
  };
  class copier;
  class comparer;

  std::vector<piece>::iterator find_count(const void* address, size_t size_bytes);
  void count_no_more(const void* address, size_t size_bytes);
  static constexpr size_t counts_most = 64;

  bool equals(const teller& tell);
  bool tell_included(state_reader& to) const;

  bool anchored_ = false;
  moment anchor_;
  uint64_t since_ = 0;  ///< looks since the copy was taken
  static constexpr uint64_t distance_first = 32;
  uint64_t distance_ = 0;  ///< looks until the next
  std::vector<uint64_t> facts_;
  std::vector<piece> pieces_;
  std::vector<std::byte> copy_;
  std::vector<piece> included_;
  std::vector<piece> counts_;     ///< by address; none overlaps another
  std::vector<piece> looked_at_;  ///< words that were among these, and are not to be again
  // Where the last comparison failed: nearly always the next one fails there too.
  const std::byte* differed_at_ = nullptr;
  size_t differed_in_copy_ = 0;
  uint64_t work_bytes_ = 0;
  bool blind_ = false;
  bool ever_blind_ = false;
  bool too_large_ = false;
};

}  // namespace heddle::sim
