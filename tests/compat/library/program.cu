// A program that calls a shared library which heddle has not compiled.
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "library.h"

namespace {

int number = 0;

void begins_anew() {
  assert(library_count() == 1);
  assert(library_count() == 2);
  assert(*library_grow() == 1);
}

void takes_turns(bool in_turn) {
  const auto add = [] { ++number; };
  std::thread first([=] { library_with_lock(add); });
  std::thread second([=] { in_turn ? library_with_lock(add) : add(); });
  first.join();
  second.join();
  assert(number == 2);
}

void has_a_thread(bool waits) {
  const auto add = [] { ++number; };
  if (waits) {
    library_on_a_thread(add);
    ++number;
  } else {
    std::thread beside(add);
    library_on_a_thread(add);
    beside.join();
  }
  assert(number == 2);
}

void asks_for_an_answer() {
  number = library_answer([] { return ++number; });
  assert(number == 1);
}

void waits_for_notice(bool comes) {
  std::thread waits([] { library_wait(); });
  std::thread sets([=] {
    if (comes) library_set();
  });
  waits.join();
  sets.join();
}

void keeps_values() {
  const auto keep = [] {
    int own = 0;
    library_keep(&own);
    std::this_thread::yield();
    assert(library_kept() == &own);
  };
  std::thread first(keep);
  std::thread second(keep);
  first.join();
  second.join();
}

void takes_all_locks() {
  const auto take = [] { assert(library_take_all_locks() == 0); };
  std::thread beside(take);
  take();
  beside.join();
}

void calls_nothing() {
  std::thread first([] { ++number; });
  first.join();
  assert(number == 1);
}

}  // namespace

int main(int count, char** arguments) {
  const auto is = [&](const char* name) { return count == 2 && std::strcmp(arguments[1], name) == 0; };
  if (is("begins_anew")) return begins_anew(), 0;
  if (is("takes_turns")) return takes_turns(true), 0;
  if (is("takes_no_turns")) return takes_turns(false), 0;
  if (is("has_a_thread")) return has_a_thread(true), 0;
  if (is("has_a_thread_beside")) return has_a_thread(false), 0;
  if (is("asks_for_an_answer")) return asks_for_an_answer(), 0;
  if (is("waits_for_notice")) return waits_for_notice(true), 0;
  if (is("waits_in_vain")) return waits_for_notice(false), 0;
  if (is("keeps_values")) return keeps_values(), 0;
  if (is("takes_all_locks")) return takes_all_locks(), 0;
  if (is("calls_nothing")) return calls_nothing(), 0;
  return EXIT_FAILURE;
}
