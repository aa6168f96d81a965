// What a request of reverse offload is and where it lies: one definition for both ends. (libgomp keeps its own in
// libgomp-nvptx.h and libgomp-gcn.h for the same reason.)
//
// An entry is a line for the turn and what is asked, and behind it one line for each lane. The turn is the word by
// which the ends hand the entry to each other; all else in it is written plainly, by the end whose turn it is.
#pragma once

#include <heddle/rpc/layout.h>
#include <heddle/rpc/wait.h>

namespace heddle::rpc {

/// How a request ended.
enum class offload_status : uint64_t {
  none,              ///< no server has looked at it
  done,              ///< the function has run, for every lane
  unknown_function,  ///< the server has no function of this number; nothing has run
  too_large,         ///< a lane names more bytes of payload than the server takes; nothing has run
  failed,            ///< the function has thrown; for which lanes it has run is not known
  bad_address,       ///< a lane's payload does not lie where the server takes payloads from; nothing has run
  ended,             ///< the server has ended; whether the function has run is not known
  bad_map,  ///< a lane's payload is no list of mapped variables, and the server takes no other; nothing has run
};

/// What becomes of a variable that a request maps. (libgomp, GOMP_MAP_ALLOC, _TO, _FROM and _TOFROM.)
enum class offload_map_kind : uint64_t { alloc = 0, to = 1, from = 2, tofrom = 3 };

/// A variable of the device that a function of the host works on. A line's payload may be a list of these.
struct offload_map_entry {
  uint64_t address;
  uint64_t size_bytes;
  uint64_t kind;  ///< an offload_map_kind
};

/// What one lane asks, and what it is answered. `payload` is an address of the device; what it names is no part of the request.
struct offload_line {
  uint64_t words[6];
  uint64_t payload;
  uint64_t payload_bytes;
};
static_assert(sizeof(offload_line) == line_bytes);

/// The first line of an entry.
struct offload_header {
  uint64_t turn;      ///< whose the entry is, see single.h and ring.h; aligned, so that it is copied whole
  uint64_t mask;      ///< the lanes that ask
  uint64_t function;  ///< number of the function; the same for all of them
  uint64_t status;    ///< an offload_status
  uint64_t unused[4];
};
static_assert(sizeof(offload_header) == line_bytes);
static_assert(__builtin_offsetof(offload_header, turn) == 0, "the turn is what is copied alone");

inline constexpr uint32_t max_offload_entries = 65536;

/// Offsets in bytes for `entries` entries of `lanes` lanes each; entries in [1, max_offload_entries] and a power of
/// two, lanes in [1, max_lanes].
struct offload_layout {
  uint32_t entries;
  uint32_t lanes;

  HEDDLE_FUNCTION constexpr bool is_valid() const {
    return entries != 0 && entries <= max_offload_entries && (entries & (entries - 1)) == 0 && lanes != 0 &&
           lanes <= max_lanes;
  }
  HEDDLE_FUNCTION constexpr size_t entry_bytes() const { return line_bytes * (size_t{1} + lanes); }
  HEDDLE_FUNCTION constexpr size_t entry_offset(uint32_t entry) const { return entry * entry_bytes(); }
  /// The word by which the server says that it has ended; in a line of its own.
  HEDDLE_FUNCTION constexpr size_t end_offset() const { return entries * entry_bytes(); }
  /// The size of the shared allocation, which must be zeroed and aligned to line_bytes.
  HEDDLE_FUNCTION constexpr size_t size_bytes() const { return end_offset() + line_bytes; }
  /// Words of 32 bits in the lock bits of the server.
  HEDDLE_FUNCTION constexpr size_t lock_words() const { return (size_t{entries} + 31) / 32; }
  HEDDLE_FUNCTION constexpr uint64_t lanes_that_exist() const {
    return lanes == max_lanes ? ~uint64_t{0} : (uint64_t{1} << lanes) - 1;
  }
};

/// The turns of all entries, as loads and stores that reach the other end. A view.
template <typename Target>
class offload_turns {
 public:
  HEDDLE_FUNCTION offload_turns(void* memory, offload_layout shape)
      : base_(static_cast<unsigned char*>(memory)), shape_(shape) {}

  /// Orders nothing: before the entry is touched because of it, acquire().
  HEDDLE_FUNCTION uint64_t look(uint32_t entry) const {
    // Relaxed: most looks find nothing, and an acquire at each would throw the caches of a GPU away.
    return ref(entry).load(memory_order::relaxed);
  }
  /// Puts what follows behind the store that a look() of this lane or thread has shown: of the other end or of the entry's last client. What that
  /// did to the entry comes before.
  HEDDLE_FUNCTION void acquire(uint32_t entry) const {
    // Acquire, system scope: with the relaxed load before it pairs with the release in store.
    acquire_seen<Target, scope::system>(header(entry).turn);
  }
  /// look() and acquire() in one.
  HEDDLE_FUNCTION uint64_t load(uint32_t entry) const {
    // Acquire, system scope: pairs with the release in store.
    return ref(entry).load(memory_order::acquire);
  }
  HEDDLE_FUNCTION void store(uint32_t entry, uint64_t turn) const {
    // Release, system scope: pairs with the acquires of load() and acquire().
    ref(entry).store(turn, memory_order::release);
  }
  HEDDLE_FUNCTION offload_header& header(uint32_t entry) const {
    return *reinterpret_cast<offload_header*>(base_ + shape_.entry_offset(entry));
  }
  HEDDLE_FUNCTION offload_line& line(uint32_t entry, uint32_t lane) const {
    return reinterpret_cast<offload_line*>(base_ + shape_.entry_offset(entry) + line_bytes)[lane];
  }
  HEDDLE_FUNCTION end_word<Target> ending() const {
    return end_word<Target>(*reinterpret_cast<uint32_t*>(base_ + shape_.end_offset()));
  }
  /// Whether the server has ended, which only one that may end does.
  template <typename Check>
  HEDDLE_FUNCTION bool has_ended() const {
    if constexpr (Check::may_end)
      return ending().is_set();
    else
      return false;
  }
  HEDDLE_FUNCTION offload_layout shape() const { return shape_; }

 private:
  using turn_ref = typename Target::template atomic_ref<uint64_t, scope::system>;
  HEDDLE_FUNCTION turn_ref ref(uint32_t entry) const { return turn_ref(header(entry).turn); }

  unsigned char* base_;
  offload_layout shape_;
};

}  // namespace heddle::rpc
