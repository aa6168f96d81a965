// The memory that kernels allocate at run time: one block that was there before the launch, because a handler that asks
// a runtime for memory while a kernel waits for it may wait for that kernel (ROCm/hostrpc ab40c52, AMDGPU.jl #537).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <mutex>

namespace heddle::rpc {

/// First fit, with neighbours joined when they are given back. Everything that it knows lies in the host's own memory:
/// whatever a kernel writes into the block, the pool stays whole. Any thread may call.
class memory_pool {
 public:
  /// `block` need not be reachable from the host; it is never touched. Null or empty: every allocation fails.
  memory_pool(void* block, uint64_t size_bytes) : start_(reinterpret_cast<uintptr_t>(block)) {
    const uint64_t usable = block == nullptr ? 0 : size_bytes / alignment * alignment;
    if (usable != 0) free_.emplace(0, usable);
  }

  /// An address aligned to 16, or null. 0 bytes give an address of their own.
  void* allocate(uint64_t size_bytes) {
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

  /// Bytes that are allocated now, rounded up as they are.
  uint64_t used_bytes() const {
    const std::scoped_lock guard(lock_);
    uint64_t bytes = 0;
    for (const auto& [offset, size] : used_) bytes += size;
    return bytes;
  }

 private:
  static constexpr uint64_t alignment = 16;

  uintptr_t start_;
  mutable std::mutex lock_;
  std::map<uint64_t, uint64_t> free_;  ///< size by offset
  std::map<uint64_t, uint64_t> used_;
};

}  // namespace heddle::rpc
