#include <heddle/sim/space/lane_heap.h>
#include <heddle/sim/space/program_heap.h>

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace heddle::sim {
namespace {

std::mutex taking;

// Those of programs, one behind the other as they were made.
constexpr size_t most_programs = 64;
struct program_heap {
  const std::byte* base = nullptr;
  size_t size_bytes = 0;
};
std::array<program_heap, most_programs> program_heaps;
std::atomic<size_t> program_heaps_used = 0;

}  // namespace

size_t offset_in_program_heap(const void* address) {
  const size_t used = program_heaps_used.load(std::memory_order_acquire);
  for (size_t n = 0; n < used; ++n) {
    const auto offset = static_cast<size_t>(static_cast<const std::byte*>(address) - program_heaps[n].base);
    if (offset < program_heaps[n].size_bytes) return offset;
  }
  return in_no_program_heap;
}

std::byte* lane_heap::range = nullptr;
std::array<lane_heap*, lane_heap::slices_most> lane_heap::owners;

lane_heap::lane_heap() {
  const std::lock_guard lock(taking);
  if (range == nullptr) {
    void* const mapped =
        mmap(nullptr, range_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    range = static_cast<std::byte*>(mapped);
  }
  while (slice_ < slices_most && owners[slice_] != nullptr) ++slice_;
  if (slice_ == slices_most) throw std::bad_alloc();
  owners[slice_] = this;
  base_ = range + slice_ * slice_bytes;
}

std::unique_ptr<lane_heap> lane_heap::make() {
  try {
    auto made = std::make_unique<lane_heap>();
    const std::lock_guard lock(taking);
    const size_t used = program_heaps_used.load(std::memory_order_relaxed);
    const auto is_known = [&](const program_heap& one) { return one.base == made->base_; };
    if (used == most_programs || std::any_of(program_heaps.begin(), program_heaps.begin() + used, is_known))
      return made;
    program_heaps[used] = {made->base_, slice_bytes};
    program_heaps_used.store(used + 1, std::memory_order_release);
    return made;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

lane_heap::~lane_heap() {
  const std::lock_guard lock(taking);
  madvise(base_, slice_bytes, MADV_DONTNEED);
  owners[slice_] = nullptr;
}

void lane_heap::begin_run() {
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    part& of = parts_[lane];
    if (of.used_bytes == 0) continue;
    std::memset(base_ + lane * part_bytes, 0, of.used_bytes);
    of.used_bytes = 0;
    for (std::vector<uint32_t>& each : of.freed) each.clear();
  }
}

void* lane_heap::allocate(uint32_t lane, size_t size_bytes, size_t alignment) {
  if (lane >= lanes || size_bytes > part_bytes / 2 || alignment > 4096) return nullptr;
  part& of = parts_[lane];
  const size_t steps = (size_bytes + step_bytes - 1) / step_bytes + (size_bytes == 0 ? 1 : 0);
  std::byte* const begin = base_ + lane * part_bytes;
  if (steps < sizes && alignment <= step_bytes && !of.freed[steps].empty()) {
    std::byte* const again = begin + size_t{of.freed[steps].back()} * step_bytes;
    of.freed[steps].pop_back();
    reinterpret_cast<piece*>(again - sizeof(piece))->freed = false;
    return again;
  }
  if (alignment < step_bytes) alignment = step_bytes;
  const size_t at = (of.used_bytes + sizeof(piece) + alignment - 1) / alignment * alignment;
  if (at + steps * step_bytes > part_bytes) return nullptr;
  of.used_bytes = at + steps * step_bytes;
  new (begin + at - sizeof(piece)) piece{.size_bytes = steps * step_bytes, .freed = false};
  return begin + at;
}

void lane_heap::release_in_range(std::byte* memory, const lane_heap* in_use) {
  lane_heap* const owner = owners[static_cast<size_t>(memory - range) / slice_bytes];
  // What another thread's search or an earlier run has allocated is gone.
  if (owner != nullptr && owner == in_use) owner->give_back(memory);
}

void lane_heap::give_back(std::byte* memory) {
  const auto offset = static_cast<size_t>(memory - base_);
  part& of = parts_[offset / part_bytes];
  const size_t in_part = offset % part_bytes;
  if (in_part >= of.used_bytes) return;
  auto& header = *reinterpret_cast<piece*>(memory - sizeof(piece));
  if (header.freed) return;
  header.freed = true;
  // Old contents must not reach the program again, nor the states that the search compares.
  std::memset(memory, 0, header.size_bytes);
  const size_t steps = header.size_bytes / step_bytes;
  // Of a program no address is used twice in a run: what threads have done there before is no part of what comes.
  if (steps < sizes && offset_in_program_heap(base_) == in_no_program_heap)
    of.freed[steps].push_back(static_cast<uint32_t>(in_part / step_bytes));
}

void lane_heap::tell(state_reader& to) const {
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    const part& of = parts_[lane];
    if (of.used_bytes == 0) continue;
    to.fact(lane);
    to.bytes(base_ + lane * part_bytes, of.used_bytes);
    for (const std::vector<uint32_t>& each : of.freed)
      for (const uint32_t place : each) to.fact(place);
  }
}

}  // namespace heddle::sim
