// Servers of slots, FIFOs, hostcalls and offload that stop while waves call them without end: each call is answered, or its lane is told that
// the server has ended; each request is handled once, in the order of its lane's calls; and the server stops however fast it is called.
#include <heddle/rpc/serve.h>

#include "fifos.h"
#include "hostcalls.h"
#include "offloads.h"
#include "slots.h"

namespace heddle::tests {
namespace {

using ending = rpc::may_end_and<rpc::checking>;

/// What a call of a lane came to.
struct outcome {
  bool made = false;
  bool ended = false;
  uint64_t answer = 0;
};

/// The turn of a lane's next call, 0 and 1 in turn: what is counted without end never comes back to the state that it was in, and no proof
/// would end. A word for each lane, of which the servers hold the one and the lane has the other.
HEDDLE_FUNCTION constexpr uint64_t answer_of(uint64_t number, uint32_t turn) { return ~number << 1 | turn; }

struct turns_of_lanes {
  uint32_t* turns;
  uint32_t lanes;

  /// Handles a request of this lane.
  HEDDLE_FUNCTION uint64_t handle(uint64_t number) const {
    HEDDLE_CHECK(number < lanes, "a request has a number that no lane has");
    const shared_word<uint32_t> word(turns[number]);
    // Relaxed: of one lane, whose calls come one after the other; what serves the next is ordered behind by the protocol.
    const uint32_t turn = word.load(memory_order::relaxed);
    word.store(turn ^ 1, memory_order::relaxed);
    return answer_of(number, turn);
  }
};

/// `Calls` has made(number): a call of this lane.
template <typename Calls>
struct until_ended_kernel {
  Calls calls;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    const uint64_t number = who.number();
    uint32_t turn = 0;
    for (uint32_t call = 0; who.calls == 0 || call < who.calls; call += who.calls == 0 ? 0 : 1) {
      const outcome of = calls.made(number);
      if (of.ended) return;
      if (!of.made) {
        target::pause();
        continue;
      }
      HEDDLE_CHECK(of.answer == answer_of(number, turn), "the answer is not the one to this lane's request");
      turn ^= 1;
    }
  }
};

/// Runs the kernel while `serve(stop, n)` is what each server's thread does, and stops them meanwhile.
template <typename Kernel, typename Serve>
void run_and_stop(device& on, const parameters& set, uint32_t* stop, doorbell* bell, Kernel kernel, Serve serve) {
  std::vector<decltype(on.spawn_host("server", [] {}))> servers;
  servers.reserve(set.count("servers"));
  for (uint32_t n = 0; n < set.count("servers"); ++n)
    servers.push_back(on.spawn_host("server", [=] { serve(*stop, n); }));
  on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = set.count("lanes")}, kernel);
  // Steps, and no pause: one that waits for nothing has its turn when no other thread has anything to do, which never comes here.
  for (uint32_t n = 0; n < set.count("after"); ++n) (void)shared_word<uint32_t>(*stop).load(memory_order::relaxed);
  rpc::request_stop<target>(*stop, *bell);
  for (auto& server : servers) server.join();
  on.synchronize();
}

/// How the servers wait: never asleep, as nothing rings, or on a doorbell, whose rings may be lost.
rpc::serve_pace pace_of(bool sleeps) {
  if (!sleeps) return {.polls = rpc::without_bound};
  return {.polls = 1, .sleep_ns = 1'000'000};
}

turns_of_lanes make_turns(device& on, const parameters& set) {
  const uint32_t lanes = set.count("waves") * set.count("lanes");
  return {on.allocate_shared<uint32_t>(lanes, "turns handled"), lanes};
}
callers callers_of(const parameters& set) { return {set.count("lanes"), set.count("calls")}; }

// -- slots ----------------------------------------------------------------------------------------------------------------------

template <typename Form>
struct slot_calls {
  rpc::basic_slot_client<target, Form, ending> client;

  HEDDLE_FUNCTION outcome made(uint64_t number) const {
    outcome of;
    const rpc::slot_result result = client.invoke([&](rpc::packet& line, uint32_t) { line.words[0] = number; },
                                                  [&](rpc::packet& line, uint32_t) { of.answer = line.words[0]; });
    of.made = result.made;
    of.ended = result.ended;
    return of;
  }
};

struct slot_stop {
  template <typename Form>
  static void run(const parameters& set) {
    device on;
    if (is_left_out<Form>(on, set)) return;
    const rpc::slot_layout<Form> shape{set.count("slots"), set.count("lanes")};
    auto* const memory = on.allocate_shared<unsigned char>(shape.size_bytes(), "slots");
    auto* const client_locks = on.allocate_device<uint32_t>(shape.own_words(), "client locks");
    auto* const server_locks = on.allocate_shared<uint32_t>(shape.own_words(), "server locks");
    auto* const stop = on.allocate_shared<uint32_t>(1, "stop flag");
    const turns_of_lanes turns = make_turns(on, set);
    name_slots(memory, client_locks, server_locks, shape, Form::slots_per_word);
    run_and_stop(on, set, stop, reinterpret_cast<doorbell*>(memory),
                 until_ended_kernel<slot_calls<Form>>{{{memory, client_locks, shape}}, callers_of(set)},
                 [=](uint32_t& word, uint32_t n) {
                   rpc::basic_slot_server<target, Form, ending> server(memory, server_locks, shape, n);
                   rpc::serve_until_ended<target>(
                       word, server, shape.slots,
                       [&] {
                         return server.handle(
                             [&](rpc::packet& line, uint32_t) { line.words[0] = turns.handle(line.words[0]); },
                             [](rpc::packet&, uint32_t) {});
                       },
                       pace_of(false));
                 });
  }
};

void run_slot_stop(const parameters& set) { run_with_mailbox<slot_stop>(set); }

// -- hostcalls ------------------------------------------------------------------------------------------------------------------

struct hostcalls_made {
  rpc::basic_hostcall_client<target, ending> client;

  HEDDLE_FUNCTION outcome made(uint64_t number) const {
    outcome of;
    const rpc::ring_result result = client.call(
        hostcall_service, [&](rpc::packet& line, uint32_t) { line.words[0] = number; },
        [&](rpc::packet& line, uint32_t) { of.answer = line.words[0]; });
    of.made = static_cast<bool>(result);
    of.ended = result.status == rpc::ring_status::ended;
    return of;
  }
};

void run_hostcall_stop(const parameters& set) {
  device on;
  if (is_left_out<rpc::hostcall_layout>(on, set)) return;
  const rpc::hostcall_layout shape{set.count("packets"), set.count("lanes")};
  auto* const memory = on.allocate_shared<unsigned char>(shape.size_bytes(), "packets");
  shape.prepare(memory);
  auto* const stop = on.allocate_shared<uint32_t>(1, "stop flag");
  const turns_of_lanes turns = make_turns(on, set);
  const bool sleeps = set.text("waiting") == "sleeps";
  run_and_stop(on, set, stop, reinterpret_cast<doorbell*>(memory),
               until_ended_kernel<hostcalls_made>{{{memory, shape, sleeps}}, callers_of(set)},
               [=](uint32_t& word, uint32_t) {
                 const rpc::basic_hostcall_server<target, ending> server(memory, shape);
                 rpc::serve_until_ended<target>(
                     word, server, 1,
                     [&] {
                       return server.serve([&](uint32_t, rpc::packet& line, uint32_t) {
                         line.words[0] = turns.handle(line.words[0]);
                       }) != 0;
                     },
                     pace_of(sleeps));
               });
}

// -- offload --------------------------------------------------------------------------------------------------------------------

template <typename Form>
struct offload_calls {
  rpc::basic_offload_client<target, Form, ending> client;

  HEDDLE_FUNCTION outcome made(uint64_t number) const {
    const rpc::offload_result result = client.call_words(0, number);
    return {result.status == rpc::offload_status::done, result.status == rpc::offload_status::ended, result.value};
  }
};

template <typename Form>
void run_offload_stop_with(const parameters& set) {
  device on;
  const rpc::offload_layout shape{entries_of(set), set.count("lanes")};
  auto* const memory = on.allocate_shared<unsigned char>(shape.size_bytes(), "requests");
  auto* const own = on.allocate_device<uint32_t>(1, "lock or next ticket");
  auto* const locks = on.allocate_shared<uint32_t>(shape.lock_words(), "server locks");
  auto* const stop = on.allocate_shared<uint32_t>(1, "stop flag");
  const turns_of_lanes turns = make_turns(on, set);
  // It has no doorbell.
  auto* const bell = on.allocate_shared<doorbell>(1, "doorbell");
  run_and_stop(on, set, stop, bell, until_ended_kernel<offload_calls<Form>>{{{memory, own, shape}}, callers_of(set)},
               [=](uint32_t& word, uint32_t n) {
                 using entries = rpc::mapped_entries<target>;
                 rpc::basic_offload_server<target, Form, entries, ending> server(entries(memory, shape), locks, {}, n);
                 rpc::serve_until_ended<target>(
                     word, server, server.entry_count(),
                     [&] {
                       return server.handle([&](uint64_t, rpc::offload_line& line, uint32_t) {
                         line.words[0] = turns.handle(line.words[0]);
                       });
                     },
                     pace_of(false));
               });
}

void run_offload_stop(const parameters& set) {
  if (set.text("entries") == "1")
    run_offload_stop_with<rpc::single_mailbox>(set);
  else
    run_offload_stop_with<rpc::offload_ring>(set);
}

// -- FIFOs ----------------------------------------------------------------------------------------------------------------------

struct numbered_entry {
  uint64_t number;
  uint64_t turn;
};

/// Pushes and flushes in turn.
template <typename Form>
struct push_until_ended_kernel {
  rpc::basic_fifo_producer<target, numbered_entry, Form, ending> producer;
  callers who;
  uint32_t turns;  ///< of a push; without_bound reserves first

  HEDDLE_FUNCTION void operator()() const {
    uint64_t turn = 0;
    for (uint32_t call = 0; who.calls == 0 || call < who.calls; call += who.calls == 0 ? 0 : 1) {
      const auto fill = [&](numbered_entry& entry, uint32_t) { entry = {who.number(), turn}; };
      const rpc::ring_result pushed = turns == rpc::without_bound ? producer.push(fill) : producer.push(fill, turns);
      if (pushed.status == rpc::ring_status::ended) return;
      if (!pushed) continue;
      turn ^= 1;
      if (producer.flush().status == rpc::ring_status::ended) return;
    }
  }
};

template <typename Form>
void run_fifo_stop_with(const parameters& set) {
  device on;
  using layout = rpc::fifo_layout<numbered_entry>;
  const layout shape{fifo_entries(set)};
  const auto first = static_cast<uint32_t>(set.number("first"));
  auto* const memory = on.allocate_shared<unsigned char>(shape.size_bytes(), "ring");
  layout::begin_at(memory, first);
  auto* const counters = on.allocate_device<rpc::fifo_counters>(1, "counters");
  const rpc::fifo_counters begin{first, first};
  on.copy(counters, &begin, sizeof begin);
  auto* const stop = on.allocate_shared<uint32_t>(1, "stop flag");
  const turns_of_lanes turns = make_turns(on, set);
  const uint32_t bound = set.count("turns") == 0 ? rpc::without_bound : set.count("turns");
  const uint32_t batch = set.count("batch") == 0 ? shape.entries : set.count("batch");
  run_and_stop(on, set, stop, reinterpret_cast<doorbell*>(memory),
               push_until_ended_kernel<Form>{{memory, counters, shape}, callers_of(set), bound},
               [=](uint32_t& word, uint32_t) {
                 const rpc::basic_fifo_consumer<target, numbered_entry, Form, ending> consumer(memory, shape);
                 rpc::serve_until_ended<target>(
                     word, consumer, shape.entries,
                     [&] {
                       return consumer.consume(
                                  [&](const numbered_entry& entry) {
                                    HEDDLE_CHECK(turns.handle(entry.number) ==
                                                     answer_of(entry.number, static_cast<uint32_t>(entry.turn)),
                                                 "an entry is not the next of its lane");
                                  },
                                  batch) != 0;
                     },
                     pace_of(false));
               });
}

void run_fifo_stop(const parameters& set) {
  if (set.text("flag") == "cleared")
    run_fifo_stop_with<rpc::cleared_flag>(set);
  else
    run_fifo_stop_with<rpc::lap_parity>(set);
}

// -- what they are given --------------------------------------------------------------------------------------------------------

scheduler::verdict_set slots_need_turns(const parameters& set) {
  const std::string carried = carried_to_slots(set);
  if (carried == "refused") return scheduler::verdict::memory;
  if (carried == "dropped") return scheduler::verdict_set::any_violation();
  return needs_turns(set);
}

std::vector<parameter> with_stop(std::vector<parameter> all) {
  for (parameter& each : all)
    if (each.key == "calls")
      each = parameter::number("calls", 0, 0, 100000, "", "calls that each lane makes; 0: until the server has ended");
  all.push_back(parameter::number("after", 24, 0, 1000000, "", "looks of the host before it stops"));
  return all;
}
scheduler::verdict_set hostcalls_need_turns(const parameters& set) {
  const scheduler::verdict_set holders = needs_fair_packet_holders(set);
  return holders == scheduler::verdict_set(scheduler::verdict::progress) ? scheduler::verdict_set(needs_turns(set))
                                                                         : holders;
}
std::vector<parameter> offload_stop_parameters() {
  std::vector<parameter> all = with_stop(offload_parameters(2, 2, 1));
  all.push_back(entries_parameter("2"));
  return all;
}
std::vector<parameter> fifo_stop_parameters() {
  std::vector<parameter> all = with_stop(fifo_parameters(2, 2, 4, 1));
  all.push_back(parameter::number("servers", 1, 1, 1, "", "host threads that consume"));
  all.push_back(parameter::number("turns", 0, 0, 1000, "", "looks for room of each push; 0: without bound"));
  return all;
}
scheduler::verdict fifo_needs_turns(const parameters& set) {
  if (set.has("progress") && set.count("lanes") > fifo_entries(set)) return scheduler::verdict::protocol;
  return needs_turns(set);
}

}  // namespace

HEDDLE_SCENARIO(run_slot_stop, {.name = "slot.stop",
                                .summary = "servers of slots that stop while waves call them without end",
                                .parameters = with_stop(slot_parameters(2, 2, 2, 1)),
                                .expected = slots_need_turns,
                                .proofs = {"waves=1 lanes=1 slots=1 after=0"}});

HEDDLE_SCENARIO(run_hostcall_stop, {.name = "hostcall.stop",
                                    .summary = "a server of hostcalls that stops while waves call it without end",
                                    .parameters = with_stop(hostcall_parameters(2, 2, 2, 1, 1)),
                                    .expected = hostcalls_need_turns,
                                    .proofs = {"waves=1 lanes=1 packets=2 calls=1 after=0"}});

HEDDLE_SCENARIO(run_offload_stop, {.name = "offload.stop",
                                   .summary = "a server of offload that stops while waves ask it without end",
                                   .parameters = offload_stop_parameters(),
                                   .expected = needs_turns,
                                   .proofs = {"waves=2 lanes=1 entries=1 calls=1 after=0"}});

HEDDLE_SCENARIO(run_fifo_stop, {.name = "ring.stop",
                                .summary = "a consumer that stops while waves push without end",
                                .parameters = fifo_stop_parameters(),
                                .expected = fifo_needs_turns,
                                .proofs = {"waves=1 lanes=1 calls=1 after=0"}});

}  // namespace heddle::tests
