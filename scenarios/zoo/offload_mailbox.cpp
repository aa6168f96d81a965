// The single mailbox of reverse offload with one of its rules broken. Smallest: 1 wave, 1 call; for the lock 2 waves.
//
// Each was in the first patch for nvptx, of 2022, or is what its review asks whether it can happen: a lock across the link, a copy that is
// to see the device's stores in their order, a host that clears the mailbox by a plain store. That copies in the kernel's own stream lock
// up is said in a comment of that patch.
#include "../offloads.h"
#include "weakened.h"

namespace heddle::tests {
namespace {

using scheduler::verdict;

// -- the host clears the mailbox plainly ------------------------------------------------------------------------------------------

void run_offload_plain_clear(const parameters& set) {
  if (zoo::is_fixed(set)) return run_offload_on<rpc::single_mailbox, false>(set);
  run_offload_on<rpc::single_mailbox, false, target, zoo::plain_mailbox_store>(set);
}

verdict plain_clear_verdict(const parameters& set) {
  // A store of the host is not late in a way that this would show.
  const bool races = !set.has("fidelity") || set.text("fidelity") == "scoped";
  return races && !zoo::is_fixed(set) ? verdict::race : needs_fair_requesters(set);
}

// -- one copy brings the turn and what it stands for ------------------------------------------------------------------------------

/// Looks at a turn by a copy of the whole entry, and believes the rest of it.
class entries_copied_at_once {
 public:
  entries_copied_at_once(void* memory, rpc::offload_layout shape, device_copy copy)
      : base_(static_cast<unsigned char*>(memory)), shape_(shape), copy_(copy), by_parts_(memory, shape, copy) {}

  /// Once a request is seen it is not copied again.
  uint64_t load_turn(uint32_t entry) const {
    if (shadow_.header.turn == 0) copy_(&shadow_, base_ + shape_.entry_offset(entry), shape_.entry_bytes());
    return shadow_.header.turn;
  }
  void store_turn(uint32_t entry, uint64_t turn) const {
    by_parts_.store_turn(entry, turn);
    shadow_.header.turn = turn;
  }
  rpc::offload_header& open(uint32_t, rpc::offload_buffer& held) const {
    held = shadow_;
    return held.header;
  }
  void close(uint32_t entry, rpc::offload_buffer& held, uint64_t lanes) const { by_parts_.close(entry, held, lanes); }
  void fetch(void* to, uint64_t from, size_t bytes) const { by_parts_.fetch(to, from, bytes); }
  void put(uint64_t to, const void* from, size_t bytes) const { by_parts_.put(to, from, bytes); }
  rpc::offload_layout shape() const { return shape_; }

 private:
  unsigned char* base_;
  rpc::offload_layout shape_;
  device_copy copy_;
  rpc::copied_entries<device_copy> by_parts_;
  mutable rpc::offload_buffer shadow_{};
};

struct make_copier_of_all {
  const offload_test<true>& test;
  auto operator()(uint32_t) const {
    return test.server_with<rpc::single_mailbox>(
        entries_copied_at_once(test.memory(), test.shape(), device_copy{&test.on()}));
  }
};

void run_offload_whole_copy(const parameters& set) {
  if (zoo::is_fixed(set)) return run_offload_on<rpc::single_mailbox, true>(set);
  device on;
  offload_test<true> test(on, set);
  test.run(test.client<rpc::single_mailbox>(), make_copier_of_all{test});
}

verdict whole_copy_verdict(const parameters& set) {
  if (zoo::is_fixed(set)) return needs_fair_requesters(set);
  // Where nothing is a race, the arguments of the last request are seen with the turn of this one.
  return set.has("fidelity") && set.text("fidelity") != "scoped" ? verdict::assertion : verdict::race;
}

// -- copies stand behind the kernel -----------------------------------------------------------------------------------------------

/// A copy in a stream begins when what the stream was given before has ended.
struct copy_in_stream {
  device* on;
  device::stream in;
  void operator()(void* to, const void* from, size_t bytes) const {
    on->synchronize(in);
    on->copy(to, from, bytes);
  }
};

struct make_copier_in_stream {
  const offload_test<true>& test;
  device::stream in;
  auto operator()(uint32_t) const {
    return test.server_with<rpc::single_mailbox>(
        rpc::copied_entries<copy_in_stream>(test.memory(), test.shape(), {&test.on(), in}));
  }
};

void run_offload_kernel_stream(const parameters& set) {
  device on;
  offload_test<true> test(on, set);
  test.run(test.client<rpc::single_mailbox>(),
           make_copier_in_stream{test, zoo::is_fixed(set) ? on.create_stream() : test.stream()});
}

verdict kernel_stream_verdict(const parameters& set) {
  return zoo::is_fixed(set) ? needs_fair_requesters(set) : verdict::deadlock;
}

// -- the lock lies in the mailbox -------------------------------------------------------------------------------------------------

/// The lock is a word of the mailbox, taken across the link by compare-and-swap. (The patch took it by an exchange. Split in two, that may
/// also leave the lock taken for ever, without a holder.)
struct mailbox_with_lock : rpc::single_mailbox {
  template <typename Target, typename Check>
  HEDDLE_FUNCTION static bool take(uint32_t*, const rpc::offload_turns<Target>& turns, uint32_t& ticket) {
    ticket = 0;
    uint64_t seen = 0;
    // Acquire pairs with the release of the last holder.
    while (!lock<Target>(turns).compare_exchange_strong(seen, 1, memory_order::acquire)) {
      seen = 0;
      Target::pause();
    }
    return true;
  }
  template <typename Target, typename Check>
  HEDDLE_FUNCTION static void give_back(uint32_t*, const rpc::offload_turns<Target>& turns, uint32_t) {
    lock<Target>(turns).store(0, memory_order::release);
  }

 private:
  template <typename Target>
  HEDDLE_FUNCTION static auto lock(const rpc::offload_turns<Target>& turns) {
    return typename Target::template atomic_ref<uint64_t, scope::system>(turns.header(0).unused[0]);
  }
};

void run_offload_lock_across_link(const parameters& set) {
  if (zoo::is_fixed(set)) return run_offload_on<rpc::single_mailbox, false>(set);
  run_offload_on<mailbox_with_lock, false, zoo::noticed_by_either, zoo::noticed_by_either>(set);
}

verdict lock_across_link_verdict(const parameters& set) {
  // On a real machine its link decides, and most carry this. Where the device has the mailbox no read-modify-write crosses the link.
  if (zoo::is_fixed(set) || !zoo::link_is_crossed(set)) return needs_fair_requesters(set);
  const std::string& carried = set.text("link.rmw");
  if (carried == "refused") return verdict::memory;
  return carried == "split" ? verdict::assertion : needs_fair_requesters(set);
}

std::vector<parameter> few_offloads() { return zoo::with_twin(offload_parameters(2, 2, 2)); }

std::vector<parameter> offloads_without_atomics() {
  std::vector<parameter> all = few_offloads();
  all.push_back(parameter::one_of("fidelity", "link", {"interleaving", "link", "scoped"},
                                  "how memory behaves: scoped and weak, late across the link alone, or every access at "
                                  "once"));
  all.push_back(
      parameter::one_of("link.rmw", "split", {"all", "pcie", "split", "refused"},
                        "read-modify-writes across the link: all, only PCIe's three, a read and then a write, "
                        "or none"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_offload_plain_clear, {.name = "zoo.offload-plain-clear",
                                     .summary = "the host clears the mailbox by a plain store",
                                     .parameters = few_offloads(),
                                     .expected = plain_clear_verdict});

HEDDLE_ZOO(run_offload_whole_copy, {.name = "zoo.offload-whole-copy",
                                    .summary = "one copy is to bring the turn and the request in their order",
                                    .parameters = few_offloads(),
                                    .expected = whole_copy_verdict});

HEDDLE_ZOO(run_offload_kernel_stream, {.name = "zoo.offload-kernel-stream",
                                       .summary = "the host copies the mailbox in the stream of the kernel",
                                       .parameters = few_offloads(),
                                       .expected = kernel_stream_verdict});

HEDDLE_ZOO(run_offload_lock_across_link,
           {.name = "zoo.offload-lock-across-link",
            .summary = "the lock of a mailbox is taken across a link that carries no atomics",
            .parameters = offloads_without_atomics(),
            .expected = lock_across_link_verdict});

}  // namespace heddle::tests
