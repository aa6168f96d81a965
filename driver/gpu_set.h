// The devices of a machine: its GPUs, the unified devices that are made of them, their memory, and the pages that move between them.
#pragma once

#include <heddle/driver/contents.h>
#include <heddle/driver/device_link.h>
#include <heddle/driver/device_table.h>
#include <heddle/driver/engine.h>
#include <heddle/driver/gpu.h>
#include <heddle/driver/kernel.h>
#include <heddle/driver/memory_allocator.h>
#include <heddle/driver/middleware.h>
#include <heddle/driver/migration.h>
#include <heddle/driver/settings.h>
#include <heddle/rpc/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace heddle::driver {

class gpu_set final : private gpu_surroundings, private page_watcher, private migrator::machine {
 public:
  /// What it stands among. `cycle` is woken when a page is to be moved; a runner that is null: work-groups do nothing.
  struct surroundings {
    const driver_settings& settings;
    event_engine& engine;
    device_link& link;
    driver_services& services;
    ticking& cycle;
    work_group_runner* runner;
    byte_mover* mover = nullptr;  ///< null: bytes are moved in memory of its own
  };

  /// The CPU is there from the beginning.
  explicit gpu_set(const surroundings& around);
  gpu_set(const gpu_set&) = delete;
  gpu_set& operator=(const gpu_set&) = delete;
  ~gpu_set() override;

  result<device_id> register_gpu(uint64_t memory_bytes);
  result<device_id> create_unified_device(std::span<const device_id> gpus);
  const device_table& table() const { return devices_; }
  /// Null of a device that is no GPU.
  gpu* gpu_of(device_id device) { return device < gpus_.size() ? gpus_[device].get() : nullptr; }

  memory_allocator& memory() { return memory_; }
  const memory_allocator& memory() const { return memory_; }
  /// What is in memory itself, not in a cache.
  contents& bytes() { return contents_; }
  /// Past all caches, at once, as driver_services says.
  void write_memory(const page& where, uint64_t offset, std::span<const std::byte> from);
  uint64_t read_memory(const page& where, uint64_t offset, std::span<std::byte> to);

  /// A request has come over the link.
  void arrive(const request& what);
  result<void> finish(const work_group& group);
  void set_mover(byte_mover* mover) { around_.mover = mover; }
  byte_mover* mover() const override { return around_.mover; }
  /// What a mover was given has been moved: the device answers.
  void moved(const request& piece);
  /// Work-groups that their runner finishes later.
  uint64_t outside() const { return outside_; }
  migrator& migration() { return migrator_; }
  const migrator& migration() const { return migrator_; }

 private:
  // gpu_surroundings
  event_engine& engine() override { return around_.engine; }
  const driver_settings& settings() const override { return around_.settings; }
  const page_table& pages() const override { return memory_.pages(); }
  contents& memory_bytes() override { return contents_; }
  l2_cache* cache_of(device_id device) override;
  work_group_runner* runner() const override { return around_.runner; }
  void answer(const request& what, picoseconds delay) override { around_.link.answer(what, delay); }
  void wants_page(page_slot& slot, device_id to) override;
  void left_outside(bool one_more) override { outside_ += one_more ? 1 : ~uint64_t{0}; }
  // page_watcher
  void released(const page& old) override;
  void replaced(const page& fresh) override { contents_.poison(fresh.physical_address); }
  // migrator::machine
  bool translates(device_id device, process_id process, uint64_t address) override;
  void abandon(const page& old) override;
  void answer_walks() override;

  void deliver_to_cpu(const request& what);

  surroundings around_;
  device_table devices_;
  contents contents_;
  memory_allocator memory_;
  std::vector<std::unique_ptr<gpu>> gpus_;  ///< by device; null of those that are none
  migrator migrator_;
  uint64_t outside_ = 0;
};

}  // namespace heddle::driver
