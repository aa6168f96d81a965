// Same program, same settings, same seed: the same run, to the bit; whatever ran before, and in every process.
#include <heddle/scheduler/random_stream.h>
#include <heddle/sim/cached.h>
#include <heddle/sim/core/turn_order.h>
#include <heddle/sim/named_slots.h>
#include <heddle/sim/requests.h>
#include <heddle/sim/settings.h>
#include <heddle/sim/simulation.h>

#include "fixed_program.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace heddle::sim::tests::determinism_test {
namespace {

void program_with_a_hang() {
  device host;
  auto* const flag = host.allocate_shared<uint32_t>(100, "flag");
  host.launch({.blocks = 3, .waves = 2, .lanes = 5}, [flag] {
    flag[target::lane_id()] = 1;
    while (word<uint32_t>(flag[50]).load(memory_order::acquire) == 0) target::pause();
  });
  host.synchronize();
}

/// What lies where an earlier call of it, or an earlier run, may have left something.
[[gnu::noinline]] uint64_t found_below(bool leaves_something) {
  constexpr size_t count = 200;
  uint64_t words[count];
  asm volatile("" : : "r"(words) : "memory");
  uint64_t found = 0;
  for (uint64_t& each : words) {
    if (leaves_something)
      each = 77;
    else
      found |= each == 77 ? each : 0;
  }
  asm volatile("" : : "r"(words) : "memory");
  return found;
}

TEST(determinism, stacks_have_nothing_of_the_run_before) {
  const auto program = [] {
    const auto look = [] {
      const uint64_t found = found_below(false);
      SIM_CHECK(found == 0);
      found_below(true);
    };
    device host;
    look();
    host.launch({.blocks = 2, .waves = 1, .lanes = 3}, look);
    auto thread = host.spawn_host("thread", look);
    host.synchronize();
    thread.join();
  };
  EXPECT_TRUE(always(verdict::ok, machine({"fidelity=scoped"}).run_many(program, 20)));
}

TEST(determinism, a_seed_gives_the_same_run_however_often_and_whatever_ran_before) {
  for (const std::string& strategy : all_strategies()) {
    machine on({}, strategy);
    const outcome first = on.run(fixed_program, 7);
    ASSERT_EQ(first.verdict, verdict::ok) << first.message;
    for (uint64_t n = 0; n < 200; ++n) {
      if (n % 3 == 0) on.run(program_with_a_hang, n);
      if (n % 5 == 0) on.run([] { throw 1; }, n);
      const outcome again = on.run(fixed_program, 7);
      ASSERT_EQ(again.digest, first.digest) << strategy << ", repetition " << n;
      ASSERT_EQ(again.steps, first.steps);
    }
  }
}

TEST(determinism, an_explained_run_is_the_same_run) {
  machine on;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const outcome plain = on.run(fixed_program, seed);
    const outcome explained = on.explain(fixed_program, seed);
    EXPECT_EQ(explained.digest, plain.digest) << "seed " << seed;
    EXPECT_EQ(explained.steps, plain.steps) << "seed " << seed;
    EXPECT_EQ(on.run(program_with_a_hang, seed).digest, on.explain(program_with_a_hang, seed).digest);
  }
}

/// Tells the simulator of many slots, and of calls and requests.
void program_that_names_things() {
  device host;
  auto* const words = host.allocate_shared<uint32_t>(64, "words");
  for (int n = 0; n < 40; ++n)
    runtime::name_slots({.name = "slots",
                         .each = "slot",
                         .count = 64,
                         .slots_per_word = 32,
                         .locks_per_word = 32,
                         .four_phase = false,
                         .client_outbox = words,
                         .server_outbox = words + 2,
                         .client_locks = words + 4,
                         .server_locks = words + 6});
  for (uint64_t id = 1; id <= 40; ++id) {
    runtime::call_begins();
    runtime::request_made(id);
    runtime::request_served(id);
    runtime::call_ends(true);
  }
  host.launch({.blocks = 1, .waves = 2, .lanes = 3}, [words] { words[target::lane_id()] = 1; });
  host.synchronize();
}

TEST(determinism, what_a_program_says_of_itself_is_no_part_of_its_run) {
  machine on;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const outcome plain = on.run(program_that_names_things, seed);
    const outcome explained = on.explain(program_that_names_things, seed);
    EXPECT_EQ(explained.digest, plain.digest) << "seed " << seed;
    EXPECT_EQ(explained.steps, plain.steps) << "seed " << seed;
  }
}

TEST(determinism, a_fresh_machine_makes_the_same_run_as_one_that_has_been_used) {
  machine used;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    used.run(program_with_a_hang, seed);
    machine fresh;
    EXPECT_EQ(used.run(fixed_program, seed).digest, fresh.run(fixed_program, seed).digest) << "seed " << seed;
  }
}

/// Leaves behind what most programs never have: memory that the device caches, a stream that waits for an event, a mutex that is held.
void program_that_leaves_much_behind() {
  device host;
  auto* const words = host.allocate_shared<uint64_t>(64, "words");
  auto* const lock = new (host.allocate_shared<std::mutex>(1, "lock")) std::mutex;
  runtime::map_cached(words);
  const device::stream in = host.create_stream();
  host.launch(
      {.blocks = 1, .waves = 1, .lanes = 2},
      [words] { (void)word<uint64_t>(words[target::lane_id()]).load(memory_order::relaxed); }, in);
  host.synchronize(in);
  lock->lock();
}

/// Its memory lies where that of the program above lay: it hangs or sees an old value where any of that is left.
void program_in_its_place() {
  device host;
  auto* const words = host.allocate_shared<uint64_t>(64, "words");
  auto* const lock = new (host.allocate_shared<std::mutex>(1, "lock")) std::mutex;
  words[0] = words[1] = 1;
  host.launch({.blocks = 1, .waves = 1, .lanes = 2}, [words] {
    while (word<uint64_t>(words[target::lane_id()]).load(memory_order::acquire) == 0) target::pause();
  });
  const std::lock_guard held(*lock);
  host.synchronize();
}

TEST(determinism, nothing_of_an_earlier_run_shows_in_a_later_one) {
  for (const std::string& strategy : all_strategies()) {
    machine used({}, strategy);
    machine fresh({}, strategy);
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      ASSERT_EQ(used.run(program_that_leaves_much_behind, seed).verdict, verdict::ok);
      const outcome expected = fresh.run(program_in_its_place, seed);
      const outcome again = used.run(program_in_its_place, seed);
      EXPECT_EQ(again.verdict, verdict::ok) << strategy << ", seed " << seed << ": " << again.message;
      EXPECT_EQ(again.digest, expected.digest) << strategy << ", seed " << seed;
      EXPECT_EQ(again.steps, expected.steps) << strategy << ", seed " << seed;
    }
  }
}

TEST(determinism, an_outcome_tells_nothing_of_an_earlier_one) {
  machine on;
  const outcome hang = on.explain(program_with_a_hang);
  ASSERT_NE(hang.verdict, verdict::ok);
  ASSERT_FALSE(hang.message.empty() || hang.report.empty() || hang.where.empty() || hang.steps_taken.empty());
  ASSERT_FALSE(hang.waiting.empty() || hang.hang.empty());
  const outcome ended = on.run(fixed_program, 7);
  EXPECT_EQ(ended.verdict, verdict::ok);
  EXPECT_EQ(ended.where + ended.message + ended.report + ended.waits + ended.hang, "");
  EXPECT_TRUE(ended.steps_taken.empty());
  EXPECT_TRUE(ended.waiting.empty());
}

TEST(determinism, other_seeds_other_programs_and_other_values_make_other_runs) {
  machine on;
  std::set<uint64_t> digests;
  for (uint64_t seed = 1; seed <= 200; ++seed) digests.insert(on.run(fixed_program, seed).digest);
  EXPECT_GT(digests.size(), 195u);
  const auto stores = [&](uint32_t value, uint32_t at, size_t count) {
    return on.run([=] {
      device host;
      host.allocate_shared<uint32_t>(count, "words")[at] = value;
    });
  };
  const uint64_t digest = stores(1, 0, 8).digest;
  EXPECT_NE(stores(2, 0, 8).digest, digest);
  EXPECT_NE(stores(1, 1, 8).digest, digest);
  EXPECT_EQ(stores(1, 0, 8).digest, digest);
}

std::string printed_by_another_process() {
  std::string text;
  FILE* const process = popen(HEDDLE_PRINT_DIGEST, "r");
  if (process == nullptr) return text;
  char part[256];
  while (std::fgets(part, sizeof part, process) != nullptr) text += part;
  return pclose(process) == 0 ? text : "";
}

TEST(determinism, another_process_that_lies_elsewhere_in_memory_makes_the_same_run) {
  const std::string first = printed_by_another_process();
  const size_t digests = first.find('\n');
  ASSERT_NE(digests, std::string::npos) << first;
  bool elsewhere = false;
  for (int n = 0; n < 5; ++n) {
    const std::string again = printed_by_another_process();
    EXPECT_EQ(again.substr(0, digests), first.substr(0, digests));
    elsewhere = elsewhere || again.substr(digests) != first.substr(digests);
  }
  if (!elsewhere) GTEST_SKIP() << "this system puts every process at the same addresses";
}

}  // namespace
}  // namespace heddle::sim::tests::determinism_test

// -- A setting that nothing would read is refused, and told where it is read.

namespace heddle::sim {
namespace {

std::string refusal(const std::vector<std::string>& assignments) {
  parameters set(machine_parameters());
  for (const std::string& each : assignments) EXPECT_FALSE(set.set(each)) << each;
  return without_effect(set).value_or("");
}

/// The setting with a value that is not its default.
std::string changed(const parameter& setting) {
  if (setting.kind == parameter::type::number)
    return setting.key + "=" +
           std::to_string(setting.default_number == setting.maximum ? setting.minimum : setting.maximum);
  if (setting.kind == parameter::type::words) return setting.key + "=any";
  return setting.key + "=" +
         (setting.default_text == setting.choices.front() ? setting.choices.back() : setting.choices.front());
}

bool is_of_memory(const std::string& key) {
  // Times are for reported latencies, too.
  if (key == "link.latency" || (key.starts_with("link.") && key.ends_with("_ns"))) return false;
  return key.starts_with("link.") || key == "buffer" || key == "late" || key == "history" || key.starts_with("races") ||
         key == "host";
}

TEST(settings, what_only_the_link_reads_is_refused_without_it) {
  EXPECT_EQ(refusal({"link.wc=on"}), "link.wc=on has no effect with fidelity=scoped; use --set fidelity=link");
  EXPECT_EQ(refusal({"link.wc=on", "fidelity=interleaving"}),
            "link.wc=on has no effect with fidelity=interleaving; use --set fidelity=link");
  EXPECT_EQ(refusal({"link.wc=on", "fidelity=link"}), "");
}

TEST(settings, what_both_late_memories_read_is_refused_where_memory_is_one) {
  for (const char* each : {"late=7", "link.pool=off", "link.ro=on", "link.drain=off", "buffer=device"}) {
    EXPECT_EQ(refusal({each}), "");
    EXPECT_EQ(refusal({each, "fidelity=link"}), "");
    EXPECT_TRUE(refusal({each, "fidelity=interleaving"}).starts_with(each)) << each;
  }
  EXPECT_EQ(refusal({"late=7", "fidelity=interleaving"}),
            "late=7 has no effect with fidelity=interleaving; use --set fidelity=scoped or --set fidelity=link");
}

TEST(settings, kinds_of_races_may_be_several) {
  EXPECT_EQ(refusal({"races.excuse=acquire"}), "");
  EXPECT_EQ(refusal({"races.excuse=after-read+acquire"}), "");
  EXPECT_EQ(refusal({"races.excuse=acquire", "races=count"}).substr(0, 49),
            "races.excuse=acquire has no effect with races=cou");
  parameters set(machine_parameters());
  for (const char* wrong :
       {"races.excuse=", "races.excuse=acquire+", "races.excuse=acquire,after-read", "races.excuse=both"})
    EXPECT_NE(set.set(wrong).value_or("").find("or several with + between them"), std::string::npos) << wrong;
  EXPECT_TRUE(set.set("races.excuse=aquire+after-read")->ends_with("did you mean \"acquire\"?"));
  EXPECT_FALSE(set.set("races.excuse=after-read+acquire"));
  EXPECT_TRUE(set.includes("races.excuse", "acquire") && set.includes("races.excuse", "after-read"));
  EXPECT_FALSE(set.includes("races.excuse", "acquire-store") || set.includes("races.excuse", "none"));
  EXPECT_EQ(refusal({"races.known=no/such"}), "cannot read the excuses in \"no/such\": No such file or directory");
}

TEST(settings, races_are_counted_only_where_they_are_looked_for) {
  EXPECT_EQ(refusal({"races=count"}), "");
  EXPECT_EQ(refusal({"races=count", "fidelity=link"}),
            "races=count has no effect with fidelity=link; use --set fidelity=scoped");
}

TEST(settings, what_the_host_is_counts_where_memory_is_scoped) {
  EXPECT_EQ(refusal({"host=weak"}), "");
  EXPECT_EQ(refusal({"host=weak", "fidelity=link"}),
            "host=weak has no effect with fidelity=link; use --set fidelity=scoped");
}

TEST(settings, times_are_taken_always_and_the_age_needs_arrivals_without_time) {
  EXPECT_EQ(refusal({"link.read_ns=7", "link.latency=heavy"}), "");
  EXPECT_EQ(refusal({"fidelity=interleaving", "link.read_ns=7", "link.latency=heavy"}), "");
  EXPECT_EQ(refusal({"fidelity=link", "link.read_ns=7"}), "");
  EXPECT_EQ(refusal({"fidelity=link", "link.age=7"}), "");
  EXPECT_EQ(refusal({"fidelity=link", "link.age=7", "link.latency=fixed"}),
            "link.age=7 has no effect with link.latency=fixed; use --set link.latency=off");
}

TEST(settings, steps_of_rings_need_rings_that_are_late) {
  EXPECT_NE(refusal({"doorbells.steps=7", "doorbells=dropped"}), "");
  EXPECT_EQ(refusal({"doorbells.steps=7", "doorbells=delayed"}), "");
}

TEST(settings, the_order_of_arms_needs_waves_with_one_program_counter) {
  EXPECT_EQ(refusal({"arms=any"}),
            "arms=any has no effect with convergence=independent; use --set convergence=lockstep");
  EXPECT_EQ(refusal({"arms=any", "convergence=lockstep"}), "");
}

TEST(settings, turns_on_the_device_need_something_that_may_be_evicted) {
  EXPECT_EQ(refusal({"evict.quantum=7"}),
            "evict.quantum=7 has no effect with evict=off; use --set evict=wave or --set evict=queue");
  EXPECT_NE(refusal({"evict.early=7"}), "");
  EXPECT_EQ(refusal({"evict.quantum=7", "evict.early=7", "evict=queue"}), "");
}

TEST(settings, defaults_are_taken_with_every_fidelity) {
  // As traces have them: every setting by name.
  for (const char* fidelity : {"fidelity=interleaving", "fidelity=link", "fidelity=scoped"}) {
    std::vector<std::string> all;
    for (const auto& [key, value] : parameters(machine_parameters()).values()) all.push_back(key + "=" + value);
    all.emplace_back(fidelity);
    EXPECT_EQ(refusal(all), "");
  }
}

TEST(settings, a_default_of_the_scenarios_own_is_taken) {
  std::vector<parameter> all = machine_parameters();
  all.push_back(parameter::one_of("link.wc", "on", {"on", "off"}, "as this scenario has it"));
  EXPECT_FALSE(without_effect(parameters(all)));
}

TEST(settings, none_of_memory_is_taken_where_memory_is_one_and_all_others_are) {
  for (const parameter& each : machine_parameters()) {
    if (each.key == "fidelity" || each.key == "doorbells.steps" || each.key == "arms" || each.key == "driver.fault" ||
        each.key.starts_with("evict.") || (each.kind == parameter::type::one_of && each.choices.size() < 2))
      continue;
    EXPECT_EQ(refusal({"fidelity=interleaving", changed(each)}) != "", is_of_memory(each.key)) << each.key;
  }
}

TEST(turn_order, finds_the_next_as_an_ordered_set_does) {
  constexpr uint64_t seed = 7;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  scheduler::random_stream draws(seed);
  // Ranges in which the numbers fill one word, many words under one of the level above, and many of those.
  for (const uint32_t range : {60u, 4000u, 300000u}) {
    turn_order order;
    std::set<uint32_t> expected;
    for (int round = 0; round < 2; ++round) {
      for (int step = 0; step < 20000; ++step) {
        const uint32_t number = draws.below(range);
        if (expected.erase(number) != 0) {
          order.remove(number);
        } else {
          expected.insert(number);
          order.add(number);
        }
        if (step % 4 == 0 && expected.size() > 3) {
          // Few are left at times, far from each other.
          const uint32_t last = *expected.rbegin();
          expected.erase(last);
          order.remove(last);
        }
        const uint32_t from = draws.below(range + 100);
        const auto next = expected.lower_bound(from);
        ASSERT_EQ(order.next(from), next == expected.end() ? turn_order::none : *next) << range << ' ' << from;
      }
      order.clear();
      expected.clear();
      ASSERT_EQ(order.next(0), turn_order::none);
    }
  }
}

}  // namespace
}  // namespace heddle::sim
