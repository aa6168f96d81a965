// Verdicts as the tables write them, and a check of witnesses that shares nothing with the judge.
#pragma once

#include <gtest/gtest.h>
#include <heddle/tools/progress/judge/examination.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::judge {

inline constexpr model fair = {rule::fair};
inline constexpr model hsa = {rule::hsa};
inline constexpr model obe = {rule::obe};
inline constexpr model hsa_obe = {rule::hsa_obe};
inline constexpr model lobe = {rule::lobe};
inline constexpr model unfair = {rule::unfair};
inline constexpr std::array all_fairness = {fairness::weak, fairness::strong};

inline bool ends(examination& of, model under, fairness how) { return of.judge(under, how).ends; }

/// "P/F": weak, strong
inline std::string both(examination& of, model under) {
  return std::string(ends(of, under, fairness::weak) ? "P" : "F") + "/" +
         (ends(of, under, fairness::strong) ? "P" : "F");
}
inline std::string both(std::string_view text, model under) {
  examination of(parse(text));
  return both(of, under);
}

/// The cells of the open models, in the order of tables: "P/P F/F ..."
inline std::string row(std::string_view text) {
  examination of(parse(text));
  std::string cells;
  for (const model each : open_models()) cells += (cells.empty() ? "" : " ") + both(of, each);
  return cells;
}

/// Plays a witness of an F under weak fairness step by step, by a machine of its own, and checks that it is an endless execution
/// which the model allows: the cycle comes back to where it began, no thread that has ended steps, and each thread that is in F throughout the
/// cycle, by the words of the definition, has a step in it.
class replayed {
 public:
  explicit replayed(const program& code)
      : code_(code), counters_(code.threads.size()), memory_(code.locations.size()) {}

  void check(model under, const witness& why) {
    for (const uint32_t thread : why.stem) take(thread);
    const auto began = *this;
    ASSERT_FALSE(why.cycle.empty());
    std::vector<bool> always(code_.threads.size(), true), has_stepped(code_.threads.size());
    bool start_was_owed = true;
    bool a_wave_stepped = false;
    for (const uint32_t thread : why.cycle) {
      ASSERT_TRUE(live(thread));
      take(thread);
      has_stepped[thread] = true;
      a_wave_stepped |= is_wave(thread);
      for (size_t n = 0; n < always.size(); ++n) always[n] = always[n] && in_f(under, n);
      start_was_owed = start_was_owed && owes();
    }
    EXPECT_EQ(counters_, began.counters_);
    EXPECT_EQ(memory_, began.memory_);
    for (size_t n = 0; n < always.size(); ++n)
      EXPECT_TRUE(!always[n] || has_stepped[n]) << code_.threads[n].name() << " is starved";
    bool none_owed = true;
    for (size_t n = 0; n < always.size(); ++n) none_owed = none_owed && !(is_wave(n) && always[n]);
    EXPECT_FALSE(none_owed && start_was_owed && !a_wave_stepped) << "one of the waves would have started";
  }

 private:
  bool is_wave(size_t thread) const { return code_.threads[thread].kind == thread_kind::wave; }
  bool live(size_t thread) const { return counters_[thread] != code_.threads[thread].steps.size(); }
  bool started(size_t thread) const { return started_.size() > thread && started_[thread]; }

  bool owes() const {
    for (size_t n = 0; n < code_.threads.size(); ++n)
      if (is_wave(n) && live(n) && !started(n)) return true;
    return false;
  }

  bool lowest(size_t thread) const {
    for (size_t n = 0; n < thread; ++n)
      if (is_wave(n) && live(n)) return false;
    return true;
  }

  bool one_so_high_has_started(size_t thread) const {
    for (size_t n = thread; n < code_.threads.size(); ++n)
      if (is_wave(n) && started(n)) return true;
    return false;
  }

  bool in_f(model under, size_t thread) const {
    if (!live(thread)) return false;
    if (!is_wave(thread)) return true;
    switch (under.is) {
      case rule::fair:
        return true;
      case rule::hsa:
        return lowest(thread);
      case rule::obe:
        return started(thread);
      case rule::hsa_obe:
        return lowest(thread) || started(thread);
      case rule::lobe:
        return one_so_high_has_started(thread);
      default:
        return false;
    }
  }

  void take(size_t thread) {
    ASSERT_TRUE(live(thread));
    if (started_.size() <= thread) started_.resize(thread + 1);
    started_[thread] = true;
    const step& now = code_.threads[thread].steps[counters_[thread]];
    const uint32_t old = memory_[now.location];
    if (now.writes) memory_[now.location] = now.written;
    if (now.branches && old == now.compared)
      counters_[thread] = now.target;
    else
      ++counters_[thread];
  }

  const program& code_;
  std::vector<size_t> counters_;
  std::vector<uint32_t> memory_;
  std::vector<bool> started_;
};

}  // namespace heddle::judge
