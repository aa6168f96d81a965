// Small kernels with one mistake each, and the same without it: what is said to be missing must be what is.
#include <heddle/tools/scenario.h>

namespace heddle::tests {
namespace {

constexpr uint32_t lanes_of_wave = 4;

struct words {
  uint32_t lock;
  uint32_t flag;
  uint32_t data;
  uint32_t cells[lanes_of_wave];
};

template <scope Reach>
using word = target::atomic_ref<uint32_t, Reach>;

/// A relaxed look in front of the operation that takes the lock, and is relaxed where it is not `fixed`.
struct looks_before_it_locks {
  words* to;
  bool fixed;
  HEDDLE_FUNCTION void operator()() const {
    const word<scope::device> lock(to->lock);
    for (;;) {
      while (lock.load(memory_order::relaxed) != 0) target::pause();
      const uint32_t before = fixed ? lock.exchange(1, memory_order::acquire)
                                    : lock.exchange(1, memory_order::relaxed);  // HERE: takes the lock
      if (before == 0) break;
    }
    to->data += 1;
    lock.store(0, memory_order::release);
  }
};

/// Each lane stores to the cell of the next one in the next pass.
struct goes_round {
  words* to;
  bool fixed;
  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t n = 0; n < 3; ++n) {
      to->cells[(target::lane_id() + n) % lanes_of_wave] = n;  // HERE: goes round
      if (fixed) target::sync_lanes((1U << lanes_of_wave) - 1);
    }
  }
};

/// Each lane reads what the other one has stored, with no barrier before.
struct reads_at_once {
  words* to;
  bool fixed;
  HEDDLE_FUNCTION void operator()() const {
    const uint32_t me = target::lane_id();
    to->cells[me] = 1;  // HERE: stores its own
    if (fixed) target::sync_lanes(3);
    to->cells[2 + me] = to->cells[1 - me];  // HERE: reads the other
  }
};

/// The same, again and again: it needs a second barrier, before it comes round.
struct reads_in_turns {
  words* to;
  bool fixed;
  HEDDLE_FUNCTION void operator()() const {
    const uint32_t me = target::lane_id();
    uint32_t sum = 0;
    for (uint32_t n = 0; n < 3; ++n) {
      to->cells[me] = n;  // HERE: stores in turn
      target::sync_lanes(3);
      sum += to->cells[1 - me];  // HERE: reads in turn
      if (fixed) target::sync_lanes(3);
    }
    to->cells[2 + me] = sum;
  }
};

/// All lanes count at once.
struct counts_together {
  words* to;
  bool fixed;
  HEDDLE_FUNCTION void operator()() const {
    if (fixed)
      word<scope::device>(to->data).fetch_add(1, memory_order::relaxed);
    else
      to->data += 1;  // HERE: counts
  }
};

/// A lane stores, for another block, by a scope that is wide enough; the other looks by one that is not.
struct looks_too_near {
  words* to;
  bool fixed;
  HEDDLE_FUNCTION void operator()() const {
    if (target::block_id() == 0) {
      to->data = 1;
      word<scope::device>(to->flag).store(1, memory_order::release);
      return;
    }
    if (fixed) {
      while (word<scope::device>(to->flag).load(memory_order::acquire) == 0) target::pause();
    } else {
      while (word<scope::block>(to->flag).load(memory_order::acquire) == 0) target::pause();  // HERE: looks
    }
    to->cells[0] = to->data;
  }
};

/// The same, where the fence behind the look is too narrow and all else is wide enough.
struct fences_too_near {
  words* to;
  bool fixed;
  HEDDLE_FUNCTION void operator()() const {
    if (target::block_id() == 0) {
      to->data = 1;
      word<scope::system>(to->flag).store(1, memory_order::release);
      return;
    }
    while (word<scope::device>(to->flag).load(memory_order::relaxed) == 0) target::pause();
    if (fixed)
      target::fence<scope::device>(memory_order::acquire);
    else
      target::fence<scope::block>(memory_order::acquire);  // HERE: fences
    to->cells[0] = to->data;
  }
};

/// The same, where the look in front of a wide fence is too narrow.
struct looks_too_near_before_a_fence {
  words* to;
  bool fixed;
  HEDDLE_FUNCTION void operator()() const {
    if (target::block_id() == 0) {
      to->data = 1;
      word<scope::system>(to->flag).store(1, memory_order::release);
      return;
    }
    if (fixed) {
      while (word<scope::device>(to->flag).load(memory_order::relaxed) == 0) target::pause();
    } else {
      while (word<scope::block>(to->flag).load(memory_order::relaxed) == 0) target::pause();  // HERE: looks nearby
    }
    target::fence<scope::device>(memory_order::acquire);
    to->cells[0] = to->data;
  }
};

/// A flag whose store is a plain one, behind a fence.
struct flags_plainly {
  words* to;
  bool fixed;
  HEDDLE_FUNCTION void operator()() const {
    if (target::block_id() == 0) {
      to->data = 1;
      target::fence<scope::device>(memory_order::seq_cst);
      if (fixed)
        word<scope::device>(to->flag).store(1, memory_order::relaxed);
      else
        to->flag = 1;  // HERE: flags
      return;
    }
    while (word<scope::device>(to->flag).load(memory_order::acquire) == 0) target::pause();
    to->cells[0] = to->data;
  }
};

/// A release that reaches its block alone, and a look that acquires nothing.
struct lacks_both {
  words* to;
  bool fixed;
  HEDDLE_FUNCTION void operator()() const {
    if (target::block_id() == 0) {
      to->data = 1;
      if (fixed)
        target::fence<scope::device>(memory_order::release);
      else
        target::fence<scope::block>(memory_order::release);  // HERE: releases
      word<scope::device>(to->flag).store(1, memory_order::relaxed);
      return;
    }
    if (fixed) {
      while (word<scope::device>(to->flag).load(memory_order::acquire) == 0) target::pause();
    } else {
      while (word<scope::device>(to->flag).load(memory_order::relaxed) == 0) target::pause();  // HERE: acquires
    }
    to->cells[0] = to->data;
  }
};

/// One lane tells another block of what both have stored; there one lane is told. Each side needs a barrier of its lanes.
template <bool Tells>
struct tells_for_two {
  words* to;
  bool fixed;
  HEDDLE_FUNCTION void operator()() const {
    const uint32_t me = target::lane_id();
    const word<scope::device> flag(to->flag);
    if (target::block_id() == 0) {
      to->cells[me] = 1;  // HERE: fills
      if (fixed || !Tells) target::sync_lanes(3);
      if (me == 0) flag.store(1, memory_order::release);  // HERE: tells
      return;
    }
    uint32_t seen = 0;
    while (seen == 0) {
      if (me == 0) seen = flag.load(memory_order::acquire);  // HERE: is told
      seen = target::broadcast(3, seen);
    }
    if (fixed || Tells) target::sync_lanes(3);
    to->cells[2 + me] = to->cells[me];  // HERE: uses
  }
};

/// A kernel that stores, and one that reads, in two streams.
void two_kernels(const parameters& set) {
  device on;
  auto* const made = on.allocate_device<words>(1, "words");
  const auto stores = [made] { made->data = 1; };              // HERE: stores first
  const auto reads = [made] { made->cells[0] = made->data; };  // HERE: reads second
  const device::stream one = on.create_stream();
  const device::stream other = on.create_stream();
  on.launch({.blocks = 1, .waves = 1, .lanes = 1}, stores, one);
  on.launch({.blocks = 1, .waves = 1, .lanes = 1}, reads, set.text("fixed") == "yes" ? one : other);
  on.synchronize();
}

/// A copy, and a kernel that reads what it copies, in two streams.
void copy_and_kernel(const parameters& set) {
  device on;
  auto* const made = on.allocate_device<words>(1, "words");
  auto* const source = on.allocate_shared<words>(1, "source");
  const auto reads = [made] { made->cells[0] = made->data; };
  const device::stream one = on.create_stream();
  const device::stream other = on.create_stream();
  on.copy(made, source, sizeof(words), one);
  on.launch({.blocks = 1, .waves = 1, .lanes = 1}, reads, set.text("fixed") == "yes" ? one : other);
  on.synchronize();
}

/// Threads of the host, one of which waits by a word that is volatile.
void two_threads(const parameters& set) {
  device on;
  auto* const made = on.allocate_shared<words>(1, "words");
  if (set.text("fixed") == "yes") {
    auto stores = on.spawn_host("stores", [made] {
      made->data = 1;
      word<scope::system>(made->flag).store(1, memory_order::release);
    });
    while (word<scope::system>(made->flag).load(memory_order::acquire) == 0) target::pause();
    made->cells[0] = made->data;
    return;
  }
  volatile uint32_t* const flag = &made->flag;
  auto stores = on.spawn_host("stores", [made, flag] {
    made->data = 1;
    *flag = 1;  // HERE: stores plainly
  });
  while (*flag == 0) target::pause();  // HERE: looks plainly
  made->cells[0] = made->data;
}

/// Two locks, taken in two orders.
struct locks_two {
  words* to;
  bool fixed;
  HEDDLE_FUNCTION void operator()() const {
    const bool is_other = !fixed && target::block_id() == 1;
    uint32_t* const first = is_other ? &to->flag : &to->lock;
    uint32_t* const second = is_other ? &to->lock : &to->flag;
    take(*first);
    take(*second);
    to->data += 1;
    word<scope::device>(*second).store(0, memory_order::release);
    word<scope::device>(*first).store(0, memory_order::release);
  }
  HEDDLE_FUNCTION static void take(uint32_t& lock) {
    while (word<scope::device>(lock).exchange(1, memory_order::acquire) != 0) target::pause();  // HERE: takes one
  }
};

/// Waits for what it stores itself, behind that wait.
struct waits_for_itself {
  words* to;
  bool fixed;
  HEDDLE_FUNCTION void operator()() const {
    if (fixed) word<scope::device>(to->flag).store(1, memory_order::release);
    while (word<scope::device>(to->flag).load(memory_order::acquire) == 0) target::pause();  // HERE: waits
    word<scope::device>(to->flag).store(1, memory_order::release);
  }
};

/// Passes data on by a flag, to which the other side answers where it finds them: without an order the data may be missed, and no answer comes.
template <bool Releases, bool Acquires>
struct passes_on {
  words* to;
  bool fixed;
  HEDDLE_FUNCTION void operator()() const {
    const word<scope::device> flag(to->flag);
    const word<scope::device> data(to->data);
    const word<scope::device> answer(to->lock);
    if (target::block_id() == 0) {
      if (answer.load(memory_order::relaxed) != 0) return;
      data.store(1, memory_order::relaxed);
      const memory_order order = fixed || Releases ? memory_order::release : memory_order::relaxed;
      flag.store(1, order);                                             // HERE: passes on
      while (answer.load(memory_order::relaxed) == 0) target::pause();  // HERE: waits for an answer
      return;
    }
    // It has stored a word before, which the other side loads: that alone makes this no store buffering.
    answer.store(0, memory_order::relaxed);
    const memory_order order = fixed || Acquires ? memory_order::acquire : memory_order::relaxed;
    while (flag.load(order) == 0) target::pause();  // HERE: is passed
    if (data.load(memory_order::relaxed) != 0) answer.store(1, memory_order::relaxed);
  }
};

/// The same by way of a third lane, which passes on what it is told and acquires nothing.
struct passes_on_by_another {
  words* to;
  bool fixed;
  HEDDLE_FUNCTION void operator()() const {
    const word<scope::device> data(to->data);
    if (target::block_id() == 0) {
      data.store(1, memory_order::relaxed);
      word<scope::device>(to->flag).store(1, memory_order::release);
      return;
    }
    if (target::block_id() == 1) {
      const memory_order order = fixed ? memory_order::acquire : memory_order::relaxed;
      while (word<scope::device>(to->flag).load(order) == 0) target::pause();  // HERE: is between
      word<scope::device>(to->lock).store(1, memory_order::release);
      return;
    }
    while (word<scope::device>(to->lock).load(memory_order::acquire) == 0) target::pause();
    if (data.load(memory_order::relaxed) != 0) return;
    while (word<scope::device>(to->cells[0]).load(memory_order::relaxed) == 0) target::pause();
  }
};

/// A word is cleared before the other side is told that it may set it: without an order what it sets counts as older.
struct clears_first {
  words* to;
  bool fixed;
  HEDDLE_FUNCTION void operator()() const {
    const word<scope::device> flag(to->flag);
    const word<scope::device> data(to->data);
    if (target::block_id() == 0) {
      data.store(0, memory_order::relaxed);
      flag.store(1, fixed ? memory_order::release : memory_order::relaxed);  // HERE: has cleared
      while (data.load(memory_order::relaxed) == 0) target::pause();
      return;
    }
    while (flag.load(memory_order::acquire) == 0) target::pause();
    data.store(1, memory_order::relaxed);
  }
};

/// Each of two lanes stores a word, and then loads or stores the other's, with all orders but a full fence.
template <bool Loads>
struct crosses {
  words* to;
  bool fixed;
  HEDDLE_FUNCTION void operator()() const {
    const uint32_t me = target::block_id();
    const word<scope::device> other(to->cells[1 - me]);
    word<scope::device>(to->cells[me]).store(1, memory_order::release);  // HERE: stores one
    if (fixed) target::fence<scope::device>(memory_order::seq_cst);
    if constexpr (Loads) {
      if (other.load(memory_order::acquire) == 0) return;  // HERE: loads the other
    } else {
      other.store(2, memory_order::release);  // HERE: stores the other
    }
    word<scope::device>(to->data).fetch_add(1, memory_order::acq_rel);
  }
};

/// One side or the other has to come behind: what both may miss, this waits for.
template <bool Loads>
void crosses_and_waits(const parameters& set) {
  device on;
  auto* const made = on.allocate_device<words>(1, "words");
  on.launch({.blocks = 2, .waves = 1, .lanes = 1}, crosses<Loads>{made, set.text("fixed") == "yes"});
  on.launch({.blocks = 1, .waves = 1, .lanes = 1}, [made] {
    const auto holds = [&] {
      if constexpr (Loads) return word<scope::device>(made->data).load(memory_order::relaxed) != 0;
      return word<scope::device>(made->cells[0]).load(memory_order::relaxed) == 2 ||
             word<scope::device>(made->cells[1]).load(memory_order::relaxed) == 2;
    };
    while (!holds()) target::pause();
  });
  on.synchronize();
}

/// The first lane of each wave takes a lock for both, calls the host, and gives the lock back: the other lane is told by a broadcast, which orders nothing.
struct calls_for_both {
  words* to;
  bool fixed;
  HEDDLE_FUNCTION void operator()() const {
    const word<scope::device> lock(to->lock);
    const word<scope::system> flag(to->flag);
    const bool is_first = target::lane_id() == 0;
    while (is_first && lock.exchange(1, memory_order::acquire) != 0) target::pause();  // HERE: takes it for both
    target::broadcast(3, uint32_t{1});
    if (fixed) target::sync_lanes(3);
    if (!is_first) to->data += 1;  // HERE: changes for both
    target::sync_lanes(3);
    if (is_first) flag.store(1, memory_order::release);
    while (is_first && flag.load(memory_order::acquire) != 0) target::pause();
    target::sync_lanes(3);
    if (is_first) lock.store(0, memory_order::release);
  }
};

void two_calls(const parameters& set) {
  device on;
  auto* const made = on.allocate_shared<words>(1, "words");
  on.launch({.blocks = 1, .waves = 2, .lanes = 2}, calls_for_both{made, set.text("fixed") == "yes"});
  const word<scope::system> flag(made->flag);
  for (uint32_t call = 0; call < 2; ++call) {
    while (flag.load(memory_order::acquire) == 0) target::pause();
    made->data += 10;
    flag.store(0, memory_order::release);
  }
  on.synchronize();
}

template <typename Kernel, uint32_t Blocks, uint32_t Lanes>
void runs(const parameters& set) {
  device on;
  auto* const made = on.allocate_device<words>(1, "words");
  on.launch({.blocks = Blocks, .waves = 1, .lanes = Lanes}, Kernel{made, set.text("fixed") == "yes"});
  on.synchronize();
}

template <typename Kernel, uint32_t Blocks, uint32_t Lanes>
bool is_registered(const char* name) {
  return register_scenario(runs<Kernel, Blocks, Lanes>,
                           {.name = name,
                            .summary = "A mistake that a sentence is to name.",
                            .parameters = {parameter::one_of("fixed", "no", {"no", "yes"}, "without the mistake")}});
}

const bool kernels_are_registered = register_scenario(
    two_kernels, {.name = "advised.kernels",
                  .summary = "A mistake that a sentence is to name.",
                  .parameters = {parameter::one_of("fixed", "no", {"no", "yes"}, "without the mistake")}});

const bool copies_are_registered = register_scenario(
    copy_and_kernel, {.name = "advised.copy",
                      .summary = "A mistake that a sentence is to name.",
                      .parameters = {parameter::one_of("fixed", "no", {"no", "yes"}, "without the mistake")}});

const bool threads_are_registered = register_scenario(
    two_threads, {.name = "advised.threads",
                  .summary = "A mistake that a sentence is to name.",
                  .parameters = {parameter::one_of("fixed", "no", {"no", "yes"}, "without the mistake")}});

const bool calls_are_registered = register_scenario(
    two_calls, {.name = "advised.both-lanes",
                .summary = "A mistake that a sentence is to name.",
                .parameters = {parameter::one_of("fixed", "no", {"no", "yes"}, "without the mistake")}});

template <bool Loads>
bool crossing_is_registered(const char* name) {
  return register_scenario(crosses_and_waits<Loads>,
                           {.name = name,
                            .summary = "A mistake that a sentence is to name.",
                            .parameters = {parameter::one_of("fixed", "no", {"no", "yes"}, "without the mistake")}});
}

const bool crossings_are_registered =
    crossing_is_registered<true>("advised.sb") && crossing_is_registered<false>("advised.2+2w");

const bool registered =
    is_registered<passes_on<false, true>, 2, 1>("advised.mp-release") &&
    is_registered<passes_on<true, false>, 2, 1>("advised.mp-acquire") &&
    is_registered<passes_on<false, false>, 2, 1>("advised.mp-both") &&
    is_registered<passes_on_by_another, 3, 1>("advised.wrc") && is_registered<clears_first, 2, 1>("advised.s") &&
    is_registered<looks_before_it_locks, 2, 1>("advised.lock") &&
    is_registered<goes_round, 1, lanes_of_wave>("advised.round") &&
    is_registered<reads_at_once, 1, 2>("advised.reads") && is_registered<reads_in_turns, 1, 2>("advised.turns") &&
    is_registered<counts_together, 1, 2>("advised.count") && is_registered<looks_too_near, 2, 1>("advised.look") &&
    is_registered<fences_too_near, 2, 1>("advised.fence") &&
    is_registered<looks_too_near_before_a_fence, 2, 1>("advised.look-and-fence") &&
    is_registered<flags_plainly, 2, 1>("advised.flag") && is_registered<lacks_both, 2, 1>("advised.both") &&
    is_registered<locks_two, 2, 1>("advised.two") && is_registered<tells_for_two<true>, 2, 2>("advised.tells") &&
    is_registered<tells_for_two<false>, 2, 2>("advised.told") &&
    is_registered<waits_for_itself, 1, 1>("advised.itself");

}  // namespace
}  // namespace heddle::tests
