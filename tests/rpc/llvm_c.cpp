// The C interface to a server of LLVM's wire on a real machine: a program as LLVM's page has one, for host threads, CUDA and HIP. Exit status 3
// where no device answers.
#include <heddle/rpc/llvm/c_interface.h>
#include <heddle/rpc/llvm/client.h>
#include <heddle/rpc/selected_device.h>
#include <llvmlibc_rpc_server.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef LLVM_RPC_HEADER
#include "rpc.h"
#endif

#include <new>
#include <string>

namespace {

using namespace heddle::rpc::llvm;
using heddle::target;
using client = basic_client<target>;

constexpr uint32_t echo = 40000;
constexpr uint32_t not_served = 40001;

void need(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "llvm_c: %s\n", what);
  exit(1);
}

// -- what serves ------------------------------------------------------------------------------------------------------------------

void* allocate(uint64_t bytes, void* device) {
  return static_cast<heddle::device*>(device)->allocate_shared<uint64_t>(bytes / 8 + 1, "rpc buffer");
}
void release(void* memory, void* device) { static_cast<heddle::device*>(device)->free(memory); }

unsigned long long twice(void* argument) {
  uint64_t value = 0;
  memcpy(&value, argument, sizeof value);
  return 2 * value;
}
unsigned long long never(void*) { return 7; }

/// Answers a stream with the same, backwards, and counts the lanes.
void serve_echo(rpc_port_t port, void* data) {
  uint64_t sizes[max_lanes] = {};
  void* texts[max_lanes] = {};
  rpc_recv_n(port, texts, sizes, [](uint64_t bytes, void*) { return malloc(bytes); }, nullptr);
  for (uint32_t lane = 0; lane < port.lane_size; ++lane) {
    auto* const text = static_cast<char*>(texts[lane]);
    for (uint64_t n = 0; n < sizes[lane] / 2; ++n) std::swap(text[n], text[sizes[lane] - 1 - n]);
    if (text != nullptr) ++*static_cast<uint64_t*>(data);
  }
  rpc_send_n(port, texts, sizes);
  for (void* const text : texts) free(text);
}
/// Memory for kernels, here one block.
void serve_malloc(rpc_port_t port, void* block) {
  rpc_recv_and_send(
      port, [](rpc_buffer_t* both, void* memory) { both->data[0] = reinterpret_cast<uintptr_t>(memory); }, block);
}

// -- what calls -------------------------------------------------------------------------------------------------------------------

struct wrong_answers {
  uint64_t malloc, called, not_allowed, echoed, unserved;
};

struct kernel {
  client_image* image;
  uint32_t lanes;
  unsigned long long (*function)(void*);
  unsigned long long (*other)(void*);
  uint64_t memory;
  wrong_answers* wrong;

  HEDDLE_FUNCTION static void count(uint64_t& into) {
    target::atomic_ref<uint64_t, heddle::scope::system>(into).fetch_add(1, heddle::memory_order::relaxed);
  }
  HEDDLE_FUNCTION void operator()() const {
    const client mine(*image, lanes);
    basic_libc<const client> libc(mine);
    const uint64_t me = uint64_t{target::wave_id()} * 64 + target::lane_id();
    libc.write<opcode::write_to_stdout_newline>(libc.out, "Hello world!", 12);
    if (static_cast<uint64_t>(libc.word<opcode::malloc>(64)) != memory) count(wrong->malloc);
    if (libc.call(reinterpret_cast<uintptr_t>(function), &me, sizeof me) != 2 * me) count(wrong->called);
    if (libc.call(reinterpret_cast<uintptr_t>(other), &me, sizeof me) != 0) count(wrong->not_allowed);
    char text[130];
    for (uint32_t n = 0; n < sizeof text; ++n) text[n] = static_cast<char>((me + n) % 100);
    char back[sizeof text] = {};
    {
      auto port = mine.open<echo>();
      const uint64_t size = 10 + 40 * (me % 4);
      uint64_t sent = 0;
      void* to = nullptr;
      port.send_n(text, size);
      port.recv_n(&to, &sent, [&](uint64_t) { return static_cast<void*>(back); });
      for (uint64_t n = 0; n < size; ++n)
        if (sent != size || back[n] != text[size - 1 - n]) count(wrong->echoed);
    }
    uint64_t answer = 1;
    auto port = mine.open<not_served>();
    port.send_and_recv([](auto* to, uint32_t) { to->data[0] = 5; },
                       [&](auto* from, uint32_t) { answer = from->data[0]; });
    if (answer != 0) count(wrong->unserved);
  }
};

/// Serves until the kernel has ended; how many calls had no handler.
uint32_t serve(heddle::device& device, rpc_device_t server) {
  uint32_t unhandled = 0;
  for (bool ended = false; !ended;) {
    // Behind the end once more: nothing is left then.
    ended = device.query();
    const rpc_status_t status = rpc_handle_server(server);
    need(status == RPC_STATUS_SUCCESS || status == RPC_STATUS_UNHANDLED_OPCODE, "the server fails");
    if (status == RPC_STATUS_UNHANDLED_OPCODE) ++unhandled;
  }
  return unhandled;
}

void refuses_what_cannot_be(heddle::device& device) {
  rpc_device_t none = {};
  need(rpc_server_init(&none, 0, 32, allocate, &device) == RPC_STATUS_ERROR, "a server without ports");
  need(rpc_server_init(&none, RPC_MAXIMUM_PORT_COUNT + 1, 32, allocate, &device) == RPC_STATUS_ERROR, "too many ports");
  need(rpc_server_init(&none, 1, 33, allocate, &device) == RPC_STATUS_INVALID_LANE_SIZE, "a wave of 33 lanes");
  need(rpc_server_init(nullptr, 1, 32, allocate, &device) == RPC_STATUS_ERROR, "a server without a handle");
  need(rpc_handle_server(none) == RPC_STATUS_ERROR && rpc_get_client_buffer(none) == nullptr, "no server serves");
  need(rpc_server_shutdown(none, release, &device) == RPC_STATUS_ERROR, "no server ends");
}

#ifdef LLVM_RPC_HEADER
/// LLVM's own client of a host, which the image is copied into.
void calls_as_llvm_does(heddle::device& device) {
  rpc_device_t server = {};
  need(rpc_server_init(&server, 2, 1, allocate, &device) == RPC_STATUS_SUCCESS, "no server");
  need(rpc_get_client_size() == sizeof(::rpc::Client), "the client is not as large as LLVM's");
  alignas(::rpc::Client) unsigned char memory[sizeof(::rpc::Client)];
  memcpy(memory, rpc_get_client_buffer(server), sizeof memory);
  auto* const llvm = std::launder(reinterpret_cast<::rpc::Client*>(memory));
  uint64_t answer = 0;
  auto caller = device.spawn_host("caller", [&] {
    auto port = llvm->open<static_cast<uint32_t>(opcode::close_file)>();
    port.send_and_recv([](::rpc::Buffer* to, uint32_t) { to->data[0] = 1 << 20; },
                       [&](::rpc::Buffer* from, uint32_t) { answer = from->data[0]; });
    port.close();
    // No thread waits for this one: it ends the loop below.
    auto last = llvm->open<static_cast<uint32_t>(opcode::free)>();
    last.send([](::rpc::Buffer* to, uint32_t) { to->data[0] = 0; });
    last.close();
  });
  while (rpc_handle_server(server) != RPC_STATUS_UNHANDLED_OPCODE) target::pause();
  caller.join();
  need(static_cast<int64_t>(answer) == -1, "a file that was never opened is closed");
  need(rpc_server_shutdown(server, release, &device) == RPC_STATUS_SUCCESS, "the server does not end");
}
#endif

}  // namespace

int main() {
  if (!heddle::device::present()) return 3;
  heddle::device device;
  refuses_what_cannot_be(device);
#ifdef LLVM_RPC_HEADER
  calls_as_llvm_does(device);
#endif
  // As wide as the machine's waves.
  const uint32_t lane_size = device.max_lanes() > 32 ? 64 : 32;
  constexpr uint32_t waves = 3;
  constexpr uint32_t lanes = 2;
  rpc_device_t server = {};
  need(rpc_server_init(&server, 2, lane_size, allocate, &device) == RPC_STATUS_SUCCESS, "no server");
  uint64_t served_lanes = 0;
  auto* const block = device.allocate_device<uint64_t>(8, "memory for kernels");
  need(rpc_register_callback(server, echo, serve_echo, &served_lanes) == RPC_STATUS_SUCCESS, "no callback");
  need(rpc_register_callback(server, RPC_MALLOC, serve_malloc, block) == RPC_STATUS_SUCCESS, "no callback of libc's");
  need(heddle_rpc_allow_host_call(server, twice) == RPC_STATUS_SUCCESS, "no function of the host");

  auto* const image = device.allocate_device<client_image>(1, "client");
  device.copy(image, rpc_get_client_buffer(server), rpc_get_client_size());
  auto* const wrong = device.allocate_shared<wrong_answers>(1, "wrong answers");
  device.launch({.waves = waves, .lanes = lanes},
                kernel{image, lane_size, twice, never, reinterpret_cast<uintptr_t>(block), wrong});
  const uint32_t unhandled = serve(device, server);
  device.synchronize();
  need(wrong->malloc == 0, "a callback does not serve malloc");
  need(wrong->called == 0, "a function of the host is not called");
  need(wrong->not_allowed == 0, "a function is called that was not allowed");
  need(wrong->echoed == 0, "a stream does not come back");
  need(wrong->unserved == 0, "an opcode without a handler is answered with something");
  need(unhandled >= 1 && unhandled <= waves * lanes, "calls without a handler are not told of");
  need(served_lanes == uint64_t{waves} * lanes, "a lane of a callback is left out");
  need(rpc_server_shutdown(server, release, &device) == RPC_STATUS_SUCCESS, "the server does not end");
  puts("llvm_c: all as promised");
  return 0;
}
