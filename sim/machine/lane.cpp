#include <heddle/scheduler/printable.h>
#include <heddle/sim/machine/frames.h>
#include <heddle/sim/machine/lane.h>

#include <algorithm>

namespace heddle::sim {

std::string name_of(const wave& who) {
  if (who.copies || who.named) return scheduler::printable(who.name);
  if (who.host) return "host " + scheduler::printable(who.name);
  return "wave " + std::to_string(who.device_id);
}

std::string name_of(const lane& who) {
  if (who.is_host() || who.of->named) return name_of(*who.of);
  return name_of(*who.of) + " lane " + std::to_string(who.index);
}

call_chain calls_of(const lane& who, const operation& next) {
  call_chain calls = {next.place};
  size_t n = 0;
  for_each_frame(who, next.frame, [&](void* const* frame) {
    if (return_address(frame) == nullptr) return false;
    if (n != 0) calls[n] = returns_to(who, frame);
    return ++n < calls.size();
  });
  return calls;
}

call_chain calls_of(const lane& who) { return calls_of(who, who.pending); }

stack_frame frame_around(const lane& who, const void* address) {
  stack_frame found;
  const auto* const wanted = static_cast<const std::byte*>(address);
  for_each_frame(who, who.pending.frame, [&](void* const* frame) {
    const auto* const outer = static_cast<const std::byte*>(outer_frame(frame));
    if (return_address(frame) == nullptr || !who.runs.stack().holds_frame(outer) ||
        wanted < reinterpret_cast<const std::byte*>(frame))
      return false;
    // Behind the outer frame pointer come the address to return to and the frame that called.
    if (wanted >= outer + 2 * sizeof(void*)) return true;
    found = {.returns_to = returns_to(who, frame), .frame_pointer = outer};
    return false;
  });
  return found;
}

bool detour_return(lane& self, const operation& next, const void* place) {
  if (detour_address() == nullptr) return false;
  for_each_frame(self, next.frame, [&](void* const* frame) {
    if (return_address(frame) != place) return true;
    self.assumed.returns_to = place;
    const_cast<const void*&>(reinterpret_cast<const void* const&>(frame[1])) = detour_address();
    return false;
  });
  return self.assumed.returns_to != nullptr;
}

std::string lanes_in(uint64_t mask) {
  std::string text;
  for (uint32_t lane = 0; lane < 64; ++lane) {
    if (((mask >> lane) & 1) == 0) continue;
    uint32_t last = lane;
    while (last < 63 && ((mask >> (last + 1)) & 1) != 0) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(lane);
    if (last > lane) text += '-' + std::to_string(last);
    lane = last;
  }
  return (mask & (mask - 1)) == 0 ? "lane " + text : "lanes " + text;
}

uint64_t awaited_lanes(const wave& of, const open_collective& open) {
  if (!open.without_ended) return open.mask;
  const uint64_t there = of.lanes.size() < 64 ? (uint64_t{1} << of.lanes.size()) - 1 : ~uint64_t{0};
  return open.mask & there & ~of.ended_mask;
}

// Equal bytes, equal digest; the two halves of a 128-bit product mix well and cost one multiplication (the idea of wyhash).
#if defined(__GNUC__)
__attribute__((no_sanitize("address")))
#endif
uint64_t
digest_of(const std::byte* low, const std::byte* high) {
  uint64_t state = 0x9e3779b97f4a7c15u;
  for (; low + sizeof(uint64_t) <= high; low += sizeof(uint64_t)) {
    uint64_t word = *reinterpret_cast<const volatile uint64_t*>(low);
    __extension__ using wide = unsigned __int128;
    const wide product = static_cast<wide>(word ^ state) * 0xa0761d6478bd642fu;
    state = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ word;
  }
  return state;
}

uint64_t digest_of_private_state(const lane& who) {
  const uint64_t digest = digest_of(who.private_state, who.runs.stack().high());
  return who.at_clock.guard_rounds == 0 ? digest : (digest ^ who.at_clock.guard_rounds) * 0x9e3779b97f4a7c15;
}

#if defined(__GNUC__)
__attribute__((no_sanitize("address")))
#endif
void
lane::share_frames(const void* from, const void* live) {
  const auto low = reinterpret_cast<uintptr_t>(private_low);
  const uintptr_t lowest = std::max(low, reinterpret_cast<uintptr_t>(live));
  uintptr_t first = reinterpret_cast<uintptr_t>(from) & ~uintptr_t{7};
  if (first < low) return;
  // What was shared before has been looked at, and what was stored there since, too.
  for (uintptr_t looked_at = low + private_bytes; first < looked_at;) {
    uintptr_t pointed = first;
    for (uintptr_t at = first; at + sizeof(uintptr_t) <= looked_at; at += sizeof(uintptr_t)) {
      const uintptr_t word = *reinterpret_cast<const volatile uintptr_t*>(at);
      if (word >= lowest && word < pointed) pointed = word & ~uintptr_t{7};
    }
    private_bytes = first - low;
    looked_at = first;
    first = pointed;
  }
}

}  // namespace heddle::sim
