// A kernel that writes a file of its host, reads it back, and calls a function of its host. The same file is built for the simulator, for
// host threads, for CUDA and for HIP:
//   build/examples/files_sim fuzz --schedules 100     build/examples/files_host     files_cuda     files_hip
#include <heddle/rpc/service/service.h>
#include <heddle/tools/scenario.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace rpc = heddle::rpc;

constexpr uint32_t numbers = 20;  // 160 bytes: more than one packet

struct files_kernel {  // copied to the device; runs once per lane
  rpc::service_client host;

  HEDDLE_FUNCTION void operator()() const {
    // A file for each lane: "0_0.dat".
    char name[] = "0_0.dat";
    name[0] = static_cast<char>('0' + heddle::target::wave_id() % 10);
    name[2] = static_cast<char>('0' + heddle::target::lane_id() % 10);

    uint64_t written[numbers];
    for (uint32_t n = 0; n < numbers; ++n) written[n] = n * n + heddle::target::lane_id();
    const rpc::file file{must(host.open(name, "w+"))};
    must(host.write(file, written, sizeof written));
    must(host.seek(file, 0, rpc::seek_origin::start));

    uint64_t read[numbers] = {};
    const uint64_t bytes = must(host.read(file, read, sizeof read));
    HEDDLE_CHECK(bytes == sizeof read, "the file is shorter than what was written");
    for (uint32_t n = 0; n < numbers; ++n) HEDDLE_CHECK(read[n] == written[n], "the file holds something else");
    must(host.close(file));
    must(host.remove(name));

    const auto sum = host.call<uint64_t(rpc::span<const uint64_t>)>(rpc::named("sum"), rpc::span{read, numbers});
    HEDDLE_CHECK(sum.ok() && sum.result == 2470 + numbers * heddle::target::lane_id(), "the host adds otherwise");
    must(host.print("%s: %u bytes, sum %u\n", name, static_cast<uint32_t>(bytes), sum.result));
  }

  HEDDLE_FUNCTION static uint64_t must(const rpc::service_answer& answer) {
    HEDDLE_CHECK(answer.ok(), "the host could not do what it was asked for");
    return answer.value;
  }
};

struct sum_of {
  uint64_t operator()(rpc::span<const uint64_t> values) const {
    uint64_t sum = 0;
    for (uint64_t n = 0; n < values.count; ++n) sum += values.data[n];
    return sum;
  }
};

void files(const heddle::parameters& set) {
  std::string directory = (std::filesystem::temp_directory_path() / "heddle-files-XXXXXX").string();
  HEDDLE_CHECK(mkdtemp(directory.data()) != nullptr, "no temporary directory can be made");

  heddle::device device;
  {
    rpc::service host(device, {.ports = 4, .servers = set.count("servers"), .polls = 4}, {.directory = directory});
    host.add<uint64_t(rpc::span<const uint64_t>)>("sum", sum_of{}).value();
    host.start();
    device.launch({.waves = set.count("waves"), .lanes = 2}, files_kernel{host.client()});
    device.synchronize();
  }  // stops, and waits for the threads
  // Empty: each lane has removed its file.
  HEDDLE_CHECK(std::filesystem::remove(directory), "a file was left behind");
}

HEDDLE_SCENARIO(files, {.name = "files",
                        .summary = "a kernel that writes a file of its host and reads it back",
                        .parameters = {heddle::parameter::number("waves", 2, 1, 10, "", "waves that write"),
                                       heddle::parameter::number("servers", 2, 1, 64, "", "host threads that serve")}});
