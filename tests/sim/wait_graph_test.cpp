#include <heddle/sim/device.h>
#include <heddle/sim/target.h>

#include <gtest/gtest.h>

#include "run.h"

namespace heddle::sim::tests::wait_graph_test {
namespace {

using flag = target::atomic_ref<uint32_t, scope::system>;

void wait_for(uint32_t& word) {
  while (flag(word).load(memory_order::acquire) == 0) target::pause();
}

TEST(wait_graph, names_the_circle_and_draws_it_red) {
  // Both have written the word of the other before, so that both are known to be able to.
  const auto crossed = [] {
    device on;
    auto* const words = on.allocate_shared<uint32_t>(2, "words");
    on.launch({.waves = 2}, [=] {
      const uint32_t self = target::wave_id();
      flag(words[1 - self]).store(0, memory_order::release);
      wait_for(words[self]);
      flag(words[1 - self]).store(1, memory_order::release);
    });
    on.synchronize();
  };
  const outcome ended = machine().explain(crossed);
  ASSERT_EQ(ended.verdict, scheduler::verdict::deadlock) << ended.message;
  EXPECT_TRUE(says(ended.report, "  wave 0 -> wave 1  (words+0x0)\n")) << ended.report;
  EXPECT_TRUE(says(ended.report, "  in a circle: wave 0 -> wave 1 -> wave 0\n")) << ended.report;
  EXPECT_TRUE(says(ended.waits, "digraph waits {\n")) << ended.waits;
  EXPECT_TRUE(says(ended.waits, R"("wave 0" -> "wave 1" [label="words+0x0", color=red];)")) << ended.waits;
  EXPECT_TRUE(says(ended.waits, R"("wave 1" -> "wave 0" [label="words+0x4", color=red];)")) << ended.waits;
  EXPECT_TRUE(says(ended.waits, R"("host main" -> "wave 0" [label="end of the launch"];)")) << ended.waits;
}

TEST(wait_graph, a_chain_is_no_circle_but_perhaps) {
  // Wave 0 waits for no wave in particular, wave 1 for wave 0.
  const outcome ended = machine().explain([] {
    device on;
    auto* const words = on.allocate_shared<uint32_t>(2, "words");
    on.launch({.waves = 2}, [=] {
      if (target::wave_id() == 0) {
        flag(words[1]).store(0, memory_order::release);
        wait_for(words[0]);
      }
      wait_for(words[1]);
    });
    on.synchronize();
  });
  ASSERT_EQ(ended.verdict, scheduler::verdict::deadlock) << ended.message;
  EXPECT_FALSE(says(ended.report, "  in a circle")) << ended.report;
  EXPECT_TRUE(says(ended.report, "  perhaps in a circle: wave 0 -> wave 1 -> wave 0\n")) << ended.report;
  EXPECT_TRUE(says(ended.waits, R"("wave 1" -> "wave 0" [label="words+0x4", color=red];)")) << ended.waits;
}

TEST(wait_graph, tells_the_lanes_of_one_wave_apart) {
  // Lane 3 waits for lane 0, which waits at a barrier for lane 3.
  const outcome ended = machine().explain([] {
    device on;
    auto* const word = on.allocate_shared<uint32_t>(1, "word");
    on.launch({.lanes = 4}, [=] {
      const bool last = target::lane_id() == 3;
      if (target::lane_id() == 0) flag(*word).store(0, memory_order::release);
      if (last) wait_for(*word);
      target::sync_lanes(0xf);
      if (!last) flag(*word).store(1, memory_order::release);
    });
    on.synchronize();
  });
  ASSERT_EQ(ended.verdict, scheduler::verdict::deadlock) << ended.message;
  EXPECT_TRUE(says(ended.report, "wave 0 lanes 0-2 -> wave 0 lane 3  (a sync_lanes)")) << ended.report;
  EXPECT_TRUE(says(ended.report, "wave 0 lane 3 -> wave 0 lane 0  (word+0x0)")) << ended.report;
  EXPECT_TRUE(says(ended.report, "in a circle: wave 0 lanes 0-2 -> wave 0 lane 3 -> wave 0 lane 0")) << ended.report;
}

TEST(wait_graph, comes_before_who_stands_where_and_the_circle_first) {
  const outcome ended = machine().explain([] {
    device on;
    auto* const words = on.allocate_shared<uint32_t>(2, "words");
    on.launch({.waves = 2}, [=] {
      const uint32_t self = target::wave_id();
      flag(words[1 - self]).store(0, memory_order::release);
      wait_for(words[self]);
    });
    on.synchronize();
  });
  const std::string& report = ended.report;
  EXPECT_TRUE(report.starts_with("what waits for what:\n  in a circle: wave 0 -> wave 1 -> wave 0\n")) << report;
  const size_t end = report.find("\n\n");
  ASSERT_NE(end, std::string::npos) << report;
  EXPECT_LT(report.find("host main -> wave 0"), end) << "what waits for the end of others is told, last\n" << report;
  EXPECT_LT(report.find("wave 1 -> wave 0"), report.find("host main -> wave 0")) << report;
  EXPECT_EQ(report.find("waits in a loop"), report.find("waits in a loop", end)) << report;
}

TEST(wait_graph, says_so_where_nobody_is_known_to_be_waited_for) {
  const outcome ended = machine().explain([] {
    device on;
    auto* const words = on.allocate_shared<uint32_t>(2, "words");
    on.launch({}, [=] { wait_for(words[1]); });
    on.synchronize();
  });
  ASSERT_EQ(ended.verdict, scheduler::verdict::deadlock) << ended.message;
  // Main waits for the end of the launch: it stores nothing.
  const std::string why =
      "words+0x4, which nothing has stored to; only host main is left, and waits for the end of wave 0";
  EXPECT_TRUE(says(ended.report, "  wave 0 -> ?  (" + why + ")\n")) << ended.report;
  EXPECT_FALSE(says(ended.report, "in a circle")) << ended.report;
  EXPECT_TRUE(says(ended.waits, R"("wave 0" -> "unknown 1" [label=")" + why + R"(", style=dotted];)")) << ended.waits;
  EXPECT_FALSE(says(ended.waits, "color=red")) << ended.waits;
}

// The words of a loop that was left long ago are no longer waited for.
TEST(wait_graph, holds_what_the_last_turn_of_the_loop_read) {
  const outcome ended = machine().explain([] {
    device on;
    auto* const words = on.allocate_shared<uint32_t>(3, "words");
    on.launch({.waves = 2}, [=] {
      if (target::wave_id() == 0) {
        // Waits for the word of the other, which comes, and then for one that never does. What it reads in passing is no reason.
        while (flag(words[0]).load(memory_order::acquire) == 0) target::pause();
        while (flag(words[1]).load(memory_order::acquire) == 0) target::pause();
      } else {
        flag(words[1]).store(0, memory_order::release);
        flag(words[0]).store(1, memory_order::release);
        wait_for(words[2]);
      }
    });
    on.synchronize();
  });
  ASSERT_EQ(ended.verdict, scheduler::verdict::deadlock) << ended.message;
  EXPECT_TRUE(says(ended.report, "  wave 0 -> wave 1  (words+0x4)\n")) << ended.report;
  EXPECT_FALSE(says(ended.report, "reads words+0x0")) << ended.report;
}

TEST(wait_graph, who_has_ended_or_waits_for_an_end_changes_nothing) {
  const outcome ended = machine().explain([] {
    device on;
    auto* const words = on.allocate_shared<uint32_t>(2, "words");
    auto writer = on.spawn_host("writer", [=] { flag(words[0]).store(1, memory_order::release); });
    auto reader = on.spawn_host("reader", [=] {
      while (flag(words[0]).load(memory_order::acquire) != 2) target::pause();
    });
    writer.join();
    reader.join();
  });
  ASSERT_EQ(ended.verdict, scheduler::verdict::deadlock) << ended.message;
  const std::string why = "words+0x0, which host writer wrote last, and has ended: nothing is left that writes it";
  EXPECT_TRUE(says(ended.report, "  host reader -> ?  (" + why + ")\n")) << ended.report;
  EXPECT_TRUE(says(ended.waits, why)) << ended.waits;
  EXPECT_FALSE(says(ended.report, "in a circle")) << ended.report;
  EXPECT_FALSE(says(ended.report, "host reader -> host")) << ended.report;
}

// One that launches nothing, and waits for the end of what others launch, is there to serve it.
TEST(wait_graph, supposes_that_a_thread_that_has_launched_nothing_serves) {
  const outcome ended = machine().explain([] {
    device on;
    auto* const words = on.allocate_shared<uint32_t>(2, "words");
    auto server = on.spawn_host("server", [=, &on] {
      wait_for(words[0]);
      on.synchronize();
      flag(words[1]).store(1, memory_order::release);
    });
    on.launch({.waves = 1}, [=] {
      flag(words[0]).store(1, memory_order::release);
      wait_for(words[1]);
    });
    on.synchronize();
    server.join();
  });
  ASSERT_EQ(ended.verdict, scheduler::verdict::deadlock) << ended.message;
  EXPECT_TRUE(says(ended.report, "  perhaps in a circle: wave 0 -> host server -> wave 0\n")) << ended.report;
  EXPECT_FALSE(says(ended.report, "wave 0 -> host main")) << ended.report;
}

// What a thread has stored in another schedule, where it stood at that line in this one too, and waits for an end now.
TEST(wait_graph, one_that_is_behind_its_store_does_not_make_it) {
  const auto with = [](bool stores) {
    // What another schedule is said to have: the line of the store.
    const std::string where = "tests/sim/wait_graph_test.cpp:" + std::to_string(__LINE__ + 12);
    const other_schedules others = {
        .stores = {{.place = "words+0x0", .actor = "host main", .where = where, .read_by = {"host reader"}}},
        .runs = 1};
    const auto body = [stores] {
      device on;
      auto* const words = on.allocate_shared<uint32_t>(1, "words");
      auto reader = on.spawn_host("reader", [=] {
        while (flag(words[0]).load(memory_order::acquire) != 2) target::pause();
      });
      if (stores)
        // The line that is meant.
        flag(words[0]).store(1, memory_order::release);
      reader.join();
    };
    simulation machine;
    machine.tell_of_others(&others);
    const parameters settings(machine_parameters());
    std::string wrong;
    const auto deciding = scheduler::make_strategy("random", wrong);
    scheduler::choice_source choices;
    choices.begin(*deciding, 1);
    return machine.run(settings, body, choices, true).report;
  };
  const std::string before = with(false);
  EXPECT_TRUE(says(before, "in a circle: host reader -> host main -> host reader\n")) << before;
  const std::string behind = with(true);
  EXPECT_FALSE(says(behind, "in a circle")) << behind;
  EXPECT_TRUE(says(behind, "words+0x0, which host main wrote last, and stands in join now")) << behind;
}

// Two that wait for the same count: neither goes on before the other, and nothing is left that would raise it.
TEST(wait_graph, who_waits_for_the_same_word_does_not_change_it) {
  const outcome ended = machine().explain([] {
    device on;
    auto* const count = on.allocate_shared<uint32_t>(1, "count");
    on.launch({.waves = 2}, [=] {
      flag(*count).fetch_add(1, memory_order::acq_rel);
      while (flag(*count).load(memory_order::acquire) != 3) target::pause();
    });
    on.synchronize();
  });
  ASSERT_EQ(ended.verdict, scheduler::verdict::deadlock) << ended.message;
  EXPECT_FALSE(says(ended.report, "in a circle")) << ended.report;
  EXPECT_TRUE(says(ended.report, "wrote last, and waits for it too; only host main is left")) << ended.report;
}

// Each waits for a word that nothing ever stored to. That is a circle if they wait for each other, and nothing else is left.
TEST(wait_graph, supposes_a_circle_of_those_who_are_left) {
  const outcome ended = machine().explain([] {
    device on;
    auto* const words = on.allocate_shared<uint32_t>(2, "words");
    on.launch({.waves = 2}, [=] {
      const uint32_t self = target::wave_id();
      wait_for(words[self]);
      flag(words[1 - self]).store(1, memory_order::release);
    });
    on.synchronize();
  });
  ASSERT_EQ(ended.verdict, scheduler::verdict::deadlock) << ended.message;
  EXPECT_TRUE(says(ended.report, "  perhaps in a circle: wave 0 -> wave 1 -> wave 0\n")) << ended.report;
  EXPECT_TRUE(says(ended.report, "  wave 0 -> wave 1  (words+0x0, supposed)\n")) << ended.report;
  EXPECT_TRUE(says(ended.report, "  wave 0 -> ?  (words+0x0, which nothing has stored to; only wave 1 is left)\n"))
      << ended.report;
  EXPECT_TRUE(says(ended.waits, R"("wave 0" -> "wave 1" [label="words+0x0, supposed", style=dashed, color=red];)"))
      << ended.waits;
}

// The server may wait for wave 0 or for wave 1; wave 1 waits for wave 0, and that for the server.
TEST(wait_graph, of_two_supposed_circles_takes_the_one_with_more_known_edges) {
  const auto crossed = [] {
    device on;
    auto* const words = on.allocate_shared<uint32_t>(3, "words");
    flag(words[2]).store(0, memory_order::relaxed);
    auto server = on.spawn_host("server", [=] {
      flag(words[0]).store(0, memory_order::release);
      wait_for(words[1]);
    });
    on.launch({.waves = 2}, [=] {
      if (target::wave_id() == 0) {
        flag(words[2]).store(0, memory_order::release);
        wait_for(words[0]);
      } else {
        wait_for(words[2]);
      }
    });
    on.synchronize();
    server.join();
  };
  const outcome ended = machine().explain(crossed);
  ASSERT_EQ(ended.verdict, scheduler::verdict::deadlock) << ended.message;
  EXPECT_TRUE(says(ended.report, "  perhaps in a circle: host server -> wave 1 -> wave 0 -> host server\n"))
      << ended.report;
}

// Each waits for all others, as at a barrier that counts: as many edges as pairs would be too many to print and to search.
TEST(wait_graph, of_many_waves_tells_a_few) {
  constexpr uint32_t waves = 512;
  const outcome counted = machine().explain([] {
    device on;
    auto* const count = on.allocate_shared<uint32_t>(1, "count");
    on.launch({.waves = waves}, [=] {
      flag(*count).fetch_add(1, memory_order::acq_rel);
      while (flag(*count).load(memory_order::acquire) != waves + 1) target::pause();
    });
    on.synchronize();
  });
  ASSERT_EQ(counted.verdict, scheduler::verdict::deadlock) << counted.message;
  EXPECT_FALSE(says(counted.report, "in a circle")) << counted.report;
  EXPECT_TRUE(says(counted.report, "  ... and ")) << counted.report;
  EXPECT_LT(counted.report.find("\n\n"), size_t{2'000}) << counted.report;

  // A ring of all of them is found whole.
  const outcome ring = machine().explain([] {
    device on;
    auto* const words = on.allocate_shared<uint32_t>(waves, "words");
    on.launch({.waves = waves}, [=] {
      const uint32_t self = target::wave_id();
      flag(words[(self + 1) % waves]).store(0, memory_order::release);
      wait_for(words[self]);
    });
    on.synchronize();
  });
  ASSERT_EQ(ring.verdict, scheduler::verdict::deadlock) << ring.message;
  EXPECT_TRUE(says(ring.report, "... 500 more ... -> wave ")) << ring.report;
}

TEST(wait_graph, is_not_there_when_nobody_waits) {
  const outcome ended = machine().explain([] { target::trap(fault::assertion, "stop"); });
  EXPECT_EQ(ended.verdict, scheduler::verdict::assertion);
  EXPECT_EQ(ended.waits, "");
}

}  // namespace
}  // namespace heddle::sim::tests::wait_graph_test
