#include <heddle/scheduler/append.h>
#include <heddle/scheduler/printable.h>
#include <heddle/sim/base/address_space.h>
#include <heddle/sim/base/invariant.h>
#include <heddle/sim/space/fresh_memory.h>
#include <heddle/sim/space/heap.h>

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace heddle::sim {
namespace {
constexpr size_t gap_bytes = 256;
constexpr size_t least_bytes = size_t{1} << 20;

/// Null when nothing could be mapped there, or something is.
std::byte* map_at(void* address, size_t size_bytes) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const mapped = mmap(address, size_bytes, PROT_READ | PROT_WRITE,
                            address == nullptr ? flags : flags | MAP_FIXED_NOREPLACE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  if (address == nullptr || mapped == address) return static_cast<std::byte*>(mapped);
  // A kernel that does not know the flag maps elsewhere.
  munmap(mapped, size_bytes);
  errno = EEXIST;
  return nullptr;
}
}  // namespace

heap::heap() : reserved_bytes_(share_of_address_space(capacity_bytes, 16)) {
  if (reserved_bytes_ == capacity_bytes) {
    base_ = map_at(nullptr, capacity_bytes);
    if (base_ != nullptr) return;
    reserved_bytes_ = size_t{1} << 30;
  }
  // An address belongs to the heap by where it lies, between the base and the capacity behind it: fewer bytes must lie where there is
  // nothing else so far behind them. Kernels map from the top of the address space down, and programs begin at its bottom or above 85 TiB.
  constexpr uintptr_t first = uintptr_t{32} << 40;
  constexpr size_t most_places = 512;
  for (; reserved_bytes_ >= least_bytes; reserved_bytes_ /= 2)
    for (size_t place = 0; place < most_places; ++place) {
      base_ = map_at(reinterpret_cast<void*>(first + place * capacity_bytes), reserved_bytes_);
      if (base_ != nullptr) return;
      if (errno != EEXIST) break;
    }
  no_address_space(least_bytes, "simulated memory");
}

heap::~heap() { munmap(base_, reserved_bytes_); }

void heap::reset() {
  if (!shared_pages_.empty()) [[unlikely]]
    give_back_pages();
  allocations_.clear();
  open_.clear();
  lines_ = 0;
  used_bytes_ = 0;
  frees_ = frees_anywhere_ = 0;
  has_hidden_ = false;
}

void heap::make_room_for(size_t lines) { owner_of_line_.resize(std::max(lines, 2 * owner_of_line_.size())); }

[[gnu::always_inline]] inline void heap::add(std::byte* base, size_t whole, allocation made) {
  used_bytes_ = static_cast<size_t>(base - base_) + whole;
  const size_t lines = used_bytes_ / line_bytes;
  if (lines > owner_of_line_.size()) [[unlikely]]
    make_room_for(lines);
  const auto number = static_cast<uint32_t>(allocations_.size());
  while (lines_ < lines) owner_of_line_[lines_++] = number;
  scheduler::append(open_, {reinterpret_cast<uintptr_t>(base), made.size_bytes});
  scheduler::append(allocations_, made);
}

void* heap::allocate(size_t size_bytes, memory_kind kind, const char* name, uint32_t device, const void* owner) {
  const size_t whole = (size_bytes + line_bytes - 1) / line_bytes * line_bytes;
  if (whole < size_bytes || whole + gap_bytes > reserved_bytes_ - used_bytes_) return nullptr;
  std::byte* const base = base_ + used_bytes_ + gap_bytes;
  if (base + whole >= base_ + reserved_bytes_) return nullptr;
  clear_fresh(base, whole);
  add(base, whole, {base, size_bytes, kind, false, device, name, false, owner, false});
  return base;
}

void* heap::allocate_pages(size_t size_bytes, memory_kind kind, const char* name, uint32_t device) {
  constexpr size_t page_bytes = 65536;  // the largest of any processor here
  const size_t at = (used_bytes_ + gap_bytes + page_bytes - 1) / page_bytes * page_bytes;
  must_hold(size_bytes % page_bytes == 0, "heap: whole pages");
  if (at > reserved_bytes_ || size_bytes >= reserved_bytes_ - at) return nullptr;
  std::byte* const base = base_ + at;
  if (mmap(base, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) !=
      base)
    return nullptr;
  add(base, size_bytes, {base, size_bytes, kind, false, device, name, false, nullptr, false});
  shared_pages_.push_back(allocations_.back());
  return base;
}

void heap::give_back_pages() {
  // Shared by a process that is forked later, they would be one memory of two runs.
  for (const allocation& each : shared_pages_)
    must_hold(mmap(each.base, each.size_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == each.base,
              "heap: pages are its own again");
  shared_pages_.clear();
}

const char* heap::release(void* pointer) {
  for (allocation& known : allocations_) {
    if (known.base != pointer) continue;
    if (known.freed) return "frees memory that has been freed already";
    known.freed = true;
    close(static_cast<size_t>(&known - allocations_.data()));
    ++frees_;
    ++frees_anywhere_;
    return nullptr;
  }
  return "frees a pointer that was not allocated";
}

void heap::release_with_block(void* pointer) {
  release(pointer);
  allocations_[static_cast<size_t>(nearest(pointer) - allocations_.data())].with_block = true;
}

const allocation* heap::nearest(const void* address) const {
  const auto behind = std::upper_bound(allocations_.begin(), allocations_.end(), address,
                                       [](const void* wanted, const allocation& known) { return wanted < known.base; });
  return behind == allocations_.begin() ? nullptr : &*std::prev(behind);
}

void heap::watch(const void* base) {
  for (allocation& known : allocations_)
    if (known.base == base) {
      known.watched = true;
      close(static_cast<size_t>(&known - allocations_.data()));
    }
}

const allocation* heap::meant(const void* address) const {
  const allocation* const before = nearest(address);
  const allocation* const next = before == nullptr ? allocations_.data() : before + 1;
  if (next == allocations_.data() + allocations_.size() || (before != nullptr && before->holds(address, 1)))
    return before;
  const auto* const at = static_cast<const std::byte*>(address);
  return before == nullptr || next->base - at <= at - (before->base + before->size_bytes) ? next : before;
}

const char* heap::look_closer(const void* address, size_t bytes) const {
  const allocation* const known = meant(address);
  if (known == nullptr) return "out of bounds: nothing is allocated";
  if (!known->holds(address, bytes)) {
    if (known->holds(address, 1)) return "out of bounds: crosses the end of its allocation";
    if (address < known->base) return "out of bounds: before the start of an allocation";
    return "out of bounds: behind the end of an allocation";
  }
  if (known->freed)
    return known->with_owner   ? "after its device was destroyed, which frees what is left"
           : known->with_block ? "after its block has ended"
                               : "after the memory was freed";
  return known->watched ? is_watched : nullptr;
}

std::string heap::describe(const void* address) const {
  const allocation* const known = meant(address);
  if (known == nullptr) return "unallocated memory";
  const auto offset = static_cast<const std::byte*>(address) - known->base;
  char text[32];
  std::snprintf(text, sizeof text, offset < 0 ? "-0x%zx" : "+0x%zx",
                static_cast<size_t>(offset < 0 ? -offset : offset));
  return scheduler::printable(known->name) + text;
}

void heap::check_invariants() const {
  must_hold(used_bytes_ <= reserved_bytes_, "heap: no more is used than is reserved");
  must_hold(open_.size() == allocations_.size(), "heap: each allocation has its span");
  must_hold(lines_ <= owner_of_line_.size(), "heap: each line of this run has an owner");
  must_hold(lines_ == used_bytes_ / line_bytes, "heap: lines are counted as far as memory is used");
  uint64_t freed = 0;
  const std::byte* behind = base_;
  for (size_t n = 0; n < allocations_.size(); ++n) {
    const allocation& each = allocations_[n];
    must_hold(each.base >= behind + gap_bytes, "heap: allocations follow one another with a gap");
    must_hold(each.base + each.size_bytes <= base_ + used_bytes_, "heap: allocations lie in what is used");
    must_hold(open_[n].base == reinterpret_cast<uintptr_t>(each.base), "heap: a span begins where its allocation does");
    must_hold(open_[n].size_bytes == (each.freed || each.watched ? 0 : each.size_bytes),
              "heap: a span is open exactly while every access is right");
    must_hold(each.freed || !each.with_owner, "heap: only freed memory went with its owner");
    must_hold(each.name != nullptr, "heap: an allocation has a name");
    behind = each.base + each.size_bytes;
    freed += each.freed ? 1 : 0;
  }
  must_hold(freed == frees_, "heap: frees are counted");
}

}  // namespace heddle::sim
