// Same program, same settings, same seed: the same run, to the bit; whatever ran before, and in every process.
#include <heddle/sim/cached.h>

#include <mutex>
#include <set>

#include "fixed_program.h"

namespace heddle::sim::tests {
namespace {

void program_with_a_hang() {
  device host;
  auto* const flag = host.allocate_shared<uint32_t>(100, "flag");
  host.launch({.blocks = 3, .waves = 2, .lanes = 5}, [flag] {
    flag[target::lane_id()] = 1;
    while (word<uint32_t>(flag[50]).load(memory_order::acquire) == 0) target::pause();
  });
  host.synchronize();
}

TEST(determinism, a_seed_gives_the_same_run_however_often_and_whatever_ran_before) {
  for (const std::string& strategy : all_strategies()) {
    machine on({}, strategy);
    const outcome first = on.run(fixed_program, 7);
    ASSERT_EQ(first.verdict, verdict::ok) << first.message;
    for (uint64_t n = 0; n < 200; ++n) {
      if (n % 3 == 0) on.run(program_with_a_hang, n);
      if (n % 5 == 0) on.run([] { throw 1; }, n);
      const outcome again = on.run(fixed_program, 7);
      ASSERT_EQ(again.digest, first.digest) << strategy << ", repetition " << n;
      ASSERT_EQ(again.steps, first.steps);
    }
  }
}

TEST(determinism, an_explained_run_is_the_same_run) {
  machine on;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const outcome plain = on.run(fixed_program, seed);
    const outcome explained = on.explain(fixed_program, seed);
    EXPECT_EQ(explained.digest, plain.digest) << "seed " << seed;
    EXPECT_EQ(explained.steps, plain.steps) << "seed " << seed;
    EXPECT_EQ(on.run(program_with_a_hang, seed).digest, on.explain(program_with_a_hang, seed).digest);
  }
}

TEST(determinism, a_fresh_machine_makes_the_same_run_as_one_that_has_been_used) {
  machine used;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    used.run(program_with_a_hang, seed);
    machine fresh;
    EXPECT_EQ(used.run(fixed_program, seed).digest, fresh.run(fixed_program, seed).digest) << "seed " << seed;
  }
}

/// Leaves behind what most programs never have: memory that the device caches, a stream that waits for an event, a mutex that is held.
void program_that_leaves_much_behind() {
  device host;
  auto* const words = host.allocate_shared<uint64_t>(64, "words");
  auto* const lock = new (host.allocate_shared<std::mutex>(1, "lock")) std::mutex;
  runtime::map_cached(words);
  const device::stream in = host.create_stream();
  host.launch(
      {.blocks = 1, .waves = 1, .lanes = 2},
      [words] { (void)word<uint64_t>(words[target::lane_id()]).load(memory_order::relaxed); }, in);
  host.synchronize(in);
  lock->lock();
}

/// Its memory lies where that of the program above lay: it hangs or sees an old value where any of that is left.
void program_in_its_place() {
  device host;
  auto* const words = host.allocate_shared<uint64_t>(64, "words");
  auto* const lock = new (host.allocate_shared<std::mutex>(1, "lock")) std::mutex;
  words[0] = words[1] = 1;
  host.launch({.blocks = 1, .waves = 1, .lanes = 2}, [words] {
    while (word<uint64_t>(words[target::lane_id()]).load(memory_order::acquire) == 0) target::pause();
  });
  const std::lock_guard held(*lock);
  host.synchronize();
}

TEST(determinism, nothing_of_an_earlier_run_shows_in_a_later_one) {
  for (const std::string& strategy : all_strategies()) {
    machine used({}, strategy);
    machine fresh({}, strategy);
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      ASSERT_EQ(used.run(program_that_leaves_much_behind, seed).verdict, verdict::ok);
      const outcome expected = fresh.run(program_in_its_place, seed);
      const outcome again = used.run(program_in_its_place, seed);
      EXPECT_EQ(again.verdict, verdict::ok) << strategy << ", seed " << seed << ": " << again.message;
      EXPECT_EQ(again.digest, expected.digest) << strategy << ", seed " << seed;
      EXPECT_EQ(again.steps, expected.steps) << strategy << ", seed " << seed;
    }
  }
}

TEST(determinism, an_outcome_tells_nothing_of_an_earlier_one) {
  machine on;
  const outcome hang = on.explain(program_with_a_hang);
  ASSERT_NE(hang.verdict, verdict::ok);
  ASSERT_FALSE(hang.message.empty() || hang.report.empty() || hang.where.empty() || hang.steps_taken.empty());
  ASSERT_FALSE(hang.waiting.empty() || hang.hang.empty());
  const outcome ended = on.run(fixed_program, 7);
  EXPECT_EQ(ended.verdict, verdict::ok);
  EXPECT_EQ(ended.where + ended.message + ended.report + ended.waits + ended.hang, "");
  EXPECT_TRUE(ended.steps_taken.empty());
  EXPECT_TRUE(ended.waiting.empty());
}

TEST(determinism, other_seeds_other_programs_and_other_values_make_other_runs) {
  machine on;
  std::set<uint64_t> digests;
  for (uint64_t seed = 1; seed <= 200; ++seed) digests.insert(on.run(fixed_program, seed).digest);
  EXPECT_GT(digests.size(), 195u);
  const auto stores = [&](uint32_t value, uint32_t at, size_t count) {
    return on.run([=] {
      device host;
      host.allocate_shared<uint32_t>(count, "words")[at] = value;
    });
  };
  const uint64_t digest = stores(1, 0, 8).digest;
  EXPECT_NE(stores(2, 0, 8).digest, digest);
  EXPECT_NE(stores(1, 1, 8).digest, digest);
  EXPECT_EQ(stores(1, 0, 8).digest, digest);
}

std::string printed_by_another_process() {
  std::string text;
  FILE* const process = popen(HEDDLE_PRINT_DIGEST, "r");
  if (process == nullptr) return text;
  char part[256];
  while (std::fgets(part, sizeof part, process) != nullptr) text += part;
  return pclose(process) == 0 ? text : "";
}

TEST(determinism, another_process_that_lies_elsewhere_in_memory_makes_the_same_run) {
  const std::string first = printed_by_another_process();
  const size_t digests = first.find('\n');
  ASSERT_NE(digests, std::string::npos) << first;
  bool elsewhere = false;
  for (int n = 0; n < 5; ++n) {
    const std::string again = printed_by_another_process();
    EXPECT_EQ(again.substr(0, digests), first.substr(0, digests));
    elsewhere = elsewhere || again.substr(digests) != first.substr(digests);
  }
  if (!elsewhere) GTEST_SKIP() << "this system puts every process at the same addresses";
}

}  // namespace
}  // namespace heddle::sim::tests
