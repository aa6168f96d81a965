// LLVM's libc for GPUs on the simulator: what kernels call of it, over the client that the host has copied to the device, and the server as
// <llvmlibc_rpc_server.h> has it. Comes into a program that names one of these.
#include <heddle/rpc/llvm/client.h>
#include <heddle/rpc/llvm/service.h>
#include <heddle/sim/compat/libc_calls.h>
#include <heddle/sim/runtime/gpu_calls.h>
#include <heddle/sim/target.h>
#include <llvmlibc_rpc_server.h>
#include <string.h>

#include <memory>
#include <utility>

namespace runtime = heddle::sim::runtime;

using heddle::rpc::llvm::opcode;
using heddle::sim::target;
using client = heddle::rpc::llvm::basic_client<target>;
using libc = heddle::rpc::llvm::basic_libc<const client>;

namespace {

/// What the host copies to the device.
struct client_handle {
  void* shared;
  heddle::rpc::llvm::layout shape;
  uint32_t locks[heddle::rpc::llvm::max_ports / 32];
};

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

namespace {

using dispatcher = heddle::rpc::llvm::basic_dispatcher<target>;
using port = dispatcher::port;
using heddle::rpc::llvm::packet;

/// What LLVM's server lets a kernel do: any file of the program's user.
heddle::rpc::service_limits limits_of_llvm() {
  heddle::rpc::service_limits limits;
  limits.files = heddle::rpc::file_access::everywhere;
  // In a run these two are the run's end.
  limits.on_exit = [](int32_t code) { exit(code); };
  limits.on_abort = [](const std::string&) { abort(); };
  return limits;
}

class c_server {
 public:
  c_server(void* shared, heddle::rpc::llvm::layout shape)
      : client_{shared, shape, {}},
        own_(heddle::rpc::llvm::server_end<target>::own_words(shape.ports)),
        calls_(limits_of_llvm(), {}, nullptr, 0),
        ports_({shared, own_.data(), shape}, {}) {
    // LLVM leaves these to the runtime, which knows how its device allocates.
    calls_.set(static_cast<uint32_t>(opcode::malloc), [this](port& at) {
      at.recv([](const packet&, uint32_t) {});
      at.send([](packet& to, uint32_t) { to = {}; });
      unhandled_ = true;
    });
    calls_.set(static_cast<uint32_t>(opcode::free), [this](port& at) {
      at.recv([](const packet&, uint32_t) {});
      unhandled_ = true;
    });
    calls_.set(static_cast<uint32_t>(opcode::host_call), [this](port& at) { call(at); });
  }

  rpc_status_t serve() {
    for (uint32_t n = 0; n < client_.shape.ports; ++n) {
      heddle::rpc::requested_end end;
      bool handled = true;
      {
        port opened = ports_.try_open();
        if (!opened) break;
        handled = calls_.serve(opened, *lanes_, end);
      }
      calls_.finish(end);
      if (!handled || std::exchange(unhandled_, false)) return RPC_STATUS_UNHANDLED_OPCODE;
    }
    return RPC_STATUS_SUCCESS;
  }

  dispatcher& calls() { return calls_; }
  const client_handle& handle() const { return client_; }

 private:
  /// Functions of the program alone: what is sent is looked up before it is called.
  void call(port& at) {
    heddle::rpc::llvm::room& lanes = *lanes_;
    for (heddle::rpc::llvm::lane_room& lane : lanes) lane.first.clear();
    at.recv_n([&](uint32_t lane, uint64_t, const unsigned char* data, uint64_t bytes) {
      lanes[lane].first.insert(lanes[lane].first.end(), data, data + bytes);
    });
    at.recv([&](const packet& from, uint32_t lane) {
      const auto* const function = reinterpret_cast<const void*>(from.words[0]);
      if (!runtime::is_function(function))
        runtime::refuse_call("rpc_host_call", "what the kernel has sent is no function of the program");
      using host_function = unsigned long long (*)(void*);
      lanes[lane].result = reinterpret_cast<host_function>(from.words[0])(lanes[lane].first.data());
    });
    at.send([&](packet& to, uint32_t lane) { to.words[0] = lanes[lane].result; });
  }

  client_handle client_;
  std::vector<uint32_t> own_;
  dispatcher calls_;
  heddle::rpc::llvm::basic_server<target> ports_;
  std::unique_ptr<heddle::rpc::llvm::room> lanes_ = std::make_unique<heddle::rpc::llvm::room>();
  bool unhandled_ = false;
};

c_server* server_of(rpc_device_t device) { return reinterpret_cast<c_server*>(device.handle); }
port& port_of(rpc_port_t at) { return *reinterpret_cast<port*>(at.handle); }

}  // namespace

extern "C" {

rpc_status_t rpc_server_init(rpc_device_t* rpc_device, uint64_t num_ports, uint32_t lane_size, rpc_alloc_ty alloc,
                             void* data) {
  if (rpc_device == nullptr || alloc == nullptr || num_ports == 0 || num_ports > RPC_MAXIMUM_PORT_COUNT)
    return RPC_STATUS_ERROR;
  if (lane_size != 1 && lane_size != 32 && lane_size != 64) return RPC_STATUS_INVALID_LANE_SIZE;
  const heddle::rpc::llvm::layout shape{static_cast<uint32_t>(num_ports), lane_size};
  void* const shared = alloc(shape.size_bytes(), data);
  if (shared == nullptr) return RPC_STATUS_ERROR;
  memset(shared, 0, shape.size_bytes());
  rpc_device->handle = reinterpret_cast<uintptr_t>(new c_server(shared, shape));
  return RPC_STATUS_SUCCESS;
}

rpc_status_t rpc_server_shutdown(rpc_device_t rpc_device, rpc_free_ty dealloc, void* data) {
  c_server* const server = server_of(rpc_device);
  if (server == nullptr || dealloc == nullptr) return RPC_STATUS_ERROR;
  dealloc(server->handle().shared, data);
  delete server;
  return RPC_STATUS_SUCCESS;
}

rpc_status_t rpc_handle_server(rpc_device_t rpc_device) {
  c_server* const server = server_of(rpc_device);
  return server == nullptr ? RPC_STATUS_ERROR : server->serve();
}

rpc_status_t rpc_register_callback(rpc_device_t rpc_device, uint32_t opcode, rpc_opcode_callback_ty callback,
                                   void* data) {
  c_server* const server = server_of(rpc_device);
  if (server == nullptr || callback == nullptr) return RPC_STATUS_ERROR;
  const uint32_t lanes = server->handle().shape.lanes;
  server->calls().set(opcode,
                      [callback, data, lanes](port& at) { callback({reinterpret_cast<uintptr_t>(&at), lanes}, data); });
  return RPC_STATUS_SUCCESS;
}

const void* rpc_get_client_buffer(rpc_device_t device) {
  return device.handle == 0 ? nullptr : &server_of(device)->handle();
}
uint64_t rpc_get_client_size() { return sizeof(client_handle); }

void rpc_send(rpc_port_t at, rpc_port_callback_ty callback, void* data) {
  port_of(at).send([&](packet& to, uint32_t) {
    rpc_buffer_t buffer = {};
    callback(&buffer, data);
    memcpy(&to, &buffer, sizeof to);
  });
}
void rpc_recv(rpc_port_t at, rpc_port_callback_ty callback, void* data) {
  port_of(at).recv([&](const packet& from, uint32_t) {
    rpc_buffer_t buffer;
    memcpy(&buffer, &from, sizeof buffer);
    callback(&buffer, data);
  });
}
void rpc_recv_and_send(rpc_port_t at, rpc_port_callback_ty callback, void* data) {
  rpc_buffer_t buffers[heddle::rpc::llvm::max_lanes];
  port_of(at).recv([&](const packet& from, uint32_t lane) {
    memcpy(&buffers[lane], &from, sizeof from);
    callback(&buffers[lane], data);
  });
  port_of(at).send([&](packet& to, uint32_t lane) { memcpy(&to, &buffers[lane], sizeof to); });
}
void rpc_send_n(rpc_port_t at, const void* const* src, uint64_t* size) {
  port_of(at).send_n([&](uint32_t lane) {
    return std::span<const unsigned char>(static_cast<const unsigned char*>(src[lane]), size[lane]);
  });
}
void rpc_recv_n(rpc_port_t at, void** dst, uint64_t* size, rpc_alloc_ty alloc, void* data) {
  uint64_t taken[heddle::rpc::llvm::max_lanes] = {};
  port_of(at).recv_n([&](uint32_t lane, uint64_t size_bytes, const unsigned char* from, uint64_t bytes) {
    if (taken[lane] == 0) {
      size[lane] = size_bytes;
      dst[lane] = alloc(size_bytes, data);
    }
    if (dst[lane] != nullptr) memcpy(static_cast<unsigned char*>(dst[lane]) + taken[lane], from, bytes);
    taken[lane] += bytes;
  });
}

}  // extern "C"
