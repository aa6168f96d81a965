// Calls of Linux by number (--wrap): futexes, to which std::atomic::wait, std::barrier, std::latch, std::counting_semaphore and std::future come, and
// memory barriers. What is not known here is refused, where it would reach past the simulation.
#include <heddle/sim/runtime/atomic_accesses.h>
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/files.h>
#include <heddle/sim/runtime/moments.h>
#include <heddle/sim/runtime/thread_values.h>
#include <heddle/sim/runtime/waiting_calls.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <span>
#include <string>

namespace runtime = heddle::sim::runtime;
using heddle::sim::execution;
using heddle::sim::lane;
using heddle::sim::operation;
using heddle::sim::operation_kind;
using runtime::never;

namespace heddle::sim::runtime {

void futex_barrier(lane& self, const operation& how) {
  late_memory* const late = execution::instance->late();
  if (late == nullptr) return;
  operation barrier = how;
  barrier.order = memory_order::seq_cst;
  barrier.reach = scope::system;
  late->fence(self, barrier);
}

namespace {

/// What the kernel finds in the word, behind its barrier: as an atomic load, which may miss a store that no wake follows. The kernel's load is no
/// access of the program's, so that none of the program's plain ones races with it.
int look_at_futex(lane& self, const int* word, const operation& how) {
  futex_barrier(self, how);
  late_memory* const late = execution::instance->late();
  if (late == nullptr || late->is_accessed_beside(self, word, sizeof *word)) return *word;
  operation look = how;
  look.order = memory_order::relaxed;
  look.reach = scope::system;
  return static_cast<int>(static_cast<uint32_t>(late->load(self, look)));
}

/// As the futex of Linux: 0, EAGAIN, ETIMEDOUT.
int wait_at_futex(lane& self, const int* word, int expected, uint64_t moment, const caller& from) {
  const hidden_operands hidden(self, as_operand(word), static_cast<uint32_t>(expected), moment);
  const entered inside(self);
  execution& here = *execution::instance;
  const operation waits = make_operation(operation_kind::wait_notice, word, sizeof *word, from);
  self.operands = {as_operand(word), static_cast<uint32_t>(expected)};
  here.step(self, waits);
  // No wake comes between the look and the wait.
  const int found = look_at_futex(self, word, waits);
  here.performed(self, static_cast<uint32_t>(found));
  if (found != expected) return EAGAIN;
  timed_wait time(self, moment);
  while (true) {
    here.hosts().notices.wait_at(word, self);
    if (wait_for_notice(self, time.private_state(from), waits) || !time.has_end()) return 0;
    if (time.is_over()) return ETIMEDOUT;
  }
}

/// Whether the call is one that is simulated; then `result` is what it returns, with errno set.
bool futex_call(lane& self, const long (&given)[6], long& result, const caller& from) {
  const auto flags = static_cast<unsigned>(given[1]);
  const unsigned call = flags & ~unsigned{FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME};
  const auto* const word = reinterpret_cast<const int*>(given[0]);
  if (call == FUTEX_WAKE || call == FUTEX_WAKE_BITSET) {
    for (long left = given[2]; left > 0; --left) {
      const bool all = given[2] == INT32_MAX;
      notify(self, word, all, from, true);
      if (all) break;
    }
    result = 0;
    return true;
  }
  if (call != FUTEX_WAIT && call != FUTEX_WAIT_BITSET) return false;
  const auto* const time = reinterpret_cast<const timespec*>(given[3]);
  // FUTEX_WAIT has a time, FUTEX_WAIT_BITSET a moment.
  const uint64_t moment = call == FUTEX_WAIT
                              ? moment_behind(time)
                              : moment_of((flags & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, time);
  const int wrong = wait_at_futex(self, word, static_cast<int>(given[2]), moment, from);
  if (wrong != 0) errno = wrong;
  result = wrong == 0 ? 0 : -1;
  return true;
}

/// membarrier(2). The kernel interrupts each thread of the process at some moment of the call, and waits for it: what that thread did before comes
/// before the end of the call, and what the caller did before the call comes before what that thread does next. Each moment is a step. Threads
/// that have ended went through the kernel too, which orders them likewise.
long memory_barrier(lane& self, long command, const caller& from) {
  constexpr long registrations = MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED |
                                 MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE;
  constexpr long of_registered = MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE;
  constexpr long others = MEMBARRIER_CMD_GLOBAL | MEMBARRIER_CMD_GLOBAL_EXPEDITED;
  uint32_t& registered = execution::instance->hosts().registered_barriers;
  if (command == MEMBARRIER_CMD_QUERY) return registrations | of_registered | others;
  const bool is_one = command > 0 && (command & (command - 1)) == 0;
  if (is_one && (command & registrations) != 0) {
    registered |= static_cast<uint32_t>(command);
    return 0;
  }
  if (!is_one || (command & (of_registered | others)) == 0) {
    errno = EINVAL;
    return -1;
  }
  // Its registration is the bit above. Without it a global barrier leaves this process out.
  const bool reaches = command == MEMBARRIER_CMD_GLOBAL || (registered & command << 1) != 0;
  if (!reaches && (command & of_registered) != 0) {
    errno = EPERM;
    return -1;
  }
  fence(memory_order::seq_cst, scope::system, from);
  if (!reaches || execution::instance->late() == nullptr) return 0;
  no_state_tells("membarrier: what other threads are about to do, it orders too");
  const auto& threads = execution::instance->core().threads;
  for (size_t n = 0; n < threads.waves_used; ++n) {
    const wave& thread = threads.waves[n];
    if (!thread.started() || !thread.lanes.front()->is_on_host()) continue;
    lane* const other = thread.lanes.front();
    if (other == &self) continue;
    fence_by(memory_order::seq_cst, scope::system, from, [other](late_memory& late, lane& caller) {
      late.fence(caller, caller.pending);
      if (other->state != lane_state::ended) late.order(caller, *other);
      late.order(*other, caller);
    });
  }
  return 0;
}

// -- other calls by their numbers --------------------------------------------------------------------------------------------------

struct numbered_call {
  long number;
  const char* name;
};

/// What they start or end would neither be scheduled nor seen.
constexpr std::array calls_of_processes = {numbered_call{SYS_fork, "fork"},    numbered_call{SYS_vfork, "vfork"},
                                           numbered_call{SYS_clone, "clone"},  numbered_call{SYS_clone3, "clone3"},
                                           numbered_call{SYS_kill, "kill"},    numbered_call{SYS_tkill, "tkill"},
                                           numbered_call{SYS_tgkill, "tgkill"}};

/// Of a file, which is the first argument.
constexpr std::array calls_of_files = {numbered_call{SYS_read, "read"},
                                       numbered_call{SYS_readv, "readv"},
                                       numbered_call{SYS_recvfrom, "recvfrom"},
                                       numbered_call{SYS_recvmsg, "recvmsg"},
                                       numbered_call{SYS_write, "write"},
                                       numbered_call{SYS_writev, "writev"},
                                       numbered_call{SYS_sendto, "sendto"},
                                       numbered_call{SYS_sendmsg, "sendmsg"},
                                       numbered_call{SYS_close, "close"},
                                       numbered_call{SYS_dup, "dup"},
                                       numbered_call{SYS_dup2, "dup2"},
                                       numbered_call{SYS_dup3, "dup3"},
                                       numbered_call{SYS_fcntl, "fcntl"},
                                       numbered_call{SYS_shutdown, "shutdown"},
                                       numbered_call{SYS_epoll_ctl, "epoll_ctl"},
                                       numbered_call{SYS_epoll_wait, "epoll_wait"},
                                       numbered_call{SYS_epoll_pwait, "epoll_pwait"}};

const char* name_in(std::span<const numbered_call> all, long number) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const numbered_call& one) { return one.number == number; });
  return found == all.end() ? nullptr : found->name;
}

/// Where the kernel does by a number what the simulator has under a name, the run would go on without it.
void refuse_by_number(lane& self, long number, long first, const caller& from) {
  const auto refused = [&](const char* name, const std::string& why) {
    const entered inside(self);
    refuse(self, scheduler::verdict::unsupported, "syscall(SYS_" + std::string(name) + "): " + why, from);
  };
  if (const char* const name = name_in(calls_of_processes, number))
    refused(name, "processes, signals and threads that the C library does not start are not simulated");
  const char* const name = name_in(calls_of_files, number);
  if (name != nullptr && self.is_on_host() && known_files().find(static_cast<int>(first)))
    refused(name, "of files that the program has made heddle has the call of the C library, " + std::string(name) +
                      "(), and not this one");
}

/// Rings that the kernel reads and writes beside the program. Programs that use them have another way for kernels without them.
constexpr bool is_of_io_uring(long number) {
  return number == SYS_io_uring_setup || number == SYS_io_uring_enter || number == SYS_io_uring_register;
}

}  // namespace
}  // namespace heddle::sim::runtime

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

// -- futexes -----------------------------------------------------------------------------------------------------------------------

// std::atomic::wait, std::barrier, std::latch and std::counting_semaphore come to this when they have looked often enough.
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
  va_list more;
  va_start(more, number);
  long given[6];
  for (long& each : given) each = va_arg(more, long);
  va_end(more);
  if (lane* const self = execution::current; self != nullptr) [[unlikely]] {
    const runtime::caller from = HEDDLE_CALLER;
    if (number == SYS_exit_group || number == SYS_exit) {
      const runtime::entered inside(*self);
      runtime::refuse(*self, heddle::scheduler::verdict::crash,
                      std::string(number == SYS_exit ? "syscall(SYS_exit)" : "syscall(SYS_exit_group)") +
                          " is called: it would end the process",
                      from);
    }
    if (number == SYS_gettid) return runtime::id_of_thread(*self);
    if (number == SYS_membarrier) return runtime::memory_barrier(*self, given[0], from);
    if (runtime::is_of_io_uring(number)) {
      errno = ENOSYS;
      return -1;
    }
    runtime::refuse_by_number(*self, number, given[0], from);
    long result = 0;
    if (number == SYS_futex) {
      if (runtime::futex_call(*self, given, result, from)) return result;
      const runtime::entered inside(*self);
      runtime::refuse(*self, heddle::scheduler::verdict::unsupported,
                      "syscall(SYS_futex): of futexes FUTEX_WAIT, FUTEX_WAKE and their _BITSET forms are simulated",
                      from);
    }
    // What the kernel says of it, errno has.
    const runtime::entered inside(*self);
    return __real_syscall(number, given[0], given[1], given[2], given[3], given[4], given[5]);
  }
  return __real_syscall(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

// std::__atomic_futex_unsigned_base::_M_futex_wait_until(unsigned*, unsigned, bool, seconds, nanoseconds), where a std::future waits: false when
// the time is over. The other one is of the steady clock.
#define HEDDLE_FUTURE_WAITS(name, clock)                                                                             \
  bool __real_##name(void* base, unsigned* word, unsigned value, bool timed, int64_t seconds, int64_t nanoseconds);  \
  bool __wrap_##name(void* base, unsigned* word, unsigned value, bool timed, int64_t seconds, int64_t nanoseconds) { \
    lane* const self = execution::current;                                                                           \
    if (self == nullptr) return __real_##name(base, word, value, timed, seconds, nanoseconds);                       \
    const runtime::caller from = HEDDLE_CALLER;                                                                      \
    const timespec until = {.tv_sec = seconds, .tv_nsec = nanoseconds};                                              \
    const uint64_t moment = timed ? runtime::moment_of(clock, until) : never;                                        \
    return runtime::wait_at_futex(*self, reinterpret_cast<int*>(word), static_cast<int>(value), moment, from) !=     \
           ETIMEDOUT;                                                                                                \
  }
HEDDLE_FUTURE_WAITS(
    _ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_untilEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE,
    CLOCK_REALTIME)
HEDDLE_FUTURE_WAITS(
    _ZNSt28__atomic_futex_unsigned_base26_M_futex_wait_until_steadyEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE,
    CLOCK_MONOTONIC)

void __real__ZNSt28__atomic_futex_unsigned_base19_M_futex_notify_allEPj(unsigned* word);
void __wrap__ZNSt28__atomic_futex_unsigned_base19_M_futex_notify_allEPj(unsigned* word) {
  lane* const self = execution::current;
  if (self == nullptr) return __real__ZNSt28__atomic_futex_unsigned_base19_M_futex_notify_allEPj(word);
  runtime::notify(*self, word, true, HEDDLE_CALLER, true);
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
