#include <dlfcn.h>
#include <heddle/sim/faults/crash.h>
#include <heddle/sim/run/execution.h>
#include <heddle/sim/runtime/entry.h>
#include <unwind.h>

#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace heddle::sim {
namespace {

std::terminate_handler known_before = nullptr;

struct stack_walk {
  const execution& here;
  call_chain calls = {};
  size_t count = 0;
  bool in_handler = true;  ///< not yet past the handler's own frame
  bool thrown = false;     ///< what is thrown is not caught: the search for a handler has come to an end
  bool unwound = false;    ///< what is thrown has come to something that is noexcept
};

/// What the function of a library that called std::terminate says.
void note_library(stack_walk& walk, const void* place) {
  Dl_info function = {};
  if (dladdr(static_cast<const char*>(place) - 1, &function) == 0 || function.dli_sname == nullptr) return;
  const std::string_view name = function.dli_sname;
  walk.thrown =
      walk.thrown || name == "__cxa_throw" || name == "__cxa_rethrow" || name.starts_with("_ZSt17rethrow_exception");
  walk.unwound = walk.unwound || name.starts_with("_Unwind_") || name == "__cxa_call_terminate";
}

// What threw may be a library without frame pointers: each frame is found by its unwind information. What the C++ library calls within
// itself before the program comes says nothing.
_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* to) {
  stack_walk& walk = *static_cast<stack_walk*>(to);
  if (std::exchange(walk.in_handler, false)) return _URC_NO_REASON;
  const auto* place = reinterpret_cast<const void*>(_Unwind_GetIP(context));
  if (walk.count == 0 && !walk.here.core().map.is_in_image(place)) {
    note_library(walk, place);
    return _URC_NO_REASON;
  }
  walk.calls[walk.count++] = place;
  return walk.count == walk.calls.size() ? _URC_END_OF_STACK : _URC_NO_REASON;
}

std::string text_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "of a type that does not derive from std::exception";
  }
}

[[noreturn]] void on_terminate() {
  lane* const self = execution::current;
  if (self == nullptr) {
    if (known_before != nullptr) known_before();
    std::abort();
  }
  execution& here = *execution::instance;
  const runtime::entered inside(*self);
  stack_walk walk = {.here = here};
  _Unwind_Backtrace(&note_frame, &walk);
  here.finish_plain_store(*self, nullptr);
  std::string why = "std::terminate is called";
  const std::exception_ptr thrown = std::current_exception();
  const bool uncaught = thrown != nullptr && walk.thrown && !walk.unwound;
  // On the OS thread's own stack, for the lane's may be nearly used up.
  if (thrown != nullptr)
    here.core().aside(*self, [&] {
      why =
          (uncaught ? "an exception leaves the thread: " : "an exception leaves what is noexcept: ") + text_of(thrown);
    });
  here.core().end_at(*self, uncaught ? scheduler::verdict::assertion : scheduler::verdict::crash, why, walk.calls);
}

}  // namespace

void end_runs_at_terminate() {
  static const bool installed = [] {
    known_before = std::set_terminate(&on_terminate);
    return true;
  }();
  static_cast<void>(installed);
}

}  // namespace heddle::sim
