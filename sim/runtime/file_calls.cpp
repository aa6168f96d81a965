// Pipes, event counters, pairs of sockets and interest lists, as host threads make and close them (--wrap). Reads and writes are in
// file_transfers.cpp, waits for several in file_waits.cpp. All lanes and host threads of a simulation are fibers of one OS thread: none may wait in the
// kernel. A wait for what other host threads of the run can give is a wait of the simulation; where nothing in the run can end it, and it
// would not be over at once, the run ends with verdict `stuck`. A wait for other files with a time-out comes to its end, and is let through.
#include <heddle/sim/runtime/file_calls.h>
#include <heddle/sim/runtime/files.h>
#include <heddle/sim/runtime/program_memory.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <span>
#include <string>

namespace heddle::sim::runtime {

namespace {

/// The files that the call has made, as those of the run; -1 where there are too many.
int keep(lane& self, int result, file_kind kind, std::span<int> files, program_files::channel** made) {
  const entered inside(self);
  return result == 0 && !known_files().add(kind, files, made) ? -1 : result;
}

int close_known(lane& self, int file, const end& at, const caller& from, int (*how_to)(int)) {
  const hidden_operands hidden(self, reinterpret_cast<uintptr_t>(at.outgoing()));
  const entered inside(self);
  const operation how = make_operation(operation_kind::give_notice, at.outgoing(), 1, from);
  return give_object(self, 1, how, [&] {
    release_to(self, at.outgoing());
    release_to(self, at.incoming());
    known_files().forget(file);
    tell_others(self, at.incoming());
    return how_to(file);
  });
}

[[noreturn]] void goes_past(lane& self, const char* call, const caller& from) {
  const entered inside(self);
  refuse(self, scheduler::verdict::unsupported,
         std::string(call) + " of a pipe or a socket: the simulator sees what read(), write() and their like move",
         from);
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

int heddle_host_pipe(int* files) {
  lane* const self = host_thread();
  const int result = __real_pipe(files);
  program_files::channel* made = nullptr;
  return self == nullptr ? result : keep(*self, result, file_kind::pipe, {files, 2}, &made);
}
int __real_pipe2(int* files, int flags);
int __wrap_pipe2(int* files, int flags) {
  lane* const self = host_thread();
  const int result = __real_pipe2(files, flags);
  program_files::channel* made = nullptr;
  return self == nullptr ? result : keep(*self, result, file_kind::pipe, {files, 2}, &made);
}
int __real_socketpair(int domain, int type, int protocol, int* files);
int __wrap_socketpair(int domain, int type, int protocol, int* files) {
  lane* const self = host_thread();
  const int result = __real_socketpair(domain, type, protocol, files);
  if (self == nullptr) return result;
  program_files::channel* made = nullptr;
  const int kept = keep(*self, result, file_kind::socket_pair, {files, 2}, &made);
  if (made != nullptr) made->whole = (type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != SOCK_STREAM;
  return kept;
}
int __real_eventfd(unsigned count, int flags);
int __wrap_eventfd(unsigned count, int flags) {
  lane* const self = host_thread();
  int file = __real_eventfd(count, flags);
  if (self == nullptr || file == -1) return file;
  program_files::channel* made = nullptr;
  if (keep(*self, 0, file_kind::event_counter, {&file, 1}, &made) == -1) return -1;
  made->count = count;
  made->counts_down = (flags & EFD_SEMAPHORE) != 0;
  return file;
}
static int made_list(int file) {
  lane* const self = host_thread();
  program_files::channel* made = nullptr;
  if (self == nullptr || file == -1) return file;
  return keep(*self, 0, file_kind::interest_list, {&file, 1}, &made) == -1 ? -1 : file;
}
int __real_epoll_create(int size);
int __wrap_epoll_create(int size) { return made_list(__real_epoll_create(size)); }
int __real_epoll_create1(int flags);
int __wrap_epoll_create1(int flags) { return made_list(__real_epoll_create1(flags)); }

// Of a program that is run again and again in one process.
#define HEDDLE_NOTE_LEFT(given, none, call)                                     \
  if (lane* const self = host_thread(); self != nullptr && (given) != (none)) { \
    const entered inside(*self);                                                \
    if (memory_begins_anew()) execution::instance->hosts().left.call;           \
  }                                                                             \
  return given;
int heddle_host_opened(int file){
    HEDDLE_NOTE_LEFT(file, -1, opened(file, self -> id))} FILE* heddle_host_opened_stream(FILE* stream){
    HEDDLE_NOTE_LEFT(stream, nullptr, opened(stream))} FILE* heddle_host_closed_stream(FILE* stream) {
  HEDDLE_NOTE_LEFT(stream, nullptr, closed(stream))
}
void* heddle_host_mapped(void* memory, size_t size_bytes) {
  HEDDLE_NOTE_LEFT(memory, MAP_FAILED, mapped(memory, size_bytes))
}
void* heddle_host_unmapped(void* memory, size_t size_bytes) {
  HEDDLE_NOTE_LEFT(memory, nullptr, unmapped(memory, size_bytes))
}
static int note_closed(int file) { HEDDLE_NOTE_LEFT(file, -1, closed(file)) }

int heddle_host_close(int file) {
  HEDDLE_ON_FILE(file, close_known(*self, file, at, from, __real_close))
  heddle_host_closes(file);
  return __real_close(note_closed(file));
}
int heddle_host_dup(int file) {
  if (lane* const self = host_thread(); self != nullptr)
    if (const end of = known_files().find(file)) {
      const entered inside(*self);
      return known_files().copy(file, of);
    }
  heddle_host_looks_at_opening(file);
  return heddle_host_opened(__real_dup(file));
}
[[gnu::weak]] int __wrap_close(int file) { return heddle_host_close(file); }
[[gnu::weak]] int __wrap_dup(int file) { return heddle_host_dup(file); }
[[gnu::weak]] int __wrap_pipe(int* files) { return heddle_host_pipe(files); }

int __real_dup3(int file, int number, int flags);
int __wrap_dup3(int file, int number, int flags) {
  if (lane* const self = host_thread(); self != nullptr && file != number) {
    const caller from = HEDDLE_CALLER;
    if (const end closed = known_files().find(number)) close_known(*self, number, closed, from, [](int) { return 0; });
    heddle_host_looks_at_opening(file);
    heddle_host_closes(number);
    const entered inside(*self);
    const int copy = __real_dup3(file, number, flags);
    if (const end of = known_files().find(file); of && copy != -1) known_files().add_copy(copy, of);
    return copy;
  }
  return __real_dup3(file, number, flags);
}
int __real_dup2(int file, int number);
int __wrap_dup2(int file, int number) {
  return host_thread() == nullptr || file == number ? __real_dup2(file, number) : __wrap_dup3(file, number, 0);
}

// -- flags and sizes ---------------------------------------------------------------------------------------------------------------------

static int control(int file, int what, void* given) {
  lane* const self = host_thread();
  const int result = __real_fcntl(file, what, given);
  if (self == nullptr || result == -1) return result;
  if (what == F_GETFL || what == F_GETFD) heddle_host_looks_at_flags(file);
  if (what == F_SETFL || what == F_SETFD)
    heddle_host_changes_flags(file, static_cast<unsigned>(what), reinterpret_cast<uintptr_t>(given));
  if (what != F_DUPFD && what != F_DUPFD_CLOEXEC) return result;
  if (const end of = known_files().find(file)) {
    const entered inside(*self);
    known_files().add_copy(result, of);
    return result;
  }
  return heddle_host_opened(result);
}
// What stands behind `what` is a number, an address, or nothing.
#define HEDDLE_CONTROL(name)                   \
  int __wrap_##name(int file, int what, ...) { \
    va_list more;                              \
    va_start(more, what);                      \
    void* const given = va_arg(more, void*);   \
    va_end(more);                              \
    return control(file, what, given);         \
  }
HEDDLE_CONTROL(fcntl)
HEDDLE_CONTROL(fcntl64)

int __real_setsockopt(int file, int level, int name, const void* to, socklen_t length);
int __wrap_setsockopt(int file, int level, int name, const void* to, socklen_t length) {
  if (host_thread() != nullptr)
    heddle_host_changes_flags(file, uint64_t{static_cast<unsigned>(level)} << 32 | static_cast<unsigned>(name),
                              length >= sizeof(int) ? static_cast<unsigned>(*static_cast<const int*>(to)) : 0);
  return __real_setsockopt(file, level, name, to, length);
}
int __real_getsockopt(int file, int level, int name, void* to, socklen_t* length);
int __wrap_getsockopt(int file, int level, int name, void* to, socklen_t* length) {
  if (host_thread() != nullptr) heddle_host_looks_at_flags(file);
  return __real_getsockopt(file, level, name, to, length);
}
int __real_ftruncate(int file, off_t size_bytes);
int __wrap_ftruncate(int file, off_t size_bytes) {
  if (host_thread() != nullptr) heddle_host_changes_size(file, static_cast<uint64_t>(size_bytes));
  return __real_ftruncate(file, size_bytes);
}
int __wrap_ftruncate64(int file, off_t size_bytes) { return __wrap_ftruncate(file, size_bytes); }
int __real_fstat(int file, struct stat* found);
int __wrap_fstat(int file, struct stat* found) {
  if (host_thread() != nullptr) {
    heddle_host_looks_at_opening(file);
    heddle_host_looks_at_files();
  }
  return __real_fstat(file, found);
}

// -- what goes past reads and writes -----------------------------------------------------------------------------------------------------

FILE* heddle_host_fdopen(int file, const char* mode) {
  if (lane* const self = host_thread(); self != nullptr && known_files().find(file))
    goes_past(*self, "fdopen", HEDDLE_CALLER);
  FILE* const stream = __real_fdopen(file, mode);
  // The file is the stream's from now on.
  if (stream != nullptr) note_closed(file);
  return heddle_host_opened_stream(stream);
}
[[gnu::weak]] FILE* __wrap_fdopen(int file, const char* mode) { return heddle_host_fdopen(file, mode); }

#define HEDDLE_GOES_PAST(name, parameters, arguments, first, second)                  \
  ssize_t __real_##name parameters;                                                   \
  ssize_t __wrap_##name parameters {                                                  \
    if (lane* const self = host_thread();                                             \
        self != nullptr && (known_files().find(first) || known_files().find(second))) \
      goes_past(*self, #name, HEDDLE_CALLER);                                         \
    return __real_##name arguments;                                                   \
  }
HEDDLE_GOES_PAST(splice, (int from, loff_t* from_at, int to, loff_t* to_at, size_t size_bytes, unsigned flags),
                 (from, from_at, to, to_at, size_bytes, flags), from, to)
HEDDLE_GOES_PAST(tee, (int from, int to, size_t size_bytes, unsigned flags), (from, to, size_bytes, flags), from, to)
HEDDLE_GOES_PAST(sendfile, (int to, int from, off_t* at, size_t size_bytes), (to, from, at, size_bytes), from, to)
HEDDLE_GOES_PAST(vmsplice, (int file, const iovec* parts, size_t count, unsigned flags), (file, parts, count, flags),
                 file, file)

int __real_shutdown(int file, int how);
int __wrap_shutdown(int file, int how) {
  HEDDLE_ON_FILE(file, [&] {
    const hidden_operands hidden(*self, reinterpret_cast<uintptr_t>(at.outgoing()));
    const entered inside(*self);
    int result = 0;
    give_object(*self, 1, make_operation(operation_kind::give_notice, at.outgoing(), 1, from), [&] {
      result = __real_shutdown(file, how);
      if (result != 0) return errno;
      release_to(*self, at.outgoing());
      tell_others(*self, at.incoming());
      if (how != SHUT_RD) at.of->closed[at.side] = true;
      if (how != SHUT_WR) at.of->closed[1 - at.side] = true;
      return 0;
    });
    return result;
  }())
  return __real_shutdown(file, how);
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"

}  // namespace heddle::sim::runtime
