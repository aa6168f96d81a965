// Calls that hand the packet over and back without data of the server's: what the client writes next must come behind what the server read
// last. Smallest: 1 wave, 1 port, 1 call of two sends.
//
// LLVM libc, shared/rpc.h, until 2023: only the receive had the acquire, as only it reads; and a toggle before which nothing was written had no
// release of its own.
#include "weakened.h"

namespace heddle::tests {
namespace zoo {
namespace {

constexpr uint16_t twice_opcode = rpc::user_opcode(32);

/// Two sends through one port: for the second the server gives the packet back.
template <typename Machine>
struct sends_twice_kernel {
  rpc::basic_client<Machine, rpc::unchecked> client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      auto port = client.template open<twice_opcode>();
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = who.request(call); });
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = ~uint64_t{who.request(call)}; });
    }
  }
};

/// Without the protocol's own checks, whose stamp would be what is found: each end reads it as soon as it has the packet.
template <typename ClientMachine, typename ServerMachine>
void run_sends_twice(const parameters& set) {
  device on;
  port_test test(on, set);
  test.run<ServerMachine, rpc::unchecked>(
      sends_twice_kernel<ClientMachine>{test.client<ClientMachine, rpc::unchecked>(), test.who()},
      [](auto& port, const auto& account) {
        uint64_t first[rpc::max_lanes] = {};
        port.recv([&](rpc::packet& from, uint32_t lane) { first[lane] = from.words[0]; });
        port.recv([&](rpc::packet& from, uint32_t lane) {
          HEDDLE_CHECK(from.words[0] == ~first[lane], "the two packets of a call do not belong together");
          account(first[lane]);
        });
      },
      all_calls(set));
}

}  // namespace
}  // namespace zoo

namespace {

// A send finds by a relaxed load that the packet has come back, and fills it without a fence in between: it may write before the peer's last
// read.
void run_fill_without_acquire(const parameters& set) {
  if (zoo::is_fixed(set)) return zoo::run_sends_twice<target, target>(set);
  zoo::run_sends_twice<zoo::no_acquire_after_wait, target>(set);
}

// The server gives a packet back, behind a receive that another one follows or at its close, by a store that does not release: its reads of
// the packet may come after the hand-over, and the client overwrites what it reads.
void run_handover_without_release(const parameters& set) {
  if (zoo::is_fixed(set)) return zoo::run_sends_twice<target, target>(set);
  zoo::run_sends_twice<target, zoo::no_release_before_toggle>(set);
}

}  // namespace

HEDDLE_ZOO(run_fill_without_acquire,
           {.name = "zoo.fill-without-acquire",
            .summary = "a packet that came back is filled after a relaxed load that saw it come",
            .parameters = zoo::with_twin(port_parameters(1, 1, 1, 1)),
            .expected = zoo::where_memory_is_late<scheduler::verdict::race, zoo::late_over_the_link::nothing,
                                                  needs_fair_clients>});

HEDDLE_ZOO(run_handover_without_release,
           {.name = "zoo.handover-without-release",
            .summary = "a packet that was only read is given back by a relaxed store",
            .parameters = zoo::with_twin(port_parameters(1, 1, 1, 1)),
            .expected = zoo::where_memory_is_late<scheduler::verdict::race, zoo::late_over_the_link::nothing,
                                                  needs_fair_clients>});

}  // namespace heddle::tests
