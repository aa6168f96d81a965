// Hangs over memory of types that a story is to name.
#include <heddle/tools/scenario.h>

#include <atomic>
#include <cstring>

namespace heddle::tests {
namespace {

enum class state : uint8_t { empty, filled, taken = 200 };

struct slot {
  uint32_t payload[2];
  std::atomic<state> is;
};

struct counters {
  std::atomic<uint32_t> head;
  std::atomic<uint32_t> tail;
};

struct ring : counters {
  slot slots[2];
};

ring the_ring;

void hand_over(ring& to) {
  to.slots[1].is.store(state::taken);
  to.tail.store(2);
}

/// The slot is never filled.
HEDDLE_FUNCTION void wait_for(const ring& from) {
  while (from.tail.load() != 2) target::pause();
  while (from.slots[1].is.load() != state::filled) target::pause();
}

struct waits {
  const ring* from;
  HEDDLE_FUNCTION void operator()() const { wait_for(*from); }
};

void in_an_allocation(device& on) {
  auto* const made = on.allocate_shared<ring>(1, "requests");
  on.launch({.waves = 1, .lanes = 1}, waits{made});
  hand_over(*made);
  on.synchronize();
}

void in_elements(device& on) {
  auto* const made = on.allocate_device<ring>(3, "rings");
  on.launch({.waves = 1, .lanes = 1}, [made] { wait_for(made[2]); });
  hand_over(made[2]);
  on.synchronize();
}

void in_a_variable(device& on) {
  the_ring.tail.store(0);
  on.launch({.waves = 1, .lanes = 1}, [] { wait_for(the_ring); });
  hand_over(the_ring);
  on.synchronize();
}

/// What is allocated as bytes has the type that the kernel is given a pointer to.
void in_bytes(device& on) {
  constexpr size_t header_bytes = 64;
  auto* const bytes = on.allocate_shared<unsigned char>(header_bytes + sizeof(ring), "bytes");
  auto* const made = reinterpret_cast<ring*>(bytes + header_bytes);
  on.launch({.waves = 1, .lanes = 1}, waits{made});
  hand_over(*made);
  on.synchronize();
}

struct header {
  uint64_t lanes;
  uint64_t asked;
};
struct waits_behind_headers {
  const header* headers;
  const ring* from;
  HEDDLE_FUNCTION void operator()() const {
    if (headers[1].lanes == 1) wait_for(*from);
  }
};

/// The kernel has pointers to objects of two types, which lie one behind the other.
void behind_other_objects(device& on) {
  constexpr size_t header_count = 4;
  auto* const bytes = on.allocate_shared<unsigned char>(header_count * sizeof(header) + sizeof(ring), "bytes");
  auto* const headers = reinterpret_cast<header*>(bytes);
  auto* const made = reinterpret_cast<ring*>(bytes + header_count * sizeof(header));
  headers[1].lanes = 1;
  on.launch({.waves = 1, .lanes = 1}, waits_behind_headers{headers, made});
  hand_over(*made);
  on.synchronize();
}

HEDDLE_FUNCTION uint32_t look_at(const std::atomic<uint32_t>& word) { return word.load(std::memory_order_acquire); }

/// One line looks at both words; what tells its two looks apart is from where it was called.
void by_one_look(device& on) {
  auto* const made = on.allocate_shared<ring>(1, "requests");
  on.launch({.waves = 1, .lanes = 1}, [made] {
    while (look_at(made->tail) != 2) target::pause();
    while (look_at(made->head) != 1) target::pause();
  });
  hand_over(*made);
  on.synchronize();
}

/// What threads share lies in the frame of the one that has begun the other.
void in_a_frame(device& on) {
  counters counts{};
  auto worker = on.spawn_host("worker", [&counts] {
    while (counts.tail.load() != 2) target::pause();
    while (counts.head.load() != 1) target::pause();
  });
  counts.tail.store(2);
  worker.join();
}

void hangs(const parameters& set) {
  device on;
  constexpr void (*ways[])(device&) = {in_an_allocation,     in_elements, in_a_variable, in_bytes,
                                       behind_other_objects, by_one_look, in_a_frame};
  ways[set.count("way")](on);
}

const bool registered = register_scenario(
    hangs, {.name = "typed.hangs",
            .summary = "Waits for a slot that is never filled.",
            .parameters = {parameter::number("way", 0, 0, 6, "", "how the memory comes by its type")}});

}  // namespace
}  // namespace heddle::tests
