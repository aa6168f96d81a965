#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/litmus/progress_report.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace heddle::litmus {
namespace {

using tools::colour;
using tools::grouped;

const char* letter(bool ends) { return ends ? "P" : "F"; }

std::string padded(std::string text, size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

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
