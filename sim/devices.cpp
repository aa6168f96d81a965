#include <heddle/sim/devices.h>

#include <algorithm>
#include <string>

namespace heddle::sim {
namespace {

constexpr unsigned page_bits = 12;
constexpr uint64_t page_bytes = uint64_t{1} << page_bits;
/// As much as there are addresses for all devices together.
constexpr uint64_t all_addresses = uint64_t{1} << 36;

/// The driver counts the CPU as device 0.
constexpr driver::device_id in_driver(uint32_t gpu) { return gpu + 1; }

/// Bytes lie in the machine's own memory: pages that change hands hold nothing of their own.
struct nobody_looks final : driver::page_watcher {
  void released(const driver::page&) override {}
  void replaced(const driver::page&) override {}
};

}  // namespace

/// What the driver keeps. It is used again by later runs: what it has given out to an earlier one is given back then.
struct device_set::placement {
  driver::device_table table;
  nobody_looks watcher;
  driver::memory_allocator memory{page_bits, table, watcher};
  driver::process_id process = 0;
  std::unordered_map<const void*, uint64_t> addresses;  ///< of the process, by where the bytes are
  std::vector<std::vector<uint32_t>> unified;           ///< that are in the table, behind the GPUs

  placement(uint32_t gpus, uint64_t bytes_each) {
    table.add(driver::device_kind::cpu);
    for (uint32_t gpu = 0; gpu < gpus; ++gpu)
      memory.add_memory(table.add(driver::device_kind::gpu), bytes_each).value();
    process = memory.create_process();
  }

  void forget() {
    for (const auto& [base, address] : addresses) memory.free(process, address).value();
    addresses.clear();
  }

  driver::device_id device_of(const std::vector<uint32_t>& gpus) {
    if (gpus.size() == 1) return in_driver(gpus.front());
    const auto known = std::find(unified.begin(), unified.end(), gpus);
    if (known != unified.end()) return table.count() - static_cast<driver::device_id>(unified.end() - known);
    std::vector<driver::device_id> named;
    for (const uint32_t gpu : gpus) named.push_back(in_driver(gpu));
    unified.push_back(gpus);
    return table.unify(named).value();
  }
};

device_set::device_set() = default;
device_set::~device_set() = default;

void device_set::reset(uint32_t gpus, uint64_t memory_bytes) {
  if (gpus != gpus_ || memory_bytes != memory_bytes_) {
    driver_ = nullptr;
    if (gpus > 1 || memory_bytes != 0)
      driver_ = std::make_unique<placement>(gpus, memory_bytes == 0 ? all_addresses : memory_bytes);
  } else if (driver_ != nullptr) {
    driver_->forget();
  }
  gpus_ = gpus;
  memory_bytes_ = memory_bytes;
  all_.resize(gpus);
  for (uint32_t gpu = 0; gpu < gpus; ++gpu) {
    one& each = all_[gpu];
    each.gpus.assign(1, gpu);
    each.stream = gpu;
    each.running = 0;
    each.resident = 0;
  }
}

result<uint32_t> device_set::unify(std::span<const uint32_t> gpus) {
  std::string named;
  for (const uint32_t gpu : gpus) named += (named.empty() ? "" : ", ") + std::to_string(gpu);
  const auto refuse = [&](const char* name, std::string text) {
    return error{"open_unified", "{" + named + "}", name, std::move(text)};
  };
  if (gpus.empty()) return refuse("invalid value", "a device is unified of at least one GPU");
  for (size_t n = 0; n < gpus.size(); ++n) {
    if (gpus[n] >= gpus_)
      return refuse("no such device", "there are " + std::to_string(gpus_) + " GPUs, numbered from 0 (driver.devices)");
    if (std::find(gpus.begin(), gpus.begin() + static_cast<ptrdiff_t>(n), gpus[n]) !=
        gpus.begin() + static_cast<ptrdiff_t>(n))
      return refuse("invalid value", "GPU " + std::to_string(gpus[n]) + " is named twice");
  }
  all_.emplace_back().gpus.assign(gpus.begin(), gpus.end());
  return size() - 1;
}

result<void> device_set::place(const void* base, size_t size_bytes, uint32_t device) {
  result<uint64_t> placed =
      driver_->memory.allocate(driver_->process, size_bytes, driver_->device_of(all_[device].gpus));
  if (!placed) return placed.why();
  driver_->addresses.emplace(base, placed.value());
  return {};
}

void device_set::give_back(const void* base) {
  const auto placed = driver_->addresses.find(base);
  if (placed == driver_->addresses.end()) return;
  driver_->memory.free(driver_->process, placed->second).value();
  driver_->addresses.erase(placed);
}

uint32_t device_set::gpu_of(const void* base, size_t offset_bytes) const {
  const uint64_t address = driver_->addresses.at(base) + offset_bytes;
  return driver_->memory.pages().find(driver_->process, address)->entry.device - 1;
}

device_memory device_set::memory_of(uint32_t device) const {
  device_memory all;
  for (const uint32_t gpu : all_[device].gpus) {
    all.free_bytes += driver_->memory.physical().free_pages(in_driver(gpu)) * page_bytes;
    all.total_bytes += driver_->memory.physical().range_of(in_driver(gpu)).size_bytes;
  }
  return all;
}

}  // namespace heddle::sim
