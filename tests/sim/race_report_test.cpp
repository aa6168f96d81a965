// Reports of races: which two accesses, at which lines, by which lanes, and which edge is missing between them.
#include "together.h"

namespace heddle::sim::tests::race_report_test {
namespace {

constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
constexpr auto relaxed = memory_order::relaxed;

constexpr uint64_t some = 200;

/// The report of the first run that ends like this.
std::string report_of(verdict wanted, const program& body) {
  machine on = scoped();
  const tally seen = on.run_many(body, some);
  if (seen.count(wanted) == 0) return "not seen: " + seen.text();
  const outcome ended = on.explain(body, seen.first_seeds.at(wanted));
  return std::string(to_string(ended.verdict)) + ": " + ended.message + " at " + ended.where + '\n' + ended.report;
}

struct writes_data {
  static constexpr int line = __LINE__ + 1;
  void operator()(words& at) const { at.data = 7; }
};
struct reads_data {
  static constexpr int line = __LINE__ + 1;
  void operator()(words& at) const { at.seen[0].value = at.data; }
};

TEST(reports, name_both_lines_and_both_lanes) {
  const std::string report = report_of(verdict::race, together(place::from_device, writes_data(), reads_data()));
  EXPECT_TRUE(says(report, "race: "));
  EXPECT_TRUE(says(report, "wave 0 lane 0, plain store of words+0x0 (4 bytes)"));
  EXPECT_TRUE(says(report, SIM_LINE(writes_data::line)));
  EXPECT_TRUE(says(report, "host last, plain load of words+0x0 (4 bytes)"));
  EXPECT_TRUE(says(report, SIM_LINE(reads_data::line)));
  EXPECT_TRUE(says(report, "missing edge: nothing that "));
}

TEST(reports, name_the_second_access_where_the_run_ended) {
  machine on = scoped();
  std::set<std::string> places;
  const program body = together(place::device, writes_data(), reads_data());
  for (uint64_t seed = 1; seed <= some; ++seed) places.insert(on.run(body, seed).where);
  EXPECT_EQ(places, (std::set<std::string>{SIM_LINE(writes_data::line), SIM_LINE(reads_data::line)}));
}

/// Hands the data over by the flag.
template <memory_order Order>
struct hands_over {
  static constexpr int data_line = __LINE__ + 3;
  static constexpr int flag_line = __LINE__ + 3;
  void operator()(words& at) const {
    at.data = 7;
    word<uint32_t>(at.flag).store(1, Order);
  }
};
template <memory_order Order>
struct takes {
  static constexpr int flag_line = __LINE__ + 3;
  static constexpr int data_line = __LINE__ + 3;
  void operator()(words& at) const {
    if (word<uint32_t>(at.flag).load(Order) != 1) return;
    at.seen[0].value = at.data;
  }
};

/// The part of the report behind these words.
std::string behind(const std::string& report, const std::string& what) {
  const size_t found = report.find(what);
  return found == std::string::npos ? "\"" + what + "\" is not in:\n" + report : report.substr(found);
}

TEST(reports, name_the_edge_without_release) {
  using giver = hands_over<relaxed>;
  using taker = takes<acquire>;
  for (const place where : all_places) {
    const std::string report = report_of(verdict::race, together(where, giver(), taker()));
    EXPECT_TRUE(says(report, SIM_LINE(giver::data_line)));
    EXPECT_TRUE(says(report, SIM_LINE(taker::data_line)));
    const std::string edge = behind(report, "missing edge: no release where");
    EXPECT_TRUE(says(edge, SIM_LINE(giver::flag_line)));
    EXPECT_TRUE(says(edge, SIM_LINE(taker::flag_line)));
  }
}

TEST(reports, name_the_edge_without_acquire) {
  using giver = hands_over<release>;
  using taker = takes<relaxed>;
  for (const place where : all_places) {
    const std::string report = report_of(verdict::race, together(where, giver(), taker()));
    const std::string edge = behind(report, "missing edge: no acquire where");
    EXPECT_TRUE(says(edge, SIM_LINE(giver::flag_line)));
    EXPECT_TRUE(says(edge, SIM_LINE(taker::flag_line)));
  }
}

struct gives_to_the_block {
  static constexpr int data_line = __LINE__ + 4;
  static constexpr int fence_line = __LINE__ + 4;
  // In a statement each, so that each has a line.
  void operator()(words& at) const {
    at.data = 7;
    target::fence<scope::block>(release);
    word<uint32_t>(at.flag).store(1, relaxed);
  }
};

TEST(reports, name_the_scope_that_is_too_narrow) {
  using taker = takes<acquire>;
  // The part that gives runs on the device: a host has no narrow scopes.
  for (const place where : {place::device, place::from_device}) {
    const std::string report = report_of(verdict::scope_race, together(where, gives_to_the_block(), taker()));
    EXPECT_TRUE(says(report, "scope race: "));
    EXPECT_TRUE(says(report, SIM_LINE(gives_to_the_block::data_line)));
    EXPECT_TRUE(says(report, SIM_LINE(taker::data_line)));
    const std::string edge = behind(report, "missing edge: a scope is too narrow where");
    EXPECT_TRUE(says(edge, "fence release block, step "));
    EXPECT_TRUE(says(edge, "is met by"));
    EXPECT_TRUE(says(edge, SIM_LINE(gives_to_the_block::fence_line)));
    EXPECT_TRUE(says(edge, SIM_LINE(taker::flag_line)));
  }
}

struct counts_in_its_block {
  static constexpr int line = __LINE__ + 1;
  void operator()(words& at) const { target::atomic_ref<uint32_t, scope::block>(at.data).fetch_add(1, relaxed); }
};
struct looks_in_the_device {
  static constexpr int line = __LINE__ + 2;
  void operator()(words& at) const {
    at.seen[0].value = target::atomic_ref<uint32_t, scope::device>(at.data).load(relaxed);
  }
};

TEST(reports, name_the_scopes_of_two_atomic_accesses) {
  const std::string report =
      report_of(verdict::scope_race, together(place::device, counts_in_its_block(), looks_in_the_device()));
  EXPECT_TRUE(says(report, "a scope is too narrow"));
  EXPECT_TRUE(says(report, "wave 0 lane 0, read-modify-write relaxed block of words+0x0 (4 bytes)"));
  EXPECT_TRUE(says(report, SIM_LINE(counts_in_its_block::line)));
  EXPECT_TRUE(says(report, "wave 1 lane 0, load relaxed device of words+0x0 (4 bytes)"));
  EXPECT_TRUE(says(report, SIM_LINE(looks_in_the_device::line)));
  EXPECT_TRUE(
      says(report, "missing edge: both are atomic, but the scope of one does not include the lane of the other"));
}

struct counts_in_the_device {
  static constexpr int line = __LINE__ + 1;
  void operator()(words& at) const { target::atomic_ref<uint32_t, scope::device>(at.data).fetch_add(1, relaxed); }
};

// A compiler likes to make one call of two that end a branch each.
TEST(reports, give_two_calls_that_differ_in_the_scope_a_line_each) {
  const std::string report =
      report_of(verdict::scope_race, together(place::device, counts_in_its_block(), counts_in_the_device()));
  EXPECT_TRUE(says(report, SIM_LINE(counts_in_its_block::line)));
  EXPECT_TRUE(says(report, SIM_LINE(counts_in_the_device::line)));
}

struct writes_here {
  static constexpr int line = __LINE__ + 2;
  [[gnu::noinline]] void operator()(words& at) const {
    at.data = 9;
    word<uint32_t>(at.flag).store(1, release);
  }
};
struct writes_there {
  static constexpr int line = __LINE__ + 2;
  [[gnu::noinline]] void operator()(words& at) const {
    at.data = 9;
    word<uint32_t>(at.flag).store(1, release);
  }
};

// And one function of two that are equal.
TEST(reports, give_two_equal_functions_a_line_each) {
  const std::string report = report_of(verdict::race, together(place::device, writes_here(), writes_there()));
  EXPECT_TRUE(says(report, SIM_LINE(writes_here::line)));
  EXPECT_TRUE(says(report, SIM_LINE(writes_there::line)));
}

/// The host hands data over to lane 0, which tells lane 1 in a way that orders nothing.
template <bool Shared>
void told_by_a_broadcast() {
  device host;
  auto* const at = host.allocate_shared<words>(1, "words");
  auto writer = host.spawn_host("writer", [at] {
    at->data = 7;
    word<uint32_t>(at->flag).store(1, release);
  });
  host.launch({.blocks = 1, .waves = 1, .lanes = 2}, [at] {
    if constexpr (Shared) {
      if (target::lane_id() == 0) at->other = 1;
      target::broadcast(0b11, uint32_t{1});
      if (target::lane_id() == 1) at->seen[0].value = at->other;
    } else {
      if (target::lane_id() == 0)
        while (word<uint32_t>(at->flag).load(acquire) == 0) target::pause();
      target::broadcast(0b11, uint32_t{1});
      if (target::lane_id() == 1) at->seen[0].value = at->data;
    }
  });
  host.synchronize();
  writer.join();
}

TEST(reports, tell_which_lane_of_the_wave_had_acquired_it_and_that_a_broadcast_orders_nothing) {
  const std::string report = report_of(verdict::race, told_by_a_broadcast<false>);
  EXPECT_TRUE(says(report,
                   "wave 0 lane 0 had acquired it, but between lanes of a wave a broadcast, a ballot and a shuffle "
                   "order nothing: sync_lanes, which CUDA calls __syncwarp, would"));
  EXPECT_TRUE(says(report_of(verdict::race, told_by_a_broadcast<true>),
                   "both lanes are of wave 0, and between lanes of a wave a broadcast, a ballot and a shuffle order "
                   "nothing: sync_lanes, which CUDA calls __syncwarp, would"));
}

}  // namespace
}  // namespace heddle::sim::tests::race_report_test
