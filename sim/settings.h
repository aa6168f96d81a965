// The settings of the simulated machine.
#pragma once

#include <heddle/driver/settings.h>
#include <heddle/scheduler/parameters.h>
#include <heddle/sim/settings/doorbell.h>
#include <heddle/sim/settings/excuses.h>
#include <heddle/sim/settings/link.h>
#include <heddle/sim/settings/progress_model.h>
#include <heddle/sim/settings/timed.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::sim {

/// How memory behaves.
enum class fidelity : uint8_t {
  interleaving,  ///< one memory; every access takes effect at once
  link,          ///< what crosses the link between host and device is late
  scoped,        ///< the scoped weak memory of PTX, and x86-TSO for the host
};

/// What the lanes of a wave do to each other.
enum class convergence : uint8_t {
  independent,  ///< each is scheduled on its own
  lockstep,     ///< a wave has one program counter
};

/// Which plain accesses are scheduling points, too.
enum class plain_points : uint8_t {
  all,
  unchecked,  ///< those for which no races are looked: of others, which are ordered or end the run, no order shows
  none,
};

/// What a race does.
enum class race_effect : uint8_t {
  end,      ///< it ends the run
  weigh,    ///< it ends the run when nothing else has ended it: what comes of it is seen first
  count,    ///< nothing
  relaxed,  ///< it ends the run; but plain accesses that one instruction makes are relaxed atomic ones
};

/// Races, by what would have ordered the two accesses; the lightest first.
enum class race_weight : uint8_t {
  same_value,     ///< nothing need: both are stores, and the second one leaves the bytes as they are
  plain_flag,     ///< an atomic store of a word that is stored plainly, behind a fence
  after_read,     ///< nothing that is there; the first one is a plain load, and the second one stores
  acquire,        ///< an acquire by the lane that made the second one, a load
  acquire_store,  ///< the same, where the second one is a store
  scope,          ///< a wider scope
  proxy,          ///< a proxy fence in front of the second one, which a bulk copy makes
  release,        ///< a release by the lane that made the first one
  nothing,        ///< nothing that is there
};
inline constexpr size_t race_weights = 9;

/// Which of them are left alone.
struct excused_races {
  uint32_t weights = 0;  ///< a bit each
  bool has(race_weight weight) const { return (weights >> static_cast<uint32_t>(weight) & 1) != 0; }
  /// Places and variables; null: none.
  std::shared_ptr<const std::vector<excuse>> listed;
  bool any() const { return weights != 0 || listed != nullptr; }
};
/// As `races.excuse` has it: "same-value"; empty of what is never left alone.
const char* name_in_settings(race_weight weight);

/// What one step of a wave is, where its lanes stand together at one operation.
enum class wave_step : uint8_t {
  wave,  ///< that operation of all of them
  lane,  ///< that operation of one of them: each is scheduled on its own
};

/// What may be taken off a device, with its state, while others wait for its places.
enum class eviction : uint8_t {
  off,    ///< nothing: what has a place keeps it until it ends
  wave,   ///< each wave by itself
  queue,  ///< all waves of a kernel at once
};

/// Which arm of a divergence runs first.
enum class arms : uint8_t {
  then_first,  ///< the one that is written first
  else_first,  ///< the one that is written last
  any,         ///< a choice
};

/// What lanes of a wave that part may do.
struct divergence {
  sim::arms arms = sim::arms::then_first;
  bool barriers_aligned = true;  ///< they come to a barrier of the block at one place all the same
};

/// What a host thread waits for in a call that allocates, frees, copies, launches, or makes or destroys a stream.
enum class driver_calls : uint8_t {
  free,     ///< nothing
  idle,     ///< until no kernel runs, but for launches
  context,  ///< for one lock, which a thread that waits for kernels holds meanwhile
};

/// How much of the driver is steps of a run.
enum class driver_detail : uint8_t {
  call,     ///< nothing: what a stream is given begins when all that it comes after has ended
  queue,    ///< commands of its queues, executed by an actor of its own
  message,  ///< and each event of its engine: requests and answers on their way, page by page, and cycles
};

/// Which threads run the functions of the host that streams are given.
enum class host_functions : uint8_t {
  any,   ///< a choice of the run between the other two
  one,   ///< one thread of the driver, which meanwhile starts nothing that was given to a stream later
  each,  ///< a thread for each
};

/// How the host reaches memory of a device that its runtime gives for the device alone.
enum class host_reach : uint8_t {
  usual,   ///< by copies in a program with a main(), whose code is as it is elsewhere; by its address too in scenarios
  copies,  ///< by copies alone
  all,     ///< by its address too
};

/// What an access is to something that is declared volatile.
enum class volatile_accesses : uint8_t {
  source,   ///< plain in C++, relaxed in sources for CUDA and HIP
  plain,    ///< as any other: it may race
  relaxed,  ///< a relaxed atomic access of system scope
};

/// The machine's own settings, to be listed beside a scenario's parameters: progress, convergence, fidelity, resident,
/// budget, ... (docs/settings.md).
std::vector<parameter> machine_parameters();

/// The driver whose commands are stepped, beside what of it is.
struct stepped_driver {
  driver::driver_fault fault = driver::driver_fault::none;
  bool loses_signals = false;                            ///< another fault: see command_driver
  const driver::middleware_maker* middleware = nullptr;  ///< of the user's, in front of its chain
};

struct host_settings {
  bool is_weak = false;  ///< it keeps no more order than the program asks for; otherwise it is an x86
  host_functions functions = host_functions::any;
  size_t shared_frame_bytes = 0;  ///< at the outer end of each thread's stack: others may know of it from the beginning
};

/// What is looked for in a run, beside what ends it anyway.
struct watch_settings {
  uint32_t starvation = 0;  ///< times that a lane may be passed over in one wait; 0: as often as it comes
  bool behaviour = false;   ///< what lanes did and found is told as a number
};

/// By a choice, of what has not had its turn.
struct early_evictions {
  uint32_t most = 0;  ///< in a run
  bool lulls = true;  ///< when none is chosen, that may last for some turns; off: each turn asks again
};

struct settings {
  static constexpr uint32_t most_devices = 16;
  sim::fidelity fidelity = sim::fidelity::scoped;
  race_effect races = race_effect::end;
  excused_races excused;
  /// Whether each race ends the run: then no run goes on behind one.
  bool races_end() const { return races == race_effect::end && !excused.any(); }
  /// Whether plain accesses of 1, 2, 4 or 8 bytes, aligned, are relaxed ones.
  bool plain_is_relaxed() const { return races == race_effect::relaxed && fidelity == sim::fidelity::scoped; }
  sim::driver_calls driver = driver_calls::free;
  driver_detail detail = driver_detail::call;
  stepped_driver stepped;
  const driver::split_rule* split = &driver::even_split();  ///< of blocks and pages, to the GPUs of a unified device
  host_reach reach = host_reach::usual;
  bool launches_block = false;  ///< until the kernel has ended
  int fill = 0;                 ///< each byte of memory that CUDA and HIP sources have not written
  uint32_t late = 0;            ///< loads in a row that may see an older value
  uint32_t history = 0;         ///< stores of one location that may still be read although there is a newer one
  uint32_t spurious = 0;        ///< weak compare-exchanges in a row that may fail for no reason
  volatile_accesses volatiles = volatile_accesses::source;
  host_settings host;
  link_settings link;
  doorbell_settings doorbells;
  time_settings time;
  sim::convergence convergence = sim::convergence::independent;
  divergence diverging;
  wave_step step = wave_step::wave;
  uint32_t partings = 0;  ///< times in a run that lanes are parted which the program keeps together
  progress_model progress = progress_model::fair;
  uint32_t resident = 0;        ///< waves that each device holds at a time
  uint32_t devices = 1;         ///< GPUs
  uint32_t unified = 1;         ///< of these, the first ones, that are device 0 together
  uint64_t device_bytes = 0;    ///< memory of each; 0: as much as there are addresses
  bool flushes = true;          ///< caches are written back before copies
  bool starts_in_order = true;  ///< the blocks of a kernel get their places by number; otherwise, that is a choice
  eviction evict = eviction::off;
  uint32_t quantum = 0;  ///< steps of a turn on the device, where others wait for its places; 0: there are no turns
  early_evictions evictions_early;
  bool lifts_places = true;  ///< a hang for want of places is tried on a device that has enough of them
  uint64_t budget = 0;       ///< steps before the fair tail begins, and again before the run is given up
  watch_settings watch;
  uint32_t wakes = 0;           ///< times that a wait may end although nothing changed
  bool early_timeouts = false;  ///< time passes for what waits for it although others can go on
  plain_points points = plain_points::all;
  size_t stack_bytes = 0;       ///< of a lane
  size_t host_stack_bytes = 0;  ///< of a host thread

  /// Whether all that has ever had a place gets one again and again.
  bool places_take_turns() const { return evict != eviction::off && quantum != 0; }

  /// Reads the keys of machine_parameters().
  static settings from(const parameters& values);
};

/// A setting that nothing would read is not taken in silence. One line when this one differs from its default and has no effect beside
/// the others, as the settings of the link have none where there is no link; it says why, and how to mend that.
std::optional<std::string> without_effect(const parameters& values, std::string_view key);
/// The same for the first of all keys that has none, and what is wrong with the files of `races.known`.
std::optional<std::string> without_effect(const parameters& values);

}  // namespace heddle::sim
