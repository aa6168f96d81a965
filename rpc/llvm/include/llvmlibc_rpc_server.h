// <llvmlibc_rpc_server.h> of LLVM's libc for GPUs: the host side of what kernels call of the C library (docs/llvm-libc.md). The calls, names and
// types are those of LLVM 18 to 20; behind them is the server of rpc/llvm/. A source that heddle_simulate_cuda() or heddle_simulate_hip()
// compiles finds it; on a real machine one file of the program includes <heddle/rpc/llvm/c_interface.h>, which defines the calls. A wrong
// handle is RPC_STATUS_ERROR.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "llvmlibc_rpc_opcodes.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The most ports that a server may have. 4096 as with LLVM, for all waves of a large GPU. A simulated machine has few, and the host looks at
/// each port in each turn: 16 there.
#ifndef HEDDLE_RPC_PORTS_MAX
#define HEDDLE_RPC_PORTS_MAX 4096
#endif
const uint64_t RPC_MAXIMUM_PORT_COUNT = HEDDLE_RPC_PORTS_MAX;

typedef enum {
  RPC_STATUS_SUCCESS = 0x0,
  RPC_STATUS_CONTINUE = 0x1,
  RPC_STATUS_ERROR = 0x1000,
  RPC_STATUS_UNHANDLED_OPCODE = 0x1001,
  RPC_STATUS_INVALID_LANE_SIZE = 0x1002,
} rpc_status_t;

/// A port, for the callback that it was given to.
typedef struct rpc_port_s {
  uint64_t handle;
  uint32_t lane_size;
} rpc_port_t;

/// What one lane sends or receives at a time.
typedef struct rpc_buffer_s {
  uint64_t data[8];
} rpc_buffer_t;

/// A server.
typedef struct rpc_device_s {
  uintptr_t handle;
} rpc_device_t;

/// Allocates memory that host and device reach at the same time, by the same address.
typedef void* (*rpc_alloc_ty)(uint64_t size, void* data);
typedef void (*rpc_free_ty)(void* ptr, void* data);
/// Serves a call: it receives and sends as the client sends and receives.
typedef void (*rpc_opcode_callback_ty)(rpc_port_t port, void* data);
/// Reads or writes the buffer of one lane; called for each lane of the call.
typedef void (*rpc_port_callback_ty)(rpc_buffer_t* buffer, void* data);

/// Begins to serve `num_ports` calls at a time, of waves of `lane_size` lanes (1, 32 or 64), in one allocation that `alloc` makes.
rpc_status_t rpc_server_init(rpc_device_t* rpc_device, uint64_t num_ports, uint32_t lane_size, rpc_alloc_ty alloc,
                             void* data);
/// Ends it, and frees the allocation.
rpc_status_t rpc_server_shutdown(rpc_device_t rpc_device, rpc_free_ty dealloc, void* data);
/// Serves each call that waits now, at most one a port. RPC_STATUS_UNHANDLED_OPCODE when one has an opcode without
/// a handler: it is answered with zeros.
rpc_status_t rpc_handle_server(rpc_device_t rpc_device);

/// Has `callback` serve an opcode, also one of libc, which then does nothing itself. RPC_MALLOC and RPC_FREE have no handler before.
rpc_status_t rpc_register_callback(rpc_device_t rpc_device, uint32_t opcode, rpc_opcode_callback_ty callback,
                                   void* data);

/// Not of LLVM, whose server calls any address that a client names: lets clients call `function`, by RPC_HOST_CALL, with a copy of the argument.
/// A client that names another gets 0. In the simulator each function of the program may be called as well, and another ends the run.
rpc_status_t heddle_rpc_allow_host_call(rpc_device_t rpc_device, unsigned long long (*function)(void* argument));

/// The client's handle, which is to be copied to where `__llvm_libc_rpc_client` of the device points.
const void* rpc_get_client_buffer(rpc_device_t device);
uint64_t rpc_get_client_size(void);

// For callbacks.
void rpc_send(rpc_port_t port, rpc_port_callback_ty callback, void* data);
void rpc_recv(rpc_port_t port, rpc_port_callback_ty callback, void* data);
/// Receives, and answers with what `callback` has made of it.
void rpc_recv_and_send(rpc_port_t port, rpc_port_callback_ty callback, void* data);
/// Streams, with an element for each of the `lane_size` lanes; memory for what comes is asked of `alloc`, once for each lane of the call.
void rpc_send_n(rpc_port_t port, const void* const* src, uint64_t* size);
void rpc_recv_n(rpc_port_t port, void** dst, uint64_t* size, rpc_alloc_ty alloc, void* data);

#ifdef __cplusplus
}
#endif
