// Kernels that call the C library by its own names, with the server of LLVM's C interface: what is served, what a callback serves, and what
// is refused.
#include <cuda.h>
#include <cuda_runtime.h>
#include <heddle/tools/scenario.h>
#include <llvmlibc_rpc_server.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

extern "C" __device__ void* __llvm_libc_rpc_client;
extern "C" __device__ int puts(const char*);
extern "C" __device__ FILE* fopen(const char*, const char*);
extern "C" __device__ int fputs(const char*, FILE*);
extern "C" __device__ void* malloc(size_t);
extern "C" __device__ void free(void*);
extern "C" __device__ unsigned long long rpc_host_call(void* function, void* data, size_t size);

namespace {

void* allocate(uint64_t size, void*) {
  void* memory = nullptr;
  cudaMallocHost(&memory, size);
  return memory;
}
void release(void* memory, void*) { cudaFreeHost(memory); }

/// A server whose client has been copied to the device by its address.
struct server {
  explicit server(uint64_t ports, uint32_t lanes = 32) {
    HEDDLE_CHECK(rpc_server_init(&device, ports, lanes, allocate, nullptr) == RPC_STATUS_SUCCESS, "no server");
    void* symbol = nullptr;
    void* client = nullptr;
    cudaGetSymbolAddress(&symbol, __llvm_libc_rpc_client);
    // A runtime asks by name whether a program has a C library for kernels.
    CUmodule module = nullptr;
    CUdeviceptr named = 0;
    size_t bytes = 0;
    cuModuleLoadData(&module, "");
    HEDDLE_CHECK(cuModuleGetGlobal(&named, &bytes, module, "__llvm_libc_rpc_client") == CUDA_SUCCESS &&
                     named == reinterpret_cast<uintptr_t>(symbol) && bytes == sizeof client,
                 "the client is not found by its name");
    cudaMemcpy(&client, symbol, sizeof client, cudaMemcpyDeviceToHost);
    cudaMemcpy(client, rpc_get_client_buffer(device), rpc_get_client_size(), cudaMemcpyHostToDevice);
  }
  /// Serves until the stream has ended; the first status that is no success.
  rpc_status_t serve(cudaStream_t stream) const {
    rpc_status_t seen = RPC_STATUS_SUCCESS;
    while (cudaStreamQuery(stream) == cudaErrorNotReady) {
      const rpc_status_t now = rpc_handle_server(device);
      if (seen == RPC_STATUS_SUCCESS) seen = now;
    }
    return seen;
  }
  void end() const {
    HEDDLE_CHECK(rpc_server_shutdown(device, release, nullptr) == RPC_STATUS_SUCCESS, "the server does not end");
  }

  rpc_device_t device = {};
};

// -- what is served ------------------------------------------------------------------------------------------------------------------

struct pair {
  uint64_t first, second;
};
unsigned long long sum(void* data) {
  pair both;
  memcpy(&both, data, sizeof both);
  return both.first + both.second;
}

/// Lanes write and read a file each, and ask for memory and for a call.
__global__ void use_all(const char* directory, void* function, int* failed) {
  const uint64_t me = blockIdx.x * blockDim.x + threadIdx.x;
  char path[128];
  snprintf(path, sizeof path, "%s/%d", directory, static_cast<int>(me));
  const auto check = [&](bool holds, int what) {
    if (!holds) failed[me] = what;
  };
  FILE* const file = fopen(path, "w+");
  check(file != nullptr, 1);
  check(fputs("one\n", file) >= 0 && fputc('2', file) == '2' && fwrite(" 3", 1, 2, file) == 2, 2);
  check(fprintf(file, " %d %s %5.2f %ld\n", static_cast<int>(me), "four", 1.5, 1L << 40) > 0, 3);
  check(ftell(file) > 0 && fseek(file, 0, SEEK_SET) == 0, 4);
  char line[64] = {};
  check(fgets(line, sizeof line, file) != nullptr && strcmp(line, "one\n") == 0, 5);
  check(fgetc(file) == '2' && ungetc('2', file) == '2' && fread(line, 1, 3, file) == 3 && memcmp(line, "2 3", 3) == 0,
        6);
  char wanted[64];
  snprintf(wanted, sizeof wanted, " %d four  1.50 1099511627776\n", static_cast<int>(me));
  check(fgets(line, sizeof line, file) != nullptr && strcmp(line, wanted) == 0, 7);
  check(feof(file) == 0 && fgetc(file) == EOF && feof(file) != 0 && ferror(file) == 0, 8);
  check(fflush(file) == 0 && fclose(file) == 0, 9);
  check(remove(path) == 0 && remove(path) != 0, 10);
  auto* const memory = static_cast<uint64_t*>(malloc(64));
  check(memory != nullptr, 11);
  if (memory != nullptr) memory[7] = me;
  free(memory);
  pair both = {me, 1000};
  check(rpc_host_call(function, &both, sizeof both) == me + 1000, 12);
}

/// Memory for kernels: pieces of one allocation, counted.
struct pieces {
  unsigned char* block;
  uint64_t used;
  uint64_t freed;
};
void allocate_piece(rpc_port_t port, void* data) {
  rpc_recv_and_send(
      port,
      [](rpc_buffer_t* buffer, void* from) {
        auto* const all = static_cast<pieces*>(from);
        const uint64_t at = all->used;
        all->used += buffer->data[0];
        buffer->data[0] = reinterpret_cast<uintptr_t>(all->block + at);
      },
      data);
}
void free_piece(rpc_port_t port, void* data) {
  rpc_recv(
      port,
      [](rpc_buffer_t* buffer, void* from) {
        if (buffer->data[0] != 0) ++static_cast<pieces*>(from)->freed;
      },
      data);
}

void serve_kernels(const heddle::parameters& set) {
  const uint32_t blocks = set.count("blocks");
  const uint32_t threads = set.count("threads");
  const uint64_t lanes = uint64_t{blocks} * threads;
  // Every run has the same name, and runs beside this one have another process.
  const std::string made = "/tmp/heddle-llvm-kernels-" + std::to_string(getpid());
  mkdir(made.c_str(), 0700);

  const server host(set.count("ports"));
  pieces all = {};
  cudaMalloc(&all.block, lanes * 64);
  rpc_register_callback(host.device, RPC_MALLOC, allocate_piece, &all);
  rpc_register_callback(host.device, RPC_FREE, free_piece, &all);
  char* directory = nullptr;
  cudaMallocHost(&directory, 100);
  memset(directory, 0, 100);
  memcpy(directory, made.c_str(), made.size());
  int* failed = nullptr;
  cudaMallocHost(&failed, lanes * sizeof *failed);
  memset(failed, 0, lanes * sizeof *failed);
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  use_all<<<blocks, threads, 0, stream>>>(directory, reinterpret_cast<void*>(&sum), failed);
  HEDDLE_CHECK(host.serve(stream) == RPC_STATUS_SUCCESS, "a call was not served");
  // A free is not waited for: its kernel may have ended before.
  HEDDLE_CHECK(rpc_handle_server(host.device) == RPC_STATUS_SUCCESS, "the last calls were not served");
  for (uint64_t lane = 0; lane < lanes; ++lane) HEDDLE_CHECK(failed[lane] == 0, "a call had a wrong result");
  HEDDLE_CHECK(all.used == lanes * 64 && all.freed == lanes, "memory was not asked of the callback");
  host.end();
  rmdir(made.c_str());
}
HEDDLE_SCENARIO(serve_kernels, {.name = "kernels-served",
                                .summary = "kernels call the C library by its names",
                                .parameters = {heddle::parameter::number("blocks", 2, 1, 8, "", "blocks"),
                                               heddle::parameter::number("threads", 2, 1, 32, "", "threads of each"),
                                               heddle::parameter::number("ports", 2, 1, 16, "", "ports")}});

// -- callbacks -----------------------------------------------------------------------------------------------------------------------

__global__ void print_line() { puts("a line"); }
__global__ void allocate_only(int* found) { *found = malloc(8) == nullptr ? 1 : 2; }

/// `puts` is served by a callback in place of the server; `malloc` by nothing.
void override_calls(const heddle::parameters&) {
  const server host(2);
  std::string taken;
  rpc_register_callback(
      host.device, RPC_WRITE_TO_STDOUT_NEWLINE,
      [](rpc_port_t port, void* data) {
        void* texts[32] = {};
        uint64_t sizes[32] = {};
        rpc_recv_n(
            port, texts, sizes, [](uint64_t size, void*) { return static_cast<void*>(new char[size]); }, nullptr);
        static_cast<std::string*>(data)->append(static_cast<char*>(texts[0]), sizes[0]);
        delete[] static_cast<char*>(texts[0]);
        rpc_send(port, [](rpc_buffer_t* buffer, void*) { buffer->data[0] = 7; }, nullptr);
      },
      &taken);
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  print_line<<<1, 1, 0, stream>>>();
  HEDDLE_CHECK(host.serve(stream) == RPC_STATUS_SUCCESS && taken == "a line", "the callback was not called");
  int* found = nullptr;
  cudaMallocHost(&found, sizeof *found);
  allocate_only<<<1, 1, 0, stream>>>(found);
  HEDDLE_CHECK(host.serve(stream) == RPC_STATUS_UNHANDLED_OPCODE && *found == 1, "memory came from somewhere");
  host.end();
  rpc_device_t none = {};
  HEDDLE_CHECK(rpc_handle_server(none) == RPC_STATUS_ERROR && rpc_get_client_buffer(none) == nullptr,
               "there is a server that is none");
  HEDDLE_CHECK(rpc_server_init(&none, RPC_MAXIMUM_PORT_COUNT + 1, 32, allocate, nullptr) == RPC_STATUS_ERROR &&
                   rpc_server_init(&none, 1, 31, allocate, nullptr) == RPC_STATUS_INVALID_LANE_SIZE,
               "a server of a shape that cannot be");
}
HEDDLE_SCENARIO(override_calls, {.name = "kernels-override", .summary = "a callback for an opcode of libc"});

// -- what is refused -----------------------------------------------------------------------------------------------------------------

enum class refused : uint32_t { without_client, environment, memory, wide };

__global__ void ask(refused what, const char** found) {
  if (what == refused::environment) *found = getenv("HOME");
  if (what == refused::memory) *found = static_cast<char*>(calloc(1, 1));
  if (what == refused::without_client || what == refused::wide) puts("a line");
}

void refuse_calls(const heddle::parameters& set) {
  const auto what = static_cast<refused>(set.count("call"));
  const char** found = nullptr;
  cudaMallocHost(&found, sizeof *found);
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  if (what == refused::without_client) {
    ask<<<1, 1, 0, stream>>>(what, found);
    cudaDeviceSynchronize();
    return;
  }
  const server host(2, what == refused::wide ? 1 : 32);
  // Host code has all of the C library.
  HEDDLE_CHECK(getenv("HEDDLE_NO_SUCH_VARIABLE") == nullptr, "a variable that is not set");
  free(calloc(1, 1));
  ask<<<1, what == refused::wide ? 2 : 1, 0, stream>>>(what, found);
  host.serve(stream);
  host.end();
}
HEDDLE_SCENARIO(refuse_calls,
                {.name = "kernels-refused",
                 .summary = "a kernel calls what it cannot",
                 .parameters = {heddle::parameter::number(
                     "call", 0, 0, 3, "", "0 puts without a client, 1 getenv, 2 calloc, 3 puts of too wide a wave")}});

}  // namespace
