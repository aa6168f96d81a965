#include <heddle/driver/gpu_driver.h>
#include <heddle/sim/space/devices.h>

#include <algorithm>
#include <string>

namespace heddle::sim {
namespace {

constexpr unsigned page_bits = 12;
static_assert(device_set::page_bytes == uint64_t{1} << page_bits);
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
  /// Where memory is all that there is of a driver.
  struct alone {
    explicit alone(const driver::split_rule& split) : memory(page_bits, table, watcher, split) {}
    driver::device_table table;
    nobody_looks watcher;
    driver::memory_allocator memory;
  };
  std::unique_ptr<alone> own;
  std::unique_ptr<driver::gpu_driver> commands;
  driver::memory_allocator& memory;
  /// A buffer of a process.
  struct placed {
    driver::process_id process = 0;
    uint64_t address = 0;
  };
  std::vector<driver::process_id> processes;          ///< by number
  std::vector<driver::context_id> contexts;           ///< by process, of a driver that executes commands
  std::vector<placed> held;                           ///< given back, and needed by commands
  std::unordered_map<const void*, placed> addresses;  ///< by where the bytes are
  bool told = false;                           ///< addresses have been asked for, and the next run must give the same
  std::vector<std::vector<uint32_t>> unified;  ///< that are in the table, behind the GPUs

  explicit placement(const shape& of)
      : own(of.with == nullptr ? std::make_unique<alone>(*of.split) : nullptr),
        commands(of.with == nullptr ? nullptr
                                    : std::make_unique<driver::gpu_driver>(of.with->settings, of.with->runner)),
        memory(of.with == nullptr ? own->memory : commands->services().memory()) {
    const uint64_t bytes_each = of.memory_bytes == 0 ? all_addresses : of.memory_bytes;
    if (own != nullptr) {
      own->table.add(driver::device_kind::cpu);
      for (uint32_t gpu = 0; gpu < of.gpus; ++gpu)
        memory.add_memory(own->table.add(driver::device_kind::gpu), bytes_each).value();
    } else {
      commands->set_mover(of.with->mover);
      commands->set_listener(of.with->listener);
      for (uint32_t gpu = 0; gpu < of.gpus; ++gpu) commands->register_gpu(bytes_each).value();
    }
    add_process();
  }

  void add_process() {
    if (commands == nullptr) {
      processes.push_back(memory.create_process());
      return;
    }
    contexts.push_back(commands->contexts().create_context());
    processes.push_back(commands->contexts().process_of(contexts.back()).value());
  }

  void forget() {
    for (const auto& [base, of] : addresses) memory.free(of.process, of.address).value();
    addresses.clear();
  }

  driver::device_id device_of(const std::vector<uint32_t>& gpus) {
    if (gpus.size() == 1) return in_driver(gpus.front());
    const auto known = std::find(unified.begin(), unified.end(), gpus);
    const driver::device_id count = own != nullptr ? own->table.count() : commands->device_count();
    if (known != unified.end()) return count - static_cast<driver::device_id>(unified.end() - known);
    std::vector<driver::device_id> named;
    for (const uint32_t gpu : gpus) named.push_back(in_driver(gpu));
    unified.push_back(gpus);
    return own != nullptr ? own->table.unify(named).value()
                          : commands->create_unified_device(contexts.front(), named).value();
  }
};

device_set::device_set() = default;
device_set::~device_set() = default;

void device_set::reset_all(const shape& wanted) {
  const bool as_before = wanted == shape_ && wanted.with == nullptr;
  processes_ = 1;
  if (as_before && driver_ != nullptr && !driver_->told) {
    driver_->forget();
  } else if (!as_before || driver_ != nullptr) {
    shape_ = wanted;
    driver_ = nullptr;
    if (wanted.gpus > 1 || wanted.memory_bytes != 0 || wanted.with != nullptr) needs_placing();
  }
  if (as_before && are_gpus_) {
    for (one& each : all_) {
      each.running = each.resident = each.peers = 0;
      each.wanted = false;
    }
    return;
  }
  all_.clear();
  for (uint32_t gpu = 0; gpu < wanted.gpus; ++gpu) {
    one& each = all_.emplace_back();
    each.gpus.assign(1, gpu);
    each.stream = gpu;
  }
  for (uint32_t gpu = 1; gpu < wanted.unified; ++gpu) all_.front().gpus.push_back(gpu);
  are_gpus_ = true;
}

void device_set::needs_placing() {
  if (driver_ != nullptr) return;
  driver_ = std::make_unique<placement>(shape_);
  driver_->told = shape_.gpus == 1 && shape_.memory_bytes == 0;
}

uint32_t device_set::open_process(uint32_t gpu) {
  driver_->told = true;
  are_gpus_ = false;
  driver_->add_process();
  one& made = all_.emplace_back();
  made.gpus.assign(1, gpu);
  made.process = processes_++;
  return size() - 1;
}

result<uint32_t> device_set::unify(std::span<const uint32_t> gpus) {
  std::string named;
  for (const uint32_t gpu : gpus) named += (named.empty() ? "" : ", ") + std::to_string(gpu);
  const auto refuse = [&](const char* name, std::string text) {
    return error{"open_unified", "{" + named + "}", name, std::move(text)};
  };
  if (gpus.empty()) return refuse("invalid value", "a device is unified of at least one GPU");
  for (size_t n = 0; n < gpus.size(); ++n) {
    if (gpus[n] >= shape_.gpus)
      return refuse("no such device",
                    "there are " + std::to_string(shape_.gpus) + " GPUs, numbered from 0 (driver.devices)");
    if (std::find(gpus.begin(), gpus.begin() + static_cast<ptrdiff_t>(n), gpus[n]) !=
        gpus.begin() + static_cast<ptrdiff_t>(n))
      return refuse("invalid value", "GPU " + std::to_string(gpus[n]) + " is named twice");
  }
  are_gpus_ = false;
  all_.emplace_back().gpus.assign(gpus.begin(), gpus.end());
  return size() - 1;
}

result<void> device_set::place(const void* base, size_t size_bytes, uint32_t device, bool moves) {
  const driver::process_id process = driver_->processes[all_[device].process];
  result<uint64_t> placed = driver_->memory.allocate(process, size_bytes, driver_->device_of(all_[device].gpus), moves);
  if (!placed) return placed.why();
  driver_->addresses[base] = {process, placed.value()};
  return {};
}

void device_set::give_back(const void* base) {
  const auto placed = driver_->addresses.find(base);
  if (placed == driver_->addresses.end()) return;
  result<void> freed = driver_->memory.free(placed->second.process, placed->second.address);
  if (!freed && driver_->commands != nullptr)
    driver_->held.push_back(placed->second);
  else
    freed.value();
  driver_->addresses.erase(placed);
}

uint32_t device_set::gpu_of(const void* base, size_t offset_bytes) const {
  const placement::placed& of = driver_->addresses.at(base);
  return driver_->memory.pages().find(of.process, of.address + offset_bytes)->entry.device - 1;
}

device_page device_set::page_of(const void* base, size_t offset_bytes) const {
  driver_->told = true;
  const placement::placed& of = driver_->addresses.at(base);
  const uint64_t address = of.address + offset_bytes;
  const driver::page& entry = driver_->memory.pages().find(of.process, address)->entry;
  return {.device = entry.device - 1,
          .virtual_address = address,
          .physical_address = entry.physical_address + (address - entry.virtual_address)};
}

std::pair<const void*, size_t> device_set::placed_at(uint32_t device, uint64_t address) const {
  driver_->told = true;
  const driver::process_id process = driver_->processes[all_[device].process];
  const uint64_t begins = driver_->memory.buffer_at(process, address);
  if (begins == 0) return {nullptr, 0};
  for (const auto& [base, of] : driver_->addresses)
    if (of.process == process && of.address == begins) return {base, address - begins};
  return {nullptr, 0};
}

bool device_set::moves(const void* base) const {
  const auto of = driver_->addresses.find(base);
  return of != driver_->addresses.end() &&
         driver_->memory.pages().find(of->second.process, of->second.address)->entry.unified;
}

bool device_set::move_page(const void* base, size_t offset_bytes, uint32_t gpu) {
  const placement::placed& of = driver_->addresses.at(base);
  driver::page_slot* const slot = driver_->memory.pages().find(of.process, of.address + offset_bytes);
  driver::page& entry = slot->entry;
  if (!entry.unified || entry.pinned || entry.device == in_driver(gpu)) return false;
  result<driver::page> old = driver_->memory.move(*slot, in_driver(gpu));
  if (!old) return false;
  driver_->memory.give_back(old.value());
  entry.pinned = true;
  return true;
}

// -- a driver that executes commands -------------------------------------------------------------------------------------------------

driver::gpu_driver* device_set::commands() const { return driver_ == nullptr ? nullptr : driver_->commands.get(); }

driver::context_id device_set::context_of(uint32_t device) const { return driver_->contexts[all_[device].process]; }

driver::device_id device_set::number_in_driver(uint32_t device) const { return driver_->device_of(all_[device].gpus); }

std::optional<uint64_t> device_set::address_of(uint32_t device, const void* base, size_t offset_bytes) const {
  const auto placed = driver_->addresses.find(base);
  if (placed == driver_->addresses.end() || placed->second.process != driver_->processes[all_[device].process])
    return std::nullopt;
  return placed->second.address + offset_bytes;
}

std::byte* device_set::memory_at(driver::process_id process, uint64_t address) const {
  const uint64_t begins = driver_->memory.buffer_at(process, address);
  for (const auto& [base, of] : driver_->addresses)
    if (of.process == process && of.address == begins)
      return static_cast<std::byte*>(const_cast<void*>(base)) + (address - begins);
  return nullptr;
}

void device_set::commands_have_ended() {
  std::erase_if(driver_->held,
                [&](const placement::placed& each) { return bool(driver_->memory.free(each.process, each.address)); });
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
