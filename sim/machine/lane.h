// Lanes and waves, as the simulator keeps them. A host thread is a wave of one lane.
#pragma once

#include <heddle/sim/base/state_key.h>
#include <heddle/sim/code/source_line.h>
#include <heddle/sim/fiber/fiber.h>
#include <heddle/sim/fiber/fiber_body.h>
#include <heddle/sim/machine/operation.h>
#include <heddle/sim/machine/watch.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace heddle::sim {

struct wave;
struct site_change;
struct launched_kernel;
struct lockstep;
class branch_log;

enum class lane_state : uint8_t {
  candidate,      ///< enabled: can take the next step
  held,           ///< could take it, but another arm of its lockstep wave moves
  waiting,        ///< for something that it has read to change
  at_collective,  ///< for the other lanes of a mask
  ended,
  evicted,  ///< could take it, but its wave is off the device
};

/// A plain store that the code under test was about to make when it last left the simulator; its effect is looked at on the
/// lane's next entry, before any other lane runs.
struct plain_store_in_progress {
  static constexpr uint32_t largest_bytes = 16;
  void* address = nullptr;
  uint32_t size_bytes = 0;
  uint64_t before = 0;  ///< in the form of watched::value
};

/// Finds out whether a loop returns to an earlier private state. The anchor is moved at growing distances, so that a loop
/// of any period is recognised (Brent's cycle finding, BIT 20, 1980).
class cycle_finder {
 public:
  void forget() { distance_ = 0; }
  /// Whether the anchor is the state that was last looked at.
  bool at_anchor() const { return distance_ != 0 && since_ == 0; }
  /// Takes the state's digest; whether it equals the anchor's.
  bool returns_to_anchor(uint64_t digest) {
    return returns_to_anchor(nullptr, nullptr, [=] { return digest; });
  }
  /// returns_to_anchor() of a state that also has a place and an address. Where these differ from the anchor's, as they mostly do,
  /// its digest is not computed.
  template <typename Digest>
  bool returns_to_anchor(const void* place, const void* address, Digest&& digest) {
    if (distance_ != 0 && place == place_ && address == address_ && digest() == anchor_) return true;
    if (++since_ >= distance_) {
      place_ = place;
      address_ = address;
      anchor_ = digest();
      distance_ = distance_ == 0 ? 1 : distance_ * 2;
      since_ = 0;
    }
    return false;
  }

 private:
  const void* place_ = nullptr;
  const void* address_ = nullptr;
  uint64_t anchor_ = 0;
  uint32_t since_ = 0;
  uint32_t distance_ = 0;  ///< 0: no anchor
};

/// What a lane owes to what the run assumes (sim/run/assumptions.h).
struct assumed_operations {
  const site_change* due = nullptr;     ///< it has performed an operation behind which something is added
  const void* place = nullptr;          ///< of that operation
  uint64_t met = 0;                     ///< the mask of its last collective; 0: none yet
  const site_change* shares = nullptr;  ///< with `returns_to`: a variable is shared there
  const void* returns_to = nullptr;     ///< where the call goes on that takes a detour (detour.h)
  bool is_adding = false;
  bool in_same_call =
      false;  ///< its next operation belongs to the call that its last one was in, as one of them was added
};

/// Memory that a lane was given.
struct known_block {
  const std::byte* first = nullptr;
  uint32_t size_bytes = 0;
  bool contains(const void* address) const {
    return static_cast<size_t>(static_cast<const std::byte*>(address) - first) < size_bytes;
  }
};

/// What a host thread expects of others that nothing was seen to tell of its frames.
struct expectations {
  uint32_t atomics = 0;  ///< accesses to atomics of its own
  known_block known;     ///< the frames with those that it goes on looking at, and what lies between: shared since
};

/// How often, before a lane's next progress, the machine may answer in the lane's disfavour.
struct alignas(16) allowance {
  uint32_t late = 0;      ///< loads that may return a stale value
  uint32_t spurious = 0;  ///< weak compare-exchanges that may fail spuriously
  uint32_t wakes = 0;     ///< waits that may end spuriously
};

/// What a lane has found at the clock, and since; and its wait for a time.
struct clock_looks {
  uint32_t reads = 0;          ///< since its last progress
  uint32_t still = 0;          ///< in the fair tail: since memory changed
  uint64_t changes = 0;        ///< waits::changes() at the last of them
  bool to_look_again = false;  ///< what it waited for has changed since the last of them
  bool missed_newest = false;  ///< what it has read last is not the newest that was stored there
  /// In a wait whose time-out is a guard (runtime/moments.h): how often it has gone round, from 1. 0: it is in none.
  uint32_t guard_rounds = 0;
};

/// The part of a lane that is constructed anew in each run.
struct lane_run {
  wave* of = nullptr;
  uint32_t id = 0;     ///< dense over the run: the scheduler's actor
  uint32_t index = 0;  ///< within the wave
  lane_state state = lane_state::candidate;
  bool begun = false;           ///< its fiber has been set up
  bool hides_operands = false;  ///< it is in a call whose arguments only its own frame knows
  bool unsettled = false;       ///< plain accesses are to be settled at its next entry (late_memory::after_plain)
  bool resolved = false;        ///< its active_mask has been answered by another lane's
  bool proven = false;          ///< its wait is certain to repeat itself until memory changes
  bool copies_memory = false;   ///< a host thread in a copy that the runtime makes for it
  bool copies_block = false;    ///< it copies more than one word, word by word: no flag
  /// The bytes of one value where its access is of a vector of them, each of which counts as an access; 0: it is no vector.
  uint8_t vector_of = 0;
  bool in_same_call = false;  ///< its next operation belongs to the call that its last one was in
  uint8_t circles = 0;        ///< in a lockstep wave: how often it came back to where it waits
  bool gives_as_one = false;  ///< a host thread: what it gives to streams is part of one operation of a stream
  operation pending;
  assumed_operations assumed;
  /// What a pending read-modify-write, atomic store or call on a mutex was given, and `pending` does not say.
  std::array<uint64_t, 2> operands = {};
  const uint64_t* awaits = nullptr;  ///< a word of the simulator's that it waits for, to become lane::awaited
  plain_store_in_progress storing;
  uint64_t result = 0;     ///< of the collective or mask that it took part in
  uint64_t noticed = 0;    ///< of a host thread that waits for notice (sim/sync/notices.h): 1 once it has been given
  uint64_t leads = 0;      ///< lanes of its wave that take their next step with it, itself among them; 0: it leads none
  uint64_t last_turn = 0;  ///< the number of its last turn in the fair tail; 0: none
  uint64_t moved_in = 0;   ///< in a lockstep wave: the last round in which it took part
  uint64_t went_round_for =
      0;  ///< the last open_collective::number at which a sibling waited when it paused under the quiescence check
  /// Low end of what its future depends on while it waits: the registers that a call preserves, then its live stack.
  const std::byte* private_state = nullptr;
  clock_looks at_clock;
  /// What the C++ library keeps for this host thread, which has been given it and has not told where it lies: while `operations` is still the
  /// last of these.
  known_block own_object;
  uint32_t own_object_operations = 0;
  uint32_t own_object_reads = 0;
  bool own_object_may_vanish = false;
  known_block last_new;          ///< what `new` has given it last, of the C library's heap
  uint32_t bulk_groups = 0;      ///< of bulk copies, that the lane has closed
  expectations expects;          ///< of a host thread
  uint32_t fruitless_reads = 0;  ///< since its last progress or wait
  // As scheduler::candidate has them.
  uint32_t operations = 0;
  uint32_t fruitless = 0;
  uint32_t operations_judged = 0;  ///< those that count as progress or as fruitless already
  uint32_t turn_from = 0;          ///< its operations when its wave's turn on the device began
};

/// A place on a device, or the wait for one, of what may be evicted.
struct place_turn {
  uint64_t since = 0;  ///< a number that grows from each place given, taken or asked for to the next
  uint64_t began = 0;  ///< the step behind which the place was given
  uint32_t idle = 0;   ///< steps of others in this turn, while no lane of it could have taken one that it is promised
};

/// Aligned, so that members that are used together share cache lines in every lane.
struct alignas(64) lane : lane_run {
  fiber runs;
  /// The part of its stack, from the low end, that no other lane has accessed or been given.
  const std::byte* private_low = nullptr;
  size_t private_bytes = 0;
  static constexpr uint32_t unlisted = ~uint32_t{0};
  uint32_t candidate_slot =
      unlisted;          ///< its index in enabled_set::lanes; unlisted where it is in no choice, or another leads it
  uint64_t awaited = 0;  ///< what the word that it waits for is to become
  std::array<uint64_t, 3> call = {};  ///< where it hides its operands: the arguments
  bool is_explored =
      false;               ///< its state is compared with that of other runs: no dead bytes are to be left on its stack
  void* memory = nullptr;  ///< the memory model's own data of it
  uint32_t source = 0;     ///< of a shuffle: the lane whose value it asks for

  watch_set reads;                      ///< since its last progress
  std::vector<uint32_t> registrations;  ///< in the watch table
  bool called = false;                  ///< into the driver, since its wait was last checked for quiescence
  allowance left;                       ///< before its next progress
  cycle_finder spin;                    ///< of a loop without pause(), read by read
  cycle_finder proof;                   ///< of its wait, under the quiescence check
  // In a lockstep wave.
  static constexpr uint8_t sure_of_circle = 2;
  branch_log* tells = nullptr;        ///< the ways that it takes (sim/code/branch_probes.h)
  uint64_t circle = 0;                ///< how its wave had diverged when it waited
  uint64_t circles_since = 0;         ///< the round in which it waited first
  const void* first_frame = nullptr;  ///< of the simulator, below that of what the lane runs
  const void* came_in = nullptr;      ///< see has_returned_from()
  uint64_t wait_digest = 0;           ///< of its private state where it last waited, under the quiescence check
  size_t stack_slot = 0;              ///< in its arena
  void* body = nullptr;               ///< what it runs, on its own stack
  const fiber_body* how_to_run = nullptr;

  bool is_host() const;
  /// Whether the processor of the host performs what it does. A bulk copy runs as host threads do, on the GPU.
  bool is_on_host() const;
  /// Whether the lane has made so many reads since its last progress or wait that it may be spinning (waits::only_spins).
  bool may_spin() const { return fruitless_reads >= fruitless_reads_allowed; }
  static constexpr uint32_t fruitless_reads_allowed = 64;

  /// Whether the address is on the lane's own stack, in the part that no other lane is known to access.
  bool is_private(const void* address) const {
    return static_cast<size_t>(static_cast<const std::byte*>(address) - private_low) < private_bytes;
  }
  /// Whether the bytes were given to the host thread when it began, and no other thread can know of them yet.
  bool is_in_own_object(const void* address) const {
    return operations == own_object_operations && own_object.contains(address);
  }
  /// Whether the compiler's own word of that object lies there, which the code of the program does not name.
  bool is_table_of_own_object(const void* address) const {
    return own_object.first != nullptr && address == own_object.first;
  }
  void forget_own_object() { own_object = {}; }
  bool is_on_stack(const void* address) const {
    const auto& stack = runs.stack();
    return static_cast<size_t>(static_cast<const std::byte*>(address) - stack.low) < stack.size_bytes;
  }
  /// Whether the address was in a frame of its own that had returned when it came in: what lies there now is the simulator's, and nothing may look
  /// at it or write to it. Asked while its last plain access is finished.
  bool has_returned_from(const void* address) const {
    constexpr size_t saved_bytes = 2 * sizeof(void*);  // by the call, above where the frame pointer points to
    return came_in != nullptr && is_on_stack(address) && static_cast<const std::byte*>(address) - saved_bytes < came_in;
  }
  /// Another thread may reach a variable in a frame of this host thread: from now on the thread's own accesses to it are visible. So are those
  /// to all outer frames, for nothing says where the variable ends; and to the variables to which there are pointers in these, as in a closure. `live`:
  /// the low end of the frames that there are.
  void share_frames(const void* from, const void* live);
  const std::byte* private_end() const { return private_low + private_bytes; }
};

/// A collective at which lanes have arrived, and others have not.
struct open_collective {
  operation_kind kind = operation_kind::none;
  uint64_t mask = 0;
  uint64_t arrived = 0;
  uint64_t number = 0;  ///< of all of the run, from 1
  bool without_ended =
      false;  ///< lanes of the mask that have ended, or that the wave does not have, are not waited for
};

/// The part of a wave that is constructed anew in each run.
struct wave_state {
  uint32_t id = 0;           ///< dense over the run: the scheduler's group
  uint64_t launched_in = 0;  ///< the step behind which it was launched or spawned
  bool host = false;
  bool named = false;  ///< of the device: it is called by its name, "memset 1 of stream 2"
  bool copies =
      false;  ///< a copy engine: a host thread that performs one copy of a stream and ends; `kernel` is its number among launches
  bool bulk = false;       ///< of those, a bulk copy of a kernel: performed beside the block that issued it
  bool async = false;      ///< of those, one by cp.async, whose end an mbarrier counts
  bool by_gpu = false;     ///< of those, what the GPU performs; a bulk copy is
  bool drives = false;     ///< the driver's actor, which runs as a host thread does
  uint32_t ordinal = 0;    ///< of a host thread: how many were spawned before it
  uint32_t device_id = 0;  ///< among the waves of the device, in order of launch
  uint32_t kernel = 0;
  uint32_t gpu = 0;                 ///< that it has its place on
  uint32_t device = 0;              ///< whose stream it was given to: that GPU, or one that unifies it with others
  uint32_t current_device = 0;      ///< of a host thread: the one that calls of CUDA and HIP mean
  launched_kernel* runs = nullptr;  ///< while it is live
  uint32_t block = 0;               ///< within its kernel
  uint32_t in_kernel = 0;           ///< its number within its kernel
  uint32_t live_lanes = 0;          ///< that have not ended, begun or not
  uint32_t candidates = 0;          ///< lanes that are enabled
  uint64_t leaders = 0;             ///< of those, the ones that lead others or themselves (sim/core/issues.h)
  uint64_t ended_mask = 0;
  uint64_t have_waited = 0;      ///< lanes that wait for memory to change, and some that did
  bool resident = false;         ///< it has a place on the device: its lanes may be enabled
  place_turn place;              ///< where waves are evicted each by itself
  bool stepped = false;          ///< one of its lanes has taken a step
  bool guaranteed = false;       ///< in the fair set F
  lockstep* together = nullptr;  ///< of a lockstep wave; null where each lane is scheduled on its own
  uint64_t ended = 0;            ///< 1 when its last lane has ended; watched by lanes that join it
  uint64_t has_read = 0;         ///< of a bulk copy: 1 when it has read all of its source; watched likewise
  uint32_t issuer = 0;           ///< of a bulk copy: the lane that issued it
  uint32_t group = 0;            ///< of a bulk copy: the number of its group among those of that lane
};

struct wave : wave_state {
  std::string name;                ///< of a host thread, of a copy, or where it is `named`
  std::vector<uint32_t> after;     ///< of a copy: launches that must have ended before it begins
  std::vector<std::byte> carried;  ///< of a bulk copy: what it has read
  std::vector<lane*> lanes;
  std::vector<open_collective> collectives;

  bool live() const { return live_lanes != 0; }
  /// Whether its block has started. It keeps its place until it ends, but where it is evicted.
  bool started() const { return !lanes.empty(); }
  bool is_evicted() const { return !resident && started(); }
};

inline bool lane::is_host() const { return of->host; }
inline bool lane::is_on_host() const { return of->host && !of->by_gpu; }

/// The calls that led to the lane's pending operation, innermost first: from frame to frame, as far as code under test keeps frame
/// pointers.
call_chain calls_of(const lane& who);
/// The same of another operation, which it is about to make.
call_chain calls_of(const lane& who, const operation& next);

/// A frame on a lane's stack: where its function goes on, and where its frame pointer points to.
struct stack_frame {
  const void* returns_to = nullptr;
  const std::byte* frame_pointer = nullptr;
  bool operator==(const stack_frame&) const = default;
};
/// The frame that the address lies in, of those that calls_of() goes through; without `returns_to` where there is none.
stack_frame frame_around(const lane& who, const void* address);
/// Has the call return by the simulator (detour.h) that is made for the operation and returns to `place`; false where it is not known where that
/// is noted.
bool detour_return(lane& self, const operation& next, const void* place);

/// The lane's bit in masks of its wave.
inline uint64_t lane_bit(const lane& who) { return uint64_t{1} << who.index; }

/// "wave 1 lane 3", "host server".
std::string name_of(const lane& who);
std::string name_of(const wave& who);
/// "lane 3", "lanes 0-2, 5": a bit each.
std::string lanes_in(uint64_t mask);
/// The lanes of the mask that must arrive: all; of a collective without those that have ended, the ones that the wave has and that have not.
uint64_t awaited_lanes(const wave& of, const open_collective& open);

/// Equal bytes, equal digest.
uint64_t digest_of(const std::byte* low, const std::byte* high);
/// Of the registers and the live stack of a lane that waits: its future depends on them.
uint64_t digest_of_private_state(const lane& who);

}  // namespace heddle::sim
