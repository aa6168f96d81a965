// FIFO and hostcalls: what each operation does with counters and stacks, step by step. Both ends are run by one thread, so a wait
// without bound throws.
#include "both_ends.h"

#include <heddle/rpc/ring/fifo.h>
#include <heddle/rpc/ring/hostcall.h>

#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace heddle::rpc::tests::ring_test {
namespace {

constexpr uint32_t lanes = 3;
using machine = careful_target<lanes>;

struct message {
  uint64_t word;
  uint32_t lane;
};

/// Memory of both ends, whose numbers begin where a test wants.
template <typename Form>
class fifo_ends {
 public:
  using producer_type = basic_fifo_producer<machine, message, Form, checked>;
  using consumer_type = basic_fifo_consumer<machine, message, Form, checked>;

  explicit fifo_ends(uint32_t entries, uint32_t first = 0)
      : shape_{entries}, shared_(shape_.size_bytes() / sizeof(line) + 1), counters_{first, first} {
    fifo_layout<message>::begin_at(shared_.data(), first);
  }

  producer_type producer(bool rings = false) { return producer_on<machine>(rings); }
  template <typename Machine>
  basic_fifo_producer<Machine, message, Form, checked> producer_on(bool rings = false) {
    return {shared_.data(), &counters_, shape_, rings};
  }
  consumer_type consumer() { return {shared_.data(), shape_}; }

  /// Pushes an entry for each lane.
  ring_result push(uint64_t word, uint32_t turns = 0) {
    return producer().push([&](message& to, uint32_t lane) { to = {word, lane}; }, turns);
  }
  std::vector<uint64_t> take(uint32_t most = ~uint32_t{0}) {
    std::vector<uint64_t> words;
    const uint32_t taken = consumer().consume([&](const message& from) { words.push_back(from.word); }, most);
    EXPECT_EQ(taken, words.size());
    return words;
  }

  uint32_t head() const { return counters_.head; }
  uint32_t& tail() { return reinterpret_cast<uint32_t*>(shared_.data())[fifo_layout<message>::tail_offset() / 4]; }

 private:
  struct alignas(64) line {
    unsigned char bytes[64];
  };

  fifo_layout<message> shape_;
  std::vector<line> shared_;
  fifo_counters counters_;
};

template <typename Form>
class fifo : public testing::Test {
 private:
  rules_for_now never_wait_{{.may_wait = false}};
};
using forms = testing::Types<lap_parity, cleared_flag>;
struct form_names {
  template <typename Form>
  static std::string GetName(int) {  // NOLINT(readability-identifier-naming): GoogleTest's
    return std::is_same_v<Form, cleared_flag> ? "cleared" : "parity";
  }
};
TYPED_TEST_SUITE(fifo, forms, form_names);

/// Memory of both ends of a FIFO whose entries have their flags inside.
class pair_ends {
 public:
  using producer_type = basic_fifo_producer<machine, fifo_pair, flag_inside, checked>;
  explicit pair_ends(uint32_t entries, uint32_t first = 0)
      : shape_{entries}, shared_(shape_.size_bytes() / sizeof(line) + 1), counters_{first, first} {
    fifo_layout<fifo_pair>::begin_at(shared_.data(), first);
  }
  producer_type producer() { return {shared_.data(), &counters_, shape_}; }
  ring_result push(uint64_t word) {
    return producer().push([&](fifo_pair& to, uint32_t lane) { to = {{word, ~word >> 2 ^ lane}}; }, 0);
  }
  std::vector<uint64_t> take() {
    std::vector<uint64_t> words;
    const basic_fifo_consumer<machine, fifo_pair, flag_inside, checked> consumer(shared_.data(), shape_);
    (void)consumer.consume([&](const fifo_pair& from) {
      EXPECT_EQ(from.words[1], (~from.words[0] >> 2) ^ (words.size() % lanes));
      words.push_back(from.words[0]);
    });
    return words;
  }
  uint64_t* words_of(uint32_t number) {
    return reinterpret_cast<uint64_t*>(reinterpret_cast<unsigned char*>(shared_.data()) +
                                       fifo_layout<fifo_pair>::slot_offset()) +
           size_t{2} * number;
  }

 private:
  struct alignas(64) line {
    unsigned char bytes[64];
  };
  fifo_layout<fifo_pair> shape_;
  std::vector<line> shared_;
  fifo_counters counters_;
};

TEST(fifo_pairs, have_62_bits_a_word_in_16_bytes_and_arrive_over_laps_and_wraps) {
  const rules_for_now never_wait{{.may_wait = false}};
  constexpr uint64_t largest = (uint64_t{1} << fifo_pair::word_bits) - 1;
  for (const uint32_t first : {0U, 5U, ~uint32_t{0} - 7}) {
    pair_ends ends(4, first);
    EXPECT_TRUE(ends.take().empty()) << "zeroed memory is of no lap";
    for (const uint64_t word : {largest, uint64_t{0}, largest - 1, uint64_t{0}, largest}) {
      EXPECT_TRUE(ends.push(word));
      EXPECT_FALSE(ends.push(word)) << "the ring holds one wave";
      EXPECT_EQ(ends.take(), std::vector<uint64_t>(lanes, word));
      EXPECT_TRUE(ends.take().empty()) << "twice";
    }
  }
}

TEST(fifo_pairs, are_there_when_both_words_are) {
  const rules_for_now never_wait{{.may_wait = false}};
  pair_ends ends(4);
  EXPECT_TRUE(ends.push(7));
  // As if a half were still on its way, whichever.
  for (uint32_t half = 0; half < 2; ++half) {
    const uint64_t word = std::exchange(ends.words_of(0)[half], 0);
    EXPECT_TRUE(ends.take().empty());
    ends.words_of(0)[half] = word;
  }
  EXPECT_EQ(ends.take().size(), lanes);
}

TEST(fifo_pairs, are_checked_for_bits_where_the_flag_goes) {
  pair_ends ends(4);
  const auto push = [&] { ends.producer().push([](fifo_pair& to, uint32_t) { to.words[1] = uint64_t{1} << 62; }); };
  EXPECT_THROW(push(), trapped);
}

TYPED_TEST(fifo, gives_each_lane_an_entry_in_order) {
  fifo_ends<TypeParam> ends(8);
  EXPECT_TRUE(ends.producer().push([](message& to, uint32_t lane) { to = {7, lane}; }));
  EXPECT_TRUE(ends.push(8));
  std::vector<uint32_t> seen;
  EXPECT_EQ(ends.consumer().consume([&](const message& from) {
    EXPECT_EQ(from.word, 7 + seen.size() / lanes);
    seen.push_back(from.lane);
  }),
            2 * lanes);
  EXPECT_EQ(seen, (std::vector<uint32_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_TRUE(ends.take().empty());
}

TYPED_TEST(fifo, has_no_entry_for_a_lane_that_is_not_there) {
  fifo_ends<TypeParam> ends(4);
  const rules_for_now without_the_first{{.may_wait = false, .lanes_here = 0b110}};
  std::vector<uint32_t> seen;
  EXPECT_TRUE(ends.push(1));
  EXPECT_EQ(ends.head(), 2U);
  EXPECT_EQ(ends.consumer().consume([&](const message& from) { seen.push_back(from.lane); }), 2U);
  EXPECT_EQ(seen, (std::vector<uint32_t>{1, 2}));
}

// A payload of zeros is a payload. (MSCCL++ 5e038eac: there it was none.)
TYPED_TEST(fifo, takes_a_payload_of_zeros_for_one) {
  fifo_ends<TypeParam> ends(4);
  EXPECT_TRUE(ends.producer().push([](message& to, uint32_t) { to = {0, 0}; }));
  EXPECT_EQ(ends.take(), (std::vector<uint64_t>{0, 0, 0}));
}

TYPED_TEST(fifo, pushes_for_all_lanes_or_for_none_and_says_what_it_waited_for) {
  fifo_ends<TypeParam> ends(4, 100);
  EXPECT_TRUE(ends.push(1));
  // One place is left, and a wave needs three.
  const ring_result full = ends.push(2);
  EXPECT_FALSE(full);
  EXPECT_EQ(full.status, ring_status::timed_out);
  EXPECT_EQ(full.waited_for, ring_wait::credit);
  EXPECT_EQ(full.index, 103U) << "where its entries would have begun";
  EXPECT_EQ(full.seen, 100U) << "the first that is not consumed";
  EXPECT_EQ(ends.head(), 103U) << "nothing is reserved";
  EXPECT_EQ(ends.take(1), (std::vector<uint64_t>{1}));
  EXPECT_EQ(ends.push(2).seen, 101U);
  EXPECT_EQ(ends.take(), (std::vector<uint64_t>{1, 1}));
  const ring_result done = ends.push(2);
  EXPECT_TRUE(done);
  EXPECT_EQ(done.index, 103U);
  EXPECT_EQ(ends.take(), (std::vector<uint64_t>{2, 2, 2}));
}

/// Counts the turns of a wait.
struct counting_machine : machine {
  static inline uint32_t pauses = 0;
  static void pause() { ++pauses; }
};

TYPED_TEST(fifo, looks_as_often_as_it_was_told) {
  fifo_ends<TypeParam> ends(4);
  EXPECT_TRUE(ends.push(1));
  for (const uint32_t turns : {0U, 1U, 5U}) {
    counting_machine::pauses = 0;
    EXPECT_FALSE(ends.template producer_on<counting_machine>().push([](message&, uint32_t) {}, turns));
    EXPECT_EQ(counting_machine::pauses, turns);
    counting_machine::pauses = 0;
    EXPECT_FALSE(ends.template producer_on<counting_machine>().flush(turns));
    EXPECT_EQ(counting_machine::pauses, turns);
  }
}

/// Another producer always reserves first.
struct contended_machine : counting_machine {
  template <typename T, scope Scope>
  struct atomic_ref : counting_machine::atomic_ref<T, Scope> {
    using counting_machine::atomic_ref<T, Scope>::atomic_ref;
    bool compare_exchange_strong(T&, T, memory_order) const { return false; }
  };
};

TYPED_TEST(fifo, says_when_others_reserve_first_each_time) {
  fifo_ends<TypeParam> ends(4);
  counting_machine::pauses = 0;
  const ring_result outcome = ends.template producer_on<contended_machine>().push([](message&, uint32_t) {}, 3);
  EXPECT_EQ(outcome.status, ring_status::timed_out);
  EXPECT_EQ(outcome.waited_for, ring_wait::reservation);
  EXPECT_EQ(counting_machine::pauses, 3U);
}

TYPED_TEST(fifo, is_waited_for_without_bound_only_where_that_was_asked) {
  fifo_ends<TypeParam> ends(4);
  EXPECT_TRUE(ends.push(1));
  EXPECT_THROW(ends.producer().push([](message&, uint32_t) {}), would_wait);
  EXPECT_THROW(ends.producer().flush(), would_wait);
}

TYPED_TEST(fifo, is_flushed_when_all_is_consumed) {
  fifo_ends<TypeParam> ends(4, ~uint32_t{0});
  EXPECT_TRUE(ends.producer().flush(0)) << "nothing was pushed";
  EXPECT_TRUE(ends.push(1));
  EXPECT_EQ(ends.take(2).size(), 2U);
  const ring_result late = ends.producer().flush(0);
  EXPECT_EQ(late.status, ring_status::timed_out);
  EXPECT_EQ(late.waited_for, ring_wait::consumption);
  EXPECT_EQ(late.index, 2U);
  EXPECT_EQ(late.seen, 1U);
  EXPECT_EQ(ends.take().size(), 1U);
  EXPECT_TRUE(ends.producer().flush(0));
}

// Numbers wrap, and so does their sign: at 2^32 and at 2^31. (NCCL 2.8.3: a protocol that compared them hung.)
TYPED_TEST(fifo, does_not_notice_when_its_numbers_wrap) {
  for (const uint32_t wrap : {0U, 0x80000000U})
    for (const uint32_t entries : {4U, 8U, 64U})
      for (uint32_t before = 0; before < 20; ++before) {
        SCOPED_TRACE(testing::Message() << entries << " entries, " << before << " before " << wrap);
        fifo_ends<TypeParam> ends(entries, wrap - before);
        uint64_t waves = 0, taken = 0;
        for (uint32_t round = 0; round < 30; ++round) {
          while (ends.push(waves)) ++waves;
          EXPECT_EQ(waves * lanes - taken, entries / lanes * lanes) << "the ring holds more, or less, than it has";
          for (const uint64_t word : ends.take()) EXPECT_EQ(word, taken++ / lanes);
          ASSERT_EQ(taken, waves * lanes);
          ASSERT_TRUE(ends.producer().flush(0));
        }
      }
}

TYPED_TEST(fifo, rings_once_for_a_wave) {
  fifo_ends<TypeParam> ends(8);
  const doorbell before = ends.consumer().rings();
  EXPECT_TRUE(ends.push(1));
  EXPECT_EQ(ends.consumer().rings(), before);
  EXPECT_TRUE(ends.producer(true).push([](message&, uint32_t) {}));
  EXPECT_EQ(ends.consumer().rings(), before + 1);
  ends.consumer().wait(before, no_timeout);
}

TYPED_TEST(fifo, has_an_entry_for_each_lane_of_a_wave) {
  fifo_ends<TypeParam> ends(2);
  EXPECT_THROW(ends.push(1), trapped);
  const rules_for_now two{{.may_wait = false, .lanes_here = 0b11}};
  EXPECT_TRUE(ends.push(1));
}

// A broken end is caught by the other's checks.
TYPED_TEST(fifo, loses_nothing_when_a_handler_throws) {
  fifo_ends<TypeParam> ends(8);
  for (const uint64_t word : {uint64_t{1}, uint64_t{2}}) EXPECT_TRUE(ends.push(word));
  uint32_t seen = 0;
  EXPECT_THROW(ends.consumer().consume([&](const message&) {
    if (++seen == 2) throw seen;
  }),
               uint32_t);
  EXPECT_EQ(ends.tail(), 2U) << "the entry that the handler has thrown for is consumed";
  EXPECT_EQ(ends.take(), (std::vector<uint64_t>{1, 2, 2, 2}));
  EXPECT_TRUE(ends.push(3)) << "its place may be used again";
  EXPECT_EQ(ends.take(), (std::vector<uint64_t>{3, 3, 3}));
}

TYPED_TEST(fifo, is_never_ahead_of_its_producers) {
  fifo_ends<TypeParam> ends(4);
  ends.tail() = 100;
  EXPECT_TRUE(ends.push(1)) << "the copy of the tail is enough";
  EXPECT_THROW(ends.push(1), trapped);
}

// -- hostcalls --------------------------------------------------------------------------------------------------------------------

/// Its pauses are the server's turns.
struct answered_machine : machine {
  static inline std::function<void()> serve;
  static void pause() {
    if (!serve) throw would_wait("nothing serves");
    serve();
  }
};

constexpr uint32_t service = 3;

class hostcalls : public testing::Test {
 protected:
  explicit hostcalls(uint32_t packets = 2)
      : shape_{packets, lanes}, shared_((shape_.size_bytes() + sizeof(cache_line) - 1) / sizeof(cache_line)) {
    shape_.prepare(shared_.data());
    answered_machine::serve = nullptr;
  }

  template <typename Machine = answered_machine>
  basic_hostcall_client<Machine, checked> client() {
    return {shared_.data(), shape_};
  }
  basic_hostcall_server<machine, checked> server() { return {shared_.data(), shape_}; }
  basic_hostcall_server<machine> unchecked_server() { return {shared_.data(), shape_}; }
  hostcall_end<machine, counted_tag> end() { return {shared_.data(), shape_}; }

  ring_result call(uint64_t word, uint32_t turns, std::vector<uint64_t>* answers = nullptr) {
    return client().call(
        service, [&](packet& to, uint32_t lane) { to.words[0] = word + lane; },
        [&](packet& from, uint32_t) {
          if (answers != nullptr) answers->push_back(from.words[0]);
        },
        turns);
  }
  /// Adds 100 to each request, and tells what was asked.
  std::vector<uint64_t> serve_all() {
    std::vector<uint64_t> asked;
    server().serve([&](uint32_t of, packet& line, uint32_t) {
      EXPECT_EQ(of, service);
      asked.push_back(line.words[0]);
      line.words[0] += 100;
    });
    return asked;
  }

 private:
  struct alignas(64) cache_line {
    unsigned char bytes[64];
  };
  hostcall_layout shape_;
  std::vector<cache_line> shared_;
};

TEST_F(hostcalls, bring_each_lane_its_answer) {
  answered_machine::serve = [&] { EXPECT_EQ(serve_all(), (std::vector<uint64_t>{7, 8, 9})); };
  std::vector<uint64_t> answers;
  EXPECT_TRUE(call(7, without_bound, &answers));
  EXPECT_EQ(answers, (std::vector<uint64_t>{107, 108, 109}));
  EXPECT_TRUE(client().all_idle());
}

TEST_F(hostcalls, are_made_for_the_lanes_that_are_there) {
  const rules_for_now without_the_first{{.may_wait = false, .lanes_here = 0b110}};
  answered_machine::serve = [&] { EXPECT_EQ(serve_all(), (std::vector<uint64_t>{8, 9})); };
  EXPECT_TRUE(call(7, 1));
}

TEST_F(hostcalls, are_the_server_s_when_nobody_waits_for_the_answer) {
  answered_machine::serve = [] {};
  const ring_result first = call(10, 2);
  EXPECT_EQ(first.status, ring_status::timed_out);
  EXPECT_EQ(first.waited_for, ring_wait::answer);
  EXPECT_EQ(first.index, 0U) << "the packet";
  EXPECT_EQ(call(20, 0).waited_for, ring_wait::answer);
  // Both packets are the server's now.
  const ring_result none = call(30, 5);
  EXPECT_EQ(none.status, ring_status::timed_out);
  EXPECT_EQ(none.waited_for, ring_wait::packet);
  EXPECT_FALSE(client().all_idle());
  EXPECT_EQ(serve_all(), (std::vector<uint64_t>{20, 21, 22, 10, 11, 12})) << "each once, the last one first";
  EXPECT_TRUE(client().all_idle()) << "the server gives back what was abandoned";
  EXPECT_TRUE(serve_all().empty());
}

TEST_F(hostcalls, lose_none_when_a_handler_throws) {
  answered_machine::serve = [&] {
    EXPECT_THROW(server().serve([](uint32_t, packet& line, uint32_t) { throw line.words[0]; }), uint64_t);
  };
  std::vector<uint64_t> answers;
  const ring_result thrown = call(10, without_bound, &answers);
  EXPECT_EQ(thrown.status, ring_status::unanswered);
  EXPECT_TRUE(answers.empty()) << "a request is used as its own answer";
  EXPECT_TRUE(client().all_idle());

  // Two that are posted, of which the first handled throws: the other is still there.
  answered_machine::serve = [] {};
  (void)call(10, 1);
  (void)call(20, 1);
  EXPECT_THROW(server().serve([](uint32_t, packet&, uint32_t) { throw 1; }), int);
  EXPECT_EQ(serve_all(), (std::vector<uint64_t>{10, 11, 12}));
  EXPECT_TRUE(client().all_idle()) << "the packet that was thrown for has been given up, and comes back";
}

/// The server comes between the last look and the exchange that gives up.
struct late_machine : answered_machine {
  template <typename T, scope Scope>
  struct atomic_ref : answered_machine::atomic_ref<T, Scope> {
    using base = answered_machine::atomic_ref<T, Scope>;
    using base::base;
    bool compare_exchange_strong(T& expected, T desired, memory_order order) const {
      if (sizeof(T) == 4) serve();
      return base::compare_exchange_strong(expected, desired, order);
    }
  };
};

TEST_F(hostcalls, take_an_answer_that_comes_when_they_give_up) {
  answered_machine::serve = [&] { EXPECT_EQ(serve_all().size(), lanes); };
  uint64_t answer = 0;
  EXPECT_TRUE(client<late_machine>().call(
      service, [](packet& to, uint32_t) { to.words[0] = 1; }, [&](packet& from, uint32_t) { answer = from.words[0]; },
      0));
  EXPECT_EQ(answer, 101U);
  EXPECT_TRUE(client().all_idle());
}

TEST_F(hostcalls, give_a_packet_back_under_another_name) {
  const auto stack = end().free_packets();
  const uint64_t first = stack.pop();
  const uint64_t second = stack.pop();
  EXPECT_EQ(stack.pop(), 0U);
  EXPECT_NE(counted_tag::packet_of(first), counted_tag::packet_of(second));
  end().give_back(second);
  end().give_back(first);
  const uint64_t again = stack.pop();
  EXPECT_EQ(counted_tag::packet_of(again), counted_tag::packet_of(first));
  EXPECT_NE(again, first);
  // A tag comes round, and the packet is the same.
  EXPECT_EQ(counted_tag::retagged(0xffffffff00000001U), 1U);
}

TEST_F(hostcalls, are_many_more_than_packets) {
  answered_machine::serve = [&] { serve_all(); };
  for (uint64_t n = 0; n < 1000; ++n) {
    std::vector<uint64_t> answers;
    ASSERT_TRUE(call(n, n % 3 == 0 ? without_bound : 1, &answers));
    ASSERT_EQ(answers, (std::vector<uint64_t>{n + 100, n + 101, n + 102}));
  }
  EXPECT_TRUE(client().all_idle());
}

TEST_F(hostcalls, ring_once) {
  answered_machine::serve = [&] { serve_all(); };
  const doorbell before = server().rings();
  EXPECT_TRUE(call(1, 1));
  EXPECT_EQ(server().rings(), before + 1);
}

// What the other side writes is not believed.
TEST_F(hostcalls, of_lanes_and_packets_that_do_not_exist_are_not_served) {
  answered_machine::serve = [] {};
  EXPECT_FALSE(call(1, 0));
  const uint64_t name = end().ready_packets().top();
  end().header_of(name).mask = ~uint64_t{0};
  EXPECT_EQ(serve_all().size(), lanes);
  EXPECT_TRUE(end().free_packets().pop() != 0);
  end().ready_packets().push(counted_tag::named(1000 % 2));
  EXPECT_THROW(serve_all(), trapped) << "nothing has posted it";
}

TEST_F(hostcalls, below_which_lies_a_packet_that_does_not_exist_end_the_run) {
  answered_machine::serve = [] {};
  EXPECT_FALSE(call(1, 0));
  end().header_of(end().ready_packets().top()).below = counted_tag::named(2);
  EXPECT_THROW(serve_all(), trapped);
}

TEST_F(hostcalls, end_also_when_their_list_does_not) {
  answered_machine::serve = [] {};
  EXPECT_FALSE(call(1, 0));
  const uint64_t name = end().ready_packets().top();
  end().header_of(name).below = name;
  basic_hostcall_server<machine> trusting = unchecked_server();
  EXPECT_EQ(trusting.serve([](uint32_t, packet&, uint32_t) {}), 2U) << "as many as there are packets";
}

// Where nothing is checked too: places are taken modulo the number of entries, and packets by their numbers.
TEST(rings, have_a_layout_that_names_entries) {
  alignas(line_bytes) unsigned char memory[4 * line_bytes] = {};
  fifo_counters counters;
  for (const uint32_t wrong : {0U, 3U, 6U, 2 * max_fifo_entries}) {
    const fifo_layout<message> shape{wrong};
    EXPECT_THROW((basic_fifo_producer<machine, message>{memory, &counters, shape}), trapped) << wrong;
    EXPECT_THROW((basic_fifo_consumer<machine, message>{memory, shape}), trapped) << wrong;
  }
  using shape = hostcall_layout;
  for (const shape& wrong :
       {shape{0, lanes}, shape{max_hostcall_packets + 1, lanes}, shape{1, 0}, shape{1, max_lanes + 1}}) {
    EXPECT_THROW((basic_hostcall_client<machine>{memory, wrong}), trapped);
    EXPECT_THROW((basic_hostcall_server<machine>{memory, wrong}), trapped);
  }
}

TEST_F(hostcalls, have_lines_for_all_lanes_of_their_client) {
  using wide = careful_target<lanes + 1>;
  EXPECT_THROW(client<wide>().call(service, [](packet&, uint32_t) {}, [](packet&, uint32_t) {}), trapped);
}

}  // namespace
}  // namespace heddle::rpc::tests::ring_test
