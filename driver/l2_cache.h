// What kernels have written and memory does not hold yet: the write-back cache of one GPU.
//
// It stands in front of that GPU's own memory, whichever device writes there, as the L2 of a GPU does: the bytes of one
// page are in one L2 or in none. Nothing leaves it on its own. That is the worst case, and the one worth testing: what
// is read past the cache is stale until a flush is asked for.
#pragma once

#include <heddle/driver/contents.h>
#include <heddle/driver/radix_map.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace heddle::driver {

class l2_cache {
 public:
  l2_cache(unsigned page_bits, contents& memory) : page_bits_(page_bits), memory_(&memory) {}

  /// As a kernel sees it: what is dirty here, and the rest out of memory. How many of the bytes are poisoned.
  uint64_t read(uint64_t physical_address, std::span<std::byte> to) const;
  /// As a kernel does it: the bytes are dirty from now on.
  void write(uint64_t physical_address, std::span<const std::byte> from);

  /// Something else has written these bytes into memory: they are not dirty any more, and lost.
  void invalidate(uint64_t physical_address, uint64_t bytes);
  /// Writes all dirty bytes back, oldest page first. How many pages had any.
  uint64_t flush();

  uint64_t dirty_bytes() const { return dirty_bytes_; }

 private:
  struct line {
    std::unique_ptr<std::byte[]> bytes;
    std::vector<bool> dirty;  ///< by byte
    uint64_t dirty_bytes = 0;
  };

  uint64_t page_bytes() const { return uint64_t{1} << page_bits_; }
  void forget(uint64_t page);

  unsigned page_bits_;
  contents* memory_;
  radix_map<line> lines_;  ///< by page
  std::vector<uint64_t>
      pages_;  ///< that have been written since the last flush, in that order; some may be clean again
  std::vector<line> spare_;
  uint64_t dirty_bytes_ = 0;
};

}  // namespace heddle::driver
