#pragma once

#include <span>
#include <string_view>

struct test_case {
  std::string_view name;
  int (*run)();  ///< 0: all was as it is to be
};

/// Those of host_frames.cu.
std::span<const test_case> cases_of_frames();
/// Those of host_futexes.cu.
std::span<const test_case> cases_of_futexes();
/// Those of across_link.cu.
std::span<const test_case> cases_of_link();
