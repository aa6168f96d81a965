#include <dwarf.h>
#include <heddle/sim/code/unit_entries.h>

#include <algorithm>
#include <functional>
#include <map>

namespace heddle::sim {
namespace {

/// Most of a unit. What an inlined call declares stands where its function is.
bool holds_no_function(int tag) {
  switch (tag) {
    case DW_TAG_inlined_subroutine:
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site:
    case DW_TAG_enumeration_type:
    case DW_TAG_subroutine_type:
      return true;
    default:
      return false;
  }
}

}  // namespace

unit_entries::unit_entries(const Dwarf_Die& unit) { read(unit, 0); }

void unit_entries::read(const Dwarf_Die& parent, uint32_t around) {
  Dwarf_Die entry = parent;
  const int tag = dwarf_tag(&entry);
  if (holds_no_function(tag)) return;
  Dwarf_Die child;
  const bool holds_some = dwarf_child(&entry, &child) == 0;
  // A lambda's function may hold nothing.
  if (!holds_some && tag != DW_TAG_subprogram) return;
  const auto number = static_cast<uint32_t>(holders_.size());
  holders_.push_back({entry, holders_.empty() ? number : around});
  Dwarf_Attribute attribute;
  if (tag == DW_TAG_subprogram && (dwarf_attr(&entry, DW_AT_low_pc, &attribute) != nullptr ||
                                   dwarf_attr(&entry, DW_AT_ranges, &attribute) != nullptr)) {
    code one{.function = entry};
    if (dwarf_hasattr(&entry, DW_AT_ranges) != 0 || dwarf_lowpc(&entry, &one.from) != 0 ||
        dwarf_highpc(&entry, &one.to) != 0)
      one.from = one.to = 0;
    functions_.push_back(one);
  }
  if (!holds_some) return;
  do read(child, number);
  while (dwarf_siblingof(&child, &child) == 0);
}

const Dwarf_Die* unit_entries::function_at(Dwarf_Addr address) const {
  for (const code& one : functions_) {
    Dwarf_Die function = one.function;
    if (one.from != one.to ? one.from <= address && address < one.to : dwarf_haspc(&function, address) > 0)
      return &one.function;
  }
  return nullptr;
}

std::vector<Dwarf_Die> unit_entries::around(const Dwarf_Die& entry) const {
  std::vector<Dwarf_Die> found;
  auto at = std::lower_bound(holders_.begin(), holders_.end(), entry.addr, [](const holder& one, const void* place) {
    return std::less<>()(static_cast<const void*>(one.entry.addr), place);
  });
  if (at == holders_.end() || at->entry.addr != entry.addr) return found;
  for (uint32_t number = static_cast<uint32_t>(at - holders_.begin()); holders_[number].around != number;) {
    number = holders_[number].around;
    found.push_back(holders_[number].entry);
  }
  return found;
}

const unit_entries& entries_of(const Dwarf_Die& unit) {
  // By where it lies in memory: units of several files have equal offsets.
  static std::map<const void*, unit_entries> known;
  const auto entry = known.find(unit.addr);
  return entry != known.end() ? entry->second : known.emplace(unit.addr, unit_entries(unit)).first->second;
}

}  // namespace heddle::sim
