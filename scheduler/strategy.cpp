#include <heddle/scheduler/mix.h>
#include <heddle/scheduler/parameters.h>
#include <heddle/scheduler/pct.h>
#include <heddle/scheduler/pos.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/scheduler/surw.h>
#include <heddle/scheduler/unfair.h>
#include <heddle/scheduler/urw.h>

#include <algorithm>
#include <array>
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

/// A strategy with a number that may be left out.
struct with_number {
  std::string_view name;
  std::string_view what;  ///< the number
  uint32_t minimum;
  uint32_t maximum;
  std::unique_ptr<strategy> (*make)(std::optional<uint32_t>);
};
struct without_number {
  std::string_view name;
  std::unique_ptr<strategy> (*make)();
};

template <typename Strategy>
std::unique_ptr<strategy> made_with(std::optional<uint32_t> number) {
  return std::make_unique<Strategy>(number);
}
template <typename Strategy>
std::unique_ptr<strategy> made() {
  return std::make_unique<Strategy>();
}

constexpr std::array arguments = {
    with_number{"pct", "the depth", 1, pct_strategy::depth_max, &made_with<pct_strategy>},
    with_number{"round-robin", "the quantum", 1, 1'000'000, &made_with<round_robin_strategy>},
    with_number{"starve", "the group to starve", 0, 1'000'000, &made_with<starve_strategy>},
    with_number{"unfair", "the age bound", 1, 1'000'000'000, &made_with<unfair_strategy>},
};
constexpr std::array plain = {
    without_number{"mix", &made<mix_strategy>},       without_number{"pos", &made<pos_strategy>},
    without_number{"random", &made<random_strategy>}, without_number{"rhythm", &made<rhythm_strategy>},
    without_number{"surw", &made<surw_strategy>},     without_number{"urw", &made<urw_strategy>},
};

}  // namespace

const std::vector<strategy_help>& strategies() {
  static const std::vector<strategy_help> all = {
      {"mix",
       "deals 16 seeds out: random and pos 3, pct, rhythm, starve and surw 2, round-robin and unfair 1 (the default)"},
      {"pct",
       "the highest random priority runs, and falls at D - 1 drawn steps; pct:D gives D, else the seed draws it"},
      {"pos", "each operation has a random number, the highest runs, and those that race with it draw anew"},
      {"random", "every answer equally likely"},
      {"rhythm", "random for a while, then a drawn rhythm of turns for ever: finds hangs in which something moves"},
      {"round-robin", "fair turns; round-robin:Q gives each actor Q choices in a row, without Q the seed draws it"},
      {"starve", "one group (wave) waits as long as the model allows; starve:G names it, else the seed draws it"},
      {"surw", "the orders of accesses to one shared word, which the seed draws, are about equally likely"},
      {"unfair",
       "one runs on and on while the model allows; unfair:B passes others over B times, else the seed draws it"},
      {"urw", "each in proportion to what it still has to do: all orders are about equally likely"},
  };
  return all;
}

std::unique_ptr<strategy> make_strategy(std::string_view text, std::string& error) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const bool has_argument = colon != std::string_view::npos;
  const std::string_view argument = has_argument ? text.substr(colon + 1) : std::string_view();

  if (const auto takes =
          std::find_if(arguments.begin(), arguments.end(), [&](const auto& one) { return one.name == name; });
      takes != arguments.end()) {
    parsed_number number;
    if (has_argument) number = parse_number(argument, takes->what, takes->minimum, takes->maximum);
    error = number.error;
    return error.empty() ? takes->make(number.value) : nullptr;
  }
  const auto known = std::find_if(plain.begin(), plain.end(), [&](const auto& one) { return one.name == name; });
  if (known == plain.end()) {
    error = unknown_strategy(name);
    return nullptr;
  }
  if (has_argument) {
    error = "strategy \"" + std::string(name) + "\" takes no parameter";
    return nullptr;
  }
  return known->make();
}

}  // namespace heddle::scheduler
