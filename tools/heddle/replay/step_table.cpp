#include <heddle/tools/cli/table.h>
#include <heddle/tools/replay/step_table.h>

namespace heddle::tools {
namespace {

constexpr size_t period_max = 8;

bool alike(const sim::step_record& left, const sim::step_record& right) {
  return left.actor == right.actor && left.operation == right.operation && left.location == right.location &&
         left.value == right.value && left.where == right.where && left.note == right.note &&
         left.is_event == right.is_event;
}

/// A group of steps and how often it comes in a row.
struct group {
  size_t period = 1;
  size_t times = 1;
};

/// The shortest group that repeats at `first`. Pairs and longer ones must come three times to be worth folding.
group group_at(const std::vector<sim::step_record>& steps, size_t first) {
  for (size_t period = 1; period <= period_max; ++period) {
    size_t same = 0;
    while (first + period + same < steps.size() && alike(steps[first + same], steps[first + period + same])) ++same;
    const size_t times = 1 + same / period;
    if (times >= (period == 1 ? 2 : 3)) return {.period = period, .times = times};
  }
  return {};
}

}  // namespace

namespace {

/// "ring->tail (+0x4, 4 bytes)" of "ring+0x4 (4 bytes)", where the place has a name; so it is found in reports, too.
std::string location_of(const sim::step_record& one) {
  const size_t offset = one.location.rfind("+0x");
  const size_t size = one.location.rfind(" (");
  if (one.part.empty() || size == std::string::npos) return one.location;
  if (offset == std::string::npos || offset > size) return one.part + one.location.substr(size);
  return one.part + " (" + one.location.substr(offset, size - offset) + ", " + one.location.substr(size + 2);
}

}  // namespace

void print_steps(std::ostream& out, const std::vector<sim::step_record>& steps) {
  table shown({{.title = "step", .side = table::align::right},
               {.title = "actor"},
               {.title = "operation"},
               {.title = "location"},
               {.title = "value"},
               {.title = "where"},
               {.title = ""}});
  for (size_t first = 0; first < steps.size();) {
    const group found = group_at(steps, first);
    for (size_t offset = 0; offset < found.period; ++offset) {
      const sim::step_record& each = steps[first + offset];
      std::string note = each.note;
      if (found.times > 1 && offset + 1 == found.period) {
        note += (note.empty() ? "x " : "; x ") + std::to_string(found.times);
        if (found.period > 1) note += " (these " + std::to_string(found.period) + " steps)";
      }
      // What is no step of an actor stands behind one.
      shown.add({{.text = each.is_event ? "" : std::to_string(each.step)},
                 {.text = each.actor},
                 {.text = each.operation},
                 {.text = location_of(each)},
                 {.text = each.value_name.empty() ? each.value : each.value_name + " (" + each.value + ")"},
                 {.text = each.where},
                 {.text = note, .shown = colour::faint}});
    }
    first += found.period * found.times;
  }
  shown.print(out, 0);
}

nlohmann::ordered_json steps_as_json(const std::vector<sim::step_record>& steps) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const sim::step_record& step : steps)
    all.push_back({{"step", step.step},
                   {"actor", step.actor},
                   {"operation", step.operation},
                   {"location", step.location},
                   {"part", step.part},
                   {"value", step.value},
                   {"value_name", step.value_name},
                   {"where", step.where},
                   {"note", step.note},
                   {"event", step.is_event}});
  return all;
}

}  // namespace heddle::tools
