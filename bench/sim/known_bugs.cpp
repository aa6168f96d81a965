// Small programs with one bug each, on which strategies were measured elsewhere before. Registered as scenarios for schedules_to_bug.
//
// Words are 0 at first. `noise`: steps of a thread before those that matter; `idle`: threads that have no part in the bug.
#include <heddle/tools/scenario.h>

#include <vector>

namespace heddle::bench {
namespace {

using word = target::atomic_ref<uint32_t, scope::system>;

uint32_t read(uint32_t* at) { return word(*at).load(memory_order::seq_cst); }
void write(uint32_t* at, uint32_t value) { word(*at).store(value, memory_order::seq_cst); }
void wait_until(uint32_t* at, uint32_t value) {
  while (read(at) != value) target::pause();
}

std::vector<parameter> with_one_memory(std::vector<parameter> all) {
  all.push_back(parameter::one_of("fidelity", "interleaving", {"interleaving", "link", "scoped"}, ""));
  return all;
}

scheduler::verdict assertion(const parameters&) { return scheduler::verdict::assertion; }
scheduler::verdict deadlock(const parameters&) { return scheduler::verdict::deadlock; }

/// A thread that finds the lock free takes it in a second step.
struct lock_bug {
  uint32_t *lock, *out, *in, *payload;
  uint32_t clients;

  void client(uint32_t number) const {
    while (true) {
      if (read(lock) == 0) break;
      target::pause();
    }
    write(lock, 1);
    const uint32_t turn = read(in) + 1;
    write(payload, number);
    write(out, turn);
    wait_until(in, turn);
    HEDDLE_CHECK(read(payload) == 10 * number, "another client's answer");
    write(lock, 0);
  }
  void server() const {
    for (uint32_t turn = 1; turn <= clients; ++turn) {
      wait_until(out, turn);
      write(payload, 10 * read(payload));
      write(in, turn);
    }
  }
};

void run_lock_bug(const parameters& set) {
  device on;
  auto* const words = on.allocate_shared<uint32_t>(4, "words");
  const lock_bug program = {words, words + 1, words + 2, words + 3, set.count("clients")};
  std::vector<decltype(on.spawn_host("client", [] {}))> threads;
  for (uint32_t client = 1; client <= program.clients; ++client)
    threads.push_back(on.spawn_host("client", [=] { program.client(client); }));
  program.server();
}

/// The bell is looked at before it says that it sleeps, and not after.
void run_lost_wakeup(const parameters& set) {
  device on;
  const uint32_t noise = set.count("noise");
  const uint32_t idle = set.count("idle");
  auto* const words = on.allocate_shared<uint32_t>(5 + idle, "words");
  uint32_t *const pending = words, *const sleeping = words + 1, *const wake = words + 2, *const noisy = words + 3;
  std::vector<decltype(on.spawn_host("client", [] {}))> threads;
  threads.push_back(on.spawn_host("client", [=] {
    for (uint32_t n = 0; n < noise; ++n) read(noisy);
    write(pending, 1);
    if (read(sleeping) != 0) write(wake, 1);
  }));
  for (uint32_t who = 0; who < idle; ++who)
    threads.push_back(on.spawn_host("idle", [=] {
      for (uint32_t n = 0; n < noise + 3; ++n) read(words + 4);
    }));
  for (uint32_t n = 0; n < noise; ++n) read(noisy);
  if (read(pending) != 0) return;
  write(sleeping, 1);
  wait_until(wake, 1);
}

/// A poller sees a publisher's first word without its second.
void run_publishers(const parameters& set) {
  device on;
  auto* const words = on.allocate_shared<uint32_t>(2, "words");
  std::vector<decltype(on.spawn_host("publisher", [] {}))> threads;
  for (uint32_t who = 0; who < set.count("publishers"); ++who)
    threads.push_back(on.spawn_host("publisher", [=] {
      write(words, 1);
      write(words + 1, 1);
    }));
  if (read(words) == 1) HEDDLE_CHECK(read(words + 1) == 1, "the second word has not come");
}

}  // namespace

HEDDLE_SCENARIO(run_lock_bug, {.name = "known.lock",
                               .summary = "test-then-set",
                               .parameters = with_one_memory({parameter::number("clients", 2, 1, 64, "", "")}),
                               .expected = assertion});
HEDDLE_SCENARIO(run_lost_wakeup, {.name = "known.wakeup",
                                  .summary = "a lost wake-up",
                                  .parameters = with_one_memory({parameter::number("noise", 0, 0, 1000, "", ""),
                                                                 parameter::number("idle", 0, 0, 64, "", "")}),
                                  .expected = deadlock});
HEDDLE_SCENARIO(run_publishers, {.name = "known.publishers",
                                 .summary = "a value that is seen half-way",
                                 .parameters = with_one_memory({parameter::number("publishers", 4, 1, 1000, "", "")}),
                                 .expected = assertion});

}  // namespace heddle::bench
