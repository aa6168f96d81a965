// FIFO and hostcalls with one thing wrong: an order, a scope, a rule of numbers, a step that is two. Each says which verdict it must
// get; the twins are the same programs on the machine as it is.
#include "../../scenarios/fifos.h"
#include "../../scenarios/hostcalls.h"

#include "mutants.h"

namespace heddle::tests {
namespace {

using mutants::true_ref;
using scheduler::verdict;

// -- machines ---------------------------------------------------------------------------------------------------------------------

/// Loads, stores and read-modify-writes of one scope lose the half of their order that is named.
template <scope Weak, memory_order Lost>
struct loses_order : sim::target {
  static constexpr memory_order weakened(memory_order order, scope at) {
    if (at != Weak) return order;
    if (order == memory_order::acq_rel)
      return Lost == memory_order::acquire ? memory_order::release : memory_order::acquire;
    return order == Lost ? memory_order::relaxed : order;
  }
  template <scope Scope>
  static void fence(memory_order order) {
    if (weakened(order, Scope) != memory_order::relaxed) sim::target::fence<Scope>(weakened(order, Scope));
  }
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    using base = true_ref<T, Scope>;
    using base::base;
    T load(memory_order order) const { return base::load(weakened(order, Scope)); }
    void store(T value, memory_order order) const { base::store(value, weakened(order, Scope)); }
    T exchange(T value, memory_order order) const { return base::exchange(value, weakened(order, Scope)); }
    T fetch_add(T value, memory_order order) const { return base::fetch_add(value, weakened(order, Scope)); }
    bool compare_exchange_strong(T& expected, T desired, memory_order order) const {
      return base::compare_exchange_strong(expected, desired, weakened(order, Scope));
    }
  };
};
using releases_nothing = loses_order<scope::system, memory_order::release>;
using acquires_nothing = loses_order<scope::system, memory_order::acquire>;
using hands_no_credit_on = loses_order<scope::device, memory_order::release>;
using takes_no_credit_over = loses_order<scope::device, memory_order::acquire>;

/// What is of system scope reaches the own side of the link only.
struct stays_on_its_side : sim::target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope == scope::system ? scope::device : Scope> {
    using weaker = true_ref<T, Scope == scope::system ? scope::device : Scope>;
    explicit atomic_ref(T& word) : weaker(word) {}
  };
};

/// Stores of system scope are like any other variable's.
struct stores_plainly : sim::target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    explicit atomic_ref(T& word) : true_ref<T, Scope>(word), plain_(word) {}
    void store(T value, memory_order order) const {
      if (Scope == scope::system)
        plain_ = value;
      else
        true_ref<T, Scope>::store(value, order);
    }

   private:
    T& plain_;
  };
};

/// Another thread may run in between the two halves of an addition of device scope, or of an exchange of 64 bits.
struct modifies_in_two_steps : sim::target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    using base = true_ref<T, Scope>;
    using base::base;
    T fetch_add(T value, memory_order order) const {
      if (Scope != scope::device) return base::fetch_add(value, order);
      const T before = base::load(memory_order::acquire);
      base::store(before + value, memory_order::release);
      return before;
    }
    T exchange(T value, memory_order order) const {
      if (sizeof(T) != 8) return base::exchange(value, order);
      const T before = base::load(memory_order::acquire);
      base::store(value, memory_order::release);
      return before;
    }
  };
};

/// A compare-and-swap of 32 bits does not compare.
struct swaps_without_comparing : sim::target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    using base = true_ref<T, Scope>;
    using base::base;
    bool compare_exchange_strong(T& expected, T desired, memory_order order) const {
      if (sizeof(T) != 4) return base::compare_exchange_strong(expected, desired, order);
      base::exchange(desired, order);
      return true;
    }
  };
};

// -- rules of numbers -------------------------------------------------------------------------------------------------------------

/// There is always room.
struct always_has_room : rpc::lap_parity {
  static bool has_room(uint32_t, uint32_t, uint32_t) { return true; }
};
/// The ring holds one entry more than it has.
struct holds_one_more : rpc::lap_parity {
  static bool has_room(uint32_t end, uint32_t tail, uint32_t entries) {
    return rpc::lap_parity::has_room(end, tail, entries + 1);
  }
};
/// All laps have one flag, which is never cleared.
struct same_in_every_lap : rpc::lap_parity {
  static uint32_t flag_of(uint32_t, uint32_t) { return 1; }
};

// -- programs over a FIFO ---------------------------------------------------------------------------------------------------------

template <typename Producer>
struct pushing_kernel {
  Producer producer;
  fifo_letters letters;

  void operator()() const {
    for (uint32_t call = 0; call < letters.who.calls; ++call) {
      if (call != 0 && call % letters.each == 0) producer.flush();
      producer.push(letters.write(call));
    }
    producer.flush();
  }
};

/// Keeps the place of its entry, and writes it when the flag says that it is written.
template <typename Producer>
struct late_writer {
  Producer producer;
  fifo_letters letters;

  void operator()() const {
    for (uint32_t call = 0; call < letters.who.calls; ++call) {
      const auto fill = letters.write(call);
      fifo_message* place = nullptr;
      producer.push([&](fifo_message& message, uint32_t) { place = &message; });
      fill(*place, 0);
    }
    producer.flush();
  }
};

/// Gives places back only when it has a batch of them, whether or not there is more to take.
struct keeps_credit {
  using end = rpc::fifo_end<target, fifo_message>;
  rpc::fifo_consumer<fifo_message> consumer;
  end at;
  uint32_t* seen;

  template <typename Handle>
  uint32_t consume(Handle&& handle, uint32_t batch) const {
    const uint32_t first = at.tail().load(memory_order::relaxed);
    auto& slot = at.slot_of(first + *seen);
    if (*seen == batch || end::word_ref(slot.flag).load(memory_order::acquire) !=
                              rpc::lap_parity::flag_of(first + *seen, at.entry_count()))
      return 0;
    handle(slot.entry);
    if (++*seen == batch) {
      at.tail().store(first + batch, memory_order::release);
      *seen = 0;
    }
    return 1;
  }
};

std::vector<parameter> small_fifo() { return fifo_parameters(2, 2, 4, 4); }

template <template <typename> typename Kernel, typename Test, typename Producer, typename Consumer>
void run_fifo(Test& test, const parameters& set, Producer producer, Consumer consumer, uint32_t letters) {
  test.run(consumer, Kernel<Producer>{producer, {test.letters(), letters, {set.count("lanes"), set.count("calls")}}},
           {.waves = set.count("waves"), .lanes = set.count("lanes")}, [] { return true; });
}

template <typename ProducerMachine, typename ConsumerMachine, typename Form = rpc::lap_parity>
void run_pushing(const parameters& set) {
  device on;
  fifo_test<Form> test(on, set, 2);
  run_fifo<pushing_kernel>(test, set, test.template producer<ProducerMachine>(),
                           test.template consumer<ConsumerMachine>(), 2);
}

template <typename Machine>
void run_producer(const parameters& set) {
  run_pushing<Machine, target>(set);
}
template <typename Machine>
void run_consumer(const parameters& set) {
  run_pushing<target, Machine>(set);
}
template <typename Form>
void run_form(const parameters& set) {
  run_pushing<target, target, Form>(set);
}

void run_late_writer(const parameters& set) {
  device on;
  fifo_test<rpc::lap_parity> test(on, set, set.count("calls"));
  run_fifo<late_writer>(test, set, test.producer(), test.consumer(), set.count("calls"));
}

void run_keeps_credit(const parameters& set) {
  device on;
  fifo_test<rpc::lap_parity> test(on, set, 2);
  auto* const seen = on.allocate_shared<uint32_t>(1, "entries for which no credit is given back");
  run_fifo<pushing_kernel>(test, set, test.producer(),
                           keeps_credit{test.consumer(), {test.memory(), test.shape()}, seen}, 2);
}

// -- entries with their flag inside, each with a letter beside it -------------------------------------------------------------------

template <typename Machine, typename Form, bool Fences>
struct pairing_kernel {
  rpc::basic_fifo_producer<Machine, rpc::fifo_pair, Form, rpc::checked> producer;
  uint64_t* letters;
  callers who;

  void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      letters[id] = id * 7 + 1;
      // Pairs with the acquire behind the consumer's look: an entry alone publishes nothing but itself.
      if constexpr (Fences) Machine::template fence<scope::system>(memory_order::release);
      producer.push([&](rpc::fifo_pair& to, uint32_t) { to = {{id, (id + 1) * 3}}; });
    }
    producer.flush();
  }
};

template <typename Machine, typename Form = rpc::flag_inside, bool Fences = true>
void run_pairs(const parameters& set) {
  device on;
  const rpc::fifo_layout<rpc::fifo_pair> shape{fifo_entries(set)};
  const uint64_t all = uint64_t{set.count("waves")} * set.count("lanes") * set.count("calls");
  auto* const memory = on.allocate_shared<unsigned char>(shape.size_bytes(), "fifo");
  auto* const counters = on.allocate_device<rpc::fifo_counters>(1, "fifo counters");
  auto* const letters = on.allocate_shared<uint64_t>(all, "letters");
  auto* const seen = on.allocate_shared<uint32_t>(all, "entries consumed");
  const auto first = static_cast<uint32_t>(set.number("first"));
  const rpc::fifo_counters begin{first, first};
  rpc::fifo_layout<rpc::fifo_pair>::begin_at(memory, first);
  on.copy(counters, &begin, sizeof begin);
  auto consuming = on.spawn_host("consumer", [=] {
    const rpc::basic_fifo_consumer<target, rpc::fifo_pair, Form, rpc::checked> consumer(memory, shape);
    uint64_t taken = 0;
    while (taken < all) {
      taken += consumer.consume([&](const rpc::fifo_pair& from) {
        const uint64_t id = from.words[0];
        HEDDLE_CHECK(id < all && from.words[1] == (id + 1) * 3, "an entry is not whole");
        HEDDLE_CHECK(seen[id]++ == 0, "an entry arrives twice");
        HEDDLE_CHECK(letters[id] == id * 7 + 1, "a letter is not the one that was sent");
      });
      target::pause();
    }
  });
  on.launch({.waves = set.count("waves"), .lanes = set.count("lanes")},
            pairing_kernel<Machine, Form, Fences>{
                {memory, counters, shape}, letters, {set.count("lanes"), set.count("calls")}});
  on.synchronize();
  consuming.join();
}

/// All laps have one flag.
struct flag_of_one_lap : rpc::flag_inside {
  static uint32_t flag_of(uint32_t, uint32_t) { return 1; }
};
/// There is always room.
struct pairs_without_limit : rpc::flag_inside {
  static bool has_room(uint32_t, uint32_t, uint32_t) { return true; }
};

std::vector<parameter> fifo_in_batches() {
  std::vector<parameter> all = fifo_parameters(1, 1, 4, 4);
  for (parameter& each : all)
    if (each.key == "batch") each = parameter::number("batch", 3, 1, 4, each.unit, each.help);
  return all;
}

template <verdict... Wanted>
scheduler::verdict_set planted(const parameters&) {
  return {Wanted...};
}

[[maybe_unused]] const bool fifo_twins[] = {
    register_scenario(run_pushing<target, target>,
                      {.name = "twin.fifo", .summary = "twin", .parameters = small_fifo()}),
    register_scenario(run_form<rpc::cleared_flag>,
                      {.name = "twin.fifo-cleared", .summary = "twin", .parameters = small_fifo()}),
    register_scenario(run_pairs<target>, {.name = "twin.fifo-pairs", .summary = "twin", .parameters = small_fifo()}),
};

struct planted_bug {
  const char* name;
  void (*run)(const parameters&);
  scheduler::verdict_set (*wanted)(const parameters&);
  std::vector<parameter> (*settings)();
};

const planted_bug bugs[] = {
    {"mutant.fifo-publishes-relaxed", run_producer<releases_nothing>, planted<verdict::race>, small_fifo},
    {"mutant.fifo-publishes-plainly", run_producer<stores_plainly>, planted<verdict::race>, small_fifo},
    {"mutant.fifo-publishes-to-its-side", run_producer<stays_on_its_side>, planted<verdict::scope_race>, small_fifo},
    {"mutant.fifo-credit-is-not-acquired", run_producer<acquires_nothing>, planted<verdict::race>, small_fifo},
    {"mutant.fifo-credit-is-not-handed-on", run_producer<hands_no_credit_on>, planted<verdict::race>, small_fifo},
    {"mutant.fifo-credit-is-not-taken-over", run_producer<takes_no_credit_over>, planted<verdict::race>, small_fifo},
    {"mutant.fifo-reserves-in-two-steps", run_producer<modifies_in_two_steps>, planted<verdict::race>, small_fifo},
    {"mutant.fifo-lanes-do-not-wait", run_producer<mutants::sync_is_left_out>, planted<verdict::race>, small_fifo},
    {"mutant.fifo-consumer-does-not-acquire", run_consumer<acquires_nothing>, planted<verdict::race>, small_fifo},
    {"mutant.fifo-gives-back-relaxed", run_consumer<releases_nothing>, planted<verdict::race>, small_fifo},
    {"mutant.fifo-always-has-room", run_form<always_has_room>,
     planted<verdict::race, verdict::deadlock, verdict::assertion>, small_fifo},
    {"mutant.fifo-holds-one-more", run_form<holds_one_more>, planted<verdict::race, verdict::deadlock>, small_fifo},
    {"mutant.fifo-same-flag-in-every-lap", run_form<same_in_every_lap>, planted<verdict::assertion>, small_fifo},
    {"mutant.fifo-flag-before-entry", run_late_writer, planted<verdict::race>, small_fifo},
    {"mutant.fifo-pair-names-what-it-does-not-publish", run_pairs<target, rpc::flag_inside, false>,
     planted<verdict::race>, small_fifo},
    {"mutant.fifo-pair-same-flag-in-every-lap", run_pairs<target, flag_of_one_lap>, planted<verdict::assertion>,
     small_fifo},
    {"mutant.fifo-pair-always-has-room", run_pairs<target, pairs_without_limit>,
     planted<verdict::assertion, verdict::deadlock, verdict::protocol>, small_fifo},
    {"mutant.fifo-credit-waits-for-a-batch", run_keeps_credit, planted<verdict::deadlock>, fifo_in_batches},
};

// -- programs over hostcalls ------------------------------------------------------------------------------------------------------

std::vector<parameter> small_hostcalls() { return hostcall_parameters(2, 2, 2, 2, 2); }
std::vector<parameter> one_listener() { return hostcall_parameters(2, 2, 2, 1, 2); }
std::vector<parameter> abandoned_hostcalls() { return hostcall_parameters(2, 1, 4, 1, 2); }

template <typename ClientMachine, typename ServerMachine>
void run_calls(const parameters& set, hostcall_listener listens = {}) {
  device on;
  hostcall_test<ServerMachine> test(on, set);
  test.run(
      hostcall_kernel<rpc::basic_hostcall_client<ClientMachine, rpc::checking>>{
          test.template client_on<ClientMachine>(listens.sleeps), test.who()},
      [] { return true; }, listens);
}
template <typename Machine>
void run_client(const parameters& set) {
  run_calls<Machine, target>(set);
}
template <typename Machine>
void run_server(const parameters& set) {
  run_calls<target, Machine>(set);
}
void run_lost_ring(const parameters& set) {
  run_calls<mutants::ring_is_lost, target>(set, {.sleeps = true, .timeout_ns = no_timeout});
}

/// Gives up when it has looked once.
template <typename Client>
struct impatient_kernel {
  Client client;
  callers who;

  void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call)
      client.call(
          hostcall_service, [&](rpc::packet& line, uint32_t) { line.words[0] = who.request(call); },
          [](rpc::packet&, uint32_t) {}, 1);
  }
};

template <typename Machine>
void run_impatient(const parameters& set) {
  device on;
  hostcall_test<> test(on, set);
  test.run(impatient_kernel<rpc::basic_hostcall_client<Machine, rpc::checking>>{test.template client_on<Machine>(false),
                                                                                test.who()},
           [] { return true; }, {});
}

const planted_bug hostcall_bugs[] = {
    {"mutant.hostcall-posts-relaxed", run_client<releases_nothing>, planted<verdict::race>, small_hostcalls},
    {"mutant.hostcall-takes-relaxed", run_client<acquires_nothing>, planted<verdict::race>, small_hostcalls},
    {"mutant.hostcall-stays-on-its-side", run_client<stays_on_its_side>, planted<verdict::scope_race>, small_hostcalls},
    {"mutant.hostcall-lanes-do-not-wait", run_client<mutants::sync_is_left_out>, planted<verdict::race>,
     small_hostcalls},
    {"mutant.hostcall-server-does-not-acquire", run_server<acquires_nothing>, planted<verdict::race>, small_hostcalls},
    {"mutant.hostcall-answers-relaxed", run_server<releases_nothing>, planted<verdict::race>, small_hostcalls},
    {"mutant.hostcall-takes-in-two-steps", run_server<modifies_in_two_steps>, planted<verdict::deadlock>, one_listener},
    {"mutant.hostcall-sleeps-for-ever", run_lost_ring, planted<verdict::deadlock>, small_hostcalls},
    {"mutant.hostcall-abandons-what-is-answered", run_impatient<swaps_without_comparing>, planted<verdict::assertion>,
     abandoned_hostcalls},
};

[[maybe_unused]] const bool hostcall_twins[] = {
    register_scenario(run_client<target>,
                      {.name = "twin.hostcall", .summary = "twin", .parameters = small_hostcalls()}),
    register_scenario(run_impatient<target>,
                      {.name = "twin.hostcall-impatient", .summary = "twin", .parameters = abandoned_hostcalls()}),
};

template <size_t Count>
bool plant(const planted_bug (&all)[Count]) {
  for (const planted_bug& each : all)
    register_scenario(
        each.run, {.name = each.name, .summary = "planted", .parameters = each.settings(), .expected = each.wanted});
  return true;
}
[[maybe_unused]] const bool planted_all[] = {plant(bugs), plant(hostcall_bugs)};

}  // namespace
}  // namespace heddle::tests
