#include "relacy_mailbox.h"

#include <relacy/relacy.hpp>
#include <sstream>
#include <string>

namespace heddle::bench {
namespace {

/// heddle's mailbox (bench/sim/programs.cpp), operation by operation: flags of release and acquire, a plain payload, and a wait that lets the
/// other thread run.
template <unsigned Rounds>
struct mailbox : rl::test_suite<mailbox<Rounds>, 2> {
  rl::atomic<unsigned> out;
  rl::atomic<unsigned> in;
  rl::var<uint64_t> payload;

  void before() {
    out($) = 0;
    in($) = 0;
  }
  void thread(unsigned index) {
    if (index == 0)
      client();
    else
      server();
  }
  void client() {
    for (unsigned round = 1; round <= Rounds; ++round) {
      payload($) = round;
      out($).store(round, rl::memory_order_release);
      while (in($).load(rl::memory_order_acquire) != round) rl::yield(1, $);
      RL_ASSERT(payload($) == 10 * uint64_t{round});
    }
  }
  void server() {
    for (unsigned round = 1; round <= Rounds; ++round) {
      while (out($).load(rl::memory_order_acquire) != round) rl::yield(1, $);
      payload($) = 10 * payload($);
      in($).store(round, rl::memory_order_release);
    }
  }
};

template <unsigned Rounds>
bool run(uint64_t first, uint64_t schedules) {
  std::ostringstream nowhere;
  rl::test_params asked;
  asked.search_type = rl::random_scheduler_type;
  asked.iteration_count = first + schedules;
  asked.initial_state = std::to_string(first);
  asked.output_stream = &nowhere;
  asked.progress_stream = &nowhere;
  return rl::simulate<mailbox<Rounds>>(asked);
}

}  // namespace

bool run_relacy_mailbox(uint32_t rounds, uint64_t first, uint64_t schedules) {
  return rounds == 1 ? run<1>(first, schedules) : rounds == 4 ? run<4>(first, schedules) : run<16>(first, schedules);
}

}  // namespace heddle::bench
