// A strategy answers choices. (The shape is Shuttle's scheduler trait: few methods, one strategy a file.)
#pragma once

#include <heddle/scheduler/choice.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::scheduler {

struct estimate;

class strategy {
 public:
  strategy() = default;
  strategy(const strategy&) = delete;
  strategy& operator=(const strategy&) = delete;
  virtual ~strategy() = default;

  /// Called once before each run. Equal seeds and equal choices give equal answers.
  virtual void begin(uint64_t seed) = 0;

  /// An index in [0, choice.count), or no_answer to stop the run.
  virtual uint32_t pick(const choice& asked) = 0;

  /// Its streams, when it draws every answer of the run that has begun uniformly out of them: then pick() need not be
  /// called. Null when it does more than that, such as looking at candidates or steps.
  virtual choice_streams* answers_out_of() { return nullptr; }

  /// Whether it answers choices of kind `end` at the beginning of the run, which begin the end game early.
  virtual bool draws_end_game() const { return false; }

  /// Whether it looks at candidate::headway, which costs the machine time.
  virtual bool looks_at_headway() const { return false; }

  /// Whether it is told of every operation that is performed, also where there was no choice. That costs the machine time.
  virtual bool looks_at_steps() const { return false; }
  /// An actor has performed the operation that the candidate shows; its `operations` counts it already.
  virtual void performed(const candidate&) {}

  /// Whether it wants to know what runs of the program are like (estimate.h). It must do without, too.
  virtual bool wants_estimate() const { return false; }
  /// What holds for all runs from now on; null where nothing is known.
  virtual void estimated(const std::shared_ptr<const estimate>&) {}

  /// The name under which `--strategy` knows it.
  virtual std::string_view name() const = 0;
};

/// Names that make_strategy takes, the default ("mix") first, each with one line of help.
struct strategy_help {
  std::string_view name;
  std::string_view help;
};
const std::vector<strategy_help>& strategies();

/// The strategy of that name, with its parameter where it has one: "random", "round-robin:8" (quantum), "starve" or
/// "starve:3" (group), "pct:3" (depth), "unfair:100" (age bound), "mix". Null with a one-line `error` when the name or the parameter is wrong.
std::unique_ptr<strategy> make_strategy(std::string_view text, std::string& error);

}  // namespace heddle::scheduler
