// Memory of a device as its driver gives it and takes it back.
#include <memory>

#include "echo.h"
#include "ports.h"

namespace heddle::tests {

// A handler of host calls that frees memory while the kernel that has used it runs. A real runtime may wait then until the device is
// idle, which it never is; the simulated machine's driver waits or not as one likes (`driver`).
namespace {

using scheduler::verdict;

/// Reads a buffer of its own for each call, and has the host free it.
struct freeing_kernel {
  client_on<target> client;
  callers who;
  uint64_t* const* buffers;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      HEDDLE_CHECK(shared_word<uint64_t>(*buffers[id]).load(memory_order::relaxed) == 0, "memory is not zeroed");
      auto port = client.template open<echo_opcode>();
      port.send_and_recv([&](rpc::packet& to, uint32_t) { to.words[0] = id; }, [](rpc::packet&, uint32_t) {});
    }
  }
};

void run_handler_that_frees(const parameters& set) {
  device on;
  port_test test(on, set);
  const uint64_t requests = all_calls(set);
  auto* const buffers = on.allocate_shared<uint64_t*>(requests, "buffers");
  for (uint64_t n = 0; n < requests; ++n) buffers[n] = on.allocate_device<uint64_t>(1, "buffer");
  test.run(
      freeing_kernel{test.client(), test.who(), buffers},
      [&on, buffers](auto& port, const auto& account) {
        port.recv_and_send([&](rpc::packet& both, uint32_t) {
          account(both.words[0]);
          on.free(buffers[both.words[0]]);
        });
      },
      requests);
}

verdict handler_that_frees_verdict(const parameters& set) {
  const verdict sound = needs_fair_holders(set);
  return sound != verdict::ok || set.text("driver") == "free" ? sound : verdict::deadlock;
}

}  // namespace

HEDDLE_SCENARIO(run_handler_that_frees, {.name = "driver.free-in-handler",
                                         .summary = "handlers free memory while the kernel that has used it runs",
                                         .parameters = port_parameters(2, 1, 2, 2),
                                         .expected = handler_that_frees_verdict});

// More memory is asked for than the devices have. What is refused leaves everything as it was; what was given works; what is given back can be
// had again. Only the simulated machine's memory is as small as one likes (`driver.memory_kib`).
namespace {

constexpr uint64_t page_bytes = 4096;

struct mark_pages {
  uint32_t* const* pages;
  uint32_t count;
  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t n = 0; n < count; ++n) *pages[n] = n + 1;
  }
};

/// Takes page after page until the device refuses one, which must be when it has none left.
std::vector<uint32_t*> take_all(device& on) {
  std::vector<uint32_t*> pages;
  while (true) {
    const uint64_t before = on.memory().free_bytes;
    auto made = on.try_allocate_device<uint32_t>(page_bytes / sizeof(uint32_t), "page");
    HEDDLE_CHECK(bool(made) == (before >= page_bytes), "a page is refused that is free, or given that is not");
    HEDDLE_CHECK(on.memory().free_bytes == before - (made ? page_bytes : 0), "memory is not accounted for");
    if (!made) return pages;
    pages.push_back(made.value());
  }
}

void run_oversubscription(const parameters&) {
  device first(0);
  device second(1);
  const uint32_t both[] = {0, 1};
  const std::unique_ptr<device> unified = std::move(device::open_unified(both).value());
  const uint64_t total = first.memory().total_bytes;
  HEDDLE_CHECK(unified->memory().total_bytes == 2 * total, "a unified device has not the memory of both");

  const std::vector<uint32_t*> pages = take_all(first);
  HEDDLE_CHECK(pages.size() == total / page_bytes && second.memory().free_bytes == total,
               "pages are of the wrong device");
  // One of the two has no room for its half.
  HEDDLE_CHECK(!unified->try_allocate_device<uint32_t>(2 * page_bytes / sizeof(uint32_t), "two pages"),
               "a unified device gives more than one of its GPUs has");
  HEDDLE_CHECK(second.memory().free_bytes == total, "what was refused has been given in part");

  // All of it works, beside each other.
  auto** const known = first.allocate_shared<uint32_t*>(pages.size(), "addresses of the pages");
  for (size_t n = 0; n < pages.size(); ++n) known[n] = pages[n];
  first.launch({}, mark_pages{known, static_cast<uint32_t>(pages.size())});
  first.synchronize();
  for (uint32_t n = 0; n < pages.size(); ++n) {
    uint32_t seen = 0;
    first.copy(&seen, pages[n], sizeof seen);
    HEDDLE_CHECK(seen == n + 1, "two pages are one");
  }

  first.free(pages.front());
  auto* const halves = unified->try_allocate_device<uint32_t>(2 * page_bytes / sizeof(uint32_t), "two pages").value();
  HEDDLE_CHECK(first.memory().free_bytes == 0 && second.memory().free_bytes == total - page_bytes,
               "the pages of a unified device are not dealt out evenly");
  unified->free(halves);
  HEDDLE_CHECK(take_all(first).size() == 1, "a page that was given back cannot be had again");
}

}  // namespace

HEDDLE_SCENARIO(run_oversubscription,
                {.name = "driver.oversubscription",
                 .summary = "more memory is asked for than the devices have",
                 .parameters = {parameter::number("driver.devices", 2, 2, 16, "", "how many GPUs the machine has"),
                                parameter::number("driver.memory_kib", 12, 8, 1024, "KiB",
                                                  "memory of each GPU, in pages of 4 KiB")},
                 .expected = needs_all_turns});

}  // namespace heddle::tests
