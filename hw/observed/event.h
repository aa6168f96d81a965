// What the flight recorder keeps: a bounded log for each actor, an actor being a lane of a launch or a host thread.
//
// A log has two parts. What the watchdog reads while the actor runs lies in memory that host and device share; what the actor keeps
// for itself lies where that is near.
#pragma once

#include <heddle/rpc/target.h>
#include <stdint.h>

namespace heddle::observed {

enum class operation : uint8_t { load, store, modify, notify };

/// What sort of operation an event is; one word in the log.
struct operation_sort {
  operation kind;
  memory_order order;
  scope reach;
  uint8_t size_bytes;

  HEDDLE_FUNCTION constexpr uint32_t packed() const {
    return static_cast<uint32_t>(kind) | static_cast<uint32_t>(order) << 8 | static_cast<uint32_t>(reach) << 16 |
           static_cast<uint32_t>(size_bytes) << 24;
  }
  HEDDLE_FUNCTION static constexpr operation_sort unpacked(uint32_t word) {
    return {static_cast<operation>(word & 0xff), static_cast<memory_order>(word >> 8 & 0xff),
            static_cast<scope>(word >> 16 & 0xff), static_cast<uint8_t>(word >> 24)};
  }
};

/// One visible operation. Repetitions are counted, not kept: a loop that waits is one event for each word that it looks at.
struct event {
  uint64_t clock;    ///< of the machine: of a store from before it, of the others from behind them
  uint64_t address;  ///< as host and device both know it
  uint64_t before;   ///< what it found; unknown to a store and a ring
  uint64_t after;    ///< what it left; unknown to a ring
  uint32_t changes;  ///< how often the actor had changed memory before
  uint32_t repeats;  ///< how often more it found the same, to the power of two below
  uint32_t sort;     ///< an operation_sort
  uint32_t unused;
};

/// What an actor does, as far as it says so.
enum class activity : uint32_t { absent, running, synchronizes, joins, sleeps, ended };

/// The shared part beside the events: event n of an actor is at n modulo the capacity.
struct actor_log {
  uint64_t written;     ///< events, ever
  uint64_t operations;  ///< visible operations; as of the last event
  uint64_t changes;     ///< of memory
  uint32_t doing;       ///< an activity
  uint32_t unused;
};

/// A word that the actor has read since it last got anywhere.
struct seen_word {
  uint64_t address;
  uint64_t value;
  uint64_t event;  ///< its number
  uint32_t repeats;
  uint32_t period;  ///< in which it was read; the entry is free in any other
};

/// The actor's own part.
struct actor_memory {
  static constexpr uint32_t places = 64;
  /// Words that a period may hold: what a loop looks at beyond them is not recorded until the actor gets somewhere.
  static constexpr uint32_t words_most = 48;

  uint64_t operations;
  uint64_t written;
  uint64_t changes;
  uint32_t period;  ///< begins when the actor changes memory, or reads what it has not read before
  uint32_t words;   ///< read in this period
  seen_word seen[places];
};

/// Where everything is, for the actors of one launch or for one host thread. Copied into kernels byte by byte.
struct view {
  uint32_t* stop;   ///< not 0: an actor that waits leaves
  actor_log* logs;  ///< those of all actors, from actor 0 on
  actor_memory* memories;
  event* events;
  uint64_t capacity;  ///< events of each actor
  uint64_t seed;      ///< of the pauses
  uint32_t first;     ///< the first actor's number
  uint32_t lanes;     ///< of each wave of the launch
  uint32_t logged;    ///< actors with a number below have a log
  bool records;
  bool perturbs;
};

}  // namespace heddle::observed
