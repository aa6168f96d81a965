// The event engine: virtual time, and what happens in it, one event after the other.
//
// Time is a whole number of picoseconds. Of two events of one time the primary one comes first (what arrives over a
// link), then the secondary one (what a component makes of it); of two of one rank, the one that was scheduled first.
// So no tie is left open, and a run is a function of what was scheduled. The ideas are those of the engine of Akita
// (sarchlab/akita); its parallel engine, in which events of one time run in any order, is left out on purpose.
#pragma once

#include <heddle/driver/ids.h>
#include <heddle/rpc/result.h>

#include <cstdint>
#include <vector>

namespace heddle::driver {

enum class event_rank : uint8_t { primary, secondary };

class event_handler;

struct timed_event {
  picoseconds time = 0;
  uint64_t order = 0;  ///< rank, and then the number among all that were scheduled
  event_handler* handler = nullptr;
  uint64_t what = 0;    ///< the handler's own
  uint64_t detail = 0;  ///< the handler's own

  event_rank rank() const { return order >> 63 == 0 ? event_rank::primary : event_rank::secondary; }
  uint64_t number() const { return order & ~(uint64_t{1} << 63); }
};

class event_handler {
 public:
  virtual void handle(const timed_event& now) = 0;

 protected:
  ~event_handler() = default;
};

/// Is told of every event, before and after it is handled.
class engine_hook {
 public:
  virtual ~engine_hook() = default;
  virtual void before(const timed_event&) {}
  virtual void after(const timed_event&) {}
};

/// Not for several threads at a time: see connection.h. Allocates nothing once its queue has been as long as it gets.
class event_engine {
 public:
  picoseconds now() const { return now_; }

  /// What the handler, which must outlive it, is to be told of at that time. An error when that time has passed.
  result<void> schedule(picoseconds when, event_rank rank, event_handler& handler, uint64_t what = 0,
                        uint64_t detail = 0);

  /// Handles the next event; false when there is none.
  bool step();

  // For an owner that chooses what comes next. Of what one handler is told under one `what`, the order stays; all else may overtake it,
  // and then is handled at a time that is later than its own.

  /// How many events could be the next one.
  size_t choices() const;
  /// Handles one of them, by its rank, then by when it was asked for, whatever its time: less than choices().
  void step(size_t which);

  /// Handles all events up to that time and those that come of them, and then it is that time. It stops between two
  /// times: all events of one time, or none. A time that has passed changes nothing.
  void run_until(picoseconds time);

  /// Handles events until there are none.
  void run() {
    while (step()) {
    }
  }

  /// It is that time at least. What waits for an earlier one is handled late: for an owner that chooses what comes next.
  void pass_until(picoseconds time) { now_ = now_ < time ? time : now_; }

  size_t pending() const { return waiting_.size(); }
  /// When the next event is; `never` without one.
  picoseconds next_time() const { return waiting_.empty() ? never : waiting_.front().time; }
  /// How many events have been handled.
  uint64_t handled() const { return handled_; }
  /// Whether an event is being handled now.
  bool in_event() const { return in_event_; }

  /// Null for none, which costs nothing. It must outlive the engine or be taken out.
  void set_hook(engine_hook* hook) { hook_ = hook; }

 private:
  void handle(const timed_event& next);
  /// Those that could be the next one, by place in `waiting_`, by rank, then in the order in which they were asked for.
  std::vector<size_t> first_of_each() const;

  std::vector<timed_event> waiting_;  ///< a heap, the next one in front
  picoseconds now_ = 0;
  uint64_t scheduled_ = 0;
  uint64_t handled_ = 0;
  bool in_event_ = false;
  engine_hook* hook_ = nullptr;
};

/// Something that acts once a cycle, but only while it makes progress; otherwise it sleeps until a tick is asked for.
class ticking : public event_handler {
 public:
  /// The cycle is at least 1.
  ticking(event_engine& engine, picoseconds cycle) : engine_(&engine), cycle_(cycle) {}

  /// A tick at the next full cycle from now on at which there has not been one yet. Asking twice is asking once.
  void tick_soon();
  /// A tick at the first full cycle that is not before this time, nor before now.
  void tick_at(picoseconds time);

  uint64_t ticks() const { return ticks_; }

  void handle(const timed_event& now) final;

 protected:
  ~ticking() = default;
  /// One cycle's work; whether there was any. If so, there is another tick in the next cycle.
  virtual bool tick() = 0;

 private:
  void schedule(picoseconds time);

  event_engine* engine_;
  picoseconds cycle_;
  picoseconds asked_ = never;   ///< the last one asked for
  picoseconds ticked_ = never;  ///< the last one that has been
  uint64_t ticks_ = 0;
};

}  // namespace heddle::driver
