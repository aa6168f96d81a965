// Names of CUDA's headers that programs use beside what kernels are made of.
#include <cuda_runtime.h>

#include <cmath>
#include <type_traits>

#include "../sim/run.h"

namespace {

using namespace heddle::sim::tests;

TEST(names, min_and_max_take_a_signed_and_an_unsigned_number_as_wide) {
  static_assert(std::is_same_v<decltype(max(1, 2U)), unsigned int>);
  static_assert(std::is_same_v<decltype(min(1UL, 2L)), unsigned long>);
  static_assert(std::is_same_v<decltype(min(1LL, 2ULL)), unsigned long long>);
  static_assert(std::is_same_v<decltype(max(1.0F, 2.0)), double>);
  static_assert(max(-1, 2U) == 0xffffffffU && min(2U, -1) == 2);
  static_assert(min(-1L, 3UL) == 3 && max(3ULL, -1LL) == ~0ULL);
  static_assert(max(short{3}, 2) == 3);
  EXPECT_EQ(min(NAN, 2.0F), 2.0F);
  EXPECT_EQ(max(2.0, NAN), 2.0);
}

}  // namespace
