// Entries of a queue in host memory are taken by a fetch-and-add across the link, on a machine whose link carries none. Nothing comes of it,
// and the host waits for ever for the counter to move; or it is done as a read and a write, and two waves have one entry. Smallest: 1 wave
// and 1 entry; 2 of each.
//
// ROCm/hip #2266, legacy-rocm-build #3001. no-pcie-atomics: link.rmw=dropped. no-pcie-atomics-split: link.rmw=split. The twins count on the
// device, and tell the host by stores alone.
#include "../ports.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

using scheduler::verdict;

struct link_ticket_kernel {
  uint32_t* next;     ///< the count of entries that were taken
  uint32_t* owners;   ///< on the device, one for each entry
  uint32_t* posted;   ///< one for each entry
  uint32_t* answers;  ///< one for each entry
  uint32_t calls;
  bool counts_on_device;

  HEDDLE_FUNCTION uint32_t take() const {
    // Relaxed: the wave that has taken an entry hands it over by a store of its own.
    if (counts_on_device) return target::atomic_ref<uint32_t, scope::device>(*next).fetch_add(1, memory_order::relaxed);
    return shared_word<uint32_t>(*next).fetch_add(1, memory_order::relaxed);
  }
  HEDDLE_FUNCTION void operator()() const {
    if (target::lane_id() != 0) return;
    for (uint32_t call = 0; call < calls; ++call) {
      const uint32_t entry = take();
      if (target::atomic_ref<uint32_t, scope::device>(owners[entry]).exchange(1, memory_order::relaxed) != 0)
        target::trap(fault::protocol, "two waves have one entry");
      shared_word<uint32_t>(posted[entry]).store(1, memory_order::release);
      // Acquire pairs with the server's release.
      while (shared_word<uint32_t>(answers[entry]).load(memory_order::acquire) == 0) target::pause();
    }
  }
};

void run_link_tickets(const parameters& set) {
  device on;
  const uint32_t all = set.count("waves") * set.count("calls");
  const bool fixed = zoo::is_fixed(set);
  auto* const next =
      fixed ? on.allocate_device<uint32_t>(1, "entries taken") : on.allocate_shared<uint32_t>(1, "entries taken");
  auto* const owners = on.allocate_device<uint32_t>(all, "owners");
  auto* const posted = on.allocate_shared<uint32_t>(all, "entries");
  auto* const answers = on.allocate_shared<uint32_t>(all, "answers");
  auto serving = on.spawn_host("server", [=] {
    for (uint32_t entry = 0; entry < all; ++entry) {
      if (!fixed)
        while (shared_word<uint32_t>(*next).load(memory_order::acquire) <= entry) target::pause();
      // Acquire pairs with the release of the post.
      while (shared_word<uint32_t>(posted[entry]).load(memory_order::acquire) == 0) target::pause();
      shared_word<uint32_t>(answers[entry]).store(1, memory_order::release);
    }
  });
  on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = 1},
            link_ticket_kernel{next, owners, posted, answers, set.count("calls"), fixed});
  on.synchronize();
  serving.join();
}

void run_split_tickets(const parameters& set) { run_link_tickets(set); }

verdict ticket_verdict(const parameters& set) {
  // On a real machine its link decides, and most carry this. Where the device has the counter no read-modify-write crosses the link.
  if (zoo::is_fixed(set) || !zoo::link_is_crossed(set)) return verdict::ok;
  const std::string& carried = set.text("link.rmw");
  const bool alone = set.count("waves") == 1;
  if (carried == "dropped") return alone ? verdict::deadlock : verdict::protocol;
  if (carried == "split") return alone ? verdict::ok : verdict::protocol;
  return carried == "refused" ? verdict::memory : verdict::ok;
}

std::vector<parameter> tickets_across(const char* rmw, int64_t waves) {
  std::vector<parameter> all = zoo::with_twin({
      parameter::number("waves", waves, 1, 64, "", "waves that call"),
      parameter::number("calls", 1, 1, 1000, "", "calls that each makes"),
  });
  all.push_back(parameter::one_of("progress", "fair", {"fair", "obe", "hsa_obe", "lobe", "slots", "cuda"},
                                  "which waves are guaranteed a turn; each model is explained in docs/simulator.md"));
  all.push_back(parameter::one_of("fidelity", "link", {"interleaving", "link", "scoped"},
                                  "how memory behaves: scoped and weak, late across the link alone, or every access at "
                                  "once"));
  all.push_back(parameter::one_of(
      "link.rmw", rmw, {"all", "pcie", "split", "refused", "dropped"},
      "read-modify-writes across the link: all, only PCIe's three, a read and then a write, an error, "
      "or a read alone"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_link_tickets, {.name = "zoo.no-pcie-atomics",
                              .summary = "a counter in host memory is moved by atomics that the link drops",
                              .parameters = tickets_across("dropped", 1),
                              .expected = ticket_verdict});

HEDDLE_ZOO(run_split_tickets, {.name = "zoo.no-pcie-atomics-split",
                               .summary = "a counter in host memory is moved by atomics that the link takes apart",
                               .parameters = tickets_across("split", 2),
                               .expected = ticket_verdict});

}  // namespace heddle::tests
