// What the bugs of FIFOs have in common: a small one, and producers that wait in the end until all of it is consumed.
#pragma once

#include "../fifos.h"
#include "weakened.h"

namespace heddle::tests::zoo {

inline std::vector<parameter> small_fifo(int64_t first) {
  std::vector<parameter> all = fifo_parameters(2, 2, 2, 2);
  for (parameter& each : all)
    if (each.key == "first") each = parameter::number("first", first, 0, 4294967295, each.unit, each.help);
  return with_twin(all);
}

/// The twin: producers that wait for the consumption of everything in the end.
inline scheduler::verdict flushed_fifo(const parameters& set) { return needs_fair_producers(set, true); }

inline scheduler::verdict hangs_unless_fixed(const parameters& set) {
  const scheduler::verdict sound = flushed_fifo(set);
  return is_fixed(set) || sound != scheduler::verdict::ok ? sound : scheduler::verdict::deadlock;
}

/// Pushes, and ends when all of it is consumed.
template <typename Producer>
struct flushing_kernel {
  Producer producer;
  fifo_letters letters;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < letters.who.calls; ++call) producer.push(letters.write(call));
    producer.flush();
  }
};

template <typename Test, typename Producer, typename Consumer>
void run_flushing(Test& test, const parameters& set, Producer producer, Consumer consumer) {
  const callers who{set.count("lanes"), set.count("calls")};
  test.run(consumer, flushing_kernel<Producer>{producer, {test.letters(), who.calls, who}},
           {.blocks = 1, .waves = set.count("waves"), .lanes = who.lanes}, [] { return true; });
}

}  // namespace heddle::tests::zoo
