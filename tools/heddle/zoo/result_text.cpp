#include <heddle/tools/zoo/result_text.h>

#include <nlohmann/json.hpp>

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;

json to_text(const scheduler::run_size& size) {
  return {size.steps, size.switches, size.preemptions, size.odd_answers};
}

scheduler::run_size size_of(const json& text) {
  return {.steps = text.at(0), .switches = text.at(1), .preemptions = text.at(2), .odd_answers = text.at(3)};
}

json to_text(const zoo_search& of) {
  return {{"found", of.found},
          {"first", scheduler::to_json(of.first)},
          {"schedules_to_find", of.schedules_to_find},
          {"replayed", of.replayed},
          {"size_found", to_text(of.size_found)},
          {"size_shrunk", to_text(of.size_shrunk)},
          {"shrunk_token", of.shrunk_token}};
}

/// A trace as it was sent, also that of nothing.
scheduler::trace trace_in(const json& text) {
  scheduler::trace_or_error read = scheduler::from_json(text.get<std::string>());
  return read.value ? std::move(*read.value) : scheduler::trace();
}

void take(const json& text, zoo_search& of) {
  of.found = text.at("found");
  of.first = trace_in(text.at("first"));
  of.schedules_to_find = text.at("schedules_to_find");
  of.replayed = text.at("replayed");
  of.size_found = size_of(text.at("size_found"));
  of.size_shrunk = size_of(text.at("size_shrunk"));
  of.shrunk_token = text.at("shrunk_token");
}

}  // namespace

std::string text_of(const zoo_result& result) {
  json made = {{"search", to_text(static_cast<const zoo_search&>(result))},
               {"twin_schedules", result.twin_schedules},
               {"begun", result.begun},
               {"interrupted", result.interrupted}};
  if (result.ordinary) {
    json raised = json::array();
    for (const scheduler::changed_setting& each : result.ordinary->raised)
      raised.push_back({each.key, each.before, each.after});
    made["ordinary"] = {{"raised", std::move(raised)}, {"search", to_text(result.ordinary->search)}};
  }
  if (result.twin_finding) made["twin_finding"] = scheduler::to_json(result.twin_finding->first);
  return made.dump(-1, ' ', false, json::error_handler_t::replace);
}

zoo_result result_in(const std::string& sent, const scheduler::verdict_set& expected) {
  const json text = json::parse(sent);
  zoo_result made;
  made.expected = expected;
  take(text.at("search"), made);
  made.twin_schedules = text.at("twin_schedules");
  made.begun = text.at("begun");
  made.interrupted = text.at("interrupted");
  if (text.contains("ordinary")) {
    zoo_ordinary& ordinary = made.ordinary.emplace();
    for (const json& each : text.at("ordinary").at("raised"))
      ordinary.raised.push_back({.key = each.at(0), .before = each.at(1), .after = each.at(2)});
    take(text.at("ordinary").at("search"), ordinary.search);
  }
  if (text.contains("twin_finding")) made.twin_finding.emplace().first = trace_in(text.at("twin_finding"));
  return made;
}

}  // namespace heddle::tools
