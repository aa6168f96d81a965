#include <heddle/tools/fuzz/campaign/behaviours_json.h>

#include <nlohmann/json.hpp>

namespace heddle::tools {

using json = nlohmann::ordered_json;

json json_of(const scheduler::behaviours& seen) {
  json list = json::array();
  for (const auto& [behaviour, by] : seen.all()) list.push_back({behaviour, by.first_seed, by.runs});
  if (seen.more()) list.push_back(true);
  return list;
}

scheduler::behaviours behaviours_of(const json& list) {
  scheduler::behaviours seen;
  for (const json& each : list) {
    if (each.is_boolean())
      seen.note_more();
    else
      seen.add(each.at(0).get<uint64_t>(), {.first_seed = each.at(1), .runs = each.at(2)});
  }
  return seen;
}

}  // namespace heddle::tools
