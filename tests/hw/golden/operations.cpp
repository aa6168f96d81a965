// One kernel for each operation of a target, order and scope: what the compilers make of each is compared with *.expected.
//
// Each atomic operation stands between a plain store and a plain load, as in a hand-over: the AMD compiler waits only for what
// is outstanding. Plain accesses are 64 bits wide, atomic ones 32, so that the two can be told apart. Each lane has a word of
// its own, or the compiler would let one lane act for all.
#include <heddle/rpc/target.h>
#ifdef __CUDACC__
#include <heddle/hw/cuda/target.h>
using target = heddle::cuda::target;
#elif defined(__HIPCC__)
#include <heddle/hw/hip/target.h>
using target = heddle::hip::target;
#else
#include <heddle/hw/clang_gpu/target.h>
using target = heddle::clang_gpu::target;
#endif

using heddle::memory_order;
using heddle::scope;

struct operands {
  uint32_t* words;
  uint64_t* before;
  const uint64_t* after;
  uint64_t* results;
};

namespace {

template <scope Scope>
using word = target::atomic_ref<uint32_t, Scope>;

/// A store, the operation, a load; the results keep both alive.
template <typename Operation>
__device__ void hand_over(operands all, Operation operation) {
  const uint32_t lane = threadIdx.x;
  all.before[lane] = lane;
  const uint32_t result = operation(all.words[lane], lane);
  all.results[lane] = all.after[lane] + result;
}

}  // namespace

#define KERNEL(NAME, ...)                                                                              \
  extern "C" __global__ void NAME(operands all) {                                                      \
    hand_over(all, [](uint32_t& memory, [[maybe_unused]] uint32_t value) -> uint32_t { __VA_ARGS__ }); \
  }

#define LOAD(ORDER, SCOPE) KERNEL(load_##ORDER##_##SCOPE, return word<scope::SCOPE>(memory).load(memory_order::ORDER);)
#define STORE(ORDER, SCOPE) \
  KERNEL(store_##ORDER##_##SCOPE, word<scope::SCOPE>(memory).store(value, memory_order::ORDER); return 0;)
#define MODIFY(OPERATION, ORDER, SCOPE) \
  KERNEL(OPERATION##_##ORDER##_##SCOPE, return word<scope::SCOPE>(memory).OPERATION(value, memory_order::ORDER);)
#define COMPARE(ORDER, SCOPE)                                       \
  KERNEL(compare_exchange_##ORDER##_##SCOPE, uint32_t expected = 7; \
         word<scope::SCOPE>(memory).compare_exchange_strong(expected, value, memory_order::ORDER); return expected;)
#define FENCE(ORDER, SCOPE) \
  KERNEL(fence_##ORDER##_##SCOPE, (void)memory; target::fence<scope::SCOPE>(memory_order::ORDER); return 0;)

#define EVERY_ORDER(OPERATION, SCOPE) \
  MODIFY(OPERATION, relaxed, SCOPE)   \
  MODIFY(OPERATION, acquire, SCOPE)   \
  MODIFY(OPERATION, release, SCOPE)   \
  MODIFY(OPERATION, acq_rel, SCOPE)   \
  MODIFY(OPERATION, seq_cst, SCOPE)

#define EVERY_OPERATION(SCOPE)  \
  LOAD(relaxed, SCOPE)          \
  LOAD(acquire, SCOPE)          \
  LOAD(seq_cst, SCOPE)          \
  STORE(relaxed, SCOPE)         \
  STORE(release, SCOPE)         \
  STORE(seq_cst, SCOPE)         \
  EVERY_ORDER(exchange, SCOPE)  \
  EVERY_ORDER(fetch_or, SCOPE)  \
  EVERY_ORDER(fetch_and, SCOPE) \
  EVERY_ORDER(fetch_add, SCOPE) \
  COMPARE(relaxed, SCOPE)       \
  COMPARE(acquire, SCOPE)       \
  COMPARE(release, SCOPE)       \
  COMPARE(acq_rel, SCOPE)       \
  COMPARE(seq_cst, SCOPE)       \
  FENCE(relaxed, SCOPE)         \
  FENCE(acquire, SCOPE)         \
  FENCE(release, SCOPE)         \
  FENCE(acq_rel, SCOPE)         \
  FENCE(seq_cst, SCOPE)

EVERY_OPERATION(wave)
EVERY_OPERATION(block)
EVERY_OPERATION(device)
EVERY_OPERATION(system)

// Lanes and waiting. `mask` is an argument, so that nothing is known about it.

extern "C" __global__ void lane_mask(uint64_t* result) { result[threadIdx.x] = target::lane_mask(); }
extern "C" __global__ void lane_id(uint64_t* result) { result[threadIdx.x] = target::lane_id(); }
extern "C" __global__ void broadcast_32(uint64_t mask, uint64_t* result) {
  result[threadIdx.x] = target::broadcast(mask, static_cast<uint32_t>(result[threadIdx.x]));
}
extern "C" __global__ void broadcast_64(uint64_t mask, uint64_t* result) {
  result[threadIdx.x] = target::broadcast(mask, result[threadIdx.x]);
}
extern "C" __global__ void ballot(uint64_t mask, uint64_t* result) {
  result[threadIdx.x] = target::ballot(mask, result[threadIdx.x] > 5);
}
extern "C" __global__ void sync_lanes(uint64_t mask) { target::sync_lanes(mask); }
extern "C" __global__ void pause_once() { target::pause(); }
extern "C" __global__ void notify(heddle::doorbell* bells) { target::notify(bells[threadIdx.x]); }
extern "C" __global__ void trap_always() { target::trap(heddle::fault::assertion, "golden"); }
