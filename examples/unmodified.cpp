// Unmodified C++ under heddle: records of any size over a queue, with std::atomic, raw pointers and memcpy. No line of the protocol
// knows of heddle. On most machines it works, most of the time; `build/examples/unmodified fuzz` says why it is wrong.
//
// Built by: add_executable(unmodified unmodified.cpp)
//           target_link_libraries(unmodified PRIVATE heddle::main)
#include <atomic>
#include <cstdint>
#include <cstring>

// ---------------------------------------------------------------------------------------------------------------------------------
// The protocol: a queue of records from one producer to one consumer, as it might stand in any program.

namespace queue {

constexpr uint32_t slots = 2;
constexpr uint32_t slot_bytes = 48;

struct slot {
  uint32_t size_bytes;
  unsigned char bytes[slot_bytes];
};

struct ring {
  std::atomic<uint32_t> filled;   // records that the producer has put in; only it writes this
  std::atomic<uint32_t> emptied;  // records that the consumer has taken out; only it writes this
  slot slot_of[slots];
};

// Waits for a free slot and copies the record into it, of at most slot_bytes. Returns its number.
uint32_t copy_in(ring* to, const void* record, uint32_t size_bytes) {
  const uint32_t n = to->filled.load(std::memory_order_relaxed);
  while (n - to->emptied.load(std::memory_order_acquire) == slots) {
  }
  slot* const at = &to->slot_of[n % slots];
  std::memcpy(at->bytes, record, size_bytes);
  at->size_bytes = size_bytes;
  return n;
}

void put(ring* to, const void* record, uint32_t size_bytes) {
  const uint32_t n = copy_in(to, record, size_bytes);
  to->filled.store(n + 1, std::memory_order_release);
}

// The same with a bug: the count is atomic, but nothing says that the record must arrive before it does.
void put_relaxed(ring* to, const void* record, uint32_t size_bytes) {
  const uint32_t n = copy_in(to, record, size_bytes);
  to->filled.store(n + 1, std::memory_order_relaxed);
}

// Waits for a record, copies it out, and gives its slot back. Returns its size.
uint32_t take(ring* from, void* record) {
  const uint32_t n = from->emptied.load(std::memory_order_relaxed);
  while (from->filled.load(std::memory_order_acquire) == n) {
  }
  const slot* const at = &from->slot_of[n % slots];
  const uint32_t size_bytes = at->size_bytes;
  std::memcpy(record, at->bytes, size_bytes);
  from->emptied.store(n + 1, std::memory_order_release);
  return size_bytes;
}

}  // namespace queue

// ---------------------------------------------------------------------------------------------------------------------------------
// The test: what runs where, and what must come out.

#include <heddle/tools/scenario.h>

namespace {

/// From 1 byte to a full slot.
constexpr uint32_t size_of_record(uint32_t n) { return 1 + n * 20 % queue::slot_bytes; }
constexpr unsigned char byte_of_record(uint32_t n) { return static_cast<unsigned char>(n + 1); }

struct producer {
  queue::ring* to;
  uint32_t records;
  bool fixed;

  void operator()() const {
    for (uint32_t n = 0; n < records; ++n) {
      unsigned char record[queue::slot_bytes];
      std::memset(record, byte_of_record(n), sizeof record);
      (fixed ? queue::put : queue::put_relaxed)(to, record, size_of_record(n));
    }
  }
};

void run(const heddle::parameters& set) {
  heddle::device device;
  auto* const ring = device.allocate_shared<queue::ring>(1, "ring");
  const uint32_t records = set.count("records");
  auto consumer = device.spawn_host("consumer", [=] {
    for (uint32_t n = 0; n < records; ++n) {
      unsigned char record[queue::slot_bytes];
      HEDDLE_CHECK(queue::take(ring, record) == size_of_record(n), "a record has another size");
      for (uint32_t at = 0; at < size_of_record(n); ++at)
        HEDDLE_CHECK(record[at] == byte_of_record(n), "a record has another byte than it should");
    }
  });
  device.launch({.waves = 1, .lanes = 1}, producer{ring, records, set.text("fixed") == "yes"});
  device.synchronize();
}

HEDDLE_SCENARIO(run, {.name = "unmodified",
                      .summary = "a queue of records whose count is stored relaxed",
                      .parameters = {heddle::parameter::number("records", 3, 1, 1000, "", "records that are sent"),
                                     heddle::parameter::one_of("fixed", "no", {"no", "yes"}, "without the bug")}});

}  // namespace
