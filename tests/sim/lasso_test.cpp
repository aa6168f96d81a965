// States that come back, and states that only look as if they did.
#include <heddle/sim/base/lasso.h>

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace heddle::sim::tests {
namespace {

/// A machine of some words, of which the test says how they go on.
struct toy {
  std::vector<uint64_t> words = std::vector<uint64_t>(4);
  uint64_t fact = 0;
  uint64_t looks = 0;

  bool tell(state_reader& to) const { return to.fact(fact) && to.bytes(words.data(), words.size() * sizeof(uint64_t)); }
  bool comes_back(lasso& by) {
    bool fresh = false;
    return by.returns(
        {.turns = ++looks, .steps = looks, .changes = 0}, [&](state_reader& to) { return tell(to); }, fresh);
  }
};

/// After how many looks a cycle of this length is found, which begins after a stem; 0 when it is not in 5,000.
uint64_t found_after(uint64_t stem, uint64_t length) {
  lasso by;
  by.reset();
  toy machine;
  for (uint64_t n = 0; n < 5000; ++n) {
    machine.words[2] = n < stem ? n : stem + (n - stem) % length;
    if (machine.comes_back(by)) {
      EXPECT_EQ((machine.looks - by.anchor().turns) % length, 0u);
      return machine.looks;
    }
  }
  return 0;
}

TEST(lasso, finds_cycles_of_any_length_behind_stems_of_any_length) {
  for (const uint64_t stem : {0u, 1u, 50u, 700u})
    for (const uint64_t length : {1u, 2u, 3u, 31u, 32u, 33u, 500u}) {
      const uint64_t after = found_after(stem, length);
      EXPECT_GT(after, 0u) << stem << " " << length;
      EXPECT_LE(after, 4 * (stem + length) + 64) << stem << " " << length;
    }
}

TEST(lasso, what_never_comes_back_is_never_found) {
  lasso by;
  by.reset();
  toy machine;
  for (uint64_t n = 0; n < 3000; ++n) {
    machine.words[3] = n;
    EXPECT_FALSE(machine.comes_back(by));
  }
}

TEST(lasso, a_fact_a_byte_and_the_place_of_bytes_make_a_difference) {
  lasso by;
  by.reset();
  toy machine;
  EXPECT_FALSE(machine.comes_back(by));
  machine.fact = 1;
  EXPECT_FALSE(machine.comes_back(by));
  machine.fact = 0;
  reinterpret_cast<unsigned char*>(machine.words.data())[31] = 1;
  EXPECT_FALSE(machine.comes_back(by));
  reinterpret_cast<unsigned char*>(machine.words.data())[31] = 0;
  std::vector<uint64_t> moved = machine.words;
  machine.words.swap(moved);
  EXPECT_FALSE(machine.comes_back(by));
  machine.words.swap(moved);
  EXPECT_TRUE(machine.comes_back(by));
}

TEST(lasso, fewer_or_more_things_are_another_state) {
  lasso by;
  by.reset();
  toy machine;
  EXPECT_FALSE(machine.comes_back(by));
  machine.words.resize(3);
  EXPECT_FALSE(machine.comes_back(by));
}

TEST(lasso, after_a_change_that_cannot_be_seen_only_a_later_copy_counts) {
  lasso by;
  by.reset();
  toy machine;
  EXPECT_FALSE(machine.comes_back(by));
  EXPECT_TRUE(machine.comes_back(by));
  by.blind();
  EXPECT_FALSE(machine.comes_back(by));
  EXPECT_NE(by.reason(), "");
  bool found = false;
  for (int n = 0; n < 100; ++n) found = found || machine.comes_back(by);
  EXPECT_TRUE(found);
}

TEST(lasso, a_variable_belongs_to_the_state_from_its_first_change_on) {
  lasso by;
  by.reset();
  toy machine;
  static uint32_t variable = 0;
  EXPECT_FALSE(machine.comes_back(by));
  variable = 1;
  by.include(&variable, sizeof variable);
  EXPECT_FALSE(machine.comes_back(by)) << "what it was before is not known";
  EXPECT_TRUE(machine.comes_back(by));
  variable = 2;
  by.include(&variable, sizeof variable);
  EXPECT_FALSE(machine.comes_back(by));
  variable = 1;
  EXPECT_TRUE(machine.comes_back(by));
}

TEST(lasso, a_state_that_is_too_large_is_refused_with_a_reason) {
  lasso by;
  by.reset();
  toy machine;
  machine.words.resize(lasso::state_bytes_most / sizeof(uint64_t) + 1);
  EXPECT_FALSE(machine.comes_back(by));
  EXPECT_FALSE(machine.comes_back(by));
  EXPECT_EQ(by.reason(), "its state is larger than 64 MiB and was not compared");
  by.reset();
  EXPECT_EQ(by.reason(), "");
  machine.words.resize(4);
  machine.comes_back(by);
  EXPECT_TRUE(machine.comes_back(by));
}

}  // namespace
}  // namespace heddle::sim::tests
