// The meter of host threads: what it counts, and what it refuses in one line.
#include <bench/latency/meter.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace heddle::bench {
namespace {

constexpr effort brief{.rounds = 2, .round_seconds = 1e-3};

class opened : public testing::Test {
 protected:
  void SetUp() override {
    result<std::unique_ptr<meter>> found = open_meter(0);
    ASSERT_TRUE(found);
    on = std::move(found.value());
  }

  std::unique_ptr<meter> on;
};

TEST_F(opened, measures_every_baseline_and_every_protocol) {
  meter_facts facts = on->facts();
  ASSERT_FALSE(facts.protocols.empty());
  ASSERT_FALSE(facts.baselines.empty());
  std::vector<std::string> all = facts.protocols;
  all.insert(all.end(), facts.baselines.begin(), facts.baselines.end());
  for (const std::string& each : all) {
    result<measured> found = on->measure({.protocol = each}, brief);
    ASSERT_TRUE(found) << each;
    EXPECT_FALSE(found.value().call_ns.empty()) << each;
    EXPECT_TRUE(std::is_sorted(found.value().call_ns.begin(), found.value().call_ns.end())) << each;
    EXPECT_GT(found.value().calls_per_second, 0) << each;
    EXPECT_EQ(found.value().exchange_ns.empty(), each == "launch" || each == "copy") << each;
    EXPECT_EQ(found.value().rounds.size(), each == "launch" || each == "copy" ? 0 : brief.rounds) << each;
  }
}

TEST_F(opened, measures_along_every_axis) {
  for (const point& at : {point{.waves = 3}, point{.lanes = 8}, point{.lanes = 32}, point{.bytes = 64},
                          point{.bytes = 72}, point{.lanes = 8, .bytes = 1000}, point{.waves = 4, .servers = 2},
                          point{.waves = 2, .lanes = 8, .bytes = 512, .servers = 2, .mailbox = placement::device}}) {
    result<measured> found = on->measure(at, brief);
    ASSERT_TRUE(found) << found.why().line();
    // Every wave makes at least one timed call in each round.
    EXPECT_GE(found.value().call_ns.size(), size_t{at.waves} * brief.rounds);
  }
}

TEST_F(opened, measures_servers_that_sleep_however_rarely_clients_ring) {
  for (const char* const protocol : {"ports", "slots"})
    for (const rpc::ringing rings : {rpc::ringing(0), rpc::ringing(1), rpc::ringing(1, true), rpc::ringing(2)}) {
      result<measured> found = on->measure({.protocol = protocol, .waves = 2, .sleeps = true, .rings = rings}, brief);
      ASSERT_TRUE(found) << found.why().line();
      EXPECT_GE(found.value().call_ns.size(), size_t{2} * brief.rounds);
      EXPECT_GT(found.value().server_ns_per_call, 0);
      EXPECT_GT(found.value().sleeps_per_call, 0);
    }
}

TEST_F(opened, refuses_what_it_cannot_measure) {
  for (const point& at :
       {point{.protocol = "no-such-protocol"}, point{.waves = 100'000}, point{.lanes = 3}, point{.lanes = 65},
        point{.bytes = 12}, point{.bytes = 0}, point{.protocol = "offload", .sleeps = true}}) {
    const result<measured> found = on->measure(at, brief);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.why().line().find('\n'), std::string::npos);
    EXPECT_EQ(found.why().name, "not measured");
  }
}

TEST(meter, of_a_device_that_is_not_there_is_an_error) { EXPECT_FALSE(open_meter(1)); }

// -- Percentiles by nearest rank.

TEST(percentile, is_a_sample_that_so_many_do_not_exceed) {
  std::vector<double> hundred;
  for (int n = 1; n <= 100; ++n) hundred.push_back(n);
  EXPECT_EQ(percentile(hundred, 0), 1);
  EXPECT_EQ(percentile(hundred, 0.01), 1);
  EXPECT_EQ(percentile(hundred, 0.5), 50);
  EXPECT_EQ(percentile(hundred, 0.501), 51);
  EXPECT_EQ(percentile(hundred, 0.99), 99);
  EXPECT_EQ(percentile(hundred, 0.999), 100);
  EXPECT_EQ(percentile(hundred, 1), 100);
}

TEST(percentile, of_one_sample_is_that_sample) {
  for (const double share : {0.0, 0.5, 1.0}) EXPECT_EQ(percentile({7}, share), 7);
}

}  // namespace
}  // namespace heddle::bench
