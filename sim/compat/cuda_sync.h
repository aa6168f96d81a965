// <cuda/barrier>, <cuda/latch>, <cuda/semaphore> and <cuda/pipeline> on the simulator. (libcu++, "Extended API: Synchronization Primitives".)
// Each is a few words that are read and written atomically, as a program could have it; a wait is a loop that looks.
#pragma once

#include <heddle/sim/compat/cuda_atomic.h>
#include <heddle/sim/compat/groups.h>
#include <heddle/sim/compat/ptx/async.h>

#include <cstddef>
#include <limits>
#include <new>

namespace cuda {

/// (libcu++, "cuda::barrier".) An mbarrier: its word counts arrivals, and bytes that copies bring.
template <thread_scope Scope, typename Completion = void>
class barrier {
  using mbarrier_scope = ::std::conditional_t<
      Scope == thread_scope_system, ::heddle::ptx::m_sys,
      ::std::conditional_t<Scope == thread_scope_device, ::heddle::ptx::m_gpu, ::heddle::ptx::m_cta>>;

 public:
  class arrival_token {
   public:
    arrival_token() = default;

   private:
    friend class barrier;
    explicit arrival_token(uint64_t state) : state_(state) {}
    uint64_t state_ = 0;
  };

  barrier() = default;
  HEDDLE_COMPAT_INLINE explicit barrier(::std::ptrdiff_t expected) { start(expected); }
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;

  HEDDLE_COMPAT_INLINE friend void init(barrier* which, ::std::ptrdiff_t expected) { which->start(expected); }

  [[nodiscard]] HEDDLE_COMPAT_INLINE arrival_token arrive(::std::ptrdiff_t count = 1) {
    return arrival_token(change(static_cast<uint32_t>(count), 0, 0));
  }
  HEDDLE_COMPAT_INLINE void wait(arrival_token&& token) const { wait_for(token.state_); }
  HEDDLE_COMPAT_INLINE bool try_wait(arrival_token&& token) const { return is_over(phase_of(token.state_)); }
  HEDDLE_COMPAT_INLINE void wait_parity(bool parity) const {
    while (!is_over(parity ? 1 : 0)) ::heddle::sim::runtime::pause();
  }
  HEDDLE_COMPAT_INLINE bool try_wait_parity(bool parity) const { return is_over(parity ? 1 : 0); }
  HEDDLE_COMPAT_INLINE void arrive_and_wait() { wait_for(change(1, 0, 0)); }
  HEDDLE_COMPAT_INLINE void arrive_and_drop() { change(1, 1, 0); }
  static constexpr ::std::ptrdiff_t max() noexcept { return (1 << 20) - 1; }

  /// What <cuda/barrier> has beside the class.
  HEDDLE_COMPAT_INLINE uint64_t* heddle_word() { return &word_; }
  HEDDLE_COMPAT_INLINE arrival_token heddle_arrive_tx(uint32_t count, uint32_t bytes) {
    return arrival_token(change(count, 0, bytes));
  }
  HEDDLE_COMPAT_INLINE void heddle_expect_tx(uint32_t bytes) { change(0, 0, bytes); }

 private:
  HEDDLE_COMPAT_INLINE void start(::std::ptrdiff_t expected) {
    ::heddle::ptx::mbarrier::init(&word_, static_cast<uint32_t>(expected));
  }
  HEDDLE_COMPAT_INLINE uint64_t change(uint32_t arrivals, uint32_t dropped, uint32_t more_bytes) {
    return ::heddle::ptx::mbarrier::change<::heddle::ptx::m_release, mbarrier_scope>(&word_, arrivals, dropped,
                                                                                     more_bytes);
  }
  HEDDLE_COMPAT_INLINE bool is_over(uint32_t parity) const {
    return ::heddle::ptx::mbarrier::is_over<::heddle::ptx::m_acquire, mbarrier_scope>(const_cast<uint64_t*>(&word_),
                                                                                      parity);
  }
  HEDDLE_COMPAT_INLINE static uint32_t phase_of(uint64_t state) { return ::heddle::ptx::mbarrier::phase_of(state); }
  HEDDLE_COMPAT_INLINE void wait_for(uint64_t state) const {
    while (!is_over(phase_of(state))) ::heddle::sim::runtime::pause();
  }

  uint64_t word_;
};

template <thread_scope Scope>
class latch {
 public:
  latch() = default;
  HEDDLE_COMPAT_INLINE explicit latch(::std::ptrdiff_t expected) : left_(expected) {}
  latch(const latch&) = delete;
  latch& operator=(const latch&) = delete;
  HEDDLE_COMPAT_INLINE friend void init(latch* which, ::std::ptrdiff_t expected) {
    which->left_.store(expected, memory_order_relaxed);
  }
  HEDDLE_COMPAT_INLINE void count_down(::std::ptrdiff_t count = 1) { left_.fetch_sub(count, memory_order_release); }
  HEDDLE_COMPAT_INLINE bool try_wait() const { return left_.load(memory_order_acquire) == 0; }
  HEDDLE_COMPAT_INLINE void wait() const {
    while (!try_wait()) ::heddle::sim::runtime::pause();
  }
  HEDDLE_COMPAT_INLINE void arrive_and_wait(::std::ptrdiff_t count = 1) {
    count_down(count);
    wait();
  }

 private:
  atomic<::std::ptrdiff_t, Scope> left_;
};

template <thread_scope Scope, ::std::ptrdiff_t Most = ::std::numeric_limits<::std::ptrdiff_t>::max()>
class counting_semaphore {
 public:
  counting_semaphore() = default;
  HEDDLE_COMPAT_INLINE explicit counting_semaphore(::std::ptrdiff_t count) : count_(count) {}
  counting_semaphore(const counting_semaphore&) = delete;
  counting_semaphore& operator=(const counting_semaphore&) = delete;
  static constexpr ::std::ptrdiff_t max() noexcept { return Most; }
  HEDDLE_COMPAT_INLINE void release(::std::ptrdiff_t count = 1) { count_.fetch_add(count, memory_order_release); }
  HEDDLE_COMPAT_INLINE bool try_acquire() {
    ::std::ptrdiff_t found = count_.load(memory_order_relaxed);
    while (found > 0)
      if (count_.compare_exchange_weak(found, found - 1, memory_order_acquire, memory_order_relaxed)) return true;
    return false;
  }
  HEDDLE_COMPAT_INLINE void acquire() {
    while (!try_acquire()) ::heddle::sim::runtime::pause();
  }

 private:
  atomic<::std::ptrdiff_t, Scope> count_;
};
template <thread_scope Scope>
using binary_semaphore = counting_semaphore<Scope, 1>;

/// As many bytes, which lie at a multiple of so many.
template <::std::size_t Alignment>
struct aligned_size_t {
  static constexpr ::std::size_t align = Alignment;
  ::std::size_t value;
  constexpr explicit aligned_size_t(::std::size_t bytes) : value(bytes) {}
  constexpr operator ::std::size_t() const { return value; }
};

// -- pipelines: a copy is made when its thread waits for its stage, so that a read before that is seen to be wrong

enum class pipeline_role { producer, consumer };
template <thread_scope Scope, ::std::uint8_t Stages>
struct pipeline_shared_state {
  barrier<Scope> full[Stages];
  barrier<Scope> empty[Stages];
};

template <thread_scope Scope>
class pipeline;

/// Of one thread, by itself.
template <>
class pipeline<thread_scope_thread> {
 public:
  HEDDLE_COMPAT_INLINE void producer_acquire() {}
  HEDDLE_COMPAT_INLINE void producer_commit() {
    copies_.commit();
    ++committed_;
  }
  HEDDLE_COMPAT_INLINE void consumer_wait() {
    ++waited_;
    copies_.wait(committed_ - waited_);
  }
  HEDDLE_COMPAT_INLINE void wait_prior(uint32_t but) {
    waited_ = committed_ - but;
    copies_.wait(but);
  }
  HEDDLE_COMPAT_INLINE void consumer_release() {}
  HEDDLE_COMPAT_INLINE bool quit() { return true; }
  HEDDLE_COMPAT_INLINE void heddle_add(void* to, const void* from, size_t bytes) { copies_.add_bytes(to, from, bytes); }

 private:
  ::heddle::ptx::async_copies copies_;
  uint32_t committed_ = 0;
  uint32_t waited_ = 0;
};
HEDDLE_COMPAT_INLINE pipeline<thread_scope_thread> make_pipeline() { return {}; }

template <size_t Prior>
HEDDLE_COMPAT_INLINE void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>& of) {
  of.wait_prior(Prior);
}
HEDDLE_COMPAT_INLINE void memcpy_async(void* to, const void* from, ::std::size_t bytes,
                                       pipeline<thread_scope_thread>& in) {
  in.heddle_add(to, from, bytes);
}
/// The bytes are cut among the threads of the group.
template <typename Group>
  requires requires(const Group& group) { group.thread_rank(); }
HEDDLE_COMPAT_INLINE void memcpy_async(const Group& group, void* to, const void* from, ::std::size_t bytes,
                                       pipeline<thread_scope_thread>& in) {
  constexpr ::std::size_t part = 16;
  for (::std::size_t at = group.thread_rank() * part; at < bytes; at += group.size() * part)
    in.heddle_add(static_cast<char*>(to) + at, static_cast<const char*>(from) + at,
                  bytes - at < part ? bytes - at : part);
}

/// Of a block whose threads are producers or consumers: a copy arrives at the barrier of its stage.
template <>
class pipeline<thread_scope_block> {
 public:
  template <::std::uint8_t Stages>
  HEDDLE_COMPAT_INLINE pipeline(pipeline_shared_state<thread_scope_block, Stages>* state, bool produces, bool consumes)
      : full_(state->full), empty_(state->empty), stages_(Stages), produces_(produces), consumes_(consumes) {}
  HEDDLE_COMPAT_INLINE void producer_acquire() {
    // In the first round there is nothing to wait for.
    if (produced_ >= stages_) empty_[produced_ % stages_].wait_parity(((produced_ / stages_ - 1) & 1) != 0);
  }
  HEDDLE_COMPAT_INLINE void producer_commit() {
    if (produces_) (void)full_[produced_ % stages_].arrive();
    ++produced_;
  }
  HEDDLE_COMPAT_INLINE void consumer_wait() {
    full_[consumed_ % stages_].wait_parity(((consumed_ / stages_) & 1) != 0);
  }
  HEDDLE_COMPAT_INLINE void consumer_release() {
    if (consumes_) (void)empty_[consumed_ % stages_].arrive();
    ++consumed_;
  }
  HEDDLE_COMPAT_INLINE bool quit() { return true; }
  HEDDLE_COMPAT_INLINE uint64_t* heddle_word() { return full_[produced_ % stages_].heddle_word(); }

 private:
  barrier<thread_scope_block>* full_;
  barrier<thread_scope_block>* empty_;
  uint32_t stages_;
  bool produces_;
  bool consumes_;
  uint32_t produced_ = 0;
  uint32_t consumed_ = 0;
};

namespace detail {

template <::std::uint8_t Stages>
HEDDLE_COMPAT_INLINE pipeline<thread_scope_block> made_pipeline(
    const ::cooperative_groups::thread_block& group, pipeline_shared_state<thread_scope_block, Stages>* state,
    unsigned int producers, unsigned int consumers, bool produces, bool consumes) {
  if (group.thread_rank() == 0)
    for (::std::uint8_t n = 0; n < Stages; ++n) {
      init(&state->full[n], producers);
      init(&state->empty[n], consumers);
    }
  group.sync();
  return {state, produces, consumes};
}

}  // namespace detail

template <::std::uint8_t Stages>
HEDDLE_COMPAT_INLINE pipeline<thread_scope_block> make_pipeline(
    const ::cooperative_groups::thread_block& group, pipeline_shared_state<thread_scope_block, Stages>* state) {
  return detail::made_pipeline(group, state, group.size(), group.size(), true, true);
}
template <::std::uint8_t Stages>
HEDDLE_COMPAT_INLINE pipeline<thread_scope_block> make_pipeline(
    const ::cooperative_groups::thread_block& group, pipeline_shared_state<thread_scope_block, Stages>* state,
    pipeline_role role) {
  const auto producers = static_cast<unsigned int>(__syncthreads_count(role == pipeline_role::producer ? 1 : 0));
  return detail::made_pipeline(group, state, producers, group.size() - producers, role == pipeline_role::producer,
                               role == pipeline_role::consumer);
}

namespace detail {

template <typename Group>
HEDDLE_COMPAT_INLINE void copy_share(const Group& group, void* to, const void* from, ::std::size_t bytes) {
  const auto misaligned = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes;
  const ::std::size_t part = misaligned % 8 == 0 ? 8 : misaligned % 4 == 0 ? 4 : 1;
  for (::std::size_t at = group.thread_rank() * part; at < bytes; at += group.size() * part) {
    if (part == 8)
      *reinterpret_cast<uint64_t*>(static_cast<char*>(to) + at) =
          *reinterpret_cast<const uint64_t*>(static_cast<const char*>(from) + at);
    else if (part == 4)
      *reinterpret_cast<uint32_t*>(static_cast<char*>(to) + at) =
          *reinterpret_cast<const uint32_t*>(static_cast<const char*>(from) + at);
    else
      static_cast<char*>(to)[at] = static_cast<const char*>(from)[at];
  }
}
struct only_thread {
  static constexpr unsigned int thread_rank() { return 0; }
  static constexpr unsigned int size() { return 1; }
};
/// The barrier waits for what is copied beside the threads: pieces of 4 bytes from global memory to that of the block, for a barrier there. All else
/// is copied at once. (libcu++, "cuda::memcpy_async".)
template <typename Group>
HEDDLE_COMPAT_INLINE void copy_beside(const Group& group, void* to, const void* from, ::std::size_t bytes,
                                      uint64_t* barrier) {
  const auto is_of_block = [](const void* at) {
    return ::heddle::ptx::i_isspacep<::heddle::ptx::m_shared>(reinterpret_cast<uintptr_t>(at));
  };
  const auto misaligned = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes;
  if (misaligned % 4 != 0 || !is_of_block(to) || !is_of_block(barrier) ||
      !::heddle::ptx::i_isspacep<::heddle::ptx::m_global>(reinterpret_cast<uintptr_t>(from)))
    return copy_share(group, to, from, bytes);
  // Which thread has which bytes copied is not said.
  constexpr ::std::size_t least = 128;
  const ::std::size_t equal = (bytes / group.size() + least) / least * least;
  const ::std::size_t first = group.thread_rank() * equal;
  if (first >= bytes) return;
  const ::std::size_t share = bytes - first < equal ? bytes - first : equal;
  ::heddle::ptx::mbarrier::copy_beside(static_cast<char*>(to) + first, static_cast<const char*>(from) + first,
                                       static_cast<uint32_t>(share), barrier);
}

}  // namespace detail

HEDDLE_COMPAT_INLINE void memcpy_async(void* to, const void* from, ::std::size_t bytes,
                                       pipeline<thread_scope_block>& in) {
  detail::copy_beside(detail::only_thread(), to, from, bytes, in.heddle_word());
}
template <typename Group>
  requires requires(const Group& group) { group.thread_rank(); }
HEDDLE_COMPAT_INLINE void memcpy_async(const Group& group, void* to, const void* from, ::std::size_t bytes,
                                       pipeline<thread_scope_block>& in) {
  detail::copy_beside(group, to, from, bytes, in.heddle_word());
}
template <thread_scope Scope>
HEDDLE_COMPAT_INLINE void memcpy_async(void* to, const void* from, ::std::size_t bytes, barrier<Scope>& arrives) {
  detail::copy_beside(detail::only_thread(), to, from, bytes, arrives.heddle_word());
}
template <typename Group, thread_scope Scope>
  requires requires(const Group& group) { group.thread_rank(); }
HEDDLE_COMPAT_INLINE void memcpy_async(const Group& group, void* to, const void* from, ::std::size_t bytes,
                                       barrier<Scope>& arrives) {
  detail::copy_beside(group, to, from, bytes, arrives.heddle_word());
}

/// Copies in bulk for a barrier of a block, and what its threads say of them. (libcu++, "cuda::device::memcpy_async_tx", "barrier_arrive_tx"; CUDA C++
/// Programming Guide, "Asynchronous Data Copies using the Tensor Memory Accelerator".)
namespace device {

HEDDLE_COMPAT_INLINE ::std::uint64_t* barrier_native_handle(barrier<thread_scope_block>& of) {
  return of.heddle_word();
}
[[nodiscard]] HEDDLE_COMPAT_INLINE barrier<thread_scope_block>::arrival_token barrier_arrive_tx(
    barrier<thread_scope_block>& of, ::std::ptrdiff_t count, ::std::ptrdiff_t bytes) {
  return of.heddle_arrive_tx(static_cast<uint32_t>(count), static_cast<uint32_t>(bytes));
}
HEDDLE_COMPAT_INLINE void barrier_expect_tx(barrier<thread_scope_block>& of, ::std::ptrdiff_t bytes) {
  of.heddle_expect_tx(static_cast<uint32_t>(bytes));
}
template <typename T, ::std::size_t Alignment>
HEDDLE_COMPAT_INLINE void memcpy_async_tx(T* to, const T* from, aligned_size_t<Alignment> bytes,
                                          barrier<thread_scope_block>& of) {
  static_assert(Alignment >= 16, "cuda::device::memcpy_async_tx: the bytes lie at multiples of 16");
  ::heddle::ptx::bulk::load(to, const_cast<T*>(from), static_cast<uint32_t>(bytes.value), of.heddle_word());
}

namespace experimental {

HEDDLE_COMPAT_INLINE void cp_async_bulk_global_to_shared(void* to, const void* from, ::std::uint32_t bytes,
                                                         barrier<thread_scope_block>& of) {
  ::heddle::ptx::bulk::load(to, const_cast<void*>(from), bytes, of.heddle_word());
}
HEDDLE_COMPAT_INLINE void cp_async_bulk_shared_to_global(void* to, const void* from, ::std::uint32_t bytes) {
  ::heddle::ptx::bulk::store(to, const_cast<void*>(from), bytes);
}
HEDDLE_COMPAT_INLINE void cp_async_bulk_commit_group() { ::heddle::ptx::bulk::commit(); }
template <int But>
HEDDLE_COMPAT_INLINE void cp_async_bulk_wait_group_read() {
  ::heddle::ptx::bulk::wait(But, true);
}
HEDDLE_COMPAT_INLINE void fence_proxy_async_shared_cta() {
  ::heddle::ptx::i_fence<::heddle::ptx::m_proxy, ::heddle::ptx::m_async, ::heddle::ptx::m_shared__cta>();
}

}  // namespace experimental
}  // namespace device

namespace std {

template <typename Completion = void>
using barrier = ::cuda::barrier<thread_scope_system, Completion>;
using latch = ::cuda::latch<thread_scope_system>;
template <::std::ptrdiff_t Most = ::std::numeric_limits<::std::ptrdiff_t>::max()>
using counting_semaphore = ::cuda::counting_semaphore<thread_scope_system, Most>;
using binary_semaphore = ::cuda::binary_semaphore<thread_scope_system>;

}  // namespace std
}  // namespace cuda
