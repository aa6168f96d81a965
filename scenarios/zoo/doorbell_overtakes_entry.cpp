// A wave writes an entry of a submission queue and then the doorbell register of the device at the other end. The register is reached before the
// entry, and several writes of it may be seen as one: the device takes entries that are not there yet. Fences of the wave only send its
// writes.
//
// rocm-xio #114 (87a188c), a GPU that drives NVMe by itself. The twin reads the entry back before it rings. Smallest: 1 wave; the endpoint is
// a host thread.
#include "../ports.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

/// A submission queue, and the register that holds the number of entries in it.
struct submission_queue {
  static constexpr uint32_t entries = 64;
  struct command {
    uint32_t number;  ///< one more than its place
    uint32_t block;
  };
  command submitted[entries];
  alignas(64) uint32_t doorbell_register;
};

HEDDLE_FUNCTION constexpr uint32_t block_of_command(uint32_t number) { return number * 7 + 3; }

struct submitting_kernel {
  submission_queue* queue;
  uint32_t calls;
  bool reads_back;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < calls; ++call) {
      submission_queue::command& entry = queue->submitted[call];
      entry.number = call + 1;
      entry.block = block_of_command(call);
      target::fence<scope::system>(memory_order::seq_cst);
      // Acquire, system scope: waits for its answer, and no read passes a write.
      if (reads_back) (void)shared_word<uint32_t>(entry.block).load(memory_order::acquire);
      // Release, system scope: pairs with the acquire of the endpoint.
      shared_word<uint32_t>(queue->doorbell_register).store(call + 1, memory_order::release);
    }
  }
};

struct endpoint {
  submission_queue* queue;
  uint32_t calls;

  void operator()() const {
    for (uint32_t done = 0; done < calls;) {
      const uint32_t rung = shared_word<uint32_t>(queue->doorbell_register).load(memory_order::acquire);
      for (; done < rung; ++done) {
        const submission_queue::command& entry = queue->submitted[done];
        if (entry.number != done + 1 || entry.block != block_of_command(done))
          target::trap(fault::protocol, "the doorbell has rung for an entry that is not there");
      }
      target::pause();
    }
  }
};

void run_submitting(const parameters& set) {
  device on;
  auto* const queue = on.allocate_shared<submission_queue>(1, "submission queue");
  auto serving = on.spawn_host("endpoint", endpoint{queue, set.count("calls")});
  on.launch({.blocks = 1, .waves = 1, .lanes = 1}, submitting_kernel{queue, set.count("calls"), zoo::is_fixed(set)});
  on.synchronize();
  serving.join();
}

scheduler::verdict submitting_verdict(const parameters& set) {
  if (zoo::is_fixed(set) || !zoo::link_is_crossed(set)) return scheduler::verdict::ok;
  const bool overtaken = set.text("link.ro") == "on" && set.text("link.drain") == "off";
  return overtaken ? scheduler::verdict::protocol : scheduler::verdict::ok;
}

std::vector<parameter> submitting_parameters() {
  std::vector<parameter> all =
      zoo::with_twin({parameter::number("calls", 6, 1, submission_queue::entries, "", "commands")});
  // The machine's own defaults have none of this.
  all.push_back(parameter::one_of("fidelity", "link", {"interleaving", "link"},
                                  "how memory behaves: late across the link alone, or every access at once"));
  all.push_back(parameter::one_of("link.ro", "on", {"on", "off"},
                                  "posted writes of the device carry Relaxed Ordering; without link.drain a fault"));
  all.push_back(parameter::one_of(
      "link.drain", "off", {"on", "off"},
      "a release or fence of system scope waits until its writes are performed; off: until they are sent"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_submitting,
           {.name = "zoo.doorbell-overtakes-entry",
            .summary = "the write of a doorbell register arrives in front of the entry that it rings for",
            .parameters = submitting_parameters(),
            .expected = submitting_verdict});

}  // namespace heddle::tests
