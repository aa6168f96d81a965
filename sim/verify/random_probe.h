// A run at random through a search: which of the states that it comes to are known.
#pragma once

#include <heddle/scheduler/random_stream.h>
#include <heddle/sim/base/state_key.h>

#include <bit>
#include <csignal>
#include <cstdint>
#include <unordered_set>

namespace heddle::sim {

/// The signal that ends the copy of a process in which such runs are made.
inline constexpr int ends_a_copy = SIGTERM;

/// While it lives that signal waits: the copy may hold a lock that it shares with others.
class probe_goes_on {
 public:
  explicit probe_goes_on(bool is_probe) : holds_(is_probe) {
    if (!holds_) return;
    sigset_t held = {};
    sigemptyset(&held);
    sigaddset(&held, ends_a_copy);
    sigprocmask(SIG_BLOCK, &held, &before_);
  }
  ~probe_goes_on() {
    if (holds_) sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  probe_goes_on(const probe_goes_on&) = delete;
  probe_goes_on& operator=(const probe_goes_on&) = delete;

 private:
  bool holds_;
  sigset_t before_ = {};
};

class random_probe {
 public:
  explicit random_probe(uint64_t seed) : draws_(seed) {}

  /// One of the answers: the first one, or one that is left, each as likely.
  uint32_t answer_of(uint32_t first, uint64_t left) {
    const uint32_t nth = draws_.below(1 + static_cast<uint32_t>(std::popcount(left)));
    if (nth == 0) return first;
    for (uint32_t n = 1; n < nth; ++n) left &= left - 1;
    return static_cast<uint32_t>(std::countr_zero(left));
  }

  /// The run has come to a state. False: it need not go on.
  bool arrive(const state_key& key, bool is_known) {
    if (met_.size() == most_states) return false;
    if (met_.insert(key).second && is_known) ++known_;
    return true;
  }

  uint64_t met() const { return met_.size(); }  ///< states that differ
  uint64_t known() const { return known_; }     ///< of these

 private:
  static constexpr size_t most_states = 10'000;
  scheduler::random_stream draws_;
  std::unordered_set<state_key> met_;
  uint64_t known_ = 0;
};

}  // namespace heddle::sim
