#include <heddle/sim/memory/link/orders.h>

namespace heddle::sim {
namespace {

/// What a device does before a store that releases.
void release_before(transport& link, uint32_t thread, ordering how) {
  if (!how.releases()) return;
  if (how.is_system()) link.fence(thread);
  link.publish(thread);
}

}  // namespace

uint64_t ordered_load(transport& link, uint32_t thread, const transport::access& what, ordering how) {
  if (link.is_host(thread)) return link.load(thread, what, true);
  if (how.is_total() && how.is_system()) link.fence(thread);
  const uint64_t value = link.load(thread, what, how.acquires() && how.is_system());
  if (how.acquires()) link.take_published(thread);
  return value;
}

void ordered_store(transport& link, uint32_t thread, const transport::access& what, uint64_t value, ordering how) {
  if (!link.is_host(thread)) {
    release_before(link, thread, how);
    return link.store(thread, what, value, how.releases() && how.is_system());
  }
  link.store(thread, what, value, how.releases());
  if (how.is_total()) link.fence(thread);
}

std::optional<uint64_t> ordered_modify(transport& link, uint32_t thread, const transport::access& what,
                                       const modification& next, bool is_atomic_op, ordering how) {
  if (link.is_host(thread)) return link.modify(thread, what, next, is_atomic_op);
  release_before(link, thread, how);
  const std::optional<uint64_t> old = link.modify(thread, what, next, is_atomic_op);
  if (how.acquires() && how.is_system()) link.see_present(thread);
  if (how.acquires()) link.take_published(thread);
  return old;
}

void ordered_fence(transport& link, uint32_t thread, ordering how) {
  if (link.is_host(thread)) {
    if (how.is_total()) link.fence(thread);
    return;
  }
  if (how.is_system()) link.fence(thread);
  if (how.releases() || how.is_system()) link.publish(thread);
  if (how.acquires() || how.is_system()) link.take_published(thread);
}

}  // namespace heddle::sim
