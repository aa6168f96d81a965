#include <heddle/driver/message.h>
#include <heddle/driver/page_table.h>

namespace heddle::driver {
namespace {

std::string about_mapping(process_id process, uint64_t virtual_address) {
  return words("process ", process, ", ", address_text{virtual_address});
}

}  // namespace

result<page_slot*> page_table::insert(const page& fresh) {
  const uint64_t virtual_address = first_byte(fresh.virtual_address);
  const uint64_t physical_address = first_byte(fresh.physical_address);
  if (virtual_address >= end() || physical_address >= end())
    return failure("page_table::insert", about_mapping(fresh.process, fresh.virtual_address), "out of range",
                   words("addresses are below ", address_text{end()}));
  if (find(fresh.process, virtual_address) != nullptr)
    return failure("page_table::insert", about_mapping(fresh.process, fresh.virtual_address), "already there",
                   "the page has an entry");
  if (const page_slot* const other = find_physical(physical_address))
    return failure("page_table::insert", about_mapping(fresh.process, fresh.virtual_address), "already there",
                   words("physical page ", address_text{physical_address}, " belongs to ",
                         about_mapping(other->entry.process, other->entry.virtual_address)));
  if (fresh.process >= spaces_.size()) spaces_.resize(fresh.process + size_t{1});
  if (spaces_[fresh.process] == nullptr) spaces_[fresh.process] = std::make_unique<address_space>();
  address_space& space = *spaces_[fresh.process];
  page_slot& slot = space.slots[virtual_address >> page_bits_];
  slot.entry = fresh;
  slot.entry.virtual_address = virtual_address;
  slot.entry.physical_address = physical_address;
  slot.before = space.newest;
  (space.newest != nullptr ? space.newest->after : space.oldest) = &slot;
  space.newest = &slot;
  by_physical_[physical_address >> page_bits_] = &slot;
  return &slot;
}

page_slot* page_table::find(process_id process, uint64_t virtual_address) const {
  if (process >= spaces_.size() || spaces_[process] == nullptr) return nullptr;
  return spaces_[process]->slots.find(virtual_address >> page_bits_);
}

result<void> page_table::update(std::span<const page> changed) {
  const auto refuse = [](const page& which, std::string name, std::string text) {
    return failure("page_table::update", about_mapping(which.process, which.virtual_address), std::move(name),
                   std::move(text));
  };
  for (const page& each : changed) {
    if (find(each.process, each.virtual_address) == nullptr) return refuse(each, "not there", "the page has no entry");
    if (each.physical_address >= end())
      return refuse(each, "out of range", words("addresses are below ", address_text{end()}));
  }
  // While they change hands, physical pages belong to no entry.
  for (const page& each : changed)
    by_physical_.erase(find(each.process, each.virtual_address)->entry.physical_address >> page_bits_);
  const page* refused = nullptr;
  for (const page& each : changed) {
    if (find_physical(each.physical_address) != nullptr) {
      refused = &each;
      break;
    }
    by_physical_[each.physical_address >> page_bits_] = find(each.process, each.virtual_address);
  }
  if (refused != nullptr) {
    for (const page* each = changed.data(); each != refused; ++each)
      by_physical_.erase(each->physical_address >> page_bits_);
    for (const page& each : changed) {
      page_slot* const slot = find(each.process, each.virtual_address);
      by_physical_[slot->entry.physical_address >> page_bits_] = slot;
    }
    return refuse(
        *refused, "already there",
        words("physical page ", address_text{first_byte(refused->physical_address)}, " belongs to another entry"));
  }
  for (const page& each : changed) {
    page& entry = find(each.process, each.virtual_address)->entry;
    const uint64_t virtual_address = entry.virtual_address;
    entry = each;
    entry.virtual_address = virtual_address;
    entry.physical_address = first_byte(each.physical_address);
  }
  return {};
}

result<void> page_table::remove(process_id process, uint64_t virtual_address) {
  page_slot* const slot = find(process, virtual_address);
  if (slot == nullptr)
    return failure("page_table::remove", about_mapping(process, virtual_address), "not there", "the page has no entry");
  address_space& space = *spaces_[process];
  (slot->before != nullptr ? slot->before->after : space.oldest) = slot->after;
  (slot->after != nullptr ? slot->after->before : space.newest) = slot->before;
  by_physical_.erase(slot->entry.physical_address >> page_bits_);
  space.slots.erase(virtual_address >> page_bits_);
  return {};
}

page_slot* page_table::find_physical(uint64_t physical_address) const {
  page_slot** const found = by_physical_.find(physical_address >> page_bits_);
  return found == nullptr ? nullptr : *found;
}

size_t page_table::pages(process_id process) const {
  return process < spaces_.size() && spaces_[process] != nullptr ? spaces_[process]->slots.size() : 0;
}

}  // namespace heddle::driver
