#include <heddle/sim/code/source_line.h>
#include <heddle/sim/code/type_names.h>
#include <heddle/sim/machine/operation.h>
#include <heddle/sim/space/heap.h>
#include <heddle/sim/space/lane_heap.h>

#include <array>
#include <cstdio>

// The linker's: where the program lies.
extern "C" const char __executable_start;  // NOLINT(bugprone-reserved-identifier)
extern "C" const char _end;                // NOLINT(bugprone-reserved-identifier)

namespace heddle::sim {
namespace {

constexpr std::array kind_names = {"start",
                                   "load",
                                   "store",
                                   "read-modify-write",
                                   "compare-exchange",
                                   "plain load",
                                   "plain store",
                                   "volatile load",
                                   "volatile store",
                                   "fence",
                                   "pause",
                                   "active mask",
                                   "broadcast",
                                   "ballot",
                                   "sync_lanes",
                                   "shuffle",
                                   "block barrier",
                                   "cluster barrier arrival",
                                   "cluster barrier",
                                   "clock",
                                   "notify",
                                   "doorbell wait",
                                   "synchronize",
                                   "query",
                                   "join",
                                   "launch",
                                   "spawn",
                                   "mutex lock",
                                   "mutex unlock",
                                   "copy",
                                   "driver step",
                                   "wait for notice",
                                   "notice",
                                   "block barrier arrival"};
constexpr std::array order_names = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};
constexpr std::array scope_names = {"wave", "block", "cluster", "device", "system"};

constexpr bool is_atomic(operation_kind kind) {
  return kind == operation_kind::load || kind == operation_kind::store || kind == operation_kind::read_modify_write ||
         kind == operation_kind::compare_exchange || kind == operation_kind::fence;
}

}  // namespace

const char* to_string(operation_kind kind) { return kind_names[static_cast<size_t>(kind)]; }

std::string describe(const operation& what) {
  std::string text = to_string(what.kind);
  if (is_atomic(what.kind)) {
    text += ' ';
    text += order_names[static_cast<size_t>(what.order)];
    text += ' ';
    text += scope_names[static_cast<size_t>(what.reach)];
  }
  return text;
}

std::string describe_location(const heap& memory, const void* address) {
  if (memory.contains(address)) return memory.describe(address);
  if (memory.program() != nullptr && memory.program()->contains(address)) return memory.program()->describe(address);
  const std::string variable = variable_at(address);
  if (!variable.empty()) return variable;
  // Another symbol may stand at its beginning, as that of a section does.
  const bool is_of_program = address >= &__executable_start && address < &_end;
  if (const auto known = is_of_program ? typed_variable_at(address) : typed_variable(); known.base != nullptr) {
    const auto offset = static_cast<size_t>(static_cast<const std::byte*>(address) - known.base);
    char behind[32];
    std::snprintf(behind, sizeof behind, "+0x%zx", offset);
    return known.name + (offset == 0 ? "" : behind);
  }
  if (std::string frame = memory.frame_at(address); !frame.empty()) return frame;
  char text[32];
  std::snprintf(text, sizeof text, "%p", address);
  return text;
}

}  // namespace heddle::sim
