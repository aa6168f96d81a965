// The list of devices, each with a buffer, is changed by a thread that destroys one, while the server thread scans it. Smallest: 2 host
// threads, 2 devices.
//
// LLVM #126790. Where races are looked for it is one; else the server is seen to look into a buffer that has been freed. The twin scans and
// changes under a mutex.
#include "../ports.h"
#include "zoo.h"

#include <mutex>

namespace heddle::tests {
namespace {

using scheduler::verdict;

/// What the server knows of the devices. The list lies in memory of the device, which is watched.
struct device_list {
  static constexpr uint32_t most = 8;
  uint32_t count;
  uint32_t* buffers[most];  ///< a word that says how many requests there are
};

std::mutex& device_list_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// The mutex, or nothing.
class maybe_locked {
 public:
  explicit maybe_locked(bool locks) {
    if (locks) held_ = std::unique_lock<std::mutex>(device_list_mutex());
  }

 private:
  std::unique_lock<std::mutex> held_;
};

void run_changed_list(const parameters& set) {
  device on;
  const bool locks = zoo::is_fixed(set);
  auto* const list = on.allocate_shared<device_list>(1, "devices");
  auto* const stop = on.allocate_shared<uint32_t>(1, "stop flag");
  list->count = set.count("devices");
  for (uint32_t n = 0; n < list->count; ++n) list->buffers[n] = on.allocate_shared<uint32_t>(1, "buffer of a device");
  auto serving = on.spawn_host("server", [=, passes = set.count("passes")] {
    for (uint32_t pass = 0; pass < passes; ++pass) {
      // Acquire pairs with main's release.
      if (shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0) return;
      const maybe_locked held(locks);
      for (uint32_t n = 0; n < list->count; ++n) shared_word<uint32_t>(*list->buffers[n]).load(memory_order::acquire);
    }
  });
  // The last device goes.
  {
    uint32_t* gone = nullptr;
    {
      const maybe_locked held(locks);
      gone = list->buffers[list->count - 1];
      --list->count;
    }
    on.free(gone);
  }
  shared_word<uint32_t>(*stop).store(1, memory_order::release);
  serving.join();
}

verdict changed_list_verdict(const parameters& set) {
  if (zoo::is_fixed(set)) return verdict::ok;
  return !set.has("fidelity") || set.text("fidelity") == "scoped" ? verdict::race : verdict::memory;
}

}  // namespace

HEDDLE_ZOO(run_changed_list,
           {.name = "zoo.array-changed-under-scan",
            .summary = "a device is destroyed while the server goes through the list of them",
            .parameters = zoo::with_twin({
                parameter::number("devices", 2, 1, device_list::most, "", "devices, of which the last is destroyed"),
                parameter::number("passes", 3, 1, 1000, "", "times that the server goes through the list"),
            }),
            .expected = changed_list_verdict});

}  // namespace heddle::tests
