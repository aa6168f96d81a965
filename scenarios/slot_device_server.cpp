// A kernel that stays on the device serves: host threads, or the waves of another kernel, which call it through slots.
#include "slots.h"

namespace heddle::tests {
namespace {

template <typename Form>
struct serving_kernel {
  rpc::slot_server<Form> server;
  uint32_t* handled;  ///< in the device's own memory: the link may carry no read-modify-writes
  uint32_t* stop;
  uint64_t requests;
  uint32_t lanes;

  HEDDLE_FUNCTION void operator()() const {
    rpc::slot_server<Form> at = server;
    const uint64_t all = target::lane_count() == 1 ? 1 : ~uint64_t{0} >> (64 - lanes);
    for (;;) {
      // One lane looks for all: they must go on together. Acquire pairs with the release of the stop; read before the look for
      // work, so that what was posted before is then found.
      const bool ends = target::broadcast(all, shared_word<uint32_t>(*stop).load(memory_order::acquire)) != 0;
      if (at.handle([this](rpc::packet& line, uint32_t) { operate(line); },
                    [](rpc::packet& line, uint32_t) { line.words[0] = cleared_line; }, all))
        continue;
      if (ends) return;
      target::pause();
    }
  }

  HEDDLE_FUNCTION void operate(rpc::packet& line) const {
    HEDDLE_CHECK(line.words[0] < requests, "a request has a number that was never given out");
    HEDDLE_CHECK(shared_word<uint32_t>(handled[line.words[0]]).fetch_add(1, memory_order::relaxed) == 0,
                 "a request is handled twice");
    line.words[0] = changed_by_operate(line.words[0]);
  }
};

struct slot_device_server {
  template <typename Form>
  static void run(const parameters& set) {
    device on;
    if (is_left_out<Form>(on, set)) return;
    const uint32_t callers = set.count("callers");
    const uint32_t calls = set.count("calls");
    const uint64_t requests = uint64_t{callers} * calls;
    const rpc::slot_layout<Form> shape{set.count("slots"), 1};
    auto* const memory = on.allocate_shared<unsigned char>(shape.size_bytes(), "slots");
    auto* const client_locks = on.allocate_shared<uint32_t>(shape.own_words(), "client locks");
    auto* const server_locks = on.allocate_device<uint32_t>(shape.own_words(), "server locks");
    auto* const handled = on.allocate_device<uint32_t>(requests, "handled requests");
    auto* const words = on.allocate_shared<uint32_t>(2, "stop flag and callers that are done");
    uint32_t* const done = &words[1];

    on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = set.count("lanes")},
              serving_kernel<Form>{rpc::slot_server<Form>(memory, server_locks, shape), handled, &words[0], requests,
                                   set.count("lanes")});
    const rpc::slot_client<Form> client(memory, client_locks, shape);
    std::vector<decltype(on.spawn_host("caller", [] {}))> threads;
    threads.reserve(callers);
    for (uint32_t caller = 0; caller < callers; ++caller)
      threads.push_back(on.spawn_host("caller", [=] {
        for (uint32_t call = 0; call < calls; ++call) {
          const uint64_t id = uint64_t{caller} * calls + call;
          uint64_t answer = 0;
          while (!client.invoke([&](rpc::packet& line, uint32_t) { line.words[0] = id; },
                                [&](rpc::packet& line, uint32_t) { answer = line.words[0]; }))
            target::pause();
          HEDDLE_CHECK(answer == changed_by_operate(id), "the answer is not the one to this thread's request");
        }
        // Release pairs with the acquire of the wait for all callers.
        shared_word<uint32_t>(*done).fetch_add(1, memory_order::release);
      }));
    // A GPU need not start a kernel whose host never asks for it.
    while (shared_word<uint32_t>(*done).load(memory_order::acquire) != callers) {
      on.query();
      target::pause();
    }
    for (auto& thread : threads) thread.join();
    shared_word<uint32_t>(words[0]).store(1, memory_order::release);
    on.synchronize();

    std::vector<uint32_t> counts(requests);
    on.copy(counts.data(), handled, requests * sizeof(uint32_t));
    for (const uint32_t count : counts) HEDDLE_CHECK(count == 1, "a request was not handled");
    HEDDLE_CHECK(client.all_idle(), "a slot is not idle in the end");
  }
};

template <typename Form>
struct kernel_that_calls {
  rpc::slot_client<Form> client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      uint64_t answer = 0;
      while (!client.invoke([&](rpc::packet& line, uint32_t) { line.words[0] = id; },
                            [&](rpc::packet& line, uint32_t) { answer = line.words[0]; }))
        target::pause();
      HEDDLE_CHECK(answer == changed_by_operate(id), "the answer is not the one to this lane's request");
    }
  }
};

/// Both ends on one device, in two streams; everything lies in its memory.
struct slot_between_kernels {
  template <typename Form>
  static void run(const parameters& set) {
    device on;
    if (is_left_out<Form>(on, set)) return;
    const uint32_t lanes = set.count("lanes");
    const uint64_t requests = uint64_t{set.count("waves")} * lanes * set.count("calls");
    const rpc::slot_layout<Form> shape{set.count("slots"), lanes};
    auto* const memory = on.allocate_device<unsigned char>(shape.size_bytes(), "slots");
    auto* const client_locks = on.allocate_device<uint32_t>(shape.own_words(), "client locks");
    auto* const server_locks = on.allocate_device<uint32_t>(shape.own_words(), "server locks");
    auto* const handled = on.allocate_device<uint32_t>(requests, "handled requests");
    auto* const stop = on.allocate_shared<uint32_t>(1, "stop flag");
    const auto serving = on.create_stream();
    const auto calling = on.create_stream();

    on.launch({.blocks = 1, .waves = set.count("servers"), .lanes = lanes},
              serving_kernel<Form>{rpc::slot_server<Form>(memory, server_locks, shape), handled, stop, requests, lanes},
              serving);
    on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = lanes},
              kernel_that_calls<Form>{rpc::slot_client<Form>(memory, client_locks, shape), {lanes, set.count("calls")}},
              calling);
    on.synchronize(calling);
    shared_word<uint32_t>(*stop).store(1, memory_order::release);
    on.synchronize();

    std::vector<uint32_t> counts(requests);
    on.copy(counts.data(), handled, requests * sizeof(uint32_t));
    for (const uint32_t count : counts) HEDDLE_CHECK(count == 1, "a request was not handled");
  }
};

void run_slot_between_kernels(const parameters& set) { run_with_mailbox<slot_between_kernels>(set); }

/// A wave that calls may have begun before any that serves: only where all waves that there is room for begin does it not wait for ever.
scheduler::verdict needs_waves_that_begin(const parameters& set) {
  if (!set.has("progress")) return scheduler::verdict::ok;
  const std::string& model = set.text("progress");
  return model == "fair" || model == "slots" ? scheduler::verdict::ok : scheduler::verdict::progress;
}

void run_slot_device_server(const parameters& set) { run_with_mailbox<slot_device_server>(set); }

/// A wave that has taken a slot to serve it must be guaranteed turns.
scheduler::verdict needs_fair_servers(const parameters& set) {
  if (!set.has("progress")) return scheduler::verdict::ok;
  const std::string& model = set.text("progress");
  const bool hangs = model == "unfair" || (model == "hsa" && set.count("waves") > 1);
  return hangs ? scheduler::verdict::progress : scheduler::verdict::ok;
}

}  // namespace

HEDDLE_SCENARIO(run_slot_device_server,
                {.name = "slot.device-server",
                 .summary = "host threads call, and waves that stay on the device serve them",
                 .parameters =
                     {
                         parameter::number("waves", 2, 1, 65536, "", "waves that serve"),
                         parameter::number("lanes", 2, 1, 64, "", "lanes of each wave"),
                         parameter::number("slots", 2, 1, rpc::max_slots, "", "slots between client and server"),
                         parameter::number("callers", 2, 1, 64, "", "host threads that call"),
                         parameter::number("calls", 3, 1, 100000, "", "calls that each thread makes"),
                         mailbox_parameter(),
                     },
                 .expected = needs_fair_servers});

HEDDLE_SCENARIO(run_slot_between_kernels,
                {.name = "slot.device-to-device",
                 .summary = "waves of one kernel call, and those of another serve them",
                 .parameters =
                     {
                         parameter::number("waves", 2, 1, 65536, "", "waves that call"),
                         parameter::number("lanes", 2, 1, 64, "", "lanes of each wave"),
                         parameter::number("slots", 2, 1, rpc::max_slots, "", "slots between client and server"),
                         parameter::number("servers", 1, 1, 65536, "", "waves that serve"),
                         parameter::number("calls", 3, 1, 100000, "", "calls that each lane makes"),
                         mailbox_parameter(),
                     },
                 .expected = needs_waves_that_begin});

}  // namespace heddle::tests
