// What may overtake what on the link between host and device.
#pragma once

#include <heddle/sim/settings/link.h>

#include <cstdint>

namespace heddle::sim {

/// The kinds of packets that PCI Express orders against each other, within one traffic class.
enum class packet_kind : uint8_t {
  posted,      ///< a memory write, which has no answer
  read,        ///< asks for a completion
  atomic,      ///< an AtomicOp: non-posted, with data
  completion,  ///< the answer to a read or an atomic
};

struct packet {
  packet_kind kind = packet_kind::posted;
  bool from_device = true;  ///< the sender; a completion goes the same way as the posted writes of its sender
};

/// Whether the packet carries the attribute Relaxed Ordering. The host sets it on completions, and on writes behind a
/// bridge that reorders them.
constexpr bool is_relaxed(packet what, const link_settings& settings) {
  switch (what.kind) {
    case packet_kind::posted:
      return what.from_device ? settings.relaxed_ordering : settings.host_relaxed_ordering;
    case packet_kind::atomic:
      return what.from_device && settings.relaxed_ordering;
    case packet_kind::completion:
      return settings.completions_pass;
    case packet_kind::read:
      break;
  }
  return false;
}

/// Whether `behind` may overtake `ahead`, which goes in the same direction: the transaction ordering table of the PCI Express Base
/// Specification (section 2.4.1), without ID-based ordering.
///
///   behind \ ahead  posted        read  atomic  completion
///   posted          relaxed only  yes   yes     yes
///   read            no            yes   yes     yes
///   atomic          relaxed only  yes   yes     yes
///   completion      relaxed only  yes   yes     yes: ours answer different requests, each in one packet
constexpr bool may_pass(packet behind, packet ahead, const link_settings& settings) {
  if (ahead.kind != packet_kind::posted) return true;
  switch (behind.kind) {
    case packet_kind::posted:
    case packet_kind::atomic:
    case packet_kind::completion:
      return is_relaxed(behind, settings);
    case packet_kind::read:
      break;
  }
  return false;
}

}  // namespace heddle::sim
