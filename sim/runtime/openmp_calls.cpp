// OpenMP on the host, as g++ compiles it: what libgomp has, on host threads of the simulation (--wrap; libgomp.map of GCC 12 and
// "The libgomp ABI" of its manual). A region makes its threads and joins them. Iterations and sections that threads take one by one are handed out
// without an order between the threads, as libgomp does it; barriers, critical sections and locks order. A task is run by the thread that comes to
// it, at once.
#include <heddle/sim/runtime/mutex_calls.h>
#include <heddle/sim/runtime/openmp.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdint>
#include <utility>

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names
int __wrap_clock_gettime(clockid_t clock, timespec* time);
// NOLINTEND(bugprone-reserved-identifier)
}

namespace heddle::sim::runtime {

namespace {

// -- critical sections and locks -----------------------------------------------------------------------------------------------------

void lock(const void* address, mutex_kind kind, const caller& from) {
  lane& self = *execution::current;
  const entered inside(self);
  execution::instance->lock_mutex(self, address, kind, mutex_operation(operation_kind::lock_mutex, from));
}
bool try_lock(const void* address, mutex_kind kind, const caller& from) {
  lane& self = *execution::current;
  const entered inside(self);
  return execution::instance->try_lock_mutex(self, address, kind, mutex_operation(operation_kind::lock_mutex, from)) ==
         0;
}
void unlock(const void* address, const caller& from) {
  lane& self = *execution::current;
  const entered inside(self);
  execution::instance->unlock_mutex(self, address, mutex_kind::normal,
                                    mutex_operation(operation_kind::unlock_mutex, from));
}

// What critical sections without a name lock, and atomic ones that no processor has.
char unnamed;
char atomics;

template <typename Body>
void with_one_thread(const caller& from, Body&& body) {
  enter(from, [](work_share&) {}, body);
}

[[noreturn]] void not_simulated(lane& self, const char* why, const caller& from) {
  // The words are the simulator's: their copies are no accesses of the lane's.
  const entered inside(self);
  refuse(self, scheduler::verdict::unsupported, why, from);
}

}  // namespace

// The C library's function `name` where no lane calls, and what a lane does in its place.
#define HEDDLE_OPENMP(type, name, parameters, arguments, ...) \
  [[gnu::weak]] type __real_##name parameters;                \
  type __wrap_##name parameters {                             \
    lane* const self = execution::current;                    \
    if (self == nullptr) return __real_##name arguments;      \
    [[maybe_unused]] const caller from = HEDDLE_CALLER;       \
    __VA_ARGS__                                               \
  }

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

// -- regions ---------------------------------------------------------------------------------------------------------------------------

HEDDLE_OPENMP(void, GOMP_parallel, (void (*body)(void*), void* data, unsigned threads, unsigned flags),
              (body, data, threads, flags), {
                team all;
                all.body = body;
                all.data = data;
                all.size = threads_for(threads);
                run_region(all, 0);
              })
#define HEDDLE_PARALLEL_LOOP(name, is_guided)                                                                    \
  HEDDLE_OPENMP(void, GOMP_parallel_loop_##name,                                                                 \
                (void (*body)(void*), void* data, unsigned threads, long start, long end, long step, long chunk, \
                 unsigned flags),                                                                                \
                (body, data, threads, start, end, step, chunk, flags),                                           \
                { run_loop_region(body, data, threads, loop::of(start, end, step, chunk, is_guided)); })
HEDDLE_PARALLEL_LOOP(dynamic, false)
HEDDLE_PARALLEL_LOOP(nonmonotonic_dynamic, false)
HEDDLE_PARALLEL_LOOP(guided, true)
HEDDLE_PARALLEL_LOOP(nonmonotonic_guided, true)
#define HEDDLE_PARALLEL_LOOP_AT_RUN_TIME(name)                                                                        \
  HEDDLE_OPENMP(void, GOMP_parallel_loop_##name,                                                                      \
                (void (*body)(void*), void* data, unsigned threads, long start, long end, long step, unsigned flags), \
                (body, data, threads, start, end, step, flags),                                                       \
                { run_loop_region(body, data, threads, loop::of(start, end, step, 1, false)); })
HEDDLE_PARALLEL_LOOP_AT_RUN_TIME(runtime)
HEDDLE_PARALLEL_LOOP_AT_RUN_TIME(nonmonotonic_runtime)
HEDDLE_PARALLEL_LOOP_AT_RUN_TIME(maybe_nonmonotonic_runtime)
HEDDLE_OPENMP(void, GOMP_parallel_sections,
              (void (*body)(void*), void* data, unsigned threads, unsigned count, unsigned flags),
              (body, data, threads, count, flags), { run_loop_region(body, data, threads, loop::of_sections(count)); })

// -- loops and sections ------------------------------------------------------------------------------------------------------------------

#define HEDDLE_LOOP(name, is_guided)                                                                                 \
  HEDDLE_OPENMP(bool, GOMP_loop_##name##_start,                                                                      \
                (long start, long end, long step, long chunk, long* first, long* last),                              \
                (start, end, step, chunk, first, last),                                                              \
                { return first_range(loop::of(start, end, step, chunk, is_guided), from).give(first, last); })       \
  HEDDLE_OPENMP(bool, GOMP_loop_##name##_next, (long* first, long* last), (first, last),                             \
                { return next_range(from).give(first, last); })                                                      \
  HEDDLE_OPENMP(                                                                                                     \
      bool, GOMP_loop_ull_##name##_start,                                                                            \
      (bool up, unsigned long long start, unsigned long long end, unsigned long long step, unsigned long long chunk, \
       unsigned long long* first, unsigned long long* last),                                                         \
      (up, start, end, step, chunk, first, last),                                                                    \
      { return first_range(loop::of_unsigned(up, start, end, step, chunk, is_guided), from).give(first, last); })    \
  HEDDLE_OPENMP(bool, GOMP_loop_ull_##name##_next, (unsigned long long* first, unsigned long long* last),            \
                (first, last), { return next_range(from).give(first, last); })
HEDDLE_LOOP(dynamic, false)
HEDDLE_LOOP(nonmonotonic_dynamic, false)
HEDDLE_LOOP(guided, true)
HEDDLE_LOOP(nonmonotonic_guided, true)
#define HEDDLE_LOOP_AT_RUN_TIME(name)                                                                       \
  HEDDLE_OPENMP(bool, GOMP_loop_##name##_start, (long start, long end, long step, long* first, long* last), \
                (start, end, step, first, last),                                                            \
                { return first_range(loop::of(start, end, step, 1, false), from).give(first, last); })      \
  HEDDLE_OPENMP(bool, GOMP_loop_##name##_next, (long* first, long* last), (first, last),                    \
                { return next_range(from).give(first, last); })
HEDDLE_LOOP_AT_RUN_TIME(runtime)
HEDDLE_LOOP_AT_RUN_TIME(nonmonotonic_runtime)
HEDDLE_LOOP_AT_RUN_TIME(maybe_nonmonotonic_runtime)
HEDDLE_OPENMP(void, GOMP_loop_end_nowait, (), (), { leave(from); })
HEDDLE_OPENMP(void, GOMP_loop_end, (), (), {
  leave(from);
  meet();
})
HEDDLE_OPENMP(unsigned, GOMP_sections_start, (unsigned count), (count), {
  const range found = first_range(loop::of_sections(count), from);
  return found.any ? static_cast<unsigned>(found.first) : 0;
})
HEDDLE_OPENMP(unsigned, GOMP_sections_next, (), (), {
  const range found = next_range(from);
  return found.any ? static_cast<unsigned>(found.first) : 0;
})
HEDDLE_OPENMP(void, GOMP_sections_end_nowait, (), (), { leave(from); })
HEDDLE_OPENMP(void, GOMP_sections_end, (), (), {
  leave(from);
  meet();
})

// -- one thread at a time ------------------------------------------------------------------------------------------------------------------

HEDDLE_OPENMP(void, GOMP_barrier, (), (), { meet(); })
HEDDLE_OPENMP(bool, GOMP_single_start, (), (), {
  bool mine = false;
  with_one_thread(from, [&](work_share& share) {
    mine = !std::exchange(share.taken, true);
    ++share.done;
  });
  return mine;
})
HEDDLE_OPENMP(void*, GOMP_single_copy_start, (), (), {
  bool mine = false;
  with_one_thread(from, [&](work_share& share) { mine = !std::exchange(share.taken, true); });
  if (mine) return nullptr;
  meet();
  void* const copied = team_of(place())->share(place().constructs).copied;
  leave(from);
  return copied;
})
HEDDLE_OPENMP(void, GOMP_single_copy_end, (void* data), (data), {
  if (team_of(place()) == nullptr) return;
  team_of(place())->share(place().constructs).copied = data;
  meet();
  leave(from);
})
HEDDLE_OPENMP(void, GOMP_critical_start, (), (), { lock(&unnamed, mutex_kind::normal, from); })
HEDDLE_OPENMP(void, GOMP_critical_end, (), (), { unlock(&unnamed, from); })
HEDDLE_OPENMP(void, GOMP_critical_name_start, (void** name), (name), { lock(name, mutex_kind::normal, from); })
HEDDLE_OPENMP(void, GOMP_critical_name_end, (void** name), (name), { unlock(name, from); })
HEDDLE_OPENMP(void, GOMP_atomic_start, (), (), { lock(&atomics, mutex_kind::normal, from); })
HEDDLE_OPENMP(void, GOMP_atomic_end, (), (), { unlock(&atomics, from); })
HEDDLE_OPENMP(void, omp_init_lock, (omp_lock_t * what), (what), { *what = {}; })
HEDDLE_OPENMP(void, omp_destroy_lock, (omp_lock_t * what), (what), { *what = {}; })
HEDDLE_OPENMP(void, omp_init_nest_lock, (omp_nest_lock_t * what), (what), { *what = {}; })
HEDDLE_OPENMP(void, omp_destroy_nest_lock, (omp_nest_lock_t * what), (what), { *what = {}; })
HEDDLE_OPENMP(void, omp_set_lock, (void* what), (what), { lock(what, mutex_kind::normal, from); })
HEDDLE_OPENMP(void, omp_unset_lock, (void* what), (what), { unlock(what, from); })
HEDDLE_OPENMP(int, omp_test_lock, (void* what), (what), { return try_lock(what, mutex_kind::normal, from) ? 1 : 0; })
HEDDLE_OPENMP(void, omp_set_nest_lock, (void* what), (what), { lock(what, mutex_kind::recursive, from); })
HEDDLE_OPENMP(void, omp_unset_nest_lock, (void* what), (what), { unlock(what, from); })

// -- tasks, which the thread runs at once --------------------------------------------------------------------------------------------------

HEDDLE_OPENMP(void, GOMP_task,
              (void (*body)(void*), void* data, void (*copy)(void*, void*), long bytes, long alignment, bool defer,
               unsigned flags, void** depend, int priority, void* detach),
              (body, data, copy, bytes, alignment, defer, flags, depend, priority, detach), {
                if (copy == nullptr) return body(data);
                const auto room = static_cast<size_t>(bytes + alignment);
                auto* const memory = static_cast<std::byte*>(__builtin_alloca(room));
                const uintptr_t end = reinterpret_cast<uintptr_t>(memory) + static_cast<uintptr_t>(alignment) - 1;
                auto* const own = reinterpret_cast<void*>(end / static_cast<uintptr_t>(alignment) *
                                                          static_cast<uintptr_t>(alignment));
                copy(own, data);
                return body(own);
              })
HEDDLE_OPENMP(void, GOMP_taskwait, (), (), {})
HEDDLE_OPENMP(void, GOMP_taskyield, (), (), {})
HEDDLE_OPENMP(void, GOMP_taskgroup_start, (), (), {})
HEDDLE_OPENMP(void, GOMP_taskgroup_end, (), (), {})

// -- questions -----------------------------------------------------------------------------------------------------------------------------

HEDDLE_OPENMP(int, omp_get_thread_num, (), (), { return static_cast<int>(place().number); })
HEDDLE_OPENMP(int, omp_get_num_threads, (), (), {
  const team* const all = team_of(place());
  return all == nullptr ? 1 : static_cast<int>(all->size);
})
HEDDLE_OPENMP(int, omp_get_max_threads, (), (),
              { return place().threads == 0 ? 4 : static_cast<int>(place().threads); })
HEDDLE_OPENMP(void, omp_set_num_threads, (int threads), (threads),
              { place().threads = static_cast<uint32_t>(std::max(threads, 1)); })
HEDDLE_OPENMP(int, omp_in_parallel, (), (), {
  const team* const all = team_of(place());
  return all != nullptr && all->size > 1 ? 1 : 0;
})
HEDDLE_OPENMP(int, omp_get_num_procs, (), (), { return 4; })
HEDDLE_OPENMP(int, omp_get_thread_limit, (), (), { return most_threads; })
HEDDLE_OPENMP(int, omp_get_level, (), (), { return team_of(place()) == nullptr ? 0 : 1; })
HEDDLE_OPENMP(int, omp_get_dynamic, (), (), { return 0; })
HEDDLE_OPENMP(void, omp_set_dynamic, (int on), (on), {})
HEDDLE_OPENMP(int, omp_get_nested, (), (), { return 0; })
HEDDLE_OPENMP(void, omp_set_nested, (int on), (on), {})
HEDDLE_OPENMP(double, omp_get_wtick, (), (), { return 1e-9; })
HEDDLE_OPENMP(double, omp_get_wtime, (), (), {
  timespec now;
  __wrap_clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
})

// -- what is not simulated -------------------------------------------------------------------------------------------------------------------

#define HEDDLE_NOT_SIMULATED(type, name, parameters, arguments)                                      \
  HEDDLE_OPENMP(type, name, parameters, arguments, {                                                 \
    not_simulated(*self,                                                                             \
                  #name                                                                              \
                  ": this part of OpenMP is not simulated; write it with loops, sections, critical " \
                  "sections or tasks",                                                               \
                  from);                                                                             \
  })

// A region as clang compiles it: its threads would run outside of the simulation. Outside of a run it gets its arguments, which are addresses.
[[gnu::weak]] void __real___kmpc_fork_call(void* where, int count, void (*body)(int*, int*, ...), ...);
void __wrap___kmpc_fork_call(void* where, int count, void (*body)(int*, int*, ...), ...) {
  if (lane* const self = execution::current; self != nullptr)
    not_simulated(
        *self,
        "OpenMP as clang compiles it is not simulated; compile the host's code by g++, or start host threads with "
        "device.spawn_host",
        HEDDLE_CALLER);
  std::array<void*, 16> given = {};
  va_list more;
  va_start(more, body);
  for (size_t n = 0; n < given.size() && n < static_cast<size_t>(count); ++n) given[n] = va_arg(more, void*);
  va_end(more);
  __real___kmpc_fork_call(where, count, body, given[0], given[1], given[2], given[3], given[4], given[5], given[6],
                          given[7], given[8], given[9], given[10], given[11], given[12], given[13], given[14],
                          given[15]);
}
HEDDLE_NOT_SIMULATED(void, GOMP_ordered_start, (), ())
HEDDLE_NOT_SIMULATED(void, GOMP_ordered_end, (), ())
#define HEDDLE_ORDERED_LOOP(name)                                                              \
  HEDDLE_NOT_SIMULATED(bool, GOMP_loop_ordered_##name##_start,                                 \
                       (long start, long end, long step, long chunk, long* first, long* last), \
                       (start, end, step, chunk, first, last))                                 \
  HEDDLE_NOT_SIMULATED(bool, GOMP_loop_ordered_##name##_next, (long* first, long* last), (first, last))
HEDDLE_ORDERED_LOOP(static)
HEDDLE_ORDERED_LOOP(dynamic)
HEDDLE_ORDERED_LOOP(guided)
HEDDLE_NOT_SIMULATED(bool, GOMP_loop_ordered_runtime_start, (long start, long end, long step, long* first, long* last),
                     (start, end, step, first, last))
HEDDLE_NOT_SIMULATED(bool, GOMP_loop_ordered_runtime_next, (long* first, long* last), (first, last))
HEDDLE_NOT_SIMULATED(void, GOMP_taskgroup_reduction_register, (uintptr_t* data), (data))
HEDDLE_NOT_SIMULATED(unsigned, GOMP_parallel_reductions,
                     (void (*body)(void*), void* data, unsigned threads, unsigned flags), (body, data, threads, flags))
HEDDLE_NOT_SIMULATED(void, GOMP_taskloop,
                     (void (*body)(void*), void* data, void (*copy)(void*, void*), long bytes, long alignment,
                      unsigned flags, unsigned long tasks, int priority, long start, long end, long step),
                     (body, data, copy, bytes, alignment, flags, tasks, priority, start, end, step))
HEDDLE_NOT_SIMULATED(void, GOMP_teams_reg,
                     (void (*body)(void*), void* data, unsigned teams, unsigned limit, unsigned flags),
                     (body, data, teams, limit, flags))
HEDDLE_NOT_SIMULATED(bool, GOMP_cancel, (int which, bool really), (which, really))

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"

}  // namespace heddle::sim::runtime
