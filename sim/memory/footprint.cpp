#include <heddle/sim/machine/lane.h>
#include <heddle/sim/memory/footprint.h>

namespace heddle::sim {
namespace {

constexpr size_t largest_atomic_bytes = 8;

/// A read-modify-write of an x86 is a full fence: what one of them makes seen, the next one sees, as if each wrote one word.
const void* const host_fences = reinterpret_cast<const void*>(uintptr_t{8});

/// An access of 16 bytes is two of scoped memory, and one of sequential consistency has its place among all others.
bool is_of_its_words_alone(const operation& made) {
  return made.order != memory_order::seq_cst && made.size_bytes <= largest_atomic_bytes;
}

}  // namespace

void footprint::add(const lane& self) {
  const operation& made = self.pending;
  switch (made.kind) {
    case operation_kind::plain_load:
    case operation_kind::plain_store:
      if (made.size_bytes != 0) add(made.address, made.size_bytes, made.kind == operation_kind::plain_store);
      return;
    case operation_kind::load:
    case operation_kind::volatile_load:
    case operation_kind::store:
    case operation_kind::volatile_store:
    case operation_kind::read_modify_write:
    case operation_kind::compare_exchange:
      if (!is_of_its_words_alone(made)) break;
      if (self.is_host() &&
          (made.kind == operation_kind::read_modify_write || made.kind == operation_kind::compare_exchange))
        add_write(host_fences, 1);
      return add(made.address, made.size_bytes, may_write(made.kind));
    case operation_kind::fence:
      if (made.order != memory_order::seq_cst) return;
      break;
    // What a lane that waits for memory has looked at is added where the step ends.
    case operation_kind::pause:
      return;
    // Nothing else has a part in them where the wave has one lane.
    case operation_kind::active_mask:
    case operation_kind::broadcast:
    case operation_kind::ballot:
    case operation_kind::sync_lanes:
    case operation_kind::shuffle:
      if (self.of->lanes.size() == 1) return;
      break;
    default:
      break;
  }
  told_ = false;
}

}  // namespace heddle::sim
