// round-robin: the fair baseline.
#pragma once

#include <heddle/scheduler/strategy.h>

#include <optional>

namespace heddle::scheduler {

/// The next actor in cyclic order of ids, after `quantum` choices or when the current one cannot go on. Other kinds of
/// choice get the machine's default, answer 0.
class round_robin_strategy final : public strategy {
 public:
  static constexpr uint32_t drawn_quantum_max = 64;

  /// Without a quantum, one from 1 to drawn_quantum_max is drawn by the seed; short ones are the likelier.
  explicit round_robin_strategy(std::optional<uint32_t> quantum = {}) : given_quantum_(quantum) {}

  void begin(uint64_t seed) override;
  uint32_t pick(const choice& asked) override;
  std::string_view name() const override { return "round-robin"; }

  /// How many choices in a row one actor gets in this run.
  uint32_t quantum() const { return quantum_; }

 private:
  std::optional<uint32_t> given_quantum_;
  uint32_t quantum_ = 1;
  uint32_t current_actor_ = ~uint32_t{0};
  uint32_t left_ = 0;
};

/// The index of the candidate that follows `actor` in cyclic order of ids; `actor` itself comes last.
uint32_t next_in_turn(const choice& asked, uint32_t actor);

/// A candidate of a choice; where the machine tells nothing of them, actor and group are the index.
inline candidate candidate_at(const choice& asked, uint32_t index) {
  return asked.candidates.known() ? asked.candidates[index] : candidate{.actor = index, .group = index};
}

}  // namespace heddle::scheduler
