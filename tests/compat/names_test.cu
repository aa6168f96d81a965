// Names of CUDA's headers that programs use beside what kernels are made of.
#include <cooperative_groups.h>
#include <cuComplex.h>
#include <cuda.h>
#ifndef __cuda_cuda_h__
#error the header of NVIDIA is known by this name
#endif
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cmath>
#include <type_traits>

#include "../sim/run.h"

namespace {

using namespace heddle::sim::tests;

machine scoped() { return machine({"fidelity=scoped"}); }

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

TEST(names, halves_are_constants_of_their_bits) {
  static constexpr __half minus_zero = __half_raw{0x8000};
  static constexpr __nv_half2 pair = __half2_raw{0x3c00, 0x4000};
  static constexpr __nv_bfloat16 one = __nv_bfloat16_raw{0x3f80};
  static_assert(minus_zero.bits() == 0x8000 && (-one).bits() == 0xbf80);
  static_assert(__half2_raw(pair).y == 0x4000);
  EXPECT_EQ(static_cast<float>(minus_zero), 0.0F);
  EXPECT_EQ(static_cast<float>(pair.y), 2.0F);
  EXPECT_EQ(static_cast<float>(one), 1.0F);
}

struct place_in_grid {
  unsigned long long clusters, cluster, blocks, block;
  dim3 dim_clusters, cluster_index, dim_blocks, block_index;
};
__global__ __cluster_dims__(2, 1, 1) void tell_places(place_in_grid* to) {
  const auto grid = cooperative_groups::this_grid();
  to[grid.block_rank()] = {grid.num_clusters(), grid.cluster_rank(),  grid.num_blocks(), grid.block_rank(),
                           grid.dim_clusters(), grid.cluster_index(), grid.dim_blocks(), grid.block_index()};
}

TEST(names, a_grid_counts_its_clusters) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        place_in_grid* to = nullptr;
                                        cudaMallocHost(&to, 8 * sizeof(place_in_grid));
                                        tell_places<<<dim3(4, 2), 1>>>(to);
                                        cudaDeviceSynchronize();
                                        for (unsigned int n = 0; n < 8; ++n) {
                                          const place_in_grid& at = to[n];
                                          SIM_CHECK(at.clusters == 4 && at.cluster == n / 2);
                                          SIM_CHECK(at.blocks == 8 && at.block == n);
                                          SIM_CHECK(at.dim_clusters.x == 2 && at.dim_clusters.y == 2);
                                          SIM_CHECK(at.cluster_index.x == n % 4 / 2 && at.cluster_index.y == n / 4);
                                          SIM_CHECK(at.dim_blocks.x == 4 && at.block_index.x == n % 4);
                                        }
                                        cudaFreeHost(to);
                                      },
                                      20)));
}

/// Knows how often it was copied; the first copy tells of its end.
struct with_destructor {
  int* value;
  int* ended;
  int generation = 0;
  with_destructor(int* to, int* end) : value(to), ended(end) {}
  with_destructor(const with_destructor& from)
      : value(from.value), ended(from.ended), generation(from.generation + 1) {}
  with_destructor& operator=(const with_destructor&) = delete;
  ~with_destructor() {
    if (generation == 1) ++*ended;
  }
};
__global__ void store_by(with_destructor by, int value) { by.value[threadIdx.x] = value; }

TEST(names, an_argument_may_have_a_destructor) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        int* to = nullptr;
                                        cudaMallocHost(&to, 2 * sizeof(int));
                                        int ended = 0;
                                        const with_destructor by(to, &ended);
                                        store_by<<<1, 2>>>(by, 7);
                                        SIM_CHECK(ended == 1);
                                        cudaDeviceSynchronize();
                                        SIM_CHECK(ended == 1 && to[0] == 7 && to[1] == 7);
                                        cudaFreeHost(to);
                                      },
                                      20)));
}

TEST(names, complex_numbers) {
  static_assert(cuCreal(cuCmul(make_cuDoubleComplex(1, 2), make_cuDoubleComplex(3, 4))) == -5);
  static_assert(cuCimagf(cuCfmaf(make_cuComplex(1, 2), make_cuComplex(3, 4), make_cuComplex(0, 1))) == 11);
  static_assert(cuCimagf(cuConjf(cuCsubf(make_cuFloatComplex(1, 2), make_cuFloatComplex(0, 5)))) == 3);
  EXPECT_DOUBLE_EQ(cuCabs(make_cuDoubleComplex(3e200, 4e200)), 5e200);
  const cuDoubleComplex quotient = cuCdiv(make_cuDoubleComplex(-5e200, 10e200), make_cuDoubleComplex(1e200, 2e200));
  EXPECT_NEAR(cuCreal(quotient), 3, 1e-9);
  EXPECT_NEAR(cuCimag(quotient), 4, 1e-9);
  EXPECT_EQ(cuComplexDoubleToFloat(quotient).x, static_cast<float>(quotient.x));
}

template <typename Half>
void clamps(Half none) {
  const Half zero(0);
  EXPECT_EQ(__hmax_nan(Half(1), Half(2)).bits(), Half(2).bits());
  EXPECT_EQ(__hmin_nan(Half(1), Half(2)).bits(), Half(1).bits());
  EXPECT_EQ(__hmax_nan(none, Half(2)).bits(), 0x7fff);
  EXPECT_EQ(__hmin_nan(Half(2), none).bits(), 0x7fff);
  EXPECT_EQ(__hmax(none, Half(2)).bits(), Half(2).bits());
  EXPECT_EQ(__hmin(Half(2), none).bits(), Half(2).bits());
  EXPECT_EQ(__hmin(none, none).bits(), 0x7fff);
  EXPECT_EQ(__hmax(-zero, zero).bits(), 0);
  EXPECT_EQ(__hmin(zero, -zero).bits(), 0x8000);
  EXPECT_EQ(__hfma_relu(Half(2), Half(-3), Half(1)).bits(), 0);
  EXPECT_EQ(__hfma_relu(Half(2), Half(3), Half(1)).bits(), Half(7).bits());
  EXPECT_EQ(__hfma_relu(none, Half(3), Half(1)).bits(), 0x7fff);
  EXPECT_EQ(__hadd_sat(Half(2), Half(3)).bits(), Half(1).bits());
  EXPECT_EQ(__hmul_sat(none, Half(3)).bits(), 0);
  EXPECT_EQ(__hsub_sat(Half(1), Half(0.5)).bits(), Half(0.5).bits());
}

TEST(names, arithmetic_of_halves_that_clamps) {
  clamps(__half(__half_raw{0x7e00}));
  clamps(__nv_bfloat16(__nv_bfloat16_raw{0xffc0}));
  const __half2 made = __hfma2_relu(__half2(2, 2), __half2(-3, 3), __half2(1, 1));
  EXPECT_TRUE(made == __half2(0, 7));
  EXPECT_TRUE(__hmax2_nan(made, __half2(1, 1)) == __half2(1, 7) && __hmin2(made, __half2(1, 1)) == __half2(0, 1));
}

TEST(names, comparisons_of_halves_and_halves_of_integers) {
  const __half none = __half_raw{0x7e00};
  const __half2 one_two(1, 2), one_none(1, none), one_three(1, 3);
  EXPECT_TRUE(!__hne(none, 1) && __hneu(none, 1) && !__heq(none, none) && __hequ(none, 1));
  EXPECT_TRUE(__heq2(one_two, one_three) == __half2(1, 0) && __hlt2(one_two, one_three) == __half2(0, 1));
  EXPECT_TRUE(__hgeu2(one_none, one_two) == __half2(1, 1) && __hge2(one_none, one_two) == __half2(1, 0));
  EXPECT_TRUE(__hbeq2(one_two, one_two) && !__hbeq2(one_two, one_three) && __hble2(one_two, one_three));
  EXPECT_TRUE(!__hbeq2(one_none, one_none) && __hbequ2(one_none, one_none));
  EXPECT_TRUE(__int2half_rd(2049) == __half(2048) && __int2half_ru(2049) == __half(2050));
  EXPECT_TRUE(__int2half_rz(-2049) == __half(-2048) && __int2half_rd(-2049) == __half(-2050));
  EXPECT_TRUE(__uint2half_rz(70000) == __half(65504));
}

/// Each bit pattern that is a number goes to that number and back.
template <typename Number>
void goes_and_returns(unsigned int patterns, float largest) {
  for (unsigned int bits = 0; bits < patterns; ++bits) {
    Number from;
    from.__x = static_cast<unsigned char>(bits);
    const auto value = static_cast<float>(from);
    if (std::isfinite(value)) {
      EXPECT_EQ(Number(value).__x, bits);
    }
  }
  EXPECT_EQ(static_cast<float>(Number(1e9F)), largest);
  EXPECT_EQ(static_cast<float>(Number(-INFINITY)), -largest);
  EXPECT_EQ(static_cast<int>(Number(-1.5)), -1);
  EXPECT_EQ(static_cast<float>(static_cast<__half>(Number(__half(1.5)))), 1.5F);
  EXPECT_TRUE(static_cast<bool>(Number(1)) && !static_cast<bool>(Number(-0.0F)));
}

TEST(names, numbers_of_few_bits) {
  goes_and_returns<__nv_fp8_e4m3>(256, 448);
  goes_and_returns<__nv_fp8_e5m2>(256, 57344);
  goes_and_returns<__nv_fp6_e2m3>(64, 7.5F);
  goes_and_returns<__nv_fp6_e3m2>(64, 28);
  goes_and_returns<__nv_fp4_e2m1>(16, 6);
  EXPECT_EQ(__nv_cvt_float_to_fp4(2.5F, __NV_E2M1, cudaRoundNearest), 0x4);
  EXPECT_EQ(__nv_cvt_float_to_fp4(2.5F, __NV_E2M1, cudaRoundPosInf), 0x5);
  EXPECT_EQ(__nv_cvt_float_to_fp4(-2.5F, __NV_E2M1, cudaRoundPosInf), 0xc);
  EXPECT_EQ(__nv_cvt_float_to_fp4(-2.5F, __NV_E2M1, cudaRoundMinInf), 0xd);
  EXPECT_EQ(__nv_cvt_double_to_fp4(0.9, __NV_E2M1, cudaRoundZero), 0x1);
  EXPECT_EQ(__nv_cvt_float_to_fp4(-NAN, __NV_E2M1, cudaRoundNearest), 0x7);
  EXPECT_EQ(__nv_cvt_float_to_fp6(NAN, __NV_E3M2, cudaRoundNearest), 0x1f);
}

TEST(names, numbers_of_few_bits_lie_together_in_a_word) {
  EXPECT_EQ(__nv_fp4x2_e2m1(make_float2(1, -6)).__x, 0xf2);
  EXPECT_EQ(__nv_fp4x4_e2m1(make_float4(0.5F, 1, 1.5F, 2)).__x, 0x4321);
  EXPECT_EQ(__nv_fp6x2_e2m3(__half2(1, -1)).__x, 0x2808);
  EXPECT_EQ(__nv_fp8x4_e4m3(__half2(1, 2), __half2(-1, 0)).__x, 0x00b84038U);
  const auto back = static_cast<float4>(__nv_fp6x4_e3m2(make_double4(1, 2, -3, 28)));
  EXPECT_TRUE(back.x == 1 && back.y == 2 && back.z == -3 && back.w == 28);
  EXPECT_TRUE(static_cast<__half2>(__nv_fp4x2_e2m1(__nv_bfloat162(3, -0.5))) == __half2(3, -0.5));
  EXPECT_EQ(__nv_cvt_float2_to_fp4x2(make_float2(1, -6), __NV_E2M1, cudaRoundNearest), 0xf2);
  EXPECT_EQ(__nv_cvt_fp4x2_to_halfraw2(0xf2, __NV_E2M1).y, __half(-6).bits());
  EXPECT_EQ(__nv_cvt_halfraw2_to_fp6x2(__half2(1, -1), __NV_E2M3, cudaRoundNearest), 0x2808);
  EXPECT_EQ(__nv_cvt_bfloat16raw2_to_fp8x2(__nv_bfloat162(1, 2), __NV_SATFINITE, __NV_E4M3), 0x4038);
}

TEST(names, a_map_of_a_tensor_is_declared_and_not_supported) {
  static_assert(sizeof(CUtensorMap) == 128 && alignof(CUtensorMap) == 64);
  CUtensorMap made = {};
  const cuuint64_t size[2] = {8, 8};
  const cuuint64_t stride[1] = {32};
  const cuuint32_t box[2] = {4, 4};
  EXPECT_EQ(cuTensorMapEncodeTiled(&made, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, nullptr, size, stride, box, box,
                                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                   CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
            CUDA_ERROR_NOT_SUPPORTED);
  void* found = nullptr;
  EXPECT_EQ(cuGetProcAddress("cuTensorMapEncodeTiled", &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT), CUDA_SUCCESS);
  EXPECT_EQ(found, reinterpret_cast<void*>(static_cast<PFN_cuTensorMapEncodeTiled_v12000>(cuTensorMapEncodeTiled)));
}

}  // namespace
