#include <heddle/driver/settings.h>
#include <heddle/sim/settings/timed.h>

#include <utility>

namespace heddle::sim {

std::vector<parameter> time_parameters() {
  constexpr int64_t longest_ns = 1'000'000'000;
  std::vector<parameter> all;
  for (parameter& each : driver::driver_parameters())
    if (each.key == "driver.copy_ns" || each.key == "driver.copy_byte_ps") all.push_back(std::move(each));
  // A dependent load of HBM on an MI210, as reported (AMD-AGI/TraceLens issue 964).
  all.push_back(parameter::number("memory.device_ns", 320, 0, longest_ns, "ns",
                                  "a load or read-modify-write of a device in its own memory, in reported latencies"));
  all.push_back(
      parameter::number("memory.host_ns", 0, 0, longest_ns, "ns", "the same of the host in its own; not published"));
  all.push_back(
      parameter::number("doorbells.wake_ns", 0, 0, longest_ns, "ns",
                        "a ring, or the end of a sleep's time, until the thread that slept goes on, in reported "
                        "latencies; not published"));
  return all;
}

time_settings time_settings::from(const parameters& values) {
  constexpr uint64_t ps_per_ns = 1000;
  const auto time = [&](const char* key) { return ps_per_ns * static_cast<uint64_t>(values.number(key)); };
  time_settings read;
  read.posted = time("link.posted_ns");
  read.read = time("link.read_ns");
  read.fence = time("link.fence_ns");
  read.launch = time("link.launch_ns");
  read.copy = time("driver.copy_ns");
  read.copy_byte = static_cast<uint64_t>(values.number("driver.copy_byte_ps"));
  read.device_memory = time("memory.device_ns");
  read.host_memory = time("memory.host_ns");
  read.wake = time("doorbells.wake_ns");
  read.drains = values.text("link.drain") == "on";
  read.heavy = values.text("link.latency") == "heavy";
  read.shared_on_device = values.text("buffer") == "device";
  return read;
}

}  // namespace heddle::sim
