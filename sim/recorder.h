// What a run leaves behind when it is to be explained: every step, and who changed what.
#pragma once

#include <heddle/sim/lane.h>
#include <heddle/sim/simulation.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace heddle::sim {

class heap;

class recorder {
 public:
  struct taken {
    uint64_t step = 0;
    const lane* who = nullptr;
    operation what;
    call_chain calls = {};
    uint64_t value = 0;
  };
  /// A change of memory: by whom, of what, where in the source, at which step.
  struct change {
    const lane* who = nullptr;
    const void* address = nullptr;
    size_t size_bytes = 0;
    call_chain calls = {};
    uint64_t step = 0;
  };

  void performed(const lane& who, uint64_t value, uint64_t step);
  /// The plain store that was the lane's last step has written this.
  void stored(const lane& who, uint64_t value);
  void changed(const lane& who, const void* address, size_t size_bytes);

  /// The latest change of each lane that overlaps the bytes, the latest of all first.
  std::vector<change> changes_of(const void* address, size_t size_bytes) const;

  /// The lanes that have touched the bytes at all, in order of their first time.
  std::vector<const lane*> users_of(const void* address) const;

  /// Whether the lane of that step performed a fence in it.
  bool is_fence(uint64_t step) const;
  /// One step in words, with its source line.
  std::string describe(const heap& memory, uint64_t step) const;

  /// The steps in words. At most the last `most`.
  std::vector<step_record> steps(const heap& memory, size_t most) const;
  /// Those behind step `after`, up to and with step `to`.
  std::vector<step_record> steps_between(const heap& memory, uint64_t after, uint64_t to) const;

 private:
  static step_record in_words(const heap& memory, const taken& one);
  static constexpr uint64_t granule_bytes = 8;
  std::vector<taken> taken_;
  std::unordered_map<const lane*, size_t> last_of_;                  ///< in taken_
  std::unordered_map<uint64_t, std::vector<change>> changes_;        ///< by granule
  std::unordered_map<const void*, std::vector<const lane*>> users_;  ///< by address
  uint64_t last_step_ = 0;
};

}  // namespace heddle::sim
