// A recorded run as data, from which it is drawn: numbers where a report has words, and each text once.
#pragma once

#include <heddle/sim/code/source_line.h>
#include <heddle/sim/machine/operation.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::sim {

/// An edge of the wait graph at the end of a run.
/// wait_edge::why of one to a thread that copies there once what it waits for itself has ended.
inline constexpr const char* copied_behind_wait = "by a copy that comes behind what it waits for";

struct wait_edge {
  std::string from;  ///< "wave 1", "host server"; lanes of a wave where they wait for others of it
  std::string to;
  std::string over;        ///< what it waits for: "ports+0x80"
  uint32_t from_wave = 0;  ///< run_record::waves
  uint32_t to_wave = 0;
  bool supposed = false;  ///< no lane is known to store to what it waits for: each that is left may do so
  bool on_cycle = false;  ///< of any length, with supposed edges
  std::string why = {};   ///< what is known from other schedules; mostly empty
};

/// A wait that no other thread is known to end.
struct unknown_wait {
  std::string from;
  std::string over;
  std::string why;  ///< "which nothing has stored to"
  uint32_t from_wave = 0;
};

/// Why a lane is blocked.
enum class wait_reason : uint8_t {
  change,      ///< of something that it has read
  collective,  ///< lanes of its wave have not arrived
  barrier,     ///< lanes of its block have not arrived
  mutex,       ///< it is held
  device,      ///< a launch has not ended
  join,        ///< a host thread has not ended
  call,        ///< another call that blocks
  masked_off,  ///< other lanes of its wave have the program counter
  evicted,     ///< its wave is off the device
  notice,      ///< no other host thread has given notice
};

struct run_record {
  static constexpr uint32_t none = ~uint32_t{0};
  static constexpr uint64_t never = ~uint64_t{0};

  /// A wave of the device, or a host thread.
  struct wave {
    std::string name;  ///< "wave 1", "host server"
    bool host = false;
    uint32_t block = 0;
    uint64_t launched = 0;  ///< behind which step; of a host thread, when it was spawned
    bool placed = false;    ///< it has had its place on the device
    bool ended = false;
  };
  struct actor {
    std::string name;  ///< "wave 1 lane 0", "host server"
    uint32_t wave = 0;
    uint32_t lane = 0;
    uint64_t begun = 0;      ///< behind which step it could take one
    uint64_t ended = never;  ///< behind which step it was over
  };
  /// One performed operation.
  struct step {
    uint32_t actor = 0;
    uint32_t operation = none;  ///< texts: "load acquire system"
    operation_kind kind = operation_kind::none;
    uint32_t place = none;   ///< texts: "ports+0x80"
    uint32_t part = none;    ///< texts: "ring->tail", where its type is known and has parts
    uint32_t values = none;  ///< enumerations: what its values are called
    uint32_t calls = none;   ///< where in the source, in `call_chains`
    uint32_t size_bytes = 0;
    uint64_t address = 0;
    uint64_t value = 0;  ///< that was read or written; of a read-modify-write, that was found
    bool has_value = false;
    bool changes = false;  ///< memory holds something else than before
    bool is_old = false;   ///< of a load: a newer value was there
    bool lost = false;     ///< of a ring: it never arrives
    uint64_t after = 0;    ///< what memory holds behind it, where it changes it
    uint64_t reads =
        never;  ///< the step that stored what it has read; 0: what was there in the beginning; never: unknown
    uint64_t arrived =
        never;  ///< of a store or ring: the step behind which it was in memory; never: it was still under way
    uint64_t missed = never;  ///< of a load that `is_old`: the step of the newest store, where it is known
    uint64_t behind = never;  ///< of a store: the step of an earlier one that is newer in modification order
    bool spurious = false;    ///< a weak compare-exchange that failed spuriously
    bool woke = false;        ///< of a pause: its lane woke spuriously
  };
  /// A type whose values have names.
  struct enumeration {
    std::vector<std::pair<uint64_t, std::string>> enumerators;
    /// Empty where the value has none.
    std::string name_of(uint64_t value) const {
      for (const auto& [each, name] : enumerators)
        if (each == value) return name;
      return {};
    }
  };
  /// Memory, of at most 8 bytes, holds another value.
  struct change {
    uint64_t step = 0;  ///< from behind this one on
    uint32_t actor = 0;
    uint32_t place = none;  ///< texts
    uint64_t address = 0;
    uint32_t size_bytes = 0;
    uint64_t value = 0;
  };
  struct wait {
    uint32_t actor = 0;
    uint64_t from = 0;  ///< behind this step it waits
    uint64_t to = never;
    wait_reason why = wait_reason::change;
    uint32_t text = none;   ///< texts: what it waits for
    uint32_t calls = none;  ///< in `call_chains`
  };
  /// A wave or a queue has been evicted, or has come back.
  struct move {
    uint64_t step = 0;  ///< behind this one
    uint32_t wave = 0;  ///< the first of them
    bool leaves = false;
    std::string text;  ///< "the queue of stream 1 is taken off the device"
  };
  /// Slots of a protocol, as the program has named them (named_slots.h).
  struct slots {
    std::string name;
    std::string each;  ///< "port", "slot"
    uint32_t count = 0;
    uint32_t slots_per_word = 1;
    uint32_t locks_per_word = 32;
    bool four_phase = false;
    uint64_t client_outbox = 0;  ///< addresses
    uint64_t server_outbox = 0;
    uint64_t client_locks = 0;
    uint64_t server_locks = 0;
  };

  /// The race that ended the run, in steps.
  struct race {
    uint64_t first = 0;
    uint64_t second = 0;
    /// The edge that would have ordered them; never: none is known.
    uint64_t store = never;
    uint64_t load = never;
    /// The narrowest scopes that include both lanes: those of the accesses, and those of the edge.
    scope of_accesses = scope::system;
    scope of_edge = scope::system;
  };

  std::vector<std::string> texts;
  std::vector<std::vector<source_line>> call_chains;  ///< innermost first
  std::vector<enumeration> enumerations;
  std::vector<wave> waves;
  std::vector<actor> actors;
  uint64_t first_step = 1;  ///< number of steps[0]; those before it are left out
  std::vector<step> steps;
  std::vector<change> changes;  ///< in order; those of the steps that are left out too
  std::vector<wait> waits;      ///< in order of their beginnings
  std::vector<move> moves;      ///< in order
  std::vector<slots> named;
  std::optional<race> ended_by;
  std::vector<wait_edge> edges;       ///< the wait graph when the verdict was certain
  std::vector<unknown_wait> unknown;  ///< waits without an edge in it
  /// A cycle among `edges`, in order: the shortest of those that are known; else one with the fewest supposed edges, of these with the most that
  /// are known.
  std::vector<size_t> circle;
  /// The machine's answers other than the default, in order, each in a sentence; without choices of the actor.
  std::vector<std::string> odd;
  uint64_t judged = never;  ///< behind which step the hang was certain; what follows shows if other lanes could end it
};

}  // namespace heddle::sim
