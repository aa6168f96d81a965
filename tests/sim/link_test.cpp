// The rules of the link, one by one.
#include <heddle/sim/memory/link/orders.h>
#include <heddle/tools/litmus/csv.h>

#include "link_explorer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace heddle::sim {
namespace {

constexpr uint32_t host = 0;
constexpr uint32_t gpu = 1;
constexpr uint32_t other_gpu_lane = 2;
constexpr ordering relaxed{};
constexpr ordering acquire{.order = memory_order::acquire};
constexpr ordering release{.order = memory_order::release};

/// A host thread and two lanes of a device, and a few words.
class link : public testing::Test {
 protected:
  void begin(const link_settings& settings) {
    made.emplace(settings, around);
    made->add_host_thread(host);
    made->add_device_thread(gpu, 0);
    made->add_device_thread(other_gpu_lane, 0);
  }
  transport& it() { return *made; }

  static transport::access in_host(void* at, size_t size_bytes = 4) {
    return {.address = at, .size_bytes = size_bytes};
  }
  static transport::access in_device(void* at, size_t size_bytes = 4) {
    return {.address = at, .size_bytes = size_bytes, .on_device = true};
  }
  std::optional<uint64_t> add(uint32_t thread, const transport::access& what, uint64_t operand,
                              bool is_atomic_op = true) {
    const auto sum = [](const void* more, uint64_t old) { return old + *static_cast<const uint64_t*>(more); };
    return it().modify(thread, what, {.apply = sum, .context = &operand}, is_atomic_op);
  }

  scripted_surroundings around;
  std::optional<transport> made;
  alignas(64) uint32_t words[64] = {};
  uint32_t& x = words[0];
  uint32_t& same_granule = words[1];
  uint32_t& same_line = words[2];
  uint32_t& y = words[32];
};

TEST(may_pass, follows_the_ordering_table) {
  using enum packet_kind;
  const link_settings strict;
  for (const packet_kind behind : {posted, read, atomic, completion}) {
    EXPECT_FALSE(may_pass({behind}, {posted}, strict));
    for (const packet_kind ahead : {read, atomic, completion}) EXPECT_TRUE(may_pass({behind}, {ahead}, strict));
  }
}

TEST(may_pass, behind_a_bridge_writes_of_the_host_pass_writes_and_nothing_else_does) {
  using enum packet_kind;
  const link_settings bridge{.host_relaxed_ordering = true};
  EXPECT_TRUE(may_pass({posted, false}, {posted, false}, bridge));
  for (const packet_kind behind : {read, atomic, completion})
    EXPECT_FALSE(may_pass({behind, false}, {posted, false}, bridge));
  EXPECT_FALSE(may_pass({posted, true}, {posted, true}, bridge));
}

TEST(may_pass, relaxed_ordering_lets_writes_and_atomics_of_the_device_pass_writes) {
  using enum packet_kind;
  const link_settings relaxed_writes{.relaxed_ordering = true};
  EXPECT_TRUE(may_pass({posted}, {posted}, relaxed_writes));
  EXPECT_TRUE(may_pass({atomic}, {posted}, relaxed_writes));
  EXPECT_FALSE(may_pass({read}, {posted}, relaxed_writes));
  EXPECT_FALSE(may_pass({completion}, {posted}, relaxed_writes));
  EXPECT_FALSE(may_pass({posted, false}, {posted, false}, relaxed_writes));
  const link_settings relaxed_answers{.completions_pass = true};
  EXPECT_TRUE(may_pass({completion, false}, {posted, false}, relaxed_answers));
  EXPECT_FALSE(may_pass({posted}, {posted}, relaxed_answers));
  EXPECT_FALSE(may_pass({read}, {posted}, relaxed_answers));
}

TEST_F(link, a_store_of_the_device_is_not_in_host_memory_before_it_arrives) {
  begin({});
  it().store(gpu, in_host(&x), 7, false);
  EXPECT_EQ(x, 0u);
  EXPECT_EQ(it().load(host, in_host(&x), true), 0u);
  ASSERT_EQ(it().deliverable(), 1u);
  it().deliver(0);
  EXPECT_EQ(x, 7u);
  EXPECT_TRUE(it().empty());
  EXPECT_EQ(around.changes, 1u);
}

TEST_F(link, a_store_of_the_device_to_its_own_memory_is_immediate) {
  begin({});
  it().store(gpu, in_device(&x), 7, false);
  EXPECT_EQ(x, 7u);
  EXPECT_TRUE(it().empty());
}

TEST_F(link, a_host_thread_sees_its_own_stores_first) {
  begin({});
  it().store(host, in_host(&x), 5, false);
  EXPECT_EQ(x, 0u);
  EXPECT_EQ(it().load(host, in_host(&x), true), 5u);
  EXPECT_EQ(it().load(gpu, in_host(&x), true), 0u);
  it().fence(host);
  EXPECT_EQ(x, 5u);
}

TEST_F(link, a_host_thread_sees_the_bytes_of_small_stores_in_a_wide_load) {
  begin({});
  x = 0x11111111;
  same_granule = 0x22222222;
  it().store(host, in_host(reinterpret_cast<std::byte*>(&x) + 2, 1), 0xab, false);
  it().store(host, in_host(&same_granule, 2), 0xcdef, false);
  EXPECT_EQ(it().load(host, in_host(&x, 8), true), 0x2222cdef11ab1111u);
}

TEST_F(link, a_range_arrives_piece_by_piece) {
  begin({});
  std::byte from[20];
  for (size_t n = 0; n < sizeof from; ++n) from[n] = static_cast<std::byte>(n + 1);
  auto* const to = reinterpret_cast<std::byte*>(&x) + 3;
  it().store_range(gpu, in_host(to, sizeof from), from);
  EXPECT_EQ(it().deliverable(), 3u);  // of 5, 8 and 7 bytes
  std::byte own[sizeof from];
  it().read_own(gpu, in_host(to, sizeof from), own);
  EXPECT_EQ(std::memcmp(own, from, sizeof from), 0);
  it().deliver(1);
  EXPECT_EQ(std::memcmp(to + 5, from + 5, 8), 0);
  EXPECT_EQ(to[4], std::byte{0});
  EXPECT_EQ(to[13], std::byte{0});
  EXPECT_TRUE(it().deliver_all());
  EXPECT_EQ(std::memcmp(to, from, sizeof from), 0);
  EXPECT_FALSE(it().deliver_all());
}

TEST_F(link, an_older_value_is_a_choice_until_the_thread_has_waited) {
  begin({});
  it().store(host, in_host(&x), 1, false);
  it().fence(host);
  around.script = {{.answer = 1}};
  EXPECT_EQ(it().load(gpu, in_host(&x), false), 0u);
  EXPECT_EQ(around.script[0].count, 2u);
  // The newest value is the default, and after it none is older: same-address order.
  around.script.clear();
  around.next = 0;
  EXPECT_EQ(it().load(gpu, in_host(&x), false), 1u);
  EXPECT_EQ(it().load(gpu, in_host(&x), false), 1u);
  EXPECT_EQ(around.next, 1u);
  it().fence(other_gpu_lane);
  EXPECT_EQ(it().load(other_gpu_lane, in_host(&x), false), 1u);
  EXPECT_EQ(around.next, 1u);
}

TEST_F(link, what_one_lane_waited_for_a_lane_that_synchronises_with_it_has_waited_for) {
  begin({});
  it().store(host, in_host(&x), 1, false);
  it().fence(host);
  ordered_load(it(), gpu, in_host(&y), acquire);
  const ordering in_device_scope{.order = memory_order::acq_rel, .reach = scope::device};
  ordered_fence(it(), gpu, in_device_scope);
  ordered_fence(it(), other_gpu_lane, in_device_scope);
  EXPECT_EQ(ordered_load(it(), other_gpu_lane, in_host(&x), relaxed), 1u);
  EXPECT_EQ(around.next, 0u) << "nothing is left to choose";
}

TEST_F(link, a_neighbour_in_the_same_granule_does_not_hide_older_values) {
  begin({});
  it().store(host, in_host(&x), 1, false);
  it().store(host, in_host(&same_granule), 2, false);
  it().fence(host);
  EXPECT_EQ(it().load(gpu, in_host(&same_granule), false), 2u);
  around.script = {{.answer = 0}, {.answer = 1}};
  EXPECT_EQ(it().load(gpu, in_host(&x), false), 0u);
}

TEST_F(link, what_the_host_posts_arrives_in_order_unless_a_bridge_reorders_it) {
  const auto post = [&] {
    it().store(host, in_device(&x), 1, false);
    it().store(host, in_device(&x), 2, false);
    it().store(host, in_device(&y), 3, true);
    for (int n = 0; n < 3; ++n) it().deliver(it().deliverable() - 1);  // out of the store buffer
  };
  begin({});
  post();
  ASSERT_EQ(it().deliverable(), 1u);
  it().deliver(0);
  EXPECT_EQ(x, 1u);
  EXPECT_EQ(y, 0u);

  x = y = 0;
  begin({.host_relaxed_ordering = true});
  post();
  ASSERT_EQ(it().deliverable(), 2u) << "not the second to the same bytes";
  it().deliver(1);
  EXPECT_EQ(y, 3u);
  EXPECT_EQ(x, 0u);
  ASSERT_EQ(it().overtakings().size(), 1u);
  // A read stays behind all of it.
  EXPECT_EQ(ordered_load(it(), host, in_device(&y), relaxed), 3u);
  EXPECT_EQ(x, 2u);
}

TEST_F(link, write_combining_lines_leave_in_any_order_and_as_one) {
  begin({.write_combining = true});
  it().store(host, in_device(&x), 1, false);
  it().store(host, in_device(&y), 2, false);
  it().store(host, in_device(&same_line), 3, false);
  for (int n = 0; n < 3; ++n) it().deliver(0);  // out of the store buffer
  ASSERT_EQ(it().deliverable(), 2u);            // two lines
  it().deliver(1);                              // the second line
  ASSERT_EQ(it().deliverable(), 2u);
  it().deliver(0);  // arrives
  EXPECT_EQ(y, 2u);
  EXPECT_EQ(x, 0u);
  it().deliver(0);  // the first line, both stores
  it().deliver(0);
  EXPECT_EQ(x, 1u);
  it().deliver(0);
  EXPECT_EQ(same_line, 3u);
  EXPECT_TRUE(it().empty());
}

TEST_F(link, an_sfence_orders_stores_and_no_load_waits_for_it) {
  begin({.write_combining = true});
  it().store(host, in_device(&x), 1, false);
  it().deliver(0);  // into a combining buffer
  it().fence(host, transport::orders::stores);
  it().store(host, in_host(&y), 2, false);
  EXPECT_EQ(it().load(host, in_host(&words[48]), true), 0u);
  EXPECT_EQ(y, 0u);
  ASSERT_EQ(it().deliverable(), 2u);  // the line, and the store in the buffer
  it().deliver(0);                    // the latter, behind the former
  EXPECT_EQ(y, 2u);
  ASSERT_EQ(it().deliverable(), 1u);
  it().store(host, in_device(&same_line), 3, false);
  it().fence(host, transport::orders::stores);
  it().fence(host, transport::orders::stores);
  it().store(host, in_device(&words[48]), 4, false);
  it().deliver(0);  // arrives
  EXPECT_EQ(x, 1u);
  it().deliver(0);  // into a combining buffer
  it().deliver(0);  // the store behind the fences pushes that one out
  ASSERT_EQ(it().deliverable(), 2u);
  it().deliver(0);
  EXPECT_EQ(same_line, 3u);
  EXPECT_EQ(words[48], 0u);
  it().fence(host);
  it().deliver(0);
  EXPECT_EQ(words[48], 4u);
  EXPECT_TRUE(it().empty());
}

TEST_F(link, an_uncached_bar_keeps_the_order_of_stores) {
  begin({});
  it().store(host, in_device(&x), 1, false);
  it().store(host, in_device(&y), 2, false);
  it().fence(host);
  ASSERT_EQ(it().deliverable(), 1u) << "only the first may arrive";
  it().deliver(0);
  EXPECT_EQ(x, 1u);
  EXPECT_EQ(y, 0u);
}

TEST_F(link, a_store_over_the_same_bytes_is_combined) {
  begin({.write_combining = true});
  it().store(host, in_device(&x), 1, false);
  it().store(host, in_device(&x), 2, false);
  it().fence(host);
  EXPECT_EQ(it().deliverable(), 1u);
  it().deliver(0);
  EXPECT_EQ(x, 2u);
  EXPECT_EQ(around.arrivals.size(), 1u);
}

TEST_F(link, reading_over_the_bar_pushes_the_writes_ahead_of_it) {
  begin({});
  it().store(host, in_device(&x), 9, false);
  EXPECT_EQ(it().load(host, in_device(&x), true), 9u);
  EXPECT_TRUE(it().empty());
}

TEST_F(link, read_modify_writes_follow_the_capability) {
  for (const bool is_atomic_op : {true, false}) {
    begin({.rmw = rmw_capability::all});
    EXPECT_TRUE(add(gpu, in_host(&x), 1, is_atomic_op));
    begin({.rmw = rmw_capability::pcie});
    EXPECT_EQ(add(gpu, in_host(&x), 1, is_atomic_op).has_value(), is_atomic_op);
    EXPECT_EQ(add(host, in_device(&y), 1, is_atomic_op).has_value(), is_atomic_op);
    EXPECT_TRUE(add(gpu, in_device(&y), 1, is_atomic_op));
    EXPECT_TRUE(add(host, in_host(&x), 1, is_atomic_op));
    begin({.rmw = rmw_capability::refused});
    const uint32_t before = x;
    EXPECT_FALSE(add(gpu, in_host(&x), 1, is_atomic_op));
    EXPECT_EQ(x, before);
    EXPECT_TRUE(add(gpu, in_device(&y), 1, is_atomic_op));
    transport::access bell = in_host(&x);
    bell.is_signal = true;
    EXPECT_TRUE(add(gpu, bell, 1, is_atomic_op)) << "a doorbell rings over any link";
  }
}

TEST_F(link, a_split_read_modify_write_loses_what_comes_in_between) {
  begin({.rmw = rmw_capability::split});
  EXPECT_EQ(add(gpu, in_host(&x), 1), 0u);
  EXPECT_EQ(add(host, in_host(&x), 10), 0u);
  EXPECT_EQ(x, 10u);
  it().deliver_all();
  EXPECT_EQ(x, 1u);
}

TEST_F(link, a_dropped_read_modify_write_is_a_read) {
  begin({.rmw = rmw_capability::dropped});
  x = 7;
  EXPECT_EQ(add(gpu, in_host(&x), 1), 7u);
  it().deliver_all();
  EXPECT_EQ(x, 7u);
  EXPECT_EQ(add(host, in_host(&x), 1), 7u) << "on one side of the link it is as ever";
  EXPECT_EQ(x, 8u);
  EXPECT_EQ(add(gpu, in_device(&y), 1), 0u);
  EXPECT_EQ(y, 1u);
  transport::access bell = in_host(&x);
  bell.is_signal = true;
  EXPECT_EQ(add(gpu, bell, 1), 8u);
  EXPECT_EQ(x, 9u) << "a doorbell rings over any link";
}

TEST_F(link, a_fence_that_drains_waits_for_arrival_and_another_only_for_departure) {
  begin({.drain = true});
  it().store(gpu, in_host(&x), 1, false);
  it().fence(gpu);
  EXPECT_EQ(x, 1u);
  begin({.drain = false});
  it().store(gpu, in_host(&x), 2, false);
  it().store(gpu, in_host(&y), 3, false);
  it().fence(gpu);
  it().store(gpu, in_host(&same_line), 4, false);
  EXPECT_EQ(it().deliverable(), 2u) << "the two that have left the pool together, in either order";
  EXPECT_EQ(x, 1u);
}

TEST_F(link, an_overtaking_that_a_fence_should_have_prevented_is_told) {
  begin({.relaxed_ordering = true, .drain = false});
  transport::access data = in_host(&x);
  data.step = 11;
  transport::access flag = in_host(&y);
  flag.step = 12;
  it().store(gpu, data, 1, false);
  ordered_store(it(), gpu, flag, 1, release);
  ASSERT_EQ(it().deliverable(), 2u);
  EXPECT_TRUE(it().overtakings().empty());
  it().deliver(1);
  ASSERT_EQ(it().overtakings().size(), 1u);
  EXPECT_EQ(it().overtakings()[0].overtaken.step, 11u);
  EXPECT_EQ(it().overtakings()[0].overtaker.step, 12u);
  it().deliver(0);
  EXPECT_EQ(it().overtakings().size(), 1u);
}

TEST_F(link, stores_without_a_fence_between_them_overtake_each_other_silently) {
  begin({});
  it().store(gpu, in_host(&x), 1, false);
  it().store(gpu, in_host(&y), 1, false);
  it().deliver(1);
  it().deliver(0);
  EXPECT_TRUE(it().overtakings().empty());
}

TEST_F(link, a_store_arrives_when_it_is_old) {
  begin({.oldest_turns = 3});
  it().store(gpu, in_host(&x), 1, false);
  for (int n = 0; n < 2; ++n) it().begin_turn(host);
  EXPECT_EQ(x, 0u);
  it().begin_turn(host);
  EXPECT_EQ(x, 1u);
}

TEST_F(link, stores_to_memory_that_was_given_back_are_dropped) {
  begin({});
  it().store(gpu, in_host(&x), 1, false);
  it().store(gpu, in_host(&y), 1, false);
  it().forget(&x, sizeof x);
  it().deliver_all();
  EXPECT_EQ(x, 0u);
  EXPECT_EQ(y, 1u);
  EXPECT_TRUE(it().empty());
}

constexpr link_settings timed{
    .latency = latency_model::fixed, .posted_ns = 100, .read_ns = 300, .fence_ns = 50, .launch_ns = 0};

TEST_F(link, a_store_arrives_when_virtual_time_passes_its_due_time) {
  begin(timed);
  it().begin_turn(gpu);
  it().store(gpu, in_host(&x), 1, false);
  EXPECT_EQ(it().deliverable(), 0u) << "time decides, not the schedule";
  uint64_t turns = 0;
  for (; x == 0 && turns < 1000; ++turns) it().begin_turn(host);
  EXPECT_EQ(turns, 100u);
  EXPECT_EQ(it().now_ns(), 101u);
}

TEST_F(link, a_read_across_the_link_takes_a_round_trip_and_those_of_two_lanes_overlap) {
  begin(timed);
  it().begin_turn(gpu);
  it().load(gpu, in_host(&x), true);
  it().begin_turn(other_gpu_lane);
  it().load(other_gpu_lane, in_host(&y), true);
  it().begin_turn(gpu);
  EXPECT_EQ(it().now_ns(), 301u);
  it().begin_turn(other_gpu_lane);
  EXPECT_EQ(it().now_ns(), 302u);
}

TEST_F(link, a_fence_waits_for_what_it_drains) {
  begin(timed);
  it().begin_turn(gpu);
  it().store(gpu, in_host(&x), 1, false);
  it().fence(gpu);
  it().begin_turn(gpu);
  EXPECT_EQ(it().now_ns(), 1u + 100u + 50u);
}

TEST_F(link, heavy_latency_has_a_long_tail) {
  link_settings heavy = timed;
  heavy.latency = latency_model::heavy;
  begin(heavy);
  around.script = {{.answer = 512}, {.answer = 1023}};
  it().store(gpu, in_host(&x), 1, false);
  it().store(gpu, in_host(&y), 1, false);
  ASSERT_EQ(around.script[0].count, 1024u);
  it().begin_turn(gpu);
  EXPECT_EQ(x, 0u);
  for (int n = 0; n < 200; ++n) it().begin_turn(gpu);
  EXPECT_EQ(x, 1u) << "twice the time";
  EXPECT_EQ(y, 0u);
  EXPECT_TRUE(it().deliver_all());
  EXPECT_EQ(it().now_ns(), 1024u * 100u);
}

// -- The table of programs between host and device, each explored in full under each configuration of the link.

litmus::csv_table read_table() {
  std::ifstream file(LITMUS_DATA "/pcie.csv");
  std::ostringstream text;
  text << file.rdbuf();
  return {"pcie.csv", text.str()};
}

/// "pool+drain+rocpl": what stands there is on.
link_settings parse_configuration(const std::string& words) {
  link_settings settings{.pool = false, .drain = false};
  std::istringstream stream(words);
  for (std::string word; std::getline(stream, word, '+');) {
    if (word == "pool")
      settings.pool = true;
    else if (word == "ro")
      settings.relaxed_ordering = true;
    else if (word == "drain")
      settings.drain = true;
    else if (word == "rocpl")
      settings.completions_pass = true;
    else if (word == "wc")
      settings.write_combining = true;
    else if (word == "emul")
      settings.rmw = rmw_capability::split;
    else if (word == "nosameaddr")
      settings.same_address = false;
    else
      EXPECT_EQ(word, "inorder") << "no such word in a configuration";
  }
  return settings;
}

// A load that returns at once is never answered after a later store of its own thread.
const std::set<std::string> needs_load_buffering = {"LB.plain", "S-hg.plain", "WRC.g-g-h plain"};

/// Explores the row in the configuration and compares; returns how many states there were.
size_t expect_verdict(const litmus::csv_table& table, const litmus::csv_row& row, const std::string& configuration,
                      const std::string& verdict) {
  const litmus::program code = litmus::parse(table.at(row, "threads"), table.at(row, "program"),
                                             table.at(row, "weak_outcome"), table.at(row, "placement"));
  link_explorer explorer(code, parse_configuration(configuration));
  const std::string& name = table.at(row, "name");
  const bool expected = verdict == "A" && !needs_load_buffering.contains(name);
  EXPECT_EQ(explorer.sees_outcome(), expected) << name << " under " << configuration;
  return explorer.states();
}

TEST(link_litmus, every_row_has_exactly_the_verdict_of_each_configuration) {
  const litmus::csv_table table = read_table();
  size_t verdicts = 0;
  size_t states = 0;
  for (const litmus::csv_row& row : table.rows()) {
    for (const std::string& title : table.titles()) {
      if (!title.starts_with("inorder") && !title.starts_with("pool")) continue;
      const std::string& verdict = table.at(row, title);
      if (verdict.empty()) continue;
      ++verdicts;
      states += expect_verdict(table, row, title, verdict);
    }
    const std::string& special = table.at(row, "special_config");
    if (special.empty()) continue;
    ++verdicts;
    states += expect_verdict(table, row, special, table.at(row, "special_verdict"));
  }
  EXPECT_EQ(verdicts, 41u * 7 + 20);
  RecordProperty("states", static_cast<int>(states));
}

TEST(link_litmus, what_needs_load_buffering_is_allowed_by_the_table_and_is_never_seen) {
  const litmus::csv_table table = read_table();
  size_t rows = 0;
  for (const litmus::csv_row& row : table.rows()) {
    if (!needs_load_buffering.contains(table.at(row, "name"))) continue;
    ++rows;
    EXPECT_EQ(table.at(row, "pool+drain"), "A");
  }
  EXPECT_EQ(rows, needs_load_buffering.size());
}

}  // namespace
}  // namespace heddle::sim
