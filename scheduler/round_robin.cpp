#include <heddle/scheduler/random_stream.h>
#include <heddle/scheduler/round_robin.h>

#include <algorithm>

namespace heddle::scheduler {

void round_robin_strategy::begin(uint64_t seed) {
  random_stream draws(seed);
  const uint32_t octave = draws.below(7);
  const uint32_t shortest = uint32_t{1} << octave;
  quantum_ = given_quantum_ ? *given_quantum_ : std::min(shortest + draws.below(shortest), drawn_quantum_max);
  current_actor_ = ~uint32_t{0};
  left_ = 0;
}

uint32_t round_robin_strategy::pick(const choice& asked) {
  if (asked.kind != choice_kind::actor) return 0;
  if (left_ > 0) {
    const uint32_t index = next_in_turn(asked, current_actor_ - 1);
    if (candidate_at(asked, index).actor == current_actor_) {
      --left_;
      return index;
    }
  }
  const uint32_t picked = next_in_turn(asked, current_actor_);
  current_actor_ = candidate_at(asked, picked).actor;
  left_ = quantum_ - 1;
  return picked;
}

uint32_t next_in_turn(const choice& asked, uint32_t actor) {
  if (asked.candidates.in_order()) return asked.candidates.next_in_turn(actor);
  uint32_t best = 0;
  uint32_t best_distance = ~uint32_t{0};
  for (uint32_t index = 0; index < asked.count; ++index) {
    // Wraps round on purpose: the id after `actor` is at distance 0, `actor` itself is the farthest.
    const uint32_t distance = candidate_at(asked, index).actor - actor - 1;
    if (distance >= best_distance && index != 0) continue;
    best_distance = distance;
    best = index;
  }
  return best;
}

}  // namespace heddle::scheduler
