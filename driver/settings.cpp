#include <heddle/driver/middleware.h>
#include <heddle/driver/settings.h>

#include <string>

namespace heddle::driver {
namespace {

constexpr picoseconds ps_per_ns = 1000;

dispatch_policy parse_policy(const std::string& text) {
  if (text == "greedy") return dispatch_policy::greedy;
  return text == "partition" ? dispatch_policy::partition : dispatch_policy::round_robin;
}

}  // namespace

parameter middleware_parameter() {
  std::vector<std::string> names = {"none"};
  for (const middleware_maker* const each : middleware_makers()) names.emplace_back(each->name());
  return parameter::one_of("driver.middleware", "none", names,
                           "a middleware of yours, which each command is offered first (docs/driver.md)");
}

parameter split_parameter() {
  std::vector<std::string> names;
  for (const split_rule* const each : split_rules()) names.emplace_back(each->name());
  return parameter::one_of("driver.split", "even", names,
                           "how pages and blocks are dealt to the GPUs of a unified device");
}

std::vector<parameter> driver_parameters() {
  constexpr int64_t longest_ns = 1'000'000'000;
  return {
      parameter::number("driver.page_bits", 12, 8, 24, "", "a page of device memory has two to this power bytes"),
      parameter::number("driver.cpu_mib", 4096, 1, 1 << 20, "MiB", "memory of the CPU, device 0 of the driver"),
      parameter::number("driver.cycle_ps", 1000, 1, 1'000'000, "ps", "a cycle of the driver and of its devices"),
      parameter::one_of("driver.copies", "timed", {"timed", "instant"},
                        "timed: page by page over the link; instant: at once, in no time"),
      parameter::one_of("driver.flush", "on", {"on", "off"},
                        "caches are written back before a copy to the host that needs it; off is a fault"),
      parameter::number("driver.copy_ns", 6000, 0, longest_ns, "ns", "the fixed part of each copy"),
      parameter::number("driver.copy_byte_ps", 0, 0, 1'000'000, "ps", "each byte of a copy on the link; not published"),
      parameter::number("driver.units", 64, 1, 1024, "", "compute units of a GPU"),
      parameter::number("driver.unit_groups", 8, 1, 1024, "", "work-groups on a compute unit at a time"),
      split_parameter(),
      middleware_parameter(),
      parameter::one_of("driver.dispatch", "round_robin", {"greedy", "round_robin", "partition"},
                        "where the next work-group goes: first unit with room, next one, or each unit its share"),
  };
}

driver_settings driver_settings::from(const parameters& values) {
  const auto time = [&](const char* key) { return ps_per_ns * static_cast<uint64_t>(values.number(key)); };
  driver_settings read;
  read.page_bits = values.count("driver.page_bits");
  read.cpu_bytes = static_cast<uint64_t>(values.number("driver.cpu_mib")) << 20;
  read.cycle = static_cast<uint64_t>(values.number("driver.cycle_ps"));
  read.copies = values.text("driver.copies") == "instant" ? copy_model::instant : copy_model::timed;
  read.flush_before_copy = values.text("driver.flush") == "on";
  read.copy = time("driver.copy_ns");
  read.copy_byte = static_cast<uint64_t>(values.number("driver.copy_byte_ps"));
  read.compute_units = values.count("driver.units");
  read.groups_per_unit = values.count("driver.unit_groups");
  read.middleware = find_middleware_maker(values.text("driver.middleware"));
  read.split = find_split_rule(values.text("driver.split"));
  read.dispatch = parse_policy(values.text("driver.dispatch"));
  read.posted = time("link.posted_ns");
  read.read = time("link.read_ns");
  read.fence = time("link.fence_ns");
  read.launch = time("link.launch_ns");
  return read;
}

}  // namespace heddle::driver
