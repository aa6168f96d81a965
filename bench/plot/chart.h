// Charts as SVG: lines over two axes, each linear or logarithmic, and spans along one.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace heddle::bench {

/// What numbers along an axis are: it is shown by SI prefixes in front of the unit, or by binary ones for bytes.
enum class unit { nanoseconds, bytes, per_second, bytes_per_second, count };

struct axis {
  std::string label;
  unit shown = unit::count;
};

struct line {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< all above zero
  std::string colour;
  std::string dashes;  ///< of SVG's stroke-dasharray; empty for a whole line
};

/// Both axes are logarithmic.
struct line_chart {
  std::string title;
  axis across;
  axis up;
  std::vector<line> lines;
};

/// From `low` to `high`, with a mark at `middle`.
struct span {
  std::string name;
  double low;
  double middle;
  double high;
};

/// One row for each span over a logarithmic axis.
struct span_chart {
  std::string title;
  axis across;
  std::vector<span> spans;
};

/// Sizes in units of SVG.
inline constexpr int chart_width = 560;
inline constexpr int chart_height = 340;

/// The inside of an SVG element of chart_width by chart_height. A chart without points says so.
std::string drawn(const line_chart& chart);
std::string drawn(const span_chart& chart);

/// "1.5 us", "64 KiB", "2 M/s".
std::string shown(double value, unit as);
/// Text as SVG wants it.
std::string escaped(const std::string& text);

}  // namespace heddle::bench
