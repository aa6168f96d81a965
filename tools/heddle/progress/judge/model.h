// Progress models: which threads may take a step, and which are guaranteed one.
//
// An execution is allowed by a model iff every thread that from some point on is live and always in the fair set F
// takes infinitely many steps (Sorensen, Evrard, Donaldson, "GPU schedulers: how fair is fair enough?", CONCUR'18,
// equation 2). F follows from two facts about each thread: whether it is live, and whether it has ever stepped. lobe is
// from OOPSLA'21. Host threads are always in F (CUDA's execution model asks it of the host).
#pragma once

#include <heddle/tools/progress/judge/program.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::judge {

/// Threads of a program by their place in it, one bit each.
using thread_set = uint32_t;
static_assert(threads_max <= 32);

enum class rule : uint8_t {
  fair,     ///< F: every live wave
  hsa,      ///< the live wave of lowest id
  obe,      ///< every live wave that has ever stepped (occupancy-bound)
  hsa_obe,  ///< the waves of the two
  lobe,  ///< every live wave with an id no greater than that of some wave that has ever stepped (linear occupancy-bound)
  unfair,  ///< no wave
  slots,   ///< without preemption: the so many live waves of lowest id are resident and in F; the others take no step
  turns,   ///< of slots too, but what is resident is evicted after its turn where others wait; every live wave is in F
  then_first,  ///< one wave in lockstep whose lanes take an arm each: the first arm runs to its end, then the next
  else_first,  ///< the same from the last arm on
};

struct model {
  rule is = rule::fair;
  uint32_t slots = 1;    ///< of rule::slots, in order, and of rule::turns
  uint32_t quantum = 2;  ///< of rule::turns: steps of a turn

  friend bool operator==(const model&, const model&) = default;
};

/// The six models under which every live thread may take a step, as tables list them: fair, hsa, obe, hsa_obe, lobe, unfair.
const std::vector<model>& open_models();

/// "hsa_obe", "slots 2 in order", "slots 1 by turns of 2", "lockstep then-first"
std::string to_string(model which);

/// The facts that F follows from.
struct standing {
  thread_set waves = 0;  ///< all of the program, in order of their ids
  thread_set live = 0;   ///< waves, host threads and servers that have not ended
  thread_set started = 0;
  thread_set resident = 0;  ///< of rule::turns: waves that have a place
};

/// The live threads that may take a step.
thread_set may_step(model which, const standing& now);

/// F.
thread_set fair_set(model which, const standing& now);

/// Minimal progress: no wave is in F, and one that has never stepped is live; then one of them starts in the end. (What
/// NVIDIA's text promises of an API call in progress. Without it every program of obe or lobe would hang before its
/// first wave, once a host thread is in F for ever.)
bool owes_a_start(const standing& now, thread_set fair);

}  // namespace heddle::judge
