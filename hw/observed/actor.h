// One actor as it watches itself: it counts its operations, puts them off, and writes its log.
#pragma once

#include <heddle/hw/observed/event.h>
#include <heddle/hw/observed/here.h>
#include <heddle/hw/observed/perturbation.h>

// What an operation does when it is watched stands in few places of the program, and not at each operation, which then is as small as
// it would be unwatched but for one branch and a call.
#define HEDDLE_OUT_OF_LINE __attribute__((noinline)) HEDDLE_FUNCTION

namespace heddle::observed {

/// The calling lane or thread. Cheap to make: it only says where things are. Machine is the Target that is watched.
template <typename Machine>
class actor {
 public:
  HEDDLE_FUNCTION actor() : of_(here()), number_(of_.first) {
    if (Machine::is_device()) number_ += Machine::wave_id() * of_.lanes + Machine::lane_id();
  }

  /// Whether there is anything to do at an operation.
  HEDDLE_FUNCTION bool watches() const { return (of_.records || of_.perturbs) && number_ < of_.logged; }

  /// Whether this actor is to leave its wait.
  HEDDLE_FUNCTION bool is_stopped() const {
    // Relaxed: nothing is read on the strength of it.
    return of_.stop != nullptr && shared(*of_.stop).load(memory_order::relaxed) != 0;
  }

  /// Before the actor's first operation.
  HEDDLE_FUNCTION void begin() const {
    if (number_ >= of_.logged) return;
    actor_memory& own = of_.memories[number_];
    own.operations = own.written = own.changes = 0;
    own.period = own.words = 0;
    for (seen_word& each : own.seen) each.period = 0;
    own.period = 1;
    does(activity::running);
  }

  HEDDLE_FUNCTION void does(activity what) const {
    if (number_ >= of_.logged) return;
    shared(of_.logs[number_].doing).store(static_cast<uint32_t>(what), memory_order::relaxed);
  }

  // -- around an operation; only where watches() ------------------------------------------------------------------------------

  HEDDLE_OUT_OF_LINE void before_operation() const {
    actor_memory& own = of_.memories[number_];
    const uint64_t nth = own.operations++;
    if (!of_.perturbs) return;
    const pause_draw drawn = draw_pause(of_.seed, number_, nth);
    if (drawn.pauses) rest(drawn.exponent, drawn.rest);
  }

  /// An operation that changed nothing has found this.
  HEDDLE_OUT_OF_LINE void found(const event& what) const {
    if (!of_.records) return;
    actor_memory& own = of_.memories[number_];
    seen_word* const known = place_of(own, what.address);
    if (known == nullptr) return;
    if (known->period == own.period) {
      if (known->value == what.before) return repeat(own, *known);
      begin_period(own);
    } else if (own.words == actor_memory::words_most) {
      return;
    }
    // In a new period another place may be free before that one.
    seen_word& entry = *place_of(own, what.address);
    entry = {what.address, what.before, own.written, 0, own.period};
    ++own.words;
    write(own, what);
  }

  /// An operation has changed memory.
  HEDDLE_OUT_OF_LINE void changed(const event& what) const {
    if (!of_.records) return;
    actor_memory& own = of_.memories[number_];
    write(own, what);
    ++own.changes;
    shared(of_.logs[number_].changes).store(own.changes, memory_order::relaxed);
    begin_period(own);
  }

 private:
  template <typename T>
  using shared_ref = typename Machine::template atomic_ref<T, scope::system>;
  template <typename T>
  HEDDLE_FUNCTION static shared_ref<T> shared(T& word) {
    return shared_ref<T>(word);
  }

  /// Where the address stands in this period, or would; null when there is no place.
  HEDDLE_FUNCTION static seen_word* place_of(actor_memory& own, uint64_t address) {
    constexpr uint32_t mask = actor_memory::places - 1;
    const auto start = static_cast<uint32_t>((address >> 2) * 0x9e3779b97f4a7c15 >> 58);
    for (uint32_t n = 0; n < actor_memory::places; ++n) {
      seen_word& each = own.seen[(start + n) & mask];
      if (each.period != own.period || each.address == address) return &each;
    }
    return nullptr;
  }

  HEDDLE_FUNCTION static void begin_period(actor_memory& own) {
    ++own.period;
    own.words = 0;
  }

  /// Written at powers of two: a loop that spins for a second must not write over the link at every turn.
  HEDDLE_FUNCTION void repeat(actor_memory& own, seen_word& known) const {
    if (known.repeats != ~uint32_t{0}) ++known.repeats;
    if ((known.repeats & (known.repeats - 1)) != 0 || own.written - known.event > of_.capacity) return;
    shared(ring()[known.event % of_.capacity].repeats).store(known.repeats, memory_order::relaxed);
    shared(of_.logs[number_].operations).store(own.operations, memory_order::relaxed);
  }

  HEDDLE_FUNCTION void write(actor_memory& own, const event& what) const {
    event& to = ring()[own.written % of_.capacity];
    // Word by word and relaxed, because the watchdog may read at any time; it takes what stands before `written`.
    shared(to.clock).store(what.clock, memory_order::relaxed);
    shared(to.address).store(what.address, memory_order::relaxed);
    shared(to.before).store(what.before, memory_order::relaxed);
    shared(to.after).store(what.after, memory_order::relaxed);
    shared(to.changes).store(static_cast<uint32_t>(own.changes), memory_order::relaxed);
    shared(to.repeats).store(0, memory_order::relaxed);
    shared(to.sort).store(what.sort, memory_order::relaxed);
    actor_log& log = of_.logs[number_];
    shared(log.operations).store(own.operations, memory_order::relaxed);
    ++own.written;
    // Release: pairs with the watchdog's acquire, which then finds the event whole.
    shared(log.written).store(own.written, memory_order::release);
  }

  HEDDLE_FUNCTION event* ring() const { return of_.events + number_ * of_.capacity; }

  const view& of_;
  uint32_t number_;
};

}  // namespace heddle::observed
