// What lanes of an AMD GPU's wave hand each other without memory: data-parallel primitives (DPP), swizzles, permutations. Included by hip.h alone.
// (AMD, "MI300 Instruction Set Architecture", 3.12 "Data Parallel Processing" and the DS instructions; "RDNA3 ISA", 7.9; clang, "AMDGPU builtins".)
#pragma once

#include <heddle/sim/compat/lanes.h>

#include <optional>

namespace heddle::compat {

constexpr uint32_t lanes_of_row = 16;

/// The lane of a wave from which this lane takes its value by a DPP control; nothing where the control leads out of the row or the wave. What is no
/// control ends the run.
inline std::optional<uint32_t> dpp_source(uint32_t lane, uint32_t control) {
  const uint32_t row = lane & ~(lanes_of_row - 1);
  const uint32_t within = lane % lanes_of_row;
  const uint32_t count = control % lanes_of_row;
  const auto if_there = [](bool is_there, uint32_t source) {
    return is_there ? std::optional<uint32_t>(source) : std::nullopt;
  };
  constexpr uint32_t wave = HEDDLE_COMPAT_WAVE_LANES;
  switch (control >> 4) {
    case 0x10:  // row_shl
      if (count != 0) return if_there(within + count < lanes_of_row, lane + count);
      break;
    case 0x11:  // row_shr
      if (count != 0) return if_there(within >= count, lane - count);
      break;
    case 0x12:  // row_ror
      if (count != 0) return row + (within + lanes_of_row - count) % lanes_of_row;
      break;
    case 0x15:  // row_newbcast, row_share
      return row + count;
    case 0x16:  // row_xmask
      return lane ^ count;
    default:
      break;
  }
  switch (control) {
    case 0x130:  // wave_shl
      return if_there(lane + 1 < wave, lane + 1);
    case 0x134:  // wave_rol
      return (lane + 1) % wave;
    case 0x138:  // wave_shr
      return if_there(lane != 0, lane - 1);
    case 0x13c:  // wave_ror
      return (lane + wave - 1) % wave;
    case 0x140:  // row_mirror
      return row + lanes_of_row - 1 - within;
    case 0x141:  // row_half_mirror
      return lane ^ 7;
    case 0x142:  // row_bcast:15
      return if_there(row != 0, row - 1);
    case 0x143:  // row_bcast:31
      return if_there(lane >= 32, 31);
    default:
      if (control <= 0xff) return (lane & ~3U) + (control >> 2 * (lane % 4)) % 4;  // quad_perm
  }
  sim::runtime::refuse_call("a DPP instruction", "no control has this value");
}

/// The value of that lane for this one. Where there is none, or it does not stand here: 0 if `zero` says so, else what was there before. `always`: a lane
/// that does not stand here is to give its value all the same, which ends the run.
template <shuffled T>
HEDDLE_COMPAT_INLINE T take_from(std::optional<uint32_t> source, T value, T before, bool zero, bool always = false) {
  const uint64_t mask = sim::runtime::lane_mask();
  const bool is_there = source.has_value() && (mask >> *source & 1) != 0;
  if (always && !is_there)
    sim::runtime::refuse_call("__builtin_amdgcn_permlane16",
                              "the value of a lane that is not enabled is not known here");
  const T taken = shuffle(mask, value, is_there ? *source : sim::runtime::lane_id());
  if (is_there) return taken;
  return zero ? T{} : before;
}

/// What a lane has in a register that nothing was written to: no value to count on.
constexpr int left_in_register = static_cast<int>(0xa5a5a5a5U);

}  // namespace heddle::compat

template <::heddle::compat::shuffled T>
HEDDLE_COMPAT_INLINE T __builtin_amdgcn_update_dpp(std::type_identity_t<T> before, T value, int control, int row_mask,
                                                   int bank_mask, bool zero) {
  const uint32_t lane = ::heddle::sim::runtime::lane_id();
  const T taken = ::heddle::compat::take_from(::heddle::compat::dpp_source(lane, static_cast<uint32_t>(control)), value,
                                              before, zero);
  const bool is_written = (row_mask >> lane / 16 & 1) != 0 && (bank_mask >> lane % 16 / 4 & 1) != 0;
  return is_written ? taken : before;
}
HEDDLE_COMPAT_INLINE int __builtin_amdgcn_mov_dpp(int value, int control, int row_mask, int bank_mask, bool zero) {
  return __builtin_amdgcn_update_dpp(::heddle::compat::left_in_register, value, control, row_mask, bank_mask, zero);
}
/// Three bits for each lane of eight.
HEDDLE_COMPAT_INLINE int __builtin_amdgcn_mov_dpp8(int value, unsigned int lanes) {
  const uint32_t lane = ::heddle::sim::runtime::lane_id();
  return ::heddle::compat::take_from((lane & ~7U) + (lanes >> 3 * (lane % 8)) % 8, value, 0, true);
}
/// By the number of a byte: four for each lane.
HEDDLE_COMPAT_INLINE int __builtin_amdgcn_ds_bpermute(int byte, int value) {
  return ::heddle::compat::take_from(static_cast<uint32_t>(byte) / 4 % HEDDLE_COMPAT_WAVE_LANES, value, 0, true);
}
/// The inverse of ds_bpermute: the value goes to the lane that is named. Of several the highest lane's is what comes there, and 0 where none does.
HEDDLE_COMPAT_INLINE int __builtin_amdgcn_ds_permute(int byte, int value) {
  constexpr uint32_t lanes = HEDDLE_COMPAT_WAVE_LANES;
  const uint64_t mask = ::heddle::sim::runtime::lane_mask();
  const uint32_t lane = ::heddle::sim::runtime::lane_id();
  const uint32_t to = static_cast<uint32_t>(byte) / 4 % lanes;
  uint64_t senders = mask;
  for (uint32_t bit = 1; bit < lanes; bit *= 2) {
    const uint64_t has_bit = ::heddle::sim::runtime::ballot(mask, (to & bit) != 0);
    senders &= (lane & bit) != 0 ? has_bit : ~has_bit;
  }
  const uint32_t source = senders == 0 ? lane : 63 - static_cast<uint32_t>(__builtin_clzll(senders));
  const int taken = ::heddle::compat::shuffle(mask, value, source);
  return senders == 0 ? 0 : taken;
}
/// Among four lanes by two bits for each, among 32 by an and, an or and an xor of the lane's number.
HEDDLE_COMPAT_INLINE int __builtin_amdgcn_ds_swizzle(int value, int pattern) {
  const uint32_t lane = ::heddle::sim::runtime::lane_id();
  const auto how = static_cast<uint32_t>(pattern);
  if (how >= 0xc000)
    ::heddle::sim::runtime::refuse_call("ds_swizzle", "patterns of rotations and of an FFT are not simulated");
  const uint32_t source = (how & 0x8000) != 0 ? (lane & ~3U) + (how >> 2 * (lane % 4)) % 4
                                              : (lane & ~31U) + ((((lane & how) | how >> 5) ^ how >> 10) & 31U);
  return ::heddle::compat::take_from(source, value, 0, true);
}
HEDDLE_COMPAT_INLINE unsigned int __builtin_amdgcn_permlane16(unsigned int before, unsigned int value, unsigned int low,
                                                              unsigned int high, bool always, bool zero) {
  const uint32_t lane = ::heddle::sim::runtime::lane_id();
  const uint32_t which = (lane % 16 < 8 ? low : high) >> 4 * (lane % 8);
  return ::heddle::compat::take_from((lane & ~15U) + which % 16, value, before, zero, always);
}
/// From the other row of 16 lanes.
HEDDLE_COMPAT_INLINE unsigned int __builtin_amdgcn_permlanex16(unsigned int before, unsigned int value,
                                                               unsigned int low, unsigned int high, bool always,
                                                               bool zero) {
  const uint32_t lane = ::heddle::sim::runtime::lane_id();
  const uint32_t which = (lane % 16 < 8 ? low : high) >> 4 * (lane % 8);
  return ::heddle::compat::take_from(((lane & ~15U) ^ 16U) + which % 16, value, before, zero, always);
}
HEDDLE_COMPAT_INLINE unsigned int __builtin_amdgcn_writelane(unsigned int value, unsigned int lane,
                                                             unsigned int before) {
  return ::heddle::sim::runtime::lane_id() == lane % HEDDLE_COMPAT_WAVE_LANES ? value : before;
}
HEDDLE_COMPAT_INLINE int __hip_ds_swizzle(int value, int pattern) {
  return __builtin_amdgcn_ds_swizzle(value, pattern);
}
HEDDLE_COMPAT_INLINE int __hip_ds_bpermute(int byte, int value) { return __builtin_amdgcn_ds_bpermute(byte, value); }
HEDDLE_COMPAT_INLINE int __hip_ds_permute(int byte, int value) { return __builtin_amdgcn_ds_permute(byte, value); }
