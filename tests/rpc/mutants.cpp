// Four small programs, each run on the mutants that concern it: calls with an answer, with one of one word, streams, and a server that sleeps.
#include "mutants.h"

#include <heddle/tools/scenario.h>

#include <vector>

namespace heddle::tests {
namespace {

template <typename Machine>
using client_on = rpc::basic_client<Machine, rpc::checked>;
template <typename Machine>
using server_on = rpc::basic_server<Machine, rpc::checked>;

constexpr uint16_t call_opcode = rpc::user_opcode(1);

std::vector<parameter> small_settings() {
  return {
      parameter::number("waves", 2, 1, 64, "", "waves that call"),
      parameter::number("lanes", 2, 1, 64, "", "lanes of each wave"),
      parameter::number("ports", 2, 1, 64, "", "ports between client and server"),
      parameter::number("servers", 2, 1, 64, "", "host threads that serve"),
      parameter::number("calls", 2, 1, 64, "", "calls that each lane makes"),
  };
}

uint32_t request(uint32_t lanes, uint32_t calls, uint32_t call) {
  return (target::wave_id() * lanes + target::lane_id()) * calls + call;
}

/// Whether a lane makes this call; the others of its wave do not wait for it.
bool takes_part(uint64_t id) { return id % 3 != 2; }

/// Memory for one set of ports, and servers that hand each port that opens to a handler until the kernel has ended.
template <typename ClientMachine, typename ServerMachine>
class ports_on {
 public:
  explicit ports_on(const parameters& set)
      : set_(set), shape_{.ports = set.count("ports"), .lanes = set.count("lanes"), .words = true} {
    memory_ = on_.allocate_shared<unsigned char>(shape_.size_bytes(), "ports");
    client_locks_ = on_.allocate_device<uint32_t>(shape_.own_words(), "client locks");
    server_locks_ = on_.allocate_shared<uint32_t>(shape_.own_words(), "server locks");
    stop_ = on_.allocate_shared<uint32_t>(1, "stop flag");
    handled_ = on_.allocate_shared<uint32_t>(1, "handled requests");
  }

  client_on<ClientMachine> client(bool rings = false) const { return {memory_, client_locks_, shape_, rings}; }
  server_on<ServerMachine> server() const { return {memory_, server_locks_, shape_}; }

  /// Every request of every lane, as if all took part.
  uint32_t all_requests() const { return set_.count("waves") * set_.count("lanes") * set_.count("calls"); }

  /// `handle(port)` returns how many requests it has handled; `expected` is how many there are.
  template <typename Kernel, typename Handle>
  void run(Kernel kernel, Handle handle, uint32_t expected, bool sleeping = false) {
    {
      std::vector<decltype(on_.spawn_host("server", [] {}))> servers;
      for (uint32_t n = 0; n < set_.count("servers"); ++n)
        // By value: the stack of one thread is no place for another one to read.
        servers.push_back(
            on_.spawn_host("server", [at = server(), handle, stop = stop_, handled = handled_, sleeping]() mutable {
              serve(at, handle, *stop, *handled, sleeping);
            }));
      on_.launch({.waves = set_.count("waves"), .lanes = set_.count("lanes")}, kernel);
      on_.synchronize();
      word(*stop_).store(1, memory_order::release);
      // Sleeping servers look once more. The bell is rung by a machine that works.
      target::notify(*reinterpret_cast<doorbell*>(memory_ + rpc::layout::doorbell_offset()));
    }
    HEDDLE_CHECK(word(*handled_).load(memory_order::relaxed) == expected, "requests are not handled once each");
    HEDDLE_CHECK(server().all_idle(), "a port is not back with its client, or a server holds it");
  }

 private:
  using word = target::atomic_ref<uint32_t, scope::system>;

  template <typename Handle>
  static void serve(server_on<ServerMachine>& at, Handle& handle, uint32_t& stop, uint32_t& handled, bool sleeping) {
    for (;;) {
      const doorbell seen = at.rings();
      const bool last = word(stop).load(memory_order::acquire) != 0;
      if (auto port = at.try_open()) {
        word(handled).fetch_add(handle(port), memory_order::relaxed);
        continue;
      }
      if (last) return;
      if (sleeping)
        at.wait(seen, no_timeout);
      else
        target::pause();
    }
  }

  device on_;
  const parameters& set_;
  rpc::layout shape_;
  unsigned char* memory_ = nullptr;
  uint32_t* client_locks_ = nullptr;
  uint32_t* server_locks_ = nullptr;
  uint32_t* stop_ = nullptr;
  uint32_t* handled_ = nullptr;
};

// -- calls with an answer -----------------------------------------------------------------------------------------------------

template <typename Machine>
struct asking_kernel {
  client_on<Machine> client;
  uint32_t lanes;
  uint32_t calls;

  void operator()() const {
    for (uint32_t call = 0; call < calls; ++call) {
      const uint64_t id = request(lanes, calls, call);
      if (!takes_part(id)) continue;
      uint64_t answer = 0;
      auto port = client.template open<call_opcode>();
      port.send_and_recv([&](rpc::packet& to, uint32_t) { to.words[0] = id; },
                         [&](rpc::packet& from, uint32_t) { answer = from.words[0]; });
      HEDDLE_CHECK(answer == id + 1, "the answer is not the one to this lane's request");
    }
  }
};

template <typename ClientMachine, typename ServerMachine>
void run_calls(const parameters& set) {
  ports_on<ClientMachine, ServerMachine> ports(set);
  uint32_t expected = 0;
  for (uint32_t id = 0; id < ports.all_requests(); ++id) expected += takes_part(id) ? 1 : 0;
  ports.run(
      asking_kernel<ClientMachine>{ports.client(), set.count("lanes"), set.count("calls")},
      [](auto& port) {
        uint32_t requests = 0;
        port.recv_and_send([&](rpc::packet& both, uint32_t) {
          ++both.words[0];
          ++requests;
        });
        return requests;
      },
      expected);
}

// -- streams ------------------------------------------------------------------------------------------------------------------

constexpr uint32_t buffer_bytes = 192;

template <typename Machine>
struct streaming_kernel {
  client_on<Machine> client;
  uint32_t lanes;
  uint32_t calls;

  void operator()() const {
    for (uint32_t call = 0; call < calls; ++call) {
      const uint32_t id = request(lanes, calls, call);
      const uint64_t bytes = id * 64 % buffer_bytes;
      unsigned char buffer[buffer_bytes] = {};
      for (uint64_t n = 0; n < bytes; ++n) buffer[n] = static_cast<unsigned char>(id + n);
      auto port = client.template open<call_opcode>();
      port.send_n(buffer, bytes, buffer_bytes);
    }
  }
};

template <typename ClientMachine, typename ServerMachine>
void run_streams(const parameters& set) {
  ports_on<ClientMachine, ServerMachine> ports(set);
  ports.run(
      streaming_kernel<ClientMachine>{ports.client(), set.count("lanes"), set.count("calls")},
      [](auto& port) {
        unsigned char heard[4][buffer_bytes] = {};
        uint32_t requests = 0;
        port.recv_n(
            [&](uint32_t lane, uint64_t) -> void* {
              ++requests;
              return heard[lane % 4];
            },
            buffer_bytes);
        return requests;
      },
      ports.all_requests());
}

// -- calls to a server that sleeps --------------------------------------------------------------------------------------------

template <typename Machine>
struct ringing_kernel {
  client_on<Machine> client;
  uint32_t calls;

  void operator()() const {
    for (uint32_t call = 0; call < calls; ++call) {
      auto port = client.template open<call_opcode>();
      port.send_and_recv([&](rpc::packet& to, uint32_t) { to.words[0] = call; }, [](rpc::packet&, uint32_t) {});
    }
  }
};

template <typename ClientMachine, typename ServerMachine>
void run_rings(const parameters& set) {
  ports_on<ClientMachine, ServerMachine> ports(set);
  ports.run(
      ringing_kernel<ClientMachine>{ports.client(true), set.count("calls")},
      [](auto& port) {
        uint32_t requests = 0;
        port.recv_and_send([&](rpc::packet&, uint32_t) { ++requests; });
        return requests;
      },
      ports.all_requests(), true);
}

// -- calls with an answer of one word -----------------------------------------------------------------------------------------

template <typename Machine>
struct wording_kernel {
  client_on<Machine> client;
  uint32_t lanes;
  uint32_t calls;

  void operator()() const {
    for (uint32_t call = 0; call < calls; ++call) {
      const uint64_t id = request(lanes, calls, call);
      uint64_t answer = 0;
      auto port = client.template open<call_opcode>();
      for (uint32_t again = 0; again < 3; ++again) {
        port.send_and_recv_word([&](rpc::packet& to, uint32_t) { to.words[0] = id + again; },
                                [&](uint64_t word, uint32_t) { answer = word; });
        HEDDLE_CHECK(answer == id + again + 1, "the answer is not the one to this lane's request");
      }
    }
  }
};

template <typename ClientMachine, typename ServerMachine>
void run_words(const parameters& set) {
  ports_on<ClientMachine, ServerMachine> ports(set);
  ports.run(
      wording_kernel<ClientMachine>{ports.client(), set.count("lanes"), set.count("calls")},
      [](auto& port) {
        uint32_t requests = 0;
        for (uint32_t again = 0; again < 3; ++again) {
          uint64_t asked[rpc::max_lanes];
          port.recv([&](rpc::packet& from, uint32_t lane) {
            asked[lane] = from.words[0];
            if (again == 0) ++requests;
          });
          port.send_word([&](uint32_t lane) { return asked[lane] + 1; });
        }
        return requests;
      },
      ports.all_requests());
}

// -- the programs on the machines ---------------------------------------------------------------------------------------------

/// Registers `program` under `name` with the client on one machine and the server on another.
#define HEDDLE_MUTANT(family, program, client_machine, server_machine)                               \
  [[maybe_unused]] static const bool family##_##program##_##client_machine##_##server_machine =      \
      register_scenario({.name = #family "." #program "." #client_machine "." #server_machine,       \
                         .summary = "the client's machine, then the server's, with one thing wrong", \
                         .parameters = small_settings(),                                             \
                         .body = run_##program<mutants::client_machine, mutants::server_machine>})

HEDDLE_MUTANT(twin, calls, none, none);
HEDDLE_MUTANT(twin, streams, none, none);
HEDDLE_MUTANT(twin, rings, none, none);
HEDDLE_MUTANT(twin, words, none, none);

HEDDLE_MUTANT(mutant, calls, lock_is_always_free, none);
HEDDLE_MUTANT(mutant, calls, none, lock_is_always_free);
HEDDLE_MUTANT(mutant, calls, lock_is_not_atomic, none);
HEDDLE_MUTANT(mutant, calls, none, lock_is_not_atomic);
HEDDLE_MUTANT(mutant, calls, unlock_clears_the_word, none);
HEDDLE_MUTANT(mutant, calls, none, unlock_clears_the_word);
HEDDLE_MUTANT(mutant, calls, unlock_is_forgotten, none);
HEDDLE_MUTANT(mutant, calls, none, unlock_is_forgotten);
HEDDLE_MUTANT(mutant, calls, handover_toggles_twice, none);
HEDDLE_MUTANT(mutant, calls, none, handover_toggles_twice);
HEDDLE_MUTANT(mutant, calls, handover_is_lost, none);
HEDDLE_MUTANT(mutant, calls, none, handover_is_lost);
HEDDLE_MUTANT(mutant, calls, inbox_is_stale, none);
HEDDLE_MUTANT(mutant, calls, none, inbox_is_stale);
HEDDLE_MUTANT(mutant, calls, inbox_is_inverted, none);
HEDDLE_MUTANT(mutant, calls, none, inbox_is_inverted);
HEDDLE_MUTANT(mutant, calls, broadcast_keeps_own_value, none);
HEDDLE_MUTANT(mutant, calls, sync_is_left_out, none);
HEDDLE_MUTANT(mutant, calls, all_lanes_are_first, none);
HEDDLE_MUTANT(mutant, calls, mask_names_all_lanes, none);
HEDDLE_MUTANT(mutant, streams, ballot_counts_own_vote, none);
HEDDLE_MUTANT(mutant, streams, sync_is_left_out, none);
HEDDLE_MUTANT(mutant, words, words_are_not_cleared, none);
HEDDLE_MUTANT(mutant, words, none, words_release_nothing);
HEDDLE_MUTANT(mutant, rings, ring_is_lost, none);
HEDDLE_MUTANT(mutant, rings, none, sleep_ignores_the_past);

}  // namespace
}  // namespace heddle::tests
