#include <heddle/tools/cli/common.h>
#include <heddle/tools/fuzz/campaign/behaviours_json.h>
#include <heddle/tools/fuzz/campaign/messages.h>

#include <nlohmann/json.hpp>

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;

json to_json(const scheduler::finding& found) {
  json made = {{"verdict", to_string(found.first.outcome)},
               {"where", found.first.where},
               {"hang", found.first.hang},
               {"gist", found.first.gist},
               {"seed", found.first.seed},
               {"count", found.count}};
  if (found.first.scenario.empty()) return made;
  made["trace"] = scheduler::to_json(found.first);
  made["message"] = found.message;
  made["report"] = found.report;
  made["not_reproducible"] = found.not_reproducible;
  return made;
}

scheduler::finding finding_of(const json& text) {
  scheduler::finding found;
  if (text.contains("trace")) {
    scheduler::trace_or_error read = scheduler::from_json(text.at("trace").get<std::string>());
    if (read.value) found.first = std::move(*read.value);
    found.message = text.at("message");
    found.report = text.at("report");
    found.not_reproducible = text.at("not_reproducible");
  }
  found.first.outcome =
      scheduler::parse_verdict(text.at("verdict").get<std::string>()).value_or(scheduler::verdict::ok);
  found.first.where = text.at("where");
  found.first.hang = text.at("hang");
  found.first.gist = text.at("gist");
  found.first.seed = text.at("seed");
  found.count = text.at("count");
  return found;
}

json to_json(const std::vector<scheduler::finding>& findings) {
  json list = json::array();
  for (const scheduler::finding& each : findings) list.push_back(to_json(each));
  return list;
}

std::vector<scheduler::finding> findings_of(const json& list) {
  std::vector<scheduler::finding> findings;
  for (const json& each : list) findings.push_back(finding_of(each));
  return findings;
}

}  // namespace

std::string to_text(const piece_to_run& piece) {
  return json_line(json({{"number", piece.number},
                         {"scenario", piece.scenario},
                         {"settings", piece.settings},
                         {"strategy", piece.strategy},
                         {"first", piece.seeds.first},
                         {"count", piece.seeds.count},
                         {"seconds_max", piece.seconds_max},
                         {"known", to_json(piece.known)}}));
}

std::string to_text(const piece_done& done) {
  return json_line(json({{"number", done.number},
                         {"schedules", done.result.schedules},
                         {"steps", done.result.steps},
                         {"library_steps", done.result.library_steps},
                         {"choices", done.result.choices},
                         {"excused", done.result.excused},
                         {"digest", done.result.digest},
                         {"behaviours", json_of(done.result.seen)},
                         {"seconds", done.result.seconds},
                         {"findings", to_json(done.result.findings)}}));
}

std::string to_text(const piece_found& found) {
  return json_line(json({{"number", found.number}, {"found", to_json(found.found)}}));
}

piece_to_run piece_to_run_of(const std::string& text) {
  const json from = json::parse(text);
  return {.number = from.at("number"),
          .scenario = from.at("scenario"),
          .settings = from.at("settings"),
          .strategy = from.at("strategy"),
          .seeds = {from.at("first"), from.at("count")},
          .seconds_max = from.at("seconds_max"),
          .known = findings_of(from.at("known"))};
}

piece_done piece_done_of(const std::string& text) {
  const json from = json::parse(text);
  piece_done done;
  done.number = from.at("number");
  done.result.schedules = from.at("schedules");
  done.result.steps = from.at("steps");
  done.result.library_steps = from.at("library_steps");
  done.result.choices = from.at("choices");
  done.result.excused = from.at("excused").get<std::map<std::string, uint64_t>>();
  done.result.digest = from.at("digest");
  done.result.seen = behaviours_of(from.at("behaviours"));
  done.result.seconds = from.at("seconds");
  done.result.findings = findings_of(from.at("findings"));
  return done;
}

piece_found piece_found_of(const std::string& text) {
  const json from = json::parse(text);
  return {.number = from.at("number"), .found = finding_of(from.at("found"))};
}

}  // namespace heddle::tools
