// A device that writes into the memory that it shares with its host whatever a sequence of bytes says, at the very moments at which the
// host waits for it.
//
// The sequence is read from its front, in steps, each an action and what it needs:
//   0  toggle the client's mailbox of a port: a hand-over, a well-behaved one if it is the client's turn
//   1  write a header: port, mask (8 bytes), opcode (2 bytes)
//   2  write a packet: port and lane, 64 bytes
//   3  write anything anywhere: offset (2 bytes), count (1 byte), that many bytes
//   4  let the host go on
// Whatever is short of bytes is filled up with zeros. A sequence that has ended makes the host give up what it waits for.
#pragma once

#include <heddle/hw/host/target.h>
#include <heddle/rpc/layout.h>
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

namespace heddle::tests {

class hostile_device {
 public:
  static constexpr rpc::layout ports{2, 3, 600};

  explicit hostile_device(std::span<const uint8_t> actions)
      : memory_((ports.size_bytes() + sizeof(line) - 1) / sizeof(line)), actions_(actions) {}

  unsigned char* memory() { return memory_.front().bytes; }
  bool has_ended() const { return actions_.empty(); }

  /// Acts until the host is to go on.
  void act() {
    while (!actions_.empty())
      if (!step()) return;
  }

 private:
  struct alignas(64) line {
    unsigned char bytes[64];
  };

  template <typename T>
  T take() {
    T value{};
    take(&value, sizeof value);
    return value;
  }
  void take(void* to, size_t bytes) {
    const size_t there = std::min(bytes, actions_.size());
    memcpy(to, actions_.data(), there);
    actions_ = actions_.subspan(there);
  }

  bool step() {
    const auto action = take<uint8_t>();
    switch (action % 5) {
      case 0: {
        uint32_t* const box = outbox(take<uint8_t>());
        // As the client does it; the host reads at the same time nowhere.
        *box = ~*box;
        return true;
      }
      case 1: {
        const uint32_t port = take<uint8_t>() % ports.ports;
        auto* const head = reinterpret_cast<rpc::header*>(memory() + ports.header_offset()) + port;
        head->mask = take<uint64_t>();
        head->opcode = take<uint16_t>();
        return true;
      }
      case 2: {
        const uint32_t which = take<uint8_t>() % (ports.ports * ports.lanes);
        take(memory() + ports.packet_offset() + which * sizeof(rpc::packet), sizeof(rpc::packet));
        return true;
      }
      case 3: {
        const size_t offset = take<uint16_t>() % ports.size_bytes();
        const size_t count = take<uint8_t>();
        take(memory() + offset, std::min(count, ports.size_bytes() - offset));
        return true;
      }
      default:
        return false;
    }
  }

  uint32_t* outbox(uint32_t port) {
    return reinterpret_cast<uint32_t*>(memory() + rpc::layout::client_outbox_offset()) + port % ports.ports;
  }

  std::vector<line> memory_;
  std::span<const uint8_t> actions_;
};

/// The device that the host waits for now.
inline hostile_device* device_at_work = nullptr;
/// What makes the host give up.
inline uint32_t* give_up_word = nullptr;
/// What else happens whenever the host waits.
inline std::function<void()> at_each_wait;

/// The host, whose device acts whenever it waits.
struct hostile_target : host::basic_target<1> {
  static void pause() {
    if (device_at_work->has_ended()) *give_up_word = 1;
    device_at_work->act();
    if (at_each_wait) at_each_wait();
  }
  static void wait(doorbell&, uint32_t, uint64_t) { pause(); }
};

}  // namespace heddle::tests
