// The instructions of litmus tables on each machine, exactly as a row has them, and the frame that litmus_generate fills with them.
//
// A body has the pointers a, b, c and the registers r0, r1, r2. Nothing may be put between its instructions, or moved past one.
#pragma once

#include <heddle/hw/litmus/row.h>

#include <initializer_list>

// Code that runs on the device alone.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define HEDDLE_LITMUS_DEVICE __device__
#else
#define HEDDLE_LITMUS_DEVICE
#endif

#define HEDDLE_LITMUS_KEEP asm volatile("" ::: "memory");

// -- the host, an x86: MOV, locked operations and fences; atomic ones as the compiler maps them ----------------------------------------

#define HEDDLE_ORDER_relaxed __ATOMIC_RELAXED
#define HEDDLE_ORDER_acquire __ATOMIC_ACQUIRE
#define HEDDLE_ORDER_release __ATOMIC_RELEASE
#define HEDDLE_ORDER_acq_rel __ATOMIC_ACQ_REL
#define HEDDLE_ORDER_sc __ATOMIC_SEQ_CST

#define HEDDLE_HOST_MOV_LOAD(R, P) asm volatile("movl %1, %0" : "=r"(R) : "m"(*(P)) : "memory");
#define HEDDLE_HOST_MOV_STORE(P, V) asm volatile("movl %1, %0" : "=m"(*(P)) : "r"(V) : "memory");
#define HEDDLE_HOST_LOCK_XCHG(R, P, V) \
  R = (V);                             \
  asm volatile("xchgl %0, %1" : "+r"(R), "+m"(*(P))::"memory");
#define HEDDLE_HOST_LOCK_XADD(R, P, V) \
  R = (V);                             \
  asm volatile("lock xaddl %0, %1" : "+r"(R), "+m"(*(P))::"memory", "cc");
#define HEDDLE_HOST_MFENCE() asm volatile("mfence" ::: "memory");
#define HEDDLE_HOST_SFENCE() asm volatile("sfence" ::: "memory");
#define HEDDLE_HOST_LOAD(O, S, R, P)        \
  R = __atomic_load_n(P, HEDDLE_ORDER_##O); \
  HEDDLE_LITMUS_KEEP
#define HEDDLE_HOST_STORE(O, S, P, V)       \
  __atomic_store_n(P, V, HEDDLE_ORDER_##O); \
  HEDDLE_LITMUS_KEEP
#define HEDDLE_HOST_EXCHANGE(O, S, R, P, V)        \
  R = __atomic_exchange_n(P, V, HEDDLE_ORDER_##O); \
  HEDDLE_LITMUS_KEEP
#define HEDDLE_HOST_ADD(O, S, R, P, V)            \
  R = __atomic_fetch_add(P, V, HEDDLE_ORDER_##O); \
  HEDDLE_LITMUS_KEEP
#define HEDDLE_HOST_COMPARE_EXCHANGE(O, S, R, P, V, D)                              \
  R = (V);                                                                          \
  __atomic_compare_exchange_n(P, &R, D, false, HEDDLE_ORDER_##O, __ATOMIC_RELAXED); \
  HEDDLE_LITMUS_KEEP
#define HEDDLE_HOST_FENCE(O, S) __atomic_thread_fence(HEDDLE_ORDER_##O);

// -- an NVIDIA GPU: PTX, a row's instruction as it is written -------------------------------------------------------------------------

#if defined(__CUDACC__)
#define HEDDLE_DEVICE_LOAD(O, S, R, P) asm volatile("ld." #O "." #S ".u32 %0, [%1];" : "=r"(R) : "l"(P) : "memory");
#define HEDDLE_DEVICE_WEAK_LOAD(R, P) asm volatile("ld.weak.u32 %0, [%1];" : "=r"(R) : "l"(P) : "memory");
#define HEDDLE_DEVICE_STORE(O, S, P, V) asm volatile("st." #O "." #S ".u32 [%0], %1;" ::"l"(P), "r"(V) : "memory");
#define HEDDLE_DEVICE_WEAK_STORE(P, V) asm volatile("st.weak.u32 [%0], %1;" ::"l"(P), "r"(V) : "memory");
#define HEDDLE_DEVICE_EXCHANGE(O, S, R, P, V) \
  asm volatile("atom." #O "." #S ".exch.b32 %0, [%1], %2;" : "=r"(R) : "l"(P), "r"(V) : "memory");
#define HEDDLE_DEVICE_ADD(O, S, R, P, V) \
  asm volatile("atom." #O "." #S ".add.u32 %0, [%1], %2;" : "=r"(R) : "l"(P), "r"(V) : "memory");
#define HEDDLE_DEVICE_COMPARE_EXCHANGE(O, S, R, P, V, D) \
  asm volatile("atom." #O "." #S ".cas.b32 %0, [%1], %2, %3;" : "=r"(R) : "l"(P), "r"(V), "r"(D) : "memory");
#define HEDDLE_DEVICE_FENCE(O, S) asm volatile("fence." #O "." #S ";" ::: "memory");
#elif defined(__HIPCC__)
// -- an AMD GPU: the builtins of which the compiler makes its memory model's sequences ------------------------------------------------
#define HEDDLE_SCOPE_cta __HIP_MEMORY_SCOPE_WORKGROUP
#define HEDDLE_SCOPE_gpu __HIP_MEMORY_SCOPE_AGENT
#define HEDDLE_SCOPE_sys __HIP_MEMORY_SCOPE_SYSTEM
#define HEDDLE_FENCE_cta "workgroup"
#define HEDDLE_FENCE_gpu "agent"
#define HEDDLE_FENCE_sys ""
#define HEDDLE_DEVICE_LOAD(O, S, R, P)                          \
  R = __hip_atomic_load(P, HEDDLE_ORDER_##O, HEDDLE_SCOPE_##S); \
  HEDDLE_LITMUS_KEEP
#define HEDDLE_DEVICE_WEAK_LOAD(R, P) \
  R = *(P);                           \
  HEDDLE_LITMUS_KEEP
#define HEDDLE_DEVICE_STORE(O, S, P, V)                         \
  __hip_atomic_store(P, V, HEDDLE_ORDER_##O, HEDDLE_SCOPE_##S); \
  HEDDLE_LITMUS_KEEP
#define HEDDLE_DEVICE_WEAK_STORE(P, V) \
  *(P) = (V);                          \
  HEDDLE_LITMUS_KEEP
#define HEDDLE_DEVICE_EXCHANGE(O, S, R, P, V)                          \
  R = __hip_atomic_exchange(P, V, HEDDLE_ORDER_##O, HEDDLE_SCOPE_##S); \
  HEDDLE_LITMUS_KEEP
#define HEDDLE_DEVICE_ADD(O, S, R, P, V)                                \
  R = __hip_atomic_fetch_add(P, V, HEDDLE_ORDER_##O, HEDDLE_SCOPE_##S); \
  HEDDLE_LITMUS_KEEP
#define HEDDLE_DEVICE_COMPARE_EXCHANGE(O, S, R, P, V, D)                                                \
  R = (V);                                                                                              \
  __hip_atomic_compare_exchange_strong(P, &R, D, HEDDLE_ORDER_##O, __ATOMIC_RELAXED, HEDDLE_SCOPE_##S); \
  HEDDLE_LITMUS_KEEP
#define HEDDLE_DEVICE_FENCE(O, S)                             \
  __builtin_amdgcn_fence(HEDDLE_ORDER_##O, HEDDLE_FENCE_##S); \
  HEDDLE_LITMUS_KEEP
#else
// -- a device that is played on the host ----------------------------------------------------------------------------------------------
#define HEDDLE_DEVICE_LOAD HEDDLE_HOST_LOAD
#define HEDDLE_DEVICE_WEAK_LOAD HEDDLE_HOST_MOV_LOAD
#define HEDDLE_DEVICE_STORE HEDDLE_HOST_STORE
#define HEDDLE_DEVICE_WEAK_STORE HEDDLE_HOST_MOV_STORE
#define HEDDLE_DEVICE_EXCHANGE HEDDLE_HOST_EXCHANGE
#define HEDDLE_DEVICE_ADD HEDDLE_HOST_ADD
#define HEDDLE_DEVICE_COMPARE_EXCHANGE HEDDLE_HOST_COMPARE_EXCHANGE
#define HEDDLE_DEVICE_FENCE HEDDLE_HOST_FENCE
#endif

// -- the frame ------------------------------------------------------------------------------------------------------------------------

#define HEDDLE_LIST(...) {__VA_ARGS__}
#define HEDDLE_LITMUS_BODY_OF(...)                                            \
  [[maybe_unused]] uint32_t r0 = 0;                                           \
  [[maybe_unused]] uint32_t r1 = 0;                                           \
  [[maybe_unused]] uint32_t r2 = 0;                                           \
  __VA_ARGS__                                                                 \
  return static_cast<uint8_t>(r0 | r1 << heddle::machine_litmus::value_bits | \
                              r2 << 2 * heddle::machine_litmus::value_bits);

#define HEDDLE_LITMUS_ARGUMENTS [[maybe_unused]] uint32_t *a, [[maybe_unused]] uint32_t *b, [[maybe_unused]] uint32_t *c

/// run_host_body(number, loop) calls loop(body) once, so that each body gets a loop of its own.
#define HEDDLE_LITMUS_HOST_BODIES_BEGIN            \
  namespace heddle::machine_litmus {               \
  template <typename Loop>                         \
  void run_host_body(uint32_t number, Loop loop) { \
    switch (number) {
#define HEDDLE_LITMUS_HOST_BODY(NUMBER, ...)                                             \
  case NUMBER:                                                                           \
    loop([](HEDDLE_LITMUS_ARGUMENTS) -> uint8_t { HEDDLE_LITMUS_BODY_OF(__VA_ARGS__) }); \
    return;
#define HEDDLE_LITMUS_HOST_BODIES_END \
  default:                            \
    __builtin_unreachable();          \
    }                                 \
    }                                 \
    }

/// run_device_body(number, a, b, c): the registers, as a batch keeps them. All lanes of a wave give the same number. With
/// HEDDLE_LITMUS_GOLDEN each body is a kernel instead, for tests/hw/golden.
#ifdef HEDDLE_LITMUS_GOLDEN
#define HEDDLE_LITMUS_DEVICE_BODIES_BEGIN
#define HEDDLE_LITMUS_DEVICE_BODY(NUMBER, ...)                                                        \
  extern "C" __global__ void body_##NUMBER(HEDDLE_LITMUS_ARGUMENTS, uint8_t *result) {                \
    *result = [](HEDDLE_LITMUS_ARGUMENTS) -> uint8_t { HEDDLE_LITMUS_BODY_OF(__VA_ARGS__) }(a, b, c); \
  }
#define HEDDLE_LITMUS_DEVICE_BODIES_END
#else
#define HEDDLE_LITMUS_DEVICE_BODIES_BEGIN                                                         \
  namespace heddle::machine_litmus {                                                              \
  HEDDLE_LITMUS_DEVICE inline uint8_t run_device_body(uint32_t number, HEDDLE_LITMUS_ARGUMENTS) { \
    switch (number) {
#define HEDDLE_LITMUS_DEVICE_BODY(NUMBER, ...) \
  case NUMBER: {                               \
    HEDDLE_LITMUS_BODY_OF(__VA_ARGS__)         \
  }
#define HEDDLE_LITMUS_DEVICE_BODIES_END \
  }                                     \
  return 0;                             \
  }                                     \
  }
#endif

#define HEDDLE_LITMUS_ROWS_BEGIN                              \
  namespace heddle::machine_litmus {                          \
  template <typename T>                                       \
  constexpr uint32_t count_of(std::initializer_list<T> all) { \
    return static_cast<uint32_t>(all.size());                 \
  }                                                           \
  inline constexpr row rows[] = {
#define HEDDLE_LITMUS_ROW(NAME, EXPECTED, PROGRAM, OUTCOME, THREADS, NAMES, ASKED, HOLDS) \
  {NAME,                                                                                  \
   EXPECTED,                                                                              \
   PROGRAM,                                                                               \
   OUTCOME,                                                                               \
   count_of<row_thread>(THREADS),                                                         \
   THREADS,                                                                               \
   count_of<const char *>(NAMES),                                                         \
   NAMES,                                                                                 \
   ASKED,                                                                                 \
   [](const final_state &seen) { return HOLDS; }},
#define HEDDLE_LITMUS_ROWS_END \
  }                            \
  ;                            \
  }
