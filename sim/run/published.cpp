#include <heddle/sim/code/unread_result.h>
#include <heddle/sim/run/assumptions.h>
#include <heddle/sim/run/execution.h>
#include <heddle/sim/run/published.h>

namespace heddle::sim {
namespace {

bool looks_at_nothing(run_core& core, lane& self) {
  const void* const place = self.pending.place;
  if (const auto known = remembered_as_unread(place)) return *known;
  bool is_unread = false;
  core.aside(self, [&] { is_unread = is_result_unread(place); });
  return is_unread;
}

}  // namespace

void look_at_published(execution& here, lane& self) {
  if (here.assumes()) assume(here, self);
  run_core& core = here.core();
  const operation& next = self.pending;
  if (!core.phase.in_tail || next.address == nullptr || next.size_bytes == 0) return;
  const bool counts = next.kind == operation_kind::read_modify_write && next.size_bytes <= sizeof(uint64_t) &&
                      looks_at_nothing(core, self);
  if (counts)
    core.states.note_count(next.address, next.size_bytes);
  else
    core.states.note_look(next.address, next.size_bytes);
}

}  // namespace heddle::sim
