// Memory that a program maps by itself: objects of memory, ranges of addresses, and the mapping of the one at the other. Called by host threads.
// (CUDA Driver API, "Virtual Memory Management", "Multicast Object Management".)
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace heddle::sim::runtime {

/// What the sizes and offsets of all of these are multiples of, in bytes.
size_t mapping_granule();

// Objects, by their numbers: 0 is none. Each is there until it has been released as often as it was made, retained and imported, and nothing
// maps it.

/// Memory of a device, or of the host, named `kind` and a number. The run ends where there is none left.
uint64_t create_mappable(size_t size_bytes, uint32_t device, bool on_host, const char* kind);
/// An address of it is one of the memory of each of so many devices, which have yet to be added and bound.
uint64_t create_multicast(size_t size_bytes, uint32_t devices);
/// False where the object is none, or all have been added.
bool add_device(uint64_t multicast, uint32_t device);

enum class binding : uint8_t { done, invalid, lacks_devices };
/// From `at` on the object stands, for the device that the memory belongs to, for what lies from `memory_at` on in `memory`.
binding bind_memory(uint64_t multicast, size_t at, uint64_t memory, size_t memory_at, size_t size_bytes);
/// The same for the memory that is mapped at an address.
binding bind_address(uint64_t multicast, size_t at, const void* address, size_t size_bytes);
bool unbind_memory(uint64_t multicast, uint32_t device, size_t at, size_t size_bytes);

bool retain_mappable(uint64_t object);
bool release_mappable(uint64_t object);
/// The object that is mapped at the address.
uint64_t mappable_at(const void* address);
struct mappable_facts {
  size_t size_bytes = 0;  ///< 0: no such object
  uint32_t device = 0;
  bool on_host = false;
  bool is_multicast = false;
};
mappable_facts facts_of(uint64_t object);

/// A file descriptor that stands for the object, which the program closes; -1 where there is none.
int export_mappable(uint64_t object);
/// The object that was exported as this descriptor, or as one that it is a duplicate of; retained.
uint64_t import_mappable(int descriptor);

// Ranges of addresses. All of these answer whether it could be done.

/// Null where no addresses are left.
void* reserve_range(size_t size_bytes, size_t alignment);
bool free_range(void* range, size_t size_bytes);
bool map_range(void* to, size_t size_bytes, uint64_t object, size_t at);
/// Whole mappings.
bool unmap_range(void* from, size_t size_bytes);
enum class range_right : uint8_t { none, read, write };
/// The host reaches what is mapped as it reaches all memory of devices.
bool allow_in_range(void* from, size_t size_bytes, uint32_t device, range_right what);
range_right right_in_range(const void* address, uint32_t device);

/// Where an operation on an address of several devices' memory goes: the addresses of these bytes in each of them, at most `most`, and how many.
/// Of other memory: its own address alone. Ends the run where the object there does not stand for memory of all its devices.
uint32_t memories_at(void* address, size_t size_bytes, void** all, uint32_t most);
/// More devices than a run has.
inline constexpr uint32_t most_memories = 64;

}  // namespace heddle::sim::runtime
