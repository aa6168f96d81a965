// The same program on one device, on several, and on one that unifies several; and what a copy brings back of a kernel's results.
#include "ports.h"

#include <memory>
#include <span>
#include <string>

namespace heddle::tests {
namespace {

using scheduler::verdict;

HEDDLE_FUNCTION constexpr uint32_t element_of(uint32_t n) { return 3 * n + 1; }

// -- one, several, unified ------------------------------------------------------------------------------------------------------------

/// Each block does every `blocks`-th element.
struct square_part {
  uint32_t* values;
  uint32_t count;
  uint32_t blocks;
  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t n = target::block_id(); n < count; n += blocks) values[n] = values[n] * values[n];
  }
};
struct add_neighbour {
  const uint32_t* from;
  uint32_t* to;
  uint32_t count;
  uint32_t blocks;
  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t n = target::block_id(); n < count; n += blocks) to[n] = from[n] + from[(n + 1) % count];
  }
};

/// What one device does of the whole.
struct device_part {
  device* on;
  uint32_t first;
  uint32_t count;
  uint32_t* values;
};

/// Opens the devices that take part: `over` of them, or as many as there are; one that unifies them, where there is such a thing.
std::vector<std::unique_ptr<device>> devices_of(const parameters& set) {
  const uint32_t over = set.count("over") < device::count() ? set.count("over") : device::count();
  std::vector<std::unique_ptr<device>> opened;
  if (set.text("as") == "one") {
    std::vector<uint32_t> indices;
    for (uint32_t n = 0; n < over; ++n) indices.push_back(n);
    if (auto unified = device::open_unified(indices)) {
      opened.push_back(std::move(unified.value()));
      return opened;
    } else {
      // A real machine has none, and says so.
      HEDDLE_CHECK(!set.has("fidelity") && !unified.why().line().empty(), "GPUs cannot be unified");
    }
  }
  for (uint32_t n = 0; n < over; ++n) opened.push_back(std::move(device::open(n).value()));
  return opened;
}

/// Numbers are dealt to the devices and squared there; the first device gathers the squares from the memory of the others, and adds to each
/// its neighbour.
void run_devices(const parameters& set) {
  const std::vector<std::unique_ptr<device>> devices = devices_of(set);
  device& main = *devices.front();
  const uint32_t count = set.count("elements");
  const uint32_t blocks = set.count("blocks");
  auto* const numbers = main.allocate_shared<uint32_t>(count, "numbers");
  auto* const sums = main.allocate_shared<uint32_t>(count, "sums");
  auto* const gathered = main.allocate_device<uint32_t>(count, "squares of all");
  auto* const added = main.allocate_device<uint32_t>(count, "sums on the device");
  for (uint32_t n = 0; n < count; ++n) numbers[n] = element_of(n);

  std::vector<device_part> parts;
  const auto among = static_cast<uint32_t>(devices.size());
  for (uint32_t n = 0; n < among; ++n) {
    const uint32_t first = static_cast<uint32_t>(uint64_t{count} * n / among);
    const uint32_t mine = static_cast<uint32_t>(uint64_t{count} * (n + 1) / among) - first;
    if (mine == 0) continue;
    device& on = *devices[n];
    parts.push_back({&on, first, mine, on.allocate_device<uint32_t>(mine, "part of the squares")});
  }
  const device::stream gathers = main.create_stream();
  for (const device_part& part : parts) {
    const device::stream in = part.on->create_stream();
    const device::event squared = part.on->create_event();
    part.on->copy(part.values, numbers + part.first, part.count * sizeof(uint32_t), in);
    part.on->launch({.blocks = blocks, .waves = 1, .lanes = 1}, square_part{part.values, part.count, blocks}, in);
    part.on->record(squared, in);
    main.wait(gathers, squared);
    main.copy(gathered + part.first, part.values, part.count * sizeof(uint32_t), gathers);
  }
  main.launch({.blocks = blocks, .waves = 1, .lanes = 1}, add_neighbour{gathered, added, count, blocks}, gathers);
  main.copy(sums, added, count * sizeof(uint32_t), gathers);
  for (const auto& each : devices) each->synchronize();
  for (uint32_t n = 0; n < count; ++n) {
    const uint32_t own = element_of(n);
    const uint32_t neighbour = element_of((n + 1) % count);
    HEDDLE_CHECK(sums[n] == own * own + neighbour * neighbour, "an element is not what one device makes of it");
  }
}

void run_unified_devices(const parameters& set) { run_devices(set); }

std::vector<parameter> devices_parameters(const char* as, int64_t over) {
  return {
      parameter::number("elements", 4, 1, 100000, "", "numbers that are dealt to the devices"),
      parameter::number("blocks", 2, 1, 1024, "", "blocks of each kernel"),
      parameter::number("over", over, 1, 16, "", "devices that take part, where there are as many"),
      parameter::one_of("as", as, {"several", "one"}, "each by itself, or one device that unifies them"),
      // The machine's own default is one.
      parameter::number("driver.devices", 4, 1, 16, "", "how many GPUs the machine has"),
  };
}

// -- what a copy brings back ---------------------------------------------------------------------------------------------------------

/// A kernel writes, and what it wrote is copied back: in its stream, and by a call that waits.
void run_copy_back(const parameters& set) {
  device on;
  const uint32_t count = set.count("elements");
  auto* const there = on.allocate_device<uint32_t>(count, "there");
  auto* const here = on.allocate_shared<uint32_t>(count, "here");
  std::vector<uint32_t> seen(count);
  const device::stream in = on.create_stream();
  for (uint32_t n = 0; n < count; ++n) here[n] = n;
  on.copy(there, here, count * sizeof(uint32_t), in);
  on.launch({.blocks = 2, .waves = 1, .lanes = 1}, square_part{there, count, 2}, in);
  on.copy(here, there, count * sizeof(uint32_t), in);
  on.synchronize(in);
  on.copy(seen.data(), there, count * sizeof(uint32_t));
  for (uint32_t n = 0; n < count; ++n)
    HEDDLE_CHECK(here[n] == n * n && seen[n] == n * n, "a copy has brought back what was there before the kernel");
}

verdict copy_back_verdict(const parameters& set) {
  if (needs_all_turns(set) != verdict::ok) return needs_all_turns(set);
  return set.has("driver.flush") && set.text("driver.flush") == "off" ? verdict::assertion : verdict::ok;
}

}  // namespace

HEDDLE_SCENARIO(run_devices, {.name = "driver.several-devices",
                              .summary = "one program on several devices, with copies from one to another",
                              .parameters = devices_parameters("several", 2),
                              .expected = needs_all_turns});

HEDDLE_SCENARIO(run_unified_devices, {.name = "driver.unified-device",
                                      .summary = "the same program on one device that unifies several",
                                      .parameters = devices_parameters("one", 4),
                                      .expected = needs_all_turns});

HEDDLE_SCENARIO(run_copy_back,
                {.name = "driver.copy-back",
                 .summary = "a kernel's results are copied back: never what was there before",
                 .parameters = {parameter::number("elements", 3, 3, 100000, "", "numbers that the kernel squares")},
                 .expected = copy_back_verdict});

}  // namespace heddle::tests
