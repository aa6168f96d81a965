// Writes the inputs that a search begins with: each call of the service's own client once, as it goes over the wire. Prints a line for each,
// its name and its bytes: corpus/service_fuzz.seeds.
//   service_seeds FOLDER
#include <heddle/rpc/service/client.h>

#include "hostile_device.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace heddle::tests {
namespace {

/// What a device does, as an input.
class recorded_device {
 public:
  void toggle() { add({0, 0}); }
  void header(uint64_t mask, uint16_t opcode) {
    add({1, 0});
    add_bytes(&mask, sizeof mask);
    add_bytes(&opcode, sizeof opcode);
  }
  void packet_of(uint32_t lane, const void* packet) {
    add({2, static_cast<uint8_t>(lane)});
    add_bytes(packet, sizeof(rpc::packet));
  }
  void go_on() { add({4}); }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  void add(std::initializer_list<uint8_t> more) { bytes_.insert(bytes_.end(), more); }
  void add_bytes(const void* from, size_t count) {
    const auto* const first = static_cast<const uint8_t*>(from);
    bytes_.insert(bytes_.end(), first, first + count);
  }

  std::vector<uint8_t> bytes_;
};

recorded_device* recorder = nullptr;
unsigned char* shared_memory = nullptr;
uint32_t answers = 0;

/// The client's machine, on which every wait is answered at once by a host that hands each packet back as it is; what the client did up
/// to then is recorded.
struct recording_target : host::basic_target<1> {
  static void record() {
    const rpc::layout ports{1, 1};
    if (answers == 0) {
      const auto* const head = reinterpret_cast<rpc::header*>(shared_memory + ports.header_offset());
      recorder->header(head->mask, head->opcode);
    }
    recorder->packet_of(0, shared_memory + ports.packet_offset());
    recorder->toggle();
    recorder->go_on();
    ++answers;
  }
  static void pause() {
    const rpc::layout ports{1, 1};
    record();
    auto* const theirs = reinterpret_cast<uint32_t*>(shared_memory + ports.server_outbox_offset());
    *theirs = ~*theirs;
    // The answer that the next receive finds: one packet, status ok, nothing else.
    auto* const packet = reinterpret_cast<rpc::packet*>(shared_memory + ports.packet_offset());
    *packet = {};
    packet->words[0] = sizeof(rpc::service_answer);
  }
};

using recording_client = rpc::basic_service_client<recording_target>;

template <typename Call>
void write_seed(const std::filesystem::path& folder, const char* name, Call call) {
  constexpr rpc::layout ports{1, 1};
  alignas(64) static unsigned char memory[1024];
  memset(memory, 0, sizeof memory);
  uint32_t own[ports.own_words()] = {};
  recorded_device device;
  recorder = &device;
  shared_memory = memory;
  answers = 0;
  call(recording_client(recording_client::port_client(memory, own, ports), 1024));
  // A call without an answer has waited for nothing.
  if (answers == 0) recording_target::record();
  // The client hands back what it has read.
  device.toggle();
  device.go_on();
  std::ofstream file(folder / name, std::ios::binary);
  file.write(reinterpret_cast<const char*>(device.bytes().data()), static_cast<std::streamsize>(device.bytes().size()));
  file.close();
  if (!file) {
    std::fprintf(stderr, "service_seeds: cannot write %s in %s\n", name, folder.c_str());
    std::exit(1);
  }
  std::printf("%s ", name);
  for (const uint8_t byte : device.bytes()) std::printf("%02x", unsigned{byte});
  std::printf("\n");
}

void write_seeds(const std::filesystem::path& folder) {
  constexpr rpc::file opened{3};
  char buffer[256] = {};
  uint64_t values[20] = {1, 2, 3};
  std::filesystem::create_directories(folder);
  write_seed(folder, "write", [&](const auto& at) { at.write(rpc::standard_output, buffer, 200); });
  write_seed(folder, "read", [&](const auto& at) { at.read(rpc::standard_input, buffer, 200); });
  write_seed(folder, "open", [&](const auto& at) { at.open("some.file", "w+"); });
  write_seed(folder, "open-outside", [&](const auto& at) { at.open("../some.file", "rb"); });
  write_seed(folder, "close", [&](const auto& at) { at.close(opened); });
  write_seed(folder, "seek", [&](const auto& at) { at.seek(opened, 100, rpc::seek_origin::here); });
  write_seed(folder, "flush", [&](const auto& at) { at.flush(rpc::standard_output); });
  write_seed(folder, "remove", [&](const auto& at) { at.remove("some.file"); });
  write_seed(folder, "rename", [&](const auto& at) { at.rename("some.file", "other.file"); });
  write_seed(folder, "print", [&](const auto& at) { at.print("%5d %-8.3s|%x %g %p\n", 7, "text", 255u, 1.5, buffer); });
  write_seed(folder, "print-wide", [&](const auto& at) { at.print("%*.*f%%", 20, 3, 2.5); });
  write_seed(folder, "post-write", [&](const auto& at) { at.post_write(rpc::standard_output, buffer, 20); });
  write_seed(folder, "post-print", [&](const auto& at) { at.post_print("%d\n", 7); });
  write_seed(folder, "post-call", [&](const auto& at) {
    at.template post_call<void(rpc::span<const char>, double)>(2, rpc::span<const char>{buffer, 3}, 1.0);
  });
  write_seed(folder, "exit", [&](const auto& at) { at.exit(3); });
  write_seed(folder, "abort", [&](const auto& at) { at.abort("for a reason"); });
  write_seed(folder, "allocate", [&](const auto& at) { at.allocate(100); });
  write_seed(folder, "free", [&](const auto& at) { at.free(nullptr); });
  write_seed(folder, "clock", [&](const auto& at) { at.clock(); });
  write_seed(folder, "environment", [&](const auto& at) { at.environment("HOME", buffer, sizeof buffer); });
  write_seed(folder, "call", [&](const auto& at) {
    at.template call<uint64_t(rpc::span<uint64_t>, const char*)>(1, rpc::span{values, 20}, "a text");
  });
  write_seed(folder, "call-of-null", [&](const auto& at) {
    at.template call<uint64_t(rpc::span<uint64_t>, const char*)>(1, rpc::span<uint64_t>{}, nullptr);
  });
  write_seed(folder, "call-of-values", [&](const auto& at) {
    at.template call<void(rpc::span<const char>, double)>(2, rpc::span<const char>{buffer, 3}, 1.0);
  });
}

}  // namespace
}  // namespace heddle::tests

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: service_seeds FOLDER\n");
    return 2;
  }
  heddle::tests::write_seeds(arguments[1]);
  return 0;
}
