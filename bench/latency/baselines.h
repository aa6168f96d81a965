// What stands beside the protocols: the bare exchange of two words, a store of one word, the vendor's printf, nothing at all, a launch
// without work, and the machine's own copies.
//
// Each but the last two has the shape of a protocol, which timed_run.h describes.
#pragma once

#include "mailbox_memory.h"

#include <heddle/rpc/selected_device.h>

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
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

/// One line by the printf of CUDA, of HIP or of the C library. Its text goes nowhere, see quiet_output.
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

// Standard output that goes nowhere: what kernels print while they are timed is not to be read.

/// For its lifetime. Without /dev/null, or without a free descriptor, output stays as it is.
class quiet_output {
 public:
  quiet_output() {
    fflush(stdout);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0) return;
    kept_ = dup(STDOUT_FILENO);
    if (kept_ >= 0) dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
  }
  ~quiet_output() {
    fflush(stdout);
    if (kept_ < 0) return;
    dup2(kept_, STDOUT_FILENO);
    close(kept_);
  }
  quiet_output(const quiet_output&) = delete;
  quiet_output& operator=(const quiet_output&) = delete;

 private:
  int kept_ = -1;
};

// What it takes to start a kernel and to learn that it has ended: the way without a protocol.

inline constexpr const char* launch_name = "launch";

struct no_work {
  HEDDLE_FUNCTION void operator()() const {}
};

/// By the host's clock, from the call of launch() to the return of synchronize().
inline result<measured> measure_launches(device& on, const point& at, const effort& how) {
  using clock = std::chrono::steady_clock;
  using seconds = std::chrono::duration<double>;
  constexpr uint32_t warm_up = 20;
  constexpr size_t launches_max = 100'000;
  const launch_shape shape{.blocks = at.waves, .waves = 1, .lanes = machine::launched_lanes(at.lanes)};
  measured all;
  std::optional<clock::time_point> first;
  clock::time_point last;
  for (uint32_t n = 0;; ++n) {
    const clock::time_point before = clock::now();
    if (const result<void> launched = on.try_launch(shape, no_work{}); !launched) return launched.why();
    if (const result<void> ended = on.try_synchronize(); !ended) return ended.why();
    last = clock::now();
    if (n < warm_up) continue;
    if (!first) first = before;
    all.call_ns.push_back(std::chrono::duration<double, std::nano>(last - before).count());
    if (all.call_ns.size() == launches_max || seconds(last - *first).count() > how.rounds * how.round_seconds) break;
  }
  std::sort(all.call_ns.begin(), all.call_ns.end());
  all.calls_per_second = static_cast<double>(all.call_ns.size()) / seconds(last - *first).count();
  return all;
}

// What the machine's own copies make: the floor of a stream.

inline constexpr const char* copy_name = "copy";

/// Copies of `at.bytes` from the device to memory that both map, one behind the other in one stream: each sample is a round's time, shared out
/// evenly.
inline result<measured> measure_copies(device& on, const point& at, const effort& how) {
  using clock = std::chrono::steady_clock;
  device_memory memory(on);
  result<unsigned char*> from = memory.of_device<unsigned char>(at.bytes, "copied");
  if (!from) return from.why();
  result<unsigned char*> to = memory.mailboxes(at.bytes, at.mailbox);
  if (!to) return to.why();
  result<device::stream> in = on.try_create_stream();
  if (!in) return in.why();
  const uint32_t each_round = at.bytes < (uint64_t{1} << 22) ? 200 : 10;
  measured all;
  all.payload_is_of_wave = true;
  double seconds = 0;
  const double limit = how.rounds * how.round_seconds;
  for (bool warm = false; seconds < limit; warm = true) {
    const clock::time_point before = clock::now();
    for (uint32_t n = 0; n < each_round; ++n)
      if (const result<void> begun = on.try_copy(to.value(), from.value(), at.bytes, in.value()); !begun)
        return begun.why();
    if (const result<void> ended = on.try_synchronize(in.value()); !ended) return ended.why();
    if (!warm) continue;
    const double took = std::chrono::duration<double>(clock::now() - before).count();
    seconds += took;
    all.call_ns.push_back(1e9 * took / each_round);
  }
  on.destroy(in.value());
  all.calls_per_second = each_round * static_cast<double>(all.call_ns.size()) / seconds;
  std::sort(all.call_ns.begin(), all.call_ns.end());
  return all;
}

}  // namespace heddle::bench
