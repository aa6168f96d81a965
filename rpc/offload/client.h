// The end that asks: waves of a GPU, or any thread. (OpenMP, `target device(ancestor: 1)`; libgomp, GOMP_target_ext.)
#pragma once

#include <heddle/rpc/check.h>
#include <heddle/rpc/offload/ring.h>
#include <heddle/rpc/offload/single.h>

namespace heddle::rpc {

/// What call_words is answered.
struct offload_result {
  offload_status status;
  uint64_t value;  ///< the first word of the lane's line, as the function has left it
};

/// A view that can be copied into a kernel byte by byte. `Form` is single_mailbox or offload_ring; what progress each
/// needs is said there. A client cannot tell whether its server maps the memory or copies it.
template <typename Target, typename Form, typename Check = unchecked>
class basic_offload_client {
 public:
  /// `memory` is shape.size_bytes() of zeroed memory that both ends reach, or that only the device does and the server
  /// copies; `own` is one zeroed word that only the clients of this device use and that lives as long as they do.
  HEDDLE_FUNCTION basic_offload_client(void* memory, uint32_t* own, offload_layout shape)
      : turns_(memory, shape), own_(own) {
    require_layout<Target, Check>(shape.is_valid(), "entries are no power of two, or lanes too many");
  }

  /// Has the host run function number `function` for the lanes that stand here together: `fill(line, lane)` writes the
  /// request of each lane, `use(line, lane)` reads what the function has made of it. Lanes that name another function
  /// make another request. Waits for its turn, and for the answer, or until a server that may end has ended; `use` is not called unless the
  /// status is `done`.
  HEDDLE_CALLS_BACK
  template <typename Fill, typename Use>
  HEDDLE_FUNCTION offload_status call(uint64_t function, Fill&& fill, Use&& use) const {
    call_begins<Target>();
    const uint64_t mask = Target::lane_mask();
    offload_status answered = offload_status::none;
    bool waits = true;
    // A lane that has its answer stays in the loop until all have, held by the ballot of the whole mask. Where a wave has one program counter,
    // lanes that left it would call behind it, all at a time, and each request would wait for the others' to be given back.
    for (uint64_t left = mask; left != 0; left = Target::ballot(mask, waits)) {
      if (!waits) continue;
      const uint64_t first = Target::broadcast(left, function);
      const uint64_t same = Target::ballot(left, function == first);
      if (function != first) continue;
      answered = call_together(same, function, fill, use);
      waits = false;
    }
    call_ends<Target>(answered != offload_status::ended);
    return answered;
  }

  /// As call(), with up to six words as arguments, and one that comes back.
  template <typename... Words>
  HEDDLE_FUNCTION offload_result call_words(uint64_t function, Words... words) const {
    static_assert(sizeof...(Words) <= sizeof(offload_line::words) / sizeof(uint64_t), "a line has six words");
    uint64_t value = 0;
    const offload_status status = call(
        function,
        [&](offload_line& line, uint32_t) {
          uint32_t n = 0;
          ((line.words[n++] = static_cast<uint64_t>(words)), ...);
          line.payload_bytes = 0;
        },
        [&](offload_line& line, uint32_t) { value = line.words[0]; });
    return {status, value};
  }

 private:
  HEDDLE_CALLS_BACK
  template <typename Fill, typename Use>
  HEDDLE_FUNCTION offload_status call_together(uint64_t mask, uint64_t function, Fill& fill, Use& use) const {
    require<Target, Check>((mask & ~turns_.shape().lanes_that_exist()) == 0, "a wave is wider than its entries");
    const bool acts = Target::is_first_lane(mask);
    uint32_t ticket = 0;
    uint32_t taken = 0;
    if (acts) taken = Form::template take<Target, Check>(own_, turns_, ticket) ? 1 : 0;
    ticket = Target::broadcast(mask, ticket);
    if constexpr (Check::may_end) {
      if (Target::broadcast(mask, taken) == 0) return offload_status::ended;
    }
    // What the first lane acquired with the entry is handed on to the others.
    Target::sync_lanes(mask);
    const uint32_t entry = Form::entry_of(ticket, turns_.shape());
    for_each_lane<Target>(mask, with_line<Fill>{turns_, entry, fill});
    // Puts what every lane wrote before the first lane's release.
    Target::sync_lanes(mask);
    uint64_t status = 0;
    if (acts) status = ask(mask, function, ticket, entry);
    // Steers the wave, so it is the first lane's; and the answer that it acquired is handed on.
    status = Target::broadcast(mask, status);
    Target::sync_lanes(mask);
    const auto answered = static_cast<offload_status>(status);
    if (answered == offload_status::done) for_each_lane<Target>(mask, with_line<Use>{turns_, entry, use});
    Target::sync_lanes(mask);
    // Where the server has ended, the entry may still be in its hands; calls that wait for it see the end.
    if (acts && answered != offload_status::ended) Form::template give_back<Target, Check>(own_, turns_, ticket);
    return answered;
  }

  /// Posts the request of the whole mask and waits for its answer.
  HEDDLE_FUNCTION uint64_t ask(uint64_t mask, uint64_t function, uint32_t ticket, uint32_t entry) const {
    offload_header& header = turns_.header(entry);
    header.mask = mask;
    header.function = function;
    header.status = static_cast<uint64_t>(offload_status::none);
    const uint64_t posted = Form::posted_turn(ticket, turns_.shape());
    // An atomic load: no compiler would leave it out where nothing is checked.
    if constexpr (Check::enabled)
      require<Target, Check>(turns_.load(entry) == Form::free_turn(ticket, turns_.shape()),
                             "a request is posted into an entry that is in use");
    turns_.store(entry, posted);
    while (turns_.look(entry) != Form::turn_after(posted)) {
      if (turns_.template has_ended<Check>()) {
        // What was answered before the end is seen by another look.
        if (turns_.look(entry) == Form::turn_after(posted)) break;
        return static_cast<uint64_t>(offload_status::ended);
      }
      Target::pause();
    }
    turns_.acquire(entry);
    if constexpr (Check::enabled)
      require<Target, Check>(header.status != static_cast<uint64_t>(offload_status::none),
                             "a request is answered that nothing has looked at");
    return header.status;
  }

  /// A class, because nvcc's check cannot be switched off for a lambda.
  template <typename Function>
  struct with_line {
    const offload_turns<Target>& turns;
    uint32_t entry;
    Function& function;
    HEDDLE_CALLS_BACK
    HEDDLE_FUNCTION void operator()(uint32_t lane) const { function(turns.line(entry, lane), lane); }
  };

  offload_turns<Target> turns_;
  uint32_t* own_;
};

}  // namespace heddle::rpc
