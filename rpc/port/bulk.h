// One buffer of a whole wave, through the port's staging area.
//
// The size travels in the first word of the first lane's packet. Each hand-over brings as much as the staging area holds, as it lies in the
// buffer, and the other end uses it where it lies.
#pragma once

#include <heddle/rpc/port/port.h>

namespace heddle::rpc {

namespace detail {

/// What a lane moves at a time: one store over the link.
struct alignas(16) two_words {
  uint64_t words[2];
};

/// `size_bytes` from one place to another, of which `to` is aligned to 16 bytes and may be written up to the next multiple of 16. By the lanes of the mask
/// in turns, or by the one thread that runs them all.
template <typename Target>
HEDDLE_FUNCTION inline void copy_together(uint64_t mask, void* to, const void* from, uint64_t size_bytes) {
  if (!Target::is_device()) {
    if constexpr (requires { Target::copy_past_caches(to, from, size_bytes); })
      Target::copy_past_caches(to, from, size_bytes);
    else
      __builtin_memcpy(to, from, size_bytes);
    return;
  }
  const uint64_t lanes = stage::lanes_in(mask);
  const uint64_t mine = stage::lanes_in(mask & ((uint64_t{1} << Target::lane_id()) - 1));
  const uint64_t whole = size_bytes / sizeof(two_words);
  auto* const into = static_cast<two_words*>(to);
  if (reinterpret_cast<uintptr_t>(from) % sizeof(two_words) == 0) {
    const auto* const out_of = static_cast<const two_words*>(from);
    uint64_t n = mine;
    // Four at a time, so that the loads are on their way together.
    for (; n + 3 * lanes < whole; n += 4 * lanes) {
      const two_words first = out_of[n];
      const two_words second = out_of[n + lanes];
      const two_words third = out_of[n + 2 * lanes];
      const two_words fourth = out_of[n + 3 * lanes];
      into[n] = first;
      into[n + lanes] = second;
      into[n + 2 * lanes] = third;
      into[n + 3 * lanes] = fourth;
    }
    for (; n < whole; n += lanes) into[n] = out_of[n];
  } else {
    const auto* const out_of = static_cast<const unsigned char*>(from);
    for (uint64_t n = mine; n < whole; n += lanes) {
      two_words both;
      __builtin_memcpy(&both, out_of + n * sizeof both, sizeof both);
      into[n] = both;
    }
  }
  const uint64_t left = size_bytes % sizeof(two_words);
  if (left == 0 || mine != 0) return;
  two_words last{};
  __builtin_memcpy(&last, static_cast<const unsigned char*>(from) + whole * sizeof last, left);
  into[whole] = last;
}

}  // namespace detail

template <typename Target, side Side, typename Check>
HEDDLE_FUNCTION stream_result basic_port<Target, Side, Check>::send_all(const void* data, uint64_t size_bytes,
                                                                        uint64_t bound_bytes) {
  const uint64_t each_bytes = end_.stage_bytes() / sizeof(detail::two_words) * sizeof(detail::two_words);
  require<Target, Check>(each_bytes != 0, "a buffer of a whole wave needs a staging area of 16 bytes or more");
  stream_result result;
  if (ended_) return result;
  if (size_bytes > bound_bytes || each_bytes == 0) result.refused = mask_;
  const uint64_t streamed = result.ok() ? size_bytes : 0;
  // Without a staging area no data comes: then the size is one that the other end refuses too.
  const uint64_t named = each_bytes == 0 ? ~uint64_t{0} : size_bytes;
  auto* const area = reinterpret_cast<unsigned char*>(end_.template stage_of<Side>(index_));
  uint64_t sent = 0;
  do {
    if (!owns_) {
      take();
      if (ended_) return result;
      expect_received();
      // As send() would have it: the other end has given the packet back, with the staging area.
      received_ = true;
    }
    const uint64_t left = streamed - sent;
    const uint64_t piece_bytes = left < each_bytes ? left : each_bytes;
    if (piece_bytes != 0)
      detail::copy_together<Target>(mask_, area, static_cast<const unsigned char*>(data) + sent, piece_bytes);
    send([&](auto& to, uint32_t) {
      if (sent == 0) to.words[0] = named;
    });
    sent += piece_bytes;
  } while (!ended_ && sent < streamed);
  return result;
}

HEDDLE_CALLS_BACK
template <typename Target, side Side, typename Check>
template <typename Use>
HEDDLE_FUNCTION stream_result basic_port<Target, Side, Check>::recv_all(Use&& use, uint64_t bound_bytes) {
  const uint64_t each_bytes = end_.stage_bytes() / sizeof(detail::two_words) * sizeof(detail::two_words);
  const auto* const area = reinterpret_cast<const unsigned char*>(end_.template stage_of<other(Side)>(index_));
  stream_result result;
  uint64_t total = 0;
  uint64_t received = 0;
  bool is_first = true;
  do {
    recv([&](auto& from, uint32_t lane) {
      // Of the mask's first lane, and once: the other end may be hostile, and must not name another size behind the check.
      if (is_first && ((mask_ >> lane) << lane == mask_ || Target::is_device()))
        total = *static_cast<const volatile uint64_t*>(&from.words[0]);
    });
    if (ended_) return result;
    if (is_first) {
      // The first lane's reading counts, or a hostile end could part the wave.
      total = Target::broadcast(mask_, total);
      if (total > bound_bytes || each_bytes == 0) {
        result.refused = mask_;
        return result;
      }
      is_first = false;
    }
    const uint64_t left = total - received;
    const bytes_piece piece{area, left < each_bytes ? left : each_bytes, received, total};
    use(piece);
    // What each lane has read of the piece comes before the hand-over that gives it back.
    Target::sync_lanes(mask_);
    received += piece.size_bytes;
  } while (received < total);
  return result;
}

}  // namespace heddle::rpc
