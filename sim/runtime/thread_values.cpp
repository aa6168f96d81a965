// Values that each host thread has for itself, and what the C++ library has been asked to call when a thread or the program ends (--wrap).
#include <heddle/sim/code/program_libraries.h>
#include <heddle/sim/code/program_state.h>
#include <heddle/sim/code/thread_locals.h>
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/other_hosts.h>
#include <heddle/sim/runtime/program_memory.h>
#include <heddle/sim/runtime/thread_values.h>
#include <heddle/sim/space/lane_heap.h>
#include <malloc.h>
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace runtime = heddle::sim::runtime;
using heddle::sim::ending_call;
using heddle::sim::execution;
using heddle::sim::host_threads;
using heddle::sim::lane;

namespace {

host_threads& known() { return execution::instance->hosts().threads; }

// Keys that were made before the run are the C library's: 0 to PTHREAD_KEYS_MAX.
constexpr pthread_key_t first_key = 1u << 20;

/// The last of these, taken out; nothing where there is none.
ending_call take_last(std::vector<ending_call>& from) {
  if (from.empty()) return {};
  const ending_call last = from.back();
  from.pop_back();
  return last;
}

ending_call next_of_thread() {
  lane& self = *execution::current;
  const runtime::entered inside(self);
  if (!known().knows(self.of->id)) return {};
  heddle::sim::host_thread_facts& facts = known().of(self.of->id);
  const ending_call next = take_last(facts.at_its_end);
  return next.call != nullptr ? next : take_last(facts.behind_its_end);
}

ending_call next_of_program() {
  lane& self = *execution::current;
  const runtime::entered inside(self);
  return take_last(known().at_exit());
}

/// A value that has a destructor, which is told and forgotten.
ending_call next_value() {
  lane& self = *execution::current;
  const runtime::entered inside(self);
  if (!known().knows(self.of->id)) return {};
  std::vector<void*>& values = known().of(self.of->id).values;
  const auto& keys = known().keys();
  for (size_t n = 0; n < values.size() && n < keys.size(); ++n)
    if (values[n] != nullptr && keys[n].in_use && keys[n].destroy != nullptr)
      return {keys[n].destroy, std::exchange(values[n], nullptr)};
  return {};
}

/// Kernels and copies go on.
void end_other_hosts(const lane& self) {
  heddle::sim::run_core& core = execution::instance->core();
  for (size_t n = 0; n < core.threads.lanes_used; ++n) {
    lane& each = core.threads.lanes[n];
    heddle::sim::wave& of = *each.of;
    if (&each == &self || !of.host || of.copies || each.state == heddle::sim::lane_state::ended) continue;
    if (each.state == heddle::sim::lane_state::candidate) core.disable(each);
    each.state = heddle::sim::lane_state::ended;
    of.ended_mask |= heddle::sim::lane_bit(each);
    --of.live_lanes;
    --core.threads.live_lanes;
    core.enabled.fair.ended(of);
    of.ended = 1;
    if (core.observers.recorder) core.observers.recorder->ended(each, core.history.steps);
  }
}

/// Whether no other host thread is left; then it comes behind all of them, as exit() does that the last one calls (POSIX, pthread_exit).
bool is_last_of_program(lane& self) {
  heddle::sim::run_core& core = execution::instance->core();
  const auto is_host = [](const lane& one) { return one.of->host && !one.of->copies; };
  // As long as the main thread has not called pthread_exit(), no other one is the last.
  for (size_t n = 0; n < core.threads.lanes_used; ++n) {
    const lane& each = core.threads.lanes[n];
    if (&each != &self && is_host(each) && each.state != heddle::sim::lane_state::ended) return false;
  }
  for (size_t n = 0; core.late != nullptr && n < core.threads.lanes_used; ++n) {
    const lane& each = core.threads.lanes[n];
    if (&each != &self && is_host(each)) core.late->acquire_object(self, &each.of->ended);
  }
  return true;
}

/// Where the thread finds its own copy of the thread-local variables, which is made when it asks for the first time. Null where the C library's memory
/// would have to be taken: then all threads find them in one place, and what they hold is exchanged (thread_locals.h).
[[gnu::noinline]] std::byte* make_thread_pointer(const runtime::caller& from) {
  const heddle::sim::thread_local_image& image = heddle::sim::thread_locals_at_first();
  constexpr size_t alignment = 64;
  auto* const made = static_cast<std::byte*>(runtime::allocate_in_program(image.size_bytes, alignment));
  if (made == nullptr) return nullptr;
  lane& self = *execution::current;
  const runtime::entered inside(self);
  // Reports name it by what has asked.
  heddle::sim::lane_heap* const heap = execution::instance->lanes_allocate_in();
  if (execution::instance->core().map.heap.program() == heap)
    heap->note(made, calls_of(self, runtime::make_operation(heddle::sim::operation_kind::none, nullptr, 0, from)));
  std::memset(made, 0, image.size_bytes);
  std::memcpy(made, image.bytes, image.initialized_bytes);
  return known().of(self.of->id).thread_pointer = made - image.begin;
}

/// The thread has ended: a use of its variables from now on is one of freed memory.
void release_thread_locals(lane& self) {
  if (!known().knows(self.of->id)) return;
  std::byte* const pointer = std::exchange(known().of(self.of->id).thread_pointer, nullptr);
  if (pointer != nullptr) runtime::release_in_program(pointer + heddle::sim::thread_locals_at_first().begin);
}

/// What is to be called when the program ends, the last one first.
void call_at_exit() {
  while (true) {
    const ending_call next = next_of_program();
    if (next.call == nullptr) break;
    next.call(next.object);
  }
}

}  // namespace

namespace heddle::sim::runtime {

void end_values_of_thread() {
  // Mostly the C library has been asked for nothing.
  if (!known().knows(execution::current->of->id)) return;
  while (true) {
    const ending_call next = next_of_thread();
    if (next.call == nullptr) break;
    next.call(next.object);
  }
  // A destructor may set values again, as often as POSIX has it looked at.
  constexpr int most = 1024;
  for (int n = 0; n < most; ++n) {
    const ending_call next = next_value();
    if (next.call == nullptr) break;
    next.call(next.object);
  }
}

void end_thread() {
  end_values_of_thread();
  lane& self = *execution::current;
  bool is_last = false;
  {
    const entered inside(self);
    execution& here = *execution::instance;
    here.hosts().mutexes.check_end_of(here.core(), self);
    is_last = is_program() && is_last_of_program(self);
  }
  if (is_last)
    call_at_exit();
  else
    release_thread_locals(self);
}

bool call_behind_thread(void (*call)(void* object), void* object) {
  lane* const self = execution::current;
  if (self == nullptr) return false;
  const entered inside(*self);
  known().of(self->of->id).behind_its_end.push_back({call, object});
  return true;
}

void end_program_values() {
  end_values_of_thread();
  call_at_exit();
}

void end_program() {
  const caller from = HEDDLE_CALLER;
  end_program_values();
  lane& self = caller_lane("end_program");
  const entered inside(self);
  // Not sooner: a run that is left in the midst of a call would leave the library there.
  if (const std::string& names = libraries_with_unseen_threads(); !names.empty()) [[unlikely]]
    refuse(
        self, scheduler::verdict::unsupported,
        "pthread_create: " + names +
            " has started threads, which the simulator does not see: heddle needs this library itself; link it as an "
            "archive that `heddle build` has made",
        from);
  execution::instance->finish_plain_store(self, __builtin_frame_address(0));
  // The others may come this far or further. Where plain accesses are no scheduling points this alone has them race with what this thread did last.
  take_turn_among_hosts(self, from);
  end_other_hosts(self);
}

size_t allocated_bytes(const void* memory) {
  const size_t of_lane = lane_heap::bytes_at(memory);
  return of_lane != 0 ? of_lane : malloc_usable_size(const_cast<void*>(memory));
}

}  // namespace heddle::sim::runtime

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

// -- thread-local variables ----------------------------------------------------------------------------------------------------------

// What heddle-rewrite has code under test call in the place of __tls_get_addr().
void* heddle_thread_pointer() {
  const lane* const self = execution::current;
  if (self != nullptr && self->is_host() && !self->of->copies) {
    if (known().knows(self->of->id))
      if (std::byte* const own = known().of(self->of->id).thread_pointer; own != nullptr) return own;
    if (std::byte* const made = make_thread_pointer(HEDDLE_CALLER); made != nullptr) return made;
  }
  return __builtin_thread_pointer();
}

// -- keys --------------------------------------------------------------------------------------------------------------------------

int __real_pthread_key_create(pthread_key_t* key, void (*destroy)(void*));
int __wrap_pthread_key_create(pthread_key_t* key, void (*destroy)(void*)) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_pthread_key_create(key, destroy);
  const runtime::entered inside(*self);
  auto& keys = known().keys();
  keys.push_back({.in_use = true, .destroy = destroy});
  *key = first_key + static_cast<pthread_key_t>(keys.size() - 1);
  return 0;
}

int __real_pthread_key_delete(pthread_key_t key);
int __wrap_pthread_key_delete(pthread_key_t key) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_pthread_key_delete(key);
  const runtime::entered inside(*self);
  if (key < first_key) return __real_pthread_key_delete(key);
  auto& keys = known().keys();
  if (key - first_key >= keys.size()) return EINVAL;
  keys[key - first_key].in_use = false;
  return 0;
}

int __real_pthread_setspecific(pthread_key_t key, const void* value);
int __wrap_pthread_setspecific(pthread_key_t key, const void* value) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_pthread_setspecific(key, value);
  const runtime::entered inside(*self);
  if (key < first_key) return __real_pthread_setspecific(key, value);
  const size_t index = key - first_key;
  if (index >= known().keys().size() || !known().keys()[index].in_use) return EINVAL;
  auto& values = known().of(self->of->id).values;
  if (values.size() <= index) values.resize(index + 1);
  values[index] = const_cast<void*>(value);
  return 0;
}

void* __real_pthread_getspecific(pthread_key_t key);
void* __wrap_pthread_getspecific(pthread_key_t key) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_pthread_getspecific(key);
  const runtime::entered inside(*self);
  if (key < first_key) return __real_pthread_getspecific(key);
  const auto& values = known().of(self->of->id).values;
  const size_t index = key - first_key;
  return index < values.size() ? values[index] : nullptr;
}

// Those of C11 are the same keys.

int __real_tss_create(tss_t* key, tss_dtor_t destroy);
int __wrap_tss_create(tss_t* key, tss_dtor_t destroy) {
  if (execution::current == nullptr) return __real_tss_create(key, destroy);
  return __wrap_pthread_key_create(key, destroy) == 0 ? thrd_success : thrd_error;
}

void __real_tss_delete(tss_t key);
void __wrap_tss_delete(tss_t key) {
  if (execution::current == nullptr) return __real_tss_delete(key);
  __wrap_pthread_key_delete(key);
}

int __real_tss_set(tss_t key, void* value);
int __wrap_tss_set(tss_t key, void* value) {
  if (execution::current == nullptr) return __real_tss_set(key, value);
  return __wrap_pthread_setspecific(key, value) == 0 ? thrd_success : thrd_error;
}

void* __real_tss_get(tss_t key);
void* __wrap_tss_get(tss_t key) {
  if (execution::current == nullptr) return __real_tss_get(key);
  return __wrap_pthread_getspecific(key);
}

// -- ends --------------------------------------------------------------------------------------------------------------------------

// Where a thread-local variable with a destructor has been constructed.
int __real___cxa_thread_atexit(void (*call)(void*), void* object, void* library);
int __wrap___cxa_thread_atexit(void (*call)(void*), void* object, void* library) {
  lane* const self = execution::current;
  if (self == nullptr) return __real___cxa_thread_atexit(call, object, library);
  const runtime::entered inside(*self);
  known().of(self->of->id).at_its_end.push_back({call, object});
  return 0;
}

// Where a static variable with a destructor has been constructed, and atexit().
int __real___cxa_atexit(void (*call)(void*), void* object, void* library);
int __wrap___cxa_atexit(void (*call)(void*), void* object, void* library) {
  lane* const self = execution::current;
  if (self == nullptr || !heddle::sim::is_program()) return __real___cxa_atexit(call, object, library);
  const runtime::entered inside(*self);
  known().at_exit().push_back({call, object});
  return 0;
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
