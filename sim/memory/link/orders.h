// What memory orders and scopes are made of on the link.
//
// The host is an x86: every store is a release and every load an acquire, and only sequential consistency costs something. On the
// device a release or fence of system scope acts on the link; of narrower scopes it orders lanes of the device, and is nothing to
// the link. A device's acquire of system scope waits for its answer, and so does every read-modify-write across the link.
#pragma once

#include <heddle/rpc/target.h>
#include <heddle/sim/memory/link/transport.h>

namespace heddle::sim {

struct ordering {
  memory_order order = memory_order::relaxed;
  scope reach = scope::system;

  bool acquires() const {
    return order == memory_order::acquire || order == memory_order::acq_rel || order == memory_order::seq_cst;
  }
  bool releases() const {
    return order == memory_order::release || order == memory_order::acq_rel || order == memory_order::seq_cst;
  }
  bool is_total() const { return order == memory_order::seq_cst; }
  bool is_system() const { return reach == scope::system; }
};

uint64_t ordered_load(transport& link, uint32_t thread, const transport::access& what, ordering how);
void ordered_store(transport& link, uint32_t thread, const transport::access& what, uint64_t value, ordering how);
/// Returns the old value; nothing when the link refuses (transport::refuses).
std::optional<uint64_t> ordered_modify(transport& link, uint32_t thread, const transport::access& what,
                                       const modification& next, bool is_atomic_op, ordering how);
void ordered_fence(transport& link, uint32_t thread, ordering how);

}  // namespace heddle::sim
