// A setting that nothing would read is refused, and told where it is read.
#include <gtest/gtest.h>
#include <heddle/sim/settings.h>
#include <heddle/sim/simulation.h>

#include <string>
#include <vector>

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
  return setting.key + "=" +
         (setting.default_text == setting.choices.front() ? setting.choices.back() : setting.choices.front());
}

bool is_of_memory(const std::string& key) {
  // Times are for reported latencies, too.
  if (key == "link.latency" || (key.starts_with("link.") && key.ends_with("_ns"))) return false;
  return key.starts_with("link.") || key == "buffer" || key == "late" || key == "history" || key == "races" ||
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
    if (each.key == "fidelity" || each.key == "doorbells.steps" || each.key == "arms" ||
        (each.kind == parameter::type::one_of && each.choices.size() < 2))
      continue;
    EXPECT_EQ(refusal({"fidelity=interleaving", changed(each)}) != "", is_of_memory(each.key)) << each.key;
  }
}

}  // namespace
}  // namespace heddle::sim
