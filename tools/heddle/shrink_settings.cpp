#include <heddle/tools/common.h>
#include <heddle/tools/shrink_settings.h>
#include <heddle/tools/trial.h>

#include <algorithm>
#include <limits>

namespace heddle::tools {
namespace {

/// The words of a list as numbers in ascending order; empty when one is none.
std::vector<int64_t> numbers_of(const std::vector<std::string>& words) {
  std::vector<int64_t> numbers;
  for (const std::string& word : words) {
    const auto number = parse_number(word, 0, std::numeric_limits<int64_t>::max());
    if (!number) return {};
    numbers.push_back(static_cast<int64_t>(*number));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::vector<scheduler::reducible> reducibles_of(const scenario& tested) {
  const std::vector<parameter> machine = sim::machine_parameters();
  std::vector<scheduler::reducible> all;
  for (const parameter& each : tested.parameters) {
    const auto same_key = [&](const parameter& other) { return other.key == each.key; };
    if (std::any_of(machine.begin(), machine.end(), same_key)) continue;
    if (each.kind == parameter::type::number) {
      all.push_back({.key = each.key, .minimum = each.minimum});
    } else if (std::vector<int64_t> allowed = numbers_of(each.choices); !allowed.empty()) {
      const int64_t least = allowed.front();
      all.push_back({.key = each.key, .minimum = least, .allowed = std::move(allowed)});
    }
  }
  return all;
}

}  // namespace

scheduler::shrink_options shrink_options_for(sim::simulation& machine, const scenario& tested,
                                             const parameters& recorded, scheduler::verdict found) {
  const bool was_expected = tested.expected_verdict(recorded) == found;
  scheduler::shrink_options options;
  options.reducibles = reducibles_of(tested);
  options.with_settings = [&machine, &tested, was_expected,
                           found](const scheduler::setting_values& values) -> scheduler::run_one {
    std::vector<std::string> assignments;
    for (const auto& [key, value] : values) assignments.push_back(key + "=" + value);
    settings_or_error settings = simulator_settings(tested, assignments);
    if (!settings.value || (tested.expected_verdict(*settings.value) == found) != was_expected) return nullptr;
    return [&machine, &tested, set = std::move(*settings.value)](scheduler::choice_source& choices, bool explain) {
      return run_scenario(machine, tested, set, choices, explain);
    };
  };
  return options;
}

}  // namespace heddle::tools
