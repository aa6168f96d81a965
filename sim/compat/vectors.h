// Vector types of CUDA and HIP, aligned as there (CUDA C++ Programming Guide, "Built-in Vector Types"). A plain access of up to 16 bytes is
// one access, as the compilers for GPUs make it.
#pragma once

#include <heddle/sim/compat/launch.h>

#include <cstddef>

namespace heddle::compat {

template <typename T, unsigned Count>
inline constexpr size_t vector_alignment = sizeof(T) * (Count == 3                ? 1
                                                        : sizeof(T) * Count <= 16 ? Count
                                                                                  : 16 / sizeof(T));

}  // namespace heddle::compat

#define HEDDLE_VECTORS(name, type)                                                          \
  struct alignas(::heddle::compat::vector_alignment<type, 1>) name##1 { type x; };          \
  struct alignas(::heddle::compat::vector_alignment<type, 2>) name##2 { type x, y; };       \
  struct alignas(::heddle::compat::vector_alignment<type, 4>) name##4 { type x, y, z, w; }; \
  constexpr name##1 make_##name##1(type x) { return {x}; }                                  \
  constexpr name##2 make_##name##2(type x, type y) { return {x, y}; }                       \
  constexpr name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
#define HEDDLE_VECTORS_OF_THREE(name, type) \
  struct name##3 { type x, y, z; };         \
  constexpr name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }

HEDDLE_VECTORS(char, signed char)
HEDDLE_VECTORS(uchar, unsigned char)
HEDDLE_VECTORS(short, short)
HEDDLE_VECTORS(ushort, unsigned short)
HEDDLE_VECTORS(int, int)
HEDDLE_VECTORS(uint, unsigned int)
HEDDLE_VECTORS(long, long)
HEDDLE_VECTORS(ulong, unsigned long)
HEDDLE_VECTORS(longlong, long long)
HEDDLE_VECTORS(ulonglong, unsigned long long)
HEDDLE_VECTORS(float, float)
HEDDLE_VECTORS(double, double)
HEDDLE_VECTORS_OF_THREE(char, signed char)
HEDDLE_VECTORS_OF_THREE(uchar, unsigned char)
HEDDLE_VECTORS_OF_THREE(short, short)
HEDDLE_VECTORS_OF_THREE(ushort, unsigned short)
HEDDLE_VECTORS_OF_THREE(int, int)
HEDDLE_VECTORS_OF_THREE(long, long)
HEDDLE_VECTORS_OF_THREE(ulong, unsigned long)
HEDDLE_VECTORS_OF_THREE(longlong, long long)
HEDDLE_VECTORS_OF_THREE(ulonglong, unsigned long long)
HEDDLE_VECTORS_OF_THREE(float, float)
HEDDLE_VECTORS_OF_THREE(double, double)
#undef HEDDLE_VECTORS
#undef HEDDLE_VECTORS_OF_THREE
constexpr uint3 make_uint3(unsigned int x, unsigned int y, unsigned int z) { return {x, y, z}; }
