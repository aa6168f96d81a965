// What is read from machine code: on graphs, by the definition; on functions written by hand, by their labels.
#include <gtest/gtest.h>
#include <heddle/sim/code/control_flow.h>

#include <random>

// Functions of known shape. Each label is the beginning of a node.
asm(R"(
.text
.macro heddle_function name
.globl \name
.type \name, @function
\name:
.endm

heddle_function heddle_test_diamond
  test %edi, %edi
  je heddle_test_diamond_else
  nop
  jmp heddle_test_diamond_join
.globl heddle_test_diamond_else
heddle_test_diamond_else:
  nop
.globl heddle_test_diamond_join
heddle_test_diamond_join:
  ret
.size heddle_test_diamond, .-heddle_test_diamond

heddle_function heddle_test_loop
  nop
.globl heddle_test_loop_head
heddle_test_loop_head:
  call heddle_test_diamond
.globl heddle_test_loop_called
heddle_test_loop_called:
  test %edi, %edi
  je heddle_test_loop_left
  dec %edi
  jmp heddle_test_loop_head
.globl heddle_test_loop_left
heddle_test_loop_left:
  ret
.size heddle_test_loop, .-heddle_test_loop

# The arm lies behind the end of the function, and a way that dies counts for nothing.
heddle_function heddle_test_outlined
  test %edi, %edi
  jne heddle_test_outlined.cold
.globl heddle_test_outlined_join
heddle_test_outlined_join:
  nop
  test %esi, %esi
  je heddle_test_outlined_dies
.globl heddle_test_outlined_end
heddle_test_outlined_end:
  ret
heddle_test_outlined_dies:
  ud2
.size heddle_test_outlined, .-heddle_test_outlined
.globl heddle_test_elsewhere
.type heddle_test_elsewhere, @function
heddle_test_elsewhere:
  ret
.size heddle_test_elsewhere, .-heddle_test_elsewhere
.type heddle_test_outlined.cold, @function
heddle_test_outlined.cold:
  call heddle_test_elsewhere
.globl heddle_test_outlined_called
heddle_test_outlined_called:
  jmp heddle_test_outlined_join
.size heddle_test_outlined.cold, .-heddle_test_outlined.cold

# Leaves by a jump to another function on one way, through a register on the other.
heddle_function heddle_test_leaves
  test %edi, %edi
  je heddle_test_leaves_register
  jmp heddle_test_elsewhere
.globl heddle_test_leaves_register
heddle_test_leaves_register:
  jmp *%rax
.size heddle_test_leaves, .-heddle_test_leaves

# Not a program: what cannot be decoded is not guessed at.
heddle_function heddle_test_rubbish
  .byte 0x06, 0x06
  ret
.size heddle_test_rubbish, .-heddle_test_rubbish
)");

#define HEDDLE_LABEL(name) extern "C" const char heddle_test_##name[]
HEDDLE_LABEL(diamond);
HEDDLE_LABEL(diamond_else);
HEDDLE_LABEL(diamond_join);
HEDDLE_LABEL(loop);
HEDDLE_LABEL(loop_head);
HEDDLE_LABEL(loop_called);
HEDDLE_LABEL(loop_left);
HEDDLE_LABEL(outlined);
HEDDLE_LABEL(outlined_join);
HEDDLE_LABEL(outlined_end);
HEDDLE_LABEL(outlined_called);
HEDDLE_LABEL(leaves);
HEDDLE_LABEL(leaves_register);
HEDDLE_LABEL(rubbish);

namespace heddle::sim::tests::control_flow_test {
namespace {

using graph = std::vector<std::vector<uint32_t>>;

bool reaches(const graph& next, uint32_t from, uint32_t to, uint32_t avoided) {
  if (from == avoided) return false;
  std::vector<bool> seen(next.size());
  std::vector<uint32_t> left = {from};
  seen[from] = true;
  while (!left.empty()) {
    const uint32_t at = left.back();
    left.pop_back();
    if (at == to) return true;
    for (const uint32_t n : next[at])
      if (n != avoided && !seen[n]) {
        seen[n] = true;
        left.push_back(n);
      }
  }
  return false;
}

// By the definition: of the nodes that every way from n to the exit passes, the one that all of the others come behind.
uint32_t post_dominator_by_definition(const graph& next, uint32_t n, uint32_t exit) {
  std::vector<uint32_t> passed;
  for (uint32_t d = 0; d <= exit; ++d)
    if (d != n && (d == exit || !reaches(next, n, exit, d))) passed.push_back(d);
  for (const uint32_t d : passed) {
    bool first = true;
    for (const uint32_t e : passed) first = first && (e == d || e == exit || !reaches(next, d, exit, e));
    if (first) return d;
  }
  return exit;
}

TEST(post_dominators, are_those_of_the_definition_on_any_graph_that_returns) {
  std::mt19937 random(1);
  uint32_t branches = 0;
  for (int turn = 0; turn < 300; ++turn) {
    const auto nodes = static_cast<uint32_t>(2 + random() % 14);
    graph next(nodes);
    std::vector<node_end> ends(nodes, node_end::goes_on);
    for (uint32_t n = 0; n < nodes; ++n) {
      const auto ways = static_cast<uint32_t>(random() % 3);
      for (uint32_t way = 0; way < ways; ++way) next[n].push_back(static_cast<uint32_t>(random() % nodes));
      if (ways == 0) ends[n] = node_end::returns;
    }
    graph with_exit = next;
    with_exit.emplace_back();
    for (uint32_t n = 0; n < nodes; ++n)
      if (ends[n] == node_end::returns) with_exit[n].push_back(nodes);
    bool all_return = true;
    for (uint32_t n = 0; n < nodes; ++n) all_return = all_return && reaches(with_exit, n, nodes, ~uint32_t{0});
    if (!all_return) continue;
    const std::vector<uint32_t> found = post_dominators(next, ends);
    for (uint32_t n = 0; n < nodes; ++n) {
      EXPECT_EQ(found[n], post_dominator_by_definition(with_exit, n, nodes)) << "graph " << turn << " node " << n;
      branches += next[n].size() > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(branches, 100u);
}

TEST(post_dominators, ways_that_die_or_never_end_count_for_nothing_where_another_returns) {
  constexpr auto on = node_end::goes_on;
  constexpr auto dies = node_end::dies;
  constexpr auto returns = node_end::returns;
  // 0 -> 1 (dies) | 2; 2 -> 3 (for ever, by 4) | 5, which returns.
  const std::vector<uint32_t> found =
      post_dominators({{1, 2}, {}, {3, 5}, {4}, {3}, {}}, {on, dies, on, on, on, returns});
  EXPECT_EQ(found[0], 2u);
  EXPECT_EQ(found[2], 5u);
  EXPECT_EQ(found[3], 4u) << "within the loop";
  // A function that only dies ends where it dies.
  EXPECT_EQ(post_dominators({{1, 2}, {3}, {3}, {}}, {on, on, on, dies})[0], 3u);
}

TEST(post_dominators, a_loop_without_an_end_still_has_places_where_its_ways_meet) {
  constexpr auto on = node_end::goes_on;
  // 0 -> 1 | 2 -> 3 -> 0, for ever.
  const std::vector<uint32_t> found = post_dominators({{1, 2}, {3}, {3}, {0}}, {on, on, on, on});
  EXPECT_EQ(found[0], 3u);
  EXPECT_EQ(found[1], 3u);
}

// Whether lanes that take a way get to its aim, by gates that have a way for it alone.
void expect_ways_lead_to_their_aims(const gated_graph& made, const graph& code) {
  const auto nodes = static_cast<uint32_t>(code.size());
  for (uint32_t n = 0; n < nodes; ++n) {
    ASSERT_EQ(made.aims[n], code[n]);
    for (size_t way = 0; way < code[n].size(); ++way) {
      uint32_t at = made.next[n][way];
      for (size_t passed = 0; at >= nodes; ++passed) {
        ASSERT_LT(passed, made.gates.size()) << "gates in a circle";
        const std::vector<uint32_t>& aims = made.aims[at];
        const auto found = std::find(aims.begin(), aims.end(), code[n][way]);
        ASSERT_NE(found, aims.end()) << "gate " << at << " has no way to " << code[n][way];
        at = made.next[at][static_cast<size_t>(found - aims.begin())];
      }
      ASSERT_EQ(at, code[n][way]);
    }
  }
}

TEST(gates, change_where_lanes_meet_and_not_where_they_go) {
  std::mt19937 random(2);
  size_t gates = 0;
  for (int turn = 0; turn < 3'000; ++turn) {
    SCOPED_TRACE(turn);
    const auto nodes = static_cast<uint32_t>(2 + random() % 14);
    graph code(nodes);
    std::vector<node_end> ends(nodes, node_end::goes_on);
    for (uint32_t n = 0; n < nodes; ++n) {
      const auto ways = static_cast<uint32_t>(random() % 8 == 0 ? 0 : 1 + random() % 2);
      for (uint32_t way = 0; way < ways; ++way) {
        // Mostly onwards, or the graph has loops of two entries.
        const uint32_t to =
            random() % 6 == 0 ? static_cast<uint32_t>(random() % nodes) : static_cast<uint32_t>(n + 1 + random() % 3);
        if (to < nodes && std::find(code[n].begin(), code[n].end(), to) == code[n].end()) code[n].push_back(to);
      }
      if (code[n].empty()) ends[n] = random() % 8 == 0 ? node_end::dies : node_end::returns;
    }
    const gated_graph made = with_gates(code, ends, 0);
    expect_ways_lead_to_their_aims(made, code);
    gates += made.gates.size();
  }
  EXPECT_GT(gates, 300u);
}

TEST(gates, stand_where_some_lanes_of_an_arm_leave) {
  constexpr auto on = node_end::goes_on;
  constexpr auto returns = node_end::returns;
  const auto meets = [&](const graph& code, const std::vector<node_end>& ends, uint32_t branch) {
    const gated_graph made = with_gates(code, ends, 0);
    std::vector<node_end> all = ends;
    all.resize(made.next.size(), on);
    const uint32_t found = post_dominators(made.next, all)[branch];
    return found < code.size() || found == made.next.size() ? found : made.gates[found - code.size()].before;
  };
  // if (0) { if (1) return (5); 2 } 3: lanes meet in front of 3.
  const graph returned = {{1, 3}, {5, 2}, {3}, {4}, {}, {}};
  const std::vector<node_end> twice = {on, on, on, on, returns, returns};
  EXPECT_EQ(meets(returned, twice, 0), 3u);
  EXPECT_EQ(meets(returned, twice, 1), 3u);
  // while (0) { if (1) { if (2) break; 3 } 4 } 5: likewise in front of 4.
  const graph left = {{1, 5}, {2, 4}, {5, 3}, {4}, {0}, {}};
  EXPECT_EQ(meets(left, {on, on, on, on, on, returns}, 1), 4u);
  EXPECT_EQ(meets(left, {on, on, on, on, on, returns}, 2), 4u);
  EXPECT_EQ(meets(left, {on, on, on, on, on, returns}, 0), 5u);
  // Two arms have nothing in common but what follows them, and have no gate.
  EXPECT_TRUE(with_gates({{1, 2}, {3}, {3}, {}}, {on, on, on, returns}, 0).gates.empty());
  // A loop that is left for two places, which both return: the lanes wait for each other behind it.
  const graph two = {{1, 3}, {0, 2}, {}, {}};
  const gated_graph made = with_gates(two, {on, on, returns, returns}, 0);
  ASSERT_EQ(made.gates.size(), 1u);
  EXPECT_EQ(made.gates[0].before, gate::none);
  EXPECT_EQ(made.next, (graph{{1, 4}, {0, 4}, {}, {}, {3, 2}}));
  // What dies is no place to wait for.
  EXPECT_TRUE(with_gates({{1, 2}, {3, 2}, {}, {}}, {on, on, returns, node_end::dies}, 0).gates.empty());
}

uint32_t node_at(const control_flow& in, const char* label) {
  const uint32_t found = in.holding(label);
  EXPECT_NE(found, control_flow::none);
  EXPECT_EQ(in.at(found).begin, reinterpret_cast<uintptr_t>(label));
  return found;
}

TEST(control_flow, two_arms_meet_at_their_join) {
  const auto read = control_flow::of_function_at(heddle_test_diamond_else);
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->name(), "heddle_test_diamond");
  EXPECT_EQ(read->size(), 4u);
  EXPECT_EQ(read->entry(), node_at(*read, heddle_test_diamond));
  const uint32_t join = node_at(*read, heddle_test_diamond_join);
  const uint32_t other = node_at(*read, heddle_test_diamond_else);
  EXPECT_EQ(read->post_dominator(read->entry()), join);
  EXPECT_EQ(read->post_dominator(join), read->exit());
  EXPECT_EQ(read->next(read->entry()).size(), 2u);
  EXPECT_TRUE(read->reachable(read->entry(), join).contains(other));
  EXPECT_FALSE(read->reachable(read->entry(), join).contains(join));
  EXPECT_FALSE(read->reachable(join, read->exit()).contains(other));
}

TEST(control_flow, a_call_ends_a_node_and_a_loop_is_left_at_its_end) {
  const auto read = control_flow::of_function_at(heddle_test_loop_called);
  ASSERT_NE(read, nullptr);
  const uint32_t head = node_at(*read, heddle_test_loop_head);
  const uint32_t branch = node_at(*read, heddle_test_loop_called);
  const uint32_t left = node_at(*read, heddle_test_loop_left);
  EXPECT_TRUE(read->at(head).calls);
  EXPECT_EQ(read->returning_to(heddle_test_loop_called), head);
  EXPECT_EQ(read->returning_to(heddle_test_loop_left), control_flow::none);
  EXPECT_EQ(read->post_dominator(branch), left);
  // Round the loop is one way, on which the call comes again.
  const std::vector<uint32_t>& next = read->next(branch);
  ASSERT_EQ(next.size(), 2u);
  const uint32_t round = next[0] == left ? 1 : 0;
  EXPECT_EQ(read->calls_before(branch, round)[head], 0u);
  EXPECT_EQ(read->calls_before(branch, round)[branch], control_flow::unreached);
  EXPECT_EQ(read->calls_before(branch, 1 - round)[head], control_flow::unreached);
}

TEST(control_flow, a_part_that_is_laid_out_elsewhere_belongs_to_its_function) {
  // The last byte of the call, as of every call that is looked up by its return address.
  const auto* const call = reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(heddle_test_outlined_called) - 1);
  for (const char* inside : {static_cast<const char*>(heddle_test_outlined_join), call}) {
    const auto read = control_flow::of_function_at(inside);
    ASSERT_NE(read, nullptr);
    EXPECT_EQ(read->name(), "heddle_test_outlined");
    EXPECT_EQ(read->entry(), node_at(*read, heddle_test_outlined));
    const uint32_t join = node_at(*read, heddle_test_outlined_join);
    EXPECT_EQ(read->post_dominator(read->entry()), join);
    EXPECT_EQ(read->post_dominator(join), node_at(*read, heddle_test_outlined_end));
    EXPECT_NE(read->returning_to(heddle_test_outlined_called), control_flow::none);
  }
}

TEST(control_flow, a_jump_out_of_the_function_or_to_nobody_knows_where_leaves_it) {
  const auto read = control_flow::of_function_at(heddle_test_leaves);
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->post_dominator(read->entry()), read->exit());
  EXPECT_EQ(read->next(node_at(*read, heddle_test_leaves_register)), std::vector<uint32_t>{read->exit()});
}

TEST(control_flow, what_cannot_be_read_is_not_guessed_at) {
  EXPECT_EQ(control_flow::of_function_at(heddle_test_rubbish), nullptr);
  const int on_the_stack = 0;
  EXPECT_EQ(control_flow::of_function_at(&on_the_stack), nullptr);
}

TEST(control_flow, call_sites_are_found_by_their_return_addresses) {
  uint32_t errands = 0;
  code_map code([&](const std::function<void()>& work) {
    ++errands;
    work();
  });
  const call_site found = code.find(heddle_test_loop_called);
  ASSERT_NE(found.in, nullptr);
  EXPECT_EQ(found.in->at(found.node).begin, reinterpret_cast<uintptr_t>(heddle_test_loop_head));
  EXPECT_EQ(code.find(heddle_test_loop_called).in, found.in);
  EXPECT_EQ(errands, 1u);
  EXPECT_EQ(code.find(heddle_test_loop_left).in, nullptr);
}

}  // namespace
}  // namespace heddle::sim::tests::control_flow_test
