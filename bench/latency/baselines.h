// What stands beside the protocols: the bare exchange of two words, a store of one word, the vendor's printf, and nothing at all.
//
// Each has the shape of a protocol, which timed_run.h describes.
#pragma once

#include "mailbox_memory.h"

#include <heddle/rpc/selected_device.h>

#include <stdint.h>
#include <stdio.h>

#include <utility>
#include <vector>

namespace heddle::bench {

using flag_word = target::atomic_ref<uint32_t, scope::system>;

/// Two words of a wave, each on a line of its own.
inline uint32_t& word_of(unsigned char* lines, uint32_t wave, uint32_t n) {
  return *reinterpret_cast<uint32_t*>(lines + (size_t{wave} * 2 + n) * line_bytes);
}

/// The floor: no call can take less than a word there and a word back.
class exchange {
 public:
  static constexpr const char* name = "exchange";
  static constexpr bool is_served = true;

  struct client {
    unsigned char* lines;

    /// `number` differs from that of the wave's call before. All lanes that stand together make one exchange.
    HEDDLE_FUNCTION void call(uint64_t mask, uint64_t number) const {
      unsigned char* const mine = lines + size_t{target::wave_id()} * 2 * line_bytes;
      if (target::is_first_lane(mask)) {
        const auto round = static_cast<uint32_t>(number);
        // Release and acquire pair with those of serve().
        flag_word(*reinterpret_cast<uint32_t*>(mine)).store(round, memory_order::release);
        while (flag_word(*reinterpret_cast<uint32_t*>(mine + line_bytes)).load(memory_order::acquire) != round)
          target::pause();
      }
      target::sync_lanes(mask);
    }
  };

  class server {
   public:
    server(unsigned char* lines, const point& at, uint32_t number)
        : lines_(lines), waves_(at.waves), servers_(at.servers), first_(number), answered_(at.waves) {}
    /// Answers every wave of this server's that has sent a word.
    bool serve() {
      bool any = false;
      for (uint32_t wave = first_; wave < waves_; wave += servers_) {
        const uint32_t round = flag_word(word_of(lines_, wave, 0)).load(memory_order::acquire);
        if (round == answered_[wave]) continue;
        answered_[wave] = round;
        flag_word(word_of(lines_, wave, 1)).store(round, memory_order::release);
        any = true;
      }
      return any;
    }

   private:
    unsigned char* lines_;
    uint32_t waves_;
    uint32_t servers_;
    uint32_t first_;
    std::vector<uint32_t> answered_;
  };

  exchange(device& on, point at) : memory_(on), at_(std::move(at)) {}
  result<void> prepare() {
    result<unsigned char*> lines = memory_.mailboxes(size_t{at_.waves} * 2 * line_bytes, at_.mailbox);
    if (!lines) return lines.why();
    lines_ = lines.value();
    return {};
  }
  client make_client() const { return {lines_}; }
  server make_server(uint32_t number) const { return {lines_, at_, number}; }

 private:
  device_memory memory_;
  point at_;
  unsigned char* lines_ = nullptr;
};

/// One way: a release store to a word that a host thread reads all the time, as its issuer sees it.
class store {
 public:
  static constexpr const char* name = "store";
  static constexpr bool is_served = true;

  struct client {
    unsigned char* lines;
    HEDDLE_FUNCTION void call(uint64_t mask, uint64_t number) const {
      unsigned char* const mine = lines + size_t{target::wave_id()} * 2 * line_bytes;
      if (target::is_first_lane(mask))
        // Release: as a hand-over; the host thread only looks.
        flag_word(*reinterpret_cast<uint32_t*>(mine)).store(static_cast<uint32_t>(number), memory_order::release);
      target::sync_lanes(mask);
    }
  };

  struct server {
    unsigned char* lines;
    uint32_t waves;
    uint32_t seen = 0;
    bool serve() {
      const uint32_t before = seen;
      for (uint32_t wave = 0; wave < waves; ++wave)
        seen = flag_word(word_of(lines, wave, 0)).load(memory_order::acquire);
      return seen != before;
    }
  };

  store(device& on, point at) : memory_(on), at_(std::move(at)) {}
  result<void> prepare() {
    result<unsigned char*> lines = memory_.mailboxes(size_t{at_.waves} * 2 * line_bytes, at_.mailbox);
    if (!lines) return lines.why();
    lines_ = lines.value();
    return {};
  }
  client make_client() const { return {lines_}; }
  server make_server(uint32_t) const { return {lines_, at_.waves}; }

 private:
  device_memory memory_;
  point at_;
  unsigned char* lines_ = nullptr;
};

/// No call: what reading the clock twice adds to every other time.
class nothing {
 public:
  static constexpr const char* name = "nothing";
  static constexpr bool is_served = false;

  struct client {
    HEDDLE_FUNCTION void call(uint64_t, uint64_t) const {}
  };
  struct server {
    static bool serve() { return false; }
  };

  nothing(device&, const point&) {}
  static result<void> prepare() { return {}; }
  static client make_client() { return {}; }
  static server make_server(uint32_t) { return {}; }
};

/// One line by the printf of CUDA, of HIP or of the C library. Its text goes nowhere, see quiet_output.h.
class print {
 public:
  static constexpr const char* name = "printf";
  static constexpr bool is_served = false;

  struct client {
    HEDDLE_FUNCTION void call(uint64_t mask, uint64_t number) const {
      if (target::is_first_lane(mask)) printf("call %llu\n", static_cast<unsigned long long>(number));
      target::sync_lanes(mask);
    }
  };
  struct server {
    static bool serve() { return false; }
  };

  print(device&, const point&) {}
  static result<void> prepare() { return {}; }
  static client make_client() { return {}; }
  static server make_server(uint32_t) { return {}; }
};

}  // namespace heddle::bench
