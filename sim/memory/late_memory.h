// Memory in which what one lane writes is not at once what another one reads. A machine has one of these unless its fidelity is
// `interleaving`: `scoped` (scoped/scoped_memory.h) or `link` (link/link_memory.h).
//
// The memory of the process holds the newest value of every location whenever a lane may be chosen. A lane that is entitled to
// another value sees it through a window: it stands at the address from just before a plain load of the code under test until
// that lane comes back, and no other lane runs in between. In the same way a plain store of the code under test is in memory when
// the lane comes back, and is taken from there.
#pragma once

#include <heddle/sim/base/known_facts.h>
#include <heddle/sim/base/state_reader.h>
#include <heddle/sim/machine/operation.h>
#include <heddle/sim/memory/footprint.h>
#include <heddle/sim/memory/outside_calls.h>
#include <heddle/sim/memory/quiet_words.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace heddle::sim {

struct lane;

/// What a read-modify-write makes of the old value.
struct modification {
  uint64_t (*apply)(const void* context, uint64_t old) = nullptr;  ///< the value to store
  bool (*writes)(const void* context, uint64_t old) = nullptr;     ///< false: nothing is stored; null: always
  const void* context = nullptr;
  std::optional<memory_order> unless_written = {};  ///< the order where nothing is stored, if it is another one
  bool is_atomic_op = true;  ///< it is fetch_add, exchange or compare_exchange, which PCIe can carry
};

/// A value of 16 bytes, and what a read-modify-write makes of one; as `modification`.
struct wide_value {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(const wide_value&, const wide_value&) = default;
};
struct wide_modification {
  wide_value (*apply)(const void* context, wide_value old) = nullptr;
  bool (*writes)(const void* context, wide_value old) = nullptr;
  const void* context = nullptr;
  std::optional<memory_order> unless_written = {};  ///< likewise
  bool is_atomic_op = false;                        ///< it is compare_exchange, the one of 16 bytes that PCIe can carry
};

/// The lanes whose knowledge counts for what may still happen: what all of them know, none can miss.
struct still_to_come {
  /// A lane that waits for others to end: then it knows what they know now.
  struct end_of_others {
    uint32_t waits = 0;
    uint32_t ends = 0;
  };
  std::vector<uint32_t> lanes;  ///< by id, that have not ended
  std::vector<end_of_others> joins;
  std::vector<const void*> objects;  ///< that lanes which have no place yet will acquire first
};

class lane_heap;
struct async_copy;
struct bulk_copy;

/// What a search through all runs of a program has to be told (verify/search.h).
struct search_notes {
  lane_heap* lanes_allocate = nullptr;  ///< where
  /// Locations where an access has been compared with earlier atomic ones, in any run: only there are those part of the state.
  std::unordered_set<const void*> compared;
  bool grown = false;  ///< since this was last set to false
  quiet_words quiet;
  /// Whether the run does what no run before it has done: while it repeats the beginning of another one, there is nothing to note.
  bool is_new = true;
  /// Of the step that the run makes now.
  footprint touched;
  /// Variables of the program that any run has changed, and their sizes in bytes.
  std::map<const void*, size_t> variables;
  /// Memory was given back that a lane may still access plainly: it matters where plain accesses stand.
  bool freed_under_access = false;
  /// A store was forgotten that a lane could still have read: not every run is seen.
  bool forgot = false;
  /// A lane has asked whether work has ended, and went on either way: ends are operations that others notice.
  bool asks_for_ends = false;
  /// How many bytes at the outer end of a host thread's stack have to be seen from its beginning (host_settings::shared_frame_bytes).
  size_t frame_bytes = 0;
  /// What a lane has done that no state tells of: states that differ in it are taken for one, so that the search is no proof.
  const char* untold = nullptr;
  outside_calls outside;
  /// What the search has to be made again with, in one line; empty where it lacks nothing.
  std::string lacks() const {
    if (frame_bytes != 0)
      return "a thread reaches a variable in another's frame that nothing was seen to give it; that needs accesses to "
             "such frames as points from the beginning (host_frames=" +
             std::to_string(frame_bytes) + ")";
    return freed_under_access ? "memory is given back that another lane may still access; that needs plain accesses as "
                                "points (points=all)"
                              : "";
  }
  const char* why_no_proof() const {
    if (untold != nullptr || outside.are_ordered()) return untold;
    return "several threads use a file, or what the C or C++ library keeps for all (the environment, random numbers, "
           "handlers): the order of these calls is no choice";
  }

  /// What tells which operations are choices, as numbers; learn() adds it to what another one has noted.
  void tell(std::vector<uint64_t>& into) const {
    into.push_back(asks_for_ends ? 1 : 0);
    into.push_back(compared.size());
    for (const void* each : compared) into.push_back(reinterpret_cast<uintptr_t>(each));
    quiet.tell(into);
    outside.tell(into);
  }
  void learn(const std::vector<uint64_t>& from, size_t& at) {
    asks_for_ends = from[at++] != 0 || asks_for_ends;
    for (uint64_t left = from[at++]; left != 0; --left) compared.insert(reinterpret_cast<const void*>(from[at++]));
    quiet.learn(from, at);
    outside.learn(from, at);
  }
};

/// What happens to the lanes of a wave with one program counter at once.
enum class arm_event : uint8_t {
  parts,                  ///< they stood together, and now only some of them go on
  acquired,               ///< they have all made one operation, which acquires
  meets,                  ///< they have come together, and stood apart before
  releases,               ///< they are about to make one operation, which releases
  acquires_and_releases,  ///< the same of one that also acquires
};

/// Hears of stores that were under way and have changed memory.
class arrival_listener {
 public:
  /// `issuer` had stored these bytes, in that step of an explained run.
  virtual void arrived(const lane& issuer, const void* address, size_t size_bytes, uint64_t stored_in) = 0;

 protected:
  ~arrival_listener() = default;
};

/// The spaces that a proxy fence speaks of, a bit each.
enum proxy_space : uint32_t { proxy_global = 1, proxy_shared = 2 };

class late_memory {
 public:
  virtual ~late_memory() = default;

  /// Forgets everything; memory keeps its allocations for the next run.
  virtual void reset() = 0;
  /// A lane that has not run yet; `by` has launched or spawned it, null for the main thread.
  virtual void begins(lane& fresh, const lane* by) = 0;
  /// The lane has acquired all that it begins with, and has done nothing yet.
  virtual void has_begun(const lane& /*fresh*/) {}
  /// The lane has ended, and has released what it did.
  virtual void has_ended(const lane& /*last*/) {}

  /// Called in each turn, before the lane performs its pending operation: what is under way may arrive now.
  virtual void let_arrive(lane& self) = 0;
  /// Everything under way arrives, in any order that it may; whether anything did. Called before a run ends.
  virtual bool all_arrives(lane& self) = 0;
  /// No lane can move: something arrives. Whether anything did.
  virtual bool something_arrives(lane& self) { return all_arrives(self); }

  // It is the lane's turn, `how` is in bounds and not on the lane's own stack. Values of 1, 2, 4 or 8 bytes, in the low bytes.

  virtual uint64_t load(lane& self, const operation& how) = 0;
  virtual void store(lane& self, const operation& how, uint64_t value) = 0;
  /// Returns the old value.
  virtual uint64_t read_modify_write(lane& self, const operation& how, const modification& next) = 0;
  /// With `how` a wait or a notice it is a barrier that the kernel makes in the call, and no fence of the program's: no store stays behind it, and no
  /// load comes before, but what it does releases and acquires nothing.
  virtual void fence(lane& self, const operation& how) = 0;
  /// What lanes did in these spaces comes before what bulk copies do that are issued behind this. (PTX ISA, "Proxies": fence.proxy.)
  virtual void proxy_fence(lane&, uint32_t) {}
  /// The lane is about to issue a bulk copy, its pending operation: whether all that the copy needs to see has come to its proxy.
  virtual void before_bulk(lane&, const bulk_copy&) {}
  /// The lane issues a copy that is under way from now on, its pending operation: it may read and write at any time. It has announced the read.
  virtual void copy_begins(lane&, const async_copy&) {}
  /// The lane is about to make this copy, and under way it is no more.
  virtual void copy_ends(lane&, const async_copy&) {}
  /// An sfence of a host thread that is an x86: `how` is a fence that releases. Where stores become visible in order, it adds nothing to that.
  virtual void store_fence(lane& self, const operation& how) { fence(self, how); }

  // The same of 16 bytes, aligned: both halves as one. A store comes behind all earlier ones.

  virtual wide_value load_wide(lane& self, const operation& how) = 0;
  virtual void store_wide(lane& self, const operation& how, wide_value value) = 0;
  virtual wide_value modify_wide(lane& self, const operation& how, const wide_modification& next) = 0;

  /// A plain load of any size is about to be made: puts what the lane sees at the address.
  virtual void before_plain_load(lane& self, const operation& how) = 0;
  /// A plain store of any size is about to be made.
  virtual void before_plain_store(lane& self, const operation& how) = 0;
  /// The lane has come back: memory holds what it stored plainly, or a window. Afterwards memory holds the newest values.
  virtual void after_plain(lane& self) = 0;
  /// Takes the store back that before_plain_store() has prepared, if it was not made, or has changed nothing, and the lane is about to load from
  /// other memory: true where it was taken back.
  virtual bool withdraw_store(lane& /*self*/, const void* /*loaded*/) { return false; }
  /// Instead of both: makes a plain store that fills memory with one byte, where that is one store to memory of which no lane has accessed a part.
  enum class filled : uint8_t { by_no_one, unchanged, changed };
  virtual filled fill(lane&, const operation&, std::byte) { return filled::by_no_one; }
  /// The plain store that was announced last is the second half of a statement that also reads: what the lane saw stands at the
  /// address again.
  virtual void see_again(lane&) {}
  /// A call has read there, which may be in memory no more: its next access has been announced. What the lane finds there now stands at the address
  /// until it comes back. Where memory always has the lane's own stores, a call may as well find that.
  virtual void look_again(lane&, const operation&) {}

  // -- what orders lanes without memory (all of it at device scope or wider as far as the participants need it)

  /// The lanes meet at a barrier: all that each did before happens before all that each does after.
  virtual void meet(lane* const* lanes, size_t count) = 0;
  /// All that `first` did so far happens before what `then` does from now on (join, end of a kernel, mutexes, doorbells).
  virtual void order(const lane& first, lane& then) = 0;
  /// Lanes of a wave with one program counter, which do as one what the memory keeps by lane.
  virtual void arm(arm_event, lane* const*, size_t) {}
  /// The lane's pending store is part of one that `by` has made for all lanes of the arm, to the same bytes: whether that is taken note of. If not,
  /// the lane makes a store of its own.
  virtual bool is_part_of_store(lane&, const operation&, const lane& /*by*/) { return false; }
  /// As order(), through an object that the simulator knows: what the lanes that released it did happens before what comes next.
  virtual void release_object(lane& self, const void* object) = 0;
  virtual void acquire_object(lane& self, const void* object) = 0;

  /// The bytes have been given back; a later allocation elsewhere begins without a past.
  virtual void released(lane&, const void* /*address*/, size_t /*size_bytes*/) {}

  /// All that is kept and can influence what comes, beside the newest values of the heap: equal for two states that differ only in
  /// numbers that are never compared. False where that cannot be told.
  virtual bool tell(state_reader&, const still_to_come&) { return false; }
  /// Takes apart what tell() tells: to the reader what must be equal in two states for one to know more than the other, and what is known in
  /// this one. False where that is not done.
  virtual bool tell_apart(state_reader&, const still_to_come&, known_facts&) { return false; }
  /// Whether stores are under way, which arrive when time passes.
  virtual bool is_under_way() const { return false; }
  /// Whether the lane's pending load, of a word, can find one value alone, from which the lane learns nothing about other locations. The same of
  /// a read-modify-write that leaves the value as it is.
  virtual bool finds_nothing_new(const lane&) { return false; }
  /// Whether the lane's pending access is one that no other live lane can notice, nor any of theirs this lane, as far as the search's
  /// runs have shown (quiet_words).
  virtual bool is_quiet(const lane&) { return false; }
  /// The host thread gives others the bytes of its frames from `low` to `end`: what it has stored there until now, nothing has been told of.
  virtual void gives_frames(const lane&, const std::byte* /*low*/, const std::byte* /*end*/) {}
  /// In a search: the lane is about to give these bytes back.
  virtual void note_freed(const lane&, const void*, size_t) {}
  /// Whether a plain access of another lane to these bytes is not ordered before what the lane does now.
  virtual bool is_accessed_beside(const lane&, const void*, size_t) const { return false; }
  /// From now on the search is told; null: there is none.
  virtual void take_notes(search_notes*) {}

  /// Which stores overtook which although a release stood between them, for reports; empty when none did.
  virtual std::string overtakings() const { return {}; }
  /// Which loads have missed stores under way, or have found older values than there were, with what would have waited; for reports.
  virtual std::string what_is_late() const { return {}; }
};

}  // namespace heddle::sim
