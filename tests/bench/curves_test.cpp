// From a file of results to a picture: what is read, and where it is drawn.
#include <bench/plot/chart.h>
#include <bench/plot/rows.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace heddle::bench {
namespace {

class results_file : public testing::Test {
 protected:
  results_file()
      : path_(std::filesystem::temp_directory_path() / ("heddle-results-" + std::to_string(::getpid()) + ".json")) {}
  ~results_file() override { std::filesystem::remove(path_); }

  result<results> read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_results(path_.string());
  }

 private:
  std::filesystem::path path_;
};

TEST_F(results_file, gives_each_point_with_the_medians_of_its_repetitions) {
  result<results> found =
      read(R"({"context": {"machine": "host", "device": "a processor", "date": "today"}, "benchmarks": [
    {"name": "ports/waves:4/lanes:1/bytes:64/servers:2/mailbox:host/iterations:1/manual_time", "p50": 30.0},
    {"name": "ports/waves:4/lanes:1/bytes:64/servers:2/mailbox:host/iterations:1/manual_time", "p50": 10.0},
    {"name": "ports/waves:4/lanes:1/bytes:64/servers:2/mailbox:host/iterations:1/manual_time", "p50": 20.0},
    {"name": "ports/waves:4/lanes:1/bytes:64/servers:2/mailbox:host_mean", "run_type": "aggregate", "p50": 99.0},
    {"name": "store/waves:1/lanes:8/bytes:8/servers:1/mailbox:device", "p50": 5.0},
    {"name": "exchange/waves:1/lanes:1/bytes:8/servers:1/mailbox:device", "error_occurred": true, "error_message": "why"},
    {"name": "of_another_program", "p50": 1.0}]})");
  ASSERT_TRUE(found);
  const results& all = found.value();
  EXPECT_EQ(all.device, "a processor");
  ASSERT_EQ(all.rows.size(), 2u);
  EXPECT_EQ(all.rows[0].protocol, "ports");
  EXPECT_EQ(all.rows[0].waves, 4u);
  EXPECT_EQ(all.rows[0].bytes, 64u);
  EXPECT_EQ(all.rows[0].servers, 2u);
  EXPECT_EQ(all.rows[0].counters.at("p50"), 20.0);
  EXPECT_EQ(all.rows[1].lanes, 8u);
  EXPECT_EQ(all.rows[1].mailbox, "device");
  ASSERT_EQ(all.failures.size(), 1u);
  EXPECT_NE(all.failures[0].find(": why"), std::string::npos);
}

TEST_F(results_file, that_is_no_result_is_refused_in_one_line) {
  for (const char* const text :
       {"", "[]", "{}", R"({"context": {}, "benchmarks": []})", R"({"context": {}, "benchmarks": [{}]})"}) {
    const result<results> found = read(text);
    ASSERT_FALSE(found) << text;
    EXPECT_EQ(found.why().line().find('\n'), std::string::npos) << text;
  }
}

TEST(chart, shows_numbers_with_their_units) {
  EXPECT_EQ(shown(999, unit::nanoseconds), "999 ns");
  EXPECT_EQ(shown(1000, unit::nanoseconds), "1 us");
  EXPECT_EQ(shown(2.5e6, unit::nanoseconds), "2.5 ms");
  EXPECT_EQ(shown(65536, unit::bytes), "64 KiB");
  EXPECT_EQ(shown(1e6, unit::per_second), "1 M/s");
  EXPECT_EQ(shown(1e6, unit::bytes_per_second), "1 MB/s");
  EXPECT_EQ(shown(32, unit::count), "32");
}

/// The places of all circles, as the chart drew them.
std::vector<std::pair<double, double>> circles_of(const std::string& svg) {
  std::vector<std::pair<double, double>> found;
  for (size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1)) {
    const double x = std::strtod(svg.c_str() + svg.find("cx=\"", at) + 4, nullptr);
    const double y = std::strtod(svg.c_str() + svg.find("cy=\"", at) + 4, nullptr);
    found.emplace_back(x, y);
  }
  return found;
}

TEST(chart, draws_every_point_inside_and_larger_ones_further_out) {
  const line_chart chart{.title = "a < b & c",
                         .across = {"bytes", unit::bytes},
                         .up = {"time", unit::nanoseconds},
                         .lines = {{"one", {{8, 100}, {64, 1000}, {1 << 20, 5e9}}, "black", ""}}};
  const std::string svg = drawn(chart);
  const auto circles = circles_of(svg);
  ASSERT_EQ(circles.size(), 3u);
  for (size_t n = 0; n < circles.size(); ++n) {
    EXPECT_TRUE(circles[n].first > 0 && circles[n].first < chart_width) << n;
    EXPECT_TRUE(circles[n].second > 0 && circles[n].second < chart_height) << n;
    if (n == 0) continue;
    EXPECT_GT(circles[n].first, circles[n - 1].first);
    EXPECT_LT(circles[n].second, circles[n - 1].second);
  }
  EXPECT_NE(svg.find("a &lt; b &amp; c"), std::string::npos);
  EXPECT_NE(svg.find("64 B"), std::string::npos);
}

TEST(chart, without_points_says_so) {
  EXPECT_NE(drawn(line_chart{.title = "none", .across = {}, .up = {}, .lines = {}}).find("not measured"),
            std::string::npos);
  EXPECT_NE(drawn(span_chart{.title = "none", .across = {}, .spans = {}}).find("not measured"), std::string::npos);
}

TEST(chart, of_one_point_has_a_scale) {
  const std::string svg =
      drawn(span_chart{.title = "one", .across = {"time", unit::nanoseconds}, .spans = {{"it", 10, 10, 10}}});
  EXPECT_NE(svg.find("10 ns"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

}  // namespace
}  // namespace heddle::bench
