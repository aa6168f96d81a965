// Reads and writes of files (--wrap).
#include <heddle/sim/runtime/file_calls.h>
#include <heddle/sim/runtime/file_memory.h>
#include <heddle/sim/runtime/files.h>
#include <heddle/sim/runtime/plain_accesses.h>
#include <limits.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace heddle::sim::runtime {

namespace {

/// Reads from a known end: `read()` is called when it need not wait, or must not.
template <typename Read>
answer read_from(const file_call& call, bool waits, bool takes, Read&& read) {
  answer got;
  waited_words words;
  words.add(call.at.incoming());
  wait_for_files(call.self, call.name, words, waits && may_wait(call.file) ? never : 0, call.from, [&] {
    if (!is_ready(call.file, POLLIN) && waits && may_wait(call.file)) return false;
    got = answer::of(read);
    if (got.result < 0) return got.error != EAGAIN;
    acquire_from(call.self, call.at.incoming());
    if (!takes) return true;
    program_files::took(call.at, static_cast<size_t>(got.result));
    tell_others(call.self, call.at.incoming());
    return true;
  });
  return got;
}

struct how_to_write {
  bool waits = true;   ///< where there is no room
  bool quiet = false;  ///< there is no signal where nothing reads any more
  static how_to_write by(int flags) { return {(flags & MSG_DONTWAIT) == 0, (flags & MSG_NOSIGNAL) != 0}; }
};

/// Whether it is a pipe that nothing can read any more. A socket says so itself, without a signal (MSG_NOSIGNAL).
bool is_broken(const end& at) { return at.of->kind == file_kind::pipe && at.of->closed[at.writes_to()]; }

/// Gives a known end these bytes: `write()` gives what there is room for.
template <typename Write>
answer write_to(const file_call& call, how_to_write how, std::span<const std::byte> bytes, Write&& write) {
  answer made;
  for (;;) {
    {
      const hidden_operands hidden(call.self, reinterpret_cast<uintptr_t>(call.at.outgoing()));
      const entered inside(call.self);
      give_object(call.self, 1, make_operation(operation_kind::give_notice, call.at.outgoing(), 1, call.from), [&] {
        made = is_broken(call.at) ? answer{-1, EPIPE} : answer::of(write);
        if (made.result < 0) return made.error;
        release_to(call.self, call.at.outgoing());
        program_files::wrote(call.at, bytes.first(static_cast<size_t>(made.result)));
        return 0;
      });
    }
    // Messages are refused without a signal (unix(7)).
    if (made.result < 0 && made.error == EPIPE && !how.quiet && !call.at.of->whole && !known_files().ignores_broken) {
      const entered inside(call.self);
      refuse(call.self, scheduler::verdict::crash,
             std::string(call.name) + " to " + name_of_file_word(call.at.outgoing()) +
                 ", which nothing reads any more: the signal SIGPIPE ends the program",
             call.from);
    }
    if (made.result >= 0 || made.error != EAGAIN || !how.waits || !may_wait(call.file)) return made;
    waited_words words;
    words.add(call.at.outgoing());
    wait_for_files(call.self, call.name, words, never, call.from, [&] { return is_ready(call.file, POLLOUT); });
  }
}

/// Writes without a wait in the kernel as much as there is room for.
ssize_t write_what_fits(int file, const end& at, const std::byte* data, size_t size_bytes) {
  if (at.of->kind == file_kind::socket_pair) {
    iovec part = {.iov_base = const_cast<std::byte*>(data), .iov_len = size_bytes};
    msghdr what = {};
    what.msg_iov = &part;
    what.msg_iovlen = 1;
    return __real_sendmsg(file, &what, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  if (!is_ready(file, POLLOUT)) {
    errno = EAGAIN;
    return -1;
  }
  // A pipe that is ready has room for so many bytes.
  return __real_write(file, data, std::min<size_t>(size_bytes, PIPE_BUF));
}

ssize_t write_all(const file_call& call, how_to_write how, const void* data, size_t size_bytes) {
  const auto* const bytes = static_cast<const std::byte*>(data);
  size_t done = 0;
  do {
    const answer made = write_to(call, how, {bytes + done, size_bytes - done},
                                 [&] { return write_what_fits(call.file, call.at, bytes + done, size_bytes - done); });
    if (made.result < 0) return done != 0 ? static_cast<ssize_t>(done) : made.given();
    done += static_cast<size_t>(made.result);
  } while (done < size_bytes && how.waits && may_wait(call.file));
  return static_cast<ssize_t>(done);
}

/// write_all() of memory of the program's.
ssize_t write_memory_of(const file_call& call, how_to_write how, const void* data, size_t size_bytes) {
  plain_read(data, size_bytes, call.from);
  {
    const entered inside(call.self);
    have_own_stores_in_memory(*execution::instance, call.self);
  }
  return write_all(call, how, data, size_bytes);
}

/// Where the bytes of a read go: more of them than fit here are taken in several reads, or are part of a message.
struct taken_bytes {
  std::array<std::byte, 512> few = {};
  std::vector<std::byte> many;
  std::byte* room_for(size_t size_bytes) {
    if (size_bytes <= few.size()) return few.data();
    many.resize(size_bytes);
    return many.data();
  }
};

size_t bytes_of(std::span<const iovec> parts) {
  size_t all = 0;
  for (const iovec& each : parts) all += each.iov_len;
  return all;
}

/// `header`: of a message, or null; its parts are `parts`.
ssize_t read_some(const file_call& call, int flags, std::span<const iovec> parts, msghdr* header) {
  constexpr size_t most = 65536;
  const size_t size_bytes = std::min(bytes_of(parts), most);
  const bool is_socket = call.at.of->kind == file_kind::socket_pair;
  taken_bytes taken;
  const std::byte* into = nullptr;
  const auto read_once = [&]() -> ssize_t {
    iovec part = {.iov_base = taken.room_for(size_bytes), .iov_len = size_bytes};
    into = static_cast<const std::byte*>(part.iov_base);
    if (!is_socket) return readv(call.file, &part, 1);
    msghdr what = header == nullptr ? msghdr{} : *header;
    what.msg_iov = &part;
    what.msg_iovlen = 1;
    const ssize_t result = __real_recvmsg(call.file, &what, flags | MSG_DONTWAIT);
    if (result >= 0 && header != nullptr) {
      what.msg_iov = header->msg_iov;
      what.msg_iovlen = header->msg_iovlen;
      *header = what;
    }
    return result;
  };
  const answer got = read_from(call, (flags & MSG_DONTWAIT) == 0, (flags & MSG_PEEK) == 0, read_once);
  size_t left = got.result < 0 ? 0 : std::min(static_cast<size_t>(got.result), size_bytes);
  for (const iovec& each : parts) {
    const size_t bytes = std::min(left, each.iov_len);
    if (bytes == 0) continue;
    range_write(each.iov_base, bytes, call.from, [&] { std::memcpy(each.iov_base, into, bytes); });
    into += bytes;
    left -= bytes;
  }
  const entered inside(call.self);
  taken.many = {};
  return got.given();
}
ssize_t read_some(const file_call& call, int flags, void* to, size_t size_bytes) {
  const iovec part = {.iov_base = to, .iov_len = size_bytes};
  return read_some(call, flags, {&part, 1}, nullptr);
}

/// A readv() of another file, one part behind the other.
ssize_t readv_into(int file, std::span<const iovec> parts, const caller& from) {
  ssize_t all = 0;
  for (const iovec& each : parts) {
    const ssize_t got = fill_memory(each.iov_base, each.iov_len, from, [&](void* to) {
      iovec part = {.iov_base = to, .iov_len = each.iov_len};
      return __real_readv(file, &part, 1);
    });
    if (got < 0) return all == 0 ? got : all;
    all += got;
    if (static_cast<size_t>(got) < each.iov_len) break;
  }
  return all;
}

/// Calls `write(bytes)` with the bytes of all parts as one piece of memory.
template <typename Write>
ssize_t write_gathered(lane& self, std::span<const iovec> parts, const caller& from, Write&& write) {
  std::vector<std::byte> all;
  for (const iovec& each : parts) plain_read(each.iov_base, each.iov_len, from);
  {
    const entered inside(self);
    have_own_stores_in_memory(*execution::instance, self);
    for (const iovec& each : parts) {
      const auto* const begin = static_cast<const std::byte*>(each.iov_base);
      all.insert(all.end(), begin, begin + each.iov_len);
    }
  }
  const ssize_t result = write(std::span<const std::byte>(all));
  const int error = errno;
  const entered inside(self);
  all = {};
  errno = error;
  return result;
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

// -- reading -----------------------------------------------------------------------------------------------------------------------------

ssize_t __real_read(int file, void* to, size_t size_bytes);
ssize_t __wrap_read(int file, void* to, size_t size_bytes) {
  HEDDLE_ON_FILE(file, read_some({*self, "read", at, file, from}, 0, to, size_bytes))
  HEDDLE_STUCK_IF_READ_WAITS("read", file, size_bytes != 0);
  heddle_host_reads_file(file, size_bytes);
  return fill_memory(to, size_bytes, HEDDLE_CALLER, [&](void* bytes) { return __real_read(file, bytes, size_bytes); });
}

// Their names with _FORTIFY_SOURCE, where the compiler knows how much room there is.
[[gnu::weak]] ssize_t __real___read_chk(int file, void* to, size_t size_bytes, size_t room_bytes);
ssize_t __wrap___read_chk(int file, void* to, size_t size_bytes, size_t room_bytes) {
  return size_bytes > room_bytes ? __real___read_chk(file, to, size_bytes, room_bytes)
                                 : __wrap_read(file, to, size_bytes);
}

ssize_t __wrap_readv(int file, const iovec* to, int count) {
  HEDDLE_ON_FILE(file, read_some({*self, "readv", at, file, from}, 0, {to, static_cast<size_t>(count)}, nullptr))
  HEDDLE_STUCK_IF_READ_WAITS("readv", file, true);
  heddle_host_reads_file(file, static_cast<size_t>(count));
  return readv_into(file, {to, static_cast<size_t>(count)}, HEDDLE_CALLER);
}

ssize_t __real_recv(int file, void* to, size_t size_bytes, int flags);
ssize_t __wrap_recv(int file, void* to, size_t size_bytes, int flags) {
  HEDDLE_ON_FILE(file, read_some({*self, "recv", at, file, from}, flags, to, size_bytes))
  HEDDLE_STUCK_IF_READ_WAITS("recv", file, (flags & MSG_DONTWAIT) == 0);
  return fill_memory(to, size_bytes, HEDDLE_CALLER,
                     [&](void* bytes) { return __real_recv(file, bytes, size_bytes, flags); });
}

[[gnu::weak]] ssize_t __real___recv_chk(int file, void* to, size_t size_bytes, size_t room_bytes, int flags);
ssize_t __wrap___recv_chk(int file, void* to, size_t size_bytes, size_t room_bytes, int flags) {
  return size_bytes > room_bytes ? __real___recv_chk(file, to, size_bytes, room_bytes, flags)
                                 : __wrap_recv(file, to, size_bytes, flags);
}

ssize_t __real_recvfrom(int file, void* to, size_t size_bytes, int flags, sockaddr* from, socklen_t* length);
ssize_t __wrap_recvfrom(int file, void* to, size_t size_bytes, int flags, sockaddr* address, socklen_t* length) {
  HEDDLE_ON_FILE(file, (length == nullptr ? void() : void(*length = 0),
                        read_some({*self, "recvfrom", at, file, from}, flags, to, size_bytes)))
  HEDDLE_STUCK_IF_READ_WAITS("recvfrom", file, (flags & MSG_DONTWAIT) == 0);
  return __real_recvfrom(file, to, size_bytes, flags, address, length);
}

ssize_t __wrap_recvmsg(int file, msghdr* to, int flags) {
  HEDDLE_ON_FILE(file, read_some({*self, "recvmsg", at, file, from}, flags, {to->msg_iov, to->msg_iovlen}, to))
  HEDDLE_STUCK_IF_READ_WAITS("recvmsg", file, (flags & MSG_DONTWAIT) == 0);
  return __real_recvmsg(file, to, flags);
}

int __real_eventfd_read(int file, eventfd_t* count);
int __wrap_eventfd_read(int file, eventfd_t* count) {
  HEDDLE_ON_FILE(file,
                 read_some({*self, "eventfd_read", at, file, from}, 0, count, sizeof *count) == sizeof *count ? 0 : -1)
  HEDDLE_STUCK_IF_READ_WAITS("eventfd_read", file, true);
  return __real_eventfd_read(file, count);
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

// -- writing -----------------------------------------------------------------------------------------------------------------------------

[[gnu::weak]] ssize_t __wrap_write(int file, const void* data, size_t size_bytes) {
  return heddle_host_write(file, data, size_bytes);
}
ssize_t heddle_host_write(int file, const void* data, size_t size_bytes) {
  HEDDLE_ON_FILE(file, write_memory_of({*self, "write", at, file, from}, {}, data, size_bytes))
  have_memory_read(data, size_bytes, HEDDLE_CALLER);
  heddle_host_writes_file(file, data, size_bytes);
  return __real_write(file, data, size_bytes);
}

ssize_t __real_writev(int file, const iovec* parts, int count);
ssize_t __wrap_writev(int file, const iovec* parts, int count) {
  HEDDLE_ON_FILE(file,
                 write_gathered(*self, {parts, static_cast<size_t>(count)}, from, [&](std::span<const std::byte> all) {
                   return write_all({*self, "writev", at, file, from}, {}, all.data(), all.size());
                 }))
  for (int n = 0; n < count; ++n) {
    have_memory_read(parts[n].iov_base, parts[n].iov_len, HEDDLE_CALLER);
    heddle_host_writes_file(file, parts[n].iov_base, parts[n].iov_len);
  }
  return __real_writev(file, parts, count);
}

ssize_t __real_send(int file, const void* data, size_t size_bytes, int flags);
ssize_t __wrap_send(int file, const void* data, size_t size_bytes, int flags) {
  HEDDLE_ON_FILE(file, write_memory_of({*self, "send", at, file, from}, how_to_write::by(flags), data, size_bytes))
  have_memory_read(data, size_bytes, HEDDLE_CALLER);
  return __real_send(file, data, size_bytes, flags);
}

ssize_t __real_sendto(int file, const void* data, size_t size_bytes, int flags, const sockaddr* to, socklen_t length);
ssize_t __wrap_sendto(int file, const void* data, size_t size_bytes, int flags, const sockaddr* to, socklen_t length) {
  HEDDLE_ON_FILE(file, write_memory_of({*self, "sendto", at, file, from}, how_to_write::by(flags), data, size_bytes))
  return __real_sendto(file, data, size_bytes, flags, to, length);
}

ssize_t __wrap_sendmsg(int file, const msghdr* what, int flags) {
  HEDDLE_ON_FILE(file, [&] {
    if (what->msg_controllen != 0)
      no_state_tells("sendmsg: files and credentials that go with a message are no part of a state");
    return write_gathered(*self, {what->msg_iov, what->msg_iovlen}, from, [&](std::span<const std::byte> all) {
      return write_to({*self, "sendmsg", at, file, from}, how_to_write::by(flags), all,
                      [&] { return __real_sendmsg(file, what, flags | MSG_DONTWAIT | MSG_NOSIGNAL); })
          .given();
    });
  }())
  return __real_sendmsg(file, what, flags);
}

int __real_eventfd_write(int file, eventfd_t count);
int __wrap_eventfd_write(int file, eventfd_t count) {
  HEDDLE_ON_FILE(file,
                 write_all({*self, "eventfd_write", at, file, from}, {}, &count, sizeof count) == sizeof count ? 0 : -1)
  return __real_eventfd_write(file, count);
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"

}  // namespace heddle::sim::runtime
