#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/litmus/report.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace heddle::litmus {
namespace {

using tools::colour;
using tools::grouped;

colour colour_of(judgement value) {
  switch (value) {
    case judgement::ok:
      return colour::good;
    case judgement::unseen:
    case judgement::not_finished:
      return colour::faint;
    default:
      return colour::bad;
  }
}

std::string padded(std::string_view text, size_t width) {
  return std::string(text) + std::string(text.size() < width ? width - text.size() : 0, ' ');
}

std::string what_was_seen(const test_result& result) {
  if (result.exact && result.seen == 0 && result.races + result.scope_races == 0)
    return result.left_out.empty() ? "never, in " + grouped(result.states) + " states" : "not seen";
  const std::string of = " of " + grouped(result.schedules);
  if (result.seen != 0) return "seen in " + grouped(result.seen) + of;
  if (result.races != 0) return "race in " + grouped(result.races) + of;
  if (result.scope_races != 0) return "scope race in " + grouped(result.scope_races) + of;
  return "not seen in " + grouped(result.schedules);
}

std::string seen_of(const tally& kind) {
  return kind.tests == 0 ? "-" : grouped(kind.seen) + " of " + grouped(kind.tests);
}

std::string counted(uint64_t number, std::string_view one, std::string_view many) {
  return grouped(number) + " " + std::string(number == 1 ? one : many);
}

void print_soundness(std::ostream& out, const suite_summary& summary) {
  const tally& forbidden = summary.all.forbidden;
  if (summary.sound()) {
    out << "sound: yes, none of " << counted(forbidden.tests, "forbidden outcome", "forbidden outcomes")
        << " was seen\n";
  } else {
    out << "sound: " << tools::painted("NO", colour::bad) << ", " << grouped(forbidden.seen) << " of "
        << counted(forbidden.tests, "forbidden outcome was seen", "forbidden outcomes were seen") << '\n';
  }
}

void print_completeness(std::ostream& out, const suite_summary& summary) {
  const tally& required = summary.all.required;
  const tally& bugs = summary.all.bugs;
  if (required.tests + bugs.tests == 0) return;
  out << "complete: " << (summary.complete() ? "yes" : tools::painted("NO", colour::bad)) << ", "
      << grouped(required.seen) << " of "
      << counted(required.tests, "outcome that must be seen was", "outcomes that must be seen were");
  if (bugs.tests != 0)
    out << "; " << grouped(bugs.seen) << " of " << counted(bugs.tests, "bug", "bugs") << " caught ("
        << grouped(summary.caught_by_outcome) << " by the outcome, " << grouped(summary.caught_as_race)
        << " as a race, " << grouped(summary.caught_as_scope_race) << " as a scope race)";
  out << '\n';
}

nlohmann::json json_of(const tally& kind) { return {{"tests", kind.tests}, {"seen", kind.seen}}; }

nlohmann::json json_of(const table_summary& summary) {
  return {{"tests", summary.tests},
          {"forbidden", json_of(summary.forbidden)},
          {"required", json_of(summary.required)},
          {"coherence", json_of(summary.aims)},
          {"bugs", json_of(summary.bugs)},
          {"not_modelled", json_of(summary.not_modelled)}};
}

nlohmann::json json_of(const test& about, const test_result& result) {
  nlohmann::json made = {{"table", about.table},
                         {"name", about.name},
                         {"configuration", about.configuration},
                         {"expected", to_string(about.expected)},
                         {"modelled", is_modelled(about.expected)},
                         {"result", to_string(judge(about.expected, result))},
                         {"schedules", result.schedules},
                         {"seen", result.seen},
                         {"races", result.races},
                         {"scope_races", result.scope_races}};
  if (result.seen != 0 && !result.exact) made["first_seed"] = result.first_seed;
  if (result.exact) {
    made["states"] = result.states;
    made["seconds"] = result.seconds;
    made["incomplete_because"] = result.left_out;
  }
  if (!result.broken.empty()) made["broken"] = result.broken;
  return made;
}

const char* letter(bool ends) { return ends ? "P" : "F"; }

std::string text_of(const agreement& some) {
  return some.all == 0 ? "-" : grouped(some.equal) + " of " + grouped(some.all);
}

tools::table::cell cell_of(const agreement& some) {
  return {.text = text_of(some), .shown = some.equal != some.all ? colour::bad : colour::none};
}

std::string reason(const progress_test& about, const progress_result& result, const judge::judgement& judged) {
  if (judged.why) return to_string(about.code, *judged.why);
  return "none of " + grouped(result.states) + " states leads to a hang";
}

}  // namespace

void print_line(std::ostream& out, const test& about, const test_result& result) {
  const judgement judged = judge(about.expected, result);
  out << tools::painted(padded(to_string(judged), 8), colour_of(judged)) << padded(to_string(about.expected), 26)
      << padded(what_was_seen(result), 26) << tools::one_line(about.full_name()) << '\n';
  if (!result.broken.empty()) out << "        " << tools::one_line(result.broken) << '\n';
  if (!result.left_out.empty()) out << "        not all runs: " << tools::one_line(result.left_out) << '\n';
}

void print_summary(std::ostream& out, const suite_summary& summary) {
  using tools::table;
  const auto right = table::align::right;
  table lines({{.title = "table"},
               {.title = "tests", .side = right},
               {.title = "forbidden", .side = right},
               {.title = "required", .side = right},
               {.title = "coherence", .side = right},
               {.title = "bugs", .side = right},
               {.title = "not modelled", .side = right}});
  for (const auto& [name, each] : summary.tables)
    lines.add({{.text = tools::one_line(name)},
               {.text = grouped(each.tests)},
               {.text = seen_of(each.forbidden), .shown = each.forbidden.seen != 0 ? colour::bad : colour::none},
               {.text = seen_of(each.required),
                .shown = each.required.seen != each.required.tests ? colour::bad : colour::none},
               {.text = seen_of(each.aims)},
               {.text = seen_of(each.bugs), .shown = each.bugs.seen != each.bugs.tests ? colour::bad : colour::none},
               {.text = seen_of(each.not_modelled)}});
  lines.print(out, 0);
  out << "(seen of all; of bugs: caught of all)\n";
  print_soundness(out, summary);
  print_completeness(out, summary);
  if (summary.broken != 0) out << counted(summary.broken, "test", "tests") << " BROKEN\n";
  if (summary.not_finished != 0) out << counted(summary.not_finished, "test was", "tests were") << " not finished\n";
  out << counted(summary.schedules, "schedule", "schedules") << " in all\n";
}

nlohmann::json json_of(const std::vector<tested>& results, const suite_summary& summary,
                       const std::vector<judged_program>& judged, const progress_summary& progress) {
  nlohmann::json all;
  all["tests"] = nlohmann::json::array();
  for (const tested& each : results) all["tests"].push_back(json_of(*each.what, each.result));
  all["tables"] = nlohmann::json::object();
  for (const auto& [name, each] : summary.tables) all["tables"][name] = json_of(each);
  all["caught"] = {{"by_outcome", summary.caught_by_outcome},
                   {"as_race", summary.caught_as_race},
                   {"as_scope_race", summary.caught_as_scope_race}};
  all["schedules"] = summary.schedules;
  all["broken"] = summary.broken;
  all["sound"] = summary.sound();
  all["complete"] = summary.complete();
  if (!judged.empty()) all["progress"] = json_of(judged, progress);
  all["ok"] = summary.ok() && progress.ok();
  return all;
}

void progress_summary::add(const progress_test& judged, const progress_result& result) {
  ++programs;
  states += result.states;
  for (size_t n = 0; n < judged.published.size(); ++n) {
    const published_verdict& each = judged.published[n];
    const std::string model = to_string(each.under);
    auto at = std::find_if(lines.begin(), lines.end(),
                           [&](const line& known) { return known.table == judged.table && known.model == model; });
    if (at == lines.end()) at = lines.insert(at, {.table = judged.table, .model = model, .weak = {}, .strong = {}});
    const std::vector<judge::model>& open = judge::open_models();
    const bool is_open = std::find(open.begin(), open.end(), each.under) != open.end();
    for (agreement* count :
         {is_open ? &models : &restricted, each.how == judge::fairness::weak ? &at->weak : &at->strong}) {
      ++count->all;
      count->equal += result.equal(judged, n) ? 1 : 0;
    }
  }
}

void print_line(std::ostream& out, const progress_test& about, const progress_result& result) {
  const bool ok = result.ok(about);
  const agreement equal = {.equal = result.equal_count(about), .all = result.judged.size()};
  out << tools::painted(padded(ok ? "ok" : "WRONG", 8), ok ? colour::good : colour::bad) << padded("progress", 26)
      << padded(text_of(equal) + " verdicts", 26) << tools::one_line(about.full_name()) << '\n';
  if (ok) return;
  out << "        " << judge::to_string(about.code) << '\n';
  for (size_t n = 0; n < result.judged.size(); ++n) {
    if (result.equal(about, n)) continue;
    const published_verdict& each = about.published[n];
    out << "        " << each.column << " (" << to_string(each.under) << ", " << to_string(each.how) << ") is "
        << letter(each.ends) << " in the table, " << letter(result.judged[n].ends)
        << " here: " << reason(about, result, result.judged[n]) << '\n';
  }
}

void print_summary(std::ostream& out, const progress_summary& summary) {
  const auto right = tools::table::align::right;
  tools::table lines(
      {{.title = "table"}, {.title = "model"}, {.title = "weak", .side = right}, {.title = "strong", .side = right}});
  for (const progress_summary::line& each : summary.lines)
    lines.add({{.text = tools::one_line(each.table)}, {.text = each.model}, cell_of(each.weak), cell_of(each.strong)});
  lines.print(out, 0);
  out << "progress: " << (summary.ok() ? "yes" : tools::painted("NO", colour::bad)) << ", " << text_of(summary.models)
      << " verdicts of progress models";
  if (summary.restricted.all != 0) out << " and " << text_of(summary.restricted) << " of lockstep and slots";
  out << " are those of the table; " << grouped(summary.programs)
      << (summary.programs == 1 ? " program, " : " programs, ") << grouped(summary.states) << " states\n";
}

nlohmann::json json_of(const std::vector<judged_program>& all, const progress_summary& summary) {
  nlohmann::json made = {{"programs", nlohmann::json::array()},
                         {"verdicts", summary.models.all + summary.restricted.all},
                         {"equal", summary.models.equal + summary.restricted.equal},
                         {"states", summary.states},
                         {"ok", summary.ok()}};
  for (const judged_program& each : all) {
    const progress_test& about = *each.what;
    nlohmann::json verdicts = nlohmann::json::array();
    for (size_t n = 0; n < about.published.size(); ++n) {
      const published_verdict& published = about.published[n];
      nlohmann::json verdict = {{"column", published.column},
                                {"model", to_string(published.under)},
                                {"fairness", to_string(published.how)},
                                {"expected", letter(published.ends)},
                                {"judged", letter(each.result.judged[n].ends)},
                                {"ok", each.result.equal(about, n)}};
      if (each.result.judged[n].why) verdict["witness"] = to_string(about.code, *each.result.judged[n].why);
      verdicts.push_back(std::move(verdict));
    }
    made["programs"].push_back({{"table", about.table},
                                {"name", about.name},
                                {"program", judge::to_string(about.code)},
                                {"states", each.result.states},
                                {"verdicts", std::move(verdicts)},
                                {"ok", each.result.ok(about)}});
  }
  return made;
}

}  // namespace heddle::litmus
