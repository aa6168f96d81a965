// Threads of the C and C++ libraries: in code under test each is a host thread of the simulation, as device.spawn_host starts them (--wrap).
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/moments.h>
#include <heddle/sim/runtime/plain_accesses.h>
#include <heddle/sim/runtime/thread_values.h>
#include <heddle/sim/runtime/waiting_calls.h>
#include <malloc.h>
#include <pthread.h>
#include <threads.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace runtime = heddle::sim::runtime;
using heddle::sim::execution;
using heddle::sim::host_thread_facts;
using heddle::sim::lane;
using heddle::sim::operation_kind;
using heddle::sim::wave;
using heddle::sim::runtime::never;

namespace {

// The number of a thread as a pthread_t: the same in every process, no address, and none of the C library's own.
constexpr pthread_t first_thread = 0x1000;

pthread_t thread_of(const lane& self) { return first_thread + self.of->id; }

/// Null where the number is none of a host thread of this run.
wave* wave_of(pthread_t thread) {
  auto& threads = execution::instance->core().threads;
  const uint64_t id = thread - first_thread;
  if (id >= threads.waves_used || !threads.waves[id].host || threads.waves[id].copies) return nullptr;
  return &threads.waves[id];
}

host_thread_facts& facts_of(const wave& thread) { return execution::instance->hosts().threads.of(thread.id); }

// -- the life of a thread ------------------------------------------------------------------------------------------------------------

/// What a thread runs, on its own stack.
struct thread_body {
  void* (*routine)(void*) = nullptr;
  void* argument = nullptr;
  void** end = nullptr;  ///< where pthread_exit() comes back to
  void* result = nullptr;
  _Unwind_Exception thrown = {};  ///< by pthread_exit(); not in a frame that it leaves
};

/// Runs destructors on the way, up to the frame in which the thread began.
_Unwind_Reason_Code unwind_frame(int, _Unwind_Action actions, _Unwind_Exception_Class, _Unwind_Exception*,
                                 _Unwind_Context* context, void* to) {
  auto* const body = static_cast<thread_body*>(to);
  const bool is_over =
      (actions & _UA_END_OF_STACK) != 0 || _Unwind_GetCFA(context) > reinterpret_cast<uintptr_t>(body->end);
  if (is_over) __builtin_longjmp(body->end, 1);
  return _URC_NO_REASON;
}

// Not setjmp() of the C library: what that notes is mixed with a word that each process draws, and this stack is part of the states that a search
// saves for another process.
[[gnu::noinline]] void run_routine(thread_body* body) {
  std::array<void*, 5> end;
  body->end = end.data();
  if (__builtin_setjmp(end.data()) == 0) body->result = body->routine(body->argument);
  body->end = nullptr;
}

/// Of the thread that runs; null where it was not begun by the C library.
thread_body* body_of(const lane& self);

void run_thread(void* given) {
  auto* const body = static_cast<thread_body*>(given);
  run_routine(body);
  execution::current->forget_own_object();
  runtime::end_thread();
  lane& self = *execution::current;
  const runtime::entered inside(self);
  if (body->result != nullptr) facts_of(*self.of).result = body->result;
}

constexpr heddle::sim::fiber_body thread_runs = {
    .size_bytes = sizeof(thread_body),
    .move_to = [](void* to, void* from) { std::memcpy(to, from, sizeof(thread_body)); },
    .invoke = run_thread,
};

thread_body* body_of(const lane& self) {
  return self.how_to_run == &thread_runs ? static_cast<thread_body*>(self.body) : nullptr;
}

/// The frames that a thread's argument knows of go to it, as those of a closure do that spawn_host() gets.
void share_frames(lane& self, const void* argument, size_t size_bytes) {
  auto& core = execution::instance->core();
  const void* const live = self.pending.private_state;
  if (core.map.is_on_host_stack(argument)) {
    core.frames.give_any(self, argument);
  } else if (size_bytes != 0) {
    core.frames.give_captured(self, argument, size_bytes);
    // What the first thread has stored on the heap while it was alone, nothing has looked at: a closure there may be known by others.
    const heddle::sim::lane_heap* const program = core.map.heap.program();
    const auto is_known = [&](const void* word) { return word >= live && self.is_private(word); };
    if (runtime::is_alone(core) && program != nullptr && program->holds_any(self.id, is_known))
      core.frames.give(self, live, live);
  } else if (argument != nullptr) {
    // How much lies there, nothing says: it may know of all that the thread has.
    core.frames.give(self, live, live);
  }
}

int create(pthread_t* made, void* (*routine)(void*), void* argument, size_t argument_bytes,
           const runtime::caller& from) {
  lane& self = *execution::current;
  const runtime::entered inside(self);
  const runtime::hidden_operands hidden(self, runtime::as_operand(reinterpret_cast<const void*>(routine)),
                                        runtime::as_operand(argument));
  execution& here = *execution::instance;
  here.require_host(self, "a thread", runtime::make_operation(operation_kind::spawn, nullptr, 0, from));
  runtime::publish(here, self, operation_kind::spawn, from);
  share_frames(self, argument, argument_bytes);
  thread_body body = {.routine = routine, .argument = argument};
  const wave& begun = here.spawn_host(self, "thread", thread_runs, &body);
  lane& thread = *begun.lanes.front();
  // What pthread_create() is given is the program's: others may know of it.
  const auto* const given = argument_bytes == 0 ? nullptr : static_cast<const std::byte*>(argument);
  thread.own_object = {given, static_cast<uint32_t>(argument_bytes)};
  thread.own_object_may_vanish = argument_bytes != 0 && here.core().map.may_vanish(argument);
  *made = first_thread + begun.id;
  return 0;
}

int join(pthread_t thread, void** result, uint64_t moment, const runtime::caller& from) {
  lane& self = *execution::current;
  const runtime::entered inside(self);
  const runtime::hidden_operands hidden(self, thread, moment);
  execution& here = *execution::instance;
  wave* const awaited = wave_of(thread);
  if (awaited == nullptr) return ESRCH;
  if (awaited == self.of) return EDEADLK;
  host_thread_facts& known = facts_of(*awaited);
  if (known.detached || std::exchange(known.joined, true)) return EINVAL;
  if (moment == never) {
    runtime::publish(here, self, operation_kind::join, from);
    here.wait_for(self, awaited->ended, 1);
  } else {
    here.core().note_question_of_end();
    const auto how = runtime::make_operation(operation_kind::join, &awaited->ended, sizeof awaited->ended, from);
    runtime::timed_wait time(self, moment);
    while (!runtime::try_object(self, how, moment == 0 ? nullptr : time.private_state(from),
                                [&] { return awaited->ended != 0; })) {
      if (moment != 0 && !time.is_over()) continue;
      facts_of(*awaited).joined = false;
      return moment == 0 ? EBUSY : ETIMEDOUT;
    }
  }
  if (auto* const late = here.late()) late->acquire_object(self, &awaited->ended);
  if (result != nullptr) *result = facts_of(*awaited).result;
  return 0;
}

int detach(pthread_t thread) {
  lane& self = *execution::current;
  const runtime::entered inside(self);
  const wave* const known = wave_of(thread);
  if (known == nullptr) return ESRCH;
  host_thread_facts& facts = facts_of(*known);
  if (facts.joined) return EINVAL;
  return std::exchange(facts.detached, true) ? EINVAL : 0;
}

/// Where the thread's stack is, and whether it is detached. The stack of a thread that has not run yet is not told.
int attributes_of(pthread_t thread, pthread_attr_t* made) {
  lane& self = *execution::current;
  const runtime::entered inside(self);
  const wave* const known = wave_of(thread);
  if (known == nullptr) return ESRCH;
  if (const int wrong = pthread_attr_init(made); wrong != 0) return wrong;
  if (facts_of(*known).detached) pthread_attr_setdetachstate(made, PTHREAD_CREATE_DETACHED);
  const lane& of = *known->lanes.front();
  if (!of.begun) return 0;
  return pthread_attr_setstack(made, of.runs.stack().low, of.runs.stack().size_bytes);
}

/// Threads of one name are told apart by a number, as by spawn_host().
void name(wave& thread, std::string_view wanted) {
  uint32_t namesakes = 0;
  const auto& threads = execution::instance->core().threads;
  for (size_t n = 0; n < threads.waves_used; ++n) {
    const std::string_view known = threads.waves[n].name;
    if (!threads.waves[n].host || &threads.waves[n] == &thread || !known.starts_with(wanted)) continue;
    const std::string_view rest = known.substr(wanted.size());
    if (rest.empty() || rest.starts_with(" #")) ++namesakes;
  }
  thread.name = wanted;
  if (namesakes != 0) thread.name += " #" + std::to_string(namesakes + 1);
}

struct thread_of_c11 {
  thrd_start_t routine;
  void* argument;
};

void* run_c11(void* given) {
  const auto* const body = static_cast<const thread_of_c11*>(given);
  const std::unique_ptr<const thread_of_c11> owned(body);
  return reinterpret_cast<void*>(static_cast<intptr_t>(body->routine(body->argument)));
}

void* run_state(void* given) {
  const std::unique_ptr<std::thread::_State> state(static_cast<std::thread::_State*>(given));
  state->_M_run();
  return nullptr;
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

// A call by code under test is simulated, any other goes on to the C library.
#define HEDDLE_IN_RUN(type, name, parameters, arguments, ...) \
  type __real_##name parameters;                              \
  type __wrap_##name parameters {                             \
    if (execution::current == nullptr) [[unlikely]]           \
      return __real_##name arguments;                         \
    const runtime::caller from = HEDDLE_CALLER;               \
    return __VA_ARGS__;                                       \
  }
#define HEDDLE_IN_RUN_QUIETLY(type, name, parameters, arguments, ...) \
  type __real_##name parameters;                                      \
  type __wrap_##name parameters {                                     \
    if (execution::current == nullptr) [[unlikely]]                   \
      return __real_##name arguments;                                 \
    return __VA_ARGS__;                                               \
  }

// -- pthreads ----------------------------------------------------------------------------------------------------------------------

int __real_pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*body)(void*), void* argument);
int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*body)(void*), void* argument) {
  if (execution::current == nullptr) return __real_pthread_create(thread, how, body, argument);
  const int wrong = create(thread, body, argument, 0, HEDDLE_CALLER);
  int detached = PTHREAD_CREATE_JOINABLE;
  if (wrong == 0 && how != nullptr && pthread_attr_getdetachstate(how, &detached) == 0 &&
      detached == PTHREAD_CREATE_DETACHED)
    detach(*thread);
  return wrong;
}

HEDDLE_IN_RUN(int, pthread_join, (pthread_t thread, void** result), (thread, result), join(thread, result, never, from))
HEDDLE_IN_RUN(int, pthread_tryjoin_np, (pthread_t thread, void** result), (thread, result),
              join(thread, result, 0, from))
HEDDLE_IN_RUN(int, pthread_timedjoin_np, (pthread_t thread, void** result, const timespec* until),
              (thread, result, until), join(thread, result, runtime::moment_of(CLOCK_REALTIME, until), from))
HEDDLE_IN_RUN(int, pthread_clockjoin_np, (pthread_t thread, void** result, clockid_t clock, const timespec* until),
              (thread, result, clock, until), join(thread, result, runtime::moment_of(clock, until), from))
HEDDLE_IN_RUN_QUIETLY(int, pthread_detach, (pthread_t thread), (thread), detach(thread))
HEDDLE_IN_RUN_QUIETLY(int, pthread_getattr_np, (pthread_t thread, pthread_attr_t* made), (thread, made),
                      attributes_of(thread, made))
HEDDLE_IN_RUN_QUIETLY(pthread_t, pthread_self, (), (), thread_of(*execution::current))

[[noreturn]] void __real_pthread_exit(void* result);
[[noreturn]] void __wrap_pthread_exit(void* result) {
  lane* const self = execution::current;
  if (self == nullptr) __real_pthread_exit(result);
  if (!self->is_host()) {
    const runtime::entered inside(*self);
    runtime::refuse(*self, heddle::scheduler::verdict::crash,
                    "pthread_exit() is called: it would end the thread that all lanes run on", HEDDLE_CALLER);
  }
  thread_body* const body = body_of(*self);
  if (body != nullptr) {
    body->result = result;
    _Unwind_ForcedUnwind(&body->thrown, unwind_frame, body);
  }
  {
    // Whether it is the last one it asks here.
    const runtime::caller from = HEDDLE_CALLER;
    const runtime::entered inside(*self);
    execution::instance->core().note_question_of_end();
    const uint64_t& ended = self->of->ended;
    runtime::try_object(*self, runtime::make_operation(operation_kind::join, &ended, sizeof ended, from), nullptr,
                        [] { return true; });
  }
  runtime::end_thread();
  execution::instance->end_host(*self);
}

int __real_pthread_setname_np(pthread_t thread, const char* wanted);
int __wrap_pthread_setname_np(pthread_t thread, const char* wanted) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_pthread_setname_np(thread, wanted);
  const runtime::entered inside(*self);
  constexpr size_t most = 15;
  if (std::strlen(wanted) > most) return ERANGE;
  wave* const named = wave_of(thread);
  if (named == nullptr) return ESRCH;
  name(*named, wanted);
  return 0;
}

int __real_pthread_getname_np(pthread_t thread, char* to, size_t size_bytes);
int __wrap_pthread_getname_np(pthread_t thread, char* to, size_t size_bytes) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_pthread_getname_np(thread, to, size_bytes);
  const runtime::entered inside(*self);
  const wave* const named = wave_of(thread);
  if (named == nullptr) return ESRCH;
  if (size_bytes <= named->name.size()) return ERANGE;
  std::memcpy(to, named->name.c_str(), named->name.size() + 1);
  return 0;
}

// -- C11 ---------------------------------------------------------------------------------------------------------------------------

int __real_thrd_create(thrd_t* thread, thrd_start_t body, void* argument);
int __wrap_thrd_create(thrd_t* thread, thrd_start_t body, void* argument) {
  if (execution::current == nullptr) return __real_thrd_create(thread, body, argument);
  auto* const given = new thread_of_c11{body, argument};
  return create(thread, run_c11, given, sizeof *given, HEDDLE_CALLER) == 0 ? thrd_success : thrd_error;
}
int __real_thrd_join(thrd_t thread, int* result);
int __wrap_thrd_join(thrd_t thread, int* result) {
  if (execution::current == nullptr) return __real_thrd_join(thread, result);
  void* ended = nullptr;
  if (join(thread, &ended, never, HEDDLE_CALLER) != 0) return thrd_error;
  if (result != nullptr) *result = static_cast<int>(reinterpret_cast<intptr_t>(ended));
  return thrd_success;
}
[[noreturn]] void __real_thrd_exit(int result);
[[noreturn]] void __wrap_thrd_exit(int result) {
  if (execution::current == nullptr) __real_thrd_exit(result);
  __wrap_pthread_exit(reinterpret_cast<void*>(static_cast<intptr_t>(result)));
}
HEDDLE_IN_RUN_QUIETLY(int, thrd_detach, (thrd_t thread), (thread), detach(thread) == 0 ? thrd_success : thrd_error)
HEDDLE_IN_RUN_QUIETLY(thrd_t, thrd_current, (), (), thread_of(*execution::current))

// -- C++ ---------------------------------------------------------------------------------------------------------------------------

// std::thread::_M_start_thread(std::unique_ptr<_State>, void (*)()), where all threads of libstdc++ begin. `state` is passed by address, as
// each class with a destructor.
void __real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
    pthread_t* self, std::unique_ptr<std::thread::_State>* state, void (*depends)());
void __wrap__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
    pthread_t* thread, std::unique_ptr<std::thread::_State>* state, void (*depends)()) {
  if (execution::current == nullptr)
    return __real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(thread, state,
                                                                                                        depends);
  std::thread::_State* const given = state->release();
  create(thread, run_state, given, runtime::allocated_bytes(given), HEDDLE_CALLER);
}

void __real__ZNSt6thread4joinEv(pthread_t* thread);
// At an even address: of a pointer to a member function an odd one says that the function is virtual.
[[gnu::aligned(16)]] void __wrap__ZNSt6thread4joinEv(pthread_t* thread) {
  if (execution::current == nullptr) return __real__ZNSt6thread4joinEv(thread);
  const int wrong = *thread == 0 ? EINVAL : join(*thread, nullptr, never, HEDDLE_CALLER);
  if (wrong != 0) throw std::system_error(std::error_code(wrong, std::generic_category()));
  *thread = 0;
}

void __real__ZNSt6thread6detachEv(pthread_t* thread);
[[gnu::aligned(16)]] void __wrap__ZNSt6thread6detachEv(pthread_t* thread) {
  if (execution::current == nullptr) return __real__ZNSt6thread6detachEv(thread);
  const int wrong = *thread == 0 ? EINVAL : detach(*thread);
  if (wrong != 0) throw std::system_error(std::error_code(wrong, std::generic_category()));
  *thread = 0;
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
