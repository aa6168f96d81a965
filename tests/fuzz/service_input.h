// Runs of a service against a hostile device.
#pragma once

#include <heddle/rpc/service/loop.h>

#include "hostile_device.h"

#include <filesystem>
#include <string>

namespace heddle::tests {

using fuzzed_loop = rpc::service_loop<hostile_target>;

inline constexpr uint64_t fuzzed_bound_bytes = 1024;

/// What a service has to offer: files, memory, an environment and registered functions.
inline std::unique_ptr<rpc::service_handlers> fuzzed_handlers(std::vector<unsigned char>& memory,
                                                              const std::string& directory) {
  constexpr uint64_t bound_bytes = fuzzed_bound_bytes;
  auto handlers =
      std::make_unique<rpc::service_handlers>(rpc::service_limits{.bound_bytes = bound_bytes,
                                                                  .files = rpc::file_access::beneath,
                                                                  .directory = directory,
                                                                  .open_files = 4,
                                                                  .environment = {"HOME"},
                                                                  .on_exit = [](int32_t) {},
                                                                  .on_abort = [](const std::string&) {},
                                                                  .clock = [](rpc::clock_kind) { return uint64_t{1}; }},
                                              memory.data(), memory.size());
  handlers->calls()
      .add<uint64_t(rpc::span<uint64_t>, const char*)>(1, "1",
                                                       [](rpc::span<uint64_t> values, const char* text) {
                                                         uint64_t sum = text == nullptr ? 0 : strlen(text);
                                                         for (uint64_t n = 0; n < values.count; ++n) {
                                                           sum += values.data[n];
                                                           values.data[n] = sum;
                                                         }
                                                         return sum;
                                                       })
      .value();
  handlers->calls()
      .add<void(rpc::span<const char>, double)>(2, "2",
                                                [](rpc::span<const char> text, double) {
                                                  if (text.count > bound_bytes) abort();
                                                })
      .value();

  return handlers;
}

/// A service of one thread and a hostile device.
struct fuzzed_service {
  fuzzed_service(std::span<const uint8_t> actions, const std::string& directory)
      : hostile(actions),
        loop(hostile.memory(), locks.data(), hostile_device::ports, words, {.ports = 2, .lanes = 3, .polls = 0},
             fuzzed_handlers(memory, directory)) {
    device_at_work = &hostile;
    give_up_word = &locks[hostile_device::ports.last_own_index()];
    loop.add_handler(rpc::user_opcode(0), [](fuzzed_loop::port& opened) {
      opened.recv_and_send([](rpc::packet& both, uint32_t) { both.words[0] += 1; });
      opened.recv([](rpc::packet&, uint32_t) {});
    });
  }

  hostile_device hostile;
  std::vector<uint32_t> locks = std::vector<uint32_t>(hostile_device::ports.own_words());
  uint32_t words[2] = {};
  std::vector<unsigned char> memory = std::vector<unsigned char>(4096);
  fuzzed_loop loop;
};

/// Serves the device that `actions` describe, call by call, until the device has ended and the host with it. What must hold whatever the
/// device does: nothing crashes, no sanitizer complains, it ends, no request is larger than the bound.
inline void run_service_against(std::span<const uint8_t> actions, const std::string& directory) {
  fuzzed_service service(actions, directory);
  hostile_device& hostile = service.hostile;
  fuzzed_loop::room room;
  fuzzed_loop::port_server at = service.loop.server();
  while (!hostile.has_ended()) {
    hostile.act();
    // A device that acts between two calls may have more than one port ready.
    for (uint32_t n = 0; n < hostile_device::ports.ports && service.loop.serve_one(at, room); ++n) {
    }
  }
  at.give_up();
  if (!at.try_end()) abort();
  for (const auto& kept : room.request)
    if (kept.size() > fuzzed_bound_bytes) abort();
  for (const auto& kept : room.answer)
    if (kept.size() > fuzzed_bound_bytes) abort();
}

/// The same by the loop that a thread of a service runs. The first two bytes say after how many waits it is told to stop, and after how many to
/// give up the call that it waits in; both happen in the end.
inline void run_service_loop_against(std::span<const uint8_t> actions, const std::string& directory) {
  uint32_t waits_to_stop = 0;
  uint32_t waits_to_give_up = 0;
  if (actions.size() >= 2) {
    waits_to_stop = actions[0];
    waits_to_give_up = actions[1];
    actions = actions.subspan(2);
  }
  fuzzed_service service(actions, directory);
  uint32_t waits = 0;
  at_each_wait = [&] {
    ++waits;
    const bool ends = service.hostile.has_ended();
    if (ends || waits > waits_to_stop) service.loop.stop();
    if (ends || waits > waits_to_give_up) service.loop.server().give_up();
  };
  service.loop.run(0);
  at_each_wait = nullptr;
  if (service.loop.ended_threads() != 1) abort();
}

}  // namespace heddle::tests
