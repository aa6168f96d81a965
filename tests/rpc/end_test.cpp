// Servers of slots, FIFOs, hostcalls and offload that end: what their clients are told, and when; and the loop and the threads that serve.
#include "both_ends.h"

#include <heddle/rpc/offload/client.h>
#include <heddle/rpc/offload/server.h>
#include <heddle/rpc/ring/fifo.h>
#include <heddle/rpc/ring/hostcall.h>
#include <heddle/rpc/serve.h>
#include <heddle/rpc/slot/client.h>
#include <heddle/rpc/slot/server.h>

#include <functional>
#include <utility>

namespace heddle::rpc::tests::end_test {
namespace {

constexpr uint32_t lanes = 3;
using machine = careful_target<lanes>;
using ending = may_end_and<checked>;

/// A client's machine. Its pauses, and what comes right before it looks whether the server has ended, are the server's turns.
struct watching_machine : machine {
  static inline const void* end_word = nullptr;
  static inline std::function<void()> before_the_look;
  static inline std::function<void()> serve;

  template <typename T, scope Scope>
  struct atomic_ref : machine::atomic_ref<T, Scope> {
    explicit atomic_ref(T& word) : machine::atomic_ref<T, Scope>(word), at_(&word) {}
    T load(memory_order order) const {
      if (at_ == end_word && before_the_look) std::exchange(before_the_look, nullptr)();
      return machine::atomic_ref<T, Scope>::load(order);
    }

   private:
    const void* at_;
  };
  static void pause() {
    if (!serve) throw would_wait("there is no server, and the wait does not end");
    serve();
  }
};

/// What a call came to, of whichever protocol.
struct told {
  bool answered = false;
  bool ended = false;
  friend bool operator==(const told&, const told&) = default;
};
constexpr told by_answer{true, false};
constexpr told by_end{false, true};

struct alignas(line_bytes) line {
  unsigned char bytes[line_bytes];
};

/// One protocol: memory for one call at a time, `call`, `serve` one, and `end`.
template <typename Form>
struct slot_ends {
  static constexpr slot_layout<Form> shape{1, lanes};
  std::vector<line> shared = std::vector<line>(shape.size_bytes() / sizeof(line) + 1);
  std::vector<uint32_t> client_locks = std::vector<uint32_t>(shape.own_words());
  std::vector<uint32_t> server_locks = std::vector<uint32_t>(shape.own_words());

  void* end_word() { return shared.data()->bytes + slot_layout<Form>::end_offset(); }
  basic_slot_client<watching_machine, Form, ending> client() { return {shared.data(), client_locks.data(), shape}; }
  basic_slot_server<machine, Form, ending> server() { return {shared.data(), server_locks.data(), shape}; }
  told call() {
    uint32_t used = 0;
    const slot_result result = client().invoke([](packet&, uint32_t) {}, [&](packet&, uint32_t) { ++used; });
    EXPECT_TRUE(used == 0 || used == lanes);
    return {used == lanes, result.ended};
  }
  bool serve() {
    return server().handle([](packet&, uint32_t) {}, [](packet&, uint32_t) {});
  }
  void end() { server().end(); }
};

struct hostcall_ends {
  static constexpr hostcall_layout shape{1, lanes};
  std::vector<line> shared = std::vector<line>(shape.size_bytes() / sizeof(line) + 1);
  hostcall_ends() { shape.prepare(shared.data()); }

  void* end_word() { return shared.data()->bytes + hostcall_layout::end_offset(); }
  basic_hostcall_client<watching_machine, ending> client() { return {shared.data(), shape}; }
  basic_hostcall_server<machine, ending> server() { return {shared.data(), shape}; }
  told call() {
    uint32_t used = 0;
    const ring_result result = client().call(1, [](packet&, uint32_t) {}, [&](packet&, uint32_t) { ++used; });
    EXPECT_EQ(used, result ? lanes : 0);
    return {static_cast<bool>(result), result.status == ring_status::ended};
  }
  bool serve() {
    return server().serve([](uint32_t, packet&, uint32_t) {}) != 0;
  }
  void end() { server().end(); }
};

template <typename Form>
struct offload_ends {
  static constexpr offload_layout shape{1, lanes};
  std::vector<line> shared = std::vector<line>(shape.size_bytes() / sizeof(line));
  std::vector<uint32_t> locks = std::vector<uint32_t>(shape.lock_words());
  uint32_t own = 0;

  void* end_word() { return shared.data()->bytes + shape.end_offset(); }
  basic_offload_client<watching_machine, Form, ending> client() { return {shared.data(), &own, shape}; }
  auto server() {
    using entries = mapped_entries<machine>;
    return basic_offload_server<machine, Form, entries, ending>(entries(shared.data(), shape), locks.data());
  }
  told call() {
    const offload_result result = client().call_words(1, 5);
    return {result.status == offload_status::done && result.value == 6, result.status == offload_status::ended};
  }
  bool serve() {
    return server().handle([](uint64_t, offload_line& asked, uint32_t) { ++asked.words[0]; });
  }
  void end() { server().end(); }
};

/// A push, and the flush behind it.
struct fifo_ends {
  static constexpr fifo_layout<uint64_t> shape{4};
  std::vector<line> shared = std::vector<line>(shape.size_bytes() / sizeof(line) + 1);
  fifo_counters counters;

  void* end_word() { return shared.data()->bytes + fifo_layout<uint64_t>::end_offset(); }
  basic_fifo_producer<watching_machine, uint64_t, lap_parity, ending> producer() {
    return {shared.data(), &counters, shape};
  }
  basic_fifo_consumer<machine, uint64_t, lap_parity, ending> server() { return {shared.data(), shape}; }
  told call() {
    const ring_result pushed = producer().push([](uint64_t& entry, uint32_t) { entry = 1; });
    if (pushed.status == ring_status::ended) return by_end;
    const ring_result flushed = producer().flush();
    return {static_cast<bool>(flushed), flushed.status == ring_status::ended};
  }
  bool serve() {
    return server().consume([](uint64_t) {}) != 0;
  }
  void end() { server().end(); }
};

template <typename Protocol>
class ends : public testing::Test {
 protected:
  ends() {
    watching_machine::end_word = of_.end_word();
    watching_machine::serve = nullptr;
    watching_machine::before_the_look = nullptr;
  }
  ~ends() override {
    watching_machine::serve = nullptr;
    watching_machine::before_the_look = nullptr;
  }
  Protocol of_;
};
using protocols = testing::Types<slot_ends<word_a_slot>, slot_ends<bit_a_slot>, slot_ends<bit_by_compare>,
                                 hostcall_ends, offload_ends<single_mailbox>, offload_ends<offload_ring>, fifo_ends>;
TYPED_TEST_SUITE(ends, protocols);

TYPED_TEST(ends, are_told_to_a_call_that_waits) {
  auto& of = this->of_;
  watching_machine::serve = [&] { (void)of.serve(); };
  EXPECT_EQ(of.call(), by_answer);
  while (of.serve()) {
  }
  watching_machine::serve = [&] { of.end(); };
  EXPECT_EQ(of.call(), by_end);
}

TYPED_TEST(ends, are_told_to_calls_that_come_later_each_at_once) {
  auto& of = this->of_;
  of.end();
  for (uint32_t n = 0; n < 10; ++n) EXPECT_EQ(of.call(), by_end) << n;
}

TYPED_TEST(ends, do_not_hide_an_answer_that_came_before) {
  auto& of = this->of_;
  watching_machine::before_the_look = [&] {
    EXPECT_TRUE(of.serve());
    of.end();
  };
  EXPECT_EQ(of.call(), by_answer);
}

TYPED_TEST(ends, come_behind_what_is_there_and_one_backlog_at_most) {
  auto& of = this->of_;
  uint32_t stop = 0;
  doorbell bell = 0;
  uint32_t served = 0;
  watching_machine::serve = [&] {
    request_stop<machine>(stop, bell);
    serve_until_ended<machine>(stop, of.server(), 1, [&] { return ++served, of.serve(); });
  };
  EXPECT_EQ(of.call(), by_answer) << "it was there when the server stopped";
  EXPECT_EQ(served, 1U);
  served = 0;
  uint32_t endless = 0;
  serve_until_ended<machine>(stop, of.server(), 5, [&] { return ++endless, true; });
  EXPECT_EQ(endless, 5U) << "however fast it is called";
}

TYPED_TEST(ends, reach_a_client_of_another_thread) {
  auto& of = this->of_;
  watching_machine::serve = [] { machine::pause(); };
  uint32_t stop = 0;
  doorbell bell = 0;
  uint32_t answered = 0;
  run_both(
      [&] {
        for (;;) {
          const told now = of.call();
          if (now.ended) return;
          // A slot that is not cleared yet is no call.
          if (!now.answered) continue;
          if (++answered == 20) request_stop<machine>(stop, bell);
        }
      },
      [&] {
        serve_until_ended<machine>(stop, of.server(), 2, [&] {
          const bool served = of.serve();
          if (!served) machine::pause();
          return served;
        });
      });
  EXPECT_GE(answered, 20U);
}

// -- offload that is copied --------------------------------------------------------------------------------------------------------

TEST(copied_offload, ends_by_a_copy_of_one_word) {
  offload_ends<offload_ring> of;
  uint32_t copies = 0;
  const auto copy = [&](void* to, const void* from, size_t bytes) {
    EXPECT_EQ(to, of.end_word());
    EXPECT_EQ(bytes, sizeof(uint64_t));
    memcpy(to, from, bytes);
    ++copies;
  };
  using entries = copied_entries<decltype(copy)>;
  basic_offload_server<machine, offload_ring, entries, ending>(entries(of.shared.data(), of.shape, copy),
                                                               of.locks.data())
      .end();
  EXPECT_EQ(copies, 1U);
  EXPECT_EQ(of.call(), by_end);
}

// -- bounds of slots ------------------------------------------------------------------------------------------------------------

TEST(slot_bounds, end_a_call_whose_answer_is_collected_later) {
  slot_ends<word_a_slot> of;
  uint32_t looks = 0;
  watching_machine::serve = [&] { ++looks; };
  uint32_t handled = 0;
  const auto nothing = [](packet&, uint32_t) {};
  const slot_result late = of.client().invoke(nothing, [](packet&, uint32_t) { FAIL() << "there is no answer"; }, 7);
  EXPECT_TRUE(late.made && late.timed_out && !late.ended && !late.unanswered);
  EXPECT_EQ(looks, 7U);
  EXPECT_FALSE(of.client().invoke(nothing, nothing, 7)) << "the slot is the server's";
  EXPECT_TRUE(of.server().handle([&](packet&, uint32_t) { ++handled; }, nothing));
  EXPECT_EQ(handled, lanes) << "once";
  EXPECT_EQ(of.client().collect(), 1U);
  EXPECT_TRUE(of.serve()) << "the server clears it";
  EXPECT_TRUE(of.server().all_idle());
  watching_machine::serve = [&] { (void)of.serve(); };
  EXPECT_EQ(of.call(), by_answer);
  watching_machine::serve = nullptr;
}

// -- the loop and the threads ----------------------------------------------------------------------------------------------------

/// A server whose doorbell is looked at, and which is told to stop when it sleeps.
struct belled_server {
  mutable std::vector<std::string>* said;
  uint32_t* stop;
  doorbell rings() const { return said->push_back("arms"), doorbell{7}; }
  void wait(doorbell seen, uint64_t timeout_ns) const {
    EXPECT_EQ(seen, 7U);
    EXPECT_EQ(timeout_ns, 5U);
    said->push_back("sleeps");
    *stop = 1;
  }
};

TEST(serve_until, polls_arms_polls_and_sleeps) {
  std::vector<std::string> said;
  uint32_t stop = 0;
  uint32_t work = 1;
  serve_until<host::target>(stop, belled_server{&said, &stop},
                            [&] {
                              said.push_back("looks");
                              return work-- == 1;
                            },
                            {.polls = 2, .sleep_ns = 5, .on_sleep = [&] { said.push_back("counts"); }});
  EXPECT_EQ(said, (std::vector<std::string>{"looks", "looks", "looks", "arms", "looks", "counts", "sleeps", "arms"}));
}

TEST(server_pool, serves_several_servers_with_fewer_threads_and_ends_them) {
  using here = host::target;
  constexpr uint32_t calls = 200;
  struct one_set {
    slot_layout<word_a_slot> shape{1, 1};
    std::vector<line> shared = std::vector<line>(shape.size_bytes() / sizeof(line) + 1);
    uint32_t client_lock = 0;
    uint32_t server_lock = 0;
    uint32_t answered = 0;
    bool ended = false;
  };
  std::vector<one_set> sets(3);
  server_pool<here> pool;
  for (one_set& each : sets)
    pool.add([&each](uint32_t thread) {
      return server_pool<here>::source_of(
          basic_slot_server<here, word_a_slot, may_end_and<unchecked>>(each.shared.data(), &each.server_lock,
                                                                       each.shape, thread),
          1,
          [](auto& at) { return at.handle([](packet& to, uint32_t) { to.words[0] += 1; }, [](packet&, uint32_t) {}); });
    });
  pool.start(2, {.polls = 16, .sleep_ns = 1'000'000}, 20'000);
  std::vector<std::thread> clients;
  for (one_set& each : sets)
    clients.emplace_back([&each] {
      // Rings: a thread that sleeps hears it.
      const basic_slot_client<here, word_a_slot, may_end_and<unchecked>> client(each.shared.data(), &each.client_lock,
                                                                                each.shape, true);
      for (uint64_t word = 0; !each.ended;) {
        uint64_t answer = 0;
        const slot_result result = client.invoke([&](packet& to, uint32_t) { to.words[0] = word; },
                                                 [&](packet& from, uint32_t) { answer = from.words[0]; });
        each.ended = result.ended;
        if (!result || result.ended) continue;
        EXPECT_EQ(answer, word + 1);
        word = answer;
        __atomic_store_n(&each.answered, static_cast<uint32_t>(word), __ATOMIC_RELAXED);
      }
    });
  for (one_set& each : sets)
    while (__atomic_load_n(&each.answered, __ATOMIC_RELAXED) < calls) std::this_thread::yield();
  pool.stop();
  pool.join();
  for (std::thread& each : clients) each.join();
  for (const one_set& each : sets) EXPECT_TRUE(each.ended);
}

TEST(server_pool, looks_also_where_it_is_to_look_without_a_break_and_starts_once) {
  std::atomic<uint32_t> looks{0};
  server_pool<host::target> pool;
  pool.add([&](uint32_t) {
    return server_pool<host::target>::source{[&] {
                                               ++looks;
                                               return false;
                                             },
                                             [] { return doorbell{0}; },
                                             {}};
  });
  pool.start(1, {.polls = 1, .sleep_ns = 1'000'000}, 0);
  while (looks.load() < 5) std::this_thread::yield();
  pool.stop();
  pool.join();
  const result<void> again = pool.start(1, {}, 0, {});
  ASSERT_FALSE(again);
  EXPECT_NE(again.why().line().find("make another pool"), std::string::npos);
}

TEST(server_pool, has_its_threads_run_where_it_is_told) {
  using here = host::target;
  const uint32_t last = own_processors().value().back();
  std::vector<uint32_t> seen;
  server_pool<here> pool;
  pool.add([&](uint32_t) {
    seen = own_processors().value();
    return server_pool<here>::source{[] { return false; }, [] { return doorbell{0}; }, {}};
  });
  const result<void> refused = pool.start(1, {}, 50'000, {.processors = {1023}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.why().line().find("placement(processors): 1023: this process may run on "), 0u);
  pool.start(1, {}, 50'000, {.processors = {last}}).value();
  pool.stop();
  pool.join();
  EXPECT_EQ(seen, std::vector<uint32_t>{last});
}

}  // namespace
}  // namespace heddle::rpc::tests::end_test
