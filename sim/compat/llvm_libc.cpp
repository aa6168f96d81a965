// LLVM's libc for GPUs on the simulator: what kernels call of it, over the client that the host has copied to the device, and the server as
// <llvmlibc_rpc_server.h> has it. Comes into a program that names one of these.
#include <heddle/rpc/llvm/client.h>
#include <heddle/rpc/llvm/include/llvmlibc_rpc_server.h>
#include <heddle/rpc/llvm/service.h>
#include <heddle/sim/compat/libc_calls.h>
#include <heddle/sim/runtime/gpu_calls.h>
#include <heddle/sim/target.h>
#include <string.h>

#include <memory>
#include <utility>

namespace runtime = heddle::sim::runtime;

using heddle::rpc::llvm::opcode;
using heddle::sim::target;
using client = heddle::rpc::llvm::basic_client<target>;
using libc = heddle::rpc::llvm::basic_libc<const client>;

namespace heddle::sim::compat {

/// What the host copies to the device.
struct client_handle {
  void* shared;
  rpc::llvm::layout shape;
  uint32_t locks[rpc::llvm::max_ports / 32];

  client_handle() = default;
  client_handle(void* memory, const rpc::llvm::layout& of) : shared(memory), shape(of), locks{} {}
};

}  // namespace heddle::sim::compat

using heddle::sim::compat::client_handle;

namespace {

[[gnu::section("heddle_device")]] client_handle client_of_kernels = {};

// -- kernels -------------------------------------------------------------------------------------------------------------------------

/// The client of the lanes that stand here together. Inlined into each function of the C library, so that its lanes are those that call it.
[[gnu::always_inline]] inline client of_kernels() {
  if (target::lane_count() > client_of_kernels.shape.lanes)
    runtime::refuse_call("rpc_server_init", "lane_size is less than the lanes of a wave of the kernel that calls");
  return {client_of_kernels.shared, client_of_kernels.locks, client_of_kernels.shape};
}

// A pointer to a file is what LLVM's is: the number of a standard stream, or what fopen gave.
uint64_t number_of(const FILE* file) {
  if (file == stdin) return libc::in;
  if (file == stdout) return libc::out;
  if (file == stderr) return libc::err;
  return reinterpret_cast<uintptr_t>(file);
}

/// A call of one word each way.
template <opcode Opcode>
[[gnu::always_inline]] inline int64_t word(uint64_t first, uint64_t second = 0, uint64_t third = 0) {
  const client mine = of_kernels();
  return libc(mine).word<Opcode>(first, second, third);
}

/// The arguments of a format, each aligned to its size as the wire has them. Without a heap: its memory would be asked for by a call too.
class packed_arguments {
 public:
  packed_arguments(const char* format, va_list from) {
    va_list each;
    va_copy(each, from);
    heddle::rpc::llvm::for_each_slot(format, [&](const heddle::rpc::llvm::format_slot& slot) { take(slot, each); });
    va_end(each);
  }
  const void* data() const { return bytes_; }
  /// Whether there are more than a call may have.
  bool overflows() const { return overflows_; }

 private:
  void take(const heddle::rpc::llvm::format_slot& slot, va_list from) {
    uint64_t word = 0;
    if (slot.kind == heddle::rpc::print_kind::floating) {
      // long double is a double on a GPU.
      const double value = slot.is_long_double ? static_cast<double>(va_arg(from, long double)) : va_arg(from, double);
      memcpy(&word, &value, sizeof word);
    } else {
      word = slot.size_bytes == 8 ? va_arg(from, uint64_t) : va_arg(from, uint32_t);
    }
    const uint64_t at = heddle::rpc::llvm::slot_offset(used_, slot.size_bytes, false);
    overflows_ = overflows_ || at + slot.size_bytes > sizeof bytes_;
    if (overflows_) return;
    memcpy(bytes_ + at, &word, slot.size_bytes);
    used_ = at + slot.size_bytes;
  }

  unsigned char bytes_[512] = {};
  uint64_t used_ = 0;
  bool overflows_ = false;
};

}  // namespace

extern "C" {

[[gnu::section("heddle_device")]] void* __llvm_libc_rpc_client =
    &client_of_kernels;  // NOLINT(bugprone-reserved-identifier): LLVM's name

bool heddle_kernel_has_client() { return client_of_kernels.shared != nullptr; }

int heddle_kernel_puts(const char* text) {
  const client mine = of_kernels();
  const uint64_t size = strlen(text);
  return libc(mine).write<opcode::write_to_stdout_newline>(libc::out, text, size) == size + 1 ? 0 : EOF;
}
int heddle_kernel_fputs(const char* text, FILE* to) {
  const client mine = of_kernels();
  const uint64_t size = strlen(text);
  return libc(mine).write(number_of(to), text, size) == size ? 0 : EOF;
}
int heddle_kernel_fputc(int character, FILE* to) {
  const client mine = of_kernels();
  const auto byte = static_cast<unsigned char>(character);
  return libc(mine).write(number_of(to), &byte, 1) == 1 ? byte : EOF;
}
int heddle_kernel_fgetc(FILE* from) {
  const client mine = of_kernels();
  unsigned char byte = 0;
  return libc(mine).read(number_of(from), &byte, 1) == 1 ? byte : EOF;
}
char* heddle_kernel_fgets(char* line, int size, FILE* from) {
  const client mine = of_kernels();
  return size > 0 && libc(mine).gets(line, size, number_of(from)) ? line : nullptr;
}
int heddle_kernel_ungetc(int character, FILE* to) {
  return static_cast<int>(word<opcode::ungetc>(static_cast<uint64_t>(int64_t{character}), number_of(to)));
}
int heddle_kernel_vfprintf(FILE* to, const char* format, va_list from) {
  const packed_arguments arguments(format, from);
  if (arguments.overflows()) return -1;
  const client mine = of_kernels();
  return static_cast<int>(libc(mine).print<opcode::printf_to_stream>(number_of(to), format, arguments.data()));
}

FILE* heddle_kernel_fopen(const char* path, const char* mode) {
  const client mine = of_kernels();
  return reinterpret_cast<FILE*>(libc(mine).open(path, mode));
}
int heddle_kernel_fclose(FILE* file) { return static_cast<int>(word<opcode::close_file>(number_of(file))); }
size_t heddle_kernel_fwrite(const void* data, size_t size, size_t count, FILE* to) {
  if (size == 0 || count == 0 || count > SIZE_MAX / size) return 0;
  const client mine = of_kernels();
  return libc(mine).write(number_of(to), data, size * count) / size;
}
size_t heddle_kernel_fread(void* data, size_t size, size_t count, FILE* from) {
  if (size == 0 || count == 0 || count > SIZE_MAX / size) return 0;
  const client mine = of_kernels();
  return libc(mine).read(number_of(from), data, size * count) / size;
}
int heddle_kernel_fseek(FILE* file, long offset, int origin) {
  return static_cast<int>(
      word<opcode::fseek>(number_of(file), static_cast<uint64_t>(offset), static_cast<uint64_t>(int64_t{origin})));
}
long heddle_kernel_ftell(FILE* file) { return word<opcode::ftell>(number_of(file)); }
int heddle_kernel_fflush(FILE* file) { return static_cast<int>(word<opcode::fflush>(number_of(file))); }
int heddle_kernel_feof(FILE* file) { return static_cast<int>(word<opcode::feof>(number_of(file))); }
int heddle_kernel_ferror(FILE* file) { return static_cast<int>(word<opcode::ferror>(number_of(file))); }
void heddle_kernel_clearerr(FILE* file) { word<opcode::clearerr>(number_of(file)); }
int heddle_kernel_remove(const char* path) {
  const client mine = of_kernels();
  return static_cast<int>(libc(mine).text<opcode::remove>({path}));
}
int heddle_kernel_rename(const char* before, const char* after) {
  const client mine = of_kernels();
  return static_cast<int>(libc(mine).text<opcode::rename>({before, after}));
}

void* heddle_kernel_malloc(size_t size) { return reinterpret_cast<void*>(word<opcode::malloc>(size)); }
void heddle_kernel_free(void* memory) {
  const client mine = of_kernels();
  libc(mine).free(reinterpret_cast<uintptr_t>(memory));
}

/// LLVM's extension: has the host call `function` with a copy of `size` bytes of `data`.
unsigned long long rpc_host_call(void* function, void* data, size_t size) {
  if (!runtime::is_device()) runtime::refuse_call("rpc_host_call", "host code calls it; call the function itself");
  if (!heddle_kernel_has_client())
    runtime::refuse_call("rpc_host_call",
                         "the host has not copied rpc_get_client_buffer() to where "
                         "__llvm_libc_rpc_client points");
  const client mine = of_kernels();
  return libc(mine).call(reinterpret_cast<uintptr_t>(function), data, size);
}

}  // extern "C"

// -- the server ----------------------------------------------------------------------------------------------------------------------

struct heddle_simulated_c_machine {
  using target = heddle::sim::target;
  using handle = client_handle;
  static constexpr uint32_t ports_max = RPC_MAXIMUM_PORT_COUNT;

  /// Functions of the program alone.
  static void check_call(uint64_t function) {
    if (!runtime::is_function(reinterpret_cast<const void*>(function)))
      runtime::refuse_call("rpc_host_call", "what the kernel has sent is no function of the program");
  }
};
#define HEDDLE_RPC_C_MACHINE heddle_simulated_c_machine
#include <heddle/rpc/llvm/c_interface.h>
