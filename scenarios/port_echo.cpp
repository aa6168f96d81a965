// One call and its answer over ports, by one lane at a time and without waiting for the answer.
#include "async.h"
#include "echo.h"

namespace heddle::tests {

// Every lane's value comes back changed; with enough ports, and with too few.
namespace {

void run_contended(const parameters& set) { run_echo(set); }

}  // namespace

HEDDLE_SCENARIO(run_echo, {.name = "port.echo",
                           .summary = "every lane's value comes back changed",
                           .parameters = port_parameters(3, 2, 3, 4),
                           .expected = needs_fair_holders,
                           .proofs = {"waves=2 lanes=1 ports=1 calls=1", "waves=2 lanes=1 ports=2 calls=1"}});

HEDDLE_SCENARIO(run_contended, {.name = "port.contended",
                                .summary = "more waves than ports: a wave that opens waits for one that closes",
                                .parameters = port_parameters(4, 2, 2, 3),
                                .expected = needs_fair_holders});

// The shortest road: answers of one word, and, where there are ports enough, a port that each wave has alone.
namespace {

struct words_kernel {
  rpc::client client;
  callers who;
  uint32_t waves;

  HEDDLE_FUNCTION void operator()() const {
    // Where each lane is a wave of its own there are more of those.
    const bool alone = client.port_count() >= (target::lane_count() == 1 ? waves * who.lanes : waves);
    const uint64_t mask = target::lane_count() == 1 ? 1 : ~uint64_t{0} >> (rpc::max_lanes - who.lanes);
    for (uint32_t call = 0; call < who.calls; ++call)
      if (alone) {
        auto port = client.open_alone<echo_opcode>(mask);
        ask(port, call);
      } else {
        auto port = client.open<echo_opcode>(mask);
        ask(port, call);
      }
  }

 private:
  /// Twice, where the number of the call is odd: the second request finds the words of the first answer. A server may answer by a packet too.
  template <typename Port>
  HEDDLE_FUNCTION void ask(Port& port, uint32_t call) const {
    const uint64_t id = who.request(call);
    uint64_t answer = 0;
    const auto keep = [&](uint64_t word, uint32_t) { answer = word; };
    port.send_and_recv_word([&](rpc::packet& to, uint32_t) { to.words[0] = id; }, keep);
    HEDDLE_CHECK(answer == changed(id), "the answer is not the one to this lane's request");
    port.send_and_recv_word([&](rpc::packet& to, uint32_t) { to.words[0] = answer; }, keep);
    HEDDLE_CHECK(answer == changed(changed(id)), "the answer is not the one to this lane's second request");
  }
};

/// Answers the first request by a word and the second by a word or a packet, in turns.
template <typename Port, typename Account>
void serve_words(Port& port, const Account& account) {
  uint64_t asked[rpc::max_lanes];
  const auto keep = [&](rpc::packet& from, uint32_t lane) { asked[lane] = from.words[0]; };
  bool by_packet = false;
  port.recv([&](rpc::packet& from, uint32_t lane) {
    account(from.words[0]);
    by_packet = (from.words[0] & 1) != 0;
    keep(from, lane);
  });
  port.send_word([&](uint32_t lane) { return changed(asked[lane]); });
  port.recv(keep);
  if (by_packet)
    port.send([&](rpc::packet& to, uint32_t lane) { to.words[0] = changed(asked[lane]); });
  else
    port.send_word([&](uint32_t lane) { return changed(asked[lane]); });
}

void run_words(const parameters& set) {
  device on;
  port_counts of = set;
  of.words = set.count("words") != 0;
  port_test test(on, of);
  test.run(
      words_kernel{test.client(), test.who(), of.waves},
      [](auto& port, const auto& account) { serve_words(port, account); }, all_calls(set));
}

std::vector<parameter> words_parameters() {
  std::vector<parameter> all = port_parameters(2, 2, 2, 2);
  all.push_back(parameter::number("words", 1, 0, 1, "",
                                  "1: answers lie beside the packets too, where a client looks as it waits"));
  return all;
}

}  // namespace

HEDDLE_SCENARIO(run_words,
                {.name = "port.words",
                 .summary = "answers of one word, over a port that each wave has alone where there are enough",
                 .parameters = words_parameters(),
                 .expected = needs_fair_clients,
                 .proofs = {"waves=2 lanes=1 ports=1 calls=1", "waves=1 lanes=2 ports=1 calls=1"}});

// Asynchronous calls: no wave waits for an answer.
namespace {

void run_async(const parameters& set) { run_async_on<target, target>(set); }

}  // namespace

HEDDLE_SCENARIO(run_async, {.name = "port.async",
                            .summary = "calls without a wait for the answer, all served in the end",
                            .parameters = port_parameters(2, 2, 3, 6),
                            .expected = needs_fair_holders});

}  // namespace heddle::tests
