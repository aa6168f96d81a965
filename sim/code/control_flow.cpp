#include <heddle/sim/code/branch_probes.h>
#include <heddle/sim/code/control_flow.h>
#include <heddle/sim/code/source_line.h>

#include <capstone/capstone.h>

#include <algorithm>
#include <deque>
#include <set>
#include <string_view>

namespace heddle::sim {
namespace {

enum class effect : uint8_t { none, call, jump, branch, leaves, dies };

/// What an instruction does to the flow of control.
struct instruction {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  effect does = effect::none;
  uintptr_t target = 0;         ///< of a jump, branch or call; 0: it is not known
  bool is_conditional = false;  ///< by flags alone
  uint8_t condition = 0;
};

class decoder {
 public:
  decoder() {
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK) return;
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    decoded_ = cs_malloc(handle_);
  }
  ~decoder() {
    if (decoded_ != nullptr) cs_free(decoded_, 1);
    if (handle_ != 0) cs_close(&handle_);
  }
  decoder(const decoder&) = delete;
  decoder& operator=(const decoder&) = delete;

  /// Appends the instructions of these bytes; false when they are not all instructions.
  bool decode(const std::byte* low, size_t size_bytes, std::vector<instruction>& into) {
    if (decoded_ == nullptr) return false;
    std::vector<std::byte> copy(low, low + size_bytes);
    uint64_t address = reinterpret_cast<uintptr_t>(low);
    branch_probes::restore(address, copy);
    const auto* code = reinterpret_cast<const uint8_t*>(copy.data());
    while (size_bytes != 0) {
      if (!cs_disasm_iter(handle_, &code, &size_bytes, &address, decoded_)) return false;
      into.push_back(read());
    }
    return true;
  }

 private:
  bool is(uint8_t group) const { return cs_insn_group(handle_, decoded_, group); }

  instruction read() const {
    instruction one = {.begin = decoded_->address, .end = decoded_->address + decoded_->size};
    const cs_x86& detail = decoded_->detail->x86;
    const bool direct = detail.op_count == 1 && detail.operands[0].type == X86_OP_IMM;
    if (is(CS_GRP_CALL)) {
      one.does = effect::call;
      if (direct) one.target = static_cast<uintptr_t>(detail.operands[0].imm);
    } else if (is(CS_GRP_RET) || is(CS_GRP_IRET)) {
      one.does = effect::leaves;
    } else if (is(CS_GRP_JUMP)) {
      // The target of an indirect jump is unknown: it counts as leaving the function.
      one.does = !direct ? effect::leaves : decoded_->id == X86_INS_JMP ? effect::jump : effect::branch;
      if (direct) one.target = static_cast<uintptr_t>(detail.operands[0].imm);
      if (one.does == effect::branch) {
        // 70 to 7f, and 0f 80 to 0f 8f. Others look at a register.
        const uint8_t last = detail.opcode[0] == 0x0f ? detail.opcode[1] : detail.opcode[0];
        one.is_conditional = (last & 0xf0) == (detail.opcode[0] == 0x0f ? 0x80 : 0x70);
        one.condition = last & 0x0f;
      }
    } else if (decoded_->id == X86_INS_UD2 || decoded_->id == X86_INS_HLT || decoded_->id == X86_INS_INT3) {
      one.does = effect::dies;
    }
    return one;
  }

  csh handle_ = 0;
  cs_insn* decoded_ = nullptr;
};

/// The name without what the compiler appends to a part of a function that it has laid out elsewhere; empty when it is no such part.
std::string_view whole_of(std::string_view symbol) {
  const size_t cold = symbol.find(".cold");
  return cold == std::string_view::npos ? std::string_view() : symbol.substr(0, cold);
}

}  // namespace

/// Takes a function apart.
class control_flow_builder {
 public:
  static std::unique_ptr<control_flow> build(const code_range& function) {
    control_flow_builder one;
    if (!one.add_range(function) || !one.add_cold_parts()) return nullptr;
    std::unique_ptr<control_flow> made(new control_flow());
    made->name_ = readable_symbol(function.symbol);
    one.split(*made);
    made->entry_ = made->holding(function.low);
    one.connect(*made);
    return made;
  }

 private:
  bool add_range(const code_range& range) {
    if (range.size_bytes == 0 || !decoder_.decode(range.low, range.size_bytes, code_)) return false;
    ends_.insert(reinterpret_cast<uintptr_t>(range.low) + range.size_bytes);
    std::sort(code_.begin(), code_.end(), [](const instruction& a, const instruction& b) { return a.begin < b.begin; });
    return true;
  }

  // Jumps out of the function go to another one, which returns for it, or to a part of it that lies elsewhere.
  bool add_cold_parts() {
    for (bool again = true; again;) {
      again = false;
      for (const instruction& one : std::vector<instruction>(code_)) {
        if ((one.does != effect::jump && one.does != effect::branch) || find(one.target) != nullptr) continue;
        const code_range part = function_at(reinterpret_cast<const void*>(one.target));
        if (part.low == nullptr || whole_of(part.symbol).empty()) continue;
        if (find(reinterpret_cast<uintptr_t>(part.low)) != nullptr) continue;
        if (!add_range(part)) return false;
        again = true;
      }
    }
    return true;
  }

  const instruction* find(uintptr_t begin) const {
    const auto at = std::lower_bound(code_.begin(), code_.end(), begin,
                                     [](const instruction& one, uintptr_t wanted) { return one.begin < wanted; });
    return at != code_.end() && at->begin == begin ? &*at : nullptr;
  }

  void split(control_flow& made) {
    std::set<uintptr_t> leaders;
    for (const instruction& one : code_) {
      if (one.does != effect::none) leaders.insert(one.end);
      if ((one.does == effect::jump || one.does == effect::branch) && find(one.target) != nullptr)
        leaders.insert(one.target);
    }
    uintptr_t previous_end = 0;
    for (const instruction& one : code_) {
      if (one.begin != previous_end || leaders.contains(one.begin)) made.nodes_.push_back({.begin = one.begin});
      made.nodes_.back().end = previous_end = one.end;
      control_flow::node& in = made.nodes_.back();
      in.calls = one.does == effect::call;
      in.callee =
          one.does == effect::call || (one.does == effect::jump && find(one.target) == nullptr) ? one.target : 0;
      in.branch = one.is_conditional ? one.begin : 0;
      in.target = one.is_conditional ? one.target : 0;
      in.condition = one.condition;
      last_.resize(made.nodes_.size());
      last_.back() = &one;
    }
  }

  void connect(control_flow& made) {
    std::vector<node_end> how_ends(made.nodes_.size(), node_end::goes_on);
    made.next_.resize(made.nodes_.size());
    for (uint32_t n = 0; n < made.nodes_.size(); ++n) {
      const instruction& last = *last_[n];
      std::vector<uint32_t>& next = made.next_[n];
      const auto go_on = [&] {
        // Behind a call that does not return there may be nothing, or another part.
        if (find(last.end) != nullptr && !ends_.contains(last.end))
          next.push_back(n + 1);
        else
          how_ends[n] = node_end::dies;
      };
      const auto go_to_target = [&] {
        const uint32_t to = find(last.target) == nullptr ? control_flow::none
                                                         : made.holding(reinterpret_cast<const void*>(last.target));
        if (to == control_flow::none)
          how_ends[n] = node_end::returns;
        else if (std::find(next.begin(), next.end(), to) == next.end())
          next.push_back(to);
      };
      switch (last.does) {
        case effect::none:
        case effect::call:
          go_on();
          break;
        case effect::jump:
          go_to_target();
          break;
        case effect::branch:
          go_on();
          go_to_target();
          break;
        case effect::leaves:
          how_ends[n] = node_end::returns;
          break;
        case effect::dies:
          how_ends[n] = node_end::dies;
          break;
      }
      if (how_ends[n] == node_end::dies && !next.empty()) how_ends[n] = node_end::goes_on;
    }
    add_gates(made, how_ends);
    made.post_dominators_ = post_dominators(made.next_, how_ends);
    for (uint32_t n = 0; n < made.size(); ++n) {
      if (how_ends[n] != node_end::returns) continue;
      made.next_[n].push_back(made.exit());
      made.aims_[n].push_back(made.exit());
    }
    made.next_.emplace_back();
  }

  static void add_gates(control_flow& made, std::vector<node_end>& how_ends) {
    gated_graph gated = with_gates(made.next_, how_ends, made.entry_);
    made.next_ = std::move(gated.next);
    made.aims_ = std::move(gated.aims);
    for (const gate& each : gated.gates) {
      const uint32_t shown = each.before != gate::none ? each.before : made.aims_[made.size()].front();
      made.nodes_.push_back({.end = made.nodes_[shown].end, .is_gate = true});
      how_ends.push_back(node_end::goes_on);
    }
    made.gates_ = std::move(gated.gates);
  }

  decoder decoder_;
  std::vector<instruction> code_;
  std::set<uintptr_t> ends_;              ///< of the ranges
  std::vector<const instruction*> last_;  ///< by node
};

std::unique_ptr<control_flow> control_flow::of_function_at(const void* address) {
  code_range function = function_at(address);
  if (function.low == nullptr) return nullptr;
  if (const std::string_view whole = whole_of(function.symbol); !whole.empty()) {
    // Static functions of several files may share the name: the one that jumps here is meant.
    for (const code_range& candidate : functions_named(address, std::string(whole)))
      if (auto made = control_flow_builder::build(candidate); made != nullptr && made->holding(address) != none)
        return made;
  }
  return control_flow_builder::build(function);
}

uint32_t control_flow::holding(const void* address) const {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  const auto behind = std::upper_bound(nodes_.begin(), nodes_.begin() + coded(), wanted,
                                       [](uintptr_t value, const node& one) { return value < one.begin; });
  if (behind == nodes_.begin()) return none;
  const auto found = behind - 1;
  return wanted < found->end ? static_cast<uint32_t>(found - nodes_.begin()) : none;
}

uint32_t control_flow::way_to(uint32_t gate, uint32_t aim) const {
  const std::vector<uint32_t>& aims = aims_[gate];
  const auto found = std::find(aims.begin(), aims.end(), aim);
  return found == aims.end() ? none : static_cast<uint32_t>(found - aims.begin());
}

uint32_t control_flow::returning_to(const void* address) const {
  const uint32_t found = holding(static_cast<const char*>(address) - 1);
  return found != none && nodes_[found].calls && nodes_[found].end == reinterpret_cast<uintptr_t>(address) ? found
                                                                                                           : none;
}

const node_set& control_flow::reachable(uint32_t from, uint32_t avoided) const {
  const uint64_t key = uint64_t{from} << 32 | avoided;
  if (const auto known = reachable_.find(key); known != reachable_.end()) return known->second;
  node_set seen(size() + 1);
  std::vector<uint32_t> left;
  if (from != avoided && seen.add(from)) left.push_back(from);
  while (!left.empty()) {
    const uint32_t at = left.back();
    left.pop_back();
    for (const uint32_t to : next_[at])
      if (to != avoided && seen.add(to)) left.push_back(to);
  }
  return reachable_.emplace(key, std::move(seen)).first->second;
}

const std::vector<uint16_t>& control_flow::calls_before(uint32_t branch, uint32_t way) const {
  const uint64_t key = uint64_t{branch} << 32 | way;
  if (const auto known = calls_before_.find(key); known != calls_before_.end()) return known->second;
  std::vector<uint16_t> calls(size(), unreached);
  const uint32_t first = next_[branch][way];
  const uint32_t joined = post_dominators_[branch];
  // Nodes that lie behind equally many calls are looked at before those behind more.
  std::deque<uint32_t> left;
  const auto reach = [&](uint32_t to, uint16_t behind, bool call) {
    if (to == exit() || to == joined || to == branch || calls[to] <= behind) return;
    calls[to] = behind;
    if (call)
      left.push_back(to);
    else
      left.push_front(to);
  };
  reach(first, 0, false);
  while (!left.empty()) {
    const uint32_t at = left.front();
    left.pop_front();
    const bool call = nodes_[at].calls && !nodes_[at].quiet;
    const auto behind = static_cast<uint16_t>(std::min(calls[at] + (call ? 1 : 0), unreached - 1));
    for (const uint32_t to : next_[at]) reach(to, behind, call);
  }
  return calls_before_.emplace(key, std::move(calls)).first->second;
}

control_flow* code_map::holding(const void* address) {
  for (const auto& [entry, function] : functions_)
    if (function->holding(address) != control_flow::none) return function.get();
  auto made = control_flow::of_function_at(address);
  if (made == nullptr || made->holding(address) == control_flow::none) return nullptr;
  const uintptr_t entry = made->at(made->entry()).begin;
  return functions_.insert_or_assign(entry, std::move(made)).first->second.get();
}

call_site code_map::look_up(const void* return_address) {
  // The call ends where the return address begins.
  call_site found = {.in = holding(static_cast<const char*>(return_address) - 1)};
  if (found.in != nullptr) found.node = found.in->returning_to(return_address);
  if (found.node == control_flow::none) found.in = nullptr;
  return sites_.emplace(return_address, found).first->second;
}

}  // namespace heddle::sim
