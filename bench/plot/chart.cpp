#include "chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

namespace heddle::bench {
namespace {

constexpr int left = 84;
constexpr int right = 16;
constexpr int top = 34;
constexpr int bottom = 56;
constexpr const char* grey = "#8a8a8a";
constexpr const char* pale = "#e4e4e4";

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

std::string at(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

std::string words(double x, double y, const std::string& anchor, const std::string& text,
                  const std::string& more = "") {
  return "<text x=\"" + at(x) + "\" y=\"" + at(y) + "\" text-anchor=\"" + anchor + "\" " + more + '>' + escaped(text) +
         "</text>\n";
}

std::string stroke(double x1, double y1, double x2, double y2, const std::string& colour,
                   const std::string& more = "") {
  return "<line x1=\"" + at(x1) + "\" y1=\"" + at(y1) + "\" x2=\"" + at(x2) + "\" y2=\"" + at(y2) + "\" stroke=\"" +
         colour + "\" " + more + "/>\n";
}

/// A logarithmic axis: what it shows, and where.
class scale {
 public:
  /// From `low` to `high`, both above zero, laid from `begin` to `end`; `base` is what one tick is to the one before.
  scale(double low, double high, double begin, double end, double base)
      : base_(base),
        low_(std::floor(steps(low) + rounding)),
        high_(std::max(low_ + 1, std::ceil(steps(high) - rounding))),
        begin_(begin),
        end_(end) {}

  double place(double value) const { return begin_ + (steps(value) - low_) / (high_ - low_) * (end_ - begin_); }

  /// At most ten, evenly spread.
  std::vector<double> ticks() const {
    std::vector<double> all;
    const double stride = std::max(1.0, std::ceil((high_ - low_) / 9));
    for (double step = low_; step <= high_ + rounding; step += stride) all.push_back(std::pow(base_, step));
    return all;
  }

 private:
  /// A power of the base must not seem to lie beside its own tick.
  static constexpr double rounding = 1e-9;
  double steps(double value) const { return std::log(value) / std::log(base_); }

  double base_;
  double low_;
  double high_;
  double begin_;
  double end_;
};

double base_of(unit shown) { return shown == unit::bytes ? 8 : shown == unit::count ? 2 : 10; }

std::string title_of(const std::string& title) {
  return words(left, 20, "start", title, "font-weight=\"bold\" font-size=\"14\"");
}

std::string ticks_across(const scale& scaled, const axis& across) {
  const double base = chart_height - bottom;
  std::string svg;
  for (const double tick : scaled.ticks()) {
    svg += stroke(scaled.place(tick), top, scaled.place(tick), base, pale);
    svg += words(scaled.place(tick), base + 16, "middle", shown(tick, across.shown));
  }
  svg += stroke(left, base, chart_width - right, base, grey);
  return svg + words((left + chart_width - right) / 2.0, base + 36, "middle", across.label);
}

std::string nothing_to_draw(const std::string& title) {
  return title_of(title) + words(chart_width / 2.0, chart_height / 2.0, "middle", "not measured");
}

std::string path_of(const line& drawn_line, const scale& across, const scale& up) {
  std::string path;
  std::string marks;
  for (const auto& [x, y] : drawn_line.points) {
    path += (path.empty() ? "M" : " L") + at(across.place(x)) + ' ' + at(up.place(y));
    marks += "<circle cx=\"" + at(across.place(x)) + "\" cy=\"" + at(up.place(y)) + "\" r=\"2.5\" fill=\"" +
             drawn_line.colour + "\"/>\n";
  }
  return "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + drawn_line.colour +
         "\" stroke-width=\"1.8\" stroke-dasharray=\"" + drawn_line.dashes + "\"/>\n" + marks;
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char each : text) {
    if (each == '&')
      safe += "&amp;";
    else if (each == '<')
      safe += "&lt;";
    else if (each == '>')
      safe += "&gt;";
    else if (each == '"')
      safe += "&quot;";
    else
      safe += each;
  }
  return safe;
}

std::string shown(double value, unit as) {
  if (as == unit::count) return number(value);
  const bool binary = as == unit::bytes;
  static constexpr std::array<const char*, 5> names_of_time = {"ns", "us", "ms", "s", "ks"};
  static constexpr std::array<const char*, 5> names_of_bytes = {"B", "KiB", "MiB", "GiB", "TiB"};
  static constexpr std::array<const char*, 5> prefixes = {"", "k", "M", "G", "T"};
  const double base = binary ? 1024 : 1000;
  size_t n = 0;
  // Just below the next prefix is the next prefix: what is shown is rounded.
  while (value >= base * (1 - 1e-9) && n + 1 < prefixes.size()) {
    value /= base;
    ++n;
  }
  if (as == unit::nanoseconds) return number(value) + ' ' + names_of_time[n];
  if (binary) return number(value) + ' ' + names_of_bytes[n];
  return number(value) + ' ' + prefixes[n] + (as == unit::per_second ? "/s" : "B/s");
}

std::string drawn(const line_chart& chart) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  double x_low = infinite;
  double x_high = 0;
  double y_low = infinite;
  double y_high = 0;
  for (const line& each : chart.lines)
    for (const auto& [x, y] : each.points) {
      x_low = std::min(x_low, x);
      x_high = std::max(x_high, x);
      y_low = std::min(y_low, y);
      y_high = std::max(y_high, y);
    }
  if (x_high <= 0 || y_low <= 0) return nothing_to_draw(chart.title);

  const double base = chart_height - bottom;
  const scale across(x_low, x_high, left, chart_width - right, base_of(chart.across.shown));
  const scale up(y_low, y_high, base, top, 10);
  std::string svg = title_of(chart.title) + ticks_across(across, chart.across);
  for (const double tick : up.ticks()) {
    svg += stroke(left, up.place(tick), chart_width - right, up.place(tick), pale);
    svg += words(left - 6, up.place(tick) + 4, "end", shown(tick, chart.up.shown));
  }
  svg += stroke(left, top, left, base, grey);
  svg += words(0, 0, "middle", chart.up.label, "transform=\"translate(16 " + at((top + base) / 2) + ") rotate(-90)\"");
  double legend = top + 14;
  for (const line& each : chart.lines) {
    if (each.points.empty()) continue;
    svg += path_of(each, across, up);
    svg += stroke(left + 10, legend - 4, left + 38, legend - 4, each.colour,
                  "stroke-width=\"1.8\" stroke-dasharray=\"" + each.dashes + '"');
    // Legible where lines run behind it.
    svg += words(left + 44, legend, "start", each.name, "paint-order=\"stroke\" stroke=\"white\" stroke-width=\"4\"");
    legend += 16;
  }
  return svg;
}

std::string drawn(const span_chart& chart) {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (const span& each : chart.spans) {
    low = std::min(low, each.low);
    high = std::max(high, each.high);
  }
  if (high <= 0 || low <= 0) return nothing_to_draw(chart.title);

  const scale across(low, high, left, chart_width - right, base_of(chart.across.shown));
  std::string svg = title_of(chart.title) + ticks_across(across, chart.across);
  const double base = chart_height - bottom;
  const double height = (base - top) / static_cast<double>(chart.spans.size());
  double middle = top + height / 2;
  for (const span& each : chart.spans) {
    svg += words(left - 6, middle + 4, "end", each.name);
    svg += stroke(across.place(each.low), middle, across.place(each.high), middle, "#2f6fb3",
                  "stroke-width=\"8\" stroke-opacity=\"0.35\"");
    svg += stroke(across.place(each.middle), middle - 8, across.place(each.middle), middle + 8, "#2f6fb3",
                  "stroke-width=\"3\"");
    svg += words(across.place(each.middle), middle - 11, "middle", shown(each.middle, chart.across.shown));
    middle += height;
  }
  return svg;
}

}  // namespace heddle::bench
