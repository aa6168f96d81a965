// `heddle mend`: looks for the smallest change of orders, scopes, fences and barriers that ends a finding.
#include <heddle/scheduler/printable.h>
#include <heddle/scheduler/replay.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/scheduler/whole_file.h>
#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/mend/attempts.h>
#include <heddle/tools/mend/proofs.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/trial/traces.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;

/// An attempt that ends the finding.
struct answer {
  attempt assumed;
  uint64_t schedules = 0;  ///< in which nothing was found
  std::optional<proof_attempt> proof = std::nullopt;
  std::vector<attempt_result> remaining = {};  ///< other findings, where it ends this one alone
};

bool is_cheaper(const attempt& one, const attempt& other) {
  return std::tuple(one.changes.size(), one.cost(), one.rank()) <
         std::tuple(other.changes.size(), other.cost(), other.rank());
}

/// The search. One change is tried before two, a cheap one before a dear one, one near the finding before one that is not.
class search {
 public:
  search(const trying& how, const scheduler::trace& finding, uint64_t changes_max)
      : how_(how), finding_(finding), changes_max_(changes_max) {}

  void run() {
    look({}, finding_);
    std::stable_sort(answers_.begin(), answers_.end(),
                     [](const answer& one, const answer& other) { return is_cheaper(one.assumed, other.assumed); });
    settle();
    if (answers_.empty()) look_for_partial();
  }

  const std::vector<answer>& answers() const { return answers_; }
  const std::vector<answer>& partial() const { return partial_; }
  uint64_t attempts() const { return attempts_; }
  uint64_t schedules() const { return schedules_; }
  size_t lines() const { return lines_.size(); }
  /// Whether variables were broadcast among the changes.
  bool has_broadcast() const { return has_broadcast_; }

 private:
  static constexpr size_t answers_wanted = 5;
  static constexpr size_t answers_proved = 3;
  static constexpr size_t batch = 48;
  static constexpr size_t near_changes = 12;  ///< that are tried in pairs
  static constexpr uint64_t schedules_first = 200;

  struct step_on {
    attempt assumed;
    attempt_result came_to;
  };

  /// Looks for what mends `found`, the first thing that is found with what is assumed already.
  void look(const attempt& assumed, const scheduler::trace& found) {
    if (assumed.changes.size() >= changes_max_ || interrupt_flag()) return;
    std::vector<site_assumption> changes = changes_for(assumed, found);
    has_broadcast_ = has_broadcast_ || std::any_of(changes.begin(), changes.end(), [](const site_assumption& each) {
                       return each.words.starts_with("after:broadcast.");
                     });
    std::vector<step_on> further;
    try_singles(assumed, found, changes, further);
    if (!answers_.empty() || interrupt_flag()) return;
    if (assumed.changes.size() + 2 <= changes_max_) try_pairs(assumed, found, changes, further);
    if (!answers_.empty() || interrupt_flag()) return;
    // What has come to another finding has mended this one, as far as that goes.
    std::stable_sort(further.begin(), further.end(), [](const step_on& one, const step_on& other) {
      if (one.came_to.schedules >= schedules_first || other.came_to.schedules >= schedules_first)
        return one.came_to.schedules > other.came_to.schedules;
      return is_cheaper(one.assumed, other.assumed);
    });
    const size_t wide = assumed.changes.empty() ? 3 : 1;
    for (size_t n = 0; n < std::min(wide, further.size()); ++n) {
      if (assumed.changes.empty()) firsts_.push_back(further[n].assumed);
      look(further[n].assumed, *further[n].came_to.found);
      if (!answers_.empty() || interrupt_flag()) return;
    }
  }

  /// Proves the first ones, and keeps the cheapest of those at the same lines.
  void settle() {
    std::vector<answer> kept;
    for (answer& each : answers_) {
      const bool is_dearer = std::any_of(kept.begin(), kept.end(), [&](const answer& other) {
        return lines_of(other.assumed) == lines_of(each.assumed);
      });
      if (is_dearer || kept.size() == answers_wanted) continue;
      if (kept.size() < answers_proved && !interrupt_flag()) each.proof = proof_of(each.assumed, how_, true);
      // What is proved wrong is no answer, however many schedules were silent.
      if (!each.proof || !each.proof->found) kept.push_back(std::move(each));
    }
    answers_ = std::move(kept);
  }

  static std::set<std::string> lines_of(const attempt& assumed) {
    std::set<std::string> lines;
    for (const site_assumption& each : assumed.changes) lines.insert(each.where);
    return lines;
  }

  std::vector<site_assumption> changes_for(const attempt& assumed, const scheduler::trace& found) {
    std::vector<site_assumption> made;
    for (const site& each : sites_in(found, assumed, how_)) {
      lines_.insert(each.where);
      for (site_assumption& one : stronger(each))
        if (!assumed.has(one) && !attempt{made}.has(one)) made.push_back(std::move(one));
    }
    constexpr uint32_t cost_of_distance = 8;
    std::stable_sort(made.begin(), made.end(), [](const site_assumption& one, const site_assumption& other) {
      return one.cost + cost_of_distance * one.rank < other.cost + cost_of_distance * other.rank;
    });
    return made;
  }

  void try_singles(const attempt& assumed, const scheduler::trace& found, const std::vector<site_assumption>& changes,
                   std::vector<step_on>& further) {
    for (size_t first = 0; first < changes.size() && answers_.empty() && !interrupt_flag(); first += batch) {
      std::vector<attempt> attempts;
      for (size_t n = first; n < std::min(first + batch, changes.size()); ++n)
        attempts.push_back(assumed.with(changes[n]));
      judge(attempts, found, further);
    }
  }

  void try_pairs(const attempt& assumed, const scheduler::trace& found, const std::vector<site_assumption>& changes,
                 std::vector<step_on>& further) {
    std::vector<site_assumption> near(
        changes.begin(), changes.begin() + static_cast<std::ptrdiff_t>(std::min(near_changes, changes.size())));
    std::vector<attempt> attempts = pairs_of(assumed, near);
    // Full fences come in pairs, wherever they are.
    std::vector<site_assumption> fences;
    std::copy_if(changes.begin(), changes.end(), std::back_inserter(fences),
                 [&](const site_assumption& each) { return each.is_full_fence() && fences.size() < near_changes; });
    for (attempt& each : pairs_of(assumed, fences))
      if (each.changes.back().words == each.changes.end()[-2].words) attempts.push_back(std::move(each));
    judge(attempts, found, further);
  }

  static std::vector<attempt> pairs_of(const attempt& assumed, const std::vector<site_assumption>& changes) {
    std::vector<attempt> pairs;
    for (size_t one = 0; one < changes.size(); ++one)
      for (size_t other = one + 1; other < changes.size(); ++other)
        if (changes[one].where != changes[other].where)
          pairs.push_back(assumed.with(changes[one]).with(changes[other]));
    return pairs;
  }

  /// Tries them in a few schedules, and those that are silent there in all.
  void judge(std::vector<attempt> attempts, const scheduler::trace& found, std::vector<step_on>& further) {
    std::stable_sort(attempts.begin(), attempts.end(), is_cheaper);
    trying few = how_;
    few.schedules = std::min(how_.schedules, schedules_first);
    few.schedule = &found;
    std::vector<attempt> silent;
    const std::vector<attempt_result> results = tried(attempts, few);
    for (size_t n = 0; n < attempts.size(); ++n) {
      if (results[n].is_silent())
        silent.push_back(attempts[n]);
      else if (is_another(results[n], found))
        further.push_back({attempts[n], results[n]});
    }
    for (size_t first = 0; first < silent.size() && answers_.size() < answers_wanted; first += answers_wanted) {
      const std::vector<attempt> some(
          silent.begin() + static_cast<std::ptrdiff_t>(first),
          silent.begin() + static_cast<std::ptrdiff_t>(std::min(first + answers_wanted, silent.size())));
      const std::vector<attempt_result> all = tried(some, how_);
      for (size_t n = 0; n < some.size(); ++n) {
        if (all[n].is_silent() && all[n].schedules == how_.schedules)
          answers_.push_back({.assumed = smallest(some[n]), .schedules = all[n].schedules});
        else if (is_another(all[n], found))
          further.push_back({some[n], all[n]});
      }
    }
  }

  static bool is_another(const attempt_result& came_to, const scheduler::trace& found) {
    return came_to.found && !came_to.found->answers.empty() &&
           scheduler::failure::of(*came_to.found) != scheduler::failure::of(found);
  }

  /// Without the changes that it does not need.
  attempt smallest(attempt of) {
    for (size_t n = 0; of.changes.size() > 1 && n < of.changes.size();) {
      attempt less = of;
      less.changes.erase(less.changes.begin() + static_cast<std::ptrdiff_t>(n));
      trying whole = how_;
      whole.schedule = &finding_;
      if (const attempt_result made = tried({less}, whole).front();
          made.is_silent() && made.schedules == how_.schedules)
        of = less;
      else
        ++n;
    }
    return of;
  }

  std::vector<attempt_result> tried(const std::vector<attempt>& attempts, const trying& how) {
    std::vector<attempt_result> results = try_all(attempts, how);
    attempts_ += attempts.size();
    for (const attempt_result& each : results) schedules_ += each.schedules;
    return results;
  }

  /// Those that end the finding, and leave others.
  void look_for_partial() {
    for (const attempt& each : firsts_) {
      if (interrupt_flag()) return;
      std::vector<attempt_result> left = all_findings(each, how_);
      ++attempts_;
      const bool ends_it = std::none_of(left.begin(), left.end(), [&](const attempt_result& one) {
        return scheduler::failure::of(*one.found) == scheduler::failure::of(finding_);
      });
      if (ends_it && !left.empty())
        partial_.push_back({.assumed = each, .schedules = how_.schedules, .remaining = std::move(left)});
    }
  }

  const trying& how_;
  const scheduler::trace& finding_;
  const uint64_t changes_max_;
  std::vector<answer> answers_;
  std::vector<answer> partial_;
  std::vector<attempt> firsts_;
  std::set<std::string> lines_;
  bool has_broadcast_ = false;
  uint64_t attempts_ = 0;
  uint64_t schedules_ = 0;
};

std::string options_of(const attempt& assumed) {
  std::string all;
  for (const site_assumption& each : assumed.changes) all += " --assume " + shell_word(each.text());
  return all;
}

json to_json(const answer& of) {
  json changes = json::array();
  for (const site_assumption& each : of.assumed.changes)
    changes.push_back(
        {{"site", each.where}, {"change", each.words}, {"advice", each.advice}, {"operations", each.times}});
  json left = json::array();
  for (const attempt_result& each : of.remaining)
    left.push_back(
        {{"verdict", to_string(each.found->outcome)}, {"where", each.found->where}, {"message", each.message}});
  return {{"changes", std::move(changes)},
          {"assume", of.assumed.text()},
          {"cost", of.assumed.cost()},
          {"schedules", of.schedules},
          {"proof", of.proof ? to_json(*of.proof) : json(nullptr)},
          {"remaining", std::move(left)}};
}

void print_answer(const answer& of, size_t number) {
  std::string lead = "  " + std::to_string(number) + ". ";
  for (const site_assumption& each : of.assumed.changes) {
    std::cout << lead << each.where << ": " << each.advice << " (" << grouped(each.times)
              << (each.times == 1 ? " operation" : " operations") << " of the run)\n";
    lead = "     ";
  }
  if (of.remaining.empty()) {
    std::cout << "     silent in " << grouped(of.schedules) << " schedules";
    if (of.proof) std::cout << "; " << in_words(*of.proof);
    std::cout << '\n';
  } else {
    std::cout << "     ends this finding; in " << grouped(of.schedules) << " schedules others remain:\n";
    for (const attempt_result& each : of.remaining)
      std::cout << "       " << to_string(each.found->outcome) << " at " << each.found->where << '\n';
  }
  std::cout << "    " << options_of(of.assumed) << '\n';
}

void print_text(const scheduler::trace& recorded, const search& made, double seconds) {
  std::cout << scheduler::printable(recorded.scenario) << ": " << to_string(recorded.outcome)
            << (recorded.where.empty() ? "" : " at " + recorded.where) << '\n';
  const std::vector<answer>& shown = made.answers().empty() ? made.partial() : made.answers();
  for (size_t n = 0; n < shown.size(); ++n) print_answer(shown[n], n + 1);
  if (made.answers().empty())
    std::cout
        << "  no change that was tried ends it with all others: it may not be a matter of orders, scopes, fences and "
           "barriers\n";
  if (made.answers().empty() && made.has_broadcast())
    std::cout
        << "  variables were broadcast where the compiler keeps them; built by -Og the program has more that lie in "
           "one place\n";
  std::cout << "  tried " << grouped(made.attempts()) << " changes of " << grouped(made.lines()) << " lines in "
            << grouped(made.schedules()) << " schedules, " << static_cast<uint64_t>(seconds + 0.5) << " s\n";
}

json to_json(const scheduler::trace& recorded, const search& made, double seconds) {
  json answers = json::array();
  for (const answer& each : made.answers()) answers.push_back(to_json(each));
  json partial = json::array();
  for (const answer& each : made.partial()) partial.push_back(to_json(each));
  return {{"scenario", recorded.scenario},
          {"verdict", to_string(recorded.outcome)},
          {"where", recorded.where},
          {"finding", scheduler::to_token(recorded)},
          {"ok", !made.answers().empty()},
          {"answers", std::move(answers)},
          {"partial", std::move(partial)},
          {"attempts", made.attempts()},
          {"lines", made.lines()},
          {"schedules", made.schedules()},
          {"seconds", seconds},
          {"interrupted", interrupt_flag().load()}};
}

/// Keeps the answers beside the finding, where its page finds them; of a token nowhere. One line where they cannot be written.
std::optional<std::string> keep_beside(const std::string& file_or_token, const scheduler::trace& recorded,
                                       const std::string& answers) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(file_or_token, none)) return std::nullopt;
  return scheduler::write_whole(file_beside(file_or_token, recorded, mended_ending), answers + '\n');
}

}  // namespace

int mend(const invocation& asked) {
  const recorded_run found = find_recorded(asked.file_or_token, asked.program);
  if (!found.error.empty()) return fail(wrong_input, found.error);
  if (found.recorded.outcome == scheduler::verdict::ok)
    return fail(wrong_input, "this run ended well: there is nothing to mend");
  std::string error;
  if (scheduler::make_strategy(asked.strategy, error) == nullptr) return fail(wrong_input, error);
  catch_interrupt();
  const auto began = std::chrono::steady_clock::now();
  const trying how = {.tested = found.tested,
                      .settings = found.settings,
                      .strategy = asked.strategy,
                      .first_seed = asked.seed,
                      .schedules = asked.schedules,
                      .jobs = jobs_of(asked.jobs)};
  search made(how, found.recorded, asked.change.most);
  made.run();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const std::string told = to_json(found.recorded, made, seconds).dump(2, ' ', false, json::error_handler_t::replace);
  if (asked.json)
    write_json_text(told);
  else
    print_text(found.recorded, made, seconds);
  // The page of a finding in a file shows them.
  if (!interrupt_flag())
    if (const auto failed = keep_beside(asked.file_or_token, found.recorded, told)) return fail(cannot_go_on, *failed);
  if (interrupt_flag()) return interrupted;
  return made.answers().empty() ? not_as_expected : as_expected;
}

}  // namespace heddle::tools
