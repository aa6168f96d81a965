// Copies from global memory to that of the block which go on beside their lane. (PTX ISA, "Asynchronous Data Movement": cp.async.)
//
// A copy is made when its lane waits for it: as late as may be, so that a read before that, and a source that changes meanwhile, are seen to be
// wrong. One that is never waited for is never made.
#pragma once

#include <heddle/sim/compat/ptx/memory.h>

namespace heddle::ptx {

/// Those of one lane, in its kernel's frame.
class async_copies {
 public:
  /// `bytes` is 4, 8 or 16; what lies behind the first `given` of them becomes 0.
  HEDDLE_PTX_INLINE void add(void* to, void* from, uint32_t bytes, uint32_t given) {
    // Earlier than it must be is allowed too.
    if (count_ == most) make_first();
    waiting_[(first_ + count_++) % most] = {to, from, bytes, given < bytes ? given : bytes, groups_};
  }
  HEDDLE_PTX_INLINE void commit() { ++groups_; }
  /// For all groups but the last `but`.
  HEDDLE_PTX_INLINE void wait(uint32_t but) {
    while (count_ != 0 && waiting_[first_].group + but < groups_) make_first();
  }

 private:
  static constexpr uint32_t most = 64;
  struct copy {
    void* to;
    void* from;
    uint32_t bytes;
    uint32_t given;
    uint32_t group;
  };

  HEDDLE_PTX_INLINE void make_first() {
    const copy one = waiting_[first_];
    first_ = (first_ + 1) % most;
    --count_;
    unsigned char bytes[16] = {};
    if (one.given == one.bytes)
      announce(one.from, one.bytes, false);
    else
      for (uint32_t n = 0; n < one.given; ++n) announce_read<1>(static_cast<unsigned char*>(one.from) + n);
    for (uint32_t n = 0; n < one.given; ++n) bytes[n] = raw_load<uint8_t>(static_cast<unsigned char*>(one.from) + n);
    announce(one.to, one.bytes, true);
    for (uint32_t n = 0; n < one.bytes; ++n) raw_store<uint8_t>(static_cast<unsigned char*>(one.to) + n, bytes[n]);
  }
  HEDDLE_PTX_INLINE static void announce(void* address, uint32_t bytes, bool writes) {
    check_alignment(address, bytes);
    if (bytes == 4) writes ? announce_write<4>(address) : announce_read<4>(address);
    if (bytes == 8) writes ? announce_write<8>(address) : announce_read<8>(address);
    if (bytes == 16) writes ? announce_write<16>(address) : announce_read<16>(address);
  }

  copy waiting_[most];
  uint32_t first_ = 0;
  uint32_t count_ = 0;
  uint32_t groups_ = 0;
};

}  // namespace heddle::ptx
