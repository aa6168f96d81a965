#include <heddle/sim/settings.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/replay/shrink_settings.h>
#include <heddle/tools/trial/trial.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

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

/// A number among the scenario's own parameters.
struct own_number {
  std::string key;
  int64_t minimum = 0;
  int64_t maximum = 0;
  std::vector<int64_t> allowed = {};  ///< in ascending order; empty: every whole number between the two
};

std::vector<own_number> own_numbers(const scenario& tested) {
  const std::vector<parameter> machine = sim::machine_parameters();
  std::vector<own_number> all;
  for (const parameter& each : tested.parameters) {
    const auto same_key = [&](const parameter& other) { return other.key == each.key; };
    if (std::any_of(machine.begin(), machine.end(), same_key)) continue;
    if (each.kind == parameter::type::number) {
      all.push_back({.key = each.key, .minimum = each.minimum, .maximum = each.maximum});
    } else if (std::vector<int64_t> allowed = numbers_of(each.choices); !allowed.empty()) {
      const int64_t least = allowed.front(), most = allowed.back();
      all.push_back({.key = each.key, .minimum = least, .maximum = most, .allowed = std::move(allowed)});
    }
  }
  return all;
}

int64_t value_of(const parameters& settings, const std::string& key) {
  return std::strtoll(settings.value_text(key).c_str(), nullptr, 10);
}

/// The value nearest to `wanted`, which is not below the minimum, from below.
int64_t allowed_up_to(const own_number& what, int64_t wanted) {
  if (what.allowed.empty()) return std::min(wanted, what.maximum);
  return *std::prev(std::upper_bound(what.allowed.begin(), what.allowed.end(), wanted));
}

}  // namespace

scheduler::shrink_options shrink_options_for(sim::simulation& machine, const scenario& tested,
                                             const parameters& recorded, scheduler::verdict found) {
  const bool was_expected = tested.expected_verdict(recorded).contains(found);
  scheduler::shrink_options options;
  for (own_number& each : own_numbers(tested))
    options.reducibles.push_back(
        {.key = std::move(each.key), .minimum = each.minimum, .allowed = std::move(each.allowed)});
  options.with_settings = [&machine, &tested, was_expected,
                           found](const scheduler::setting_values& values) -> scheduler::run_one {
    std::vector<std::string> assignments;
    for (const auto& [key, value] : values) assignments.push_back(key + "=" + value);
    settings_or_error settings = simulator_settings(tested, assignments);
    if (!settings.value || tested.expected_verdict(*settings.value).contains(found) != was_expected) return nullptr;
    return [&machine, &tested, set = std::move(*settings.value)](scheduler::choice_source& choices, bool explain) {
      return run_scenario(machine, tested, set, choices, explain);
    };
  };
  return options;
}

parameters raised(const scenario& tested, const parameters& settings, uint32_t factor,
                  const std::vector<std::string>& kept) {
  const scheduler::verdict_set expected = tested.expected_verdict(settings);
  std::vector<std::string> assignments;
  for (const own_number& each : own_numbers(tested)) {
    if (std::find(kept.begin(), kept.end(), each.key) != kept.end()) continue;
    const int64_t now = value_of(settings, each.key);
    const int64_t most = now > each.maximum / factor ? each.maximum : now * factor;
    if (const int64_t more = allowed_up_to(each, most); more > now)
      assignments.push_back(each.key + "=" + std::to_string(more));
  }
  // What it expects depends on several of them together: more ports go with more waves.
  const auto with = [&](parameters of, const std::vector<std::string>& changes) -> std::optional<parameters> {
    for (const std::string& each : changes)
      if (of.set(each)) return std::nullopt;
    if (sim::without_effect(of) || tested.expected_verdict(of) != expected) return std::nullopt;
    return of;
  };
  if (auto all = with(settings, assignments)) return *all;
  parameters larger = settings;
  for (const std::string& each : assignments)
    if (auto one_more = with(larger, {each})) larger = std::move(*one_more);
  return larger;
}

}  // namespace heddle::tools
