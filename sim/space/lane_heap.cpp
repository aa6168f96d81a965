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
  base_ = range + slice_ * (slice_bytes + shadow_bytes);
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
  madvise(base_, slice_bytes + shadow_bytes, MADV_DONTNEED);
  owners[slice_] = nullptr;
}

void lane_heap::begin_run() {
  notes_.clear();
  names_.clear();
  changes_ = 0;
  found_last_ = 0;
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    part& of = parts_[lane];
    if (of.used_bytes == 0) continue;
    std::memset(base_ + lane * part_bytes, 0, of.used_bytes);
    std::memset(shadow() + lane * part_bytes / step_bytes, 0, of.used_bytes / step_bytes);
    of.used_bytes = 0;
    for (std::vector<uint32_t>& each : of.freed) each.clear();
  }
}

void* lane_heap::allocate(uint32_t lane, size_t size_bytes, size_t alignment) {
  if (lane >= lanes || size_bytes > part_bytes / 2 || alignment > 4096) return nullptr;
  part& of = parts_[lane];
  ++changes_;
  if (size_bytes == 0) size_bytes = 1;
  const size_t steps = steps_of(size_bytes);
  std::byte* const begin = base_ + lane * part_bytes;
  if (steps < sizes && alignment <= step_bytes && !of.freed[steps].empty()) {
    std::byte* const again = begin + size_t{of.freed[steps].back()} * step_bytes;
    of.freed[steps].pop_back();
    open(again, size_bytes);
    return again;
  }
  if (alignment < step_bytes) alignment = step_bytes;
  const size_t at = (of.used_bytes + sizeof(piece) + alignment - 1) / alignment * alignment;
  if (at + steps * step_bytes > part_bytes) return nullptr;
  of.used_bytes = at + steps * step_bytes;
  open(begin + at, size_bytes);
  return begin + at;
}

void lane_heap::open(std::byte* memory, size_t size_bytes) {
  static_assert(sizeof(piece) == step_bytes);
  new (memory - sizeof(piece)) piece{.size_bytes = size_bytes, .freed = false};
  int8_t* const steps = shadow() + static_cast<size_t>(memory - base_) / step_bytes;
  steps[-1] = of_header;
  std::memset(steps, step_bytes, size_bytes / step_bytes);
  if (size_bytes % step_bytes != 0) steps[size_bytes / step_bytes] = static_cast<int8_t>(size_bytes % step_bytes);
}

bool lane_heap::are_steps_allocated(size_t offset, size_t bytes) const {
  if (bytes > slice_bytes - offset) return false;
  const int8_t* const steps = shadow();
  const size_t end = offset + bytes;
  for (size_t n = offset / step_bytes; n < end / step_bytes; ++n)
    if (steps[n] != step_bytes) return false;
  const auto rest = static_cast<ptrdiff_t>(end % step_bytes);
  return rest == 0 || rest <= steps[end / step_bytes];
}

lane_heap::block lane_heap::nearest(const void* address) const {
  const auto offset = static_cast<size_t>(static_cast<const std::byte*>(address) - base_);
  const size_t first = offset / part_bytes * (part_bytes / step_bytes);
  const auto lane = static_cast<uint32_t>(offset / part_bytes);
  const size_t end = first + parts_[lane].used_bytes / step_bytes;
  const auto block_behind = [&](size_t header) {
    const auto& known = *reinterpret_cast<const piece*>(base_ + header * step_bytes);
    return block{base_ + (header + 1) * step_bytes, known.size_bytes, lane,
                 known.freed ? block_state::freed : block_state::allocated};
  };
  const auto* const at = static_cast<const std::byte*>(address);
  const auto holds = [at](const block& one) { return at >= one.base && at < one.base + one.size_bytes; };
  // Large blocks are long ways through the shadow, and looked at element by element.
  if (found_last_ != 0 && shadow()[found_last_] == of_header)
    if (const block same = block_behind(found_last_); holds(same)) return same;
  // Headers lie before their blocks: the one that is meant begins before the address, or right behind it.
  const size_t from = std::min(offset / step_bytes, end);
  const void* const header = memrchr(shadow() + first, of_header, from - first);
  block known;
  if (header != nullptr) {
    const auto number = static_cast<size_t>(static_cast<const int8_t*>(header) - shadow());
    known = block_behind(number);
    if (holds(known)) {
      found_last_ = number;
      return known;
    }
  }
  size_t next = from;
  while (next < end && shadow()[next] != of_header) ++next;
  if (header == nullptr) return next < end ? block_behind(next) : block{};
  if (next >= end) return known;
  const block following = block_behind(next);
  return following.base - at <= at - (known.base + known.size_bytes) ? following : known;
}

void lane_heap::note(const void* memory, const call_chain& calls) {
  names_.erase(static_cast<const std::byte*>(memory));
  if (notes_.size() < most_notes) notes_.push_back({static_cast<const std::byte*>(memory), calls});
}

std::string lane_heap::made_at(const block& one) const {
  const auto known =
      std::find_if(notes_.begin(), notes_.end(), [&](const note_of_block& each) { return each.base == one.base; });
  return known == notes_.end() ? "" : source_of(known->calls).where();
}

std::string lane_heap::describe(const void* address) const {
  const block of = nearest(address);
  const auto [entry, fresh] = names_.try_emplace(of.base);
  if (fresh) {
    const std::string where = made_at(of);
    entry->second = "memory of " + (where.empty() ? "the C++ heap" : where);
    size_t number = 1;
    for (const note_of_block& each : notes_) {
      if (each.base == of.base) break;
      if (source_of(each.calls).where() == where) ++number;
    }
    if (!where.empty() && number != 1) entry->second += " #" + std::to_string(number);
  }
  const std::string& text = entry->second;
  const auto offset = static_cast<const std::byte*>(address) - of.base;
  char behind[32];
  std::snprintf(behind, sizeof behind, offset < 0 ? "-0x%zx" : "+0x%zx",
                static_cast<size_t>(offset < 0 ? -offset : offset));
  return text + behind;
}

void lane_heap::release_in_range(std::byte* memory, const lane_heap* in_use) {
  lane_heap* const owner = owners[static_cast<size_t>(memory - range) / slice_bytes];
  // What another thread's search or an earlier run has allocated is gone.
  if (owner != nullptr && owner == in_use) owner->give_back(memory);
}

void lane_heap::give_back(std::byte* memory) {
  const auto offset = static_cast<size_t>(memory - base_);
  part& of = parts_[offset / part_bytes];
  ++changes_;
  const size_t in_part = offset % part_bytes;
  if (in_part >= of.used_bytes) return;
  auto& header = *reinterpret_cast<piece*>(memory - sizeof(piece));
  if (header.freed) return;
  header.freed = true;
  // Old contents must not reach the program again, nor the states that the search compares.
  std::memset(memory, 0, header.size_bytes);
  const size_t steps = header.steps();
  std::memset(shadow() + static_cast<size_t>(memory - base_) / step_bytes, of_freed, steps);
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
