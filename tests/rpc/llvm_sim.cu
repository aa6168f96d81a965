// Kernels that call LLVM's libc, in the simulator: with a client of our own, and with LLVM's header, unchanged, where it is there.
#include <heddle/rpc/llvm/service.h>
#include <heddle/tools/scenario.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

// Behind all others: it leaves __has_builtin changed where it includes LLVM's header.
#define LLVM_RPC_HEADER_OF_A_GPU
#include "llvm_client.h"

namespace {

using namespace heddle::rpc::llvm;
using namespace heddle::rpc::llvm::tests;
using heddle::target;
using service = basic_service<target, heddle::device>;

enum : uint32_t { words = 1, streams = 2, unanswered = 4 };

struct of_our_own {
  static revision revision_of(const heddle::parameters& set) {
    return set.text("header") == "2026" ? revision::of_2026 : revision::of_2025;
  }
  using type = own_client<target>;
  static type* make(heddle::device& device, const service& host, layout shape) {
    auto* const locks = device.allocate_device<uint32_t>((shape.ports + 31) / 32, "client locks");
    return new (device.allocate_shared<type>(1, "client")) type(host.buffer(), locks, shape);
  }
};

#ifdef LLVM_RPC_HEADER
struct of_llvm {
  static revision revision_of(const heddle::parameters&) { return revision::of_2025; }
  struct type : rpc_gpu::Client {
    using Client::Client;
    static uint64_t lanes() { return rpc_gpu::get_lane_mask(); }
    static bool any(uint64_t mask, bool holds) { return rpc_gpu::ballot(mask, holds) != 0; }
  };
  static type* make(heddle::device& device, const service& host, layout shape) {
    return new (device.allocate_shared<type>(1, "client")) type(shape.ports, host.buffer());
  }
};
#endif

template <typename Client>
struct kernel {
  Client* client;
  uint32_t kinds;

  void operator()() const {
    const uint64_t me = uint64_t{target::wave_id()} * max_lanes + target::lane_id();
    libc<Client> at(*client);
    if ((kinds & words) != 0) {
      HEDDLE_CHECK(at.template word<opcode::close_file>(me << 2) == -1, "a file that was never opened is closed");
      const auto memory = static_cast<uint64_t>(at.template word<opcode::malloc>(64));
      HEDDLE_CHECK(memory != 0, "no memory");
      if ((kinds & unanswered) != 0) at.free(memory);
    }
    if ((kinds & streams) != 0) {
      // Lanes differ in length, so that they need different numbers of packets.
      char text[160];
      const uint64_t size = 50 + 40 * (me % 3);
      for (uint64_t n = 0; n < size; ++n) text[n] = static_cast<char>('a' + (me + n) % 26);
      text[size] = 0;
      HEDDLE_CHECK(at.call(7, text, size) == size + 1000 * static_cast<uint64_t>(text[size - 1]),
                   "a wrong answer of the host");
      HEDDLE_CHECK(at.template print<opcode::printf_to_stream>(
                       12, "%d %s", variadic(false, 1, static_cast<const char*>(text))) == -1,
                   "a line is printed to no file");
      HEDDLE_CHECK(at.template text<opcode::system>({text}) == static_cast<int64_t>(size), "a wrong answer of system");
    }
  }
};

template <typename Which>
void run(const heddle::parameters& set) {
  heddle::device device;
  const layout shape{set.count("ports"), HEDDLE_COMPAT_WAVE_LANES, Which::revision_of(set)};
  auto* const rung = device.allocate_shared<uint64_t>(2, "count and mailbox");
  const bool rings = shape.header == revision::of_2026;
  service host(device,
               {.ports = shape.ports,
                .lanes = shape.lanes,
                .servers = set.count("servers"),
                .polls = 2,
                .memory_bytes = 1 << 16,
                .header = shape.header,
                .rings = rings ? doorbell_words{&rung[0], &rung[1], 7} : doorbell_words{}},
               {}, {.system = [](const char* command) { return static_cast<int>(strlen(command)); }});
  host.allow(7, [](std::span<unsigned char> argument) { return argument.size() + 1000 * uint64_t{argument.back()}; })
      .value();
  host.start();
  device.launch({.waves = set.count("waves"), .lanes = set.count("lanes")},
                kernel<typename Which::type>{Which::make(device, host, shape), set.count("kinds")});
  device.synchronize();
  host.stop();
  HEDDLE_CHECK(host.join(), "calls are left");
  HEDDLE_CHECK(rung[0] == 0 && (rung[1] == 7) == rings, "the doorbell does not count the calls that are open");
  const uint64_t lanes = set.count("waves") * set.count("lanes");
  const service_counts counts = host.counts();
  HEDDLE_CHECK(counts.given_up == 0 && counts.thrown == 0 && counts.unhandled == 0, "a call has failed");
  if ((set.count("kinds") & unanswered) != 0)
    HEDDLE_CHECK(host.memory().used_bytes() == 0, "memory was not given back");
  const uint64_t errors =
      ((set.count("kinds") & words) != 0 ? lanes : 0) + ((set.count("kinds") & streams) != 0 ? lanes : 0);
  HEDDLE_CHECK(counts.refused == errors, "an error too many, or too few");
}

std::vector<heddle::parameter> settings() {
  return {heddle::parameter::number("waves", 2, 1, 64, "", "waves that call"),
          heddle::parameter::number("lanes", 2, 1, 32, "", "lanes of each"),
          heddle::parameter::number("ports", 2, 1, 4096, "", "ports"),
          heddle::parameter::number("servers", 1, 1, 4, "", "server threads"),
          heddle::parameter::number("kinds", 7, 1, 7, "", "1 words, 2 streams, 4 unanswered (with 1)")};
}

std::vector<heddle::parameter> settings_of_our_own() {
  std::vector<heddle::parameter> all = settings();
  all.push_back(
      heddle::parameter::one_of("header", "2025", {"2025", "2026"}, "which of LLVM's the client was built with"));
  return all;
}

void with_our_own(const heddle::parameters& set) { run<of_our_own>(set); }
HEDDLE_SCENARIO(with_our_own, {.name = "llvm-own",
                               .summary = "LLVM's wire, a client of our own",
                               .parameters = settings_of_our_own()});
#ifdef LLVM_RPC_HEADER
void with_that_of_llvm(const heddle::parameters& set) { run<of_llvm>(set); }
HEDDLE_SCENARIO(with_that_of_llvm,
                {.name = "llvm-rpc", .summary = "LLVM's wire, LLVM's client", .parameters = settings()});
#endif

}  // namespace
