// Memory that the device caches and that is not coherent: what its lanes see of it, and when they see it anew.
#include <heddle/sim/cached.h>

#include "run.h"

namespace heddle::sim::tests {
namespace {

constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
constexpr auto relaxed = memory_order::relaxed;

const std::vector<std::string> fidelities = {"fidelity=interleaving", "fidelity=link", "fidelity=scoped"};

/// A lane waits for the host to raise a word in a line that it has looked at before.
program waits_for_host(bool cached, bool modifies = false) {
  return [=] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(64, "words");
    if (cached) runtime::map_cached(words);
    host.launch({.blocks = 1, .waves = 1, .lanes = 1}, [=] {
      (void)word<uint32_t>(words[1]).load(acquire);
      word<uint32_t>(words[32]).store(1, release);
      if (modifies)
        while (word<uint32_t>(words[0]).fetch_add(0, acquire) == 0) target::pause();
      else
        while (word<uint32_t>(words[0]).load(acquire) == 0) target::pause();
    });
    while (word<uint32_t>(words[32]).load(acquire) == 0) target::pause();
    word<uint32_t>(words[0]).store(1, release);
    host.synchronize();
  };
}

TEST(cached_memory, shows_an_old_line_for_ever) {
  for (const std::string& fidelity : fidelities) {
    machine on({fidelity});
    EXPECT_TRUE(always(verdict::deadlock, on.run_many(waits_for_host(true), 100))) << fidelity;
    EXPECT_TRUE(always(verdict::ok, on.run_many(waits_for_host(false), 100))) << fidelity;
  }
}

TEST(cached_memory, is_passed_by_read_modify_writes) {
  for (const std::string& fidelity : fidelities) {
    machine on({fidelity});
    EXPECT_TRUE(always(verdict::ok, on.run_many(waits_for_host(true, true), 100))) << fidelity;
  }
}

TEST(cached_memory, is_one_among_the_lanes_of_the_device_and_forgotten_by_its_next_kernel) {
  const program body = [] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(2, "words");
    runtime::map_cached(words);
    host.launch({.blocks = 2, .waves = 1, .lanes = 1}, [=] {
      if (target::block_id() == 0)
        word<uint32_t>(words[0]).store(1, release);
      else
        while (word<uint32_t>(words[0]).load(acquire) == 0) target::pause();
    });
    host.synchronize();
    word<uint32_t>(words[0]).store(2, relaxed);
    host.launch({.blocks = 1, .waves = 1, .lanes = 1}, [=] { SIM_CHECK(word<uint32_t>(words[0]).load(acquire) == 2); });
    host.synchronize();
  };
  for (const std::string& fidelity : fidelities) {
    machine on({fidelity});
    EXPECT_TRUE(always(verdict::ok, on.run_many(body, 200))) << fidelity;
  }
}

TEST(cached_memory, must_be_an_allocation) {
  machine on;
  const outcome ended = on.explain([] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(2, "words");
    runtime::map_cached(words + 1);
  });
  EXPECT_EQ(ended.verdict, verdict::memory);
}

}  // namespace
}  // namespace heddle::sim::tests
