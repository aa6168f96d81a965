// What every scenario over hostcalls needs: both ends on one machine, servers until the kernel has ended, and an account of requests.
#pragma once

#include "ports.h"

#include <type_traits>

namespace heddle::tests {

inline std::vector<parameter> hostcall_parameters(int64_t waves, int64_t lanes, int64_t packets, int64_t servers,
                                                  int64_t calls) {
  return {
      parameter::number("waves", waves, 1, 65536, "", "waves that call"),
      parameter::number("lanes", lanes, 1, 64, "", "lanes of each wave"),
      parameter::number("packets", packets, 1, rpc::max_hostcall_packets, "", "packets between client and server"),
      parameter::number("servers", servers, 1, 64, "", "host threads that serve"),
      parameter::number("calls", calls, 1, 100000, "", "calls that each lane makes"),
      parameter::one_of("waiting", "polls", {"polls", "sleeps"}, "what a server does that has found nothing"),
  };
}

/// Hostcalls cannot do without atomics over the link: a machine that refuses them says so at the first one, and on one that takes them
/// apart or drops them packets get lost, in what way is up to the schedule.
inline scheduler::verdict_set needs_fair_packet_holders(const parameters& set) {
  const std::string carried =
      set.has("fidelity") && set.text("fidelity") == "link" ? set.text("link.rmw") : std::string("all");
  if (carried == "refused") return scheduler::verdict::memory;
  if (carried == "split" || carried == "dropped") return scheduler::verdict_set::any_violation();
  return needs_fair_holders_of(set.count("packets"), set);
}

inline constexpr uint32_t hostcall_service = 7;

HEDDLE_FUNCTION constexpr uint64_t answer_to(uint64_t value) { return value * 3 + 1; }

/// How a server of hostcalls waits that has found nothing.
struct hostcall_listener {
  bool sleeps = false;
  uint64_t timeout_ns = 1'000'000;
  /// It looks for work only when the count of rings has changed.
  bool trusts_rings = false;
};

/// The memory of one set of packets and of the account of its requests. `Machine` may be one that is weaker than that of the build.
template <typename Machine = target, typename Tag = rpc::counted_tag>
class hostcall_test {
 public:
  using client_type = rpc::basic_hostcall_client<Machine, rpc::checking, Tag>;
  using server_type = rpc::basic_hostcall_server<Machine, rpc::checking, Tag>;

  hostcall_test(device& on, const parameters& set)
      : on_(on), set_(set), shape_{set.count("packets"), set.count("lanes")}, requests_(all_calls(set)) {
    memory_ = on.allocate_shared<unsigned char>(shape_.size_bytes(), "hostcalls");
    shape_.prepare(memory_);
    handled_ = on.allocate_shared<uint32_t>(requests_, "handled requests");
    stop_ = on.allocate_shared<uint32_t>(1, "stop flag");
  }

  client_type client(bool rings) const { return client_on<Machine>(rings); }
  template <typename ClientMachine>
  rpc::basic_hostcall_client<ClientMachine, rpc::checking, Tag> client_on(bool rings) const {
    return {memory_, shape_, rings};
  }
  callers who() const { return {set_.count("lanes"), set_.count("calls")}; }

  /// Runs the kernel on all waves while servers, as soon as `begins()`, count each request once and answer it; then checks that every
  /// request was handled once and that every packet is free.
  template <typename Kernel, typename Begins>
  void run(Kernel kernel, Begins begins, hostcall_listener listens) {
    std::vector<decltype(on_.spawn_host("server", [] {}))> servers;
    servers.reserve(set_.count("servers"));
    for (uint32_t n = 0; n < set_.count("servers"); ++n)
      servers.push_back(on_.spawn_host("server", [server = server_type(memory_, shape_), begins, listens,
                                                  handled = handled_, requests = requests_, stop = stop_] {
        const auto handle = [=](uint32_t service, rpc::packet& line, uint32_t) {
          HEDDLE_CHECK(service == hostcall_service, "a request is for another service");
          HEDDLE_CHECK(line.words[0] < requests, "a request has a number that was never given out");
          HEDDLE_CHECK(shared_word<uint32_t>(handled[line.words[0]]).fetch_add(1, memory_order::relaxed) == 0,
                       "a request is handled twice");
          line.words[0] = answer_to(line.words[0]);
        };
        doorbell heard = 0;
        while (true) {
          // Read before the look for work: what was posted before the flag was set, or the bell was rung, is then found.
          const doorbell rings = listens.sleeps ? server.rings() : 0;
          const bool last = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
          const bool looks = (last || begins()) && (!listens.trusts_rings || rings != heard);
          heard = rings;
          if (looks && server.serve(handle) != 0) continue;
          if (last) return;
          if (listens.sleeps)
            server.wait(rings, listens.timeout_ns);
          else
            target::pause();
        }
      }));
    on_.launch({.blocks = 1, .waves = set_.count("waves"), .lanes = set_.count("lanes")}, kernel);
    on_.synchronize();
    // Release pairs with the acquire in the servers' loops.
    shared_word<uint32_t>(*stop_).store(1, memory_order::release);
    if (listens.sleeps) target::notify(*reinterpret_cast<doorbell*>(memory_ + rpc::hostcall_layout::doorbell_offset()));
    for (auto& server : servers) server.join();
    check();
  }

 private:
  void check() {
    for (uint64_t id = 0; id < requests_; ++id)
      HEDDLE_CHECK(shared_word<uint32_t>(handled_[id]).load(memory_order::relaxed) == 1, "a request was not handled");
    HEDDLE_CHECK(client(false).all_idle(), "a packet is not free in the end");
  }

  device& on_;
  const parameters& set_;
  rpc::hostcall_layout shape_;
  uint64_t requests_;
  unsigned char* memory_ = nullptr;
  uint32_t* handled_ = nullptr;
  uint32_t* stop_ = nullptr;
};

template <typename Client>
struct hostcall_kernel {
  Client client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      uint64_t answer = 0;
      const rpc::ring_result outcome = client.call(
          hostcall_service, [&](rpc::packet& line, uint32_t) { line.words[0] = id; },
          [&](rpc::packet& line, uint32_t) { answer = line.words[0]; });
      HEDDLE_CHECK(outcome, "a wait without bound has timed out");
      HEDDLE_CHECK(answer == answer_to(id), "the answer is not the one to this lane's request");
    }
  }
};

template <typename Machine, typename Tag>
void run_hostcalls_on(const parameters& set, hostcall_listener listens) {
  device on;
  if (is_left_out<rpc::hostcall_layout>(on, set)) return;
  hostcall_test<Machine, Tag> test(on, set);
  const auto client = test.client(listens.sleeps);
  test.run(hostcall_kernel<std::remove_cv_t<decltype(client)>>{client, test.who()}, [] { return true; }, listens);
}

inline void run_hostcalls(const parameters& set) {
  run_hostcalls_on<target, rpc::counted_tag>(set, {.sleeps = set.text("waiting") == "sleeps"});
}

}  // namespace heddle::tests
