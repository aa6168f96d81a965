// One end of the slot protocol: where everything is, seen from that end. One class serves both.
#pragma once

#include <heddle/rpc/mailbox.h>
#include <heddle/rpc/own.h>
#include <heddle/rpc/ringing.h>
#include <heddle/rpc/slot/layout.h>
#include <heddle/rpc/slot/mailbox.h>
#include <heddle/rpc/wait.h>

namespace heddle::rpc {

/// A view: it owns nothing, copies name the same slots, and it can be passed to a kernel byte by byte.
template <typename Target, side Side, typename Form, typename Check>
class slot_end {
 public:
  /// `shared` is shape.size_bytes() of zeroed memory that both ends reach; `own` is shape.own_words() zeroed words that only this end uses and
  /// that live as long as it does. On a device they lie in its own memory.
  HEDDLE_FUNCTION slot_end(void* shared, uint32_t* own, slot_layout<Form> shape)
      : shape_(shape), base_(static_cast<unsigned char*>(shared)), own_(own) {
    require_layout<Target, Check>(shape.is_valid(), "a layout has no slots or no lanes, or more than there may be");
  }

  HEDDLE_FUNCTION uint32_t slot_count() const { return shape_.slots; }
  HEDDLE_FUNCTION uint32_t lane_count() const { return shape_.lanes; }
  HEDDLE_FUNCTION uint64_t lanes_that_exist() const {
    return shape_.lanes == max_lanes ? ~uint64_t{0} : (uint64_t{1} << shape_.lanes) - 1;
  }

  HEDDLE_FUNCTION own_states<Target, Check> states() const { return own_states<Target, Check>(own_); }

  HEDDLE_FUNCTION slot_mailboxes<Target, Form> boxes() const {
    auto* const of_client = reinterpret_cast<uint32_t*>(base_ + slot_layout<Form>::client_outbox_offset());
    auto* const of_server = reinterpret_cast<uint32_t*>(base_ + shape_.server_outbox_offset());
    if constexpr (Side == side::client) return slot_mailboxes<Target, Form>(of_server, of_client);
    return slot_mailboxes<Target, Form>(of_client, of_server);
  }

  /// The lanes that make the call in the slot; the client's first lane writes it before it posts.
  HEDDLE_FUNCTION uint64_t& mask_of(uint32_t slot) const {
    return reinterpret_cast<uint64_t*>(base_ + shape_.mask_offset())[slot];
  }
  /// A lane's line of the slot's page.
  HEDDLE_FUNCTION packet& line_of(uint32_t slot, uint32_t lane) const {
    return reinterpret_cast<packet*>(base_ + shape_.page_offset())[uint64_t{slot} * shape_.lanes + lane];
  }
  HEDDLE_FUNCTION doorbell& bell() const {
    return *reinterpret_cast<doorbell*>(base_ + slot_layout<Form>::doorbell_offset());
  }

  /// Where a client counts its rings.
  HEDDLE_FUNCTION ring_count<Target> rings() const {
    static_assert(Side == side::client, "a server rings for nothing");
    return ring_count<Target>(own_ + shape_.last_own_index());
  }

  /// Where Check::may_end.
  HEDDLE_FUNCTION end_word<Target> ending() const {
    static_assert(Check::may_end, "only a server whose clients expect it may end: may_end_and<Check>");
    return end_word<Target>(*reinterpret_cast<uint32_t*>(base_ + slot_layout<Form>::end_offset()));
  }

  /// Posts, and gives the slot back. For the first lane, which holds the lock, behind a sync_lanes that gathers the others.
  HEDDLE_FUNCTION void post(uint32_t slot, bool value) const {
    if constexpr (Check::enabled) {
      require<Target, Check>(states().peek_held(slot), "a slot is posted by an end that does not hold it");
      require<Target, Check>(boxes().peek_outbox(slot) != value, "a slot is posted twice");
    }
    boxes().post(slot, value);
  }

  /// For a server: posts that a request has no answer, and gives the slot back.
  HEDDLE_FUNCTION void refuse(uint32_t slot) const {
    if constexpr (Form::tells_of_refusals) {
      boxes().refuse(slot);
    } else {
      // No call has no lanes.
      mask_of(slot) = 0;
      post(slot, true);
    }
  }
  /// For a client, behind the inbox word by which the slot has come back: whether that is so.
  HEDDLE_FUNCTION bool is_refused(uint32_t slot, uint32_t inbox_word) const {
    if constexpr (Form::tells_of_refusals) return Form::is_refused(inbox_word);
    return mask_of(slot) == 0;
  }

  /// Whether every slot is back where it started and not held at this end. To be asked when both ends are quiescent.
  HEDDLE_FUNCTION bool all_idle() const {
    for (uint32_t slot = 0; slot < shape_.slots; ++slot) {
      const own_state mine = states().look(slot);
      if (boxes().load_inbox(slot) || boxes().load_outbox(slot) || mine.outbox() != 0 || mine.is_held()) return false;
    }
    return true;
  }

 private:
  slot_layout<Form> shape_;
  unsigned char* base_;
  uint32_t* own_;
};

/// Calls `function(line, lane)`, with a lane's line of a page. A class, because nvcc's check cannot be switched off for a lambda.
template <typename End, typename Function>
struct with_line {
  const End& end;
  uint32_t slot;
  Function& function;
  HEDDLE_CALLS_BACK
  HEDDLE_FUNCTION void operator()(uint32_t lane) const { function(end.line_of(slot, lane), lane); }
};

}  // namespace heddle::rpc
