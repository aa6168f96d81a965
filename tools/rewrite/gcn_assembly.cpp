#include "gcn_assembly.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace heddle::rewrite {

namespace {

bool is_part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The names that instructions begin with: one a line, and comments behind a semicolon. (LLVM, AMDGPUMCAsmInfo: CommentString.)
std::vector<std::string_view> instructions_of(std::string_view text) {
  std::vector<std::string_view> made;
  for (size_t at = 0; at < text.size();) {
    const size_t next = std::min(text.find('\n', at), text.size());
    const size_t end = std::min(text.find(';', at), next);
    while (at < end && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
    size_t behind = at;
    while (behind < end && is_part_of_name(text[behind])) ++behind;
    const bool is_label = behind < end && text[behind] == ':';
    if (behind > at && !is_label) made.push_back(text.substr(at, behind - at));
    at = next + 1;
  }
  return made;
}

/// No host's assembler takes it.
bool is_comment(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\n");
  return first != std::string_view::npos && text[first] == ';' && instructions_of(text).empty();
}

/// By what its name begins with: no instruction of x86 has an underscore. (AMD, "CDNA3 Instruction Set Architecture".)
bool is_of_gcn(std::string_view instruction) {
  constexpr std::array<std::string_view, 9> kinds = {"s_",      "v_",       "ds_",      "global_", "flat_",
                                                     "buffer_", "scratch_", "tbuffer_", "image_"};
  return std::ranges::any_of(kinds, [&](std::string_view kind) { return instruction.starts_with(kind); });
}

bool is_hint(std::string_view instruction) {
  constexpr std::array<std::string_view, 5> names = {"s_nop", "s_setprio", "s_delay_alu", "s_clause",
                                                     "s_inst_prefetch"};
  return instruction.starts_with("s_waitcnt") ||
         (instruction.starts_with("s_wait_") && instruction != "s_wait_event") ||
         std::ranges::find(names, instruction) != names.end();
}

}  // namespace

std::optional<std::string> gcn_assembly(std::string_view text, std::string& unknown) {
  const std::vector<std::string_view> all = instructions_of(text);
  if (!is_comment(text) && !std::ranges::any_of(all, is_of_gcn)) return std::nullopt;
  // The compiler moves no access across a statement that says so; those that do not say so are rare.
  std::string made = "do { __asm__ volatile(\"\" ::: \"memory\"); ";
  for (const std::string_view one : all) {
    if (is_hint(one)) continue;
    if (one == "s_sleep" || one == "s_barrier") {
      made += one == "s_sleep" ? "__builtin_amdgcn_s_sleep(1); " : "__builtin_amdgcn_s_barrier(); ";
      continue;
    }
    unknown = one;
    made += "::heddle::sim::runtime::refuse_call(\"" + unknown + "\", \"assembly of AMD's GPUs is not simulated\"); ";
    break;
  }
  return made + "} while (false)";
}

}  // namespace heddle::rewrite
