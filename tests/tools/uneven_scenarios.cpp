// Lanes of one wave that look for a free slot, each from where it stands, and take the one of the lane that leads.
#include <heddle/tools/scenario.h>

#include <array>

namespace heddle::tests {
namespace {

constexpr uint32_t slots = 2;
constexpr uint32_t most_lanes = 64;

struct table {
  std::array<uint32_t, slots> locks;
  std::array<std::array<uint64_t, most_lanes>, slots> written;
};

using word = target::atomic_ref<uint32_t, scope::device>;

/// The lanes that are together take a slot, and each has its own word in it.
struct writes {
  table* to;
  uint32_t calls;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t n = 0; n < calls; ++n) call();
  }

  HEDDLE_FUNCTION void call() const {
    for (uint32_t index = 0;; ++index) {
      if (index >= slots) index = 0;
      const uint64_t mask = target::lane_mask();
      uint32_t found = 1;
      if (target::is_first_lane(mask)) found = word(to->locks[index]).exchange(1, memory_order::acquire);
      found = target::broadcast(mask, found);
      if (found != 0) continue;
      target::sync_lanes(mask);
      to->written[index][target::lane_id()] += 1;
      target::sync_lanes(mask);
      if (target::is_first_lane(mask)) word(to->locks[index]).store(0, memory_order::release);
      return;
    }
  }
};

void uneven_lanes(const parameters& set) {
  device on;
  auto* const made = on.allocate_device<table>(1, "table");
  on.launch({.waves = set.count("waves"), .lanes = set.count("lanes")}, writes{made, set.count("calls")});
  on.synchronize();
  table found;
  on.copy(&found, made, sizeof found);
  for (uint32_t lane = 0; lane < set.count("lanes"); ++lane) {
    uint64_t written = 0;
    for (const auto& slot : found.written) written += slot[lane];
    HEDDLE_CHECK(written == uint64_t{set.count("waves")} * set.count("calls"), "a write is lost");
  }
}

const bool registered =
    register_scenario(uneven_lanes, {.name = "uneven.lanes",
                                     .summary = "Lanes take the slot of the lane that leads, and use their own.",
                                     .parameters = {parameter::number("waves", 2, 1, 8, "", "waves"),
                                                    parameter::number("lanes", 2, 1, 8, "", "lanes of a wave"),
                                                    parameter::number("calls", 2, 1, 8, "", "slots that each takes")}});

}  // namespace
}  // namespace heddle::tests
