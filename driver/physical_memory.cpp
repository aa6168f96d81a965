#include <heddle/driver/message.h>
#include <heddle/driver/physical_memory.h>

#include <algorithm>
#include <cassert>

namespace heddle::driver {

result<physical_memory::range> physical_memory::add(device_id device, uint64_t size_bytes, uint64_t end) {
  assert(device >= devices_.size());
  const std::string arguments = words("device ", device, ", ", size_bytes, " bytes");
  if (size_bytes < page_bytes_)
    return failure("register device", arguments, "too small", words("a page has ", page_bytes_, " bytes"));
  if (next_base_ >= end || size_bytes > end - next_base_)
    return failure("register device", arguments, "too large",
                   words("physical addresses are below ", address_text{end}));
  const range where = {.base = next_base_, .size_bytes = size_bytes};
  next_base_ += (size_bytes + page_bytes_ - 1) / page_bytes_ * page_bytes_;
  devices_.resize(device + size_t{1});
  devices_[device].where = where;
  devices_[device].pages = size_bytes / page_bytes_;
  by_base_.push_back(device);
  return where;
}

result<device_id> physical_memory::device_of(uint64_t physical_address) const {
  const auto above =
      std::upper_bound(by_base_.begin(), by_base_.end(), physical_address,
                       [this](uint64_t address, device_id device) { return address < devices_[device].where.base; });
  if (above != by_base_.begin()) {
    const device_id device = *(above - 1);
    if (physical_address - devices_[device].where.base < devices_[device].where.size_bytes) return device;
  }
  return failure("device of address", words(address_text{physical_address}), "unknown address",
                 "no device has memory there");
}

physical_memory::range physical_memory::range_of(device_id device) const {
  return device < devices_.size() ? devices_[device].where : range{};
}

uint64_t physical_memory::free_pages(device_id device) const {
  if (device >= devices_.size()) return 0;
  const memory& of = devices_[device];
  return of.pages - of.untouched + of.given_back.size();
}

uint64_t physical_memory::take(device_id device) {
  memory& of = devices_[device];
  if (of.given_back.empty()) {
    assert(of.untouched < of.pages);
    return of.where.base + page_bytes_ * of.untouched++;
  }
  const uint64_t again = of.given_back.back();
  of.given_back.pop_back();
  return again;
}

void physical_memory::give(device_id device, uint64_t physical_address) {
  memory& of = devices_[device];
  assert(physical_address - of.where.base < of.untouched * page_bytes_);
  of.given_back.push_back(physical_address);
}

}  // namespace heddle::driver
