// Every lane looks at the mailbox for itself: a packet that comes back between two looks parts the wave. Smallest: 2 lanes, 1 port,
// 2 asynchronous calls.
//
// No memory order mends it, and one memory shows it as well as any other. LLVM libc's try_open has one lane's answer broadcast
// for the whole wave (shared/rpc.h); so has ours.
#include "../async.h"
#include "weakened.h"

namespace heddle::tests::zoo {

/// The machine as it is. Its name selects the client below.
struct per_lane_steering_load : target {};

}  // namespace heddle::tests::zoo

namespace heddle::rpc {

/// The client as it ships, but for the lanes that read the mailboxes: the lock is taken by one lane for all, the ownership of the packet is
/// judged by each.
template <typename Check>
class basic_client<tests::zoo::per_lane_steering_load, Check> {
  using machine = tests::zoo::per_lane_steering_load;

 public:
  using port = basic_port<machine, side::client, Check>;
  using end = typename port::end;

  HEDDLE_FUNCTION basic_client(void* shared, uint32_t* locks, layout shape, ringing rings = {})
      : end_(shared, locks, shape), rings_(rings) {}

  template <auto Opcode>
  HEDDLE_FUNCTION port open() const {
    constexpr uint16_t opcode = detail::checked_opcode<Opcode>();
    const uint64_t mask = machine::lane_mask();
    for (uint32_t index = machine::wave_id() % end_.port_count();; index = (index + 1) % end_.port_count()) {
      uint32_t found = 0;
      if (machine::is_first_lane(mask)) found = end_.states().try_lock(index).bits();
      const own_state was(machine::broadcast(mask, found));
      if (was.is_held()) {
        machine::pause();
        continue;
      }
      const auto boxes = end_.boxes();
      // The bug: the lanes may see two answers, and then go two ways.
      if (boxes.owns(boxes.load_inbox(index), was.outbox())) {
        boxes.acquire(index);
        if (machine::is_first_lane(mask)) {
          end_.header_of(index).mask = mask;
          end_.header_of(index).opcode = opcode;
        }
        machine::sync_lanes(mask);
        return port(end_, {index, was, mask, opcode}, rings_);
      }
      if (machine::is_first_lane(mask)) end_.states().unlock(index, was, was);
      machine::pause();
    }
  }

 private:
  end end_;
  ringing rings_;
};

}  // namespace heddle::rpc

namespace heddle::tests {
namespace {

void run_per_lane_steering_load(const parameters& set) {
  if (zoo::is_fixed(set)) return run_async_on<target, target>(set);
  run_async_on<zoo::per_lane_steering_load, target>(set);
}

scheduler::verdict per_lane_verdict(const parameters& set) {
  return zoo::is_fixed(set) ? needs_fair_holders(set) : scheduler::verdict::mask;
}

}  // namespace

HEDDLE_ZOO(run_per_lane_steering_load,
           {.name = "zoo.per-lane-steering-load",
            .summary = "each lane looks at the mailbox for itself, and a wave comes apart",
            .parameters = zoo::with_twin({
                parameter::number("waves", 2, 1, 65536, "", "waves that call"),
                parameter::number("lanes", 4, 2, 64, "", "lanes of each wave"),
                parameter::number("ports", 1, 1, rpc::max_ports, "", "ports between client and server"),
                parameter::number("servers", 1, 1, 64, "", "host threads that serve"),
                parameter::number("calls", 2, 2, 100000, "", "calls that each lane makes"),
            }),
            .expected = per_lane_verdict});

}  // namespace heddle::tests
