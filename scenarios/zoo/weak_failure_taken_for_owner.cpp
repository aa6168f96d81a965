// A wave that cannot take the lock leaves its request to the owner: the owner makes the calls of all that have posted one, and looks again when
// it has given the lock back. The lock is tried by a weak compare-exchange. One that fails for no reason is taken for another wave's lock,
// and the request is never handled.
//
// The C++ standard lets compare_exchange_weak fail spuriously, "even when the contents of memory referred to by expected and ptr are equal"
// ([atomics.types.operations]); machines with load-linked and store-conditional do. Combining is that of Hendler, Incze, Shavit and Tzafrir,
// "Flat combining and the synchronization-parallelism tradeoff", SPAA 2010. Smallest: 1 wave, 1 spurious failure. The twin tries by a strong
// one.
#include "../ports.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

using combined_word = target::atomic_ref<uint32_t, scope::device>;

struct combining_kernel {
  uint32_t* lock;    ///< 1: an owner makes the calls of all
  uint32_t* posted;  ///< of each wave: how many requests it has posted
  uint32_t* served;  ///< of each wave: how many have been served; changed only by the owner of the lock
  uint32_t waves;
  uint32_t calls;
  bool tries_weakly;

  HEDDLE_FUNCTION bool try_lock() const {
    uint32_t expected = 0;
    // Acquire pairs with the release of give().
    if (tries_weakly) return combined_word(*lock).compare_exchange_weak(expected, 1, memory_order::acquire);
    return combined_word(*lock).compare_exchange_strong(expected, 1, memory_order::acquire);
  }
  HEDDLE_FUNCTION void give() const { combined_word(*lock).store(0, memory_order::release); }

  HEDDLE_FUNCTION uint32_t posted_by(uint32_t wave) const {
    // Acquire pairs with the release of the post.
    return combined_word(posted[wave]).load(memory_order::acquire);
  }

  HEDDLE_FUNCTION void serve_all() const {
    for (uint32_t wave = 0; wave < waves; ++wave)
      combined_word(served[wave]).store(posted_by(wave), memory_order::relaxed);
  }

  HEDDLE_FUNCTION bool is_all_served() const {
    bool all = true;
    for (uint32_t wave = 0; wave < waves; ++wave)
      all = all && combined_word(served[wave]).load(memory_order::relaxed) == posted_by(wave);
    return all;
  }

  HEDDLE_FUNCTION void operator()() const {
    const uint32_t mine = target::wave_id();
    for (uint32_t call = 0; call < calls; ++call) {
      // Release pairs with the acquire of the owner.
      combined_word(posted[mine]).store(call + 1, memory_order::release);
      do {
        // Pairs with the fence behind give(): the owner reads what was posted, or the poster finds the lock free.
        target::fence<scope::device>(memory_order::seq_cst);
        if (!try_lock()) break;
        serve_all();
        give();
        // Pairs with the fence in front of try_lock().
        target::fence<scope::device>(memory_order::seq_cst);
      } while (!is_all_served());
    }
  }
};

void run_combining(const parameters& set) {
  device on;
  const uint32_t waves = set.count("waves");
  auto* const lock = on.allocate_device<uint32_t>(1, "lock");
  auto* const posted = on.allocate_device<uint32_t>(waves, "posted requests");
  auto* const served = on.allocate_device<uint32_t>(waves, "served requests");
  on.launch({.blocks = 1, .waves = waves, .lanes = 1},
            combining_kernel{lock, posted, served, waves, set.count("calls"), !zoo::is_fixed(set)});
  on.synchronize();
  std::vector<uint32_t> left(waves);
  on.copy(left.data(), served, waves * sizeof(uint32_t));
  for (const uint32_t each : left) HEDDLE_CHECK(each == set.count("calls"), "a request was left undone");
}

scheduler::verdict combining_verdict(const parameters& set) {
  return zoo::is_fixed(set) || set.count("spurious") == 0 ? scheduler::verdict::ok : scheduler::verdict::assertion;
}

std::vector<parameter> combining_parameters() {
  std::vector<parameter> all = zoo::with_twin({
      parameter::number("waves", 2, 1, 64, "", "waves that post requests"),
      parameter::number("calls", 1, 1, 1000, "", "requests of each"),
  });
  // The machine's own default is kinder.
  all.push_back(parameter::number(
      "spurious", 1, 0, 1000, "",
      "how many weak compare-exchanges in a row of one lane may fail although they find what they expect"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_combining,
           {.name = "zoo.weak-failure-taken-for-owner",
            .summary = "a weak compare-exchange that fails for no reason is taken for a lock that another holds",
            .parameters = combining_parameters(),
            .expected = combining_verdict});

}  // namespace heddle::tests
