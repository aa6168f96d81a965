// The spellings of HIP, and of clang for AMD GPUs.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include "../sim/run.h"

namespace {

using namespace heddle::sim::tests;

machine scoped() { return machine({"fidelity=scoped"}); }

template <typename T>
T* on_device(size_t count) {
  T* memory = nullptr;
  SIM_CHECK(hipMalloc(&memory, count * sizeof(T)) == hipSuccess);
  SIM_CHECK(hipMemset(memory, 0, count * sizeof(T)) == hipSuccess);
  SIM_CHECK(hipDeviceSynchronize() == hipSuccess);
  return memory;
}

__global__ void look_around(unsigned* lanes) {
  SIM_CHECK(warpSize == 64 && __builtin_amdgcn_wavefrontsize() == 64);
  SIM_CHECK(__builtin_amdgcn_workgroup_id_x() == blockIdx.x && __builtin_amdgcn_workitem_id_x() == threadIdx.x);
  SIM_CHECK(__builtin_amdgcn_grid_size_x() == gridDim.x * blockDim.x && hipBlockDim_x == blockDim.x);
  const unsigned lane = threadIdx.x % 64;
  SIM_CHECK(__lane_id() == lane);
  SIM_CHECK(__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)) == lane);
  SIM_CHECK(__builtin_amdgcn_mbcnt_hi(0xf, __builtin_amdgcn_mbcnt_lo(0x3, 1u)) == 1 + (lane < 2 ? lane : 2) +
                                                                                      (lane < 32   ? 0
                                                                                       : lane < 36 ? lane - 32
                                                                                                   : 4));
  lanes[blockIdx.x * blockDim.x + threadIdx.x] = lane;
}

__global__ void take_down(int* word) { __hip_atomic_fetch_sub(word, 2, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM); }

TEST(hip, allocates_and_counts_as_its_flags_say) {
  EXPECT_TRUE(
      always(verdict::ok, scoped().run_many(
                              [] {
                                int* fine = nullptr;
                                int* local = nullptr;
                                int* host = nullptr;
                                const auto is_done = [](hipError_t told) { SIM_CHECK(told == hipSuccess); };
                                is_done(hipExtMallocWithFlags(&fine, 4, hipDeviceMallocFinegrained));
                                is_done(hipExtMallocWithFlags(&local, 4, hipDeviceMallocDefault));
                                is_done(hipHostMalloc(&host, 4, 0x80000000));  // not coherent: its name is a warning
                                *fine = 9;
                                take_down<<<1, 3, 0, hipStreamPerThread>>>(fine);
                                is_done(hipDeviceSynchronize());
                                SIM_CHECK(*fine == 3);
                              },
                              5)));
}

TEST(hip, has_waves_of_64_lanes_and_their_indices) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        auto* lanes = on_device<unsigned>(160);
                                        hipLaunchKernelGGL(look_around, dim3(2), dim3(80), 0, nullptr, lanes);
                                        SIM_CHECK(hipDeviceSynchronize() == hipSuccess);
                                        for (unsigned n = 0; n < 160; ++n) SIM_CHECK(lanes[n] == n % 80 % 64);
                                      },
                                      5)));
}

TEST(hip, has_the_devices_of_the_machine) {
  const auto choose = [] {
    int count = 0;
    int current = 7;
    SIM_CHECK(hipGetDeviceCount(&count) == hipSuccess && count == 2);
    SIM_CHECK(hipSetDevice(2) == hipErrorInvalidDevice && hipSetDevice(-1) == hipErrorInvalidDevice);
    SIM_CHECK(hipGetDevice(&current) == hipSuccess && current == 0);
    SIM_CHECK(hipSetDevice(1) == hipSuccess && hipGetDevice(&current) == hipSuccess && current == 1);
    on_device<char>(4096);
    SIM_CHECK(hipSetDevice(0) == hipSuccess);
    on_device<char>(4096);
  };
  EXPECT_TRUE(always(verdict::ok, machine({"driver.devices=2", "driver.memory_kib=4"}).run_many(choose, 5)));
}

// Which lanes stand together is a choice where each is scheduled on its own: whatever it is, all of them see the same.
__global__ void agree() {
  const unsigned long long voters = __ballot(1);
  SIM_CHECK((voters >> __lane_id() & 1) == 1);
  SIM_CHECK(__builtin_amdgcn_readfirstlane(7) == 7);
  SIM_CHECK(__any(1) == 1 && __any(0) == 0 && __all(1) == 1);
  const int own = static_cast<int>(__lane_id());
  const int first = __builtin_amdgcn_readfirstlane(own);
  SIM_CHECK(first <= own);
  SIM_CHECK(__shfl(own, own) == own && __shfl_xor(own, 0) == own);
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_s_sleep(1);
}

TEST(hip, votes_among_the_lanes_that_stand_together) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        agree<<<1, 8>>>();
                                        SIM_CHECK(hipDeviceSynchronize() == hipSuccess);
                                      },
                                      100)));
}

__global__ void sum_up(int* sum, const int* numbers) {
  __shared__ int part[2];
  const int index = static_cast<int>(threadIdx.x);
  if (index < 2) part[index] = 0;
  __syncthreads();
  __hip_atomic_fetch_add(&part[index % 2], numbers[index], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __builtin_amdgcn_s_barrier();
  if (index == 0) *sum = part[0] - part[1];
}

TEST(hip, has_shared_memory_and_atomics_of_a_work_group) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        int numbers[70];
                                        for (int n = 0; n < 70; ++n) numbers[n] = n;
                                        auto* there = on_device<int>(71);
                                        SIM_CHECK(hipMemcpy(there, numbers, sizeof numbers, hipMemcpyHostToDevice) ==
                                                  hipSuccess);
                                        sum_up<<<1, 70>>>(there + 70, there);
                                        SIM_CHECK(hipDeviceSynchronize() == hipSuccess);
                                        SIM_CHECK(there[70] == -35);
                                      },
                                      10)));
}

// -- between host and device -----------------------------------------------------------------------------------------------------------

struct mailbox {
  unsigned flag;
  int content;
};

enum class spelled { agent, cluster, system, fence, fence_of_cluster, fence_of_unknown };

template <spelled How>
__global__ void post(mailbox* box) {
  box->content = 5;
  if (How >= spelled::fence) {
    const char* const reach = How == spelled::fence ? "" : How == spelled::fence_of_cluster ? "cluster" : "device";
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, reach);
    __hip_atomic_store(&box->flag, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  } else {
    __hip_atomic_store(&box->flag, 1u, __ATOMIC_RELEASE,
                       How == spelled::agent     ? __HIP_MEMORY_SCOPE_AGENT
                       : How == spelled::cluster ? __HIP_MEMORY_SCOPE_CLUSTER
                                                 : __HIP_MEMORY_SCOPE_SYSTEM);
  }
}

template <spelled How>
void run_post() {
  mailbox* box = nullptr;
  SIM_CHECK(hipHostMalloc(&box, sizeof *box, hipHostMallocCoherent) == hipSuccess);
  box->flag = 0;
  hipStream_t stream;
  SIM_CHECK(hipStreamCreate(&stream) == hipSuccess);
  post<How><<<1, 1, 0, stream>>>(box);
  while (__hip_atomic_load(&box->flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) == 0) {
  }
  SIM_CHECK(box->content == 5);
  SIM_CHECK(hipStreamSynchronize(stream) == hipSuccess);
  SIM_CHECK(hipHostFree(box) == hipSuccess);
}

TEST(hip, reaches_the_host_with_the_scope_of_the_system_alone) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(run_post<spelled::system>, 200)));
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(run_post<spelled::fence>, 200)));
  EXPECT_TRUE(always(verdict::scope_race, scoped().run_many(run_post<spelled::agent>, 50)));
  EXPECT_TRUE(always(verdict::scope_race, scoped().run_many(run_post<spelled::cluster>, 50)));
  EXPECT_TRUE(always(verdict::scope_race, scoped().run_many(run_post<spelled::fence_of_cluster>, 50)));
  EXPECT_TRUE(always(verdict::unsupported, scoped().run_many(run_post<spelled::fence_of_unknown>, 2)));
}

struct packet {
  int64_t argument;
  int64_t result;
  hsa_signal_t completion;
};

template <int Order, int Packets>
__global__ void serve(packet* packets, volatile int64_t* doorbell) {
  for (int n = 0; n < Packets; ++n) {
    while (__hip_atomic_load(doorbell, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) < n) __builtin_amdgcn_s_sleep(1);
    packets[n].result = packets[n].argument * 3;
    auto& completion = *reinterpret_cast<amd_signal_t*>(packets[n].completion.handle);
    __builtin_amdgcn_s_waitcnt(0);
    __hip_atomic_fetch_sub(&completion.value, int64_t{1}, Order, __HIP_MEMORY_SCOPE_SYSTEM);
  }
}

/// `ring` tells the kernel of a packet, and `await` waits for its end.
template <int Order = __ATOMIC_RELEASE, typename Ring, typename Await>
void exchange_packets(Ring ring, Await await) {
  constexpr int count = 2;
  packet* packets = nullptr;
  hsa_signal_t doorbell;
  volatile hsa_signal_value_t* at = nullptr;
  SIM_CHECK(hsa_init() == HSA_STATUS_SUCCESS && hipHostAlloc(&packets, count * sizeof *packets) == hipSuccess);
  SIM_CHECK(hsa_signal_create(-1, 0, nullptr, &doorbell) == HSA_STATUS_SUCCESS);
  SIM_CHECK(hsa_amd_signal_value_pointer(doorbell, &at) == HSA_STATUS_SUCCESS);
  for (int n = 0; n < count; ++n)
    SIM_CHECK(hsa_amd_signal_create(1, 0, nullptr, 0, &packets[n].completion) == HSA_STATUS_SUCCESS);
  hipStream_t stream;
  SIM_CHECK(hipStreamCreate(&stream) == hipSuccess);
  hipExtLaunchKernelGGL(HIP_KERNEL_NAME(serve<Order, count>), dim3(1), dim3(1), 0, stream, nullptr, nullptr, 0, packets,
                        at);
  for (int n = 0; n < count; ++n) {
    packets[n].argument = n + 5;
    ring(doorbell, n);
  }
  for (int n = 0; n < count; ++n) {
    await(packets[n].completion);
    SIM_CHECK(packets[n].result == 3 * (n + 5));
    SIM_CHECK(hsa_signal_destroy(packets[n].completion) == HSA_STATUS_SUCCESS);
  }
  SIM_CHECK(hipStreamSynchronize(stream) == hipSuccess);
  SIM_CHECK(hsa_signal_destroy(doorbell) == HSA_STATUS_SUCCESS && hsa_shut_down() == HSA_STATUS_SUCCESS);
}

constexpr auto ring_in_order = [](hsa_signal_t doorbell, int n) { hsa_signal_store_screlease(doorbell, n); };
constexpr auto await_in_order = [](hsa_signal_t completion) {
  SIM_CHECK(hsa_signal_wait_scacquire(completion, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) == 0);
};

TEST(hip, has_signals_of_hsa_whose_orders_count) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many([] { exchange_packets(ring_in_order, await_in_order); }, 300)));
  EXPECT_TRUE(always(verdict::race,
                     scoped().run_many([] { exchange_packets<__ATOMIC_RELAXED>(ring_in_order, await_in_order); }, 20)));
  const auto ring = [](hsa_signal_t doorbell, int n) { hsa_signal_store_relaxed(doorbell, n); };
  EXPECT_TRUE(always(verdict::race, scoped().run_many([&] { exchange_packets(ring, await_in_order); }, 20)));
  const auto await = [](hsa_signal_t completion) {
    (void)hsa_signal_wait_relaxed(completion, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_ACTIVE);
  };
  EXPECT_TRUE(always(verdict::race, scoped().run_many([&] { exchange_packets(ring_in_order, await); }, 20)));
}

TEST(hip, waits_for_signals_until_the_condition_holds_or_time_is_over) {
  const auto await_too_long = [](hsa_signal_t completion) {
    (void)hsa_signal_wait_scacquire(completion, HSA_SIGNAL_CONDITION_LT, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  };
  EXPECT_TRUE(
      always(verdict::deadlock, scoped().run_many([&] { exchange_packets(ring_in_order, await_too_long); }, 20)));
  const auto await_by_time = [](hsa_signal_t completion) {
    while (hsa_signal_wait_scacquire(completion, HSA_SIGNAL_CONDITION_NE, 1, 1000, HSA_WAIT_STATE_BLOCKED) != 0) {
    }
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many([&] { exchange_packets(ring_in_order, await_by_time); }, 100)));
  const auto await_once = [](hsa_signal_t completion) {
    SIM_CHECK(hsa_signal_wait_scacquire(completion, HSA_SIGNAL_CONDITION_NE, 1, 1000, HSA_WAIT_STATE_BLOCKED) == 0);
  };
  EXPECT_TRUE(
      sometimes(verdict::assertion, scoped().run_many([&] { exchange_packets(ring_in_order, await_once); }, 100)));
}

TEST(hip, changes_signals_as_their_names_say) {
  const auto change = [] {
    hsa_signal_t signal;
    SIM_CHECK(hsa_signal_create(12, 0, nullptr, &signal) == HSA_STATUS_SUCCESS);
    hsa_signal_add_relaxed(signal, 3);
    hsa_signal_subtract_screlease(signal, 1);
    hsa_signal_or_scacquire(signal, 0x30);
    hsa_signal_and_acq_rel(signal, 0x1f);
    hsa_signal_xor_release(signal, 1);
    SIM_CHECK(hsa_signal_load_scacquire(signal) == 0x1f);
    SIM_CHECK(hsa_signal_cas_scacq_screl(signal, 0, 7) == 0x1f && hsa_signal_cas_relaxed(signal, 0x1f, 7) == 0x1f);
    SIM_CHECK(hsa_signal_exchange_screlease(signal, -2) == 7);
    SIM_CHECK(hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, -1, 0, HSA_WAIT_STATE_ACTIVE) == -2);
    SIM_CHECK(hsa_signal_wait_relaxed(signal, HSA_SIGNAL_CONDITION_GTE, -2, 0, HSA_WAIT_STATE_ACTIVE) == -2);
    SIM_CHECK(hsa_signal_destroy(signal) == HSA_STATUS_SUCCESS);
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(change, 5)));
}

__global__ void dynamic_sum(float* sum) {
  HIP_DYNAMIC_SHARED(float, parts)
  parts[threadIdx.x] = 1.0f;
  __syncthreads();
  if (threadIdx.x == 0) *sum = parts[0] + parts[1] + parts[2];
}

TEST(hip, has_words_that_streams_write_and_wait_for) {
  const auto with = [](uint32_t mask) {
    return [=] {
      auto* const words = on_device<unsigned>(2);
      hipStream_t one;
      hipStream_t other;
      SIM_CHECK(hipStreamCreateWithFlags(&one, hipStreamNonBlocking) == hipSuccess);
      SIM_CHECK(hipStreamCreateWithFlags(&other, hipStreamNonBlocking) == hipSuccess);
      SIM_CHECK(hipStreamWaitValue32(one, words, 0x100, 9, mask) == hipErrorInvalidValue);
      SIM_CHECK(hipStreamWaitValue32(one, words, 0x100, hipStreamWaitValueEq, mask) == hipSuccess);
      SIM_CHECK(hipStreamWriteValue32(other, words, 0x102) == hipSuccess);
      SIM_CHECK(hipDeviceSynchronize() == hipSuccess);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(with(0xf00), 20)));
  EXPECT_TRUE(always(verdict::deadlock, scoped().run_many(with(0xfff), 20)));
}

TEST(hip, has_batches_of_words_in_streams) {
  const auto with = [](uint64_t written) {
    return [=] {
      auto* const words = on_device<uint64_t>(1);
      int can_wait = 0;
      SIM_CHECK(hipDeviceGetAttribute(&can_wait, hipDeviceAttributeCanUseStreamWaitValue, 0) == hipSuccess);
      hipStream_t one = nullptr;
      hipStream_t other = nullptr;
      SIM_CHECK(can_wait == 1 && hipStreamCreateWithFlags(&one, hipStreamNonBlocking) == hipSuccess);
      SIM_CHECK(hipStreamCreateWithFlags(&other, hipStreamNonBlocking) == hipSuccess);
      hipStreamBatchMemOpParams batch[2] = {};
      batch[0].waitValue = {
          hipStreamMemOpWaitValue64, words, {.value64 = uint64_t{5} << 32}, hipStreamWaitValueGte, {}};
      batch[1].memoryBarrier = {hipStreamMemOpBarrier, 0};
      SIM_CHECK(hipStreamBatchMemOp(one, 2, batch, 0) == hipSuccess);
      batch[0].writeValue = {hipStreamMemOpWriteValue64, words, {.value64 = written << 32}, 0, {}};
      SIM_CHECK(hipStreamBatchMemOp(other, 1, batch, 0) == hipSuccess);
      batch[0].operation = hipStreamBatchMemOpType{};
      SIM_CHECK(hipStreamBatchMemOp(other, 1, batch, 0) == hipErrorInvalidValue);
      SIM_CHECK(hipDeviceSynchronize() == hipSuccess);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(with(6), 20)));
  EXPECT_TRUE(always(verdict::deadlock, scoped().run_many(with(4), 20)));
}

TEST(hip, has_dynamic_shared_memory) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        auto* sum = on_device<float>(1);
                                        dynamic_sum<<<1, 3, 3 * sizeof(float)>>>(sum);
                                        SIM_CHECK(hipDeviceSynchronize() == hipSuccess);
                                        SIM_CHECK(*sum == 3.0f);
                                      },
                                      50)));
}

__device__ unsigned factor;

__device__ unsigned ranks_in(const cooperative_groups::thread_group& group) {
  return group.thread_rank() * 100 + group.size();
}

__global__ void in_groups(unsigned* made) {
  namespace cg = cooperative_groups;
  const unsigned lane = threadIdx.x;
  const cg::thread_block block = cg::this_thread_block();
  const auto wave = cg::tiled_partition<64>(block);
  SIM_CHECK(wave.ballot(lane >= 40 ? 1 : 0) == ~uint64_t{0} << 40 && wave.num_threads() == 64);
  SIM_CHECK(wave.match_any(lane / 48) == (lane < 48 ? (uint64_t{1} << 48) - 1 : ~uint64_t{0} << 48));
  SIM_CHECK(__reduce_max_sync(~0ULL, lane) == 63);
  __syncwarp();
  int same = 7;
  SIM_CHECK(wave.match_all(lane / 64, same) == ~uint64_t{0} && same == 1);
  const auto tile = cg::tiled_partition<16>(block);
  unsigned sum = tile.thread_rank();
  for (unsigned apart = 8; apart != 0; apart /= 2) sum += tile.shfl_down(sum, apart);
  if (tile.thread_rank() == 0) SIM_CHECK(sum == 120);
  SIM_CHECK(ranks_in(tile) == lane % 16 * 100 + 16 && ranks_in(block) == lane * 100 + 64);
  if (lane % 3 == 0) {
    const cg::coalesced_group some = cg::coalesced_threads();
    SIM_CHECK(some.size() == 22 && some.thread_rank() == lane / 3);
  }
  made[lane] = sum * factor;
}

TEST(hip, has_groups_of_up_to_64_lanes) {
  const auto run = [] {
    auto* const made = on_device<unsigned>(64);
    const unsigned two = 2;
    SIM_CHECK(hipMemcpyToSymbol(HIP_SYMBOL(factor), &two, sizeof two) == hipSuccess);
    in_groups<<<dim3(1), dim3(64), 0, hipStreamDefault>>>(made);
    SIM_CHECK(hipDeviceSynchronize() == hipSuccess);
    SIM_CHECK(made[48] == 240);
  };
  EXPECT_TRUE(always(verdict::ok, machine({"convergence=lockstep"}).run_many(run, 5)));
}

/// A wave's sum as libraries make it for gfx9: in rows, then over the rows.
__device__ int sum_by_dpp(int value) {
  constexpr int row_shr_1 = 0x111, row_shr_2 = 0x112, row_shr_4 = 0x114, row_shr_8 = 0x118;
  constexpr int row_bcast_15 = 0x142, row_bcast_31 = 0x143;
  value += __builtin_amdgcn_update_dpp(0, value, row_shr_1, 0xf, 0xf, false);
  value += __builtin_amdgcn_update_dpp(0, value, row_shr_2, 0xf, 0xf, false);
  value += __builtin_amdgcn_update_dpp(0, value, row_shr_4, 0xf, 0xf, false);
  value += __builtin_amdgcn_update_dpp(0, value, row_shr_8, 0xf, 0xf, false);
  value += __builtin_amdgcn_update_dpp(0, value, row_bcast_15, 0xa, 0xf, false);
  value += __builtin_amdgcn_update_dpp(0, value, row_bcast_31, 0xc, 0xf, false);
  return value;
}

__global__ void hand_each_other() {
  const int lane = static_cast<int>(threadIdx.x);
  const int row = lane / 16 * 16;
  const auto moved = [&](int control) { return __builtin_amdgcn_update_dpp(-1, lane, control, 0xf, 0xf, false); };
  SIM_CHECK(sum_by_dpp(lane) == lane * (lane + 1) / 2);
  SIM_CHECK(moved(0x1b) == (lane ^ 3));                                      // quad_perm:[3,2,1,0]
  SIM_CHECK(moved(0x101) == (lane % 16 == 15 ? -1 : lane + 1));              // row_shl:1
  SIM_CHECK(moved(0x11f) == (lane % 16 == 15 ? row : -1));                   // row_shr:15
  SIM_CHECK(moved(0x121) == row + (lane + 15) % 16);                         // row_ror:1
  SIM_CHECK(moved(0x130) == (lane == 63 ? -1 : lane + 1));                   // wave_shl:1
  SIM_CHECK(moved(0x134) == (lane + 1) % 64);                                // wave_rol:1
  SIM_CHECK(moved(0x138) == lane - 1);                                       // wave_shr:1
  SIM_CHECK(moved(0x13c) == (lane + 63) % 64);                               // wave_ror:1
  SIM_CHECK(moved(0x140) == row + 15 - lane % 16);                           // row_mirror
  SIM_CHECK(moved(0x141) == lane - lane % 8 + 7 - lane % 8);                 // row_half_mirror
  SIM_CHECK(moved(0x142) == (row == 0 ? -1 : row - 1));                      // row_bcast:15
  SIM_CHECK(moved(0x143) == (lane < 32 ? -1 : 31));                          // row_bcast:31
  SIM_CHECK(moved(0x153) == row + 3);                                        // row_newbcast:3
  SIM_CHECK(moved(0x165) == (lane ^ 5));                                     // row_xmask:5
  SIM_CHECK(__builtin_amdgcn_update_dpp(9, lane, 0x138, 0x2, 0x5, false) ==  // one row, two banks of it
            (row == 16 && lane / 4 % 2 == 0 ? lane - 1 : 9));
  SIM_CHECK(__builtin_amdgcn_mov_dpp(lane, 0x111, 0xf, 0xf, true) == (lane % 16 == 0 ? 0 : lane - 1));
  SIM_CHECK(__builtin_amdgcn_mov_dpp8(lane, 0xfac688U) == lane);
  SIM_CHECK(__builtin_amdgcn_ds_bpermute(4 * (63 - lane), lane) == 63 - lane);
  SIM_CHECK(__builtin_amdgcn_ds_permute(4 * (63 - lane), lane) == 63 - lane);
  SIM_CHECK(__builtin_amdgcn_ds_permute(4 * (lane / 2), lane + 100) == (lane < 32 ? 2 * lane + 101 : 0));
  SIM_CHECK(__builtin_amdgcn_ds_swizzle(lane, 0x041f) == (lane ^ 1));          // and 31, or 0, xor 1
  SIM_CHECK(__builtin_amdgcn_ds_swizzle(lane, 0x0060) == lane / 32 * 32 + 3);  // and 0, or 3: one lane's for all
  SIM_CHECK(__builtin_amdgcn_ds_swizzle(lane, 0x8000 | 0x1b) == (lane ^ 3));
  SIM_CHECK(__builtin_amdgcn_writelane(7, 5, 1) == (lane == 5 ? 7 : 1));
  SIM_CHECK(__builtin_amdgcn_permlane16(0, static_cast<unsigned>(lane), 0x76543210U, 0xfedcba98U, false, false) ==
            static_cast<unsigned>(lane));
  SIM_CHECK(__builtin_amdgcn_permlanex16(0, static_cast<unsigned>(lane), 0, 0, false, false) ==
            static_cast<unsigned>(row ^ 16));
  SIM_CHECK(__ockl_lane_u32() == threadIdx.x && __ockl_activelane_u32() == threadIdx.x);
  SIM_CHECK(__ockl_get_local_id(0) == threadIdx.x && __ockl_get_global_size(0) == 64 && __ockl_get_num_groups(1) == 1);
  // Of lanes that do not stand here nothing comes.
  if (lane % 2 != 0) {
    SIM_CHECK(__builtin_amdgcn_update_dpp(-5, lane, 0x111, 0xf, 0xf, false) == -5);
    SIM_CHECK(__builtin_amdgcn_update_dpp(-5, lane, 0x112, 0xf, 0xf, true) == (lane % 16 < 2 ? 0 : lane - 2));
    SIM_CHECK(__builtin_amdgcn_ds_bpermute(0, lane) == 0);
    SIM_CHECK(__builtin_amdgcn_ds_permute(4 * (lane - 1), lane) == 0);
    SIM_CHECK(__ockl_activelane_u32() == threadIdx.x / 2);
  }
}

__global__ void reads_with(int control) { (void)__builtin_amdgcn_update_dpp(0, 1, control, 0xf, 0xf, false); }

TEST(hip, hands_values_from_lane_to_lane_as_a_gpu_of_amd_does) {
  const auto with = [](int control) {
    return [=] {
      hand_each_other<<<1, 64>>>();
      if (control != 0) reads_with<<<1, 64>>>(control);
      SIM_CHECK(hipDeviceSynchronize() == hipSuccess);
    };
  };
  machine lockstep({"convergence=lockstep"});
  EXPECT_TRUE(always(verdict::ok, lockstep.run_many(with(0), 5)));
  EXPECT_TRUE(always(verdict::unsupported, lockstep.run_many(with(0x144), 5)));
}

__global__ void adds_up(float* single, double* exact, double* largest) {
  const auto mine = static_cast<float>(threadIdx.x);
  unsafeAtomicAdd(single, mine);
  safeAtomicAdd(exact, mine);
  unsafeAtomicMax(largest, mine);
  atomicMin(single + 1, -mine);
  atomicSub(exact + 1, 1.0);
}

TEST(hip, has_atomics_of_real_numbers) {
  const auto run = [] {
    auto* const single = on_device<float>(2);
    auto* const exact = on_device<double>(3);
    adds_up<<<1, 64>>>(single, exact, exact + 2);
    SIM_CHECK(hipDeviceSynchronize() == hipSuccess);
    SIM_CHECK(single[0] == 2016.0f && exact[0] == 2016.0 && exact[2] == 63.0);
    SIM_CHECK(single[1] == -63.0f && exact[1] == -64.0);
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(run, 5)));
}

TEST(hip, fills_memory_with_words_and_has_a_context_for_each_device) {
  const auto run = [] {
    auto* const words = on_device<unsigned>(4);
    hipCtx_t made = nullptr;
    hipCtx_t current = nullptr;
    hipDevice_t device = 7;
    SIM_CHECK(hipCtxCreate(&made, 0, 1) == hipErrorInvalidDevice && hipCtxCreate(&made, 0, 0) == hipSuccess);
    SIM_CHECK(hipCtxGetCurrent(&current) == hipSuccess && current == made);
    SIM_CHECK(hipCtxSetCurrent(nullptr) == hipErrorInvalidValue && hipCtxSetCurrent(made) == hipSuccess);
    SIM_CHECK(hipCtxGetDevice(&device) == hipSuccess && device == 0);
    SIM_CHECK(hipMemsetD32(words, 0x12345678, 4) == hipSuccess);
    SIM_CHECK(hipMemsetD16Async(words + 1, 0xabcd, 3) == hipSuccess && hipMemsetD8(words + 3, 9, 1) == hipSuccess);
    SIM_CHECK(hipCtxSynchronize() == hipSuccess);
    SIM_CHECK(words[0] == 0x12345678 && words[1] == 0xabcdabcd && words[2] == 0x1234abcd && words[3] == 0x12345609);
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(run, 5)));
}

__global__ void rings(hsa_signal_t bell, int* data, int order) {
  *data = 7;
  __ockl_hsa_signal_add(bell, 1, order);
}

TEST(hip, has_signals_of_the_device_library_whose_orders_count) {
  const auto with = [](int order) {
    return [=] {
      int* data = nullptr;
      SIM_CHECK(hipHostMalloc(&data, 4) == hipSuccess);
      hsa_signal_t bell;
      SIM_CHECK(hsa_signal_create(0, 0, nullptr, &bell) == HSA_STATUS_SUCCESS);
      rings<<<1, 1>>>(bell, data, order);
      hsa_signal_wait_scacquire(bell, HSA_SIGNAL_CONDITION_EQ, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
      SIM_CHECK(*data == 7);
      SIM_CHECK(hipDeviceSynchronize() == hipSuccess);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(with(__ATOMIC_RELEASE), 20)));
  EXPECT_TRUE(always(verdict::race, scoped().run_many(with(__ATOMIC_RELAXED), 20)));
}

TEST(hip, has_words_of_bits) {
  static_assert(__bitextract_u32(0xabcd'1234U, 8, 4) == 2 && __bitextract_u32(~0U, 31, 4) == 1);
  static_assert(__bitextract_u32(~0U, 3, 0) == 0 && __bitextract_u64(uint64_t{0x5a} << 50, 50, 8) == 0x5a);
  static_assert(__bitinsert_u32(0xffff'ffffU, 0x5U, 4, 4) == 0xffff'ff5fU);
  static_assert(__bitinsert_u64(0, 0xabU, 60, 4) == uint64_t{0xb} << 60);
  EXPECT_EQ(rsqrtf(4.0f), 0.5f);
}

}  // namespace
