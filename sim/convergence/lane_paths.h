// Where the lanes of a wave stand, as paths of calls. Each path is kept once, so that two are equal where their addresses are.
#pragma once

#include <heddle/sim/convergence/divergence_stack.h>
#include <heddle/sim/machine/lane.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_set>

namespace heddle::sim {

class lane_paths {
 public:
  /// Most runs take the paths of the runs before; no path of an earlier run is looked at any more.
  void begin_run() {
    constexpr size_t many = 10'000;
    if (kept_.size() > many) kept_.clear();
  }
  /// Of a lane that was not seen yet.
  const call_path* empty_one() { return &*kept_.insert(call_path()).first; }
  /// Sees where these lanes of the wave stand; the others stay where they were seen last.
  void find(const wave& of, uint64_t lanes, std::array<const call_path*, 64>& into);

 private:
  struct hash_of_path {
    size_t operator()(const call_path& path) const {
      size_t made = path.size();
      for (const void* place : path) made = (made ^ reinterpret_cast<uintptr_t>(place)) * 0x9e3779b97f4a7c15u;
      return made ^ made >> 32;
    }
  };
  std::unordered_set<call_path, hash_of_path> kept_;
  call_path found_;
};

}  // namespace heddle::sim
