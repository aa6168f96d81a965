// An entry of two words, the second of which is published last and has a commit bit at its end, so that it is never 0. A bit-field of width
// zero in front of the commit bit begins a third word, which is never published: an entry whose payload is all zeros is taken for no entry.
// Smallest: 1 wave, 1 entry, a payload of 0.
//
// MSCCL++ 5e038eac. The twin has no such bit-field, and says by an assertion where the bit is.
#include "../ports.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

struct moved_commit_bit {
  uint64_t size : 32;
  uint64_t source : 32;
  uint64_t destination : 32;
  uint64_t type : 31;
  uint64_t : 0;  // a field that was cut down to nothing
  uint64_t commit : 1;
};
static_assert(sizeof(moved_commit_bit) == 3 * sizeof(uint64_t));

struct commit_bit_in_place {
  uint64_t size : 32;
  uint64_t source : 32;
  uint64_t destination : 32;
  uint64_t type : 31;
  uint64_t commit : 1;
};
static_assert(sizeof(commit_bit_in_place) == 2 * sizeof(uint64_t), "the commit bit is in the word that is published");

inline constexpr uint32_t trigger_words = 2;

template <typename Trigger>
struct trigger_kernel {
  uint64_t* ring;  ///< an entry of two words for each push
  uint32_t pushes;
  uint32_t payload;

  HEDDLE_FUNCTION void operator()() const {
    if (target::lane_id() != 0) return;
    for (uint32_t n = 0; n < pushes; ++n) {
      union {
        Trigger fields;
        uint64_t words[3];
      } made = {};
      made.fields.size = n % 2 == 0 ? payload : n;
      made.fields.commit = 1;
      uint64_t* const trigger = ring + uint64_t{n} * trigger_words;
      shared_word<uint64_t>(trigger[0]).store(made.words[0], memory_order::relaxed);
      // Release pairs with the acquire of the proxy.
      shared_word<uint64_t>(trigger[1]).store(made.words[1], memory_order::release);
    }
  }
};

template <typename Trigger>
void run_triggers(const parameters& set) {
  device on;
  const uint32_t pushes = set.count("calls");
  auto* const ring = on.allocate_shared<uint64_t>(uint64_t{pushes} * trigger_words, "triggers");
  auto* const words = on.allocate_shared<uint32_t>(2, "handled, stop");
  auto proxy = on.spawn_host("proxy", [=] {
    uint32_t handled = 0;
    while (handled < pushes) {
      // Acquire pairs with main's release: what was pushed before is then seen.
      const bool last = shared_word<uint32_t>(words[1]).load(memory_order::acquire) != 0;
      // Acquire pairs with the release of the push.
      if (shared_word<uint64_t>(ring[handled * trigger_words + 1]).load(memory_order::acquire) != 0)
        ++handled;
      else if (last)
        break;
      else
        target::pause();
    }
    words[0] = handled;
  });
  on.launch({.blocks = 1, .waves = 1, .lanes = 1}, trigger_kernel<Trigger>{ring, pushes, set.count("payload")});
  on.synchronize();
  shared_word<uint32_t>(words[1]).store(1, memory_order::release);
  proxy.join();
  if (words[0] != pushes) target::trap(fault::protocol, "an entry was pushed and never handled");
}

void run_commit_bit_moved(const parameters& set) {
  if (zoo::is_fixed(set)) return run_triggers<commit_bit_in_place>(set);
  run_triggers<moved_commit_bit>(set);
}

scheduler::verdict commit_bit_verdict(const parameters& set) {
  return zoo::is_fixed(set) ? scheduler::verdict::ok : scheduler::verdict::protocol;
}

}  // namespace

HEDDLE_ZOO(run_commit_bit_moved,
           {.name = "zoo.commit-bit-moved",
            .summary = "the bit that says that an entry is there is in a word that is never published",
            .parameters = zoo::with_twin({
                parameter::number("calls", 2, 1, 100000, "", "entries that are pushed"),
                parameter::number("payload", 0, 0, 1000000, "", "of every second one"),
            }),
            .expected = commit_bit_verdict});

}  // namespace heddle::tests
