// What the lanes of a wave, a block or a cluster do together: collectives, masks of active lanes, and barriers.
#pragma once

#include <heddle/sim/core/run_core.h>
#include <heddle/sim/machine/kernel.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace heddle::sim {

class collectives {
 public:
  explicit collectives(run_core& core) : core_(core) {}

  void reset() { opened_ = 0; }

  /// The answer to a lane that arrives.
  enum class arrival : uint8_t {
    complete,  ///< all have arrived: lane::result is what the collective gives
    blocks,    ///< it waits for others: lane_state::at_collective
  };

  /// The lane arrives at its pending collective with `value`. Ends the run where the mask is wrong.
  arrival arrive(lane& self, uint64_t value);
  /// All lanes of the arm of a lockstep wave have arrived at one collective, whose mask is `named`.
  void complete_arm(wave& of, operation_kind kind, uint64_t named, uint64_t arm);
  /// The active mask of this lane: itself and those at the same place that the strategy has converge with it. Answers them, too.
  uint64_t mask_of_active(lane& self);
  /// Whether a sibling has arrived at a collective with the lane since the last such call. Of a lane that is about to block in the fair tail or
  /// under the quiescence check.
  [[gnu::hot]] bool is_awaited(lane& self) const { return !core_.phase.is_open() && is_awaited_now(self); }
  /// A lane has ended: completes collectives that waited for it alone, ends the run where one can never complete.
  void leave(const lane& ended);

  /// The lane arrives at the barrier of its block, its pending operation; the mask of that says what else is asked for, and must be the same for
  /// all. When it is complete, lane::result is how many lanes arrived and, from bit 32 on, how many of them gave a `value` other than 0.
  arrival arrive_at_barrier(lane& self, uint64_t value);
  /// The lane counts as one that has come, and goes on. (PTX ISA, "bar.arrive".)
  void arrive_in_passing(lane& self);
  /// The lane comes to barrier `id` of some lanes of its block, where it waits. Ends the run where a sibling waits in that phase at another place;
  /// `begins`: no lane has come to the phase before.
  void check_aligned_part(lane& self, uint32_t id, bool begins, const void* place);
  /// A lane of the wave has ended: it is not waited for. (PTX ISA, "bar"; CUDA C++ Programming Guide, "Synchronization Functions".)
  void leave_barrier(wave& of) {
    if (!of.runs->states.empty()) [[unlikely]]
      leave_used_barrier(of);
  }

  /// The lane arrives at the barrier of its cluster, by its pending operation. Ends the run where it has not waited since the last time.
  void arrive_at_cluster(lane& self);
  /// The lane waits there, by its pending operation, until all lanes of the cluster that have not ended have arrived.
  arrival wait_at_cluster(lane& self);
  /// Behind that: the lane knows what was done before the arrivals.
  void acquire_cluster(lane& self, memory_order order);
  /// A lane has ended: it is not waited for. (PTX ISA, "barrier.cluster".)
  void leave_cluster(const lane& ended) {
    if (!ended.of->runs->clusters.empty()) [[unlikely]]
      leave_used_cluster(ended);
  }

  void check_invariants() const;

 private:
  struct cluster_place {
    cluster_state& state;
    cluster_state::lanes& wave;  ///< of the lane
    uint32_t number;
  };
  cluster_place cluster_of(const wave& of) const;
  void leave_used_cluster(const lane& ended);
  void complete_cluster(const wave& of, cluster_state& state);
  bool is_awaited_now(lane& self) const;
  static uint64_t tell_mask(const lane& self, uint64_t mask);
  [[gnu::noinline]] void check(lane& self) const;
  void complete(wave& of, size_t open, operation_kind kind);
  void order(wave& of, uint64_t mask, operation_kind kind);
  uint32_t live_lanes_of_block(const wave& of) const;
  /// How many are to come: those that have not ended, and those that have come in this phase and then ended.
  uint32_t awaited_at_barrier(const wave& of, const block_state& block) const;
  void leave_used_barrier(wave& of);
  /// Ends the run where a sibling waits at a barrier of another place.
  [[gnu::noinline]] void check_aligned(lane& self);
  void check_place(lane& self, const void* place, const lane& other, const void* others_place);
  bool is_one_place(const void* one, const void* other);
  static std::string line_in_program(const void* place);
  void complete_barrier(const wave& of, block_state& block);
  wave& wave_of_block(const wave& of, uint32_t n) const { return wave_of_block(*of.runs, of.block, n); }
  wave& wave_of_block(const launched_kernel& runs, uint32_t block, uint32_t n) const {
    return core_.threads.waves[runs.first_wave + size_t{block} * runs.waves_per_block + n];
  }
  /// Calls `visit(wave, lanes)` for each wave of the cluster.
  template <typename Visit>
  void for_each_wave_of_cluster(const wave& of, cluster_state& state, Visit&& visit) const {
    const launched_kernel& runs = *of.runs;
    const uint32_t cluster = runs.place_of(of.block).cluster;
    for (uint32_t n = 0; n < runs.waves_of_cluster(); ++n)
      visit(wave_of_block(runs, runs.block_of({.cluster = cluster, .rank = n / runs.waves_per_block}),
                          n % runs.waves_per_block),
            state.waves[n]);
  }

  run_core& core_;
  uint64_t opened_ = 0;
  std::vector<lane*> meeting_;  ///< of the barrier that completes
  std::map<std::pair<const void*, const void*>, bool>
      one_place_;  ///< of return addresses, whether they are of one place in the source
};

}  // namespace heddle::sim
