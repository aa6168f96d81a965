// What tests of LLVM's wire have in common: our own client of it, variadic arguments, and LLVM's header where it is there.
#pragma once

#include <heddle/rpc/llvm/client.h>
#include <string.h>

namespace heddle::rpc::llvm::tests {

template <typename Target>
using own_client = basic_client<Target>;
template <typename Client>
using libc = basic_libc<Client>;

/// The arguments of a variadic call as clang puts them into memory, each aligned to its size or, packed, to nothing.
class variadic {
 public:
  template <typename... Values>
  explicit variadic(bool packed, Values... values) : packed_(packed) {
    (add(values), ...);
  }
  operator const void*() const { return bytes_; }

 private:
  template <typename T>
  void add(T value) {
    static_assert(sizeof value == 4 || sizeof value == 8, "smaller ones are promoted");
    if (!packed_) used_ = (used_ + sizeof value - 1) / sizeof value * sizeof value;
    memcpy(bytes_ + used_, &value, sizeof value);
    used_ += sizeof value;
  }
  unsigned char bytes_[256] = {};
  size_t used_ = 0;
  bool packed_;
};

}  // namespace heddle::rpc::llvm::tests

#if defined(LLVM_RPC_HEADER) && defined(LLVM_RPC_HEADER_OF_A_GPU)
// LLVM's header as clang compiles it for a GPU, as rpc_gpu. It asks for builtins that g++ has not; the simulator's words for them are macros.
#include <heddle/sim/compat/clang_gpu.h>
// There is no other way to have no warning of the next line.
#pragma GCC system_header
#undef __has_builtin
#define __has_builtin(x) THERE_IS_##x
#define THERE_IS___scoped_atomic_load_n 1
#define THERE_IS___scoped_atomic_thread_fence 1
#define __NVPTX__ 1
#define rpc rpc_gpu
#include "rpc.h"
#undef rpc
#undef __NVPTX__
#endif
