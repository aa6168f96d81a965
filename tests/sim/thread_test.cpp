// Threads of the C and C++ libraries as host threads of the simulation, and what they wait at for each other.
#include "run.h"

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace heddle::sim::tests::thread_test {
namespace {

const std::vector<std::vector<std::string>>& memories() {
  static const std::vector<std::vector<std::string>> all = {{}, {"fidelity=scoped"}};
  return all;
}

/// What a program ends with on each memory.
void ends(const char* name, const program& body, verdict wanted, uint64_t schedules = 200) {
  for (const std::vector<std::string>& settings : memories()) {
    machine on(settings);
    const tally seen = on.run_many(body, schedules);
    if (wanted == verdict::ok)
      EXPECT_TRUE(always(verdict::ok, seen)) << name;
    else
      EXPECT_GT(seen.count(wanted), 0u) << name << '\n' << seen.text();
  }
}

TEST(threads, join_gives_what_a_thread_has_done) {
  ends(
      "std::thread",
      [] {
        int value = 0;
        std::thread one([&] { value = 1; });
        one.join();
        SIM_CHECK(value == 1 && !one.joinable());
      },
      verdict::ok);
  ends(
      "jthread",
      [] {
        int turns = 0;
        {
          std::jthread one([&](const std::stop_token& stop) {
            while (!stop.stop_requested()) std::this_thread::yield();
            turns = 3;
          });
        }
        SIM_CHECK(turns == 3);
      },
      verdict::ok);
  ends(
      "pthread_create",
      [] {
        static int argument;
        argument = 0;
        pthread_t made = {};
        SIM_CHECK(pthread_create(
                      &made, nullptr,
                      [](void* given) -> void* {
                        *static_cast<int*>(given) = 5;
                        return reinterpret_cast<void*>(uintptr_t{7});
                      },
                      &argument) == 0);
        void* result = nullptr;
        SIM_CHECK(pthread_join(made, &result) == 0);
        SIM_CHECK(argument == 5 && result == reinterpret_cast<void*>(uintptr_t{7}));
        SIM_CHECK(pthread_join(made, nullptr) == EINVAL && pthread_join(pthread_self(), nullptr) == EDEADLK);
      },
      verdict::ok);
  ends(
      "thrd_create",
      [] {
        thrd_t made = {};
        SIM_CHECK(thrd_create(&made, [](void*) { return 4; }, nullptr) == thrd_success);
        int result = 0;
        SIM_CHECK(thrd_join(made, &result) == thrd_success && result == 4);
      },
      verdict::ok);
  ends(
      "async",
      [] {
        auto answer = std::async(std::launch::async, [] { return 42; });
        SIM_CHECK(answer.get() == 42);
        auto fails = std::async(std::launch::async, []() -> int { throw std::runtime_error("no"); });
        bool caught = false;
        try {
          fails.get();
        } catch (const std::runtime_error&) {
          caught = true;
        }
        SIM_CHECK(caught);
      },
      verdict::ok);
}

uint32_t raced = 0;

TEST(threads, one_that_is_not_joined_races_with_its_creator) {
  machine on({"fidelity=scoped"});
  const tally seen = on.run_many(
      [] {
        std::thread one([] { raced = 1; });
        raced = 2;
        one.join();
        SIM_CHECK(raced != 0);
      },
      50);
  EXPECT_TRUE(always(verdict::race, seen));
}

// What the library keeps for a thread is that thread's own until others can know where it lies.
TEST(threads, what_one_was_given_is_looked_at_by_those_that_it_tells) {
  const auto tells = [](bool looks_behind) {
    return [=] {
      std::atomic<int*> told = nullptr;
      std::thread one([&told, looks_behind, value = 1]() mutable {
        SIM_CHECK(value == 1);
        told.store(&value);
        SIM_CHECK(!looks_behind || value == 1);
        while (told.load() != nullptr) std::this_thread::yield();
        SIM_CHECK(value == 2);
      });
      int* where = nullptr;
      while ((where = told.load()) == nullptr) std::this_thread::yield();
      *where = 2;
      told.store(nullptr);
      one.join();
    };
  };
  ends("looks before it tells", tells(false), verdict::ok);
  ends("looks behind that too", tells(true), verdict::assertion);
  ends(
      "waits for itself",
      [] {
        std::thread one([value = 0] {
          while (static_cast<const volatile int&>(value) == 0) {
          }
        });
        one.join();
      },
      verdict::deadlock);
}

TEST(threads, have_names_of_their_own_in_reports) {
  machine on;
  const outcome ended = on.explain([] {
    static std::mutex never;
    never.lock();
    std::thread one([] {
      pthread_setname_np(pthread_self(), "proxy");
      never.lock();
    });
    std::thread two([] { never.lock(); });
    one.join();
    two.join();
  });
  EXPECT_TRUE(is(verdict::deadlock, "", ended));
  EXPECT_TRUE(says(ended.report, "host proxy -> host main  (a mutex)"));
  EXPECT_TRUE(says(ended.report, "host thread"));
}

TEST(threads, mutexes_that_are_taken_in_two_orders_are_a_circle) {
  const auto program = [](bool same) {
    return [same] {
      static std::mutex first, second;
      std::thread one([] { const std::scoped_lock both(first), more(second); });
      std::thread two([same] {
        const std::lock_guard outer(same ? first : second);
        const std::lock_guard inner(same ? second : first);
      });
      one.join();
      two.join();
    };
  };
  ends("same order", program(true), verdict::ok);
  ends("two orders", program(false), verdict::deadlock);
}

TEST(threads, pthread_exit_runs_destructors_and_gives_its_result) {
  ends(
      "pthread_exit",
      [] {
        static int destroyed;
        destroyed = 0;
        struct counts {
          ~counts() { ++destroyed; }
        };
        pthread_t made = {};
        pthread_create(
            &made, nullptr,
            [](void*) -> void* {
              const counts outer;
              [] {
                const counts inner;
                pthread_exit(reinterpret_cast<void*>(uintptr_t{9}));
              }();
              return nullptr;
            },
            nullptr);
        void* result = nullptr;
        SIM_CHECK(pthread_join(made, &result) == 0 && result == reinterpret_cast<void*>(uintptr_t{9}));
        SIM_CHECK(destroyed == 2);
      },
      verdict::ok);
}

TEST(threads, values_by_key_belong_to_one_and_are_destroyed_with_it) {
  ends(
      "keys",
      [] {
        static std::atomic<int> destroyed;
        static pthread_key_t key;
        destroyed = 0;
        SIM_CHECK(pthread_key_create(&key, [](void* value) { destroyed += *static_cast<int*>(value); }) == 0);
        static std::array<int, 2> values = {1, 10};
        std::vector<std::thread> all;
        for (int& each : values)
          all.emplace_back([&each] {
            SIM_CHECK(pthread_getspecific(key) == nullptr);
            pthread_setspecific(key, &each);
            std::this_thread::yield();
            SIM_CHECK(pthread_getspecific(key) == &each);
          });
        for (std::thread& each : all) each.join();
        SIM_CHECK(destroyed == 11 && pthread_getspecific(key) == nullptr);
        pthread_key_delete(key);
      },
      verdict::ok);
}

// -- conditions --------------------------------------------------------------------------------------------------------------------

struct mailbox {
  std::mutex mutex;
  std::condition_variable ready;
  int value = 0;
};

/// `waits` in a loop or once; `notifies` under the lock or not at all.
program passes_a_value(bool in_a_loop, bool notifies) {
  return [=] {
    mailbox box;
    std::thread takes([&] {
      std::unique_lock lock(box.mutex);
      if (in_a_loop)
        while (box.value == 0) box.ready.wait(lock);
      else if (box.value == 0)
        box.ready.wait(lock);
      SIM_CHECK(box.value == 1);
    });
    {
      const std::lock_guard lock(box.mutex);
      box.value = 1;
    }
    if (notifies) box.ready.notify_one();
    takes.join();
  };
}

TEST(conditions, notice_ends_a_wait_and_nothing_else_does) {
  ends("notified", passes_a_value(true, true), verdict::ok);
  ends("not notified", passes_a_value(true, false), verdict::deadlock);
  // Woken for no reason it finds nothing.
  ends("not in a loop", passes_a_value(false, true), verdict::assertion);
}

TEST(conditions, a_notice_that_comes_too_early_is_lost) {
  const auto program = [](bool under_the_lock) {
    return [=] {
      static std::mutex mutex;
      static std::condition_variable ready;
      std::atomic<int> value = 0;
      std::thread takes([&] {
        std::unique_lock lock(mutex);
        while (value == 0) ready.wait(lock);
      });
      if (under_the_lock) {
        const std::lock_guard lock(mutex);
        value = 1;
      } else {
        value = 1;
      }
      ready.notify_one();
      takes.join();
    };
  };
  ends("under the lock", program(true), verdict::ok);
  ends("beside it", program(false), verdict::deadlock, 500);
}

TEST(conditions, one_notice_wakes_one_and_the_other_needs_another) {
  const auto program = [](bool all) {
    return [=] {
      mailbox box;
      const auto takes = [&] {
        std::unique_lock lock(box.mutex);
        box.ready.wait(lock, [&] { return box.value != 0; });
      };
      std::thread one(takes), two(takes);
      {
        const std::lock_guard lock(box.mutex);
        box.value = 1;
      }
      if (all)
        box.ready.notify_all();
      else
        box.ready.notify_one();
      one.join();
      two.join();
    };
  };
  ends("notify_all", program(true), verdict::ok);
  ends("notify_one", program(false), verdict::deadlock);
}

TEST(conditions, of_c_and_of_pthreads_are_the_same) {
  ends(
      "cnd_wait",
      [] {
        static mtx_t mutex;
        static cnd_t ready;
        static int value;
        value = 0;
        mtx_init(&mutex, mtx_plain);
        cnd_init(&ready);
        thrd_t made = {};
        thrd_create(
            &made,
            [](void*) {
              mtx_lock(&mutex);
              while (value == 0) cnd_wait(&ready, &mutex);
              mtx_unlock(&mutex);
              return 0;
            },
            nullptr);
        mtx_lock(&mutex);
        value = 1;
        mtx_unlock(&mutex);
        cnd_signal(&ready);
        SIM_CHECK(thrd_join(made, nullptr) == thrd_success);
      },
      verdict::ok);
}

TEST(conditions, guards_of_ten_seconds_do_not_fire_while_others_can_go_on) {
  const auto program = [] {
    mailbox box;
    std::thread takes([&] {
      std::unique_lock lock(box.mutex);
      SIM_CHECK(box.ready.wait_for(lock, std::chrono::seconds(30), [&] { return box.value != 0; }));
    });
    for (int n = 0; n < 20; ++n) std::this_thread::yield();
    {
      const std::lock_guard lock(box.mutex);
      box.value = 1;
    }
    box.ready.notify_one();
    takes.join();
  };
  ends("patient", program, verdict::ok);
  machine hasty({"timeouts=any"});
  EXPECT_GT(hasty.run_many(program, 300).count(verdict::assertion), 0u);
}

TEST(conditions, the_report_says_at_what_a_thread_waits) {
  machine on;
  const outcome ended = on.explain([] {
    static mailbox box;
    std::thread takes([] {
      std::unique_lock lock(box.mutex);
      while (box.value == 0) box.ready.wait(lock);
    });
    takes.join();
  });
  EXPECT_TRUE(is(verdict::deadlock, "", ended));
  EXPECT_TRUE(says(ended.report, "waits in wait for notice"));
  EXPECT_TRUE(says(ended.report, "for notice at "));
  EXPECT_TRUE(says(ended.report, "which nothing has given"));
}

// -- what threads meet at ----------------------------------------------------------------------------------------------------------

TEST(meetings, atomics_barriers_latches_and_semaphores_let_through_what_they_should) {
  ends(
      "atomic::wait",
      [] {
        std::atomic<int> value = 0;
        std::atomic<bool> small = false;
        std::thread one([&] {
          value.wait(0);
          SIM_CHECK(value == 1);
          small = true;
          small.notify_all();
        });
        value = 1;
        value.notify_one();
        small.wait(false);
        one.join();
      },
      verdict::ok);
  ends(
      "barrier",
      [] {
        std::barrier meeting(2);
        int first = 0;
        std::thread one([&] {
          first = 1;
          meeting.arrive_and_wait();
          meeting.arrive_and_wait();
          first = 2;
        });
        meeting.arrive_and_wait();
        SIM_CHECK(first == 1);
        meeting.arrive_and_wait();
        one.join();
      },
      verdict::ok);
  ends(
      "latch",
      [] {
        std::latch done(2);
        int value = 0;
        std::thread one([&] {
          value = 1;
          done.count_down();
        });
        done.arrive_and_wait();
        SIM_CHECK(value == 1);
        one.join();
      },
      verdict::ok);
  ends(
      "semaphore",
      [] {
        std::counting_semaphore<4> free(0);
        std::binary_semaphore turn(1);
        int value = 0;
        std::thread one([&] {
          turn.acquire();
          ++value;
          turn.release();
          free.release();
        });
        turn.acquire();
        ++value;
        turn.release();
        free.acquire();
        SIM_CHECK(value == 2);
        one.join();
      },
      verdict::ok);
  ends(
      "future",
      [] {
        std::promise<int> given;
        auto taken = given.get_future();
        std::thread one([&] { given.set_value(3); });
        SIM_CHECK(taken.get() == 3);
        one.join();
      },
      verdict::ok);
}

TEST(meetings, of_the_c_library_do_so_too) {
  ends(
      "sem_t",
      [] {
        static sem_t free;
        static int value;
        value = 0;
        sem_init(&free, 0, 0);
        std::thread one([] {
          value = 1;
          sem_post(&free);
        });
        SIM_CHECK(sem_wait(&free) == 0 && value == 1);
        SIM_CHECK(sem_trywait(&free) == -1 && errno == EAGAIN);
        one.join();
      },
      verdict::ok);
  ends(
      "pthread_barrier",
      [] {
        static pthread_barrier_t meeting;
        static int value;
        value = 0;
        pthread_barrier_init(&meeting, nullptr, 2);
        int last = 0;
        std::thread one([&] {
          value = 1;
          for (int n = 0; n < 3; ++n) last += pthread_barrier_wait(&meeting) == PTHREAD_BARRIER_SERIAL_THREAD ? 1 : 0;
        });
        int mine = 0;
        for (int n = 0; n < 3; ++n) mine += pthread_barrier_wait(&meeting) == PTHREAD_BARRIER_SERIAL_THREAD ? 1 : 0;
        one.join();
        SIM_CHECK(value == 1 && mine + last == 3);
        pthread_barrier_destroy(&meeting);
      },
      verdict::ok);
  ends(
      "shared_mutex",
      [] {
        std::shared_mutex lock;
        int value = 0;
        const auto reads = [&] {
          const std::shared_lock held(lock);
          return value;
        };
        std::thread writes([&] {
          const std::lock_guard held(lock);
          value = 1;
          value = 2;
        });
        SIM_CHECK(reads() != 1);
        writes.join();
        SIM_CHECK(reads() == 2);
      },
      verdict::ok);
  ends(
      "spin lock",
      [] {
        static pthread_spinlock_t lock;
        static int value;
        value = 0;
        pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
        const auto adds = [] {
          pthread_spin_lock(&lock);
          ++value;
          pthread_spin_unlock(&lock);
        };
        std::thread one(adds), two(adds);
        one.join();
        two.join();
        SIM_CHECK(value == 2);
      },
      verdict::ok);
}

TEST(meetings, readers_of_one_lock_are_not_ordered_by_it) {
  machine on({"fidelity=scoped"});
  EXPECT_GT(on.run_many(
                  [] {
                    static std::shared_mutex lock;
                    static int value;
                    const auto writes = [] {
                      const std::shared_lock held(lock);
                      ++value;
                    };
                    std::thread one(writes), two(writes);
                    one.join();
                    two.join();
                  },
                  100)
                .count(verdict::race),
            0u);
}

// The C library sees one thread of the operating system, and must not tell the C++ library so.
TEST(threads, what_the_library_does_for_one_thread_alone_is_not_done) {
  ends(
      "copies of a shared_ptr",
      [] {
        auto value = std::make_shared<int>(3);
        std::thread other([own = value] { SIM_CHECK(*own == 3); });
        const auto more = value;
        value.reset();
        other.join();
        SIM_CHECK(more.use_count() == 1);
      },
      verdict::ok);
  ends(
      "a thread that is asked to stop",
      [] {
        std::mutex lock;
        std::condition_variable_any changed;
        std::jthread waits([&](const std::stop_token& stop) {
          std::unique_lock held(lock);
          changed.wait(held, stop, [] { return false; });
        });
      },
      verdict::ok);
}

TEST(once, one_thread_does_what_others_wait_for) {
  ends(
      "call_once",
      [] {
        std::once_flag flag;
        int done = 0;
        const auto body = [&] {
          std::call_once(flag, [&] { ++done; });
          SIM_CHECK(done == 1);
        };
        std::thread one(body), two(body);
        one.join();
        two.join();
      },
      verdict::ok);
  ends(
      "call_once of two flags at a time",
      [] {
        std::once_flag flags[2];
        int done[2] = {0, 0};
        const auto body = [&](int which) {
          std::call_once(flags[which], [&, which] { done[which] = which + 1; });
          SIM_CHECK(done[which] == which + 1);
        };
        std::thread one(body, 0), two(body, 1);
        one.join();
        two.join();
      },
      verdict::ok);
  ends(
      "call_once that throws",
      [] {
        std::once_flag flag;
        int tried = 0;
        const auto body = [&] {
          try {
            std::call_once(flag, [&] {
              if (++tried == 1) throw std::runtime_error("no");
            });
          } catch (const std::runtime_error&) {
          }
        };
        std::thread one(body), two(body);
        one.join();
        two.join();
        SIM_CHECK(tried == 2 || tried == 1);
      },
      verdict::ok);
}

// -- the same in every process and every search -------------------------------------------------------------------------------------

TEST(threads, the_same_schedule_is_the_same_run) {
  const auto program = [] {
    mailbox box;
    std::barrier meeting(3);
    std::vector<std::thread> all;
    for (int n = 0; n < 2; ++n)
      all.emplace_back([&] {
        {
          std::unique_lock lock(box.mutex);
          ++box.value;
        }
        box.ready.notify_one();
        meeting.arrive_and_wait();
      });
    {
      std::unique_lock lock(box.mutex);
      box.ready.wait(lock, [&] { return box.value == 2; });
    }
    meeting.arrive_and_wait();
    for (std::thread& each : all) each.join();
  };
  for (const std::vector<std::string>& settings : memories()) {
    machine on(settings);
    machine other(settings);
    for (uint64_t seed = 1; seed <= 50; ++seed) {
      const outcome first = on.run(program, seed);
      ASSERT_EQ(first.verdict, verdict::ok) << first.message;
      EXPECT_EQ(other.run(program, seed).digest, first.digest) << seed;
    }
  }
}

/// A variable that another thread has reached, to which the last store of this function goes.
[[gnu::noinline]] void store_last_in_own_frame() {
  int values[512];  // the first of them lies deeper than the simulator's own frames
  asm volatile("" ::"r"(values) : "memory");
  std::thread([&] { values[0] = 1; }).join();
  values[0] = 2;
  asm volatile("" ::"r"(values) : "memory");
}
/// What the simulator sees nothing of, where the frame was. Other values each time.
__attribute__((noinline, no_sanitize("thread"))) void use_the_stack_again() {
  static unsigned char times = 0;
  volatile unsigned char below[4096];
  ++times;
  for (volatile unsigned char& each : below) each = times;
}

TEST(threads, what_lies_where_a_frame_has_returned_is_no_part_of_a_run) {
  const auto program = [] {
    std::atomic<int> next = 0;
    std::thread waits([&] { next.wait(0); });
    store_last_in_own_frame();
    use_the_stack_again();
    next.store(1);
    next.notify_all();
    waits.join();
  };
  for (const std::vector<std::string>& settings : memories()) {
    machine on(settings);
    const auto values = [&] {
      std::vector<std::string> made;
      for (const step_record& each : on.explain(program).steps_taken) made.push_back(each.value);
      return made;
    };
    const std::vector<std::string> first = values();
    EXPECT_GT(first.size(), 5U);
    for (int n = 0; n < 3; ++n) EXPECT_EQ(values(), first);
  }
}

}  // namespace
}  // namespace heddle::sim::tests::thread_test
