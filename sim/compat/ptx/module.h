// What a file of PTX has: kernels, variables, memory of a block, parameters as bytes.
#pragma once

#include <heddle/sim/compat/ptx/types.h>
#include <heddle/sim/runtime/gpu_calls.h>
#include <stddef.h>
#include <stdint.h>

#include <initializer_list>
#include <string_view>
#include <vector>

namespace heddle::ptx {

// -- kernels and variables, by the names that the PTX has

struct parameter_place {
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

struct kernel {
  const char* name = nullptr;
  std::vector<parameter_place> parameters = {};
  sim::fiber_body body = {};
  sim::extent cluster = {};  ///< that it requires; of one block: that the launch gives
};
bool add_kernel(kernel added);
/// Null where no file has it.
const kernel* kernel_named(const char* name);
/// Takes a launch: gives it to its stream, or keeps it. `arguments` are copied.
using launch_taker = void (*)(const sim::grid_shape& shape, const sim::fiber_body& kernel, const void* arguments);
/// `arguments` holds the address of each. The blocks of a cooperative launch have memory by which they meet.
void launch(const kernel& of, const sim::grid_shape& shape, void* const* arguments, bool is_cooperative = false,
            launch_taker taker = sim::runtime::launch_grid);

struct device_variable {
  void* address = nullptr;
  size_t bytes = 0;
  bool is_constant = false;  ///< of the state space .const
};
/// True. `name` must stay.
bool know_variable(const char* name, void* address, size_t bytes, bool is_constant = false);
device_variable variable_named(const char* name);
// -- files that a program loads by itself. Their kernels and variables are known by "MODULE/NAME", where MODULE is hash_of() as 16 digits.

/// FNV-1a of 64 bits, of a file as far as its first zero where it is text (tools/ptx/translate.cpp has the same).
uint64_t hash_of(std::string_view image);
struct known_module {
  uint64_t hash = 0;
  uint32_t number = 0;
};
/// True.
bool know_module(uint64_t hash);
/// Null where the program was not built with it.
const known_module* module_of(std::string_view image);
/// False where it has been loaded in this run.
bool load(const known_module& module);
/// As kernel_named() and variable_named(), in a module.
const kernel* kernel_of(const known_module& module, const char* name);
device_variable variable_of(const known_module& module, const char* name);

/// A device function, whose address a pointer may hold. True.
bool know_function(const void* address);
/// Ends the run where no device function begins there.
void* function_at(uint64_t address);

template <size_t Bytes, void (*Kernel)(unsigned char*)>
bool know_kernel(const char* name, std::initializer_list<parameter_place> parameters, sim::extent cluster = {}) {
  return add_kernel({.name = name,
                     .parameters = parameters,
                     .body = {.size_bytes = Bytes,
                              .move_to = nullptr,
                              .invoke = [](void* bytes) { Kernel(static_cast<unsigned char*>(bytes)); }},
                     .cluster = cluster});
}

// -- shared memory: an address of it has the variable in its upper bits and the byte in it below, so that one variable does not run on
// into the next

inline constexpr uint32_t shared_offset_bits = 18;

struct shared_memory {
  shared_memory(const char* name, size_t bytes, size_t align);
  uint32_t address;
};
/// What a launch gives each block; all its names are the same memory.
struct dynamic_shared_memory {
  uint32_t address = uint32_t{1} << shared_offset_bits;
};

void* generic_of_shared(uint64_t address);
/// 0 where it is no shared memory of the lane's block.
uint64_t shared_of_generic(uint64_t address);
/// The same byte of the block of this number in the cluster. (PTX ISA, "mapa".)
uint64_t shared_of_cluster(uint64_t address, uint32_t rank);
enum class where_it_is : uint8_t {
  global,
  shared,
  cluster,
  local,
  constant
};  ///< cluster: shared memory of another block of it
where_it_is space_of(uint64_t address);

/// One of the sixteen barriers of the lane's block: its phase, counted from `none`, of which each byte is `fill`. Ends the run for a number beyond.
struct named_barrier {
  uint64_t* word = nullptr;
  uint64_t none = 0;
};
named_barrier barrier_of_block(uint32_t id);

// -- values as bytes of parameters

template <typename Word>
HEDDLE_PTX_INLINE Word from_bytes(const unsigned char* bytes) {
  Word value;
  __builtin_memcpy(&value, bytes, sizeof value);
  return value;
}
template <typename Word>
HEDDLE_PTX_INLINE void to_bytes(unsigned char* bytes, Word value) {
  __builtin_memcpy(bytes, &value, sizeof value);
}

// -- functions that every module knows

// Of stdio and stdlib, as nvcc declares them: results and arguments are bytes. (CUDA C++ Programming Guide, "Formatted Output".)
void device_vprintf(unsigned char* result, unsigned char* format, unsigned char* arguments);
void device_malloc(unsigned char* result, unsigned char* bytes);
void device_free(unsigned char* address);
void device___assertfail(unsigned char* message, unsigned char* file, unsigned char* line, unsigned char* function,
                         unsigned char* char_bytes);
/// Ends the run. Where the lane's last line says why, as those of heddle's own targets do ("heddle: protocol: ..."), for that reason.
void trap_behind_line();

}  // namespace heddle::ptx
