// The ring of reverse offload with one of its rules broken, each as libgomp's ring for gcn has it (config/gcn/target.c, plugin-gcn.c).
//
// Smallest: for the hole 2 waves and as many entries as calls; for the other two as many calls as make the ring go round.
#include "../offloads.h"
#include "weakened.h"

namespace heddle::tests {
namespace {

using scheduler::verdict;

// -- entries are served in the order of their tickets -----------------------------------------------------------------------------

/// The host sees no request but that of the next ticket.
class entries_in_order {
 public:
  entries_in_order(void* memory, rpc::offload_layout shape) : entries_(memory, shape) {}

  uint64_t load_turn(uint32_t entry) const { return entry == next_ ? entries_.load_turn(entry) : 0; }
  void store_turn(uint32_t entry, uint64_t turn) {
    entries_.store_turn(entry, turn);
    next_ = next_ + 1 < shape().entries ? next_ + 1 : 0;
  }
  rpc::offload_header& open(uint32_t entry, rpc::offload_buffer& held) const { return entries_.open(entry, held); }
  void close(uint32_t entry, rpc::offload_buffer& held, uint64_t lanes) const { entries_.close(entry, held, lanes); }
  void fetch(void* to, uint64_t from, size_t bytes) const { entries_.fetch(to, from, bytes); }
  void put(uint64_t to, const void* from, size_t bytes) const { entries_.put(to, from, bytes); }
  rpc::offload_layout shape() const { return entries_.shape(); }

 private:
  rpc::mapped_entries<target> entries_;
  uint32_t next_ = 0;
};

struct make_server_in_order {
  const offload_test<false>& test;
  auto operator()(uint32_t) const {
    return test.server_with<rpc::offload_ring>(entries_in_order(test.memory(), test.shape()));
  }
};

void run_offload_ring_hole(const parameters& set) {
  if (zoo::is_fixed(set)) return run_offload_on<rpc::offload_ring, false>(set);
  device on;
  offload_test<false> test(on, set);
  test.run(test.client<rpc::offload_ring>(), make_server_in_order{test});
}

verdict ring_hole_verdict(const parameters& set) {
  const bool hangs = !zoo::is_fixed(set) && set.has("progress") && set.text("progress") == "hsa";
  return hangs ? verdict::progress : needs_fair_ring(set);
}

std::vector<parameter> reserved_and_left() {
  std::vector<parameter> all = zoo::with_twin({
      parameter::number("waves", 2, 2, 65536, "", "waves that call"),
      parameter::number("lanes", 2, 1, 64, "", "lanes of each wave"),
      parameter::number("servers", 1, 1, 1, "", "host threads that serve"),
      parameter::number("calls", 2, 1, 100000, "", "calls that each lane makes"),
  });
  all.push_back(entries_parameter("16"));
  // The machine's own default is kinder.
  all.push_back(parameter::one_of("progress", "hsa",
                                  {"fair", "unfair", "hsa", "obe", "hsa_obe", "lobe", "slots", "cuda"},
                                  "which waves are guaranteed a turn; each model is explained in docs/simulator.md"));
  return all;
}

// -- whether an entry is in use is told by the ticket -----------------------------------------------------------------------------

/// A ticket below the number of entries is taken for one of the first lap.
struct ring_that_never_wraps : rpc::offload_ring {
  template <typename Target, typename Check>
  HEDDLE_FUNCTION static bool take(uint32_t* own, const rpc::offload_turns<Target>& turns, uint32_t& ticket) {
    ticket = typename Target::template atomic_ref<uint32_t, scope::device>(*own).fetch_add(1, memory_order::relaxed);
    if (ticket >= turns.shape().entries) {
      const uint32_t entry = entry_of(ticket, turns.shape());
      while (turns.load(entry) != free_turn(ticket, turns.shape())) Target::pause();
    }
    return true;
  }
};

void run_offload_ring_wrap(const parameters& set) {
  if (zoo::is_fixed(set)) return run_offload_on<rpc::offload_ring, false>(set);
  run_offload_on<ring_that_never_wraps, false, zoo::noticed_by_either, zoo::noticed_by_either>(set);
}

// -- the server gives an entry back before its client has looked -------------------------------------------------------------------

struct ring_given_back_by_server : rpc::offload_ring {
  /// Without a lap, as the flag of libgomp's entries is: 0 is both an answer and a free entry.
  HEDDLE_FUNCTION static constexpr uint64_t turn_after(uint64_t) { return 0; }
  HEDDLE_FUNCTION static constexpr uint64_t free_turn(uint32_t, rpc::offload_layout) { return 0; }
  HEDDLE_FUNCTION static constexpr uint64_t posted_turn(uint32_t, rpc::offload_layout) { return 1; }

  /// The host has come so far that this entry is done with: the turn says so.
  template <typename Target, typename Check>
  HEDDLE_FUNCTION static bool take(uint32_t* own, const rpc::offload_turns<Target>& turns, uint32_t& ticket) {
    ticket = typename Target::template atomic_ref<uint32_t, scope::device>(*own).fetch_add(1, memory_order::relaxed);
    while (turns.load(entry_of(ticket, turns.shape())) != 0) Target::pause();
    return true;
  }
  template <typename Target, typename Check>
  HEDDLE_FUNCTION static void give_back(uint32_t*, const rpc::offload_turns<Target>&, uint32_t) {}
};

void run_offload_ring_reuse(const parameters& set) {
  if (zoo::is_fixed(set)) return run_offload_on<rpc::offload_ring, false>(set);
  run_offload_on<ring_given_back_by_server, false, zoo::noticed_by_either, zoo::noticed_by_either>(set);
}

/// Two clients have one entry, which the protocol or one of them notices.
verdict two_in_one_entry(const parameters& set) {
  return zoo::is_fixed(set) ? needs_fair_ring(set) : verdict::assertion;
}

std::vector<parameter> round_the_ring(int64_t first) {
  std::vector<parameter> all = zoo::with_twin(offload_parameters(3, 1, 3));
  all.push_back(entries_parameter("2"));
  // It is a race too, in some schedules.
  all.push_back(parameter::one_of("races", "count", {"end", "count"},
                                  "what a race does (fidelity scoped): end the run with a verdict, or only count"));
  all.push_back(parameter::number("first", first, 0, UINT32_MAX, "", "ticket of the first call"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_offload_ring_hole,
           {.name = "zoo.offload-ring-hole",
            .summary = "entries are served in order, and one that is reserved and not filled holds up all",
            .parameters = reserved_and_left(),
            .expected = ring_hole_verdict});

HEDDLE_ZOO(run_offload_ring_wrap,
           {.name = "zoo.offload-ring-wrap",
            .summary = "a counter wraps, and entries in use are taken for those of the first lap",
            .parameters = round_the_ring(int64_t{UINT32_MAX} - 3),
            .expected = two_in_one_entry});

HEDDLE_ZOO(run_offload_ring_reuse, {.name = "zoo.offload-ring-reuse",
                                    .summary = "the host gives an entry back before its client has read the answer",
                                    .parameters = round_the_ring(0),
                                    .expected = two_in_one_entry});

}  // namespace heddle::tests
