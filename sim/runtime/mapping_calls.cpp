// Memory that a program maps by itself, and accesses to it.
#include <heddle/sim/runtime/calls.h>
#include <heddle/sim/runtime/driver_call.h>
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/gpu_calls.h>
#include <heddle/sim/runtime/mapping_calls.h>
#include <heddle/sim/runtime/reached.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace heddle::sim::runtime {
namespace {

static_assert(static_cast<uint8_t>(mapping_right::write) == static_cast<uint8_t>(range_right::write));

/// A call of a host thread that changes what is mapped, from its beginning to its return.
class mapping_call {
 public:
  mapping_call(const char* what, const caller& from)
      : self_(caller_lane(what)), called_(self_, from), inside_(self_), here_(*execution::instance) {
    here_.core().states.blind();
    here_.core().note_progress(self_);
  }

  mapped_ranges& ranges() const { return here_.core().map.ranges; }
  execution& here() const { return here_; }
  lane& self() const { return self_; }

  /// The object is gone where nothing has it any more.
  void let_go(uint64_t number, const caller& from) {
    mappable* const object = ranges().find(number);
    if (object != nullptr) return;
    mappable& gone = ranges().object(number);
    for (const mappable::part& part : std::exchange(gone.parts, {})) {
      --ranges().object(part.number).mappings;
      let_go(part.number, from);
    }
    if (gone.base == nullptr) return;
    here_.release(self_, gone.base, make_operation(operation_kind::none, nullptr, 0, from));
  }

 private:
  lane& self_;
  driver_call called_;
  entered inside_;
  execution& here_;
};

bool lies_within(size_t at, size_t size_bytes, size_t whole) {
  return mapped_ranges::is_whole(size_bytes) && at % mapped_ranges::granule_bytes == 0 && at <= whole &&
         size_bytes <= whole - at;
}

}  // namespace

size_t mapping_granule() { return mapped_ranges::granule_bytes; }

uint64_t create_mappable(size_t size_bytes, uint32_t device, bool on_host, const char* kind) {
  const caller from = HEDDLE_CALLER;
  const mapping_call call(kind, from);
  execution& here = call.here();
  void* const memory = here.memory().allocate(call.self(),
                                              {.size_bytes = size_bytes,
                                               .kind = on_host ? memory_kind::shared : memory_kind::device,
                                               .name = here.memory().numbered_name(kind),
                                               .device = device,
                                               .place = from.place,
                                               .is_hidden = !on_host && hides_device_memory(here),
                                               .in_pages = true},
                                              make_operation(operation_kind::none, nullptr, 0, from));
  std::memset(memory, here.machine().fill, size_bytes);
  return call.ranges().add({.size_bytes = size_bytes,
                            .base = static_cast<std::byte*>(memory),
                            .device = device,
                            .on_host = on_host,
                            .references = 1});
}

uint64_t create_multicast(size_t size_bytes, uint32_t devices) {
  const mapping_call call("a multicast object", HEDDLE_CALLER);
  return call.ranges().add({.size_bytes = size_bytes, .references = 1, .wanted = devices});
}

bool add_device(uint64_t multicast, uint32_t device) {
  const mapping_call call("a multicast object", HEDDLE_CALLER);
  mappable* const object = call.ranges().find(multicast);
  if (object == nullptr || !object->is_multicast() || object->devices.size() == object->wanted) return false;
  if (std::find(object->devices.begin(), object->devices.end(), device) != object->devices.end()) return false;
  object->devices.push_back(device);
  return true;
}

binding bind_memory(uint64_t multicast, size_t at, uint64_t memory, size_t memory_at, size_t size_bytes) {
  const mapping_call call("a multicast object", HEDDLE_CALLER);
  mappable* const object = call.ranges().find(multicast);
  mappable* const given = call.ranges().find(memory);
  if (object == nullptr || !object->is_multicast() || given == nullptr || given->is_multicast())
    return binding::invalid;
  if (object->devices.size() != object->wanted) return binding::lacks_devices;
  if (!lies_within(at, size_bytes, object->size_bytes) || !lies_within(memory_at, size_bytes, given->size_bytes) ||
      std::find(object->devices.begin(), object->devices.end(), given->device) == object->devices.end())
    return binding::invalid;
  for (const mappable::part& known : object->parts)
    if (known.device == given->device && at < known.at + known.size_bytes && known.at < at + size_bytes)
      return binding::invalid;
  object->parts.push_back({at, size_bytes, given->base + memory_at, given->device, memory});
  ++given->mappings;
  return binding::done;
}

binding bind_address(uint64_t multicast, size_t at, const void* address, size_t size_bytes) {
  const mapped_ranges& ranges = execution::instance->core().map.ranges;
  const uint64_t memory = ranges.mapped_at(address);
  const std::byte* const home = ranges.home_of(address);
  if (home == nullptr || ranges.bytes_together(address, size_bytes) != size_bytes) return binding::invalid;
  return bind_memory(multicast, at, memory, ranges.offset_in_object(address), size_bytes);
}

bool unbind_memory(uint64_t multicast, uint32_t device, size_t at, size_t size_bytes) {
  const caller from = HEDDLE_CALLER;
  mapping_call call("a multicast object", from);
  mappable* const object = call.ranges().find(multicast);
  if (object == nullptr) return false;
  std::vector<uint64_t> gone;
  std::erase_if(object->parts, [&](const mappable::part& part) {
    const bool is_meant = part.device == device && part.at >= at && part.at + part.size_bytes <= at + size_bytes;
    if (is_meant) gone.push_back(part.number);
    return is_meant;
  });
  for (const uint64_t memory : gone) {
    --call.ranges().object(memory).mappings;
    call.let_go(memory, from);
  }
  return !gone.empty();
}

bool retain_mappable(uint64_t object) {
  const mapping_call call("a handle of memory", HEDDLE_CALLER);
  mappable* const known = call.ranges().find(object);
  if (known == nullptr) return false;
  ++known->references;
  return true;
}

bool release_mappable(uint64_t object) {
  const caller from = HEDDLE_CALLER;
  mapping_call call("a handle of memory", from);
  mappable* const known = call.ranges().find(object);
  if (known == nullptr || known->references == 0) return false;
  --known->references;
  call.let_go(object, from);
  return true;
}

uint64_t mappable_at(const void* address) {
  if (execution::instance == nullptr) return 0;
  return execution::instance->core().map.ranges.mapped_at(address);
}

mappable_facts facts_of(uint64_t object) {
  if (execution::instance == nullptr) return {};
  const mappable* const known = execution::instance->core().map.ranges.find(object);
  if (known == nullptr) return {};
  return {known->size_bytes, known->device, known->on_host, known->is_multicast()};
}

int export_mappable(uint64_t object) {
  const mapping_call call("a handle of memory", HEDDLE_CALLER);
  return call.ranges().find(object) == nullptr ? -1 : call.ranges().export_object(object);
}

uint64_t import_mappable(int descriptor) {
  const mapping_call call("a handle of memory", HEDDLE_CALLER);
  const uint64_t number = call.ranges().exported_as(descriptor);
  mappable* const known = call.ranges().find(number);
  if (known == nullptr) return 0;
  ++known->references;
  return number;
}

void* reserve_range(size_t size_bytes, size_t alignment) {
  const mapping_call call("a range of addresses", HEDDLE_CALLER);
  return call.ranges().reserve(size_bytes, alignment);
}

bool free_range(void* range, size_t size_bytes) {
  const mapping_call call("a range of addresses", HEDDLE_CALLER);
  return call.ranges().free(range, size_bytes);
}

bool map_range(void* to, size_t size_bytes, uint64_t object, size_t at) {
  const mapping_call call("a range of addresses", HEDDLE_CALLER);
  mappable* const known = call.ranges().find(object);
  if (known == nullptr || !lies_within(at, size_bytes, known->size_bytes) ||
      mapped_ranges::offset_of(to) % mapped_ranges::granule_bytes != 0)
    return false;
  if (!call.ranges().map(to, size_bytes, object, at)) return false;
  ++known->mappings;
  return true;
}

bool unmap_range(void* from, size_t size_bytes) {
  const caller at = HEDDLE_CALLER;
  mapping_call call("a range of addresses", at);
  std::vector<uint64_t> gone;
  if (!call.ranges().unmap(from, size_bytes, [&](uint64_t object) { gone.push_back(object); })) return false;
  for (const uint64_t object : gone) {
    --call.ranges().object(object).mappings;
    call.let_go(object, at);
  }
  return true;
}

bool allow_in_range(void* from, size_t size_bytes, uint32_t device, range_right what) {
  const mapping_call call("a range of addresses", HEDDLE_CALLER);
  return call.ranges().allow(from, size_bytes, device, static_cast<mapping_right>(what));
}

range_right right_in_range(const void* address, uint32_t device) {
  if (execution::instance == nullptr) return range_right::none;
  return static_cast<range_right>(execution::instance->core().map.ranges.right_of(address, device));
}

uint32_t memories_at(void* address, size_t size_bytes, void** all, uint32_t most) {
  const caller from = HEDDLE_CALLER;
  all[0] = address;
  if (!mapped_ranges::contains(address) || execution::current == nullptr) return 1;
  lane& self = *execution::current;
  const entered inside(self);
  execution& here = *execution::instance;
  const mapped_ranges& ranges = here.core().map.ranges;
  // An access to it says what is wrong with the address.
  if (ranges.mapped_at(address) == 0 || ranges.home_of(address) != nullptr ||
      ranges.right_of(address, self.of->device) == mapping_right::none)
    return 1;
  const std::vector<std::byte*> homes = ranges.homes_of(address, size_bytes);
  if (homes.empty() || homes.size() > most) {
    here.finish_plain_store(self, from.frame);
    self.pending = make_operation(operation_kind::none, nullptr, 0, from);
    here.core().end(self, scheduler::verdict::memory,
                    "multimem of " + std::to_string(size_bytes) + " bytes at " + ranges.describe(address) +
                        ": a device of the multicast object has bound no memory there");
  }
  for (size_t n = 0; n < homes.size(); ++n) all[n] = homes[n];
  return static_cast<uint32_t>(homes.size());
}

const void* reached_by_mapping(execution& here, lane& self, const void* address, size_t size_bytes,
                               mapping_right wanted) {
  const mapped_ranges& ranges = here.core().map.ranges;
  const std::byte* const home = ranges.home_of(address);
  if (home == nullptr) return address;
  if (!self.is_host() && ranges.right_of(address, self.of->device) < wanted) return address;
  if (ranges.bytes_together(address, size_bytes) != size_bytes)
    here.core().end(self, scheduler::verdict::unsupported,
                    "one access of " + std::to_string(size_bytes) + " bytes at " + ranges.describe(address) +
                        ", which is mapped to several memories: access each by itself");
  return home;
}

}  // namespace heddle::sim::runtime
