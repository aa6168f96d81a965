// Several devices in the spellings of CUDA: which one a thread means, and what belongs to it. (CUDA C++ Programming Guide, "Multi-Device
// System"; CUDA Runtime API, "Device Management".)
#include <cuda.h>

#include "../sim/run.h"

#include <functional>
#include <string>
#include <vector>

namespace {

using namespace heddle::sim::tests;

machine of_two(std::vector<std::string> settings = {}) {
  settings.emplace_back("fidelity=scoped");
  settings.emplace_back("driver.devices=2");
  return machine(settings);
}

void use(int device) { SIM_CHECK(cudaSetDevice(device) == cudaSuccess); }

template <typename T>
T* on_device(size_t count) {
  T* memory = nullptr;
  SIM_CHECK(cudaMalloc(&memory, count * sizeof(T)) == cudaSuccess);
  return memory;
}

__global__ void store(int* to, int value) { *to = value; }
__global__ void wait_for(const int* flag) {
  while (*static_cast<const volatile int*>(flag) == 0) __nanosleep(10);
}
__global__ void nothing() {}

TEST(cuda_devices, are_counted_and_chosen_and_others_are_refused) {
  const auto choose = [] {
    int count = 0;
    int current = 7;
    SIM_CHECK(cudaGetDeviceCount(&count) == cudaSuccess && count == 2);
    SIM_CHECK(cudaGetDeviceCount(nullptr) == cudaErrorInvalidValue && cudaGetDevice(nullptr) == cudaErrorInvalidValue);
    SIM_CHECK(cudaGetDevice(&current) == cudaSuccess && current == 0);
    use(1);
    SIM_CHECK(cudaSetDevice(2) == cudaErrorInvalidDevice && cudaSetDevice(-1) == cudaErrorInvalidDevice);
    SIM_CHECK(cudaGetDevice(&current) == cudaSuccess && current == 1);
  };
  EXPECT_TRUE(always(verdict::ok, of_two().run_many(choose, 5)));
  EXPECT_TRUE(always(verdict::ok, machine().run_many(
                                      [] {
                                        int count = 0;
                                        SIM_CHECK(cudaGetDeviceCount(&count) == cudaSuccess && count == 1);
                                        SIM_CHECK(cudaSetDevice(1) == cudaErrorInvalidDevice);
                                      },
                                      2)));
}

TEST(cuda_devices, each_has_memory_of_its_own) {
  const auto fill = [](int second) {
    return [second] {
      on_device<char>(4096);
      use(second);
      on_device<char>(4096);
    };
  };
  EXPECT_TRUE(always(verdict::ok, of_two({"driver.memory_kib=4"}).run_many(fill(1), 2)));
  EXPECT_TRUE(always(verdict::memory, of_two({"driver.memory_kib=4"}).run_many(fill(0), 2)));
}

// A program for one device, which knows of no other.
__global__ void square_each(const int* from, int* to) { to[blockIdx.x] = from[blockIdx.x] * from[blockIdx.x]; }
__global__ void add_up(const int* from, int* sum) { atomicAdd(sum, from[blockIdx.x]); }

constexpr int numbers = 6;

void square_on_the_device() {
  int here[numbers];
  for (int n = 0; n < numbers; ++n) here[n] = n + 1;
  int* const from = on_device<int>(numbers);
  int* const to = on_device<int>(numbers);
  SIM_CHECK(cudaMemcpy(from, here, sizeof here, cudaMemcpyHostToDevice) == cudaSuccess);
  square_each<<<numbers, 1>>>(from, to);
  SIM_CHECK(cudaMemcpy(here, to, sizeof here, cudaMemcpyDeviceToHost) == cudaSuccess);
  for (int n = 0; n < numbers; ++n) SIM_CHECK(here[n] == (n + 1) * (n + 1));
  SIM_CHECK(cudaFree(from) == cudaSuccess && cudaFree(to) == cudaSuccess);
}
void add_up_on_the_device() {
  int* const from = on_device<int>(numbers);
  int* const sum = on_device<int>(1);
  SIM_CHECK(cudaMemset(from, 0, numbers * sizeof(int)) == cudaSuccess &&
            cudaMemset(sum, 0, sizeof(int)) == cudaSuccess);
  add_up<<<numbers, 1>>>(from, sum);
  int here = 7;
  SIM_CHECK(cudaMemcpy(&here, sum, sizeof here, cudaMemcpyDeviceToHost) == cudaSuccess && here == 0);
}

TEST(cuda_unified_devices, run_a_program_for_one_as_it_is) {
  for (const char* const detail : {"driver.detail=call", "driver.detail=queue", "driver.detail=message"})
    for (const char* const unified : {"driver.unified=1", "driver.unified=2", "driver.unified=4"})
      for (const char* const split : {"driver.split=even", "driver.split=full", "driver.split=rest-last"})
        EXPECT_TRUE(always(verdict::ok, machine({detail, unified, split}).run_many(square_on_the_device, 20)))
            << detail << " " << unified << " " << split;
}

TEST(cuda_unified_devices, are_several_devices_to_what_has_the_scope_of_one) {
  EXPECT_TRUE(always(verdict::ok, machine({"fidelity=scoped"}).run_many(add_up_on_the_device, 50)));
  EXPECT_TRUE(sometimes(verdict::scope_race,
                        machine({"fidelity=scoped", "driver.unified=2"}).run_many(add_up_on_the_device, 50)));
}

TEST(cuda_devices, run_what_is_launched_while_they_are_chosen) {
  // One place each: the kernel that waits blocks no kernel of the other device, and all others on its own.
  const auto launch = [](int second) {
    return [second] {
      int* flag = nullptr;
      SIM_CHECK(cudaMallocHost(&flag, sizeof *flag) == cudaSuccess);
      *flag = 0;
      cudaStream_t first_stream = nullptr;
      cudaStream_t second_stream = nullptr;
      SIM_CHECK(cudaStreamCreateWithFlags(&first_stream, cudaStreamNonBlocking) == cudaSuccess);
      wait_for<<<1, 1, 0, first_stream>>>(flag);
      use(second);
      SIM_CHECK(cudaStreamCreateWithFlags(&second_stream, cudaStreamNonBlocking) == cudaSuccess);
      nothing<<<1, 1, 0, second_stream>>>();
      SIM_CHECK(cudaStreamSynchronize(second_stream) == cudaSuccess);
      *static_cast<volatile int*>(flag) = 1;
      use(0);
      SIM_CHECK(cudaDeviceSynchronize() == cudaSuccess);
    };
  };
  EXPECT_TRUE(always(verdict::ok, of_two({"resident=1", "places=kept"}).run_many(launch(1), 50)));
  EXPECT_TRUE(always(verdict::deadlock, of_two({"resident=1", "places=kept"}).run_many(launch(0), 5)));
}

TEST(cuda_devices, are_waited_for_one_by_one) {
  const auto synchronize = [](int waits_for) {
    return [waits_for] {
      int* flag = nullptr;
      SIM_CHECK(cudaMallocHost(&flag, sizeof *flag) == cudaSuccess);
      *flag = 0;
      use(1);
      wait_for<<<1, 1>>>(flag);
      use(waits_for);
      SIM_CHECK(cudaDeviceSynchronize() == cudaSuccess);
      *static_cast<volatile int*>(flag) = 1;
      use(1);
      SIM_CHECK(cudaDeviceSynchronize() == cudaSuccess);
    };
  };
  EXPECT_TRUE(always(verdict::ok, of_two().run_many(synchronize(0), 50)));
  EXPECT_TRUE(always(verdict::deadlock, of_two().run_many(synchronize(1), 5)));
}

TEST(cuda_devices, have_default_streams_of_their_own_with_blocking_streams_beside_them) {
  const auto launch = [](int device) {
    return [device] {
      int* word = on_device<int>(1);
      cudaStream_t blocking = nullptr;
      SIM_CHECK(cudaStreamCreate(&blocking) == cudaSuccess);
      store<<<1, 1, 0, blocking>>>(word, 1);
      use(device);
      store<<<1, 1>>>(word, 2);  // of the default stream of that device
      use(0);
      SIM_CHECK(cudaDeviceSynchronize() == cudaSuccess);
      use(1);
      SIM_CHECK(cudaDeviceSynchronize() == cudaSuccess);
      SIM_CHECK(*word == 2);
    };
  };
  EXPECT_TRUE(always(verdict::ok, of_two().run_many(launch(0), 100)));
  EXPECT_GT(of_two().run_many(launch(1), 100).count(verdict::race), 0U) << "nothing orders the two";
}

TEST(cuda_devices, refuse_streams_and_events_of_each_other) {
  const auto launch = [] {
    cudaStream_t stream = nullptr;
    SIM_CHECK(cudaStreamCreate(&stream) == cudaSuccess);
    use(1);
    nothing<<<1, 1, 0, stream>>>();
  };
  const tally seen = of_two().run_many(launch, 1);
  EXPECT_TRUE(always(verdict::assertion, seen));
  EXPECT_TRUE(says(seen.examples.at(verdict::assertion).message, "stream of another device"));
  const auto record = [] {
    cudaEvent_t event = nullptr;
    cudaStream_t stream = nullptr;
    SIM_CHECK(cudaEventCreate(&event) == cudaSuccess);
    use(1);
    SIM_CHECK(cudaStreamCreate(&stream) == cudaSuccess);
    SIM_CHECK(cudaEventRecord(event, stream) == cudaErrorInvalidResourceHandle);
    // A stream may wait for any event.
    use(0);
    SIM_CHECK(cudaEventRecord(event) == cudaSuccess && cudaStreamWaitEvent(stream, event) == cudaSuccess);
  };
  EXPECT_TRUE(always(verdict::ok, of_two().run_many(record, 5)));
}

// Memory of a device is reached by its own kernels and by copies; by another device once that was let to. (CUDA C++ Programming Guide,
// "Peer-to-Peer Memory Access".)
TEST(cuda_devices, reach_memory_of_others_once_they_are_let_to) {
  const auto store_from_0 = [](const std::function<void()>& let) {
    return [let] {
      use(1);
      int* const memory = on_device<int>(1);
      use(0);
      let();
      use(0);
      store<<<1, 1>>>(memory, 7);
      SIM_CHECK(cudaDeviceSynchronize() == cudaSuccess);
      int here = 0;
      SIM_CHECK(cudaMemcpy(&here, memory, sizeof here, cudaMemcpyDeviceToHost) == cudaSuccess && here == 7);
    };
  };
  const auto with = [](int device, int peer) {
    return [=] {
      use(device);
      SIM_CHECK(cudaDeviceEnablePeerAccess(peer, 0) == cudaSuccess);
    };
  };
  machine by_copies = of_two({"driver.reach=copies"});
  EXPECT_TRUE(always(verdict::ok, by_copies.run_many(store_from_0(with(0, 1)), 5)));
  const tally found = by_copies.run_many(store_from_0([] {}), 5);
  EXPECT_TRUE(always(verdict::memory, found));
  EXPECT_NE(found.text().find("memory of device 1, which device 0 was not let to reach; call "
                              "cudaDeviceEnablePeerAccess(1, 0) where device 0 is current"),
            std::string::npos)
      << found.text();
  EXPECT_TRUE(always(verdict::memory, by_copies.run_many(store_from_0(with(1, 0)), 5)));
  EXPECT_TRUE(always(verdict::ok, of_two({"driver.reach=all"}).run_many(store_from_0([] {}), 5)));
  const auto not_any_more = [&] {
    with(0, 1)();
    SIM_CHECK(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessAlreadyEnabled);
    SIM_CHECK(cudaDeviceDisablePeerAccess(1) == cudaSuccess);
    SIM_CHECK(cudaDeviceDisablePeerAccess(1) == cudaErrorPeerAccessNotEnabled);
  };
  EXPECT_TRUE(always(verdict::memory, by_copies.run_many(store_from_0(not_any_more), 5)));
  const auto by_driver = [] {
    CUcontext peer = nullptr, own = nullptr;
    SIM_CHECK(cuDevicePrimaryCtxRetain(&peer, 1) == CUDA_SUCCESS && cuCtxGetCurrent(&own) == CUDA_SUCCESS);
    SIM_CHECK(cuCtxEnablePeerAccess(own, 0) == CUDA_ERROR_INVALID_CONTEXT);
    SIM_CHECK(cuCtxEnablePeerAccess(peer, 0) == CUDA_SUCCESS);
    SIM_CHECK(cuCtxEnablePeerAccess(peer, 0) == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  };
  EXPECT_TRUE(always(verdict::ok, by_copies.run_many(store_from_0(by_driver), 5)));
  // What needs no leave.
  const auto copies = [] {
    int* const from = on_device<int>(1);
    store<<<1, 1>>>(from, 5);
    use(1);
    int* const to = on_device<int>(1);
    int* managed = nullptr;
    SIM_CHECK(cudaMemcpyPeer(to, 1, from, 0, sizeof(int)) == cudaSuccess);
    SIM_CHECK(cudaMallocManaged(&managed, sizeof *managed) == cudaSuccess);
    use(0);
    store<<<1, 1>>>(managed, 6);
    SIM_CHECK(cudaDeviceSynchronize() == cudaSuccess && *managed == 6);
    int value = 0;
    SIM_CHECK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrNativeAtomicSupported, 0, 1) == cudaSuccess &&
              value == 1);
    SIM_CHECK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0) == cudaErrorInvalidDevice);
    SIM_CHECK(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 0) == CUDA_SUCCESS);
    SIM_CHECK(value == 1);
  };
  EXPECT_TRUE(always(verdict::ok, by_copies.run_many(copies, 5)));
}

TEST(cuda_devices, are_chosen_by_each_thread_for_itself) {
  const auto choose = [] {
    heddle::sim::device on;
    use(1);
    auto other = on.spawn_host("other", [] {
      int current = 7;
      SIM_CHECK(cudaGetDevice(&current) == cudaSuccess && current == 0);
      use(0);
    });
    other.join();
    int current = 7;
    SIM_CHECK(cudaGetDevice(&current) == cudaSuccess && current == 1);
  };
  EXPECT_TRUE(always(verdict::ok, of_two().run_many(choose, 20)));
}

}  // namespace
