// Which kernel a wave runs, for what is told of it first.
#pragma once

#include <heddle/sim/observe/run_record.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace heddle::tools {

class kernel_names {
 public:
  /// Has names where waves of several kernels have moved.
  explicit kernel_names(const sim::run_record& of);

  /// "wave 3 (consume) lane 0 stores ..." of "wave 3 lane 0 stores ...": each wave where this object first comes by it.
  std::string in(std::string_view text);

 private:
  std::map<uint64_t, std::string> names_;  ///< by the number of the wave
  std::set<uint64_t> told_;
};

}  // namespace heddle::tools
