// The machine that is this computer: host threads as lanes, or one thread that runs all lanes of a wave.
#pragma once

#include <heddle/hw/host/atomic.h>
#include <heddle/hw/host/position.h>
#include <heddle/hw/host/trap.h>
#include <heddle/hw/host/wait.h>
#include <heddle/rpc/target.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace heddle::host {

/// Copies to memory that another core reads next, past this one's caches where the processor has stores for it: the reader finds the lines in memory, where they stream, in place of
/// asking for each line that this core holds. `to` is aligned to 16 bytes. Ordered as other stores are when it returns.
inline void copy_past_caches(void* to, const void* from, size_t size_bytes) noexcept {
  size_t done = 0;
#ifdef __SSE2__
  constexpr size_t worth_it_bytes = 4096;
  if (size_bytes >= worth_it_bytes) {
    auto* const lines = static_cast<__m128i*>(to);
    const auto* const source = static_cast<const __m128i*>(from);
    for (; done + sizeof(__m128i) <= size_bytes; done += sizeof(__m128i))
      _mm_stream_si128(lines + done / sizeof(__m128i), _mm_loadu_si128(source + done / sizeof(__m128i)));
    // A release store does not wait for these stores: this does.
    _mm_sfence();
  }
#endif
  memcpy(static_cast<unsigned char*>(to) + done, static_cast<const unsigned char*>(from) + done, size_bytes - done);
}

/// Bit 0 of each of 16 neighbouring words, the first at the lowest bit. Relaxed loads; `words` is aligned to a cache line. Four words at a time where
/// the processor has that: an aligned load of 16 bytes takes each of its words whole (Intel SDM, volume 3, "Guaranteed Atomic Operations").
inline uint32_t low_bits(const uint32_t* words) noexcept {
#if defined(__SSE2__) && !defined(HEDDLE_THREAD_SANITIZER)
  // Others store there: what was loaded before says nothing.
  asm volatile("" ::: "memory");
  const auto* const fours = reinterpret_cast<const __m128i*>(words);
  const auto four = [fours](uint32_t n) { return _mm_slli_epi32(_mm_load_si128(fours + n), 31); };
  // The sign is what a narrower word keeps.
  const __m128i first = _mm_packs_epi32(four(0), four(1));
  const __m128i second = _mm_packs_epi32(four(2), four(3));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(first, second)));
#else
  uint32_t found = 0;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): loads alone
  auto* const loaded = const_cast<uint32_t*>(words);
  for (uint32_t n = 0; n < 16; ++n)
    found |= (atomic_ref<uint32_t, scope::system>(loaded[n]).load(memory_order::relaxed) & 1) << n;
  return found;
#endif
}

/// Bit `Bit` of each of 16 half bytes, the first at the lowest bit.
template <int Bit>
uint32_t bit_of_each_half(uint64_t halves) noexcept {
#if defined(__SSE2__) && defined(__x86_64__)
  // The sign of a byte is what a mask keeps.
  const __m128i eight = _mm_cvtsi64_si128(static_cast<int64_t>(halves));
  const __m128i sixteen = _mm_unpacklo_epi8(_mm_slli_epi64(eight, 7 - Bit), _mm_slli_epi64(eight, 3 - Bit));
  return static_cast<uint32_t>(_mm_movemask_epi8(sixteen));
#else
  // Knuth, The Art of Computer Programming, 7.1.3: compressing bits.
  halves = halves >> Bit & 0x1111111111111111;
  halves = (halves | halves >> 3) & 0x0303030303030303;
  halves = (halves | halves >> 6) & 0x000f000f000f000f;
  halves = (halves | halves >> 12) & 0x000000ff000000ff;
  return static_cast<uint32_t>((halves | halves >> 24) & 0xffff);
#endif
}

/// Hints: the line will be read, or will be written, by this processor. A line that another one has stored to and that is fetched to be read takes
/// a second way between them when it is written. x86-64 without an option for it has no builtin for the latter; every processor takes the instruction.
inline void bring(const void* line) noexcept { __builtin_prefetch(line, 0); }
inline void bring_to_write(void* line) noexcept {
#ifdef __x86_64__
  asm volatile("prefetchw (%0)" : : "r"(line));
#else
  __builtin_prefetch(line, 1);
#endif
}

/// A host thread that runs a wave of `Lanes` lanes (1 to 64) one after the other, as a server runs the lanes of a
/// request. What the members mean is said at heddle::target_machine.
template <uint32_t Lanes>
struct basic_target {
  static_assert(Lanes >= 1 && Lanes <= 64, "a mask has 64 bits");

  static uint64_t lane_mask() noexcept { return ~uint64_t{0} >> (64 - Lanes); }
  static uint32_t lane_id() noexcept { return 0; }
  static uint32_t lane_count() noexcept { return Lanes; }

  // The thread acts for every lane of every mask, so it is the first, agrees with itself, and never waits for itself.
  static bool is_first_lane(uint64_t) noexcept { return true; }
  static uint32_t broadcast(uint64_t, uint32_t value) noexcept { return value; }
  static uint64_t broadcast(uint64_t, uint64_t value) noexcept { return value; }
  static uint64_t ballot(uint64_t mask, bool vote) noexcept { return vote ? mask : 0; }
  static void sync_lanes(uint64_t) noexcept {}

  template <typename T, scope Scope>
  using atomic_ref = host::atomic_ref<T, Scope>;

  template <scope Scope>
  static void fence(memory_order order) noexcept {
    host::fence<Scope>(order);
  }

  /// Loads again: costs nothing here, and ThreadSanitizer understands it.
  template <scope Scope, typename T>
  static void acquire_seen(T& word) {
    (void)atomic_ref<T, Scope>(word).load(memory_order::acquire);
  }

  static uint32_t low_bits(const uint32_t* words) noexcept { return host::low_bits(words); }
  template <int Bit>
  static uint32_t bit_of_each_half(uint64_t halves) noexcept {
    return host::bit_of_each_half<Bit>(halves);
  }

  static void bring(const void* line) noexcept { host::bring(line); }
  static void bring_to_write(void* line) noexcept { host::bring_to_write(line); }

  static void copy_past_caches(void* to, const void* from, size_t size_bytes) noexcept {
    host::copy_past_caches(to, from, size_bytes);
  }

  /// Hints; a thread that no device has started is wave 0 of block 0.
  static uint32_t block_id() noexcept { return this_position.block; }
  static uint32_t wave_id() noexcept { return this_position.wave; }

  static void pause() noexcept { host::pause(); }
  static void notify(doorbell& bell) noexcept { host::ring(bell); }
  static void wait(doorbell& bell, uint32_t seen, uint64_t timeout_ns) noexcept {
    host::sleep_until_rung(bell, seen, timeout_ns);
  }

  [[noreturn]] static void trap(fault reason, const char* message) { host::trap(reason, message); }
  static bool is_device() noexcept { return false; }
};

/// One lane per thread.
using target = basic_target<1>;

/// The same beside a GPU, which rings doorbells but can wake no thread.
struct polling_target : target {
  static void wait(doorbell& bell, uint32_t seen, uint64_t timeout_ns) {
    host::poll_until_rung(bell, seen, timeout_ns);
  }
};

}  // namespace heddle::host
