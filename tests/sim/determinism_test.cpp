// Same program, same settings, same seed: the same run, to the bit; whatever ran before, and in every process.
#include "fixed_program.h"

#include <set>

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
