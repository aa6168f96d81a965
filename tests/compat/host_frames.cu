// Variables in frames of host threads that other threads come to know of: what is found there is what is found in variables of the program.
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

#include "test_case.h"

namespace {

/// Two variables of a frame, each of which one thread stores to and the other one looks at: on an x86, too, both may find what was there before.
struct crossing {
  std::atomic<int> mine{0}, others{0};
  int seen[2] = {};
  void act(int me) {
    std::atomic<int>& to = me == 0 ? mine : others;
    const std::atomic<int>& from = me == 0 ? others : mine;
    to.store(1, std::memory_order_relaxed);
    seen[me] = from.load(std::memory_order_relaxed);
  }
};
/// A thread knows of them by a closure in the frame, to which its own closure refers.
int crosses_by_a_closure() {
  std::atomic<int> mine{0}, others{0};
  int seen[2] = {};
  const auto act = [&] {
    others.store(1, std::memory_order_relaxed);
    seen[1] = mine.load(std::memory_order_relaxed);
  };
  std::thread other([&] { act(); });
  mine.store(1, std::memory_order_relaxed);
  seen[0] = others.load(std::memory_order_relaxed);
  other.join();
  return seen[0] + seen[1] != 0 ? 0 : 1;
}
/// By a function that lies on the heap.
int crosses_by_a_function() {
  crossing both;
  const std::function<void()> act = [&both, one = 1, padding = std::string("on the heap")] {
    both.act(one + static_cast<int>(padding.empty()));
  };
  std::thread other(act);
  both.act(0);
  other.join();
  return both.seen[0] + both.seen[1] != 0 ? 0 : 1;
}
/// By a queue: the thread was there before.
int crosses_by_a_queue() {
  std::atomic<std::function<void()>*> given{nullptr};
  std::thread other([&given] {
    std::function<void()>* act = nullptr;
    while ((act = given.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
    (*act)();
  });
  const auto gives = [&given, &other] {
    crossing both;
    const auto act = std::make_unique<std::function<void()>>([&both] { both.act(1); });
    given.store(act.get(), std::memory_order_release);
    both.act(0);
    other.join();
    return both.seen[0] + both.seen[1] != 0 ? 0 : 1;
  };
  return gives();
}
/// A lock of Mellor-Crummey and Scott (ACM TOCS 9(1), 1991), whose nodes lie in frames. A node that is known before it waits may be told to go on too early.
struct queue_node {
  std::atomic<queue_node*> next{nullptr};
  std::atomic<bool> waits{false};
};
int queues_for_a_lock(bool waits_first) {
  std::atomic<queue_node*> last{nullptr};
  int count = 0;
  const auto counts = [&] {
    queue_node mine;
    if (queue_node* const before = last.exchange(&mine)) {
      if (waits_first) mine.waits = true;
      before->next = &mine;
      if (!waits_first) mine.waits = true;
      while (mine.waits) std::this_thread::yield();
    }
    ++count;
    queue_node* expected = &mine;
    if (mine.next == nullptr && last.compare_exchange_strong(expected, nullptr)) return;
    while (mine.next == nullptr) std::this_thread::yield();
    mine.next.load()->waits = false;
  };
  std::thread other(counts);
  counts();
  other.join();
  return count == 2 ? 0 : 1;
}
int keeps_a_promise() {
  std::promise<int> promise;
  std::future<int> promised = promise.get_future();
  std::thread keeps([&] { promise.set_value(5); });
  const int got = promised.get();
  keeps.join();
  return got == 5 ? 0 : 1;
}

// -- ways that an address takes -----------------------------------------------------------------------------------------------------

std::atomic<int> given;

/// One thread has the variables in its frame, and gives their address to the other, which was there before.
template <typename Give, typename Take>
int crosses(const Give& give, const Take& take) {
  std::thread other([&take] { take()->act(1); });
  const auto gives = [&give, &other] {
    crossing both;
    give(both);
    both.act(0);
    other.join();
    return both.seen[0] + both.seen[1] != 0 ? 0 : 1;
  };
  return gives();
}
void wait_until_given() {
  while (given.load(std::memory_order_acquire) == 0) std::this_thread::yield();
}

/// The address of what lies behind the variables in the same object.
int crosses_by_a_member() {
  static std::atomic<int*> member{nullptr};
  return crosses([](crossing& both) { member.store(&both.seen[1], std::memory_order_release); },
                 [] {
                   int* found = nullptr;
                   while ((found = member.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
                   auto* const low = reinterpret_cast<std::byte*>(found - 1) - offsetof(crossing, seen);
                   return reinterpret_cast<crossing*>(low);
                 });
}

int crosses_by_two_words() {
  struct alignas(16) counted {
    crossing* address;
    uint64_t count;
  };
  static std::atomic<counted> words{};
  return crosses([](crossing& both) { words.store({&both, 1}); },
                 [] {
                   counted found{};
                   while ((found = words.load()).address == nullptr) std::this_thread::yield();
                   return found.address;
                 });
}

/// In an object that is copied byte by byte, at no multiple of eight.
int crosses_by_a_copy() {
  static char copied[64];
  return crosses(
      [](crossing& both) {
        char made[64] = {};
        crossing* const address = &both;
        std::memcpy(made + 3, &address, sizeof address);
        std::memcpy(copied, made, sizeof made);
        given.store(1, std::memory_order_release);
      },
      [] {
        wait_until_given();
        crossing* found = nullptr;
        std::memcpy(&found, copied + 3, sizeof found);
        return found;
      });
}

int crosses_by_halves() {
  static uint32_t low, high;
  return crosses(
      [](crossing& both) {
        low = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&both));
        high = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&both) >> 32);
        given.store(1, std::memory_order_release);
      },
      [] {
        wait_until_given();
        return reinterpret_cast<crossing*>(uintptr_t{high} << 32 | low);
      });
}

/// Other bits of the word say something else.
int crosses_by_a_tagged_word() {
  static std::atomic<uint64_t> word{0};
  return crosses([](crossing& both) { word.store(reinterpret_cast<uintptr_t>(&both) | uint64_t{5} << 56); },
                 [] {
                   uint64_t found = 0;
                   while ((found = word.load()) == 0) std::this_thread::yield();
                   return reinterpret_cast<crossing*>(found & ~(uint64_t{0xff} << 56));
                 });
}

int crosses_by_a_pipe() {
  static int ends[2];
  assert(pipe(ends) == 0);
  return crosses(
      [](crossing& both) {
        crossing* address = &both;
        const iovec sent = {&address, sizeof address};
        assert(writev(ends[1], &sent, 1) == sizeof address);
      },
      [] {
        crossing* found = nullptr;
        assert(read(ends[0], &found, sizeof found) == sizeof found);
        return found;
      });
}

// -- what was stored before the address was given ----------------------------------------------------------------------------------

struct message {
  int value;
};
std::atomic<message*> published;

message* next_published() {
  message* found = nullptr;
  while ((found = published.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
  return found;
}
int publishes(std::memory_order order) {
  std::thread reads([] { assert(next_published()->value == 7); });
  message one{7};
  published.store(&one, order);
  reads.join();
  return 0;
}
// In a frame of its own: what it leaves there, the variable does not come to lie on.
[[gnu::noinline]] std::thread fills_the_next() {
  return std::thread([] { next_published()->value = 7; });
}
/// Nothing was stored there before.
int has_it_filled() {
  std::thread fills = fills_the_next();
  message one;
  published.store(&one, std::memory_order_relaxed);
  fills.join();
  return one.value == 7 ? 0 : 1;
}

/// A thread that only looks at an atomic of its own expects another to know of it.
int looks_at_its_own(bool knows) {
  static std::atomic<uint64_t> hidden{0};
  std::thread sets([knows] {
    uint64_t found = 0;
    while ((found = hidden.load()) == 0) std::this_thread::yield();
    if (knows) reinterpret_cast<std::atomic<int>*>(~found)->store(1);
  });
  const auto waits = [] {
    std::atomic<int> set{0};
    hidden.store(~reinterpret_cast<uintptr_t>(&set));
    while (set.load() == 0) {
    }
  };
  waits();
  sets.join();
  return 0;
}

struct pair_of_words {
  long first;
  long second;
};
struct pair_of_ints {
  int first;
  int second;
};
/// Copies of objects as long as a word find what was stored just before, and so do calls that read memory; a store of what was there already is
/// one all the same.
int copies_what_it_has_stored() {
  static pair_of_words from = {1, 2};
  static pair_of_words to = {0, 0};
  static pair_of_ints small = {1, 2};
  static pair_of_ints copied = {0, 0};
  static char text[8] = {};
  static char sent = 0;
  static char got = 0;
  static std::atomic<int> given{0};
  std::thread other([] { given.store(1); });
  from.first = 5;
  to = from;
  small.second = 6;
  copied = small;
  text[0] = 'a';
  text[1] = 'b';
  const size_t size_bytes = std::strlen(text);
  int ends[2];
  assert(pipe(ends) == 0);
  sent = 'q';
  assert(write(ends[1], &sent, 1) == 1);
  assert(read(ends[0], &got, 1) == 1);
  to = from;
  other.join();
  assert(to.first == 5 && to.second == 2 && copied.first == 1 && copied.second == 6 && size_bytes == 2 && got == 'q');
  return 0;
}

/// What a thread has stored just before a copy of as many bytes is there before what it releases later.
int stores_the_same_and_copies() {
  static long word = 1;
  static pair_of_words from = {1, 2};
  static pair_of_words to = {0, 0};
  static std::atomic<int> given{0};
  std::thread other([] {
    if (given.load(std::memory_order_acquire) == 1) assert(word == 1 && to.first == 1 && to.second == 2);
  });
  word = 1;
  const long seen = from.first;
  to = from;
  given.store(static_cast<int>(seen), std::memory_order_release);
  other.join();
  return 0;
}

constexpr test_case cases[] = {
    {"copies_what_it_has_stored", copies_what_it_has_stored},
    {"stores_the_same_and_copies", stores_the_same_and_copies},
    {"crosses_by_a_closure", crosses_by_a_closure},
    {"crosses_by_a_function", crosses_by_a_function},
    {"crosses_by_a_queue", crosses_by_a_queue},
    {"crosses_by_a_member", crosses_by_a_member},
    {"crosses_by_two_words", crosses_by_two_words},
    {"crosses_by_a_copy", crosses_by_a_copy},
    {"crosses_by_halves", crosses_by_halves},
    {"crosses_by_a_tagged_word", crosses_by_a_tagged_word},
    {"crosses_by_a_pipe", crosses_by_a_pipe},
    {"queues_for_a_lock", [] { return queues_for_a_lock(true); }},
    {"queues_for_a_lock_too_early", [] { return queues_for_a_lock(false); }},
    {"keeps_a_promise", [] { return keeps_a_promise(); }},
    {"publishes", [] { return publishes(std::memory_order_release); }},
    {"publishes_too_early", [] { return publishes(std::memory_order_relaxed); }},
    {"has_it_filled", has_it_filled},
    {"looks_at_its_own", [] { return looks_at_its_own(true); }},
    {"looks_at_its_own_in_vain", [] { return looks_at_its_own(false); }},
};

}  // namespace

std::span<const test_case> cases_of_frames() { return cases; }
