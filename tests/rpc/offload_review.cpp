// The review of the first patch for reverse offload on nvptx, objection by objection: what each says can happen does, and what came of the
// review is right. (gcc-patches, "[Patch] OpenMP/nvptx: reverse offload", review by A. Monakov, 2022.)
//
// R1, that it cannot be efficient, is about time: a simulator of schedules and memory has nothing to say to it. R4, that pinned host memory
// would do, is what the mailbox lies in here, with `buffer=host`. R5, R6 and R7 are about sources: reviewed_mailbox.h and
// rpc/offload/request.h are one definition for both sides, held by static assertions, and check no sizes of types.
#include "reviewed_mailbox.h"

#include <heddle/scheduler/strategy.h>
#include <heddle/tools/gtest.h>
#include <heddle/tools/trial/trial.h>

#include <algorithm>
#include <cstdio>
#include <type_traits>
#include <vector>

namespace heddle::tests {
namespace {

using reviewed::access;
using reviewed::choices;
using reviewed::memory;
using scheduler::verdict;

std::vector<parameter> few_requests() {
  return {
      parameter::number("waves", 2, 1, 64, "", "waves that make requests"),
      parameter::number("requests", 2, 1, 64, "", "requests of each"),
  };
}

template <choices Made>
void run_reviewed(const parameters& set) {
  device on;
  const uint64_t requests = uint64_t{set.count("waves")} * set.count("requests");
  constexpr bool is_copied = Made.where != memory::shared;
  auto* const at = is_copied ? on.allocate_device<reviewed::mailbox>(1, "mailbox")
                             : on.allocate_shared<reviewed::mailbox>(1, "mailbox");
  auto* const data = is_copied ? on.allocate_device<uint64_t>(2 * requests, "arguments and results")
                               : on.allocate_shared<uint64_t>(2 * requests, "arguments and results");
  auto* const own_lock = on.allocate_device<uint32_t>(1, "lock of the device");
  auto* const handled = on.allocate_shared<uint32_t>(requests, "handled requests");
  auto* const words = on.allocate_shared<uint32_t>(2, "stop flag and lock of launches");
  using word = target::atomic_ref<uint32_t, scope::system>;
  {
    std::vector<decltype(on.spawn_host("server", [] {}))> servers;
    for (uint32_t n = 0; n < (Made.two_serve ? 2 : 1); ++n)
      servers.push_back(on.spawn_host(
          "server", [serves = reviewed::server<Made>(on, at, handled, &words[1], requests), stop = words]() mutable {
            while (word(*stop).load(memory_order::acquire) == 0) {
              serves.poll();
              target::pause();
            }
          }));
    if constexpr (Made.needs_launch_lock)
      while (word(words[1]).exchange(1, memory_order::acquire) != 0) target::pause();
    on.launch({.waves = set.count("waves")}, reviewed::kernel<Made>{at, own_lock, data, set.count("requests")});
    on.synchronize();
    if constexpr (Made.needs_launch_lock) word(words[1]).store(0, memory_order::release);
    word(words[0]).store(1, memory_order::release);
  }
  for (uint64_t number = 0; number < requests; ++number)
    HEDDLE_CHECK(word(handled[number]).load(memory_order::relaxed) == 1, "a request was not run");
  uint64_t left = 1;
  on.copy(&left, &at->fn, sizeof left);
  HEDDLE_CHECK(left == 0, "a request is left in the mailbox");
}

// -- what the patch leaves empty: gomp_target_rev, and more devices than one ------------------------------------------------------------

/// A lane's variables: one of each kind.
struct mapped_variables {
  uint64_t of[4];
  rpc::offload_map_entry list[4];
};

struct mapping_kernel {
  rpc::offload_client<rpc::single_mailbox> client;
  mapped_variables* all;
  uint32_t device;
  uint32_t requests;

  void operator()() const {
    for (uint32_t n = 0; n < requests; ++n) {
      const uint64_t number = uint64_t{target::wave_id()} * requests + n;
      mapped_variables& mine = all[number];
      for (uint32_t kind = 0; kind < 4; ++kind) {
        mine.of[kind] = 100 * number + kind;
        mine.list[kind] = {reinterpret_cast<uintptr_t>(&mine.of[kind]), sizeof mine.of[kind], kind};
      }
      const auto status = client.call(
          number,
          [&](rpc::offload_line& line, uint32_t) {
            line.payload = reinterpret_cast<uintptr_t>(mine.list);
            line.payload_bytes = sizeof mine.list;
          },
          [](rpc::offload_line&, uint32_t) {});
      HEDDLE_CHECK(status == rpc::offload_status::done, "a list is refused");
      HEDDLE_CHECK(mine.of[0] == 100 * number && mine.of[1] == 100 * number + 1,
                   "a variable has come back that must not");
      HEDDLE_CHECK(mine.of[2] == 1000 * device + number && mine.of[3] == 100 * number + 3 + device,
                   "a variable has not come back");
    }
  }
};

/// One thread serves two devices, whose kernels run side by side.
template <bool Copied>
void run_mapped(const parameters& set) {
  device on;
  const uint32_t requests = set.count("waves") * set.count("requests");
  const rpc::offload_layout shape{1, 1};
  const auto copy = [&on](void* to, const void* from, size_t bytes) { on.copy(to, from, bytes); };
  using memory_type = std::conditional_t<Copied, rpc::copied_entries<decltype(copy)>, rpc::mapped_entries<target>>;
  using server_type = rpc::offload_server<rpc::single_mailbox, memory_type>;
  const auto allocate = [&]<typename T>(std::type_identity<T>, uint64_t count, const char* name) {
    if constexpr (Copied)
      return on.try_allocate_fine<T>(count, name).value();
    else
      return on.allocate_shared<T>(count, name);
  };
  auto* const stop = on.allocate_shared<uint32_t>(1, "stop flag");
  using word = target::atomic_ref<uint32_t, scope::system>;
  rpc::offload_devices<server_type> devices;
  rpc::payload_range ranges[2];
  std::vector<mapping_kernel> kernels;
  for (uint32_t n = 0; n < 2; ++n) {
    auto* const entries = allocate(std::type_identity<unsigned char>{}, shape.size_bytes(), "entries");
    auto* const variables = allocate(std::type_identity<mapped_variables>{}, requests, "variables");
    ranges[n] = {reinterpret_cast<uintptr_t>(variables), requests * sizeof *variables};
    auto* const locks = on.allocate_shared<uint32_t>(shape.lock_words(), "server locks");
    auto* const own = on.allocate_device<uint32_t>(1, "lock of the device");
    if constexpr (Copied)
      devices.add({memory_type(entries, shape, copy), locks, {.payloads = {&ranges[n], 1}}});
    else
      devices.add({memory_type(entries, shape), locks, {.payloads = {&ranges[n], 1}}});
    kernels.push_back({{entries, own, shape}, variables, n, set.count("requests")});
  }
  {
    const auto server = on.spawn_host("server", [&devices, stop] {
      while (word(*stop).load(memory_order::acquire) == 0) {
        devices.handle_mapped(
            [](uint32_t device, uint64_t number, rpc::offload_line&, rpc::offload_maps& maps, uint32_t) {
              const auto at = [&](size_t n) -> uint64_t& { return *reinterpret_cast<uint64_t*>(maps.bytes(n).data()); };
              HEDDLE_CHECK(maps.count() == 4 && at(0) == 0 && at(2) == 0, "a variable has come that must not");
              HEDDLE_CHECK(at(1) == 100 * number + 1 && at(3) == 100 * number + 3, "another request's variables");
              at(0) = at(1) = 7;
              at(2) = 1000 * uint64_t{device} + number;
              at(3) += device;
            });
        target::pause();
      }
    });
    const auto first = on.create_stream();
    const auto second = on.create_stream();
    on.launch({.waves = set.count("waves")}, kernels[0], first);
    on.launch({.waves = set.count("waves")}, kernels[1], second);
    on.synchronize();
    word(*stop).store(1, memory_order::release);
  }
}

/// The patch: the lock in the mailbox, sequentially consistent stores and loads on the device, plain ones on the host.
constexpr choices patch_of_2022 = {.lock_in_mailbox = true,
                                   .atomic_fields = true,
                                   .publish = access::seq_cst,
                                   .wait = access::seq_cst,
                                   .look = access::plain,
                                   .clear = access::plain};
/// Its other mode, in which the device alone reaches the mailbox and the host copies all of it. The lock is as today: half of a word that
/// is copied would be changed under the copy, which is a race of its own.
constexpr choices patch_that_copies = {
    .where = memory::copied_at_once, .atomic_fields = true, .publish = access::seq_cst, .wait = access::seq_cst};

struct objection {
  const char* name;
  void (*body)(const parameters&);
  std::vector<verdict> predicted;
  std::vector<std::string> settings;
};

const std::vector<objection>& objections() {
  static const std::vector<objection> all = {
      {"patch_as_it_was", run_reviewed<patch_of_2022>, {verdict::race}, {}},
      {"r2_lock_across_a_link_without_atomics",
       run_reviewed<choices{.lock_in_mailbox = true}>,
       {verdict::assertion, verdict::deadlock},
       {"fidelity=link", "link.rmw=split"}},
      {"r2_lock_across_a_link_that_refuses_atomics",
       run_reviewed<choices{.lock_in_mailbox = true}>,
       {verdict::memory},
       {"fidelity=link", "link.rmw=refused"}},
      {"r3_copy_that_sees_atomics_in_another_order", run_reviewed<patch_that_copies>, {verdict::assertion}, {}},
      {"r3_copy_of_what_is_stored_plainly",
       run_reviewed<choices{.where = memory::copied_at_once}>,
       {verdict::race},
       {}},
      {"r8_request_that_cannot_be_made_and_says_nothing",
       run_reviewed<choices{.says_nothing = true}>,
       {verdict::assertion},
       {}},
      {"r9_publishing_store_that_is_relaxed", run_reviewed<choices{.publish = access::relaxed}>, {verdict::race}, {}},
      {"r9_publishing_store_that_is_plain", run_reviewed<choices{.publish = access::plain}>, {verdict::race}, {}},
      {"r9_publishing_store_of_device_scope",
       run_reviewed<choices{.publish = access::device_scope}>,
       {verdict::scope_race},
       {}},
      {"r9_publishing_store_that_comes_first", run_reviewed<choices{.publishes_first = true}>, {verdict::race}, {}},
      {"r10_host_that_looks_plainly", run_reviewed<choices{.look = access::plain}>, {verdict::race}, {}},
      {"r10_host_that_looks_relaxed", run_reviewed<choices{.look = access::relaxed}>, {verdict::race}, {}},
      {"r11_host_that_clears_plainly", run_reviewed<choices{.clear = access::plain}>, {verdict::race}, {}},
      {"r11_host_that_clears_relaxed", run_reviewed<choices{.clear = access::relaxed}>, {verdict::race}, {}},
      // Not raised there.
      {"device_that_waits_relaxed", run_reviewed<choices{.wait = access::relaxed}>, {verdict::race}, {}},
      {"host_that_clears_before_the_results_are_back",
       run_reviewed<choices{.clears_first = true}>,
       {verdict::race, verdict::assertion},
       {}},
      {"copies_of_results_that_come_behind_the_clearing",
       run_reviewed<choices{.where = memory::copied, .clears_first = true}>,
       {verdict::race, verdict::assertion},
       {}},
      {"device_without_a_lock", run_reviewed<choices{.no_lock = true}>, {verdict::race}, {}},
      {"device_without_a_lock_in_one_memory",
       run_reviewed<choices{.no_lock = true}>,
       {verdict::assertion},
       {"fidelity=interleaving"}},
      {"two_threads_that_serve_and_claim_nothing",
       run_reviewed<choices{.two_serve = true}>,
       {verdict::assertion},
       {"fidelity=interleaving"}},
      {"function_that_needs_the_lock_of_the_launch",
       run_reviewed<choices{.needs_launch_lock = true}>,
       {verdict::deadlock},
       {}},
  };
  return all;
}

constexpr uint64_t schedules_max = 3000;

struct trial_of {
  sim::simulation machine;
  tools::trial made;

  trial_of(const scenario& tested, const std::vector<std::string>& settings, bool stops_at_first) {
    std::string error;
    const auto deciding = scheduler::make_strategy("mix", error);
    scheduler::campaign_options options;
    options.schedules = schedules_max;
    if (stops_at_first) options.found = [](const scheduler::finding&) { return false; };
    const tools::settings_or_error set = tools::settings_of(tested, sim::machine_parameters(), settings);
    if (!set.value) {
      ADD_FAILURE() << set.error;
      return;
    }
    made = tools::run_trial(machine, tested, *set.value, "mix", *deciding, options);
  }
};

class an_objection : public testing::TestWithParam<objection> {};

TEST_P(an_objection, is_shown) {
  const objection& raised = GetParam();
  const scenario tested = {.name = std::string("review.") + raised.name,
                           .summary = "the reviewed mailbox, with one thing wrong",
                           .parameters = few_requests(),
                           .body = raised.body};
  const trial_of trial(tested, raised.settings, true);
  ASSERT_FALSE(trial.made.runs.findings.empty()) << "survived " << trial.made.runs.schedules << " schedules";
  const scheduler::finding& found = trial.made.runs.findings.front();
  EXPECT_EQ(found.not_reproducible, "");
  const verdict seen = found.first.outcome;
  EXPECT_NE(std::find(raised.predicted.begin(), raised.predicted.end(), seen), raised.predicted.end())
      << to_string(seen) << ": " << found.message;
  std::printf("%s after %llu schedules: %s\n", std::string(to_string(seen)).c_str(),
              static_cast<unsigned long long>(trial.made.runs.schedules), found.message.c_str());
}

INSTANTIATE_TEST_SUITE_P(heddle, an_objection, testing::ValuesIn(objections()),
                         [](const auto& of) { return std::string(of.param.name); });

struct answer {
  const char* name;
  void (*body)(const parameters&);
  std::vector<std::string> settings;
};

class an_answer : public testing::TestWithParam<answer> {};

TEST_P(an_answer, is_silent) {
  const answer& given = GetParam();
  const scenario tested = {.name = std::string("review.") + given.name,
                           .summary = "the reviewed mailbox",
                           .parameters = few_requests(),
                           .body = given.body};
  const trial_of trial(tested, given.settings, false);
  EXPECT_EQ(trial.made.runs.schedules, schedules_max);
  EXPECT_TRUE(trial.made.runs.findings.empty())
      << to_string(trial.made.seen()) << ": " << trial.made.runs.findings.front().message;
}

const answer answers[] = {
    // Fields stored plainly, one release and one acquire each way.
    {"as_the_review_would_have_it", run_reviewed<choices{}>, {}},
    {"over_a_link_without_atomics", run_reviewed<choices{}>, {"fidelity=link", "link.rmw=refused"}},
    {"under_obe", run_reviewed<choices{}>, {"progress=obe"}},
    {"in_memory_of_the_device_that_the_host_maps", run_reviewed<choices{}>, {"buffer=device"}},
    {"copied_turn_by_turn", run_reviewed<choices{.where = memory::copied}>, {}},
    {"copied_turn_by_turn_under_obe", run_reviewed<choices{.where = memory::copied}>, {"progress=obe"}},
    // The host is an x86, and a machine with one memory has the patch right: what it lacks is in the words.
    {"patch_in_one_memory", run_reviewed<patch_of_2022>, {"fidelity=interleaving"}},
    {"with_variables_of_each_kind_of_two_devices", run_mapped<false>, {}},
    {"with_variables_of_each_kind_of_two_devices_by_copies", run_mapped<true>, {}},
    {"with_variables_of_each_kind_over_a_link_without_atomics",
     run_mapped<false>,
     {"fidelity=link", "link.rmw=refused"}},
    {"stronger_than_needed",
     run_reviewed<choices{.atomic_fields = true,
                          .publish = access::seq_cst,
                          .wait = access::seq_cst,
                          .look = access::seq_cst,
                          .clear = access::seq_cst}>,
     {}},
};

INSTANTIATE_TEST_SUITE_P(heddle, an_answer, testing::ValuesIn(answers),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace heddle::tests
