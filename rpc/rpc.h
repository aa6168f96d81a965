// The RPC library for the machine that this build selects: -DHEDDLE_TARGET=sim, host, cuda, hip, hip_signal or clang_gpu.
//
// Without the macro the compiler decides: nvcc gets cuda, hipcc gets hip, clang for a GPU alone clang_gpu, every other compiler host.
// This is the only place in rpc/ that names a machine, and it names it by the file that provides it. A freestanding compiler gets no
// offload_server: that is a host's.
#pragma once

#ifndef HEDDLE_TARGET
#if defined(__CUDACC__)
#define HEDDLE_TARGET cuda
#elif defined(__HIPCC__)
#define HEDDLE_TARGET hip
#elif defined(__NVPTX__) || defined(__AMDGPU__)
#define HEDDLE_TARGET clang_gpu
#else
#define HEDDLE_TARGET host
#endif
#endif

#define HEDDLE_TARGET_HEADER_sim <heddle/sim/target.h>
#define HEDDLE_TARGET_HEADER_host <heddle/hw/host/target.h>
#define HEDDLE_TARGET_HEADER_cuda <heddle/hw/cuda/target.h>
#define HEDDLE_TARGET_HEADER_hip <heddle/hw/hip/target.h>
#define HEDDLE_TARGET_HEADER_hip_signal <heddle/hw/hip_signal/target.h>
#define HEDDLE_TARGET_HEADER_clang_gpu <heddle/hw/clang_gpu/target.h>
#define HEDDLE_PASTE_NOW(a, b) a##b
#define HEDDLE_PASTE(a, b) HEDDLE_PASTE_NOW(a, b)

#include HEDDLE_PASTE(HEDDLE_TARGET_HEADER_, HEDDLE_TARGET)

#ifdef HEDDLE_OBSERVED
#if !__STDC_HOSTED__
#error "heddle: HEDDLE_OBSERVED is for programs with a host side: leave it out where a GPU's code is compiled alone"
#endif
#include <heddle/hw/observed/target.h>
#endif

#include <heddle/rpc/offload/client.h>
#include <heddle/rpc/port/client.h>
#include <heddle/rpc/port/server.h>
#include <heddle/rpc/ring/fifo.h>
#include <heddle/rpc/ring/hostcall.h>
#include <heddle/rpc/slot/client.h>
#include <heddle/rpc/slot/server.h>

#if __STDC_HOSTED__
#include <heddle/rpc/offload/server.h>
#endif

namespace heddle {
/// The machine that this build selects; with HEDDLE_OBSERVED, which is for real machines, the same under watch.
#ifdef HEDDLE_OBSERVED
using target = observed::basic_target<HEDDLE_TARGET::target>;
#else
using target = HEDDLE_TARGET::target;
#endif
}  // namespace heddle

namespace heddle::rpc {
static_assert(target_machine<target>, "the selected machine lacks a member of the Target concept");

#ifdef HEDDLE_CHECKED
using checking = checked;
#else
using checking = unchecked;
#endif

/// Both ends of the port protocol on the selected machine; define HEDDLE_CHECKED to have every invariant checked.
using client = basic_client<target, checking>;
using server = basic_server<target, checking>;

/// Both ends of the slot protocol; `Form` is how a slot's mailboxes lie in memory, bit_a_slot or word_a_slot.
template <typename Form = bit_a_slot>
using slot_client = basic_slot_client<target, Form, checking>;
template <typename Form = bit_a_slot>
using slot_server = basic_slot_server<target, Form, checking>;

/// Both ends of a FIFO; `Form` is how an entry says that it is there, lap_parity or cleared_flag.
template <typename Entry, typename Form = lap_parity>
using fifo_producer = basic_fifo_producer<target, Entry, Form, checking>;
template <typename Entry, typename Form = lap_parity>
using fifo_consumer = basic_fifo_consumer<target, Entry, Form, checking>;

/// Both ends of hostcalls.
using hostcall_client = basic_hostcall_client<target, checking>;
using hostcall_server = basic_hostcall_server<target, checking>;

/// Both ends of reverse offload; `Form` is how entries are shared out, offload_ring or single_mailbox, and `Memory` how
/// the server reaches them, mapped_entries or copied_entries.
template <typename Form = offload_ring>
using offload_client = basic_offload_client<target, Form, checking>;
#if __STDC_HOSTED__
template <typename Form = offload_ring, typename Memory = mapped_entries<target>>
using offload_server = basic_offload_server<target, Form, Memory, checking>;
#endif
}  // namespace heddle::rpc
