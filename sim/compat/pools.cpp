// Compiled without instrumentation: none of this is an access of the program's.
#include <heddle/sim/compat/pools.h>
#include <heddle/sim/runtime/gpu_calls.h>
#include <heddle/sim/runtime/program_memory.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <vector>

namespace heddle::compat {

struct memory_pool {
  uint32_t device = 0;
  bool is_first = false;
  size_t most_bytes = 0;  ///< 0: any number
  uint32_t loading = 0;   ///< a bit for each other device that loads from its memory
  uint32_t storing = 0;   ///< likewise; a part of those
  std::array<uint64_t, 8> attributes = {1, 1, 1, 0, 0, 0, 0, 0};
};

namespace {

constexpr size_t kept = 4, most_kept = 5, used = 6, most_used = 7;
constexpr int last_flag = 3, threshold = 4;

struct piece {
  memory_pool* from = nullptr;
  size_t bytes = 0;
};

/// Of one run.
struct pool_state {
  std::vector<std::unique_ptr<memory_pool>>
      pools;                             ///< first those that devices have from the beginning, in their order
  std::vector<memory_pool*> of_devices;  ///< what the memory of their streams is taken from
  std::map<const void*, piece> allocated;
};

/// As variables of the device, it is 0 when a run begins.
[[gnu::section("heddle_device")]] uint32_t is_of_this_run = 0;

// Not in the function: the guard of a variable there is an operation of the thread that comes first, in the first run of a process alone.
pool_state only;  // NOLINT(cert-err58-cpp): nothing that it makes throws

pool_state& here() {
  if (is_of_this_run != 0) return only;
  // Memory of an earlier run may have gone with it.
  if (sim::runtime::memory_begins_anew())
    std::construct_at(&only);
  else
    only = pool_state();
  is_of_this_run = 1;
  for (uint32_t device = 0; device < sim::runtime::device_count(); ++device) {
    only.pools.push_back(std::make_unique<memory_pool>());
    only.pools.back()->device = device;
    only.pools.back()->is_first = true;
    only.of_devices.push_back(only.pools.back().get());
  }
  return only;
}

void must_be_there(const memory_pool* asked) {
  const auto& all = here().pools;
  if (std::none_of(all.begin(), all.end(), [&](const auto& each) { return each.get() == asked; }))
    sim::runtime::trap(fault::assertion, "a pool of memory that is destroyed, or was never made, is used");
}

}  // namespace

bool is_there(int device) { return device >= 0 && static_cast<uint32_t>(device) < sim::runtime::device_count(); }

memory_pool* make_pool(uint32_t device, size_t most_bytes) {
  here().pools.push_back(std::make_unique<memory_pool>());
  here().pools.back()->device = device;
  here().pools.back()->most_bytes = most_bytes;
  return here().pools.back().get();
}

bool destroy_pool(memory_pool* destroyed) {
  must_be_there(destroyed);
  if (destroyed->is_first) return false;
  pool_state& now = here();
  std::replace(now.of_devices.begin(), now.of_devices.end(), destroyed, now.pools[destroyed->device].get());
  std::erase_if(now.allocated, [&](const auto& each) { return each.second.from == destroyed; });
  std::erase_if(now.pools, [&](const auto& each) { return each.get() == destroyed; });
  return true;
}

memory_pool* first_pool_of(uint32_t device) { return here().pools[device].get(); }
memory_pool* pool_of(uint32_t device) { return here().of_devices[device]; }
bool set_pool_of(uint32_t device, memory_pool* pool) {
  must_be_there(pool);
  if (pool->device != device) return false;
  here().of_devices[device] = pool;
  return true;
}
uint32_t device_of(const memory_pool* pool) {
  must_be_there(pool);
  return pool->device;
}

namespace {

/// The attribute of this number, as the runtimes number them: 1 to 3, whether memory may be used again in three ways; 4, how many bytes are kept when
/// they are given back; then bytes: 5 that are kept, 6 the most that were, 7 in use, 8 the most that were. Null: there is no such attribute.
uint64_t* attribute_of(memory_pool* pool, int number) {
  must_be_there(pool);
  const auto place = static_cast<size_t>(number) - 1;
  return place < pool->attributes.size() ? &pool->attributes[place] : nullptr;
}

}  // namespace

call_answer get_attribute(memory_pool* pool, int number, void* value) {
  const uint64_t* const found = attribute_of(pool, number);
  if (found == nullptr || value == nullptr) return call_answer::invalid_value;
  if (number <= last_flag)
    *static_cast<int*>(value) = static_cast<int>(*found);
  else
    *static_cast<uint64_t*>(value) = *found;
  return call_answer::done;
}

call_answer set_attribute(memory_pool* pool, int number, const void* value) {
  uint64_t* const found = attribute_of(pool, number);
  if (found == nullptr || value == nullptr) return call_answer::invalid_value;
  const uint64_t wanted = number <= last_flag ? static_cast<uint64_t>(*static_cast<const int*>(value))
                                              : *static_cast<const uint64_t*>(value);
  const auto place = static_cast<size_t>(number) - 1;
  const bool is_most = place == most_kept || place == most_used;
  if (number > threshold && (!is_most || wanted != 0)) return call_answer::invalid_value;
  *found = is_most ? pool->attributes[place - 1] : wanted;
  return call_answer::done;
}

call_answer check_access(const memory_pool* pool, int device, range_right what) {
  must_be_there(pool);
  if (!is_there(device)) return call_answer::invalid_device;
  if (static_cast<uint32_t>(device) != pool->device || what == range_right::write) return call_answer::done;
  return what == range_right::none ? call_answer::invalid_device : call_answer::not_supported;
}

void let_reach(memory_pool* pool, uint32_t device, range_right what) {
  const auto put = [&](uint32_t& bits, bool may) { bits = may ? bits | 1U << device : bits & ~(1U << device); };
  put(pool->loading, what != range_right::none);
  put(pool->storing, what == range_right::write);
  for (const auto& [memory, of] : here().allocated)
    if (of.from == pool) sim::runtime::let_reach(memory, pool->loading, pool->storing);
}

range_right right_of(const memory_pool* pool, uint32_t device) {
  must_be_there(pool);
  if (pool->device == device || (pool->storing >> device & 1) != 0) return range_right::write;
  return (pool->loading >> device & 1) != 0 ? range_right::read : range_right::none;
}

memory_pool* pool_that_gave(const void* memory) {
  if (is_of_this_run == 0) return nullptr;
  const auto found = here().allocated.find(memory);
  return found == here().allocated.end() ? nullptr : found->second.from;
}

bool has_room_for(const memory_pool* pool, size_t bytes) {
  return pool->most_bytes == 0 || (bytes <= pool->most_bytes && pool->attributes[used] <= pool->most_bytes - bytes);
}

void note_allocated(memory_pool* from, const void* memory, size_t bytes) {
  if (memory == nullptr) return;
  sim::runtime::let_reach(memory, from->loading, from->storing);
  here().allocated[memory] = {from, bytes};
  auto& counts = from->attributes;
  counts[used] += bytes;
  counts[kept] = std::max(counts[kept], counts[used]);
  counts[most_used] = std::max(counts[most_used], counts[used]);
  counts[most_kept] = std::max(counts[most_kept], counts[kept]);
}

void note_released(const void* memory) {
  // Most programs have none.
  if (is_of_this_run == 0) return;
  auto& allocated = here().allocated;
  const auto found = allocated.find(memory);
  if (found == allocated.end()) return;
  const piece was = found->second;
  allocated.erase(found);
  was.from->attributes[used] -= was.bytes;
  trim_pool(was.from, was.from->attributes[threshold - 1]);
}

void trim_pool(memory_pool* trimmed, size_t kept_bytes) {
  must_be_there(trimmed);
  auto& counts = trimmed->attributes;
  counts[kept] = std::max(counts[used], std::min<uint64_t>(counts[kept], kept_bytes));
}

}  // namespace heddle::compat
