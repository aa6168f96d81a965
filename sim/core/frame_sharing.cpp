#include <heddle/sim/core/frame_sharing.h>
#include <heddle/sim/core/run_core.h>

#include <algorithm>
#include <cstring>

namespace heddle::sim {
namespace {

template <typename Each>
void for_each_word(const void* object, size_t size_bytes, const Each& each) {
  for (size_t at = 0; at + sizeof(void*) <= size_bytes; at += sizeof(void*)) {
    const void* word = nullptr;
    std::memcpy(&word, static_cast<const std::byte*>(object) + at, sizeof word);
    each(word);
  }
}

}  // namespace

void frame_sharing::let_go(lane& self, const void* stored, size_t size_bytes, const void* live) {
  for_each_word(stored, size_bytes, [&](const void* word) {
    if (self.is_private(word)) [[unlikely]]
      give(self, word, live);
  });
}

void frame_sharing::give(lane& self, const void* from, const void* live) {
  if (!self.is_host() || from < live || !self.is_private(from)) return;
  const std::byte* const end = self.private_end();
  self.share_frames(from, live);
  if (core_.late != nullptr) core_.late->gives_frames(self, self.private_end(), end);
}

void frame_sharing::give_any(lane& self, const void* address) {
  if (!core_.map.is_on_host_stack(address)) return;
  lane* const owner = core_.threads.owner_of_frame(address);
  if (owner == &self)
    give(self, address, self.pending.private_state);
  else if (owner != nullptr)
    reach(*owner, address);
}

void frame_sharing::give_captured(lane& self, const void* object, size_t size_bytes) {
  for_each_word(object, size_bytes, [&](const void* word) { give_any(self, word); });
}

void frame_sharing::expect(lane& self, const void* address, const void* live) {
  const std::byte* const old_end = self.private_end();
  self.share_frames(address, live);
  known_block& known = self.expects.known;
  const std::byte* const end = known.first == nullptr ? old_end : known.first + known.size_bytes;
  known = {self.private_end(), static_cast<uint32_t>(end - self.private_end())};
}

void frame_sharing::reach(lane& owner, const void* address) {
  if (!owner.expects.known.contains(address) && !owner.is_private(address)) return;
  want_seen(owner, address);
  owner.share_frames(address, owner.pending.private_state);
}

void frame_sharing::open(lane& self, const void* memory, size_t size_bytes, const void* live) {
  if (!core_.map.is_on_host_stack(memory)) return;
  if (self.is_on_stack(memory))
    give(self, memory, live);
  else
    give_any(self, memory);
  open_.push_back({static_cast<const std::byte*>(memory), size_bytes});
}

void frame_sharing::close(const void* memory) {
  std::erase_if(open_, [&](const range& each) { return each.first == memory; });
}

bool frame_sharing::are_open(const void* address) const {
  return std::ranges::any_of(open_, [&](const range& each) {
    return static_cast<size_t>(static_cast<const std::byte*>(address) - each.first) < each.size_bytes;
  });
}

bool frame_sharing::tell(state_reader& to) const {
  return std::ranges::all_of(open_, [&](const range& each) {
    return to.fact(reinterpret_cast<uintptr_t>(each.first)) && to.fact(each.size_bytes);
  });
}

void frame_sharing::want_seen(const lane& owner, const void* address) {
  if (core_.notes == nullptr) return;
  const auto below_end = static_cast<size_t>(owner.runs.stack().high() - static_cast<const std::byte*>(address));
  core_.notes->frame_bytes = std::max(core_.notes->frame_bytes, below_end);
}

}  // namespace heddle::sim
