// What the C++ of a file of PTX has for the host code of the same source.
#pragma once

#include <string>

namespace heddle::ptx {

/// As a string literal of one line.
std::string quoted(const std::string& text);

/// The host's main(), renamed to heddle_ptx_main_SCENARIO, becomes a scenario of this name, where there is one.
std::string scenario_of_main(const std::string& scenario);

/// What nvcc's linker adds for device code of several files: it registers the kernels and variables of the object with this name (linked_as).
std::string registration_of(const std::string& linked);

}  // namespace heddle::ptx
