// Kernels that need more places than the device has: what waits on it waits for what has none. A hang, unless something is evicted.
#include "slots.h"

namespace heddle::tests {
namespace {

using scheduler::verdict;

using evicted_word = shared_word<uint32_t>;

void wait_for_value(uint32_t& flag, uint32_t wanted) {
  // Acquire pairs with the releases of those that make it so.
  while (evicted_word(flag).load(memory_order::acquire) != wanted) target::pause();
}

// A scenario names the settings of the machine that it is about, with its own defaults.
std::vector<parameter> with_places(std::vector<parameter> all, int64_t resident) {
  all.push_back(
      parameter::number("resident", resident, 1, 1 << 20, "waves", "how many waves the device holds at a time"));
  all.push_back(parameter::one_of("evict", "off", {"off", "wave", "queue"},
                                  "what is taken off the device while others wait for its places: nothing, a wave, or "
                                  "all waves of a kernel"));
  all.push_back(
      parameter::number("evict.quantum", 4, 0, 1000000, "steps",
                        "turn on the device of what may be evicted, where others of its priority wait; 0: no turns"));
  // What waits on the device needs turns beside what is not there.
  all.push_back(parameter::one_of("progress", "slots", {"fair", "slots"},
                                  "which waves are guaranteed a turn; each model is explained in docs/simulator.md"));
  all.push_back(parameter::one_of(
      "places", "lifted", {"lifted", "kept"},
      "a hang of the waves that have places is judged on a device that has enough of them, or on this one"));
  return all;
}

parameter priority_parameter() {
  return parameter::one_of("priority", "same", {"same", "high"},
                           "of the second stream: that of the first, or higher: then it evicts without turns");
}

bool takes_turns(const parameters& set) { return set.text("evict") != "off" && set.count("evict.quantum") != 0; }

bool gets_a_place(const parameters& set) {
  return set.count("waves") < set.count("resident") || takes_turns(set) ||
         (set.text("evict") != "off" && set.text("priority") == "high");
}

// On a device that has enough places, it ends.
verdict without_place(const parameters& set, verdict on_this_device) {
  return set.text("places") == "kept" ? on_this_device : verdict::progress;
}

// -- more waves than places -------------------------------------------------------------------------------------------------------

using few_slots = rpc::bit_a_slot;

/// A call through a slot; then the wave waits until all waves have had their answers.
struct few_places_kernel {
  rpc::slot_client<few_slots> client;
  uint32_t* answered;
  uint32_t waves;
  uint32_t first;  ///< the number of the kernel's first wave

  HEDDLE_FUNCTION void operator()() const {
    const uint64_t id = first + target::block_id();
    uint64_t answer = 0;
    const auto fill = [&](rpc::packet& line, uint32_t) { line.words[0] = id; };
    const auto use = [&](rpc::packet& line, uint32_t) { answer = line.words[0]; };
    while (!client.invoke(fill, use)) target::pause();
    HEDDLE_CHECK(answer == changed_by_operate(id), "the answer is not the one to this wave's request");
    evicted_word(*answered).fetch_add(1, memory_order::release);
    wait_for_value(*answered, waves);
  }
};

void run_few_places(const parameters& set) {
  device on;
  const uint32_t waves = set.count("waves");
  const rpc::slot_layout<few_slots> shape = {set.count("slots"), 1};
  auto* const memory = on.allocate_shared<unsigned char>(shape.size_bytes(), "slots");
  auto* const client_locks = on.allocate_device<uint32_t>(shape.own_words(), "client locks");
  auto* const server_locks = on.allocate_shared<uint32_t>(shape.own_words(), "server locks");
  auto* const answered = on.allocate_device<uint32_t>(1, "waves answered");
  auto* const stop = on.allocate_shared<uint32_t>(1, "stop flag");
  name_slots(memory, client_locks, server_locks, shape, few_slots::slots_per_word);
  auto server =
      on.spawn_host("server", [server = rpc::slot_server<few_slots>(memory, server_locks, shape), stop]() mutable {
        const auto operate = [](rpc::packet& line, uint32_t) { line.words[0] = changed_by_operate(line.words[0]); };
        const auto clear = [](rpc::packet& line, uint32_t) { line.words[0] = cleared_line; };
        while (true) {
          const bool ends = evicted_word(*stop).load(memory_order::acquire) != 0;
          if (server.handle(operate, clear)) continue;
          if (ends) return;
          target::pause();
        }
      });
  const rpc::slot_client<few_slots> client = {memory, client_locks, shape};
  if (set.text("queues") == "one") {
    on.launch({.blocks = waves, .waves = 1, .lanes = 1}, few_places_kernel{client, answered, waves, 0});
  } else {
    for (uint32_t n = 0; n < waves; ++n)
      on.launch({.blocks = 1, .waves = 1, .lanes = 1}, few_places_kernel{client, answered, waves, n},
                on.create_stream());
  }
  on.synchronize();
  evicted_word(*stop).store(1, memory_order::release);
  server.join();
}

// A queue that comes back has its places again: its own waves that have none are not helped.
verdict few_places_verdict(const parameters& set) {
  const bool helps = takes_turns(set) && (set.text("evict") == "wave" || set.text("queues") == "one-each");
  if (set.count("waves") <= set.count("resident") || helps) return verdict::ok;
  return without_place(set, verdict::deadlock);
}

// -- a helper on a full device ----------------------------------------------------------------------------------------------------

struct helped_kernel {
  uint32_t* helped;
  HEDDLE_FUNCTION void operator()() const { wait_for_value(*helped, 1); }
};

struct helper_kernel {
  uint32_t* helped;
  HEDDLE_FUNCTION void operator()() const { evicted_word(*helped).store(1, memory_order::release); }
};

device::stream second_stream(device& on, const parameters& set) {
  return set.text("priority") == "high" ? on.create_stream(1) : on.create_stream();
}

/// The host has a kernel change what those wait for that are on the device, and waits for that kernel first.
void run_helper_kernel(const parameters& set) {
  device on;
  auto* const helped = on.allocate_device<uint32_t>(1, "helped");
  const device::stream first = on.create_stream();
  const device::stream second = second_stream(on, set);
  on.launch({.blocks = set.count("waves"), .waves = 1, .lanes = 1}, helped_kernel{helped}, first);
  on.launch({}, helper_kernel{helped}, second);
  on.synchronize(second);
  on.synchronize(first);
}

verdict helper_kernel_verdict(const parameters& set) {
  return gets_a_place(set) ? verdict::ok : without_place(set, verdict::deadlock);
}

// -- a kernel that stays ----------------------------------------------------------------------------------------------------------

/// Works until it is told to stop.
struct persistent_kernel {
  uint32_t* work;
  uint32_t* stop;
  HEDDLE_FUNCTION void operator()() const {
    // Acquire pairs with the host's release.
    for (uint32_t n = 0; evicted_word(*stop).load(memory_order::acquire) == 0; n = 1 - n)
      evicted_word(*work).exchange(1 - n, memory_order::relaxed);
  }
};

/// The kernel is told to stop when one of another queue has ended.
void run_persistent_kernel(const parameters& set) {
  device on;
  auto* const stop = on.allocate_shared<uint32_t>(1, "stop flag");
  auto* const done = on.allocate_device<uint32_t>(1, "done");
  auto* const work = on.allocate_device<uint32_t>(set.count("waves"), "work");
  const device::stream first = on.create_stream();
  const device::stream second = second_stream(on, set);
  for (uint32_t n = 0; n < set.count("waves"); ++n)
    on.launch({.blocks = 1, .waves = 1, .lanes = 1}, persistent_kernel{work + n, stop},
              n == 0 ? first : on.create_stream());
  on.launch({}, helper_kernel{done}, second);
  on.synchronize(second);
  evicted_word(*stop).store(1, memory_order::release);
  on.synchronize();
}

verdict persistent_kernel_verdict(const parameters& set) {
  return gets_a_place(set) ? verdict::ok : without_place(set, verdict::livelock);
}

std::vector<parameter> few_places_parameters() {
  return with_places({parameter::number("waves", 3, 1, 64, "", "waves that call, and wait for each other"),
                      parameter::number("slots", 1, 1, rpc::max_slots, "", "slots between client and server"),
                      parameter::one_of("queues", "one", {"one", "one-each"},
                                        "the waves are those of one kernel, or of one each in streams of their own")},
                     2);
}

std::vector<parameter> second_queue_parameters(const char* what) {
  return with_places({parameter::number("waves", 2, 1, 64, "", what), priority_parameter()}, 2);
}

std::vector<parameter> persistent_kernel_parameters() {
  std::vector<parameter> all = second_queue_parameters("kernels that go on, of a wave each");
  // Where the kernel of the second queue has no place, the others go on as long as they may.
  all.push_back(parameter::number("budget", 20000, 100, int64_t{1} << 40, "steps",
                                  "steps before only guaranteed waves run; as many again and the run is inconclusive"));
  return all;
}

}  // namespace

HEDDLE_SCENARIO(run_few_places,
                {.name = "driver.few-places",
                 .summary = "more waves than places: each waits for what all others do after their calls",
                 .parameters = few_places_parameters(),
                 .expected = few_places_verdict,
                 .proofs = {"waves=2 resident=1", "waves=2 resident=1 evict=wave evict.quantum=1",
                            "waves=2 resident=1 evict=queue evict.quantum=1",
                            "waves=2 resident=1 queues=one-each evict=queue evict.quantum=1"}});

HEDDLE_SCENARIO(run_helper_kernel,
                {.name = "driver.helper-kernel",
                 .summary = "a kernel for which those wait that have all places of the device",
                 .parameters = second_queue_parameters("waves that wait for the kernel of the second stream"),
                 .expected = helper_kernel_verdict,
                 .proofs = {"waves=1 resident=1", "waves=1 resident=1 evict=wave evict.quantum=2",
                            "waves=2 resident=2 evict=queue evict.quantum=1",
                            "waves=1 resident=1 priority=high evict=queue evict.quantum=0"}});

HEDDLE_SCENARIO(
    run_persistent_kernel,
    {.name = "driver.persistent-kernel",
     .summary = "kernels that go on until one of another queue has ended, and have all places of the device",
     .parameters = persistent_kernel_parameters(),
     .expected = persistent_kernel_verdict,
     .proofs = {"waves=1 resident=1", "waves=1 resident=1 evict=wave evict.quantum=2",
                "waves=1 resident=1 evict=queue evict.quantum=1"}});

}  // namespace heddle::tests
