// The end that opens ports: waves of a GPU, or any thread.
#pragma once

#include <heddle/rpc/port/opcode.h>
#include <heddle/rpc/port/port.h>

namespace heddle::rpc {

/// A view that can be copied into a kernel byte by byte.
template <typename Target, typename Check = unchecked>
class basic_client {
 public:
  using port = basic_port<Target, side::client, Check>;
  using end = typename port::end;

  /// As process::process. `rings`: behind which calls it rings the doorbell, on which a server may sleep; true: each.
  HEDDLE_FUNCTION basic_client(port_memory shared, uint32_t* own, layout shape, ringing rings = {})
      : end_(shared, own, shape), rings_(rings) {}

  /// Opens a port for the lanes that stand here together, and waits until there is one, or until the server has ended: then
  /// the port is not open. Nor is it where the wave has lanes that the layout has no packets for. The opcode is a template argument,
  /// so that the lanes of a call cannot disagree on it.
  ///
  /// Needs from the machine: where there are at least as many ports as calls at a time, no wave waits for another. With
  /// fewer, a wave waits for the holder of a port, which must then be guaranteed a turn. A server that waits inside a
  /// call for the client's next send serves no other client meanwhile: such calls need as many server threads as there
  /// are calls at a time, or clients that are guaranteed a turn.
  template <auto Opcode>
  HEDDLE_FUNCTION port open() const {
    // Taken once and passed down: lanes may come and go between two looks.
    return open_for(detail::checked_opcode<Opcode>(), Target::lane_mask());
  }
  /// As open(), for the lanes of `mask`, which all make this call, in place of those that happen to stand here together: a call that was meant
  /// for all lanes is one call, also where the compiler has taken them apart.
  template <auto Opcode>
  HEDDLE_FUNCTION port open(uint64_t mask) const {
    return open_for(detail::checked_opcode<Opcode>(), mask);
  }
  /// As open(), for an opcode of a user's that is known at run time: the same in all lanes of the call. In a checked build one that is reserved, or
  /// that lanes disagree on, stops the run; elsewhere the first lane's is asked.
  HEDDLE_FUNCTION port open(uint16_t opcode) const { return open(opcode, Target::lane_mask()); }
  HEDDLE_FUNCTION port open(uint16_t opcode, uint64_t mask) const {
    require<Target, Check>(!is_reserved(opcode), "an opcode below 32768 is reserved for the library");
    if constexpr (Check::enabled)
      require<Target, Check>(Target::ballot(mask, opcode == Target::broadcast(mask, uint32_t{opcode})) == mask,
                             "the lanes of a call disagree on its opcode");
    return open_for(opcode, mask);
  }

  /// As open(), of the one port that this wave's number names, and no other. Calls that a wave makes so are served in the order in which it makes
  /// them, also where it waits for no answer: the port opens again when the server has closed the call before. Waits for that, and for
  /// waves that share the port.
  template <auto Opcode>
  HEDDLE_FUNCTION port open_own() const {
    return open_for<of_wave>(detail::checked_opcode<Opcode>(), Target::lane_mask());
  }
  /// As open_own(), for the lanes of `mask`, which all make this call and are the only ones that ever have this port: there are at least as many
  /// ports as waves, each wave calls with one mask, and no other kernel has the client at the same time. The port is given back without a release,
  /// which on a GPU waits for the stores of the wave. A checked build stops the run where others hold the port; others that have had it are a
  /// race, which the simulator reports.
  template <auto Opcode>
  HEDDLE_FUNCTION port open_alone(uint64_t mask) const {
    return open_for<of_wave_alone>(detail::checked_opcode<Opcode>(), mask);
  }
  /// Waits until the server has closed every call that this wave has made through its own port: what was sent has been carried out. False
  /// where the server has ended before that.
  HEDDLE_FUNCTION bool wait_for_own() const {
    const uint64_t mask = Target::lane_mask();
    // Gathers what the lanes have seen of each other's calls.
    Target::sync_lanes(mask);
    uint32_t closed = 1;
    if (Target::is_first_lane(mask)) closed = own_is_closed() ? 1 : 0;
    closed = Target::broadcast(mask, closed);
    // The first lane's acquire reaches the other lanes.
    Target::sync_lanes(mask);
    return closed != 0;
  }

  /// Whether every port is idle; see process::all_idle.
  HEDDLE_FUNCTION bool all_idle() const { return end_.all_idle(); }
  HEDDLE_FUNCTION uint32_t port_count() const { return end_.port_count(); }

 private:
  /// Which ports a call may have.
  enum choice : uint8_t { any, of_wave, of_wave_alone };

  template <choice Which = any>
  HEDDLE_FUNCTION port open_for(uint16_t opcode, uint64_t mask) const {
    call_begins<Target>();
    require<Target, Check>(end_.lane_count() == max_lanes || mask >> end_.lane_count() == 0,
                           "a wave is wider than the packets of its client");
    uint64_t answer = 0;
    // Such a wave would write into other ports' packets.
    if (end_.lane_count() != max_lanes && mask >> end_.lane_count() != 0)
      answer = server_ended;
    else if (Target::is_first_lane(mask))
      answer = find<Which>(mask, opcode);
    answer = Target::broadcast(mask, answer);
    if (answer == server_ended) {
      call_ends<Target>(false);
      return port(end_, true);
    }
    // The first lane acquired the port's lock and its inbox; the barrier orders the other lanes after it.
    Target::sync_lanes(mask);
    return port(end_, {static_cast<uint32_t>(answer), own_state(static_cast<uint32_t>(answer >> 32)), mask, opcode},
                rings_, Which == of_wave_alone);
  }

  /// The index of a port that is now held and owned (low half) and what its state was (high half).
  template <choice Which>
  HEDDLE_FUNCTION uint64_t find(uint64_t mask, uint16_t opcode) const {
    const uint32_t ports = end_.port_count();
    const uint32_t looks = Which != any ? 1 : ports;
    // Any start is correct; waves that start apart do not contend for the same lock word.
    const uint32_t start = end_.port_of_wave();
    [[maybe_unused]] uint32_t watched = start;
    for (bool first_pass = true;; first_pass = false) {
      typename own_states<Target, Check>::group seen;
      for (uint32_t n = 0; n < looks; ++n) {
        const uint32_t index = start + n < ports ? start + n : start + n - ports;
        // The first pass locks at once, in the hope that a port is free. Later passes look before they lock: waves that wait for a port
        // then only read, a word for eight ports, and disturb no other wave.
        if (!first_pass && !is_free(index, seen)) continue;
        if (const uint64_t answer = try_take<Which>(index, mask, opcode)) return answer & ~taken;
      }
      if constexpr (Check::may_end) {
        // One port a pass: when one has ended the others do as soon as what was sent before is answered. Also ports that other waves hold, which
        // need not have a turn to give them back, and each in its turn: a server may wait in one. Nothing is read because of it, so that it
        // needs no acquire.
        if (mailboxes<Target, side::client>::has_ended(end_.boxes().load_inbox(watched))) return server_ended;
        if constexpr (Which == any) watched = watched + 1 < ports ? watched + 1 : 0;
      }
      Target::pause();
    }
  }

  /// Takes the port as find() does, and gives it back: its last holder, be it a lane of this wave that has not come so far, is done with it.
  HEDDLE_FUNCTION bool own_is_closed() const {
    const uint32_t index = end_.port_of_wave();
    const auto boxes = end_.boxes();
    for (bool first_pass = true;; first_pass = false) {
      typename own_states<Target, Check>::group seen;
      const own_state was = first_pass || is_free(index, seen) ? end_.states().try_lock(index) : held_by_another;
      if (!was.is_held()) {
        const bool is_back = !was.is_given() || boxes.owns(boxes.acquire_inbox(index), was.outbox());
        end_.states().unlock(index, was, is_back ? own_state(was.outbox(), false) : was);
        if (is_back) return true;
      }
      // Nothing is read because of it.
      if (Check::may_end && boxes.has_ended(boxes.load_inbox(index))) return false;
      Target::pause();
    }
  }
  static constexpr own_state held_by_another{own_state::held};

  /// In the client's own memory, but for a port whose last call was not waited for.
  HEDDLE_FUNCTION bool is_free(uint32_t index, typename own_states<Target, Check>::group& seen) const {
    const own_state mine = end_.states().look(index, seen);
    if (mine.is_held()) return false;
    return !mine.is_given() || end_.boxes().owns(end_.boxes().load_inbox(index), mine.outbox());
  }

  template <choice Which>
  HEDDLE_FUNCTION uint64_t try_take(uint32_t index, uint64_t mask, uint16_t opcode) const {
    const own_state was = end_.states().try_lock(index);
    if constexpr (Which == of_wave_alone)
      require<Target, Check>(!was.is_held(), "a port that some lanes are to have alone is held by others");
    if (was.is_held()) return 0;
    end_.boxes().bring_outbox(index);
    if (was.is_given()) {
      const auto boxes = end_.boxes();
      if (!boxes.owns(boxes.acquire_inbox(index), was.outbox())) {
        // An asynchronous call, whose client has left: the server still owns the packet.
        end_.states().unlock(index, was, was);
        return 0;
      }
      end_.rings().answered(rings_);
    }
    // Behind the server's last reads of the header: by that acquire, or by the one of the last call, which the lock hands on.
    header& to = end_.header_of(index);
    // Most calls ask for what the port's last one did. Where the other end has the line in its cache it keeps it so; over a link a look would cost more
    // than a store.
    if (!end::has_caches || to.mask != mask || to.opcode != opcode) {
      to.mask = mask;
      to.opcode = opcode;
    }
    return uint64_t{was.bits()} << 32 | index | taken;
  }

  /// Marks an answer that holds a port; above every port number.
  static constexpr uint64_t taken = uint64_t{1} << 31;
  /// In place of an answer. Has `taken`, which no answer of find has.
  static constexpr uint64_t server_ended = taken;

  end end_;
  ringing rings_;
};

}  // namespace heddle::rpc
