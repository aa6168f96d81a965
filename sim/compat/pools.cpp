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
  uint32_t reach = 0;  ///< a bit for each other device that reaches its memory
  std::array<uint64_t, 8> attributes = {1, 1, 1, 0, 0, 0, 0, 0};
};

namespace {

constexpr size_t kept = 4, most_kept = 5, used = 6, most_used = 7;

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

memory_pool* make_pool(uint32_t device) {
  here().pools.push_back(std::make_unique<memory_pool>());
  here().pools.back()->device = device;
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

uint64_t* attribute_of(memory_pool* pool, int number) {
  must_be_there(pool);
  const auto place = static_cast<size_t>(number) - 1;
  return place < pool->attributes.size() ? &pool->attributes[place] : nullptr;
}

void let_reach(memory_pool* pool, uint32_t device, bool may_reach) {
  must_be_there(pool);
  const uint32_t bit = 1U << device;
  pool->reach = may_reach ? pool->reach | bit : pool->reach & ~bit;
  for (const auto& [memory, of] : here().allocated)
    if (of.from == pool) sim::runtime::let_reach(memory, pool->reach);
}

bool reaches(const memory_pool* pool, uint32_t device) {
  must_be_there(pool);
  return pool->device == device || (pool->reach >> device & 1) != 0;
}

void note_allocated(memory_pool* from, const void* memory, size_t bytes) {
  if (memory == nullptr) return;
  sim::runtime::let_reach(memory, from->reach);
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
  trim_pool(was.from, was.from->attributes[pool_threshold - 1]);
}

void trim_pool(memory_pool* trimmed, size_t kept_bytes) {
  must_be_there(trimmed);
  auto& counts = trimmed->attributes;
  counts[kept] = std::max(counts[used], std::min<uint64_t>(counts[kept], kept_bytes));
}

}  // namespace heddle::compat
