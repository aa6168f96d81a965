// Calls that wait in the kernel. All lanes and host threads of a simulation are fibers of one OS thread: while one waits there, none of the
// others can do what it waits for. So where the wait would not be over at once it never is, and the run ends with verdict `stuck` (--wrap).
// A wait with a time-out comes to its end, and is let through.
#include <fcntl.h>
#include <heddle/sim/runtime/entry.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <string>

namespace runtime = heddle::sim::runtime;
using heddle::sim::execution;
using heddle::sim::lane;

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names
int __real_poll(pollfd* files, nfds_t count, int timeout_ms);
int __real_select(int count, fd_set* to_read, fd_set* to_write, fd_set* with_exceptions, timeval* timeout);
// NOLINTEND(bugprone-reserved-identifier)
}

namespace {

[[noreturn]] void stuck(lane& self, const char* call, const char* on_what, const runtime::caller& from) {
  // The words are the simulator's: their copies are no accesses of the lane's.
  const runtime::entered inside(self);
  runtime::refuse(self, heddle::scheduler::verdict::stuck,
                  std::string(call) + on_what +
                      " waits outside of the simulation, where nothing can end the wait; wait in a loop that reads "
                      "an atomic, or on a doorbell (target::wait)",
                  from);
}

// Without its number: it may be another one in another run.
[[noreturn]] void stuck_on(lane& self, const char* call, const runtime::caller& from) {
  stuck(self, call, " on a file descriptor", from);
}

/// Whether a read of the file would wait.
bool reads_wait(int file) {
  const int flags = fcntl(file, F_GETFL);
  if (flags == -1 || (flags & O_NONBLOCK) != 0) return false;
  pollfd asked = {.fd = file, .events = POLLIN, .revents = 0};
  return __real_poll(&asked, 1, 0) == 0;
}

bool selects_nothing(int count, fd_set* to_read, fd_set* to_write, fd_set* with_exceptions) {
  // A copy, for select replaces what it is given.
  fd_set copies[3];
  fd_set* const given[3] = {to_read, to_write, with_exceptions};
  fd_set* asked[3] = {};
  for (int n = 0; n < 3; ++n)
    if (given[n] != nullptr) {
      copies[n] = *given[n];
      asked[n] = &copies[n];
    }
  timeval at_once = {};
  return __real_select(count, asked[0], asked[1], asked[2], &at_once) == 0;
}

bool flags_wait(int flags) { return (flags & MSG_DONTWAIT) == 0; }

}  // namespace

// Where a lane would wait for ever, the run ends; a call from elsewhere goes on below.
#define HEDDLE_STUCK_IF(would_wait, call)                                             \
  if (lane* const self = execution::current; self != nullptr) [[unlikely]] {          \
    const runtime::caller from = HEDDLE_CALLER;                                       \
    execution::current = nullptr; /* what is asked of the C library is not its own */ \
    const bool waits = (would_wait);                                                  \
    execution::current = self;                                                        \
    if (waits) stuck(*self, call, "", from);                                          \
  }
#define HEDDLE_STUCK_IF_READ_WAITS(call, file, also)                         \
  if (lane* const self = execution::current; self != nullptr) [[unlikely]] { \
    const runtime::caller from = HEDDLE_CALLER;                              \
    execution::current = nullptr;                                            \
    const bool waits = (also) && reads_wait(file);                           \
    execution::current = self;                                               \
    if (waits) stuck_on(*self, call, from);                                  \
  }

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

// -- files and signals -------------------------------------------------------------------------------------------------------------

ssize_t __real_read(int file, void* to, size_t size_bytes);
ssize_t __wrap_read(int file, void* to, size_t size_bytes) {
  HEDDLE_STUCK_IF_READ_WAITS("read", file, size_bytes != 0);
  return __real_read(file, to, size_bytes);
}

ssize_t __real_readv(int file, const iovec* to, int count);
ssize_t __wrap_readv(int file, const iovec* to, int count) {
  HEDDLE_STUCK_IF_READ_WAITS("readv", file, true);
  return __real_readv(file, to, count);
}

ssize_t __real_recv(int file, void* to, size_t size_bytes, int flags);
ssize_t __wrap_recv(int file, void* to, size_t size_bytes, int flags) {
  HEDDLE_STUCK_IF_READ_WAITS("recv", file, flags_wait(flags));
  return __real_recv(file, to, size_bytes, flags);
}

ssize_t __real_recvfrom(int file, void* to, size_t size_bytes, int flags, sockaddr* from, socklen_t* length);
ssize_t __wrap_recvfrom(int file, void* to, size_t size_bytes, int flags, sockaddr* address, socklen_t* length) {
  HEDDLE_STUCK_IF_READ_WAITS("recvfrom", file, flags_wait(flags));
  return __real_recvfrom(file, to, size_bytes, flags, address, length);
}

ssize_t __real_recvmsg(int file, msghdr* to, int flags);
ssize_t __wrap_recvmsg(int file, msghdr* to, int flags) {
  HEDDLE_STUCK_IF_READ_WAITS("recvmsg", file, flags_wait(flags));
  return __real_recvmsg(file, to, flags);
}

int __real_accept(int file, sockaddr* address, socklen_t* length);
int __wrap_accept(int file, sockaddr* address, socklen_t* length) {
  HEDDLE_STUCK_IF_READ_WAITS("accept", file, true);
  return __real_accept(file, address, length);
}

int __real_accept4(int file, sockaddr* address, socklen_t* length, int flags);
int __wrap_accept4(int file, sockaddr* address, socklen_t* length, int flags) {
  HEDDLE_STUCK_IF_READ_WAITS("accept4", file, true);
  return __real_accept4(file, address, length, flags);
}

// These are asked first without waiting: an answer, or an error, is the answer.

int __wrap_poll(pollfd* files, nfds_t count, int timeout_ms) {
  HEDDLE_STUCK_IF(timeout_ms < 0 && __real_poll(files, count, 0) == 0, "poll without a time-out");
  return __real_poll(files, count, timeout_ms);
}

int __real_ppoll(pollfd* files, nfds_t count, const timespec* timeout, const sigset_t* mask);
int __wrap_ppoll(pollfd* files, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  HEDDLE_STUCK_IF(timeout == nullptr && __real_poll(files, count, 0) == 0, "ppoll without a time-out");
  return __real_ppoll(files, count, timeout, mask);
}

int __wrap_select(int count, fd_set* to_read, fd_set* to_write, fd_set* with_exceptions, timeval* timeout) {
  HEDDLE_STUCK_IF(timeout == nullptr && selects_nothing(count, to_read, to_write, with_exceptions),
                  "select without a time-out");
  return __real_select(count, to_read, to_write, with_exceptions, timeout);
}

int __real_pselect(int count, fd_set* to_read, fd_set* to_write, fd_set* with_exceptions, const timespec* timeout,
                   const sigset_t* mask);
int __wrap_pselect(int count, fd_set* to_read, fd_set* to_write, fd_set* with_exceptions, const timespec* timeout,
                   const sigset_t* mask) {
  HEDDLE_STUCK_IF(timeout == nullptr && selects_nothing(count, to_read, to_write, with_exceptions),
                  "pselect without a time-out");
  return __real_pselect(count, to_read, to_write, with_exceptions, timeout, mask);
}

int __real_epoll_wait(int file, epoll_event* events, int count, int timeout_ms);
int __wrap_epoll_wait(int file, epoll_event* events, int count, int timeout_ms) {
  HEDDLE_STUCK_IF_READ_WAITS("epoll_wait", file, timeout_ms < 0);
  return __real_epoll_wait(file, events, count, timeout_ms);
}

int __real_epoll_pwait(int file, epoll_event* events, int count, int timeout_ms, const sigset_t* mask);
int __wrap_epoll_pwait(int file, epoll_event* events, int count, int timeout_ms, const sigset_t* mask) {
  HEDDLE_STUCK_IF_READ_WAITS("epoll_pwait", file, timeout_ms < 0);
  return __real_epoll_pwait(file, events, count, timeout_ms, mask);
}

int __real_pause();
int __wrap_pause() {
  HEDDLE_STUCK_IF(true, "pause()");
  return __real_pause();
}

int __real_sigsuspend(const sigset_t* mask);
int __wrap_sigsuspend(const sigset_t* mask) {
  HEDDLE_STUCK_IF(true, "sigsuspend");
  return __real_sigsuspend(mask);
}

int __real_sigwait(const sigset_t* set, int* number);
int __wrap_sigwait(const sigset_t* set, int* number) {
  HEDDLE_STUCK_IF(true, "sigwait");
  return __real_sigwait(set, number);
}

int __real_sigwaitinfo(const sigset_t* set, siginfo_t* what);
int __wrap_sigwaitinfo(const sigset_t* set, siginfo_t* what) {
  HEDDLE_STUCK_IF(true, "sigwaitinfo");
  return __real_sigwaitinfo(set, what);
}

// Where there is no child at all, they return at once.

pid_t __real_waitpid(pid_t process, int* status, int options);
pid_t __wrap_waitpid(pid_t process, int* status, int options) {
  if (lane* const self = execution::current; self != nullptr) [[unlikely]] {
    const pid_t ended = __real_waitpid(process, status, options | WNOHANG);
    if (ended == 0 && (options & WNOHANG) == 0) stuck(*self, "waitpid", "", HEDDLE_CALLER);
    return ended;
  }
  return __real_waitpid(process, status, options);
}

pid_t __real_wait(int* status);
pid_t __wrap_wait(int* status) {
  if (lane* const self = execution::current; self != nullptr) [[unlikely]] {
    const pid_t ended = __real_waitpid(-1, status, WNOHANG);
    if (ended == 0) stuck(*self, "wait", "", HEDDLE_CALLER);
    return ended;
  }
  return __real_wait(status);
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
