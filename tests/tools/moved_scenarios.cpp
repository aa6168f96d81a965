// Scenarios of a user whose compiler records whole names of files (no -ffile-prefix-map), as most do.
#include <heddle/tools/scenario.h>

#include <atomic>

namespace heddle::tests {
namespace {

constexpr int protocol_line = __LINE__ + 2;

void opens_twice(const parameters& set) { HEDDLE_PROTOCOL(set.count("times") < 2, "a slot is opened twice"); }

/// Each waits for the other.
struct waits_for_the_other {
  uint32_t* flags;
  HEDDLE_FUNCTION void operator()() const {
    const uint32_t me = target::wave_id();
    while (std::atomic_ref<uint32_t>(flags[1 - me]).load(std::memory_order_acquire) == 0) target::pause();
    std::atomic_ref<uint32_t>(flags[me]).store(1, std::memory_order_release);
  }
};

void hangs(const parameters&) {
  device on;
  auto* const flags = on.allocate_device<uint32_t>(2, "flags");
  on.launch({.blocks = 1, .waves = 2, .lanes = 1}, waits_for_the_other{flags});
  on.synchronize();
}

/// A test that finds the line says it in its name.
const std::string protocol_name = "moved.protocol-" + std::to_string(protocol_line);

const bool registered =
    register_scenario(opens_twice, {.name = protocol_name,
                                    .summary = "Breaks its protocol.",
                                    .parameters = {parameter::number("times", 2, 1, 3, "", "how often")}}) &&
    register_scenario(hangs, {.name = "moved.hangs", .summary = "Hangs."});

}  // namespace
}  // namespace heddle::tests
