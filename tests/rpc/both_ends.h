// Both ends of a set of ports in one process, on a target on which nothing can hang and a trap is an exception.
#pragma once

#include <heddle/hw/host/target.h>
#include <heddle/rpc/port/client.h>
#include <heddle/rpc/port/server.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <thread>
#include <vector>

namespace heddle::rpc::tests {

/// A trap of the code under test.
struct trapped : std::runtime_error {
  trapped(fault why, const char* message) : std::runtime_error(message), reason(why) {}
  fault reason;
};

/// Thrown out of a wait that may not, or will not, end.
struct would_wait : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What the careful target knows of the calling thread.
struct thread_rules {
  bool may_wait = true;                ///< false: the first pause throws
  uint64_t lanes_here = ~uint64_t{0};  ///< the lanes of the wave that take part
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};
inline thread_local thread_rules rules;

/// Whether one of two threads has failed: the other then waits in vain.
inline std::atomic<bool> peer_has_failed{false};

/// The host, with `Lanes` lanes run by each thread.
template <uint32_t Lanes>
struct careful_target : host::basic_target<Lanes> {
  static uint64_t lane_mask() { return host::basic_target<Lanes>::lane_mask() & rules.lanes_here; }

  static void pause() {
    if (!rules.may_wait) throw would_wait("this thread must not wait");
    if (peer_has_failed.load(std::memory_order_relaxed)) throw would_wait("the other end has failed");
    if (std::chrono::steady_clock::now() > rules.deadline) throw would_wait("the wait took too long");
    host::pause();
  }

  [[noreturn]] static void trap(fault reason, const char* message) { throw trapped(reason, message); }
};
static_assert(target_machine<careful_target<64>>);

/// Sets the calling thread's rules for a scope.
class rules_for_now {
 public:
  explicit rules_for_now(const thread_rules& set) : before_(rules) { rules = set; }
  ~rules_for_now() { rules = before_; }
  rules_for_now(const rules_for_now&) = delete;
  rules_for_now& operator=(const rules_for_now&) = delete;

 private:
  thread_rules before_;
};

/// Stands at another wave number for a scope: where the scan of a client starts.
class wave_for_now {
 public:
  explicit wave_for_now(uint32_t wave) : before_(host::this_position) { host::this_position.wave = wave; }
  ~wave_for_now() { host::this_position = before_; }
  wave_for_now(const wave_for_now&) = delete;
  wave_for_now& operator=(const wave_for_now&) = delete;

 private:
  host::position before_;
};

/// Shared memory, locks, and views of both ends. At its end all ports must be idle, unless told otherwise.
template <uint32_t Lanes, typename Check = checked>
class both_ends {
 public:
  using machine = careful_target<Lanes>;
  using client_type = basic_client<machine, Check>;
  using server_type = basic_server<machine, Check>;

  explicit both_ends(uint32_t ports, uint32_t lanes = Lanes, uint32_t stage_bytes = 0, bool words = false)
      : shape_{.ports = ports, .lanes = lanes, .stage_bytes = stage_bytes, .words = words},
        memory_((shape_.size_bytes() + sizeof(line) - 1) / sizeof(line)),
        client_locks_(shape_.own_words()),
        server_locks_(shape_.own_words()) {}
  both_ends(const both_ends&) = delete;
  both_ends& operator=(const both_ends&) = delete;
  ~both_ends() { EXPECT_TRUE(left_broken_ || all_idle()) << "a port is not back with its client, or is held"; }

  client_type client(ringing rings = {}) { return {memory_.data(), client_locks_.data(), shape_, rings}; }
  server_type server(uint32_t start = 0, uint32_t home = 0) {
    return {memory_.data(), server_locks_.data(), shape_, start, home};
  }
  process<machine, side::client, Check> client_end() { return {memory_.data(), client_locks_.data(), shape_}; }
  process<machine, side::server, Check> server_end() { return {memory_.data(), server_locks_.data(), shape_}; }

  bool all_idle() { return client_end().all_idle() && server_end().all_idle(); }
  void leave_broken() { left_broken_ = true; }

  uint32_t rings() { return server().rings(); }
  unsigned char* memory() { return reinterpret_cast<unsigned char*>(memory_.data()); }
  layout shape() const { return shape_; }

 private:
  struct alignas(line_bytes) line {
    unsigned char bytes[line_bytes];
  };

  layout shape_;
  std::vector<line> memory_;
  std::vector<uint32_t> client_locks_;
  std::vector<uint32_t> server_locks_;
  bool left_broken_ = false;
};

/// Runs both bodies at the same time, each in a thread of its own, and throws what the first that failed threw. A wait ends
/// when the other side has failed, and after four minutes, before ctest ends the program. Beside busy processes each yield can take a slice
/// of another process: a mebibyte in 16,384 hand-overs has taken 109 s there, of which 0.9 s were the test's own.
template <typename ClientBody, typename ServerBody>
void run_both(ClientBody client_body, ServerBody server_body) {
  struct {
    std::exception_ptr error;
    std::exception_ptr cut_off;
  } outcomes[2];
  peer_has_failed = false;
  const auto guarded = [&outcomes](uint32_t self, auto& body) {
    rules = {.deadline = std::chrono::steady_clock::now() + std::chrono::minutes(4)};
    try {
      body();
    } catch (const would_wait&) {
      outcomes[self].cut_off = std::current_exception();
      peer_has_failed = true;
    } catch (...) {
      outcomes[self].error = std::current_exception();
      peer_has_failed = true;
    }
  };
  std::thread server([&] { guarded(1, server_body); });
  std::thread client([&] { guarded(0, client_body); });
  client.join();
  server.join();
  peer_has_failed = false;
  for (const auto& outcome : outcomes)
    if (outcome.error) std::rethrow_exception(outcome.error);
  for (const auto& outcome : outcomes)
    if (outcome.cut_off) std::rethrow_exception(outcome.cut_off);
}

/// Serves the next call by `handle(port)`, which waits for one.
template <typename Server, typename Handle>
void serve_one(Server& server, Handle handle) {
  for (;;) {
    auto port = server.try_open();
    if (port) {
      handle(port);
      return;
    }
    std::this_thread::yield();
    if (peer_has_failed.load(std::memory_order_relaxed)) throw would_wait("the client has failed");
    if (std::chrono::steady_clock::now() > rules.deadline) throw would_wait("no call came");
  }
}

inline constexpr uint16_t test_opcode = user_opcode(100);

template <uint32_t Lanes>
using lane_count = std::integral_constant<uint32_t, Lanes>;
using lane_counts = testing::Types<lane_count<1>, lane_count<5>, lane_count<32>, lane_count<64>>;

/// Names the instances of a typed test by their lanes.
struct lanes_in_name {
  template <typename Count>
  static std::string GetName(int) {  // NOLINT(readability-identifier-naming): GoogleTest asks for this name
    return std::to_string(Count::value) + "_lanes";
  }
};

}  // namespace heddle::rpc::tests
