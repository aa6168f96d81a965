// Lanes of one wave each open a port of their own, as if each were a wave. The client spins until it has one: with one program counter
// the lane that has it waits behind that loop. A lock around the whole call that is taken and given back inside one loop mends it.
#include "../ports.h"
#include "lanes.h"

namespace heddle::tests::lanes {
namespace {

constexpr uint16_t contended_opcode = rpc::user_opcode(32);

/// The machine on which each lane is alone.
struct alone : target {
  HEDDLE_FUNCTION static uint64_t lane_mask() { return uint64_t{1} << lane_id(); }
  template <typename T>
  HEDDLE_FUNCTION static T broadcast(uint64_t, T value) {
    return value;
  }
  HEDDLE_FUNCTION static uint64_t ballot(uint64_t mask, bool vote) { return vote ? mask : 0; }
  HEDDLE_FUNCTION static void sync_lanes(uint64_t) {}
};

HEDDLE_FUNCTION void ask(const client_on<alone>& client, uint64_t request) {
  auto port = client.template open<contended_opcode>();
  port.send_and_recv([request](rpc::packet& to, uint32_t) { to.words[0] = request; }, [](rpc::packet&, uint32_t) {});
}

struct around_kernel {
  client_on<alone> client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) ask(client, who.request(call));
  }
};

struct within_kernel {
  client_on<alone> client;
  callers who;
  uint32_t* gate;

  HEDDLE_FUNCTION void operator()() const {
    const rpc::lock_bits<alone, rpc::checking> lock(gate);
    for (uint32_t call = 0; call < who.calls; ++call) {
      // Volatile, because a compiler for CPUs, which knows nothing of waves, may otherwise move what ends the loop behind it.
      volatile bool done = false;
      while (!done) {
        if (lock.try_lock(0)) {
          ask(client, who.request(call));
          lock.unlock(0);
          done = true;
        } else {
          alone::pause();
        }
      }
    }
  }
};

template <typename Kernel>
void run_contended(const parameters& set, port_test& test, Kernel kernel) {
  test.run(
      kernel,
      [](auto& port, const auto& account) {
        port.recv_and_send([&](rpc::packet& both, uint32_t) { account(both.words[0]); });
      },
      all_calls(set));
}

void run_port_around(const parameters& set) {
  device on;
  port_test test(on, set);
  run_contended(set, test, around_kernel{test.client<alone>(), test.who()});
}

void run_port_within(const parameters& set) {
  device on;
  port_test test(on, set);
  run_contended(set, test, within_kernel{test.client<alone>(), test.who(), on.allocate_device<uint32_t>(1, "gate")});
}

verdict verdict_of_port_around(const parameters& set) {
  return in_lockstep(set) && set.count("ports") < set.count("lanes") ? verdict::deadlock : verdict::ok;
}

std::vector<parameter> one_wave_of_callers() {
  return {
      parameter::number("waves", 1, 1, 1, "", "waves that call"),
      parameter::number("lanes", 3, 2, 64, "", "lanes of the wave"),
      parameter::number("ports", 1, 1, rpc::max_ports, "", "ports between client and server"),
      parameter::number("servers", 1, 1, 64, "", "host threads that serve"),
      parameter::number("calls", 2, 1, 100000, "", "calls that each lane makes"),
  };
}

}  // namespace

HEDDLE_SCENARIO(run_port_around, {.name = "lanes.port-around",
                                  .summary = "each lane opens a port of its own, and closes it behind the loop",
                                  .parameters = one_wave_of_callers(),
                                  .expected = verdict_of_port_around});

HEDDLE_SCENARIO(run_port_within, {.name = "lanes.port-within",
                                  .summary = "each lane makes its call inside the loop that waits for its turn",
                                  .parameters = one_wave_of_callers()});

}  // namespace heddle::tests::lanes
