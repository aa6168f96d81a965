// How a host thread reaches the memory of the requests: it is mapped, or it is copied.
//
// Both say the same to the server: look at a turn, open an entry, close it, hand it over. Where memory is copied, each of these is a copy
// that has happened before the next one begins. That, and not the order within a copy, is what the protocol stands on.
#pragma once

#include <heddle/rpc/offload/request.h>

#include <string.h>

namespace heddle::rpc {

/// Host and device reach the entries and the payloads by the same address.
template <typename Target>
class mapped_entries {
 public:
  explicit mapped_entries(void* memory, offload_layout shape) : turns_(memory, shape) {}

  uint64_t load_turn(uint32_t entry) const { return turns_.load(entry); }
  void store_turn(uint32_t entry, uint64_t turn) const { turns_.store(entry, turn); }

  struct buffer {};
  offload_header& open(uint32_t entry, buffer&) const { return turns_.header(entry); }
  void close(uint32_t, const buffer&) const {}

  void fetch(void* to, uint64_t from, size_t bytes) const { memcpy(to, reinterpret_cast<const void*>(from), bytes); }
  void put(uint64_t to, const void* from, size_t bytes) const { memcpy(reinterpret_cast<void*>(to), from, bytes); }

  offload_layout shape() const { return turns_.shape(); }

 private:
  offload_turns<Target> turns_;
};

/// The host cannot load from the memory of the device: it copies. `Copy` is called as `copy(to, from, bytes)`, between memory of the host
/// and of the device. What the thread did before comes before; the copy has happened on return; it waits for no kernel, so it may not stand
/// behind one in a stream. An aligned word of 8 bytes is copied whole. Nothing is asked of the order of several words.
template <typename Copy>
class copied_entries {
 public:
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

  struct buffer {
    alignas(offload_line) unsigned char bytes[line_bytes * (1 + max_lanes)];
  };
  /// By a copy of its own, behind the one that has shown the turn.
  offload_header& open(uint32_t entry, buffer& held) const {
    copy_(held.bytes + sizeof(uint64_t), base_ + shape_.entry_offset(entry) + sizeof(uint64_t), behind_the_turn());
    return *reinterpret_cast<offload_header*>(held.bytes);
  }
  void close(uint32_t entry, const buffer& held) const {
    copy_(base_ + shape_.entry_offset(entry) + sizeof(uint64_t), held.bytes + sizeof(uint64_t), behind_the_turn());
  }

  void fetch(void* to, uint64_t from, size_t bytes) const { copy_(to, reinterpret_cast<const void*>(from), bytes); }
  void put(uint64_t to, const void* from, size_t bytes) const { copy_(reinterpret_cast<void*>(to), from, bytes); }

  offload_layout shape() const { return shape_; }

 private:
  size_t behind_the_turn() const { return shape_.entry_bytes() - sizeof(uint64_t); }

  unsigned char* base_;
  offload_layout shape_;
  Copy copy_;
};

}  // namespace heddle::rpc
