#include <heddle/sim/observe/debugger.h>
#include <heddle/sim/report/hang_report.h>
#include <heddle/sim/report/run_report.h>

#include <algorithm>
#include <set>
#include <utility>

namespace heddle::sim {

using scheduler::verdict;

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

namespace {

bool is_hang(verdict found) {
  return found == verdict::deadlock || found == verdict::progress || found == verdict::livelock ||
         found == verdict::starvation;
}

}  // namespace

void run_report::forget() {
  waits_.clear();
  edges_.clear();
  unknown_.clear();
  unexplained_.clear();
  circle_.clear();
}

void run_report::tell(outcome& told, run_record* record) {
  const ending& ends = core_.ending;
  if (is_hang(ends.verdict)) {
    told.waiting = ends.waiting;
    told.hang = roles_of(ends.waiting);
  }
  told.message = ends.message;
  if (ends.verdict != verdict::ok && ends.about.front() != nullptr) told.where = source_of(ends.about).where();
  if (core_.observers.recorder == nullptr) return;
  explain(told, record);
  // The lanes stand where the run left them.
  if (const debugger_stops* const stops = stops_of_runs())
    if (stops->tell_end(std::string(to_string(ends.verdict)) + (told.where.empty() ? "" : " at " + told.where)))
      stop_for_debugger();
}

void run_report::explain(outcome& told, run_record* record) {
  constexpr size_t most_steps = 200000;
  const verdict found = core_.ending.verdict;
  told.steps_taken = core_.observers.recorder->steps(core_.map.heap, most_steps);
  if (found != verdict::ok && core_.ending.report.empty()) write();
  told.report = std::move(core_.ending.report);
  told.waits = std::move(waits_);
  told.unexplained = std::move(unexplained_);
  if (found == verdict::race || found == verdict::scope_race) {
    told.report = run_.races().text();
    told.waits.clear();
    told.unexplained.clear();
    edges_.clear();
    unknown_.clear();
    circle_.clear();
  } else {
    told.report += run_.races().listed();
  }
  if (found != verdict::ok && core_.ending.about.front() != nullptr)
    if (const source_line place = source_of(core_.ending.about); place.file.empty() && !place.module.empty())
      told.report += "no debug information for " + place.module +
                     ": this is an offset in the program, for addr2line; compile with -g, and do not strip\n";
  if (record != nullptr) *record = record_of(most_steps);
  if (core_.late != nullptr && found != verdict::ok)
    if (const std::string overtaken = core_.late->overtakings(); !overtaken.empty())
      told.report += "stores that were overtaken:\n" + overtaken;
  // Of a hang everything has arrived.
  if (core_.late != nullptr && found != verdict::ok && found != verdict::budget && !is_hang(found))
    told.report += core_.late->what_is_late();
}

run_record run_report::record_of(size_t most_steps) const {
  run_record made = core_.observers.recorder->record(core_.map.heap, most_steps);
  for (size_t n = 0; n < core_.threads.waves_used; ++n) {
    const wave& each = core_.threads.waves[n];
    made.waves.push_back({.name = name_of(each),
                          .host = each.host,
                          .block = each.block,
                          .launched = each.launched_in,
                          .placed = each.resident || each.started(),
                          .ended = !each.live()});
  }
  made.ended_by = run_.races().steps();
  made.edges = edges_;
  made.unknown = unknown_;
  made.circle = circle_;
  return made;
}

// Whichever of them, and however many.
std::string run_report::roles_of(const std::vector<std::string>& waiting) {
  std::set<std::string> roles;
  for (const std::string& each : waiting)
    roles.insert(each.starts_with("host ")                ? each.substr(0, each.find(" #"))
                 : each.starts_with("copy ")              ? "copy"
                 : each.starts_with("bulk copy ")         ? "bulk copy"
                 : each.starts_with("asynchronous copy ") ? "asynchronous copy"
                                                          : "wave");
  std::string text;
  for (const std::string& each : roles) text += (text.empty() ? "" : ", ") + each;
  return text;
}

void run_report::write() {
  hang_report written(run_, others_);
  core_.ending.report = written.text(cycle_text());
  waits_ = written.graph().empty() ? "" : written.graph().dot(core_.ending.message);
  unexplained_ = written.unexplained();
  if (!core_.observers.records) return;
  edges_ = written.graph().edges();
  unknown_ = written.graph().unknown();
  circle_ = written.graph().circle();
}

std::string run_report::cycle_text() const {
  if (!run_.verdicts().seen().found || core_.observers.recorder == nullptr) return {};
  std::string text = cycle_report(core_.observers.recorder->steps_between(
      core_.map.heap, run_.verdicts().seen().from.steps, run_.verdicts().seen().to.steps));
  // Each lane that can step does, in every round: no model asks for more.
  if (core_.ending.verdict == verdict::livelock || core_.ending.verdict == verdict::deadlock)
    text += "progress models that rule this hang out: none; all that can move has turns again and again\n";
  return text;
}

}  // namespace heddle::sim
