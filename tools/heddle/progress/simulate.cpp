// heddle progress --simulate: the judge's verdicts are played on the simulated machine.
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/litmus/progress_table.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/progress/command.h>
#include <heddle/tools/progress/judge/examination.h>
#include <heddle/tools/progress/judge/rpc_shapes.h>
#include <heddle/tools/progress/simulation.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace heddle::tools {
namespace {

struct subject {
  std::string name;
  judge::program code;
};

/// One program under one model.
struct played_subject {
  const subject* what;
  judge::model under;
  bool may_hang;
  played seen;

  bool is_missed() const { return may_hang && seen.hangs == 0; }
  bool is_false_alarm() const { return !may_hang && seen.hangs != 0; }
};

std::vector<subject> subjects_of(const invocation& asked) {
  std::vector<subject> subjects;
  const auto add_table = [&](const std::string& file) {
    for (litmus::progress_test& each : litmus::progress_tests_of(litmus::csv_table(file, read_file(file))))
      subjects.push_back({.name = each.full_name(), .code = std::move(each.code)});
  };
  for (const std::string& word : asked.programs) {
    if (word.ends_with(".csv"))
      add_table(word);
    else
      subjects.push_back({.name = word, .code = program_asked_for(word)});
  }
  if (asked.programs.empty())
    for (const judge::rpc_shape& each : judge::rpc_shapes())
      subjects.push_back({.name = std::string(each.name), .code = judge::parse(each.program)});
  return subjects;
}

std::string line_of(const played_subject& one) {
  const std::string about = to_string(one.under) + ", " + one.what->name + ": ";
  if (one.is_missed())
    return "MISSED  " + about + "may hang, and did not in " + grouped(one.seen.schedules) + " schedules";
  const std::string hang =
      std::string(to_string(one.seen.first_verdict)) + " with seed " + std::to_string(one.seen.first_hang);
  if (one.is_false_alarm()) return "FALSE   " + about + "must end, but " + hang;
  if (one.may_hang) return "ok      " + about + hang;
  return "ok      " + about + "ends in all of " + grouped(one.seen.schedules) + " schedules" +
         (one.seen.inconclusive == 0 ? "" : ", " + grouped(one.seen.inconclusive) + " of them inconclusive");
}

class simulate_command {
 public:
  explicit simulate_command(const invocation& asked) : asked_(asked), subjects_(subjects_of(asked)) {
    std::string error;
    auto deciding = scheduler::make_strategy(asked.strategy, error);
    if (deciding == nullptr) throw std::invalid_argument(error);
    player_ = std::make_unique<progress_player>(std::move(deciding));
    tallies_.resize(playable_models().size());
  }

  void run() {
    for (const subject& each : subjects_) {
      judge::examination examined(each.code);
      for (size_t n = 0; n < tallies_.size() && !interrupt_flag(); ++n) {
        const judge::model under = playable_models()[n];
        const bool may_hang = !examined.judge(under, judge::fairness::weak).ends;
        const played seen = player_->play(each.code, under,
                                          {.first_seed = asked_.seed,
                                           .schedules = asked_.schedules,
                                           .to_the_first_hang = true,
                                           .stop = &interrupt_flag()});
        if (seen.stopped) return;
        tallies_[n].add(may_hang, seen, asked_.seed);
        keep({.what = &each, .under = under, .may_hang = may_hang, .seen = seen});
      }
    }
  }

  bool ok() const {
    return std::all_of(tallies_.begin(), tallies_.end(), [](const model_tally& each) { return each.ok(); });
  }

  void print_text() const {
    table lines({{.title = "model"},
                 {.title = "may hang", .side = table::align::right},
                 {.title = "found", .side = table::align::right},
                 {.title = "median", .side = table::align::right},
                 {.title = "worst", .side = table::align::right},
                 {.title = "must end", .side = table::align::right},
                 {.title = "false alarms", .side = table::align::right},
                 {.title = "schedules", .side = table::align::right},
                 {.title = "inconclusive", .side = table::align::right}});
    for (size_t n = 0; n < tallies_.size(); ++n) {
      const model_tally& each = tallies_[n];
      const bool all = each.found == each.may_hang;
      lines.add({{.text = to_string(playable_models()[n])},
                 {.text = grouped(each.may_hang)},
                 {.text = grouped(each.found), .shown = all ? colour::good : colour::bad},
                 {.text = each.found == 0 ? "-" : grouped(each.median())},
                 {.text = each.found == 0 ? "-" : grouped(each.worst())},
                 {.text = grouped(each.must_end)},
                 {.text = grouped(each.false_alarms), .shown = each.false_alarms == 0 ? colour::good : colour::bad},
                 {.text = grouped(each.schedules)},
                 {.text = grouped(each.inconclusive)}});
    }
    lines.print(std::cout, 0);
    std::cout << "simulated: " << (ok() ? "yes" : "NO") << ", " << grouped(subjects_.size())
              << (subjects_.size() == 1 ? " program" : " programs") << ", up to " << grouped(asked_.schedules)
              << " schedules each; median and worst: schedules to the first hang\n";
  }

  void print_json() const {
    nlohmann::ordered_json models = nlohmann::ordered_json::array();
    for (size_t n = 0; n < tallies_.size(); ++n) {
      const model_tally& each = tallies_[n];
      models.push_back({{"model", to_string(playable_models()[n])},
                        {"may_hang", each.may_hang},
                        {"found", each.found},
                        {"schedules_to_find_median", each.median()},
                        {"schedules_to_find_worst", each.worst()},
                        {"must_end", each.must_end},
                        {"false_alarms", each.false_alarms},
                        {"schedules", each.schedules},
                        {"inconclusive", each.inconclusive}});
    }
    nlohmann::ordered_json programs = nlohmann::ordered_json::array();
    for (const played_subject& each : kept_) {
      nlohmann::ordered_json made = {{"program", each.what->name},        {"model", to_string(each.under)},
                                     {"weak", each.may_hang ? "F" : "P"}, {"schedules", each.seen.schedules},
                                     {"hangs", each.seen.hangs},          {"inconclusive", each.seen.inconclusive}};
      if (each.seen.hangs != 0) {
        made["seed"] = each.seen.first_hang;
        made["verdict"] = to_string(each.seen.first_verdict);
      }
      programs.push_back(std::move(made));
    }
    write_json(nlohmann::ordered_json{{"models", models}, {"programs", programs}, {"ok", ok()}});
  }

 private:
  void keep(const played_subject& one) {
    const bool wrong = one.is_missed() || one.is_false_alarm();
    if (asked_.json)
      kept_.push_back(one);
    else if (wrong || asked_.details)
      std::cout << line_of(one) << '\n';
  }

  const invocation& asked_;
  std::vector<subject> subjects_;
  std::unique_ptr<progress_player> player_;
  std::vector<model_tally> tallies_;  ///< by playable model
  std::vector<played_subject> kept_;
};

}  // namespace

int simulate_progress(const invocation& asked) {
  simulate_command command(asked);
  catch_interrupt();
  command.run();
  if (asked.json)
    command.print_json();
  else
    command.print_text();
  if (interrupt_flag()) return interrupted;
  return command.ok() ? as_expected : not_as_expected;
}

}  // namespace heddle::tools
