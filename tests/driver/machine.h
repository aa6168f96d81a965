// A driver with GPUs and a listener, for tests.
#pragma once

#include <gtest/gtest.h>
#include <heddle/driver/gpu_driver.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace heddle::driver::tests {

/// Executes work-groups by a function.
class runner final : public work_group_runner {
 public:
  using body = std::function<execution(const work_group&, group_memory_port&)>;
  execution execute(const work_group& group, group_memory_port& memory) override {
    executed.push_back(group);
    return what ? what(group, memory) : execution{};
  }
  body what;
  std::vector<work_group> executed;
};

class listener final : public trace_listener {
 public:
  void record(const trace_record& what) override { records.push_back(what); }
  size_t count(trace_kind kind, command_kind what) const {
    size_t found = 0;
    for (const trace_record& each : records) found += each.kind == kind && each.what == what && each.request == 0;
    return found;
  }
  std::vector<command_kind> ended() const {
    std::vector<command_kind> all;
    for (const trace_record& each : records)
      if (each.kind == trace_kind::command_ends) all.push_back(each.what);
    return all;
  }
  std::vector<trace_record> of(trace_kind kind) const {
    std::vector<trace_record> all;
    for (const trace_record& each : records)
      if (each.kind == kind) all.push_back(each);
    return all;
  }
  std::vector<trace_record> records;
};

inline constexpr uint64_t page_bytes = 4096;

inline driver_settings small() { return {.cpu_bytes = 64 * page_bytes, .compute_units = 4, .groups_per_unit = 2}; }

/// GPUs 1, 2, ... of so many pages each, and one context.
class machine {
 public:
  explicit machine(const std::vector<uint64_t>& gpu_pages = {64}, const driver_settings& settings = small())
      : driver(settings, &kernels) {
    for (const uint64_t pages : gpu_pages) driver.register_gpu(pages * page_bytes).value();
    driver.set_listener(&trace);
    context = driver.contexts().create_context();
    process = driver.contexts().process_of(context).value();
  }

  /// Where the pages of a buffer are.
  std::vector<device_id> owners(uint64_t address, uint64_t pages) const {
    std::vector<device_id> all;
    for (uint64_t n = 0; n < pages; ++n)
      all.push_back(driver.allocator().pages().find(process, address + n * page_bytes)->entry.device);
    return all;
  }
  const page& entry(uint64_t address) const { return driver.allocator().pages().find(process, address)->entry; }
  uint64_t free_pages(device_id device) const { return driver.allocator().physical().free_pages(device); }

  device_id unified(std::vector<device_id> gpus) { return driver.create_unified_device(context, gpus).value(); }
  void select(device_id device) { driver.contexts().select_device(context, device).value(); }
  queue_id queue() { return driver.queues().create_queue(context).value(); }

  runner kernels;
  listener trace;
  gpu_driver driver;
  context_id context = 0;
  process_id process = 0;
};

inline std::vector<std::byte> pattern(size_t bytes, unsigned seed = 1) {
  std::vector<std::byte> made(bytes);
  for (size_t n = 0; n < bytes; ++n) made[n] = static_cast<std::byte>((n * 31 + size_t{seed} * 17 + n / 251) & 0xff);
  return made;
}

inline const std::vector<std::byte> some_code = pattern(40, 9);

/// A launch of a grid without arguments.
inline kernel_launch a_launch(extent grid = {64, 1, 1}, extent group = {64, 1, 1}) {
  return {.code = some_code, .grid = grid, .group = group};
}

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <typename T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

/// Whether it is an error of this name, whose line holds all these words.
template <typename T>
testing::AssertionResult fails(const result<T>& said, const std::string& name,
                               const std::vector<std::string>& words = {}) {
  if (said) return testing::AssertionFailure() << "it succeeded";
  if (said.why().name != name) return testing::AssertionFailure() << said.why().line();
  for (const std::string& each : words)
    if (said.why().line().find(each) == std::string::npos)
      return testing::AssertionFailure() << said.why().line() << " does not say " << each;
  return testing::AssertionSuccess();
}
template <typename T>
testing::AssertionResult works(const result<T>& said) {
  if (said) return testing::AssertionSuccess();
  return testing::AssertionFailure() << said.why().line();
}

}  // namespace heddle::driver::tests
