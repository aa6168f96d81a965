// WorkStealQueue: one thread pushes and pops at one end of a queue, others steal from the other end (the THE protocol: Frigo, Leiserson,
// Randall, "The implementation of the Cilk-5 multithreaded language", PLDI 1998). A thief moves the head before it reads the item,
// so a push must leave one place free. The planted bug of CHESS's test program: it does not, and overwrites an item that is being read. Then one item is
// worked on twice, and another never.
#include "sctbench.h"

namespace heddle::tests {
namespace {

/// Heads and tails only grow until the queue is empty; where an item lies is their rest by the size.
class steal_queue {
 public:
  static constexpr int32_t size_at_first = 2, places = 16, words = places + 4;
  static constexpr int32_t nothing = -1;

  steal_queue(uint32_t* memory, bool with_spare)
      : items_(memory),
        head_(memory + places),
        tail_(memory + places + 1),
        growth_(memory + places + 2),
        lock_(memory + places + 3),
        with_spare_(with_spare) {}

  void push(int32_t item) const {
    const int32_t tail = tail_.read();
    if (tail < head_.read() + mask() + (with_spare_ ? 0 : 1)) {
      at(tail).write(item);
      tail_.write(tail + 1);
    } else {
      push_alone(item);
    }
  }

  int32_t pop() const {
    const int32_t tail = tail_.read() - 1;
    tail_.write(tail);
    if (head_.read() <= tail) return at(tail).read();
    tail_.write(tail + 1);
    return pop_alone();
  }

  int32_t steal() const {
    lock_.lock();
    int32_t item = nothing;
    const int32_t head = head_.read();
    head_.write(head + 1);
    if (head < tail_.read())
      item = at(head).read();
    else
      head_.write(head);
    lock_.unlock();
    return item;
  }

 private:
  int32_t mask() const { return (size_at_first << growth_.read()) - 1; }
  sctbench::shared_int at(int32_t index) const { return sctbench::shared_int(items_ + (index & mask())); }

  /// While no thread steals: moves everything to the front of a queue of twice the size, if this one is full.
  void push_alone(int32_t item) const {
    lock_.lock();
    const int32_t count = tail_.read() - head_.read();
    const int32_t head = head_.read() & mask();
    head_.write(head);
    tail_.write(head + count);
    if (count >= mask()) {
      int32_t kept[places] = {};
      for (int32_t n = 0; n < count; ++n) kept[n] = at(head + n).read();
      growth_.write(growth_.read() + 1);
      for (int32_t n = 0; n < count; ++n) at(n).write(kept[n]);
      head_.write(0);
      tail_.write(count);
    }
    const int32_t tail = tail_.read();
    at(tail).write(item);
    tail_.write(tail + 1);
    lock_.unlock();
  }

  int32_t pop_alone() const {
    lock_.lock();
    int32_t item = nothing;
    const int32_t tail = tail_.read() - 1;
    tail_.write(tail);
    if (head_.read() <= tail)
      item = at(tail).read();
    else
      tail_.write(tail + 1);
    if (head_.read() > tail) {
      head_.write(0);
      tail_.write(0);
      item = nothing;
    }
    lock_.unlock();
    return item;
  }

  uint32_t* items_;
  sctbench::shared_int head_, tail_;
  sctbench::shared_int growth_;  ///< how often the size was doubled
  sctbench::mutex lock_;
  bool with_spare_;
};

struct steal_program {
  bool with_spare = false;
  int32_t items = 0, attempts = 0;
  uint32_t owner = 0;  ///< the main thread
  uint32_t* memory = nullptr;

  sctbench::shared_int worked_on(int32_t item) const {
    return sctbench::shared_int(memory + steal_queue::words + item);
  }
  void work(int32_t item) const {
    if (item != steal_queue::nothing) worked_on(item).write(worked_on(item).read() + 1);
  }
  void operator()(uint32_t thread) const {
    const steal_queue queue(memory, with_spare);
    if (thread != owner) {
      for (int32_t n = 0; n < attempts; ++n) work(queue.steal());
      return;
    }
    for (int32_t n = 0; n < items / 2; ++n) {
      queue.push(2 * n);
      queue.push(2 * n + 1);
      work(queue.pop());
    }
    for (int32_t n = 0; n < items / 2; ++n) work(queue.pop());
  }
  void joined() const {
    for (int32_t n = 0; n < items; ++n) HEDDLE_CHECK(worked_on(n).read() == 1, "an item was not worked on once");
  }
};

void run_work_steal_queue(const parameters& set) {
  steal_program program;
  program.with_spare = sctbench::is_fixed(set);
  program.items = static_cast<int32_t>(2 * set.count("pairs"));
  program.attempts = static_cast<int32_t>(set.count("attempts"));
  program.owner = set.count("thieves");
  sctbench::run_threads(1 + program.owner, true, static_cast<uint32_t>(steal_queue::words + program.items), program);
}

}  // namespace

HEDDLE_SCENARIO(run_work_steal_queue,
                {.name = "sctbench.work-steal-queue",
                 .summary = "CHESS's WorkStealQueue: a push overwrites an item that is being stolen",
                 .parameters = sctbench::with_common({
                     parameter::number("thieves", 1, 1, 64, "", "threads that steal"),
                     parameter::number("pairs", 2, 1, 7, "", "times that two items are pushed and one is popped"),
                     parameter::number("attempts", 2, 1, 1000, "", "times that each thief tries"),
                 }),
                 .expected = sctbench::verdict_of});

}  // namespace heddle::tests
