// <nv/target>: code for the host or for devices. A source for nvcc is one for both here, with __CUDA_ARCH__ of a device.
#pragma once

#define NV_IS_HOST 0
#define NV_IS_DEVICE 1
#define NV_ANY_TARGET 1
#define NV_NO_TARGET 0
#define NV_PROVIDES_SM_50 1
#define NV_PROVIDES_SM_52 1
#define NV_PROVIDES_SM_53 1
#define NV_PROVIDES_SM_60 1
#define NV_PROVIDES_SM_61 1
#define NV_PROVIDES_SM_62 1
#define NV_PROVIDES_SM_70 1
#define NV_PROVIDES_SM_72 1
#define NV_PROVIDES_SM_75 1
#define NV_PROVIDES_SM_80 1
#define NV_PROVIDES_SM_86 1
#define NV_PROVIDES_SM_87 1
#define NV_PROVIDES_SM_89 1
#define NV_PROVIDES_SM_90 1
#define NV_PROVIDES_SM_100 0
#define NV_PROVIDES_SM_120 0
#define NV_IS_EXACTLY_SM_70 0
#define NV_IS_EXACTLY_SM_75 0
#define NV_IS_EXACTLY_SM_80 0
#define NV_IS_EXACTLY_SM_86 0
#define NV_IS_EXACTLY_SM_89 0
#define NV_IS_EXACTLY_SM_90 1
#define NV_HAS_FEATURE_SM_90a 1

#define HEDDLE_NV_BARE(...) __VA_ARGS__
#define HEDDLE_NV_TAKE_0(then, otherwise) HEDDLE_NV_BARE otherwise
#define HEDDLE_NV_TAKE_1(then, otherwise) HEDDLE_NV_BARE then
#define HEDDLE_NV_TAKE_(which, then, otherwise) HEDDLE_NV_TAKE_##which(then, otherwise)
#define HEDDLE_NV_TAKE(which, then, otherwise) HEDDLE_NV_TAKE_(which, then, otherwise)

#define NV_IF_ELSE_TARGET(target, then, otherwise) HEDDLE_NV_TAKE(target, then, otherwise)
#define NV_IF_TARGET(target, then, ...) HEDDLE_NV_TAKE(target, then, (__VA_ARGS__))

// The first of several pairs whose target is meant.
#define HEDDLE_NV_PAIRS_0()
#define HEDDLE_NV_PAIRS_2(target, then) HEDDLE_NV_TAKE(target, then, ())
#define HEDDLE_NV_PAIRS_4(target, then, ...) HEDDLE_NV_TAKE(target, then, (HEDDLE_NV_PAIRS_2(__VA_ARGS__)))
#define HEDDLE_NV_PAIRS_6(target, then, ...) HEDDLE_NV_TAKE(target, then, (HEDDLE_NV_PAIRS_4(__VA_ARGS__)))
#define HEDDLE_NV_PAIRS_8(target, then, ...) HEDDLE_NV_TAKE(target, then, (HEDDLE_NV_PAIRS_6(__VA_ARGS__)))
#define HEDDLE_NV_NINTH(a, b, c, d, e, f, g, h, count, ...) count
#define HEDDLE_NV_CAT(a, b) HEDDLE_NV_CAT_(a, b)
#define HEDDLE_NV_CAT_(a, b) a##b
#define NV_DISPATCH_TARGET(...) \
  HEDDLE_NV_CAT(HEDDLE_NV_PAIRS_, HEDDLE_NV_NINTH(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0))(__VA_ARGS__)
