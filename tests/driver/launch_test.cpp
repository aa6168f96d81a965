// Launches, of one GPU and of several that look like one: rows 10 and 23 to 26 of the driver's table.
#include <heddle/driver/aql_packet.h>
#include <heddle/driver/grid_walk.h>
#include <heddle/driver/settings.h>
#include <heddle/driver/split.h>
#include <heddle/scheduler/random_stream.h>
#include <heddle/sim/settings/link.h>

#include "machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>
#include <vector>

namespace heddle::driver::tests {
namespace {

using enum command_kind;

// -- kernel launch

TEST(driver_kernel_launch, three_copies_and_then_the_launch_each_time) {
  machine it;
  const queue_id queue = it.queue();
  for (int n = 0; n < 2; ++n) it.driver.queues().enqueue_launch(queue, a_launch()).value();
  it.driver.drain(queue).value();
  EXPECT_EQ(it.trace.ended(), (std::vector<command_kind>{copy_to_device, copy_to_device, copy_to_device, launch,
                                                         copy_to_device, copy_to_device, copy_to_device, launch}));
  EXPECT_EQ(it.driver.allocator().buffers(it.process), 0u) << "what the launches took has come back";
  EXPECT_EQ(it.free_pages(1), 64u);
}

TEST(driver_kernel_launch, the_device_finds_code_arguments_and_packet_where_the_packet_says) {
  machine it;
  const auto arguments = pattern(24, 3);
  const auto code = pattern(100, 4);
  bool looked = false;
  it.kernels.what = [&](const work_group& group, group_memory_port& memory) {
    std::vector<std::byte> seen_code(code.size());
    std::vector<std::byte> seen_arguments(arguments.size());
    EXPECT_EQ(memory.read(group.code_object, seen_code), access::done);
    EXPECT_EQ(memory.read(group.arguments, seen_arguments), access::done);
    EXPECT_EQ(seen_code, code);
    EXPECT_EQ(seen_arguments, arguments);
    EXPECT_EQ(group.group_bytes, 48u);
    EXPECT_EQ(group.private_bytes, 7u);
    EXPECT_EQ(group.process, it.process);
    EXPECT_NE(group.launch, 0u);
    looked = true;
    return execution{};
  };
  it.driver
      .launch(it.context, {.code = code,
                           .arguments = arguments,
                           .grid = {3, 2, 1},
                           .group = {4, 4, 1},
                           .group_bytes = 48,
                           .private_bytes = 7})
      .value();
  EXPECT_TRUE(looked);
}

TEST(driver_kernel_launch, the_packet_is_filled_in) {
  machine it;
  const queue_id queue = it.queue();
  it.driver.queues()
      .enqueue_launch(
          queue, {.code = some_code, .grid = {100, 50, 7}, .group = {16, 8, 2}, .group_bytes = 5, .private_bytes = 6})
      .value();
  aql_packet packet;
  it.kernels.what = [&](const work_group& group, group_memory_port& memory) {
    // The third buffer lies behind the other two, a page each.
    if (group.flat == 0) memory.read(group.arguments + page_bytes, bytes_of(packet));
    return execution{};
  };
  it.driver.drain(queue).value();
  EXPECT_EQ(packet.header, 0x1502);
  EXPECT_EQ(packet.setup, 3);
  EXPECT_EQ(packet.group_x, 16);
  EXPECT_EQ(packet.group_y, 8);
  EXPECT_EQ(packet.group_z, 2);
  EXPECT_EQ(packet.grid_x, 100u);
  EXPECT_EQ(packet.grid_y, 50u);
  EXPECT_EQ(packet.grid_z, 7u);
  EXPECT_EQ(packet.group_bytes, 5u);
  EXPECT_EQ(packet.private_bytes, 6u);
  // The launch is the fourth command.
  EXPECT_EQ(packet.completion_signal, 4u);
  EXPECT_EQ(it.kernels.executed.front().launch, 4u);
  EXPECT_EQ(it.trace.of(trace_kind::command_ends).back().command, 4u);
}

TEST(driver_kernel_launch, one_code_object_on_two_processes_and_two_devices) {
  machine it({16, 16});
  const context_id other = it.driver.contexts().create_context();
  it.driver.contexts().select_device(other, 2).value();
  std::vector<std::pair<process_id, device_id>> seen;
  it.kernels.what = [&](const work_group& group, group_memory_port& memory) {
    std::vector<std::byte> code(some_code.size());
    EXPECT_EQ(memory.read(group.code_object, code), access::done);
    EXPECT_EQ(code, some_code);
    seen.emplace_back(group.process, group.device);
    return execution{};
  };
  it.driver.launch(it.context, a_launch()).value();
  it.driver.launch(other, a_launch()).value();
  it.driver.contexts().select_device(it.context, 2).value();
  it.driver.launch(it.context, a_launch()).value();
  EXPECT_EQ(seen, (std::vector<std::pair<process_id, device_id>>{{1, 1}, {2, 2}, {1, 2}}));
}

TEST(driver_kernel_launch, pointers_to_group_memory_become_aligned_offsets_behind_the_static_part) {
  machine it;
  const uint64_t words[4] = {1, 2, 3, 4};
  const std::vector<group_memory_argument> group_memory = {{.offset = 8, .bytes = 5}, {.offset = 24, .bytes = 100}};
  uint64_t seen[4] = {};
  uint32_t group_bytes = 0;
  it.kernels.what = [&](const work_group& group, group_memory_port& memory) {
    memory.read(group.arguments, bytes_of(seen));
    group_bytes = group.group_bytes;
    return execution{};
  };
  it.driver
      .launch(it.context, {.code = some_code,
                           .arguments = bytes_of(words),
                           .group_memory = group_memory,
                           .grid = {1, 1, 1},
                           .group = {1, 1, 1},
                           .group_bytes = 33})
      .value();
  EXPECT_EQ(std::vector<uint64_t>(seen, seen + 4), (std::vector<uint64_t>{1, 48, 3, 64}));
  EXPECT_EQ(group_bytes, 164u);
}

TEST(driver_kernel_launch, mistakes_are_errors_that_leave_nothing_behind) {
  machine it({16});
  const queue_id queue = it.queue();
  const auto attempt = [&](const kernel_launch& what) { return it.driver.queues().enqueue_launch(queue, what); };
  EXPECT_TRUE(fails(attempt(a_launch({0, 1, 1})), "invalid value", {"grid is empty", "grid 0x1x1"}));
  EXPECT_TRUE(fails(attempt(a_launch({1, 0, 1})), "invalid value"));
  EXPECT_TRUE(fails(attempt(a_launch({1, 1, 0})), "invalid value"));
  EXPECT_TRUE(fails(attempt(a_launch({1, 1, 1}, {0, 1, 1})), "invalid value", {"work-group is empty"}));
  EXPECT_TRUE(fails(attempt(a_launch({1, 1, 1}, {65536, 1, 1})), "invalid value", {"65535"}));
  constexpr uint32_t most = ~0u;
  EXPECT_TRUE(fails(attempt(a_launch({most, most, most}, {1, 1, 1})), "invalid value", {"counted"}));
  EXPECT_TRUE(fails(attempt({.grid = {1, 1, 1}, .group = {1, 1, 1}}), "invalid value", {"code object"}));
  const std::vector<group_memory_argument> outside = {{.offset = 8, .bytes = 5}};
  const uint64_t argument = 0;
  EXPECT_TRUE(fails(attempt({.code = some_code,
                             .arguments = bytes_of(argument),
                             .group_memory = outside,
                             .grid = {1, 1, 1},
                             .group = {1, 1, 1}}),
                    "invalid value", {"offset 8"}));
  EXPECT_TRUE(fails(it.driver.queues().enqueue_launch(1234, a_launch()), "unknown queue"));
  it.select(cpu_device);
  EXPECT_TRUE(fails(it.driver.launch(it.context, a_launch()), "invalid value", {"CPU"}));
  it.select(1);
  it.driver.contexts().allocate(it.context, 14 * page_bytes).value();
  EXPECT_TRUE(fails(attempt(a_launch()), "out of memory", {"launch(", "device 1"}));
  EXPECT_EQ(it.free_pages(1), 2u);
  EXPECT_TRUE(it.driver.is_empty(queue));
}

TEST(driver_kernel_launch, an_access_to_what_the_process_has_not_got_is_told_by_the_drain) {
  machine it;
  const queue_id queue = it.queue();
  it.kernels.what = [](const work_group&, group_memory_port& memory) {
    std::byte one[1];
    EXPECT_EQ(memory.read(0x123456, one), access::fault);
    return execution{};
  };
  it.driver.queues().enqueue_launch(queue, a_launch()).value();
  it.driver.queues().enqueue_no_op(queue).value();
  EXPECT_TRUE(fails(it.driver.drain(queue), "memory fault", {"0x123456", "process 1", "launch 4"}));
  EXPECT_TRUE(works(it.driver.drain(queue))) << "told once";
}

// -- unified launch

TEST(driver_unified_launch_on_the_programs_side, three_copies_for_each_gpu_and_then_one_launch) {
  machine it({16, 16, 16});
  it.select(it.unified({3, 1, 2}));
  const queue_id queue = it.queue();
  it.driver.queues().enqueue_launch(queue, a_launch()).value();
  it.driver.drain(queue).value();
  std::vector<command_kind> expected(9, copy_to_device);
  expected.push_back(unified_launch);
  EXPECT_EQ(it.trace.ended(), expected);
  std::vector<device_id> copied_to;
  for (const trace_record& each : it.trace.of(trace_kind::request_leaves))
    if (each.asked == request_kind::write) copied_to.push_back(each.device);
  EXPECT_EQ(copied_to, (std::vector<device_id>{3, 3, 3, 1, 1, 1, 2, 2, 2}));
}

TEST(driver_unified_launch_on_the_programs_side, the_context_selects_what_it_selected) {
  machine it({16, 16});
  const device_id both = it.unified({1, 2});
  it.select(both);
  const queue_id queue = it.queue();
  it.driver.queues().enqueue_launch(queue, a_launch()).value();
  EXPECT_EQ(it.driver.contexts().selected_device(it.context).value(), both);
  // In the middle of it another context of the process allocates.
  const context_id beside = it.driver.contexts().create_context_beside(it.context).value();
  it.driver.contexts().select_device(beside, 2).value();
  it.kernels.what = [&](const work_group&, group_memory_port&) {
    EXPECT_EQ(it.driver.contexts().selected_device(it.context).value(), both);
    EXPECT_EQ(it.driver.contexts().selected_device(beside).value(), 2u);
    return execution{};
  };
  const uint64_t buffer = it.driver.contexts().allocate(beside, page_bytes).value();
  EXPECT_EQ(it.owners(buffer, 1), (std::vector<device_id>{2}));
  it.driver.drain(queue).value();
}

TEST(driver_unified_launch_on_the_devices_side, one_group_on_four_gpus_is_one_request) {
  machine it({16, 16, 16, 16});
  it.select(it.unified({1, 2, 3, 4}));
  it.driver.launch(it.context, a_launch({10, 1, 1}, {64, 1, 1})).value();
  std::vector<device_id> launched;
  for (const trace_record& each : it.trace.of(trace_kind::request_leaves))
    if (each.asked == request_kind::launch) launched.push_back(each.device);
  EXPECT_EQ(launched, (std::vector<device_id>{1}));
  ASSERT_EQ(it.kernels.executed.size(), 1u);
  EXPECT_EQ(it.kernels.executed[0].size.x, 10u);
}

TEST(driver_unified_launch_on_the_devices_side, it_has_ended_when_the_slowest_gpu_has) {
  machine it({16, 16});
  it.select(it.unified({1, 2}));
  it.kernels.what = [](const work_group& group, group_memory_port&) {
    return execution{.duration = group.device == 2 ? 90'000'000u : 1000u};
  };
  const queue_id queue = it.queue();
  it.driver.queues().enqueue_launch(queue, a_launch({128, 1, 1}, {64, 1, 1})).value();
  it.driver.drain(queue).value();
  EXPECT_GE(it.driver.now(), 90'000'000u);
}

TEST(driver_unified_launch_on_the_devices_side, every_work_group_of_10000_random_grids_runs_once) {
  constexpr uint64_t seed = 31;
  scheduler::random_stream random(seed);
  driver_settings settings = small();
  settings.copies = copy_model::instant;
  machine it({40, 40, 40, 40, 40}, settings);
  it.driver.set_listener(nullptr);
  const std::vector<device_id> devices = {it.unified({1}), it.unified({1, 2}), it.unified({5, 3, 1}),
                                          it.unified({4, 3, 2, 1}), it.unified({1, 2, 3, 4, 5})};
  for (int round = 0; round < 10'000; ++round) {
    const auto size = [&](uint32_t most) { return 1 + random.below(most); };
    const grid_size grid = {.items = {size(40), size(20), size(9)}, .group = {size(16), size(8), size(4)}};
    const device_id device = devices[random.below(static_cast<uint32_t>(devices.size()))];
    it.select(device);
    it.kernels.executed.clear();
    ASSERT_TRUE(works(it.driver.launch(it.context, a_launch(grid.items, grid.group))));
    const extent groups = grid.groups();
    std::vector<uint32_t> times(groups.count());
    uint64_t items = 0;
    for (const work_group& each : it.kernels.executed) {
      ASSERT_LT(each.flat, times.size());
      ++times[each.flat];
      ASSERT_EQ(grid.flat(each.place), each.flat);
      items += each.size.count();
    }
    ASSERT_EQ(times, std::vector<uint32_t>(groups.count(), 1)) << "seed " << seed << ", round " << round;
    ASSERT_EQ(items, grid.items.count()) << "seed " << seed << ", round " << round;
  }
}

// -- work-group filter

TEST(driver_work_group_filter, small_grids_are_covered_once_by_every_number_of_gpus) {
  for (uint32_t x = 1; x <= 7; ++x)
    for (uint32_t y = 1; y <= 5; ++y)
      for (uint32_t z = 1; z <= 4; ++z)
        for (uint32_t group = 1; group <= 3; ++group)
          for (uint64_t gpus = 1; gpus <= 5; ++gpus) {
            const grid_size grid = {.items = {x, y, z}, .group = {group, 2, group}};
            const extent groups = grid.groups();
            uint64_t flat = 0;
            for (uint32_t at_z = 0; at_z < groups.z; ++at_z)
              for (uint32_t at_y = 0; at_y < groups.y; ++at_y)
                for (uint32_t at_x = 0; at_x < groups.x; ++at_x, ++flat) {
                  ASSERT_EQ(grid.flat({at_x, at_y, at_z}), flat);
                  uint64_t accepted = 0;
                  for (uint64_t gpu = 0; gpu < gpus; ++gpu) {
                    const work_group_filter filter = {grid, share_of(groups.count(), gpus, gpu)};
                    accepted += filter.accepts({at_x, at_y, at_z}) ? 1 : 0;
                  }
                  ASSERT_EQ(accepted, 1u);
                }
            ASSERT_EQ(flat, groups.count());
          }
}

TEST(driver_work_group_filter, takes_consecutive_groups_by_number_of_groups_and_not_of_items) {
  // 3 x 2 groups of 4 x 4 items, with edge groups.
  const work_group_filter second = {{.items = {9, 7, 1}, .group = {4, 4, 1}}, share_of(6, 2, 1)};
  EXPECT_FALSE(second.accepts({2, 0, 0}));
  EXPECT_TRUE(second.accepts({0, 1, 0}));
  EXPECT_TRUE(second.accepts({2, 1, 0}));
}

// -- grid walk

TEST(driver_grid_walk, x_counts_fastest_and_edge_groups_are_smaller) {
  machine it;
  it.driver.launch(it.context, a_launch({5, 3, 2}, {2, 2, 1})).value();
  const auto& seen = it.kernels.executed;
  ASSERT_EQ(seen.size(), 12u);
  for (uint64_t n = 0; n < seen.size(); ++n) {
    EXPECT_EQ(seen[n].flat, n);
    EXPECT_EQ(seen[n].place.x, n % 3);
    EXPECT_EQ(seen[n].place.y, n / 3 % 2);
    EXPECT_EQ(seen[n].place.z, n / 6);
    EXPECT_EQ(seen[n].size.x, n % 3 == 2 ? 1u : 2u);
    EXPECT_EQ(seen[n].size.y, n / 3 % 2 == 1 ? 1u : 2u);
    EXPECT_EQ(seen[n].size.z, 1u);
  }
}

TEST(driver_grid_walk, the_lanes_of_whole_groups) {
  const auto masks = [](const extent& size) {
    std::vector<uint64_t> all;
    for (uint64_t wave = 0; wave < waves_of(size); ++wave) all.push_back(first_mask(size, size, wave));
    return all;
  };
  constexpr uint64_t full = ~uint64_t{0};
  EXPECT_EQ(masks({1, 1, 1}), (std::vector<uint64_t>{1}));
  EXPECT_EQ(masks({63, 1, 1}), (std::vector<uint64_t>{full >> 1}));
  EXPECT_EQ(masks({64, 1, 1}), (std::vector<uint64_t>{full}));
  EXPECT_EQ(masks({65, 1, 1}), (std::vector<uint64_t>{full, 1}));
  EXPECT_EQ(masks({96, 2, 1}), (std::vector<uint64_t>{full, full, full}));
}

TEST(driver_grid_walk, the_lanes_of_edge_groups_are_those_that_they_have_in_a_whole_one) {
  constexpr uint64_t full = ~uint64_t{0};
  EXPECT_EQ(first_mask({64, 1, 1}, {1, 1, 1}, 0), 1u);
  EXPECT_EQ(first_mask({65, 1, 1}, {64, 1, 1}, 0), full);
  EXPECT_EQ(first_mask({65, 1, 1}, {64, 1, 1}, 1), 0u);
  // 50 of 96 in each of two rows: work-items 0 to 49 and 96 to 145.
  EXPECT_EQ(first_mask({96, 2, 1}, {50, 2, 1}, 0), (uint64_t{1} << 50) - 1);
  EXPECT_EQ(first_mask({96, 2, 1}, {50, 2, 1}, 1), full << 32);
  EXPECT_EQ(first_mask({96, 2, 1}, {50, 2, 1}, 2), (uint64_t{1} << 18) - 1);
  // Each work-item has one lane, whatever the sizes.
  for (uint32_t x = 1; x <= 70; x += 3)
    for (uint32_t y = 1; y <= 5; ++y)
      for (uint32_t in_x = 1; in_x <= x; in_x += 2)
        for (uint32_t in_y = 1; in_y <= y; ++in_y) {
          uint64_t lanes = 0;
          for (uint64_t wave = 0; wave < waves_of({x, y, 1}); ++wave)
            lanes += static_cast<uint64_t>(std::popcount(first_mask({x, y, 1}, {in_x, in_y, 1}, wave)));
          ASSERT_EQ(lanes, uint64_t{in_x} * in_y);
        }
}

}  // namespace
}  // namespace heddle::driver::tests

// -- One rule for pages and work-groups.

namespace heddle::driver {
namespace {

std::vector<uint64_t> counts(uint64_t items, uint64_t gpus) {
  std::vector<uint64_t> all;
  for (uint64_t n = 0; n < gpus; ++n) all.push_back(share_of(items, gpus, n).count);
  return all;
}

TEST(driver_split, gives_the_shares_of_the_examples) {
  EXPECT_EQ(counts(15, 4), (std::vector<uint64_t>{4, 4, 4, 3}));
  EXPECT_EQ(counts(17, 4), (std::vector<uint64_t>{5, 4, 4, 4}));
  EXPECT_EQ(counts(5, 4), (std::vector<uint64_t>{2, 1, 1, 1}));
  EXPECT_EQ(counts(3, 4), (std::vector<uint64_t>{1, 1, 1, 0}));
  EXPECT_EQ(counts(5, 3), (std::vector<uint64_t>{2, 2, 1}));
}

TEST(driver_split, fifteen_over_four_are_0_to_3_and_4_to_7_and_8_to_11_and_12_to_14) {
  EXPECT_EQ(share_of(15, 4, 0), (share{0, 4}));
  EXPECT_EQ(share_of(15, 4, 1), (share{4, 4}));
  EXPECT_EQ(share_of(15, 4, 2), (share{8, 4}));
  EXPECT_EQ(share_of(15, 4, 3), (share{12, 3}));
}

TEST(driver_split, covers_everything_once_evenly_and_in_order_for_all_counts_up_to_1000_and_all_gpus_up_to_16) {
  for (uint64_t items = 0; items <= 1000; ++items)
    for (uint64_t gpus = 1; gpus <= 16; ++gpus) {
      uint64_t next = 0;
      uint64_t left = items;
      uint64_t most = 0;
      uint64_t least = ~uint64_t{0};
      uint64_t before = ~uint64_t{0};
      for (uint64_t n = 0; n < gpus; ++n) {
        const share mine = share_of(items, gpus, n);
        ASSERT_EQ(mine.first, next) << items << " over " << gpus;
        // As the rule says it: the items that are left, divided by the GPUs that are left, rounded up.
        ASSERT_EQ(mine.count, (left + (gpus - n) - 1) / (gpus - n)) << items << " over " << gpus;
        ASSERT_LE(mine.count, before);
        before = mine.count;
        most = std::max(most, mine.count);
        least = std::min(least, mine.count);
        next = mine.end();
        left -= mine.count;
      }
      ASSERT_EQ(next, items);
      ASSERT_LE(most - least, 1u);
    }
}

std::vector<uint64_t> counts_by(const split_rule& rule, uint64_t items, uint64_t gpus) {
  std::vector<uint64_t> all;
  for (uint64_t n = 0; n < gpus; ++n) all.push_back(rule.of(items, gpus, n).count);
  return all;
}

TEST(driver_split, three_rules_are_there_by_name) {
  EXPECT_EQ(counts_by(*find_split_rule("even"), 6, 4), (std::vector<uint64_t>{2, 2, 1, 1}));
  EXPECT_EQ(counts_by(*find_split_rule("full"), 6, 4), (std::vector<uint64_t>{2, 2, 2, 0}));
  EXPECT_EQ(counts_by(*find_split_rule("rest-last"), 6, 4), (std::vector<uint64_t>{1, 1, 1, 3}));
  EXPECT_EQ(find_split_rule("odd"), nullptr);
}

/// All to the last GPU.
class last_alone final : public split_rule {
 public:
  const char* name() const override { return "last-alone"; }
  share of(uint64_t items, uint64_t gpus, uint64_t index) const override {
    return {.first = 0, .count = index + 1 == gpus ? items : 0};
  }
};
/// The last item goes to no GPU.
class loses_one final : public split_rule {
 public:
  const char* name() const override { return "loses-one"; }
  share of(uint64_t items, uint64_t gpus, uint64_t index) const override {
    return share_of(items == 0 ? 0 : items - 1, gpus, index);
  }
};

TEST(driver_split, a_rule_of_the_users_deals_pages_and_work_groups_and_one_that_is_none_is_refused) {
  static const last_alone mine;
  static const loses_one wrong;
  ASSERT_TRUE(tests::works(add_split_rule(mine)));
  EXPECT_TRUE(tests::fails(add_split_rule(mine), "in use", {"last-alone"}));
  EXPECT_TRUE(tests::fails(add_split_rule(wrong), "invalid value", {"loses-one", "go to no GPU"}));
  parameters values = parameters(driver_parameters());
  ASSERT_FALSE(values.set("driver.split=last-alone"));

  driver_settings settings = tests::small();
  settings.split = find_split_rule(values.text("driver.split"));
  tests::machine it({16, 16}, settings);
  it.select(it.unified({1, 2}));
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 3 * tests::page_bytes).value();
  EXPECT_EQ(it.owners(buffer, 3), (std::vector<device_id>{2, 2, 2}));
  it.driver.launch(it.context, tests::a_launch({256, 1, 1})).value();
  ASSERT_EQ(it.kernels.executed.size(), 4u);
  for (const work_group& each : it.kernels.executed) EXPECT_EQ(each.device, 2u);
}

// -- The driver's settings as keys and values.

parameters all() {
  std::vector<parameter> keys = sim::link_parameters();
  for (parameter& each : driver_parameters()) keys.push_back(std::move(each));
  return parameters(std::move(keys));
}

TEST(driver_settings, the_keys_begin_with_the_defaults_of_the_struct) {
  const driver_settings read = driver_settings::from(all());
  const driver_settings fresh;
  EXPECT_EQ(read.page_bits, fresh.page_bits);
  EXPECT_EQ(read.cpu_bytes, fresh.cpu_bytes);
  EXPECT_EQ(read.cycle, fresh.cycle);
  EXPECT_EQ(read.copies, fresh.copies);
  EXPECT_EQ(read.flush_before_copy, fresh.flush_before_copy);
  EXPECT_EQ(read.posted, fresh.posted);
  EXPECT_EQ(read.read, fresh.read);
  EXPECT_EQ(read.fence, fresh.fence);
  EXPECT_EQ(read.launch, fresh.launch);
  EXPECT_EQ(read.copy, fresh.copy);
  EXPECT_EQ(read.copy_byte, fresh.copy_byte);
  EXPECT_EQ(read.compute_units, fresh.compute_units);
  EXPECT_EQ(read.groups_per_unit, fresh.groups_per_unit);
  EXPECT_EQ(read.dispatch, fresh.dispatch);
  EXPECT_EQ(read.split, fresh.split);
}

TEST(driver_settings, each_key_is_read) {
  parameters values = all();
  for (const char* const each :
       {"driver.page_bits=16", "driver.cpu_mib=7", "driver.cycle_ps=500", "driver.copies=instant", "driver.flush=off",
        "driver.copy_ns=40", "driver.copy_byte_ps=3", "driver.units=5", "driver.unit_groups=6",
        "driver.dispatch=partition", "driver.split=full", "link.posted_ns=1", "link.read_ns=2", "link.fence_ns=3",
        "link.launch_ns=4"})
    ASSERT_FALSE(values.set(each)) << each;
  const driver_settings read = driver_settings::from(values);
  EXPECT_EQ(read.page_bits, 16u);
  EXPECT_EQ(read.cpu_bytes, uint64_t{7} << 20);
  EXPECT_EQ(read.cycle, 500u);
  EXPECT_EQ(read.copies, copy_model::instant);
  EXPECT_FALSE(read.flush_before_copy);
  EXPECT_EQ(read.copy, 40'000u);
  EXPECT_EQ(read.copy_byte, 3u);
  EXPECT_EQ(read.compute_units, 5u);
  EXPECT_EQ(read.groups_per_unit, 6u);
  EXPECT_EQ(read.dispatch, dispatch_policy::partition);
  EXPECT_EQ(read.split, find_split_rule("full"));
  EXPECT_EQ(read.posted, 1'000u);
  EXPECT_EQ(read.read, 2'000u);
  EXPECT_EQ(read.fence, 3'000u);
  EXPECT_EQ(read.launch, 4'000u);
}

}  // namespace
}  // namespace heddle::driver
