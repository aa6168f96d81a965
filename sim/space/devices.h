// The devices of the machine: GPUs, and unified devices, each of which is several GPUs that look like one; and in which memory bytes lie.
//
// Memory is placed by the driver's allocator and page tables (driver/memory_allocator.h), pages and blocks of a unified device are dealt by
// its one rule (driver/split.h).
#pragma once

#include <heddle/driver/ids.h>
#include <heddle/driver/settings.h>
#include <heddle/rpc/device_memory.h>
#include <heddle/rpc/result.h>
#include <heddle/sim/settings.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heddle::driver {
class byte_mover;
class gpu_driver;
class trace_listener;
class work_group_runner;
}  // namespace heddle::driver

namespace heddle::sim {

class device_set {
 public:
  static constexpr uint32_t most_gpus = settings::most_devices;

  struct one {
    std::vector<uint32_t> gpus;  ///< itself, or those that it unifies, in their order
    uint32_t stream = 0;         ///< its default stream
    uint64_t running = 0;        ///< work given to its streams that has not ended; watched by lanes that wait for it
    uint32_t resident = 0;       ///< of a GPU: waves that have a place on it
    bool wanted = false;         ///< of a GPU: something that could take a step waits for a place
    uint32_t process = 0;        ///< that it belongs to; 0: the one that has the GPUs themselves
    uint32_t peers = 0;          ///< a bit for each other device whose memory it was let to reach
  };

  device_set();
  ~device_set();
  device_set(const device_set&) = delete;
  device_set& operator=(const device_set&) = delete;

  /// With what a driver that executes commands does its work.
  struct hands {
    driver::driver_settings settings;
    driver::work_group_runner* runner = nullptr;
    driver::byte_mover* mover = nullptr;
    driver::trace_listener* listener = nullptr;
  };

  /// What devices a run has.
  struct shape {
    uint32_t gpus = 1;          ///< with numbers from 0
    uint32_t unified = 1;       ///< so many of them are device 0 together; 1: it is GPU 0 alone
    uint64_t memory_bytes = 0;  ///< of each; 0: as many as there are addresses
    const driver::split_rule* split = &driver::even_split();
    const hands* with =
        nullptr;  ///< a whole driver has the memory, and executes commands; null: memory is all that a driver has to do

    friend bool operator==(const shape&, const shape&) = default;
  };

  /// A new run.
  void reset(const shape& wanted) {
    // Mostly there is one, and it is that of the run before.
    if (wanted.gpus != 1 || wanted != shape_ || driver_ != nullptr || !are_gpus_ || wanted.with != nullptr) [[unlikely]]
      return reset_all(wanted);
    processes_ = 1;
    one& only = all_.front();
    only.running = only.resident = 0;
    only.wanted = false;
  }
  uint32_t gpus() const { return shape_.gpus; }
  uint32_t size() const { return static_cast<uint32_t>(all_.size()); }
  one& operator[](uint32_t device) { return all_[device]; }
  const one& operator[](uint32_t device) const { return all_[device]; }

  /// A device of these GPUs, in this order. Errors: an empty list, a GPU that is not there or that is named twice.
  result<uint32_t> unify(std::span<const uint32_t> gpus);

  /// A device that is this GPU, for a process of its own. Memory must be placed from then on (needs_placing()).
  uint32_t open_process(uint32_t gpu);
  bool has_several_processes() const { return processes_ > 1; }
  /// Memory is to be placed in this run, though there is one GPU whose memory has no end.
  void needs_placing();

  /// Whether memory is placed in this run: there are several GPUs or processes, or memory has an end.
  bool places_memory() const { return driver_ != nullptr; }
  /// Pages of the device for the bytes at `base`. An error where there are not enough: nothing is half placed.
  result<void> place(const void* base, size_t size_bytes, uint32_t device, bool moves = false);
  /// Gives them back; does nothing where there are none.
  void give_back(const void* base);
  /// The GPU in whose memory the byte lies, which is at that offset of what was placed at `base`.
  uint32_t gpu_of(const void* base, size_t offset_bytes) const;
  /// Where that byte is.
  device_page page_of(const void* base, size_t offset_bytes) const;
  /// What was placed for the device's process and has this address: its base, and how far behind that the address is. Null: nothing is there.
  std::pair<const void*, size_t> placed_at(uint32_t device, uint64_t address) const;
  /// Whether the pages of what was placed at `base` move.
  bool moves(const void* base) const;
  /// Moves the page to that GPU, once; false where it is there, has moved already, or finds no room.
  bool move_page(const void* base, size_t offset_bytes, uint32_t gpu);
  static constexpr size_t page_bytes = 4096;
  /// Of all GPUs of the device together. When memory is placed.
  device_memory memory_of(uint32_t device) const;

  // -- a driver that executes commands

  /// Null where there is none.
  driver::gpu_driver* commands() const;
  driver::context_id context_of(uint32_t device) const;
  driver::device_id number_in_driver(uint32_t device) const;
  /// Where the device's process has the byte; none where the byte is not memory of that process.
  std::optional<uint64_t> address_of(uint32_t device, const void* base, size_t offset_bytes) const;
  /// The byte that the process has at this address, which must be in a buffer.
  std::byte* memory_at(driver::process_id process, uint64_t address) const;
  /// Commands have ended: what was given back while they needed it is free now.
  void commands_have_ended();

 private:
  struct placement;

  void reset_all(const shape& wanted);

  shape shape_ = {.gpus = 0};
  uint32_t processes_ = 1;
  std::deque<one> all_;
  bool are_gpus_ = false;              ///< each of them is one, of the machine's own process
  std::unique_ptr<placement> driver_;  ///< null where memory is not placed
};

}  // namespace heddle::sim
