#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/uncaught.h>
#include <heddle/sim/world.h>
#include <unwind.h>

#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

namespace heddle::sim {
namespace {

std::terminate_handler known_before = nullptr;

struct stack_walk {
  const world& here;
  call_chain calls = {};
  size_t count = 0;
  bool in_handler = true;  ///< not yet past the handler's own frame
};

// What threw may be a library without frame pointers: each frame is found by its unwind information. What the C++ library calls within
// itself before the program comes says nothing.
_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* to) {
  stack_walk& walk = *static_cast<stack_walk*>(to);
  if (std::exchange(walk.in_handler, false)) return _URC_NO_REASON;
  const auto* place = reinterpret_cast<const void*>(_Unwind_GetIP(context));
  if (walk.count == 0 && !walk.here.is_in_image(place)) return _URC_NO_REASON;
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
  lane* const self = world::current;
  if (self == nullptr) {
    if (known_before != nullptr) known_before();
    std::abort();
  }
  world& here = *world::instance;
  const runtime::entered inside(*self);
  stack_walk walk = {.here = here};
  _Unwind_Backtrace(&note_frame, &walk);
  here.finish_plain_store(*self);
  std::string why = "std::terminate is called";
  // The lane's stack may be nearly used up.
  if (const std::exception_ptr thrown = std::current_exception(); thrown != nullptr)
    here.aside(*self, [&] { why = "an exception leaves the thread: " + text_of(thrown); });
  here.end_at(*self, scheduler::verdict::assertion, std::move(why), walk.calls);
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
