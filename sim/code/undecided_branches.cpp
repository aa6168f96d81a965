// Which branches have to tell where they go (branch_probes.h), and of which functions.
#include <heddle/sim/code/branch_probes.h>
#include <heddle/sim/code/control_flow.h>
#include <heddle/sim/code/source_line.h>

#include <algorithm>
#include <deque>
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

}  // namespace

std::vector<uint16_t> control_flow::calls_from(uint32_t from) const {
  std::vector<uint16_t> calls(size() + 1, unreached);
  // Nodes that lie behind equally many calls are looked at before those behind more.
  std::deque<uint32_t> left = {from};
  calls[from] = 0;
  while (!left.empty()) {
    const uint32_t at = left.front();
    left.pop_front();
    const bool call = at != exit() && nodes_[at].calls;
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
  const std::vector<uint32_t>& next = next_[branch];
  const uint32_t target = holding(reinterpret_cast<const void*>(nodes_[branch].target));
  for (uint32_t n = 0; n < next.size(); ++n)
    if ((next[n] == target) == taken) return n;
  return none;
}

std::vector<uint32_t> control_flow::undecided(bool again) const {
  std::vector<uint32_t> found;
  std::unordered_map<uint32_t, std::vector<uint16_t>> from_joined;
  const std::vector<uint16_t> from_entry = calls_from(entry_);
  for (uint32_t branch = 0; branch < size(); ++branch) {
    if (nodes_[branch].branch == 0 || next_[branch].size() != 2) continue;
    if (way(branch, true) == none || way(branch, false) == none) continue;
    const uint32_t joined = post_dominators_[branch];
    auto& beyond = from_joined[joined];
    if (beyond.empty()) beyond = calls_from(joined);
    const std::vector<uint16_t>& one = calls_before(branch, 0);
    const std::vector<uint16_t>& other = calls_before(branch, 1);
    for (uint32_t call = 0; call < size(); ++call) {
      const uint16_t least = std::min(one[call], other[call]);
      if (!nodes_[call].calls || least == unreached) continue;
      const bool by_either = one[call] == other[call];
      const bool round = again && beyond[exit()] + from_entry[call] <= least;
      if (!by_either && !round && beyond[call] > least) continue;
      found.push_back(branch);
      break;
    }
  }
  return found;
}

void control_flow::probe(const std::vector<uint32_t>& branches) {
  for (const uint32_t each : branches) {
    node& of = nodes_[each];
    if (of.probe == 0)
      of.probe = branch_probes::plant(
          {.at = of.branch, .end = of.end, .target = of.target, .condition = of.condition, .node = each});
  }
}

void code_map::probe_from(const void* entry) {
  constexpr size_t most_functions = 1'000;
  struct use {
    control_flow* of;
    control_flow* by;
    uint32_t call;
  };
  std::vector<control_flow*> all;
  std::vector<use> uses;
  std::unordered_map<const control_flow*, bool> again;
  const auto reach = [&](control_flow* what) {
    if (again.try_emplace(what, false).second) all.push_back(what);
  };
  if (control_flow* const first = holding(entry); first != nullptr) reach(first);
  for (size_t n = 0; n < all.size() && n < most_functions; ++n) {
    control_flow& by = *all[n];
    for (uint32_t call = 0; call < by.size(); ++call) {
      const auto* const callee = reinterpret_cast<const void*>(by.at(call).callee);
      if (callee == nullptr) continue;
      const code_range range = function_at(callee);
      if (range.low == nullptr || is_of_simulator(range.symbol)) continue;
      control_flow* const of = holding(callee);
      if (of == nullptr) continue;
      reach(of);
      uses.push_back({of, &by, call});
    }
  }
  for (bool more = true; more;) {
    more = false;
    for (const use& one : uses) {
      if (again[one.of]) continue;
      const std::vector<uint32_t>& behind = one.by->next(one.call);
      if (behind.empty()) continue;
      const std::vector<uint16_t> calls = one.by->calls_from(behind.front());
      again[one.of] = calls[one.call] == 0 || (calls[one.by->exit()] == 0 && again[one.by]);
      more = more || again[one.of];
    }
  }
  for (control_flow* const each : all) each->probe(each->undecided(again[each]));
}

}  // namespace heddle::sim
