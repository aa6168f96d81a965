// The port protocol, as it is measured: a call that brings one packet there and back, or one that streams a buffer.
#pragma once

#include "mailbox_memory.h"

#include <heddle/rpc/selected_device.h>

#include <stdint.h>
#include <string.h>

namespace heddle::bench {

/// How a wave calls: by packets, through any port; or on the shortest road, through a port that it has alone, with an answer of one word, and a
/// buffer that all lanes stream together.
enum class road { common, shortest };

/// `ClientMachine` is the machine of the lanes that call; host threads serve. As many ports as waves: none waits for another's.
template <typename ClientMachine, road Road = road::common>
class ports {
 public:
  static constexpr const char* name = Road == road::common ? "ports" : "ports-shortest";
  static constexpr bool is_shortest = Road == road::shortest;
  static bool payload_is_of_wave(const point& at) { return is_shortest && at.bytes > rpc::packet_bytes; }
  static constexpr bool is_served = true;
  static constexpr uint16_t echo = rpc::user_opcode(1);
  static constexpr uint16_t upload = rpc::user_opcode(2);

  /// What a request is answered with: it tells a lost word from a found one.
  HEDDLE_FUNCTION static constexpr uint64_t answer_to(uint64_t sum) { return sum * 3 + 1; }

  struct client {
    rpc::basic_client<ClientMachine> end;
    const unsigned char* payload;  ///< where the device reads what it sends, from a word on
    uint64_t bytes;

    HEDDLE_FUNCTION void call([[maybe_unused]] uint64_t mask, uint64_t number) const {
      bool wrong = false;
      if (bytes <= rpc::packet_bytes) {
        const uint64_t words = bytes / sizeof(uint64_t);
        const auto fill = [&](rpc::packet& to, uint32_t) {
          for (uint64_t n = 0; n < words; ++n) to.words[n] = number;
        };
        if constexpr (is_shortest) {
          auto port = end.template open_alone<echo>(mask);
          port.send_and_recv_word(fill, [&](uint64_t word, uint32_t) { wrong |= word != answer_to(number * words); });
        } else {
          auto port = end.template open<echo>();
          port.send_and_recv(fill,
                             [&](rpc::packet& from, uint32_t) { wrong |= from.words[0] != answer_to(number * words); });
        }
      } else if constexpr (is_shortest) {
        auto port = end.template open_alone<upload>(mask);
        port.send_all(payload, bytes, bytes);
        port.recv([&](rpc::packet& from, uint32_t) { wrong |= from.words[0] != answer_to(bytes); });
      } else {
        auto port = end.template open<upload>();
        port.send_n(payload, bytes, bytes);
        port.recv([&](rpc::packet& from, uint32_t) { wrong |= from.words[0] != answer_to(bytes); });
      }
      if (wrong) target::trap(fault::protocol, "a call over a port was answered with something else");
    }
  };

  class server {
   public:
    server(const rpc::basic_server<target>& end, uint64_t bytes, unsigned char* sinks)
        : end_(end), bytes_(bytes), sinks_(sinks) {}

    bool serve() {
      auto port = end_.try_open();
      if (!port) return false;
      if constexpr (is_shortest) {
        serve_shortest(port);
        return true;
      }
      if (port.opcode() == echo) {
        const uint64_t words = bytes_ / sizeof(uint64_t);
        port.recv_and_send([words](rpc::packet& both, uint32_t) {
          uint64_t sum = 0;
          for (uint64_t n = 0; n < words; ++n) sum += both.words[n];
          both.words[0] = answer_to(sum);
        });
      } else {
        uint64_t received[rpc::max_lanes];
        port.recv_n(
            [&](uint32_t lane, uint64_t bytes) -> void* {
              received[lane] = bytes;
              return sinks_ + lane * bytes_;
            },
            bytes_);
        port.send([&](rpc::packet& to, uint32_t lane) { to.words[0] = answer_to(received[lane]); });
      }
      return true;
    }
    doorbell rings() const { return end_.rings(); }
    void wait(doorbell seen, uint64_t timeout_ns) const { end_.wait(seen, timeout_ns); }

   private:
    template <typename Port>
    void serve_shortest(Port& port) {
      uint64_t answers[rpc::max_lanes];
      if (port.opcode() == echo) {
        const uint64_t words = bytes_ / sizeof(uint64_t);
        port.recv([&](rpc::packet& from, uint32_t lane) {
          uint64_t sum = 0;
          for (uint64_t n = 0; n < words; ++n) sum += from.words[n];
          answers[lane] = answer_to(sum);
        });
        port.send_word([&](uint32_t lane) { return answers[lane]; });
        return;
      }
      // Taken out of the staging area: a copy, as a stream makes one.
      uint64_t received = 0;
      port.recv_all(
          [&](const rpc::bytes_piece& piece) {
            memcpy(sinks_ + piece.offset_bytes, piece.data, piece.size_bytes);
            received += piece.size_bytes;
          },
          bytes_);
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = answer_to(received); });
    }

    rpc::basic_server<target> end_;
    uint64_t bytes_;
    unsigned char* sinks_;
  };

  ports(device& on, const point& at)
      : on_(on),
        memory_(on),
        at_(at),
        shape_{.ports = at.waves,
               .lanes = at.lanes,
               .stage_bytes = at.bytes > rpc::packet_bytes ? uint32_t{1} << (is_shortest ? 18 : 16) : 0,
               .words = is_shortest} {}

  result<void> prepare() {
    if (at_.bytes % sizeof(uint64_t) != 0 || at_.bytes == 0)
      return error{"ports", "payload", "not measured", "a payload is a multiple of 8 bytes"};
    if (at_.waves > rpc::max_ports)
      return error{"ports", "waves", "not measured", "more waves than ports there can be"};
    result<unsigned char*> shared = memory_.mailboxes(shape_.size_bytes(), at_.mailbox);
    if (!shared) return shared.why();
    result<uint32_t*> client_locks = memory_.of_device<uint32_t>(shape_.own_words(), "client locks");
    if (!client_locks) return client_locks.why();
    result<uint32_t*> server_locks = memory_.of_host<uint32_t>(shape_.own_words(), "server locks");
    if (!server_locks) return server_locks.why();
    shared_ = shared.value();
    client_locks_ = client_locks.value();
    server_locks_ = server_locks.value();
    if (at_.bytes > rpc::packet_bytes) return prepare_buffers();
    return {};
  }
  client make_client() const { return {{shared_, client_locks_, shape_, at_.rings}, payload_, at_.bytes}; }
  server make_server(uint32_t number) {
    unsigned char* const sinks = sinks_.empty() ? nullptr : sinks_[number].data();
    const uint32_t each = (at_.waves + at_.servers - 1) / at_.servers;
    return {{shared_, server_locks_, shape_, number * each, each}, at_.bytes, sinks};
  }

 private:
  result<void> prepare_buffers() {
    result<unsigned char*> payload = memory_.of_device<unsigned char>(at_.bytes, "payload");
    if (!payload) return payload.why();
    payload_ = payload.value();
    const std::vector<unsigned char> content(at_.bytes, 7);
    if (const result<void> copied = on_.try_copy(payload_, content.data(), content.size()); !copied)
      return copied.why();
    sinks_.assign(at_.servers, std::vector<unsigned char>(at_.lanes * at_.bytes));
    return {};
  }

  device& on_;
  device_memory memory_;
  point at_;
  rpc::layout shape_;
  unsigned char* shared_ = nullptr;
  uint32_t* client_locks_ = nullptr;
  uint32_t* server_locks_ = nullptr;
  unsigned char* payload_ = nullptr;
  std::vector<std::vector<unsigned char>> sinks_;  ///< of each server, one buffer a lane
};

}  // namespace heddle::bench
