// What every scenario over slots needs: both ends on one machine, servers until the kernel has ended, and an account of requests.
#pragma once

#include "ports.h"

namespace heddle::tests {

inline parameter mailbox_parameter() {
  return parameter::one_of("mailbox", "bit", {"bit", "compare", "word"},
                           "a slot's part of a mailbox: a bit that is added or swapped in, or a word");
}

inline std::vector<parameter> slot_parameters(int64_t waves, int64_t lanes, int64_t slots, int64_t calls) {
  return {
      parameter::number("waves", waves, 1, 65536, "", "waves that call"),
      parameter::number("lanes", lanes, 1, 64, "", "lanes of each wave"),
      parameter::number("slots", slots, 1, rpc::max_slots, "", "slots between client and server"),
      parameter::number("servers", 1, 1, 64, "", "host threads that serve"),
      parameter::number("calls", calls, 1, 100000, "", "calls that each lane makes"),
      mailbox_parameter(),
  };
}

/// What the link makes of the atomics that only those mailboxes need whose words several slots share.
inline std::string carried_to_slots(const parameters& set) {
  const bool crosses = set.has("fidelity") && set.text("fidelity") == "link" && set.text("mailbox") != "word";
  return crosses ? set.text("link.rmw") : "all";
}

inline scheduler::verdict_set needs_fair_slot_holders(const parameters& set) {
  const std::string carried = carried_to_slots(set);
  if (carried == "refused") return scheduler::verdict::memory;
  // As the schedule has it: a bit that is lost is waited for, or was set for another request.
  if (carried == "dropped") return scheduler::verdict_set::any_violation();
  return needs_fair_holders_of(set.count("slots"), set);
}

/// What a server leaves in a line when it clears it: no request has this number.
inline constexpr uint64_t cleared_line = ~uint64_t{0};

HEDDLE_FUNCTION constexpr uint64_t changed_by_operate(uint64_t value) { return value * 3 + 1; }

/// The memory of one set of slots and of the account of its requests.
template <typename Form>
class slot_test {
 public:
  slot_test(device& on, const parameters& set, idle_server idle = {})
      : on_(on),
        set_(set),
        idle_(idle),
        shape_{set.count("slots"), set.count("lanes")},
        requests_(uint64_t{set.count("waves")} * set.count("lanes") * set.count("calls")) {
    memory_ = on.allocate_shared<unsigned char>(shape_.size_bytes(), "slots");
    client_locks_ = on.allocate_device<uint32_t>(shape_.own_words(), "client locks");
    server_locks_ = on.allocate_shared<uint32_t>(shape_.own_words(), "server locks");
    handled_ = on.allocate_shared<uint32_t>(requests_, "handled requests");
    stop_ = on.allocate_shared<uint32_t>(1, "stop flag");
    name_slots(memory_, client_locks_, server_locks_, shape_, Form::slots_per_word);
  }

  rpc::slot_client<Form> client() const {
    return {memory_, client_locks_, shape_, idle_.sleeps ? idle_.rings : rpc::ringing(false)};
  }
  callers who() const { return {set_.count("lanes"), set_.count("calls")}; }

  /// Runs the kernel on all waves, and then `last` on one lane, while servers count each request once, change its value and clear
  /// its line behind it; then checks that every request was handled once and that every slot is idle.
  template <typename Kernel, typename Last>
  void run(Kernel kernel, Last last) {
    std::vector<decltype(on_.spawn_host("server", [] {}))> servers;
    servers.reserve(set_.count("servers"));
    for (uint32_t n = 0; n < set_.count("servers"); ++n)
      servers.push_back(
          on_.spawn_host("server", [server = rpc::slot_server<Form>(memory_, server_locks_, shape_, n),
                                    handled = handled_, requests = requests_, stop = stop_, idle = idle_]() mutable {
            const auto operate = [=](rpc::packet& line, uint32_t) {
              HEDDLE_CHECK(line.words[0] < requests, "a request has a number that was never given out");
              HEDDLE_CHECK(shared_word<uint32_t>(handled[line.words[0]]).fetch_add(1, memory_order::relaxed) == 0,
                           "a request is handled twice");
              line.words[0] = changed_by_operate(line.words[0]);
            };
            const auto clear = [](rpc::packet& line, uint32_t) { line.words[0] = cleared_line; };
            while (true) {
              // Read before the look for work: what was posted before the flag was set, or the bell was rung, is then found.
              const doorbell rings = idle.sleeps ? server.rings() : 0;
              const bool ends = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
              if (server.handle(operate, clear)) continue;
              if (ends) return;
              if (idle.sleeps)
                server.wait(rings, idle.timeout_ns);
              else
                target::pause();
            }
          }));
    on_.launch({.blocks = 1, .waves = set_.count("waves"), .lanes = set_.count("lanes")}, kernel);
    on_.launch({.blocks = 1, .waves = 1, .lanes = 1}, last);
    on_.synchronize();
    // Release pairs with the acquire in the servers' loops.
    shared_word<uint32_t>(*stop_).store(1, memory_order::release);
    if (idle_.sleeps) target::notify(*reinterpret_cast<doorbell*>(memory_ + shape_.doorbell_offset()));
    for (auto& server : servers) server.join();
    check();
  }

 private:
  void check() {
    for (uint64_t id = 0; id < requests_; ++id)
      HEDDLE_CHECK(shared_word<uint32_t>(handled_[id]).load(memory_order::relaxed) == 1, "a request was not handled");
    HEDDLE_CHECK(rpc::slot_server<Form>(memory_, server_locks_, shape_).all_idle(), "a slot is not idle in the end");
    // The client's locks lie in device memory.
    std::vector<uint32_t> own(shape_.own_words());
    on_.copy(own.data(), client_locks_, own.size() * sizeof(uint32_t));
    for (uint32_t slot = 0; slot < shape_.slots; ++slot)
      HEDDLE_CHECK(!rpc::state_in(own[slot / 8], slot).is_held(), "a wave has ended and holds a slot");
  }

  device& on_;
  const parameters& set_;
  idle_server idle_;
  rpc::slot_layout<Form> shape_;
  uint64_t requests_;
  unsigned char* memory_ = nullptr;
  uint32_t* client_locks_ = nullptr;
  uint32_t* server_locks_ = nullptr;
  uint32_t* handled_ = nullptr;
  uint32_t* stop_ = nullptr;
};

/// Runs `Scenario::run<Form>` with the form of the mailboxes that the settings name.
template <typename Scenario>
void run_with_mailbox(const parameters& set) {
  if (set.text("mailbox") == "word")
    Scenario::template run<rpc::word_a_slot>(set);
  else if (set.text("mailbox") == "compare")
    Scenario::template run<rpc::bit_by_compare>(set);
  else
    Scenario::template run<rpc::bit_a_slot>(set);
}

}  // namespace heddle::tests
