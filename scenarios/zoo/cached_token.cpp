// A token that another agent raises lies in memory that the waiting one caches, and nothing keeps the cache coherent: the wave looks at the
// same old line for ever.
//
// mscclpp #711 (b2d96e8b): a macro was not defined in one file, and a token was allocated as cached memory. Smallest: 1 wave that waits, 1 agent
// that raises; here the host. For the simulator alone: what such memory does on a real machine is not known beforehand.
#include <heddle/sim/cached.h>

#include "../ports.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

struct token_kernel {
  uint32_t* tokens;
  uint32_t calls;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < calls; ++call) {
      // Acquire pairs with the release of the host.
      while (shared_word<uint32_t>(tokens[0]).load(memory_order::acquire) <= call) target::pause();
      // Release pairs with the acquire of the host.
      shared_word<uint32_t>(tokens[64]).store(call + 1, memory_order::release);
    }
  }
};

void run_token(const parameters& set) {
  device on;
  auto* const tokens = on.allocate_shared<uint32_t>(128, "tokens");
  if (!zoo::is_fixed(set)) sim::runtime::map_cached(tokens);
  const uint32_t calls = set.count("calls");
  auto raising = on.spawn_host("peer", [tokens, calls] {
    for (uint32_t call = 0; call < calls; ++call) {
      shared_word<uint32_t>(tokens[0]).store(call + 1, memory_order::release);
      while (shared_word<uint32_t>(tokens[64]).load(memory_order::acquire) <= call) target::pause();
    }
  });
  on.launch({.blocks = 1, .waves = 1, .lanes = 1}, token_kernel{tokens, calls});
  on.synchronize();
  raising.join();
}

// With one call the first look may come late enough.
scheduler::verdict token_verdict(const parameters& set) {
  return zoo::is_fixed(set) ? scheduler::verdict::ok : scheduler::verdict::deadlock;
}

}  // namespace

HEDDLE_ZOO(run_token, {.name = "zoo.cached-token",
                       .summary = "a wave waits for a token in memory that it caches",
                       .parameters = zoo::with_twin({
                           parameter::number("calls", 2, 1, 1000, "", "times that the token is raised"),
                       }),
                       .expected = token_verdict});

}  // namespace heddle::tests
