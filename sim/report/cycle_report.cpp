#include <heddle/sim/report/cycle_report.h>

#include <algorithm>
#include <utility>

namespace heddle::sim {
namespace {

constexpr size_t most_lanes = 20;
constexpr size_t most_lines = 12;  ///< of a lane

struct line {
  std::string text;
  uint64_t times = 0;
};
struct part {
  std::string actor;
  std::vector<line> lines;
};

std::string text_of(const step_record& step) {
  std::string text = step.operation;
  if (!step.location.empty()) text += " of " + step.location;
  if (!step.value.empty()) text += " = " + step.value;
  return text + " at " + step.where;
}

template <typename List, typename Same>
auto& found_or_added(List& list, Same&& same, typename List::value_type fresh) {
  const auto known = std::find_if(list.begin(), list.end(), same);
  return known != list.end() ? *known : list.emplace_back(std::move(fresh));
}

}  // namespace

std::string cycle_report(const std::vector<step_record>& steps) {
  std::vector<part> parts;
  for (const step_record& each : steps) {
    part& of = found_or_added(parts, [&](const part& known) { return known.actor == each.actor; }, {each.actor, {}});
    std::string text = text_of(each);
    ++found_or_added(of.lines, [&](const line& known) { return known.text == text; }, {text, 0}).times;
  }
  std::sort(parts.begin(), parts.end(), [](const part& one, const part& other) { return one.actor < other.actor; });
  std::string text =
      "repeated for ever, " + std::to_string(steps.size()) + (steps.size() == 1 ? " step:\n" : " steps:\n");
  for (size_t n = 0; n < std::min(parts.size(), most_lanes); ++n) {
    text += "  " + parts[n].actor + '\n';
    const std::vector<line>& lines = parts[n].lines;
    for (size_t l = 0; l < std::min(lines.size(), most_lines); ++l)
      text += "    " + (lines[l].times == 1 ? "" : std::to_string(lines[l].times) + " times ") + lines[l].text + '\n';
    if (lines.size() > most_lines) text += "    ... and " + std::to_string(lines.size() - most_lines) + " more\n";
  }
  if (parts.size() > most_lanes) text += "  ... and " + std::to_string(parts.size() - most_lanes) + " more lanes\n";
  return text;
}

}  // namespace heddle::sim
