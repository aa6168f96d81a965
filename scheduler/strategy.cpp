#include <heddle/scheduler/mix.h>
#include <heddle/scheduler/parameters.h>
#include <heddle/scheduler/strategy.h>

#include <charconv>

namespace heddle::scheduler {
namespace {

struct parsed_number {
  std::optional<uint32_t> value;
  std::string error;
};

parsed_number parse_number(std::string_view text, std::string_view what, uint32_t minimum, uint32_t maximum) {
  uint32_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed == std::errc() && end == text.data() + text.size() && value >= minimum && value <= maximum)
    return {.value = value, .error = {}};
  return {.value = {},
          .error = std::string(what) + " \"" + std::string(text) + "\" must be a whole number from " +
                   std::to_string(minimum) + " to " + std::to_string(maximum)};
}

std::string unknown_strategy(std::string_view name) {
  std::vector<std::string> known;
  std::string listed;
  for (const strategy_help& each : strategies()) {
    known.emplace_back(each.name);
    listed += (listed.empty() ? "" : ", ") + known.back();
  }
  const std::string near = nearest(name, known);
  return "unknown strategy \"" + std::string(name) + "\"; " +
         (near.empty() ? "there are " + listed : "did you mean \"" + near + "\"?");
}

}  // namespace

const std::vector<strategy_help>& strategies() {
  static const std::vector<strategy_help> all = {
      {"mix", "deals the seeds out: random 1/2, starve 1/4, round-robin 1/8, rhythm 1/8 (the default)"},
      {"random", "every answer equally likely"},
      {"rhythm", "random for a while, then a drawn rhythm of turns for ever: finds hangs in which somebody moves"},
      {"round-robin", "fair turns; round-robin:Q gives each actor Q choices in a row, without Q the seed draws it"},
      {"starve", "one group (wave) waits as long as the model allows; starve:G names it, else the seed draws it"},
  };
  return all;
}

std::unique_ptr<strategy> make_strategy(std::string_view text, std::string& error) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const bool has_argument = colon != std::string_view::npos;
  const std::string_view argument = has_argument ? text.substr(colon + 1) : std::string_view();

  if (name == "round-robin" || name == "starve") {
    parsed_number number;
    if (has_argument && name == "round-robin") number = parse_number(argument, "the quantum", 1, 1'000'000);
    if (has_argument && name == "starve") number = parse_number(argument, "the group to starve", 0, 1'000'000);
    error = number.error;
    if (!error.empty()) return nullptr;
    if (name == "starve") return std::make_unique<starve_strategy>(number.value);
    return std::make_unique<round_robin_strategy>(number.value);
  }
  if (name != "mix" && name != "random" && name != "rhythm") {
    error = unknown_strategy(name);
    return nullptr;
  }
  if (has_argument) {
    error = "strategy \"" + std::string(name) + "\" takes no parameter";
    return nullptr;
  }
  if (name == "mix") return std::make_unique<mix_strategy>();
  if (name == "rhythm") return std::make_unique<rhythm_strategy>();
  return std::make_unique<random_strategy>();
}

}  // namespace heddle::scheduler
