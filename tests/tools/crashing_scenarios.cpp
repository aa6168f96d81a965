// Scenarios that would end their process, or stand still: for crash_test.
#include <fcntl.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/scenario.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <streambuf>
#include <thread>

namespace {

using heddle::memory_order;
using word = heddle::target::atomic_ref<uint32_t, heddle::scope::system>;

/// A kernel of two waves, of which either may be the first; `ends` is called by the one that is the second.
template <typename Function>
void in_second_wave(Function ends) {
  heddle::device device;
  auto* const turn = device.allocate_shared<uint32_t>(1, "turn");
  device.launch({.blocks = 1, .waves = 2, .lanes = 1}, [turn, ends] {
    if (word(*turn).fetch_add(1, memory_order::acq_rel) == 1) ends();
  });
  device.synchronize();
}

volatile int zero = 0;
volatile int sink = 0;

[[gnu::noinline]] int recurse(int depth) {
  volatile char frame[256];
  frame[depth % 256] = static_cast<char>(depth);
  return recurse(depth + 1) + frame[0];
}

/// Its first three schedules are short, and the others have no end.
void grows_long(const heddle::parameters&) {
  static int runs = 0;
  constexpr int of_an_estimate = 1;
  const bool is_long = ++runs > 3 + of_an_estimate;
  heddle::device device;
  auto* const count = device.allocate_shared<uint32_t>(1, "count");
  device.launch({.blocks = 1, .waves = 2, .lanes = 1}, [count, is_long] {
    while (word(*count).fetch_add(1, memory_order::relaxed) != 1 && is_long) {
    }
  });
  device.synchronize();
}
void cancels(const heddle::parameters&) {
  in_second_wave([] {});
  pthread_cancel(pthread_self());
}
void cancels_sometimes(const heddle::parameters&) {
  static int runs = 0;
  in_second_wave([] {});
  if (++runs % 250 != 0) pthread_cancel(pthread_self());
}

void well(const heddle::parameters&) {
  in_second_wave([] {});
}
void wild_store(const heddle::parameters&) {
  in_second_wave([] { *reinterpret_cast<volatile uint32_t*>(0x123456789000) = 1; });
}
void not_canonical(const heddle::parameters&) {
  in_second_wave([] { *reinterpret_cast<volatile uint32_t*>(0xdead'beef'0000'0000) = 1; });
}
void wild_jump(const heddle::parameters&) {
  in_second_wave([] { reinterpret_cast<void (*)()>(0x123456789000)(); });
}
void aborts(const heddle::parameters&) {
  in_second_wave([] { std::abort(); });
}
void traps(const heddle::parameters&) {
  in_second_wave([] { __builtin_trap(); });
}
void raises(const heddle::parameters&) {
  in_second_wave([] { std::raise(SIGSEGV); });
}
void divides(const heddle::parameters&) {
  in_second_wave([] { sink = 100 / zero; });
}
void exits(const heddle::parameters&) {
  in_second_wave([] { _exit(0); });
}
void exits_also(const heddle::parameters&) {
  in_second_wave([] { std::_Exit(0); });
}
void exits_quickly(const heddle::parameters&) {
  in_second_wave([] { std::quick_exit(0); });
}
void exits_by_number(const heddle::parameters&) {
  in_second_wave([] { syscall(SYS_exit_group, 0); });
}
/// Past all that can be seen.
void call_unseen(long called, long first, long second) {
#if defined(__x86_64__)
  asm volatile("syscall" : "+a"(called) : "D"(first), "S"(second) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long number asm("x8") = called;
  register long one asm("x0") = first;
  register long other asm("x1") = second;
  asm volatile("svc #0" : "+r"(one) : "r"(number), "r"(other) : "memory");
#endif
}
void exits_unseen(const heddle::parameters&) {
  in_second_wave([] { call_unseen(SYS_exit_group, 0, 0); });
}
void ends_thread(const heddle::parameters&) {
  in_second_wave([] { pthread_exit(nullptr); });
}
void damages_heap(const heddle::parameters&) {
  in_second_wave([] {
    auto* const bytes = static_cast<char*>(std::malloc(24));
    auto* const next = static_cast<char*>(std::malloc(24));
    // Past the observation of each access: what a library does.
    asm volatile("" : : "r"(bytes), "r"(next) : "memory");
    for (int n = 0; n < 64; ++n) {
      volatile char* const at = bytes + n;
      *at = 0x41;
    }
    std::free(next);
    std::free(bytes);
    std::free(std::malloc(100'000));
  });
}
void frees_twice(const heddle::parameters&) {
  in_second_wave([] {
    void* const memory = std::malloc(3000);
    void* volatile again = memory;
    std::free(memory);
    std::free(again);
  });
}
void overflows(const heddle::parameters&) {
  in_second_wave([] { sink = recurse(0); });
}
/// COUNTED_RUNS may name a file that gets a byte for each run.
void stands_still(const heddle::parameters&) {
  if (const char* const counted = std::getenv("COUNTED_RUNS")) {
    const int file = open(counted, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (file < 0 || write(file, "x", 1) != 1) std::abort();
    close(file);
  }
  in_second_wave([] {
    for (;;) asm volatile("");
  });
}
/// Past what is refused: a system call of its own that never comes back.
void blocks(const heddle::parameters&) {
  in_second_wave([] {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) return;
    char bytes[1024] = {};
    while (write(ends[0], bytes, sizeof bytes) > 0) {
    }
  });
}
/// Half of the schedules end well.
void sometimes(const heddle::parameters&) {
  heddle::device device;
  auto* const turn = device.allocate_shared<uint32_t>(1, "turn");
  device.launch({.blocks = 1, .waves = 2, .lanes = 1}, [turn] {
    if (word(*turn).fetch_add(1, memory_order::acq_rel) == 1 && heddle::target::wave_id() == 0) std::abort();
  });
  device.synchronize();
}
/// The same, unseen.
void sometimes_unseen(const heddle::parameters&) {
  heddle::device device;
  auto* const turn = device.allocate_shared<uint32_t>(1, "turn");
  device.launch({.blocks = 1, .waves = 2, .lanes = 1}, [turn] {
    // As the kernel does where memory runs out: by no call that is seen.
    if (word(*turn).fetch_add(1, memory_order::acq_rel) == 1 && heddle::target::wave_id() == 0)
      call_unseen(SYS_kill, getpid(), SIGKILL);
  });
  device.synchronize();
}

// What prints.

const bool printed_early = std::getenv("PRINTS_EARLY") != nullptr && std::printf("{\"a constructor prints\"\n") > 0;

// Writes out what std::cout holds, and takes its time.
class slow_buffer : public std::streambuf {
 public:
  explicit slow_buffer(std::streambuf* to) : to_(to) {}

 protected:
  int overflow(int letter) override { return letter == EOF ? 0 : to_->sputc(static_cast<char>(letter)); }
  int sync() override {
    usleep(100'000);
    return to_->pubsync();
  }

 private:
  std::streambuf* to_;
};

const bool is_slow = std::getenv("SLOW_STREAM") != nullptr && std::cout.rdbuf(new slow_buffer(std::cout.rdbuf()));

// A thread that looks at what it was given, which lies on the heap.
void given(const heddle::parameters&) {
  auto* const word = new std::atomic<int>(0);
  const long one = 1, two = 2, three = 3;
  std::thread stores([=] { word->store(static_cast<int>(one + two + three), std::memory_order_relaxed); });
  const int seen = word->load(std::memory_order_relaxed);
  stores.join();
  delete word;
  if (seen == 6) std::abort();
}

void print_as_programs_do(bool aborts) {
  std::printf("{\"printf prints\"\n");
  std::cout << "{\"a stream prints\"\n";
  static constexpr char line[] = "{\"write prints\"\n";
  if (write(STDOUT_FILENO, line, sizeof line - 1) < 0) return;
  std::cerr << "{\"standard error prints\"\n";
  in_second_wave([aborts] {
    std::printf("{\"a kernel prints\"\n");
    if (aborts) std::abort();
  });
}
void prints_and_fails(const heddle::parameters&) {
  print_as_programs_do(false);
  HEDDLE_CHECK(false, "it has printed");
}
/// The wave that waits has the only place there is.
void prints_behind_a_hang(const heddle::parameters&) {
  heddle::device device;
  auto* const flag = device.allocate_shared<uint32_t>(1, "flag");
  device.launch({.blocks = 2, .waves = 1, .lanes = 1}, [flag] {
    if (heddle::target::block_id() == 1) word(*flag).store(1, memory_order::release);
    while (word(*flag).load(memory_order::acquire) == 0) heddle::target::pause();
  });
  std::printf("{\"in front prints\"\n");
  device.synchronize();
  std::printf("{\"behind prints\"\n");
}
void prints(const heddle::parameters&) { print_as_programs_do(false); }
void prints_and_aborts(const heddle::parameters&) { print_as_programs_do(true); }

/// A program of one run, in which the search is stopped.
void is_interrupted(const heddle::parameters&) {
  const_cast<std::atomic<bool>&>(heddle::tools::interrupt_flag()).store(true, std::memory_order_relaxed);
}

HEDDLE_SCENARIO(is_interrupted, {.name = "stopped.in-its-only-run", .summary = "Interrupts the command."});
void misuses(const heddle::parameters& set) { static_cast<void>(set.count("none")); }

HEDDLE_SCENARIO(misuses, {.name = "misused.parameter", .summary = "Asks for a parameter that it does not have."});
HEDDLE_SCENARIO(prints, {.name = "prints.well", .summary = "Prints."});
HEDDLE_SCENARIO(prints_and_fails, {.name = "prints.fails", .summary = "Prints, and fails."});
HEDDLE_SCENARIO(prints_behind_a_hang, {.name = "prints.behind", .summary = "Prints where it has hung."});
HEDDLE_SCENARIO(prints_and_aborts, {.name = "prints.abort", .summary = "Prints, and calls abort()."});
HEDDLE_SCENARIO(well, {.name = "crash.none", .summary = "Ends well."});
HEDDLE_SCENARIO(wild_store, {.name = "crash.store", .summary = "Stores to nowhere."});
HEDDLE_SCENARIO(not_canonical, {.name = "crash.not-canonical", .summary = "Stores to what is no address."});
HEDDLE_SCENARIO(wild_jump, {.name = "crash.jump", .summary = "Calls nowhere."});
HEDDLE_SCENARIO(aborts, {.name = "crash.abort", .summary = "Calls abort()."});
HEDDLE_SCENARIO(traps, {.name = "crash.trap", .summary = "Traps."});
HEDDLE_SCENARIO(raises, {.name = "crash.raise", .summary = "Raises a signal."});
HEDDLE_SCENARIO(divides, {.name = "crash.divide", .summary = "Divides by zero."});
HEDDLE_SCENARIO(exits, {.name = "crash._exit", .summary = "Calls _exit()."});
HEDDLE_SCENARIO(exits_also, {.name = "crash._Exit", .summary = "Calls _Exit()."});
HEDDLE_SCENARIO(exits_quickly, {.name = "crash.quick_exit", .summary = "Calls quick_exit()."});
HEDDLE_SCENARIO(exits_by_number, {.name = "crash.syscall", .summary = "Calls syscall(SYS_exit_group)."});
HEDDLE_SCENARIO(exits_unseen, {.name = "crash.unseen", .summary = "Makes the system call itself."});
HEDDLE_SCENARIO(ends_thread, {.name = "crash.pthread_exit", .summary = "Calls pthread_exit()."});
HEDDLE_SCENARIO(damages_heap, {.name = "crash.heap", .summary = "Writes behind what it has allocated."});
HEDDLE_SCENARIO(frees_twice, {.name = "crash.free", .summary = "Frees twice."});
HEDDLE_SCENARIO(overflows, {.name = "crash.overflow", .summary = "Recurses for ever."});
HEDDLE_SCENARIO(stands_still, {.name = "stuck.loop", .summary = "Loops for ever."});
HEDDLE_SCENARIO(blocks, {.name = "stuck.call", .summary = "Waits until a socket takes more."});
HEDDLE_SCENARIO(grows_long, {.name = "long.later", .summary = "Has no end, from the fourth schedule on."});
HEDDLE_SCENARIO(cancels, {.name = "unsupported.always", .summary = "Calls pthread_cancel()."});
HEDDLE_SCENARIO(cancels_sometimes,
                {.name = "unsupported.mostly", .summary = "Calls pthread_cancel(), but for some schedules."});
HEDDLE_SCENARIO(given,
                {.name = "given.abort", .summary = "What a thread was given decides whether abort() is called."});
HEDDLE_SCENARIO(sometimes, {.name = "half.abort", .summary = "Half of the schedules call abort()."});
HEDDLE_SCENARIO(sometimes_unseen, {.name = "half.unseen", .summary = "Half of the schedules kill the process."});

}  // namespace

#ifdef AS_TESTS_OF_GOOGLETEST
#include <heddle/tools/gtest.h>
#include <heddle/tools/gtest_main.h>

HEDDLE_TEST(runs, "crash.none", 50);
HEDDLE_TEST(crashes, "crash.[ahu]*", 20);
#endif
