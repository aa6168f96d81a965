// What leaves the simulation: threads, processes, signals and timers, waits in the kernel, exceptions that are not caught.
#include "run.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

// A region of OpenMP as clang compiles it.
extern "C" void __kmpc_fork_call(void* where, int count, void (*body)(int*, int*, ...),
                                 ...);  // NOLINT(bugprone-reserved-identifier): the compiler chose it

namespace heddle::sim::tests {
namespace {

int line = 0;

struct call {
  const char* name;
  std::function<void()> make;
};

#define CALL(name, ...)       \
  call {                      \
    name, [] { __VA_ARGS__; } \
  }

std::vector<call> unsupported_calls() {
  return {
    CALL("fork", if (fork() == 0) _exit(7)),
        CALL("vfork", if (vfork() == 0) _exit(7)),  // NOLINT(bugprone-unsafe-functions): it is what is tested
        CALL("posix_spawn", pid_t made; char* arguments[] = {nullptr};
             posix_spawn(&made, "/bin/true", nullptr, nullptr, arguments, nullptr)),
        CALL("system", [[maybe_unused]] const int status = std::system("true")),
        CALL("popen", pclose(popen("true", "r"))),
        CALL("execl", execl("/bin/false", "false", static_cast<char*>(nullptr))),
        CALL("signal", std::signal(SIGALRM, [](int) {})),
        CALL("sigaction", struct sigaction action = {}; sigaction(SIGALRM, &action, nullptr)),
        CALL("alarm", alarm(1000)),
        CALL("setitimer", itimerval after = {{0, 0}, {1000, 0}}; setitimer(ITIMER_REAL, &after, nullptr)),
        CALL("timer_create", timer_t made; timer_create(CLOCK_MONOTONIC, nullptr, &made)),
        CALL("timerfd_create", timerfd_create(CLOCK_MONOTONIC, 0)),
        CALL("OpenMP of clang", __kmpc_fork_call(nullptr, 0, nullptr)),
  };
}

TEST(outside, what_starts_outside_of_the_simulation_is_refused_at_its_line) {
  machine on;
  for (const call& each : unsupported_calls()) {
    const outcome host = on.run([&] { each.make(); });
    EXPECT_TRUE(is(verdict::unsupported, "", host)) << each.name;
    EXPECT_TRUE(host.where.starts_with(__FILE__)) << each.name << " at " << host.where;
    EXPECT_TRUE(says(host.message, "device.spawn_host")) << each.name;
    EXPECT_EQ(host.message.find('\n'), std::string::npos) << each.name;
    // The next run knows nothing of it.
    EXPECT_EQ(on.run([] { device().synchronize(); }).verdict, verdict::ok);
  }
}

TEST(outside, a_thread_of_the_c_library_answers_as_a_host_thread_does) {
  machine on;
  const tally seen = on.run_many(
      [] {
        device host;
        auto* const flag = host.allocate_shared<uint32_t>(1, "flag");
        host.launch({}, [flag] {
          while (word<uint32_t>(*flag).load(memory_order::acquire) == 0) target::pause();
        });
        std::thread answers([flag] { word<uint32_t>(*flag).store(1, memory_order::release); });
        host.synchronize();
        answers.join();
      },
      50);
  EXPECT_TRUE(always(verdict::ok, seen));
}

TEST(outside, calls_in_no_run_do_what_they_always_do) {
  int ran = 0;
  std::thread([&] { ran = 1; }).join();
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(std::async(std::launch::async, [] { return 2; }).get(), 2);
  const pid_t child = fork();
  if (child == 0) _exit(3);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(std::system("exit 4"), 4 << 8);
  // A query is not refused in a run either.
  machine on;
  EXPECT_EQ(on.run([] {
                struct sigaction now;
                sigaction(SIGUSR2, nullptr, &now);
              }).verdict,
            verdict::ok);
}

int pipe_ends[2] = {-1, -1};

std::vector<call> endless_calls() {
  if (pipe(pipe_ends) != 0) std::abort();
  return {
    CALL("read", char letter; [[maybe_unused]] const auto got = read(pipe_ends[0], &letter, 1)),
        CALL("poll", pollfd asked = {pipe_ends[0], POLLIN, 0}; poll(&asked, 1, -1)),
        CALL("select", select(0, nullptr, nullptr, nullptr, nullptr)), CALL("pause", pause()),
        CALL("sigwait", sigset_t none; sigemptyset(&none); int number; sigwait(&none, &number)),
  };
}

std::vector<call> waits_for_others() {
  return {
    CALL("condition_variable", std::condition_variable turn; std::mutex lock; std::unique_lock held(lock);
         turn.wait(held, [] { return false; })),
        CALL("condition_variable_any", std::condition_variable_any turn; std::mutex lock; std::unique_lock held(lock);
             turn.wait(held, [] { return false; })),
        CALL("future", std::promise<int> never; never.get_future().get()),
        CALL("atomic", std::atomic<int> value = 1; value.wait(1)),
        CALL("atomic of one byte", std::atomic<bool> value = true; value.wait(true)),
        CALL("barrier", std::barrier<> meeting(2); meeting.arrive_and_wait()),
        CALL("latch", std::latch meeting(2); meeting.arrive_and_wait()),
        CALL("counting_semaphore", std::counting_semaphore<> free(0); free.acquire()),
        CALL("sem_wait", sem_t free; sem_init(&free, 0, 0); sem_wait(&free)),
        CALL("pthread_barrier", pthread_barrier_t meeting; pthread_barrier_init(&meeting, nullptr, 2);
             pthread_barrier_wait(&meeting)),
  };
}

// The simulator puts the words together while the lane runs.
TEST(outside, the_words_of_a_verdict_are_no_accesses_of_the_lane) {
  std::vector<call> all = {
      CALL("exit", std::exit(1)),
      CALL("quick_exit", std::quick_exit(2)),
      CALL("_exit", _exit(3)),
      CALL("raise", [[maybe_unused]] const int got = raise(SIGUSR1)),
      CALL("exit_group", [[maybe_unused]] const long got = syscall(SYS_exit_group, 4)),
  };
  for (const std::vector<call>& more : {unsupported_calls(), endless_calls()})
    all.insert(all.end(), more.begin(), more.end());
  machine on;
  for (const call& each : all) {
    const outcome told = on.explain([&] {
      device host;
      auto* const flag = host.allocate_shared<uint32_t>(1, "flag");
      // From now on another actor could see what the lane does.
      auto server = host.spawn_host("server", [flag] { word<uint32_t>(*flag).store(1, memory_order::release); });
      each.make();
    });
    EXPECT_NE(told.verdict, verdict::ok) << each.name;
    for (const step_record& one : told.steps_taken) EXPECT_NE(one.operation, "plain store") << each.name << one.where;
  }
}

TEST(outside, waits_that_no_other_thread_ends_are_deadlocks_at_their_line_and_repeat) {
  machine on;
  for (const call& each : waits_for_others()) {
    uint64_t digest = 0;
    for (int run = 0; run < 3; ++run) {
      const outcome ended = on.run([&] { each.make(); }, 5);
      EXPECT_TRUE(is(verdict::deadlock, "", ended)) << each.name;
      EXPECT_TRUE(ended.where.starts_with(__FILE__)) << each.name << " at " << ended.where;
      // The library's count of waiting threads begins anew with each run.
      if (run == 0) digest = ended.digest;
      EXPECT_EQ(ended.digest, digest) << each.name;
    }
  }
}

TEST(outside, waits_that_nothing_can_end_are_stuck_at_their_line_and_repeat) {
  machine on;
  for (const call& each : endless_calls()) {
    uint64_t digest = 0;
    for (int run = 0; run < 3; ++run) {
      const outcome ended = on.run([&] { each.make(); }, 5);
      EXPECT_TRUE(is(verdict::stuck, "", ended)) << each.name;
      EXPECT_TRUE(ended.where.starts_with(__FILE__)) << each.name << " at " << ended.where;
      EXPECT_TRUE(says(ended.message, "nothing can end the wait")) << each.name;
      if (run == 0) digest = ended.digest;
      EXPECT_EQ(ended.digest, digest) << each.name;
    }
  }
}

struct waited_for {
  std::atomic<uint32_t> value = 0;
  std::atomic<uint32_t> seen = 0;
};

TEST(outside, an_abandoned_wait_changes_no_later_run) {
  machine on;
  const program waits = [] {
    device host;
    auto* const shared = new (host.allocate_shared<waited_for>(1, "shared")) waited_for;
    shared->value.notify_all();
    shared->value.wait(0);
  };
  const program wakes = [] {
    device host;
    auto* const shared = new (host.allocate_shared<waited_for>(1, "shared")) waited_for;
    shared->value.store(1);
    shared->value.notify_all();
    shared->value.wait(0);
    shared->seen.store(1);
  };
  const outcome alone = on.run(wakes, 3);
  EXPECT_EQ(alone.verdict, verdict::ok);
  const outcome first = on.run(waits, 3);
  const outcome second = on.run(waits, 3);
  EXPECT_EQ(first.verdict, verdict::deadlock);
  EXPECT_EQ(first.steps, second.steps);
  EXPECT_EQ(first.digest, second.digest);
  const outcome after = on.run(wakes, 3);
  EXPECT_EQ(after.verdict, verdict::ok);
  EXPECT_EQ(after.steps, alone.steps);
  EXPECT_EQ(after.digest, alone.digest);
}

TEST(outside, waits_that_are_over_go_on) {
  machine on;
  const tally seen = on.run_many(
      [] {
        std::atomic<int> value = 1;
        value.wait(2);
        std::promise<int> kept;
        kept.set_value(3);
        SIM_CHECK(kept.get_future().get() == 3);
        std::counting_semaphore<> free(1);
        free.acquire();
        sem_t one;
        sem_init(&one, 0, 1);
        SIM_CHECK(sem_wait(&one) == 0);
        std::shared_mutex lock;
        lock.lock();
        lock.unlock();
        lock.lock_shared();
        lock.unlock_shared();
        pollfd asked = {-1, POLLIN, 0};
        SIM_CHECK(poll(&asked, 1, 0) == 0);
        SIM_CHECK(waitpid(-1, nullptr, 0) == -1);
      },
      20);
  EXPECT_TRUE(always(verdict::ok, seen));
}

// A static whose initialization another thread is in the middle of.
uint32_t slow_value(uint32_t* words) {
  static const uint32_t once = word<uint32_t>(words[0]).fetch_add(1, memory_order::relaxed);
  return once;
}

TEST(outside, a_static_in_the_middle_of_its_initialization_is_waited_for) {
  machine on;
  const tally seen = on.run_many(
      [] {
        device host;
        auto* const words = host.allocate_shared<uint32_t>(1, "words");
        auto one = host.spawn_host("one", [words] { slow_value(words); });
        slow_value(words);
        one.join();
      },
      50);
  EXPECT_TRUE(always(verdict::ok, seen));
}

// -- exceptions --------------------------------------------------------------------------------------------------------------------

[[gnu::noinline]] void throws_at_once(const char* text) {
  line = __LINE__ + 1;
  throw std::runtime_error(text);
}

[[gnu::noinline]] int at_index(const std::vector<int>& values, size_t index) {
  line = __LINE__ + 1;
  return values.at(index);
}

[[gnu::noinline]] int number_in(const std::string& text) {
  line = __LINE__ + 1;
  return std::stoi(text);
}

[[gnu::noinline]] std::string end_of(const std::string& text, size_t from) {
  line = __LINE__ + 1;
  return text.substr(from);
}

TEST(exceptions, one_that_is_not_caught_is_told_with_the_place_and_the_calls_of_the_throw) {
  machine on;
  const outcome host = on.explain([] { throws_at_once("no such port"); });
  EXPECT_TRUE(is(verdict::assertion, SIM_LINE(line), host));
  EXPECT_EQ(host.message, "an exception leaves the thread: no such port");
  EXPECT_TRUE(says(host.report, "at   " + SIM_LINE(line) + " (throws_at_once)"));
  EXPECT_TRUE(says(host.report, "from " + std::string(__FILE__) + ":"));

  // Thrown within the C++ library.
  const std::vector<int> values(3);
  EXPECT_TRUE(is(verdict::assertion, SIM_LINE(line), on.run([&] { at_index(values, 7); })));
  const outcome past = on.run([&] { at_index(values, 7); });
  EXPECT_TRUE(is(verdict::assertion, SIM_LINE(line), past));
  EXPECT_TRUE(says(past.message, "7"));
  const outcome no_number = on.run([] { number_in("x"); });
  EXPECT_TRUE(is(verdict::assertion, SIM_LINE(line), no_number));
  const outcome no_end = on.run([] { end_of("x", 9); });
  EXPECT_TRUE(is(verdict::assertion, SIM_LINE(line), no_end));

  const outcome kernel = on.run([] {
    device here;
    here.launch({.waves = 1, .lanes = 2}, [] { throws_at_once("in a lane"); });
    here.synchronize();
  });
  EXPECT_TRUE(is(verdict::assertion, SIM_LINE(line), kernel));
  EXPECT_TRUE(says(kernel.message, "in a lane"));

  const outcome number = on.run([] {
    line = __LINE__ + 1;
    throw 7;
  });
  EXPECT_TRUE(is(verdict::assertion, SIM_LINE(line), number));
  EXPECT_TRUE(says(number.message, "does not derive from std::exception"));
}

TEST(exceptions, those_that_are_caught_are_nothing_to_tell_of) {
  machine on;
  const tally seen = on.run_many(
      [] {
        device host;
        auto* const count = host.allocate_shared<uint32_t>(1, "count");
        host.launch({.waves = 2, .lanes = 2}, [count] {
          try {
            throws_at_once("caught");
          } catch (const std::runtime_error&) {
            word<uint32_t>(*count).fetch_add(1, memory_order::relaxed);
          }
        });
        host.synchronize();
        SIM_CHECK(word<uint32_t>(*count).load(memory_order::relaxed) == 4);
      },
      100);
  EXPECT_TRUE(always(verdict::ok, seen));
}

TEST(exceptions, terminate_ends_the_run) {
  machine on;
  const outcome called = on.run([] {
    line = __LINE__ + 1;
    std::terminate();
  });
  EXPECT_TRUE(is(verdict::crash, SIM_LINE(line), called));
  EXPECT_TRUE(says(called.message, "std::terminate is called"));
  const outcome left = on.run([] { []() noexcept { throws_at_once("out of noexcept"); }(); });
  EXPECT_TRUE(is(verdict::crash, "", left));
  EXPECT_TRUE(says(left.message, "an exception leaves what is noexcept: out of noexcept"));
  EXPECT_TRUE(left.where.starts_with(__FILE__)) << left.where;
}

// -- atomic accesses that are not aligned ------------------------------------------------------------------------------------------

TEST(alignment, an_atomic_access_needs_an_address_that_is_a_multiple_of_its_size) {
  for (const char* fidelity : {"fidelity=interleaving", "fidelity=scoped", "fidelity=link"}) {
    machine on({fidelity});
    const auto access = [](size_t at_byte, int how) {
      return [=] {
        device host;
        auto* const bytes = host.allocate_shared<std::byte>(64, "bytes");
        auto* const value = reinterpret_cast<uint32_t*>(bytes + at_byte);
        host.launch({}, [=] {
          line = __LINE__ + 1;
          if (how == 0) (void)__atomic_load_n(value, __ATOMIC_RELAXED);
          if (how == 1) __atomic_store_n(value, 1, __ATOMIC_RELAXED);
          if (how == 2) __atomic_fetch_add(value, 1, __ATOMIC_RELAXED);
          if (how == 3) (void)runtime::load(value, 4, memory_order::acquire, scope::device);
        });
        host.synchronize();
      };
    };
    for (int how = 0; how < 4; ++how) {
      EXPECT_EQ(on.run(access(4, how)).verdict, verdict::ok) << how;
      for (const size_t at : {1u, 2u, 3u, 7u}) {
        const outcome ended = on.run(access(at, how));
        EXPECT_TRUE(is(verdict::memory, SIM_LINE(line + how), ended)) << fidelity << ' ' << how;
        EXPECT_TRUE(says(ended.message, "bytes+0x" + std::to_string(at) + ": misaligned"));
        EXPECT_TRUE(says(ended.message, "a multiple of 4"));
      }
    }
  }
}

TEST(alignment, also_of_variables_of_the_program) {
  static struct {
    alignas(8) std::byte bytes[16];
  } fixed;
  machine on;
  const outcome ended = on.run([] {
    // Where it is out of the compiler's sight, which would warn.
    volatile uintptr_t at = reinterpret_cast<uintptr_t>(&fixed.bytes[4]);
    auto* const misaligned = reinterpret_cast<uint64_t*>(at);  // NOLINT(performance-no-int-to-ptr)
    line = __LINE__ + 1;
    __atomic_store_n(misaligned, 1, __ATOMIC_RELAXED);
  });
  EXPECT_TRUE(is(verdict::memory, SIM_LINE(line), ended));
  EXPECT_TRUE(says(ended.message, "a multiple of 8"));
}

// -- devices that are destroyed ----------------------------------------------------------------------------------------------------

TEST(destroyed, what_a_device_has_allocated_is_freed_with_it) {
  machine on;
  const auto use = [](bool inside) {
    return [inside] {
      uint32_t* words = nullptr;
      device other;
      {
        device gone;
        words = gone.allocate_device<uint32_t>(2, "gone");
        gone.launch({}, [words] { word<uint32_t>(words[0]).store(1, memory_order::relaxed); });
        gone.synchronize();
        if (inside) return;
      }
      other.launch({}, [words] {
        line = __LINE__ + 1;
        word<uint32_t>(words[1]).store(1, memory_order::relaxed);
      });
      other.synchronize();
    };
  };
  const outcome ended = on.run(use(false));
  EXPECT_TRUE(is(verdict::memory, SIM_LINE(line), ended));
  EXPECT_TRUE(says(ended.message, "gone+0x4: after its device was destroyed"));
  EXPECT_EQ(on.run(use(true)).verdict, verdict::ok);
}

TEST(destroyed, what_a_running_kernel_uses_stays) {
  machine on;
  const tally seen = on.run_many(
      [] {
        device gone;
        auto* const value = gone.allocate_device<uint32_t>(1, "value");
        gone.launch({.waves = 2}, [value] {
          for (int n = 0; n < 3; ++n) word<uint32_t>(*value).fetch_add(1, memory_order::relaxed);
        });
      },
      100);
  EXPECT_TRUE(always(verdict::ok, seen));
}

}  // namespace
}  // namespace heddle::sim::tests
