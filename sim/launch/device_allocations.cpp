#include <heddle/sim/base/address_space.h>
#include <heddle/sim/launch/device_allocations.h>
#include <heddle/sim/machine/kernel.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace heddle::sim {

using scheduler::verdict;

namespace {
constexpr size_t least_page_bytes = 4096;  // the least that any page has
}  // namespace

void* device_allocations::try_allocate(lane& self, const allocation_request& what) {
  core_.note_progress(self);
  if (what.moves) place_all();
  void* const memory = what.in_pages
                           ? core_.map.heap.allocate_pages(what.size_bytes, what.kind, what.name, what.device)
                           : core_.map.heap.allocate(what.size_bytes, what.kind, what.name, what.device, what.owner);
  const peer_reach peers = devices_.gpus() > 1 ? what.peers : peer_reach::all;
  if (memory != nullptr && (what.is_hidden || peers != peer_reach::all))
    core_.map.heap.hide_last(what.is_hidden, peers);
  if (core_.observers.recorder) [[unlikely]]
    core_.observers.recorder->types.allocated(memory, what.place);
  if (memory == nullptr || what.kind != memory_kind::device || !devices_.places_memory()) return memory;
  if (devices_.place(memory, what.size_bytes == 0 ? 1 : what.size_bytes, what.device, what.moves)) {
    if (what.moves || devices_.has_several_processes()) core_.map.heap.watch(memory);
    return memory;
  }
  core_.map.heap.release(memory);
  return nullptr;
}

void* device_allocations::allocate(lane& self, const allocation_request& what, const operation& how) {
  void* const memory = try_allocate(self, what);
  if (memory != nullptr) return memory;
  self.pending = how;
  core_.end(self, verdict::memory,
            "no memory left for " + std::to_string(what.size_bytes) + " bytes of " + what.name +
                (core_.map.heap.total_bytes() == heap::capacity_bytes ? "" : std::string("; ") + more_address_space));
}

void device_allocations::place_all() {
  if (devices_.places_memory()) return;
  devices_.needs_placing();
  for (const allocation& each : core_.map.heap.allocations())
    if (!each.freed && each.kind == memory_kind::device)
      devices_.place(each.base, each.size_bytes == 0 ? 1 : each.size_bytes, each.device).value();
}

result<void> device_allocations::check_process(const char* call, uint32_t device, const void* address,
                                               size_t size_bytes) const {
  if (!devices_.has_several_processes() || !core_.map.heap.contains(address)) return {};
  const allocation* const of = core_.map.heap.nearest(address);
  if (of == nullptr || of->kind != memory_kind::device || !of->holds(address, size_bytes)) return {};
  const uint32_t owner = devices_[of->device].process;
  const uint32_t mine = devices_[device].process;
  if (owner == mine) return {};
  return error{call, core_.map.heap.describe(address), "memory fault",
               named_process(mine) + " has nothing there, and the memory is that of " + named_process(owner)};
}

void device_allocations::require_process(lane& self, const char* call, uint32_t device, const void* address,
                                         size_t size_bytes, const operation& how) {
  const result<void> mine = check_process(call, device, address, size_bytes);
  if (mine) return;
  self.pending = how;
  core_.end(self, verdict::memory, mine.why().line());
}

result<device_page> device_allocations::page_of(uint32_t device, const void* address) {
  if (const result<void> mine = check_process("page_of", device, address, 1); !mine) return mine.why();
  const allocation* const of = core_.map.heap.contains(address) ? core_.map.heap.nearest(address) : nullptr;
  if (of == nullptr || of->freed || of->kind != memory_kind::device || !of->holds(address, 1))
    return error{"page_of", core_.map.heap.contains(address) ? core_.map.heap.describe(address) : "", "invalid pointer",
                 "this is no memory of a device"};
  place_all();
  return devices_.page_of(of->base, static_cast<size_t>(static_cast<const std::byte*>(address) - of->base));
}

result<void*> device_allocations::at(uint32_t device, uint64_t address) {
  place_all();
  const auto [base, offset] = devices_.placed_at(device, address);
  if (base != nullptr && core_.map.heap.nearest(base)->holds(static_cast<const std::byte*>(base) + offset, 1))
    return const_cast<void*>(static_cast<const void*>(static_cast<const std::byte*>(base) + offset));
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return error{"at", text, "memory fault", named_process(devices_[device].process) + " has nothing at this address"};
}

// Where memory has no end, as many bytes as there are addresses that were never given out.
device_memory device_allocations::memory_of(uint32_t device) const {
  if (devices_.places_memory()) return devices_.memory_of(device);
  return {.free_bytes = core_.map.heap.free_bytes(), .total_bytes = core_.map.heap.total_bytes()};
}

size_t device_allocations::piece_of_copy(const void* to, const void* from, size_t at_byte, size_t size_bytes) {
  size_t piece = size_bytes - at_byte;
  if (!devices_.places_memory()) return piece;
  for (const void* const side : {to, from}) {
    const auto* const byte = static_cast<const std::byte*>(side) + at_byte;
    if (!core_.map.heap.contains(byte)) continue;
    const allocation* const of = core_.map.heap.nearest(byte);
    if (of == nullptr || of->freed || of->kind != memory_kind::device || !of->holds(byte, 1)) continue;
    // From page to page, as long as one GPU has them.
    const auto offset = static_cast<size_t>(byte - of->base);
    const size_t end = std::min(offset + piece, of->size_bytes);
    size_t next = (offset / least_page_bytes + 1) * least_page_bytes;
    while (next < end && devices_.gpu_of(of->base, next) == devices_.gpu_of(of->base, offset)) next += least_page_bytes;
    piece = std::min(piece, std::min(next, end) - offset);
  }
  return piece;
}

void device_allocations::write_back(uint32_t gpu, bool kernels_run) {
  unflushed_.write_back(kernels_run, [&](const void* base, size_t at) { return devices_.gpu_of(base, at) == gpu; });
}

void device_allocations::map_cached(lane& self, void* memory) {
  const allocation* const known = core_.map.heap.contains(memory) ? core_.map.heap.nearest(memory) : nullptr;
  if (known == nullptr || known->freed || known->base != memory)
    core_.end(self, verdict::memory, "memory is to be cached that the device has not allocated");
  cache_.map(known->base, known->size_bytes);
}

void device_allocations::release(lane& self, void* pointer) {
  let_go(self, pointer);
  if (core_.machine.points == plain_points::unchecked && core_.threads.live_lanes > 1) look_for_accesses(self, pointer);
  if (const char* wrong = core_.map.heap.release(pointer))
    core_.end(self, verdict::memory,
              std::string(wrong) + " (" + core_.map.heap.describe(pointer) + ")" + where_freed(self, pointer));
  if (freed_.size() < most_freed) freed_.push_back({pointer, &self, calls_of(self)});
  if (devices_.places_memory()) devices_.give_back(pointer);
  unflushed_.freed(pointer);
  core_.note_progress(self);
}

// A plain access that is no scheduling point is made with what comes before it: another lane would never free its memory in between.
void device_allocations::look_for_accesses(lane& self, const void* pointer) {
  if (core_.late == nullptr || !core_.map.heap.contains(pointer)) return;
  const allocation* const of = core_.map.heap.nearest(pointer);
  if (of == nullptr || of->freed || of->base != pointer) return;
  if (core_.late->is_accessed_beside(self, of->base, of->size_bytes))
    core_.end(self, verdict::memory,
              core_.map.heap.describe(pointer) + " is freed, and a plain access by another lane is not ordered before");
}

void device_allocations::let_go_in_search(lane& self, const void* pointer) {
  if (core_.late == nullptr || !core_.map.heap.contains(pointer)) return;
  const allocation* const freed = core_.map.heap.nearest(pointer);
  if (freed == nullptr) return;
  core_.late->note_freed(self, freed->base, freed->size_bytes);
  if (core_.machine.points != plain_points::all)
    core_.notes->freed_under_access =
        core_.notes->freed_under_access || core_.late->is_accessed_beside(self, freed->base, freed->size_bytes);
}

void device_allocations::release_all_of(lane& self, const void* owner) {
  core_.map.heap.release_all_of(owner, [&](std::byte* base) {
    let_go(self, base);
    if (devices_.places_memory()) devices_.give_back(base);
    unflushed_.freed(base);
  });
}

void* device_allocations::shared_variable(lane& self, const void* key, size_t size_bytes, const char* name,
                                          const void* place) {
  return copy_of_block(self, self.of->block, {.key = key, .size_bytes = size_bytes, .name = name}, place);
}

bool device_allocations::is_live(const launched_kernel& runs, uint32_t block) const {
  const size_t first = runs.first_wave + size_t{block} * runs.waves_per_block;
  for (size_t n = 0; n < runs.waves_per_block; ++n)
    if (core_.threads.waves[first + n].live()) return true;
  return false;
}

void* device_allocations::copy_of_block(lane& self, uint32_t block, const block_state::variable& wanted,
                                        const void* place) {
  block_state& state = self.of->runs->state_of(block);
  for (const block_state::variable& known : state.shared)
    if (known.key == wanted.key) return known.copy;
  names_.push_back(std::string(wanted.name) + " of block " + std::to_string(block));
  void* const copy = allocate(
      self,
      {.size_bytes = wanted.size_bytes, .kind = memory_kind::device, .name = names_.back().c_str(), .place = place},
      self.pending);
  std::memset(copy, core_.machine.fill, wanted.size_bytes);
  state.shared.push_back({wanted.key, copy, wanted.size_bytes, wanted.name});
  // An address in a block that has ended may be had, but not used.
  if (block != self.of->block && !is_live(*self.of->runs, block)) core_.map.heap.release_with_block(copy);
  return copy;
}

void* device_allocations::shared_variable_of(lane& self, uint32_t rank, const void* address, const void* place) {
  launched_kernel& runs = *self.of->runs;
  if (rank >= runs.cluster_blocks)
    core_.end(self, verdict::memory,
              "shared memory of block " + std::to_string(rank) + " of a cluster that has " +
                  std::to_string(runs.cluster_blocks) + (runs.cluster_blocks == 1 ? " block" : " blocks"));
  for (const block_state::variable& known : runs.state_of(self.of->block).shared) {
    if (!known.holds(address)) continue;
    const block_state::variable wanted = known;
    const uint32_t block = runs.block_of({.cluster = runs.place_of(self.of->block).cluster, .rank = rank});
    auto* const copy = static_cast<std::byte*>(copy_of_block(self, block, wanted, place));
    return copy + (static_cast<const std::byte*>(address) - static_cast<const std::byte*>(wanted.copy));
  }
  core_.end(self, verdict::memory,
            core_.map.heap.describe(address) +
                " is asked for in another block of the cluster, and is no shared memory of the lane's own block");
}

uint32_t device_allocations::rank_of(const lane& self, const void* address) const {
  const launched_kernel& runs = *self.of->runs;
  const uint32_t cluster = runs.place_of(self.of->block).cluster;
  for (uint32_t rank = 0; rank < runs.cluster_blocks && !runs.states.empty(); ++rank)
    for (const block_state::variable& known : runs.states[runs.block_of({.cluster = cluster, .rank = rank})].shared)
      if (known.holds(address)) return rank;
  return ~uint32_t{0};
}

void device_allocations::block_ended(lane& last) {
  launched_kernel& runs = *last.of->runs;
  if (runs.states.empty()) return;
  if (core_.late != nullptr) core_.late->acquire_object(last, object_of_block_end(runs.ordinal, last.of->block));
  for (const block_state::variable& gone : runs.states[last.of->block].shared) {
    let_go(last, gone.copy);
    if (core_.late != nullptr && core_.late->is_accessed_beside(last, gone.copy, gone.size_bytes))
      core_.end(last, verdict::memory,
                core_.map.heap.describe(gone.copy) +
                    " goes with its block, and an access by another block of the cluster is not ordered before");
    core_.map.heap.release_with_block(gone.copy);
    unflushed_.freed(gone.copy);
  }
}

const char* device_allocations::numbered_name(const char* kind) {
  for (auto& [known, count] : name_counts_)
    if (known == kind) return names_.emplace_back(known + " " + std::to_string(++count)).c_str();
  name_counts_.emplace_back(kind, 1);
  return names_.emplace_back(std::string(kind) + " 1").c_str();
}

}  // namespace heddle::sim
