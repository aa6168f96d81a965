// Calls that wait in the kernel. All lanes and host threads of a simulation are fibers of one OS thread: while one waits there, none of the
// others can do what it waits for. So where the wait would not be over at once it never is, and the run ends with verdict `stuck` (--wrap). Files are
// in file_calls.cpp.
#include <heddle/sim/runtime/waiting_calls.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace runtime = heddle::sim::runtime;
using heddle::sim::execution;
using heddle::sim::lane;

// Where a lane would wait for ever, the run ends; a call from elsewhere goes on below.
#define HEDDLE_STUCK(call)                                                 \
  if (lane* const self = execution::current; self != nullptr) [[unlikely]] \
    runtime::stuck(*self, call, HEDDLE_CALLER);

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

// -- signals ---------------------------------------------------------------------------------------------------------------------

int __real_pause();
int __wrap_pause() {
  HEDDLE_STUCK("pause()")
  return __real_pause();
}

int __real_sigsuspend(const sigset_t* mask);
int __wrap_sigsuspend(const sigset_t* mask) {
  HEDDLE_STUCK("sigsuspend")
  return __real_sigsuspend(mask);
}

int __real_sigwait(const sigset_t* set, int* number);
int __wrap_sigwait(const sigset_t* set, int* number) {
  HEDDLE_STUCK("sigwait")
  return __real_sigwait(set, number);
}

int __real_sigwaitinfo(const sigset_t* set, siginfo_t* what);
int __wrap_sigwaitinfo(const sigset_t* set, siginfo_t* what) {
  HEDDLE_STUCK("sigwaitinfo")
  return __real_sigwaitinfo(set, what);
}

// Where there is no child at all, they return at once.

pid_t __real_waitpid(pid_t process, int* status, int options);
pid_t __wrap_waitpid(pid_t process, int* status, int options) {
  if (lane* const self = execution::current; self != nullptr) [[unlikely]] {
    const pid_t ended = __real_waitpid(process, status, options | WNOHANG);
    if (ended == 0 && (options & WNOHANG) == 0) runtime::stuck(*self, "waitpid", HEDDLE_CALLER);
    return ended;
  }
  return __real_waitpid(process, status, options);
}

pid_t __real_wait(int* status);
pid_t __wrap_wait(int* status) {
  if (lane* const self = execution::current; self != nullptr) [[unlikely]] {
    const pid_t ended = __real_waitpid(-1, status, WNOHANG);
    if (ended == 0) runtime::stuck(*self, "wait", HEDDLE_CALLER);
    return ended;
  }
  return __real_wait(status);
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
