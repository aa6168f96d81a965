#include <heddle/sim/base/invariant.h>
#include <heddle/sim/space/mapped_ranges.h>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace heddle::sim {
namespace {

constexpr int nowhere = PROT_NONE;

/// Makes the addresses such that nothing is there, and they stay this process's.
bool empty_at(void* address, size_t size_bytes, int more) {
  void* const mapped = mmap(address, size_bytes, nowhere, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | more, -1, 0);
  if (mapped == address) return true;
  if (mapped != MAP_FAILED) munmap(mapped, size_bytes);
  return false;
}

template <typename List>
auto last_from(const List& of, const void* address) {
  return std::upper_bound(of.begin(), of.end(), address,
                          [](const void* wanted, const auto& each) { return wanted < each.first; });
}

}  // namespace

mapped_ranges::~mapped_ranges() {
  if (is_reserved_) munmap(reinterpret_cast<void*>(first_address), capacity_bytes);
}

void mapped_ranges::begin_anew() {
  // What the program has not closed; another file may have the descriptor by now.
  for (const exported& each : exported_)
    if (exported_as(each.descriptor) == each.number) ::close(each.descriptor);
  exported_.clear();
  if (used_bytes_ != 0) empty_at(reinterpret_cast<void*>(first_address), used_bytes_, MAP_FIXED);
  used_bytes_ = 0;
  ranges_.clear();
  mappings_.clear();
  objects_.clear();
}

void* mapped_ranges::reserve(size_t size_bytes, size_t alignment) {
  if (!is_reserved_)
    is_reserved_ = empty_at(reinterpret_cast<void*>(first_address), capacity_bytes, MAP_FIXED_NOREPLACE);
  if (!is_reserved_) return nullptr;
  const size_t unit = std::max(alignment, granule_bytes);
  // A granule between two ranges is in neither.
  const size_t at = (used_bytes_ + granule_bytes + unit - 1) / unit * unit;
  if (at > capacity_bytes || size_bytes > capacity_bytes - at) return nullptr;
  used_bytes_ = at + size_bytes;
  auto* const first = reinterpret_cast<std::byte*>(first_address + at);
  ranges_.push_back({first, size_bytes});
  return first;
}

bool mapped_ranges::free(void* first, size_t size_bytes) {
  for (auto& each : ranges_) {
    if (each.first != first || each.size_bytes != size_bytes || each.is_free) continue;
    const auto mapped = std::any_of(mappings_.begin(), mappings_.end(), [&](const mapping& one) {
      return one.first >= each.first && one.first < each.first + size_bytes;
    });
    if (mapped) return false;
    each.is_free = true;
    return true;
  }
  return false;
}

uint64_t mapped_ranges::add(mappable made) {
  objects_.push_back(std::move(made));
  return objects_.size();
}

mappable* mapped_ranges::find(uint64_t number) {
  if (number == 0 || number > objects_.size() || !objects_[number - 1].is_known()) return nullptr;
  return &objects_[number - 1];
}

int mapped_ranges::export_object(uint64_t number) {
  const int descriptor = memfd_create("heddle", MFD_CLOEXEC);
  struct stat file = {};
  if (descriptor >= 0 && fstat(descriptor, &file) == 0) exported_.push_back({descriptor, file.st_ino, number});
  return descriptor;
}

uint64_t mapped_ranges::exported_as(int descriptor) const {
  struct stat file = {};
  if (fstat(descriptor, &file) != 0) return 0;
  for (const exported& each : exported_)
    if (each.file == file.st_ino) return each.number;
  return 0;
}

bool mapped_ranges::map(void* to, size_t size_bytes, uint64_t number, size_t at) {
  auto* const first = static_cast<std::byte*>(to);
  const auto [begin, whole] = range_of(to);
  if (begin == nullptr || size_bytes > whole - static_cast<size_t>(first - static_cast<std::byte*>(begin)))
    return false;
  const auto behind = last_from(mappings_, to);
  if (behind != mappings_.end() && behind->first < first + size_bytes) return false;
  if (behind != mappings_.begin() && std::prev(behind)->end() > first) return false;
  const mappable& object = objects_[number - 1];
  // The pages of the heap there are shared ones (heap::allocate_pages), so that they can be seen at two places.
  if (!object.is_multicast() &&
      mremap(object.base + at, 0, size_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED)
    return false;
  mappings_.insert(behind, {first, size_bytes, number, at, {}});
  return true;
}

std::pair<size_t, size_t> mapped_ranges::filling(const void* from, size_t size_bytes) const {
  const auto* next = static_cast<const std::byte*>(from);
  const auto* const end = next + size_bytes;
  size_t first = 0;
  while (first < mappings_.size() && mappings_[first].first != next) ++first;
  size_t last = first;
  while (last < mappings_.size() && next < end && mappings_[last].first == next) next = mappings_[last++].end();
  return next == end ? std::pair{first, last} : std::pair<size_t, size_t>{0, 0};
}

void mapped_ranges::close(size_t first, size_t last) {
  for (size_t n = first; n < last; ++n)
    must_hold(empty_at(mappings_[n].first, mappings_[n].size_bytes, MAP_FIXED), "what is mapped can be unmapped");
  mappings_.erase(mappings_.begin() + static_cast<ptrdiff_t>(first), mappings_.begin() + static_cast<ptrdiff_t>(last));
}

bool mapped_ranges::allow(void* from, size_t size_bytes, uint32_t device, mapping_right what) {
  const auto [first, last] = filling(from, size_bytes);
  for (size_t n = first; n < last; ++n) {
    auto& grants = mappings_[n].grants;
    const auto known =
        std::find_if(grants.begin(), grants.end(), [&](const grant& one) { return one.device == device; });
    if (known == grants.end())
      grants.push_back({device, what});
    else
      known->what = what;
  }
  return first != last;
}

const mapped_ranges::mapping* mapped_ranges::holding(const void* address) const {
  const auto behind = last_from(mappings_, address);
  if (behind == mappings_.begin() || std::prev(behind)->end() <= address) return nullptr;
  return &*std::prev(behind);
}

mapping_right mapped_ranges::right_of(const void* address, uint32_t device) const {
  const mapping* const of = holding(address);
  if (of == nullptr) return mapping_right::none;
  for (const grant& one : of->grants)
    if (one.device == device) return one.what;
  return mapping_right::none;
}

std::byte* mapped_ranges::home_of(const void* address) const {
  const mapping* const of = holding(address);
  if (of == nullptr || objects_[of->number - 1].is_multicast()) return nullptr;
  return objects_[of->number - 1].base + of->at + (static_cast<const std::byte*>(address) - of->first);
}

size_t mapped_ranges::bytes_together(const void* address, size_t size_bytes) const {
  const mapping* const of = holding(address);
  if (of == nullptr) return size_bytes;
  return std::min(size_bytes, static_cast<size_t>(of->end() - static_cast<const std::byte*>(address)));
}

uint64_t mapped_ranges::mapped_at(const void* address) const {
  const mapping* const of = holding(address);
  return of == nullptr ? 0 : of->number;
}

size_t mapped_ranges::offset_in_object(const void* address) const {
  const mapping* const of = holding(address);
  return of == nullptr ? 0 : of->at + static_cast<size_t>(static_cast<const std::byte*>(address) - of->first);
}

std::vector<std::byte*> mapped_ranges::homes_of(const void* address, size_t size_bytes) const {
  const mapping* const of = holding(address);
  if (of == nullptr || !objects_[of->number - 1].is_multicast()) return {};
  const mappable& object = objects_[of->number - 1];
  const size_t at = of->at + static_cast<size_t>(static_cast<const std::byte*>(address) - of->first);
  std::vector<std::byte*> all;
  for (const uint32_t device : object.devices)
    for (const mappable::part& part : object.parts)
      if (part.device == device && at >= part.at && at + size_bytes <= part.at + part.size_bytes)
        all.push_back(part.base + (at - part.at));
  if (all.size() != object.wanted) all.clear();
  return all;
}

std::pair<void*, size_t> mapped_ranges::range_of(const void* address) const {
  const auto behind = last_from(ranges_, address);
  if (behind == ranges_.begin()) return {};
  const range& of = *std::prev(behind);
  const bool holds = address < of.first + of.size_bytes && !of.is_free;
  return holds ? std::pair<void*, size_t>{of.first, of.size_bytes} : std::pair<void*, size_t>{};
}

std::pair<void*, size_t> mapped_ranges::mapping_of(const void* address) const {
  const mapping* const of = holding(address);
  return of == nullptr ? std::pair<void*, size_t>{} : std::pair<void*, size_t>{of->first, of->size_bytes};
}

std::string mapped_ranges::why_not(const void* address, uint32_t device) const {
  const auto behind = last_from(ranges_, address);
  if (behind == ranges_.begin() || address >= std::prev(behind)->first + std::prev(behind)->size_bytes)
    return "out of bounds: no range of addresses is reserved there";
  if (std::prev(behind)->is_free) return "after cuMemAddressFree";
  const uint64_t number = mapped_at(address);
  if (number == 0) return "no memory is mapped there";
  const mapping_right right = right_of(address, device);
  const std::string who = device == of_host ? "the host" : "device " + std::to_string(device);
  if (right == mapping_right::none) return "cuMemSetAccess has given " + who + " no right to it";
  if (objects_[number - 1].is_multicast()) return "memory of several devices, which multimem instructions alone reach";
  return "cuMemSetAccess has given " + who + " the right to read it, and none to write";
}

std::string mapped_ranges::describe(const void* address) const {
  const auto behind = last_from(ranges_, address);
  char text[64];
  if (behind == ranges_.begin())
    std::snprintf(text, sizeof text, "%p", address);
  else
    std::snprintf(text, sizeof text, "cuMemAddressReserve %zu+0x%zx", static_cast<size_t>(behind - ranges_.begin()),
                  static_cast<size_t>(static_cast<const std::byte*>(address) - std::prev(behind)->first));
  return text;
}

}  // namespace heddle::sim
