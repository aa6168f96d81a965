// The function that returns the index of the leading lane returns a truth value: right as long as lane 0, or lane 1, leads. The others read
// from a lane that is not there.
//
// hostrpc d6b7367. Smallest: 1 wave of 3 lanes, of which the first two are somewhere else; with 2 lanes the truth value is the index.
#include "zoo.h"

namespace heddle::tests {
namespace {

using ticket_word = target::atomic_ref<uint32_t, scope::device>;

/// The bug is the type.
HEDDLE_FUNCTION bool leader_as_bool(uint64_t mask) { return zoo::lowest_bit(mask) != 0; }

/// `value` of the lane `from`, in every lane of the mask.
HEDDLE_FUNCTION uint32_t value_of_lane(uint64_t mask, uint32_t value, uint32_t from) {
  const uint64_t others = from < 63 ? mask & (~uint64_t{0} << (from + 1)) : 0;
  return target::broadcast(uint64_t{1} << from | others, value);
}

struct ticket_kernel {
  uint32_t* next;
  uint32_t* tickets;  ///< of each lane
  uint32_t away;      ///< lanes that take no part
  bool knows_index;

  HEDDLE_FUNCTION void operator()() const {
    if (target::lane_id() < away) return;
    const uint64_t mask = target::lane_mask();
    uint32_t ticket = 0;
    if (target::is_first_lane(mask)) ticket = 1 + ticket_word(*next).fetch_add(1, memory_order::relaxed);
    tickets[target::lane_id()] = value_of_lane(mask, ticket,
                                               knows_index            ? zoo::lowest_bit(mask)
                                               : leader_as_bool(mask) ? 1
                                                                      : 0);
  }
};

void run_tickets(const parameters& set) {
  device on;
  const uint32_t lanes = set.count("lanes");
  auto* const next = on.allocate_device<uint32_t>(1, "next ticket");
  auto* const tickets = on.allocate_device<uint32_t>(64, "tickets");
  on.launch({.blocks = 1, .waves = 1, .lanes = lanes},
            ticket_kernel{next, tickets, set.count("away"), zoo::is_fixed(set)});
  on.synchronize();
  uint32_t given[64] = {};
  on.copy(given, tickets, sizeof given);
  for (uint32_t lane = set.count("away"); lane < lanes; ++lane) HEDDLE_CHECK(given[lane] != 0, "a lane has no ticket");
}

// Lanes that the launch does not have do not make the mask wrong.
scheduler::verdict tickets_verdict(const parameters& set) {
  const bool wrong = !zoo::is_fixed(set) && set.count("away") >= 2 && set.count("away") < set.count("lanes");
  return wrong ? scheduler::verdict::mask : scheduler::verdict::ok;
}

}  // namespace

HEDDLE_ZOO(run_tickets, {.name = "zoo.leader-is-a-bool",
                         .summary = "the index of the leading lane is returned as a truth value",
                         .parameters = zoo::with_twin({
                             parameter::number("lanes", 3, 1, 32, "", "lanes of the wave"),
                             parameter::number("away", 2, 0, 31, "", "lanes that take no part"),
                         }),
                         .expected = tickets_verdict});

}  // namespace heddle::tests
