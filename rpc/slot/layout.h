// Where mailboxes, masks and pages of slots lie in the one allocation that client and server share.
//
// In this order, each part on a cache line of its own: doorbell, the client's outbox, the server's outbox, the masks of
// the calls, the pages. A page has one line of 64 bytes for each lane.
#pragma once

#include <heddle/rpc/layout.h>

namespace heddle::rpc {

inline constexpr uint32_t max_slots = 65536;  ///< hostrpc's slot index has 16 bits

/// Offsets in bytes for `slots` slots of `lanes` lanes each, with mailboxes of the form `Form` (mailbox.h); slots in
/// [1, max_slots], lanes in [1, max_lanes].
template <typename Form>
struct slot_layout {
  uint32_t slots;
  uint32_t lanes;

  HEDDLE_FUNCTION constexpr bool is_valid() const {
    return slots != 0 && slots <= max_slots && lanes != 0 && lanes <= max_lanes;
  }
  HEDDLE_FUNCTION static constexpr size_t doorbell_offset() { return 0; }
  /// The word by which the server says that it has ended; in the doorbell's line.
  HEDDLE_FUNCTION static constexpr size_t end_offset() { return line_bytes / 2; }
  HEDDLE_FUNCTION static constexpr size_t client_outbox_offset() { return line_bytes; }
  HEDDLE_FUNCTION constexpr size_t server_outbox_offset() const { return client_outbox_offset() + mailbox_bytes(); }
  HEDDLE_FUNCTION constexpr size_t mask_offset() const { return server_outbox_offset() + mailbox_bytes(); }
  HEDDLE_FUNCTION constexpr size_t page_offset() const {
    return mask_offset() + whole_lines(size_t{slots} * sizeof(uint64_t));
  }
  /// The size of the shared allocation, which must be zeroed and aligned to line_bytes.
  HEDDLE_FUNCTION constexpr size_t size_bytes() const { return page_offset() + size_t{slots} * lanes * sizeof(packet); }
  /// Words of 32 bits that each side keeps in memory of its own: what it knows of its slots, eight to a word (rpc/own.h), then one in which a client
  /// counts rings.
  HEDDLE_FUNCTION constexpr size_t own_words() const { return last_own_index() + 1; }
  HEDDLE_FUNCTION constexpr size_t last_own_index() const { return (size_t{slots} + 7) / 8; }

 private:
  HEDDLE_FUNCTION constexpr size_t mailbox_bytes() const {
    const size_t words = (size_t{slots} + Form::slots_per_word - 1) / Form::slots_per_word;
    return whole_lines(words * sizeof(uint32_t));
  }
  HEDDLE_FUNCTION static constexpr size_t whole_lines(size_t bytes) {
    return (bytes + line_bytes - 1) / line_bytes * line_bytes;
  }
};

}  // namespace heddle::rpc
