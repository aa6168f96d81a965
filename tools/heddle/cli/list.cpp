#include <heddle/scheduler/printable.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>

#include <iostream>
#include <nlohmann/json.hpp>

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

int list_json() {
  json listed = json::array();
  for (const scenario& each : scenarios()) {
    const parameters settings = settings_of(each, sim::machine_parameters());
    json keys = json::array();
    for (const parameter& definition : settings.definitions()) keys.push_back(to_json(definition));
    listed.push_back({{"name", each.name},
                      {"summary", each.summary},
                      {"expected", to_string(each.expected_verdict(settings))},
                      {"parameters", keys}});
  }
  std::cout << json{{"scenarios", listed}}.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
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

void print_machine_settings() {
  std::cout << "\nThe machine, for every scenario:\n\n";
  for (const parameter& each : sim::machine_parameters()) {
    std::string values;
    for (const std::string& word : each.choices) values += (values.empty() ? "" : " | ") + word;
    if (each.kind == parameter::type::number)
      values = std::to_string(each.minimum) + " .. " + std::to_string(each.maximum) +
               (each.unit.empty() ? "" : " " + each.unit);
    std::cout << each.key << '=' << each.default_value() << "    " << painted(values, colour::faint) << '\n'
              << indented(each.help, 4);
  }
}

}  // namespace

int list(const invocation& asked) {
  if (asked.json) return list_json();
  for (const scenario& each : scenarios()) {
    const parameters settings = settings_of(each, sim::machine_parameters());
    const scheduler::verdict_set expected = each.expected_verdict(settings);
    std::cout << scheduler::printable(each.name);
    if (expected != scheduler::verdict::ok) std::cout << "  (expected: " << to_string(expected) << ')';
    std::cout << '\n'
              << indented(scheduler::printable_lines(each.summary), 4)
              << painted(indented(defaults_text(each.parameters), 4), colour::faint);
  }
  if (scenarios().empty()) std::cout << "no scenario is linked into this program\n";
  print_machine_settings();
  return as_expected;
}

}  // namespace heddle::tools
