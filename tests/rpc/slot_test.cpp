// Every row of the state tables of slots, and what a call does event by event. Both ends are run by one thread, so an operation that
// would wait for the other end throws. (hostrpc README, "State machine description".)
#include "both_ends.h"

#include <heddle/rpc/slot/client.h>
#include <heddle/rpc/slot/server.h>

#include <array>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace heddle::rpc::tests::slot_test {
namespace {

constexpr uint32_t lanes = 3;
using machine = careful_target<lanes>;

/// Memory of both ends, whose mailboxes and locks a test may set by hand.
template <typename Form>
class slot_ends {
 public:
  using client_type = basic_slot_client<machine, Form, checked>;
  using server_type = basic_slot_server<machine, Form, checked>;

  explicit slot_ends(uint32_t slots)
      : shape_{slots, lanes},
        shared_(shape_.size_bytes() / sizeof(line) + 1),
        client_own_(shape_.own_words()),
        server_own_(shape_.own_words()) {}

  client_type client() { return client_on<machine>(); }
  template <typename Machine>
  basic_slot_client<Machine, Form, checked> client_on() {
    return {shared_.data(), client_own_.data(), shape_};
  }
  server_type server(uint32_t start = 0) { return {shared_.data(), server_own_.data(), shape_, start}; }

  // As an end has left it that has posted, and knows no more of its page.
  void set_client_outbox(uint32_t slot, bool value) {
    set(shape_.client_outbox_offset(), slot, value);
    set_own(client_own_, slot, own_state(value ? 1 : 0, true));
  }
  void set_server_outbox(uint32_t slot, bool value) {
    set(shape_.server_outbox_offset(), slot, value);
    set_own(server_own_, slot, own_state(value ? 1 : 0, false));
  }
  bool client_outbox(uint32_t slot) { return get(shape_.client_outbox_offset(), slot); }
  bool server_outbox(uint32_t slot) { return get(shape_.server_outbox_offset(), slot); }
  bool client_lock(uint32_t slot) const { return state_in(client_own_[slot / 8], slot).is_held(); }
  bool server_lock(uint32_t slot) const { return state_in(server_own_[slot / 8], slot).is_held(); }
  void lock_client(uint32_t slot) { client_own_[slot / 8] |= own_state::held << slot % 8 * 4; }
  void unlock_client(uint32_t slot) { client_own_[slot / 8] &= ~(own_state::held << slot % 8 * 4); }
  void lock_server(uint32_t slot) { server_own_[slot / 8] |= own_state::held << slot % 8 * 4; }
  void set_mask(uint32_t slot, uint64_t mask) {
    reinterpret_cast<uint64_t*>(bytes() + shape_.mask_offset())[slot] = mask;
  }

  /// "client's outbox, server's outbox, client's lock, server's lock" of a slot.
  std::string state(uint32_t slot) {
    std::string text;
    for (const bool bit : {client_outbox(slot), server_outbox(slot), client_lock(slot), server_lock(slot)})
      text += bit ? '1' : '0';
    return text;
  }

 private:
  struct alignas(64) line {
    unsigned char bytes[64];
  };
  unsigned char* bytes() { return reinterpret_cast<unsigned char*>(shared_.data()); }
  uint32_t& word(size_t offset, uint32_t slot) {
    return reinterpret_cast<uint32_t*>(bytes() + offset)[slot / Form::slots_per_word];
  }
  bool get(size_t offset, uint32_t slot) { return Form::read(word(offset, slot), slot); }
  void set(size_t offset, uint32_t slot, bool value) {
    if (get(offset, slot) != value)
      Form::post(host::target::atomic_ref<uint32_t, scope::system>(word(offset, slot)), slot, value);
  }

  static void set_own(std::vector<uint32_t>& own, uint32_t slot, own_state now) {
    const uint32_t at = slot % 8 * 4;
    own[slot / 8] = (own[slot / 8] & ~(uint32_t{6} << at)) | now.bits() << at;
  }

  slot_layout<Form> shape_;
  std::vector<line> shared_;
  std::vector<uint32_t> client_own_;
  std::vector<uint32_t> server_own_;
};

template <typename Form>
class slots : public testing::Test {
 private:
  rules_for_now never_wait_{{.may_wait = false}};
};
using forms = testing::Types<bit_a_slot, bit_by_compare, word_a_slot>;
struct form_names {
  template <typename Form>
  static std::string GetName(int) {  // NOLINT(readability-identifier-naming): GoogleTest's
    if (std::is_same_v<Form, bit_by_compare>) return "compare";
    return std::is_same_v<Form, bit_a_slot> ? "bit" : "word";
  }
};
TYPED_TEST_SUITE(slots, forms, form_names);

/// One row of a table: a slot as one side sees it, and what that side does with it.
struct row {
  bool inbox;
  bool outbox;
  bool lock;
  const char* done;
  bool outbox_after;
};

// -- the server's table -----------------------------------------------------------------------------------------------------------

constexpr std::array server_rows = {
    row{false, false, false, "", false},       // idle
    row{false, false, true, "", false},        // idle thread
    row{false, true, false, "clear", false},   // garbage to clean up
    row{false, true, true, "", true},          // garbage with owner
    row{true, false, false, "operate", true},  // work to do
    row{true, false, true, "", false},         // work with owner
    row{true, true, false, "", true},          // waiting for the client
    row{true, true, true, "", true},           // work done, with owner
};

TYPED_TEST(slots, are_served_as_the_server_s_table_says) {
  for (const row& each : server_rows) {
    SCOPED_TRACE(testing::Message() << "inbox " << each.inbox << " outbox " << each.outbox << " lock " << each.lock);
    // Neighbours share a word with it, and must stay as they are.
    slot_ends<TypeParam> ends(3);
    ends.set_client_outbox(1, each.inbox);
    ends.set_server_outbox(1, each.outbox);
    ends.set_mask(1, 0b101);
    if (each.lock) ends.lock_server(1);
    std::string done;
    std::vector<uint32_t> touched;
    auto server = ends.server();
    const auto say = [&](const char* what) {
      return [&, what](packet&, uint32_t lane) {
        done = what;
        touched.push_back(lane);
        EXPECT_TRUE(ends.server_lock(1)) << "the page is touched without the lock";
        EXPECT_EQ(ends.server_outbox(1), each.outbox) << "posted before it is done";
      };
    };
    EXPECT_EQ(server.handle(say("operate"), say("clear")), *each.done != 0);
    EXPECT_EQ(done, each.done);
    EXPECT_EQ(touched, *each.done != 0 ? (std::vector<uint32_t>{0, 2}) : std::vector<uint32_t>())
        << "lanes of the call";
    EXPECT_EQ(ends.server_outbox(1), each.outbox_after);
    EXPECT_EQ(ends.client_outbox(1), each.inbox) << "the other side's mailbox";
    EXPECT_EQ(ends.server_lock(1), each.lock);
    EXPECT_EQ(ends.state(0), "0000");
    EXPECT_EQ(ends.state(2), "0000");
  }
}

// -- the client's table -----------------------------------------------------------------------------------------------------------

constexpr std::array client_rows = {
    row{false, false, false, "fill", true},  // idle: taken for a call
    row{false, false, true, "", false},      // idle, a wave looks at it
    row{false, true, false, "", true},       // posted
    row{false, true, true, "", true},        // posted, and its caller waits
    row{true, false, false, "", false},      // finished: the server has to clear it
    row{true, false, true, "", false},       // finished, its caller has not left
    row{true, true, false, "", false},       // a result without a waiting caller: collected
    row{true, true, true, "", true},         // a result with a waiting caller
};

TYPED_TEST(slots, are_used_as_the_client_s_table_says) {
  for (const row& each : client_rows) {
    SCOPED_TRACE(testing::Message() << "inbox " << each.inbox << " outbox " << each.outbox << " lock " << each.lock);
    slot_ends<TypeParam> ends(1);
    ends.set_server_outbox(0, each.inbox);
    ends.set_client_outbox(0, each.outbox);
    if (each.lock) ends.lock_client(0);
    bool filled = false;
    const slot_result posted = ends.client().invoke([&](packet&, uint32_t) {
      filled = true;
      EXPECT_TRUE(ends.client_lock(0)) << "the page is touched without the lock";
      EXPECT_EQ(ends.state(0), "0010");
    });
    EXPECT_EQ(posted.made, *each.done != 0);
    EXPECT_EQ(filled, *each.done != 0);
    EXPECT_EQ(ends.client_outbox(0), each.outbox_after);
    EXPECT_EQ(ends.server_outbox(0), each.inbox) << "the other side's mailbox";
    EXPECT_EQ(ends.client_lock(0), each.lock);
  }
}

TYPED_TEST(slots, are_collected_only_where_a_result_has_no_owner) {
  for (const row& each : client_rows) {
    SCOPED_TRACE(testing::Message() << "inbox " << each.inbox << " outbox " << each.outbox << " lock " << each.lock);
    slot_ends<TypeParam> ends(1);
    ends.set_server_outbox(0, each.inbox);
    ends.set_client_outbox(0, each.outbox);
    if (each.lock) ends.lock_client(0);
    const bool collects = each.inbox && each.outbox && !each.lock;
    EXPECT_EQ(ends.client().collect(), collects ? 1U : 0U);
    EXPECT_EQ(ends.client_outbox(0), each.outbox && !collects);
    EXPECT_EQ(ends.client_lock(0), each.lock);
  }
}

// -- one call -----------------------------------------------------------------------------------------------------------------------

/// The client of a call that waits: its pauses are the server's turns.
template <typename Form>
struct served_machine : machine {
  static inline std::function<void()> serve;
  static void pause() { serve(); }
};

TYPED_TEST(slots, change_one_mailbox_at_a_time_and_each_there_and_back_once_a_call) {
  using here = served_machine<TypeParam>;
  slot_ends<TypeParam> ends(1);
  auto server = ends.server();
  std::vector<std::string> seen;
  const auto note = [&] {
    const std::string now = ends.state(0).substr(0, 2);
    if (seen.empty() || seen.back() != now) seen.push_back(now);
  };
  std::vector<std::string> called;
  const auto say = [&](const char* what) {
    return [&, what](packet&, uint32_t lane) {
      note();
      if (lane == 0) called.emplace_back(what);
    };
  };
  here::serve = [&] {
    note();
    EXPECT_TRUE(server.handle(say("operate"), say("clear")));
    note();
  };
  note();
  EXPECT_TRUE(ends.template client_on<here>().invoke(say("fill"), say("use")));
  note();
  EXPECT_FALSE(ends.client().invoke([](packet&, uint32_t) {})) << "the server has not cleared the page";
  EXPECT_TRUE(server.handle(say("operate"), say("clear")));
  note();
  EXPECT_FALSE(server.handle(say("operate"), say("clear")));
  // Client's outbox, server's outbox.
  EXPECT_EQ(seen, (std::vector<std::string>{"00", "10", "11", "01", "00"}));
  EXPECT_EQ(called, (std::vector<std::string>{"fill", "operate", "use", "clear"}));
  EXPECT_EQ(ends.state(0), "0000");
}

TYPED_TEST(slots, that_a_call_has_seen_cleared_are_taken_without_a_look_at_the_mailbox) {
  using here = served_machine<TypeParam>;
  slot_ends<TypeParam> ends(1);
  auto server = ends.server();
  const auto leave = [](packet&, uint32_t) {};
  here::serve = [&] { EXPECT_TRUE(server.handle(leave, leave)); };
  EXPECT_TRUE(ends.template client_on<here>().invoke_until_idle(leave, leave));
  // A look would find it in use.
  ends.set_server_outbox(0, true);
  EXPECT_TRUE(ends.client().invoke(leave));
  ends.set_server_outbox(0, false);

  EXPECT_TRUE(server.handle(leave, leave));
  EXPECT_EQ(ends.client().collect(), 1U);
  EXPECT_FALSE(ends.client().invoke(leave)) << "acknowledged, and not seen cleared";
  EXPECT_TRUE(server.handle(leave, leave));
  EXPECT_TRUE(ends.client().invoke(leave)) << "cleared";
}

TYPED_TEST(slots, tell_a_call_whose_handler_throws_that_there_is_no_answer) {
  using here = served_machine<TypeParam>;
  slot_ends<TypeParam> ends(1);
  auto server = ends.server();
  const auto leave = [](packet&, uint32_t) {};
  const auto raise = [](packet&, uint32_t lane) { throw lane; };
  bool throws = true;
  here::serve = [&] {
    if (!throws) return (void)server.handle(leave, leave);
    EXPECT_THROW(server.handle(raise, leave), uint32_t);
  };
  uint32_t used = 0;
  const auto use = [&](packet&, uint32_t) { ++used; };
  const slot_result thrown = ends.template client_on<here>().invoke(leave, use);
  EXPECT_TRUE(thrown.made && thrown.unanswered);
  EXPECT_EQ(used, 0U) << "a request is used as its own answer";
  EXPECT_THROW(server.handle(leave, raise), uint32_t) << "what clears the page throws";
  EXPECT_EQ(ends.state(0), "0000") << "and the slot is free";
  throws = false;
  const slot_result answered = ends.template client_on<here>().invoke(leave, use);
  EXPECT_TRUE(answered.made && !answered.unanswered);
  EXPECT_EQ(used, lanes);
}

// -- the four bits GPU, WAVE, HOST, THREAD -------------------------------------------------------------------------------------------

/// The bits of a slot as the document writes them: G and H are the outboxes of client and server, W and T their locks.
template <typename Form>
std::string four_bits(slot_ends<Form>& ends) {
  const std::string state = ends.state(0);
  return {state[0], state[2], state[1], state[3]};
}

/// What a call makes of the four bits, event by event; both endings of the document.
template <typename Form>
std::vector<std::string> four_bits_of_a_call(bool until_idle) {
  using here = served_machine<Form>;
  slot_ends<Form> ends(1);
  auto server = ends.server();
  std::vector<std::string> seen;
  const auto note = [&] {
    const std::string now = four_bits(ends);
    if (seen.empty() || seen.back() != now) seen.push_back(now);
  };
  const auto look = [&](packet&, uint32_t) { note(); };
  here::serve = [&] {
    note();
    EXPECT_TRUE(server.handle(look, look));
    note();
  };
  note();
  const auto client = ends.template client_on<here>();
  EXPECT_TRUE(until_idle ? client.invoke_until_idle(look, look) : client.invoke(look, look));
  note();
  while (server.handle(look, look)) note();
  EXPECT_EQ(four_bits(ends), "0000");
  return seen;
}

TYPED_TEST(slots, pass_through_the_steps_of_the_four_bits) {
  // GPU, WAVE, HOST, THREAD. WAVE is taken; GPU set; THREAD taken; HOST set and THREAD given back; GPU cleared; THREAD taken for the
  // clean-up; HOST cleared and THREAD given back; WAVE given back.
  EXPECT_EQ(four_bits_of_a_call<TypeParam>(true),
            (std::vector<std::string>{"0000", "0100", "1100", "1101", "1110", "0110", "0111", "0100", "0000"}));
  // The slot looks free to the device while HOST is still set.
  EXPECT_EQ(four_bits_of_a_call<TypeParam>(false),
            (std::vector<std::string>{"0000", "0100", "1100", "1101", "1110", "0010", "0011", "0000"}));
}

// Each side sees the other's bit late: what a wave does with each combination of its own bits and a late HOST, and a thread likewise, are
// the rows of the two tables above. These are the combinations in which a slot that looks free must not be taken.
TYPED_TEST(slots, are_not_taken_while_the_host_has_not_cleared_its_bit) {
  slot_ends<TypeParam> ends(1);
  ends.set_client_outbox(0, false);
  ends.set_server_outbox(0, true);
  EXPECT_EQ(four_bits(ends), "0010");
  EXPECT_FALSE(ends.client().invoke([](packet&, uint32_t) {}));
  EXPECT_EQ(four_bits(ends), "0010");
  EXPECT_TRUE(ends.server().handle([](packet&, uint32_t) {}, [](packet&, uint32_t) {}));
  EXPECT_EQ(four_bits(ends), "0000");
  EXPECT_TRUE(ends.client().invoke([](packet&, uint32_t) {}));
  EXPECT_EQ(four_bits(ends), "1000");
}

TYPED_TEST(slots, serve_many_more_calls_than_there_are_and_end_idle) {
  slot_ends<TypeParam> ends(2);
  auto server = ends.server();
  uint64_t operated = 0, cleared = 0, made = 0;
  for (uint64_t call = 0; call < 1000; ++call) {
    const auto fill = [&](packet& line, uint32_t lane) { line.words[0] = call * lanes + lane; };
    // An asynchronous call may find no slot idle: it collects, the server clears, and there is one.
    for (uint32_t tries = 0; !ends.client().invoke(fill); ++tries) {
      ASSERT_LT(tries, 10U) << "no slot ever becomes idle";
      while (server.handle([&](packet& line, uint32_t lane) { operated += line.words[0] % lanes == lane ? 1U : 0U; },
                           [&](packet&, uint32_t) { ++cleared; }));
    }
    ++made;
  }
  const auto operate = [&](packet&, uint32_t) { ++operated; };
  const auto clear = [&](packet&, uint32_t) { ++cleared; };
  do
    while (server.handle(operate, clear));
  while (ends.client().collect() != 0);
  EXPECT_EQ(made, 1000U);
  EXPECT_EQ(operated, 1000U * lanes);
  EXPECT_EQ(cleared, 1000U * lanes);
  EXPECT_TRUE(ends.client().all_idle());
  EXPECT_TRUE(ends.server().all_idle());
}

TYPED_TEST(slots, are_passed_over_by_nobody) {
  slot_ends<TypeParam> ends(40);
  for (uint32_t call = 0; call < 40; ++call)
    EXPECT_TRUE(ends.client().invoke([&](packet& line, uint32_t) { line.words[0] = call; }));
  EXPECT_FALSE(ends.client().invoke([](packet&, uint32_t) {})) << "all slots are in use";
  auto server = ends.server(7);
  std::vector<uint64_t> order;
  for (uint32_t n = 0; n < 40; ++n)
    EXPECT_TRUE(server.handle(
        [&](packet& line, uint32_t lane) {
          if (lane == 0) order.push_back(line.words[0]);
        },
        [](packet&, uint32_t) {}));
  for (uint32_t n = 0; n < 40; ++n) EXPECT_EQ(order.at(n), (7 + n) % 40);
}

// Where nothing is checked too: what a server does next divides by the number of slots.
TYPED_TEST(slots, have_a_layout_that_names_some) {
  alignas(line_bytes) unsigned char memory[line_bytes] = {};
  uint32_t own[2] = {};
  using shape = slot_layout<TypeParam>;
  for (const shape& wrong : {shape{0, lanes}, shape{max_slots + 1, lanes}, shape{1, 0}, shape{1, max_lanes + 1}}) {
    EXPECT_THROW((basic_slot_server<machine, TypeParam, unchecked>{memory, own, wrong}), trapped);
    EXPECT_THROW((basic_slot_client<machine, TypeParam, unchecked>{memory, own, wrong}), trapped);
  }
}

// A broken end is caught by the other's checks.
TYPED_TEST(slots, are_never_posted_by_somebody_who_does_not_hold_them) {
  slot_ends<TypeParam> ends(1);
  const auto give_back = [&](packet&, uint32_t) { ends.unlock_client(0); };
  EXPECT_THROW(ends.client().invoke(give_back), trapped);
}

TYPED_TEST(slots, have_lines_for_all_lanes_of_their_client) {
  slot_ends<TypeParam> ends(1);
  using wide = careful_target<lanes + 1>;
  EXPECT_THROW(ends.template client_on<wide>().invoke([](packet&, uint32_t) {}), trapped);
}

// What the other side writes is not believed: lanes that do not exist have no line.
TYPED_TEST(slots, serve_no_lane_that_does_not_exist) {
  slot_ends<TypeParam> ends(1);
  ends.set_client_outbox(0, true);
  ends.set_mask(0, ~uint64_t{0});
  uint32_t served = 0;
  EXPECT_TRUE(ends.server().handle([&](packet&, uint32_t) { ++served; }, [](packet&, uint32_t) {}));
  EXPECT_EQ(served, lanes);
}

}  // namespace
}  // namespace heddle::rpc::tests::slot_test
