// The same program on one device, on several, and on one that unifies several; ports of each queue of each device; and what a copy brings back of
// a kernel's results.
#include "echo.h"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace heddle::tests {
namespace {

using scheduler::verdict;

HEDDLE_FUNCTION constexpr uint32_t element_of(uint32_t n) { return 3 * n + 1; }

// -- one, several, unified ------------------------------------------------------------------------------------------------------------

/// Each block does every `blocks`-th element.
struct square_part {
  uint32_t* values;
  uint32_t count;
  uint32_t blocks;
  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t n = target::block_id(); n < count; n += blocks) values[n] = values[n] * values[n];
  }
};
struct add_neighbour {
  const uint32_t* from;
  uint32_t* to;
  uint32_t count;
  uint32_t blocks;
  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t n = target::block_id(); n < count; n += blocks) to[n] = from[n] + from[(n + 1) % count];
  }
};

/// What one device does of the whole.
struct device_part {
  device* on;
  uint32_t first;
  uint32_t count;
  uint32_t* values;
};

/// Opens the devices that take part: `over` of them, or as many as there are; one that unifies them, where there is such a thing.
std::vector<std::unique_ptr<device>> devices_of(const parameters& set) {
  const uint32_t over = set.count("over") < device::count() ? set.count("over") : device::count();
  std::vector<std::unique_ptr<device>> opened;
  if (set.text("as") == "one") {
    std::vector<uint32_t> indices;
    for (uint32_t n = 0; n < over; ++n) indices.push_back(n);
    if (auto unified = device::open_unified(indices)) {
      opened.push_back(std::move(unified.value()));
      return opened;
    } else {
      // A real machine has none, and says so.
      HEDDLE_CHECK(!set.has("fidelity") && !unified.why().line().empty(), "GPUs cannot be unified");
    }
  }
  for (uint32_t n = 0; n < over; ++n) opened.push_back(std::move(device::open(n).value()));
  return opened;
}

/// Numbers are dealt to the devices and squared there; the first device gathers the squares from the memory of the others, and adds to each
/// its neighbour.
void run_devices(const parameters& set) {
  const std::vector<std::unique_ptr<device>> devices = devices_of(set);
  device& main = *devices.front();
  const uint32_t count = set.count("elements");
  const uint32_t blocks = set.count("blocks");
  auto* const numbers = main.allocate_shared<uint32_t>(count, "numbers");
  auto* const sums = main.allocate_shared<uint32_t>(count, "sums");
  auto* const gathered = main.allocate_device<uint32_t>(count, "squares of all");
  auto* const added = main.allocate_device<uint32_t>(count, "sums on the device");
  for (uint32_t n = 0; n < count; ++n) numbers[n] = element_of(n);

  std::vector<device_part> parts;
  const auto among = static_cast<uint32_t>(devices.size());
  for (uint32_t n = 0; n < among; ++n) {
    const uint32_t first = static_cast<uint32_t>(uint64_t{count} * n / among);
    const uint32_t mine = static_cast<uint32_t>(uint64_t{count} * (n + 1) / among) - first;
    if (mine == 0) continue;
    device& on = *devices[n];
    parts.push_back({&on, first, mine, on.allocate_device<uint32_t>(mine, "part of the squares")});
  }
  const device::stream gathers = main.create_stream();
  for (const device_part& part : parts) {
    const device::stream in = part.on->create_stream();
    const device::event squared = part.on->create_event();
    part.on->copy(part.values, numbers + part.first, part.count * sizeof(uint32_t), in);
    part.on->launch({.blocks = blocks, .waves = 1, .lanes = 1}, square_part{part.values, part.count, blocks}, in);
    part.on->record(squared, in);
    main.wait(gathers, squared);
    main.copy(gathered + part.first, part.values, part.count * sizeof(uint32_t), gathers);
  }
  main.launch({.blocks = blocks, .waves = 1, .lanes = 1}, add_neighbour{gathered, added, count, blocks}, gathers);
  main.copy(sums, added, count * sizeof(uint32_t), gathers);
  for (const auto& each : devices) each->synchronize();
  for (uint32_t n = 0; n < count; ++n) {
    const uint32_t own = element_of(n);
    const uint32_t neighbour = element_of((n + 1) % count);
    HEDDLE_CHECK(sums[n] == own * own + neighbour * neighbour, "an element is not what one device makes of it");
  }
}

void run_unified_devices(const parameters& set) { run_devices(set); }

std::vector<parameter> devices_parameters(const char* as, int64_t over) {
  return {
      parameter::number("elements", 4, 1, 100000, "", "numbers that are dealt to the devices"),
      parameter::number("blocks", 2, 1, 1024, "", "blocks of each kernel"),
      parameter::number("over", over, 1, 16, "", "devices that take part, where there are as many"),
      parameter::one_of("as", as, {"several", "one"}, "each by itself, or one device that unifies them"),
      // The machine's own default is one.
      parameter::number("driver.devices", 4, 1, 16, "", "how many GPUs the machine has"),
  };
}

// -- an instance for each device and queue ----------------------------------------------------------------------------------------------------

/// Ports of one queue of one device. (hostrpc: "Instantiation is per host-gpu pair, and per hsa queue on the gpu.")
struct instance {
  device* on;
  device::stream queue;
  port_test ports;
  uint32_t*
      next;  ///< the next request's number; of all lanes, as a wave's own number depends on what else its device runs

  instance(device& of, const port_counts& counts)
      : on(&of), queue(of.create_stream()), ports(of, counts), next(of.allocate_device<uint32_t>(1, "next request")) {}
};
constexpr uint32_t most_over = 4;
constexpr uint32_t most_queues = 4;

struct instance_kernel {
  rpc::client client;
  uint32_t* next;
  uint32_t calls;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < calls; ++call) {
      // Relaxed: a number, which orders nothing.
      const uint64_t id = target::atomic_ref<uint32_t, scope::device>(*next).fetch_add(1, memory_order::relaxed);
      uint64_t answer = 0;
      auto port = client.open<echo_opcode>();
      port.send_and_recv([&](rpc::packet& to, uint32_t) { to.words[0] = id; },
                         [&](rpc::packet& from, uint32_t) { answer = from.words[0]; });
      HEDDLE_CHECK(answer == changed(id), "the answer is not the one to this lane's request");
    }
  }
};

/// Kernels of all queues of all devices call at the same time, each over ports of its own, which host threads of their own serve.
void run_instances(const parameters& set) {
  const std::vector<std::unique_ptr<device>> devices = devices_of(set);
  const port_counts counts(set);
  // On the stack, which is memory that the simulator knows.
  std::array<std::optional<instance>, most_over * most_queues> all;
  uint32_t instances = 0;
  for (const auto& on : devices)
    for (uint32_t queue = 0; queue < set.count("queues"); ++queue) all[instances++].emplace(*on, counts);
  uint32_t& stop = all.front()->ports.stop_word();
  device& main = *devices.front();
  std::vector<decltype(main.spawn_host("server", [] {}))> servers;
  for (uint32_t n = 0; n < instances; ++n)
    for (uint32_t thread = 0; thread < counts.servers; ++thread)
      servers.push_back(main.spawn_host(
          "server", [server = all[n]->ports.server(thread), account = all[n]->ports.requests(), &stop]() mutable {
            while (true) {
              // Read before the look for work: what was sent before the flag was set is then found.
              const bool last = shared_word<uint32_t>(stop).load(memory_order::acquire) != 0;
              if (auto port = server.try_open()) {
                port.recv_and_send([&](rpc::packet& both, uint32_t) {
                  account(both.words[0]);
                  both.words[0] = changed(both.words[0]);
                });
                continue;
              }
              if (last) return;
              target::pause();
            }
          }));
  for (uint32_t n = 0; n < instances; ++n)
    all[n]->on->launch({.blocks = 1, .waves = counts.waves, .lanes = counts.lanes},
                       instance_kernel{all[n]->ports.client(), all[n]->next, counts.calls}, all[n]->queue);
  for (const auto& on : devices) on->synchronize();
  // Release pairs with the acquire in the servers' loops.
  shared_word<uint32_t>(stop).store(1, memory_order::release);
  for (auto& server : servers) server.join();
  for (uint32_t n = 0; n < instances; ++n) all[n]->ports.check(counts.requests());
}

std::vector<parameter> instances_parameters() {
  std::vector<parameter> all = port_parameters(2, 1, 2, 2);
  all.push_back(parameter::number("queues", 2, 1, most_queues, "", "queues of each device, with ports of their own"));
  all.push_back(parameter::number("over", 2, 1, most_over, "", "devices that take part, where there are as many"));
  all.push_back(
      parameter::one_of("as", "several", {"several", "one"}, "each by itself, or one device that unifies them"));
  // The machine's own default is one.
  all.push_back(parameter::number("driver.devices", 2, 1, 16, "", "how many GPUs the machine has"));
  return all;
}

// -- what a copy brings back ---------------------------------------------------------------------------------------------------------

/// A kernel writes, and what it wrote is copied back: in its stream, and by a call that waits.
void run_copy_back(const parameters& set) {
  device on;
  const uint32_t count = set.count("elements");
  auto* const there = on.allocate_device<uint32_t>(count, "there");
  auto* const here = on.allocate_shared<uint32_t>(count, "here");
  std::vector<uint32_t> seen(count);
  const device::stream in = on.create_stream();
  for (uint32_t n = 0; n < count; ++n) here[n] = n;
  on.copy(there, here, count * sizeof(uint32_t), in);
  on.launch({.blocks = 2, .waves = 1, .lanes = 1}, square_part{there, count, 2}, in);
  on.copy(here, there, count * sizeof(uint32_t), in);
  on.synchronize(in);
  on.copy(seen.data(), there, count * sizeof(uint32_t));
  for (uint32_t n = 0; n < count; ++n)
    HEDDLE_CHECK(here[n] == n * n && seen[n] == n * n, "a copy has brought back what was there before the kernel");
}

verdict copy_back_verdict(const parameters& set) {
  if (needs_all_turns(set) != verdict::ok) return needs_all_turns(set);
  return set.has("driver.flush") && set.text("driver.flush") == "off" ? verdict::assertion : verdict::ok;
}

}  // namespace

HEDDLE_SCENARIO(run_devices, {.name = "driver.several-devices",
                              .summary = "one program on several devices, with copies from one to another",
                              .parameters = devices_parameters("several", 2),
                              .expected = needs_all_turns});

HEDDLE_SCENARIO(run_instances, {.name = "driver.instances",
                                .summary = "ports for each queue of each device, with host threads that serve them",
                                .parameters = instances_parameters(),
                                .expected = needs_fair_holders});

HEDDLE_SCENARIO(run_unified_devices, {.name = "driver.unified-device",
                                      .summary = "the same program on one device that unifies several",
                                      .parameters = devices_parameters("one", 4),
                                      .expected = needs_all_turns});

HEDDLE_SCENARIO(run_copy_back,
                {.name = "driver.copy-back",
                 .summary = "a kernel's results are copied back: never what was there before",
                 .parameters = {parameter::number("elements", 3, 3, 100000, "", "numbers that the kernel squares")},
                 .expected = copy_back_verdict});

}  // namespace heddle::tests
