// The consumer of a FIFO gives places back, and clears their flags then: a producer that was quick has set its flag for the next entry
// already, and it is erased. Smallest: 1 wave, 1 lane, 1 entry, 2 calls.
//
// NCCL #2389, #2390 (eb6d302b): the proxy reset the size of a finished step when the device had already set it for the next one.
#include "small_fifo.h"

namespace heddle::tests {
namespace {

/// Gives the places back, and clears their flags then.
struct resets_late {
  using end = rpc::fifo_end<target, fifo_message>;
  end at;

  template <typename Handle>
  uint32_t consume(Handle&& handle, uint32_t most) const {
    const uint32_t first = at.tail().load(memory_order::relaxed);
    uint32_t taken = 0;
    for (; taken < most && taken < at.entry_count(); ++taken) {
      auto& slot = at.slot_of(first + taken);
      if (end::word_ref(slot.flag).load(memory_order::acquire) != 1) break;
      handle(slot.entry);
    }
    if (taken != 0) at.tail().store(first + taken, memory_order::release);
    for (uint32_t n = 0; n < taken; ++n) end::word_ref(at.slot_of(first + n).flag).store(0, memory_order::relaxed);
    return taken;
  }
};

void run_late_reset(const parameters& set) {
  device on;
  fifo_test<rpc::cleared_flag> test(on, set, set.count("calls"));
  if (zoo::is_fixed(set)) return zoo::run_flushing(test, set, test.producer(), test.consumer());
  zoo::run_flushing(test, set, test.producer(), resets_late{{test.memory(), test.shape()}});
}

}  // namespace

HEDDLE_ZOO(run_late_reset, {.name = "zoo.late-reset-erases-flag",
                            .summary = "a consumer gives a place back and clears its flag then",
                            .parameters = zoo::small_fifo(0),
                            .expected = zoo::hangs_unless_fixed});

}  // namespace heddle::tests
