#include <heddle/sim/code/branch_probes.h>
#include <heddle/sim/code/source_line.h>
#include <heddle/sim/code/unread_result.h>

#include <capstone/capstone.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace heddle::sim {
namespace {

bool is_result(uint16_t name) {
  return name == X86_REG_RAX || name == X86_REG_EAX || name == X86_REG_AX || name == X86_REG_AL || name == X86_REG_AH;
}

/// Goes along all paths from a return address, to where each has read the result or put something else in its place.
class result_reader {
 public:
  result_reader() {
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK) return;
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    decoded_ = cs_malloc(handle_);
  }
  ~result_reader() {
    if (decoded_ != nullptr) cs_free(decoded_, 1);
    if (handle_ != 0) cs_close(&handle_);
  }
  result_reader(const result_reader&) = delete;
  result_reader& operator=(const result_reader&) = delete;

  bool is_unread(const code_range& function, uintptr_t from) {
    constexpr size_t most_instructions = 2048;
    if (decoded_ == nullptr || function.low == nullptr) return false;
    low_ = reinterpret_cast<uintptr_t>(function.low);
    size_bytes_ = function.size_bytes;
    paths_ = {{.at = from}};
    while (!paths_.empty()) {
      path_ = paths_.back();
      paths_.pop_back();
      while (seen_.insert(path_.at << 1 | (path_.low_byte_is_gone ? 1u : 0u)).second) {
        if (seen_.size() > most_instructions) return false;
        const next goes = step();
        if (goes == next::reads_or_unknown) return false;
        if (goes == next::ends) break;
      }
    }
    return true;
  }

 private:
  enum class next : uint8_t { goes_on, ends, reads_or_unknown };

  next step() {
    const uintptr_t offset = path_.at - low_;
    if (offset >= size_bytes_) return next::reads_or_unknown;
    constexpr size_t longest_instruction = 15;
    std::array<std::byte, longest_instruction> copy{};
    size_t left = std::min(size_bytes_ - offset, longest_instruction);
    std::memcpy(copy.data(), reinterpret_cast<const void*>(path_.at), left);
    branch_probes::restore(path_.at, std::span(copy).first(left));
    const auto* code = reinterpret_cast<const uint8_t*>(copy.data());
    uint64_t address = path_.at;
    if (!cs_disasm_iter(handle_, &code, &left, &address, decoded_)) return next::reads_or_unknown;
    path_.at = address;
    cs_regs read = {};
    cs_regs written = {};
    uint8_t reads = 0;
    uint8_t writes = 0;
    if (cs_regs_access(handle_, decoded_, read, &reads, written, &writes) != CS_ERR_OK) return next::reads_or_unknown;
    const auto looks = [&](uint16_t name) {
      return is_result(name) && !(name == X86_REG_AL && path_.low_byte_is_gone);
    };
    if (std::any_of(read, read + reads, looks) && !clears()) return next::reads_or_unknown;
    if (is(CS_GRP_RET) || is(CS_GRP_IRET) || is(CS_GRP_INT)) return next::reads_or_unknown;
    if (is(CS_GRP_CALL)) return next::ends;  // it returns something else there
    if (decoded_->id == X86_INS_UD2 || decoded_->id == X86_INS_HLT) return next::ends;
    if (is(CS_GRP_JUMP)) return jump();
    const std::span gone(written, writes);
    // A part of it that is written leaves the rest.
    const auto has = [&](uint16_t name) { return std::find(gone.begin(), gone.end(), name) != gone.end(); };
    path_.low_byte_is_gone = path_.low_byte_is_gone || has(X86_REG_AL);
    return has(X86_REG_RAX) || has(X86_REG_EAX) ? next::ends : next::goes_on;
  }

  next jump() {
    const cs_x86& detail = decoded_->detail->x86;
    if (detail.op_count != 1 || detail.operands[0].type != X86_OP_IMM) return next::reads_or_unknown;
    const auto target = static_cast<uintptr_t>(detail.operands[0].imm);
    if (decoded_->id == X86_INS_JMP)
      path_.at = target;
    else
      paths_.push_back({.at = target, .low_byte_is_gone = path_.low_byte_is_gone});
    return next::goes_on;
  }

  /// "xor eax, eax" reads nothing.
  bool clears() const {
    if (decoded_->id != X86_INS_XOR && decoded_->id != X86_INS_SUB) return false;
    const std::span operands(decoded_->detail->x86.operands, decoded_->detail->x86.op_count);
    return operands.size() == 2 && operands[0].type == X86_OP_REG && operands[1].type == X86_OP_REG &&
           operands[0].reg == operands[1].reg && (operands[0].reg == X86_REG_EAX || operands[0].reg == X86_REG_RAX);
  }
  bool is(uint8_t group) const { return cs_insn_group(handle_, decoded_, group); }

  csh handle_ = 0;
  cs_insn* decoded_ = nullptr;
  uintptr_t low_ = 0;
  size_t size_bytes_ = 0;
  struct path {
    uintptr_t at = 0;
    bool low_byte_is_gone = false;  ///< something else is there
  };
  path path_;
  std::vector<path> paths_;
  std::unordered_set<uintptr_t> seen_;
};

struct remembered {
  std::mutex held;  ///< machines of other threads ask too
  std::unordered_map<const void*, bool> known;
};
remembered& the_remembered() {
  static remembered all;
  return all;
}

}  // namespace

bool is_result_unread(const void* return_address) {
  if (const auto known = remembered_as_unread(return_address)) return *known;
  const bool is_unread =
      result_reader().is_unread(function_at(return_address), reinterpret_cast<uintptr_t>(return_address));
  remembered& all = the_remembered();
  const std::lock_guard lock(all.held);
  all.known.emplace(return_address, is_unread);
  return is_unread;
}

std::optional<bool> remembered_as_unread(const void* return_address) {
  remembered& all = the_remembered();
  const std::lock_guard lock(all.held);
  const auto found = all.known.find(return_address);
  return found == all.known.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace heddle::sim
