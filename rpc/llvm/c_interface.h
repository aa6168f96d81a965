// The functions of <llvmlibc_rpc_server.h>, LLVM's C interface to a server, over the server of this room. Included in one file of a program:
//
//   #include <heddle/rpc/llvm/c_interface.h>   // defines the functions, for the machine that the build selects
//
// What a callback gets, and what clients may do, is as with LLVM's server but for one thing: a client calls no function of the host that the
// program has not allowed (heddle_rpc_allow_host_call). Clients are of the revision of 2025.
//
// A machine of another kind defines HEDDLE_RPC_C_MACHINE before, the name of a type with
//
//   target                  whose host threads serve
//   handle                  what rpc_get_client_buffer() points to; made of (void* shared, const layout&)
//   ports_max
//   check_call(function)    ends the run where it is no function of the program; where it is absent, functions are allowed one by one
#pragma once

#include <heddle/rpc/llvm/include/llvmlibc_rpc_server.h>
#include <heddle/rpc/llvm/service.h>
#include <string.h>

#include <memory>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#ifndef HEDDLE_RPC_C_MACHINE
#include <heddle/rpc/rpc.h>

namespace heddle::rpc::llvm {

/// The machine that the build selects.
struct c_machine {
  using target = heddle::target;
  using handle = client_image;
  static constexpr uint32_t ports_max = max_ports;
};

}  // namespace heddle::rpc::llvm

#define HEDDLE_RPC_C_MACHINE ::heddle::rpc::llvm::c_machine
#endif

namespace heddle::rpc::llvm {

/// What LLVM's server lets a kernel do: any file of the program's user, and the end of the program.
inline service_limits limits_of_llvm() {
  service_limits limits;
  limits.files = file_access::everywhere;
  limits.on_exit = [](int32_t code) { exit(code); };
  limits.on_abort = [](const std::string&) { abort(); };
  return limits;
}

/// What an rpc_device_t is the handle of. One thread serves.
template <typename Machine>
class c_server {
 public:
  using target = typename Machine::target;
  using dispatcher = basic_dispatcher<target>;
  using port = typename dispatcher::port;
  using host_function = unsigned long long (*)(void*);

  c_server(void* shared, layout shape)
      : shared_(shared),
        shape_(shape),
        handle_(shared, shape),
        own_(server_end<target>::own_words(shape.ports)),
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
    for (uint32_t n = 0; n < shape_.ports; ++n) {
      requested_end end;
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

  void allow(host_function function) { allowed_.insert(reinterpret_cast<uintptr_t>(function)); }

  dispatcher& calls() { return calls_; }
  const typename Machine::handle& handle() const { return handle_; }
  const layout& shape() const { return shape_; }
  void* shared() const { return shared_; }

 private:
  /// What is sent is looked up before it is called: 0 is the answer where it may not be.
  void call(port& at) {
    room& lanes = *lanes_;
    for (lane_room& lane : lanes) lane.first.clear();
    at.recv_n([&](uint32_t lane, uint64_t, const unsigned char* data, uint64_t bytes) {
      lanes[lane].first.insert(lanes[lane].first.end(), data, data + bytes);
    });
    at.recv([&](const packet& from, uint32_t lane) {
      const uint64_t function = from.words[0];
      lanes[lane].result = 0;
      if constexpr (requires { Machine::check_call(function); })
        Machine::check_call(function);
      else if (!allowed_.contains(function))
        return;
      lanes[lane].result = reinterpret_cast<host_function>(function)(lanes[lane].first.data());
    });
    at.send([&](packet& to, uint32_t lane) { to.words[0] = lanes[lane].result; });
  }

  void* shared_;
  layout shape_;
  typename Machine::handle handle_;
  std::vector<uint32_t> own_;
  dispatcher calls_;
  basic_server<target> ports_;
  std::unique_ptr<room> lanes_ = std::make_unique<room>();
  std::unordered_set<uint64_t> allowed_;
  bool unhandled_ = false;
};

namespace c_detail {

using server = c_server<HEDDLE_RPC_C_MACHINE>;
using port = server::port;

inline server* server_of(rpc_device_t device) { return reinterpret_cast<server*>(device.handle); }
inline port& port_of(rpc_port_t at) { return *reinterpret_cast<port*>(at.handle); }

}  // namespace c_detail

}  // namespace heddle::rpc::llvm

// NOLINTBEGIN(misc-definitions-in-headers): one file of a program includes this
extern "C" {

rpc_status_t rpc_server_init(rpc_device_t* rpc_device, uint64_t num_ports, uint32_t lane_size, rpc_alloc_ty alloc,
                             void* data) {
  if (rpc_device == nullptr || alloc == nullptr || num_ports == 0 || num_ports > HEDDLE_RPC_C_MACHINE::ports_max)
    return RPC_STATUS_ERROR;
  if (lane_size != 1 && lane_size != 32 && lane_size != 64) return RPC_STATUS_INVALID_LANE_SIZE;
  const heddle::rpc::llvm::layout shape{static_cast<uint32_t>(num_ports), lane_size};
  void* const shared = alloc(shape.size_bytes(), data);
  if (shared == nullptr) return RPC_STATUS_ERROR;
  memset(shared, 0, shape.size_bytes());
  rpc_device->handle = reinterpret_cast<uintptr_t>(new heddle::rpc::llvm::c_detail::server(shared, shape));
  return RPC_STATUS_SUCCESS;
}

rpc_status_t rpc_server_shutdown(rpc_device_t rpc_device, rpc_free_ty dealloc, void* data) {
  auto* const server = heddle::rpc::llvm::c_detail::server_of(rpc_device);
  if (server == nullptr || dealloc == nullptr) return RPC_STATUS_ERROR;
  dealloc(server->shared(), data);
  delete server;
  return RPC_STATUS_SUCCESS;
}

rpc_status_t rpc_handle_server(rpc_device_t rpc_device) {
  auto* const server = heddle::rpc::llvm::c_detail::server_of(rpc_device);
  return server == nullptr ? RPC_STATUS_ERROR : server->serve();
}

rpc_status_t rpc_register_callback(rpc_device_t rpc_device, uint32_t opcode, rpc_opcode_callback_ty callback,
                                   void* data) {
  auto* const server = heddle::rpc::llvm::c_detail::server_of(rpc_device);
  if (server == nullptr || callback == nullptr) return RPC_STATUS_ERROR;
  const uint32_t lanes = server->shape().lanes;
  server->calls().set(opcode, [callback, data, lanes](heddle::rpc::llvm::c_detail::port& at) {
    callback({reinterpret_cast<uintptr_t>(&at), lanes}, data);
  });
  return RPC_STATUS_SUCCESS;
}

rpc_status_t heddle_rpc_allow_host_call(rpc_device_t rpc_device, unsigned long long (*function)(void*)) {
  auto* const server = heddle::rpc::llvm::c_detail::server_of(rpc_device);
  if (server == nullptr || function == nullptr) return RPC_STATUS_ERROR;
  server->allow(function);
  return RPC_STATUS_SUCCESS;
}

const void* rpc_get_client_buffer(rpc_device_t device) {
  return device.handle == 0 ? nullptr : &heddle::rpc::llvm::c_detail::server_of(device)->handle();
}
uint64_t rpc_get_client_size() { return sizeof(HEDDLE_RPC_C_MACHINE::handle); }

void rpc_send(rpc_port_t at, rpc_port_callback_ty callback, void* data) {
  heddle::rpc::llvm::c_detail::port_of(at).send([&](heddle::rpc::llvm::packet& to, uint32_t) {
    rpc_buffer_t buffer = {};
    callback(&buffer, data);
    memcpy(&to, &buffer, sizeof to);
  });
}
void rpc_recv(rpc_port_t at, rpc_port_callback_ty callback, void* data) {
  heddle::rpc::llvm::c_detail::port_of(at).recv([&](const heddle::rpc::llvm::packet& from, uint32_t) {
    rpc_buffer_t buffer;
    memcpy(&buffer, &from, sizeof buffer);
    callback(&buffer, data);
  });
}
void rpc_recv_and_send(rpc_port_t at, rpc_port_callback_ty callback, void* data) {
  rpc_buffer_t buffers[heddle::rpc::llvm::max_lanes];
  heddle::rpc::llvm::c_detail::port_of(at).recv([&](const heddle::rpc::llvm::packet& from, uint32_t lane) {
    memcpy(&buffers[lane], &from, sizeof from);
    callback(&buffers[lane], data);
  });
  heddle::rpc::llvm::c_detail::port_of(at).send(
      [&](heddle::rpc::llvm::packet& to, uint32_t lane) { memcpy(&to, &buffers[lane], sizeof to); });
}
void rpc_send_n(rpc_port_t at, const void* const* src, uint64_t* size) {
  heddle::rpc::llvm::c_detail::port_of(at).send_n([&](uint32_t lane) {
    return std::span<const unsigned char>(static_cast<const unsigned char*>(src[lane]), size[lane]);
  });
}
void rpc_recv_n(rpc_port_t at, void** dst, uint64_t* size, rpc_alloc_ty alloc, void* data) {
  uint64_t taken[heddle::rpc::llvm::max_lanes] = {};
  heddle::rpc::llvm::c_detail::port_of(at).recv_n(
      [&](uint32_t lane, uint64_t size_bytes, const unsigned char* from, uint64_t bytes) {
        if (taken[lane] == 0) {
          size[lane] = size_bytes;
          dst[lane] = alloc(size_bytes, data);
        }
        if (dst[lane] != nullptr) memcpy(static_cast<unsigned char*>(dst[lane]) + taken[lane], from, bytes);
        taken[lane] += bytes;
      });
}

}  // extern "C"
// NOLINTEND(misc-definitions-in-headers)
