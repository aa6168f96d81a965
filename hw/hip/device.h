// The host side of an AMD GPU, over the HIP runtime. For files that hipcc compiles.
#pragma once

#include <heddle/hw/hip/target.h>
#include <heddle/hw/runtime_device.h>
#include <heddle/rpc/device.h>
#include <hip/hip_runtime.h>

#include <string>
#include <utility>

namespace heddle::hip {

namespace detail {

/// Runs the kernel in the first `lanes` lanes of each warp; the others leave at once and are in nobody's mask.
template <typename Kernel>
__global__ void run_lanes(uint32_t lanes, Kernel kernel) {
  if (target::lane_id() < lanes) kernel();
}

/// The calls that runtime_device makes, each with the name that a report gives it.
struct runtime {
  using stream = hipStream_t;
  using event = hipEvent_t;
  static constexpr hipError_t success = hipSuccess;
  static constexpr hipError_t not_ready = hipErrorNotReady;

  static error failed(hipError_t status, const char* call, std::string subject) {
    // What a call has answered is no more the thread's last error, of which a later caller would wonder.
    (void)hipGetLastError();
    return {call, std::move(subject), hipGetErrorName(status), hipGetErrorString(status)};
  }

  // -- devices --------------------------------------------------------------------------------------------------------------

  static constexpr const char* count_call = "hipGetDeviceCount";
  static hipError_t count(int* found) { return hipGetDeviceCount(found); }

  /// Makes a device the calling thread's current one, until the end of the scope.
  static constexpr const char* select_call = "hipSetDevice";
  class selected {
   public:
    explicit selected(int index) : status_(hipGetDevice(&before_)) {
      if (status_ == hipSuccess && before_ != index) {
        status_ = hipSetDevice(index);
        changed_ = status_ == hipSuccess;
      }
    }
    ~selected() {
      if (changed_) (void)hipSetDevice(before_);
    }
    selected(const selected&) = delete;
    selected& operator=(const selected&) = delete;
    hipError_t status() const { return status_; }

   private:
    int before_ = 0;
    hipError_t status_;
    bool changed_ = false;
  };

  /// Makes the context of the current device now. HIP may load a kernel at its first launch, which would then wait for the
  /// one that runs; launch() sees to that.
  static hipError_t start() { return hipFree(nullptr); }
  static hipError_t wave_lanes(uint32_t* lanes, int index) {
    return attribute(lanes, hipDeviceAttributeWarpSize, index);
  }
  static hipError_t name(char* text, size_t bytes, int index) {
    hipDeviceProp_t properties{};
    const hipError_t status = hipGetDeviceProperties(&properties, index);
    if (status == hipSuccess) snprintf(text, bytes, "%s", properties.name);
    return status;
  }
  static hipError_t driver_version(int* version) { return hipDriverGetVersion(version); }

  // -- memory ---------------------------------------------------------------------------------------------------------------

  /// Coherent memory is what HIP calls memory that the GPU does not cache: a store of either side reaches the other
  /// while the kernel runs. Both sides use the same pointer.
  static constexpr const char* allocate_shared_call = "hipHostMalloc";
  static hipError_t allocate_shared(void** memory, size_t bytes) {
    return hipHostMalloc(memory, bytes, hipHostMallocMapped | hipHostMallocPortable | hipHostMallocCoherent);
  }
  static constexpr const char* allocate_device_call = "hipMalloc";
  static hipError_t allocate_device(void** memory, size_t bytes) { return hipMalloc(memory, bytes); }

  static hipError_t host_reaches_device_memory(bool* coherent, int index) {
    uint32_t direct = 0;
    uint32_t concurrent = 0;
    hipError_t status = attribute(&direct, hipDeviceAttributeDirectManagedMemAccessFromHost, index);
    if (status == hipSuccess) status = attribute(&concurrent, hipDeviceAttributeConcurrentManagedAccess, index);
    *coherent = direct != 0 && concurrent != 0;
    return status;
  }
  static constexpr const char* allocate_mapped_call = "hipMallocManaged";
  static hipError_t allocate_mapped(void** memory, size_t bytes, int index) {
    hipError_t status = hipMallocManaged(memory, bytes, hipMemAttachGlobal);
    if (status != hipSuccess) return status;
    status = advise(*memory, bytes, hipMemAdviseSetPreferredLocation, index);
    // The host's mapping is made now, not at a fault of a server.
    if (status == hipSuccess) status = advise(*memory, bytes, hipMemAdviseSetAccessedBy, hipCpuDeviceId);
    if (status != hipSuccess) (void)hipFree(*memory);
    return status;
  }

  static constexpr const char* free_shared_call = "hipHostFree";
  static hipError_t free_shared(void* memory) { return hipHostFree(memory); }
  static constexpr const char* free_device_call = "hipFree";
  static hipError_t free_device(void* memory) { return hipFree(memory); }

  static constexpr const char* clear_call = "hipMemsetAsync";
  static hipError_t clear(void* memory, size_t bytes, stream where) { return hipMemsetAsync(memory, 0, bytes, where); }
  static constexpr const char* memory_call = "hipMemGetInfo";
  /// Of the calling thread's current device.
  static hipError_t memory(size_t* free_bytes, size_t* total_bytes) { return hipMemGetInfo(free_bytes, total_bytes); }
  static constexpr const char* copy_call = "hipMemcpyAsync";
  static hipError_t copy(void* to, const void* from, size_t bytes, stream where) {
    return hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, where);
  }

  // -- launches -------------------------------------------------------------------------------------------------------------

  template <typename Kernel>
  static hipError_t launch(launch_shape shape, uint32_t wave_lanes, Kernel& kernel, stream where) {
    // Loads the kernel, if it is not, while nothing has been started that could wait for us.
    hipFuncAttributes attributes{};
    const void* const entry = reinterpret_cast<const void*>(&run_lanes<Kernel>);
    const hipError_t loaded = hipFuncGetAttributes(&attributes, entry);
    if (loaded != hipSuccess) return loaded;
    void* arguments[] = {&shape.lanes, &kernel};
    return hipLaunchKernel(entry, dim3(shape.blocks), dim3(shape.waves * wave_lanes), arguments, 0, where);
  }

  static constexpr const char* query_stream_call = "hipStreamQuery";
  static hipError_t query(stream which) { return hipStreamQuery(which); }
  static constexpr const char* query_event_call = "hipEventQuery";
  static hipError_t query(event which) { return hipEventQuery(which); }
  static constexpr const char* wait_for_stream_call = "hipStreamSynchronize";
  static hipError_t wait_for(stream which) { return hipStreamSynchronize(which); }
  static constexpr const char* wait_for_event_call = "hipEventSynchronize";
  static hipError_t wait_for(event which) { return hipEventSynchronize(which); }

  // -- streams and events ---------------------------------------------------------------------------------------------------

  /// Non-blocking: it does not wait for the default stream, which others in this program may use.
  static constexpr const char* create_stream_call = "hipStreamCreateWithFlags";
  static hipError_t create_stream(stream* made) { return hipStreamCreateWithFlags(made, hipStreamNonBlocking); }
  static constexpr const char* destroy_stream_call = "hipStreamDestroy";
  static hipError_t destroy_stream(stream which) { return hipStreamDestroy(which); }
  /// Without times, which make recording and asking slower.
  static constexpr const char* create_event_call = "hipEventCreateWithFlags";
  static hipError_t create_event(event* made) { return hipEventCreateWithFlags(made, hipEventDisableTiming); }
  static constexpr const char* destroy_event_call = "hipEventDestroy";
  static hipError_t destroy_event(event which) { return hipEventDestroy(which); }
  static constexpr const char* record_call = "hipEventRecord";
  static hipError_t record(event which, stream in) { return hipEventRecord(which, in); }
  static constexpr const char* wait_in_call = "hipStreamWaitEvent";
  static hipError_t wait_in(stream later, event earlier) { return hipStreamWaitEvent(later, earlier, 0); }

 private:
  static hipError_t attribute(uint32_t* value, hipDeviceAttribute_t which, int index) {
    int found = 0;
    const hipError_t status = hipDeviceGetAttribute(&found, which, index);
    *value = static_cast<uint32_t>(found);
    return status;
  }

  /// `index` may be hipCpuDeviceId.
  static hipError_t advise(void* memory, size_t bytes, hipMemoryAdvise advice, int index) {
    return hipMemAdvise(memory, bytes, advice, index);
  }
};

}  // namespace detail

using device = runtime_device<detail::runtime>;

}  // namespace heddle::hip
