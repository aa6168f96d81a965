#include <heddle/sim/core/hidden_stores.h>
#include <heddle/sim/machine/lane.h>

namespace heddle::sim {

void hidden_stores::note(lane& self, const void* address) {
  key_maker now;
  const auto granule = reinterpret_cast<uintptr_t>(address) / 8;
  now.add(granule);
  now.add(self.operands[0]);
  const std::byte* const low = self.pending.private_state;
  now.bytes(low, static_cast<size_t>(self.runs.stack().high() - low));
  const auto [known, first] = last.try_emplace(granule, self.id);
  const bool own = first || known->second == self.id;
  known->second = self.id;
  state_key& into = own ? self.hidden : order;
  now.add(into.low);
  now.add(into.high);
  now.add(self.id);
  into = now.key();
}

}  // namespace heddle::sim
