// The host posts data and then a flag to memory of the device, through a bridge that lets one posted write pass another: the flag comes first,
// the data later.
//
// mscclpp d63f9403 (#753), Grace and GB200. The twin reads the data back before it posts the flag: a read stays behind all writes. Smallest: 1
// wave, 1 host thread, 1 slot.
#include "../ports.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

struct bridged_ring {
  static constexpr uint32_t slots = 64;
  static constexpr uint32_t words = 2;
  uint32_t data[slots][words];
  uint32_t number;  ///< of slots that are filled
};

HEDDLE_FUNCTION constexpr uint32_t bridged_word(uint32_t call, uint32_t n) { return call * 11 + n + 1; }

struct bridged_kernel {
  bridged_ring* ring;
  uint32_t calls;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < calls; ++call) {
      // Acquire pairs with the release of the host.
      while (shared_word<uint32_t>(ring->number).load(memory_order::acquire) <= call) target::pause();
      for (uint32_t n = 0; n < bridged_ring::words; ++n)
        HEDDLE_CHECK(ring->data[call][n] == bridged_word(call, n), "the flag is there and the data is not");
    }
  }
};

struct posting_host {
  bridged_ring* ring;
  uint32_t calls;
  bool reads_back;

  void operator()() const {
    for (uint32_t call = 0; call < calls; ++call) {
      for (uint32_t n = 0; n < bridged_ring::words; ++n) ring->data[call][n] = bridged_word(call, n);
      // Any read of that memory: its answer says that what was posted before has arrived.
      if (reads_back) (void)shared_word<uint32_t>(ring->number).load(memory_order::acquire);
      // Release pairs with the acquire of the device.
      shared_word<uint32_t>(ring->number).store(call + 1, memory_order::release);
    }
  }
};

void run_bridged(const parameters& set) {
  device on;
  auto* const ring = on.allocate_shared<bridged_ring>(1, "ring");
  auto host = on.spawn_host("poster", posting_host{ring, set.count("calls"), zoo::is_fixed(set)});
  on.launch({.blocks = 1, .waves = 1, .lanes = 1}, bridged_kernel{ring, set.count("calls")});
  on.synchronize();
  host.join();
}

scheduler::verdict bridged_verdict(const parameters& set) {
  const bool passes = set.has("buffer") && set.text("fidelity") == "link" && set.text("link.hostro") == "on" &&
                      set.text("buffer") == "device";
  return passes && !zoo::is_fixed(set) ? scheduler::verdict::assertion : scheduler::verdict::ok;
}

std::vector<parameter> bridged_parameters() {
  std::vector<parameter> all =
      zoo::with_twin({parameter::number("calls", 6, 1, bridged_ring::slots, "", "times that the host posts")});
  // The machine's own defaults have none of this.
  all.push_back(parameter::one_of("fidelity", "link", {"interleaving", "link"},
                                  "how memory behaves: late across the link alone, or every access at once"));
  all.push_back(parameter::one_of("link.hostro", "on", {"on", "off"},
                                  "posted writes of the host carry it, as behind a bridge that reorders them"));
  all.push_back(
      parameter::one_of("buffer", "device", {"host", "device"}, "where memory that host and device share lies"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_bridged, {.name = "zoo.bridge-reorders-writes",
                         .summary = "a flag that the host posts passes the data that it posted before",
                         .parameters = bridged_parameters(),
                         .expected = bridged_verdict});

}  // namespace heddle::tests
