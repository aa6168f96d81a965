// What programs call of AMD's device library: where a lane stands, and signals by a handle. Included by hip.h alone.
// (ROCm device libraries, ockl.h. An order is a number of C's memory_order.)
#pragma once

#include <heddle/sim/compat/hsa.h>
#include <heddle/sim/compat/launch.h>
#include <heddle/sim/compat/scoped.h>

HEDDLE_COMPAT_INLINE uint32_t __ockl_lane_u32() { return ::heddle::sim::runtime::lane_id(); }
HEDDLE_COMPAT_INLINE uint32_t __ockl_activelane_u32() {
  return static_cast<uint32_t>(__builtin_popcountll(__activemask() & __lanemask_lt()));
}

#define HEDDLE_OCKL_INDEX(name, value)                                            \
  HEDDLE_COMPAT_INLINE size_t __ockl_get_##name(unsigned int dimension) {         \
    const ::heddle::sim::grid_position here = ::heddle::sim::runtime::position(); \
    const auto of = [dimension](const ::heddle::sim::extent& all) -> size_t {     \
      return dimension == 0 ? all.x : dimension == 1 ? all.y : all.z;             \
    };                                                                            \
    return value;                                                                 \
  }
HEDDLE_OCKL_INDEX(local_id, of(here.thread))
HEDDLE_OCKL_INDEX(local_size, of(here.block_size))
HEDDLE_OCKL_INDEX(group_id, of(here.block))
HEDDLE_OCKL_INDEX(num_groups, of(here.grid_size))
HEDDLE_OCKL_INDEX(global_id, of(here.block) * of(here.block_size) + of(here.thread))
HEDDLE_OCKL_INDEX(global_size, of(here.grid_size) * of(here.block_size))
#undef HEDDLE_OCKL_INDEX

HEDDLE_COMPAT_INLINE int64_t __ockl_hsa_signal_load(hsa_signal_t signal, int order) {
  return static_cast<int64_t>(::heddle::sim::runtime::load(
      ::heddle::compat::value_of(signal), 8, ::heddle::compat::order_of_builtin(order), ::heddle::scope::system));
}
HEDDLE_COMPAT_INLINE void __ockl_hsa_signal_store(hsa_signal_t signal, int64_t value, int order) {
  ::heddle::sim::runtime::store(::heddle::compat::value_of(signal), 8, ::heddle::compat::to_word(value),
                                ::heddle::compat::order_of_builtin(order), ::heddle::scope::system);
}
#define HEDDLE_OCKL_CHANGE(name, kind)                                                                                 \
  HEDDLE_COMPAT_INLINE int64_t __ockl_hsa_signal_##name(hsa_signal_t signal, int64_t value, int order) {               \
    return ::heddle::compat::modify(::heddle::sim::runtime::rmw_kind::kind, ::heddle::compat::value_of(signal), value, \
                                    ::heddle::compat::order_of_builtin(order), ::heddle::scope::system);               \
  }
HEDDLE_OCKL_CHANGE(add, add)
HEDDLE_OCKL_CHANGE(subtract, subtract)
HEDDLE_OCKL_CHANGE(and, bit_and)
HEDDLE_OCKL_CHANGE(or, bit_or)
HEDDLE_OCKL_CHANGE(xor, bit_xor)
HEDDLE_OCKL_CHANGE(exchange, exchange)
#undef HEDDLE_OCKL_CHANGE
HEDDLE_COMPAT_INLINE int64_t __ockl_hsa_signal_cas(hsa_signal_t signal, int64_t expected, int64_t value, int order) {
  return ::heddle::compat::compare_and_swap(::heddle::compat::value_of(signal), expected, value,
                                            ::heddle::compat::order_of_builtin(order), ::heddle::scope::system);
}
