// What CUDA and HIP have in common in a launch: its shape, the kernel with its arguments, and where a thread stands in it.
//
// Reached through cuda.h and hip.h. What is spelled as there stands in the global namespace, as there.
#pragma once

#include <heddle/sim/compat/graphs.h>
#include <heddle/sim/runtime/gpu_calls.h>

#include <stddef.h>
#include <stdint.h>

#include <type_traits>
#include <utility>

#ifndef HEDDLE_COMPAT_WAVE_LANES
#error \
    "compile this file through heddle_simulate_cuda() or heddle_simulate_hip() of heddle's CMake package (docs/existing-code.md)"
#endif

// Always inlined: which lanes stand together is told by the place that calls.
#define HEDDLE_COMPAT_INLINE [[gnu::always_inline]] inline

struct uint3 {
  unsigned int x, y, z;
};

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int wide = 1, unsigned int high = 1, unsigned int deep = 1) : x(wide), y(high), z(deep) {}
  constexpr dim3(uint3 from) : x(from.x), y(from.y), z(from.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

namespace heddle::compat {

// Where the blocks of a cooperative launch meet (launch.cpp): memory that the launch allocates, whose address the lanes of each block keep.
void* make_meeting_place();
void keep_meeting_place(void* words);
/// Ends the run where the kernel was not launched so that its blocks can meet.
uint64_t* meeting_place();

constexpr sim::extent extent_of(dim3 size) { return {size.x, size.y, size.z}; }
constexpr uint3 indices(sim::extent at) { return {at.x, at.y, at.z}; }

/// kernel<<<...>>> of a kernel that is declared so.
inline sim::grid_shape in_clusters(const dim3& declared, sim::grid_shape shape) {
  shape.cluster = extent_of(declared);
  return shape;
}
/// At the begin of a kernel that is declared so.
HEDDLE_COMPAT_INLINE void check_clusters(const dim3& declared) {
  const sim::extent here = sim::runtime::position().cluster_size;
  if (here.x != declared.x || here.y != declared.y || here.z != declared.z)
    sim::runtime::trap(
        fault::assertion,
        "a kernel that is declared with clusters was launched without them: name them in an attribute of "
        "cudaLaunchKernelEx");
}

/// The same: on a GPU such a launch is an error, and the kernel does not run.
template <typename Most, typename... Others>
HEDDLE_COMPAT_INLINE void check_launch_bounds(Most most_threads, Others...) {
  if (sim::runtime::position().block_size.count() > static_cast<uint64_t>(most_threads)) [[unlikely]]
    sim::runtime::trap(fault::assertion,
                       "a launch with more threads in a block than the kernel's __launch_bounds__ have");
}

// A stream is a number in the simulator, and a pointer in CUDA and HIP, where the first few stand for streams that are there without being created.
inline constexpr uintptr_t stream_handles = 16;
inline void* stream_handle(uint32_t number) { return reinterpret_cast<void*>(number + stream_handles); }
/// The default stream of the calling thread and its device, made when it is first used: what is blocking waits for it, and it for that.
/// (CUDA Runtime API, "Stream synchronization behavior".)
inline uint32_t stream_of_thread() {
  static constexpr char key = 0;
  const uint32_t device = sim::runtime::current_device();
  auto* const behind_it =
      static_cast<uint32_t*>(sim::runtime::memory_of_lane(&key, sim::runtime::device_count() * sizeof(uint32_t)));
  if (behind_it[device] == 0) behind_it[device] = sim::runtime::create_stream(true, device) + 1;
  return behind_it[device] - 1;
}
/// 1 is the default stream of the thread's device, and 2 that of the thread itself; null the one or the other, as the program is compiled.
inline uint32_t stream_number(const void* handle) {
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
  constexpr uintptr_t unsaid = 2;
#else
  constexpr uintptr_t unsaid = 1;
#endif
  auto value = reinterpret_cast<uintptr_t>(handle);
  if (value == 0) value = unsaid;
  if (value == 1) return sim::runtime::default_stream_of(sim::runtime::current_device());
  if (value < stream_handles) return stream_of_thread();
  return static_cast<uint32_t>(value - stream_handles);
}

/// The most dynamic shared memory that any kernel of this run has been allowed.
void allow_shared_bytes(int bytes);
/// Ends the run where no device takes such a launch. `usual_shared_bytes`: what a block may have without being asked to.
void check_launch(const sim::extent& grid, const sim::extent& block, size_t shared_bytes, size_t usual_shared_bytes);
/// The same of a cooperative launch, whose blocks all need a place at once.
void check_meeting(const sim::grid_shape& how);

/// What stands between <<< and >>>.
/// Inlined: each file has its own, as a wave of its device has 32 lanes or 64. AMD's blocks may have 64 KiB, and need not be asked for that.
[[gnu::always_inline]] inline sim::grid_shape shape(dim3 grid, dim3 block, size_t shared_bytes = 0,
                                                    const void* stream = nullptr) {
  check_launch(extent_of(grid), extent_of(block), shared_bytes,
               HEDDLE_COMPAT_WAVE_LANES == 64 ? size_t{64} << 10 : size_t{48} << 10);
  if (sim::runtime::device_of_stream(stream_number(stream)) != sim::runtime::current_device())
    sim::runtime::trap(fault::assertion, "a launch in a stream of another device than the thread's current one");
  return {.grid = extent_of(grid),
          .block = extent_of(block),
          .wave_lanes = HEDDLE_COMPAT_WAVE_LANES,
          .shared_bytes = shared_bytes,
          .stream = stream_number(stream)};
}

/// A launch, unless it is kept as captures() says.
inline void launch_or_keep(const sim::grid_shape& how, const sim::fiber_body& body, const void* bytes) {
  if (!captures(how.stream, {.kind = node_kind::launch, .shape = how, .body = &body, .bytes = bytes}))
    sim::runtime::launch_grid(how, body, bytes);
}

/// Runs `body` once for each thread. It travels to the device byte by byte, whatever constructors its parts have, and is destroyed by its
/// owner alone. (CUDA C++ Programming Guide, "__global__ Function Argument Processing".)
template <typename Body>
void launch_body(const Body& body, const sim::grid_shape& how) {
  static constexpr sim::fiber_body runs = {
      .size_bytes = sizeof(Body),
      .move_to = nullptr,
      .invoke = [](void* self) { (*static_cast<Body*>(self))(); },
  };
  launch_or_keep(how, runs, &body);
}

/// A body whose blocks meet: each has the address of the words by which they do.
template <typename Body>
struct meeting_body {
  Body body;
  void* words;
  void operator()() {
    keep_meeting_place(words);
    body();
  }
};

/// kernel<<<...>>>(arguments): `kernel` is what calls it.
template <typename Kernel, typename... Arguments>
void launch(Kernel kernel, const sim::grid_shape& how, Arguments... arguments) {
  static_assert((std::is_constructible_v<Arguments, Arguments&> && ...), "an argument of a kernel is copied");
  launch_body([kernel, arguments...]() mutable { kernel(arguments...); }, how);
}

/// Where an argument is a list in braces, of the parameter's type.
template <typename... Parameters>
void launch_of(void (*kernel)(Parameters...), const sim::grid_shape& how,
               std::type_identity_t<Parameters>... arguments) {
  launch(kernel, how, arguments...);
}

template <typename Kernel, typename... Arguments>
void launch_cooperatively(bool is_cooperative, Kernel kernel, const sim::grid_shape& how, Arguments... arguments) {
  auto body = [kernel, arguments...]() mutable { kernel(arguments...); };
  if (!is_cooperative) return launch_body(body, how);
  check_meeting(how);
  sim::grid_shape shape = how;
  shape.cooperative = true;
  launch_body(meeting_body<decltype(body)>{body, make_meeting_place()}, shape);
}

/// A kernel whose arguments are given by their addresses.
template <typename... Parameters>
void launch_with_addresses(void (*kernel)(Parameters...), const sim::grid_shape& how, void** addresses,
                           bool is_cooperative = false) {
  [&]<size_t... N>(std::index_sequence<N...>) {
    launch_cooperatively(is_cooperative, kernel, how, *static_cast<std::remove_cv_t<Parameters>*>(addresses[N])...);
  }(std::index_sequence_for<Parameters...>());
}

/// As cuLaunchKernel has them: where each lies, or all of them in a buffer, each at the next multiple of its alignment.
template <typename... Parameters>
void launch_with_arguments(void (*kernel)(Parameters...), const sim::grid_shape& how,
                           const sim::runtime::kernel_arguments& given) {
  if (given.buffer == nullptr) return launch_with_addresses(kernel, how, given.addresses, given.cooperative);
  constexpr size_t count = sizeof...(Parameters);
  constexpr size_t sizes[count + 1] = {sizeof(Parameters)...};
  constexpr size_t alignments[count + 1] = {alignof(Parameters)...};
  void* addresses[count + 1] = {};
  size_t end = 0;
  for (size_t n = 0; n < count; ++n) {
    const size_t at = (end + alignments[n] - 1) / alignments[n] * alignments[n];
    addresses[n] = static_cast<char*>(given.buffer) + at;
    end = at + sizes[n];
  }
  if (given.buffer_bytes < end)
    return sim::runtime::trap(fault::assertion, "a launch whose buffer is smaller than the arguments of its kernel");
  launch_with_addresses(kernel, how, addresses, given.cooperative);
}

/// Called for each kernel that is no template, before main(): cudaLaunchKernel may be given nothing but its address.
template <typename... Parameters>
void know_kernel(void (*kernel)(Parameters...), const sim::extent& cluster = {}) {
  sim::runtime::know_kernel(
      reinterpret_cast<const void*>(kernel),
      [](const void* address, const sim::grid_shape& how, const sim::runtime::kernel_arguments& given) {
        launch_with_arguments(reinterpret_cast<void (*)(Parameters...)>(const_cast<void*>(address)), how, given);
      },
      cluster);
}

inline void launch_by_address(const void* kernel, const sim::grid_shape& how,
                              const sim::runtime::kernel_arguments& given) {
  const sim::runtime::launcher known = sim::runtime::launcher_of(kernel);
  if (known == nullptr)
    return sim::runtime::trap(fault::assertion,
                              "a launch of a pointer that is no kernel; of a kernel that is a template, pass the "
                              "kernel itself and not a void*");
  sim::grid_shape shape = how;
  sim::runtime::take_clusters(shape, sim::runtime::clusters_of(kernel));
  known(kernel, shape, given);
}

/// The block's copy of a `__shared__` variable of this type; `place` tells it from others.
template <typename T>
T& shared_variable(const char& place, const char* name) {
  static_assert(std::is_trivially_destructible_v<std::remove_all_extents_t<T>>,
                "a __shared__ variable has no destructor");
  return *static_cast<T*>(sim::runtime::shared_variable(&place, sizeof(T), name));
}

template <typename Array>
std::remove_extent_t<Array>* dynamic_shared() {
  return static_cast<std::remove_extent_t<Array>*>(sim::runtime::dynamic_shared());
}

/// Dynamic shared memory that is declared outside of functions: a pointer that is asked for at each use.
template <typename Array>
class dynamic_shared_array {
  using element = std::remove_extent_t<Array>;

 public:
  operator element*() const { return static_cast<element*>(sim::runtime::dynamic_shared()); }
  template <typename Other>
  explicit operator Other*() const {
    return static_cast<Other*>(sim::runtime::dynamic_shared());
  }
};

/// A `__shared__` variable that is declared outside of functions: each use asks for the block's own. The rewriter has uses as `value_of(name)`, but for
/// those that look like declarations: they convert.
template <typename T>
class block_variable {
 public:
  constexpr explicit block_variable(const char* name) : name_(name) {}
  operator T&() const { return shared_variable<T>(*reinterpret_cast<const char*>(this), name_); }
  T* operator&() const { return &static_cast<T&>(*this); }

 private:
  const char* name_;
};
template <typename T>
HEDDLE_COMPAT_INLINE T& value_of(const block_variable<T>& of) {
  return of;
}

/// threadIdx.x of a threadIdx that a template was given as it is.
template <sim::extent sim::grid_position::* Member, unsigned int uint3::* Axis>
struct grid_axis {
  HEDDLE_COMPAT_INLINE operator unsigned int() const { return indices(sim::runtime::position().*Member).*Axis; }
};
/// threadIdx and the like, which the rewriter has as `value_of(threadIdx).x` where a member is asked for, and as its value where another variable gets
/// that. A program may call its own variables so.
template <sim::extent sim::grid_position::* Member, typename Value>
struct grid_variable {
  grid_axis<Member, &uint3::x> x;
  grid_axis<Member, &uint3::y> y;
  grid_axis<Member, &uint3::z> z;
  HEDDLE_COMPAT_INLINE operator Value() const { return indices(sim::runtime::position().*Member); }
  template <typename Other>
    requires std::is_same_v<Other, dim3> && (!std::is_same_v<Value, dim3>)
  HEDDLE_COMPAT_INLINE operator Other() const {
    return dim3(indices(sim::runtime::position().*Member));
  }
};
template <sim::extent sim::grid_position::* Member, typename Value>
HEDDLE_COMPAT_INLINE Value value_of(const grid_variable<Member, Value>& of) {
  return of;
}
template <typename T>
HEDDLE_COMPAT_INLINE T&& value_of(T&& of) {
  return static_cast<T&&>(of);
}

}  // namespace heddle::compat

inline constexpr heddle::compat::grid_variable<&heddle::sim::grid_position::thread, uint3> threadIdx{};
inline constexpr heddle::compat::grid_variable<&heddle::sim::grid_position::block, uint3> blockIdx{};
inline constexpr heddle::compat::grid_variable<&heddle::sim::grid_position::block_size, dim3> blockDim{};
inline constexpr heddle::compat::grid_variable<&heddle::sim::grid_position::grid_size, dim3> gridDim{};
inline constexpr int warpSize = HEDDLE_COMPAT_WAVE_LANES;

#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))

// Accesses to what is declared volatile, in a source for GPUs: they are told apart from those of other C++, where they are plain.
// The compiler calls the names of ThreadSanitizer: here these stand for the simulator's (runtime/instrumentation.cpp).
#define HEDDLE_COMPAT_VOLATILE(size)                                             \
  __asm__(".set __tsan_volatile_read" #size ", heddle_gpu_volatile_read" #size); \
  __asm__(".set __tsan_volatile_write" #size ", heddle_gpu_volatile_write" #size)
HEDDLE_COMPAT_VOLATILE(1);
HEDDLE_COMPAT_VOLATILE(2);
HEDDLE_COMPAT_VOLATILE(4);
HEDDLE_COMPAT_VOLATILE(8);
#undef HEDDLE_COMPAT_VOLATILE
