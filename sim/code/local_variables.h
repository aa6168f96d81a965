// Local variables of the code under test, by its DWARF.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::sim {

/// A local variable or parameter that holds an integer, and where it is when a call has returned.
struct local_integer {
  enum class kept_in : uint8_t { saved_register, frame };
  std::string name;
  uint32_t nesting = 0;  ///< of how many inlined calls: 0 of the function that the call stands in itself
  uint32_t size_bytes = 0;
  kept_in kept = kept_in::frame;
  uint32_t register_number = 0;  ///< as DWARF counts; of those that calls preserve
  int64_t offset = 0;            ///< of the frame: from where the frame pointer points to
};

/// Those around the call that returns there which are kept at a place, in the function that the call stands in and in those that are inlined
/// there; of one name the innermost. What is computed where it is needed has no place.
std::vector<local_integer> integers_at(const void* return_address);

}  // namespace heddle::sim
