#include <heddle/sim/settings/link.h>

#include <string>
#include <utility>

namespace heddle::sim {
namespace {

parameter on_or_off(std::string key, bool initial, std::string help) {
  return parameter::one_of(std::move(key), initial ? "on" : "off", {"on", "off"}, std::move(help));
}

bool is_on(const parameters& values, std::string_view key) { return values.text(key) == "on"; }

rmw_capability parse_rmw(const std::string& text) {
  if (text == "pcie") return rmw_capability::pcie;
  if (text == "split") return rmw_capability::split;
  if (text == "dropped") return rmw_capability::dropped;
  return text == "refused" ? rmw_capability::refused : rmw_capability::all;
}

latency_model parse_latency(const std::string& text) {
  if (text == "fixed") return latency_model::fixed;
  return text == "heavy" ? latency_model::heavy : latency_model::off;
}

}  // namespace

std::vector<parameter> link_parameters() {
  constexpr int64_t longest_ns = 1000000000;
  // The times are estimates from published ping-pongs, reads over a BAR and launches on PCIe of the fourth generation.
  return {
      on_or_off("link.pool", true, "the device sends what it has issued in any order; off: in program order"),
      on_or_off("link.ro", false, "posted writes of the device carry Relaxed Ordering; without link.drain a fault"),
      on_or_off("link.hostro", false, "posted writes of the host carry it, as behind a bridge that reorders them"),
      on_or_off("link.rocpl", false, "completions may pass posted writes on the link"),
      on_or_off("link.drain", true,
                "a release or fence of system scope waits until its writes are performed; off: until they are sent"),
      on_or_off("link.wc", false, "the host maps device memory write-combining; off: uncached"),
      on_or_off("link.sameaddr", true, "the device keeps accesses to one address in order"),
      parameter::one_of(
          "link.rmw", "all", {"all", "pcie", "split", "refused", "dropped"},
          "read-modify-writes across the link: all, only PCIe's three, a read and then a write, an error, "
          "or a read alone"),
      parameter::number("link.age", 512, 1, 1000000000, "turns", "how long a store may be under way before it arrives"),
      on_or_off("link.lull", true,
                "when nothing arrives, that may last: random answers find more so; off: each turn asks anew"),
      parameter::one_of("link.latency", "off", {"off", "fixed", "heavy"},
                        "when what is under way arrives: off = whenever the schedule says, fixed times, a heavy tail"),
      parameter::number("link.posted_ns", 450, 0, longest_ns, "ns", "a posted write, until it is in memory"),
      parameter::number("link.read_ns", 1100, 0, longest_ns, "ns", "a read across the link, until its answer is back"),
      parameter::number("link.fence_ns", 500, 0, longest_ns, "ns", "a fence of system scope on the device"),
      parameter::number("link.launch_ns", 5000, 0, longest_ns, "ns", "a launch, until the kernel's first wave runs"),
      parameter::one_of("buffer", "host", {"host", "device"}, "where memory that host and device share lies"),
  };
}

link_settings link_settings::from(const parameters& values) {
  link_settings read;
  read.pool = is_on(values, "link.pool");
  read.relaxed_ordering = is_on(values, "link.ro");
  read.host_relaxed_ordering = is_on(values, "link.hostro");
  read.completions_pass = is_on(values, "link.rocpl");
  read.drain = is_on(values, "link.drain");
  read.write_combining = is_on(values, "link.wc");
  read.same_address = is_on(values, "link.sameaddr");
  read.rmw = parse_rmw(values.text("link.rmw"));
  read.lulls = is_on(values, "link.lull");
  read.oldest_turns = values.count("link.age");
  read.latency = parse_latency(values.text("link.latency"));
  read.posted_ns = values.count("link.posted_ns");
  read.read_ns = values.count("link.read_ns");
  read.fence_ns = values.count("link.fence_ns");
  read.launch_ns = values.count("link.launch_ns");
  read.shared_on_device = values.text("buffer") == "device";
  return read;
}

}  // namespace heddle::sim
