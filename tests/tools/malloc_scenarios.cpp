// Threads of the host with memory from malloc(), as a C library keeps it: it lies elsewhere in each process.
#include <heddle/tools/scenario.h>

#include <array>
#include <cstdlib>

namespace heddle::tests {
namespace {

void keeps_malloc(const parameters& set) {
  device on;
  const uint32_t rounds = set.count("rounds");
  std::array<uint32_t, 2> counts{};
  const auto counting = [&](uint32_t me) {
    return [&counts, rounds, me] {
      auto* const kept = static_cast<uint32_t*>(std::malloc(sizeof(uint32_t)));
      HEDDLE_CHECK(kept != nullptr, "no memory");
      *kept = 0;
      for (uint32_t n = 0; n < rounds; ++n)
        *kept +=
            target::atomic_ref<uint32_t, scope::system>(counts[n % 2]).fetch_add(1 + me, memory_order::relaxed) % 2;
      HEDDLE_CHECK(*kept <= rounds, "too many");
      std::free(kept);
    };
  };
  auto first = on.spawn_host("first", counting(0));
  auto second = on.spawn_host("second", counting(1));
  first.join();
  second.join();
}

const bool registered = register_scenario(
    keeps_malloc, {.name = "keeps.malloc",
                   .summary = "Two threads of the host add to two words, each with memory from malloc().",
                   .parameters = {parameter::number("rounds", 5, 1, 100, "", "sums of each thread")}});

}  // namespace
}  // namespace heddle::tests
