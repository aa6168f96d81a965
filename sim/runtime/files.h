// What calls on files share: which of them are the run's, and waits for them.
#pragma once

#include <fcntl.h>
#include <heddle/sim/runtime/file_calls.h>
#include <heddle/sim/runtime/waiting_calls.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <span>

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names
int __real_poll(pollfd* files, nfds_t count, int timeout_ms);
int __real_select(int count, fd_set* to_read, fd_set* to_write, fd_set* with_exceptions, timeval* timeout);
int __real_epoll_wait(int file, epoll_event* events, int count, int timeout_ms);
int __real_close(int file);
int __real_fcntl(int file, int what, ...);
int __real_dup(int file);
FILE* __real_fdopen(int file, const char* mode);
int __real_pipe(int* files);
ssize_t __real_write(int file, const void* data, size_t size_bytes);
ssize_t __real_sendmsg(int file, const msghdr* what, int flags);
ssize_t __real_readv(int file, const iovec* to, int count);
ssize_t __real_recvmsg(int file, msghdr* to, int flags);
// NOLINTEND(bugprone-reserved-identifier)
}

namespace heddle::sim::runtime {

/// One end of what the run has made; it is none where the file is another one.
using end = program_files::end;

/// The host thread that calls; null where it is a lane of the device, or none.
inline lane* host_thread() {
  lane* const self = execution::current;
  return self != nullptr && self->is_on_host() ? self : nullptr;
}

inline program_files& known_files() { return execution::instance->hosts().files; }

[[noreturn]] inline void unsupported(lane& self, const char* what, const caller& from) {
  const entered inside(self);
  refuse(self, scheduler::verdict::unsupported, what, from);
}

/// A search goes on, and is no proof.
inline void no_state_tells(const char* of_what) {
  search_notes* const notes = execution::instance->core().notes;
  if (notes != nullptr) notes->untold = of_what;
}

inline bool is_ready(int file, short events) {
  pollfd asked = {.fd = file, .events = events, .revents = 0};
  return __real_poll(&asked, 1, 0) != 0;
}
inline bool may_wait(int file) {
  const int flags = __real_fcntl(file, F_GETFL);
  return flags != -1 && (flags & O_NONBLOCK) == 0;
}

// -- waiting at several files --------------------------------------------------------------------------------------------------------

/// The words that a wait is at. A fixed size: what a lane's frame holds is part of the state of a run.
struct waited_words {
  static constexpr size_t most = 64;
  std::array<const void*, most> all = {};
  size_t count = 0;
  bool outside = false;  ///< of something else as well, which nothing in the run makes ready
  bool too_many = false;

  bool only_outside() const { return outside && count == 0; }
  void add(const void* word) {
    if (std::find(all.begin(), all.begin() + count, word) != all.begin() + count) return;
    if (count == most)
      too_many = true;
    else
      all[count++] = word;
  }
  /// What has to change for these events of the file.
  void add_file(int file, unsigned events) {
    const end of = known_files().find(file);
    if (!of) {
      // A file that is not open is answered at once.
      if (file >= 0) outside = true;
      return;
    }
    add(of.incoming());
    if (of.of->kind == file_kind::interest_list) {
      for (const auto& each : of.of->interests) add_file(each.file, POLLIN | POLLOUT);
      return;
    }
    if ((events & POLLOUT) != 0) add(of.outgoing());
  }
};

/// A lane that has seen that the file is ready knows what was done before it became so.
inline void acquire_ready(lane& self, int file) {
  const end of = known_files().find(file);
  if (!of || !is_ready(file, POLLIN)) return;
  acquire_from(self, of.incoming());
  if (of.of->kind == file_kind::interest_list)
    for (const auto& each : of.of->interests) acquire_ready(self, each.file);
}

/// Blocks the lane, at most until `moment`, until `look()`, which is no wait, has an answer: false only where the time is over.
template <typename Look>
bool wait_for_files(lane& self, const char* call, const waited_words& words, uint64_t moment, const caller& from,
                    Look&& look) {
  if (words.too_many) unsupported(self, "a wait for more than 64 files of the program", from);
  if (moment != 0 && (words.outside || words.count == 0)) {
    const entered inside(self);
    const bool any = look();
    if (any) return true;
    if (moment == never) stuck(self, call, from, " on a file descriptor");
  }
  const void* const named = words.count == 1 ? words.all[0] : nullptr;
  const hidden_operands hidden(self, reinterpret_cast<uintptr_t>(named), moment);
  const entered inside(self);
  const operation how = make_operation(operation_kind::wait_notice, named, 1, from);
  const std::span<const void* const> at(words.all.data(), words.count);
  if (moment == 0) return try_object(self, how, at, nullptr, look);
  if (moment == never) {
    take_object(self, how, at, look);
    return true;
  }
  timed_wait time(self, moment);
  while (!try_object(self, how, at, time.private_state(from), look))
    if (time.is_over()) return false;
  return true;
}

inline uint64_t moment_in(int timeout_ms) {
  if (timeout_ms < 0) return never;
  if (timeout_ms == 0) return 0;
  return execution::instance->core().clock.cycle() + static_cast<uint64_t>(timeout_ms) * 1'000'000;
}
inline uint64_t moment_in(const timespec* timeout) {
  if (timeout != nullptr && in_ns(*timeout) == 0) return 0;
  return moment_behind(timeout);
}

/// A call on an end of what the run has made.
struct file_call {
  lane& self;
  const char* name;
  end at;
  int file;
  const caller& from;
};

/// What a call has answered, with its errno.
struct answer {
  ssize_t result = -1;
  int error = 0;
  ssize_t given() const {
    if (result < 0) errno = error;
    return result;
  }
  template <typename Call>
  static answer of(Call&& call) {
    const ssize_t result = call();
    return {result, result < 0 ? errno : 0};
  }
};

/// Something was taken from, or given to, what others wait for.
inline void tell_others(lane& self, const void* word) {
  execution& here = *execution::instance;
  if (here.core().notes != nullptr) here.changed(self, word, 1);
  here.waiting().notice(self, word);
}

}  // namespace heddle::sim::runtime

// A call by host code on a file of the run; `at` is the end that it is.
#define HEDDLE_ON_FILE(file, ...)                          \
  if (lane* const self = host_thread(); self != nullptr) { \
    const caller from = HEDDLE_CALLER;                     \
    if (const end at = known_files().find(file)) {         \
      heddle_host_looks_at_flags(file);                    \
      return __VA_ARGS__;                                  \
    }                                                      \
  }
// A read of another file by any lane: the run ends where it would wait.
#define HEDDLE_STUCK_IF_READ_WAITS(call, file, also)                                  \
  if (lane* const self = execution::current; self != nullptr) [[unlikely]] {          \
    const caller from = HEDDLE_CALLER;                                                \
    execution::current = nullptr; /* what is asked of the C library is not its own */ \
    const bool waits = (also) && may_wait(file) && !is_ready(file, POLLIN);           \
    execution::current = self;                                                        \
    /* Without its number: it may be another one in another run. */                   \
    if (waits) stuck(*self, call, from, " on a file descriptor");                     \
  }
