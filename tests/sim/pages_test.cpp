// Page tables as a program sees them: processes whose memory is their own, and pages that move.
#include <vector>

#include "run.h"

namespace heddle::sim::tests {
namespace {

constexpr uint64_t many = 100;
constexpr size_t page_words = 1024;
const std::vector<std::string> fidelities = {"fidelity=interleaving", "fidelity=link", "fidelity=scoped"};

TEST(processes, have_equal_addresses_in_every_run) {
  machine on;
  std::vector<uint64_t> addresses;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const outcome ended = on.run(
        [&addresses] {
          device first;
          first.allocate_device<uint32_t>(page_words * 3, "of the program itself");
          const auto one = std::move(device::open_process(0).value());
          const auto two = std::move(device::open_process(0).value());
          const auto at_one = one->page_of(one->allocate_device<uint32_t>(3, "one") + 1).value();
          const auto at_two = two->page_of(two->allocate_device<uint32_t>(3, "two") + 1).value();
          SIM_CHECK(at_one.virtual_address == at_two.virtual_address);
          SIM_CHECK(at_one.physical_address != at_two.physical_address);
          addresses.push_back(at_one.virtual_address);
          addresses.push_back(at_one.physical_address);
        },
        seed);
    EXPECT_EQ(ended.verdict, verdict::ok) << ended.message;
  }
  ASSERT_EQ(addresses.size(), 6U);
  EXPECT_EQ(addresses[0], addresses[4]);
  EXPECT_EQ(addresses[1], addresses[5]);
}

TEST(processes, are_gone_in_the_next_run) {
  // Of one machine, with as many devices as there were processes.
  simulation on;
  parameters set(machine_parameters());
  std::string wrong;
  const auto deciding = scheduler::make_strategy("random", wrong);
  scheduler::choice_source choices;
  const auto run = [&](const char* devices, const program& body) {
    EXPECT_FALSE(set.set(devices));
    choices.begin(*deciding, 1);
    const outcome ended = on.run(set, body, choices, false);
    EXPECT_EQ(ended.verdict, verdict::ok) << ended.message;
  };
  run("driver.devices=1", [] {
    const auto one = std::move(device::open_process(0).value());
    const auto two = std::move(device::open_process(0).value());
  });
  run("driver.devices=3", [] {
    device first(0);
    device last(2);
    auto* const memory = last.allocate_device<uint32_t>(1, "memory");
    first.launch({}, [memory] { *memory = 1; });
    first.synchronize();
  });
}

TEST(processes, are_refused_where_there_is_no_gpu) {
  const outcome ended = machine().run([] {
    const auto missing = device::open_process(1);
    SIM_CHECK(!missing && missing.why().name == "no such device");
  });
  EXPECT_EQ(ended.verdict, verdict::ok) << ended.message;
}

enum class access : uint8_t { load, store, atomic, freed, copied, copied_in_stream };

/// What `from` does with what another process, or its own one, has allocated.
template <typename Device>
void use(Device& from, access what, uint32_t* memory) {
  auto* const shared = from.template allocate_shared<uint32_t>(4, "shared");
  const device::stream in = from.create_stream();
  switch (what) {
    case access::load:
      from.launch({}, [=] { *shared = *memory; });
      break;
    case access::store:
      from.launch({}, [=] { memory[3] = 1; });
      break;
    case access::atomic:
      from.launch({}, [=] { word<uint32_t>(*memory).fetch_add(1, memory_order::relaxed); });
      break;
    case access::freed:
      from.free(memory);
      break;
    case access::copied:
      from.copy(shared, memory, 4);
      break;
    case access::copied_in_stream:
      from.copy(memory, shared, 4, in);
      break;
  }
  from.synchronize();
}

program uses(access what, bool owner_is_process, bool user_is_process) {
  return [=] {
    device own;
    const auto process = std::move(device::open_process(0).value());
    auto* const memory =
        owner_is_process ? process->allocate_device<uint32_t>(4, "memory") : own.allocate_device<uint32_t>(4, "memory");
    user_is_process ? use(*process, what, memory) : use(own, what, memory);
  };
}

TEST(processes, reach_nothing_that_another_one_has_allocated) {
  for (const std::string& fidelity : fidelities) {
    machine on({fidelity});
    for (const access what :
         {access::load, access::store, access::atomic, access::freed, access::copied, access::copied_in_stream})
      for (const bool owner : {false, true}) {
        EXPECT_TRUE(always(verdict::ok, on.run_many(uses(what, owner, owner), 5)));
        const outcome ended = on.run(uses(what, owner, !owner));
        EXPECT_EQ(ended.verdict, verdict::memory) << static_cast<int>(what);
        EXPECT_TRUE(says(ended.message, "memory fault"));
        EXPECT_TRUE(says(ended.message, owner ? "the memory is that of process 1" : "process 1 has nothing there"));
      }
  }
}

/// One device writes, `waves` of the other read at a time.
program moves(uint32_t waves) {
  return [=] {
    device first(0);
    device second(1);
    auto* const memory = first.try_allocate_moving<uint32_t>(2 * page_words, "memory").value();
    first.launch({}, [=] { memory[0] = memory[page_words] = 5; });
    first.synchronize();
    second.launch({.blocks = waves, .waves = 1, .lanes = 1}, [=] { SIM_CHECK(memory[0] == 5); });
    second.synchronize();
    SIM_CHECK(first.page_of(memory).value().device == 1 && first.page_of(memory + page_words).value().device == 0);
    SIM_CHECK(memory[page_words] == 5);
  };
}

TEST(pages, move_with_what_a_kernel_has_written) {
  for (const std::string& fidelity : fidelities)
    for (const uint32_t waves : {1U, 3U}) {
      EXPECT_TRUE(always(verdict::ok, machine({fidelity, "driver.devices=2"}).run_many(moves(waves), many)));
      // One lane alone: several that read while a page is being written again would be a race of the driver's own.
      if (waves == 1) {
        EXPECT_TRUE(always(verdict::assertion,
                           machine({fidelity, "driver.devices=2", "driver.flush=off"}).run_many(moves(waves), many)));
      }
    }
}

TEST(pages, stay_where_the_other_device_has_no_room) {
  const auto full = [] {
    device first(0);
    device second(1);
    second.allocate_device<uint32_t>(page_words, "all of the second");
    auto* const memory = first.try_allocate_moving<uint32_t>(page_words, "memory").value();
    SIM_CHECK(!first.try_allocate_moving<uint32_t>(1, "too much"));
    first.launch({}, [=] { *memory = 5; });
    first.synchronize();
    second.launch({}, [=] { SIM_CHECK(*memory == 5); });
    second.synchronize();
    SIM_CHECK(first.page_of(memory).value().device == 0);
  };
  EXPECT_TRUE(always(verdict::ok, machine({"driver.devices=2", "driver.memory_kib=4"}).run_many(full, 20)));
}

TEST(pages, are_told_of_memory_of_devices_alone) {
  const outcome ended = machine().run([] {
    device on;
    auto* const memory = on.allocate_device<uint32_t>(1, "memory");
    SIM_CHECK(on.page_of(memory) && !on.page_of(memory + 1) && !on.page_of(nullptr));
    SIM_CHECK(!on.page_of(on.allocate_shared<uint32_t>(1, "shared")));
    const uint64_t address = on.page_of(memory).value().virtual_address;
    SIM_CHECK(on.at(address).value() == memory && !on.at(address + 4) && !on.at(0));
    on.free(memory);
    SIM_CHECK(!on.page_of(memory) && !on.at(address));
  });
  EXPECT_EQ(ended.verdict, verdict::ok) << ended.message;
}

}  // namespace
}  // namespace heddle::sim::tests
