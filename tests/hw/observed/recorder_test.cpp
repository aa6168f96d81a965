// What a watched machine records of itself, on host threads.
#include <gtest/gtest.h>
#include <heddle/hw/host/device.h>
#include <heddle/hw/host/target.h>
#include <heddle/hw/observed/device.h>
#include <heddle/hw/observed/target.h>

#include <algorithm>
#include <vector>

namespace heddle::observed {
namespace {

using target = basic_target<host::target>;
using device = basic_device<host::device, host::target>;
using word = target::atomic_ref<uint32_t, scope::system>;

static_assert(target_machine<target>);
static_assert(host_side<device>);

class recorder : public testing::Test {
 protected:
  static void begin(options asked = {.records = true, .perturbs = false, .seed = 0, .events = 64}) {
    session::instance().begin_run(asked);
  }
  static session::picture picture() { return session::instance().take_picture(true); }
  static operation kind_of(const event& each) { return operation_sort::unpacked(each.sort).kind; }
};

TEST_F(recorder, keeps_what_happened_with_order_scope_and_values) {
  begin();
  device on;
  auto* const words = on.allocate_shared<uint32_t>(2, "words");
  word(words[0]).store(7, memory_order::release);
  EXPECT_EQ(word(words[0]).load(memory_order::acquire), 7u);
  EXPECT_EQ(word(words[1]).fetch_add(3, memory_order::acq_rel), 0u);
  uint32_t expected = 9;
  EXPECT_FALSE(word(words[1]).compare_exchange_strong(expected, 4, memory_order::seq_cst));
  EXPECT_EQ(expected, 3u);

  const session::picture taken = picture();
  ASSERT_EQ(taken.actors.size(), 1u);
  EXPECT_EQ(taken.actors[0].name, "host main");
  const std::vector<event>& events = taken.actors[0].events;
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(taken.actors[0].log.changes, 2u);

  const auto stored = operation_sort::unpacked(events[0].sort);
  EXPECT_EQ(stored.kind, operation::store);
  EXPECT_EQ(stored.order, memory_order::release);
  EXPECT_EQ(stored.reach, scope::system);
  EXPECT_EQ(stored.size_bytes, 4);
  EXPECT_EQ(events[0].address, reinterpret_cast<uint64_t>(words));
  EXPECT_EQ(events[0].after, 7u);
  EXPECT_EQ(kind_of(events[1]), operation::load);
  EXPECT_EQ(events[1].before, 7u);
  EXPECT_EQ(kind_of(events[2]), operation::modify);
  EXPECT_EQ(events[2].before, 0u);
  EXPECT_EQ(events[2].after, 3u);
  EXPECT_EQ(events[3].before, 3u);
  EXPECT_EQ(events[3].after, 3u) << "an exchange that is not made changes nothing";
  EXPECT_EQ(events[3].changes, 2u) << "changes that came before it";
  for (size_t n = 1; n < events.size(); ++n) EXPECT_GE(events[n].clock, events[n - 1].clock);
  EXPECT_STREQ(taken.memory.at(events[0].address).name, "words");
}

TEST_F(recorder, a_loop_that_waits_is_one_event_for_each_word_that_it_looks_at) {
  begin();
  device on;
  auto* const words = on.allocate_shared<uint32_t>(2, "words");
  for (int turn = 0; turn < 1000; ++turn) {
    (void)word(words[0]).load(memory_order::acquire);
    (void)word(words[1]).fetch_or(0, memory_order::acquire);  // takes nothing: as a try-lock in vain
  }
  std::vector<event> events = picture().actors[0].events;
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].repeats, 512u) << "of 999, the power of two below";
  EXPECT_EQ(events[1].repeats, 512u);

  host::atomic_ref<uint32_t, scope::system>(words[0]).store(1, memory_order::relaxed);
  (void)word(words[0]).load(memory_order::acquire);
  (void)word(words[1]).fetch_or(0, memory_order::acquire);
  events = picture().actors[0].events;
  ASSERT_EQ(events.size(), 4u) << "something new was read: what is read from here on is told again";
  EXPECT_EQ(events[2].before, 1u);
  EXPECT_EQ(events[2].repeats, 0u);
}

TEST_F(recorder, a_loop_over_more_words_than_it_keeps_does_not_push_the_history_out) {
  begin({.records = true, .perturbs = false, .seed = 0, .events = 128});
  device on;
  constexpr uint32_t many = 500;
  auto* const words = on.allocate_shared<uint32_t>(many, "words");
  word(words[0]).store(5, memory_order::relaxed);
  for (int turn = 0; turn < 100; ++turn)
    for (uint32_t n = 0; n < many; ++n) (void)word(words[n]).load(memory_order::relaxed);
  const session::picture taken = picture();
  EXPECT_LE(taken.actors[0].events.size(), 1u + actor_memory::words_most);
  EXPECT_EQ(kind_of(taken.actors[0].events.front()), operation::store);
}

TEST_F(recorder, a_full_log_keeps_the_last_events_and_counts_the_others) {
  begin({.records = true, .perturbs = false, .seed = 0, .events = 16});
  device on;
  auto* const words = on.allocate_shared<uint32_t>(1, "words");
  for (uint32_t n = 1; n <= 100; ++n) word(words[0]).store(n, memory_order::relaxed);
  const session::picture taken = picture();
  EXPECT_EQ(taken.actors[0].log.written, 100u);
  ASSERT_EQ(taken.actors[0].events.size(), 16u);
  EXPECT_EQ(taken.actors[0].events.front().after, 85u);
  EXPECT_EQ(taken.actors[0].events.front().changes, 84u) << "what was lost is counted in what is left";
  EXPECT_EQ(taken.actors[0].events.back().after, 100u);
}

struct add_one {
  uint32_t* words;
  HEDDLE_FUNCTION void operator()() const { word(words[0]).fetch_add(1, memory_order::relaxed); }
};

TEST_F(recorder, lanes_and_host_threads_have_logs_of_their_own_in_order_of_creation) {
  begin();
  device on;
  auto* const words = on.allocate_shared<uint32_t>(1, "words");
  auto helper = on.spawn_host("helper", [words] { word(words[0]).fetch_add(1, memory_order::relaxed); });
  helper.join();
  on.launch({.blocks = 1, .waves = 2, .lanes = 2}, add_one{words});
  on.synchronize();
  const session::picture taken = picture();
  ASSERT_EQ(taken.actors.size(), 6u) << "on host threads every lane is a wave";
  EXPECT_EQ(taken.actors[1].name, "host helper 0");
  EXPECT_EQ(taken.actors[5].name, "wave 3");
  for (size_t n = 1; n < 6; ++n) {
    EXPECT_EQ(taken.actors[n].events.size(), 1u) << n;
    EXPECT_EQ(taken.actors[n].log.doing, static_cast<uint32_t>(activity::ended)) << n;
  }
}

TEST_F(recorder, begins_anew_with_each_run) {
  for (uint32_t run = 0; run < 3; ++run) {
    begin();
    device on;
    auto* const words = on.allocate_shared<uint32_t>(1, "words");
    word(words[0]).store(run, memory_order::relaxed);
    const session::picture taken = picture();
    ASSERT_EQ(taken.actors.size(), 1u);
    ASSERT_EQ(taken.actors[0].events.size(), 1u);
    EXPECT_EQ(taken.actors[0].events[0].after, run);
    EXPECT_EQ(taken.actors[0].log.operations, 1u);
  }
}

TEST_F(recorder, records_nothing_when_it_is_off) {
  begin({.records = false, .perturbs = false, .seed = 0, .events = 16});
  device on;
  auto* const words = on.allocate_shared<uint32_t>(1, "words");
  word(words[0]).store(1, memory_order::relaxed);
  EXPECT_EQ(words[0], 1u);
  EXPECT_TRUE(picture().actors[0].events.empty());
}

TEST_F(recorder, tells_the_state_of_each_port) {
  begin();
  device on;
  const rpc::layout shape{2, 1};
  auto* const shared = on.allocate_shared<unsigned char>(shape.size_bytes(), "ports");
  auto* const locks = on.allocate_device<uint32_t>(shape.own_words(), "client locks");
  auto* const server_locks = on.allocate_shared<uint32_t>(shape.own_words(), "server locks");
  session::instance().has_ports({shared, locks, server_locks, shape});
  locks[0] = 0x10;  // port 1 is held
  reinterpret_cast<uint32_t*>(shared + rpc::layout::client_outbox_offset())[1] = 5;
  reinterpret_cast<rpc::header*>(shared + shape.header_offset())[1].opcode = 40000;
  const session::picture taken = picture();
  ASSERT_EQ(taken.states.size(), 1u);
  const port_state& idle = taken.states[0][0];
  EXPECT_FALSE(idle.client_locks);
  EXPECT_EQ(idle.client_outbox, idle.server_outbox);
  const port_state& busy = taken.states[0][1];
  EXPECT_TRUE(busy.client_locks);
  EXPECT_FALSE(busy.server_locks);
  EXPECT_EQ(busy.client_outbox, 5u);
  EXPECT_EQ(busy.header.opcode, 40000);
}

TEST_F(recorder, knows_no_memory_of_a_device_that_is_gone) {
  begin();
  {
    device on;
    (void)on.allocate_shared<uint32_t>(1, "words");
    EXPECT_EQ(picture().memory.size(), 1u);
  }
  EXPECT_TRUE(picture().memory.empty());
}

TEST(perturbation, puts_one_operation_in_eight_off_and_repeats_itself) {
  constexpr uint64_t seed = 12;
  uint32_t pauses = 0, equal_to_another_seed = 0;
  std::vector<uint32_t> lengths(16);
  constexpr uint32_t draws = 80'000;
  for (uint32_t n = 0; n < draws; ++n) {
    const pause_draw drawn = draw_pause(seed, n % 5, n);
    const pause_draw again = draw_pause(seed, n % 5, n);
    ASSERT_EQ(drawn.pauses, again.pauses);
    ASSERT_EQ(drawn.exponent, again.exponent);
    if (drawn.pauses && draw_pause(seed + 1, n % 5, n).pauses) ++equal_to_another_seed;
    if (!drawn.pauses) continue;
    ++pauses;
    ++lengths.at(drawn.exponent);
  }
  EXPECT_NEAR(pauses, draws / 8.0, draws / 80.0);
  EXPECT_NEAR(equal_to_another_seed, draws / 64.0, draws / 320.0) << "another seed is another timing";
  EXPECT_GT(*std::min_element(lengths.begin(), lengths.end()), pauses / 32) << "every length comes";
}

struct wait_for_ever {
  uint32_t* words;
  HEDDLE_FUNCTION void operator()() const {
    while (word(words[0]).load(memory_order::acquire) == 0) target::pause();
  }
};

// Last: a session that was stopped stays so.
TEST_F(recorder, stopping_ends_kernels_and_host_threads_that_wait) {
  begin();
  device on;
  auto* const words = on.allocate_shared<uint32_t>(2, "words");
  auto sleeper = on.spawn_host("sleeper", [words] { target::wait(words[1], 0, no_timeout); });
  on.launch({.blocks = 1, .waves = 3, .lanes = 1}, wait_for_ever{words});
  session::instance().stop();
  EXPECT_THROW(on.synchronize(), stopped);
  EXPECT_THROW(sleeper.join(), stopped);
}

}  // namespace
}  // namespace heddle::observed
