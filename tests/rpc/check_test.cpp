// Each invariant, broken once and kept once: a checked build traps on the first and is silent on the second.
#include "both_ends.h"

#include <string>

namespace heddle::rpc::tests {
namespace {

const auto leave = [](packet&, uint32_t) {};

class checks : public testing::Test {
 public:
  both_ends<3> ends{1};
  basic_server<careful_target<3>, checked> server = ends.server();

 private:
  rules_for_now never_wait_{{.may_wait = false}};
};

/// What the code under test traps with; "" when it does not trap, "waits" when it would wait.
template <typename Body>
std::string trap_of(Body&& body) {
  try {
    body();
  } catch (const trapped& trap) {
    EXPECT_EQ(trap.reason, fault::protocol);
    return trap.what();
  } catch (const would_wait&) {
    return "waits";
  }
  return "";
}

#define EXPECT_TRAP(statement, part)                                   \
  do {                                                                 \
    const std::string trap = trap_of([&] { statement; });              \
    EXPECT_NE(trap.find(part), std::string::npos) << "trap: " << trap; \
  } while (false)

TEST_F(checks, find_a_server_that_receives_less_than_the_client_sends) {
  ends.leave_broken();
  auto port = ends.client().open<test_opcode>();
  port.send(leave);
  server.try_open().recv(leave);
  EXPECT_TRAP(port.send(leave), "what the other end does not receive");
}

TEST_F(checks, find_a_server_that_sends_where_the_client_sends_too) {
  ends.leave_broken();
  auto port = ends.client().open<test_opcode>();
  port.send(leave);
  auto served = server.try_open();
  served.recv_and_send(leave);
  EXPECT_TRAP(port.send(leave), "what the other end does not receive");
}

TEST_F(checks, find_a_client_that_sends_where_the_server_sends_too) {
  ends.leave_broken();
  auto port = ends.client().open<test_opcode>();
  port.send(leave);
  auto served = server.try_open();
  served.recv_and_send(leave);
  port.recv(leave);
  port.send(leave);
  EXPECT_TRAP(served.send(leave), "what the other end does not receive");
}

TEST_F(checks, find_a_server_that_receives_where_the_client_receives_too) {
  ends.leave_broken();
  auto port = ends.client().open<test_opcode>();
  port.send(leave);
  auto served = server.try_open();
  served.recv(leave);
  EXPECT_EQ(trap_of([&] { served.recv(leave); }), "waits");
  EXPECT_TRAP(port.recv(leave), "what the other end did not send");
}

TEST_F(checks, find_a_server_that_receives_more_than_the_client_sends_at_the_next_call) {
  ends.leave_broken();
  ends.client().open<test_opcode>().send(leave);
  auto served = server.try_open();
  served.recv(leave);
  EXPECT_EQ(trap_of([&] { served.recv(leave); }), "waits");
  ends.client().open<test_opcode>().send(leave);
  EXPECT_TRAP(served.recv(leave), "steps differ");
}

TEST_F(checks, find_a_server_that_closes_where_the_client_waits_for_an_answer) {
  ends.leave_broken();
  auto port = ends.client().open<test_opcode>();
  port.send(leave);
  server.try_open().recv(leave);
  EXPECT_TRAP(port.recv(leave), "what the other end did not send");
}

TEST_F(checks, find_a_step_that_a_hostile_client_has_made_up) {
  ends.leave_broken();
  ends.client().open<test_opcode>().send(leave);
  ends.client_end().header_of(0).step = 77;
  EXPECT_TRAP(server.try_open(), "steps differ");
}

TEST_F(checks, find_a_client_that_receives_first) {
  auto port = ends.client().open<test_opcode>();
  EXPECT_TRAP(port.recv(leave), "the client receives before it has sent");
}

TEST_F(checks, find_a_server_that_sends_first) {
  auto port = ends.client().open<test_opcode>();
  port.send(leave);
  auto served = server.try_open();
  EXPECT_TRAP(served.send(leave), "the server sends before it has received");
}

TEST_F(checks, find_an_unlock_of_a_port_that_nobody_holds) {
  const auto locks = ends.client_end().locks();
  EXPECT_TRAP(locks.unlock(0), "nobody holds");
  ASSERT_TRUE(locks.try_lock(0));
  EXPECT_EQ(trap_of([&] { locks.unlock(0); }), "");
  EXPECT_TRAP(locks.unlock(0), "nobody holds");
}

TEST_F(checks, find_a_send_of_a_packet_that_the_other_end_owns) {
  ends.leave_broken();
  auto port = ends.client().open<test_opcode>();
  const auto of_server = ends.server_end().boxes();
  of_server.hand_over(0, of_server.load_outbox(0));
  EXPECT_TRAP(port.send(leave), "by the end that does not own it");
}

TEST_F(checks, find_a_receive_of_a_packet_that_the_other_end_owns) {
  ends.leave_broken();
  auto port = ends.client().open<test_opcode>();
  port.send(leave);
  auto served = server.try_open();
  const auto of_client = ends.client_end().boxes();
  of_client.hand_over(0, of_client.load_outbox(0));
  EXPECT_TRAP(served.recv(leave), "by the end that does not own it");
}

TEST_F(checks, find_a_packet_used_without_holding_the_port) {
  auto port = ends.client().open<test_opcode>();
  ends.client_end().locks().unlock(0);
  EXPECT_TRAP(port.send(leave), "does not hold the port");
  // Or closing the port would trap, in a destructor.
  ASSERT_TRUE(ends.client_end().locks().try_lock(0));
}

TEST_F(checks, find_a_wave_that_is_wider_than_the_packets) {
  both_ends<33> narrow(1, 32);
  EXPECT_TRAP(narrow.client().open<test_opcode>(), "wider than the packets");
  const rules_for_now fewer({.may_wait = false, .lanes_here = 0xffffffff});
  EXPECT_EQ(trap_of([&] { narrow.client().open<test_opcode>(); }), "");
}

TEST_F(checks, are_silent_on_every_mirrored_call) {
  EXPECT_EQ(trap_of([&] {
              for (uint32_t call = 0; call < 10; ++call) {
                // An answer, and its changed packet sent on.
                {
                  auto port = ends.client().open<test_opcode>();
                  port.send(leave);
                  auto served = server.try_open();
                  served.recv_and_send(leave);
                  port.recv(leave);
                  port.send(leave);
                  served.recv(leave);
                  served.send(leave);
                  port.recv(leave);
                }
                // No wait.
                ends.client().open<test_opcode>().send(leave);
                server.try_open().recv(leave);
                // No receive.
                ends.client().open<test_opcode>().send(leave);
                server.try_open();
                // No send.
                ends.client().open<test_opcode>();
              }
            }),
            "");
}

TEST(checks_with_the_handler_of_the_host, stop_the_thread_that_broke_the_invariant) {
  const auto before = host::set_trap_handler([](fault reason, const char* message) { throw trapped(reason, message); });
  alignas(line_bytes) unsigned char memory[layout{1, 1}.size_bytes()] = {};
  uint32_t own[layout{1, 1}.own_words()] = {};
  const basic_client<host::target, checked> client(memory, own, {1, 1});
  {
    auto port = client.open<test_opcode>();
    EXPECT_TRAP(port.recv(leave), "the client receives before it has sent");
  }
  host::set_trap_handler(before);
}

TEST(unchecked_ports, do_not_stop_at_any_of_this) {
  const rules_for_now never_wait({.may_wait = false});
  both_ends<33, unchecked> ends(1, 33);
  ends.leave_broken();
  auto server = ends.server();
  auto port = ends.client().open<test_opcode>();
  EXPECT_EQ(trap_of([&] { port.recv(leave); }), "");
  EXPECT_EQ(trap_of([&] { port.send(leave); }), "");
  auto served = server.try_open();
  EXPECT_EQ(trap_of([&] { served.send(leave); }), "");
  EXPECT_EQ(trap_of([&] { port.send(leave); }), "");
  const auto locks = ends.client_end().locks();
  locks.unlock(0);
  EXPECT_EQ(trap_of([&] { locks.unlock(0); }), "");
  EXPECT_EQ(ends.client_end().header_of(0).step, 0u) << "an unchecked build writes no step";
}

// Checks need no room that they do not have already.
static_assert(sizeof(basic_port<host::target, side::client, checked>) ==
              sizeof(basic_port<host::target, side::client, unchecked>));
static_assert(sizeof(basic_client<host::target, checked>) == sizeof(basic_client<host::target, unchecked>));

}  // namespace
}  // namespace heddle::rpc::tests
