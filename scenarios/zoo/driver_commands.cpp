// Faults of a driver that executes commands, beside what its queues and devices do. Smallest: as the defaults have them.
//
// driver-late-flush: a flush of caches counts as over when the driver has sent it, and the copy behind it may be first. driver-one-flag: MGPUSim
// has one mark per context, "L2 is dirty" (driver.go, defaultmemorycopymiddleware.go), which a flush takes off when it is enqueued; a copy in
// another queue then goes without one, before that flush has happened. driver-own-flush: a flush is of the queue's own device, and a copy brings
// back what another device has in its cache. driver-early-end: a launch counts as over when its last work-group has begun. driver-lost-signal:
// the driver has found nothing to do, and a thread that enqueues a command finds it there still. driver-early-copy: a page moves to the device that
// uses it, and is copied when its old owner has been told to write its cache back and stand still, not when it has. driver-kept-translation: the
// old owner keeps its translation of the page, and goes on with the place where it was. From reading, all but the mark.
#include "../ports.h"
#include "zoo.h"

#include <memory>
#include <vector>

namespace heddle::tests {
namespace {

using scheduler::verdict;

/// Stores of the words that a copy loads: they race with nothing, whatever order the driver leaves out.
struct number_all {
  uint64_t* values;
  uint32_t count;
  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t n = target::block_id(); n < count; n += 2)
      shared_word<uint64_t>(values[n]).store(n + 1, memory_order::relaxed);
  }
};

constexpr launch_shape two_blocks = {.blocks = 2, .waves = 1, .lanes = 1};

void check_numbers(const uint64_t* seen, uint32_t count) {
  for (uint32_t n = 0; n < count; ++n)
    HEDDLE_CHECK(seen[n] == n + 1, "a copy has brought back what was there before the kernel, or while it ran");
}

/// A kernel writes on one device; what it has written is copied back in another queue, behind an event, by `copier`.
void run_copy_elsewhere(const parameters& set, device& writer, device& copier) {
  const uint32_t count = set.count("elements");
  auto* const there = writer.allocate_device<uint64_t>(count, "there");
  auto* const also_there = writer.allocate_device<uint64_t>(count, "also there");
  auto* const here = writer.allocate_shared<uint64_t>(count, "here");
  auto* const also_here = writer.allocate_shared<uint64_t>(count, "also here");
  const device::stream writes = writer.create_stream();
  const device::stream copies = copier.create_stream();
  const device::event written = writer.create_event();
  writer.launch(two_blocks, number_all{there, count}, writes);
  writer.launch(two_blocks, number_all{also_there, count}, writes);
  writer.record(written, writes);
  // This copy is the first that needs a flush, and its queue has it.
  if (&writer == &copier) writer.copy(here, there, count * sizeof(uint64_t), writes);
  copier.wait(copies, written);
  copier.copy(also_here, also_there, count * sizeof(uint64_t), copies);
  copier.synchronize(copies);
  check_numbers(also_here, count);
  writer.synchronize(writes);
  if (&writer == &copier) check_numbers(here, count);
}

void run_driver_one_flag(const parameters& set) {
  device on;
  run_copy_elsewhere(set, on, on);
}
void run_driver_own_flush(const parameters& set) {
  device first(0);
  device second(1);
  run_copy_elsewhere(set, second, first);
}

void run_numbers_copied_back(const parameters& set) {
  device on;
  const uint32_t count = set.count("elements");
  auto* const there = on.allocate_device<uint64_t>(count, "there");
  auto* const here = on.allocate_shared<uint64_t>(count, "here");
  const device::stream in = on.create_stream();
  on.launch(two_blocks, number_all{there, count}, in);
  on.copy(here, there, count * sizeof(uint64_t), in);
  on.synchronize(in);
  check_numbers(here, count);
}
void run_driver_late_flush(const parameters& set) { run_numbers_copied_back(set); }
void run_driver_early_end(const parameters& set) { run_numbers_copied_back(set); }

void run_driver_lost_signal(const parameters& set) {
  device on;
  const uint32_t count = set.count("elements");
  auto* const there = on.allocate_device<uint64_t>(count, "there");
  for (uint32_t n = 0; n < set.count("times"); ++n) {
    on.launch(two_blocks, number_all{there, count});
    on.synchronize();
  }
}

/// Numbers of one page, counted by two devices at a time, each its own half.
struct count_half {
  uint64_t* values;
  uint32_t count;
  uint32_t half;
  uint32_t times;
  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t time = 0; time < times; ++time)
      for (uint32_t n = 0; n < count; ++n)
        shared_word<uint64_t>(values[n + half * count]).fetch_add(n + 1, memory_order::relaxed);
  }
};

/// The page of one device moves to another one, while both write it.
void run_page_of_two_writers(const parameters& set) {
  device first(0);
  device second(1);
  const uint32_t count = set.count("elements");
  const uint32_t times = set.count("times");
  auto* const there = first.try_allocate_moving<uint64_t>(2 * size_t{count}, "there").value();
  auto* const here = first.allocate_shared<uint64_t>(2 * size_t{count}, "here");
  const std::vector<uint64_t> none(2 * size_t{count}, 0);
  first.copy(there, none.data(), none.size() * sizeof(uint64_t));
  first.launch({.blocks = 1, .waves = 1, .lanes = 1}, count_half{there, count, 0, times});
  second.launch({.blocks = 1, .waves = 1, .lanes = 1}, count_half{there, count, 1, times});
  first.synchronize();
  second.synchronize();
  HEDDLE_CHECK(first.page_of(there).value().device == 1, "the page is not on the device that has used it last");
  first.copy(here, there, none.size() * sizeof(uint64_t));
  for (uint32_t n = 0; n < 2 * count; ++n)
    HEDDLE_CHECK(here[n] == uint64_t{times} * (n % count + 1),
                 "what a device has counted was lost when its page moved");
}
void run_driver_early_copy(const parameters& set) { run_page_of_two_writers(set); }
void run_driver_kept_translation(const parameters& set) { run_page_of_two_writers(set); }

verdict driver_command_verdict(const parameters& set) {
  if (needs_all_turns(set) != verdict::ok || set.text("driver.fault") == "none") return needs_all_turns(set);
  if (set.text("driver.fault") == "lost-signal") return verdict::deadlock;
  return set.text("driver.fault") == "kept-translation" ? verdict::memory : verdict::assertion;
}

/// The machine's own settings, with the defaults of the entry: its twin is the same with a driver that has no fault.
std::vector<parameter> driver_command_parameters(const char* fault) {
  return {
      parameter::number("elements", 2, 2, 100000, "", "numbers that a kernel writes"),
      parameter::one_of("driver.detail", "queue", {"queue", "message"},
                        "what of the driver is stepped: the commands of its queues, or its messages too"),
      parameter::one_of("driver.fault", fault, {fault, "none"}, "what the driver has wrong"),
  };
}

std::vector<parameter> with_two_devices(std::vector<parameter> all) {
  all.push_back(parameter::number("driver.devices", 2, 2, 16, "", "how many GPUs the machine has"));
  return all;
}

std::vector<parameter> with_times(std::vector<parameter> all) {
  all.push_back(parameter::number("times", 2, 2, 1000, "", "times that a kernel is launched and waited for"));
  return all;
}

std::vector<parameter> with_writers(std::vector<parameter> all) {
  all.push_back(parameter::number("times", 2, 1, 1000, "", "times that each device counts its numbers up"));
  return with_two_devices(std::move(all));
}

/// Of a fault that only messages show which overtake each other.
std::vector<parameter> with_messages(std::vector<parameter> all) {
  for (parameter& each : all)
    if (each.key == "driver.detail")
      each = parameter::one_of("driver.detail", "message", {"message"}, "what of the driver is stepped: its messages");
  return all;
}

}  // namespace

HEDDLE_ZOO(run_driver_late_flush, {.name = "zoo.driver-late-flush",
                                   .summary = "a copy begins when the flush before it has been sent",
                                   .parameters = driver_command_parameters("late-flush"),
                                   .expected = driver_command_verdict});

HEDDLE_ZOO(run_driver_one_flag,
           {.name = "zoo.driver-one-flag",
            .summary = "one dirty mark for all queues: a flush that waits in one excuses a copy in another",
            .parameters = driver_command_parameters("one-flag"),
            .expected = driver_command_verdict});

HEDDLE_ZOO(run_driver_own_flush, {.name = "zoo.driver-own-flush",
                                  .summary = "the flush before a copy leaves out the caches of other devices",
                                  .parameters = with_two_devices(driver_command_parameters("own-flush")),
                                  .expected = driver_command_verdict});

HEDDLE_ZOO(run_driver_early_end, {.name = "zoo.driver-early-end",
                                  .summary = "a launch counts as over when its last work-group has begun",
                                  .parameters = driver_command_parameters("early-end"),
                                  .expected = driver_command_verdict});

HEDDLE_ZOO(run_driver_early_copy, {.name = "zoo.driver-early-copy",
                                   .summary = "a page is copied before the device that writes it stands still",
                                   .parameters = with_messages(with_writers(driver_command_parameters("early-copy"))),
                                   .expected = driver_command_verdict});

HEDDLE_ZOO(run_driver_kept_translation, {.name = "zoo.driver-kept-translation",
                                         .summary = "a device uses a page where it was before it moved",
                                         .parameters = with_writers(driver_command_parameters("kept-translation")),
                                         .expected = driver_command_verdict});

HEDDLE_ZOO(run_driver_lost_signal, {.name = "zoo.driver-lost-signal",
                                    .summary = "a driver that has found nothing to do still counts as awake",
                                    .parameters = with_times(driver_command_parameters("lost-signal")),
                                    .expected = driver_command_verdict});

}  // namespace heddle::tests
