// A service: its calls, and how it ends.
#include "services.h"

namespace heddle::tests {

// Functions of the host, called with arguments of every size: nothing, a few words, several packets, null, above the bound; and memory
// that the host gives.
namespace {

constexpr uint64_t call_bound_bytes = 512;
constexpr uint32_t most_words = 17;

HEDDLE_FUNCTION constexpr uint64_t word_of(uint64_t id, uint64_t n) { return id * 1000 + n * 7 + 1; }

/// Around the edges of the first packet, several packets, and none at all.
HEDDLE_FUNCTION constexpr uint64_t words_of_request(uint64_t id) {
  constexpr uint64_t sizes[] = {0, 1, 2, 3, 9, most_words};
  return sizes[id % (sizeof sizes / sizeof sizes[0])];
}

/// Adds up, counts the request, and leaves each word changed.
using account_function = uint64_t(uint64_t id, rpc::span<uint64_t> words, const char* name);

struct account_for {
  request_account account;

  uint64_t operator()(uint64_t id, rpc::span<uint64_t> words, const char* name) const {
    account.count(id);
    HEDDLE_CHECK(words.count == words_of_request(id), "the host gets another number of words than the kernel sends");
    HEDDLE_CHECK((name == nullptr) == (id % 2 == 0), "a text and null are mixed up");
    HEDDLE_CHECK(name == nullptr || (name[0] == 'o' && name[3] == 0), "the text is another");
    uint64_t sum = 0;
    for (uint64_t n = 0; n < words.count; ++n) {
      HEDDLE_CHECK(words.data[n] == word_of(id, n), "the host gets another word than the kernel sends");
      sum += words.data[n];
      words.data[n] = ~words.data[n];
    }
    return sum;
  }
};

struct calls_kernel {
  rpc::service_client host;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      uint64_t words[most_words];
      uint64_t sum = 0;
      const uint64_t count = words_of_request(id);
      for (uint64_t n = 0; n < count; ++n) sum += words[n] = word_of(id, n);
      const auto given =
          host.call<account_function>(account_call, id, rpc::span{words, count}, id % 2 == 0 ? nullptr : "odd");
      HEDDLE_CHECK(given.ok() && given.result == sum, "the answer is not the one to this lane's request");
      for (uint64_t n = 0; n < count; ++n) HEDDLE_CHECK(words[n] == ~word_of(id, n), "a span comes back otherwise");

      void* const memory = host.allocate(32);
      HEDDLE_CHECK(memory != nullptr, "the host has no memory left");
      // Any other client that was given it as well would race here.
      *static_cast<uint64_t*>(memory) = id;
      HEDDLE_CHECK(*static_cast<uint64_t*>(memory) == id, "this memory was given out twice");
      HEDDLE_CHECK(host.free(memory).ok(), "memory cannot be given back");
    }
    refusals();
  }

  /// What the host must not do.
  HEDDLE_FUNCTION void refusals() const {
    const auto unknown = host.call<account_function>(account_call + 1, 0, rpc::span<uint64_t>{}, nullptr);
    HEDDLE_CHECK(unknown.answer.status == rpc::service_status::unhandled,
                 "a function is called that was never registered");
    const auto other = host.call<uint64_t(uint64_t)>(account_call, 0);
    HEDDLE_CHECK(other.answer.status == rpc::service_status::wrong_signature,
                 "a function is called with other arguments");
    const uint64_t one = 0;
    const auto large = host.call<void(rpc::span<const uint64_t>)>(account_call, rpc::span{&one, uint64_t{1} << 61});
    HEDDLE_CHECK(large.answer.status == rpc::service_status::too_large, "a request above the bound is taken");
  }
};

void run_service_calls(const parameters& set) {
  device on;
  const request_account account = make_account(on, set);
  {
    const uint64_t room = 32 * uint64_t{set.count("waves")} * set.count("lanes");
    rpc::service_shape shape = shape_of(set, room);
    if (set.text("answers") == "device") shape.answers = rpc::answer_memory::device;
    rpc::service host(on, shape, {.bound_bytes = call_bound_bytes});
    name_ports_of(host);
    host.add<account_function>(account_call, account_for{account}).value();
    host.start();
    on.launch({.waves = set.count("waves"), .lanes = set.count("lanes")},
              calls_kernel{host.client(), {set.count("lanes"), set.count("calls")}});
    on.synchronize();
    host.stop();
    host.join();
    HEDDLE_CHECK(host.handlers().memory().used_bytes() == 0, "memory that was given back is still in use");
  }
  for (uint64_t id = 0; id < account.requests; ++id)
    HEDDLE_CHECK(account.count_of(id) == 1, "not every request was handled");
}

std::vector<parameter> calls_parameters() {
  std::vector<parameter> all = service_parameters(2, 2, 4, 2);
  all.push_back(parameter::one_of("answers", "shared", {"shared", "device"},
                                  "where the answers lie: with the requests, or in memory of the device"));
  return all;
}

}  // namespace

HEDDLE_SCENARIO(run_service_calls, {.name = "service.calls",
                                    .summary = "functions of the host, with spans and texts, and memory that it gives",
                                    .parameters = calls_parameters(),
                                    .expected = needs_fair_clients});

// A host that stops while kernels call it, also without end: each call is answered, or its lane is told that it was not; no call is
// half done. And a host whose handlers throw: no lane takes its own request for an answer, and none waits for ever.
namespace {

struct stopped_kernel {
  rpc::service_client host;
  callers who;
  uint32_t* answered;  ///< by request; in shared memory

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      const auto given = host.call<uint64_t(uint64_t)>(account_call, id);
      // A port that has ended says nothing of the others: a later call may be answered all the same.
      HEDDLE_CHECK(given.ok() || given.answer.status == rpc::service_status::ended, "a call fails for another reason");
      if (!given.ok()) continue;
      HEDDLE_CHECK(given.result == ~id, "the answer is not the one to this lane's request");
      // Relaxed: read when the launch has ended.
      shared_word<uint32_t>(answered[id]).store(1, memory_order::relaxed);
    }
  }
};

struct complement {
  request_account account;
  uint64_t operator()(uint64_t id) const {
    account.count(id);
    return ~id;
  }
};

void run_service_stop(const parameters& set) {
  device on;
  const request_account account = make_account(on, set);
  auto* const answered = on.allocate_shared<uint32_t>(account.requests, "answered requests");
  {
    rpc::service host(on, shape_of(set));
    name_ports_of(host);
    host.add<uint64_t(uint64_t)>(account_call, complement{account}).value();
    host.start();
    on.launch({.waves = set.count("waves"), .lanes = set.count("lanes")},
              stopped_kernel{host.client(), {set.count("lanes"), set.count("calls")}, answered});
    for (uint32_t n = 0; n < set.count("after"); ++n) target::pause();
    host.stop();
    on.synchronize();
  }
  for (uint64_t id = 0; id < account.requests; ++id)
    HEDDLE_CHECK(account.count_of(id) == shared_word<uint32_t>(answered[id]).load(memory_order::relaxed),
                 "a request was carried out and not answered, or answered and not carried out");
}

// -- stop-under-load ------------------------------------------------------------------------------------------------------------

/// Calls until it is told that the host has ended, as the manual says that a kernel may learn of a stop.
struct tireless_kernel {
  rpc::service_client host;
  callers who;
  uint32_t* carried_out;  ///< by lane, 1 from when its request is carried out until it has the answer; in shared memory

  HEDDLE_FUNCTION void operator()() const {
    const uint64_t number = who.number();
    // A call without end is not counted: that would make each of them another state of the run.
    const bool has_end = who.calls != 0;
    for (uint32_t left = who.calls; !has_end || left != 0; left -= has_end ? 1 : 0) {
      const auto given = host.call<uint64_t(uint64_t)>(account_call, number);
      if (!given.ok()) {
        HEDDLE_CHECK(given.answer.status == rpc::service_status::ended, "a call fails for another reason");
        break;
      }
      HEDDLE_CHECK(given.result == ~number, "the answer is not the one to this lane's request");
      // Plain, here and in the handler: the hand-over of the port orders them.
      HEDDLE_CHECK(carried_out[number] == 1, "a request was answered and not carried out");
      carried_out[number] = 0;
    }
  }
};

void run_stop_under_load(const parameters& set) {
  device on;
  const uint32_t callers_all = set.count("waves") * set.count("lanes");
  auto* const carried_out = on.allocate_shared<uint32_t>(callers_all, "carried out");
  auto* const idle = on.allocate_shared<uint32_t>(1, "idle");
  {
    rpc::service_shape shape = shape_of(set);
    // What is counted, and what rings, never comes back to the state that it was in: no proof would end.
    shape.counts = false;
    shape.rings = false;
    rpc::service host(on, shape);
    name_ports_of(host);
    host.add<uint64_t(uint64_t)>(account_call,
                                 [carried_out, callers_all](uint64_t number) {
                                   HEDDLE_CHECK(number < callers_all, "a request has a number that no lane has");
                                   HEDDLE_CHECK(carried_out[number] == 0, "a request is carried out twice");
                                   carried_out[number] = 1;
                                   return ~number;
                                 })
        .value();
    host.start();
    on.launch({.waves = set.count("waves"), .lanes = set.count("lanes")},
              tireless_kernel{host.client(), {set.count("lanes"), set.count("calls")}, carried_out});
    // Steps, and no pause: one that waits for nothing has its turn when no other thread has anything to do, which never comes here.
    for (uint32_t n = 0; n < set.count("after"); ++n) (void)shared_word<uint32_t>(*idle).load(memory_order::relaxed);
    host.stop();
    on.synchronize();
  }
  for (uint32_t number = 0; number < callers_all; ++number)
    HEDDLE_CHECK(carried_out[number] == 0, "a request was carried out and not answered");
}

// -- posts ----------------------------------------------------------------------------------------------------------------------

/// Posts calls, waits until they have been carried out, and looks.
struct posts_kernel {
  rpc::service_client host;
  callers who;
  const uint64_t* carried_out;  ///< by lane; in shared memory, written by the host

  HEDDLE_FUNCTION void operator()() const {
    const uint64_t number = who.number();
    const auto large =
        host.post_call<void(rpc::span<const uint64_t>)>(account_call, rpc::span{&number, uint64_t{1} << 61});
    HEDDLE_CHECK(large.status == rpc::service_status::too_large, "a post above the bound is sent");
    for (uint64_t call = 0; call < who.calls; ++call) {
      // A span that is the kernel's again when the post returns.
      uint64_t words[most_words];
      for (uint64_t n = 0; n < words_of_request(number + call); ++n) words[n] = word_of(number, call);
      const auto posted = host.post_call<void(uint64_t, uint64_t, rpc::span<uint64_t>)>(
          account_call, number, call, rpc::span{words, words_of_request(number + call)});
      HEDDLE_CHECK(posted.ok(), "a post is not sent");
      for (uint64_t& word : words) word = 0;
    }
    HEDDLE_CHECK(host.settle().ok(), "a host that goes on has ended");
    // Plain: behind settle() the host is done with this wave.
    HEDDLE_CHECK(carried_out[number] == who.calls, "a post has not been carried out behind settle()");
  }
};

void run_service_posts(const parameters& set) {
  device on;
  const uint64_t lanes_all = uint64_t{set.count("waves")} * set.count("lanes");
  auto* const carried_out = on.allocate_shared<uint64_t>(lanes_all, "posts carried out");
  {
    rpc::service host(on, shape_of(set), {.bound_bytes = call_bound_bytes});
    name_ports_of(host);
    host.add<void(uint64_t, uint64_t, rpc::span<uint64_t>)>(
            account_call,
            [carried_out, lanes_all](uint64_t number, uint64_t call, rpc::span<uint64_t> words) {
              HEDDLE_CHECK(number < lanes_all, "a post has a number that no lane has");
              // Plain: posts of one wave are carried out one behind the other, whichever thread does.
              HEDDLE_CHECK(carried_out[number]++ == call, "posts of a lane are carried out in another order");
              for (uint64_t n = 0; n < words.count; ++n)
                HEDDLE_CHECK(words.data[n] == word_of(number, call), "the host gets another word than was posted");
            })
        .value();
    host.start();
    on.launch({.waves = set.count("waves"), .lanes = set.count("lanes")},
              posts_kernel{host.client(), {set.count("lanes"), set.count("calls")}, carried_out});
    on.synchronize();
    host.stop();
    host.join();
    HEDDLE_CHECK(host.counts().posts_failed == 0, "a post has failed");
  }
}

inline constexpr uint16_t throwing_opcode = rpc::user_opcode(2);
inline constexpr uint16_t unheard_of_opcode = rpc::user_opcode(3);
inline constexpr uint64_t throwing_call = 2;

/// Asks in turn for a handler that throws before it answers, a host function that throws, and an opcode without handler.
struct disappointed_kernel {
  rpc::service_client host;
  callers who;
  bool may_end;  ///< the host stops meanwhile

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      no_answer<throwing_opcode>(id);
      no_answer<unheard_of_opcode>(id);
      const auto thrown = host.call<uint64_t(uint64_t)>(throwing_call, id);
      HEDDLE_CHECK(
          (thrown.answer.status == rpc::service_status::failed || has_ended(thrown.answer)) && thrown.result == 0,
          "a function that throws gives an answer");
      const auto given = host.call<uint64_t(uint64_t)>(account_call, id);
      HEDDLE_CHECK(has_ended(given.answer) || (given.ok() && given.result == ~id),
                   "the host does not go on behind a handler that has thrown");
    }
  }

  HEDDLE_FUNCTION bool has_ended(const rpc::service_answer& answer) const {
    return may_end && answer.status == rpc::service_status::ended;
  }

  template <uint16_t Opcode>
  HEDDLE_FUNCTION void no_answer(uint64_t id) const {
    auto port = host.ports().open<Opcode>();
    port.send([&](rpc::packet& to, uint32_t) { to.words[0] = id; });
    port.recv([](rpc::packet&, uint32_t) { HEDDLE_CHECK(false, "a request comes back as its own answer"); });
    HEDDLE_CHECK(port.ended() && (may_end || port.unanswered()), "a lane is not told that there is no answer");
  }
};

void run_throwing_handler(const parameters& set) {
  device on;
  const bool stops = set.text("stops") == "meanwhile";
  const request_account account = make_account(on, set);
  {
    rpc::service_shape shape = shape_of(set);
    shape.counts = false;
    shape.rings = false;
    rpc::service host(on, shape, {.on_throw = [](const std::string&) {}});
    name_ports_of(host);
    host.add<uint64_t(uint64_t)>(account_call, complement{account}).value();
    host.add<uint64_t(uint64_t)>(throwing_call, [](uint64_t id) -> uint64_t { throw id; }).value();
    host.on(throwing_opcode,
            [](rpc::service::port& opened) {
              opened.recv([](rpc::packet&, uint32_t) {});
              throw rpc::opcode::nothing;
            })
        .value();
    host.start();
    on.launch({.waves = set.count("waves"), .lanes = set.count("lanes")},
              disappointed_kernel{host.client(), {set.count("lanes"), set.count("calls")}, stops});
    if (!stops) on.synchronize();
    host.stop();
    on.synchronize();
    host.join();
  }
  for (uint64_t id = 0; id < account.requests; ++id)
    HEDDLE_CHECK(account.count_of(id) == 1 || (stops && account.count_of(id) == 0), "not every request was handled");
}

std::vector<parameter> throwing_parameters() {
  std::vector<parameter> all = service_parameters(2, 2, 4, 1);
  all.push_back(parameter::one_of("stops", "behind", {"behind", "meanwhile"}, "when the host stops, by the launch"));
  return all;
}

scheduler::verdict throwing_verdict(const parameters& set) {
  return set.text("stops") == "behind" ? needs_fair_holders(set) : needs_turns(set);
}

std::vector<parameter> stop_parameters() {
  std::vector<parameter> all = service_parameters(2, 2, 4, 3);
  all.push_back(parameter::number("after", 2, 0, 1000000, "", "turns that the host waits before it stops"));
  return all;
}

}  // namespace

HEDDLE_SCENARIO(run_service_stop, {.name = "service.stop",
                                   .summary = "a host that stops while kernels call it",
                                   .parameters = stop_parameters(),
                                   .expected = needs_turns});

std::vector<parameter> load_parameters() {
  std::vector<parameter> all = stop_parameters();
  for (parameter& each : all)
    if (each.key == "calls")
      each = parameter::number("calls", 0, 0, 100000, "", "calls that each lane makes; 0: until the host has ended");
  return all;
}

HEDDLE_SCENARIO(run_stop_under_load, {.name = "service.stop-under-load",
                                      .summary = "a host that stops while kernels call it without end",
                                      .parameters = load_parameters(),
                                      .expected = needs_turns,
                                      .proofs = {"waves=1 lanes=1 ports=1 polls=0 after=0"}});

HEDDLE_SCENARIO(run_service_posts,
                {.name = "service.posts",
                 .summary = "calls without a wait for the answer, carried out in the order of each wave",
                 .parameters = service_parameters(2, 2, 4, 3),
                 .expected = needs_fair_clients});

HEDDLE_SCENARIO(run_throwing_handler, {.name = "service.throwing-handler",
                                       .summary = "handlers and host functions that throw, and opcodes without handler",
                                       .parameters = throwing_parameters(),
                                       .expected = throwing_verdict,
                                       .proofs = {"waves=1 lanes=1 ports=1 polls=0"}});

}  // namespace heddle::tests
