// What every scenario over ports needs: both ends on one machine, servers until the kernel has ended, and an account of requests.
#pragma once

#include <heddle/tools/scenario.h>

#include <cstdio>
#include <vector>

namespace heddle::tests {

/// An atomic word of the account or a flag between host and device.
template <typename T>
using shared_word = target::atomic_ref<T, scope::system>;

/// Whether a real machine's link lacks what the protocol needs: the scenario then says so, and does nothing. The simulator runs it all the
/// same, and shows what comes of it.
template <typename Protocol>
bool is_left_out(device& on, const parameters& set) {
  if (set.has("fidelity")) return false;
  const result<void> can = check_link_of<Protocol>(on);
  // Once: a body is run as often as --repeat says.
  static bool is_said = false;
  if (!can && !is_said) {
    is_said = true;
    std::fprintf(stderr, "left out: %s\n", can.why().line().c_str());
  }
  return !can;
}

/// What a program needs in which kernels and host threads change the same words of the host by read-modify-writes: for is_left_out(). On a GPU whose
/// link has no atomics such a change may be lost, and with it a call.
struct words_of_both_sides {
  static constexpr const char* name = "words that kernels and host threads change";
  static constexpr link_properties needs = {.add = true, .bits = true};
  static constexpr const char* instead = "ports, and slots of a word each, need loads and stores alone";
};

inline std::vector<parameter> port_parameters(int64_t waves, int64_t lanes, int64_t ports, int64_t calls) {
  return {
      parameter::number("waves", waves, 1, 65536, "", "waves that call"),
      parameter::number("lanes", lanes, 1, 64, "", "lanes of each wave"),
      parameter::number("ports", ports, 1, rpc::max_ports, "", "ports between client and server"),
      parameter::number("servers", 1, 1, 64, "", "host threads that serve"),
      parameter::number("calls", calls, 1, 100000, "", "calls that each lane makes"),
  };
}

/// What a test of ports is made of. Bodies that change one of these change it here: to copy `parameters` is some thousand steps of the
/// program under test.
struct port_counts {
  uint32_t waves;
  uint32_t lanes;
  uint32_t ports;
  uint32_t servers;
  uint32_t calls;        ///< of each lane
  uint32_t stage_bytes;  ///< of each port
  bool words = false;    ///< with places for answers of one word

  // Wherever settings are at hand, they are meant.
  port_counts(const parameters& set)  // NOLINT(google-explicit-constructor)
      : waves(set.count("waves")),
        lanes(set.count("lanes")),
        ports(set.count("ports")),
        servers(set.has("servers") ? set.count("servers") : 1),
        calls(set.count("calls")),
        stage_bytes(set.has("stage") ? set.count("stage") : 0) {}

  /// Requests of a launch in which every lane makes every call.
  uint64_t requests() const { return uint64_t{waves} * lanes * calls; }
};

/// The verdict of a scenario in which a call may have to wait for the holder of a port: `ok` where a holder is
/// guaranteed a turn, or where the lanes of the other waves, each with a call of its own, cannot hold all `resources`.
inline scheduler::verdict needs_fair_holders_of(uint32_t resources, const parameters& set) {
  if (!set.has("progress")) return scheduler::verdict::ok;
  const std::string& model = set.text("progress");
  const bool one_is_left = uint64_t{set.count("waves") - 1} * set.count("lanes") < resources;
  const bool hangs = model == "unfair" || (model == "hsa" && !one_is_left);
  return hangs ? scheduler::verdict::progress : scheduler::verdict::ok;
}

/// The verdict of a program that needs turns for its waves, of which none waits for another.
inline scheduler::verdict needs_all_turns(const parameters& set) {
  return set.has("progress") && set.text("progress") == "unfair" ? scheduler::verdict::progress
                                                                 : scheduler::verdict::ok;
}

/// Where the server answers each call without waiting for its client again.
inline scheduler::verdict needs_fair_holders(const parameters& set) {
  return needs_fair_holders_of(set.count("ports"), set);
}

/// Where a call has several hand-overs: the server waits inside it for its client, and no other server is there for the others.
inline scheduler::verdict needs_fair_clients(const parameters& set) {
  const scheduler::verdict without_port = needs_fair_holders(set);
  return without_port != scheduler::verdict::ok ? without_port : needs_fair_holders_of(set.count("servers"), set);
}

/// Of a server that ends: a wave that waits for it, or for what another wave holds, is told in the end; only a wave without turns never hears it.
inline scheduler::verdict needs_turns(const parameters& set) {
  return set.has("progress") && set.text("progress") == "unfair" ? scheduler::verdict::progress
                                                                 : scheduler::verdict::ok;
}

/// Which lanes make which calls; the part of every kernel that tells requests apart.
struct callers {
  uint32_t lanes;
  uint32_t calls;

  /// This lane's number in the launch, in [0, waves * lanes). Where each lane is a wave of its own, waves are numbered so.
  HEDDLE_FUNCTION uint32_t number() const {
    if (target::lane_count() == 1) return target::wave_id();
    return target::wave_id() * lanes + target::lane_id();
  }
  HEDDLE_FUNCTION uint32_t request(uint32_t call) const { return number() * calls + call; }
};

/// The ends of a port on a machine that may not be the one that the build selects: planted bugs run on one that is weaker.
template <typename Machine>
using client_on = rpc::basic_client<Machine, rpc::checking>;
template <typename Machine>
using server_on = rpc::basic_server<Machine, rpc::checking>;

/// What a server does when it has found nothing to do.
struct idle_server {
  bool sleeps = false;               ///< on the doorbell, which its clients ring; otherwise it looks again
  uint64_t timeout_ns = no_timeout;  ///< of its sleep
  rpc::ringing rings = true;         ///< of the clients of one that sleeps
};

/// A launch of so many waves, of kernels to which blocks mean nothing. One block, but on a GPU whose blocks cannot have them all.
template <typename Device>
launch_shape shape_of_waves([[maybe_unused]] const Device& on, uint32_t waves, uint32_t lanes) {
  if constexpr (requires { on.shape_of(waves, lanes); }) return on.shape_of(waves, lanes);
  return {.blocks = 1, .waves = waves, .lanes = lanes};
}

/// The memory of one set of ports and of the account of its requests.
class port_test {
 public:
  port_test(device& on, const port_counts& of)
      : on_(on),
        of_(of),
        shape_{.ports = of.ports, .lanes = of.lanes, .stage_bytes = of.stage_bytes, .words = of.words},
        requests_(of.requests()) {
    memory_ = on.allocate_shared<unsigned char>(shape_.size_bytes(), "ports");
    client_locks_ = on.allocate_device<uint32_t>(shape_.own_words(), "client locks");
    server_locks_ = on.allocate_shared<uint32_t>(shape_.own_words(), "server locks");
    handled_ = on.allocate_shared<uint32_t>(requests_, "handled requests");
    stop_ = on.allocate_shared<uint32_t>(1, "stop flag");
    name_ports(memory_, client_locks_, server_locks_, shape_);
  }

  /// Both ends of a port check, or neither does.
  template <typename Machine = target, typename Check = rpc::checking>
  rpc::basic_client<Machine, Check> client(rpc::ringing rings = {}) const {
    return {memory_, client_locks_, shape_, rings};
  }
  template <typename Machine = target, typename Check = rpc::checking>
  rpc::basic_server<Machine, Check> server(uint32_t start) const {
    return {memory_, server_locks_, shape_, start};
  }
  callers who() const { return {of_.lanes, of_.calls}; }

  // For scenarios with a server of their own.
  rpc::layout shape() const { return shape_; }
  unsigned char* memory() const { return memory_; }
  uint32_t* server_locks() const { return server_locks_; }
  doorbell& bell() const { return *reinterpret_cast<doorbell*>(memory_ + rpc::layout::doorbell_offset()); }
  uint32_t& stop_word() const { return *stop_; }
  /// Marks requests as handled, once each.
  struct account {
    uint32_t* handled;
    uint64_t requests;
    void operator()(uint64_t id) const {
      HEDDLE_CHECK(id < requests, "a request has a number that was never given out");
      HEDDLE_CHECK(shared_word<uint32_t>(handled[id]).fetch_add(1, memory_order::relaxed) == 0,
                   "a request is handled twice");
    }
  };
  account requests() const { return {handled_, requests_}; }

  /// Runs the kernel on all waves while servers hand each port that opens to `handle(port, account)`, where account(id) marks a
  /// request as handled; then checks that every request was handled once and that every port is back where it started. `expected`
  /// is how many requests the kernel makes. Servers that sleep are rung once more when they are to end. The kernel is launched in the stream
  /// that is named last, if one is.
  template <typename ServerMachine = target, typename Check = rpc::checking, typename Kernel, typename Handle,
            typename... Stream>
  void run(Kernel kernel, Handle handle, uint64_t expected, idle_server idle = {}, Stream... in) {
    std::vector<decltype(on_.spawn_host("server", [] {}))> servers;
    servers.reserve(of_.servers);
    for (uint32_t n = 0; n < of_.servers; ++n)
      servers.push_back(on_.spawn_host("server", [server = server<ServerMachine, Check>(n), handle, idle,
                                                  account = requests(), stop = stop_]() mutable {
        while (true) {
          // Read before the look for work: what was sent before the flag was set, or the bell was rung, is then found.
          const doorbell rings = idle.sleeps ? server.rings() : 0;
          const bool last = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
          if (auto port = server.try_open()) {
            handle(port, account);
            continue;
          }
          if (last) return;
          if (idle.sleeps)
            server.wait(rings, idle.timeout_ns);
          else
            target::pause();
        }
      }));
    on_.launch(shape_of_waves(on_, of_.waves, of_.lanes), kernel, in...);
    on_.synchronize();
    // Release pairs with the acquire in the servers' loops.
    shared_word<uint32_t>(*stop_).store(1, memory_order::release);
    if (idle.sleeps) target::notify(bell());
    for (auto& server : servers) server.join();
    check(expected);
  }

  /// That so many requests were handled, and that every port is back where it started. For when no thread acts any more.
  void check(uint64_t expected) {
    uint64_t total = 0;
    for (uint64_t id = 0; id < requests_; ++id)
      total += shared_word<uint32_t>(handled_[id]).load(memory_order::relaxed);
    HEDDLE_CHECK(total == expected, "not every request was handled");
    HEDDLE_CHECK(server(0).all_idle(), "a port is not back with its client, or a server holds it");
    // The client's locks lie in device memory.
    std::vector<uint32_t> own(shape_.own_words());
    on_.copy(own.data(), client_locks_, own.size() * sizeof(uint32_t));
    for (uint32_t port = 0; port < shape_.ports; ++port)
      HEDDLE_CHECK(!rpc::state_in(own[port / 8], port).is_held(), "a wave has ended and holds a port");
  }

 private:
  device& on_;
  port_counts of_;
  rpc::layout shape_;
  uint64_t requests_;
  unsigned char* memory_ = nullptr;
  uint32_t* client_locks_ = nullptr;
  uint32_t* server_locks_ = nullptr;
  uint32_t* handled_ = nullptr;
  uint32_t* stop_ = nullptr;
};

/// Requests of a launch in which every lane makes every call.
inline uint64_t all_calls(const parameters& set) {
  return uint64_t{set.count("waves")} * set.count("lanes") * set.count("calls");
}

}  // namespace heddle::tests
