// Of which types the memory of a run is: what a report calls a place there, and its values.
#pragma once

#include <heddle/sim/code/type_names.h>
#include <heddle/sim/machine/lane.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace heddle::sim {

class heap;

/// Notes during a run cost a few words each. The program's debug information is read when a place is asked for.
class typed_memory {
 public:
  /// The allocation that begins there was asked for at `place`, a return address; in `allocate_shared<T>` it holds objects of type T.
  void allocated(const void* base, const void* place) { allocations_.push_back({.base = base, .place = place}); }
  /// A kernel was launched at `place` with these bytes: where they hold a pointer to T, it points to objects of that type.
  void launched(const void* bytes, size_t size_bytes, const void* place);

  /// A lane has accessed what lies there, in this frame of a thread of that name.
  void accessed(const void* address, const stack_frame& in, const lane& of);

  struct part {
    std::string name;      ///< "ring->slots[1].state", "results[2]"; empty where it would say no more than "ring+0x8"
    type_number type = 0;  ///< of the bytes
  };
  /// What the program calls these bytes.
  part at(const heap& memory, const void* address, size_t size_bytes) const;

 private:
  struct asked_for {
    const void* base = nullptr;
    const void* place = nullptr;
  };
  struct kernel {
    std::vector<std::byte> bytes;
    const void* place = nullptr;
  };
  /// Objects of one type, one behind the other.
  struct objects {
    const std::byte* begin = nullptr;
    type_number type = 0;
  };

  /// A variable of the frame in which the address lay whenever it was accessed.
  part in_frame(const void* address, size_t size_bytes) const;
  static part in_variable(const typed_variable& variable, const std::byte* address, size_t size_bytes,
                          const std::string& behind);
  static part in(const objects& of, const heap& memory, const std::byte* address, size_t size_bytes);
  /// That arguments of kernels point to.
  const std::vector<objects>& pointed_at() const;

  struct frame {
    stack_frame where;
    const lane* of = nullptr;
  };

  std::vector<asked_for> allocations_;
  std::unordered_map<const void*, std::vector<frame>> frames_;  ///< by address
  std::vector<kernel> kernels_;
  mutable std::vector<objects> pointed_at_;
  mutable size_t looked_at_ = 0;  ///< so many kernels are in it
};

}  // namespace heddle::sim
