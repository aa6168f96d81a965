#include <heddle/scheduler/own_errors.h>
#include <heddle/scheduler/printable.h>
#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/trial/traces.h>
#include <heddle/tools/trial/trial.h>
#include <heddle/tools/verify/verification.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;

/// A number of which the first two digits are known at most.
uint64_t rounded(uint64_t number) {
  uint64_t unit = 1;
  while (number / unit >= 100) unit *= 10;
  return (number + unit / 2) / unit * unit;
}

std::string states_in_all(const sim::search_forecast& made) {
  const std::string count = grouped(std::max(rounded(made.states()), made.states_then));
  if (made.is_close()) return "some " + count + " states in all";
  return made.is_far_too_low() ? "more than " + count + " states in all"
                               : "some " + count + " states in all, or several times as many";
}

/// What is left of a search that was cut. Random runs seldom stay in a loop whose iterations all differ: what they know says nothing of it.
std::string forecast_line(const sim::search_result& made) {
  const sim::search_forecast& ahead = made.forecast;
  if (!made.goes_round.empty())
    return "  no forecast: " + made.goes_round +
           ": where the loop counts, in a variable that is used behind it or in memory, states grow without end; "
           "bound " +
           "the loop, or leave the counter out\n";
  std::string line = "  forecast: " + states_in_all(ahead);
  if (ahead.is_close()) {
    const double left = static_cast<double>(ahead.states()) / static_cast<double>(ahead.states_then) - 1;
    line += ", " + duration_text(left * made.seconds) + " more";
  }
  return line + "; of those that " + grouped(ahead.runs) + " random runs come to, " +
         std::to_string(static_cast<int>(100 * ahead.share())) + " % are known\n";
}

/// How far the search is: one line that is written anew on a terminal, a line a minute elsewhere.
class search_progress {
 public:
  explicit search_progress(std::string name) : name_(std::move(name)) {}
  ~search_progress() { clear(); }
  search_progress(const search_progress&) = delete;
  search_progress& operator=(const search_progress&) = delete;
  void clear() {
    if (shown_) dprintf(scheduler::own_errors, "\r\033[K");
    shown_ = false;
  }
  void show(const sim::search_result& so_far) {
    if (so_far.seconds < next_) return;
    next_ = so_far.seconds + (terminal_ ? 0.5 : 60);
    std::string line = name_ + ": " + grouped(so_far.states) + " states, " + grouped(so_far.runs) + " runs, " +
                       duration_text(std::floor(so_far.seconds));
    if (so_far.forecast.runs != 0) line += "; " + states_in_all(so_far.forecast);
    shown_ = terminal_;
    constexpr size_t line_width_max = 79;
    if (terminal_)
      dprintf(scheduler::own_errors, "\r\033[K%s", shortened(line, line_width_max).c_str());
    else
      dprintf(scheduler::own_errors, "%s\n", line.c_str());
  }

 private:
  std::string name_;
  bool terminal_ = is_terminal(2);
  bool shown_ = false;
  double next_ = terminal_ ? 0.5 : 60;
};

verify_options options_of(const invocation& asked) {
  verify_options options;
  options.assignments = asked.settings;
  options.seconds_max = asked.seconds_max;
  options.states_max = asked.verify.states_max;
  options.memory_mib = asked.verify.memory_mib;
  options.jobs = asked.jobs != 0 ? asked.jobs : std::max(std::thread::hardware_concurrency(), 1u);
  options.reduced = !asked.verify.unreduced;
  options.matches_states = !asked.verify.stateless;
  options.stop = &interrupt_flag();
  options.saved = searched_here();
  return options;
}

void print_found(const verification& made, const std::string& program) {
  const counterexample& found = *made.found;
  const bool wanted = made.expected.contains(found.recorded.outcome);
  std::cout << painted(to_string(found.recorded.outcome), wanted ? colour::good : colour::bad);
  if (!found.recorded.where.empty()) std::cout << " at " << found.recorded.where;
  std::cout << (wanted ? ", as expected" : "") << '\n' << indented(found.message, 2);
  if (!found.not_reproducible.empty())
    std::cout << indented(painted("not reproducible: ", colour::bad) + found.not_reproducible, 2);
  const auto [summary, details] = paragraphs(found.report);
  std::cout << indented(summary, 2) << indented(details, 2)
            << how_to_play(found.recorded, program, {.trace = made.file});
  if (!wanted) std::cout << past_races(found.recorded);
}

void print_text(const verification& made, const invocation& asked) {
  std::cout << scheduler::printable(made.tested->name) << ": ";
  if (made.found) {
    print_found(made, asked.program);
  } else if (made.search.complete) {
    std::cout << painted("proved", made.ok() ? colour::good : colour::bad) << " under "
              << what_is_proved(made, asked.settings) << ": no run ends badly";
    if (!made.expected.contains(scheduler::verdict::ok))
      std::cout << ", but " << to_string(made.expected) << " was expected";
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
  if (made.search.cut && (made.search.forecast.runs != 0 || !made.search.goes_round.empty()))
    std::cout << forecast_line(made.search);
  if (made.search.before.runs != 0)
    std::cout << "  of these " << grouped(made.search.before.states) << " states and "
              << grouped(made.search.before.runs) << " runs before it was resumed\n";
  if (!made.saved_file.empty())
    std::cout << "  saved; go on: " << shell_word(asked.program) << " verify --resume " << shell_word(made.saved_file)
              << '\n';
}

/// Before it is cut, which may be an hour later.
void tell_unsaved(const invocation& asked, const std::string& why) {
  const std::string line = "--save " + asked.verify.save_file + ": this search cannot be saved: " + why +
                           "; it goes on, and is lost where a bound cuts it";
  dprintf(scheduler::own_errors, "heddle: %s\n", one_line(line).c_str());
}

/// What is told of a scenario that is not looked at any more.
void print_not_run(const scenario& tested, bool as_json, json& proofs) {
  if (as_json)
    proofs.push_back({{"scenario", tested.name}, {"result", "not run"}, {"ok", false}});
  else
    std::cout << scheduler::printable(tested.name) << ": not run\n";
}

/// The exit status where there is nothing to tell: the search does not go on, or the next one is to be made in a new process.
std::optional<int> without_result(const verification& made, const invocation& asked) {
  if (made.next_stage) searched_here()->next_stage = true;
  if (made.next_stage) return as_expected;
  if (made.search.not_gone_on.empty()) return std::nullopt;
  return fail(wrong_input, "--resume " + asked.verify.save_file + ": " + made.search.not_gone_on);
}

}  // namespace

int verify(const invocation& asked) {
  selection selected = select_scenarios(asked.scenarios);
  if (!selected.error.empty()) return fail(wrong_input, selected.error);
  if (asked.scenarios.empty() && !asked.all && selected.chosen.size() != 1)
    return fail(wrong_input, "verify takes a scenario, or --all for what all of them claim; see " +
                                 shell_word(asked.program) + " list");
  const bool several = selected.chosen.size() != 1;
  if (several && !asked.out_file.empty())
    return fail(wrong_input, "--out takes the trace of one scenario, and these are " +
                                 std::to_string(selected.chosen.size()) + "; name one of them");
  if (asked.all) std::erase_if(selected.chosen, [](const scenario* each) { return each->proofs.empty(); });
  if (selected.chosen.empty())
    return fail(wrong_input, "no scenario asked for claims anything (scenario::proofs); leave out --all");

  if (saves_search(asked) && searched_here() == nullptr)
    return fail(wrong_input, "verify --save and --resume begin a process of their own, which is not done here");
  if (!asked.out_file.empty() && searched_here() == nullptr)
    if (const auto failed = cannot_write(asked.out_file)) return fail(cannot_go_on, *failed);
  for (const std::string& each : asked.settings)
    if (each == "step=wave" || each.starts_with("partings="))
      return fail(wrong_input, "verify goes through every order of lanes: leave out --set " + each);
  catch_interrupt();
  verify_options options = options_of(asked);
  if (asked.all) {
    std::string error;
    const auto made = verify_claims(selected.chosen, options, asked.json, error);
    if (!made) return fail(wrong_input, error);
    if (interrupt_flag()) return interrupted;
    return made->not_as_claimed == 0 ? as_expected : not_as_expected;
  }
  options.forecasts = true;
  std::vector<parameters> settings;
  for (const scenario* tested : selected.chosen) {
    settings_or_error each = simulator_settings(*tested, asked.settings);
    if (!each.value) return fail(wrong_input, each.error);
    if (const auto wrong = cannot_verify(*each.value)) return fail(wrong_input, *wrong);
    settings.push_back(std::move(*each.value));
  }
  bool all_ok = true;
  std::string not_written;
  json proofs = json::array();
  for (size_t n = 0; n < settings.size(); ++n) {
    if (n > 0 && interrupt_flag()) {
      print_not_run(*selected.chosen[n], asked.json, proofs);
      all_ok = false;
      continue;
    }
    search_progress progress(scheduler::printable(selected.chosen[n]->name));
    options.progress = [&](const sim::search_result& so_far) { progress.show(so_far); };
    options.cannot_be_saved = [&](const std::string& why) {
      progress.clear();
      tell_unsaved(asked, why);
    };
    verification made = verify_all_runs(*selected.chosen[n], settings[n], options);
    progress.clear();
    if (const auto ended = without_result(made, asked)) return *ended;
    not_written = made.not_written;
    if (made.found && !asked.out_file.empty()) {
      if (const auto failed = scheduler::write_trace(made.found->recorded, asked.out_file))
        return fail(cannot_go_on, *failed);
      made.file = asked.out_file;
    } else if (made.found && !asked.json && !made.found->recorded.answers.empty()) {
      // Where that cannot be, its token is told.
      made.file = keep_trace(made.found->recorded, findings_folder()).file;
    }
    all_ok = all_ok && made.ok();
    if (asked.json)
      proofs.push_back(to_json(made));
    else
      print_text(made, asked);
  }
  if (asked.json) {
    const json shown = several ? json{{"proofs", std::move(proofs)}, {"ok", all_ok}} : std::move(proofs.front());
    write_json(shown);
  }
  if (!not_written.empty()) return fail(cannot_go_on, "the search is not saved: " + not_written);
  if (interrupt_flag()) return interrupted;
  return all_ok ? as_expected : not_as_expected;
}

}  // namespace heddle::tools
