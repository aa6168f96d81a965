// Streams of a device: copies and launches that wait for each other across two of them, and a kernel that waits for one behind it.
#include "ports.h"

namespace heddle::tests {
namespace {

using scheduler::verdict;

// -- two streams ------------------------------------------------------------------------------------------------------------------

/// Each wave does every `waves`-th element.
struct square_all {
  const uint32_t* from;
  uint32_t* to;
  uint32_t count;
  uint32_t waves;
  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t n = target::wave_id(); n < count; n += waves) to[n] = from[n] * from[n];
  }
};
struct add_to_all {
  const uint32_t* from;
  uint32_t* to;
  uint32_t count;
  uint32_t waves;
  uint32_t addend;
  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t n = target::wave_id(); n < count; n += waves) to[n] = from[n] + addend;
  }
};

/// One stream brings numbers to the device and squares them, the other adds to the squares and brings the sums back. Every round uses the
/// same memory, so that each stream has to wait for the other: to read what is ready, and to write over what has been read.
void run_two_streams(const parameters& set) {
  device on;
  const uint32_t count = set.count("elements");
  const uint32_t waves = set.count("waves");
  const uint32_t rounds = set.count("rounds");
  const bool wait_to_read = set.text("waits") != "before-write";
  const bool wait_to_write = set.text("waits") != "before-read";
  const size_t bytes = count * sizeof(uint32_t);
  // A buffer of the host's for each round: no stream waits for the host.
  auto* const numbers = on.allocate_shared<uint32_t>(size_t{count} * rounds, "numbers");
  auto* const sums = on.allocate_shared<uint32_t>(size_t{count} * rounds, "sums");
  auto* const given = on.allocate_device<uint32_t>(count, "numbers on the device");
  auto* const squares = on.allocate_device<uint32_t>(count, "squares");
  auto* const results = on.allocate_device<uint32_t>(count, "sums on the device");
  for (uint32_t n = 0; n < count * rounds; ++n) numbers[n] = n + 1;
  const device::stream first = on.create_stream();
  const device::stream second = on.create_stream();
  const device::event squared = on.create_event();
  const device::event added = on.create_event();
  const launch_shape shape = {.blocks = 1, .waves = waves, .lanes = 1};
  for (uint32_t round = 0; round < rounds; ++round) {
    on.copy(given, numbers + size_t{round} * count, bytes, first);
    // Of an event that was never recorded nothing is waited for.
    if (wait_to_write) on.wait(first, added);
    on.launch(shape, square_all{given, squares, count, waves}, first);
    on.record(squared, first);
    if (wait_to_read) on.wait(second, squared);
    on.launch(shape, add_to_all{squares, results, count, waves, round}, second);
    on.record(added, second);
    on.copy(sums + size_t{round} * count, results, bytes, second);
  }
  on.synchronize(second);
  // The second stream has waited for all of the first, unless it is left out.
  if (!wait_to_read) on.synchronize(first);
  for (uint32_t round = 0; round < rounds; ++round)
    for (uint32_t n = 0; n < count; ++n) {
      const uint32_t number = round * count + n + 1;
      HEDDLE_CHECK(sums[round * count + n] == number * number + round, "an element is not what the streams make of it");
    }
}

// A wait that is left out is a race where races are told, and otherwise a wrong element.
verdict two_streams_verdict(const parameters& set) {
  if (needs_all_turns(set) != verdict::ok || set.text("waits") == "both") return needs_all_turns(set);
  return set.has("fidelity") && set.text("fidelity") == "scoped" ? verdict::race : verdict::assertion;
}

// -- one behind the other ---------------------------------------------------------------------------------------------------------

struct wait_for_flag {
  uint32_t* flag;
  HEDDLE_FUNCTION void operator()() const {
    // Acquire pairs with the release of the kernel that sets it.
    while (shared_word<uint32_t>(*flag).load(memory_order::acquire) == 0) target::pause();
  }
};
struct set_flag {
  uint32_t* flag;
  HEDDLE_FUNCTION void operator()() const { shared_word<uint32_t>(*flag).store(1, memory_order::release); }
};

/// A kernel waits for a flag that another kernel sets.
void run_kernels_that_wait(const parameters& set) {
  device on;
  auto* const flag = on.allocate_device<uint32_t>(1, "flag");
  const device::stream first = on.create_stream();
  const device::stream second = set.text("queue") == "same" ? first : on.create_stream();
  on.launch({}, wait_for_flag{flag}, first);
  on.launch({}, set_flag{flag}, second);
  on.synchronize(second);
  on.synchronize(first);
}

// In one stream the second never begins. In two, it must be promised a turn beside the first.
verdict kernels_that_wait_verdict(const parameters& set) {
  if (set.text("queue") == "same") return verdict::deadlock;
  if (!set.has("progress") || set.text("progress") == "fair" || set.text("progress") == "slots") return verdict::ok;
  return verdict::progress;
}

}  // namespace

HEDDLE_SCENARIO(run_two_streams,
                {.name = "driver.two-streams",
                 .summary = "copies and kernels of two streams, each of which waits for the other",
                 .parameters =
                     {
                         parameter::number("elements", 3, 1, 100000, "", "numbers that are squared and added to"),
                         parameter::number("waves", 2, 1, 1024, "", "waves of each kernel"),
                         parameter::number("rounds", 2, 1, 1000, "", "times that the same memory is used"),
                         parameter::one_of("waits", "both", {"both", "before-read", "before-write"},
                                           "which waits between the streams are there; one alone is a fault"),
                     },
                 .expected = two_streams_verdict});

HEDDLE_SCENARIO(
    run_kernels_that_wait,
    {.name = "driver.kernel-behind-kernel",
     .summary = "a kernel waits for one that is behind it in its stream",
     .parameters = {parameter::one_of("queue", "same", {"same", "other"},
                                      "in which stream the second kernel is: the same, where it cannot begin")},
     .expected = kernels_that_wait_verdict});

}  // namespace heddle::tests
