// The ports and slots of rpc/ against their models: the steps from state to state that the C++ takes, under many schedules of the
// simulator with weak memory, are those that the model can take. No more: what the C++ does the model knows. No fewer: what the model
// was judged by, the C++ does. The files *.steps stand between the two: another test has Spin write them again.
#include "../rpc/mutants.h"
#include "../sim/run.h"
#include "record.h"

#include <heddle/rpc/rpc.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace heddle::tests::models {
namespace {

using rpc::side;
using scheduler::verdict;

/// As the parameters of the models. Calls take turns to wait for their answer and not to (MIXED).
struct counts {
  uint32_t waves;
  uint32_t boxes;
  uint32_t servers;
  uint32_t calls;
};

bool leaves(uint32_t wave, uint32_t call) { return (wave + call) % 2 == 1; }

using flag = sim::target::atomic_ref<uint32_t, scope::system>;

/// Runs the kernel on waves of one lane, and `last` on one wave behind it, beside two servers at most, each of its own type.
template <typename Kernel, typename Last, typename First, typename Second>
void run_both_sides(sim::device& on, const counts& set, Kernel kernel, Last last, First first, Second second) {
  auto* const stop = on.allocate_shared<uint32_t>(1, "stop");
  const auto until_stopped = [stop](auto serve) {
    return [stop, serve]() mutable {
      for (;;) {
        const bool ends = flag(*stop).load(memory_order::acquire) != 0;
        if (serve()) continue;
        if (ends) return;
        sim::target::pause();
      }
    };
  };
  auto one = on.spawn_host("server", until_stopped(first));
  std::optional<decltype(on.spawn_host("server", [] {}))> other;
  if (set.servers > 1) other.emplace(on.spawn_host("other server", until_stopped(second)));
  on.launch({.blocks = 1, .waves = set.waves, .lanes = 1}, kernel);
  on.launch({.blocks = 1, .waves = 1, .lanes = 1}, last);
  on.synchronize();
  flag(*stop).store(1, memory_order::release);
  one.join();
  if (other) other->join();
}

// -- ports ------------------------------------------------------------------------------------------------------------------------

/// The ports with the client on `Client`, a machine that may have a fault.
template <typename Client = sim::target>
struct ports {
  using client_machine = recording<side::client, 0, Client>;
  using client = rpc::basic_client<client_machine>;

  struct kernel {
    client to;
    counts set;

    void operator()() const {
      for (uint32_t call = 0; call < set.calls; ++call) {
        auto port = to.template open<rpc::user_opcode(1)>();
        port.send([](rpc::packet& packet, uint32_t) {
          begin_use(side::client, &packet);
          packet.words[0] = 1;
          end_use(side::client, &packet, content::request);
        });
        if (leaves(client_machine::wave_id(), call)) continue;
        port.recv([](rpc::packet& packet, uint32_t) {
          begin_use(side::client, &packet);
          SIM_CHECK(packet.words[0] == 2);
          end_use(side::client, &packet);
        });
      }
    }
  };

  template <uint32_t Number>
  struct serve {
    rpc::basic_server<recording<side::server, Number>> at;

    bool operator()() {
      auto port = at.try_open();
      if (!port) return false;
      port.recv([](rpc::packet& packet, uint32_t) {
        begin_use(side::server, &packet);
        SIM_CHECK(packet.words[0] == 1);
        end_use(side::server, &packet);
      });
      port.send([](rpc::packet& packet, uint32_t) {
        begin_use(side::server, &packet);
        packet.words[0] = 2;
        end_use(side::server, &packet, content::answer);
      });
      return true;
    }
  };

  struct nothing {
    void operator()() const {}
  };

  static void run(const counts& set) {
    sim::device on;
    const rpc::layout shape{set.boxes, 1};
    auto* const shared = on.allocate_shared<unsigned char>(shape.size_bytes(), "ports");
    auto* const client_locks = on.allocate_device<uint32_t>(shape.own_words(), "client locks");
    auto* const server_locks = on.allocate_shared<uint32_t>(shape.own_words(), "server locks");
    begin_record({.boxes = set.boxes,
                  .client_outbox = reinterpret_cast<uint32_t*>(shared + rpc::layout::client_outbox_offset()),
                  .server_outbox = reinterpret_cast<uint32_t*>(shared + shape.server_outbox_offset()),
                  .client_locks = client_locks,
                  .server_locks = server_locks,
                  .bits_of_lock = 4,
                  .data = shared + shape.packet_offset(),
                  .data_bytes = sizeof(rpc::packet)});
    run_both_sides(on, set, kernel{client(shared, client_locks, shape), set}, nothing{},
                   serve<0>{{shared, server_locks, shape, 0}}, serve<1>{{shared, server_locks, shape, 1}});
  }
};

// -- slots ------------------------------------------------------------------------------------------------------------------------

template <typename Form, typename Client = sim::target>
struct slots {
  using client_machine = recording<side::client, 0, Client>;
  using client = rpc::basic_slot_client<client_machine, Form>;

  struct kernel {
    client to;
    counts set;

    void operator()() const {
      const auto fill = [](rpc::packet& line, uint32_t) {
        // The model's servers may take their lock between the look at the mailbox and the use of the page.
        client_machine::pause();
        begin_use(side::client, &line);
        SIM_CHECK(line.words[0] == 0);
        line.words[0] = 1;
        end_use(side::client, &line, content::request);
      };
      const auto use = [](rpc::packet& line, uint32_t) {
        begin_use(side::client, &line);
        SIM_CHECK(line.words[0] == 2);
        end_use(side::client, &line);
      };
      for (uint32_t call = 0; call < set.calls; ++call) {
        const bool left = leaves(client_machine::wave_id(), call);
        while (!(left ? to.invoke(fill) : to.invoke(fill, use))) client_machine::pause();
        // Early looks find the server between its post and the end of its lock more often.
        for (uint32_t n = 0; left && n < 2; ++n) to.collect();
      }
    }
  };

  struct collect {
    client to;

    void operator()() const {
      while (!to.all_idle()) {
        to.collect();
        client_machine::pause();
      }
    }
  };

  template <uint32_t Number>
  struct serve {
    rpc::basic_slot_server<recording<side::server, Number>, Form> at;

    bool operator()() {
      return at.handle(
          [](rpc::packet& line, uint32_t) {
            begin_use(side::server, &line);
            SIM_CHECK(line.words[0] == 1);
            line.words[0] = 2;
            end_use(side::server, &line, content::answer);
          },
          [](rpc::packet& line, uint32_t) {
            begin_use(side::server, &line);
            line.words[0] = 0;
            end_use(side::server, &line, content::nothing);
          });
    }
  };

  static void run(const counts& set) {
    sim::device on;
    const rpc::slot_layout<Form> shape{set.boxes, 1};
    auto* const shared = on.allocate_shared<unsigned char>(shape.size_bytes(), "slots");
    auto* const client_locks = on.allocate_device<uint32_t>(shape.own_words(), "client locks");
    auto* const server_locks = on.allocate_shared<uint32_t>(shape.own_words(), "server locks");
    begin_record({.boxes = set.boxes,
                  .client_outbox = reinterpret_cast<uint32_t*>(shared + shape.client_outbox_offset()),
                  .server_outbox = reinterpret_cast<uint32_t*>(shared + shape.server_outbox_offset()),
                  .client_locks = client_locks,
                  .server_locks = server_locks,
                  .bits_of_lock = 4,
                  .data = shared + shape.page_offset(),
                  .data_bytes = sizeof(rpc::packet)});
    const client to(shared, client_locks, shape);
    run_both_sides(on, set, kernel{to, set}, collect{to}, serve<0>{{shared, server_locks, shape, 0}},
                   serve<1>{{shared, server_locks, shape, 1}});
  }
};

// -- comparison -------------------------------------------------------------------------------------------------------------------

using steps = std::set<std::string>;

steps steps_of_model(const std::string& name) {
  std::ifstream file(std::string(MODEL_STEPS) + "/" + name + ".steps");
  steps read;
  for (std::string line; std::getline(file, line);) read.insert(line);
  EXPECT_GT(read.size(), 50U) << name << ".steps is missing or cut short";
  return read;
}

steps without(const steps& all, const steps& these) {
  steps left;
  std::set_difference(all.begin(), all.end(), these.begin(), these.end(), std::inserter(left, left.end()));
  return left;
}

/// Runs schedules until `enough(steps so far)`, which is asked now and then; at most so many. Returns how many. The strategies take turns.
template <typename Boxes, typename Enough>
uint64_t run_until(const counts& set, const std::vector<std::string>& settings, bool well, Enough enough) {
  constexpr uint64_t schedules_max = 100000;
  constexpr uint64_t between = 1000;
  forget_steps();
  sim::tests::machine machines[] = {sim::tests::machine(settings, "mix"), sim::tests::machine(settings, "random")};
  for (uint64_t seed = 1; seed <= schedules_max; ++seed) {
    const sim::outcome ended = machines[seed % 2].run([&] { Boxes::run(set); }, seed);
    if (well && ended.verdict != verdict::ok) {
      ADD_FAILURE() << to_string(ended.verdict) << " with seed " << seed << ", " << machines[seed % 2].about() << ": "
                    << ended.message;
      return seed;
    }
    if (seed % between == 0 && enough(seen_steps())) return seed;
  }
  return schedules_max;
}

template <typename Boxes>
void expect_steps_of_model(const std::string& name, const counts& set, const std::vector<std::string>& settings) {
  const steps of_model = steps_of_model(name);
  const auto all_seen = [&](const steps& seen) { return without(of_model, seen).empty(); };
  const uint64_t schedules = run_until<Boxes>(set, settings, true, all_seen);
  const steps of_code = seen_steps();
  std::printf("%s: %zu steps in %llu schedules\n", name.c_str(), of_code.size(),
              static_cast<unsigned long long>(schedules));
  EXPECT_EQ(without(of_code, of_model), steps()) << "the code takes steps that the model lacks";
  EXPECT_EQ(without(of_model, of_code), steps()) << "the model takes steps that the code has not taken";
}

// The models take plain accesses one by one, too.
const std::vector<std::string> scoped{"fidelity=scoped", "points=all"};
constexpr counts two_waves{.waves = 2, .boxes = 1, .servers = 1, .calls = 2};
constexpr counts two_servers{.waves = 1, .boxes = 1, .servers = 2, .calls = 4};

TEST(code_of_ports, takes_the_steps_of_the_model) {
  expect_steps_of_model<ports<>>("port_two_waves", two_waves, scoped);
  expect_steps_of_model<ports<>>("port_two_servers", two_servers, scoped);
}

TEST(code_of_slots, takes_the_steps_of_the_model) {
  expect_steps_of_model<slots<rpc::word_a_slot>>("slot_two_waves", two_waves, scoped);
  expect_steps_of_model<slots<rpc::word_a_slot>>("slot_two_servers", two_servers, scoped);
}

TEST(code_of_slots, takes_the_same_steps_whatever_the_form_of_its_mailboxes) {
  expect_steps_of_model<slots<rpc::bit_a_slot>>("slot_two_servers", two_servers, scoped);
  expect_steps_of_model<slots<rpc::bit_by_compare>>("slot_two_servers", two_servers, scoped);
}

TEST(code_of_both, takes_the_same_steps_over_a_link_and_in_one_memory) {
  for (const char* const fidelity : {"fidelity=link", "fidelity=interleaving"}) {
    SCOPED_TRACE(fidelity);
    expect_steps_of_model<ports<>>("port_two_servers", two_servers, {fidelity});
    expect_steps_of_model<slots<rpc::word_a_slot>>("slot_two_servers", two_servers, {fidelity});
  }
}

TEST(code_of_both, takes_the_same_steps_where_each_wave_has_a_box) {
  counts set = two_waves;
  set.boxes = 2;
  expect_steps_of_model<ports<>>("port_two_waves", set, scoped);
  // Waves with a slot each seldom meet a server that still holds one: more calls show it.
  set.calls = 6;
  expect_steps_of_model<slots<rpc::word_a_slot>>("slot_two_waves", set, scoped);
}

// -- both comparisons can fail ----------------------------------------------------------------------------------------------------

/// Whether the code takes a step that the model lacks.
template <typename Boxes>
testing::AssertionResult takes_another_step(const std::string& name) {
  const steps of_model = steps_of_model(name);
  const uint64_t schedules = run_until<Boxes>(two_waves, {"fidelity=scoped", "races=count"}, false,
                                              [&](const steps& seen) { return !without(seen, of_model).empty(); });
  const steps others = without(seen_steps(), of_model);
  if (others.empty()) return testing::AssertionFailure() << "none in " << schedules << " schedules";
  return testing::AssertionSuccess() << others.size() << " after " << schedules << ", " << *others.begin();
}

template <typename Machine>
using slots_of_clients_on = slots<rpc::word_a_slot, Machine>;

TEST(a_fault_in_the_code, leads_to_steps_that_the_model_lacks) {
  EXPECT_TRUE(takes_another_step<ports<mutants::lock_is_always_free>>("port_two_waves"));
  EXPECT_TRUE(takes_another_step<ports<mutants::inbox_is_inverted>>("port_two_waves"));
  EXPECT_TRUE(takes_another_step<slots_of_clients_on<mutants::lock_is_always_free>>("slot_two_waves"));
  EXPECT_TRUE(takes_another_step<slots_of_clients_on<mutants::lock_is_not_atomic>>("slot_two_waves"));
}

TEST(a_fault_in_the_code, keeps_it_from_steps_that_the_model_takes) {
  const steps of_model = steps_of_model("port_two_waves");
  run_until<ports<mutants::unlock_is_forgotten>>(two_waves, scoped, false, [](const steps&) { return true; });
  EXPECT_NE(without(of_model, seen_steps()), steps());
  // As does a program that is too small to see them.
  counts one_call = two_waves;
  one_call.calls = 1;
  run_until<ports<>>(one_call, scoped, true, [](const steps&) { return true; });
  EXPECT_NE(without(of_model, seen_steps()), steps());
}

}  // namespace
}  // namespace heddle::tests::models
