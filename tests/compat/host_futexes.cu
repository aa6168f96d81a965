// Threads that sleep in the kernel until a word changes. What the kernel finds in the word is what a load finds there: a processor may still keep a store
// back that another thread has made, until that thread wakes sleepers, which is a full barrier.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <span>
#include <thread>

#include "test_case.h"

namespace {

std::atomic<int> word;
std::atomic<int> sleepers;

void sleep_while_zero() {
  syscall(SYS_futex, reinterpret_cast<int*>(&word), FUTEX_WAIT_PRIVATE, 0, static_cast<const timespec*>(nullptr));
}
void wake() { syscall(SYS_futex, reinterpret_cast<int*>(&word), FUTEX_WAKE_PRIVATE, 1); }

/// The wake comes behind the store in any case, and the kernel looks at the word behind its barrier.
int wakes_always() {
  std::thread sleeps([] {
    while (word.load(std::memory_order_acquire) == 0) sleep_while_zero();
  });
  word.store(1, std::memory_order_release);
  wake();
  sleeps.join();
  return 0;
}

/// The wake is left out where no thread is counted as a sleeper: store and look may change places, unless `order` keeps them.
int wakes_if_counted(std::memory_order order) {
  std::thread sleeps([] {
    sleepers.fetch_add(1);
    while (word.load() == 0) sleep_while_zero();
    sleepers.fetch_sub(1);
  });
  word.store(1, order);
  if (sleepers.load() != 0) wake();
  sleeps.join();
  return 0;
}

/// The word is no atomic variable. The thread that sleeps looks at it in the kernel alone, and only the end of the other one tells it what is there.
int sleeps_over_a_plain_word() {
  static int plain = 0;
  std::thread other([] {
    plain = 1;
    syscall(SYS_futex, &plain, FUTEX_WAKE_PRIVATE, 1);
  });
  syscall(SYS_futex, &plain, FUTEX_WAIT_PRIVATE, 0, static_cast<const timespec*>(nullptr));
  other.join();
  return plain == 1 ? 0 : 1;
}

constexpr test_case cases[] = {
    {"wakes_always", wakes_always},
    {"wakes_if_counted", [] { return wakes_if_counted(std::memory_order_seq_cst); }},
    {"wakes_if_counted_too_early", [] { return wakes_if_counted(std::memory_order_release); }},
    {"sleeps_over_a_plain_word", sleeps_over_a_plain_word},
};

}  // namespace

std::span<const test_case> cases_of_futexes() { return cases; }
