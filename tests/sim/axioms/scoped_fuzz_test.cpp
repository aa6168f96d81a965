// The simulator and the axioms on random programs: no schedule may leave what the model does not allow, and much of what it
// allows must be seen.
//
// Longer: HEDDLE_FUZZ_PROGRAMS=20000 HEDDLE_FUZZ_FIRST=1000 HEDDLE_FUZZ_SCHEDULES=1000 (numbers of programs, the first seed,
// schedules for each).
#include <gtest/gtest.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/tools/litmus/runner.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "ptx_axioms.h"
#include "random_program.h"

namespace heddle::sim::tests::axioms {
namespace {

/// Of partial choices of one program; those with more to look at are left out.
constexpr uint64_t checks_max = 100'000;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoull(text);
}

/// What the axioms say of one program. Loads of the simulated machine return when they are issued.
struct verdicts {
  std::set<flat_state> contract;
  std::set<flat_state> machine;  ///< of the contract, what a host that is x86 and loads that bind leave

  static std::optional<verdicts> of(const litmus::program& asked) {
    auto contract = allowed_states(asked, {}, checks_max);
    if (!contract) return std::nullopt;
    auto machine = allowed_states(asked, {.x86_host = true, .no_load_buffering = true}, checks_max);
    if (!machine) return std::nullopt;
    return verdicts{.contract = std::move(*contract), .machine = std::move(*machine)};
  }
};

/// The states that were seen, with the seed that showed each first.
using seen_states = std::map<flat_state, uint64_t>;

class comparison {
 public:
  explicit comparison(std::vector<std::string> settings) : settings_(std::move(settings)) {
    std::string wrong;
    auto deciding = scheduler::make_strategy("random", wrong);
    if (deciding == nullptr) throw std::invalid_argument(wrong);
    runner_.emplace(std::move(deciding));
  }

  seen_states run(const litmus::program& code, uint64_t schedules) {
    seen_states seen;
    uint64_t seed = 0;
    litmus::test asked;
    asked.name = "random";
    asked.code = code;
    const litmus::test_result result = runner_->run(
        asked, settings_, {.schedules = schedules, .all = true, .after_run = [&](const litmus::final_state& left) {
                             seen.emplace(flatten(left), ++seed);
                           }});
    if (!result.broken.empty()) throw std::runtime_error(result.broken + '\n' + to_text(code));
    return seen;
  }

  /// A state that was seen and that `allowed` does not have.
  static std::optional<flat_state> excess(const seen_states& seen, const std::set<flat_state>& allowed) {
    for (const auto& [state, seed] : seen)
      if (allowed.count(state) == 0) return state;
    return std::nullopt;
  }

  /// The smallest program found that fails as this one does, and what it showed.
  std::string explain(const litmus::program& failing, const std::set<flat_state> verdicts::* which,
                      uint64_t schedules) {
    const auto found = [&](const litmus::program& from) -> std::optional<std::string> {
      const auto allowed = verdicts::of(from);
      if (!allowed) return std::nullopt;
      const seen_states seen = run(from, schedules);
      const auto bad = excess(seen, (*allowed).*which);
      if (!bad) return std::nullopt;
      return "schedule " + std::to_string(seen.at(*bad)) + " leaves " + to_text(from, unflatten(from, *bad));
    };
    const litmus::program least =
        smallest(failing, [&](const litmus::program& from) { return found(from).has_value(); });
    return to_text(least) + '\n' + found(least).value_or("not seen again") + "\nshrunk from\n" + to_text(failing);
  }

 private:
  std::vector<std::string> settings_;
  std::optional<litmus::runner> runner_;
};

struct totals {
  uint64_t programs = 0;
  uint64_t too_large = 0;
  uint64_t unsound = 0;
  uint64_t whole = 0;        ///< programs of which each allowed state was seen
  double sum_of_shares = 0;  ///< of the machine's allowed states, that were seen; per program

  double share() const { return programs == 0 ? 0 : sum_of_shares / static_cast<double>(programs); }
};

totals compare(const std::vector<std::string>& settings, uint64_t programs, uint64_t schedules) {
  programs = from_environment("HEDDLE_FUZZ_PROGRAMS", programs);
  schedules = from_environment("HEDDLE_FUZZ_SCHEDULES", schedules);
  const uint64_t first = from_environment("HEDDLE_FUZZ_FIRST", 1);
  comparison machine(settings);
  totals made;
  for (uint64_t seed = first; seed < first + programs && made.unsound < 5; ++seed) {
    const litmus::program drawn = random_program(seed, {});
    const auto allowed = verdicts::of(drawn);
    if (!allowed) {
      ++made.too_large;
      continue;
    }
    ++made.programs;
    const seen_states seen = machine.run(drawn, schedules);
    for (const auto which : {&verdicts::contract, &verdicts::machine}) {
      if (!comparison::excess(seen, (*allowed).*which)) continue;
      ADD_FAILURE() << "program of seed " << seed << " leaves what "
                    << (which == &verdicts::contract ? "PTX forbids" : "an x86 host and loads that bind forbid") << '\n'
                    << machine.explain(drawn, which, schedules);
      ++made.unsound;
      break;
    }
    uint64_t reached = 0;
    for (const auto& [state, at] : seen) reached += allowed->machine.count(state);
    made.sum_of_shares += static_cast<double>(reached) / static_cast<double>(allowed->machine.size());
    made.whole += reached == allowed->machine.size() ? 1 : 0;
  }
  std::cout << made.programs << " programs, " << schedules << " schedules of each: on average "
            << std::lround(100 * made.share()) << " % of a program's allowed states were seen, all of them in "
            << made.whole << " programs; " << made.too_large << " programs were too large for the oracle\n";
  return made;
}

TEST(scoped_fuzz, interleavings_leave_nothing_that_is_forbidden) {
  const totals made = compare({"fidelity=interleaving"}, 100, 100);
  EXPECT_EQ(made.unsound, 0u);
}

// Measured with 300 schedules: 74 to 78 % over thousands of programs.
TEST(scoped_fuzz, late_memory_leaves_nothing_that_is_forbidden_and_most_of_what_is_allowed) {
  const totals made = compare({"fidelity=scoped", "races=count"}, 200, 300);
  EXPECT_EQ(made.unsound, 0u);
  EXPECT_GT(made.share(), 0.65);
}

}  // namespace
}  // namespace heddle::sim::tests::axioms
