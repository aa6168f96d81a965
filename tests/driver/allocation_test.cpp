// Devices, their memory, and what programs are given of it: rows 1 to 8, 21 and 22 of the driver's table.
#include <heddle/driver/page_table.h>
#include <heddle/scheduler/random_stream.h>

#include "machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace heddle::driver::tests {
namespace {

// -- register a device

TEST(driver_register_a_device, ranges_follow_each_other_and_never_overlap) {
  constexpr uint64_t seed = 11;
  scheduler::random_stream random(seed);
  for (int round = 0; round < 200; ++round) {
    gpu_driver driver({.cpu_bytes = page_bytes + random.below(1 << 20)});
    uint64_t end = 0;
    for (device_id device = 0; device < 8; ++device) {
      if (device > 0) {
        ASSERT_EQ(driver.register_gpu(page_bytes + random.below(1 << 22)).value(), device);
      }
      const auto range = driver.allocator().physical().range_of(device);
      ASSERT_GE(range.base, std::max(end, page_bytes)) << "seed " << seed << ", round " << round;
      ASSERT_EQ(range.base % page_bytes, 0u);
      end = range.base + range.size_bytes;
    }
  }
}

TEST(driver_register_a_device, four_and_eight_gigabytes_lie_side_by_side_one_page_above_zero) {
  constexpr uint64_t gigabyte = uint64_t{1} << 30;
  gpu_driver driver;
  EXPECT_EQ(driver.register_gpu(8 * gigabyte).value(), 1u);
  const physical_memory& memory = driver.allocator().physical();
  EXPECT_EQ(memory.range_of(0).base, page_bytes);
  EXPECT_EQ(memory.range_of(0).size_bytes, 4 * gigabyte);
  EXPECT_EQ(memory.range_of(1).base, page_bytes + 4 * gigabyte);
  EXPECT_EQ(memory.range_of(1).size_bytes, 8 * gigabyte);
}

TEST(driver_register_a_device, the_null_page_is_never_handed_out) {
  machine it({3});
  for (const device_id device : {cpu_device, device_id{1}}) {
    it.select(device);
    while (const auto buffer = it.driver.contexts().allocate(it.context, 1)) {
      result<uint64_t> address = buffer;
      EXPECT_GE(address.value(), page_bytes);
      EXPECT_GE(it.entry(address.value()).physical_address, page_bytes);
    }
  }
}

TEST(driver_register_a_device, one_without_a_page_of_memory_is_an_error) {
  gpu_driver driver;
  EXPECT_TRUE(fails(driver.register_gpu(page_bytes - 1), "too small", {"device 1", "4095 bytes"}));
  EXPECT_TRUE(fails(driver.register_gpu(~uint64_t{0}), "too large"));
  EXPECT_EQ(driver.device_count(), 1u);
}

// -- device of a physical address

TEST(driver_device_of_a_physical_address, both_ends_of_each_range) {
  gpu_driver driver({.cpu_bytes = 3 * page_bytes});
  driver.register_gpu(2 * page_bytes + 100).value();
  driver.register_gpu(page_bytes).value();
  for (device_id device = 0; device < 3; ++device) {
    const auto range = driver.allocator().physical().range_of(device);
    EXPECT_EQ(driver.device_of(range.base).value(), device);
    EXPECT_EQ(driver.device_of(range.base + range.size_bytes - 1).value(), device);
    if (device == 0) {
      EXPECT_EQ(driver.device_of(range.base + range.size_bytes).value(), 1u);
    }
  }
  const auto second = driver.allocator().physical().range_of(1);
  EXPECT_TRUE(fails(driver.device_of(second.base + second.size_bytes), "unknown address")) << "a gap";
  const auto last = driver.allocator().physical().range_of(2);
  EXPECT_TRUE(fails(driver.device_of(last.base + last.size_bytes), "unknown address"));
  EXPECT_TRUE(fails(driver.device_of(0), "unknown address", {"0x0"}));
}

TEST(driver_device_of_a_physical_address, a_unified_device_has_none) {
  machine it({4, 4});
  it.select(it.unified({1, 2}));
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 4 * page_bytes).value();
  for (uint64_t n = 0; n < 4; ++n) {
    const page& at = it.entry(buffer + n * page_bytes);
    EXPECT_EQ(it.driver.device_of(at.physical_address).value(), at.device);
    EXPECT_NE(at.device, 3u);
  }
}

// -- allocate

TEST(driver_allocate, whole_pages_from_the_first_one_on) {
  machine it;
  const std::vector<std::pair<uint64_t, uint64_t>> sizes = {
      {1, 1}, {page_bytes - 1, 1}, {page_bytes, 1}, {page_bytes + 1, 2}};
  uint64_t next = page_bytes;
  for (const auto& [bytes, pages] : sizes) {
    const uint64_t before = it.free_pages(1);
    EXPECT_EQ(it.driver.contexts().allocate(it.context, bytes).value(), next);
    next += pages * page_bytes;
    EXPECT_EQ(before - it.free_pages(1), pages);
  }
  EXPECT_EQ(it.driver.allocator().pages().pages(it.process), 5u);
  const page& first = it.entry(page_bytes);
  EXPECT_EQ(first.process, it.process);
  EXPECT_EQ(first.device, 1u);
  EXPECT_EQ(first.size_bytes, page_bytes);
  EXPECT_TRUE(first.valid);
  EXPECT_FALSE(first.unified);
}

TEST(driver_allocate, no_bytes_and_an_unknown_context_are_errors) {
  machine it;
  EXPECT_TRUE(fails(it.driver.contexts().allocate(it.context, 0), "invalid value", {"0 bytes", "device 1"}));
  EXPECT_TRUE(fails(it.driver.contexts().allocate(77, 1), "unknown context", {"77"}));
  EXPECT_TRUE(
      fails(it.driver.contexts().select_device(it.context, 9), "unknown device", {"device 9", "devices 0 to 1"}));
}

TEST(driver_allocate, all_of_the_memory_and_not_a_page_more) {
  machine it({5});
  EXPECT_TRUE(
      fails(it.driver.contexts().allocate(it.context, 5 * page_bytes + 1), "out of memory", {"5 free pages of 6"}));
  EXPECT_EQ(it.free_pages(1), 5u) << "nothing half allocated";
  EXPECT_EQ(it.driver.allocator().pages().pages(it.process), 0u);
  const uint64_t all = it.driver.contexts().allocate(it.context, 5 * page_bytes).value();
  EXPECT_EQ(all, page_bytes) << "nor an address used up";
  EXPECT_TRUE(fails(it.driver.contexts().allocate(it.context, 1), "out of memory"));
  EXPECT_TRUE(fails(it.driver.contexts().allocate(it.context, ~uint64_t{0}), "out of memory"));
  EXPECT_TRUE(works(it.driver.contexts().free(it.context, all)));
  EXPECT_TRUE(works(it.driver.contexts().allocate(it.context, 5 * page_bytes)));
}

TEST(driver_allocate, two_processes_get_the_same_addresses_and_other_pages) {
  machine it;
  const context_id other = it.driver.contexts().create_context();
  const uint64_t mine = it.driver.contexts().allocate(it.context, 1).value();
  EXPECT_EQ(it.driver.contexts().allocate(other, 1).value(), mine);
  const page& theirs = it.driver.allocator().pages().find(it.driver.contexts().process_of(other).value(), mine)->entry;
  EXPECT_NE(it.entry(mine).physical_address, theirs.physical_address);
}

// -- allocate unified memory

TEST(driver_allocate_unified, the_entry_is_marked_and_lies_where_it_was_asked_for) {
  machine it({8, 8});
  it.select(2);
  const uint64_t buffer = it.driver.contexts().allocate_unified(it.context, 2 * page_bytes).value();
  EXPECT_TRUE(it.entry(buffer).unified);
  EXPECT_TRUE(it.entry(buffer + page_bytes).unified);
  EXPECT_EQ(it.owners(buffer, 2), (std::vector<device_id>{2, 2}));
  it.select(cpu_device);
  EXPECT_EQ(it.owners(it.driver.contexts().allocate_unified(it.context, 1).value(), 1),
            (std::vector<device_id>{cpu_device}));
}

// -- free

TEST(driver_free, the_whole_buffer_comes_back) {
  machine it({7});
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 7 * page_bytes).value();
  EXPECT_TRUE(works(it.driver.contexts().free(it.context, buffer)));
  EXPECT_EQ(it.free_pages(1), 7u);
  EXPECT_EQ(it.driver.allocator().pages().pages(it.process), 0u);
  EXPECT_TRUE(works(it.driver.contexts().allocate(it.context, 7 * page_bytes)));
}

TEST(driver_free, twice_is_an_error_and_so_is_a_foreign_pointer) {
  machine it;
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 2 * page_bytes).value();
  const uint64_t other = it.driver.contexts().allocate(it.context, 1).value();
  EXPECT_TRUE(
      fails(it.driver.contexts().free(it.context, buffer + page_bytes), "invalid pointer", {"begins at 0x1000"}));
  EXPECT_TRUE(fails(it.driver.contexts().free(it.context, buffer + 8), "invalid pointer"));
  EXPECT_TRUE(fails(it.driver.contexts().free(it.context, 0), "invalid pointer"));
  EXPECT_TRUE(fails(it.driver.contexts().free(it.context, 0xdead0000), "invalid pointer", {"0xdead0000"}));
  EXPECT_TRUE(fails(it.driver.contexts().free(it.driver.contexts().create_context(), other), "invalid pointer"));
  EXPECT_TRUE(works(it.driver.contexts().free(it.context, buffer)));
  EXPECT_TRUE(fails(it.driver.contexts().free(it.context, buffer), "double free"));
  EXPECT_TRUE(works(it.driver.contexts().free(it.context, other)));
}

TEST(driver_free, after_any_number_of_rounds_no_physical_page_has_two_owners) {
  constexpr uint64_t seed = 5;
  scheduler::random_stream random(seed);
  machine it({40});
  std::vector<uint64_t> live;
  for (int round = 0; round < 5000; ++round) {
    if (live.empty() || random.below(2) == 0) {
      if (auto fresh = it.driver.contexts().allocate(it.context, 1 + random.below(5 * page_bytes)))
        live.push_back(fresh.value());
    } else {
      const uint32_t which = random.below(static_cast<uint32_t>(live.size()));
      ASSERT_TRUE(works(it.driver.contexts().free(it.context, live[which]))) << "seed " << seed << ", round " << round;
      live.erase(live.begin() + which);
    }
    std::set<uint64_t> owned;
    it.driver.allocator().pages().for_each(it.process, [&](const page& each) {
      ASSERT_TRUE(owned.insert(each.physical_address).second) << "seed " << seed << ", round " << round;
    });
    ASSERT_EQ(owned.size() + it.free_pages(1), 40u);
  }
}

TEST(driver_free, while_a_command_needs_the_buffer_is_an_error) {
  machine it;
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 64).value();
  const queue_id queue = it.queue();
  const auto bytes = pattern(64);
  it.driver.queues().enqueue_copy_to_device(queue, buffer, bytes).value();
  EXPECT_TRUE(fails(it.driver.contexts().free(it.context, buffer), "in use", {"0x1000"}));
  EXPECT_TRUE(fails(it.driver.contexts().remap(it.context, buffer, 64, 1), "in use"));
  EXPECT_TRUE(fails(it.driver.contexts().remove_page(it.context, buffer), "in use"));
  EXPECT_TRUE(fails(it.driver.contexts().allocate_page_at(it.context, 1, buffer, false), "in use"));
  it.driver.drain(queue).value();
  const uint64_t argument = buffer + 32;
  it.driver.queues()
      .enqueue_launch(queue,
                      {.code = some_code, .arguments = bytes_of(argument), .grid = {1, 1, 1}, .group = {1, 1, 1}})
      .value();
  EXPECT_TRUE(fails(it.driver.contexts().free(it.context, buffer), "in use")) << "a kernel is given a pointer into it";
  it.driver.drain(queue).value();
  EXPECT_TRUE(works(it.driver.contexts().free(it.context, buffer)));
}

TEST(driver_free, memory_that_comes_back_holds_zeros) {
  machine it({1});
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 64).value();
  it.driver.copy_to_device(it.context, buffer, pattern(64)).value();
  it.driver.contexts().free(it.context, buffer).value();
  const uint64_t again = it.driver.contexts().allocate(it.context, 64).value();
  std::vector<std::byte> seen(64, std::byte{1});
  it.driver.copy_to_host(it.context, seen, again).value();
  EXPECT_EQ(seen, std::vector<std::byte>(64));
}

// -- remap

TEST(driver_remap, the_pages_move_the_old_ones_come_back_and_marks_stay) {
  machine it({8, 8});
  const uint64_t buffer = it.driver.contexts().allocate_unified(it.context, 4 * page_bytes).value();
  // Not aligned: from within the second page into the third.
  EXPECT_TRUE(works(it.driver.contexts().remap(it.context, buffer + page_bytes + 100, page_bytes, 2)));
  EXPECT_EQ(it.owners(buffer, 4), (std::vector<device_id>{1, 2, 2, 1}));
  EXPECT_EQ(it.free_pages(1), 6u);
  EXPECT_EQ(it.free_pages(2), 6u);
  for (uint64_t n = 0; n < 4; ++n) {
    EXPECT_TRUE(it.entry(buffer + n * page_bytes).unified);
    EXPECT_EQ(it.entry(buffer + n * page_bytes).virtual_address, buffer + n * page_bytes);
  }
  EXPECT_TRUE(works(it.driver.contexts().free(it.context, buffer)));
  EXPECT_EQ(it.free_pages(1), 8u);
  EXPECT_EQ(it.free_pages(2), 8u);
}

TEST(driver_remap, a_unified_device_gets_its_pages_by_the_same_rule) {
  machine it({32, 32, 32, 32});
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 15 * page_bytes).value();
  EXPECT_TRUE(works(it.driver.contexts().remap(it.context, buffer, 15 * page_bytes, it.unified({1, 2, 3, 4}))));
  EXPECT_EQ(it.owners(buffer, 15), (std::vector<device_id>{1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4}));
  EXPECT_EQ(it.free_pages(1), 28u);
}

TEST(driver_remap, onto_its_own_full_device_works) {
  machine it({4});
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 4 * page_bytes).value();
  EXPECT_TRUE(works(it.driver.contexts().remap(it.context, buffer, 4 * page_bytes, 1)));
  EXPECT_EQ(it.free_pages(1), 0u);
  std::set<uint64_t> owned;
  it.driver.allocator().pages().for_each(it.process, [&](const page& each) { owned.insert(each.physical_address); });
  EXPECT_EQ(owned.size(), 4u);
}

TEST(driver_remap, a_read_before_a_write_is_reported) {
  machine it({8, 8});
  const uint64_t buffer = it.driver.contexts().allocate(it.context, page_bytes).value();
  it.driver.copy_to_device(it.context, buffer, pattern(page_bytes)).value();
  it.driver.contexts().remap(it.context, buffer, page_bytes, 2).value();
  std::vector<std::byte> seen(16);
  EXPECT_TRUE(fails(it.driver.copy_to_host(it.context, seen, buffer), "poisoned", {"16 of the bytes", "0x1000"}));
  EXPECT_EQ(seen[0], contents::poisoned) << "and it is not the old value";
  it.driver.copy_to_device(it.context, buffer, pattern(12)).value();
  EXPECT_TRUE(fails(it.driver.copy_to_host(it.context, seen, buffer), "poisoned", {"4 of the bytes"}));
  EXPECT_TRUE(works(it.driver.copy_to_host(it.context, std::span(seen).first(12), buffer)));
  // A kernel that reads is told of, too, and one that writes makes the bytes good.
  it.kernels.what = [&](const work_group&, group_memory_port& memory) {
    std::byte one[4];
    memory.read(buffer + 12, one);
    return execution{};
  };
  EXPECT_TRUE(fails(it.driver.launch(it.context, a_launch()), "poisoned", {"reads 4 bytes from 0x100c"}));
  it.kernels.what = [&](const work_group&, group_memory_port& memory) {
    memory.write(buffer, pattern(page_bytes));
    return execution{};
  };
  EXPECT_TRUE(works(it.driver.launch(it.context, a_launch())));
  EXPECT_TRUE(works(it.driver.copy_to_host(it.context, seen, buffer)));
}

TEST(driver_remap, an_error_changes_nothing) {
  machine it({8, 2});
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 4 * page_bytes).value();
  const auto bytes = pattern(4 * page_bytes);
  it.driver.copy_to_device(it.context, buffer, bytes).value();
  EXPECT_TRUE(fails(it.driver.contexts().remap(it.context, buffer, 4 * page_bytes, 2), "out of memory",
                    {"device 2", "2 free"}));
  EXPECT_TRUE(fails(it.driver.contexts().remap(it.context, buffer, 4 * page_bytes + 1, 2), "out of bounds"));
  EXPECT_TRUE(fails(it.driver.contexts().remap(it.context, buffer, 0, 2), "invalid value"));
  EXPECT_TRUE(fails(it.driver.contexts().remap(it.context, buffer, 1, 7), "unknown device"));
  EXPECT_TRUE(fails(it.driver.contexts().remap(it.context, 0, 1, 2), "invalid pointer"));
  EXPECT_EQ(it.owners(buffer, 4), (std::vector<device_id>{1, 1, 1, 1}));
  EXPECT_EQ(it.free_pages(2), 2u);
  std::vector<std::byte> seen(bytes.size());
  it.driver.copy_to_host(it.context, seen, buffer).value();
  EXPECT_EQ(seen, bytes);
}

// -- remove a page

TEST(driver_remove_page, only_the_named_process_loses_it) {
  machine it;
  const context_id other = it.driver.contexts().create_context();
  const process_id theirs = it.driver.contexts().process_of(other).value();
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 2 * page_bytes).value();
  ASSERT_EQ(it.driver.contexts().allocate(other, 2 * page_bytes).value(), buffer);
  const uint64_t before = it.free_pages(1);
  EXPECT_TRUE(works(it.driver.contexts().remove_page(it.context, buffer + page_bytes + 5)));
  EXPECT_EQ(it.free_pages(1), before + 1);
  EXPECT_EQ(it.driver.allocator().pages().find(it.process, buffer + page_bytes), nullptr);
  EXPECT_NE(it.driver.allocator().pages().find(theirs, buffer + page_bytes), nullptr);
  EXPECT_TRUE(fails(it.driver.contexts().remove_page(it.context, buffer + page_bytes), "invalid pointer"));
  // What is left of the buffer can be used and freed; what is gone cannot be copied to.
  EXPECT_TRUE(works(it.driver.copy_to_device(it.context, buffer, pattern(page_bytes))));
  EXPECT_TRUE(fails(it.driver.copy_to_device(it.context, buffer, pattern(page_bytes + 1)), "invalid pointer"));
  EXPECT_TRUE(fails(it.driver.contexts().remap(it.context, buffer, 2 * page_bytes, 1), "invalid pointer"));
  EXPECT_TRUE(works(it.driver.contexts().free(it.context, buffer)));
  EXPECT_EQ(it.free_pages(1), before + 2);
  EXPECT_TRUE(works(it.driver.contexts().free(other, buffer)));
}

// -- a page at a given address

TEST(driver_allocate_page_at_an_address, the_entry_points_at_the_target_and_the_old_page_comes_back) {
  machine it({8, 8});
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 3 * page_bytes).value();
  const page fresh = it.driver.contexts().allocate_page_at(it.context, 2, buffer + page_bytes + 77, true).value();
  EXPECT_EQ(fresh.virtual_address, buffer + page_bytes);
  EXPECT_EQ(it.driver.device_of(fresh.physical_address).value(), 2u);
  EXPECT_EQ(it.entry(buffer + page_bytes).physical_address, fresh.physical_address);
  EXPECT_TRUE(it.entry(buffer + page_bytes).unified);
  EXPECT_EQ(it.owners(buffer, 3), (std::vector<device_id>{1, 2, 1}));
  EXPECT_EQ(it.free_pages(1), 6u);
  EXPECT_EQ(it.free_pages(2), 7u);
  EXPECT_TRUE(works(it.driver.contexts().free(it.context, buffer)));
  EXPECT_EQ(it.free_pages(2), 8u);
}

TEST(driver_allocate_page_at_an_address, errors) {
  machine it({8, 1});
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 2 * page_bytes).value();
  EXPECT_TRUE(fails(it.driver.contexts().allocate_page_at(it.context, 2, 0x77000, false), "invalid pointer"));
  EXPECT_TRUE(fails(it.driver.contexts().allocate_page_at(it.context, 9, buffer, false), "unknown device"));
  EXPECT_TRUE(
      fails(it.driver.contexts().allocate_page_at(it.context, it.unified({1, 2}), buffer, false), "invalid device"));
  EXPECT_TRUE(works(it.driver.contexts().allocate_page_at(it.context, 2, buffer, false)));
  EXPECT_TRUE(fails(it.driver.contexts().allocate_page_at(it.context, 2, buffer + page_bytes, false), "out of memory"));
  EXPECT_TRUE(works(it.driver.contexts().allocate_page_at(it.context, 2, buffer, false)))
      << "its own page comes back first";
}

// -- unified devices

TEST(driver_create_a_unified_device, takes_the_next_number_and_may_overlap_another) {
  machine it({8, 8, 8});
  EXPECT_EQ(it.unified({1, 2}), 4u);
  EXPECT_EQ(it.unified({3, 2}), 5u);
  it.select(5);
  EXPECT_EQ(it.owners(it.driver.contexts().allocate(it.context, 3 * page_bytes).value(), 3),
            (std::vector<device_id>{3, 3, 2}));
  it.select(4);
  EXPECT_EQ(it.owners(it.driver.contexts().allocate(it.context, 3 * page_bytes).value(), 3),
            (std::vector<device_id>{1, 1, 2}));
}

TEST(driver_create_a_unified_device, each_mistake_is_an_error) {
  machine it({8, 8});
  const device_id both = it.unified({1, 2});
  const auto make = [&](std::vector<device_id> gpus) { return it.driver.create_unified_device(it.context, gpus); };
  EXPECT_TRUE(fails(make({}), "invalid value", {"empty"}));
  EXPECT_TRUE(fails(make({cpu_device}), "invalid device", {"CPU"}));
  EXPECT_TRUE(fails(make({1, both}), "invalid device", {"unified"}));
  EXPECT_TRUE(fails(make({1, 2, 1}), "invalid value", {"device 1 is named twice"}));
  EXPECT_TRUE(fails(make({1, 17}), "unknown device", {"17", "0 to 3"}));
  const std::vector<device_id> one = {1};
  EXPECT_TRUE(fails(it.driver.create_unified_device(99, one), "unknown context"));
  EXPECT_EQ(it.driver.device_count(), 4u);
}

TEST(driver_allocate_on_a_unified_device, fifteen_pages_over_four_gpus) {
  machine it({32, 32, 32, 32});
  it.select(it.unified({1, 2, 3, 4}));
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 15 * page_bytes).value();
  EXPECT_EQ(it.owners(buffer, 15), (std::vector<device_id>{1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4}));
}

TEST(driver_allocate_on_a_unified_device, one_full_gpu_is_an_error_that_leaves_nothing_behind) {
  machine it({8, 3, 8});
  it.select(it.unified({1, 2, 3}));
  EXPECT_TRUE(fails(it.driver.contexts().allocate(it.context, 12 * page_bytes), "out of memory",
                    {"device 2 has 3 free pages of 4"}));
  for (const device_id gpu : {1u, 2u, 3u}) EXPECT_EQ(it.free_pages(gpu), gpu == 2 ? 3u : 8u);
  EXPECT_TRUE(works(it.driver.contexts().allocate(it.context, 9 * page_bytes)));
}

TEST(driver_allocate_on_a_unified_device, pages_and_work_groups_of_one_count_go_to_the_same_gpus) {
  machine it({32, 32, 32});
  it.select(it.unified({2, 3, 1}));
  for (uint32_t count = 1; count < 30; ++count) {
    const uint64_t buffer = it.driver.contexts().allocate(it.context, count * page_bytes).value();
    it.kernels.executed.clear();
    it.driver.launch(it.context, a_launch({count, 1, 1}, {1, 1, 1})).value();
    std::vector<device_id> groups(count);
    for (const work_group& each : it.kernels.executed) groups[each.flat] = each.device;
    EXPECT_EQ(groups, it.owners(buffer, count));
    it.driver.contexts().free(it.context, buffer).value();
  }
}

}  // namespace
}  // namespace heddle::driver::tests

// -- The row of the page table, and the tree that it is made of.

namespace heddle::driver {
namespace {

page entry(process_id process, uint64_t virtual_address, uint64_t physical_address, device_id device = 1) {
  return {.process = process,
          .device = device,
          .virtual_address = virtual_address,
          .physical_address = physical_address,
          .size_bytes = 4096,
          .valid = true};
}

TEST(driver_page_table, an_address_within_a_page_finds_updates_and_removes_it) {
  page_table table(12);
  table.insert(entry(1, 0x5000, 0x9000)).value();
  ASSERT_NE(table.find(1, 0x5fff), nullptr);
  EXPECT_EQ(table.find(1, 0x5fff)->entry.physical_address, 0x9000u);
  EXPECT_EQ(table.find(1, 0x4fff), nullptr);
  EXPECT_EQ(table.find(1, 0x6000), nullptr);
  EXPECT_EQ(table.find(2, 0x5000), nullptr);
  EXPECT_TRUE(table.update(entry(1, 0x5123, 0xa456, 2)));
  EXPECT_EQ(table.find(1, 0x5000)->entry.physical_address, 0xa000u);
  EXPECT_EQ(table.find(1, 0x5000)->entry.virtual_address, 0x5000u);
  EXPECT_EQ(table.find(1, 0x5000)->entry.device, 2u);
  EXPECT_TRUE(table.remove(1, 0x5abc));
  EXPECT_EQ(table.find(1, 0x5000), nullptr);
  EXPECT_EQ(table.find_physical(0xa000), nullptr);
}

TEST(driver_page_table, what_is_there_twice_or_not_at_all_is_an_error_and_changes_nothing) {
  page_table table(12);
  table.insert(entry(1, 0x5000, 0x9000)).value();
  EXPECT_EQ(table.insert(entry(1, 0x5800, 0xb000)).why().name, "already there");
  EXPECT_EQ(table.insert(entry(2, 0x5000, 0x9000)).why().name, "already there") << "a physical page has one owner";
  EXPECT_EQ(table.insert(entry(1, uint64_t{1} << 60, 0xb000)).why().name, "out of range");
  EXPECT_EQ(table.remove(1, 0x7000).why().name, "not there");
  EXPECT_EQ(table.remove(2, 0x5000).why().name, "not there");
  EXPECT_EQ(table.update(entry(1, 0x7000, 0xb000)).why().name, "not there");
  EXPECT_EQ(table.pages(1), 1u);
  EXPECT_EQ(table.pages(2), 0u);
  EXPECT_EQ(table.find_physical(0xb000), nullptr);
  table.insert(entry(1, 0x6000, 0xb000)).value();
  EXPECT_EQ(table.update(entry(1, 0x5000, 0xb000)).why().name, "already there");
  EXPECT_EQ(table.find_physical(0x9000)->entry.virtual_address, 0x5000u);
  EXPECT_EQ(table.find_physical(0xb000)->entry.virtual_address, 0x6000u);
}

TEST(driver_page_table, pages_can_change_places_in_one_update) {
  page_table table(12);
  table.insert(entry(1, 0x5000, 0x9000)).value();
  table.insert(entry(1, 0x6000, 0xa000)).value();
  const std::vector<page> crossed = {entry(1, 0x5000, 0xa000), entry(1, 0x6000, 0x9000)};
  EXPECT_TRUE(table.update(crossed));
  EXPECT_EQ(table.find_physical(0xa123)->entry.virtual_address, 0x5000u);
  EXPECT_EQ(table.find_physical(0x9123)->entry.virtual_address, 0x6000u);
}

TEST(driver_page_table, keeps_the_order_of_insertion) {
  page_table table(12);
  for (const uint64_t number : std::vector<uint64_t>{7, 3, 5, 1})
    table.insert(entry(1, number << 12, number << 16)).value();
  const auto order = [&] {
    std::vector<uint64_t> seen;
    table.for_each(1, [&](const page& each) { seen.push_back(each.virtual_address >> 12); });
    return seen;
  };
  EXPECT_EQ(order(), (std::vector<uint64_t>{7, 3, 5, 1}));
  table.update(entry(1, 3 << 12, 0x900000)).value();
  EXPECT_EQ(order(), (std::vector<uint64_t>{7, 3, 5, 1}));
  table.remove(1, 7 << 12).value();
  table.remove(1, 5 << 12).value();
  table.insert(entry(1, 7 << 12, 7 << 16)).value();
  EXPECT_EQ(order(), (std::vector<uint64_t>{3, 1, 7}));
}

TEST(driver_page_table, finds_backwards_over_all_processes) {
  page_table table(12);
  table.insert(entry(1, 0x5000, 0x9000)).value();
  table.insert(entry(2, 0x5000, 0xa000)).value();
  EXPECT_EQ(table.find_physical(0x9fff)->entry.process, 1u);
  EXPECT_EQ(table.find_physical(0xa000)->entry.process, 2u);
  EXPECT_EQ(table.find_physical(0xb000), nullptr);
}

TEST(driver_page_table, the_tree_agrees_with_an_ordered_map) {
  constexpr uint64_t seed = 20;
  scheduler::random_stream random(seed);
  radix_map<uint64_t> tree;
  std::map<uint64_t, uint64_t> reference;
  for (int n = 0; n < 200'000; ++n) {
    // Keys near to each other and far apart.
    const uint64_t far = random.below(4) == 0 ? uint64_t{random.below(1 << 18)} << 18 : 0;
    const uint64_t key = far | random.below(600);
    if (random.below(2) == 0) {
      const uint64_t value = random.next();
      tree[key] = value;
      reference[key] = value;
    } else {
      tree.erase(key);
      reference.erase(key);
    }
    ASSERT_EQ(tree.size(), reference.size()) << "seed " << seed << ", step " << n;
    const uint64_t asked = random.below(600);
    const auto known = reference.find(asked);
    const uint64_t* const found = tree.find(asked);
    ASSERT_EQ(found != nullptr, known != reference.end()) << "seed " << seed << ", step " << n;
    if (found != nullptr) {
      ASSERT_EQ(*found, known->second);
    }
  }
  std::vector<std::pair<uint64_t, uint64_t>> in_order;
  tree.for_each([&](uint64_t key, uint64_t value) { in_order.emplace_back(key, value); });
  EXPECT_EQ(in_order, (std::vector<std::pair<uint64_t, uint64_t>>(reference.begin(), reference.end())));
  EXPECT_EQ(tree.find(uint64_t{1} << 36), nullptr);
}

}  // namespace
}  // namespace heddle::driver
