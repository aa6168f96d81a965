// Each host thread of a run has its own copy of the program's thread-local variables, with addresses of its own, though all of them are fibers of one
// thread of the operating system. So the code asks where they are, by a call that the compiler makes for a library that is loaded later.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::rewrite {

/// Whether a source has such variables, outside of the system's headers. `preprocessed` may hold line markers.
bool has_thread_locals(std::string_view preprocessed);

/// What has a compiler address them by calls: to be given behind all other options.
const std::vector<std::string>& options_of_thread_locals();

/// What a compiler has made with these options, for x86-64: its calls of `__tls_get_addr` ask the simulator (sim/runtime/thread_values.cpp) instead.
/// Variables of heddle and of the C++ library stay where they are.
std::string ask_for_thread_locals(std::string_view assembly);

}  // namespace heddle::rewrite
