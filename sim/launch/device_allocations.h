// The memory of devices as programs use it: allocated, released, placed on GPUs, moved between them, cached. And which accesses are wrong.
#pragma once

#include <heddle/rpc/device_memory.h>
#include <heddle/rpc/result.h>
#include <heddle/sim/core/run_core.h>
#include <heddle/sim/machine/kernel.h>
#include <heddle/sim/space/device_cache.h>
#include <heddle/sim/space/devices.h>
#include <heddle/sim/space/unflushed.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace heddle::sim {

struct allocation_request {
  size_t size_bytes = 0;
  memory_kind kind = memory_kind::shared;
  const char* name = "";  ///< must outlive the run
  uint32_t device = 0;
  const void* owner = nullptr;  ///< the object whose end releases it, if any
  bool moves = false;           ///< its pages move to the GPU whose lanes use them first
  const void* place = nullptr;  ///< the return address of the call
  bool is_hidden = false;       ///< from the host: it reaches the memory by copies alone
  peer_reach peers = peer_reach::all;
  bool in_pages = false;  ///< whole pages, which can be mapped at other addresses too
};

class device_allocations {
 public:
  explicit device_allocations(run_core& core) : core_(core) {}

  [[gnu::hot]] void reset() {
    devices_.reset({.gpus = core_.machine.devices,
                    .unified = core_.machine.unified,
                    .memory_bytes = core_.machine.device_bytes,
                    .split = core_.machine.split,
                    .with = hands_});
    unflushed_.reset(!core_.machine.flushes || hands_ != nullptr);
    freed_.clear();
    left_to_streams_.clear();
  }
  /// From the next run on a driver executes commands with these, which must outlive the runs; null: none does.
  void drive_with(const device_set::hands* hands) { hands_ = hands; }
  /// Whether the run before has left names, or caches.
  bool has_rest() const { return cache_.on() || !name_counts_.empty(); }
  void forget_rest() {
    names_.clear();
    name_counts_.clear();
    cache_.reset();
  }

  /// Null when the memory of a device is used up.
  void* try_allocate(lane& self, const allocation_request& what);
  /// As try_allocate(), but ends the run with verdict `memory` when none is left.
  [[gnu::hot]] void* allocate(lane& self, const allocation_request& what, const operation& how);
  /// Releases it in the lane's pending operation.
  void release(lane& self, void* pointer);
  /// Releases what the ending object has allocated.
  void release_all_of(lane& self, const void* owner);
  /// Releases a block of the program's heap in the lane's pending operation; ends the run where it is none, where it was freed, or where another
  /// lane may still access it.
  void release_in_program(lane& self, void* pointer);

  // -- accesses ---------------------------------------------------------------------------------------------------------------------

  /// The lane's pending access, which is not to allocated memory: ends the run when it may not be made.
  [[gnu::noinline]] void check_elsewhere(lane& self);
  /// check_elsewhere() of an atomic access, which may be misaligned instead.
  [[gnu::noinline]] void check_atomic_elsewhere(lane& self);
  /// The heap has answered `said` to the lane's pending access: ends the run when it may not be made. Whether its pages move and a driver that is
  /// stepped must bring them (command_driver::reaches).
  bool look_closer(lane& self, const char* said);
  /// Ends the run where the lane is host code, or of another device, that does not reach the memory by its address.
  void check_reach(lane& self) {
    if (self.is_host()) {
      if (!self.of->copies && !self.copies_memory && core_.map.heap.holder(self.pending.address).is_hidden) [[unlikely]]
        out_of_reach(self);
    } else if (devices_.size() > 1) [[unlikely]] {
      check_peer(self);
    }
  }
  /// Whether the one device may reach memory of the other from now on (CUDA C++ Programming Guide, "Peer-to-Peer Memory Access"); false where that is
  /// so already.
  bool set_peer_access(uint32_t device, uint32_t peer, bool may_reach) {
    const uint32_t before = devices_[device].peers, bit = 1u << peer;
    devices_[device].peers = may_reach ? before | bit : before & ~bit;
    return devices_[device].peers != before;
  }

  /// What calls of the host that may return early have given to streams: the latest copy or fill of each, as numbers of launches. Memory may have the
  /// host wait for them (allocation::is_waited_for).
  void note_left_to(uint32_t stream, std::vector<uint32_t> work) { left_to_streams_[stream] = std::move(work); }
  const std::map<uint32_t, std::vector<uint32_t>>& left_to_streams() const { return left_to_streams_; }

  /// Whether the lane's pending access is one for which a driver that is stepped may have to move pages.
  bool may_move_pages(const lane& self) const;

  // -- devices and processes --------------------------------------------------------------------------------------------------------

  device_set& devices() { return devices_; }
  const device_set& devices() const { return devices_; }
  device_memory memory_of(uint32_t device) const;
  /// Memory of devices is placed from now on, and what there is already.
  void place_all();
  /// An error unless all the bytes that lie in device memory are the process's of this device.
  result<void> check_process(const char* call, uint32_t device, const void* address, size_t size_bytes) const;
  /// check_process(), but ends the run with the error, about this operation.
  void require_process(lane& self, const char* call, uint32_t device, const void* address, size_t size_bytes,
                       const operation& how);
  result<device_page> page_of(uint32_t device, const void* address);
  result<void*> at(uint32_t device, uint64_t address);
  /// Pieces of a copy that lie in the memory of one GPU each: the bytes of `size_bytes` behind `at_byte` that belong together.
  size_t piece_of_copy(const void* to, const void* from, size_t at_byte, size_t size_bytes);

  device_cache& cache() { return cache_; }
  const device_cache& cache() const { return cache_; }
  void map_cached(lane& self, void* memory);
  /// The GPU's cache is written back, while kernels run or not.
  void write_back(uint32_t gpu, bool kernels_run);
  unflushed_memory& unflushed() { return unflushed_; }
  const unflushed_memory& unflushed() const { return unflushed_; }

  // -- names ------------------------------------------------------------------------------------------------------------------------

  /// The block's own copy of the variable that `key` stands for; made, and filled with what no program put there, when first asked for.
  void* shared_variable(lane& self, const void* key, size_t size_bytes, const char* name, const void* place);
  /// Where this address within a variable of the lane's block lies in the copy of the block with this number in the cluster. Ends the run where it
  /// is in none, or there is no such block.
  void* shared_variable_of(lane& self, uint32_t rank, const void* address, const void* place);
  /// The number in the cluster of the block to which the address belongs; ~0 where that is none.
  uint32_t rank_of(const lane& self, const void* address) const;
  /// The block of a cluster has ended with this lane: its memory is gone. Ends the run where a lane of another block may still use it. (CUDA C++
  /// Programming Guide, "Distributed Shared Memory".)
  void block_ended(lane& last);
  /// A name with a number: "cudaMalloc 2" for the second of its kind.
  const char* numbered_name(const char* kind);

 private:
  [[noreturn]] void bad_access(lane& self, const char* wrong);
  [[noreturn]] void out_of_reach(lane& self);
  /// Ends the run where the lane's device was not let to reach the memory.
  void check_peer(lane& self);
  /// " by host main at a.cu:4", of memory that has been freed; empty where that is not known.
  std::string who_freed(const void* base) const;
  /// The same of memory of the device behind "; it was freed", for the message of a lane that uses it.
  std::string where_freed(lane& self, const void* address);
  [[noreturn]] void bad_use_of_program_heap(lane& self, const void* address, const std::string& what,
                                            const char* wrong);
  bool is_live(const launched_kernel& runs, uint32_t block) const;
  void* copy_of_block(lane& self, uint32_t block, const block_state::variable& wanted, const void* place);
  void move_pages(lane& self, const allocation& of);
  /// Tells all parts that keep something of memory that is about to be given back.
  void let_go(lane& self, const void* pointer) {
    if (core_.notes != nullptr) [[unlikely]]
      let_go_in_search(self, pointer);
  }
  void let_go_in_search(lane& self, const void* pointer);
  void look_for_accesses(lane& self, const void* pointer);
  static std::string named_process(uint32_t process);

  /// A block of the program's heap, or memory of the device, that has been given back.
  struct freed_block {
    const void* base = nullptr;
    const lane* by = nullptr;
    call_chain calls = {};
  };
  // Of more than so many, a message does not say where they were freed.
  static constexpr size_t most_freed = 65536;

  run_core& core_;
  std::vector<freed_block> freed_;
  const device_set::hands* hands_ = nullptr;
  device_set devices_;
  unflushed_memory unflushed_;
  device_cache cache_;
  std::deque<std::string> names_;  ///< of allocations that have none of their own
  std::vector<std::pair<std::string, uint32_t>> name_counts_;
  std::map<uint32_t, std::vector<uint32_t>> left_to_streams_;
};

}  // namespace heddle::sim
