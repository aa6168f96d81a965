#include <heddle/scheduler/replay.h>
#include <heddle/sim/verify/search.h>
#include <heddle/tools/commands.h>
#include <heddle/tools/common.h>
#include <heddle/tools/interrupt.h>
#include <heddle/tools/table.h>
#include <heddle/tools/trial.h>
#include <heddle/tools/unbounded.h>

#include <sys/resource.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;

/// A run that ended with a violation.
struct counterexample {
  scheduler::trace recorded;
  std::string message;
  std::string report;
  std::string not_reproducible;
};

struct verification {
  const scenario* tested = nullptr;
  parameters settings;
  scheduler::verdict expected = scheduler::verdict::ok;
  sim::search_result search;
  std::optional<counterexample> found;
  std::string file;  ///< where its trace was written; empty: nowhere
  uint64_t peak_bytes = 0;

  const char* result() const { return found ? "violated" : search.complete ? "proved" : "incomplete"; }
  /// A proof where none was to be found is as wrong as a violation where there should be none.
  bool ok() const {
    if (found) return found->recorded.outcome == expected && found->not_reproducible.empty();
    return search.complete && expected == scheduler::verdict::ok;
  }
};

uint64_t peak_bytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<uint64_t>(used.ru_maxrss) * 1024;
}

/// How far the search is, on a terminal.
class search_progress {
 public:
  explicit search_progress(std::string name) : name_(std::move(name)) {}
  ~search_progress() {
    if (shown_) std::cerr << "\r\033[K" << std::flush;
  }
  search_progress(const search_progress&) = delete;
  search_progress& operator=(const search_progress&) = delete;
  void show(const sim::search_result& so_far) {
    if (!terminal_ || so_far.seconds < next_) return;
    next_ = so_far.seconds + 0.5;
    shown_ = true;
    std::cerr << "\r\033[K" << name_ << ": " << grouped(so_far.states) << " states, " << grouped(so_far.runs)
              << " runs, " << static_cast<uint64_t>(so_far.seconds) << " s" << std::flush;
  }

 private:
  std::string name_;
  bool terminal_ = is_terminal(2);
  bool shown_ = false;
  double next_ = 0.5;
};

verification verify_one(const scenario& tested, const parameters& settings, const invocation& asked) {
  verification made;
  made.tested = &tested;
  made.settings = settings;
  made.expected = tested.expected_verdict(settings);
  sim::simulation machine;
  search_progress progress(tested.name);
  sim::search_options options;
  options.seconds_max = asked.seconds_max;
  options.states_max = asked.states_max;
  options.bytes_max = asked.memory_mib << 20;
  options.stop = &interrupt_flag();
  options.match_states = options.skip_local = options.block_waits = !asked.unreduced;
  options.progress = [&](const sim::search_result& so_far) { progress.show(so_far); };
  options.ended = [&](const sim::outcome& ended, const std::vector<scheduler::answer>& answers) {
    if (ended.verdict == scheduler::verdict::ok || ended.verdict == scheduler::verdict::budget) return true;
    counterexample found = {.recorded = trace_header(tested, settings, verifying_strategy)};
    found.recorded.outcome = ended.verdict;
    found.recorded.where = ended.where;
    found.recorded.hang = ended.hang;
    found.recorded.digest = ended.digest;
    found.recorded.steps = ended.steps;
    found.recorded.answers = answers;
    made.found = std::move(found);
    return false;
  };
  const auto run = [&](scheduler::choice_source& choices) {
    return machine.run(settings, [&] { tested.body(settings); }, choices, false);
  };
  made.search = machine.search(run, options);
  if (made.found) {
    const auto again = [&](scheduler::choice_source& choices, bool explain) {
      return run_scenario(machine, tested, settings, choices, explain);
    };
    scheduler::replay_result replayed = scheduler::run_again(made.found->recorded, again, true);
    made.found->not_reproducible = std::move(replayed.disagreement);
    made.found->message = std::move(replayed.result.message);
    made.found->report = std::move(replayed.result.report);
  }
  made.peak_bytes = peak_bytes();
  return made;
}

json to_json(const verification& made) {
  json shown = {{"scenario", made.tested->name},
                {"result", made.result()},
                {"states", made.search.states},
                {"executions", made.search.executions},
                {"transitions", made.search.transitions},
                {"depth_max", made.search.depth_max},
                {"seconds", made.search.seconds},
                {"peak_bytes", made.peak_bytes},
                {"token", made.found ? json(scheduler::to_token(made.found->recorded)) : json(nullptr)},
                {"expected", to_string(made.expected)},
                {"ok", made.ok()},
                {"runs", made.search.runs},
                {"incomplete_because", made.search.left_out}};
  if (made.found) {
    shown["verdict"] = to_string(made.found->recorded.outcome);
    shown["where"] = made.found->recorded.where;
    shown["message"] = made.found->message;
    shown["reproducible"] = made.found->not_reproducible.empty();
    shown["file"] = made.file.empty() ? json(nullptr) : json(made.file);
  }
  return shown;
}

void print_found(const verification& made, const std::string& program) {
  const counterexample& found = *made.found;
  const bool wanted = found.recorded.outcome == made.expected;
  std::cout << painted(to_string(found.recorded.outcome), wanted ? colour::good : colour::bad);
  if (!found.recorded.where.empty()) std::cout << " at " << found.recorded.where;
  std::cout << (wanted ? ", as expected" : "") << '\n' << indented(found.message, 2) << indented(found.report, 2);
  if (!found.not_reproducible.empty())
    std::cout << indented(painted("not reproducible: ", colour::bad) + found.not_reproducible, 2);
  const std::string token = scheduler::to_token(found.recorded);
  if (!made.file.empty()) {
    std::cout << "  " << shell_word(program) << " replay " << shell_word(made.file) << '\n';
  } else if (token.size() <= token_on_command_line_max) {
    std::cout << token << "\n  " << shell_word(program) << " replay " << token << '\n';
  } else {
    std::cout << "  Its token is too long for a command line; --out FILE writes it to a file.\n";
  }
}

void print_text(const verification& made, const std::string& program) {
  std::cout << made.tested->name << ": ";
  if (made.found) {
    print_found(made, program);
  } else if (made.search.complete) {
    std::cout << painted("proved", made.ok() ? colour::good : colour::bad) << ": no run ends badly";
    if (made.expected != scheduler::verdict::ok) std::cout << ", but " << to_string(made.expected) << " was expected";
    std::cout << '\n';
  } else {
    std::cout << painted("incomplete", colour::warning) << ": " << made.search.left_out << '\n';
  }
  std::ostringstream seconds;
  seconds << std::fixed << std::setprecision(2) << made.search.seconds;
  std::cout << "  " << grouped(made.search.states) << " states, " << grouped(made.search.transitions)
            << " transitions, " << grouped(made.search.executions) << " executions; longest "
            << grouped(made.search.depth_max) << " steps\n  " << grouped(made.search.runs) << " runs in "
            << seconds.str() << " s, " << grouped(made.peak_bytes >> 20) << " MiB\n";
}

}  // namespace

int verify(const invocation& asked) {
  const selection selected = select_scenarios(asked.scenarios);
  if (!selected.error.empty()) return fail(wrong_input, selected.error);
  if (selected.chosen.size() != 1)
    return fail(wrong_input, "verify takes one scenario, and these are " + std::to_string(selected.chosen.size()) +
                                 "; name one of " + shell_word(asked.program) + " list");
  const scenario& tested = *selected.chosen.front();
  const settings_or_error settings = simulator_settings(tested, asked.settings);
  if (!settings.value) return fail(wrong_input, settings.error);
  if (settings.value->has("starvation") && settings.value->number("starvation") != 0)
    return fail(wrong_input, "verify cannot tell how often somebody was passed over: leave out --set starvation=" +
                                 settings.value->value_text("starvation") + ", and use heddle fuzz for it");

  catch_interrupt();
  parameters widened = without_bounds(*settings.value, asked.settings);
  verification made = verify_one(tested, widened, asked);
  const bool asked_for_points = std::any_of(asked.settings.begin(), asked.settings.end(),
                                            [](const std::string& each) { return each.starts_with("points="); });
  if (made.search.wants_points && !made.found && !asked_for_points && !interrupt_flag()) {
    widened.set("points=all");
    made = verify_one(tested, widened, asked);
  }
  if (made.found && !asked.out_file.empty()) {
    if (const auto failed = scheduler::write_trace(made.found->recorded, asked.out_file))
      return fail(cannot_go_on, *failed);
    made.file = asked.out_file;
  }
  if (asked.json)
    std::cout << to_json(made).dump(2, ' ', false, json::error_handler_t::replace) << '\n';
  else
    print_text(made, asked.program);
  if (interrupt_flag()) return interrupted;
  return made.ok() ? as_expected : not_as_expected;
}

}  // namespace heddle::tools
