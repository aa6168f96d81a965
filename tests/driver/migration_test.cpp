// Pages that move to the GPU that uses them: row 27 of the driver's table.
#include "machine.h"

#include <heddle/scheduler/random_stream.h>

#include <algorithm>

namespace heddle::driver::tests {
namespace {

/// Each group reads a word, adds to it and writes it back; it comes again when its page has arrived.
void have_groups_add(machine& it, uint64_t address) {
  it.kernels.what = [address](const work_group& group, group_memory_port& memory) -> execution {
    uint64_t word = 0;
    if (memory.read(address, bytes_of(word)) == access::waits) return {.how = execution::state::waits};
    word += group.flat + 1;
    if (memory.write(address, bytes_of(word)) == access::waits) return {.how = execution::state::waits};
    return {};
  };
}

uint64_t word_at(machine& it, uint64_t address) {
  uint64_t word = 0;
  it.driver.copy_to_host(it.context, bytes_of(word), address).value();
  return word;
}

std::vector<std::pair<request_kind, device_id>> migration_requests(const machine& it) {
  std::vector<std::pair<request_kind, device_id>> all;
  for (const trace_record& each : it.trace.of(trace_kind::request_leaves))
    if (each.command == 0) all.emplace_back(each.asked, each.device);
  return all;
}

TEST(driver_page_migration, a_unified_page_moves_to_the_gpu_that_uses_it_with_its_bytes) {
  machine it({16, 16});
  const uint64_t buffer = it.driver.contexts().allocate_unified(it.context, 2 * page_bytes).value();
  const auto bytes = pattern(2 * page_bytes);
  it.driver.copy_to_device(it.context, buffer, bytes).value();
  it.select(2);
  std::vector<std::byte> seen(page_bytes);
  it.kernels.what = [&](const work_group&, group_memory_port& memory) -> execution {
    if (memory.read(buffer, seen) == access::waits) return {.how = execution::state::waits};
    return {};
  };
  const uint64_t free_before = it.free_pages(1);
  it.driver.launch(it.context, a_launch()).value();
  EXPECT_TRUE(std::equal(seen.begin(), seen.end(), bytes.begin()));
  EXPECT_EQ(it.owners(buffer, 2), (std::vector<device_id>{2, 1}));
  EXPECT_TRUE(it.entry(buffer).pinned);
  EXPECT_FALSE(it.entry(buffer).migrating);
  EXPECT_EQ(it.free_pages(1), free_before + 1) << "the old page can be used again";
  EXPECT_EQ(it.driver.pages_moved(), 1u);
  EXPECT_TRUE(works(it.driver.contexts().free(it.context, buffer)));
  EXPECT_EQ(it.free_pages(2), 16u);
}

TEST(driver_page_migration, its_steps_in_their_order) {
  machine it({16, 16, 16});
  const uint64_t buffer = it.driver.contexts().allocate_unified(it.context, 8).value();
  it.select(3);
  have_groups_add(it, buffer);
  it.driver.launch(it.context, a_launch()).value();
  using enum request_kind;
  EXPECT_EQ(migration_requests(it), (std::vector<std::pair<request_kind, device_id>>{{drain_rdma, 1},
                                                                                     {drain_rdma, 2},
                                                                                     {drain_rdma, 3},
                                                                                     {shoot_down, 1},
                                                                                     {copy_page, 3},
                                                                                     {restart, 1},
                                                                                     {restart_rdma, 1},
                                                                                     {restart_rdma, 2},
                                                                                     {restart_rdma, 3}}));
}

TEST(driver_page_migration, happens_once_and_a_third_gpu_reads_from_afar) {
  machine it({16, 16, 16});
  const uint64_t buffer = it.driver.contexts().allocate_unified(it.context, 8).value();
  have_groups_add(it, buffer);
  for (const device_id gpu : {2u, 3u, 1u, 2u}) {
    it.select(gpu);
    it.driver.launch(it.context, a_launch({3, 1, 1}, {1, 1, 1})).value();
    EXPECT_EQ(it.owners(buffer, 1), (std::vector<device_id>{2}));
  }
  EXPECT_EQ(it.driver.pages_moved(), 1u);
  EXPECT_EQ(word_at(it, buffer), 4u * 6);
}

TEST(driver_page_migration, a_page_that_is_not_unified_stays) {
  machine it({16, 16});
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 8).value();
  it.select(2);
  have_groups_add(it, buffer);
  it.driver.launch(it.context, a_launch()).value();
  EXPECT_EQ(it.owners(buffer, 1), (std::vector<device_id>{1}));
  EXPECT_EQ(word_at(it, buffer), 1u);
}

TEST(driver_page_migration, moves_from_the_cpu_too) {
  machine it({16});
  it.select(cpu_device);
  const uint64_t buffer = it.driver.contexts().allocate_unified(it.context, 8).value();
  it.select(1);
  have_groups_add(it, buffer);
  it.driver.launch(it.context, a_launch()).value();
  EXPECT_EQ(it.owners(buffer, 1), (std::vector<device_id>{1}));
  EXPECT_EQ(word_at(it, buffer), 1u);
}

TEST(driver_page_migration, takes_along_what_is_only_in_a_cache) {
  machine it({16, 16});
  const uint64_t buffer = it.driver.contexts().allocate_unified(it.context, 8).value();
  have_groups_add(it, buffer);
  it.driver.launch(it.context, a_launch()).value();
  EXPECT_GT(it.driver.gpu_of(1)->cache().dirty_bytes(), 0u);
  it.select(2);
  it.driver.launch(it.context, a_launch()).value();
  EXPECT_EQ(it.owners(buffer, 1), (std::vector<device_id>{2}));
  EXPECT_EQ(word_at(it, buffer), 2u);
}

TEST(driver_page_migration, to_a_full_gpu_does_not_happen_and_the_page_is_used_from_afar) {
  machine it({16, 4});
  const uint64_t buffer = it.driver.contexts().allocate_unified(it.context, 8).value();
  it.select(2);
  const uint64_t full = it.driver.contexts().allocate(it.context, page_bytes).value();
  have_groups_add(it, buffer);
  // The launch itself takes three.
  it.driver.launch(it.context, a_launch()).value();
  EXPECT_EQ(it.owners(buffer, 1), (std::vector<device_id>{1}));
  EXPECT_EQ(it.driver.pages_moved(), 0u);
  EXPECT_EQ(word_at(it, buffer), 1u);
  EXPECT_TRUE(works(it.driver.contexts().free(it.context, full)));
}

TEST(driver_page_migration, a_page_that_moves_can_be_neither_freed_nor_remapped) {
  machine it({16, 16});
  const uint64_t buffer = it.driver.contexts().allocate_unified(it.context, 8).value();
  it.select(2);
  have_groups_add(it, buffer);
  const queue_id queue = it.queue();
  it.driver.queues().enqueue_launch(queue, a_launch()).value();
  it.driver.signal();
  while (!it.entry(buffer).migrating) ASSERT_TRUE(it.driver.step());
  EXPECT_TRUE(fails(it.driver.contexts().free(it.context, buffer), "in use", {"migrated"}));
  EXPECT_TRUE(fails(it.driver.contexts().remap(it.context, buffer, 8, 1), "in use"));
  // A copy of it waits.
  uint64_t word = 0;
  const queue_id copies = it.queue();
  it.driver.queues().enqueue_copy_to_host(copies, bytes_of(word), buffer).value();
  it.driver.drain(copies).value();
  it.driver.drain(queue).value();
  EXPECT_EQ(word_at(it, buffer), 1u);
  EXPECT_TRUE(works(it.driver.contexts().free(it.context, buffer)));
}

TEST(driver_page_migration, waits_for_copies_that_are_under_way) {
  driver_settings settings = small();
  settings.copy = 0;
  settings.copy_byte = 100'000;  // a page takes a long time on the link
  settings.launch = 1'000;
  machine it({16, 16}, settings);
  const uint64_t buffer = it.driver.contexts().allocate_unified(it.context, page_bytes).value();
  it.select(2);
  have_groups_add(it, buffer);
  const queue_id kernels = it.queue();
  const queue_id copies = it.queue();
  const auto bytes = std::vector<std::byte>(page_bytes, std::byte{0});
  auto counted = bytes;
  counted[0] = std::byte{40};
  it.driver.queues().enqueue_launch(kernels, a_launch()).value();
  it.driver.queues().enqueue_copy_to_device(copies, buffer, counted).value();
  it.driver.drain(kernels).value();
  it.driver.drain(copies).value();
  EXPECT_EQ(it.owners(buffer, 1), (std::vector<device_id>{2}));
  EXPECT_EQ(word_at(it, buffer), 41u) << "the copy first, then the move, then the kernel";
}

TEST(driver_page_migration, the_order_of_many_is_the_same_each_time) {
  constexpr uint64_t seed = 77;
  const auto run = [&] {
    scheduler::random_stream random(seed);
    machine it({64, 64, 64, 64});
    const uint64_t buffer = it.driver.contexts().allocate_unified(it.context, 20 * page_bytes).value();
    it.select(it.unified({1, 2, 3, 4}));
    std::vector<uint64_t> wanted(200);
    for (uint64_t& each : wanted) each = buffer + random.below(20) * page_bytes + uint64_t{8} * random.below(8);
    it.kernels.what = [&](const work_group& group, group_memory_port& memory) -> execution {
      uint64_t word = 0;
      if (memory.read(wanted[group.flat], bytes_of(word)) == access::waits) return {.how = execution::state::waits};
      word += 1 + group.flat;
      memory.write(wanted[group.flat], bytes_of(word));
      return {};
    };
    it.driver.launch(it.context, a_launch({200, 1, 1}, {1, 1, 1})).value();
    // Whatever moved where, each addition was made once.
    std::vector<uint64_t> expected(20 * page_bytes / 8);
    for (uint64_t n = 0; n < 200; ++n) expected[(wanted[n] - buffer) / 8] += 1 + n;
    std::vector<uint64_t> seen(expected.size());
    it.driver.copy_to_host(it.context, std::as_writable_bytes(std::span(seen)), buffer).value();
    EXPECT_EQ(seen, expected);
    EXPECT_GT(it.driver.pages_moved(), 5u);
    return it.trace.records;
  };
  EXPECT_EQ(run(), run());
}

TEST(driver_page_migration, a_group_that_waits_for_nothing_is_an_error) {
  machine it({8});
  it.kernels.what = [](const work_group&, group_memory_port&) -> execution { return {.how = execution::state::waits}; };
  EXPECT_TRUE(fails(it.driver.launch(it.context, a_launch()), "waits for nothing"));
}

// -- what may be wrong with it ------------------------------------------------------------------------------------------------------------

/// The second GPU has written a page of the first from afar, behind a translation, and a third one then has it moved; what the second writes
/// afterwards.
uint64_t word_after_moves(driver_settings settings) {
  machine it({16, 16}, settings);
  const uint64_t buffer = it.driver.contexts().allocate_unified(it.context, 8).value();
  have_groups_add(it, buffer);
  it.driver.launch(it.context, a_launch()).value();
  it.select(2);
  it.driver.launch(it.context, a_launch()).value();
  it.select(1);
  it.driver.launch(it.context, a_launch()).value();
  return word_at(it, buffer);
}

TEST(driver_page_migration, a_translation_that_is_kept_loses_what_is_written_where_the_page_was) {
  driver_settings settings = small();
  EXPECT_EQ(word_after_moves(settings), 3u);
  settings.fault = driver_fault::kept_translation;
  EXPECT_EQ(word_after_moves(settings), 2u);
}

TEST(driver_page_migration, without_flushes_what_is_in_the_old_owners_cache_is_lost) {
  driver_settings settings = small();
  settings.flush_before_copy = false;
  machine it({16, 16}, settings);
  const uint64_t buffer = it.driver.contexts().allocate_unified(it.context, 8).value();
  have_groups_add(it, buffer);
  it.driver.launch(it.context, a_launch()).value();
  it.select(2);
  uint64_t seen = 7;
  it.kernels.what = [&](const work_group&, group_memory_port& memory) -> execution {
    if (memory.read(buffer, bytes_of(seen)) == access::waits) return {.how = execution::state::waits};
    return {};
  };
  it.driver.launch(it.context, a_launch()).value();
  EXPECT_EQ(seen, 0u);
  EXPECT_EQ(it.driver.gpu_of(1)->cache().dirty_bytes(), 0u) << "the page is another one's now";
}

TEST(driver_page_migration, a_page_that_is_copied_before_its_owner_stands_still) {
  driver_settings settings = small();
  settings.fault = driver_fault::early_copy;
  machine it({16, 16}, settings);
  const uint64_t buffer = it.driver.contexts().allocate_unified(it.context, 8).value();
  have_groups_add(it, buffer);
  it.driver.launch(it.context, a_launch()).value();
  it.trace.records.clear();
  it.select(2);
  it.driver.launch(it.context, a_launch()).value();
  // The copy leaves before the shoot-down has been answered.
  bool is_answered = false;
  bool was_early = false;
  for (const trace_record& each : it.trace.records) {
    if (each.command != 0) continue;
    is_answered = is_answered || (each.kind == trace_kind::answer_arrives && each.asked == request_kind::shoot_down);
    was_early =
        was_early || (each.kind == trace_kind::request_leaves && each.asked == request_kind::copy_page && !is_answered);
  }
  EXPECT_TRUE(was_early);
}

// -- a middleware of the user's -------------------------------------------------------------------------------------------------------

/// Answers each migration in turn, the last answer again and again.
class migration_watcher final : public middleware {
 public:
  const char* name() const override { return "watcher"; }
  handling process(command& next) override {
    if (next.kind != command_kind::migrate) return handling::not_mine;
    offered.push_back(next.describe());
    const handling now = answers.front();
    if (answers.size() > 1) answers.erase(answers.begin());
    return now;
  }
  void ended(const command& done) override { ends += done.kind == command_kind::migrate ? 1 : 0; }
  std::vector<handling> answers;
  std::vector<std::string> offered;
  uint64_t ends = 0;
};

/// The watcher of a driver whose second GPU has used a page of the first.
migration_watcher& watch_a_migration(machine& it, std::vector<handling> answers, bool deadlocks = false) {
  auto made = std::make_unique<migration_watcher>();
  migration_watcher& watcher = *made;
  watcher.answers = std::move(answers);
  it.driver.add_middleware(std::move(made), 0);
  const uint64_t buffer = it.driver.contexts().allocate_unified(it.context, 8).value();
  it.select(2);
  have_groups_add(it, buffer);
  EXPECT_EQ(bool(it.driver.launch(it.context, a_launch())), !deadlocks);
  if (!deadlocks) {
    EXPECT_EQ(word_at(it, buffer), 1u);
  }
  return watcher;
}

TEST(driver_page_migration, a_middleware_may_let_it_go_on_or_have_the_page_stay_or_hold_it_back) {
  machine goes({16, 16});
  const migration_watcher& lets = watch_a_migration(goes, {handling::not_mine});
  EXPECT_EQ(lets.offered.size(), 1u);
  EXPECT_NE(lets.offered.front().find("migrate"), std::string::npos);
  EXPECT_NE(lets.offered.front().find("4096 bytes"), std::string::npos);
  EXPECT_EQ(lets.ends, 1u);
  EXPECT_EQ(goes.driver.pages_moved(), 1u);

  machine stays({16, 16});
  const migration_watcher& has_it_stay = watch_a_migration(stays, {handling::done});
  EXPECT_EQ(has_it_stay.offered.size(), 1u);
  EXPECT_EQ(has_it_stay.ends, 1u);
  EXPECT_EQ(stays.driver.pages_moved(), 0u) << "it is used from afar";

  machine never({16, 16});
  const migration_watcher& holds = watch_a_migration(never, {handling::later}, true);
  EXPECT_GE(holds.offered.size(), 1u);
  EXPECT_EQ(holds.ends, 0u);
  EXPECT_TRUE(never.driver.migrates());
}

}  // namespace
}  // namespace heddle::driver::tests
