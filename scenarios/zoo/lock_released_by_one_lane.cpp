// The first lane of a wave gives a lock back as soon as its own stores under it are done. The other lanes' stores may come later: a barrier of
// the wave is missing.
//
// DeepEP #215 (dd133d3). Smallest: 2 waves of 2 lanes, each scheduled on its own.
#include "../ports.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

struct filled_under_lock_kernel {
  uint32_t* lock;
  uint32_t* words;  ///< one for each lane, shared by the waves
  callers who;
  bool waits_for_the_others;

  HEDDLE_FUNCTION void operator()() const {
    const uint64_t mask = ~uint64_t{0} >> (64 - who.lanes);
    const rpc::lock_bits<target, rpc::checking> bits(lock);
    for (uint32_t call = 0; call < who.calls; ++call) {
      if (target::is_first_lane(mask))
        while (!bits.try_lock(0)) target::pause();
      // The first lane's acquire reaches the other lanes.
      target::sync_lanes(mask);
      ++words[target::lane_id()];
      // Gathers what the lanes have stored, in front of the first lane's release.
      if (waits_for_the_others) target::sync_lanes(mask);
      if (target::is_first_lane(mask)) bits.unlock(0);
    }
  }
};

void run_filled_under_lock(const parameters& set) {
  device on;
  const uint32_t lanes = set.count("lanes");
  auto* const lock = on.allocate_device<uint32_t>(1, "lock");
  auto* const words = on.allocate_device<uint32_t>(64, "words");
  on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = lanes},
            filled_under_lock_kernel{lock, words, {lanes, set.count("calls")}, zoo::is_fixed(set)});
  on.synchronize();
  uint32_t counted[64] = {};
  on.copy(counted, words, sizeof counted);
  for (uint32_t lane = 0; lane < lanes; ++lane)
    HEDDLE_CHECK(counted[lane] == set.count("waves") * set.count("calls"), "a store under the lock is lost");
}

std::vector<parameter> filled_under_lock_parameters() {
  std::vector<parameter> all = zoo::with_twin({
      parameter::number("waves", 2, 2, 64, "", "waves that share the lock"),
      parameter::number("lanes", 2, 2, 64, "", "lanes of each wave"),
      parameter::number("calls", 2, 1, 1000, "", "times that each takes it"),
  });
  // Under the others the holder of the lock may never have a turn again, which is another hang.
  all.push_back(parameter::one_of("progress", "fair", {"fair", "obe", "hsa_obe", "lobe", "slots", "cuda"},
                                  "which waves are guaranteed a turn; each model is explained in docs/simulator.md"));
  return all;
}

// Where a wave has one program counter, the first lane's release waits for what all lanes have stored. Where memory is one, a lane that is late may still lose what it adds.
scheduler::verdict filled_under_lock_verdict(const parameters& set) {
  if (zoo::is_fixed(set)) return scheduler::verdict::ok;
  if (set.has("convergence") && set.text("convergence") == "lockstep") return scheduler::verdict::ok;
  const bool races_are_seen = !set.has("fidelity") || set.text("fidelity") == "scoped";
  return races_are_seen ? scheduler::verdict::race : scheduler::verdict::assertion;
}

}  // namespace

HEDDLE_ZOO(run_filled_under_lock, {.name = "zoo.lock-released-by-one-lane",
                                   .summary = "a lock is given back before all lanes have stored",
                                   .parameters = filled_under_lock_parameters(),
                                   .expected = filled_under_lock_verdict});

}  // namespace heddle::tests
