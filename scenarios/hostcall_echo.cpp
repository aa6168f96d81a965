// Hostcalls: with an answer, and given up by their wave.
#include "hostcalls.h"

namespace heddle::tests {

// Every lane's value comes back changed through a packet; with enough packets, and with too few.
namespace {

void run_hostcall_echo(const parameters& set) { run_hostcalls(set); }
void run_hostcall_contended(const parameters& set) { run_hostcalls(set); }

}  // namespace

HEDDLE_SCENARIO(run_hostcall_echo, {.name = "hostcall.echo",
                                    .summary = "every lane's value comes back changed in a packet",
                                    .parameters = hostcall_parameters(2, 2, 4, 1, 3),
                                    .expected = needs_fair_packet_holders,
                                    .proofs = {"waves=2 lanes=1 packets=1 calls=1"}});

HEDDLE_SCENARIO(run_hostcall_contended, {.name = "hostcall.contended",
                                         .summary = "more waves than packets, and two host threads that serve",
                                         .parameters = hostcall_parameters(3, 2, 2, 2, 3),
                                         .expected = needs_fair_packet_holders});

// A server that begins only when a caller has given up: calls with a bound time out, say so, and go on. What was posted is handled all
// the same, once.
namespace {

struct abandoning_kernel {
  rpc::hostcall_client client;
  callers who;
  uint32_t turns;
  uint32_t* reported;  ///< a word for each lane

  HEDDLE_FUNCTION void operator()() const {
    bool told = false;
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      for (;;) {
        uint64_t answer = 0;
        const rpc::ring_result outcome = client.call(
            hostcall_service, [&](rpc::packet& line, uint32_t) { line.words[0] = id; },
            [&](rpc::packet& line, uint32_t) { answer = line.words[0]; }, turns);
        if (outcome) {
          HEDDLE_CHECK(answer == answer_to(id), "the answer is not the one to this lane's request");
          break;
        }
        if (!told) shared_word<uint32_t>(reported[who.number()]).store(1, memory_order::release);
        told = true;
        // Without an answer the request has been made: once is enough.
        if (outcome.waited_for == rpc::ring_wait::answer) break;
        HEDDLE_CHECK(outcome.waited_for == rpc::ring_wait::packet, "a call waits for a packet or for its answer");
        target::pause();
      }
    }
  }
};

void run_hostcall_abandoned(const parameters& set) {
  device on;
  if (is_left_out<rpc::hostcall_layout>(on, set)) return;
  const uint32_t lanes = set.count("waves") * set.count("lanes");
  auto* const reported = on.allocate_shared<uint32_t>(lanes, "reports");
  hostcall_test<> test(on, set);
  const bool sleeps = set.text("waiting") == "sleeps";
  test.run(abandoning_kernel{test.client(sleeps), test.who(), set.count("turns"), reported},
           [=] {
             for (uint32_t lane = 0; lane < lanes; ++lane)
               if (shared_word<uint32_t>(reported[lane]).load(memory_order::acquire) != 0) return true;
             return false;
           },
           {.sleeps = sleeps});
  uint32_t reports = 0;
  for (uint32_t lane = 0; lane < lanes; ++lane)
    reports += shared_word<uint32_t>(reported[lane]).load(memory_order::relaxed);
  HEDDLE_CHECK(reports != 0, "no wave has given up, and the server has begun");
}

std::vector<parameter> abandoned_parameters() {
  std::vector<parameter> all = hostcall_parameters(2, 2, 2, 1, 3);
  all.push_back(parameter::number("turns", 1, 0, 1000000, "", "how often a call that has to wait looks again"));
  return all;
}

}  // namespace

HEDDLE_SCENARIO(run_hostcall_abandoned, {.name = "hostcall.abandoned",
                                         .summary = "a server is late: calls with a bound time out and go on",
                                         .parameters = abandoned_parameters(),
                                         .expected = needs_fair_packet_holders});

}  // namespace heddle::tests
