// What the C++ library does inside of itself, where no instrumentation sees it (--wrap): it locks the atomic functions on shared pointers, and keeps what
// is to be done when a thread has ended.
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/mutex_calls.h>
#include <heddle/sim/runtime/thread_values.h>
#include <heddle/sim/runtime/waiting_calls.h>
#include <pthread.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace runtime = heddle::sim::runtime;
using heddle::sim::execution;
using heddle::sim::lane;
using heddle::sim::mutex_kind;
using heddle::sim::operation_kind;

namespace {

/// std::_Sp_locker: the numbers of the one or two locks that it holds.
struct pointer_locker {
  unsigned char first;
  unsigned char second;
};

constexpr size_t pointer_locks = 16;  // as many as libstdc++ has
char lock_of_pointers[pointer_locks];

/// Which lock a shared pointer has: the same in each process.
unsigned char lock_number(const void* pointer) {
  const auto& map = execution::instance->core().map;
  const uint64_t place = map.stable(pointer);
  if (place == map.unstable) return 0;
  constexpr uint64_t golden_ratio = 0x9E3779B97F4A7C15;
  return static_cast<unsigned char>(place * golden_ratio >> 60);
}

void lock_pointers(lane& self, pointer_locker& by, const void* one, const void* other, const runtime::caller& from) {
  const runtime::hidden_operands hidden(self, runtime::as_operand(one), runtime::as_operand(other));
  const runtime::entered inside(self);
  by.first = by.second = lock_number(one);
  if (other != nullptr) by.second = lock_number(other);
  if (by.second < by.first) std::swap(by.first, by.second);
  execution& here = *execution::instance;
  const auto how = runtime::mutex_operation(operation_kind::lock_mutex, from);
  here.lock_mutex(self, &lock_of_pointers[by.first], mutex_kind::normal, how);
  if (by.second != by.first) here.lock_mutex(self, &lock_of_pointers[by.second], mutex_kind::normal, how);
}

void unlock_pointers(lane& self, const pointer_locker& by, const runtime::caller& from) {
  const runtime::hidden_operands hidden(self, by.first, by.second);
  const runtime::entered inside(self);
  execution& here = *execution::instance;
  const auto how = runtime::mutex_operation(operation_kind::unlock_mutex, from);
  if (by.second != by.first) here.unlock_mutex(self, &lock_of_pointers[by.second], mutex_kind::normal, how);
  here.unlock_mutex(self, &lock_of_pointers[by.first], mutex_kind::normal, how);
}

/// What a thread that has ended unlocks, and tells of to all that wait.
struct notice_of_end {
  void* condition;
  pthread_mutex_t* mutex;
  const void* place;  ///< of the call that asked for it
};

void give_notice_of_end(void* given) {
  const std::unique_ptr<const notice_of_end> what(static_cast<const notice_of_end*>(given));
  lane& self = *execution::current;
  runtime::caller from = HEDDLE_CALLER;
  from.place = what->place;
  {
    const runtime::entered inside(self);
    execution::instance->unlock_mutex(self, what->mutex, runtime::kind_of(*what->mutex),
                                      runtime::mutex_operation(operation_kind::unlock_mutex, from));
  }
  runtime::notify(self, what->condition, true, from);
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

// -- atomic functions on shared pointers -------------------------------------------------------------------------------------------

// std::_Sp_locker::_Sp_locker(const void*)
void __real__ZNSt10_Sp_lockerC1EPKv(pointer_locker* by, const void* pointer);
void __wrap__ZNSt10_Sp_lockerC1EPKv(pointer_locker* by, const void* pointer) {
  lane* const self = execution::current;
  if (self == nullptr) return __real__ZNSt10_Sp_lockerC1EPKv(by, pointer);
  lock_pointers(*self, *by, pointer, nullptr, HEDDLE_CALLER);
}

// std::_Sp_locker::_Sp_locker(const void*, const void*)
void __real__ZNSt10_Sp_lockerC1EPKvS1_(pointer_locker* by, const void* one, const void* other);
void __wrap__ZNSt10_Sp_lockerC1EPKvS1_(pointer_locker* by, const void* one, const void* other) {
  lane* const self = execution::current;
  if (self == nullptr) return __real__ZNSt10_Sp_lockerC1EPKvS1_(by, one, other);
  lock_pointers(*self, *by, one, other, HEDDLE_CALLER);
}

// std::_Sp_locker::~_Sp_locker()
void __real__ZNSt10_Sp_lockerD1Ev(pointer_locker* by);
void __wrap__ZNSt10_Sp_lockerD1Ev(pointer_locker* by) {
  lane* const self = execution::current;
  if (self == nullptr) return __real__ZNSt10_Sp_lockerD1Ev(by);
  unlock_pointers(*self, *by, HEDDLE_CALLER);
}

// -- ends of threads ---------------------------------------------------------------------------------------------------------------

// std::notify_all_at_thread_exit(std::condition_variable&, std::unique_lock<std::mutex>): the lock, which begins with the address of its mutex and says
// then whether it holds it, is passed by address, as each class with a destructor.
struct lock_given_up {
  pthread_mutex_t* mutex;
  bool owns;
};
void __real__ZSt25notify_all_at_thread_exitRSt18condition_variableSt11unique_lockISt5mutexE(void* condition,
                                                                                            lock_given_up* lock);
void __wrap__ZSt25notify_all_at_thread_exitRSt18condition_variableSt11unique_lockISt5mutexE(void* condition,
                                                                                            lock_given_up* lock) {
  if (execution::current == nullptr)
    return __real__ZSt25notify_all_at_thread_exitRSt18condition_variableSt11unique_lockISt5mutexE(condition, lock);
  auto* const at_end = new notice_of_end{condition, lock->mutex, __builtin_return_address(0)};
  *lock = {};
  runtime::call_behind_thread(give_notice_of_end, at_end);
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
