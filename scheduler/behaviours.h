// In how many different ways a program has run in a campaign, and what is likely still to come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace heddle::scheduler {

/// Ways in which a program has run, by a number each. Parts of a campaign may be added up in any order.
class behaviours {
 public:
  /// More than so many are not told apart.
  static constexpr size_t most = size_t{1} << 20;

  struct shown {
    uint64_t first_seed = 0;  ///< the lowest one that shows it
    uint64_t runs = 1;
  };

  /// The run of the seed, which is added once.
  void add(uint64_t behaviour, uint64_t seed) { add(behaviour, shown{.first_seed = seed}); }
  void add(uint64_t behaviour, const shown& by);
  void add(const behaviours& part);

  bool any() const { return !all_.empty(); }
  uint64_t count() const { return all_.size(); }
  /// There are more than can be told apart: those beyond are not in the figures.
  bool more() const { return more_; }
  void note_more() { more_ = true; }
  /// The highest of the lowest seeds: behind it came nothing new.
  uint64_t last_new() const;
  /// Of so many runs, by the seeds from `first_seed` on, how many came behind the last new one. 0 where a campaign that was interrupted has left out
  /// seeds below it.
  uint64_t runs_without_news(uint64_t first_seed, uint64_t runs) const;

  /// How likely a run by another seed is at most to show a behaviour that none of the `runs`, by the seeds from `first_seed` on, has shown, with a
  /// confidence of 95 %: as if seeds were drawn at random. What the second half of them has shown beside the first half is as many hits of
  /// independent draws; the bound of their chance is Chernoff's (Hoeffding, J. Amer. Stat. Assoc. 58, 1963, theorem 1).
  double chance_of_new(uint64_t first_seed, uint64_t runs) const;

  const std::unordered_map<uint64_t, shown>& all() const { return all_; }

 private:
  std::unordered_map<uint64_t, shown> all_;
  bool more_ = false;
};

}  // namespace heddle::scheduler
