// Ports that a single host thread serves, in a way of its own.
#pragma once

#include "../echo.h"
#include "zoo.h"

namespace heddle::tests::zoo {

/// With a twin.
inline std::vector<parameter> ports_of_one_server(int64_t waves, int64_t lanes, int64_t ports, int64_t calls) {
  std::vector<parameter> all = port_parameters(waves, lanes, ports, calls);
  for (parameter& each : all)
    if (each.key == "servers") each = parameter::number("servers", 1, 1, 1, "", each.help);
  return with_twin(all);
}

/// What is expected of a bug that shows wherever callers get their turns.
template <scheduler::verdict Planted>
scheduler::verdict planted_unless_fixed(const parameters& set) {
  const scheduler::verdict sound = needs_fair_holders(set);
  return is_fixed(set) || sound != scheduler::verdict::ok ? sound : Planted;
}

}  // namespace heddle::tests::zoo
