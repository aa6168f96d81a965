// Copies, and the flush before them: rows 17 to 20 of the driver's table.
#include "machine.h"

#include <heddle/scheduler/random_stream.h>

#include <algorithm>

namespace heddle::driver::tests {
namespace {

using enum command_kind;

/// A kernel of one work-group that writes these bytes there.
void have_kernel_write(machine& it, uint64_t address, const std::vector<std::byte>& bytes) {
  it.kernels.what = [address, bytes](const work_group&, group_memory_port& memory) {
    EXPECT_EQ(memory.write(address, bytes), access::done);
    return execution{};
  };
}

// -- timed copy

TEST(driver_timed_copy, any_range_goes_there_and_back_page_by_page) {
  constexpr uint64_t pages = 5;
  const std::vector<std::pair<uint64_t, uint64_t>> ranges = {{0, 1},
                                                             {page_bytes - 1, 1},
                                                             {page_bytes - 1, 2},
                                                             {0, page_bytes},
                                                             {1, page_bytes},
                                                             {0, 2 * page_bytes},
                                                             {100, 3 * page_bytes},
                                                             {page_bytes / 2, 4 * page_bytes},
                                                             {0, 5 * page_bytes},
                                                             {7, 5 * page_bytes - 7}};
  for (const auto& [offset, bytes] : ranges) {
    machine it;
    const uint64_t buffer = it.driver.contexts().allocate(it.context, pages * page_bytes).value();
    const auto before = pattern(pages * page_bytes, 3);
    it.driver.copy_to_device(it.context, buffer, before).value();
    it.trace.records.clear();
    const auto sent = pattern(bytes, 7);
    it.driver.copy_to_device(it.context, buffer + offset, sent).value();
    const uint64_t touched = (offset + bytes - 1) / page_bytes - offset / page_bytes + 1;
    const auto requests = it.trace.of(trace_kind::request_leaves);
    ASSERT_EQ(requests.size(), touched);
    uint64_t total = 0;
    for (size_t n = 0; n < requests.size(); ++n) {
      EXPECT_EQ(requests[n].address, buffer + offset + total);
      EXPECT_TRUE(n == 0 || requests[n].address % page_bytes == 0);
      total += requests[n].bytes;
    }
    EXPECT_EQ(total, bytes);
    auto expected = before;
    std::copy(sent.begin(), sent.end(), expected.begin() + static_cast<ptrdiff_t>(offset));
    std::vector<std::byte> all(expected.size());
    it.driver.copy_to_host(it.context, all, buffer).value();
    EXPECT_EQ(all, expected);
  }
}

TEST(driver_timed_copy, each_page_is_asked_of_its_owner_the_cpu_among_them) {
  machine it({8, 8});
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 4 * page_bytes).value();
  it.driver.contexts().remap(it.context, buffer + page_bytes, 1, 2).value();
  it.driver.contexts().remap(it.context, buffer + 2 * page_bytes, 1, cpu_device).value();
  const auto sent = pattern(4 * page_bytes);
  it.driver.copy_to_device(it.context, buffer, sent).value();
  std::vector<device_id> asked;
  for (const trace_record& each : it.trace.of(trace_kind::request_leaves)) asked.push_back(each.device);
  EXPECT_EQ(asked, (std::vector<device_id>{1, 2, 0, 1}));
  std::vector<std::byte> seen(sent.size());
  it.driver.copy_to_host(it.context, seen, buffer).value();
  EXPECT_EQ(seen, sent);
}

TEST(driver_timed_copy, two_at_once_each_wait_for_their_own_fixed_part) {
  machine it;
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 2 * page_bytes).value();
  const auto bytes = pattern(64);
  const queue_id first = it.queue();
  const queue_id second = it.queue();
  it.driver.queues().enqueue_copy_to_device(first, buffer, bytes).value();
  it.driver.signal();
  // The second one begins in the middle of the first one's delay.
  it.driver.engine().run_until(4'000'000);
  it.driver.queues().enqueue_copy_to_device(second, buffer + page_bytes, bytes).value();
  it.driver.drain(second).value();
  const auto left = it.trace.of(trace_kind::request_leaves);
  ASSERT_EQ(left.size(), 2u);
  EXPECT_GE(left[0].time, 6'000'000u);
  EXPECT_LE(left[0].time, 6'003'000u);
  EXPECT_GE(left[1].time, 10'000'000u);
  EXPECT_LE(left[1].time, 10'003'000u);
}

TEST(driver_timed_copy, times_are_those_of_the_settings) {
  driver_settings settings = small();
  settings.copy = 20'000;
  settings.posted = 3'000;
  settings.copy_byte = 2;
  machine it({8}, settings);
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 64).value();
  it.driver.copy_to_device(it.context, buffer, pattern(64)).value();
  const auto seen = it.trace.records;
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_EQ(seen[1].kind, trace_kind::request_leaves);
  EXPECT_EQ(seen[2].kind, trace_kind::request_arrives);
  EXPECT_EQ(seen[2].time - seen[1].time, 3'000u + 2 * 64);
  EXPECT_GE(seen[1].time, 20'000u);
}

TEST(driver_timed_copy, mistakes_are_errors) {
  machine it;
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 100).value();
  const auto bytes = pattern(101);
  EXPECT_TRUE(fails(it.driver.copy_to_device(it.context, buffer, bytes), "out of bounds", {"100 bytes", "101 bytes"}));
  EXPECT_TRUE(fails(it.driver.copy_to_device(it.context, buffer, {}), "invalid value"));
  EXPECT_TRUE(fails(it.driver.copy_to_device(it.context, 0, bytes), "invalid pointer"));
  EXPECT_TRUE(fails(it.driver.copy_to_device(it.driver.contexts().create_context(), buffer, bytes), "invalid pointer"));
  it.driver.contexts().free(it.context, buffer).value();
  EXPECT_TRUE(fails(it.driver.copy_to_device(it.context, buffer, bytes), "invalid pointer", {"given back"}));
}

TEST(driver_timed_copy, many_pages_push_back_on_a_small_port_and_arrive_all_the_same) {
  driver_settings settings = small();
  settings.port_requests = 1;
  machine it({64}, settings);
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 50 * page_bytes).value();
  const auto sent = pattern(50 * page_bytes);
  it.driver.copy_to_device(it.context, buffer, sent).value();
  std::vector<std::byte> seen(sent.size());
  it.driver.copy_to_host(it.context, seen, buffer).value();
  EXPECT_EQ(seen, sent);
}

// -- instant copy

TEST(driver_instant_copy, takes_no_virtual_time_and_leaves_in_the_same_tick) {
  driver_settings settings = small();
  settings.copies = copy_model::instant;
  machine it({8}, settings);
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 3 * page_bytes).value();
  const auto sent = pattern(3 * page_bytes);
  const queue_id queue = it.queue();
  it.driver.queues().enqueue_copy_to_device(queue, buffer, sent).value();
  it.driver.drain(queue).value();
  ASSERT_EQ(it.trace.records.size(), 2u);
  EXPECT_EQ(it.trace.records[0].time, it.trace.records[1].time);
}

// -- dirty marks

struct marks : machine {
  explicit marks(const std::vector<uint64_t>& gpus = {16}, const driver_settings& settings = small())
      : machine(gpus, settings) {
    buffer = driver.contexts().allocate(context, page_bytes).value();
    back.resize(64);
  }
  size_t flushes() const { return trace.count(trace_kind::command_ends, command_kind::flush); }
  void launch() { driver.launch(context, a_launch()).value(); }
  void copy_back() { driver.copy_to_host(context, back, buffer).value(); }
  uint64_t buffer = 0;
  std::vector<std::byte> back;
};

TEST(driver_dirty_mark, a_copy_back_flushes_once_after_a_launch_and_not_again) {
  marks it;
  it.copy_back();
  EXPECT_EQ(it.flushes(), 0u) << "clean";
  it.launch();
  it.copy_back();
  EXPECT_EQ(it.flushes(), 1u);
  it.copy_back();
  it.copy_back();
  EXPECT_EQ(it.flushes(), 1u);
  it.launch();
  it.launch();
  it.launch();
  it.copy_back();
  EXPECT_EQ(it.flushes(), 2u) << "several launches need one flush";
}

TEST(driver_dirty_mark, copies_to_the_device_never_flush) {
  marks it;
  it.launch();
  it.driver.copy_to_device(it.context, it.buffer, pattern(64)).value();
  EXPECT_EQ(it.flushes(), 0u);
  it.copy_back();
  EXPECT_EQ(it.flushes(), 1u);
}

TEST(driver_dirty_mark, a_launch_that_is_queued_and_has_not_run_counts) {
  marks it;
  const queue_id queue = it.queue();
  it.driver.queues().enqueue_launch(queue, a_launch()).value();
  it.driver.queues().enqueue_copy_to_host(queue, it.back, it.buffer).value();
  it.driver.queues().enqueue_copy_to_host(queue, it.back, it.buffer).value();
  it.driver.queues().enqueue_launch(queue, a_launch()).value();
  it.driver.queues().enqueue_copy_to_host(queue, it.back, it.buffer).value();
  it.driver.drain(queue).value();
  EXPECT_EQ(it.trace.ended(), (std::vector<command_kind>{copy_to_device, copy_to_device, copy_to_device, launch, flush,
                                                         copy_to_host, copy_to_host, copy_to_device, copy_to_device,
                                                         copy_to_device, launch, flush, copy_to_host}));
  it.copy_back();
  EXPECT_EQ(it.flushes(), 2u);
}

TEST(driver_dirty_mark, contexts_of_one_process_share_it_and_other_processes_do_not) {
  marks it;
  const context_id beside = it.driver.contexts().create_context_beside(it.context).value();
  const context_id other = it.driver.contexts().create_context();
  const uint64_t theirs = it.driver.contexts().allocate(other, 64).value();
  it.driver.launch(beside, a_launch()).value();
  it.driver.copy_to_host(other, it.back, theirs).value();
  EXPECT_EQ(it.flushes(), 0u);
  it.copy_back();
  EXPECT_EQ(it.flushes(), 1u);
}

TEST(driver_dirty_mark, a_flush_of_one_queue_does_not_excuse_another_before_it_has_happened) {
  marks it;
  have_kernel_write(it, it.buffer, pattern(64, 8));
  it.launch();
  const queue_id slow = it.queue();
  const queue_id fast = it.queue();
  std::vector<std::byte> other(64);
  // The first queue's flush comes behind a long copy; the second one's copy must not rely on it.
  const uint64_t far = it.driver.contexts().allocate(it.context, 8 * page_bytes).value();
  const auto bytes = pattern(8 * page_bytes);
  it.driver.queues().enqueue_copy_to_device(slow, far, bytes).value();
  it.driver.queues().enqueue_copy_to_host(slow, other, it.buffer).value();
  it.driver.queues().enqueue_copy_to_host(fast, it.back, it.buffer).value();
  it.driver.drain(fast).value();
  EXPECT_EQ(it.back, pattern(64, 8));
  it.driver.drain(slow).value();
  EXPECT_EQ(other, pattern(64, 8));
  EXPECT_EQ(it.flushes(), 2u);
  it.copy_back();
  EXPECT_EQ(it.flushes(), 2u);
}

TEST(driver_dirty_mark, a_launch_in_another_queue_is_not_lost_to_a_flush_that_comes_too_early) {
  marks it;
  const queue_id kernels = it.queue();
  const queue_id copies = it.queue();
  it.kernels.what = [&](const work_group&, group_memory_port& memory) {
    memory.write(it.buffer, pattern(64, 9));
    return execution{.duration = 50'000'000};
  };
  it.driver.queues().enqueue_launch(kernels, a_launch()).value();
  // Flushed long before the kernel ends, which is no mistake: nothing orders the two.
  it.driver.queues().enqueue_copy_to_host(copies, it.back, it.buffer).value();
  it.driver.drain(copies).value();
  it.driver.drain(kernels).value();
  // But this one comes behind the kernel.
  it.driver.queues().enqueue_copy_to_host(copies, it.back, it.buffer).value();
  it.driver.drain(copies).value();
  EXPECT_EQ(it.back, pattern(64, 9));
}

TEST(driver_dirty_mark, a_result_that_is_copied_back_is_never_stale_and_without_the_flush_it_is) {
  for (const copy_model copies : {copy_model::timed, copy_model::instant})
    for (const bool flushed : {true, false}) {
      driver_settings settings = small();
      settings.copies = copies;
      settings.flush_before_copy = flushed;
      marks it({16}, settings);
      it.driver.copy_to_device(it.context, it.buffer, pattern(64, 1)).value();
      have_kernel_write(it, it.buffer, pattern(64, 2));
      it.launch();
      it.copy_back();
      EXPECT_EQ(it.back, pattern(64, flushed ? 2 : 1));
    }
}

TEST(driver_dirty_mark, a_buffer_within_the_range_of_a_copy_is_no_exception) {
  marks it;
  const uint64_t large = it.driver.contexts().allocate(it.context, 3 * page_bytes).value();
  have_kernel_write(it, large + page_bytes + 5, pattern(64, 4));
  it.launch();
  std::vector<std::byte> all(3 * page_bytes);
  it.driver.copy_to_host(it.context, all, large).value();
  const auto written = pattern(64, 4);
  EXPECT_TRUE(std::equal(written.begin(), written.end(), all.begin() + page_bytes + 5));
}

TEST(driver_dirty_mark, what_a_copy_has_written_no_flush_takes_back) {
  marks it;
  have_kernel_write(it, it.buffer, pattern(64, 1));
  it.launch();
  it.driver.copy_to_device(it.context, it.buffer + 8, pattern(16, 2)).value();
  it.copy_back();
  auto expected = pattern(64, 1);
  const auto over = pattern(16, 2);
  std::copy(over.begin(), over.end(), expected.begin() + 8);
  EXPECT_EQ(it.back, expected);
}

TEST(driver_dirty_mark, dirty_bytes_of_memory_that_was_given_back_are_forgotten) {
  marks it({2});
  have_kernel_write(it, it.buffer, pattern(64, 1));
  it.driver.contexts().free(it.context, it.buffer).value();
  marks fresh({5});
  have_kernel_write(fresh, fresh.buffer, pattern(64, 1));
  fresh.launch();
  fresh.driver.contexts().free(fresh.context, fresh.buffer).value();
  const uint64_t again = fresh.driver.contexts().allocate(fresh.context, 5 * page_bytes).value();
  std::vector<std::byte> all(5 * page_bytes);
  fresh.driver.copy_to_host(fresh.context, all, again).value();
  EXPECT_EQ(all, std::vector<std::byte>(all.size()));
}

// -- flush before copy

TEST(driver_flush_before_copy, no_byte_is_asked_for_before_all_gpus_have_answered) {
  marks it({16, 16, 16});
  it.launch();
  it.trace.records.clear();
  it.copy_back();
  std::vector<device_id> flushed;
  bool read = false;
  size_t answered = 0;
  for (const trace_record& each : it.trace.records) {
    if (each.kind == trace_kind::request_leaves && each.asked == request_kind::flush) flushed.push_back(each.device);
    if (each.kind == trace_kind::answer_arrives && each.asked == request_kind::flush) ++answered;
    if (each.kind == trace_kind::request_leaves && each.asked == request_kind::read) {
      read = true;
      EXPECT_EQ(answered, 3u);
    }
  }
  EXPECT_TRUE(read);
  EXPECT_EQ(flushed, (std::vector<device_id>{1, 2, 3}));
}

TEST(driver_flush_before_copy, one_may_be_enqueued_by_hand) {
  marks it;
  have_kernel_write(it, it.buffer, pattern(64, 3));
  it.launch();
  EXPECT_EQ(it.driver.gpu_of(1)->cache().dirty_bytes(), 64u);
  const queue_id queue = it.queue();
  it.driver.queues().enqueue_flush(queue).value();
  it.driver.drain(queue).value();
  EXPECT_EQ(it.driver.gpu_of(1)->cache().dirty_bytes(), 0u);
  it.copy_back();
  EXPECT_EQ(it.flushes(), 1u);
  EXPECT_EQ(it.back, pattern(64, 3));
}

// -- copies on devices

TEST(driver_copy_on_devices, any_range_goes_from_gpu_to_gpu_timed_and_at_once) {
  constexpr uint64_t pages = 4;
  scheduler::random_stream random(7);
  for (const copy_model how : {copy_model::timed, copy_model::instant})
    for (int round = 0; round < 50; ++round) {
      driver_settings settings = small();
      settings.copies = how;
      machine it({16, 16, 16}, settings);
      // The pages of one are on GPU 1, those of the other on GPUs 2 and 3.
      const uint64_t from = it.driver.contexts().allocate(it.context, pages * page_bytes).value();
      it.select(it.unified({2, 3}));
      const uint64_t to = it.driver.contexts().allocate(it.context, pages * page_bytes).value();
      const auto sent = pattern(pages * page_bytes, 3);
      auto expected = pattern(pages * page_bytes, 4);
      it.driver.copy_to_device(it.context, from, sent).value();
      it.driver.copy_to_device(it.context, to, expected).value();
      const uint64_t bytes = 1 + random.below(static_cast<uint32_t>(pages * page_bytes));
      const uint64_t at = random.below(static_cast<uint32_t>(pages * page_bytes - bytes + 1));
      const uint64_t source = random.below(static_cast<uint32_t>(pages * page_bytes - bytes + 1));
      const queue_id queue = it.queue();
      ASSERT_TRUE(works(it.driver.queues().enqueue_copy_on_device(queue, to + at, from + source, bytes)));
      ASSERT_TRUE(works(it.driver.drain(queue)));
      std::copy_n(sent.begin() + static_cast<ptrdiff_t>(source), bytes, expected.begin() + static_cast<ptrdiff_t>(at));
      std::vector<std::byte> seen(expected.size());
      it.driver.copy_to_host(it.context, seen, to).value();
      ASSERT_EQ(seen, expected) << bytes << " bytes from " << source << " to " << at;
    }
}

TEST(driver_copy_on_devices, brings_what_a_kernel_has_left_in_a_cache) {
  marks it;
  const uint64_t other = it.driver.contexts().allocate(it.context, 64).value();
  have_kernel_write(it, it.buffer, pattern(64, 8));
  it.launch();
  const queue_id queue = it.queue();
  it.driver.queues().enqueue_copy_on_device(queue, other, it.buffer, 64).value();
  it.driver.drain(queue).value();
  EXPECT_EQ(it.flushes(), 1u);
  it.driver.copy_to_host(it.context, it.back, other).value();
  EXPECT_EQ(it.back, pattern(64, 8));
  EXPECT_EQ(it.flushes(), 1u) << "no kernel has come in between";
}

TEST(driver_copy_on_devices, each_side_must_be_one_buffer_and_is_in_use_meanwhile) {
  machine it;
  const uint64_t one = it.driver.contexts().allocate(it.context, 64).value();
  const uint64_t other = it.driver.contexts().allocate(it.context, 64).value();
  const queue_id queue = it.queue();
  EXPECT_FALSE(it.driver.queues().enqueue_copy_on_device(queue, one, 0x123456, 64));
  EXPECT_FALSE(it.driver.queues().enqueue_copy_on_device(queue, one, other, 2 * page_bytes));
  EXPECT_FALSE(it.driver.queues().enqueue_copy_on_device(queue, 0x123456, other, 64));
  it.driver.queues().enqueue_copy_on_device(queue, one, other, 64).value();
  EXPECT_TRUE(fails(it.driver.contexts().free(it.context, one), "in use"));
  EXPECT_TRUE(fails(it.driver.contexts().free(it.context, other), "in use"));
  it.driver.drain(queue).value();
  EXPECT_TRUE(works(it.driver.contexts().free(it.context, one)));
  EXPECT_TRUE(works(it.driver.contexts().free(it.context, other)));
}

}  // namespace
}  // namespace heddle::driver::tests
