// Bugs of FIFOs that show with a small one, and producers that wait in the end until all of it is consumed.
#include "../fifos.h"
#include "weakened.h"

namespace heddle::tests {
namespace zoo {
namespace {

std::vector<parameter> small_fifo(int64_t first) {
  std::vector<parameter> all = fifo_parameters(2, 2, 2, 2);
  for (parameter& each : all)
    if (each.key == "first") each = parameter::number("first", first, 0, 4294967295, each.unit, each.help);
  return with_twin(all);
}

/// The twin: producers that wait for the consumption of everything in the end.
scheduler::verdict flushed_fifo(const parameters& set) { return needs_fair_producers(set, true); }

scheduler::verdict hangs_unless_fixed(const parameters& set) {
  const scheduler::verdict sound = flushed_fifo(set);
  return is_fixed(set) || sound != scheduler::verdict::ok ? sound : scheduler::verdict::deadlock;
}

/// Pushes, and ends when all of it is consumed.
template <typename Producer>
struct flushing_kernel {
  Producer producer;
  fifo_letters letters;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < letters.who.calls; ++call) producer.push(letters.write(call));
    producer.flush();
  }
};

template <typename Test, typename Producer, typename Consumer>
void run_flushing(Test& test, const parameters& set, Producer producer, Consumer consumer) {
  const callers who{set.count("lanes"), set.count("calls")};
  test.run(consumer, flushing_kernel<Producer>{producer, {test.letters(), who.calls, who}},
           {.blocks = 1, .waves = set.count("waves"), .lanes = who.lanes}, [] { return true; });
}

}  // namespace
}  // namespace zoo

// Numbers of entries are compared, and not their difference: when they pass 2^31 their sign changes and no producer ever finds room again.
// Smallest: 1 wave, 1 lane, 1 entry, 2 calls, and a first number close below 2^31.
//
// NCCL 2.8.3-1 (920dbe5b) compared step numbers so.
namespace {

struct compares_numbers : rpc::lap_parity {
  HEDDLE_FUNCTION static bool has_room(uint32_t end, uint32_t tail, uint32_t entries) {
    return static_cast<int32_t>(end) <= static_cast<int32_t>(tail + entries);
  }
};

template <typename Form>
void run_numbers(const parameters& set) {
  device on;
  fifo_test<Form> test(on, set, set.count("calls"));
  zoo::run_flushing(test, set, test.producer(), test.consumer());
}

void run_flag_wrap(const parameters& set) {
  if (zoo::is_fixed(set)) return run_numbers<rpc::lap_parity>(set);
  run_numbers<compares_numbers>(set);
}

// In lockstep lanes push together: where that is an even number of entries from an even one on, no wave asks about the odd number next to 2^31.
scheduler::verdict flag_wrap_verdict(const parameters& set) {
  const bool together = set.has("convergence") && set.text("convergence") == "lockstep" && set.count("lanes") > 1;
  const bool in_pairs = set.count("lanes") % 2 == 0 && set.number("first") % 2 == 0;
  if (together && in_pairs && set.count("entries") < set.count("lanes") + 2) return scheduler::verdict::ok;
  return zoo::hangs_unless_fixed(set);
}

}  // namespace

HEDDLE_ZOO(run_flag_wrap, {.name = "zoo.flag-wrap-at-2-31",
                           .summary = "numbers of entries are compared, and their sign changes",
                           .parameters = zoo::small_fifo(2147483646),
                           .expected = flag_wrap_verdict});

// The consumer of a FIFO gives places back, and clears their flags then: a producer that was quick has set its flag for the next entry
// already, and it is erased. Smallest: 1 wave, 1 lane, 1 entry, 2 calls.
//
// NCCL #2389, #2390 (eb6d302b): the proxy reset the size of a finished step when the device had already set it for the next one.
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

// A proxy hands on more than the queue below it holds, and never looks whether that took it. Smallest: 1 wave, 1 lane, 1 entry below,
// 2 calls.
//
// MSCCL++ #415 (80abce59): the proxy posted work requests without a look at how many were outstanding. The twin waits for room.
namespace {

/// What a proxy hands on to.
struct posted {
  fifo_message message;
};

/// The proxy's consumer: hands each entry on to a queue that holds fewer.
template <typename Consumer>
struct forwarding_consumer {
  Consumer consumer;
  rpc::fifo_producer<posted> below;
  bool waits;

  template <typename Handle>
  uint32_t consume(Handle&& handle, uint32_t most) const {
    return consumer.consume(
        [&](const fifo_message& message) {
          handle(message);
          const auto fill = [&](posted& to, uint32_t) { to.message = message; };
          // The bug is to look for room once and never to ask whether there was any.
          if (waits)
            below.push(fill);
          else
            below.push(fill, 0);
        },
        most);
  }
};

void run_overrun(const parameters& set) {
  device on;
  fifo_test<rpc::lap_parity> test(on, set, set.count("calls"));
  const rpc::fifo_layout<posted> shape{1};
  auto* const memory = on.allocate_shared<unsigned char>(shape.size_bytes(), "queue below");
  auto* const counters = on.allocate_shared<rpc::fifo_counters>(1, "counters of the queue below");
  const uint64_t all = all_calls(set);
  auto* const seen = on.allocate_shared<uint32_t>(all, "entries at the end");
  auto* const stop = on.allocate_shared<uint32_t>(1, "proxy has ended");
  auto last =
      on.spawn_host("network", [=, end = rpc::fifo_consumer<posted>(memory, shape), calls = set.count("calls")] {
        for (;;) {
          const bool ends = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
          if (end.consume([&](const posted& entry) {
                ++seen[uint64_t{entry.message.producer} * calls + entry.message.call];
              }) != 0)
            continue;
          if (ends) return;
          target::pause();
        }
      });
  const forwarding_consumer<decltype(test.consumer())> proxy{
      test.consumer(), rpc::fifo_producer<posted>(memory, counters, shape), zoo::is_fixed(set)};
  zoo::run_flushing(test, set, test.producer(), proxy);
  shared_word<uint32_t>(*stop).store(1, memory_order::release);
  last.join();
  for (uint64_t n = 0; n < all; ++n)
    if (seen[n] != 1) target::trap(fault::protocol, "an entry that was handed on has not come to the end");
}

scheduler::verdict overrun_verdict(const parameters& set) {
  const scheduler::verdict sound = zoo::flushed_fifo(set);
  return zoo::is_fixed(set) || sound != scheduler::verdict::ok ? sound : scheduler::verdict::protocol;
}

}  // namespace

HEDDLE_ZOO(run_overrun, {.name = "zoo.queue-depth-overrun",
                         .summary = "a proxy hands on more than the queue below it holds",
                         .parameters = zoo::small_fifo(0),
                         .expected = overrun_verdict});

// An entry of a FIFO is published by a store of block scope: MSCCL++ 85e80175. Smallest: 1 wave, 1 lane, 1 entry.
namespace {

struct publishes_to_its_block : zoo::noticed_by_either {
  template <typename T, scope Scope>
  struct atomic_ref : zoo::true_ref<T, Scope> {
    HEDDLE_FUNCTION explicit atomic_ref(T& word) : zoo::true_ref<T, Scope>(word), word_(word) {}
    HEDDLE_FUNCTION void store(T value, memory_order order) const {
      zoo::true_ref<T, Scope == scope::system ? scope::block : Scope>(word_).store(value, order);
    }

   private:
    T& word_;
  };
};

void run_narrow_writer(const parameters& set) {
  device on;
  fifo_test<rpc::lap_parity> test(on, set, set.count("calls"));
  if (zoo::is_fixed(set)) return zoo::run_flushing(test, set, test.producer(), test.consumer());
  zoo::run_flushing(test, set, test.producer<publishes_to_its_block>(), test.consumer());
}

}  // namespace

HEDDLE_ZOO(run_narrow_writer,
           {.name = "zoo.writer-scope-too-narrow",
            .summary = "an entry of a FIFO is published in block scope",
            .parameters = zoo::small_fifo(0),
            .expected = zoo::where_memory_is_late<scheduler::verdict::scope_race, zoo::late_over_the_link::stores,
                                                  zoo::flushed_fifo>});

}  // namespace heddle::tests
