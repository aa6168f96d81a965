// The FIFO, as it is measured: what each lane pushes, and then until the host has taken it. One way: there is no answer.
#pragma once

#include "mailbox_memory.h"

#include <heddle/rpc/selected_device.h>

#include <stdint.h>

#include <atomic>
#include <utility>

namespace heddle::bench {

template <typename ClientMachine>
class fifo {
 public:
  static constexpr const char* name = "fifo";
  static constexpr bool is_served = true;
  using entry = rpc::packet;
  using shape = rpc::fifo_layout<entry>;

  struct client {
    rpc::basic_fifo_producer<ClientMachine, entry> end;
    uint64_t bytes;

    HEDDLE_FUNCTION void call(uint64_t, uint64_t number) const {
      for (uint64_t sent = 0; sent < bytes; sent += rpc::packet_bytes)
        end.push([&](entry& to, uint32_t) {
          const uint64_t left = (bytes - sent) / sizeof(uint64_t);
          const uint64_t words = left < 8 ? left : 8;
          for (uint64_t n = 0; n < words; ++n) to.words[n] = number;
        });
      end.flush();
    }
  };

  /// One thread takes; further servers find nothing.
  struct server {
    rpc::basic_fifo_consumer<target, entry> end;
    bool takes;
    uint64_t sum = 0;

    bool serve() {
      return takes && end.consume([this](const entry& taken) { sum += taken.words[0]; }) != 0;
    }
  };

  fifo(device& on, point at) : memory_(on), at_(std::move(at)) {}

  result<void> prepare() {
    if (at_.bytes % sizeof(uint64_t) != 0 || at_.bytes == 0)
      return error{name, "payload", "not measured", "a payload is a multiple of 8 bytes"};
    // Two pushes of every wave at least.
    while (shape_.entries < 2 * uint64_t{at_.waves} * at_.lanes && shape_.entries < rpc::max_fifo_entries)
      shape_.entries *= 2;
    result<unsigned char*> shared = memory_.mailboxes(shape_.size_bytes(), at_.mailbox);
    if (!shared) return shared.why();
    result<rpc::fifo_counters*> counters = memory_.of_device<rpc::fifo_counters>(1, "FIFO counters");
    if (!counters) return counters.why();
    shared_ = shared.value();
    counters_ = counters.value();
    return {};
  }
  client make_client() const { return {{shared_, counters_, shape_}, at_.bytes}; }
  server make_server(uint32_t number) const { return {{shared_, shape_}, number == 0}; }

 private:
  device_memory memory_;
  point at_;
  shape shape_{64};
  unsigned char* shared_ = nullptr;
  rpc::fifo_counters* counters_ = nullptr;
};

}  // namespace heddle::bench
