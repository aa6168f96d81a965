// Two packets are taken, the first comes back, and a wave that had looked before takes it with what lay below it then. Smallest: 3 waves, 2
// packets.
//
// What the tag in ROCm-Device-Libs' hostcall_impl.cl is there to prevent.
#include "../hostcalls.h"
#include "weakened.h"

namespace heddle::tests {
namespace {

using scheduler::verdict;

struct no_tag : rpc::counted_tag {
  HEDDLE_FUNCTION static constexpr uint64_t retagged(uint64_t name) { return name; }
};

/// Takes packets and gives them back, without a call in between: a wave that has one is its only owner.
template <typename Tag>
struct taking_kernel {
  rpc::hostcall_end<target, Tag> end;
  uint32_t* owned;  ///< a word for each packet, on the device
  uint32_t calls;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < calls; ++call) {
      const uint64_t name = end.free_packets().pop();
      if (name == 0) continue;
      const target::atomic_ref<uint32_t, scope::device> word(owned[Tag::packet_of(name)]);
      HEDDLE_CHECK(word.exchange(1, memory_order::relaxed) == 0, "two waves have one packet");
      word.exchange(0, memory_order::relaxed);
      end.give_back(name);
    }
  }
};

template <typename Tag>
void run_taking(const parameters& set) {
  device on;
  const rpc::hostcall_layout shape{set.count("packets"), 1};
  auto* const memory = on.allocate_shared<unsigned char>(shape.size_bytes(), "hostcalls");
  auto* const owned = on.allocate_device<uint32_t>(shape.packets, "owners");
  shape.prepare(memory);
  const rpc::hostcall_end<target, Tag> end(memory, shape);
  on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = 1}, taking_kernel<Tag>{end, owned, set.count("calls")});
  on.synchronize();
  HEDDLE_CHECK(end.all_idle(), "a packet is not free in the end");
}

void run_untagged(const parameters& set) {
  if (zoo::is_fixed(set)) return run_taking<rpc::counted_tag>(set);
  run_taking<no_tag>(set);
}

verdict untagged_verdict(const parameters& set) { return zoo::is_fixed(set) ? verdict::ok : verdict::assertion; }

std::vector<parameter> taking_parameters() {
  return zoo::with_twin({
      parameter::number("waves", 3, 3, 65536, "", "waves that take packets"),
      parameter::number("packets", 2, 2, rpc::max_hostcall_packets, "", "packets that there are"),
      parameter::number("calls", 2, 1, 100000, "", "packets that each wave takes"),
  });
}

}  // namespace

HEDDLE_ZOO(run_untagged, {.name = "zoo.stack-without-tag",
                          .summary = "a packet goes back to the free stack under the name that it had",
                          .parameters = taking_parameters(),
                          .expected = untagged_verdict});

}  // namespace heddle::tests
