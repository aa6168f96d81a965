#include "rows.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <utility>

namespace heddle::bench {
namespace {

/// "8" of "bytes:8"; nothing when the part is of another name, or no number.
std::optional<uint64_t> number_in(const std::string& part, const std::string& name) {
  if (!part.starts_with(name + ':')) return std::nullopt;
  const char* const first = part.data() + name.size() + 1;
  const char* const last = part.data() + part.size();
  uint64_t number = 0;
  const auto [stopped, status] = std::from_chars(first, last, number);
  if (status != std::errc() || stopped != last) return std::nullopt;
  return number;
}

/// Where "ports/waves:1/lanes:1/..." lies.
row point_of(const std::string& name) {
  row found;
  size_t begin = 0;
  while (begin <= name.size()) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (begin == 0) found.protocol = part;
    if (const auto waves = number_in(part, "waves")) found.waves = *waves;
    if (const auto lanes = number_in(part, "lanes")) found.lanes = *lanes;
    if (const auto bytes = number_in(part, "bytes")) found.bytes = *bytes;
    if (const auto servers = number_in(part, "servers")) found.servers = *servers;
    if (part.starts_with("mailbox:")) found.mailbox = part.substr(8);
    if (part.starts_with("rings:")) found.rings = part.substr(6);
    begin = end + 1;
  }
  return found;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// A row with what all repetitions of its point counted.
struct repeated {
  row at;
  std::map<std::string, std::vector<double>> counted;
};

results collect(const nlohmann::json& file) {
  results found;
  const auto& context = file.at("context");
  found.machine = context.value("machine", "");
  found.device = context.value("device", "");
  found.date = context.value("date", "");
  std::vector<repeated> points;
  for (const auto& each : file.at("benchmarks")) {
    if (each.value("run_type", "iteration") != "iteration") continue;
    const auto name = each.at("name").get<std::string>();
    if (each.value("error_occurred", false)) {
      found.failures.push_back(name + ": " + each.value("error_message", ""));
      continue;
    }
    const row at = point_of(name);
    if (at.mailbox.empty() && !each.contains("step_ns")) continue;
    auto same = std::find_if(points.begin(), points.end(), [&](const repeated& known) { return known.at.is_at(at); });
    if (same == points.end()) same = points.insert(points.end(), {at, {}});
    for (const auto& [key, value] : each.items())
      if (value.is_number()) same->counted[key].push_back(value.get<double>());
  }
  for (repeated& point : points) {
    for (auto& [key, values] : point.counted) point.at.counters[key] = median(std::move(values));
    found.rows.push_back(std::move(point.at));
  }
  return found;
}

}  // namespace

result<results> read_results(const std::string& file) {
  std::ifstream stream(file);
  if (!stream)
    return error{"read", file, "no such file", "it must be what a latency program wrote with --benchmark_out"};
  try {
    results found = collect(nlohmann::json::parse(stream));
    if (found.rows.empty())
      return error{"read", file, "nothing to draw",
                   "no point of a latency program or of scale_bench was measured in it"};
    return found;
  } catch (const nlohmann::json::exception& wrong) {
    return error{"read", file, "not a result of Google Benchmark", wrong.what()};
  }
}

}  // namespace heddle::bench
