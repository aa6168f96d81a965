// Where everything lies in shared memory; and each invariant, broken once and kept once.
#include "both_ends.h"

#include <heddle/rpc/lock.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <random>
#include <string>

namespace heddle::rpc::tests::layout_test {
namespace {

// What goes over the wire has these sizes on every machine.
static_assert(sizeof(packet) == 64 && alignof(packet) == 8);
static_assert(sizeof(header) == 16 && offsetof(header, mask) == 0 && offsetof(header, opcode) == 8 &&
              offsetof(header, step) == 12);

struct part {
  size_t begin_bytes;
  size_t end_bytes;
};

constexpr bool parts_follow_each_other(layout shape) {
  const size_t mailboxes_bytes = size_t{shape.ports} * sizeof(uint32_t);
  const part parts[] = {
      {layout::doorbell_offset(), layout::doorbell_offset() + sizeof(doorbell)},
      {layout::client_outbox_offset(), layout::client_outbox_offset() + mailboxes_bytes},
      {shape.server_outbox_offset(), shape.server_outbox_offset() + mailboxes_bytes},
      {shape.header_offset(), shape.header_offset() + size_t{shape.ports} * sizeof(header)},
      {shape.packet_offset(), shape.packet_offset() + size_t{shape.ports} * shape.lanes * sizeof(packet)},
  };
  size_t end_bytes = 0;
  for (const part& each : parts) {
    // A part begins on a line of its own and wastes less than one.
    if (each.begin_bytes % line_bytes != 0 || each.begin_bytes < end_bytes) return false;
    if (each.begin_bytes - end_bytes >= line_bytes) return false;
    end_bytes = each.end_bytes;
  }
  return end_bytes == shape.size_bytes();
}

static_assert(parts_follow_each_other({1, 1}));
static_assert(parts_follow_each_other({1, max_lanes}));
static_assert(parts_follow_each_other({15, 5}));
static_assert(parts_follow_each_other({16, 32}));
static_assert(parts_follow_each_other({17, 32}));
static_assert(parts_follow_each_other({8448, 32}));
static_assert(parts_follow_each_other({9728, 64}));
static_assert(parts_follow_each_other({max_ports, max_lanes}));

// One port: a line for each of the five parts.
static_assert(layout{1, 1}.size_bytes() == size_t{5} * 64);
// H200, a port for each of 132 x 64 waves: 17.3 MB of packets, two mailboxes and a header for each port, the doorbell's line.
static_assert(layout{8448, 32}.size_bytes() == 64 + 8448 * (4 + 4 + 16) + 8448 * 32 * 64);
// The largest does not wrap in 32 bits: 1 GiB and some.
static_assert(layout{max_ports, max_lanes}.size_bytes() == 64 + size_t{16384} * (4 + 4 + 16) + size_t{16384} * 64 * 64);

static_assert(layout{1, 1}.own_words() == 2);
static_assert(layout{8, 1}.own_words() == 2);
static_assert(layout{9, 1}.own_words() == 3);
static_assert(layout{max_ports, 1}.own_words() == max_ports / 8 + 1);

// Both ends are one class, and a view that can be copied to a device byte by byte.
using machine = careful_target<4>;
static_assert(std::is_trivially_copyable_v<process<machine, side::client, checked>>);
static_assert(std::is_trivially_copyable_v<basic_client<machine, checked>>);
static_assert(sizeof(process<machine, side::client, checked>) == sizeof(process<machine, side::server, unchecked>));

// Equal words mean the client, different ones the server; never both, never neither.
using of_client = mailboxes<machine, side::client>;
using of_server = mailboxes<machine, side::server>;
static_assert(of_client::owns(0, 0) && !of_server::owns(0, 0));
static_assert(!of_client::owns(0, ~0u) && of_server::owns(0, ~0u));
static_assert(!of_client::owns(~0u, 0) && of_server::owns(~0u, 0));
static_assert(of_client::owns(~0u, ~0u) && !of_server::owns(~0u, ~0u));
static_assert(of_client::owns(6, 0) && of_server::owns(7, 0), "bit 0 alone says it");

TEST(layout, each_ends_inbox_is_the_others_outbox) {
  constexpr uint32_t ports = 70;
  both_ends<4> ends(ports);
  const auto client = ends.client_end().boxes();
  const auto server = ends.server_end().boxes();
  for (uint32_t port = 0; port < ports; ++port) {
    client.hand_over(port, client.load_outbox(port));
    EXPECT_EQ(server.load_inbox(port), ~0u);
    EXPECT_EQ(server.load_outbox(port), 0u);
    server.hand_over(port, server.load_outbox(port));
    EXPECT_EQ(client.load_inbox(port), ~0u);
    // The neighbours have not moved.
    EXPECT_TRUE(port + 1 == ports || server.load_inbox(port + 1) == 0);
  }
  EXPECT_TRUE(client.owns(client.load_inbox(ports - 1), client.load_outbox(ports - 1)));
}

TEST(layout, both_ends_find_headers_packets_and_doorbell_at_the_same_place) {
  both_ends<5> ends(19);
  const auto client = ends.client_end();
  const auto server = ends.server_end();
  EXPECT_EQ(&client.bell(), &server.bell());
  const packet* last = nullptr;
  for (uint32_t port = 0; port < 19; ++port) {
    EXPECT_EQ(&client.header_of(port), &server.header_of(port));
    for (uint32_t lane = 0; lane < 5; ++lane) {
      packet* const at = &client.packet_of(port, lane);
      EXPECT_EQ(at, &server.packet_of(port, lane));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(at) % line_bytes, 0u);
      EXPECT_TRUE(last == nullptr || at == last + 1) << "packets lie without gaps, lane by lane";
      last = at;
    }
  }
}

TEST(layout, the_last_packet_ends_where_the_allocation_ends) {
  both_ends<64> ends(33);
  const auto* const base = reinterpret_cast<const unsigned char*>(&ends.client_end().bell());
  const auto* const end = reinterpret_cast<const unsigned char*>(&ends.client_end().packet_of(32, 63) + 1);
  EXPECT_EQ(static_cast<size_t>(end - base), ends.shape().size_bytes());
}

TEST(own_states, are_four_bits_a_port_that_do_not_overlap) {
  uint32_t words[3] = {};
  const own_states<machine, checked> states(words);
  for (const uint32_t port : {0u, 1u, 7u, 8u, 15u, 23u}) {
    EXPECT_FALSE(states.try_lock(port).is_held());
    EXPECT_TRUE(states.try_lock(port).is_held());
    EXPECT_TRUE(states.look(port).is_held());
  }
  EXPECT_EQ(words[0], 0x10000011u);
  EXPECT_EQ(words[1], 0x10000001u);
  EXPECT_EQ(words[2], 0x10000000u);
  EXPECT_FALSE(states.look(2).is_held());
  // From each state to each other one, in the middle and at both ends of a word.
  for (const uint32_t port : {0u, 1u, 7u})
    for (const bool given : {true, true, false, false, true})
      for (const uint32_t outbox : {~0u, 0u, 0u, ~0u, ~0u}) {
        const own_state was = states.look(port).is_held() ? own_state(states.look(port)) : states.try_lock(port);
        states.unlock(port, was, own_state(outbox, given));
        const own_state now = states.try_lock(port);
        EXPECT_FALSE(now.is_held());
        EXPECT_EQ(now.is_given(), given);
        EXPECT_EQ(now.outbox(), outbox);
      }
  for (const uint32_t port : {0u, 1u, 7u}) {
    const own_state held = states.look(port);
    states.unlock(port, held, own_state());
  }
  EXPECT_EQ(words[0], 0u);
  EXPECT_EQ(words[1], 0x10000001u);
  own_states<machine, checked>::group seen;
  EXPECT_FALSE(states.look(6, seen).is_held());
  EXPECT_FALSE(states.try_lock(7).is_held());
  EXPECT_FALSE(states.look(7, seen).is_held()) << "a look is taken once for eight ports";
  EXPECT_TRUE(states.look(8, seen).is_held());
}

TEST(locks, are_one_bit_a_port_of_words_that_do_not_overlap) {
  uint32_t words[3] = {};
  const lock_bits<machine, checked> locks(words);
  for (const uint32_t port : {0u, 31u, 32u, 63u, 64u, 95u}) {
    EXPECT_TRUE(locks.try_lock(port));
    EXPECT_FALSE(locks.try_lock(port));
    EXPECT_TRUE(locks.is_locked(port));
  }
  EXPECT_EQ(words[0], 0x80000001u);
  EXPECT_EQ(words[1], 0x80000001u);
  EXPECT_EQ(words[2], 0x80000001u);
  EXPECT_FALSE(locks.is_locked(1));
  locks.unlock(63);
  EXPECT_EQ(words[1], 1u);
  EXPECT_TRUE(locks.try_lock(63));
}

// -- Whatever one end does, the other end mirrors: sequences of sends and receives, each end in a thread of its own.

/// What the packet of a lane holds at one hand-over of one call.
uint64_t value_of(uint64_t call, size_t step, uint32_t lane) { return call << 32 | step << 8 | lane; }

/// Performs "SSR": sends and receives in this order, with the value of each step in the packet of each lane.
template <typename Port>
void perform(Port& port, const std::string& operations, uint64_t call) {
  for (size_t step = 0; step < operations.size(); ++step) {
    if (operations[step] == 'S')
      port.send([&](packet& to, uint32_t lane) {
        to.words[0] = value_of(call, step, lane);
        to.words[7] = ~value_of(call, step, lane);
      });
    else
      port.recv([&](packet& from, uint32_t lane) {
        ASSERT_EQ(from.words[0], value_of(call, step, lane)) << operations << " step " << step << " lane " << lane;
        ASSERT_EQ(from.words[7], ~value_of(call, step, lane)) << operations << " step " << step << " lane " << lane;
      });
  }
}

std::string mirror_of(std::string operations) {
  for (char& each : operations) each = each == 'S' ? 'R' : 'S';
  return operations;
}

/// The client performs each of the sequences as one call, the server its mirror.
template <uint32_t Lanes, typename Check>
void run_calls(const std::vector<std::string>& sequences, uint32_t ports) {
  both_ends<Lanes, Check> ends(ports);
  run_both(
      [&] {
        const auto client = ends.client();
        for (uint64_t call = 0; call < sequences.size(); ++call) {
          auto port = client.template open<test_opcode>();
          perform(port, sequences[call], call);
        }
      },
      [&] {
        // Asynchronous calls may be served in another order than they were made in: the packet says which it is.
        auto server = ends.server();
        for (size_t served = 0; served < sequences.size(); ++served)
          serve_one(server, [&](auto& port) {
            const uint64_t call = ends.server_end().packet_of(port.index(), 0).words[0] >> 32;
            ASSERT_LT(call, sequences.size());
            perform(port, mirror_of(sequences[call]), call);
          });
      });
}

template <typename Count>
class sequences : public testing::Test {};
TYPED_TEST_SUITE(sequences, lane_counts, lanes_in_name);

TYPED_TEST(sequences, of_the_interface_test_of_llvm_and_one_more_of_either) {
  for (const char* each : {"SSRSRSSRR", "SSRSRSSRRS", "SSRSRSSRRR"}) {
    SCOPED_TRACE(each);
    run_calls<TypeParam::value, checked>({each}, 1);
    run_calls<TypeParam::value, unchecked>({each}, 1);
  }
}

TYPED_TEST(sequences, of_one_kind_are_as_good_as_any) {
  for (const char* each : {"S", "SS", "SSS", "SR", "SRR", "SRRR", "SRSRSR", "SSRRSSRR"}) {
    SCOPED_TRACE(each);
    run_calls<TypeParam::value, checked>({each}, 1);
    run_calls<TypeParam::value, checked>(std::vector<std::string>(30, each), 2);
  }
}

TYPED_TEST(sequences, chosen_at_random_follow_each_other_on_few_ports) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  std::vector<std::string> chosen(300);
  for (std::string& each : chosen) {
    each = "S";
    const auto more = random() % 12;
    for (uint32_t n = 0; n < more; ++n) each += random() % 2 == 0 ? 'S' : 'R';
  }
  run_calls<TypeParam::value, checked>(chosen, 3);
  run_calls<TypeParam::value, unchecked>(chosen, 3);
}

// -- invariants: a checked build traps where one is broken, and is silent where it is kept ------------------------------------------

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
  const auto states = ends.client_end().states();
  const own_state free{};
  EXPECT_TRAP(states.unlock(0, free, free), "nothing holds");
  states.unlock(0, states.try_lock(0), free);
  ASSERT_FALSE(states.try_lock(0).is_held());
  EXPECT_EQ(trap_of([&] { states.unlock(0, free, free); }), "");
  EXPECT_TRAP(states.unlock(0, free, free), "nothing holds");
}

TEST_F(checks, find_a_send_of_a_packet_that_the_other_end_owns) {
  ends.leave_broken();
  auto port = ends.client().open<test_opcode>();
  const auto boxes = ends.server_end().boxes();
  boxes.hand_over(0, boxes.load_outbox(0));
  EXPECT_TRAP(port.send(leave), "by the end that does not own it");
}

TEST_F(checks, find_a_receive_of_a_packet_that_the_other_end_owns) {
  ends.leave_broken();
  auto port = ends.client().open<test_opcode>();
  port.send(leave);
  auto served = server.try_open();
  const auto boxes = ends.client_end().boxes();
  boxes.hand_over(0, boxes.load_outbox(0));
  EXPECT_TRAP(served.recv(leave), "by the end that does not own it");
}

TEST_F(checks, find_a_packet_used_without_holding_the_port) {
  auto port = ends.client().open<test_opcode>();
  const auto states = ends.client_end().states();
  states.unlock(0, own_state(), own_state());
  EXPECT_TRAP(port.send(leave), "does not hold the port");
  // Or closing the port would trap, in a destructor.
  ASSERT_FALSE(states.try_lock(0).is_held());
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
  const auto states = ends.client_end().states();
  EXPECT_EQ(trap_of([&] { states.unlock(0, {}, {}); }), "");
  EXPECT_EQ(trap_of([&] { states.unlock(0, {}, {}); }), "");
  EXPECT_EQ(ends.client_end().header_of(0).step, 0u) << "an unchecked build writes no step";
}

// Checks need no room that they do not have already.
static_assert(sizeof(basic_port<host::target, side::client, checked>) ==
              sizeof(basic_port<host::target, side::client, unchecked>));
static_assert(sizeof(basic_client<host::target, checked>) == sizeof(basic_client<host::target, unchecked>));

// -- two allocations, and packets by word -------------------------------------------------------------------------------------

constexpr bool parts_are_apart(layout shape) {
  const size_t boxes = (shape.ports * sizeof(uint32_t) + line_bytes - 1) / line_bytes * line_bytes;
  const size_t packets = size_t{shape.ports} * shape.lanes * sizeof(packet);
  const size_t headers = (shape.ports * sizeof(header) + line_bytes - 1) / line_bytes * line_bytes;
  return shape.header_offset() == layout::client_outbox_offset() + boxes &&
         shape.packet_offset() == shape.header_offset() + headers &&
         shape.size_bytes() == shape.packet_offset() + packets && shape.server_outbox_offset() == 0 &&
         shape.answer_header_offset() == boxes && shape.answer_packet_offset() == boxes + headers &&
         shape.answer_bytes() == boxes + headers + packets;
}
static_assert(parts_are_apart({1, 1, 0, true}));
static_assert(parts_are_apart({17, 32, 0, true}));
static_assert(parts_are_apart({max_ports, max_lanes, 0, true}));
static_assert(layout{17, 32}.answer_bytes() == 0 &&
              layout{17, 32}.answer_packet_offset() == layout{17, 32}.packet_offset());

template <typename Policy, bool Apart>
struct arrangement {
  using check = Policy;
  static constexpr bool apart = Apart;
};

/// Both ends over memory of each arrangement.
template <typename Arrangement>
class arrangements : public testing::Test {
 protected:
  static constexpr uint32_t lanes = 3;
  using machine = careful_target<lanes>;
  using client_type = basic_client<machine, typename Arrangement::check>;
  using server_type = basic_server<machine, typename Arrangement::check>;

  struct alignas(line_bytes) line {
    unsigned char bytes[line_bytes];
  };
  static std::vector<line> zeroed(size_t bytes) { return std::vector<line>(bytes / sizeof(line) + 1); }

  const layout shape{2, lanes, 600, Arrangement::apart};
  std::vector<line> requests = zeroed(shape.size_bytes());
  std::vector<line> answers = zeroed(shape.answer_bytes());
  std::vector<uint32_t> client_words = std::vector<uint32_t>(shape.own_words());
  std::vector<uint32_t> server_words = std::vector<uint32_t>(shape.own_words());
  client_type client{port_memory(requests.data(), answers.data()), client_words.data(), shape};
  server_type server{port_memory(requests.data(), answers.data()), server_words.data(), shape};

  static std::vector<unsigned char> copy_of(const std::vector<line>& from) {
    const auto* const first = reinterpret_cast<const unsigned char*>(from.data());
    return {first, first + from.size() * sizeof(line)};
  }
};
using all_arrangements =
    testing::Types<arrangement<checked, false>, arrangement<checked, true>, arrangement<by_word_and<checked>, false>,
                   arrangement<by_word_and<checked>, true>, arrangement<by_word_and<unchecked>, true>>;
TYPED_TEST_SUITE(arrangements, all_arrangements);

TYPED_TEST(arrangements, have_each_end_write_its_own_part_and_answer_with_what_was_received) {
  for (uint64_t call = 0; call < 5; ++call) {
    auto port = this->client.template open<user_opcode(1)>();
    port.send([&](auto& to, uint32_t lane) {
      for (uint32_t n = 0; n < 8; ++n) to.words[n] = call * 100 + lane * 10 + n;
    });
    const auto* const sent = reinterpret_cast<const uint64_t*>(
        reinterpret_cast<const unsigned char*>(this->requests.data()) + this->shape.packet_offset());
    const auto at = [&](uint32_t lane, uint32_t n) {
      return sent[port.index() * 8 * this->lanes + (TypeParam::check::by_word ? n * this->lanes + lane : lane * 8 + n)];
    };
    for (uint32_t lane = 0; lane < this->lanes; ++lane)
      for (uint32_t n = 0; n < 8; ++n) ASSERT_EQ(at(lane, n), call * 100 + lane * 10 + n) << lane << ' ' << n;

    const auto requests_before = this->copy_of(this->requests);
    {
      auto opened = this->server.try_open();
      ASSERT_TRUE(opened);
      ASSERT_EQ(opened.opcode(), user_opcode(1));
      opened.recv_and_send([](auto& both, uint32_t) { both.words[0] += 1'000'000; });
    }
    // `work` may change what it has received; the rest of the requests is the client's.
    auto requests_behind = this->copy_of(this->requests);
    if (TypeParam::apart) {
      for (uint32_t lane = 0; lane < this->lanes; ++lane) {
        const auto offset = static_cast<size_t>(
            reinterpret_cast<const unsigned char*>(
                &sent[port.index() * 8 * this->lanes + (TypeParam::check::by_word ? lane : lane * 8)]) -
            reinterpret_cast<const unsigned char*>(this->requests.data()));
        std::copy_n(requests_before.begin() + static_cast<std::ptrdiff_t>(offset), 8,
                    requests_behind.begin() + static_cast<std::ptrdiff_t>(offset));
      }
      EXPECT_EQ(requests_before, requests_behind) << "the server writes answers alone";
    }
    const auto answers_before = this->copy_of(this->answers);
    port.recv([&](auto& from, uint32_t lane) {
      for (uint32_t n = 0; n < 8; ++n)
        EXPECT_EQ(from.words[n], call * 100 + lane * 10 + n + (n == 0 ? 1'000'000 : 0)) << lane << ' ' << n;
    });
    port.close();
    EXPECT_EQ(answers_before, this->copy_of(this->answers)) << "the client writes requests alone";
  }
}

TYPED_TEST(arrangements, carry_values_and_streams_both_ways) {
  const uint64_t sizes[] = {0, 57, 1500};
  std::vector<unsigned char> sent[3];
  for (uint32_t lane = 0; lane < this->lanes; ++lane)
    for (uint64_t n = 0; n < sizes[lane]; ++n) sent[lane].push_back(static_cast<unsigned char>(n * 7 + lane));
  std::thread serving([&] {
    for (;;) {
      auto opened = this->server.try_open();
      if (!opened) continue;
      std::vector<unsigned char> kept[3];
      opened.recv_n([&](uint32_t lane, uint64_t bytes) -> void* {
        kept[lane].resize(bytes);
        return kept[lane].data();
      });
      opened.send_n([&](uint32_t lane) { return bytes_view{kept[lane].data(), kept[lane].size()}; });
      opened.recv([](auto& from, uint32_t lane) {
        struct pair {
          uint32_t a;
          uint64_t b;
        };
        const auto found = from.template get<pair>();
        EXPECT_EQ(found.a, lane);
        EXPECT_EQ(found.b, lane + 7u);
        EXPECT_EQ(from.words[2], 99u) << "a value leaves what is behind it";
      });
      return;
    }
  });
  {
    auto port = this->client.template open<user_opcode(2)>();
    port.send_n([&](uint32_t lane) { return bytes_view{sent[lane].data(), sent[lane].size()}; });
    std::vector<unsigned char> back[3];
    port.recv_n([&](uint32_t lane, uint64_t bytes) -> void* {
      back[lane].resize(bytes);
      return back[lane].data();
    });
    for (uint32_t lane = 0; lane < this->lanes; ++lane) EXPECT_EQ(back[lane], sent[lane]) << lane;
    port.send([](auto& to, uint32_t lane) {
      struct pair {
        uint32_t a;
        uint64_t b;
      };
      to.words[2] = 99;
      to.put(pair{lane, lane + 7u});
    });
  }
  serving.join();
  EXPECT_TRUE(this->client.all_idle() && this->server.all_idle());
}

}  // namespace
}  // namespace heddle::rpc::tests::layout_test
