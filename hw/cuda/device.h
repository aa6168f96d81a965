// The host side of an NVIDIA GPU, over the CUDA runtime. For files that nvcc compiles.
#pragma once

#include <cuda_runtime.h>
#include <heddle/hw/cuda/target.h>
#include <heddle/hw/runtime_device.h>
#include <heddle/rpc/device.h>
#include <stdlib.h>

#include <string>
#include <utility>

namespace heddle::cuda {

namespace detail {

/// Runs the kernel in the first `lanes` lanes of each warp; the others leave at once and are in nobody's mask.
template <typename Kernel>
__global__ void run_lanes(uint32_t lanes, Kernel kernel) {
  if (target::lane_id() < lanes) kernel();
}

/// The calls that runtime_device makes, each with the name that a report gives it.
struct runtime {
  using stream = cudaStream_t;
  using event = cudaEvent_t;
  static constexpr cudaError_t success = cudaSuccess;
  static constexpr cudaError_t not_ready = cudaErrorNotReady;

  static error failed(cudaError_t status, const char* call, std::string subject) {
    // What a call has answered is no more the thread's last error, of which a later caller would wonder.
    (void)cudaGetLastError();
    return {call, std::move(subject), cudaGetErrorName(status), cudaGetErrorString(status)};
  }

  // -- devices --------------------------------------------------------------------------------------------------------------

  /// Before the program's first use of CUDA this has all kernels loaded with the context. A kernel that is loaded at its
  /// first launch may have to wait for the one that runs, which may be waiting for a request that this thread should
  /// serve. ("Lazy Loading", CUDA C++ Programming Guide.) Too late when the program has used CUDA before; launch() has a
  /// second answer.
  static constexpr const char* count_call = "cudaGetDeviceCount";
  static cudaError_t count(int* found) {
    setenv("CUDA_MODULE_LOADING", "EAGER", /*overwrite=*/0);
    return cudaGetDeviceCount(found);
  }

  /// Makes a device the calling thread's current one, until the end of the scope.
  static constexpr const char* select_call = "cudaSetDevice";
  class selected {
   public:
    explicit selected(int index) : status_(cudaGetDevice(&before_)) {
      if (status_ == cudaSuccess && before_ != index) {
        status_ = cudaSetDevice(index);
        changed_ = status_ == cudaSuccess;
      }
    }
    ~selected() {
      if (changed_) (void)cudaSetDevice(before_);
    }
    selected(const selected&) = delete;
    selected& operator=(const selected&) = delete;
    cudaError_t status() const { return status_; }

   private:
    int before_ = 0;
    cudaError_t status_;
    bool changed_ = false;
  };

  /// Makes the context of the current device now, not at the first launch.
  static cudaError_t start() { return cudaFree(nullptr); }
  static cudaError_t wave_lanes(uint32_t* lanes, int index) { return attribute(lanes, cudaDevAttrWarpSize, index); }
  static cudaError_t name(char* text, size_t bytes, int index) {
    cudaDeviceProp properties{};
    const cudaError_t status = cudaGetDeviceProperties(&properties, index);
    if (status == cudaSuccess) snprintf(text, bytes, "%s", properties.name);
    return status;
  }
  static cudaError_t driver_version(int* version) { return cudaDriverGetVersion(version); }

  // -- memory ---------------------------------------------------------------------------------------------------------------

  /// With unified addressing, which every 64-bit system has, both sides use the same pointer.
  static constexpr const char* allocate_shared_call = "cudaHostAlloc";
  static cudaError_t allocate_shared(void** memory, size_t bytes) {
    return cudaHostAlloc(memory, bytes, cudaHostAllocMapped | cudaHostAllocPortable);
  }
  static constexpr const char* allocate_device_call = "cudaMalloc";
  static cudaError_t allocate_device(void** memory, size_t bytes) { return cudaMalloc(memory, bytes); }

  static cudaError_t host_reaches_device_memory(bool* coherent, int index) {
    uint32_t direct = 0;
    uint32_t concurrent = 0;
    cudaError_t status = attribute(&direct, cudaDevAttrDirectManagedMemAccessFromHost, index);
    if (status == cudaSuccess) status = attribute(&concurrent, cudaDevAttrConcurrentManagedAccess, index);
    *coherent = direct != 0 && concurrent != 0;
    return status;
  }
  static constexpr const char* allocate_mapped_call = "cudaMallocManaged";
  static cudaError_t allocate_mapped(void** memory, size_t bytes, int index) {
    cudaError_t status = cudaMallocManaged(memory, bytes, cudaMemAttachGlobal);
    if (status != cudaSuccess) return status;
    status = advise(*memory, bytes, cudaMemAdviseSetPreferredLocation, index);
    // The host's mapping is made now, not at a fault of a server.
    if (status == cudaSuccess) status = advise(*memory, bytes, cudaMemAdviseSetAccessedBy, cudaCpuDeviceId);
    if (status != cudaSuccess) (void)cudaFree(*memory);
    return status;
  }

  static constexpr const char* free_shared_call = "cudaFreeHost";
  static cudaError_t free_shared(void* memory) { return cudaFreeHost(memory); }
  static constexpr const char* free_device_call = "cudaFree";
  static cudaError_t free_device(void* memory) { return cudaFree(memory); }

  static constexpr const char* clear_call = "cudaMemsetAsync";
  static cudaError_t clear(void* memory, size_t bytes, stream where) {
    return cudaMemsetAsync(memory, 0, bytes, where);
  }
  static constexpr const char* memory_call = "cudaMemGetInfo";
  /// Of the calling thread's current device.
  static cudaError_t memory(size_t* free_bytes, size_t* total_bytes) { return cudaMemGetInfo(free_bytes, total_bytes); }
  static constexpr const char* copy_call = "cudaMemcpyAsync";
  static cudaError_t copy(void* to, const void* from, size_t bytes, stream where) {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, where);
  }

  // -- launches -------------------------------------------------------------------------------------------------------------

  template <typename Kernel>
  static cudaError_t launch(launch_shape shape, uint32_t wave_lanes, Kernel& kernel, stream where) {
    // Loads the kernel, if it is not, while nothing has been started that could wait for us.
    cudaFuncAttributes attributes{};
    const cudaError_t loaded = cudaFuncGetAttributes(&attributes, run_lanes<Kernel>);
    if (loaded != cudaSuccess) return loaded;
    void* arguments[] = {&shape.lanes, &kernel};
    return cudaLaunchKernel(run_lanes<Kernel>, dim3(shape.blocks), dim3(shape.waves * wave_lanes), arguments, 0, where);
  }

  static constexpr const char* query_stream_call = "cudaStreamQuery";
  static cudaError_t query(stream which) { return cudaStreamQuery(which); }
  static constexpr const char* query_event_call = "cudaEventQuery";
  static cudaError_t query(event which) { return cudaEventQuery(which); }
  static constexpr const char* wait_for_stream_call = "cudaStreamSynchronize";
  static cudaError_t wait_for(stream which) { return cudaStreamSynchronize(which); }
  static constexpr const char* wait_for_event_call = "cudaEventSynchronize";
  static cudaError_t wait_for(event which) { return cudaEventSynchronize(which); }

  // -- streams and events ---------------------------------------------------------------------------------------------------

  /// Non-blocking: it does not wait for the default stream, which others in this program may use.
  static constexpr const char* create_stream_call = "cudaStreamCreateWithFlags";
  static cudaError_t create_stream(stream* made) { return cudaStreamCreateWithFlags(made, cudaStreamNonBlocking); }
  static constexpr const char* destroy_stream_call = "cudaStreamDestroy";
  static cudaError_t destroy_stream(stream which) { return cudaStreamDestroy(which); }
  /// Without times, which make recording and asking slower.
  static constexpr const char* create_event_call = "cudaEventCreateWithFlags";
  static cudaError_t create_event(event* made) { return cudaEventCreateWithFlags(made, cudaEventDisableTiming); }
  static constexpr const char* destroy_event_call = "cudaEventDestroy";
  static cudaError_t destroy_event(event which) { return cudaEventDestroy(which); }
  static constexpr const char* record_call = "cudaEventRecord";
  static cudaError_t record(event which, stream in) { return cudaEventRecord(which, in); }
  static constexpr const char* wait_in_call = "cudaStreamWaitEvent";
  static cudaError_t wait_in(stream later, event earlier) { return cudaStreamWaitEvent(later, earlier, 0); }

 private:
  static cudaError_t attribute(uint32_t* value, cudaDeviceAttr which, int index) {
    int found = 0;
    const cudaError_t status = cudaDeviceGetAttribute(&found, which, index);
    *value = static_cast<uint32_t>(found);
    return status;
  }

  /// `index` may be cudaCpuDeviceId.
  static cudaError_t advise(void* memory, size_t bytes, cudaMemoryAdvise advice, int index) {
#if CUDART_VERSION >= 13000
    cudaMemLocation where{};
    where.type = index == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    where.id = index == cudaCpuDeviceId ? 0 : index;
    return cudaMemAdvise(memory, bytes, advice, where);
#else
    return cudaMemAdvise(memory, bytes, advice, index);
#endif
  }
};

}  // namespace detail

using device = runtime_device<detail::runtime>;

}  // namespace heddle::cuda
