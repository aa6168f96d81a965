// All runs of a small program, and what came of them.
#pragma once

#include <heddle/sim/verify/search.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "run.h"

namespace heddle::sim::tests {

inline constexpr memory_order relaxed = memory_order::relaxed;

inline parameters settings_of(const std::vector<std::string>& assignments) {
  parameters made(machine_parameters());
  for (const std::string& each :
       {std::string("fidelity=interleaving"), std::string("wakes=1000"), std::string("points=atomics")})
    EXPECT_FALSE(made.set(each)) << each;
  for (const std::string& each : assignments) EXPECT_FALSE(made.set(each)) << each;
  return made;
}

inline const std::vector<std::string> scoped = {"fidelity=scoped", "late=1000", "history=60"};

/// What came of all runs of a program: the verdicts, and what the program itself has noted.
struct explored {
  search_result search;
  std::set<verdict> verdicts;
  std::set<std::string> notes;
  outcome example;  ///< of the last run that did not end well
};

class explorer_of {
 public:
  /// `note` is called when a run has ended well.
  explorer_of(program body, const std::vector<std::string>& settings, std::function<std::string()> note = {})
      : settings_(settings_of(settings)), body_(std::move(body)), note_(std::move(note)) {}

  explored all(search_options options = {}) {
    explored made;
    // What a round has seen that was not the last one does not show that the last one sees it.
    options.begun_again = [&] { made = explored(); };
    options.ended = [&](const outcome& ended, const std::vector<scheduler::answer>& answers) {
      made.verdicts.insert(ended.verdict);
      if (ended.verdict == verdict::ok) {
        if (note_) made.notes.insert(note_());
        return true;
      }
      made.example = ended;
      last_ = answers;
      return true;
    };
    made.search = machine_.search(
        [&](scheduler::choice_source& choices) { return machine_.run(settings_, body_, choices, false); }, options);
    return made;
  }

  /// The run with these answers again.
  outcome again() {
    struct given final : scheduler::strategy {
      explicit given(const std::vector<scheduler::answer>& all) : answers(all) {}
      void begin(uint64_t) override { next = 0; }
      uint32_t pick(const scheduler::choice& asked) override {
        if (next == answers.size() || answers[next].kind != asked.kind || answers[next].count != asked.count)
          return scheduler::no_answer;
        return answers[next++].picked;
      }
      bool draws_end_game() const override {
        return !answers.empty() && answers.front().kind == scheduler::choice_kind::end;
      }
      std::string_view name() const override { return "given"; }
      const std::vector<scheduler::answer>& answers;
      size_t next = 0;
    } deciding(last_);
    scheduler::choice_source choices;
    choices.begin(deciding, 0);
    return machine_.run(settings_, body_, choices, false);
  }

 private:
  simulation machine_;
  parameters settings_;
  program body_;
  std::function<std::string()> note_;
  std::vector<scheduler::answer> last_;
};

}  // namespace heddle::sim::tests
