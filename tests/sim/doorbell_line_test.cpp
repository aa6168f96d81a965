// Rings under way, without a machine around them: what may become of each, and which arrive together.
#include <gtest/gtest.h>
#include <heddle/sim/sync/doorbell.h>

namespace heddle::sim::tests {
namespace {

doorbell_line line_of(const std::string& behaviour, const std::string& steps = "256") {
  parameters values(doorbell_parameters());
  EXPECT_FALSE(values.set("doorbells=" + behaviour));
  EXPECT_FALSE(values.set("doorbells.steps=" + steps));
  doorbell_line line;
  line.reset(doorbell_settings::from(values));
  return line;
}

std::vector<uint64_t> numbers_of(const std::vector<doorbell_line::ring>& rings) {
  std::vector<uint64_t> numbers;
  for (const doorbell_line::ring& each : rings) numbers.push_back(each.number);
  return numbers;
}

using numbers = std::vector<uint64_t>;

TEST(doorbell_line_test, the_first_fate_is_that_a_ring_counts_once_and_at_once) {
  for (const char* behaviour : {"delivered", "delayed", "dropped", "duplicated", "coalesced"}) {
    const doorbell_line::fate usual = line_of(behaviour).fate_of(0);
    EXPECT_EQ(usual.counts_now, 1u) << behaviour;
    EXPECT_FALSE(usual.under_way) << behaviour;
  }
  EXPECT_EQ(line_of("delivered").fates(), 1u);
}

TEST(doorbell_line_test, a_ring_may_be_lost_or_count_twice) {
  const doorbell_line dropped = line_of("dropped");
  ASSERT_EQ(dropped.fates(), 2u);
  EXPECT_EQ(dropped.fate_of(1).counts_now, 0u);
  EXPECT_FALSE(dropped.fate_of(1).under_way);
  const doorbell_line duplicated = line_of("duplicated");
  ASSERT_EQ(duplicated.fates(), 2u);
  EXPECT_EQ(duplicated.fate_of(1).counts_now, 2u);
}

TEST(doorbell_line_test, delays_are_powers_of_two_up_to_the_longest) {
  const auto delays = [](const char* steps) {
    const doorbell_line line = line_of("delayed", steps);
    std::vector<uint64_t> all;
    for (uint32_t answer = 1; answer < line.fates(); ++answer) {
      EXPECT_TRUE(line.fate_of(answer).under_way);
      EXPECT_EQ(line.fate_of(answer).counts_now, 0u);
      all.push_back(line.fate_of(answer).steps);
    }
    return all;
  };
  EXPECT_EQ(delays("1"), (numbers{1}));
  EXPECT_EQ(delays("7"), (numbers{1, 2, 4}));
  EXPECT_EQ(delays("8"), (numbers{1, 2, 4, 8}));
}

TEST(doorbell_line_test, rings_arrive_when_they_are_due) {
  int bell = 0;
  doorbell_line line = line_of("delayed");
  EXPECT_EQ(line.next_due(), doorbell_line::never);
  EXPECT_TRUE(line.take(doorbell_line::never).empty());
  line.send(&bell, nullptr, 1, 20);
  line.send(&bell, nullptr, 2, 10);
  EXPECT_EQ(line.next_due(), 10u);
  EXPECT_TRUE(line.take(9).empty());
  EXPECT_EQ(numbers_of(line.take(10)), (numbers{1}));
  EXPECT_EQ(line.next_due(), 20u);
  EXPECT_TRUE(line.take(19).empty());
  EXPECT_EQ(numbers_of(line.take(1000)), (numbers{0}));
  EXPECT_EQ(line.next_due(), doorbell_line::never);
}

TEST(doorbell_line_test, what_is_under_way_to_one_bell_arrives_as_one) {
  int bells[2] = {};
  doorbell_line line = line_of("coalesced");
  line.send(&bells[0], nullptr, 0, 30);
  line.send(&bells[1], nullptr, 0, 20);
  line.send(&bells[0], nullptr, 0, 10);
  EXPECT_EQ(numbers_of(line.take(10)), (numbers{0, 2}));
  EXPECT_EQ(line.next_due(), 20u);
  EXPECT_EQ(numbers_of(line.take(20)), (numbers{1}));
}

TEST(doorbell_line_test, late_rings_that_do_not_coalesce_arrive_one_by_one) {
  int bell = 0;
  doorbell_line line = line_of("delayed");
  line.send(&bell, nullptr, 0, 10);
  line.send(&bell, nullptr, 0, 10);
  EXPECT_EQ(numbers_of(line.take(10)), (numbers{0}));
  EXPECT_EQ(numbers_of(line.take(10)), (numbers{1}));
}

TEST(doorbell_line_test, a_new_run_begins_without_rings) {
  int bell = 0;
  doorbell_line line = line_of("delayed");
  line.send(&bell, nullptr, 0, 10);
  line.reset({.behaviour = doorbell_behaviour::delayed, .steps_most = 4});
  EXPECT_EQ(line.next_due(), doorbell_line::never);
  EXPECT_TRUE(line.take(doorbell_line::never).empty());
  EXPECT_EQ(line.send(&bell, nullptr, 0, 10), 0u);
}

}  // namespace
}  // namespace heddle::sim::tests
