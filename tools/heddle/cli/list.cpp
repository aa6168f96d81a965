#include <heddle/scheduler/printable.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;

json to_json(const parameter& each) {
  json made = {{"key", each.key}};
  if (each.kind == parameter::type::number) {
    made.update({{"type", "number"}, {"default", each.default_number}, {"min", each.minimum}, {"max", each.maximum}});
  } else if (each.kind == parameter::type::words) {
    made.update({{"type", "words"}, {"default", each.default_text}, {"min", nullptr}, {"max", nullptr}});
  } else {
    made.update({{"type", "one_of"}, {"default", each.default_text}, {"min", nullptr}, {"max", nullptr}});
    made["choices"] = each.choices;
  }
  made.update({{"unit", each.unit}, {"help", each.help}});
  return made;
}

int list_json(const std::vector<const scenario*>& chosen) {
  json listed = json::array();
  for (const scenario* listed_one : chosen) {
    const scenario& each = *listed_one;
    const parameters settings = settings_of(each, sim::machine_parameters());
    json keys = json::array();
    for (const parameter& definition : settings.definitions()) keys.push_back(to_json(definition));
    listed.push_back({{"name", each.name},
                      {"summary", each.summary},
                      {"expected", to_string(each.expected_verdict(settings))},
                      {"parameters", keys}});
  }
  write_json(json{{"scenarios", listed}});
  return as_expected;
}

/// "waves=2 lanes=4", in lines of at most 76 characters.
std::string defaults_text(const std::vector<parameter>& definitions) {
  std::string text;
  size_t line_length = 0;
  for (const parameter& each : definitions) {
    const std::string word = each.key + "=" + each.default_value();
    const bool fits = line_length + 1 + word.size() <= 76;
    if (line_length != 0) text += fits ? " " : "\n";
    line_length = fits && line_length != 0 ? line_length + 1 + word.size() : word.size();
    text += word;
  }
  return text;
}

void print_setting(const parameter& each) {
  std::string values;
  for (const std::string& word : each.choices) values += (values.empty() ? "" : " | ") + word;
  if (each.kind == parameter::type::number)
    values = std::to_string(each.minimum) + " .. " + std::to_string(each.maximum) +
             (each.unit.empty() ? "" : " " + each.unit);
  std::cout << each.key << '=' << each.default_value() << "    " << painted(values, colour::faint) << '\n'
            << indented(each.help, 4);
}

/// What a setting is about, by its key; the groups as they are printed.
constexpr const char* groups[] = {"Memory",    "Progress",     "Lanes of a wave", "The link", "Driver and devices",
                                  "Doorbells", "Virtual time", "The simulation"};

std::string_view group_of(std::string_view key) {
  struct member {
    std::string_view begin;
    size_t group;
  };
  static constexpr member members[] = {
      {"fidelity", 0},    {"races", 0},    {"late", 0},      {"history", 0},  {"spurious", 0}, {"volatile", 0},
      {"host_stack", 7},  {"host", 0},     {"fill", 0},      {"buffer", 3},   {"progress", 1}, {"starts", 1},
      {"resident", 1},    {"places", 1},   {"evict", 1},     {"wakes", 1},    {"timeouts", 1}, {"starvation", 1},
      {"convergence", 2}, {"arms", 2},     {"step", 2},      {"barriers", 2}, {"partings", 2}, {"link", 3},
      {"driver", 4},      {"launches", 4}, {"doorbells", 5}, {"memory", 6},   {"points", 7},   {"budget", 7},
      {"stack", 7}};
  if (key.ends_with("_ns") || key.ends_with("_ps") || key == "link.latency") return groups[6];
  for (const member& each : members)
    if (key.starts_with(each.begin)) return groups[each.group];
  return groups[7];
}

void print_machine_settings() {
  std::cout << "\nThe machine, for every scenario:\n\n";
  for (const parameter& each : sim::machine_parameters()) print_setting(each);
}

void print_settings_by_groups() {
  bool first = true;
  for (const std::string_view group : groups) {
    bool begun = false;
    for (const parameter& each : sim::machine_parameters()) {
      if (group_of(each.key) != group) continue;
      if (!std::exchange(begun, true)) std::cout << (std::exchange(first, false) ? "" : "\n") << group << "\n\n";
      print_setting(each);
    }
  }
}

}  // namespace

int list(const invocation& asked) {
  if (asked.tells.only_settings && !asked.json) {
    print_settings_by_groups();
    return as_expected;
  }
  selection selected;
  if (!scenarios().empty()) selected = select_scenarios(asked.scenarios);
  if (!selected.error.empty()) return fail(wrong_input, selected.error);
  if (asked.json) return list_json(selected.chosen);
  for (const scenario* one : selected.chosen) {
    const scenario& each = *one;
    const parameters settings = settings_of(each, sim::machine_parameters());
    const scheduler::verdict_set expected = each.expected_verdict(settings);
    std::cout << scheduler::printable(each.name);
    if (expected != scheduler::verdict::ok) std::cout << "  (expected: " << to_string(expected) << ')';
    std::cout << '\n'
              << indented(scheduler::printable_lines(each.summary), 4)
              << painted(indented(defaults_text(each.parameters), 4), colour::faint);
  }
  if (scenarios().empty()) std::cout << "no scenario is linked into this program\n";
  if (asked.scenarios.empty()) print_machine_settings();
  return as_expected;
}

}  // namespace heddle::tools
