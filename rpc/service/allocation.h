// The memory that kernels allocate at run time: one block that was there before the launch, because a handler that asks
// a runtime for memory while a kernel waits for it may wait for that kernel (ROCm/hostrpc ab40c52, AMDGPU.jl #537). Or, where the program
// gives functions of its own for it, whatever these give.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace heddle::rpc {

/// Where memory for kernels comes from, in place of a block: called by server threads, several at a time, while kernels run. Both functions
/// or none.
struct memory_source {
  std::function<void*(uint64_t size_bytes)> allocate = {};  ///< null: there is none
  std::function<void(void* memory)> free = {};              ///< of an address that `allocate` has given, once
};

/// First fit, with neighbours joined when they are given back. Everything that it knows lies in the host's own memory:
/// whatever a kernel writes into the block, the pool stays whole. Any thread may call.
class memory_pool {
 public:
  /// `block` need not be reachable from the host; it is never touched. Null or empty: every allocation fails, but for what `source` gives.
  memory_pool(void* block, uint64_t size_bytes, memory_source source = {})
      : start_(source.allocate ? 0 : reinterpret_cast<uintptr_t>(block)), source_(std::move(source)) {
    const uint64_t usable = block == nullptr ? 0 : size_bytes / alignment * alignment;
    if (usable != 0) free_.emplace(0, usable);
  }

  /// An address aligned to 16, or null. 0 bytes give an address of their own.
  void* allocate(uint64_t size_bytes) {
    if (source_.allocate) return allocate_from_source(size_bytes);
    const uint64_t wanted = size_bytes == 0 ? 1 : size_bytes;
    const std::scoped_lock guard(lock_);
    for (auto at = free_.begin(); at != free_.end(); ++at) {
      if (at->second < wanted) continue;
      // No overflow: the block is that large, and its size a multiple of the alignment.
      const uint64_t bytes = (wanted + alignment - 1) / alignment * alignment;
      const uint64_t offset = at->first;
      const uint64_t left = at->second - bytes;
      free_.erase(at);
      if (left != 0) free_.emplace(offset + bytes, left);
      used_.emplace(offset, bytes);
      return reinterpret_cast<void*>(start_ + offset);
    }
    return nullptr;
  }

  /// False for an address that is not allocated now.
  bool free(uint64_t address) {
    if (source_.allocate) return free_to_source(address);
    const std::scoped_lock guard(lock_);
    const auto at = used_.find(address - start_);
    if (address < start_ || at == used_.end()) return false;
    uint64_t offset = at->first;
    uint64_t bytes = at->second;
    used_.erase(at);
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        offset = before->first;
        bytes += before->second;
        free_.erase(before);
      }
    }
    free_.emplace(offset, bytes);
    return true;
  }

  /// Bytes that are allocated now, rounded up as they are in the block.
  uint64_t used_bytes() const {
    const std::scoped_lock guard(lock_);
    uint64_t bytes = 0;
    for (const auto& [offset, size] : used_) bytes += size;
    return bytes;
  }

 private:
  static constexpr uint64_t alignment = 16;

  // Not under the lock: the program's functions may take long, and may call back.
  void* allocate_from_source(uint64_t size_bytes) {
    void* const memory = source_.allocate(size_bytes);
    if (memory == nullptr) return nullptr;
    const std::scoped_lock guard(lock_);
    used_.insert_or_assign(reinterpret_cast<uintptr_t>(memory), size_bytes);
    return memory;
  }
  bool free_to_source(uint64_t address) {
    {
      const std::scoped_lock guard(lock_);
      // Forgotten first: another thread may get the address again as soon as it is free.
      if (used_.erase(address) == 0) return false;
    }
    source_.free(reinterpret_cast<void*>(address));
    return true;
  }

  uintptr_t start_;
  memory_source source_;
  mutable std::mutex lock_;
  std::map<uint64_t, uint64_t> free_;  ///< size by offset
  std::map<uint64_t, uint64_t> used_;
};

}  // namespace heddle::rpc
