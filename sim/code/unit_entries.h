// The entries of a unit of debug information that hold others, read once. For the sources of this room.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <vector>

namespace heddle::sim {

/// libdw finds what is around an entry by going through the whole unit, for each entry anew.
class unit_entries {
 public:
  explicit unit_entries(const Dwarf_Die& unit);

  /// Its function, wherever that is nested, whose code holds the address; null where there is none. Bodies of lambdas lie inside types, which
  /// dwarf_getscopes does not enter.
  const Dwarf_Die* function_at(Dwarf_Addr address) const;

  /// What the entry lies in, the innermost first, the unit last; empty where the entry is not of this unit.
  std::vector<Dwarf_Die> around(const Dwarf_Die& entry) const;

 private:
  struct code {
    Dwarf_Die function;
    Dwarf_Addr from = 0, to = 0;  ///< equal: its code lies in several places
  };
  struct holder {
    Dwarf_Die entry;
    uint32_t around;  ///< the number of the holder that it lies in; its own: of none
  };

  void read(const Dwarf_Die& parent, uint32_t around);

  std::vector<code> functions_;
  std::vector<holder> holders_;  ///< as they lie in the file
};

/// Of the unit, which is read when it is first asked for. debug_turn() is to be held.
const unit_entries& entries_of(const Dwarf_Die& unit);

}  // namespace heddle::sim
