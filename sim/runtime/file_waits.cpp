// Waits for several files at once (--wrap).
#include <heddle/sim/runtime/files.h>

#include <array>
#include <cstddef>
#include <span>

namespace heddle::sim::runtime {
namespace {

/// A call that waits at most until `moment`.
struct waiting_call {
  lane& self;
  const char* name;
  uint64_t moment;
  const caller& from;
};

/// Waits until `look()` finds something, or the time is over; by `real()`, which is the call itself, where it is nothing to the simulation.
template <typename Look, typename Real>
int wait_or_call(const waiting_call& call, const waited_words& words, const answer& found, Look&& look, Real&& real) {
  if (words.only_outside() && call.moment != never) {
    const entered inside(call.self);
    return real();
  }
  wait_for_files(call.self, call.name, words, call.moment, call.from, look);
  return static_cast<int>(found.given());
}

template <typename Real>
int poll_files(const waiting_call& call, std::span<pollfd> files, Real&& real) {
  answer found;
  waited_words words;
  for (const pollfd& each : files) words.add_file(each.fd, static_cast<unsigned>(each.events));
  const auto look = [&] {
    found = answer::of([&] { return __real_poll(files.data(), files.size(), 0); });
    for (const pollfd& each : files)
      if ((each.revents & ~POLLOUT) != 0) acquire_ready(call.self, each.fd);
    return found.result != 0;
  };
  return wait_or_call(call, words, found, look, real);
}

template <typename Real>
int select_files(const waiting_call& call, int count, const std::array<fd_set*, 3>& given, Real&& real) {
  answer found;
  waited_words words;
  std::array<fd_set, 3> asked;
  for (size_t n = 0; n < given.size(); ++n) {
    if (given[n] != nullptr) asked[n] = *given[n];
    for (int file = 0; given[n] != nullptr && file < count; ++file)
      if (FD_ISSET(file, given[n])) words.add_file(file, n == 1 ? POLLOUT : POLLIN);
  }
  const auto look = [&] {
    for (size_t n = 0; n < given.size(); ++n)
      if (given[n] != nullptr) *given[n] = asked[n];
    timeval at_once = {};
    found = answer::of([&] { return __real_select(count, given[0], given[1], given[2], &at_once); });
    for (int file = 0; given[0] != nullptr && file < count; ++file)
      if (FD_ISSET(file, given[0])) acquire_ready(call.self, file);
    return found.result != 0;
  };
  return wait_or_call(call, words, found, look, real);
}

template <typename Real>
int wait_for_list(const waiting_call& call, int list, std::span<epoll_event> events, Real&& real) {
  answer found;
  waited_words words;
  words.add_file(list, POLLIN);
  const auto look = [&] {
    // Before what is told once is told.
    if (const end of = known_files().find(list))
      for (const auto& each : of.of->interests) acquire_ready(call.self, each.file);
    found = answer::of([&] { return __real_epoll_wait(list, events.data(), static_cast<int>(events.size()), 0); });
    return found.result != 0;
  };
  return wait_or_call(call, words, found, look, real);
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

int __wrap_poll(pollfd* files, nfds_t count, int timeout_ms) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_poll(files, count, timeout_ms);
  return poll_files({*self, "poll", moment_in(timeout_ms), HEDDLE_CALLER}, {files, count},
                    [&] { return __real_poll(files, count, timeout_ms); });
}
// Its name with _FORTIFY_SOURCE.
[[gnu::weak]] int __real___poll_chk(pollfd* files, nfds_t count, int timeout_ms, size_t room_bytes);
int __wrap___poll_chk(pollfd* files, nfds_t count, int timeout_ms, size_t room_bytes) {
  return count > room_bytes / sizeof *files ? __real___poll_chk(files, count, timeout_ms, room_bytes)
                                            : __wrap_poll(files, count, timeout_ms);
}
int __real_ppoll(pollfd* files, nfds_t count, const timespec* timeout, const sigset_t* mask);
int __wrap_ppoll(pollfd* files, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_ppoll(files, count, timeout, mask);
  return poll_files({*self, "ppoll", moment_in(timeout), HEDDLE_CALLER}, {files, count},
                    [&] { return __real_ppoll(files, count, timeout, mask); });
}

int __wrap_select(int count, fd_set* to_read, fd_set* to_write, fd_set* with_exceptions, timeval* timeout) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_select(count, to_read, to_write, with_exceptions, timeout);
  timespec within = {};
  if (timeout != nullptr) within = {timeout->tv_sec, timeout->tv_usec * 1000};
  return select_files({*self, "select", moment_in(timeout == nullptr ? nullptr : &within), HEDDLE_CALLER}, count,
                      {to_read, to_write, with_exceptions},
                      [&] { return __real_select(count, to_read, to_write, with_exceptions, timeout); });
}
int __real_pselect(int count, fd_set* to_read, fd_set* to_write, fd_set* with_exceptions, const timespec* timeout,
                   const sigset_t* mask);
int __wrap_pselect(int count, fd_set* to_read, fd_set* to_write, fd_set* with_exceptions, const timespec* timeout,
                   const sigset_t* mask) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_pselect(count, to_read, to_write, with_exceptions, timeout, mask);
  return select_files({*self, "pselect", moment_in(timeout), HEDDLE_CALLER}, count,
                      {to_read, to_write, with_exceptions},
                      [&] { return __real_pselect(count, to_read, to_write, with_exceptions, timeout, mask); });
}

int __real_epoll_ctl(int list, int what, int file, epoll_event* event);
int __wrap_epoll_ctl(int list, int what, int file, epoll_event* event) {
  HEDDLE_ON_FILE(list, [&] {
    if (what != EPOLL_CTL_DEL && event != nullptr && (event->events & (EPOLLET | EPOLLONESHOT)) != 0)
      no_state_tells("epoll_ctl with EPOLLET or EPOLLONESHOT: what the list has told already is no part of a state");
    const hidden_operands hidden(*self, reinterpret_cast<uintptr_t>(at.outgoing()));
    const entered inside(*self);
    answer made;
    give_object(*self, 1, make_operation(operation_kind::give_notice, at.incoming(), 1, from), [&] {
      made = answer::of([&] { return __real_epoll_ctl(list, what, file, event); });
      if (made.result != 0) return made.error;
      std::erase_if(at.of->interests, [&](const auto& each) { return each.file == file; });
      if (what != EPOLL_CTL_DEL) at.of->interests.push_back({file, event->events, event->data.u64});
      return 0;
    });
    return static_cast<int>(made.given());
  }())
  return __real_epoll_ctl(list, what, file, event);
}

int __wrap_epoll_wait(int file, epoll_event* events, int count, int timeout_ms) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_epoll_wait(file, events, count, timeout_ms);
  if (count <= 0) return __real_epoll_wait(file, events, count, timeout_ms);
  return wait_for_list({*self, "epoll_wait", moment_in(timeout_ms), HEDDLE_CALLER}, file,
                       {events, static_cast<size_t>(count)},
                       [&] { return __real_epoll_wait(file, events, count, timeout_ms); });
}
int __real_epoll_pwait(int file, epoll_event* events, int count, int timeout_ms, const sigset_t* mask);
int __wrap_epoll_pwait(int file, epoll_event* events, int count, int timeout_ms, const sigset_t* mask) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_epoll_pwait(file, events, count, timeout_ms, mask);
  if (count <= 0) return __real_epoll_pwait(file, events, count, timeout_ms, mask);
  return wait_for_list({*self, "epoll_pwait", moment_in(timeout_ms), HEDDLE_CALLER}, file,
                       {events, static_cast<size_t>(count)},
                       [&] { return __real_epoll_pwait(file, events, count, timeout_ms, mask); });
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"

}  // namespace heddle::sim::runtime
