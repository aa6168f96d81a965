// What runs once, whichever thread comes first: pthread_once, std::call_once, and the initialization of statics in functions (--wrap). Others
// wait for the one that is in the middle of it. A run that ended there has left it undone.
#include <dlfcn.h>
#include <heddle/sim/runtime/atomic_accesses.h>
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/waiting_calls.h>
#include <pthread.h>
#include <threads.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace runtime = heddle::sim::runtime;
using heddle::memory_order;
using heddle::scope;
using heddle::sim::execution;
using heddle::sim::host_threads;
using heddle::sim::lane;
using heddle::sim::operation_kind;

namespace {

/// Waits while another lane is in the middle of it. True where it is for this one to do: then it has begun.
bool begin_once(lane& self, const void* flag, const runtime::caller& from, bool (*is_done)(const void* flag)) {
  const runtime::hidden_operands hidden(self, runtime::as_operand(flag));
  const runtime::entered inside(self);
  execution& here = *execution::instance;
  host_threads& known = here.hosts().threads;
  runtime::take_object(self, runtime::make_operation(operation_kind::wait_notice, flag, 1, from),
                       [&] { return is_done(flag) || known.under_way(flag) == host_threads::none; });
  if (auto* const late = here.late()) late->acquire_object(self, flag);
  if (is_done(flag)) return false;
  known.begins(flag, self.id);
  return true;
}

/// `set` changes the flag.
template <typename Set>
void end_once(lane& self, void* flag, uint32_t size_bytes, const runtime::caller& from, Set&& set) {
  const runtime::hidden_operands hidden(self, runtime::as_operand(flag));
  const runtime::entered inside(self);
  execution& here = *execution::instance;
  runtime::give_object(self, size_bytes, runtime::make_operation(operation_kind::give_notice, flag, 1, from), [&] {
    if (auto* const late = here.late()) late->release_object(self, flag);
    here.hosts().threads.ends(flag);
    set();
    return 0;
  });
}

constexpr int once_done = 2;  // as glibc has it

bool is_once_done(const void* flag) { return *static_cast<const pthread_once_t*>(flag) == once_done; }
// (Itanium C++ ABI, section 3.3.3: byte 0 says that it has been done.)
bool is_guard_done(const void* guard) { return *static_cast<const unsigned char*>(guard) != 0; }

/// An exception that leaves the function leaves it undone.
class doing_once {
 public:
  doing_once(pthread_once_t* flag, const runtime::caller& from) : flag_(flag), from_(from) {}
  ~doing_once() {
    end_once(*execution::current, flag_, sizeof *flag_, from_, [&] { *flag_ = done ? once_done : 0; });
  }
  doing_once(const doing_once&) = delete;
  doing_once& operator=(const doing_once&) = delete;
  bool done = false;

 private:
  pthread_once_t* flag_;
  const runtime::caller& from_;
};

/// A variable of the C++ library that each OS thread has.
class library_variable {
 public:
  // Found by its name: a program that names it is taken for one that calls std::call_once (code/thread_locals.cpp).
  explicit library_variable(const char* name) {
    if (const void* const found = dlsym(RTLD_DEFAULT, name))
      behind_ = static_cast<const std::byte*>(found) - static_cast<const std::byte*>(__builtin_thread_pointer());
  }
  void* value() const { return behind_ == 0 ? nullptr : *place(); }
  void set(void* value) const {
    if (behind_ != 0) *place() = value;
  }

 private:
  void** place() const {
    return reinterpret_cast<void**>(static_cast<std::byte*>(__builtin_thread_pointer()) + behind_);
  }
  ptrdiff_t behind_ = 0;  ///< the thread pointer
};
const library_variable callable("_ZSt15__once_callable");
const library_variable caller_of_it("_ZSt11__once_call");

/// What std::call_once is to call, which it tells the C++ library in two such variables: other lanes have theirs in them by the time that this one has
/// come to its turn. Host threads exchange such variables, functions of the host in streams do not.
class given_to_call_once {
 public:
  void restore() const {
    callable.set(callable_);
    caller_of_it.set(call_);
  }

 private:
  void* callable_ = callable.value();
  void* call_ = caller_of_it.value();
};

void call_function_once(lane& self, pthread_once_t* flag, void (*function)(), const runtime::caller& from) {
  const given_to_call_once for_call_once;
  if (!begin_once(self, flag, from, is_once_done)) return;
  doing_once doing(flag, from);
  for_call_once.restore();
  function();
  doing.done = true;
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

int __real_pthread_once(pthread_once_t* flag, void (*function)());
int __wrap_pthread_once(pthread_once_t* flag, void (*function)()) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_pthread_once(flag, function);
  call_function_once(*self, flag, function, HEDDLE_CALLER);
  return 0;
}

// The flag of C11 is that of pthreads.
void __real_call_once(once_flag* flag, void (*function)());
void __wrap_call_once(once_flag* flag, void (*function)()) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_call_once(flag, function);
  call_function_once(*self, reinterpret_cast<pthread_once_t*>(flag), function, HEDDLE_CALLER);
}

int __real___cxa_guard_acquire(uint64_t* guard);
int __wrap___cxa_guard_acquire(uint64_t* guard) {
  lane* const self = execution::current;
  if (self == nullptr) return __real___cxa_guard_acquire(guard);
  return begin_once(*self, guard, HEDDLE_CALLER, is_guard_done) ? 1 : 0;
}

void __real___cxa_guard_release(uint64_t* guard);
void __wrap___cxa_guard_release(uint64_t* guard) {
  lane* const self = execution::current;
  if (self == nullptr) return __real___cxa_guard_release(guard);
  const runtime::caller from = HEDDLE_CALLER;
  // One that sees the byte does not wait for the end, neither where it looks itself, and acquires, nor where it has asked.
  {
    const runtime::entered inside(*self);
    execution::instance->finish_plain_store(*self, from.frame);  // what it has made is part of what it gives
    if (auto* const late = execution::instance->late()) late->release_object(*self, guard);
  }
  runtime::atomic_store({guard, 1, memory_order::release, scope::system}, 1, from);
  end_once(*self, guard, 1, from, [] {});
}

void __real___cxa_guard_abort(uint64_t* guard);
void __wrap___cxa_guard_abort(uint64_t* guard) {
  lane* const self = execution::current;
  if (self == nullptr) return __real___cxa_guard_abort(guard);
  end_once(*self, guard, 1, HEDDLE_CALLER, [] {});
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
