// What the program calls the parts of its memory, by its DWARF: members, elements, enumerators.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::sim {

/// A type of the program by its number, which says nothing in another process; 0: none is known.
using type_number = uint32_t;

/// The first argument of the innermost template of that name around the call that returns there: T of `allocate_shared<T>`. Of the name its
/// beginning is enough. Remembers what it has looked up.
type_number template_argument_at(const void* return_address, const std::string& name);

/// A variable with static storage.
struct typed_variable {
  const std::byte* base = nullptr;  ///< null where there is none
  std::string name;                 ///< as it is declared: "results"
  type_number type = 0;
};
/// The variable that the address lies in. Looks through all units of the program the first time.
typed_variable typed_variable_at(const void* address);

/// The variable or parameter that lies there in a frame: of the function that the call returns to, or of one that is inlined there. Those alone that
/// the function keeps at one place on its stack. `frame_pointer`: where that of the function points to.
typed_variable variable_in_frame(const void* return_address, const std::byte* frame_pointer, const void* address);

/// 0 of what has no size.
uint64_t size_of(type_number type);

/// A part of an object.
struct object_part {
  std::string path;      ///< "tail", "slots[1].state", "[2]"; empty: the whole of it
  type_number type = 0;  ///< of the part
};
/// The smallest part that holds all of these bytes; nothing where that has a name only together with an offset.
std::optional<object_part> part_at(type_number of, uint64_t offset, uint64_t size_bytes);

/// A pointer or reference in an object.
struct pointer_part {
  uint64_t offset = 0;
  type_number to = 0;
};
/// Those to types that have a size, by offset.
std::vector<pointer_part> pointers_in(type_number of);

/// The enumerators of a type, with their values as unsigned numbers of its size; empty where it is none.
std::vector<std::pair<uint64_t, std::string>> enumerators_of(type_number type);

}  // namespace heddle::sim
