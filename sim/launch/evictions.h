// Places on a device that are taken in turns: what is evicted, with its state, and what comes back (settings::evict).
//
// While something that could take a step waits for places, each wave that has one has a turn: it may be evicted when each of its lanes that can
// step, and that the progress model promises this, has taken so many steps (settings::quantum), and one that cannot when others have taken so
// many. What has waited longest comes first, and nothing overtakes it for which room can be made. So all that waits gets a place again and
// again, and with each place the steps that it is promised. What is of higher priority evicts what is of lower at once, and is never evicted for
// that.
//
// A wave whose lanes all wait has no need of a place. It is evicted like the others, and comes back when places are left over, or when one of its
// lanes could go on.
#pragma once

#include <heddle/sim/convergence/lockstep_waves.h>
#include <heddle/sim/core/run_core.h>
#include <heddle/sim/launch/device_allocations.h>
#include <heddle/sim/machine/kernel.h>

#include <cstdint>
#include <vector>

namespace heddle::sim {

class launches;

class evictions {
 public:
  evictions(run_core& core, device_allocations& memory, lockstep_waves& lockstep, launches& launched)
      : core_(core), memory_(memory), lockstep_(lockstep), launched_(launched) {}

  void reset() {
    places_given_ = looked_at_ = 0;
    early_left_ = core_.machine.evictions_early.most;
    until_early_ = not_drawn;
  }
  bool are_on() const { return core_.machine.evict != eviction::off; }

  /// Before a step: what waits for places gets those of waves whose turn is over. No lanes are taking a step together.
  void take_turns(lane& self);
  /// No lane that is promised a step can take one: turns end. Whether anything has got a place by that.
  bool take_turns_when_idle(lane& self);
  /// In order, to each that waits, as far as there are places; where something `may_go`, also those of what has had its turn. Whether something
  /// is left that could take a step.
  bool give_places(lane& self, uint32_t gpu, bool may_go);
  /// Whether the GPU has so many places left.
  bool fits(uint32_t gpu, uint64_t places) const {
    return core_.phase.places_lifted || memory_.devices()[gpu].resident + places <= core_.machine.resident;
  }
  /// The wave has got a place.
  void begin_turn(wave& of);
  /// A kernel waits for places from now on.
  void begins_to_wait(launched_kernel& runs) { runs.place.since = ++places_given_; }

  /// What of turns can influence the future; false when the visitor has heard enough.
  bool visit_state(state_reader& to) const;

 private:
  /// What waits for places on a GPU: a wave that has been evicted, or blocks that have not started.
  struct claim {
    launched_kernel* runs = nullptr;
    wave* back = nullptr;
    launched_kernel::share* blocks = nullptr;
    uint64_t since = 0;
    bool ready = false;  ///< it could take a step; otherwise it gets what places are left over
  };
  /// How far what has a place is with its turn.
  enum class standing : uint8_t {
    idle,          ///< it can take no step, or none that it is promised
    had_its_turn,  ///< it can, and has taken so many
    goes_on,
  };
  /// What has places, and is evicted as one.
  struct tenant {
    launched_kernel* runs = nullptr;
    wave* first = nullptr;
    uint64_t since = 0;
    uint32_t places = 0;
    standing stands = standing::idle;
  };
  /// Whether there are places for what waits.
  enum class room : uint8_t {
    free,
    by_eviction,  ///< of what may be evicted now
    later,        ///< when turns are over
    never,        ///< what has the places keeps them until it ends
  };
  place_turn& turn_of(wave& of) const { return core_.machine.evict == eviction::queue ? of.runs->place : of.place; }
  const place_turn& turn_of(const wave& of) const { return turn_of(const_cast<wave&>(of)); }
  template <typename Each>
  void for_each_placed(uint32_t gpu, Each&& each);
  void find_claims(uint32_t gpu);
  static uint32_t places_of(const claim& one);
  void place(lane& self, const claim& one);
  void begin_turns(uint32_t gpu);
  bool is_promised_turns(const wave& of) const;
  standing standing_of(const wave& of) const;
  void find_tenants(uint32_t gpu);
  void count_idle_steps();
  bool gives_way(const tenant& placed, const claim& to) const;
  bool may_be_evicted(const tenant& placed, const claim& to, bool idle) const;
  room room_for(uint32_t gpu, const claim& wanted, bool idle) const;
  void make_room(lane& self, uint32_t gpu, const claim& wanted, bool idle);
  void evict(const tenant& gone);
  void evict(wave& of, uint64_t now);
  void evict_early(lane& self);
  void evict_early(const tenant& gone);

  run_core& core_;
  device_allocations& memory_;
  lockstep_waves& lockstep_;
  launches& launched_;
  static constexpr uint32_t not_drawn = ~uint32_t{0};
  uint64_t places_given_ = 0;         ///< or taken, or asked for
  uint64_t looked_at_ = 0;            ///< the step before which turns were looked at last
  uint32_t early_left_ = 0;           ///< evictions of what has not had its turn
  uint32_t until_early_ = not_drawn;  ///< looks before the next of them
  std::vector<claim> claims_;         ///< of one look
  std::vector<tenant> tenants_;
};

}  // namespace heddle::sim
