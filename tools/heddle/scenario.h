// A scenario: one test of a program that talks to its host, with its parameters and the verdict that it expects.
//
//   void echo(const heddle::parameters& set) {
//     heddle::device device;
//     ...
//   }
//   HEDDLE_SCENARIO(echo, {.name = "port.echo", .summary = "...", .parameters = {...}});
#pragma once

#include <heddle/rpc/rpc.h>
#include <heddle/rpc/selected_device.h>
#include <heddle/tools/registry.h>

#include <utility>

#define HEDDLE_DRAWS_SLOTS_sim 1
#if HEDDLE_PASTE(HEDDLE_DRAWS_SLOTS_, HEDDLE_TARGET)
#include <heddle/sim/named_slots.h>
#endif

#define HEDDLE_TEXT_NOW(word) #word
#define HEDDLE_TEXT(word) HEDDLE_TEXT_NOW(word)

namespace heddle {

/// Tells where a set of ports lies: the watchdog then says in a dump, and `heddle report` in its page, which port is in
/// which state. Of no effect in a program that is not watched. The memory is that which client and server were given.
inline void name_ports([[maybe_unused]] rpc::port_memory shared, [[maybe_unused]] const uint32_t* client_locks,
                       [[maybe_unused]] const uint32_t* server_locks, [[maybe_unused]] rpc::layout shape) {
#ifdef HEDDLE_OBSERVED
  // A dump has one allocation.
  if (!shape.apart) observed::session::instance().has_ports({shared.requests, client_locks, server_locks, shape});
#endif
#if HEDDLE_PASTE(HEDDLE_DRAWS_SLOTS_, HEDDLE_TARGET)
  const auto* const bytes = static_cast<const unsigned char*>(shared.requests);
  const auto* const answers = shape.apart ? static_cast<const unsigned char*>(shared.answers) : bytes;
  sim::runtime::name_slots({.name = "ports",
                            .each = "port",
                            .count = shape.ports,
                            .slots_per_word = 1,
                            .locks_per_word = 8,
                            .four_phase = false,
                            .client_outbox = bytes + rpc::layout::client_outbox_offset(),
                            .server_outbox = answers + shape.server_outbox_offset(),
                            .client_locks = client_locks,
                            .server_locks = server_locks});
#endif
}

/// As name_ports(), of slots, for `heddle report` alone. `slots_per_word` is that of the mailboxes' form.
template <typename Layout>
void name_slots([[maybe_unused]] void* shared, [[maybe_unused]] const uint32_t* client_locks,
                [[maybe_unused]] const uint32_t* server_locks, [[maybe_unused]] Layout shape,
                [[maybe_unused]] uint32_t slots_per_word) {
#if HEDDLE_PASTE(HEDDLE_DRAWS_SLOTS_, HEDDLE_TARGET)
  const auto* const bytes = static_cast<const unsigned char*>(shared);
  sim::runtime::name_slots({.name = "slots",
                            .each = "slot",
                            .count = shape.slots,
                            .slots_per_word = slots_per_word,
                            .locks_per_word = 8,
                            .four_phase = true,
                            .client_outbox = bytes + Layout::client_outbox_offset(),
                            .server_outbox = bytes + shape.server_outbox_offset(),
                            .client_locks = client_locks,
                            .server_locks = server_locks});
#endif
}

namespace detail {
template <typename Device>
bool register_machine_of([[maybe_unused]] const char* name) {
  bool observed = false;
#ifdef HEDDLE_OBSERVED
  observed = true;
#endif
  // The simulator is always there, and is no real machine.
  if constexpr (requires { Device::present(); })
    return register_machine({.name = name, .present = &Device::present, .observed = observed});
  return observed;
}
}  // namespace detail

[[maybe_unused]] static const bool heddle_registered_machine =
    detail::register_machine_of<device>(HEDDLE_TEXT(HEDDLE_TARGET));

}  // namespace heddle

/// Registers `function` as a scenario's body; the rest are the other fields of heddle::scenario. No lambda: hipcc 5.2
/// gives those of several variables in one namespace one name.
#define HEDDLE_SCENARIO(function, ...) \
  [[maybe_unused]] static const bool heddle_registered_##function = ::heddle::register_scenario(function, __VA_ARGS__)

/// Ends the run with verdict `assertion` when the condition does not hold. Works in kernels and on the host.
#define HEDDLE_CHECK(condition, message)                                             \
  do {                                                                               \
    if (!(condition)) ::heddle::target::trap(::heddle::fault::assertion, (message)); \
  } while (false)

/// Ends the run with verdict `protocol` when the condition does not hold: for what the protocol under test promises at
/// every step, where HEDDLE_CHECK is for what comes out of it. The finding's place is the line that this stands in;
/// findings of different messages are different ones. Works in kernels and on the host.
#define HEDDLE_PROTOCOL(condition, message)                                         \
  do {                                                                              \
    if (!(condition)) ::heddle::target::trap(::heddle::fault::protocol, (message)); \
  } while (false)
