// Draws what a latency program measured, or what size costs the simulator (scale_bench): one page of curves.
//
//   bench_plot RESULT.json CURVES.svg [PROTOCOL]...
//
// With protocols, these alone are drawn, and what stands beside a call.
// Exit status 2: the input is wrong, and a line says how.
#include "chart.h"
#include "rows.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace heddle::bench {
namespace {

constexpr int wrong_input = 2;

struct percentile_style {
  const char* counter;
  const char* dashes;
};
// best_p50 is the median of the fastest round.
constexpr percentile_style percentiles[] = {{"p50", ""}, {"p99", "7 3"}, {"p99.9", "2 3"}, {"best_p50", "12 3 2 3"}};
constexpr const char* colours[] = {"#2f6fb3", "#b3492f", "#3b8f4a", "#7a4fb0"};
constexpr const char* colour_of_exchange = "#555555";

std::vector<std::string> protocols_of(const results& of) {
  std::vector<std::string> names;
  for (const row& each : of.rows)
    if (each.counters.count("ratio") != 0 && each.protocol != "nothing" && each.protocol != "store" &&
        each.protocol != "exchange" && each.protocol != "printf" &&
        std::find(names.begin(), names.end(), each.protocol) == names.end())
      names.push_back(each.protocol);
  return names;
}

double counter(const row& of, const char* name) {
  const auto found = of.counters.find(name);
  return found == of.counters.end() ? 0 : found->second;
}

/// The rows of a protocol that differ from a plain call in one field only, as points of that field and a counter.
using field = uint64_t row::*;
std::vector<std::pair<double, double>> along(const results& of, const std::string& protocol, const row& plain,
                                             field axis, const char* name) {
  std::vector<std::pair<double, double>> points;
  for (const row& each : of.rows) {
    row same = plain;
    same.protocol = protocol;
    same.*axis = each.*axis;
    if (each.is_at(same) && counter(each, name) > 0)
      points.emplace_back(static_cast<double>(each.*axis), counter(each, name));
  }
  std::sort(points.begin(), points.end());
  return points;
}

line_chart latency_along(const results& of, field axis_of, const axis& across, const std::string& title) {
  const row plain{.protocol = {}, .mailbox = "host", .counters = {}};
  line_chart chart{.title = title, .across = across, .up = {"time of a call", unit::nanoseconds}, .lines = {}};
  size_t n = 0;
  for (const std::string& protocol : protocols_of(of)) {
    const char* const colour = colours[n++ % std::size(colours)];
    for (const percentile_style& each : percentiles)
      chart.lines.push_back(
          {protocol + ' ' + each.counter, along(of, protocol, plain, axis_of, each.counter), colour, each.dashes});
    chart.lines.push_back({"bare exchange p50, in turns with " + protocol,
                           along(of, protocol, plain, axis_of, "exchange_p50"), colour_of_exchange, "1 3"});
  }
  return chart;
}

/// A row that others differ from in one field, and what is said of it beside the protocol's name.
struct named_row {
  row plain;
  std::string said;
};

line_chart rate_along(const results& of, const std::vector<named_row>& from, field axis_of, const axis& across,
                      const axis& up, const char* name, const std::string& title) {
  line_chart chart{.title = title, .across = across, .up = up, .lines = {}};
  size_t n = 0;
  for (const std::string& protocol : protocols_of(of)) {
    const char* const colour = colours[n++ % std::size(colours)];
    size_t style = 0;
    for (const named_row& each : from)
      chart.lines.push_back({protocol + each.said, along(of, protocol, each.plain, axis_of, name), colour,
                             percentiles[style++ % std::size(percentiles)].dashes});
  }
  return chart;
}

/// A plain call of each kind, side by side.
span_chart side_by_side(const results& of) {
  span_chart chart{.title = "One call of 8 B, and what stands beside it: min, p50, p99",
                   .across = {"time", unit::nanoseconds},
                   .spans = {}};
  for (const row& each : of.rows) {
    if (each.waves != 1 || each.lanes != 1 || each.bytes != 8 || each.servers != 1 || !each.rings.empty()) continue;
    const std::string name = each.mailbox == "host" ? each.protocol : each.protocol + " (" + each.mailbox + ')';
    chart.spans.push_back({name, counter(each, "min"), counter(each, "p50"), counter(each, "p99")});
  }
  return chart;
}

/// The number of waves at which servers were counted: the one with the most points.
row plain_for_servers(const results& of) {
  row best{.protocol = {}, .mailbox = "host", .counters = {}};
  for (const row& each : of.rows)
    if (each.servers > 1) best.waves = each.waves;
  return best;
}

/// A plain call of as many lanes as any had.
row widest(const results& of) {
  row found{.protocol = {}, .mailbox = "host", .counters = {}};
  for (const row& each : of.rows) found.lanes = std::max(found.lanes, each.lanes);
  return found;
}

/// A page of charts, two beside each other.
template <typename Charts>
std::string page_with(const std::string& title, const Charts& charts) {
  constexpr int columns = 2;
  constexpr int heading = 44;
  const int lines_of_charts = (static_cast<int>(std::size(charts)) + columns - 1) / columns;
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(columns * chart_width) + "\" height=\"" +
      std::to_string(heading + lines_of_charts * chart_height) +
      "\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  svg += "<text x=\"20\" y=\"28\" font-size=\"17\">" + escaped(title) + "</text>\n";
  int n = 0;
  for (const std::string& chart : charts) {
    svg += "<g transform=\"translate(" + std::to_string(n % columns * chart_width) + ' ' +
           std::to_string(heading + n / columns * chart_height) + ")\">\n" + chart + "</g>\n";
    ++n;
  }
  return svg + "</svg>\n";
}

std::string page_of(const results& of) {
  const row plain{.protocol = {}, .mailbox = "host", .counters = {}};
  const row crowded = plain_for_servers(of);
  const row wide = widest(of);
  const axis waves{"waves that call at a time", unit::count};
  const axis bytes{"payload of each lane", unit::bytes};
  const axis calls{"calls per second, all waves", unit::per_second};
  const std::string charts[] = {
      drawn(side_by_side(of)),
      drawn(latency_along(of, &row::lanes, {"lanes of the wave that call", unit::count}, "Lanes: one wave, 8 B each")),
      drawn(latency_along(of, &row::waves, waves, "Waves: one server thread, 8 B")),
      drawn(rate_along(of, {{plain, ", 1 lane a wave"}, {wide, ", " + std::to_string(wide.lanes) + " lanes a wave"}},
                       &row::waves, waves, calls, "calls/s", "Waves: calls per second, one server thread")),
      drawn(latency_along(of, &row::bytes, bytes, "Payload: one wave, one lane")),
      drawn(rate_along(of, {{plain, ""}}, &row::bytes, bytes, {"payload per second", unit::bytes_per_second},
                       "payload_bytes/s", "Payload: bytes per second, one lane")),
      drawn(rate_along(of, {{crowded, ""}}, &row::servers, {"server threads", unit::count}, calls, "calls/s",
                       "Servers: " + std::to_string(crowded.waves) + " waves, 8 B")),
  };
  return page_with(of.machine + ", " + of.device + ", " + of.date, charts);
}

// -- what size costs the simulator

constexpr const char* counter_of_step = "step_ns";

bool is_of_scale(const results& of) {
  return std::any_of(of.rows.begin(), of.rows.end(),
                     [](const row& each) { return each.counters.count(counter_of_step) != 0; });
}

/// A line for each value of `apart` that was measured, of these rows over `across`.
line_chart size_chart(const results& of, const std::string& name, field across, field apart, const std::string& noun,
                      const axis& along_it, const axis& up, const char* what, const std::string& title) {
  line_chart chart{.title = title, .across = along_it, .up = up, .lines = {}};
  for (const row& each : of.rows) {
    if (each.protocol != name || counter(each, what) <= 0) continue;
    const std::string said = std::to_string(each.*apart) + ' ' + noun + (each.*apart == 1 ? "" : "s");
    auto at = std::find_if(chart.lines.begin(), chart.lines.end(), [&](const line& one) { return one.name == said; });
    if (at == chart.lines.end()) {
      const size_t n = chart.lines.size();
      chart.lines.push_back(
          {said, {}, colours[n % std::size(colours)], percentiles[n / std::size(colours) % 4].dashes});
      at = std::prev(chart.lines.end());
    }
    at->points.emplace_back(static_cast<double>(each.*across), counter(each, what));
  }
  for (line& each : chart.lines) std::sort(each.points.begin(), each.points.end());
  return chart;
}

std::string page_of_scale(const results& of) {
  const axis waves{"waves", unit::count};
  const axis lanes{"lanes a wave", unit::count};
  const axis time{"time of a step", unit::nanoseconds};
  const axis memory{"most memory that was resident, MiB", unit::count};
  constexpr std::pair<const char*, const char*> kinds[] = {{"interleaving_step", "one memory"},
                                                           {"scoped_step", "scoped memory"}};
  std::vector<std::string> charts;
  for (const auto& [name, said] : kinds) {
    const std::string title = std::string("port.echo, one call each, ") + said;
    charts.push_back(
        drawn(size_chart(of, name, &row::waves, &row::lanes, "lane", waves, time, counter_of_step, title)));
    charts.push_back(
        drawn(size_chart(of, name, &row::lanes, &row::waves, "wave", lanes, time, counter_of_step, title)));
  }
  for (const auto& [name, said] : kinds)
    charts.push_back(drawn(size_chart(of, name, &row::waves, &row::lanes, "lane", waves, memory, "peak_MiB",
                                      std::string("Memory, ") + said)));
  return page_with("The simulator, " + of.machine + ", " + of.date, charts);
}

/// Takes the protocols out that are not `named`. False where one that is named was not measured, which is printed.
bool keep(const std::vector<std::string>& named, results& of) {
  const std::vector<std::string> measured = protocols_of(of);
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const std::string& name : named)
    if (!has(measured, name)) {
      std::fprintf(stderr, "bench_plot: %s: no such protocol was measured\n", name.c_str());
      return false;
    }
  std::erase_if(of.rows, [&](const row& each) { return has(measured, each.protocol) && !has(named, each.protocol); });
  return true;
}

int run(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: bench_plot RESULT.json CURVES.svg [PROTOCOL]...\n");
    return wrong_input;
  }
  result<results> read = read_results(arguments[1]);
  if (!read) {
    std::fprintf(stderr, "bench_plot: %s\n", read.why().line().c_str());
    return wrong_input;
  }
  if (count > 3 && !keep({arguments + 3, arguments + count}, read.value())) return wrong_input;
  for (const std::string& line : read.value().failures) std::fprintf(stderr, "not drawn: %s\n", line.c_str());
  std::ofstream file(arguments[2]);
  file << (is_of_scale(read.value()) ? page_of_scale(read.value()) : page_of(read.value()));
  file.close();
  if (!file) {
    std::fprintf(stderr, "bench_plot: cannot write %s: the folder must be there and writable\n", arguments[2]);
    return wrong_input;
  }
  return 0;
}

}  // namespace
}  // namespace heddle::bench

int main(int count, char** arguments) { return heddle::bench::run(count, arguments); }
