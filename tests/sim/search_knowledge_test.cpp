// Pairs of states that differ only in what is known in them, the one in which more is known met first: a search that took it for the other one would
// miss an outcome, or a race.
#include <gtest/gtest.h>

#include <array>

#include "explored.h"

namespace heddle::sim::tests {
namespace {

constexpr memory_order acquire = memory_order::acquire;
constexpr memory_order release = memory_order::release;

/// The words of a program, each in a line of its own, and what it has found.
struct shared_words {
  static constexpr uint32_t most = 8;
  uint32_t* words = nullptr;
  uint32_t* found = nullptr;

  word<uint32_t> operator[](uint32_t n) const { return word<uint32_t>(words[size_t{16} * n]); }
  uint32_t& plain(uint32_t n) const { return words[size_t{16} * n]; }
  void wait_for(uint32_t n) const {
    while ((*this)[n].load(relaxed) == 0) target::pause();
  }
};
// What the words are for. A load of `message` finds 1 in any case, and has acquired or not.
constexpr uint32_t data = 0, message = 1, flag = 2, last = 3, second = 4, seen = 5;

struct knowledge {
  const char* name;
  uint32_t blocks;
  void (*lane)(uint32_t block, const shared_words& in);
  const char* outcome;  ///< that a run must show; null: a race
};
std::ostream& operator<<(std::ostream& to, const knowledge& one) { return to << one.name; }

// The lane that is looked at stores to `last` before its last operation, and another one waits for that: so it never is alone, and there is a state.
constexpr std::array<knowledge, 10> all = {{
    {"a_store", 2,
     [](uint32_t block, const shared_words& in) {
       if (block == 0) {
         in[data].store(1, relaxed);
         in[message].store(1, release);
         in[flag].store(1, relaxed);
         in.wait_for(last);
         in[message].store(1, relaxed);
         return;
       }
       in.found[0] = in[flag].load(relaxed);
       (void)in[message].load(acquire);
       in[last].store(1, relaxed);
       in.found[1] = in[data].load(relaxed);
     },
     "1 0 0"},
    {"a_store_that_a_third_lane_does_not_know", 3,
     [](uint32_t block, const shared_words& in) {
       if (block == 0) {
         in[data].store(1, relaxed);
         in[message].store(1, release);
         in[flag].store(1, relaxed);
         in.wait_for(last);
         return;
       }
       if (block == 1) {
         in.wait_for(last);
         (void)in[data].load(relaxed);
         return;
       }
       in.found[0] = in[flag].load(relaxed);
       (void)in[message].load(acquire);
       in[last].store(1, relaxed);
       in.found[1] = in[data].load(relaxed);
     },
     "1 0 0"},
    {"a_load_before_a_plain_store", 2,
     [](uint32_t block, const shared_words& in) {
       if (block == 0) {
         in.found[2] = in.plain(data);
         in[message].store(1, release);
         in[flag].store(1, relaxed);
         in.wait_for(last);
         in[message].store(2, relaxed);
         in.wait_for(seen);
         in[flag].store(1, relaxed);
         return;
       }
       const bool is_set = in[flag].load(relaxed) != 0;
       (void)in[message].load(acquire);
       in[last].store(1, relaxed);
       // The message is known in any case then, and not what came before it.
       while (in[message].load(relaxed) != 2) target::pause();
       in[seen].store(1, relaxed);
       if (is_set) in.plain(data) = 1;
     },
     nullptr},
    {"a_load_before_a_plain_store_that_a_third_lane_does_not_know", 3,
     [](uint32_t block, const shared_words& in) {
       if (block == 0) {
         in.found[2] = in.plain(data);
         in[message].store(1, release);
         in[flag].store(1, relaxed);
         in.wait_for(last);
         in[message].store(2, relaxed);
         return;
       }
       if (block == 1) {
         in.wait_for(seen);
         in[flag].store(1, relaxed);
         return;
       }
       const bool is_set = in[flag].load(relaxed) != 0;
       (void)in[message].load(acquire);
       in[last].store(1, relaxed);
       // The message is known in any case then, and not what came before it.
       while (in[message].load(relaxed) != 2) target::pause();
       in[seen].store(1, relaxed);
       if (is_set) in.plain(data) = 1;
     },
     nullptr},
    // Lane 1 hands on what it knows, or does not, and knows the store in the end.
    {"what_a_store_hands_on", 3,
     [](uint32_t block, const shared_words& in) {
       if (block == 0) {
         in[data].store(1, relaxed);
         in[message].store(1, release);
         in[flag].store(1, release);
         in.wait_for(last);
         return;
       }
       if (block == 1) {
         in.wait_for(flag);
         (void)in[message].load(acquire);
         in[second].store(1, release);
         (void)in[flag].load(acquire);
         in[seen].store(1, relaxed);
         in.wait_for(last);
         return;
       }
       in.wait_for(seen);
       in[last].store(1, relaxed);
       in.found[0] = in[second].load(acquire);
       in.found[1] = in[data].load(relaxed);
     },
     "1 0 0"},
    {"what_a_fence_will_hand_on", 3,
     [](uint32_t block, const shared_words& in) {
       if (block == 0) {
         in[data].store(1, relaxed);
         in[message].store(1, release);
         in[flag].store(1, release);
         in.wait_for(last);
         return;
       }
       if (block == 1) {
         in.wait_for(flag);
         (void)in[message].load(acquire);
         target::fence<scope::system>(release);
         (void)in[flag].load(acquire);
         in[seen].store(1, relaxed);
         in[second].store(1, relaxed);
         in.wait_for(last);
         return;
       }
       in.wait_for(seen);
       in.found[0] = in[second].load(acquire);
       in[last].store(1, relaxed);
       in.found[1] = in[data].load(relaxed);
     },
     "1 0 0"},
    {"what_a_fence_will_acquire", 3,
     [](uint32_t block, const shared_words& in) {
       if (block == 0) {
         in[data].store(1, relaxed);
         in[message].store(1, release);
         in[flag].store(1, release);
         in.wait_for(last);
         return;
       }
       if (block == 1) {
         in.wait_for(flag);
         (void)in[message].load(acquire);
         in[second].store(1, release);
         (void)in[flag].load(acquire);
         in.wait_for(seen);
         // Hides the one that hands something on.
         in[second].store(2, relaxed);
         in.wait_for(last);
         return;
       }
       in.found[0] = in[second].load(relaxed);
       in[seen].store(1, relaxed);
       while (in[second].load(relaxed) != 2) target::pause();
       in[last].store(1, relaxed);
       target::fence<scope::system>(acquire);
       in.found[1] = in[data].load(relaxed);
     },
     "1 0 0"},
    // It is known as well to a lane that has read it, or one behind it.
    {"a_store_that_was_read", 2,
     [](uint32_t block, const shared_words& in) {
       if (block == 0) {
         in[message].store(2, relaxed);
         in[message].store(1, relaxed);
         in[flag].store(1, relaxed);
         in.wait_for(last);
         in[flag].store(1, relaxed);
         return;
       }
       in.found[0] = in[flag].load(relaxed);
       in.found[1] = in[message].load(relaxed);
       in[last].store(1, relaxed);
       in.found[2] = in[message].load(relaxed);
     },
     "1 1 2"},
    {"a_store_that_was_read_and_a_third_lane_does_not_know", 3,
     [](uint32_t block, const shared_words& in) {
       if (block == 0) {
         in[message].store(2, relaxed);
         in[message].store(1, relaxed);
         in[flag].store(1, relaxed);
         in.wait_for(last);
         return;
       }
       if (block == 1) {
         in.wait_for(last);
         (void)in[message].load(relaxed);
         return;
       }
       in.found[0] = in[flag].load(relaxed);
       in.found[1] = in[message].load(relaxed);
       in[last].store(1, relaxed);
       in.found[2] = in[message].load(relaxed);
     },
     "1 1 2"},
    {"a_store_that_was_read_before_another_one_hands_on", 3,
     [](uint32_t block, const shared_words& in) {
       if (block == 0) {
         in[message].store(2, relaxed);
         in[message].store(1, relaxed);
         in[flag].store(1, relaxed);
         in.wait_for(last);
         return;
       }
       if (block == 1) {
         in.wait_for(flag);
         in.found[2] = in[message].load(relaxed);
         in[second].store(1, release);
         (void)in[message].load(relaxed);
         in[seen].store(1, relaxed);
         in.wait_for(last);
         return;
       }
       in.wait_for(seen);
       in[last].store(1, relaxed);
       in.found[0] = in[second].load(acquire);
       in.found[1] = in[message].load(relaxed);
     },
     "1 2 1"},
}};

class search_knowledge : public testing::TestWithParam<knowledge> {};

TEST_P(search_knowledge, what_is_not_known_may_still_be_missed) {
  const knowledge& tested = GetParam();
  std::string left;
  const auto body = [&] {
    device machine;
    auto* const words = machine.allocate_shared<uint32_t>(size_t{16} * shared_words::most, "words");
    auto* const found = machine.allocate_shared<uint32_t>(3, "found");
    const shared_words in{words, found};
    in.plain(message) = 1;
    machine.launch({.blocks = tested.blocks, .waves = 1, .lanes = 1}, [=] { tested.lane(target::block_id(), in); });
    machine.synchronize();
    left = std::to_string(found[0]) + ' ' + std::to_string(found[1]) + ' ' + std::to_string(found[2]);
    machine.free(words);
    machine.free(found);
  };
  explorer_of searched(body, scoped, [&] { return left; });
  const explored made = searched.all();
  search_options each_state;
  each_state.cover_states = false;
  const explored whole = searched.all(each_state);
  ASSERT_TRUE(made.search.complete) << made.search.left_out;
  ASSERT_TRUE(whole.search.complete) << whole.search.left_out;
  EXPECT_EQ(made.notes, whole.notes);
  EXPECT_EQ(made.verdicts, whole.verdicts);
  if (tested.outcome == nullptr)
    EXPECT_TRUE(made.verdicts.contains(verdict::race));
  else
    EXPECT_TRUE(made.notes.contains(tested.outcome));
}

INSTANTIATE_TEST_SUITE_P(of, search_knowledge, testing::ValuesIn(all),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace heddle::sim::tests
