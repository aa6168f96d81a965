// A state in which threads do not all know the same, taken apart: facts, what may know some of them, and which knows which.
//
// With less knowledge a state can do all that it could do with more: a thread that does not know of a store may read it, or the one before. So a
// search that has met a state need not go through one in which all else is equal and nothing is unknown that was known there. (Less of a
// state stands for more of it as in well-structured transition systems: Abdulla et al., LICS 1996.)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::sim {

/// Filled in this order: begin(), add_knower() for each knower, add_fact() and know() for each fact. Facts and knowers have names of 64 bits, which
/// are the same in all states that are compared.
class known_facts {
 public:
  void begin() {
    knowers_.clear();
    facts_.clear();
    known_.clear();
  }
  /// A second knower of a name gets another one, and a third.
  void add_knower(uint64_t name) { knowers_.push_back(unused(name, knowers_)); }
  /// That no knower knows, or all. One that all know need not be a fact of the other state.
  void add_fact(uint64_t name, bool all_know) {
    facts_.push_back({.name = unused_fact(name), .all_know = all_know, .row = known_.size()});
    known_.resize(known_.size() + words(), all_know ? ~uint64_t{0} : 0);
  }
  /// Of the fact that was added last.
  void know(size_t knower) { known_[facts_.back().row + knower / 64] |= uint64_t{1} << knower % 64; }
  size_t facts() const { return facts_.size(); }
  uint64_t fact_name(size_t n) const { return facts_[n].name; }
  bool all_know(size_t n) const { return facts_[n].all_know; }
  size_t knowers() const { return knowers_.size(); }
  uint64_t knower_name(size_t n) const { return knowers_[n]; }
  bool knows(size_t knower, size_t of_fact) const {
    return (known_[facts_[of_fact].row + knower / 64] >> knower % 64 & 1) != 0;
  }

 private:
  struct fact {
    uint64_t name = 0;
    bool all_know = false;
    size_t row = 0;
  };
  size_t words() const { return (knowers_.size() + 63) / 64; }
  static uint64_t next_name(uint64_t name) { return name * 0x9e3779b97f4a7c15u + 1; }
  static uint64_t unused(uint64_t name, const std::vector<uint64_t>& names) {
    while (std::find(names.begin(), names.end(), name) != names.end()) name = next_name(name);
    return name;
  }
  uint64_t unused_fact(uint64_t name) const {
    const auto has_it = [&](const fact& one) { return one.name == name; };
    while (std::any_of(facts_.begin(), facts_.end(), has_it)) name = next_name(name);
    return name;
  }

  std::vector<uint64_t> knowers_;
  std::vector<fact> facts_;
  std::vector<uint64_t> known_;  ///< by fact, a bit for each knower
};

}  // namespace heddle::sim
