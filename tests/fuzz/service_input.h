// One run of a service against a hostile device.
#pragma once

#include <heddle/rpc/service/loop.h>

#include "hostile_device.h"

#include <filesystem>
#include <string>

namespace heddle::tests {

/// Runs the device that `actions` describe against a service with files, memory, an environment and registered functions, until the device
/// has ended and the host with it. What must hold whatever the device does: nothing crashes, no sanitizer complains, it ends, no file is
/// left open, no request is larger than the bound.
inline void run_service_against(std::span<const uint8_t> actions, const std::string& directory) {
  constexpr uint64_t bound_bytes = 1024;
  using loop = rpc::service_loop<hostile_target>;

  hostile_device hostile(actions);
  std::vector<uint32_t> locks(hostile_device::ports.own_words());
  uint32_t words[2] = {};
  std::vector<unsigned char> memory(4096);
  device_at_work = &hostile;
  give_up_word = &locks[hostile_device::ports.lock_words()];

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

  loop service(hostile.memory(), locks.data(), hostile_device::ports, words, {.ports = 2, .lanes = 3, .polls = 0},
               std::move(handlers));
  service.add_handler(rpc::user_opcode(0), [](loop::port& opened) {
    opened.recv_and_send([](rpc::packet& both, uint32_t) { both.words[0] += 1; });
    opened.recv([](rpc::packet&, uint32_t) {});
  });
  loop::room room;
  loop::port_server at = service.server();
  while (!hostile.has_ended()) {
    hostile.act();
    // A device that acts between two calls may have more than one port ready.
    for (uint32_t n = 0; n < hostile_device::ports.ports && service.serve_one(at, room); ++n) {
    }
  }
  at.give_up();
  if (!at.try_end()) abort();
  for (const auto& kept : room.request)
    if (kept.size() > bound_bytes) abort();
  for (const auto& kept : room.answer)
    if (kept.size() > bound_bytes) abort();
}

}  // namespace heddle::tests
