// How a host thread reaches the memory of the requests: it is mapped, or it is copied.
//
// Both say the same to the server: look at a turn, open an entry, close it, hand it over. To open an entry is to copy it to the host in
// either case: what a server has checked cannot change any more. Where memory is copied by the runtime, each of these is a copy
// that has happened before the next one begins. That, and not the order within a copy, is what the protocol stands on.
#pragma once

#include <heddle/rpc/link.h>
#include <heddle/rpc/offload/request.h>

#include <string.h>

namespace heddle::rpc {

/// How a server reaches entries that lie in memory of the device. Those in memory of the host that both ends reach are mapped always.
enum class offload_access : uint8_t {
  none,    ///< not at all: let them lie in memory of the host
  mapped,  ///< mapped_entries, in memory of try_allocate_mapped()
  copied,  ///< copied_entries, in memory of try_allocate_fine()
};
/// What the link of a device allows: mapped where host code reaches the device's memory, or else copied. (libgomp asks
/// CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS for the same.)
constexpr offload_access access_by(const link_properties& has) {
  if (has.coherent) return offload_access::mapped;
  return has.fine ? offload_access::copied : offload_access::none;
}
/// The same of a device; an error where its runtime does not answer.
template <typename Device>
result<offload_access> access_of(Device& device) {
  result<link_properties> has = device.try_link();
  if (!has) return has.why();
  return access_by(has.value());
}

/// An entry on the host.
struct offload_buffer {
  offload_header header;
  offload_line lines[max_lanes];
};
static_assert(sizeof(offload_buffer) == line_bytes * (1 + max_lanes),
              "it is copied whole, as the entry lies in memory");

/// Host and device reach the entries and the payloads by the same address.
template <typename Target>
class mapped_entries {
 public:
  explicit mapped_entries(void* memory, offload_layout shape) : turns_(memory, shape) {}

  uint64_t load_turn(uint32_t entry) const { return turns_.load(entry); }
  void store_turn(uint32_t entry, uint64_t turn) const { turns_.store(entry, turn); }
  void store_end() const { turns_.ending().set(); }

  /// What is asked, and the lines of the lanes that exist and ask.
  offload_header& open(uint32_t entry, offload_buffer& held) const {
    // Once: the other side may change it at any time.
    const volatile offload_header& from = turns_.header(entry);
    held.header.mask = from.mask & shape().lanes_that_exist();
    held.header.function = from.function;
    for (uint32_t lane = 0; lane < shape().lanes; ++lane)
      if ((held.header.mask >> lane & 1) != 0) memcpy(&held.lines[lane], &turns_.line(entry, lane), line_bytes);
    return held.header;
  }
  /// Puts the lines of `lanes` back, and the status.
  void close(uint32_t entry, const offload_buffer& held, uint64_t lanes) const {
    for (uint32_t lane = 0; lane < shape().lanes; ++lane)
      if ((lanes >> lane & 1) != 0) memcpy(&turns_.line(entry, lane), &held.lines[lane], line_bytes);
    turns_.header(entry).status = held.header.status;
  }

  void fetch(void* to, uint64_t from, size_t bytes) const { memcpy(to, reinterpret_cast<const void*>(from), bytes); }
  void put(uint64_t to, const void* from, size_t bytes) const { memcpy(reinterpret_cast<void*>(to), from, bytes); }

  offload_layout shape() const { return turns_.shape(); }

 private:
  offload_turns<Target> turns_;
};

/// The host cannot load from the memory of the device: it copies. `Copy` is called as `copy(to, from, bytes)`, between memory of the host
/// and of the device. What the thread did before comes before; the copy has happened on return; it waits for no kernel, so it may not stand
/// behind one in a stream. An aligned word of 8 bytes is copied whole. Nothing is asked of the order of several words. The memory is
/// device.try_allocate_fine()'s: in other memory of a device a kernel that waits need not see what a copy has brought.
template <typename Copy>
class copied_entries {
 public:
  static constexpr const char* name = "reverse offload with copied entries";
  static constexpr link_properties needs = {.fine = true};
  static constexpr const char* instead = "mapped_entries need memory that both sides reach, and nothing else";

  copied_entries(void* memory, offload_layout shape, Copy copy)
      : base_(static_cast<unsigned char*>(memory)), shape_(shape), copy_(copy) {}

  uint64_t load_turn(uint32_t entry) const {
    uint64_t turn = 0;
    copy_(&turn, base_ + shape_.entry_offset(entry), sizeof turn);
    return turn;
  }
  void store_turn(uint32_t entry, uint64_t turn) const {
    copy_(base_ + shape_.entry_offset(entry), &turn, sizeof turn);
  }

  void store_end() const {
    const uint64_t ended = 1;
    copy_(base_ + shape_.end_offset(), &ended, sizeof ended);
  }

  /// By a copy of its own, behind the one that has shown the turn.
  offload_header& open(uint32_t entry, offload_buffer& held) const {
    copy_(behind_the_turn(held), base_ + shape_.entry_offset(entry) + sizeof(uint64_t), bytes_behind_the_turn());
    return held.header;
  }
  /// The whole entry: a copy more for each lane would take longer.
  void close(uint32_t entry, offload_buffer& held, uint64_t) const {
    copy_(base_ + shape_.entry_offset(entry) + sizeof(uint64_t), behind_the_turn(held), bytes_behind_the_turn());
  }

  void fetch(void* to, uint64_t from, size_t bytes) const { copy_(to, reinterpret_cast<const void*>(from), bytes); }
  void put(uint64_t to, const void* from, size_t bytes) const { copy_(reinterpret_cast<void*>(to), from, bytes); }

  offload_layout shape() const { return shape_; }

 private:
  static unsigned char* behind_the_turn(offload_buffer& held) {
    return reinterpret_cast<unsigned char*>(&held) + sizeof(uint64_t);
  }
  size_t bytes_behind_the_turn() const { return shape_.entry_bytes() - sizeof(uint64_t); }

  unsigned char* base_;
  offload_layout shape_;
  Copy copy_;
};

}  // namespace heddle::rpc
