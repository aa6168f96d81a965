// Which port is opened next, by a client and by a server, and what is woken.
#include "both_ends.h"

#include <algorithm>

namespace heddle::rpc::tests::scan_test {
namespace {

const auto leave = [](packet&, uint32_t) {};

class scans : public testing::Test {
  rules_for_now never_wait_{{.may_wait = false}};
};

/// Makes port `index` ready for the server, whichever ports are.
template <typename Ends>
void make_ready(Ends& ends, uint32_t index) {
  const wave_for_now here(index);
  auto port = ends.client().template open<test_opcode>();
  ASSERT_EQ(port.index(), index);
  port.send(leave);
}

TEST_F(scans, of_a_client_start_where_its_wave_number_says) {
  constexpr uint32_t ports = 7;
  both_ends<1> ends(ports);
  for (const uint32_t wave : {0u, 3u, 6u, 7u, 8u, 7000001u, ~0u}) {
    const wave_for_now here(wave);
    EXPECT_EQ(ends.client().open<test_opcode>().index(), wave % ports);
  }
}

TEST_F(scans, of_a_client_go_on_to_the_next_port_and_round_the_end) {
  both_ends<1> ends(3);
  const wave_for_now here(2);
  const auto client = ends.client();
  const auto first = client.open<test_opcode>();
  const auto second = client.open<test_opcode>();
  const auto third = client.open<test_opcode>();
  EXPECT_EQ(first.index(), 2u);
  EXPECT_EQ(second.index(), 0u);
  EXPECT_EQ(third.index(), 1u);
}

TEST_F(scans, of_a_client_pass_over_a_port_that_the_server_still_owns) {
  both_ends<1> ends(2);
  make_ready(ends, 0);
  const wave_for_now here(0);
  EXPECT_EQ(ends.client().open<test_opcode>().index(), 1u);
  auto server = ends.server();
  server.try_open();
  EXPECT_EQ(ends.client().open<test_opcode>().index(), 0u);
}

TEST_F(scans, of_a_server_find_nothing_where_nothing_is_ready) {
  both_ends<1> ends(40);
  auto server = ends.server(39);
  const auto port = server.try_open();
  EXPECT_FALSE(static_cast<bool>(port));
}

TEST_F(scans, of_a_server_find_each_ready_port_wherever_they_start) {
  constexpr uint32_t ports = 5;
  for (uint32_t start = 0; start <= ports; ++start)
    for (uint32_t ready = 0; ready < ports; ++ready) {
      both_ends<1> ends(ports);
      auto server = ends.server(start);
      make_ready(ends, ready);
      const auto port = server.try_open();
      ASSERT_TRUE(static_cast<bool>(port)) << "start " << start << ", ready " << ready;
      EXPECT_EQ(port.index(), ready);
    }
}

TEST_F(scans, of_a_server_go_round_among_ports_that_are_always_ready) {
  constexpr uint32_t ports = 5;
  both_ends<1> ends(ports);
  auto server = ends.server();
  for (uint32_t n = 0; n < ports; ++n) make_ready(ends, n);
  for (uint32_t pass = 0; pass < 4 * ports; ++pass) {
    const uint32_t index = server.try_open().index();
    EXPECT_EQ(index, pass % ports);
    make_ready(ends, index);
  }
  while (server.try_open()) {
  }
}

TEST_F(scans, of_a_server_serve_a_ready_port_within_as_many_passes_as_there_are_ports) {
  constexpr uint32_t ports = 6;
  for (uint32_t greedy = 0; greedy < ports; ++greedy)
    for (uint32_t patient = 0; patient < ports; ++patient) {
      if (patient == greedy) continue;
      both_ends<1> ends(ports);
      auto server = ends.server(greedy);
      make_ready(ends, greedy);
      make_ready(ends, patient);
      // One client comes back as soon as it has been served; another one waits for its turn.
      uint32_t passes = 0;
      for (bool served = false; !served; ++passes) {
        ASSERT_LT(passes, ports) << "port " << patient << " starves behind port " << greedy;
        const uint32_t index = server.try_open().index();
        served = index == patient;
        if (index == greedy) make_ready(ends, greedy);
      }
      EXPECT_LE(passes, ports);
      while (server.try_open()) {
      }
    }
}

TEST_F(scans, of_several_servers_do_not_open_one_port_twice) {
  both_ends<1> ends(3);
  auto first = ends.server();
  auto second = ends.server();
  make_ready(ends, 1);
  {
    auto held = first.try_open();
    ASSERT_TRUE(static_cast<bool>(held));
    EXPECT_FALSE(static_cast<bool>(second.try_open())) << "it is held";
    held.recv_and_send(leave);
    EXPECT_FALSE(static_cast<bool>(second.try_open())) << "it is answered";
  }
  EXPECT_FALSE(static_cast<bool>(second.try_open())) << "it is closed";
  make_ready(ends, 1);
  EXPECT_TRUE(static_cast<bool>(second.try_open()));
}

TEST_F(scans, of_several_servers_divide_what_is_ready) {
  both_ends<1> ends(4);
  basic_server<careful_target<1>, checked> servers[] = {ends.server(0), ends.server(2)};
  for (uint32_t n = 0; n < 4; ++n) make_ready(ends, n);
  const auto a = servers[0].try_open();
  const auto b = servers[1].try_open();
  const auto c = servers[0].try_open();
  const auto d = servers[1].try_open();
  EXPECT_EQ(a.index(), 0u);
  EXPECT_EQ(b.index(), 2u);
  EXPECT_EQ(c.index(), 1u);
  EXPECT_EQ(d.index(), 3u);
}

/// Calls over `index` until the port of `waiting` has been served, at most `most` times; how often.
template <typename Ends, typename Server>
uint32_t calls_until_served(Ends& ends, Server& server, uint32_t index, uint32_t waiting, uint32_t most) {
  make_ready(ends, waiting);
  make_ready(ends, index);
  for (uint32_t calls = 0; calls < most; ++calls) {
    const uint32_t served = server.try_open().index();
    if (served == waiting) return calls;
    EXPECT_EQ(served, index);
    make_ready(ends, index);
  }
  return most;
}

TEST_F(scans, of_a_server_with_a_home_stay_there_and_look_at_all_after_as_many_calls_as_there_are_ports) {
  constexpr uint32_t ports = 64;
  // Ports 32 to 63: the start is rounded down.
  for (const uint32_t start : {32u, 40u}) {
    both_ends<1> ends(ports);
    auto server = ends.server(start, 64 - start);
    const uint32_t calls = calls_until_served(ends, server, 50, 3, 3 * ports);
    EXPECT_GE(calls, ports / 2) << "it has strayed";
    EXPECT_LE(calls, ports + 1) << "a port away from home starves";
    while (server.try_open()) {
    }
  }
}

TEST_F(scans, of_a_server_with_a_home_find_each_ready_port_wherever_it_is) {
  constexpr uint32_t ports = 70;
  for (uint32_t start = 0; start < ports; start += 7)
    for (const uint32_t home : {1u, 16u, 20u, 69u, 70u, 1000u}) {
      both_ends<1> ends(ports);
      auto server = ends.server(start, home);
      for (uint32_t ready = 0; ready < ports; ++ready) {
        make_ready(ends, ready);
        const auto port = server.try_open();
        ASSERT_TRUE(static_cast<bool>(port)) << "start " << start << ", home " << home << ", ready " << ready;
        EXPECT_EQ(port.index(), ready);
      }
    }
}

TEST_F(scans, of_servers_with_homes_leave_no_port_to_none_of_them) {
  for (const uint32_t ports : {33u, 64u, 100u})
    for (const uint32_t servers : {2u, 3u}) {
      const uint32_t each = (ports + servers - 1) / servers;
      both_ends<1> ends(ports);
      for (uint32_t port = 0; port < ports; ++port) {
        // The thread whose part it is finds it at home: another port there goes first, although one away is ready too.
        auto server = ends.server(port / each * each, each);
        const uint32_t away = (port + ports / 2) % ports;
        make_ready(ends, away);
        make_ready(ends, port);
        const uint32_t first = server.try_open().index();
        EXPECT_EQ(first, port) << ports << " ports, " << servers << " servers";
        while (server.try_open()) {
        }
      }
    }
}

TEST_F(scans, leave_ports_alone_that_are_held_by_this_side_already) {
  both_ends<1> ends(1);
  auto server = ends.server();
  make_ready(ends, 0);
  const own_state held = ends.server_end().states().try_lock(0);
  ASSERT_FALSE(held.is_held());
  EXPECT_FALSE(static_cast<bool>(server.try_open()));
  ends.server_end().states().unlock(0, held, held);
  EXPECT_TRUE(static_cast<bool>(server.try_open()));
}

TEST_F(scans, do_not_touch_what_belongs_to_other_ports) {
  // Every port of a set that is no multiple of anything, each used alone, with the others' words compared before and after.
  constexpr uint32_t ports = 67;
  both_ends<3> ends(ports);
  auto server = ends.server();
  const auto end = ends.client_end();
  for (uint32_t used = 0; used < ports; ++used) {
    for (uint32_t n = 0; n < ports; ++n) end.header_of(n).mask = ~uint64_t{n};
    make_ready(ends, used);
    const auto port = server.try_open();
    EXPECT_EQ(port.index(), used);
    EXPECT_EQ(port.mask(), 7u);
    for (uint32_t n = 0; n < ports; ++n) {
      if (n == used) continue;
      EXPECT_EQ(end.header_of(n).mask, ~uint64_t{n});
      EXPECT_FALSE(end.states().look(n).is_held() || ends.server_end().states().look(n).is_held());
    }
  }
}

TEST_F(scans, ring_once_a_call_and_after_the_packet_can_be_found) {
  both_ends<2> ends(1);
  auto server = ends.server();
  const auto client = ends.client(true);
  EXPECT_EQ(ends.rings(), 0u);
  {
    auto port = client.open<test_opcode>();
    EXPECT_EQ(ends.rings(), 0u) << "a server that wakes now finds nothing";
    port.send(leave);
    EXPECT_EQ(ends.rings(), 1u);
    auto served = server.try_open();
    served.recv(leave);
    served.send(leave);
    port.recv(leave);
    port.send(leave);
    EXPECT_EQ(ends.rings(), 1u) << "the server has the port open and needs no ring";
    served.recv(leave);
  }
  EXPECT_EQ(ends.rings(), 1u);
  client.open<test_opcode>().send(leave);
  EXPECT_EQ(ends.rings(), 2u);
  server.try_open();
}

/// One call over the ports, with an answer; how many rings there are behind it.
template <typename Ends, typename Client>
uint32_t rings_behind_a_call(Ends& ends, const Client& client, bool answered = true) {
  auto server = ends.server();
  auto port = client.template open<test_opcode>();
  port.send(leave);
  const uint32_t rings = ends.rings();
  auto opened = server.try_open();
  opened.recv(leave);
  if (!answered) return rings;
  opened.send(leave);
  port.recv(leave);
  return rings;
}

TEST_F(scans, ring_behind_each_nth_call_of_all_copies_of_a_client) {
  both_ends<1> ends(2);
  const auto client = ends.client(3);
  const auto copy = client;
  const uint32_t expected[] = {0, 0, 1, 1, 1, 2, 2};
  for (size_t call = 0; call < std::size(expected); ++call)
    EXPECT_EQ(rings_behind_a_call(ends, call % 2 == 0 ? client : copy), expected[call]) << call;
}

TEST_F(scans, do_not_ring_while_a_ring_is_unanswered_where_rings_are_coalesced) {
  both_ends<1> ends(3);
  const auto client = ends.client({1, true});
  {
    auto first = client.open<test_opcode>();
    first.send(leave);
    EXPECT_EQ(ends.rings(), 1U);
    auto second = client.open<test_opcode>();
    second.send(leave);
    EXPECT_EQ(ends.rings(), 1U) << "the first call has no answer yet";
    auto server = ends.server();
    for (int n = 0; n < 2; ++n) server.try_open().recv_and_send(leave);
    first.recv(leave);
    second.recv(leave);
  }
  EXPECT_EQ(rings_behind_a_call(ends, client), 2U);
  EXPECT_EQ(rings_behind_a_call(ends, client, false), 3U);
  // Nothing waits for that one. Its answer is found when its port is opened again, before the ring of the call that opens it.
  EXPECT_EQ(rings_behind_a_call(ends, client), 4U);
}

TEST(ring_count, leaves_its_word_alone_where_each_call_is_rung_for_or_none) {
  uint32_t word = 0;
  const ring_count<host::target> count(&word);
  for (int n = 0; n < 5; ++n) {
    EXPECT_TRUE(count.is_due(true));
    EXPECT_FALSE(count.is_due(false));
    count.answered(true);
  }
  EXPECT_EQ(word, 0U);
}

TEST(ring_count, goes_on_when_its_count_wraps) {
  uint32_t word = ~uint32_t{0} - 1;
  const ring_count<host::target> count(&word);
  int due = 0;
  for (int n = 0; n < 9; ++n) due += count.is_due(4) ? 1 : 0;
  EXPECT_GE(due, 2);
  EXPECT_LE(due, 3);
  EXPECT_EQ(word % 2, 0U) << "no ring has become an unanswered one";
}

TEST_F(scans, ring_nobody_unless_the_client_says_so) {
  both_ends<1> ends(1);
  auto server = ends.server();
  ends.client().open<test_opcode>().send(leave);
  server.try_open();
  EXPECT_EQ(ends.rings(), 0u);
}

TEST(servers_that_sleep, are_woken_by_a_call) {
  both_ends<1> ends(2);
  constexpr uint32_t calls = 2000;
  uint64_t sum = 0;
  run_both(
      [&] {
        const auto client = ends.client(true);
        for (uint64_t call = 0; call < calls; ++call)
          client.open<test_opcode>().send([&](packet& to, uint32_t) { to.words[0] = call; });
      },
      [&] {
        auto server = ends.server();
        for (uint32_t served = 0; served < calls;) {
          const doorbell seen = server.rings();
          if (auto port = server.try_open()) {
            port.recv([&](packet& from, uint32_t) { sum += from.words[0]; });
            ++served;
            continue;
          }
          // Without a deadline: one lost ring and this hangs.
          server.wait(seen, no_timeout);
        }
      });
  EXPECT_EQ(sum, uint64_t{calls} * (calls - 1) / 2);
}

}  // namespace
}  // namespace heddle::rpc::tests::scan_test
