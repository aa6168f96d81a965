#include <heddle/sim/faults/interrupted_calls.h>
#include <heddle/sim/run/execution.h>
#include <unwind.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace heddle::sim {
namespace {

/// The calls that led to the interrupted place.
struct unwinding {
  uintptr_t pc;
  call_chain& into;
  size_t count;
  bool found;
};

_Unwind_Reason_Code unwind_step(_Unwind_Context* context, void* argument) {
  auto& to = *static_cast<unwinding*>(argument);
  int is_before = 0;
  const uintptr_t at = _Unwind_GetIPInfo(context, &is_before);
  if (at == to.pc) to.found = true;
  if (!to.found) return _URC_NO_REASON;  // the handler's own
  if (at == 0 || to.count == to.into.size()) return _URC_END_OF_STACK;
  // All are given as addresses that a call returns to.
  to.into[to.count++] = reinterpret_cast<const void*>(at + (is_before != 0 ? 1 : 0));
  return _URC_NO_REASON;
}

}  // namespace

#if defined(__GNUC__)
__attribute__((no_sanitize("address")))
#endif
void find_calls(const lane& who, const registers& at, bool by_jump, call_chain& calls) {
  const stack_arena::stack& stack = who.runs.stack();
  calls = {};
  if (!by_jump) {
    unwinding to = {.pc = at.pc, .into = calls, .count = 0, .found = false};
    _Unwind_Backtrace(&unwind_step, &to);
    // What the C library was at says nothing.
    const auto own = std::find_if(calls.begin(), calls.begin() + to.count,
                                  [](const void* place) { return execution::instance->core().map.is_in_image(place); });
    if (own != calls.begin() + to.count) std::fill(std::move(own, calls.end(), calls.begin()), calls.end(), nullptr);
    if (to.count > 1) return;
  }
  // From frame to frame, as far as code under test keeps frame pointers.
  size_t count = 0;
  calls = {};
  if (!by_jump)
    calls[count++] = reinterpret_cast<const void*>(at.pc + 1);
  else if (stack.holds_frame(reinterpret_cast<const void*>(at.sp)))
    calls[count++] = *reinterpret_cast<void* const*>(at.sp);
  uintptr_t frame = at.frame;
  while (count < calls.size() && stack.holds_frame(reinterpret_cast<const void*>(frame))) {
    auto* const words = reinterpret_cast<const uintptr_t*>(frame);
    if (words[1] == 0) break;
    calls[count++] = reinterpret_cast<const void*>(words[1]);
    if (words[0] <= frame) break;
    frame = words[0];
  }
}

}  // namespace heddle::sim
