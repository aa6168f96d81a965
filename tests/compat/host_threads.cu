// Threads of the C and C++ libraries on the host: what they and their locks promise, and what is found where a program asks for more.
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <cerrno>
#include <clocale>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <iomanip>
#include <iostream>
#include <locale>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "test_case.h"

namespace {

// -- C11 ---------------------------------------------------------------------------------------------------------------------------

timespec in_ten_hours() {
  timespec until;
  timespec_get(&until, TIME_UTC);
  until.tv_sec += 36000;
  return until;
}

mtx_t c11_mutex;
cnd_t c11_condition;
int c11_count;

int c11_timed_lock() {
  mtx_init(&c11_mutex, mtx_timed);
  const auto adds = [](void*) {
    const timespec until = in_ten_hours();
    if (mtx_timedlock(&c11_mutex, &until) != thrd_success) return 1;
    ++c11_count;
    mtx_unlock(&c11_mutex);
    return 0;
  };
  thrd_t threads[2];
  for (thrd_t& each : threads) thrd_create(&each, adds, nullptr);
  for (const thrd_t each : threads) thrd_join(each, nullptr);
  mtx_lock(&c11_mutex);
  thrd_t late;
  const auto comes_late = [](void*) {
    const timespec past = {};
    return mtx_timedlock(&c11_mutex, &past);
  };
  thrd_create(&late, comes_late, nullptr);
  int result = 0;
  thrd_join(late, &result);
  mtx_unlock(&c11_mutex);
  return c11_count == 2 && result == thrd_timedout ? 0 : 1;
}

int c11_timed_wait() {
  mtx_init(&c11_mutex, mtx_plain);
  cnd_init(&c11_condition);
  const timespec past = {};
  mtx_lock(&c11_mutex);
  int result = thrd_success;
  while (result == thrd_success) result = cnd_timedwait(&c11_condition, &c11_mutex, &past);
  if (result != thrd_timedout) return 1;
  thrd_t thread;
  thrd_create(
      &thread,
      [](void*) {
        mtx_lock(&c11_mutex);
        c11_count = 1;
        cnd_signal(&c11_condition);
        mtx_unlock(&c11_mutex);
        return 0;
      },
      nullptr);
  const timespec until = in_ten_hours();
  result = thrd_success;
  while (c11_count == 0 && result == thrd_success) result = cnd_timedwait(&c11_condition, &c11_mutex, &until);
  mtx_unlock(&c11_mutex);
  thrd_join(thread, nullptr);
  return result == thrd_success ? 0 : 1;
}

tss_t c11_key;

int c11_keys() {
  tss_create(&c11_key, [](void* value) { *static_cast<int*>(value) += 10; });
  int values[3] = {1, 2, 3};
  const auto uses = [](void* value) {
    tss_set(c11_key, value);
    thrd_yield();
    return tss_get(c11_key) == value ? 0 : 1;
  };
  if (tss_get(c11_key) != nullptr) return 1;
  tss_set(c11_key, &values[2]);
  thrd_t threads[2];
  for (int n = 0; n < 2; ++n) thrd_create(&threads[n], uses, &values[n]);
  for (const thrd_t each : threads) {
    int result = 0;
    thrd_join(each, &result);
    if (result != 0) return 1;
  }
  const bool own = tss_get(c11_key) == &values[2];
  tss_delete(c11_key);
  return own && values[0] == 11 && values[1] == 12 ? 0 : 1;
}

once_flag c11_flag = ONCE_FLAG_INIT;

// Its function waits for a mutex: others have their turns meanwhile.
int c11_once() {
  mtx_init(&c11_mutex, mtx_plain);
  const auto comes = [](void*) {
    call_once(&c11_flag, [] {
      mtx_lock(&c11_mutex);
      ++c11_count;
      mtx_unlock(&c11_mutex);
    });
    return c11_count;
  };
  thrd_t thread;
  thrd_create(&thread, comes, nullptr);
  mtx_lock(&c11_mutex);
  mtx_unlock(&c11_mutex);
  const int mine = comes(nullptr);
  int its = 0;
  thrd_join(thread, &its);
  return mine == 1 && its == 1 ? 0 : 1;
}

struct counts_its_end {
  ~counts_its_end() { ++c11_count; }
};

int c11_exit() {
  thrd_t thread;
  thrd_create(
      &thread,
      [](void*) -> int {
        const counts_its_end counted;
        const timespec hours = {.tv_sec = 36000, .tv_nsec = 0};
        thrd_sleep(&hours, nullptr);
        thrd_exit(5);
      },
      nullptr);
  int result = 0;
  thrd_join(thread, &result);
  return result == 5 && c11_count == 1 ? 0 : 1;
}

// -- locks that are not held ---------------------------------------------------------------------------------------------------------

std::mutex plain_mutex;
std::shared_mutex shared_mutex;
std::atomic<int> turn;

void come_to(int next) {
  turn = next;
  turn.notify_all();
}
void wait_for(int wanted) {
  for (int now = turn; now < wanted; now = turn) turn.wait(now);
}

int unlocked_twice() {
  std::thread thread([] {
    plain_mutex.lock();
    plain_mutex.unlock();
    plain_mutex.unlock();
  });
  thread.join();
  return 0;
}

// The thread holds the lock while `unlocks` is called.
template <typename Lock>
int unlocked_beside(Lock locks, void (*unlocks)()) {
  std::thread thread([&] {
    locks();
    come_to(1);
    wait_for(2);
  });
  wait_for(1);
  unlocks();
  come_to(2);
  thread.join();
  return 0;
}

int unlocked_by_another() {
  return unlocked_beside([] { plain_mutex.lock(); }, [] { plain_mutex.unlock(); });
}
int written_by_another() {
  return unlocked_beside([] { shared_mutex.lock(); }, [] { shared_mutex.unlock(); });
}
int read_by_another() {
  return unlocked_beside([] { shared_mutex.lock_shared(); }, [] { shared_mutex.unlock_shared(); });
}
int read_by_none() {
  shared_mutex.lock_shared();
  shared_mutex.unlock_shared();
  std::thread([] { shared_mutex.unlock_shared(); }).join();
  return 0;
}

pthread_spinlock_t spin;

int spun_by_another() {
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  return unlocked_beside([] { pthread_spin_lock(&spin); }, [] { pthread_spin_unlock(&spin); });
}

// These say what is wrong.
pthread_mutex_t checks = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
pthread_mutex_t recurs = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

int refused_unlocks() {
  int wrong = pthread_mutex_unlock(&checks) != EPERM || pthread_mutex_unlock(&recurs) != EPERM;
  std::thread thread([&] { wrong += pthread_mutex_lock(&checks) + pthread_mutex_lock(&recurs); });
  thread.join();
  return wrong != 0 || pthread_mutex_unlock(&checks) != EPERM || pthread_mutex_unlock(&recurs) != EPERM ? 1 : 0;
}

int destroyed_while_held() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  pthread_mutex_destroy(&mutex);
  return 0;
}

// Each thread unlocks what it has locked.
int locks_of_their_own() {
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  pthread_mutex_t destroyed = PTHREAD_MUTEX_INITIALIZER;
  int sum = 0;
  const auto adds = [&] {
    shared_mutex.lock_shared();
    shared_mutex.unlock_shared();
    const std::lock_guard written(shared_mutex);
    pthread_spin_lock(&spin);
    pthread_mutex_lock(&destroyed);
    ++sum;
    pthread_mutex_unlock(&destroyed);
    pthread_spin_unlock(&spin);
  };
  std::thread thread(adds);
  adds();
  thread.join();
  return pthread_mutex_destroy(&destroyed) == 0 && sum == 2 ? 0 : 1;
}

// -- what is a thread's own ----------------------------------------------------------------------------------------------------------

int errno_of_its_own() {
  if (errno != 0) return 1;
  std::thread thread([] {
    errno = EAGAIN;
    ++turn;
  });
  errno = EINTR;
  ++turn;
  const bool own = errno == EINTR;
  thread.join();
  return own && errno == EINTR ? 0 : 1;
}

// Its id is no other thread's, and the same in each process.
int ids_of_their_own() {
  const pid_t mine = gettid();
  pid_t its = 0;
  std::thread([&] { its = static_cast<pid_t>(syscall(SYS_gettid)); }).join();
  return mine == 1 << 23 && its == mine + 1 && gettid() == mine ? 0 : 1;
}

int asked_about_processors() {
  std::thread thread([] { come_to(1); });
  int wrong = pthread_setschedprio(thread.native_handle(), 0);
  clockid_t clock;
  timespec now;
  wrong += pthread_getcpuclockid(thread.native_handle(), &clock) + clock_gettime(clock, &now);
  sched_param how = {};
  wrong +=
      sched_setscheduler(gettid(), SCHED_OTHER, &how) + sched_getscheduler(gettid()) + sched_getparam(gettid(), &how);
  thread.join();
  return wrong;
}

int joined_by_time() {
  pthread_t thread;
  const auto runs = [](void*) -> void* {
    while (turn != 1) sched_yield();
    return nullptr;
  };
  pthread_create(&thread, nullptr, runs, nullptr);
  timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += 1000;
  const int result = pthread_clockjoin_np(thread, nullptr, CLOCK_MONOTONIC, &until);
  turn = 1;
  return result == ETIMEDOUT ? pthread_join(thread, nullptr) : 1;
}

// -- what the C++ library does inside of itself --------------------------------------------------------------------------------------

std::shared_ptr<int> pointer;
std::shared_ptr<int> other_pointer;

int shared_pointers() {
  pointer = std::make_shared<int>(1);
  other_pointer = std::make_shared<int>(10);
  std::thread stores([] {
    for (int n = 2; n < 4; ++n) std::atomic_store(&pointer, std::make_shared<int>(n));
  });
  std::thread exchanges([] {
    std::shared_ptr<int> expected = std::atomic_load(&other_pointer);
    if (!std::atomic_compare_exchange_strong(&other_pointer, &expected, std::make_shared<int>(11))) come_to(9);
  });
  const int found = *std::atomic_load(&pointer);
  stores.join();
  exchanges.join();
  return found >= 1 && found <= 3 && *pointer == 3 && *other_pointer == 11 && turn == 0 ? 0 : 1;
}

// The one that drops its reference last destroys an exception, behind all that the other one has done with it.
std::atomic<int> destroyed_by;
thread_local int number_of_thread = 0;

struct shared_failure {
  std::string text = "text that is longer than a string has room for";
  ~shared_failure() { destroyed_by = number_of_thread; }
};

/// A lock that is taken by exchanges, which leave it as it was where another thread holds it.
int locks_by_exchange(int threads, std::memory_order tries, std::memory_order gives_back) {
  std::atomic<int> lock{0};
  int count = 0;
  const auto counts = [&] {
    while (lock.exchange(1, tries) != 0) {
    }
    ++count;
    lock.store(0, gives_back);
  };
  std::vector<std::thread> others;
  for (int n = 1; n < threads; ++n) others.emplace_back(counts);
  counts();
  for (std::thread& other : others) other.join();
  return count == threads ? 0 : 1;
}
/// Two threads that store, modify a word as it was and look: on an x86 that is a fence, in C++ it is none.
int fences_by_exchange() {
  std::atomic<int> stored[2] = {{0}, {0}};
  std::atomic<int> word{0};
  int seen[2] = {};
  const auto act = [&](int me) {
    stored[me].store(1, std::memory_order_relaxed);
    word.exchange(0, std::memory_order_relaxed);
    seen[me] = stored[1 - me].load(std::memory_order_relaxed);
  };
  std::thread other([&] { act(1); });
  act(0);
  other.join();
  return seen[0] + seen[1] != 0 ? 0 : 1;
}
int shares_an_exception(int not_destroyed_by) {
  number_of_thread = 1;
  std::exception_ptr mine = std::make_exception_ptr(shared_failure());
  const auto look_at = [](std::exception_ptr failure) {
    try {
      std::rethrow_exception(std::move(failure));
    } catch (const shared_failure& caught) {
      return caught.text[5] == 't';
    }
    return false;
  };
  std::thread thread([look_at, failure = mine]() mutable {
    number_of_thread = 2;
    assert(look_at(std::move(failure)));
  });
  const bool found = look_at(std::move(mine));
  thread.join();
  assert(destroyed_by != not_destroyed_by);
  return found ? 0 : 1;
}

// Dropping a reference that is not the last tells nothing of what others have done with the exception.
int reads_what_another_has_stored() {
  const auto stored = [](const std::exception_ptr& failure, int value) {
    try {
      std::rethrow_exception(failure);
    } catch (int& caught) {
      const int before = caught;
      if (value != 0) caught = value;
      return before;
    }
  };
  const std::exception_ptr mine = std::make_exception_ptr(1);
  std::atomic<int> told = 0;
  std::thread thread([&, failure = mine]() mutable {
    stored(failure, 2);
    failure = nullptr;
    told.store(1, std::memory_order_relaxed);
  });
  while (told.load(std::memory_order_relaxed) == 0) {
  }
  const int found = stored(mine, 0);
  thread.join();
  return found == 2 ? 0 : 1;
}

std::condition_variable ended;
bool is_done;

struct ends_late {
  bool begun = false;
  ~ends_late() { is_done = true; }
};

int notified_of_an_end() {
  std::thread thread([] {
    std::unique_lock held(plain_mutex);
    static thread_local ends_late late;
    late.begun = true;
    std::notify_all_at_thread_exit(ended, std::move(held));
  });
  {
    std::unique_lock held(plain_mutex);
    ended.wait(held, [] { return is_done; });
  }
  thread.join();
  return 0;
}

int kept_at_an_end() {
  std::promise<int> promise;
  std::future<int> kept = promise.get_future();
  std::thread thread([&] {
    promise.set_value_at_thread_exit(4);
    turn = 1;
  });
  const bool is_kept = kept.get() == 4 && turn == 1;
  thread.join();
  return is_kept ? 0 : 1;
}

// -- what a schedule finds of the process -------------------------------------------------------------------------------------------

// Each schedule finds all as the first one did, whether the one before it has come to its end or not.
int finds_the_process(bool comes_to_its_end) {
  const mode_t mask = umask(0123);
  const bool is_first = getenv("HEDDLE_TEST") == nullptr && getenv("HEDDLE_TEST_PUT") == nullptr && mask != 0123 &&
                        std::string_view(setlocale(LC_ALL, nullptr)) == "C" && std::locale().name() == "C" &&
                        std::filesystem::current_path() != "/" && rand() == 1804289383 && lrand48() == 0;
  setenv("HEDDLE_TEST", "1", 1);
  putenv(const_cast<char*>("HEDDLE_TEST_PUT=1"));
  setlocale(LC_ALL, "C.UTF-8");
  std::locale::global(std::locale("C.UTF-8"));
  if (comes_to_its_end)
    std::filesystem::current_path("/");
  else if (chdir("/") != 0)
    return 3;
  std::thread([] {}).join();
  if (!comes_to_its_end && is_first) _exit(0);
  return is_first ? 0 : 1;
}

/// The same of what the C++ library keeps: its streams, and what it calls when things go wrong.
int finds_the_library(bool comes_to_its_end) {
  struct digits : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
  };
  const auto point_of = [](std::ios& stream) {
    return std::use_facet<std::numpunct<char>>(stream.getloc()).decimal_point();
  };
  const auto by = std::get_terminate();
  const bool is_first = std::get_new_handler() == nullptr && std::cout.flags() == (std::ios::skipws | std::ios::dec) &&
                        std::cout.fill() == ' ' && std::cerr.tie() == &std::cout && std::cin.good() &&
                        point_of(std::cout) == '.' && std::cout.exceptions() == std::ios::goodbit &&
                        std::wclog.precision() == 6;
  std::ostringstream caught;
  std::cout.rdbuf(caught.rdbuf());
  std::cout << std::hex << std::setfill('x') << 10;
  std::cout.imbue(std::locale(std::locale(), new digits));
  std::cout.exceptions(std::ios::badbit);
  std::cerr.tie(nullptr);
  std::cin.setstate(std::ios::failbit);
  std::wclog.precision(3);
  std::set_new_handler([] { std::abort(); });
  std::set_terminate([] { std::abort(); });
  std::thread([] {}).join();
  if (!comes_to_its_end && is_first && by != std::get_terminate()) _exit(0);
  return is_first && caught.str() == "a" ? 0 : 1;
}

/// The last thread ends the program that its main thread has left: what is destroyed then comes behind all of them.
struct counted_at_the_end {
  int of_threads[2] = {};
  int wanted = 0;
  ~counted_at_the_end() { assert(of_threads[0] + of_threads[1] == wanted); }
};
counted_at_the_end at_the_end;

int left_by_main(int wanted) {
  at_the_end.wanted = wanted;
  for (int& each : at_the_end.of_threads)
    std::thread([&each] {
      std::this_thread::yield();
      each = 1;
    }).detach();
  pthread_exit(nullptr);
}

/// Which thread is the last one: each may be.
struct knows_the_last {
  int not_last = 0;
  ~knows_the_last() { assert(number_of_thread != not_last); }
  static thread_local int number_of_thread;
};
thread_local int knows_the_last::number_of_thread = 4;
knows_the_last the_last;

int last_is_not(int number) {
  the_last.not_last = number;
  for (int each = 1; each <= 2; ++each) std::thread([each] { knows_the_last::number_of_thread = each; }).detach();
  knows_the_last::number_of_thread = 3;
  std::this_thread::yield();
  pthread_exit(nullptr);
}

/// A thread that has nothing to do may have ended, and may not.
int is_over_at_once(bool over) {
  pthread_t thread;
  pthread_create(&thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr);
  return (pthread_tryjoin_np(thread, nullptr) == 0) == over ? 0 : 1;
}

/// One thread makes a static variable, and another one may see that it is made before the first one says that it is at the end.
int makes_a_variable_once() {
  static std::atomic<int> made;
  const auto makes = [] {
    static const int number = ++made;
    return number;
  };
  int seen_beside = 0;
  std::thread beside([&] { seen_beside = makes(); });
  const int seen_here = makes();
  beside.join();
  return seen_here == 1 && seen_beside == 1 ? 0 : 1;
}

// -- more than one process goes through ------------------------------------------------------------------------------------------------

std::mutex told_lock;
// -- what only one order shows -------------------------------------------------------------------------------------------------------

timespec in_a_millisecond() {
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += 1'000'000;
  return until;
}

/// Turns under a lock: which turn it was, or 0 where the lock was not to be had.
struct turns_by_mutex {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  int turns = 0;
  int turn_if(int wrong) {
    if (wrong != 0) return 0;
    const int turn = ++turns;
    pthread_mutex_unlock(&lock);
    return turn;
  }
  int turn() { return turn_if(pthread_mutex_lock(&lock)); }
  int turn_at_once() { return turn_if(pthread_mutex_trylock(&lock)); }
  int turn_by_time() {
    const timespec until = in_a_millisecond();
    return turn_if(pthread_mutex_timedlock(&lock, &until));
  }
};
struct turns_by_semaphore {
  turns_by_semaphore() { sem_init(&lock, 0, 1); }
  sem_t lock;
  int turns = 0;
  int turn_if(int wrong) {
    if (wrong != 0) return 0;
    const int turn = ++turns;
    sem_post(&lock);
    return turn;
  }
  int turn() { return turn_if(sem_wait(&lock)); }
  int turn_at_once() { return turn_if(sem_trywait(&lock)); }
  int turn_by_time() {
    const timespec until = in_a_millisecond();
    return turn_if(sem_timedwait(&lock, &until));
  }
};

/// Both attempts of one thread are in vain, and then it comes between two turns of the other one.
template <typename Turns>
int waits_in_vain() {
  Turns turns;
  int others[3] = {};
  std::thread other([&] {
    others[0] = turns.turn_by_time();
    others[1] = turns.turn();
    others[2] = turns.turn();
  });
  const int tried = turns.turn_at_once();
  const int waited = turns.turn_by_time();
  const int last = turns.turn();
  other.join();
  return tried == 0 && waited == 0 && last == 2 && others[0] == 1 && others[2] == 4 ? 1 : 0;
}

/// Between two looks at a semaphore it may be raised.
int looks_at_a_semaphore() {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  std::thread raises([&] { sem_post(&semaphore); });
  int first = 0;
  int second = 0;
  sem_getvalue(&semaphore, &first);
  sem_getvalue(&semaphore, &second);
  raises.join();
  return first == 0 && second == 1 ? 1 : 0;
}
int waits_by_looks() {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  std::thread raises([&] { sem_post(&semaphore); });
  int found = 0;
  while (found == 0) sem_getvalue(&semaphore, &found);
  raises.join();
  return 0;
}

// Loops of nothing but attempts wait as loops of loads do.
sem_t tried_semaphore;
pthread_mutex_t tried_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t tried_lock = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t tried_spin_lock;

template <auto Attempt, auto Object>
void* tries_for_ever(void*) {
  while (Attempt(Object) != 0) {
  }
  return nullptr;
}

int tries(void* (*attempts)(void*), bool is_given) {
  sem_init(&tried_semaphore, 0, 0);
  pthread_spin_init(&tried_spin_lock, 0);
  pthread_mutex_lock(&tried_mutex);
  pthread_rwlock_rdlock(&tried_lock);
  pthread_spin_lock(&tried_spin_lock);
  pthread_t thread;
  pthread_create(&thread, nullptr, attempts, nullptr);
  if (is_given) {
    sem_post(&tried_semaphore);
    pthread_mutex_unlock(&tried_mutex);
    pthread_rwlock_unlock(&tried_lock);
    pthread_spin_unlock(&tried_spin_lock);
  }
  pthread_join(thread, nullptr);
  return 0;
}
constexpr auto tries_semaphore = tries_for_ever<sem_trywait, &tried_semaphore>;
constexpr auto tries_mutex = tries_for_ever<pthread_mutex_trylock, &tried_mutex>;
constexpr auto tries_lock = tries_for_ever<pthread_rwlock_trywrlock, &tried_lock>;
constexpr auto tries_spin_lock = tries_for_ever<pthread_spin_trylock, &tried_spin_lock>;

/// The program ends beside a thread that still uses what main() has freed or written.
int ends_beside_a_thread(bool frees) {
  static int word;
  static std::atomic<int> seen;
  int* const shared = frees ? new int(1) : &word;
  std::thread([shared] { seen = *shared; }).detach();
  if (frees)
    delete shared;
  else
    word = 2;
  return 0;
}

std::vector<std::string> told{"a text that is there before main() begins"};
thread_local std::string seen = "what a thread has seen";

/// Threads pass texts on and print what they have seen.
int passes_texts() {
  std::atomic<std::string*> box = nullptr;
  const auto passes = [&](int number) {
    for (int n = 0; n < 2; ++n) {
      const std::unique_ptr<std::string> old(
          box.exchange(new std::string("a text of thread number " + std::to_string(number))));
      if (old != nullptr) seen += *old;
    }
    const std::lock_guard held(told_lock);
    told.push_back(seen);
    std::printf("%zu\n", told.size());
  };
  std::vector<std::thread> threads;
  for (int number = 1; number <= 2; ++number) threads.emplace_back(passes, number);
  for (std::thread& each : threads) each.join();
  delete box.load();
  return told.size() == 3 ? 0 : 1;
}

/// Three threads take two locks, one of them the other way round.
int locks_crosswise() {
  static std::mutex other_lock;
  static std::atomic<int> steps;
  const auto takes = [](std::mutex& first, std::mutex& second) {
    steps += 1;
    const std::lock_guard one(first);
    steps += 1;
    const std::lock_guard another(second);
  };
  std::thread thread([&] { takes(told_lock, other_lock); });
  std::thread beside([] { steps += 3; });
  takes(other_lock, told_lock);
  beside.join();
  thread.join();
  return 0;
}

extern "C" {
int i;  // as a mangled name it would be a type's
}
/// The fences of two threads, of which one makes those of both: readers have none. Without a registration the call fails.
int fences_of_another(bool registered, int barriers) {
  static std::atomic<int> reads, ends;
  const auto barrier = [](int command) { return static_cast<int>(syscall(SYS_membarrier, command, 0, 0)); };
  if (registered) barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  std::thread reader([] {
    reads.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (ends.load(std::memory_order_relaxed) == 0) assert(i == 0);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    reads.store(0, std::memory_order_relaxed);
  });
  int failed = 0;
  ends.store(1, std::memory_order_relaxed);
  if (barriers >= 1) failed += barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
  while (reads.load(std::memory_order_relaxed) != 0) std::this_thread::yield();
  if (barriers >= 2) failed += barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
  i = 1;
  reader.join();
  const int known = barrier(MEMBARRIER_CMD_QUERY);
  return failed == (registered ? 0 : barriers) && (known & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 && barrier(3) == -1
             ? 0
             : 1;
}

// -- what is not simulated ---------------------------------------------------------------------------------------------------------

/// The thread that holds it `ends`, or gives it back.
int holds_a_robust_mutex(bool ends) {
  static pthread_mutex_t mutex;
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &kind);
  std::thread([=] {
    pthread_mutex_lock(&mutex);
    if (!ends) pthread_mutex_unlock(&mutex);
  }).join();
  const int result = pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  return result;
}

/// Whether a variable of the calling thread lies in what is told to be its stack.
bool knows_its_stack(bool detached) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
  void* low = nullptr;
  size_t bytes = 0;
  int state = -1;
  if (pthread_attr_getstack(&attributes, &low, &bytes) != 0) return false;
  if (pthread_attr_getdetachstate(&attributes, &state) != 0 || pthread_attr_destroy(&attributes) != 0) return false;
  const auto offset = reinterpret_cast<uintptr_t>(&state) - reinterpret_cast<uintptr_t>(low);
  return offset < bytes && state == (detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
}
int asks_for_attributes() {
  if (!knows_its_stack(false)) return 1;
  std::atomic<int> told{0};
  std::atomic<bool> is_detached{false};
  std::thread([&] {
    while (!is_detached) std::this_thread::yield();
    told = knows_its_stack(true) ? 1 : 2;
  }).detach();
  is_detached = true;
  while (told == 0) std::this_thread::yield();
  return told == 1 ? 0 : 1;
}
int cancels() {
  std::thread thread([] { come_to(1); });
  pthread_cancel(thread.native_handle());
  thread.join();
  return 0;
}
int signals_a_thread() {
  std::thread([] { tgkill(getpid(), gettid(), SIGUSR1); }).join();
  return 0;
}
int signals_itself() {
  std::thread([] { kill(getpid(), SIGTERM); }).join();
  return 0;
}

/// A ring that the kernel fills is one that the simulator does not see.
int asks_for_a_ring() { return syscall(SYS_io_uring_setup, 8, nullptr) == -1 && errno == ENOSYS ? 0 : 1; }
int forks_by_number() {
  std::thread([] { syscall(SYS_fork); }).join();
  return 0;
}
int writes_by_number() {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  std::thread writes([&] { syscall(SYS_write, ends[1], "a", 1); });
  char byte = 0;
  const ssize_t got = read(ends[0], &byte, 1);
  writes.join();
  return got == 1 ? 0 : 1;
}

// -- objects whose memory is gone --------------------------------------------------------------------------------------------------

/// An event as proxies have it: the thread that waits for it owns it.
struct event {
  std::mutex mutex;
  std::condition_variable condition;
  bool is_set = false;
  void set(bool under_lock) {
    std::unique_lock held(mutex);
    is_set = true;
    if (!under_lock) held.unlock();
    condition.notify_one();
  }
  void wait() {
    std::unique_lock held(mutex);
    condition.wait(held, [this] { return is_set; });
  }
};

int frees_an_event(bool under_lock, bool joins_first) {
  auto* const one = new event;
  std::thread sets([=] { one->set(under_lock); });
  one->wait();
  if (joins_first) sets.join();
  delete one;
  if (!joins_first) sets.join();
  return 0;
}

[[gnu::noinline]] void waits_in_a_frame(std::thread& sets) {
  event one;
  sets = std::thread([&one] { one.set(false); });
  one.wait();
}
int leaves_an_event() {
  std::thread sets;
  waits_in_a_frame(sets);
  sets.join();
  return 0;
}

int frees_a_mutex() {
  auto* const mutex = new std::mutex;
  std::thread locks([mutex] { const std::lock_guard held(*mutex); });
  delete mutex;
  locks.join();
  return 0;
}

int frees_a_semaphore() {
  auto* const semaphore = static_cast<sem_t*>(std::malloc(sizeof(sem_t)));
  sem_init(semaphore, 0, 0);
  std::thread posts([semaphore] {
    sem_post(semaphore);
    sem_post(semaphore);
  });
  sem_wait(semaphore);
  std::free(semaphore);
  posts.join();
  return 0;
}

constexpr test_case cases[] = {
    {"c11_timed_lock", c11_timed_lock},
    {"c11_timed_wait", c11_timed_wait},
    {"c11_keys", c11_keys},
    {"c11_once", c11_once},
    {"c11_exit", c11_exit},
    {"unlocked_twice", unlocked_twice},
    {"unlocked_by_another", unlocked_by_another},
    {"written_by_another", written_by_another},
    {"read_by_another", read_by_another},
    {"read_by_none", read_by_none},
    {"spun_by_another", spun_by_another},
    {"refused_unlocks", refused_unlocks},
    {"destroyed_while_held", destroyed_while_held},
    {"locks_of_their_own", locks_of_their_own},
    {"errno_of_its_own", errno_of_its_own},
    {"ids_of_their_own", ids_of_their_own},
    {"asked_about_processors", asked_about_processors},
    {"fences_of_another", [] { return fences_of_another(true, 2); }},
    {"fences_of_another_too_early", [] { return fences_of_another(true, 1); }},
    {"fences_of_another_unregistered", [] { return fences_of_another(false, 2); }},
    {"joined_by_time", joined_by_time},
    {"shared_pointers", shared_pointers},
    {"exchanges", [] { return locks_by_exchange(2, std::memory_order_seq_cst, std::memory_order_seq_cst); }},
    {"exchanges_of_three", [] { return locks_by_exchange(3, std::memory_order_acquire, std::memory_order_release); }},
    {"exchanges_given_back_too_early",
     [] { return locks_by_exchange(2, std::memory_order_acquire, std::memory_order_relaxed); }},
    {"exchanges_that_acquire_nothing",
     [] { return locks_by_exchange(2, std::memory_order_release, std::memory_order_release); }},
    {"exchanges_as_fences", [] { return fences_by_exchange(); }},
    {"shares_an_exception", [] { return shares_an_exception(0); }},
    {"shared_exception_is_not_destroyed_by_main", [] { return shares_an_exception(1); }},
    {"shared_exception_is_not_destroyed_by_another", [] { return shares_an_exception(2); }},
    {"reads_what_another_has_stored", reads_what_another_has_stored},
    {"notified_of_an_end", notified_of_an_end},
    {"kept_at_an_end", kept_at_an_end},
    {"found_anew", [] { return finds_the_process(true); }},
    {"found_anew_behind_a_crash", [] { return finds_the_process(false); }},
    {"finds_the_library", [] { return finds_the_library(true); }},
    {"finds_the_library_behind_a_crash", [] { return finds_the_library(false); }},
    {"joins_and_frees_an_event", [] { return frees_an_event(false, true); }},
    {"frees_an_event", [] { return frees_an_event(false, false); }},
    {"frees_an_event_set_under_lock", [] { return frees_an_event(true, false); }},
    {"leaves_an_event", leaves_an_event},
    {"frees_a_mutex", frees_a_mutex},
    {"frees_a_semaphore", frees_a_semaphore},
    {"left_by_main", [] { return left_by_main(2); }},
    {"left_by_main_too_early", [] { return left_by_main(3); }},
    {"last_is_not_the_first", [] { return last_is_not(1); }},
    {"last_is_not_the_second", [] { return last_is_not(2); }},
    {"last_is_not_main", [] { return last_is_not(3); }},
    {"last_is_not_another", [] { return last_is_not(5); }},
    {"over_at_once", [] { return is_over_at_once(true); }},
    {"never_over_at_once", [] { return is_over_at_once(false); }},
    {"makes_a_variable_once", makes_a_variable_once},
    {"waits_in_vain", waits_in_vain<turns_by_mutex>},
    {"waits_in_vain_at_a_semaphore", waits_in_vain<turns_by_semaphore>},
    {"looks_at_a_semaphore", looks_at_a_semaphore},
    {"waits_by_looks", waits_by_looks},
    {"tries_a_semaphore", [] { return tries(tries_semaphore, false); }},
    {"tries_a_mutex", [] { return tries(tries_mutex, false); }},
    {"tries_a_lock", [] { return tries(tries_lock, false); }},
    {"tries_a_spin_lock", [] { return tries(tries_spin_lock, false); }},
    {"tries_a_semaphore_that_is_given", [] { return tries(tries_semaphore, true); }},
    {"tries_a_mutex_that_is_given", [] { return tries(tries_mutex, true); }},
    {"frees_beside_a_thread", [] { return ends_beside_a_thread(true); }},
    {"stores_beside_a_thread", [] { return ends_beside_a_thread(false); }},
    {"passes_texts", passes_texts},
    {"locks_crosswise", locks_crosswise},
    {"holds_a_robust_mutex", [] { return holds_a_robust_mutex(true); }},
    {"gives_a_robust_mutex_back", [] { return holds_a_robust_mutex(false); }},
    {"asks_for_attributes", asks_for_attributes},
    {"cancels", cancels},
    {"signals_a_thread", signals_a_thread},
    {"signals_itself", signals_itself},
    {"asks_for_a_ring", asks_for_a_ring},
    {"forks_by_number", forks_by_number},
    {"writes_by_number", writes_by_number},
};

}  // namespace

int main(int count, char** arguments) {
  for (const test_case& each : cases)
    if (count == 2 && each.name == arguments[1]) return each.run();
  for (const std::span<const test_case> others : {cases_of_frames(), cases_of_futexes()})
    for (const test_case& each : others)
      if (count == 2 && each.name == arguments[1]) return each.run();
  return 2;
}
