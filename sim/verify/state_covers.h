// The states of a search by what they have in common, with what is known in each: which of them stand for a state in which more is known.
//
// Of each state that stands for itself there is a record, in memory that the copies of a search share. A state that is met later and knows less takes
// the place of those that know more: what they stand for, it does.
#pragma once

#include <heddle/sim/base/known_facts.h>
#include <heddle/sim/base/state_key.h>
#include <heddle/sim/verify/saved_bytes.h>
#include <heddle/sim/verify/shared_array.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace heddle::sim {

class state_covers {
 public:
  static constexpr uint32_t none = ~uint32_t{0};
  /// Address space for each of the most states that there may be.
  static constexpr size_t bytes_a_state = 400;

  explicit state_covers(size_t most_states)
      : header_(1),
        names_(size_t{1} << names_log2),
        heads_(size_t{4} << std::max(fewest_heads_log2, log2_of(most_states))),
        words_(most_states * bytes_a_state / sizeof(uint32_t)) {
    shared_->heads_log2 = fewest_heads_log2;
  }

  /// A state of the same key in which no more is known; none where there is none.
  uint32_t covering(const state_key& common, const known_facts& known);
  /// The state stands for those that know more. Without room for its record, it does not.
  void add(const state_key& common, const known_facts& known, uint32_t state);
  /// The same of a state of which covering() was asked last.
  void add_asked(uint32_t state);
  void clear();
  /// All records.
  void save(bytes_out& to) const;
  /// The same of another process, of so many states; there are none here. False where they are damaged, or there is no room for them.
  bool load(bytes_in& from, uint32_t states);
  size_t bytes() const {
    return shared_->words * sizeof(uint32_t) + (sizeof(uint32_t) << shared_->heads_log2) +
           shared_->names * sizeof(name_slot);
  }

 private:
  /// Begins a record, in words: then its knowers by number, and its facts as one_fact below.
  struct record {
    state_key common;
    uint32_t next = 0;  ///< where the next one of the list begins, and one more; 0: there is none
    uint32_t state = none;
    uint32_t knowers = 0;
    uint32_t facts = 0;
  };
  static constexpr size_t head_words = sizeof(record) / sizeof(uint32_t);
  struct name_slot {
    uint64_t name = 0;
    uint32_t number = 0;  ///< 0: none
  };
  struct shared {
    shared_lock locked;
    uint32_t heads_log2;
    uint32_t names;
    uint64_t words;
    uint64_t records;
  };

  static constexpr size_t log2_of(size_t count) { return count < 2 ? 0 : 1 + log2_of(count / 2); }
  static constexpr size_t row_words(size_t knowers) { return (knowers + 31) / 32; }
  /// Of a fact: its number times two, and one more where all know it; then a bit for each knower.
  static size_t fact_words(const record& of) { return 1 + row_words(of.knowers); }
  static size_t words_of(const record& of) { return head_words + of.knowers + of.facts * fact_words(of); }
  static const uint32_t* knowers_of(const record& of) { return reinterpret_cast<const uint32_t*>(&of) + head_words; }
  static const uint32_t* fact_of(const record& of, size_t n) {
    return knowers_of(of) + of.knowers + n * fact_words(of);
  }

  record& at(uint64_t word) { return *reinterpret_cast<record*>(&words_[word]); }
  /// Of a name that any process of the search may have numbered; 0 where there is no number left.
  uint32_t number_of(uint64_t name) {
    name_slot& seen = seen_names_[name & (seen_names_.size() - 1)];
    if (seen.number == 0 || seen.name != name) seen = {.name = name, .number = shared_number_of(name)};
    return seen.number;
  }
  uint32_t shared_number_of(uint64_t name);
  /// Puts what is known into fresh_, in the order of the numbers; false where there is no number left.
  bool translate(const state_key& common, const known_facts& known);
  /// Keeps that record as the state's.
  void keep(uint32_t state);
  record& fresh() { return *reinterpret_cast<record*>(fresh_.data()); }
  bool stands_for(const record& less, const record& more);
  uint32_t& head_of(const state_key& common) {
    const size_t mask = (size_t{1} << shared_->heads_log2) - 1;
    return heads_[mask + 1 + (common.low & mask)];
  }
  void grow();
  /// Puts all records into their lists, which are empty.
  void link_all();
  bool is_whole(uint32_t states);

  static constexpr uint32_t names_log2 = 20;
  static constexpr size_t seen_names = size_t{1} << 13;
  static constexpr size_t fewest_heads_log2 = 10;

  mutable shared_array<shared> header_;
  shared* shared_ = &header_[0];
  shared_array<name_slot> names_;
  shared_array<uint32_t> heads_;  ///< as the slots of shared_states: behind the smaller ones that they have replaced
  shared_array<uint32_t> words_;
  std::vector<name_slot> seen_names_ =
      std::vector<name_slot>(seen_names);  ///< by this process, the last one of each place
  std::vector<uint32_t> fresh_;            ///< a record
  bool is_fresh_ = false;                  ///< it is that of the state of which covering() was asked last
  std::vector<std::pair<uint32_t, uint32_t>> order_;
  std::vector<uint32_t> same_;  ///< by knower of one record: its place in another one
};

}  // namespace heddle::sim
