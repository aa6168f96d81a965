// The parts of libcu++ under <cuda/std/...> that are the C++ library's by another name: kernels on the simulator may call that one.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <chrono>
#include <climits>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <ratio>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cuda::std {
using namespace ::std;  // NOLINT(google-build-using-namespace): all of it, behind what this namespace has of its own
}
