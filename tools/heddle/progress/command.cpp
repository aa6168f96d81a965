#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/progress/command.h>
#include <heddle/tools/progress/judge/examination.h>
#include <heddle/tools/progress/judge/rpc_shapes.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace heddle::tools {
namespace {

using judge::fairness;
using judge::rule;

/// What was asked for, to be judged.
struct question {
  std::string name;     ///< of a shape; empty for a program of the user's
  std::string summary;  ///< the same
  judge::program code;
};

struct model_answer {
  judge::model under;
  judge::judgement weak;
  judge::judgement strong;
};

question question_of(const std::string& word) {
  if (word.find('{') != std::string::npos) return {.name = {}, .summary = {}, .code = judge::parse(word)};
  std::vector<std::string> known;
  for (const judge::rpc_shape& each : judge::rpc_shapes()) {
    if (word == each.name)
      return {.name = word, .summary = std::string(each.summary), .code = judge::parse(each.program)};
    known.emplace_back(each.name);
  }
  if (word.ends_with(".csv"))
    throw std::invalid_argument("progress: a table of programs is judged by heddle litmus " + shell_word(word) +
                                "; with --simulate it is played here");
  throw std::invalid_argument(unknown("shape", word, known) +
                              (word.empty() ? "; write a program, such as 'T0{0:st m0=1}'" : ""));
}

std::vector<question> questions_of(const invocation& asked) {
  std::vector<question> questions;
  for (const std::string& each : asked.programs) questions.push_back(question_of(each));
  if (asked.programs.empty())
    for (const judge::rpc_shape& each : judge::rpc_shapes()) questions.push_back(question_of(std::string(each.name)));
  return questions;
}

std::vector<model_answer> answers_to(const question& asked, const std::vector<judge::model>& models) {
  judge::examination examined(asked.code);
  std::vector<model_answer> answers;
  for (const judge::model each : models)
    answers.push_back({.under = each,
                       .weak = examined.judge(each, fairness::weak),
                       .strong = examined.judge(each, fairness::strong)});
  return answers;
}

std::vector<judge::model> all_models() {
  std::vector<judge::model> models = judge::open_models();
  models.insert(models.end(), {{rule::slots, 1}, {rule::turns, 1}, {rule::then_first}, {rule::else_first}});
  return models;
}

/// Those of the table of shapes.
std::vector<judge::model> table_models() {
  std::vector<judge::model> models = judge::open_models();
  models.insert(models.end(), {{rule::slots, 1}, {rule::turns, 1}});
  return models;
}

std::string letter(const judge::judgement& judged) { return judged.ends ? "P" : "F"; }

table::cell cell_of(const model_answer& some) {
  const bool good = some.weak.ends && some.strong.ends;
  return {.text = letter(some.weak) + "/" + letter(some.strong), .shown = good ? colour::good : colour::bad};
}

void print_table(const std::vector<question>& questions) {
  std::vector<table::column> columns = {{.title = "shape"}};
  for (const judge::model each : table_models()) columns.push_back({.title = to_string(each)});
  columns.push_back({.title = "what the waves do"});
  table lines(columns);
  for (const question& each : questions) {
    std::vector<table::cell> row = {{.text = each.name}};
    for (const model_answer& one : answers_to(each, table_models())) row.push_back(cell_of(one));
    row.push_back({.text = each.summary});
    lines.add(std::move(row));
  }
  lines.print(std::cout, 0);
  std::cout << "P every execution ends, F one may not; weak/strong fairness. A host thread serves. slots 1: the device "
               "has one\n"
               "place; by turns of 2: what has it is evicted after two steps when another wave waits.\n";
}

void print_reason(const question& about, const model_answer& under, fairness how) {
  const judge::judgement& judged = how == fairness::weak ? under.weak : under.strong;
  if (judged.why)
    std::cout << "  " << to_string(under.under) << ", " << to_string(how) << ": " << to_string(about.code, *judged.why)
              << '\n';
}

void print_explained(const question& about) {
  const std::vector<model_answer> answers = answers_to(about, all_models());
  if (!about.name.empty()) std::cout << about.name << ": " << about.summary << '\n';
  for (const judge::thread_code& each : about.code.threads) std::cout << "  " << to_string(about.code, each) << '\n';
  table lines({{.title = "model"}, {.title = "weak"}, {.title = "strong"}});
  for (const model_answer& each : answers)
    lines.add({{.text = to_string(each.under)},
               {.text = letter(each.weak), .shown = each.weak.ends ? colour::good : colour::bad},
               {.text = letter(each.strong), .shown = each.strong.ends ? colour::good : colour::bad}});
  lines.print(std::cout, 0);
  const bool all_end = std::all_of(answers.begin(), answers.end(),
                                   [](const model_answer& each) { return each.weak.ends && each.strong.ends; });
  if (!all_end) std::cout << "may not end:\n";
  for (const model_answer& each : answers)
    for (const fairness how : {fairness::weak, fairness::strong}) print_reason(about, each, how);
}

nlohmann::ordered_json json_of(const question& about) {
  nlohmann::ordered_json made = {{"shape", about.name},
                                 {"summary", about.summary},
                                 {"program", judge::to_string(about.code)},
                                 {"verdicts", nlohmann::ordered_json::array()}};
  for (const model_answer& each : answers_to(about, all_models())) {
    nlohmann::ordered_json verdict = {
        {"model", to_string(each.under)}, {"weak", letter(each.weak)}, {"strong", letter(each.strong)}};
    if (each.weak.why) verdict["weak_witness"] = to_string(about.code, *each.weak.why);
    if (each.strong.why) verdict["strong_witness"] = to_string(about.code, *each.strong.why);
    made["verdicts"].push_back(std::move(verdict));
  }
  return made;
}

void print_all(const invocation& asked) {
  const std::vector<question> questions = questions_of(asked);
  if (asked.json) {
    nlohmann::ordered_json programs = nlohmann::ordered_json::array();
    for (const question& each : questions) programs.push_back(json_of(each));
    write_json(nlohmann::ordered_json{{"programs", programs}});
  } else if (asked.programs.empty()) {
    print_table(questions);
  } else {
    for (const question& each : questions) {
      if (&each != &questions.front()) std::cout << '\n';
      print_explained(each);
    }
  }
}

}  // namespace

judge::program program_asked_for(const std::string& word) { return question_of(word).code; }

int progress(const invocation& asked) {
  try {
    if (asked.simulate) return simulate_progress(asked);
    print_all(asked);
  } catch (const std::invalid_argument& wrong) {
    return fail(wrong_input, wrong.what());
  }
  return as_expected;
}

}  // namespace heddle::tools
