// Programs that behave as badly as they can, one scenario each. What heddle must say of each is in hostile_test.cpp.
//
// "// HERE name" marks the line that a finding of scenario `name` must point at.

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#undef NDEBUG
#include <heddle/tools/scenario.h>

#include <atomic>
#include <barrier>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using heddle::scope;
template <scope S = scope::system>
using word = heddle::target::atomic_ref<uint32_t, S>;

// What the compiler must not see through.
template <typename T>
T opaque(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

struct bench {
  heddle::device device;
  uint32_t* words = device.allocate_shared<uint32_t>(16, "words");

  template <typename Kernel>
  void run(Kernel kernel, uint32_t waves = 2, uint32_t lanes = 2) {
    device.launch({.waves = waves, .lanes = lanes}, kernel);
    device.synchronize();
  }
};

/// The body of the last lane of the last wave; all lanes make some steps before.
template <typename Body>
void in_a_lane(Body body) {
  bench made;
  uint32_t* const words = made.words;
  made.run([words, body] {
    word<>(words[0]).fetch_add(1, heddle::memory_order::relaxed);
    if (heddle::target::wave_id() == 1 && heddle::target::lane_id() == 1) body(words);
  });
}

/// The body on a host thread beside a kernel.
template <typename Body>
void in_a_thread(Body body) {
  bench made;
  uint32_t* const words = made.words;
  auto thread = made.device.spawn_host("helper", [words, body] {
    word<>(words[0]).fetch_add(1, heddle::memory_order::relaxed);
    body(words);
  });
  made.run([words] { word<>(words[0]).fetch_add(1, heddle::memory_order::relaxed); });
  thread.join();
}

/// The body in main, after a kernel has ended.
template <typename Body>
void in_main(Body body) {
  bench made;
  uint32_t* const words = made.words;
  made.run([words] { word<>(words[0]).fetch_add(1, heddle::memory_order::relaxed); });
  body(words);
}

// -- crashes -----------------------------------------------------------------------------------------------------------------

uint32_t* wild() { return opaque(reinterpret_cast<uint32_t*>(0x123456789000)); }
uint32_t* not_canonical() { return opaque(reinterpret_cast<uint32_t*>(0x8badf00d00000000)); }

void wild_store(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    *wild() = 1;  // HERE wild_store
  });
}
void wild_load(const heddle::parameters&) {
  in_a_lane([](uint32_t* words) {
    words[1] = *wild();  // HERE wild_load
  });
}
void wild_store_in_main(const heddle::parameters&) {
  in_main([](uint32_t*) {
    *wild() = 1;  // HERE wild_store_in_main
  });
}
void wild_store_in_thread(const heddle::parameters&) {
  in_a_thread([](uint32_t*) {
    *wild() = 1;  // HERE wild_store_in_thread
  });
}
void wild_atomic(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    word<>(*wild()).store(1, heddle::memory_order::release);  // HERE wild_atomic
  });
}
void store_not_canonical(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    *not_canonical() = 1;  // HERE store_not_canonical
  });
}
void wild_memcpy(const heddle::parameters&) {
  in_a_lane([](uint32_t* words) {
    std::memcpy(wild(), words + 4, opaque(16u));  // HERE wild_memcpy
  });
}
void wild_call(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    opaque(reinterpret_cast<void (*)()>(0x10))();  // HERE wild_call
  });
}
void store_to_code(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    *opaque(reinterpret_cast<uint32_t*>(reinterpret_cast<uintptr_t>(&wild) & ~uintptr_t{3})) = 1;  // HERE store_to_code
  });
}
void aborts(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    std::abort();  // HERE aborts
  });
}
void aborts_in_thread(const heddle::parameters&) {
  in_a_thread([](uint32_t*) {
    std::abort();  // HERE aborts_in_thread
  });
}
void traps(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    __builtin_trap();  // HERE traps
  });
}
void raises_segv(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    std::raise(SIGSEGV);  // HERE raises_segv
  });
}
void raises_fpe(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    std::raise(SIGFPE);  // HERE raises_fpe
  });
}
void raises_bus(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    std::raise(SIGBUS);  // HERE raises_bus
  });
}
void kills_itself(const heddle::parameters&) {
  in_a_lane([](uint32_t*) { kill(getpid(), SIGKILL); });
}
void divides_by_zero(const heddle::parameters&) {
  in_a_lane([](uint32_t* words) {
    words[1] = 7 / opaque(0u);  // HERE divides_by_zero
  });
}
void exits_quietly(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    _exit(0);  // HERE exits_quietly
  });
}
void exits_quietly_in_main(const heddle::parameters&) {
  in_main([](uint32_t*) {
    _exit(0);  // HERE exits_quietly_in_main
  });
}
void exits_by_c(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    _Exit(0);  // HERE exits_by_c
  });
}
void exits_quickly(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    std::quick_exit(0);  // HERE exits_quickly
  });
}
void exits_by_system_call(const heddle::parameters&) {
  in_a_lane([](uint32_t*) { syscall(SYS_exit_group, 0); });
}
void ends_the_thread(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    pthread_exit(nullptr);  // HERE ends_the_thread
  });
}
void terminates(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    std::terminate();  // HERE terminates
  });
}
[[gnu::noinline]] void says_that_it_does_not_throw() noexcept {
  throw std::runtime_error("thrown all the same");  // HERE throws_through_noexcept
}
void throws_through_noexcept(const heddle::parameters&) {
  in_a_lane([](uint32_t*) { says_that_it_does_not_throw(); });
}
void damages_the_heap(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    char* const block = opaque(static_cast<char*>(std::malloc(24)));
    const char junk[32] = "junkjunkjunkjunkjunkjunkjunkjun";
    // The address sanitizer of a build that has it ends the run here.
    for (size_t n = 0; n < sizeof junk; ++n) opaque(block - 16)[n] = junk[n];  // HERE damages_the_heap
    std::free(opaque(block));                                                  // HERE damages_the_heap
  });
}
/// As a damaged heap does: where it shows is another place in each process.
void damages_the_heap_anew(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    char* const block = opaque(static_cast<char*>(std::malloc(24)));
    // What is behind the calls keeps them apart.
    if (getpid() % 2 == 0) {
      std::free(opaque(block + 8));  // HERE damages_the_heap_anew
      asm volatile("# even" ::: "memory");
    } else {
      std::free(opaque(block + 8));  // HERE damages_the_heap_anew
      asm volatile("# odd" ::: "memory");
    }
  });
}
void frees_twice(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    void* const block = opaque(std::malloc(24));
    std::free(opaque(block));
    std::free(opaque(block));  // HERE frees_twice
  });
}
#ifdef __clang__
#pragma clang diagnostic ignored "-Winfinite-recursion"
#endif
[[gnu::noinline]] uint32_t calls_itself(uint32_t depth) {  // HERE recurses_for_ever
  volatile char room[64];
  room[0] = static_cast<char>(depth);                               // HERE recurses_for_ever
  return calls_itself(depth + 1) + static_cast<uint32_t>(room[0]);  // HERE recurses_for_ever
}
void recurses_for_ever(const heddle::parameters&) {
  in_a_lane([](uint32_t* words) { words[1] = calls_itself(0); });
}
// More than many stacks have (stack_kib), so that the first byte that is written may lie in another lane's.
[[gnu::noinline]] uint32_t needs_much_room(uint32_t at) {  // HERE large_frame
  volatile char room[1 << 20];
  for (uint32_t n = 0; n < sizeof room; n += 65536) room[n] = static_cast<char>(n);  // HERE large_frame
  return static_cast<uint32_t>(room[at]);
}
void large_frame(const heddle::parameters&) {
  in_a_lane([](uint32_t* words) { words[1] = needs_much_room(opaque(0u)); });
}

// -- memory ------------------------------------------------------------------------------------------------------------------

void null_store(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    *opaque(static_cast<uint32_t*>(nullptr)) = 1;  // HERE null_store
  });
}
void null_load(const heddle::parameters&) {
  in_a_lane([](uint32_t* words) {
    words[1] = *opaque(static_cast<uint32_t*>(nullptr));  // HERE null_load
  });
}
void far_out_of_bounds(const heddle::parameters&) {
  in_a_lane([](uint32_t* words) {
    words[opaque(100000)] = 1;  // HERE far_out_of_bounds
  });
}
void one_behind(const heddle::parameters&) {
  in_a_lane([](uint32_t* words) {
    words[opaque(16)] = 1;  // HERE one_behind
  });
}
void one_before(const heddle::parameters&) {
  in_a_lane([](uint32_t* words) {
    words[opaque(-1)] = 1;  // HERE one_before
  });
}
void used_after_free(const heddle::parameters&) {
  in_main([](uint32_t* words) {
    heddle::device device;
    device.free(words);
    device.launch({.waves = 1, .lanes = 1}, [words] {
      words[0] = 1;  // HERE used_after_free
    });
    device.synchronize();
  });
}
void freed_twice(const heddle::parameters&) {
  in_main([](uint32_t* words) {
    heddle::device device;
    device.free(words);
    device.free(words);  // HERE freed_twice
  });
}
void of_a_destroyed_device(const heddle::parameters&) {
  uint32_t* words = nullptr;
  {
    heddle::device device;
    words = device.allocate_device<uint32_t>(4, "gone");
  }
  heddle::device other;
  other.launch({.waves = 1, .lanes = 2}, [words] {
    words[heddle::target::lane_id()] = 1;  // HERE of_a_destroyed_device
  });
  other.synchronize();
}
void misaligned_atomic(const heddle::parameters&) {
  in_a_lane([](uint32_t* words) {
    auto* const between = reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(words) + opaque(2));
    word<>(*between).store(1, heddle::memory_order::relaxed);  // HERE misaligned_atomic
  });
}
void touches_the_hosts_stack(const heddle::parameters&) {
  uint32_t local = 0;
  uint32_t* const where = &local;
  in_a_lane([where](uint32_t*) {
    *where = 1;  // HERE touches_the_hosts_stack
  });
}
void launches_in_a_kernel(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    heddle::device device;
    device.launch({.waves = 1, .lanes = 1}, [] {});  // HERE launches_in_a_kernel
  });
}
void allocates_too_much(const heddle::parameters&) {
  heddle::device device;
  device.allocate_shared<uint32_t>(size_t{1} << 50, "huge");  // HERE allocates_too_much
}

// -- assertions --------------------------------------------------------------------------------------------------------------

void check_fails(const heddle::parameters&) {
  in_a_lane([](uint32_t* words) {
    HEDDLE_CHECK(words == nullptr, "words are there");  // HERE check_fails
  });
}
void odd_name(const heddle::parameters& set) { check_fails(set); }
void assert_fails(const heddle::parameters&) {
  in_a_lane([](uint32_t* words) {
    assert(words == nullptr);  // HERE assert_fails
  });
}
void exits(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    std::exit(0);  // HERE exits
  });
}
void throws_in_a_lane(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    throw std::runtime_error("from a lane");  // HERE throws_in_a_lane
  });
}
void throws_in_main(const heddle::parameters&) {
  in_main([](uint32_t*) {
    throw std::runtime_error("from main");  // HERE throws_in_main
  });
}
void throws_in_a_thread(const heddle::parameters&) {
  in_a_thread([](uint32_t*) {
    throw std::runtime_error("from a thread");  // HERE throws_in_a_thread
  });
}
void throws_a_number(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    throw 7;  // HERE throws_a_number
  });
}
void looks_behind_a_vector(const heddle::parameters&) {
  in_a_thread([](uint32_t* words) {
    std::vector<uint32_t> numbers(opaque(2u));
    words[1] = numbers.at(opaque(2u));  // HERE looks_behind_a_vector
  });
}
void two_throws(const heddle::parameters&) {
  bench made;
  uint32_t* const words = made.words;
  made.run(
      [words] {
        word<>(words[0]).fetch_add(1, heddle::memory_order::relaxed);
        if (heddle::target::wave_id() == 0) throw std::runtime_error("one");  // HERE two_throws
        throw std::runtime_error("other");                                    // HERE two_throws (the other)
      },
      2, 1);
}
void no_lanes(const heddle::parameters&) {
  heddle::device device;
  device.launch({.waves = 1, .lanes = 0}, [] {});  // HERE no_lanes
  device.synchronize();
}
void many_lanes(const heddle::parameters&) {
  heddle::device device;
  device.launch({.waves = 1, .lanes = 1000}, [] {});  // HERE many_lanes
  device.synchronize();
}
void many_waves(const heddle::parameters&) {
  heddle::device device;
  device.launch({.waves = 1'000'000'000, .lanes = 1}, [] {});  // HERE many_waves
  device.synchronize();
}

// -- stuck -------------------------------------------------------------------------------------------------------------------

void spins_on_a_local(const heddle::parameters&) {
  in_a_lane([](uint32_t*) {
    // NOLINTNEXTLINE(bugprone-infinite-loop): on purpose
    for (uint32_t n = 0; n != 1;) asm volatile("" : "+r"(n));  // HERE spins_on_a_local
  });
}
void spins_in_main(const heddle::parameters&) {
  in_main([](uint32_t*) {
    for (;;) asm volatile("");  // HERE spins_in_main
  });
}
void reads_a_pipe(const heddle::parameters&) {
  in_a_thread([](uint32_t*) {
    int ends[2] = {-1, -1};
    HEDDLE_CHECK(pipe(ends) == 0, "a pipe");
    char got = 0;
    HEDDLE_CHECK(read(ends[0], &got, 1) == 1, "a byte");  // HERE reads_a_pipe
  });
}
void reads_from_outside(const heddle::parameters&) {
  in_a_thread([](uint32_t*) {
    int ends[2] = {-1, -1};
    HEDDLE_CHECK(syscall(SYS_pipe2, ends, 0) == 0, "a pipe that the simulator does not know");
    char got = 0;
    HEDDLE_CHECK(read(ends[0], &got, 1) == 1, "a byte");  // HERE reads_from_outside
  });
}
void waits_for_a_condition(const heddle::parameters&) {
  in_a_thread([](uint32_t*) {
    std::mutex mutex;
    std::condition_variable changed;
    std::unique_lock lock(mutex);
    changed.wait(lock, [] { return false; });  // HERE waits_for_a_condition
  });
}
void waits_for_an_atomic(const heddle::parameters&) {
  in_a_thread([](uint32_t*) {
    std::atomic<int> never{0};
    never.wait(0);  // HERE waits_for_an_atomic
  });
}
void waits_for_a_semaphore(const heddle::parameters&) {
  in_a_thread([](uint32_t*) {
    sem_t never;
    sem_init(&never, 0, 0);
    sem_wait(&never);  // HERE waits_for_a_semaphore
  });
}
void waits_for_a_latch(const heddle::parameters&) {
  in_a_thread([](uint32_t*) {
    std::latch never(2);
    never.wait();  // HERE waits_for_a_latch
  });
}
void pauses_for_ever(const heddle::parameters&) {
  in_a_thread([](uint32_t*) {
    pause();  // HERE pauses_for_ever
  });
}

// -- unsupported -------------------------------------------------------------------------------------------------------------

void starts_a_thread(const heddle::parameters&) {
  in_main([](uint32_t*) {
    std::thread other([] {});  // HERE starts_a_thread
    other.join();
  });
}
void starts_a_jthread(const heddle::parameters&) {
  in_main([](uint32_t*) {
    std::jthread other([] {});  // HERE starts_a_jthread
  });
}
void starts_asynchronously(const heddle::parameters&) {
  in_main([](uint32_t* words) {
    words[1] = std::async(std::launch::async, [] { return 1u; }).get();  // HERE starts_asynchronously
  });
}
void* does_nothing(void*) { return nullptr; }
void creates_a_pthread(const heddle::parameters&) {
  in_main([](uint32_t*) {
    pthread_t other{};
    pthread_create(&other, nullptr, does_nothing, nullptr);  // HERE creates_a_pthread
    pthread_join(other, nullptr);
  });
}
/// The thread answers; a simulator that does not see it calls this a deadlock.
void served_by_a_thread(const heddle::parameters&) {
  bench made;
  uint32_t* const words = made.words;
  std::thread server([words] {  // HERE served_by_a_thread
    while (std::atomic_ref(words[0]).load() == 0) std::this_thread::yield();
    std::atomic_ref(words[1]).store(1);
  });  // HERE served_by_a_thread
  made.run(
      [words] {
        word<>(words[0]).store(1, heddle::memory_order::release);
        while (word<>(words[1]).load(heddle::memory_order::acquire) == 0) heddle::target::pause();
      },
      1, 1);
  server.join();
}
void forks(const heddle::parameters&) {
  in_main([](uint32_t*) {
    const pid_t other = fork();  // HERE forks
    if (other == 0) _exit(0);
    waitpid(other, nullptr, 0);
  });
}
void handles_signals(const heddle::parameters&) {
  in_main([](uint32_t*) {
    std::signal(SIGALRM, SIG_IGN);  // HERE handles_signals
  });
}
void sets_an_alarm(const heddle::parameters&) {
  in_main([](uint32_t*) {
    alarm(1);  // HERE sets_an_alarm
  });
}
void sets_a_timer(const heddle::parameters&) {
  in_main([](uint32_t*) {
    itimerval soon{};
    soon.it_value.tv_usec = 1000;
    setitimer(ITIMER_REAL, &soon, nullptr);  // HERE sets_a_timer
  });
}
void runs_a_command(const heddle::parameters&) {
  in_main([](uint32_t* words) {
    words[1] = static_cast<uint32_t>(std::system("true"));  // HERE runs_a_command
  });
}

// -- hangs, and what is well -------------------------------------------------------------------------------------------------

void waits_for_what_has_ended(const heddle::parameters&) {
  in_a_thread([](uint32_t* words) {
    while (word<>(words[2]).load(heddle::memory_order::acquire) == 0)
      heddle::target::pause();  // HERE waits_for_what_has_ended
  });
}
void host_loop(const heddle::parameters&) {
  bench made;
  std::vector<uint32_t> numbers(2);
  uint32_t* const words = made.words;
  // From then on the host is not alone, and what it does are steps.
  made.run([words] { word<>(words[0]).store(0, heddle::memory_order::relaxed); });
  for (uint32_t n = 0; word<>(made.words[0]).load(heddle::memory_order::relaxed) != 1; ++n)
    word<>(made.words[1]).store(n, heddle::memory_order::relaxed);  // counts: no loop that waits
}
void catches(const heddle::parameters&) {
  in_a_lane([](uint32_t* words) {
    try {
      throw std::runtime_error("inside");
    } catch (const std::exception&) {
      words[1] = 1;
    }
  });
}
void sleeps(const heddle::parameters&) {
  in_a_thread([](uint32_t*) {
    std::this_thread::sleep_for(std::chrono::hours(1));
    usleep(900'000);
  });
}
void prints_much(const heddle::parameters&) {
  in_a_lane([](uint32_t*) { std::fprintf(stderr, "a lane prints\n"); });
}
void reads_a_file(const heddle::parameters&) {
  in_main([](uint32_t* words) {
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    HEDDLE_CHECK(read(file, words, 4) == 4, "four bytes");
    close(file);
  });
}
void lends_its_frame(const heddle::parameters&) {
  heddle::device device;
  uint32_t local = 0;
  auto thread = device.spawn_host("borrower", [&] { local = 1; });
  thread.join();
  HEDDLE_CHECK(local == 1, "the thread stored it");
}
void keeps_state(const heddle::parameters&) {
  static uint32_t runs = 0;
  const uint32_t now = ++runs;
  in_a_lane([now](uint32_t*) {
    HEDDLE_CHECK(now % 2 == 1, "every other run fails");  // HERE keeps_state
  });
}
void well(const heddle::parameters&) {
  in_a_lane([](uint32_t* words) { words[1] = 1; });
}

#define HOSTILE(body) HEDDLE_SCENARIO(body, {.name = "hostile." #body, .summary = "see hostile_test.cpp"})

HOSTILE(wild_store);
HOSTILE(wild_load);
HOSTILE(wild_store_in_main);
HOSTILE(wild_store_in_thread);
HOSTILE(wild_atomic);
HOSTILE(store_not_canonical);
HOSTILE(wild_memcpy);
HOSTILE(wild_call);
HOSTILE(store_to_code);
HOSTILE(aborts);
HOSTILE(aborts_in_thread);
HOSTILE(traps);
HOSTILE(raises_segv);
HOSTILE(raises_fpe);
HOSTILE(raises_bus);
HOSTILE(kills_itself);
HOSTILE(divides_by_zero);
HOSTILE(exits_quietly);
HOSTILE(exits_quietly_in_main);
HOSTILE(exits_by_c);
HOSTILE(exits_quickly);
HOSTILE(exits_by_system_call);
HOSTILE(ends_the_thread);
HOSTILE(terminates);
HOSTILE(throws_through_noexcept);
HOSTILE(damages_the_heap);
HOSTILE(damages_the_heap_anew);
HOSTILE(frees_twice);
HOSTILE(recurses_for_ever);
HOSTILE(large_frame);
HOSTILE(null_store);
HOSTILE(null_load);
HOSTILE(far_out_of_bounds);
HOSTILE(one_behind);
HOSTILE(one_before);
HOSTILE(used_after_free);
HOSTILE(freed_twice);
HOSTILE(of_a_destroyed_device);
HOSTILE(misaligned_atomic);
HOSTILE(touches_the_hosts_stack);
HOSTILE(launches_in_a_kernel);
HOSTILE(allocates_too_much);
HOSTILE(check_fails);
HOSTILE(assert_fails);
HOSTILE(exits);
HOSTILE(throws_in_a_lane);
HOSTILE(throws_in_main);
HOSTILE(throws_in_a_thread);
HOSTILE(throws_a_number);
HOSTILE(looks_behind_a_vector);
HOSTILE(two_throws);
HOSTILE(no_lanes);
HOSTILE(many_lanes);
HOSTILE(many_waves);
HOSTILE(spins_on_a_local);
HOSTILE(spins_in_main);
HOSTILE(reads_a_pipe);
HOSTILE(reads_from_outside);
HOSTILE(waits_for_a_condition);
HOSTILE(waits_for_an_atomic);
HOSTILE(waits_for_a_semaphore);
HOSTILE(waits_for_a_latch);
HOSTILE(pauses_for_ever);
HOSTILE(starts_a_thread);
HOSTILE(starts_a_jthread);
HOSTILE(starts_asynchronously);
HOSTILE(creates_a_pthread);
HOSTILE(served_by_a_thread);
HOSTILE(forks);
HOSTILE(handles_signals);
HOSTILE(sets_an_alarm);
HOSTILE(sets_a_timer);
HOSTILE(runs_a_command);
HOSTILE(waits_for_what_has_ended);
HOSTILE(host_loop);
HOSTILE(catches);
HOSTILE(sleeps);
HOSTILE(prints_much);
HOSTILE(reads_a_file);
HOSTILE(lends_its_frame);
HOSTILE(keeps_state);
HOSTILE(well);
HEDDLE_SCENARIO(odd_name, {.name = "hostile.name <&\"'>\x1b[31m\xff\n", .summary = "a name \x01 of all kinds"});

}  // namespace
