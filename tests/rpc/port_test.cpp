// One call: what reaches the other end, which end may go first, and which has the port afterwards. Both ends are run by one thread, so
// an operation that would wait for the other end throws.
#include "both_ends.h"

#include <type_traits>

namespace heddle::rpc::tests::port_test {
namespace {

template <typename Count>
class calls : public testing::Test {
 public:
  static constexpr uint32_t lanes = Count::value;
  using ends_type = both_ends<lanes>;
  using client_port = typename ends_type::client_type::port;
  using server_port = typename ends_type::server_type::port;

  // An open port cannot be lost or held twice.
  static_assert(!std::is_copy_constructible_v<client_port> && !std::is_move_constructible_v<client_port>);
  static_assert(!std::is_copy_assignable_v<client_port> && !std::is_move_assignable_v<client_port>);
  static_assert(!std::is_copy_constructible_v<server_port> && !std::is_move_constructible_v<server_port>);
  static_assert(!std::is_copy_assignable_v<server_port> && !std::is_move_assignable_v<server_port>);
  static_assert(!std::is_default_constructible_v<client_port>);

  static constexpr uint64_t all_lanes = ~uint64_t{0} >> (64 - lanes);

 private:
  rules_for_now never_wait_{{.may_wait = false}};
};
TYPED_TEST_SUITE(calls, lane_counts, lanes_in_name);

/// Fills every word of every lane's packet with a value of its own.
auto fill_with(uint64_t seed) {
  return [seed](packet& to, uint32_t lane) {
    for (uint32_t n = 0; n < 8; ++n) to.words[n] = seed + uint64_t{lane} * 8 + n;
  };
}

auto expect_filled_with(uint64_t seed) {
  return [seed](packet& from, uint32_t lane) {
    for (uint32_t n = 0; n < 8; ++n)
      EXPECT_EQ(from.words[n], seed + uint64_t{lane} * 8 + n) << "lane " << lane << " word " << n;
  };
}

const auto leave = [](packet&, uint32_t) {};

TYPED_TEST(calls, are_told_when_there_is_no_answer) {
  // By refuse() in either build; where nothing is checked also by a server that just closes.
  const auto no_answer = [](auto& ends, auto end_it) {
    auto server = ends.server();
    for (uint32_t n = 0; n < 3; ++n) {
      {
        auto port = ends.client().template open<test_opcode>();
        port.send(fill_with(n));
        end_it(server);
        port.recv([](packet&, uint32_t) { ADD_FAILURE() << "a request comes back as its own answer"; });
        EXPECT_TRUE(port.ended() && port.unanswered());
        port.send([](packet&, uint32_t) { ADD_FAILURE() << "the call is over"; });
      }
      auto port = ends.client().template open<test_opcode>();
      port.send(fill_with(n));
      server.try_open().recv_and_send(expect_filled_with(n));
      port.recv(expect_filled_with(n));
      EXPECT_FALSE(port.ended() || port.unanswered()) << "the port is as good as new";
    }
  };
  const auto refuse_unread = [](auto& server) { server.try_open().refuse(); };
  const auto refuse_read = [](auto& server) {
    auto port = server.try_open();
    port.recv(leave);
    port.refuse();
    EXPECT_FALSE(static_cast<bool>(port));
  };
  typename TestFixture::ends_type checking(1);
  no_answer(checking, refuse_unread);
  no_answer(checking, refuse_read);
  both_ends<TestFixture::lanes, unchecked> trusting(1);
  no_answer(trusting, refuse_unread);
  no_answer(trusting, refuse_read);
  no_answer(trusting, [](auto& server) { server.try_open().recv(leave); });
  no_answer(trusting, [](auto& server) { server.try_open(); });
}

TYPED_TEST(calls, that_were_refused_stay_so_when_their_port_ends) {
  const auto no_answer = [](auto end_it) {
    both_ends<TestFixture::lanes, may_end_and<checked>> ends(1);
    auto server = ends.server();
    auto port = ends.client().template open<test_opcode>();
    port.send(fill_with(1));
    end_it(server);
    port.recv([](packet&, uint32_t) { ADD_FAILURE() << "a request comes back as its own answer"; });
    EXPECT_TRUE(port.ended() && port.unanswered());
    ends.leave_broken();
  };
  no_answer([](auto& server) {
    auto port = server.try_open();
    port.end_when_closed();
    port.recv(leave);
    port.refuse();
  });
  no_answer([](auto& server) {
    server.try_open().refuse();
    EXPECT_TRUE(server.try_end());
  });
}

TYPED_TEST(calls, are_refused_once_and_not_behind_their_answer) {
  typename TestFixture::ends_type ends(1);
  auto server = ends.server();
  server.try_open().refuse();  // none is there
  const auto call = [&](auto serve, bool is_answered) {
    auto port = ends.client().template open<test_opcode>();
    port.send(fill_with(1));
    auto served = server.try_open();
    serve(served);
    EXPECT_TRUE(served.ended() && !served);
    served.send([](packet&, uint32_t) { ADD_FAILURE() << "the port is not this end's any more"; });
    EXPECT_FALSE(served.given_up());
    bool has_come = false;
    port.recv([&](packet&, uint32_t) { has_come = true; });
    EXPECT_EQ(has_come, is_answered);
    EXPECT_EQ(port.unanswered(), !is_answered);
  };
  for (int n = 0; n < 3; ++n) {
    call(
        [](auto& port) {
          port.recv_and_send(leave);
          port.close();
          port.refuse();
        },
        true);
    call(
        [](auto& port) {
          port.recv(leave);
          port.refuse();
          port.refuse();
        },
        false);
  }
  EXPECT_TRUE(server.all_idle());
}

TYPED_TEST(calls, over_mailboxes_with_junk_in_them_are_made_once_each) {
  // A stray store of a kernel: bit 0 counts, and nothing else does.
  both_ends<TestFixture::lanes, unchecked> ends(1);
  ends.leave_broken();
  auto* const box = reinterpret_cast<uint32_t*>(ends.memory() + layout::client_outbox_offset());
  auto server = ends.server();
  for (const uint32_t junk : {5U, 7U, 0x80000001U, 6U, 4U, 0U}) {
    const bool ready = ((*box ^ junk) & 1) != 0;
    *box = junk;
    EXPECT_EQ(static_cast<bool>(server.try_open()), ready) << junk;
    EXPECT_FALSE(static_cast<bool>(server.try_open())) << "a call that was not made, for ever: " << junk;
  }
}

TYPED_TEST(calls, of_a_wave_that_is_too_wide_are_not_made) {
  if (TestFixture::lanes == 1) GTEST_SKIP() << "no wave is narrower";
  both_ends<TestFixture::lanes, unchecked> narrow(2, TestFixture::lanes - 1);
  auto port = narrow.client().template open<test_opcode>();
  EXPECT_FALSE(static_cast<bool>(port));
  EXPECT_TRUE(port.ended());
  port.send([](packet&, uint32_t) { ADD_FAILURE() << "this packet is another port's"; });
}

TYPED_TEST(calls, end_when_their_port_is_closed_by_hand) {
  typename TestFixture::ends_type ends(1);
  auto server = ends.server();
  auto early = ends.client().template open<test_opcode>();
  early.send(fill_with(1));
  early.close();
  EXPECT_FALSE(static_cast<bool>(early));
  EXPECT_TRUE(early.ended());
  early.send([](packet&, uint32_t) { ADD_FAILURE() << "this packet is the next call's"; });
  early.recv([](packet&, uint32_t) { ADD_FAILURE() << "this packet is the next call's"; });
  early.close();
  {
    auto opened = server.try_open();
    opened.recv(expect_filled_with(1));
    opened.close();
    EXPECT_FALSE(static_cast<bool>(opened));
  }
  // There is one port, and `early` still lives.
  auto next = ends.client().template open<test_opcode>();
  next.send(fill_with(2));
  server.try_open().recv_and_send(expect_filled_with(2));
  next.recv(expect_filled_with(2));
}

TYPED_TEST(calls, come_back_changed_in_every_lane_many_times_over_few_ports) {
  typename TestFixture::ends_type ends(3);
  auto server = ends.server();
  for (uint64_t call = 0; call < 100; ++call) {
    auto port = ends.client().template open<test_opcode>();
    port.send(fill_with(call * 1000));
    {
      auto served = server.try_open();
      ASSERT_TRUE(static_cast<bool>(served));
      EXPECT_EQ(served.index(), port.index());
      EXPECT_EQ(served.mask(), TestFixture::all_lanes);
      EXPECT_EQ(served.opcode(), test_opcode);
      served.recv(expect_filled_with(call * 1000));
      served.send(fill_with(call * 1000 + 500));
    }
    port.recv(expect_filled_with(call * 1000 + 500));
  }
}

TYPED_TEST(calls, leave_the_packet_as_the_handler_left_it) {
  typename TestFixture::ends_type ends(1);
  auto server = ends.server();
  auto port = ends.client().template open<test_opcode>();
  port.send(fill_with(70));
  server.try_open().recv_and_send([](packet& both, uint32_t) { both.words[3] += 1; });
  port.recv([](packet& from, uint32_t lane) {
    EXPECT_EQ(from.words[3], 70 + lane * 8 + 3 + 1);
    EXPECT_EQ(from.words[4], 70 + lane * 8 + 4);
  });
}

TYPED_TEST(calls, visit_the_lanes_of_the_mask_once_each_and_no_others) {
  typename TestFixture::ends_type ends(1);
  auto server = ends.server();
  const uint64_t some = TestFixture::all_lanes & 0x9249249249249249;
  const rules_for_now partly({.may_wait = false, .lanes_here = some});
  uint64_t visited[4] = {};
  uint32_t visits = 0;
  const auto visit = [&](uint32_t step) {
    return [&, step](packet&, uint32_t lane) {
      visited[step] |= uint64_t{1} << lane;
      ++visits;
    };
  };
  auto port = ends.client().template open<test_opcode>();
  EXPECT_EQ(port.mask(), some);
  port.send(visit(0));
  {
    auto served = server.try_open();
    EXPECT_EQ(served.mask(), some);
    served.recv(visit(1));
    served.send(visit(2));
  }
  port.recv(visit(3));
  for (const uint64_t seen : visited) EXPECT_EQ(seen, some);
  EXPECT_EQ(visits, 4 * static_cast<uint32_t>(__builtin_popcountll(some)));
}

TYPED_TEST(calls, are_of_the_lanes_that_the_caller_names) {
  typename TestFixture::ends_type ends(1);
  auto server = ends.server();
  constexpr uint64_t last = uint64_t{1} << (TestFixture::lanes - 1);
  for (const uint64_t mask : {uint64_t{1}, last, last | 1}) {
    auto port = ends.client().template open<test_opcode>(mask);
    EXPECT_EQ(port.mask(), mask);
    uint64_t filled = 0;
    port.send([&](packet&, uint32_t lane) { filled |= uint64_t{1} << lane; });
    EXPECT_EQ(filled, mask);
    auto opened = server.try_open();
    EXPECT_EQ(opened.mask(), mask);
    opened.recv([](packet&, uint32_t) {});
  }
}

TYPED_TEST(calls, of_the_last_lane_alone_are_served_in_that_lane) {
  const uint32_t last = TestFixture::lanes - 1;
  typename TestFixture::ends_type ends(2);
  auto server = ends.server();
  const rules_for_now alone({.may_wait = false, .lanes_here = uint64_t{1} << last});
  auto port = ends.client().template open<test_opcode>();
  port.send([](packet& to, uint32_t lane) { to.words[0] = lane; });
  {
    auto served = server.try_open();
    EXPECT_EQ(served.mask(), uint64_t{1} << last);
    served.recv_and_send([&](packet& both, uint32_t lane) {
      EXPECT_EQ(lane, last);
      EXPECT_EQ(both.words[0], last);
      both.words[0] = 99;
    });
  }
  uint64_t answer = 0;
  port.recv([&](packet& from, uint32_t) { answer = from.words[0]; });
  EXPECT_EQ(answer, 99u);
}

TYPED_TEST(calls, that_nobody_waits_for_are_served_after_their_client_has_closed) {
  typename TestFixture::ends_type ends(2);
  auto server = ends.server();
  for (uint64_t call = 0; call < 20; ++call) {
    ends.client().template open<test_opcode>().send(fill_with(call));
    EXPECT_FALSE(ends.all_idle());
    server.try_open().recv(expect_filled_with(call));
    EXPECT_TRUE(ends.all_idle());
  }
}

TYPED_TEST(calls, that_nobody_waits_for_hold_a_port_each_until_they_are_served) {
  constexpr uint32_t ports = 4;
  typename TestFixture::ends_type ends(ports);
  auto server = ends.server();
  const auto client = ends.client();
  for (uint64_t call = 0; call < ports; ++call) client.template open<test_opcode>().send(fill_with(call));
  EXPECT_THROW(client.template open<test_opcode>(), would_wait);
  EXPECT_THROW(client.template open<test_opcode>(), would_wait) << "a failed look must not leave a lock behind";
  server.try_open().recv(leave);
  {
    EXPECT_NO_THROW(client.template open<test_opcode>().send(leave));
  }
  while (auto port = server.try_open()) port.recv(leave);
}

TYPED_TEST(calls, are_given_back_when_the_server_closes_without_receiving) {
  typename TestFixture::ends_type ends(1);
  auto server = ends.server();
  for (uint32_t call = 0; call < 10; ++call) {
    ends.client().template open<test_opcode>().send(leave);
    EXPECT_TRUE(static_cast<bool>(server.try_open()));
    EXPECT_FALSE(static_cast<bool>(server.try_open()));
  }
}

TYPED_TEST(calls, are_over_when_the_server_closes_behind_its_answer) {
  typename TestFixture::ends_type ends(1);
  auto server = ends.server();
  auto port = ends.client().template open<test_opcode>();
  port.send(leave);
  server.try_open().recv_and_send(leave);
  EXPECT_FALSE(static_cast<bool>(server.try_open()));
  port.recv(leave);
}

TYPED_TEST(calls, that_open_and_send_nothing_are_never_seen_by_the_server) {
  typename TestFixture::ends_type ends(1);
  auto server = ends.server();
  {
    auto port = ends.client().template open<test_opcode>();
    EXPECT_TRUE(static_cast<bool>(port));
    EXPECT_FALSE(static_cast<bool>(server.try_open()));
  }
  EXPECT_FALSE(static_cast<bool>(server.try_open()));
}

TYPED_TEST(calls, wait_for_the_packet_when_the_other_end_has_it) {
  typename TestFixture::ends_type ends(1);
  auto server = ends.server();
  auto port = ends.client().template open<test_opcode>();
  port.send(leave);
  EXPECT_THROW(port.recv(leave), would_wait);
  EXPECT_THROW(port.send(leave), would_wait);
  auto served = server.try_open();
  served.recv(leave);
  EXPECT_THROW(served.recv(leave), would_wait) << "the second receive gives the packet back and waits for the next";
  port.send(leave);
  EXPECT_NO_THROW(served.recv(leave));
}

TYPED_TEST(calls, on_different_ports_do_not_wait_for_each_other) {
  typename TestFixture::ends_type ends(2);
  auto server = ends.server();
  auto first = ends.client().template open<test_opcode>();
  auto second = ends.client().template open<test_opcode>();
  EXPECT_NE(first.index(), second.index());
  first.send(fill_with(1));
  second.send(fill_with(2));
  {
    // Answered in the other order than asked.
    auto one = server.try_open();
    auto other = server.try_open();
    ASSERT_TRUE(one && other);
    other.recv_and_send(leave);
    one.recv_and_send(leave);
  }
  second.recv(expect_filled_with(2));
  first.recv(expect_filled_with(1));
}

TEST(hostile_clients, cannot_name_lanes_that_have_no_packet) {
  const rules_for_now never_wait({.may_wait = false});
  both_ends<5> ends(2);
  auto server = ends.server();
  ends.client().open<test_opcode>().send(leave);
  ends.client_end().header_of(0).mask = ~uint64_t{0};
  auto port = server.try_open();
  EXPECT_EQ(port.mask(), 0x1fu);
  uint64_t visited = 0;
  port.recv([&](packet&, uint32_t lane) { visited |= uint64_t{1} << lane; });
  EXPECT_EQ(visited, 0x1fu);
}

// A server looks at 16 mailboxes at a time: also at words behind the last one.
TEST(hostile_clients, cannot_name_a_port_that_does_not_exist) {
  constexpr uint32_t ports = 20;
  both_ends<1, unchecked> ends(ports);
  auto* const mailboxes = reinterpret_cast<uint32_t*>(ends.memory() + layout::client_outbox_offset());
  for (uint32_t n = ports; n < 32; ++n) mailboxes[n] = 1;
  for (const uint32_t start : {0U, 3U, 16U, 19U}) EXPECT_FALSE(ends.server(start).try_open()) << start;
  mailboxes[ports - 1] = 1;
  auto server = ends.server();
  EXPECT_EQ(server.try_open().index(), ports - 1);
  ends.leave_broken();
}

TEST(hostile_clients, may_name_all_64_lanes_where_there_are_as_many) {
  both_ends<64> ends(1);
  auto server = ends.server();
  ends.client().open<test_opcode>().send(leave);
  ends.client_end().header_of(0).mask = ~uint64_t{0};
  EXPECT_EQ(server.try_open().mask(), ~uint64_t{0});
}

TEST(hostile_clients, that_name_no_lane_get_their_port_back_and_nothing_else) {
  both_ends<5> ends(1);
  auto server = ends.server();
  ends.client().open<test_opcode>().send(leave);
  ends.client_end().header_of(0).mask = uint64_t{1} << 63;
  server.try_open().recv_and_send([](packet&, uint32_t lane) { ADD_FAILURE() << "lane " << lane; });
}

TEST(hostile_clients, cannot_change_the_lanes_of_a_port_that_is_open) {
  both_ends<5> ends(1);
  auto server = ends.server();
  const rules_for_now one_lane({.lanes_here = 2});
  ends.client().open<test_opcode>().send(leave);
  auto port = server.try_open();
  ends.client_end().header_of(0).mask = ~uint64_t{0};
  port.recv([](packet&, uint32_t lane) { EXPECT_EQ(lane, 1u); });
}

struct some_value {
  float number;
  char text[20];
};

TEST(packets, are_words_bytes_and_values) {
  packet one{};
  one.words[7] = 5;
  one.put(some_value{1.5F, "some text"});
  EXPECT_EQ(one.get<some_value>().number, 1.5F);
  EXPECT_STREQ(one.get<some_value>().text, "some text");
  EXPECT_EQ(one.words[7], 5U) << "the rest stays";
  EXPECT_STREQ(reinterpret_cast<const char*>(one.bytes() + offsetof(some_value, text)), "some text");
  one.bytes()[56] = 6;
  EXPECT_EQ(one.words[7], 6U);
}

// -- Opcodes: 16 bits, the lower half of them the library's own. That a reserved one does not compile is tested by compiling one:
// see CMakeLists.txt and open_opcode.cpp.

static_assert(user_opcode(0) == 32768);
static_assert(user_opcode(32767) == 65535);
static_assert(is_reserved(0) && is_reserved(32767) && !is_reserved(32768) && !is_reserved(65535));

template <auto Opcode>
uint16_t opcode_as_served() {
  both_ends<2> ends(1);
  auto server = ends.server();
  {
    auto port = ends.client().template open<Opcode>();
    EXPECT_EQ(port.opcode(), static_cast<uint16_t>(Opcode));
    port.send([](packet&, uint32_t) {});
  }
  auto port = server.try_open();
  EXPECT_TRUE(static_cast<bool>(port));
  return port.opcode();
}

enum class own : uint16_t { lowest = first_user_opcode, highest = 0xffff };

TEST(opcode, reaches_the_server_with_all_of_its_16_bits) {
  EXPECT_EQ((opcode_as_served<user_opcode(0)>()), 0x8000);
  EXPECT_EQ((opcode_as_served<user_opcode(0x1234)>()), 0x9234);
  EXPECT_EQ((opcode_as_served<uint16_t{0xffff}>()), 0xffff);
}

TEST(opcode, may_be_any_integer_or_enumeration_that_fits) {
  EXPECT_EQ((opcode_as_served<own::lowest>()), 0x8000);
  EXPECT_EQ((opcode_as_served<own::highest>()), 0xffff);
  EXPECT_EQ((opcode_as_served<40000>()), 40000);
  EXPECT_EQ((opcode_as_served<uint64_t{50000}>()), 50000);
}

TEST(opcode, may_be_known_at_run_time_alone) {
  both_ends<3> ends(1);
  auto server = ends.server();
  for (const uint16_t number : {first_user_opcode, user_opcode(7), uint16_t{0xffff}}) {
    auto port = ends.client().open(number);
    port.send([](packet&, uint32_t) {});
    auto opened = server.try_open();
    EXPECT_EQ(opened.opcode(), number);
    opened.recv([](packet&, uint32_t) {});
  }
  EXPECT_THROW(ends.client().open(uint16_t{32767}), trapped) << "it is the library's";
}

// Where nothing is checked too: what an end does next divides by the number of ports.
TEST(layout_of_ports, that_has_none_is_refused_by_each_end) {
  using machine = careful_target<4>;
  alignas(line_bytes) unsigned char memory[line_bytes * 64] = {};
  uint32_t own[2] = {};
  const auto is_refused = [&](layout shape) {
    try {
      basic_client<machine, unchecked>{memory, own, shape};
      return false;
    } catch (const trapped& why) {
      EXPECT_EQ(why.reason, fault::assertion);
    }
    EXPECT_THROW((basic_server<machine, unchecked>{memory, own, shape}), trapped);
    EXPECT_THROW((basic_server<machine, checked>{memory, own, shape}), trapped);
    return true;
  };
  EXPECT_TRUE(is_refused({.ports = 0, .lanes = 4}));
  EXPECT_TRUE(is_refused({.ports = max_ports + 1, .lanes = 4}));
  EXPECT_TRUE(is_refused({.ports = 1, .lanes = 0}));
  EXPECT_TRUE(is_refused({.ports = 1, .lanes = max_lanes + 1}));
  EXPECT_TRUE(is_refused({.ports = 1, .lanes = 4, .stage_bytes = max_stage_bytes + 1}));
  EXPECT_FALSE(is_refused({.ports = 1, .lanes = 4}));
}

TEST(opcode, of_the_library_itself_may_be_reserved) { EXPECT_EQ((opcode_as_served<opcode::nothing>()), 0); }

TEST(opcode, of_one_call_does_not_stay_for_the_next_on_the_same_port) {
  both_ends<1> ends(1);
  auto server = ends.server();
  ends.client().open<user_opcode(1)>().send([](packet&, uint32_t) {});
  EXPECT_EQ(server.try_open().opcode(), user_opcode(1));
  ends.client().open<user_opcode(2)>().send([](packet&, uint32_t) {});
  EXPECT_EQ(server.try_open().opcode(), user_opcode(2));
}

}  // namespace
}  // namespace heddle::rpc::tests::port_test
