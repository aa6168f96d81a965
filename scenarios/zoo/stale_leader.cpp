// The leader of a call is elected once, in front of the loop of calls, and the lanes of the wave leave that loop at different times. The leader
// has left, and in the later calls no lane takes a port for the others; or the mask itself is the old one, and names the lane that has left.
//
// ROCm-Device-Libs 62e59d3: the compiler had moved the election out of a divergent loop. Written as the compiler left it. Smallest: 1 wave of 2
// lanes, the second of which makes one call more.
#include "../echo.h"
#include "zoo.h"

namespace heddle::tests::zoo {

/// The machine as it is. Its name selects the client below.
struct stale_leader : target {};

}  // namespace heddle::tests::zoo

namespace heddle::rpc {

/// The client as it ships, but for the lane that takes the port: the caller names it.
template <typename Check>
class basic_client<tests::zoo::stale_leader, Check> {
  using machine = tests::zoo::stale_leader;

 public:
  using port = basic_port<machine, side::client, Check>;
  using end = typename port::end;

  HEDDLE_FUNCTION basic_client(void* shared, uint32_t* locks, layout shape, ringing rings = {})
      : end_(shared, locks, shape), rings_(rings) {}

  template <auto Opcode>
  HEDDLE_FUNCTION port open(uint64_t mask, bool leads) const {
    constexpr uint16_t opcode = detail::checked_opcode<Opcode>();
    uint64_t answer = 0;
    if (leads) answer = find(mask, opcode);
    // From the first lane of the mask, which leads when the election is of this mask.
    answer = machine::broadcast(mask, answer);
    machine::sync_lanes(mask);
    return port(end_, {static_cast<uint32_t>(answer), own_state(static_cast<uint32_t>(answer >> 32)), mask, opcode},
                rings_);
  }

 private:
  HEDDLE_FUNCTION uint64_t find(uint64_t mask, uint16_t opcode) const {
    const auto boxes = end_.boxes();
    for (uint32_t index = 0;; index = (index + 1) % end_.port_count()) {
      const own_state was = end_.states().try_lock(index);
      if (!was.is_held()) {
        if (boxes.owns(boxes.acquire_inbox(index), was.outbox())) {
          end_.header_of(index).mask = mask;
          end_.header_of(index).opcode = opcode;
          return uint64_t{was.bits()} << 32 | index;
        }
        end_.states().unlock(index, was, was);
      }
      machine::pause();
    }
  }

  end end_;
  ringing rings_;
};

}  // namespace heddle::rpc

namespace heddle::tests {
namespace {

struct elected_kernel {
  client_on<zoo::stale_leader> client;
  callers who;
  bool elects_each_time;
  bool keeps_mask;

  HEDDLE_FUNCTION void operator()() const {
    uint64_t mask = target::lane_mask();
    bool leads = target::is_first_lane(mask);
    // Each lane makes a call more than the one before it.
    for (uint32_t call = 0; call < who.calls && call <= target::lane_id(); ++call) {
      if (!keeps_mask) mask = target::lane_mask();
      if (elects_each_time || keeps_mask) leads = target::is_first_lane(mask);
      ask(mask, leads, who.request(call));
    }
  }

  HEDDLE_FUNCTION void ask(uint64_t mask, bool leads, uint64_t id) const {
    uint64_t answer = 0;
    auto port = client.template open<echo_opcode>(mask, leads);
    port.send_and_recv([&](rpc::packet& to, uint32_t) { to.words[0] = id; },
                       [&](rpc::packet& from, uint32_t) { answer = from.words[0]; });
    HEDDLE_CHECK(answer == changed(id), "the answer is not the one to this lane's request");
  }
};

void run_stale_leader(const parameters& set) {
  device on;
  port_test test(on, set);
  uint64_t expected = 0;
  for (uint32_t lane = 0; lane < set.count("lanes"); ++lane)
    expected += lane < set.count("calls") ? lane + 1 : set.count("calls");
  test.run(
      elected_kernel{test.client<zoo::stale_leader>(), test.who(), zoo::is_fixed(set),
                     !zoo::is_fixed(set) && set.text("kept") == "mask"},
      [](auto& port, const auto& account) {
        port.recv_and_send([&](rpc::packet& both, uint32_t) {
          account(both.words[0]);
          both.words[0] = changed(both.words[0]);
        });
      },
      expected);
}

scheduler::verdict stale_leader_verdict(const parameters& set) {
  if (zoo::is_fixed(set)) return scheduler::verdict::ok;
  return set.text("kept") == "mask" ? scheduler::verdict::mask : scheduler::verdict::protocol;
}

std::vector<parameter> stale_leader_parameters() {
  std::vector<parameter> all = zoo::with_twin({
      parameter::number("waves", 1, 1, 1, "", "waves that call"),
      parameter::number("lanes", 2, 2, 64, "", "lanes of the wave; each makes a call more than the one before it"),
      parameter::number("ports", 1, 1, rpc::max_ports, "", "ports between client and server"),
      parameter::number("servers", 1, 1, 64, "", "host threads that serve"),
      parameter::number("calls", 2, 2, 1000, "", "calls that a lane makes at most"),
      parameter::one_of("kept", "leader", {"leader", "mask"}, "what is taken in front of the loop"),
  });
  // Lanes of their own may stand together or not, so that more than one of them leads: another bug.
  all.push_back(parameter::one_of("convergence", "lockstep", {"lockstep"}, "a wave has one program counter"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_stale_leader, {.name = "zoo.stale-leader",
                              .summary = "a lane that has left the loop of calls is still the one that leads them",
                              .parameters = stale_leader_parameters(),
                              .expected = stale_leader_verdict});

}  // namespace heddle::tests
