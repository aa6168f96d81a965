// The server reads the opcode before its first receive. That is sound only because it has peeked: it saw the toggle by a relaxed load, and
// then took the lock, whose fence acquires. A server that takes the lock without a look has its fence too early; and one that is a wave of a
// device has a fence that reaches its own device only.
//
// LLVM libc, shared/rpc.h, as of 2026: try_open() peeks, takes the lock with its fence of device scope, looks again, and reads the header.
// The first plant is a race; the second, on a device, a scope race. Smallest: 1 client, 1 port, 1 call.
#include "weakened.h"

namespace heddle::tests::zoo {

/// Mailboxes are looked at relaxed; the fences are at the lock, and where the lanes come together behind a wait.
template <scope FenceAtLock>
struct fence_at_lock : noticed_by_either {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    HEDDLE_FUNCTION explicit atomic_ref(T& word) : true_ref<T, Scope>(word) {}
    HEDDLE_FUNCTION T load(memory_order order) const {
      return true_ref<T, Scope>::load(Scope == scope::system ? memory_order::relaxed : order);
    }
    HEDDLE_FUNCTION T fetch_or(T bits, memory_order order) const {
      const T before = true_ref<T, Scope>::fetch_or(bits, order);
      // Pairs with the release of the hand-over that a look in front of the lock has seen.
      target::template fence<FenceAtLock>(memory_order::acquire);
      return before;
    }
  };
  template <scope Scope, typename T>
  HEDDLE_FUNCTION static void acquire_seen(T&) {}
  HEDDLE_FUNCTION static void sync_lanes(uint64_t mask) {
    // Pairs with the release of the hand-over that the wait has seen.
    target::template fence<scope::system>(memory_order::acquire);
    target::sync_lanes(mask);
  }
};

/// The same machine. Its name selects the server below.
struct no_peek : fence_at_lock<scope::system> {};

}  // namespace heddle::tests::zoo

namespace heddle::rpc {

/// The server as it ships, for one thread, but for its first look at the mailbox.
template <typename Check>
class basic_server<tests::zoo::no_peek, Check> {
  using machine = tests::zoo::no_peek;

 public:
  using port = basic_port<machine, side::server, Check>;
  using end = typename port::end;

  basic_server(void* shared, uint32_t* locks, layout shape, uint32_t = 0) : end_(shared, locks, shape) {}

  port try_open() {
    const auto boxes = end_.boxes();
    for (uint32_t n = 0; n < end_.port_count(); ++n) {
      const uint32_t index = next_;
      next_ = index + 1 < end_.port_count() ? index + 1 : 0;
      // The bug is what is not here: a look at the mailbox.
      const own_state was = end_.states().try_lock(index);
      if (was.is_held()) continue;
      if (boxes.owns(boxes.load_inbox(index), was.outbox())) {
        const header& from = end_.header_of(index);
        const uint64_t mask = from.mask;
        const uint16_t opcode = from.opcode;
        machine::sync_lanes(1);
        return port(end_, {index, was, mask, opcode});
      }
      end_.states().unlock(index, was, was);
    }
    return port(end_);
  }

  doorbell rings() const { return 0; }
  void wait(doorbell, uint64_t) const {}
  bool all_idle() const { return end_.all_idle(); }

 private:
  end end_;
  uint32_t next_ = 0;
};

}  // namespace heddle::rpc

namespace heddle::tests {
namespace {

using scheduler::verdict;

void run_opcode_under_peek(const parameters& set) {
  if (zoo::is_fixed(set)) return run_echo_on<target, zoo::fence_at_lock<scope::system>>(set);
  run_echo_on<target, zoo::no_peek>(set);
}

// -- the server is a wave -----------------------------------------------------------------------------------------------------------

constexpr uint16_t peeked_opcode = rpc::user_opcode(33);

template <typename Machine>
struct serving_wave_kernel {
  server_on<Machine> server;
  uint32_t* stop;

  HEDDLE_FUNCTION void operator()() const {
    server_on<Machine> at = server;
    for (;;) {
      // Acquire pairs with the release of the host. Read before the look for work: what was sent before is then found.
      const bool last = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
      if (serve_one(at)) continue;
      if (last) return;
      target::pause();
    }
  }

  HEDDLE_FUNCTION static bool serve_one(server_on<Machine>& at) {
    auto port = at.try_open();
    if (!port) return false;
    HEDDLE_CHECK(port.opcode() == peeked_opcode, "the opcode is not the one that the client opened");
    port.recv_and_send([](rpc::packet& both, uint32_t) { both.words[0] = changed(both.words[0]); });
    return true;
  }
};

struct calling_thread {
  rpc::client client;
  uint32_t* stop;
  uint32_t calls;
  void operator()() const {
    for (uint32_t call = 0; call < calls; ++call) {
      uint64_t answer = 0;
      auto port = client.open<peeked_opcode>();
      port.send_and_recv([call](rpc::packet& to, uint32_t) { to.words[0] = call; },
                         [&answer](rpc::packet& from, uint32_t) { answer = from.words[0]; });
      HEDDLE_CHECK(answer == changed(call), "the answer is not the one to this request");
    }
    // Release pairs with the acquire of the server.
    shared_word<uint32_t>(*stop).store(1, memory_order::release);
  }
};

template <typename Machine>
void serve_on_device(const parameters& set) {
  device on;
  const rpc::layout shape{set.count("ports"), 1};
  auto* const memory = on.allocate_shared<unsigned char>(shape.size_bytes(), "ports");
  auto* const client_locks = on.allocate_shared<uint32_t>(shape.own_words(), "client locks");
  auto* const server_locks = on.allocate_device<uint32_t>(shape.own_words(), "server locks");
  auto* const stop = on.allocate_shared<uint32_t>(1, "stop flag");
  on.launch({.blocks = 1, .waves = 1, .lanes = 1},
            serving_wave_kernel<Machine>{server_on<Machine>(memory, server_locks, shape), stop});
  auto calls =
      on.spawn_host("client", calling_thread{rpc::client(memory, client_locks, shape), stop, set.count("calls")});
  on.synchronize();
  calls.join();
}

void run_opcode_on_device(const parameters& set) {
  if (zoo::is_fixed(set)) return serve_on_device<zoo::fence_at_lock<scope::system>>(set);
  serve_on_device<zoo::fence_at_lock<scope::device>>(set);
}

verdict always_sound(const parameters&) { return verdict::ok; }

}  // namespace

HEDDLE_ZOO(run_opcode_under_peek,
           {.name = "zoo.opcode-under-peek",
            .summary = "a server that does not look before it takes the lock reads the opcode before its fence",
            .parameters = zoo::with_twin({
                parameter::number("waves", 1, 1, 65536, "", "waves that call"),
                parameter::number("lanes", 1, 1, 64, "", "lanes of each wave"),
                parameter::number("ports", 1, 1, rpc::max_ports, "", "ports between client and server"),
                parameter::number("servers", 1, 1, 1, "", "host threads that serve"),
                parameter::number("calls", 1, 1, 100000, "", "calls that each lane makes"),
            }),
            .expected = zoo::where_memory_is_late<verdict::race>});

HEDDLE_ZOO(run_opcode_on_device,
           {.name = "zoo.opcode-under-peek-on-device",
            .summary = "a server on a device reads the opcode behind a fence of device scope",
            .parameters = zoo::with_twin({
                parameter::number("ports", 1, 1, rpc::max_ports, "", "ports between client and server"),
                parameter::number("calls", 1, 1, 100000, "", "calls of the host"),
            }),
            .expected = zoo::where_memory_is_late<verdict::scope_race, zoo::late_over_the_link::loads, always_sound>});

}  // namespace heddle::tests
