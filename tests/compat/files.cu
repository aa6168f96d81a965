// A proxy as libraries have it whose threads talk by files of the operating system: a kernel asks by a word in memory, a thread looks at that and
// hands the request on, by a pipe, an eventfd or a pair of sockets, to one that waits for it in read, poll, select or epoll_wait. The argument says how,
// and what is wrong.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory_resource>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

struct request {
  int a;
  int b;
};

__global__ void ask(int* words) {
  words[1] = 20;
  __threadfence_system();
  atomicExch_system(&words[0], 1);
  int answer = 0;
  while ((answer = *static_cast<volatile int*>(&words[2])) == 0) {
  }
  words[3] = answer + 1;
}

void until_asked(int* words) {
  while (__atomic_load_n(&words[0], __ATOMIC_ACQUIRE) == 0) std::this_thread::yield();
}

/// How the thread that serves waits for its file: false at the end of what comes.
bool wait_to_read(const std::string& how, int file, int timeout_ms) {
  if (how == "poll") {
    pollfd asked = {file, POLLIN, 0};
    return poll(&asked, 1, timeout_ms) == 1;
  }
  if (how == "select") {
    fd_set asked;
    FD_ZERO(&asked);
    FD_SET(file, &asked);
    timeval within = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
    return select(file + 1, &asked, nullptr, nullptr, timeout_ms < 0 ? nullptr : &within) == 1;
  }
  if (how == "epoll" || how == "edges") {
    const int list = epoll_create1(0);
    epoll_event wanted = {};
    wanted.events = EPOLLIN;
    wanted.data.fd = file;
    if (how == "edges") wanted.events |= EPOLLET;
    if (list < 0 || epoll_ctl(list, EPOLL_CTL_ADD, file, &wanted) != 0) return false;
    epoll_event found = {};
    const bool any = epoll_wait(list, &found, 1, timeout_ms) == 1 && found.data.fd == file;
    close(list);
    return any;
  }
  return true;
}

/// The request goes through a pipe as bytes; nothing else orders it.
int by_pipe(const std::string& how) {
  int ends[2] = {-1, -1};
  if (pipe(ends) != 0) return 3;
  int* words = nullptr;
  cudaMallocManaged(&words, 4 * sizeof(int));
  std::memset(words, 0, 4 * sizeof(int));
  static request mailbox;
  std::thread serves([=] {
    int which = 0;
    if (!wait_to_read(how, ends[0], -1)) std::abort();
    while (read(ends[0], &which, sizeof which) == sizeof which)
      __atomic_store_n(&words[2], mailbox.a + which, __ATOMIC_RELEASE);
    close(ends[0]);
  });
  ask<<<1, 1>>>(words);
  until_asked(words);
  mailbox.a = words[1];
  const int which = 2;
  if (write(ends[1], &which, sizeof which) != sizeof which) return 4;
  if (how == "late") mailbox.a = 7;
  if (how == "broken" || how == "ignored") {
    if (how == "ignored") signal(SIGPIPE, SIG_IGN);
    const int unread[2] = {dup(ends[1]), 0};
    int more[2] = {-1, -1};
    if (pipe(more) != 0 || close(more[0]) != 0 || close(unread[0]) != 0) return 6;
    if (write(more[1], &which, sizeof which) != -1 || errno != EPIPE) return 7;
  }
  cudaDeviceSynchronize();
  if (how != "open") close(ends[1]);
  serves.join();
  return words[3] == 23 ? 0 : 5;
}

/// A counter wakes a thread that looks at a queue. It is to be emptied before the look, and not behind it too (forgets).
int by_counter(const std::string& how) {
  const int wakes = eventfd(0, how == "nonblocking" ? EFD_NONBLOCK : 0);
  std::atomic<int> queue = 0;
  std::thread serves([&] {
    eventfd_t count = 0;
    for (int done = 0; done < 2;) {
      if (how == "nonblocking") {
        while (eventfd_read(wakes, &count) != 0)
          if (errno != EAGAIN) std::abort();
      } else {
        eventfd_read(wakes, &count);
      }
      done += queue.exchange(0);
      pollfd asked = {wakes, POLLIN, 0};
      if (how == "forgets" && poll(&asked, 1, 0) == 1) eventfd_read(wakes, &count);
    }
  });
  for (int n = 0; n < 2; ++n) {
    if (how == "early") eventfd_write(wakes, 1);
    queue.fetch_add(1);
    if (how != "early") eventfd_write(wakes, 1);
  }
  serves.join();
  close(wakes);
  return 0;
}

/// Messages of a pair of sockets come whole; bytes of a stream wait for room.
int by_sockets(const std::string& how) {
  const bool stream = how == "full" || how == "both_full" || how == "half_closed";
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, stream ? SOCK_STREAM : SOCK_SEQPACKET, 0, ends) != 0) return 3;
  const auto give = [=](int file, size_t all) {
    const std::vector<char> bytes(all, 'x');
    return write(file, bytes.data(), all) == static_cast<ssize_t>(all);
  };
  const auto take = [=](int file, size_t all) {
    std::vector<char> bytes(4096);
    size_t got = 0;
    while (got < all) {
      const ssize_t more = read(file, bytes.data(), bytes.size());
      if (more <= 0) return false;
      got += static_cast<size_t>(more);
    }
    return bytes[0] == 'x';
  };
  if (how == "half_closed") {
    // What says no more may still hear.
    std::thread answers([=] {
      char more = 0;
      while (read(ends[1], &more, 1) == 1) {
      }
      if (write(ends[1], "y", 1) != 1) std::abort();
    });
    char answer = 0;
    const bool right = write(ends[0], "x", 1) == 1 && shutdown(ends[0], SHUT_WR) == 0 &&
                       read(ends[0], &answer, 1) == 1 && answer == 'y';
    answers.join();
    return right ? 0 : 4;
  }
  constexpr size_t many = size_t{1} << 19;
  if (stream) {
    bool there = true;
    std::thread peer([&] {
      if (how == "both_full") there = give(ends[1], many);
      there = there && take(ends[1], many);
    });
    const bool here = give(ends[0], many) && (how == "full" || take(ends[0], many));
    peer.join();
    return here && there ? 0 : 4;
  }
  std::thread peer([=] {
    request asked = {};
    iovec parts[2] = {{&asked.a, sizeof asked.a}, {&asked.b, sizeof asked.b}};
    msghdr header = {};
    header.msg_iov = parts;
    header.msg_iovlen = 2;
    while (recvmsg(ends[1], &header, 0) == sizeof asked) {
      const int sum = asked.a + asked.b;
      if (send(ends[1], &sum, sizeof sum, 0) != sizeof sum) std::abort();
    }
  });
  for (int n = 0; n < 3; ++n) {
    const request asked = {n, 1};
    int sum = 0;
    if (send(ends[0], &asked, sizeof asked, 0) != sizeof asked) return 4;
    // Of two messages each read gets one.
    if (how == "two" && send(ends[0], &asked, sizeof asked, 0) != sizeof asked) return 4;
    for (int answers = how == "two" ? 2 : 1; answers > 0; --answers)
      if (recv(ends[0], &sum, sizeof sum, 0) != sizeof sum || sum != n + 1) return 5;
  }
  shutdown(ends[0], SHUT_WR);
  peer.join();
  return 0;
}

/// A stream of the C library over a pipe reads and writes where nothing sees it.
int by_stream(const std::string& how) {
  int ends[2] = {-1, -1};
  if (pipe(ends) != 0) return 3;
  if (how == "tee") return tee(ends[0], ends[1], 1, 0) == 0 ? 4 : 5;
  return fdopen(ends[0], "r") != nullptr ? 0 : 4;
}

struct page {
  int ready;
  char text[16];
};
__global__ void consume(page* from, int* got) {
  while (*static_cast<volatile int*>(&from->ready) == 0) {
  }
  __threadfence_system();
  *got = from->text[1];
}

/// A call of the C library brings what a kernel reads. `early`: the kernel is told before.
int by_call(const std::string& how, bool early) {
  page* to = nullptr;
  int* got = nullptr;
  cudaMallocHost(&to, sizeof *to);
  cudaMallocHost(&got, sizeof *got);
  std::memset(to, 0, sizeof *to);
  const int file = memfd_create("page", 0);
  if (pwrite(file, "abcdefghijklmno\n", sizeof to->text, 0) != sizeof to->text) return 3;
  std::thread daemon([=] {
    const auto tell = [=] { __atomic_store_n(&to->ready, 1, __ATOMIC_RELEASE); };
    if (early) tell();
    std::FILE* const stream = fdopen(dup(file), "r");
    iovec parts[2] = {{to->text, 4}, {to->text + 4, 4}};
    bool is_there = false;
    if (how == "pread") is_there = pread(file, to->text, 8, 0) == 8;
    if (how == "read") is_there = read(file, to->text, 8) == 8;
    if (how == "readv") is_there = readv(file, parts, 2) == 8 && to->text[7] == 'h';
    if (how == "fread") is_there = std::fread(to->text, 4, 2, stream) == 2;
    if (how == "fgets") is_there = std::fgets(to->text, 8, stream) == to->text && to->text[7] == '\0';
    if (how == "snprintf") is_there = std::snprintf(to->text, sizeof to->text, "ab%d", 5) == 3;
    std::fclose(stream);
    if (!is_there) std::abort();
    if (!early) tell();
  });
  consume<<<1, 1>>>(to, got);
  cudaDeviceSynchronize();
  daemon.join();
  close(file);
  return *got == 'b' ? 0 : 4;
}

/// What a program leaves for the system to take back when it ends.
int left_open() {
  constexpr size_t mapped_bytes = size_t{64} << 20;
  if (open("/dev/null", O_RDONLY) == -1 || memfd_create("left", 0) == -1 || inotify_init() == -1) return 4;
  std::FILE* const closed = std::fopen("/dev/null", "r");
  if (closed == nullptr || std::fclose(closed) != 0) return 5;
  std::FILE* const left = std::fopen("/dev/null", "w");
  if (left == nullptr || std::fputs("not written out yet", left) < 0) return 6;
  void* const memory = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? 7 : 0;
}

/// Nothing comes: only the time ends the wait.
int by_time(const std::string& how) {
  const int never = eventfd(0, 0);
  const bool any = wait_to_read(how, never, 50);
  close(never);
  return any ? 4 : 0;
}

/// What a thread changes that is no memory of the run, and the main thread looks at behind others, where states would be equal else: assertion.
/// `same`: it changes it, and back; `both`: so do two threads; `told`: they only write, and nothing looks.
int by_state(const std::string& how) {
  static std::atomic<int> first;
  static std::atomic<int> last;
  const int file = memfd_create("state", 0);
  const int flags = eventfd(1, 0);
  const int list = epoll_create1(0);
  epoll_event wanted = {};
  wanted.events = EPOLLIN;
  if (file == -1 || ftruncate(file, 4) != 0 || epoll_ctl(list, EPOLL_CTL_ADD, flags, &wanted) != 0) return 3;
  std::FILE* const stream = fdopen(dup(file), "r+");
  srand(1);
  const auto change = [&] {
    char byte = 0;
    if (how == "contents" && pwrite(file, "a", 1, 0) != 1) std::abort();
    if (how == "place" && read(file, &byte, 1) != 1) std::abort();
    if (how == "stream") std::fgetc(stream);
    if (how == "size" && ftruncate(file, 5) != 0) std::abort();
    if (how == "random" || how == "both") (void)rand();
    if (how == "environment") setenv("HEDDLE_STATE", "1", 1);
    if (how == "folder" && chdir("/") != 0) std::abort();
    if (how == "flags") fcntl(flags, F_SETFL, O_NONBLOCK);
    if (how == "told" && pwrite(file, "b", 1, 0) != 1) std::abort();
    epoll_event other = {};
    other.events = EPOLLIN;
    other.data.u32 = 7;
    if (how == "list" && epoll_ctl(list, EPOLL_CTL_MOD, flags, &other) != 0) std::abort();
    if (how == "same" && (pwrite(file, "a", 1, 0) != 1 || pwrite(file, "", 1, 0) != 1)) std::abort();
  };
  const auto is_changed = [&] {
    char byte = 0;
    epoll_event found = {};
    if (how == "contents" || how == "same") return pread(file, &byte, 1, 0) == 1 && byte == 'a';
    if (how == "place") return lseek(file, 0, SEEK_CUR) == 1;
    if (how == "stream") return std::ftell(stream) == 1;
    if (how == "size") return pread(file, &byte, 1, 4) == 1;
    if (how == "random") return rand() != 1804289383;
    if (how == "environment") return getenv("HEDDLE_STATE") != nullptr;
    if (how == "folder") {
      char folder[2] = {};
      return getcwd(folder, sizeof folder) != nullptr;
    }
    if (how == "flags") return (fcntl(flags, F_GETFL) & O_NONBLOCK) != 0;
    return how == "list" && epoll_wait(list, &found, 1, 0) == 1 && found.data.u32 == 7;
  };
  std::thread one([&] {
    if (first.load() == 0) change();
    last.store(1);
  });
  std::thread other([&] {
    first.store(1);
    if (how == "both" || how == "told") change();
    last.store(1);
  });
  one.join();
  other.join();
  for (int n = 0; n < 2; ++n) {
    std::thread again([] { last.store(2); });
    last.store(2);
    again.join();
  }
  const bool changed = is_changed();
  std::fclose(stream);
  return changed ? 4 : 0;
}

/// Files that are closed beside a thread that writes to one (`early`), behind it (`late`), by the thread that has opened it (`own`).
int by_close(const std::string& how) {
  const int file = memfd_create("closed", 0);
  std::atomic<int> failed{0};
  const auto writes = [&](int to) { failed += write(to, "a", 1) == 1 ? 0 : 1; };
  const auto writes_to_its_own = [&] {
    const int own = memfd_create("own", 0);
    writes(own);
    close(own);
  };
  std::thread other([&] { how == "own" ? writes_to_its_own() : writes(file); });
  if (how == "own") writes_to_its_own();
  if (how == "early") close(file);
  other.join();
  if (how != "early") close(file);
  return how != "early" && failed != 0 ? 4 : 0;
}

/// What the C++ library keeps for all threads: set by one beside another one that looks, or by one alone.
int by_handlers(const std::string& what) {
  struct seen {
    std::new_handler of_new = std::get_new_handler();
    std::terminate_handler of_terminate = std::get_terminate();
    std::pmr::memory_resource* resource = std::pmr::get_default_resource();
    bool operator==(const seen&) const = default;
  };
  const auto look = [&] {
    if (what == "new") (void)std::get_new_handler();
    if (what == "terminate") (void)std::get_terminate();
    if (what == "resource") (void)std::pmr::get_default_resource();
  };
  const seen first;
  std::thread other(look);
  const auto set = [&](const std::string& each) {
    if (each == "new") std::set_new_handler([] { std::abort(); });
    if (each == "terminate") std::set_terminate([] { std::abort(); });
    if (each == "resource") std::pmr::set_default_resource(std::pmr::null_memory_resource());
  };
  set(what);
  other.join();
  for (const char* each : {"new", "terminate", "resource"}) set(each);
  const seen last;
  const bool all_changed = first.of_new != last.of_new && first.of_terminate != last.of_terminate &&
                           first.resource != last.resource && first.resource == std::pmr::new_delete_resource();
  return all_changed ? 0 : 4;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string by = arguments[1];
  if (by == "pipe") return by_pipe(arguments[2]);
  if (by == "counter") return by_counter(arguments[2]);
  if (by == "sockets") return by_sockets(arguments[2]);
  if (by == "stream") return by_stream(arguments[2]);
  if (by == "left") return left_open();
  if (by == "state") return by_state(arguments[2]);
  if (by == "close") return by_close(arguments[2]);
  if (by == "handlers") return by_handlers(arguments[2]);
  if (by == "call" || by == "call_early") return by_call(arguments[2], by == "call_early");
  return by == "time" ? by_time(arguments[2]) : 2;
}
