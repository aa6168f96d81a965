// A call over a port from an OpenMP target region. Where the region runs on the host, as without a device, host threads are both ends and it is
// run; for GPUs it is compiled, and openmp.sh looks at the code. The compilation for a device chooses the target clang_gpu by itself.
#include <heddle/rpc/rpc.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

namespace rpc = heddle::rpc;

namespace {

constexpr uint16_t triple = rpc::user_opcode(7);
constexpr int callers = 4;
constexpr int calls = 100;
constexpr rpc::layout shape{.ports = callers, .lanes = rpc::max_lanes};

/// How many answers were wrong. Client and target are other types in the compilation for the device: neither may be in this function's type, by
/// which that compilation finds its kernel.
int call_from_target_region(void* shared, uint32_t* own) {
  int wrong = 0;
#pragma omp target teams distribute parallel for is_device_ptr(shared, own) reduction(+ : wrong)
  for (int caller = 0; caller < callers; ++caller) {
    const rpc::client client(shared, own, shape);
    for (int call = 0; call < calls; ++call) {
      const auto number = static_cast<uint64_t>(caller * calls + call);
      uint64_t answer = 0;
      auto port = client.open<triple>();
      port.send([&](rpc::packet& packet, uint32_t) { packet.words[0] = number; });
      port.recv([&](rpc::packet& packet, uint32_t) { answer = packet.words[0]; });
      if (answer != 3 * number) ++wrong;
    }
  }
  return wrong;
}

}  // namespace

int main() {
  std::vector<rpc::packet> shared(shape.size_bytes() / sizeof(rpc::packet) + 1);
  std::vector<uint32_t> of_client(shape.own_words());
  std::vector<uint32_t> of_server(shape.own_words());
  void* const memory = shared.data();
  std::atomic<bool> over{false};
  std::atomic<int> served{0};
  std::thread server([&] {
    rpc::server at(memory, of_server.data(), shape);
    while (!over)
      if (auto port = at.try_open()) {
        port.recv_and_send([&](rpc::packet& both, uint32_t) {
          both.words[0] *= 3;
          ++served;
        });
      } else {
        heddle::target::pause();
      }
  });
  const int wrong = call_from_target_region(memory, of_client.data());
  over = true;
  server.join();
  std::printf("%d calls served, %d wrong answers\n", served.load(), wrong);
  return wrong == 0 && served == callers * calls ? 0 : 1;
}
