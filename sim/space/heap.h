// The memory that a program allocates through its device. Every access to it is checked against what is allocated now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::sim {

class lane_heap;

enum class memory_kind : uint8_t {
  shared,
  device,
  combining,  ///< shared, and the host maps it write-combining
};

/// Which other devices reach memory of a device by its address.
enum class peer_reach : uint8_t {
  all,
  let_devices,  ///< those that were let to reach the device
  let_to_it,    ///< those that were let to reach this memory, as that of a pool
};

struct allocation {
  std::byte* base = nullptr;
  size_t size_bytes = 0;
  memory_kind kind = memory_kind::shared;
  bool freed = false;
  uint32_t device = 0;  ///< that it was allocated for
  const char* name = "";
  bool watched = false;  ///< each access is looked at more closely: its pages move, or there are several processes
  const void* owner = nullptr;  ///< the object whose end frees it, if any
  bool with_owner = false;      ///< it was freed by that
  bool with_block = false;      ///< it was freed by the end of the block whose shared memory it is
  bool is_hidden = false;       ///< the host does not reach it by its address
  peer_reach peers = peer_reach::all;
  uint32_t let_to_load = 0;    ///< with let_to_it: a bit for each other device that was
  uint32_t let_to_store = 0;   ///< likewise; a part of those
  bool is_waited_for = false;  ///< calls that copy or fill it return when that has ended

  bool holds(const void* address, size_t bytes) const {
    const auto offset = static_cast<size_t>(static_cast<const std::byte*>(address) - base);
    return offset < size_bytes && bytes <= size_bytes - offset;
  }
};

/// One range of addresses, handed out from the bottom and never twice in a run, with a gap behind each allocation; so that an
/// access that misses its allocation hits no other, and a freed address stays freed.
class heap {
 public:
  /// Of addresses, at which there is nothing else. Where the address space is limited, fewer of them can be used.
  static constexpr size_t capacity_bytes = size_t{1} << 36;

  /// Ends the program with a message where no address space can be had.
  heap();
  ~heap();
  heap(const heap&) = delete;
  heap& operator=(const heap&) = delete;

  /// Forgets all allocations.
  [[gnu::hot]] void reset();

  /// Zeroed, aligned to a cache line; null when the range is used up.
  /// `owner`: an object whose end frees it, if any (release_all_of).
  [[gnu::hot]] void* allocate(size_t size_bytes, memory_kind kind, const char* name, uint32_t device = 0,
                              const void* owner = nullptr);
  /// The same on pages that can be mapped at other addresses too; a whole number of them.
  void* allocate_pages(size_t size_bytes, memory_kind kind, const char* name, uint32_t device);
  /// What this run has not allocated yet, of all of the range; freed bytes do not come back.
  uint64_t free_bytes() const { return reserved_bytes_ - used_bytes_; }
  uint64_t total_bytes() const { return reserved_bytes_; }

  /// Null on success, otherwise what is wrong.
  const char* release(void* pointer);
  /// Memory of a block that has ended.
  void release_with_block(void* pointer);
  /// Releases what belongs to an object that ends, and calls `let_go(base)` before each.
  template <typename LetGo>
  void release_all_of(const void* owner, LetGo&& let_go) {
    for (size_t n = 0; n < allocations_.size(); ++n) {
      allocation& each = allocations_[n];
      if (each.owner != owner || each.freed) continue;
      let_go(each.base);
      each.freed = each.with_owner = true;
      close(n);
      ++frees_;
    }
  }

  bool contains(const void* address) const { return offset_of(address) < capacity_bytes; }
  size_t offset_of(const void* address) const {
    return static_cast<size_t>(static_cast<const std::byte*>(address) - base_);
  }

  /// The allocation that the address lies in or behind; null when it lies before the first.
  const allocation* nearest(const void* address) const;

  /// Null when all the bytes lie in one live allocation, otherwise what is wrong. The address must lie in the range.
  const char* check(const void* address, size_t bytes) const {
    const size_t line = offset_of(address) / line_bytes;
    if (line < lines_) [[likely]] {
      const span& open = open_[owner_of_line_[line]];
      const size_t offset = reinterpret_cast<uintptr_t>(address) - open.base;
      if (offset < open.size_bytes && bytes <= open.size_bytes - offset) [[likely]]
        return nullptr;
    }
    return look_closer(address, bytes);
  }
  /// The answer of check() where nothing is wrong as far as the heap knows, and the allocation is watched.
  /// Known by its address, so an array: equal literals of two sources need not be one.
  static constexpr char is_watched[] = "is watched";
  /// From now on the allocation that begins there is.
  void watch(const void* base);
  /// The allocation made last is hidden from the host, or from other devices.
  void hide_last(bool from_host, peer_reach peers) {
    has_hidden_ = true;
    allocations_.back().is_hidden = from_host;
    allocations_.back().peers = peers;
  }
  /// Of other devices, these alone load from the allocation that begins there, and store to it, if it is hidden from any.
  void let_reach(const void* base, uint32_t loading, uint32_t storing) {
    allocation& of = allocations_[owner_of_line_[offset_of(base) / line_bytes]];
    if (of.peers == peer_reach::all) return;
    of.peers = peer_reach::let_to_it;
    of.let_to_load = loading;
    of.let_to_store = storing;
  }
  bool has_hidden() const { return has_hidden_; }
  void wait_for_copies_of(const void* address, bool wait) {
    allocations_[owner_of_line_[offset_of(address) / line_bytes]].is_waited_for = wait;
  }
  /// The allocation that holds the address, which lies in one.
  const allocation& holder(const void* address) const {
    return allocations_[owner_of_line_[offset_of(address) / line_bytes]];
  }

  /// All of this run, the freed ones too, by address.
  const std::vector<allocation>& allocations() const { return allocations_; }
  /// How many allocations have been freed in this run.
  uint64_t frees() const { return frees_; }
  /// Likewise, with what the program has freed elsewhere: see program().
  uint64_t frees_anywhere() const { return frees_anywhere_; }
  void note_program_free() { ++frees_anywhere_; }

  /// `new` and malloc() of a program with a main(), which lie elsewhere; null: nothing is known of them.
  const lane_heap* program() const { return program_; }
  void take_program(const lane_heap* program) { program_ = program; }
  /// What tells names of addresses on stacks: "frame of host main-0x40"; empty for other addresses.
  using frame_names = std::string (*)(const void* context, const void* address);
  void take_frames(frame_names names, const void* context) {
    frame_names_ = names;
    frames_ = context;
  }
  std::string frame_at(const void* address) const {
    return frame_names_ == nullptr ? "" : frame_names_(frames_, address);
  }

  /// "mailboxes+0x40", for people; "mailboxes-0x4" of what lies nearer to its start than to the end of what is before it.
  std::string describe(const void* address) const;

  void check_invariants() const;

 private:
  /// The allocation that holds the address, or else the one that lies nearest on either side; null where there is none.
  const allocation* meant(const void* address) const;
  /// Of an access that is not within one of the allocations that are open.
  [[gnu::cold]] const char* look_closer(const void* address, size_t bytes) const;
  [[gnu::cold, gnu::noinline]] void make_room_for(size_t lines);
  void close(size_t n) { open_[n].size_bytes = 0; }
  /// The bytes from `base` on, which end with what is used from now on, are an allocation.
  void add(std::byte* base, size_t whole, allocation made);
  [[gnu::cold]] void give_back_pages();

  struct span {
    uintptr_t base = 0;
    size_t size_bytes = 0;  ///< 0: each access is to be looked at more closely
  };

  static constexpr size_t line_bytes = 64;
  std::byte* base_ = nullptr;
  size_t reserved_bytes_ = 0;
  size_t used_bytes_ = 0;
  std::vector<allocation> allocations_;  ///< by address
  std::vector<span> open_;               ///< what each of them may be accessed as without a closer look
  std::vector<uint32_t> owner_of_line_;  ///< the allocation that a line belongs to or lies before, by line of the range
  size_t lines_ = 0;                     ///< [0, lines_) belong to this run
  std::vector<allocation> shared_pages_;  ///< of this run: they have no owner but this process and its mappings
  uint64_t frees_ = 0;
  uint64_t frees_anywhere_ = 0;
  bool has_hidden_ = false;
  const lane_heap* program_ = nullptr;
  frame_names frame_names_ = nullptr;
  const void* frames_ = nullptr;
};

}  // namespace heddle::sim
