// Many calls of many threads over few ports, every one of them checked: rpc_stress --clients 4 --servers 2 --calls 1000000.
//
// A call is one of four kinds, by its number: most ask and wait for the answer, some are asynchronous, some stream a buffer
// there and back, some send and receive twice. Exit status 0: every request was handled once and answered rightly; 1: not; 3: for
// so long nothing has moved that something hangs, and the state of every port is printed.
#include <heddle/hw/host/target.h>
#include <heddle/rpc/port/client.h>
#include <heddle/rpc/port/server.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace heddle::rpc::tests {
namespace {

using host::target;

struct options {
  uint32_t clients = 4;
  uint32_t servers = 2;
  uint32_t ports = 4;
  uint32_t calls = 1'000'000;  ///< of all clients together
  uint32_t hang_ms = 20'000;   ///< without a finished call after which the program gives up
  bool checked = false;
  bool doorbell = false;  ///< servers sleep until a client rings
};

[[noreturn]] void fail(const char* what, uint64_t id) {
  std::fprintf(stderr, "rpc_stress: %s (request %llu)\n", what, static_cast<unsigned long long>(id));
  // Other threads may wait for this one for ever.
  std::_Exit(1);
}

enum class kind : uint16_t {
  ask = user_opcode(1),
  tell = user_opcode(2),
  stream = user_opcode(3),
  converse = user_opcode(4),
};

constexpr kind kind_of(uint64_t id) {
  if (id % 16 == 5) return kind::tell;
  if (id % 32 == 9) return kind::stream;
  if (id % 16 == 13) return kind::converse;
  return kind::ask;
}

/// Payloads: no two requests have a word in common, and an answer differs from its request in every word.
constexpr uint64_t word_of(uint64_t id, uint64_t n) { return (id * 8 + n + 1) * 0x9e3779b97f4a7c15; }
constexpr uint64_t answer_to(uint64_t word) { return ~word * 3; }

constexpr uint64_t stream_bound_bytes = 256;
constexpr uint64_t bytes_of(uint64_t id) { return id / 32 % (stream_bound_bytes + 1); }

/// Counters on lines of their own: the watchdog reads them, each is written by one thread.
struct alignas(128) counter {
  std::atomic<uint64_t> value{0};
  void add_one() { value.store(value.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
};

template <typename Check>
class stress {
 public:
  explicit stress(const options& set)
      : set_(set),
        shape_{set.ports, 1},
        memory_((shape_.size_bytes() + sizeof(line) - 1) / sizeof(line)),
        client_locks_(shape_.own_words()),
        server_locks_(shape_.own_words()),
        handled_(set.calls),
        finished_(set.clients) {}

  int run() {
    const auto start = std::chrono::steady_clock::now();
    std::thread watchdog([this] { watch(); });
    std::vector<std::thread> servers;
    for (uint32_t n = 0; n < set_.servers; ++n) servers.emplace_back([this, n] { serve(n); });
    std::vector<std::thread> clients;
    for (uint32_t n = 0; n < set_.clients; ++n) clients.emplace_back([this, n] { call(n); });
    for (std::thread& client : clients) client.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    stop_.store(true, std::memory_order_release);
    // Sleeping threads find the flag.
    target::notify(server().bell());
    for (std::thread& server : servers) server.join();
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    watchdog.join();

    for (uint64_t id = 0; id < set_.calls; ++id)
      if (handled_[id] != 1)
        fail(handled_[id] == 0 ? "a request was never handled" : "a request was handled twice", id);
    if (!client().all_idle() || !server().all_idle()) {
      print_ports();
      fail("a port is not back with its client, or is held", 0);
    }
    std::printf("%u calls of %u clients to %u servers over %u ports, %s%s: %.2f s, %.0f calls/s\n", set_.calls,
                set_.clients, set_.servers, set_.ports, Check::enabled ? "checked" : "unchecked",
                set_.doorbell ? ", doorbell" : "", took.count(), set_.calls / took.count());
    return 0;
  }

 private:
  struct alignas(line_bytes) line {
    unsigned char bytes[line_bytes];
  };
  using client_end = process<target, side::client, Check>;
  using server_end = process<target, side::server, Check>;
  using handled_word = target::atomic_ref<uint32_t, scope::system>;

  client_end client() { return {memory_.data(), client_locks_.data(), shape_}; }
  server_end server() { return {memory_.data(), server_locks_.data(), shape_}; }

  // -- clients -------------------------------------------------------------------------------------------------------------

  void call(uint32_t self) {
    host::this_position = {.wave = self};
    const basic_client<target, Check> from(memory_.data(), client_locks_.data(), shape_, set_.doorbell);
    for (uint64_t id = self; id < set_.calls; id += set_.clients) {
      switch (kind_of(id)) {
        case kind::ask:
          ask(from, id);
          break;
        case kind::tell:
          from.template open<kind::tell>().send([id](packet& to, uint32_t) { fill(to, id); });
          break;
        case kind::stream:
          stream(from, id);
          break;
        case kind::converse:
          converse(from, id);
          break;
      }
      finished_[self].add_one();
    }
  }

  static void fill(packet& to, uint64_t id) {
    to.words[0] = id;
    for (uint32_t n = 1; n < 8; ++n) to.words[n] = word_of(id, n);
  }

  static void expect_answer(const packet& from, uint64_t id) {
    for (uint32_t n = 1; n < 8; ++n)
      if (from.words[n] != answer_to(word_of(id, n))) fail("the answer is another one's", id);
  }

  static void ask(const basic_client<target, Check>& from, uint64_t id) {
    auto port = from.template open<kind::ask>();
    port.send_and_recv([id](packet& to, uint32_t) { fill(to, id); },
                       [id](packet& answer, uint32_t) { expect_answer(answer, id); });
  }

  static void converse(const basic_client<target, Check>& from, uint64_t id) {
    auto port = from.template open<kind::converse>();
    port.send([id](packet& to, uint32_t) { fill(to, id); });
    port.send([id](packet& to, uint32_t) { fill(to, id); });
    port.recv([id](packet& answer, uint32_t) { expect_answer(answer, id); });
    port.recv([id](packet& answer, uint32_t) { expect_answer(answer, id); });
  }

  static void stream(const basic_client<target, Check>& from, uint64_t id) {
    unsigned char buffer[stream_bound_bytes];
    const uint64_t bytes = bytes_of(id);
    for (uint64_t n = 0; n < bytes; ++n) buffer[n] = static_cast<unsigned char>(word_of(id, n) >> 56);
    auto port = from.template open<kind::stream>();
    port.send([id](packet& to, uint32_t) { fill(to, id); });
    port.send_n(buffer, bytes, stream_bound_bytes);
    unsigned char heard[stream_bound_bytes] = {};
    uint64_t heard_bytes = ~uint64_t{0};
    port.recv_n(
        [&](uint32_t, uint64_t size_bytes) -> void* {
          heard_bytes = size_bytes;
          return heard;
        },
        stream_bound_bytes);
    if (heard_bytes != bytes) fail("a stream has another size than it was sent with", id);
    for (uint64_t n = 0; n < bytes; ++n)
      if (heard[n] != static_cast<unsigned char>(~buffer[n]))
        fail("a stream has another byte than it was sent with", id);
  }

  // -- servers -------------------------------------------------------------------------------------------------------------

  void serve(uint32_t self) {
    basic_server<target, Check> at(memory_.data(), server_locks_.data(), shape_, self);
    for (;;) {
      const doorbell seen = at.rings();
      // Read before the look for work: what was sent before the flag was set is then found.
      const bool last = stop_.load(std::memory_order_acquire);
      if (auto port = at.try_open()) {
        handle(port);
        continue;
      }
      if (last) return;
      // Without a deadline: a ring that is lost shows as a hang.
      if (set_.doorbell)
        at.wait(seen, no_timeout);
      else
        target::pause();
    }
  }

  using served_port = typename basic_server<target, Check>::port;

  void handle(served_port& port) {
    uint64_t id = 0;
    port.recv([&](packet& from, uint32_t) { id = account(from, port.opcode()); });
    const auto answer = [](packet& to, uint32_t) {
      for (uint32_t n = 1; n < 8; ++n) to.words[n] = answer_to(to.words[n]);
    };
    switch (static_cast<kind>(port.opcode())) {
      case kind::tell:
        break;
      case kind::ask:
        port.send(answer);
        break;
      case kind::converse:
        port.recv([&](packet& from, uint32_t) {
          if (from.words[0] != id) fail("a second packet is not of the same call as the first", id);
        });
        port.send(answer);
        port.send([id](packet& to, uint32_t) {
          for (uint32_t n = 1; n < 8; ++n) to.words[n] = answer_to(word_of(id, n));
        });
        break;
      case kind::stream:
        echo_stream(port);
        break;
    }
  }

  uint64_t account(const packet& from, uint16_t opcode) {
    const uint64_t id = from.words[0];
    if (id >= set_.calls) fail("a request has a number that was never given out", id);
    if (opcode != static_cast<uint16_t>(kind_of(id))) fail("a request has the opcode of another one", id);
    for (uint32_t n = 1; n < 8; ++n)
      if (from.words[n] != word_of(id, n)) fail("a request has the payload of another one", id);
    if (handled_word(handled_[id]).fetch_add(1, memory_order::relaxed) != 0) fail("a request is handled twice", id);
    return id;
  }

  static void echo_stream(served_port& port) {
    unsigned char buffer[stream_bound_bytes];
    uint64_t bytes = 0;
    port.recv_n(
        [&](uint32_t, uint64_t size_bytes) -> void* {
          bytes = size_bytes;
          return buffer;
        },
        stream_bound_bytes);
    for (uint64_t n = 0; n < bytes; ++n) buffer[n] = static_cast<unsigned char>(~buffer[n]);
    port.send_n(buffer, bytes, stream_bound_bytes);
  }

  // -- watchdog ------------------------------------------------------------------------------------------------------------

  uint64_t finished() const {
    uint64_t sum = 0;
    for (const counter& each : finished_) sum += each.value.load(std::memory_order_relaxed);
    return sum;
  }

  void watch() {
    std::unique_lock lock(mutex_);
    uint64_t before = ~uint64_t{0};
    for (;;) {
      const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(set_.hang_ms);
      if (changed_.wait_until(lock, limit, [this] { return over_; })) return;
      const uint64_t now = finished();
      if (now != before) {
        before = now;
        continue;
      }
      std::fprintf(stderr, "rpc_stress: no call has ended for %u ms, after %llu of %u\n", set_.hang_ms,
                   static_cast<unsigned long long>(now), set_.calls);
      print_ports();
      std::_Exit(3);
    }
  }

  /// What a hang leaves behind. All other threads still run: all is read atomically.
  void print_ports() {
    const auto boxes = client().boxes();
    std::fprintf(stderr, "rings %u\n", server().bell());
    for (uint32_t port = 0; port < set_.ports; ++port) {
      const uint32_t of_client = boxes.load_outbox(port);
      const uint32_t of_server = boxes.load_inbox(port);
      header& head = client().header_of(port);
      std::fprintf(
          stderr,
          "port %u: owned by the %s (outboxes %08x, %08x), locked by:%s%s, mask %llx, opcode %u, step %u (%s)\n", port,
          boxes.owns(of_server, of_client) ? "client" : "server", of_client, of_server,
          client().states().look(port).is_held() ? " client" : "",
          server().states().look(port).is_held() ? " server" : "",
          static_cast<unsigned long long>(std::atomic_ref(head.mask).load()), std::atomic_ref(head.opcode).load(),
          std::atomic_ref(head.step).load() >> 2, Check::enabled ? "checked" : "not counted");
    }
  }

  options set_;
  layout shape_;
  std::vector<line> memory_;
  std::vector<uint32_t> client_locks_;
  std::vector<uint32_t> server_locks_;
  std::vector<uint32_t> handled_;
  std::vector<counter> finished_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
};

}  // namespace
}  // namespace heddle::rpc::tests

int main(int argument_count, char** arguments) {
  using namespace heddle::rpc;
  tests::options set;
  CLI::App app("Many calls of many threads over few ports, every one of them checked.");
  app.add_option("--clients", set.clients, "threads that call")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--servers", set.servers, "threads that serve")->check(CLI::Range(0, 1024))->capture_default_str();
  app.add_option("--ports", set.ports, "ports between them")
      ->check(CLI::Range(uint32_t{1}, max_ports))
      ->capture_default_str();
  app.add_option("--calls", set.calls, "calls of all clients together")->capture_default_str();
  app.add_option("--hang-ms", set.hang_ms, "time without a finished call after which to give up")
      ->capture_default_str();
  app.add_flag("--checked", set.checked, "check every invariant of the protocol");
  app.add_flag("--doorbell", set.doorbell, "servers sleep until a client rings");
  CLI11_PARSE(app, argument_count, arguments);
  return set.checked ? tests::stress<checked>(set).run() : tests::stress<unchecked>(set).run();
}
