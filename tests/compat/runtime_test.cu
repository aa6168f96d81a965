// The host side in the spellings of CUDA: launches, memory, streams, events, and what would end a process.
#include <cuda.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

#include "../sim/run.h"

__device__ unsigned counted = 3;
__constant__ int factors[4];
__managed__ int managed_word = 1;

namespace {

using namespace heddle::sim::tests;

machine scoped(std::vector<std::string> settings = {}) {
  settings.emplace_back("fidelity=scoped");
  return machine(settings);
}

template <typename T>
T* on_device(size_t count) {
  T* memory = nullptr;
  SIM_CHECK(cudaMalloc(&memory, count * sizeof(T)) == cudaSuccess);
  return memory;
}

__global__ void store(int* to, int value) { *to = value; }

template <typename T>
__global__ void store_any(T* to, T value) {
  *to = value;
}

// -- launches ------------------------------------------------------------------------------------------------------------------------

struct holder {
  int* word;
  void launch(int value) const { store<<<1, 1>>>(word, value); }
};

__global__ void copy_row(const float* from, float4* to) { *to = *reinterpret_cast<const float4*>(from); }
__global__ void copy_pair(const float* from, float2* to) { *to = *reinterpret_cast<const float2*>(from); }

// Of an object that clang copies as bytes nothing says how it is aligned.
#if !defined(__clang__)
TEST(cuda_runtime, ends_at_a_vector_that_is_not_aligned) {
  const auto copied = [](int from, bool pair) {
    return [=] {
      auto* const words = on_device<float>(16);
      cudaMemset(words, 0, 16 * sizeof *words);
      if (pair)
        copy_pair<<<1, 1>>>(words + from, reinterpret_cast<float2*>(words + 8));
      else
        copy_row<<<1, 1>>>(words + from, reinterpret_cast<float4*>(words + 8));
      cudaDeviceSynchronize();
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(copied(4, false), 5)));
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(copied(2, true), 5)));
  for (const bool pair : {false, true}) {
    EXPECT_TRUE(always(verdict::memory, scoped().run_many(copied(1, pair), 5)));
    EXPECT_TRUE(says(scoped().explain(copied(1, pair)).message, "misaligned, a kernel needs"));
  }
}
#endif

template <typename Index, typename Size>
__device__ unsigned flat(const Index& at, const Size& of) {
  return at.x + at.y * of.x;
}
__global__ void copy_indices(int* bad) {
  auto own = threadIdx;
  const dim3 size = blockDim;
  const auto [x, y, z] = threadIdx;
  static_assert(std::is_same_v<decltype(own), uint3>);
  const bool right = own.x == threadIdx.x && size.y == blockDim.y && x == threadIdx.x && y == threadIdx.y && z == 0 &&
                     flat(threadIdx, blockDim) == threadIdx.x + 3 * threadIdx.y && flat(own, size) == x + 3 * y;
  if (!right) *bad = 1;
}

TEST(cuda_runtime, gives_indices_as_values) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        auto* const bad = on_device<int>(1);
                                        *bad = 0;
                                        copy_indices<<<2, dim3(3, 2)>>>(bad);
                                        cudaDeviceSynchronize();
                                        SIM_CHECK(*bad == 0);
                                      },
                                      5)));
}

TEST(cuda_runtime, launches_kernels_in_every_spelling) {
  const auto all = [] {
    int* word = on_device<int>(1);
    const auto holds = [&](int wanted) {
      SIM_CHECK(cudaDeviceSynchronize() == cudaSuccess && cudaGetLastError() == cudaSuccess);
      SIM_CHECK(*word == wanted);
    };
    store<<<1, 1>>>(word, 1);
    holds(1);
    // clang-format off
    // Over several lines, with a comment >>> and a string "<<<" in it.
    store  // <<< not here >>>
        <<<dim3(1, 1),
           dim3{1}, sizeof "<<<", nullptr>>>(
            word, 1 + 1);
    // clang-format on
    holds(2);
    store_any<<<1, 1>>>(word, 3);
    holds(3);
    store_any<int><<<1, 1>>>(word, 4);
    holds(4);
    ::store_any<<<1 << 0, 1>>>(word, 5);
    holds(5);
    void (*pointer)(int*, int) = store;
    (*pointer)<<<1, 1>>>(word, 6);
    holds(6);
    if (*word == 6) store<<<1, 1>>>(word, 7);
    holds(7);
    holder{word}.launch(8);
    holds(8);
    int value = 9;
    void* arguments[] = {&word, &value};
    SIM_CHECK(cudaLaunchKernel(store, 1, 1, arguments) == cudaSuccess);
    holds(9);
    value = 10;
    SIM_CHECK(cudaLaunchKernel((const void*)store, dim3(1), dim3(1), arguments, 0, nullptr) == cudaSuccess);
    holds(10);
    value = 11;
    SIM_CHECK(cudaLaunchCooperativeKernel((void*)store, 1, 1, arguments) == cudaSuccess);
    holds(11);
    value = 12;
    SIM_CHECK(cudaLaunchKernel((void*)store_any<int>, 1, 1, arguments) == cudaSuccess);
  };
  const tally seen = scoped().run_many(all, 1);
  // A template has no address that is known.
  EXPECT_TRUE(always(verdict::assertion, seen));
  EXPECT_TRUE(says(seen.examples.at(verdict::assertion).message, "kernel that is a template"));
}

TEST(cuda_runtime, refuses_a_block_of_more_than_1024_threads) {
  EXPECT_TRUE(always(verdict::assertion, scoped().run_many([] { store<<<1, dim3(32, 33)>>>(nullptr, 1); }, 1)));
}

// -- memory --------------------------------------------------------------------------------------------------------------------------

__global__ void multiply(int* numbers) { numbers[threadIdx.x] *= factors[threadIdx.x]; }

TEST(cuda_runtime, copies_and_fills) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        int* numbers = on_device<int>(4);
                                        const int from[] = {1, 2, 3, 4};
                                        const int by[] = {10, 20, 30, 40};
                                        cudaMemcpyToSymbol(factors, by, sizeof by);
                                        cudaMemcpy(numbers, from, sizeof from, cudaMemcpyHostToDevice);
                                        multiply<<<1, 4>>>(numbers);
                                        int to[4] = {};
                                        cudaMemcpy(to, numbers, sizeof to, cudaMemcpyDeviceToHost);
                                        SIM_CHECK(to[0] == 10 && to[3] == 160);
                                        cudaMemset(numbers, 0xff, sizeof to);
                                        cudaMemcpyAsync(to, numbers, sizeof to, cudaMemcpyDeviceToHost);
                                        SIM_CHECK(to[0] == -1 && to[3] == -1);
                                        cudaFree(numbers);
                                        cudaFree(nullptr);
                                      },
                                      50)));
}

TEST(cuda_runtime, refuses_a_copy_in_a_direction_that_its_pointers_do_not_have) {
  EXPECT_TRUE(always(verdict::assertion, scoped().run_many(
                                             [] {
                                               int word = 0;
                                               cudaMemcpy(on_device<int>(1), &word, sizeof word,
                                                          cudaMemcpyDeviceToHost);
                                             },
                                             1)));
}

TEST(cuda_runtime, checks_the_bounds_of_what_it_allocates) {
  const tally seen = scoped().run_many(
      [] {
        int* words = on_device<int>(2);
        store<<<1, 1>>>(words + 2, 1);
        cudaDeviceSynchronize();
      },
      1);
  EXPECT_TRUE(always(verdict::memory, seen));
  EXPECT_TRUE(says(seen.examples.at(verdict::memory).message, "cudaMalloc 1+0x8"));
}

// -- variables of the device ---------------------------------------------------------------------------------------------------------

__global__ void count() {
  atomicAdd(&counted, 1);
  atomicAdd(&managed_word, 1);
}

TEST(cuda_runtime, begins_with_the_variables_of_the_device_anew) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        count<<<2, 3>>>();
                                        cudaDeviceSynchronize();
                                        unsigned seen = 0;
                                        cudaMemcpyFromSymbol(&seen, counted, sizeof seen);
                                        SIM_CHECK(seen == 9 && managed_word == 7 && factors[0] == 0);
                                        const int by[] = {1};
                                        cudaMemcpyToSymbol(factors, by, sizeof by);
                                      },
                                      20)));
}

// -- streams and events --------------------------------------------------------------------------------------------------------------

__global__ void wait_for(volatile int* flag) {
  while (*flag == 0) __nanosleep(20);
}
__global__ void raise(volatile int* flag) { *flag = 1; }

/// One kernel waits for another; where the second one runs only after the first, for ever.
program in_streams(unsigned first_flags, unsigned second_flags, bool default_stream) {
  return [=] {
    int* flag = on_device<int>(1);
    cudaMemset(flag, 0, sizeof *flag);
    cudaDeviceSynchronize();
    cudaStream_t first, second;
    cudaStreamCreateWithFlags(&first, first_flags);
    cudaStreamCreateWithFlags(&second, second_flags);
    wait_for<<<1, 1, 0, first>>>(flag);
    raise<<<1, 1, 0, default_stream ? nullptr : second>>>(flag);
    cudaStreamSynchronize(first);
    SIM_CHECK(cudaStreamQuery(first) == cudaSuccess);
    cudaDeviceSynchronize();
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
  };
}

TEST(cuda_runtime, runs_the_kernels_of_two_streams_side_by_side) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(in_streams(cudaStreamDefault, cudaStreamDefault, false), 100)));
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(in_streams(cudaStreamNonBlocking, cudaStreamDefault, true), 100)));
  // The default stream waits for one that is not.
  EXPECT_TRUE(always(verdict::deadlock, scoped().run_many(in_streams(cudaStreamDefault, cudaStreamDefault, true), 10)));
}

TEST(cuda_runtime, promises_no_two_kernels_a_place) {
  EXPECT_TRUE(always(verdict::progress,
                     scoped({"resident=1"}).run_many(in_streams(cudaStreamDefault, cudaStreamDefault, false), 10)));
}

/// The second kernel ends the wait of the first, or the first that of the second, in one stream.
template <bool InOrder>
void in_one_stream() {
  int* flag = on_device<int>(1);
  cudaMemset(flag, 0, sizeof *flag);
  cudaDeviceSynchronize();
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  if (InOrder) raise<<<1, 1, 0, stream>>>(flag);
  wait_for<<<1, 1, 0, stream>>>(flag);
  if (!InOrder) raise<<<1, 1, 0, stream>>>(flag);
  cudaStreamSynchronize(stream);
}

TEST(cuda_runtime, has_the_progress_that_cuda_promises) {
  machine cuda = scoped({"progress=cuda"});
  // A kernel need not start while another one runs.
  const program two_streams = in_streams(cudaStreamDefault, cudaStreamDefault, false);
  const tally seen = cuda.run_many(two_streams, 200);
  ASSERT_GT(seen.count(verdict::progress), 0U) << seen.text();
  EXPECT_EQ(seen.count(verdict::progress) + seen.count(verdict::ok), 200U) << seen.text();
  const heddle::sim::outcome first = cuda.explain(two_streams, seen.first_seeds.at(verdict::progress));
  EXPECT_TRUE(says(first.report, "progress models under which one of these would have to move: fair"));
  EXPECT_TRUE(always(verdict::ok, cuda.run_many(in_one_stream<true>, 200)));
  EXPECT_TRUE(always(verdict::deadlock, cuda.run_many(in_one_stream<false>, 20)));
}

TEST(cuda_runtime, streams_have_priorities_of_which_the_lower_number_is_the_higher) {
  // One place. Behind the first kernel wait two: that of higher priority gets it first, and raises the flag for the other one.
  const auto two_wait = [](int higher) {
    int least = 1;
    int greatest = 1;
    SIM_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest) == cudaSuccess && least == 0 && greatest == -5);
    cudaStream_t first;
    cudaStream_t low;
    cudaStream_t high;
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    SIM_CHECK(cudaStreamCreateWithPriority(&low, cudaStreamNonBlocking, -1) == cudaSuccess);
    SIM_CHECK(cudaStreamCreateWithPriority(&high, 77, 0) == cudaErrorInvalidValue);
    SIM_CHECK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, higher) == cudaSuccess);
    int priority = 0;
    SIM_CHECK(cudaStreamGetPriority(high, &priority) == cudaSuccess && priority == (higher < -5 ? -5 : higher));
    SIM_CHECK(cudaStreamGetPriority(low, &priority) == cudaSuccess && priority == -1);
    SIM_CHECK(cudaStreamGetPriority(first, &priority) == cudaSuccess && priority == 0);
    int* flags = on_device<int>(2);
    cudaMemset(flags, 0, 2 * sizeof *flags);
    cudaDeviceSynchronize();
    wait_for<<<1, 1, 0, first>>>(flags);
    wait_for<<<1, 1, 0, low>>>(flags + 1);
    raise<<<1, 1, 0, high>>>(flags + 1);
    *static_cast<volatile int*>(flags) = 1;
    cudaDeviceSynchronize();
  };
  machine one = scoped({"resident=1", "progress=slots"});
  EXPECT_TRUE(always(verdict::ok, one.run_many([=] { two_wait(-100); }, 50)));
  EXPECT_TRUE(always(verdict::progress, one.run_many([=] { two_wait(-1); }, 50)));
}

__global__ void add_one(int* to, const int* from) { *to = *from + 1; }

program chain(bool with_event) {
  return [=] {
    int* words = on_device<int>(3);
    cudaMemset(words, 0, 3 * sizeof(int));
    cudaDeviceSynchronize();
    cudaStream_t first, second;
    cudaStreamCreate(&first);
    cudaStreamCreate(&second);
    cudaEvent_t done;
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    add_one<<<1, 1, 0, first>>>(words + 1, words);
    cudaEventRecord(done, first);
    if (with_event) cudaStreamWaitEvent(second, done, 0);
    add_one<<<1, 1, 0, second>>>(words + 2, words + 1);
    int* result = nullptr;
    cudaMallocHost(&result, sizeof *result);
    cudaMemcpyAsync(result, words + 2, sizeof *result, cudaMemcpyDeviceToHost, second);
    cudaEventSynchronize(done);
    SIM_CHECK(cudaEventQuery(done) == cudaSuccess);
    cudaStreamSynchronize(second);
    SIM_CHECK(*result == 2);
    cudaEventDestroy(done);
  };
}

TEST(cuda_runtime, orders_streams_by_events_and_by_nothing_else) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(chain(true), 200)));
  EXPECT_TRUE(always(verdict::race, scoped().run_many(chain(false), 50)));
}

TEST(cuda_runtime, asks_a_stream_until_it_is_done) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        int* word = on_device<int>(1);
                                        store<<<1, 1>>>(word, 1);
                                        while (cudaStreamQuery(nullptr) == cudaErrorNotReady) {
                                        }
                                        SIM_CHECK(*word == 1);
                                      },
                                      50)));
}

TEST(cuda_runtime, knows_streams_that_have_been_destroyed) {
  EXPECT_TRUE(always(verdict::assertion, scoped().run_many(
                                             [] {
                                               cudaStream_t stream;
                                               cudaStreamCreate(&stream);
                                               cudaStreamDestroy(stream);
                                               store<<<1, 1, 0, stream>>>(on_device<int>(1), 1);
                                             },
                                             1)));
}

__global__ void count_by_symbol(unsigned* to) { *to = counted; }

TEST(cuda_runtime, copies_by_the_address_of_a_device_variable_in_either_direction) {
  const auto copies = [] {
    void* address = nullptr;
    size_t bytes = 0;
    SIM_CHECK(cudaGetSymbolAddress(&address, counted) == cudaSuccess && address == &counted);
    SIM_CHECK(cudaGetSymbolSize(&bytes, counted) == cudaSuccess && bytes == sizeof counted);
    unsigned value = 41, seen = 0;
    SIM_CHECK(cudaMemcpy(address, &value, sizeof value, cudaMemcpyHostToDevice) == cudaSuccess);
    auto* const word = on_device<unsigned>(1);
    count_by_symbol<<<1, 1>>>(word);
    SIM_CHECK(cudaMemcpy(&seen, word, sizeof seen, cudaMemcpyDeviceToHost) == cudaSuccess && seen == 41);
    SIM_CHECK(cudaMemcpy(word, address, sizeof seen, cudaMemcpyDeviceToDevice) == cudaSuccess);
    SIM_CHECK(cudaMemcpy(&seen, address, sizeof seen, cudaMemcpyDeviceToHost) == cudaSuccess && seen == 41);
    cudaStream_t stream = nullptr;
    SIM_CHECK(cudaStreamCreate(&stream) == cudaSuccess);
    value = 42;
    SIM_CHECK(cudaMemcpyAsync(address, &value, sizeof value, cudaMemcpyHostToDevice, stream) == cudaSuccess);
    SIM_CHECK(cudaStreamSynchronize(stream) == cudaSuccess && counted == 42);
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(copies, 100)));
  EXPECT_TRUE(always(verdict::assertion, scoped().run_many(
                                             [] {
                                               unsigned value = 1, other = 2;
                                               cudaMemcpy(&other, &value, sizeof value, cudaMemcpyHostToDevice);
                                             },
                                             3)));
}

// -- volatile, clocks, ends ------------------------------------------------------------------------------------------------------------

__global__ void wait_a_while(int* timed_out) {
  const long long start = clock64();
  while (clock64() - start < 1000000000) {
  }
  *timed_out = clock() != 0 ? 1 : 0;
}

/// Two blocks meet in each round, and give up when the other one has not come for a hundred seconds.
__global__ void meet_with_a_guard(volatile unsigned* rounds_of, unsigned rounds) {
  constexpr long long cycles = 100'000'000'000;
  for (unsigned round = 1; round <= rounds; ++round) {
    __threadfence();
    rounds_of[blockIdx.x] = round;
    const long long start = clock64();
    while (rounds_of[1 - blockIdx.x] < round)
      if (clock64() - start > cycles) __trap();
  }
}

TEST(cuda_runtime, a_guard_does_not_fire_while_what_it_waits_for_has_come_or_can_come) {
  const auto program = [](bool all_come) {
    return [all_come] {
      unsigned* rounds_of = nullptr;
      cudaMalloc(&rounds_of, 2 * sizeof *rounds_of);
      cudaMemset(rounds_of, 0, 2 * sizeof *rounds_of);
      meet_with_a_guard<<<all_come ? 2u : 1u, 1>>>(rounds_of, 20u);
      cudaDeviceSynchronize();
    };
  };
  for (const std::string& strategy : all_strategies())
    EXPECT_TRUE(always(verdict::ok, machine({"fidelity=scoped"}, strategy).run_many(program(true), 300))) << strategy;
  EXPECT_TRUE(always(verdict::assertion, machine({"fidelity=scoped"}).run_many(program(false), 20)));
}

TEST(cuda_runtime, lets_time_pass_for_those_who_look_at_the_clock) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        int* timed_out = on_device<int>(1);
                                        wait_a_while<<<1, 2>>>(timed_out);
                                        cudaDeviceSynchronize();
                                      },
                                      1)) == false)
      << "two lanes write one word";
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        int* timed_out = on_device<int>(1);
                                        wait_a_while<<<1, 1>>>(timed_out);
                                        cudaDeviceSynchronize();
                                        SIM_CHECK(*timed_out == 1);
                                      },
                                      20)));
}

constexpr int assert_line = __LINE__ + 1;
__global__ void fail(const int* zero) { assert(*zero != 0); }
__global__ void trap() { __trap(); }

TEST(cuda_runtime, ends_the_run_where_a_process_would_end) {
  const auto asserts = [] {
    int* zero = on_device<int>(1);
    cudaMemset(zero, 0, sizeof *zero);
    fail<<<1, 1>>>(zero);
    cudaDeviceSynchronize();
  };
  EXPECT_TRUE(is(verdict::assertion, SIM_LINE(assert_line), scoped().explain(asserts)));
  EXPECT_TRUE(says(scoped().run(asserts).message, "*zero != 0"));
  const auto traps = [] {
    trap<<<1, 1>>>();
    cudaDeviceSynchronize();
  };
  EXPECT_TRUE(always(verdict::assertion, scoped().run_many(traps, 1)));
  const tally exits = scoped().run_many([] { std::exit(EXIT_FAILURE); }, 1);
  EXPECT_TRUE(always(verdict::assertion, exits));
  EXPECT_TRUE(says(exits.examples.at(verdict::assertion).message, "exit(1)"));
}

// -- the C library in a kernel ---------------------------------------------------------------------------------------------------------

constexpr int puts_line = __LINE__ + 1;
__global__ void put_a_line() { puts("a line"); }
__global__ void open_a_file() { fopen("/dev/null", "r"); }
__global__ void use_what_the_device_has(int* length) {
  auto* const text = static_cast<char*>(malloc(16));
  snprintf(text, 16, "%d", 12345);
  *length = static_cast<int>(strlen(text));
  if (*length == 0) printf("never\n");
  free(text);
}

TEST(cuda_runtime, refuses_calls_of_the_operating_system_in_kernels) {
  const auto puts_in_kernel = [] {
    put_a_line<<<1, 1>>>();
    cudaDeviceSynchronize();
  };
  EXPECT_TRUE(is(verdict::unsupported, SIM_LINE(puts_line), scoped().explain(puts_in_kernel)));
  EXPECT_TRUE(says(scoped().run(puts_in_kernel).message,
                   "puts: a kernel calls it, and this program has no C library for kernels"));
  const auto fopen_in_kernel = [] {
    open_a_file<<<1, 1>>>();
    cudaDeviceSynchronize();
  };
  EXPECT_TRUE(says(scoped().run(fopen_in_kernel).message, "fopen: a kernel calls it"));
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        // Host code has all of it.
                                        FILE* const file = fopen("/dev/null", "w");
                                        SIM_CHECK(file != nullptr && fputs("x", file) >= 0 && fclose(file) == 0);
                                        int* length = on_device<int>(1);
                                        use_what_the_device_has<<<1, 1>>>(length);
                                        cudaDeviceSynchronize();
                                        SIM_CHECK(*length == 5);
                                      },
                                      20)));
}

// -- the driver API --------------------------------------------------------------------------------------------------------------------

extern "C" __global__ void add_both(unsigned char small, uint64_t* to, unsigned large) { *to += small + large; }

TEST(cuda_driver, finds_and_launches_what_the_program_has_by_name) {
  const auto body = [] {
    CUdevice device = -1;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    SIM_CHECK(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, 0) == CUDA_SUCCESS &&
              cuDeviceGet(&device, 1) == CUDA_ERROR_INVALID_DEVICE);
    SIM_CHECK(cuCtxCreate(&context, 0, device) == CUDA_SUCCESS && cuModuleLoadData(&module, "") == CUDA_SUCCESS);
    CUdeviceptr variable = 0;
    size_t bytes = 0;
    SIM_CHECK(cuModuleGetGlobal(&variable, &bytes, module, "counted") == CUDA_SUCCESS && bytes == sizeof counted);
    unsigned value = 0;
    cuMemcpyDtoH(&value, variable, bytes);
    SIM_CHECK(value == 3);
    SIM_CHECK(cuModuleGetGlobal(&variable, &bytes, module, "stdout") == CUDA_ERROR_NOT_FOUND);
    CUfunction function = nullptr;
    SIM_CHECK(cuModuleGetFunction(&function, module, "main") == CUDA_ERROR_NOT_FOUND);
    SIM_CHECK(cuModuleGetFunction(&function, module, "add_both") == CUDA_SUCCESS);

    CUdeviceptr word = 0;
    cuMemAlloc(&word, sizeof(uint64_t));
    cuMemsetD8(word, 0, sizeof(uint64_t));
    unsigned char small = 1;
    unsigned large = 20;
    void* addresses[] = {&small, &word, &large};
    SIM_CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, addresses, nullptr) == CUDA_SUCCESS);
    struct {
      unsigned char small;
      CUdeviceptr to;
      unsigned large;
    } buffer = {2, word, 300};
    size_t size = sizeof buffer;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    SIM_CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra) == CUDA_SUCCESS);
    SIM_CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, addresses, extra) == CUDA_ERROR_INVALID_VALUE);
    uint64_t sum = 0;
    cuMemcpyDtoH(&sum, word, sizeof sum);
    SIM_CHECK(sum == 323);
    const char* text = nullptr;
    SIM_CHECK(cuGetErrorString(CUDA_ERROR_NOT_FOUND, &text) == CUDA_SUCCESS &&
              strcmp(text, "named symbol not found") == 0);
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(body, 20)));
  const auto atomics = [](int wanted) {
    return [wanted] {
      int value = -1;
      cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 0);
      SIM_CHECK(value == wanted);
      SIM_CHECK(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(100), 0) == CUDA_ERROR_INVALID_VALUE);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(atomics(1), 1)));
  EXPECT_TRUE(always(verdict::ok, machine({"fidelity=link", "link.rmw=split"}).run_many(atomics(0), 1)));
}

TEST(cuda_driver, does_not_read_behind_a_buffer_of_arguments) {
  const tally seen = scoped().run_many(
      [] {
        CUmodule module = nullptr;
        CUfunction function = nullptr;
        cuModuleLoadData(&module, "");
        cuModuleGetFunction(&function, module, "add_both");
        unsigned char bytes[16] = {};
        size_t size = sizeof bytes;
        void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                         CU_LAUNCH_PARAM_END};
        cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra);
      },
      1);
  EXPECT_TRUE(always(verdict::assertion, seen));
  EXPECT_TRUE(says(seen.examples.at(verdict::assertion).message, "buffer is smaller"));
}

TEST(cuda_runtime, refuses_indices_in_host_code) {
  const tally seen = scoped().run_many([] { SIM_CHECK(threadIdx.x == 0); }, 1);
  EXPECT_TRUE(always(verdict::assertion, seen));
  EXPECT_TRUE(says(seen.examples.at(verdict::assertion).message, "host code"));
}

}  // namespace
