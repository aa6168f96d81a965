// A process in which addresses are what they are in another one of the same program: without randomisation, and with arguments and environment of
// one size, above which the stack begins.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace heddle::tools {

/// What decides, beside the program and the kernel, where things lie.
struct fixed_layout {
  uint64_t string_bytes = 0;  ///< of arguments and environment; 0: to be chosen
  uint64_t pointers = 0;      ///< how many these are
  uint64_t stack_bytes = 0;   ///< the limit on the stack, below which mappings begin
};

/// Where they lie.
struct fixed_marks {
  uint64_t libraries = 0;  ///< a digest of what the loaded libraries are, which is equal wherever they lie
  uint64_t mappings = 0;
  uint64_t heap = 0;
  uint64_t stack = 0;
};
/// Of this process. The same at each call before code under test runs.
fixed_marks marks_of_this_process();

/// Chooses what `layout` leaves open, and becomes the program again in such a process, which is given the request. Returns only where that cannot
/// be: one line. The arguments are those of main(), for what shows processes.
std::string become_fixed(const std::function<std::string(const fixed_layout&)>& request, fixed_layout layout,
                         char* const* arguments);

/// The request that become_fixed() has given this process, which has these arguments; empty where it has given none.
std::string request_of_fixed(int argument_count, char* const* arguments);

/// Calls `work` while the word by which a compiler guards stacks (-fstack-protector) is the same in each process: it lies on the stacks of lanes.
int with_fixed_guard(const std::function<int()>& work);

}  // namespace heddle::tools
