// Which branches have to tell where they go (branch_probes.h), and of which functions.
#include <heddle/sim/code/branch_probes.h>
#include <heddle/sim/code/control_flow.h>
#include <heddle/sim/code/source_line.h>

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <string_view>

namespace heddle::sim {
namespace {

// What the code under test calls of the simulator: its accesses, calls of the C library, and functions by name. Templates are of the code
// under test: they hold what it gives them.
bool is_of_simulator(const std::string& symbol) {
  const std::string_view mangled = symbol;
  for (const std::string_view begins : {"__", "heddle_", "_Znw", "_Zna", "_Zdl", "_Zda"})
    if (mangled.starts_with(begins)) return true;
  if (!mangled.starts_with("_ZN6heddle3sim") && !mangled.starts_with("_ZNK6heddle3sim")) return false;
  return readable_symbol(symbol).find('<') == std::string::npos;
}

bool is_one_of(const std::string& symbol, std::initializer_list<std::string_view> names) {
  constexpr std::string_view runtime = "_ZN6heddle3sim7runtime";
  std::string_view left = symbol;
  if (!left.starts_with(runtime)) return false;
  left.remove_prefix(runtime.size());
  return std::any_of(names.begin(), names.end(), [&](std::string_view each) { return left.starts_with(each); });
}

/// At which lanes meet, and which lanes are there matters.
bool is_collective(const std::string& symbol) {
  return is_one_of(
      symbol, {"9broadcast", "6ballot", "14ballot_of_live", "10sync_lanes", "9sync_live", "7shuffle", "9lane_mask"});
}

/// Which only says where the lane is.
bool is_no_operation(const std::string& symbol) {
  return is_one_of(symbol, {"8position", "7lane_id", "10lane_count", "10wave_lanes", "13is_first_lane", "8block_id",
                            "7wave_id", "9is_device"});
}

}  // namespace

std::vector<uint16_t> control_flow::calls_from(uint32_t from) const {
  std::vector<uint16_t> calls(size() + 1, unreached);
  // Nodes that lie behind equally many calls are looked at before those behind more.
  std::deque<uint32_t> left = {from};
  calls[from] = 0;
  while (!left.empty()) {
    const uint32_t at = left.front();
    left.pop_front();
    const bool call = at != exit() && nodes_[at].calls && !nodes_[at].quiet;
    const auto behind = static_cast<uint16_t>(std::min(calls[at] + (call ? 1 : 0), unreached - 1));
    for (const uint32_t to : next_[at]) {
      if (calls[to] <= behind) continue;
      calls[to] = behind;
      call ? left.push_back(to) : left.push_front(to);
    }
  }
  return calls;
}

uint32_t control_flow::way(uint32_t branch, bool taken) const {
  const std::vector<uint32_t>& aims = aims_[branch];
  const uint32_t target = holding(reinterpret_cast<const void*>(nodes_[branch].target));
  for (uint32_t n = 0; n < aims.size(); ++n)
    if ((aims[n] == target) == taken) return n;
  return none;
}

bool control_flow::is_undecided(uint32_t branch, bool again, const std::vector<bool>& meets,
                                const std::vector<uint16_t>& from_entry, const std::vector<uint16_t>& beyond) const {
  for (uint32_t call = 0; call < coded(); ++call) {
    if (!meets[call]) continue;
    uint16_t least = unreached;
    for (uint32_t way = 0; way < next_[branch].size(); ++way) least = std::min(least, calls_before(branch, way)[call]);
    if (least == unreached) continue;
    if (beyond[call] <= least || (again && beyond[exit()] + from_entry[call] <= least)) return true;
  }
  return false;
}

std::vector<uint32_t> control_flow::undecided(bool again, const std::vector<bool>& meets) const {
  std::vector<uint32_t> found;
  std::unordered_map<uint32_t, std::vector<uint16_t>> from_joined;
  const std::vector<uint16_t> from_entry = calls_from(entry_);
  for (uint32_t branch = 0; branch < size(); ++branch) {
    const node& at = nodes_[branch];
    if (!at.is_gate &&
        (at.branch == 0 || next_[branch].size() != 2 || way(branch, true) == none || way(branch, false) == none))
      continue;
    const uint32_t joined = post_dominators_[branch];
    auto& beyond = from_joined[joined];
    if (beyond.empty()) beyond = calls_from(joined);
    if (is_undecided(branch, again, meets, from_entry, beyond)) found.push_back(branch);
  }
  return found;
}

void control_flow::probe_branch(uint32_t branch) {
  node& of = nodes_[branch];
  if (of.probe != 0 || of.branch == 0 || way(branch, true) == none || way(branch, false) == none) return;
  of.probe = branch_probes::plant(
      {.at = of.branch, .end = of.end, .target = of.target, .condition = of.condition, .node = branch});
}

void control_flow::probe(const std::vector<uint32_t>& branches) {
  for (const uint32_t each : branches) {
    if (!nodes_[each].is_gate) {
      probe_branch(each);
      continue;
    }
    // A lane that nothing shows on the way to where it leaves has to be followed there.
    bool all_tell = true;
    for (const uint32_t inside : gates_[each - coded()].decided) {
      if (nodes_[inside].is_gate || next_[inside].size() < 2) continue;
      probe_branch(inside);
      all_tell = all_tell && nodes_[inside].probe != 0;
    }
    nodes_[each].is_certain = all_tell;
  }
}

namespace {

/// What is known of a function that lanes of a wave may run.
struct reached_function {
  control_flow* in = nullptr;
  std::vector<bool> meets;  ///< by node: whether it ends with a call in which lanes meet
  bool loud = false;        ///< whether some of its calls, or of those of what it calls, may make an operation
  bool again = false;       ///< whether one call may call it anew, with no other call in between
  bool has_meeting() const { return std::find(meets.begin(), meets.end(), true) != meets.end(); }
};

struct use_of_function {
  size_t of = 0;
  size_t by = 0;
  uint32_t call = 0;
};

void settle(std::vector<reached_function>& all, const std::vector<use_of_function>& uses) {
  for (bool more = true; more;) {
    more = false;
    for (const use_of_function& one : uses) {
      if (!all[one.of].loud || all[one.by].loud) continue;
      more = all[one.by].loud = true;
    }
  }
  for (const use_of_function& one : uses)
    if (!all[one.of].loud) all[one.by].in->be_quiet(one.call);
  for (bool more = true; more;) {
    more = false;
    for (const use_of_function& one : uses) {
      reached_function& of = all[one.of];
      reached_function& by = all[one.by];
      if (!by.meets[one.call] && of.has_meeting()) more = by.meets[one.call] = true;
      if (of.again || by.in->next(one.call).empty()) continue;
      const std::vector<uint16_t> calls = by.in->calls_from(by.in->next(one.call).front());
      of.again = calls[one.call] == 0 || (calls[by.in->exit()] == 0 && by.again);
      more = more || of.again;
    }
  }
}

}  // namespace

bool code_map::probe_from(const void* entry) {
  constexpr size_t most_functions = 1'000;
  std::vector<reached_function> all;
  std::vector<use_of_function> uses;
  std::unordered_map<const control_flow*, size_t> numbers;
  const auto reach = [&](control_flow* what) {
    const auto [known, fresh] = numbers.try_emplace(what, all.size());
    if (fresh) all.push_back({.in = what, .meets = std::vector<bool>(what->size())});
    return known->second;
  };
  // A look for a symbol goes through all that there are, and most calls are of a few functions.
  std::unordered_map<const void*, code_range> called;
  const auto function_called = [&](const void* callee) -> const code_range& {
    const auto [known, fresh] = called.try_emplace(callee);
    if (fresh && callee != nullptr) known->second = function_at(callee);
    return known->second;
  };
  control_flow* const first = holding(entry);
  if (first == nullptr) return false;
  reach(first);
  for (size_t by = 0; by < all.size() && by < most_functions; ++by) {
    control_flow& in = *all[by].in;
    for (uint32_t call = 0; call < in.size(); ++call) {
      const auto* const callee = reinterpret_cast<const void*>(in.at(call).callee);
      const code_range& range = function_called(callee);
      control_flow* const of = range.low == nullptr || is_of_simulator(range.symbol) ? nullptr : holding(callee);
      if (of != nullptr) {
        uses.push_back({reach(of), by, call});
      } else if (is_no_operation(range.symbol)) {
        in.be_quiet(call);
      } else if (in.at(call).calls) {
        all[by].meets[call] = is_collective(range.symbol);
        all[by].loud = true;
      }
    }
  }
  settle(all, uses);
  for (const reached_function& each : all) each.in->probe(each.in->undecided(each.again, each.meets));
  return true;
}

}  // namespace heddle::sim
