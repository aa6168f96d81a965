// What <cuda.h> has, under the names that the driver's library exports: for host code that nvcc has compiled.
#pragma once

#define HEDDLE_EXPORTED(function, exported, parameters, arguments)             \
  extern "C" CUresult heddle_exported_##function parameters __asm__(exported); \
  CUresult heddle_exported_##function parameters { return function arguments; }
#define HEDDLE_EXPORTED_1(function, exported, A) HEDDLE_EXPORTED(function, exported, (A a), (a))
#define HEDDLE_EXPORTED_2(function, exported, A, B) HEDDLE_EXPORTED(function, exported, (A a, B b), (a, b))
#define HEDDLE_EXPORTED_3(function, exported, A, B, C) HEDDLE_EXPORTED(function, exported, (A a, B b, C c), (a, b, c))
#define HEDDLE_EXPORTED_4(function, exported, A, B, C, D) \
  HEDDLE_EXPORTED(function, exported, (A a, B b, C c, D d), (a, b, c, d))
