#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/report/drawn.h>
#include <heddle/tools/report/explanation.h>
#include <heddle/tools/report/page.h>
#include <heddle/tools/report/sources.h>
#include <heddle/tools/trial/explain.h>
#include <heddle/tools/trial/place_names.h>
#include <heddle/tools/trial/story.h>
#include <heddle/tools/trial/traces.h>

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;
using sim::run_record;

/// What a number that is none stands as.
json number_or_null(uint64_t number) { return number == run_record::never ? json(nullptr) : json(number); }

/// One letter for what an operation is, by which the page draws it.
char letter_of(sim::operation_kind kind) {
  using enum sim::operation_kind;
  switch (kind) {
    case load:
    case plain_load:
    case volatile_load:
      return 'r';
    case store:
    case plain_store:
    case volatile_store:
      return 'w';
    case read_modify_write:
    case compare_exchange:
      return 'm';
    case notify:
      return 'n';
    case fence:
      return 'f';
    case pause:
    case wait:
      return 'p';
    case broadcast:
    case ballot:
    case sync_lanes:
    case shuffle:
    case active_mask:
      return 'c';
    case block_barrier:
    case block_arrive:
    case cluster_arrive:
    case cluster_wait:
      return 'b';
    case lock_mutex:
    case unlock_mutex:
      return 'x';
    default:
      return 's';
  }
}

const char* name_of(sim::wait_reason why) {
  constexpr const char* names[] = {"change", "collective", "barrier",    "mutex",   "device",
                                   "join",   "call",       "masked off", "evicted", "notice"};
  return names[static_cast<size_t>(why)];
}

const char* name_of(state_strip::sort kind) {
  constexpr const char* names[] = {"port", "slot", "word"};
  return names[static_cast<size_t>(kind)];
}

json text_or_null(uint32_t text) { return text == run_record::none ? json(nullptr) : json(text); }

/// What left the device, or came back, before each step that is shown, in a sentence each.
std::map<uint64_t, std::string> moves_by_step(const run_record& of) {
  std::map<uint64_t, std::string> told;
  for (const run_record::move& each : of.moves) {
    if (each.step + 1 < of.first_step || each.step + 1 >= of.first_step + of.steps.size()) continue;
    std::string& text = told[each.step + 1 - of.first_step];
    text += (text.empty() ? "Before this step " : "; ") + each.text;
  }
  for (auto& [n, text] : told) text += '.';
  return told;
}

/// Steps that are alike, but for when they were, are told once.
void add_steps(json& data, const run_record& of, const slot_names& names, page_texts& texts) {
  using sort_key = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint64_t, uint32_t, bool>;
  std::map<sort_key, size_t> known;
  json sorts = json::array();
  json steps = json::array();
  json reads = json::array();    // of loads whose source is another than that of the last step of this sort
  json written = json::array();  // what a read-modify-write has left
  json late = json::array();     // of stores, when they arrived
  json old = json::array();
  json lost = json::array();
  json missed = json::array();                              // of loads of old values, the newest store
  json behind = json::array();                              // of stores, the newer one that they count as older than
  std::map<uint64_t, std::string> odd = moves_by_step(of);  // what else the machine did or chose, in words
  const auto add_odd = [&](size_t n, const char* text) { odd[n] += (odd[n].empty() ? "" : " ") + std::string(text); };
  std::vector<uint64_t> last_read;
  for (size_t n = 0; n < of.steps.size(); ++n) {
    const run_record::step& one = of.steps[n];
    const sort_key key = {one.actor, one.operation, one.place, one.calls, one.value, one.size_bytes, one.has_value};
    const auto [entry, fresh] = known.try_emplace(key, sorts.size());
    if (fresh) {
      const std::string part = part_of(one, of, names);
      sorts.push_back(
          json::array({one.actor, one.operation, std::string(1, letter_of(one.kind)), text_or_null(one.place),
                       one.size_bytes, one.has_value ? json(texts.of_value(one.value, one.values)) : json(nullptr),
                       text_or_null(one.calls), part.empty() ? json(nullptr) : json(texts.of(part))}));
      last_read.push_back(run_record::never);
    }
    steps.push_back(entry->second);
    if (one.reads != last_read[entry->second]) {
      reads.push_back(json::array({n, number_or_null(one.reads)}));
      last_read[entry->second] = one.reads;
    }
    const char letter = letter_of(one.kind);
    if (letter == 'm' && one.changes) written.push_back(json::array({n, texts.of_value(one.after, one.values)}));
    const bool stores = letter == 'w' || letter == 'n';
    if (stores && one.arrived != of.first_step + n && !one.lost)
      late.push_back(json::array({n, number_or_null(one.arrived)}));
    if (one.is_old) old.push_back(n);
    if (one.lost) lost.push_back(n);
    if (one.missed != run_record::never) missed.push_back(json::array({n, one.missed}));
    if (one.behind != run_record::never) behind.push_back(json::array({n, one.behind}));
    if (one.spurious) add_odd(n, "It fails for no reason, as a weak compare-exchange may.");
    if (one.woke) add_odd(n, "It goes on for no reason, though nothing has changed.");
  }
  data["first_step"] = of.first_step;
  data["sorts"] = std::move(sorts);
  data["steps"] = std::move(steps);
  data["reads"] = std::move(reads);
  data["written"] = std::move(written);
  data["late"] = std::move(late);
  data["old"] = std::move(old);
  data["lost"] = std::move(lost);
  data["missed"] = std::move(missed);
  data["behind"] = std::move(behind);
  data["odd_steps"] = json::array();
  for (const auto& [n, text] : odd) data["odd_steps"].push_back(json::array({n, text}));
}

void add_actors(json& data, const run_record& of) {
  data["waves"] = json::array();
  for (const run_record::wave& each : of.waves)
    data["waves"].push_back({{"name", each.name},
                             {"host", each.host},
                             {"block", each.block},
                             {"launched", each.launched},
                             {"placed", each.placed},
                             {"ended", each.ended}});
  data["actors"] = json::array();
  for (const run_record::actor& each : of.actors)
    data["actors"].push_back(json::array({each.name, each.wave, each.lane, each.begun, number_or_null(each.ended)}));
  data["waits"] = json::array();
  for (const run_record::wait& each : of.waits) {
    if (each.to < of.first_step || each.to == each.from) continue;
    data["waits"].push_back(
        json::array({each.actor, each.from, number_or_null(each.to), name_of(each.why), text_or_null(each.text)}));
  }
}

/// Of each step, by its index, behind which its thread's time is another, that time in ns.
void add_times(json& data, const run_record& of, const std::vector<sim::call_times::reading>& clocks) {
  constexpr uint64_t ps_per_ns = 1000;
  data["times"] = json::array();
  const std::vector<uint64_t> times = times_of(of, clocks);
  std::map<uint32_t, uint64_t> told;  // by actor
  for (size_t n = 0; n < times.size(); ++n) {
    const uint64_t at_ns = times[n] / ps_per_ns;
    const auto [known, fresh] = told.try_emplace(of.steps[n].actor, at_ns);
    if (fresh || std::exchange(known->second, at_ns) != at_ns) data["times"].push_back(json::array({n, at_ns}));
  }
}

void add_strips(json& data, const run_record& of, const std::vector<state_strip>& strips, page_texts& texts) {
  data["strips"] = json::array();
  for (const state_strip& each : strips) {
    json changes = json::array();
    for (const state_strip::change& one : each.changes)
      changes.push_back(json::array(
          {one.step, each.kind == state_strip::sort::word ? texts.of_value(one.state, each.values) : one.state,
           one.actor}));
    data["strips"].push_back(
        {{"name", each.name}, {"kind", name_of(each.kind)}, {"places", each.places}, {"changes", std::move(changes)}});
  }
  data["flows"] = json::array();
  for (const store_flow& each : flows_of(of))
    data["flows"].push_back(json::array({each.store, each.seen == store_flow::none ? json(nullptr) : json(each.seen),
                                         each.missed == store_flow::none ? json(nullptr) : json(each.missed)}));
}

void add_sources(json& data, const run_record& of) {
  data["calls"] = json::array();
  for (const auto& chain : of.call_chains) {
    json lines = json::array();
    for (const sim::source_line& line : chain)
      lines.push_back(json::array({line.file.empty() ? place_in_source(line) : line.file, line.line, line.function}));
    data["calls"].push_back(std::move(lines));
  }
  data["sources"] = json::array();
  for (const source_excerpt& each : excerpts_of(of)) {
    json ranges = json::array();
    for (const source_excerpt::range& range : each.ranges)
      ranges.push_back({{"first", range.first}, {"lines", range.lines}});
    data["sources"].push_back(
        {{"file", each.file}, {"found", each.found}, {"newer", each.newer}, {"ranges", std::move(ranges)}});
  }
}

void add_settings(json& data, const parameters& settings) {
  data["settings"] = json::array();
  for (const parameter& each : settings.definitions())
    data["settings"].push_back({{"key", each.key},
                                {"value", settings.value_text(each.key)},
                                {"default", each.default_value()},
                                {"unit", each.unit},
                                {"help", each.help}});
}

std::string token_of(const reported_run& run) {
  std::string token = tools::token_of(run.recorded);
  return token.size() <= token_on_command_line_max ? token : std::string();
}

std::string command_of(const reported_run& run) {
  const std::string token = token_of(run);
  return shell_word(run.program) + " replay " + (token.empty() ? "FILE" : token) + " --trace";
}

std::string parts_of_template(const std::map<std::string_view, std::string_view>& values) {
  std::string page;
  std::string_view rest = page_template;
  while (true) {
    const size_t at = rest.find("{{");
    const size_t end = rest.find("}}", at);
    if (at == std::string_view::npos || end == std::string_view::npos) return page + std::string(rest);
    page += rest.substr(0, at);
    page += values.at(rest.substr(at + 2, end - at - 2));
    rest.remove_prefix(end + 2);
  }
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

std::string page_data_of(const reported_run& run) {
  const run_record& of = run.record;
  const slot_names names(of);
  page_texts texts(of);
  size_t words_left_out = 0;
  const std::vector<state_strip> strips = strips_of(of, names, words_left_out);
  json data = {{"format", "heddle report 1"},
               {"scenario", run.recorded.scenario},
               {"verdict", to_string(run.result.outcome)},
               {"where", run.result.where},
               {"message", run.result.message},
               {"total_steps", run.result.steps},
               {"judged", number_or_null(of.judged)},
               {"race", json::array()},
               {"mend", run.mended.empty() ? json(nullptr) : json::parse(run.mended, nullptr, false)}};
  if (of.ended_by)
    for (const uint64_t step : {of.ended_by->first, of.ended_by->second, of.ended_by->store, of.ended_by->load})
      if (step != run_record::never) data["race"].push_back(step);
  if (data["mend"].is_discarded()) data["mend"] = nullptr;
  add_actors(data, of);
  add_steps(data, of, names, texts);
  add_times(data, of, run.clocks);
  add_strips(data, of, strips, texts);
  add_sources(data, of);
  const place_names called(of);
  data["edges"] = json::array();
  for (const sim::wait_edge& edge : of.edges)
    data["edges"].push_back({{"from", edge.from},
                             {"to", edge.to},
                             {"over", edge.over},
                             {"name", called.name_of(edge.over)},
                             {"supposed", edge.supposed},
                             {"cycle", edge.on_cycle},
                             {"why", edge.why}});
  data["unknown"] = json::array();
  for (const sim::unknown_wait& each : of.unknown)
    data["unknown"].push_back(
        {{"from", each.from}, {"over", each.over}, {"name", called.name_of(each.over)}, {"why", each.why}});
  data["decided"] = decided_in(run.result.report);
  data["circle"] = of.circle;
  add_settings(data, run.settings);
  data["missing"] = not_recorded(of, run.result.steps, words_left_out);
  data["parts"] = json::object();
  for (const auto& [place, part] : parts_of(of, names)) data["parts"][std::to_string(place)] = part;
  data["texts"] = texts.all();

  // In a script element no text ends what it is in, whatever it holds.
  const std::string dumped = data.dump(-1, ' ', true, json::error_handler_t::replace);
  std::string safe;
  safe.reserve(dumped.size());
  for (const char letter : dumped) {
    if (letter == '<')
      safe += "\\u003c";
    else
      safe += letter;
  }
  return safe;
}

std::string page_of(const reported_run& run) {
  const slot_names names(run.record);
  const std::string verdict(to_string(run.result.outcome));
  const std::string title = html_escaped(run.recorded.scenario + ": " + verdict);
  const std::string where = html_escaped(run.result.where.empty() ? "" : " at " + run.result.where);
  const std::string meaning = html_escaped(meaning_of(run.result.outcome));
  const std::string explanation = html_escaped(explanation_of(run.record, run.result, names));
  std::string story;
  for (const std::string& each : story_in(run.result.report)) story += "<li>" + html_escaped(each) + "</li>";
  std::string decided;
  for (const std::string& each : decided_in(run.result.report))
    decided += "<li>What decided: " + html_escaped(each) + "</li>";
  if (const std::vector<std::string> contrast = contrast_in(run.result.report); !contrast.empty()) {
    decided += "<li>Good against bad: " + html_escaped(contrast.front());
    for (size_t n = 1; n < contrast.size(); ++n)
      decided += (n == 1 ? "<pre class=\"contrast\">" : "\n") + html_escaped(contrast[n]);
    decided += "</pre></li>";
  }
  const std::string token = token_of(run);
  const std::string shown_token =
      html_escaped(token.empty() ? "too long for a command line: replay the file that the report was made of" : token);
  const std::string command = html_escaped(command_of(run));
  const std::string report =
      html_escaped(run.result.report.empty() ? "There is no report of this run." : run.result.report);
  const std::string facts =
      html_escaped(grouped(run.result.steps) + " steps, " + grouped(run.result.switches) + " context switches; seed " +
                   std::to_string(run.recorded.seed) + " of strategy " + run.recorded.strategy + "; digest " +
                   hexadecimal(run.result.digest).substr(2) + "; heddle " + run.recorded.version + ", build " +
                   run.recorded.build_id.substr(0, 12));
  const std::string kind = run.result.outcome == scheduler::verdict::ok       ? "good"
                           : run.result.outcome == scheduler::verdict::budget ? "unsure"
                                                                              : "bad";
  const std::string data = page_data_of(run);
  const std::string verdict_text = html_escaped(verdict);
  const std::string scenario = html_escaped(run.recorded.scenario);
  return parts_of_template({{"title", title},
                            {"scenario", scenario},
                            {"verdict", verdict_text},
                            {"kind", kind},
                            {"where", where},
                            {"meaning", meaning},
                            {"story", story},
                            {"explanation", explanation},
                            {"decided", decided},
                            {"facts", facts},
                            {"token", shown_token},
                            {"command", command},
                            {"report", report},
                            {"style", page_style},
                            {"data", data},
                            {"script", page_script}});
}

}  // namespace heddle::tools
