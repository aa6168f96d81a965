// The service for programs of LLVM's libc must survive whatever a device does. With libFuzzer: llvm_fuzz CORPUS -max_total_time=600. By
// itself, it replays the files and folders that it is given.
//
// An input is what a device does, at the very moments at which the host waits for it. It is read from its front, in steps:
//   0  toggle the client's mailbox of a port
//   1  write a header: port, mask (8 bytes), opcode: a byte, the number of one of libc's, or from 240 on four bytes more, the opcode
//   2  write a packet: port and lane, a count (1 byte), that many bytes
//   3  write anything anywhere: offset (2 bytes), count (1 byte), that many bytes
//   4  let the host go on
// Whatever is short of bytes is filled up with zeros. An input that has ended makes the host give up what it waits for.
#include <heddle/hw/host/device.h>
#include <heddle/hw/host/target.h>
#include <heddle/rpc/llvm/service.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace heddle::tests {
namespace {

constexpr uint64_t bound_bytes = 1024;
constexpr rpc::llvm::layout ports{2, 3};

class hostile_device {
 public:
  hostile_device(unsigned char* memory, std::span<const uint8_t> actions) : memory_(memory), actions_(actions) {}

  bool has_ended() const { return actions_.empty(); }

  /// Acts until the host is to go on.
  void act() {
    while (!actions_.empty() && step()) {
    }
  }

 private:
  template <typename T>
  T take() {
    T value{};
    take(&value, sizeof value);
    return value;
  }
  void take(void* to, size_t bytes) {
    const size_t there = std::min(bytes, actions_.size());
    if (there != 0) memcpy(to, actions_.data(), there);
    actions_ = actions_.subspan(there);
  }

  bool step() {
    switch (take<uint8_t>() % 5) {
      case 0: {
        auto* const box =
            reinterpret_cast<uint32_t*>(memory_ + ports.client_outbox_offset()) + take<uint8_t>() % ports.ports;
        *box = *box == 0 ? 1 : 0;
        return true;
      }
      case 1: {
        auto* const head =
            reinterpret_cast<rpc::llvm::header*>(memory_ + ports.header_offset()) + take<uint8_t>() % ports.ports;
        head->mask = take<uint64_t>();
        const auto number = take<uint8_t>();
        head->opcode = number < 240 ? rpc::llvm::opcode_of('c', number) : take<uint32_t>();
        return true;
      }
      case 2: {
        const uint32_t which = take<uint8_t>() % (ports.ports * ports.lanes);
        take(memory_ + ports.packet_offset() + which * sizeof(rpc::llvm::packet),
             std::min<size_t>(take<uint8_t>(), sizeof(rpc::llvm::packet)));
        return true;
      }
      case 3: {
        const size_t offset = take<uint16_t>() % ports.size_bytes();
        const size_t count = take<uint8_t>();
        take(memory_ + offset, std::min(count, ports.size_bytes() - offset));
        return true;
      }
      default:
        return false;
    }
  }

  unsigned char* memory_;
  std::span<const uint8_t> actions_;
};

hostile_device* at_work = nullptr;
std::function<void()> gives_up;

/// The host, whose device acts whenever it waits.
struct hostile_target : host::basic_target<1> {
  static void pause() {
    if (at_work->has_ended()) gives_up();
    at_work->act();
  }
};
using service = rpc::llvm::basic_service<hostile_target, host::device>;

/// What must hold whatever the device does: nothing crashes, no sanitizer complains, it ends, and nothing that is kept is above the bound.
void run(std::span<const uint8_t> actions, const std::string& directory) {
  host::device on;
  service host(
      on, {.ports = ports.ports, .lanes = ports.lanes, .memory_bytes = 4096},
      {.bound_bytes = bound_bytes,
       .directory = directory,
       .open_files = 4,
       .file_bytes = 1 << 16,
       .on_exit = [](int32_t) {},
       .on_abort = [](const std::string&) {}},
      {.system = [](const char* command) { return static_cast<int>(strlen(command)); }, .stream_bytes = 1 << 20});
  host.allow(1,
             [](std::span<unsigned char> argument) {
               if (argument.size() > bound_bytes) abort();
               return uint64_t{argument.size()};
             })
      .value();
  host.on(rpc::llvm::opcode_of('u', 0),
          [](service::port& opened) {
            opened.recv([](const rpc::llvm::packet&, uint32_t) {});
            opened.send([](rpc::llvm::packet& to, uint32_t) { to.words[0] = 1; });
            opened.recv([](const rpc::llvm::packet&, uint32_t) {});
          })
      .value();
  hostile_device device(static_cast<unsigned char*>(host.buffer()), actions);
  at_work = &device;
  gives_up = [&] { host.give_up(); };
  auto from = host.server();
  const auto lanes = std::make_unique<rpc::llvm::room>();
  while (!device.has_ended()) {
    device.act();
    for (uint32_t n = 0; n < ports.ports && host.serve_one(from, *lanes); ++n) {
    }
  }
  // A piece that is written ends with a packet, and a line with one byte more.
  for (const rpc::llvm::lane_room& lane : *lanes)
    if (std::max(lane.first.size(), lane.second.size()) > bound_bytes + sizeof(rpc::llvm::packet) + 1) abort();
  if (host.files().open_count() > 4) abort();
}

/// A directory of this process, that is removed in the end.
class own_directory {
 public:
  own_directory() {
    if (mkdtemp(path_.data()) == nullptr) abort();
    // What the device prints is of no interest, and what it reads must not be waited for.
    if (freopen("/dev/null", "r", stdin) == nullptr || freopen("/dev/null", "w", stdout) == nullptr) abort();
  }
  ~own_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "heddle-fuzz-XXXXXX").string();
};

}  // namespace
}  // namespace heddle::tests

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static heddle::tests::own_directory directory;
  heddle::tests::run({data, size}, directory.path());
  return 0;
}
