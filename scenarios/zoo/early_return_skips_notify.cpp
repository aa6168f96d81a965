// Each wave sends its items and then reports that it is done; all wait until every wave has reported. A wave that has nothing to send returns
// early, and skips the report too.
//
// UCCL 0f3b9f9e (#940), sgl-kernel-npu #69: a rank without tokens left a dispatch before its notification. Smallest: 2 waves, one of them
// with nothing to send.
#include "zoo.h"

namespace heddle::tests {
namespace {

using dispatch_word = target::atomic_ref<uint32_t, scope::device>;

struct dispatch_kernel {
  uint32_t* sent;  ///< items of each wave
  uint32_t* done;  ///< waves that have reported
  uint32_t waves;
  uint32_t fewest;
  bool reports_always;

  HEDDLE_FUNCTION void operator()() const {
    const uint32_t items = fewest + target::wave_id();
    if (items == 0 && !reports_always) return;
    for (uint32_t n = 0; n < items; ++n) ++sent[target::wave_id()];
    // Release pairs with the acquire below: a wave that has read the report reads the items.
    dispatch_word(*done).fetch_add(1, memory_order::release);
    while (dispatch_word(*done).load(memory_order::acquire) != waves) target::pause();
    for (uint32_t n = 0; n < waves; ++n) HEDDLE_CHECK(sent[n] == fewest + n, "items are missing");
  }
};

void run_dispatch(const parameters& set) {
  device on;
  auto* const sent = on.allocate_device<uint32_t>(set.count("waves"), "items sent");
  auto* const done = on.allocate_device<uint32_t>(1, "waves done");
  on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = 1},
            dispatch_kernel{sent, done, set.count("waves"), set.count("fewest"), zoo::is_fixed(set)});
  on.synchronize();
}

scheduler::verdict dispatch_verdict(const parameters& set) {
  return zoo::is_fixed(set) || set.count("fewest") != 0 ? scheduler::verdict::ok : scheduler::verdict::deadlock;
}

std::vector<parameter> dispatch_parameters() {
  std::vector<parameter> all = zoo::with_twin({
      parameter::number("waves", 2, 2, 64, "", "waves that send"),
      parameter::number("fewest", 0, 0, 1000, "", "items of the first wave; each next one has one more"),
  });
  // A wave that waits for all others needs that all get turns.
  all.push_back(parameter::one_of("progress", "fair", {"fair", "slots", "cuda"},
                                  "which waves are guaranteed a turn; each model is explained in docs/simulator.md"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_dispatch, {.name = "zoo.early-return-skips-notify",
                          .summary = "a wave with nothing to send does not report that it is done",
                          .parameters = dispatch_parameters(),
                          .expected = dispatch_verdict});

}  // namespace heddle::tests
