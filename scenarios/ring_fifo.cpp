// Rings: what one end puts in, the other takes out, and what credits promise.
#include "fifos.h"

namespace heddle::tests {

// Lanes push more entries than the ring holds; each arrives once, whole, and in its lane's order.
namespace {

template <typename Form>
struct ring_fifo_kernel {
  typename fifo_test<Form>::template producer_on<target> producer;
  fifo_letters letters;
  bool flushes;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < letters.who.calls; ++call) {
      // Letters are used again behind a flush only.
      if (flushes && call != 0 && call % letters.each == 0)
        HEDDLE_CHECK(producer.flush(), "a wait without bound has timed out");
      HEDDLE_CHECK(producer.push(letters.write(call)), "a wait without bound has timed out");
    }
  }
};

struct ring_fifo {
  template <typename Form>
  static void run(const parameters& set) {
    device on;
    const uint32_t flush = set.count("flush");
    const uint32_t letters = flush == 0 ? set.count("calls") : flush;
    fifo_test<Form> test(on, set, letters);
    test.run(test.consumer(),
             ring_fifo_kernel<Form>{
                 test.producer(), {test.letters(), letters, {set.count("lanes"), set.count("calls")}}, flush != 0},
             {.blocks = 1, .waves = set.count("waves"), .lanes = set.count("lanes")}, [] { return true; });
  }
};

void run_ring_fifo(const parameters& set) { run_with_flag<ring_fifo>(set); }

scheduler::verdict ring_fifo_verdict(const parameters& set) {
  return needs_fair_producers(set, set.count("flush") != 0 && set.count("flush") < set.count("calls"));
}

std::vector<parameter> ring_fifo_parameters() {
  std::vector<parameter> all = fifo_parameters(2, 2, 4, 3);
  all.push_back(parameter::number("flush", 2, 0, 100000, "",
                                  "entries behind which a lane waits until all are consumed; 0: it never waits"));
  return all;
}

}  // namespace

HEDDLE_SCENARIO(run_ring_fifo, {.name = "ring.fifo",
                                .summary = "lanes push more entries than the ring holds",
                                .parameters = ring_fifo_parameters(),
                                .expected = ring_fifo_verdict,
                                .proofs = {"waves=2 lanes=1 calls=1 entries=2"}});

// A consumer that begins only when a producer has given up: pushes with a bound time out, say so, and go on.
namespace {

template <typename Form>
struct ring_credits_kernel {
  typename fifo_test<Form>::template producer_on<target> producer;
  fifo_letters letters;
  uint32_t entries;
  uint32_t turns;
  uint32_t* reported;  ///< a word for each lane, so that the link need carry no read-modify-write

  HEDDLE_FUNCTION void operator()() const {
    bool told = false;
    for (uint32_t call = 0; call < letters.who.calls; ++call) {
      const auto fill = letters.write(call);
      for (;;) {
        const rpc::ring_result outcome = producer.push(fill, turns);
        if (outcome) break;
        HEDDLE_CHECK(outcome.status == rpc::ring_status::timed_out, "a push is neither done nor timed out");
        if (outcome.waited_for == rpc::ring_wait::credit)
          HEDDLE_CHECK(outcome.index - outcome.seen + letters.who.lanes > entries, "what a push waited for was there");
        else
          HEDDLE_CHECK(outcome.waited_for == rpc::ring_wait::reservation,
                       "a push waits for credit, or in turn with others");
        // The lane does something else; here it tells, once, or its wait would never come back to the same state.
        if (!told) shared_word<uint32_t>(reported[letters.who.number()]).store(1, memory_order::release);
        told = true;
        target::pause();
      }
    }
    // Bounded as well: whether it is in time or not, the kernel ends.
    const rpc::ring_result behind = producer.flush(turns);
    HEDDLE_CHECK(behind || behind.waited_for == rpc::ring_wait::consumption, "a flush waits for the consumer");
  }
};

struct ring_credits {
  template <typename Form>
  static void run(const parameters& set) {
    device on;
    const uint32_t calls = set.count("calls");
    const uint32_t lanes = set.count("waves") * set.count("lanes");
    auto* const reported = on.allocate_shared<uint32_t>(lanes, "reports");
    fifo_test<Form> test(on, set, calls);
    test.run(test.consumer(),
             ring_credits_kernel<Form>{test.producer(),
                                       {test.letters(), calls, {set.count("lanes"), calls}},
                                       fifo_entries(set),
                                       set.count("turns"),
                                       reported},
             {.blocks = 1, .waves = set.count("waves"), .lanes = set.count("lanes")}, [=] {
               for (uint32_t lane = 0; lane < lanes; ++lane)
                 if (shared_word<uint32_t>(reported[lane]).load(memory_order::acquire) != 0) return true;
               return false;
             });
    uint64_t reports = 0;
    for (uint32_t lane = 0; lane < lanes; ++lane)
      reports += shared_word<uint32_t>(reported[lane]).load(memory_order::relaxed);
    HEDDLE_CHECK(reports != 0 || all_calls(set) <= fifo_entries(set), "no wave reported a ring that was full");
  }
};

void run_ring_credits(const parameters& set) { run_with_flag<ring_credits>(set); }

scheduler::verdict ring_credits_verdict(const parameters& set) { return needs_fair_producers(set, false); }

std::vector<parameter> ring_credits_parameters() {
  std::vector<parameter> all = fifo_parameters(2, 2, 4, 3);
  all.push_back(parameter::number("turns", 1, 0, 1000000, "", "how often a push that finds no room looks again"));
  return all;
}

}  // namespace

HEDDLE_SCENARIO(run_ring_credits, {.name = "ring.credits",
                                   .summary = "a consumer is late: pushes with a bound time out and go on",
                                   .parameters = ring_credits_parameters(),
                                   .expected = ring_credits_verdict});

}  // namespace heddle::tests
