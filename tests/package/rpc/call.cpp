// A stranger's kernel and its host, over the headers of rpc/ alone: compiled by g++, clang, nvcc and hipcc, and linked without the C++
// standard library.
#include <heddle/rpc/rpc.h>
#include <pthread.h>
#include <stdio.h>

namespace {

namespace rpc = heddle::rpc;
constexpr uint16_t add_one = rpc::user_opcode(0);
constexpr rpc::layout shape{.ports = 2, .lanes = 32};

HEDDLE_FUNCTION uint64_t ask_host(const rpc::client& client, uint64_t value) {
  auto port = client.open<add_one>();
  port.send_and_recv([&](rpc::packet& to, uint32_t) { to.words[0] = value; },
                     [&](rpc::packet& from, uint32_t) { value = from.words[0]; });
  return value;
}

bool serve(rpc::server& server) {
  auto port = server.try_open();
  if (!port) return false;
  port.recv_and_send([](rpc::packet& both, uint32_t) { ++both.words[0]; });
  return true;
}

}  // namespace

#if defined(__CUDACC__) || defined(__HIPCC__)

__global__ void kernel(rpc::client client, uint64_t* value) { *value = ask_host(client, 41); }

// Compiled and linked only: a GPU need not be there.
int main(int argument_count, char**) {
  if (argument_count < 2) return 0;
  alignas(64) static char memory[shape.size_bytes()];
  static uint32_t locks[2][shape.own_words()];
  kernel<<<1, 1>>>(rpc::client(memory, locks[0], shape), nullptr);
  rpc::server server(memory, locks[1], shape);
  return serve(server) ? 0 : 1;
}

#else

// The host machine: a thread is a wave of one lane.
int main() {
  alignas(64) static char memory[shape.size_bytes()];
  static uint32_t locks[2][shape.own_words()];
  pthread_t thread;
  rpc::server server(memory, locks[1], shape);
  const auto host = [](void* served) -> void* {
    while (!serve(*static_cast<rpc::server*>(served))) heddle::target::pause();
    return nullptr;
  };
  if (pthread_create(&thread, nullptr, host, &server) != 0) return 1;
  const uint64_t answer = ask_host(rpc::client(memory, locks[0], shape), 41);
  pthread_join(thread, nullptr);
  printf("%llu\n", static_cast<unsigned long long>(answer));
  return answer == 42 ? 0 : 1;
}

#endif
