// A promise that is kept when its thread has ended (--wrap). Instrumented as the program is: what it does to a shared state others see.
#include <heddle/sim/runtime/thread_values.h>

#include <future>
#include <memory>

namespace {

using shared_state = std::__future_base::_State_baseV2;

/// std::__future_base::_State_baseV2::_Make_ready, of libstdc++ 11 to 15.
struct made_ready {
  void* next;
  void (*call)(void*);
  std::weak_ptr<shared_state> state;
};

// A shared state has its table of functions, its result, and then whether that is ready.
constexpr size_t status_at_bytes = 2 * sizeof(void*);
constexpr unsigned ready = 1;

void make_ready(void* given) {
  const std::unique_ptr<made_ready> what(static_cast<made_ready*>(given));
  const std::shared_ptr<shared_state> state = what->state.lock();
  if (state == nullptr) return;
  auto* const status =
      reinterpret_cast<std::__atomic_futex_unsigned<>*>(reinterpret_cast<char*>(state.get()) + status_at_bytes);
  status->_M_store_notify_all(ready, std::memory_order_release);
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

// std::__future_base::_State_baseV2::_Make_ready::_M_set(), which has the library call it when the thread has ended.
void __real__ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv(made_ready* what);
void __wrap__ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv(made_ready* what) {
  if (!heddle::sim::runtime::call_behind_thread(make_ready, what))
    __real__ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv(what);
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
