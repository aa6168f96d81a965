// Complex numbers as <cuComplex.h> has them: pairs of float and of double. (CUDA Toolkit, "cuComplex.h".)
#pragma once

#include <heddle/sim/compat/vectors.h>
#include <math.h>

using cuFloatComplex = float2;
using cuDoubleComplex = double2;
using cuComplex = cuFloatComplex;

// `f` is what stands behind the names of those of float.
#define HEDDLE_COMPLEX(type, real, f, maker)                                                          \
  constexpr type maker(real x, real y) { return {x, y}; }                                             \
  constexpr real cuCreal##f(type of) { return of.x; }                                                 \
  constexpr real cuCimag##f(type of) { return of.y; }                                                 \
  constexpr type cuConj##f(type of) { return {of.x, -of.y}; }                                         \
  constexpr type cuCadd##f(type a, type b) { return {a.x + b.x, a.y + b.y}; }                         \
  constexpr type cuCsub##f(type a, type b) { return {a.x - b.x, a.y - b.y}; }                         \
  constexpr type cuCmul##f(type a, type b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; } \
  constexpr type cuCfma##f(type a, type b, type c) { return cuCadd##f(cuCmul##f(a, b), c); }          \
  /* Both are made small first, so that no square overflows. */                                       \
  HEDDLE_COMPAT_INLINE type cuCdiv##f(type a, type b) {                                               \
    const real scale = 1 / (fabs##f(b.x) + fabs##f(b.y));                                             \
    const type divisor = {b.x * scale, b.y * scale};                                                  \
    const real square = divisor.x * divisor.x + divisor.y * divisor.y;                                \
    const type product = cuCmul##f({a.x * scale, a.y * scale}, cuConj##f(divisor));                   \
    return {product.x / square, product.y / square};                                                  \
  }                                                                                                   \
  HEDDLE_COMPAT_INLINE real cuCabs##f(type of) { return hypot##f(of.x, of.y); }
HEDDLE_COMPLEX(cuFloatComplex, float, f, make_cuFloatComplex)
HEDDLE_COMPLEX(cuDoubleComplex, double, , make_cuDoubleComplex)
#undef HEDDLE_COMPLEX

constexpr cuComplex make_cuComplex(float x, float y) { return {x, y}; }
constexpr cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex of) { return {of.x, of.y}; }
constexpr cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex of) {
  return {static_cast<float>(of.x), static_cast<float>(of.y)};
}
