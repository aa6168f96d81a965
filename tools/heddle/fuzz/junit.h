// The results of `heddle fuzz` as a JUnit file, which the services that build and test programs read.
#pragma once

#include <heddle/tools/fuzz/fuzz_report.h>

#include <optional>
#include <string>

namespace heddle::tools {

/// One test case a scenario. Written whole or not at all; one line when that fails.
std::optional<std::string> write_junit(const fuzz_summary& summary, const std::string& program,
                                       const std::string& file);

}  // namespace heddle::tools
