// Teams of OpenMP's threads, and the work that they share (openmp_calls.cpp has the calls).
#pragma once

#include <heddle/sim/runtime/waiting_calls.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <utility>

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names
int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*body)(void*), void* argument);
int __wrap_pthread_join(pthread_t thread, void** result);
int __wrap_pthread_setname_np(pthread_t thread, const char* name);
int __wrap_pthread_barrier_init(pthread_barrier_t* barrier, const pthread_barrierattr_t* how, unsigned count);
int __wrap_pthread_barrier_destroy(pthread_barrier_t* barrier);
int __wrap_pthread_barrier_wait(pthread_barrier_t* barrier);
// NOLINTEND(bugprone-reserved-identifier)
}

namespace heddle::sim::runtime {

// As omp.h has them.
struct omp_lock_t {
  unsigned char bytes[4];
};
struct omp_nest_lock_t {
  alignas(8) unsigned char bytes[8 + sizeof(void*)];
};

constexpr uint32_t most_threads = 64;

/// The threads of a region. It lies in the frame of the thread that has come to the region.
struct team {
  void (*body)(void*) = nullptr;
  void* data = nullptr;
  uint32_t size = 1;
  pthread_barrier_t meeting = {};
  // A thread that is so many constructs ahead of another one waits.
  static constexpr size_t most_ahead = 8;
  std::array<work_share, most_ahead> shares = {};

  work_share& share(uint64_t construct) { return shares[construct % most_ahead]; }
};
struct member {
  team* of = nullptr;
  uint32_t number = 0;
  uint64_t constructs = 0;  ///< that it has come to
};

inline openmp_place& place() {
  lane& self = *execution::current;
  const entered inside(self);
  return execution::instance->hosts().threads.of(self.of->id).openmp;
}
inline team* team_of(const openmp_place& at) { return static_cast<team*>(at.team); }

inline void run_as(const member& one) {
  openmp_place& at = place();
  const openmp_place before = at;
  at = {.team = one.of, .number = one.number, .constructs = one.constructs};
  one.of->body(one.of->data);
  place() = before;
}
inline void* run_member(void* given) {
  run_as(*static_cast<const member*>(given));
  return nullptr;
}

inline uint32_t threads_for(unsigned asked) {
  const openmp_place& at = place();
  // Regions within regions have one thread each (OMP_MAX_ACTIVE_LEVELS is 1).
  if (team* const outer = team_of(at); outer != nullptr && outer->size > 1) return 1;
  if (asked != 0) return asked;
  return at.threads != 0 ? at.threads : 4;
}

/// Runs the region: the calling thread is number 0 of the team.
inline void run_region(team& all, uint64_t constructs) {
  std::array<member, most_threads> members = {};
  std::array<pthread_t, most_threads> threads = {};
  all.size = std::min<uint32_t>(all.size, most_threads);
  __wrap_pthread_barrier_init(&all.meeting, nullptr, all.size);
  for (uint32_t n = 0; n < all.size; ++n) members[n] = {&all, n, constructs};
  for (uint32_t n = 1; n < all.size; ++n) {
    __wrap_pthread_create(&threads[n], nullptr, run_member, &members[n]);
    char name[16];
    std::snprintf(name, sizeof name, "omp %u", n);
    __wrap_pthread_setname_np(threads[n], name);
  }
  run_as(members[0]);
  for (uint32_t n = 1; n < all.size; ++n) __wrap_pthread_join(threads[n], nullptr);
  __wrap_pthread_barrier_destroy(&all.meeting);
}

// -- work that is shared ---------------------------------------------------------------------------------------------------------------

/// A step of the thread at the share, which waits until `take()` holds.
template <typename Take>
void at_share(work_share& share, const caller& from, Take&& take) {
  lane& self = *execution::current;
  const hidden_operands hidden(self, as_operand(&share));
  const entered inside(self);
  take_object(self, make_operation(operation_kind::wait_notice, &share, 1, from), take);
}

/// The thread comes to its next construct; the first one there begins it. `look` is part of that step.
template <typename Begin, typename Look>
void enter(const caller& from, Begin&& begin, Look&& look) {
  openmp_place& at = place();
  team* const all = team_of(at);
  if (all == nullptr) {
    at.alone = {};
    begin(at.alone);
    return look(at.alone);
  }
  const uint64_t construct = ++at.constructs;
  work_share& share = all->share(construct);
  at_share(share, from, [&] {
    if (share.construct != construct) {
      if (share.construct != 0 && share.done != all->size) return false;
      share = {.construct = construct};
      begin(share);
    }
    look(share);
    return true;
  });
}
/// The thread is through with its construct.
inline void leave(const caller& from) {
  const openmp_place& at = place();
  if (at.team == nullptr) return;
  work_share& share = team_of(at)->share(at.constructs);
  lane& self = *execution::current;
  const hidden_operands hidden(self, as_operand(&share));
  const entered inside(self);
  give_object(self, 1, make_operation(operation_kind::give_notice, &share, 1, from), [&] {
    ++share.done;
    return 0;
  });
}
inline void meet() {
  team* const all = team_of(place());
  if (all != nullptr && all->size > 1) __wrap_pthread_barrier_wait(&all->meeting);
}

/// Iterations for the thread, in the loop that it is in.
struct range {
  uint64_t first = 0;
  uint64_t last = 0;
  bool any = false;
  uint32_t threads = 1;  ///< of the team

  range() {
    if (const team* const all = team_of(place()); all != nullptr) threads = all->size;
  }
  void take(work_share& share) { any = share.take(threads, &first, &last); }
  template <typename Number>
  bool give(Number* begin, Number* end) const {
    if (!any) return false;
    *begin = static_cast<Number>(first);
    *end = static_cast<Number>(last);
    return true;
  }
};
inline range next_range(const caller& from) {
  openmp_place& at = place();
  range found;
  if (at.team == nullptr) {
    found.take(at.alone);
    return found;
  }
  work_share& share = team_of(at)->share(at.constructs);
  at_share(share, from, [&] {
    found.take(share);
    return true;
  });
  return found;
}

struct loop {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t step = 1;
  uint64_t chunk = 1;
  bool up = true;
  bool guided = false;
  bool any = true;
  static loop of(long start, long end, long step, long chunk, bool guided) {
    const bool up = step > 0;
    return {static_cast<uint64_t>(start),
            static_cast<uint64_t>(end),
            static_cast<uint64_t>(up ? step : -step),
            static_cast<uint64_t>(std::max(chunk, 1L)),
            up,
            guided,
            up ? start < end : start > end};
  }
  /// Of unsigned numbers; where they are counted down, the step is the negative one.
  static loop of_unsigned(bool up, uint64_t start, uint64_t end, uint64_t step, uint64_t chunk, bool guided) {
    return {start, end, up ? step : -step, std::max<uint64_t>(chunk, 1), up, guided, up ? start < end : start > end};
  }
  /// Sections are iterations 1 to `count`.
  static loop of_sections(unsigned count) { return of(1, static_cast<long>(count) + 1, 1, 1, false); }

  void begin(work_share& share) const {
    share.up = up;
    share.guided = guided;
    share.next = start;
    share.end = end;
    share.step = step;
    share.left = any ? ((up ? end - start : start - end) + step - 1) / step : 0;
    share.chunk = chunk;
  }
};

inline range first_range(const loop& over, const caller& from) {
  range found;
  enter(from, [&](work_share& share) { over.begin(share); }, [&](work_share& share) { found.take(share); });
  return found;
}
inline void run_loop_region(void (*body)(void*), void* data, unsigned threads, const loop& over) {
  team all;
  all.body = body;
  all.data = data;
  all.size = threads_for(threads);
  all.share(1).construct = 1;
  over.begin(all.share(1));
  run_region(all, 1);
}

}  // namespace heddle::sim::runtime
