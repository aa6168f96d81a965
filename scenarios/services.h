// What scenarios over the service library need: a registered host function that keeps an account of the requests that it was called with.
#pragma once

#include "ports.h"

#include <heddle/rpc/service/service.h>

namespace heddle::tests {

inline constexpr uint64_t account_call = 1;

/// How often the host was called with each request.
struct request_account {
  uint32_t* handled;
  uint64_t requests;

  void count(uint64_t id) const {
    HEDDLE_CHECK(id < requests, "a request has a number that was never given out");
    HEDDLE_CHECK(shared_word<uint32_t>(handled[id]).fetch_add(1, memory_order::relaxed) == 0,
                 "a request is handled twice");
  }
  uint32_t count_of(uint64_t id) const { return shared_word<uint32_t>(handled[id]).load(memory_order::relaxed); }
};

inline request_account make_account(device& on, const parameters& set) {
  const uint64_t requests = uint64_t{set.count("waves")} * set.count("lanes") * set.count("calls");
  return {on.allocate_shared<uint32_t>(requests, "handled requests"), requests};
}

/// Those of ports, and how soon a server sleeps.
inline std::vector<parameter> service_parameters(int64_t waves, int64_t lanes, int64_t ports, int64_t calls) {
  std::vector<parameter> all = port_parameters(waves, lanes, ports, calls);
  // A run of the simulator has few steps.
  all.push_back(parameter::number("polls", 2, 0, 1000000, "", "looks of a server that find nothing before it sleeps"));
  return all;
}

inline rpc::service_shape shape_of(const parameters& set, uint64_t memory_bytes = 0) {
  return {.ports = set.count("ports"),
          .lanes = set.count("lanes"),
          .servers = set.count("servers"),
          .polls = set.count("polls"),
          .stage_bytes = 0,
          .memory_bytes = memory_bytes};
}

/// For reports and dumps.
inline void name_ports_of(const rpc::service& host) {
  const auto at = host.where();
  name_ports({at.shared, at.answers}, at.client_locks, at.server_locks, at.shape);
}

}  // namespace heddle::tests
