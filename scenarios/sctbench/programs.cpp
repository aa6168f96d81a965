// Five programs of SCTBench, each with its bug and, as `fixed=yes`, without.
#include "sctbench.h"

namespace heddle::tests {

// account: one thread pays in, one takes out, and one checks the balance when both are done, by a formula with a wrong sign. The bug is
// seen when it comes last.
namespace {

struct account_program : sctbench::nothing_more {
  bool right_formula = false;
  uint32_t* memory = nullptr;

  void operator()(uint32_t thread) const {
    constexpr int32_t at_first = 1, paid_in = 2, taken_out = 4;
    const sctbench::mutex lock(memory);
    // What is changed, so that memory that is zero is an account with what there is at first.
    const sctbench::shared_int change(memory + 1), deposited(memory + 2), withdrawn(memory + 3);
    lock.lock();
    switch (thread) {
      case 0:
        if (deposited.read() != 0 && withdrawn.read() != 0) {
          const int32_t wanted = (right_formula ? at_first + paid_in : at_first - paid_in) - taken_out;
          HEDDLE_CHECK(at_first + change.read() == wanted, "the balance is not what the formula says");
        }
        break;
      case 1:
        change.write(change.read() + paid_in);
        deposited.write(1);
        break;
      default:
        change.write(change.read() - taken_out);
        withdrawn.write(1);
    }
    lock.unlock();
  }
};

void run_account(const parameters& set) {
  account_program program;
  program.right_formula = sctbench::is_fixed(set);
  sctbench::run_threads(3, false, 4, program);
}

}  // namespace

HEDDLE_SCENARIO(run_account,
                {.name = "sctbench.account",
                 .summary = "SCTBench's account: the check of a balance comes last, and has a wrong formula",
                 .parameters = sctbench::with_common({}),
                 .expected = sctbench::verdict_of});

// reorder_n: n - 1 threads write two words one after the other, and one thread must never see the one without the other. Only the first
// writer can be seen half-way: all others must not have come to their second word either.
namespace {

struct reorder_program : sctbench::nothing_more {
  bool locked = false;
  uint32_t checker = 0;  ///< the last that is started
  uint32_t* memory = nullptr;

  void operator()(uint32_t thread) const {
    const sctbench::shared_int a(memory), b(memory + 1);
    const sctbench::mutex both(memory + 2);
    if (locked) both.lock();
    if (thread == checker) {
      const bool nothing = a.read() == 0 && b.read() == 0;
      if (!nothing) HEDDLE_CHECK(a.read() == 1 && b.read() == -1, "one word is written and the other is not");
    } else {
      a.write(1);
      b.write(-1);
    }
    if (locked) both.unlock();
  }
};

void run_reorder(const parameters& set) {
  reorder_program program;
  program.locked = sctbench::is_fixed(set);
  program.checker = set.count("n") - 1;
  sctbench::run_threads(set.count("n"), false, 3, program);
}

}  // namespace

HEDDLE_SCENARIO(
    run_reorder,
    {.name = "sctbench.reorder",
     .summary = "SCTBench's reorder_n: n - 1 threads write two words, and one sees the first without the second",
     .parameters = sctbench::with_common({parameter::number("n", 3, 2, 1000, "", "threads")}),
     .expected = sctbench::verdict_of});

// stringbuffer: JDK 1.4's StringBuffer.append(StringBuffer). It asks the other buffer for its length, and then for that many characters;
// each is synchronized, the two together are not. Meanwhile another thread empties the buffer and fills it again.
namespace {

struct stringbuffer_program : sctbench::nothing_more {
  bool in_one_go = false;
  uint32_t* memory = nullptr;

  /// The buffer has three characters at first: what is kept is by how many it has fewer.
  static constexpr int32_t length_at_first = 3;

  void erase_and_append(sctbench::mutex monitor, sctbench::shared_int missing) const {
    monitor.lock();
    missing.write(length_at_first);
    monitor.unlock();
    monitor.lock();
    missing.write(missing.read() - length_at_first);
    monitor.unlock();
  }
  void append(sctbench::mutex monitor, sctbench::shared_int missing) const {
    monitor.lock();
    const int32_t length = length_at_first - missing.read();
    if (!in_one_go) {
      monitor.unlock();
      monitor.lock();
    }
    HEDDLE_CHECK(length <= length_at_first - missing.read(), "more characters are asked for than there are");
    monitor.unlock();
  }
  void operator()(uint32_t thread) const {
    const sctbench::mutex monitor(memory), own_monitor(memory + 2);
    const sctbench::shared_int missing(memory + 1);
    if (thread == 1) {
      own_monitor.lock();  // of the buffer that is appended to, which no other thread has
      append(monitor, missing);
      own_monitor.unlock();
    } else {
      erase_and_append(monitor, missing);
    }
  }
};

void run_stringbuffer(const parameters& set) {
  stringbuffer_program program;
  program.in_one_go = sctbench::is_fixed(set);
  sctbench::run_threads(2, true, 3, program);
}

}  // namespace

HEDDLE_SCENARIO(run_stringbuffer,
                {.name = "sctbench.stringbuffer",
                 .summary = "SCTBench's stringbuffer: a buffer is emptied between two calls that append it to another",
                 .parameters = sctbench::with_common({}),
                 .expected = sctbench::verdict_of});

// twostage_n: n - 1 threads write one word under one lock, and then another, one greater, under another lock. A thread that reads between the two
// stages sees two values that do not belong together.
namespace {

struct twostage_program : sctbench::nothing_more {
  bool in_one_stage = false;
  uint32_t reader = 0;  ///< the last that is started
  uint32_t* memory = nullptr;

  void write(sctbench::shared_int first, sctbench::shared_int second) const {
    const sctbench::mutex first_lock(memory + 2), second_lock(memory + 3);
    first_lock.lock();
    first.write(1);
    if (!in_one_stage) first_lock.unlock();
    second_lock.lock();
    second.write(first.read() + 1);
    second_lock.unlock();
    if (in_one_stage) first_lock.unlock();
  }
  void compare(sctbench::shared_int first, sctbench::shared_int second) const {
    const sctbench::mutex first_lock(memory + 2), second_lock(memory + 3);
    first_lock.lock();
    if (first.read() == 0) return first_lock.unlock();
    const int32_t seen_first = first.read();
    first_lock.unlock();
    second_lock.lock();
    const int32_t seen_second = second.read();
    second_lock.unlock();
    HEDDLE_CHECK(seen_second == seen_first + 1, "the second stage has not come after the first");
  }
  void operator()(uint32_t thread) const {
    const sctbench::shared_int first(memory), second(memory + 1);
    if (thread == reader)
      compare(first, second);
    else
      write(first, second);
  }
};

void run_twostage(const parameters& set) {
  twostage_program program;
  program.in_one_stage = sctbench::is_fixed(set);
  program.reader = set.count("n") - 1;
  sctbench::run_threads(set.count("n"), false, 4, program);
}

}  // namespace

HEDDLE_SCENARIO(run_twostage,
                {.name = "sctbench.twostage",
                 .summary = "SCTBench's twostage_n: n - 1 threads write in two stages, and one looks between them",
                 .parameters = sctbench::with_common({parameter::number("n", 3, 2, 1000, "", "threads")}),
                 .expected = sctbench::verdict_of});

// wronglock: one thread adds to a number under one lock and looks whether it was added; the others add to it under another.
namespace {

struct wronglock_program : sctbench::nothing_more {
  bool one_lock = false;
  uint32_t* memory = nullptr;

  void operator()(uint32_t thread) const {
    const sctbench::shared_int data(memory);
    const sctbench::mutex data_lock(memory + 1), other_lock(memory + (one_lock ? 1 : 2));
    if (thread == 0) {
      data_lock.lock();
      const int32_t before = data.read();
      data.write(data.read() + 1);
      HEDDLE_CHECK(data.read() == before + 1, "another thread has written under another lock");
      data_lock.unlock();
    } else {
      other_lock.lock();
      data.write(data.read() + 1);
      other_lock.unlock();
    }
  }
};

void run_wronglock(const parameters& set) {
  wronglock_program program;
  program.one_lock = sctbench::is_fixed(set);
  sctbench::run_threads(1 + set.count("others"), false, 3, program);
}

}  // namespace

HEDDLE_SCENARIO(run_wronglock,
                {.name = "sctbench.wronglock",
                 .summary = "SCTBench's wronglock: a number that is guarded by one lock here and by another there",
                 .parameters = sctbench::with_common({parameter::number(
                     "others", 7, 1, 1000, "", "threads that take the wrong lock; one takes the right one")}),
                 .expected = sctbench::verdict_of});

}  // namespace heddle::tests
