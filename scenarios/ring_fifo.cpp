// Lanes push more entries than the ring holds; each arrives once, whole, and in its lane's order.
#include "fifos.h"

namespace heddle::tests {
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

}  // namespace heddle::tests
