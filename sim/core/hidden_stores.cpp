#include <heddle/sim/core/hidden_stores.h>
#include <heddle/sim/machine/lane.h>

namespace heddle::sim {
namespace {

constexpr size_t word_bytes = 4;

}  // namespace

void hidden_stores::note(lane& self, const void* address, size_t size_bytes, from what) {
  const auto first = reinterpret_cast<uintptr_t>(address);
  const bool is_words = first % word_bytes == 0 && size_bytes % word_bytes == 0 && size_bytes <= sizeof(uint64_t);
  // A store that covers a part of a word leaves the rest of it. One that covers many, or parts of two, is told by its first.
  const bool is_wide = first % word_bytes + size_bytes > word_bytes && !is_words;
  if (is_wide) what = from::anywhere;
  if (!is_words && what == from::lane) what = from::lane_and_place;
  const size_t words = is_words ? size_bytes / word_bytes : 1;
  const std::byte* const low = self.pending.private_state;
  for (size_t n = 0; n < words; ++n) {
    const uint64_t word = first / word_bytes + n;
    const auto [known, is_first] = last_.try_emplace(word);
    stored& there = known->second;
    key_maker now;
    now.add(word);
    now.add(first % word_bytes << 32 | size_bytes);
    now.add(self.id);
    now.add(self.operands[0]);
    now.bytes(low, static_cast<size_t>(self.runs.stack().high() - low));
    if (!is_first && (what == from::lane_and_place || there.is_wide)) {
      now.add(there.key.low);
      now.add(there.key.high);
    }
    if (what == from::anywhere) {
      now.add(all_.low);
      now.add(all_.high);
    }
    const state_key key = now.key();
    all_ = {.low = all_.low - there.key.low + key.low, .high = all_.high - there.key.high + key.high};
    there = {.key = key, .is_wide = is_wide || there.is_wide};
  }
}

}  // namespace heddle::sim
