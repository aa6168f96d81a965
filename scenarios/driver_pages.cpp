// Page tables as a program sees them: two processes on one device that must not see each other's pages, and pages that move to the device that
// uses them. And a middleware of the program's own in the driver, which decides among other things whether they move.
#include "ports.h"

#include <heddle/driver/middleware.h>

#include <memory>

namespace heddle::tests {
namespace {

using scheduler::verdict;

struct fill_from {
  uint32_t* values;
  uint32_t count;
  uint32_t first;
  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t n = 0; n < count; ++n) values[n] = first + n;
  }
};

// -- two processes ----------------------------------------------------------------------------------------------------------------

/// What one process has on the device.
struct process_part {
  std::unique_ptr<sim::process_device> on;
  uint32_t* values = nullptr;
  device_page at = {};
  uint32_t first = 0;
};

process_part make_part(uint32_t count, uint32_t first) {
  process_part made;
  made.on = std::move(device::open_process(0).value());
  made.values = made.on->allocate_device<uint32_t>(count, "values");
  made.at = made.on->page_of(made.values).value();
  made.first = first;
  return made;
}

void check_values(const process_part& of, uint32_t count) {
  std::vector<uint32_t> seen(count);
  of.on->copy(seen.data(), of.values, count * sizeof(uint32_t));
  for (uint32_t n = 0; n < count; ++n)
    HEDDLE_CHECK(seen[n] == of.first + n, "an element is not what its own process has written");
}

/// Two processes write at one virtual address, beside each other; what one reads, copies or asks of the other's memory is refused.
void run_process_isolation(const parameters& set) {
  const uint32_t count = set.count("elements");
  const process_part one = make_part(count, 1);
  const process_part two = make_part(count, 1001);
  HEDDLE_CHECK(one.at.virtual_address == two.at.virtual_address, "two processes do not begin at one address");
  HEDDLE_CHECK(one.at.physical_address != two.at.physical_address, "two processes have one physical page");
  HEDDLE_CHECK(one.at.device == 0 && two.at.device == 0, "a page is on a GPU that the machine has not got");

  for (const process_part* const each : {&one, &two}) {
    auto* const there = static_cast<uint32_t*>(each->on->at(one.at.virtual_address).value());
    HEDDLE_CHECK(there == each->values, "an address of one process is another one's memory");
    each->on->launch({}, fill_from{there, count, each->first});
  }
  one.on->synchronize();
  two.on->synchronize();
  check_values(one, count);
  check_values(two, count);

  auto* const more = one.on->allocate_device<uint32_t>(1, "more of one");
  uint32_t taken = 7;
  HEDDLE_CHECK(!two.on->at(one.on->page_of(more).value().virtual_address), "a process has what another one allocated");
  HEDDLE_CHECK(!two.on->page_of(one.values) && !one.on->page_of(two.values), "a page of another process is told");
  const auto copied = two.on->try_copy(&taken, one.values, sizeof taken);
  HEDDLE_CHECK(!copied && copied.why().name == "memory fault" && taken == 7,
               "a copy has read another process's memory");
  HEDDLE_CHECK(!two.on->try_copy(one.values, &taken, sizeof taken), "a copy has written another process's memory");
  check_values(one, count);

  if (set.text("access") == "foreign") {
    two.on->launch({}, fill_from{one.values, count, 0});
    two.on->synchronize();
  }
  // Nothing of the other one ends with it.
  one.on->free(one.values);
  HEDDLE_CHECK(!one.on->at(one.at.virtual_address), "memory that was given back is still there");
  check_values(two, count);
}

verdict process_isolation_verdict(const parameters& set) {
  if (needs_all_turns(set) != verdict::ok) return needs_all_turns(set);
  return set.text("access") == "foreign" ? verdict::memory : verdict::ok;
}

// -- migration -------------------------------------------------------------------------------------------------------------------------

constexpr uint32_t moving_page_bytes = 4096;
constexpr uint32_t page_elements = moving_page_bytes / sizeof(uint32_t);

/// The first elements of each page.
struct elements_of_pages {
  uint32_t pages;
  uint32_t each;
  HEDDLE_FUNCTION uint32_t count() const { return pages * each; }
  HEDDLE_FUNCTION uint32_t place(uint32_t n) const { return n / each * page_elements + n % each; }
};

struct write_pages {
  uint32_t* values;
  elements_of_pages which;
  uint32_t first;
  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t n = 0; n < which.count(); ++n) values[which.place(n)] = first + n;
  }
};
struct read_pages {
  const uint32_t* values;
  uint32_t* seen;
  elements_of_pages which;
  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t n = 0; n < which.count(); ++n) seen[n] = values[which.place(n)];
  }
};

/// One device writes pages, another one reads all but the last of them, which move there; the host and the first device find them where they are.
void run_migration(const parameters& set) {
  device first(0);
  device second(1);
  const elements_of_pages all = {set.count("pages"), set.count("elements")};
  const elements_of_pages moved = {all.pages - 1, all.each};
  auto* const values = first.try_allocate_moving<uint32_t>(size_t{all.pages} * page_elements, "pages").value();
  auto* const seen = second.allocate_shared<uint32_t>(all.count(), "seen");
  const auto page_is_on = [&](device& from, uint32_t page) {
    return from.page_of(values + size_t{page} * page_elements).value().device;
  };
  const uint64_t free_before = first.memory().free_bytes;
  const uint64_t free_there = second.memory().free_bytes;

  first.launch({}, write_pages{values, all, 1});
  first.synchronize();
  for (uint32_t page = 0; page < all.pages; ++page)
    HEDDLE_CHECK(page_is_on(first, page) == 0, "a page has left the device that uses it");

  second.launch({}, read_pages{values, seen, moved});
  second.synchronize();
  for (uint32_t n = 0; n < moved.count(); ++n)
    HEDDLE_CHECK(seen[n] == n + 1, "the other device has read what was there before the kernel");
  for (uint32_t page = 0; page < all.pages; ++page)
    HEDDLE_CHECK(page_is_on(second, page) == (page < moved.pages ? 1 : 0), "a page is not where it was used");
  HEDDLE_CHECK(first.memory().free_bytes == free_before + uint64_t{moved.pages} * moving_page_bytes &&
                   second.memory().free_bytes == free_there - uint64_t{moved.pages} * moving_page_bytes,
               "a page that has moved is free on neither device, or on both");

  const auto check_copy = [&](uint32_t from) {
    for (uint32_t page = 0; page < all.pages; ++page) {
      std::vector<uint32_t> back(all.each);
      first.copy(back.data(), values + size_t{page} * page_elements, all.each * sizeof(uint32_t));
      for (uint32_t n = 0; n < all.each; ++n)
        HEDDLE_CHECK(back[n] == from + page * all.each + n, "the host has read what is not there");
    }
  };
  check_copy(1);

  // A page moves once: from now on the first device uses it from afar.
  first.launch({}, write_pages{values, all, 501});
  first.synchronize();
  for (uint32_t page = 0; page < moved.pages; ++page)
    HEDDLE_CHECK(page_is_on(first, page) == 1, "a page has moved twice");
  check_copy(501);
}

verdict migration_verdict(const parameters& set) {
  if (needs_all_turns(set) != verdict::ok) return needs_all_turns(set);
  return set.has("driver.flush") && set.text("driver.flush") == "off" ? verdict::assertion : verdict::ok;
}

// -- a middleware of one's own ---------------------------------------------------------------------------------------------------------

/// Holds a kernel back while another one runs; flushes before each copy to the host, which it cuts in two; has pages stay where they are.
class careful_middleware final : public driver::middleware {
 public:
  explicit careful_middleware(driver::driver_services& of) : driver_(of) {}
  const char* name() const override { return "careful"; }

  driver::handling process(driver::command& next) override {
    using enum driver::handling;
    switch (next.kind) {
      case driver::command_kind::migrate:
        return done;
      case driver::command_kind::launch:
        if (running_ != 0 && running_ != next.number) return later;
        running_ = next.number;
        return not_mine;
      case driver::command_kind::copy_to_host:
        return next.part_of != 0 ? not_mine : copy(next);
      default:
        return not_mine;
    }
  }
  void ended(const driver::command& done) override {
    if (done.number == running_) running_ = 0;
  }

 private:
  driver::handling copy(driver::command& next) {
    if (flushed_for_ != next.number) {
      flushed_for_ = next.number;
      driver_.put_before(next, driver::command_kind::flush);
      return driver::handling::later;
    }
    const uint64_t half = next.bytes / 2 / sizeof(uint64_t) * sizeof(uint64_t);
    if (cut_ == next.number || half == 0) return driver::handling::not_mine;
    cut_ = next.number;
    driver::command& first = driver_.put_before(next, driver::command_kind::copy_to_host);
    first.address = next.address;
    first.to_host = next.to_host;
    first.bytes = half;
    next.address += half;
    next.to_host += half;
    next.bytes -= half;
    return driver::handling::later;
  }

  driver::driver_services& driver_;
  uint64_t running_ = 0;      ///< the launch that has begun and not ended; 0: none
  uint64_t flushed_for_ = 0;  ///< the copy that has been given its flush
  uint64_t cut_ = 0;          ///< the copy that has been cut
};

struct careful_maker final : driver::middleware_maker {
  const char* name() const override { return "careful"; }
  std::unique_ptr<driver::middleware> make(driver::driver_services& of) const override {
    return std::make_unique<careful_middleware>(of);
  }
};

[[maybe_unused]] const bool is_careful_added = [] {
  static const careful_maker careful;
  return bool(driver::add_middleware_maker(careful));
}();

/// Counts alone: no other kernel may be inside.
struct count_alone {
  uint64_t* values;
  uint64_t* inside;
  uint32_t count;
  HEDDLE_FUNCTION void operator()() const {
    HEDDLE_CHECK(shared_word<uint64_t>(*inside).fetch_add(1, memory_order::relaxed) == 0, "two kernels run at a time");
    for (uint32_t n = 0; n < count; ++n) shared_word<uint64_t>(values[n]).fetch_add(n + 1, memory_order::relaxed);
    shared_word<uint64_t>(*inside).fetch_sub(1, memory_order::relaxed);
  }
};

/// Kernels of two devices, in streams that nothing orders, count in one page; what they have counted is copied back. Only the middleware keeps one
/// kernel from the other, the copy behind a flush (driver.flush=off), and the page on its device.
void run_own_middleware(const parameters& set) {
  device first(0);
  device second(1);
  const uint32_t count = set.count("elements");
  auto* const there = first.try_allocate_moving<uint64_t>(count, "there").value();
  auto* const here = first.allocate_shared<uint64_t>(count, "here");
  auto* const inside = first.allocate_shared<uint64_t>(1, "kernels inside");
  const std::vector<uint64_t> none(count, 0);
  first.copy(there, none.data(), count * sizeof(uint64_t));
  *inside = 0;
  const device::stream one = first.create_stream();
  const device::stream other = second.create_stream();
  first.launch({}, count_alone{there, inside, count}, one);
  second.launch({}, count_alone{there, inside, count}, other);
  second.synchronize(other);
  first.synchronize(one);
  HEDDLE_CHECK(first.page_of(there).value().device == 0, "a page has moved that was to stay");
  first.copy(here, there, count * sizeof(uint64_t), one);
  first.synchronize(one);
  for (uint32_t n = 0; n < count; ++n)
    HEDDLE_CHECK(here[n] == 2 * uint64_t{n + 1}, "a copy has brought back what was there before a kernel");
}

verdict own_middleware_verdict(const parameters& set) {
  if (needs_all_turns(set) != verdict::ok) return needs_all_turns(set);
  return set.text("driver.middleware") == "careful" ? verdict::ok : verdict::assertion;
}

}  // namespace

HEDDLE_SCENARIO(
    run_process_isolation,
    {.name = "driver.process-isolation",
     .summary = "two processes on one device have the same addresses, and not each other's pages",
     .parameters = {parameter::number("elements", 3, 1, 1000, "", "that each process has"),
                    parameter::one_of("access", "own", {"own", "foreign"},
                                      "what the last kernel writes: its own process's memory, or another's")},
     .expected = process_isolation_verdict});

HEDDLE_SCENARIO(run_migration,
                {.name = "driver.migration",
                 .summary = "pages that one device has written move to the device that reads them",
                 .parameters = {parameter::number("pages", 2, 1, 64, "", "of which all but the last move"),
                                parameter::number("elements", 2, 1, 1024, "", "of each page that are used"),
                                parameter::number("driver.devices", 2, 2, 16, "", "how many GPUs the machine has")},
                 .expected = migration_verdict});

HEDDLE_SCENARIO(
    run_own_middleware,
    {.name = "middleware.careful",
     .summary = "a middleware of the program's own holds kernels and pages back, and cuts copies behind a flush",
     .parameters = {parameter::number("elements", 3, 1, 512, "", "that both kernels count, in one page"),
                    parameter::number("driver.devices", 2, 2, 16, "", "how many GPUs the machine has"),
                    parameter::one_of("driver.detail", "queue", {"queue", "message"},
                                      "what of the driver is stepped: the commands of its queues, or its messages too"),
                    parameter::one_of("driver.middleware", "careful", {"careful", "none"},
                                      "what each command is offered first"),
                    parameter::one_of("driver.flush", "off", {"off", "on"}, "caches are written back before a copy")},
     .expected = own_middleware_verdict});

}  // namespace heddle::tests
