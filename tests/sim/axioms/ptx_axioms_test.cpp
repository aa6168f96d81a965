// The oracle agrees with verdicts that others computed, with sequential consistency where fences make the two equal, and with
// itself.
#include "ptx_axioms.h"

#include <gtest/gtest.h>
#include <heddle/tools/litmus/csv.h>
#include <heddle/tools/litmus/program.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "random_program.h"

namespace heddle::sim::tests::axioms {
namespace {

using litmus::final_state;
using litmus::instruction;
using litmus::instruction_kind;

constexpr uint64_t plenty = 10'000'000;

std::set<flat_state> states(const litmus::program& of, const model& rules = {}) {
  const auto found = allowed_states(of, rules, plenty);
  if (!found) throw std::runtime_error("more to look at than " + std::to_string(plenty) + ":\n" + to_text(of));
  return *found;
}

/// Which states hold true of the program's outcome.
bool allows(const litmus::program& asked, const model& rules = {}) {
  const std::set<flat_state> found = states(asked, rules);
  return std::any_of(found.begin(), found.end(),
                     [&](const flat_state& each) { return litmus::holds(asked.outcome, unflatten(asked, each)); });
}

// -- the tables -----------------------------------------------------------------------------------------------------------------------

litmus::csv_table table(const std::string& name) {
  std::ifstream in(HEDDLE_LITMUS_DATA "/" + name);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return {name, text};
}

/// How many rows of the table have a verdict in the column; each is compared.
size_t expect_verdicts(const litmus::csv_table& from, const char* column, const model& rules) {
  size_t compared = 0;
  for (const litmus::csv_row& each : from.rows()) {
    const std::string& wanted = from.at(each, column);
    if (wanted.empty()) continue;
    ++compared;
    const litmus::program asked =
        litmus::parse(from.at(each, "threads"), from.at(each, "program"), from.at(each, "weak_outcome"));
    EXPECT_EQ(allows(asked, rules) ? "A" : "F", wanted) << from.at(each, "name") << '\n' << to_text(asked);
  }
  return compared;
}

TEST(ptx_axioms, agree_with_every_row_of_the_memory_table) {
  EXPECT_EQ(expect_verdicts(table("ptx.csv"), "ptx6_contract", {}), 564u);
}

TEST(ptx_axioms, agree_with_every_row_of_the_rpc_table) {
  EXPECT_EQ(expect_verdicts(table("rpc.csv"), "ptx6_contract", {}), 45u);
}

TEST(ptx_axioms, agree_with_the_table_where_the_host_is_x86) {
  EXPECT_EQ(expect_verdicts(table("ptx.csv"), "x86_host_hw", {.x86_host = true}), 283u);
}

// -- one program at a time ------------------------------------------------------------------------------------------------------------

TEST(ptx_axioms, additions_that_see_each_other_lose_nothing) {
  const litmus::program counted = litmus::parse("gpu0.cta0 || gpu0.cta1 || host",
                                                "atom.relaxed.sys.add r0, x, 1 || atom.relaxed.sys.add r0, x, 1 || "
                                                "atom.relaxed.sys.add r0, x, 1",
                                                "x!=3");
  EXPECT_FALSE(allows(counted));
  // Each order of the three, and nothing else.
  EXPECT_EQ(states(counted).size(), 6u);
  EXPECT_TRUE(allows(litmus::parse("gpu0.cta0 || gpu0.cta1",
                                   "atom.relaxed.cta.add r0, x, 1 || atom.relaxed.sys.add r0, x, 1", "x=1")));
}

TEST(ptx_axioms, values_do_not_come_out_of_thin_air) {
  // Neither addition reaches the other's block: they may not see each other, and they may not each begin with the other's sum.
  const litmus::program circular =
      litmus::parse("gpu0.cta0 || gpu0.cta1", "atom.relaxed.cta.add r0, x, 1 || atom.relaxed.cta.add r0, x, 1",
                    "P0:r0!=0 /\\ P1:r0!=0");
  EXPECT_FALSE(allows(circular));
}

TEST(ptx_axioms, racing_plain_stores_leave_either_value) {
  const litmus::program racing =
      litmus::parse("gpu0.cta0 || gpu0.cta0", "st.weak x, 1 || st.weak x, 2; ld.weak r0, x", "x=1 /\\ P1:r0=1");
  EXPECT_EQ(states(racing).size(), 4u);
  EXPECT_TRUE(allows(racing));
}

TEST(ptx_axioms, a_load_may_see_what_is_stored_because_of_it_unless_loads_bind_when_issued) {
  const litmus::program buffering = litmus::parse(
      "gpu0.cta0 || gpu0.cta1",
      "ld.relaxed.sys r0, x; st.relaxed.sys y, 1 || ld.relaxed.sys r0, y; st.relaxed.sys x, 1", "P0:r0=1 /\\ P1:r0=1");
  EXPECT_TRUE(allows(buffering));
  EXPECT_FALSE(allows(buffering, {.no_load_buffering = true}));
  EXPECT_EQ(states(buffering, {.no_load_buffering = true}).size(), 3u);
}

TEST(ptx_axioms, a_comparison_that_fails_still_acquires) {
  const char* const code = "st.weak x, 1; st.release.gpu y, 1 || atom.acquire.gpu.cas r0, y, 7, 8; ld.weak r1, x";
  EXPECT_FALSE(allows(litmus::parse("gpu0.cta0 || gpu0.cta1", code, "P1:r0=1 /\\ P1:r1=0")));
  EXPECT_FALSE(allows(litmus::parse("gpu0.cta0 || gpu0.cta1", code, "y=8")));
}

TEST(ptx_axioms, give_up_when_there_is_more_to_look_at_than_asked) {
  const litmus::program asked = litmus::parse("gpu0.cta0 || gpu0.cta1", "st.weak x, 1 || ld.weak r0, x", "x=1");
  EXPECT_FALSE(allowed_states(asked, {}, 1).has_value());
  EXPECT_TRUE(allowed_states(asked, {}, 10).has_value());
}

TEST(ptx_axioms, refuse_what_ptx_does_not_have) {
  litmus::program asked = litmus::parse("gpu0.cta0 || host", "st.weak x, 1 || ld.weak r0, x", "x=1");
  asked.threads[1][0] = {.kind = instruction_kind::drain_buffers};
  EXPECT_THROW(allowed_states(asked, {}, plenty), std::invalid_argument);
  asked.threads[1][0] = {.kind = instruction_kind::load, .order = memory_order::seq_cst};
  EXPECT_THROW(allowed_states(asked, {}, plenty), std::invalid_argument);
}

// -- random programs ------------------------------------------------------------------------------------------------------------------

/// The states that interleavings leave, one memory and no delay.
class interleavings {
 public:
  static std::set<flat_state> of(const litmus::program& from) {
    interleavings all(from);
    final_state state;
    state.registers.assign(from.threads.size(), std::vector<uint32_t>(litmus::registers));
    state.locations.assign(from.locations.size(), 0);
    all.go_on(std::vector<size_t>(from.threads.size()), state);
    return all.found_;
  }

 private:
  explicit interleavings(const litmus::program& from) : program_(from) {}

  void go_on(const std::vector<size_t>& at, const final_state& state) {
    flat_state seen = flatten(state);
    const flat_state registers_and_memory = seen;
    for (const size_t each : at) seen.push_back(static_cast<uint32_t>(each));
    if (!visited_.insert(seen).second) return;
    bool ended = true;
    for (size_t thread = 0; thread < at.size(); ++thread) {
      if (at[thread] == program_.threads[thread].size()) continue;
      ended = false;
      final_state next = state;
      perform(program_.threads[thread][at[thread]], next.registers[thread], next.locations);
      std::vector<size_t> then = at;
      ++then[thread];
      go_on(then, next);
    }
    if (ended) found_.insert(registers_and_memory);
  }

  static void perform(const instruction& made, std::vector<uint32_t>& registers, std::vector<uint32_t>& memory) {
    if (made.kind == instruction_kind::fence) return;
    uint32_t& word = memory[made.location];
    const uint32_t old = word;
    if (made.kind == instruction_kind::add) word += made.value;
    if (made.kind == instruction_kind::store || made.kind == instruction_kind::exchange) word = made.value;
    if (made.kind == instruction_kind::compare_exchange && old == made.value) word = made.desired;
    if (made.kind != instruction_kind::store) registers[made.reg] = old;
  }

  const litmus::program& program_;
  std::set<flat_state> visited_;
  std::set<flat_state> found_;
};

bool within(const std::set<flat_state>& some, const std::set<flat_state>& all) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

constexpr program_size small = {.threads_max = 3, .instructions_max = 3, .locations_max = 3};
constexpr uint64_t programs = 120;

TEST(ptx_axioms, fences_everywhere_leave_exactly_the_interleavings) {
  for (uint64_t seed = 1; seed <= programs; ++seed) {
    const litmus::program fenced = fully_fenced(random_program(seed, small));
    EXPECT_EQ(states(fenced), interleavings::of(fenced)) << "seed " << seed << '\n' << to_text(fenced);
  }
}

TEST(ptx_axioms, allow_every_interleaving) {
  for (uint64_t seed = 1; seed <= programs; ++seed) {
    const litmus::program drawn = random_program(seed, small);
    EXPECT_TRUE(within(interleavings::of(drawn), states(drawn, {.x86_host = true, .no_load_buffering = true})))
        << "seed " << seed << '\n'
        << to_text(drawn);
  }
}

TEST(ptx_axioms, allow_no_more_where_the_machine_is_stronger) {
  for (uint64_t seed = 1; seed <= programs; ++seed) {
    const litmus::program drawn = random_program(seed, small);
    const std::set<flat_state> contract = states(drawn);
    EXPECT_TRUE(within(states(drawn, {.x86_host = true}), contract)) << "seed " << seed << '\n' << to_text(drawn);
    EXPECT_TRUE(within(states(drawn, {.no_load_buffering = true}), contract)) << "seed " << seed << '\n'
                                                                              << to_text(drawn);
    EXPECT_TRUE(within(states(fully_fenced(drawn)), contract)) << "seed " << seed << '\n' << to_text(drawn);
  }
}

TEST(random_program, is_written_as_the_parser_reads_it) {
  for (uint64_t seed = 1; seed <= programs; ++seed) {
    const litmus::program drawn = random_program(seed, {});
    const std::string text = to_text(drawn);
    const size_t code = text.find('\n') + 1;
    const size_t memory = text.find('\n', code) + 1;
    const std::string places = text.substr(0, code - 1);
    const std::string instructions = text.substr(code, memory - 1 - code);
    litmus::program read;
    // The parser wants an outcome, about a register that is written or a location that is named.
    for (const char* const asked : {"x=0", "y=0", "z=0"}) {
      if (instructions.find(std::string(1, *asked) + ',') == std::string::npos &&
          instructions.find(std::string(1, *asked) + ';') == std::string::npos)
        continue;
      read = litmus::parse(places, instructions, asked);
      break;
    }
    EXPECT_EQ(to_text(read).substr(0, memory), text.substr(0, memory)) << "seed " << seed;
  }
}

TEST(random_program, becomes_the_smallest_that_still_fails) {
  const auto allows_stale = [](const litmus::program& from) {
    size_t loads = 0;
    for (const auto& thread : from.threads)
      for (const instruction& each : thread) loads += each.kind == instruction_kind::load ? 1 : 0;
    return loads >= 2;
  };
  uint64_t seed = 1;
  while (!allows_stale(random_program(seed, {}))) ++seed;
  const litmus::program least = smallest(random_program(seed, {}), allows_stale);
  size_t instructions = 0;
  for (const auto& thread : least.threads) instructions += thread.size();
  EXPECT_EQ(instructions, 2u) << to_text(least);
}

}  // namespace
}  // namespace heddle::sim::tests::axioms
