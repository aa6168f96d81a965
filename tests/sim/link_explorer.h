// All that a small program can do across the link: every interleaving of its threads, every order of arrival, every answer to
// what the link leaves open.
#pragma once

#include <heddle/sim/base/state_key.h>
#include <heddle/sim/memory/link/orders.h>
#include <heddle/tools/litmus/program.h>

#include <array>
#include <cstring>
#include <unordered_set>

namespace heddle::sim {

/// Answers from a script, then 0; and writes down how many answers there were.
class scripted_surroundings final : public transport::surroundings {
 public:
  struct asked {
    uint32_t answer = 0;
    uint32_t count = 0;
  };
  uint32_t choose(uint32_t, transport::question, uint32_t count) override {
    if (next == script.size()) script.push_back({});
    script[next].count = count;
    return script[next++].answer;
  }
  void arrived(const store_under_way& what, bool changed) override {
    arrivals.push_back(what);
    changes += changed ? 1 : 0;
  }

  /// The next script in order of size; false when all have been tried.
  bool advance() {
    next = 0;
    while (!script.empty() && script.back().answer + 1 == script.back().count) script.pop_back();
    if (script.empty()) return false;
    ++script.back().answer;
    return true;
  }

  std::vector<asked> script;
  size_t next = 0;
  std::vector<store_under_way> arrivals;
  uint64_t changes = 0;
};

class link_explorer {
 public:
  link_explorer(const litmus::program& code, const link_settings& settings) : code_(code), settings_(settings) {}

  /// Whether the outcome can be seen.
  bool sees_outcome() {
    state first{.link = transport(settings_, around_),
                .next = std::vector<size_t>(code_.threads.size(), 0),
                .seen = {.registers = std::vector<std::vector<uint32_t>>(code_.threads.size(),
                                                                         std::vector<uint32_t>(litmus::registers, 0)),
                         .locations = std::vector<uint32_t>(code_.locations.size(), 0)}};
    for (uint32_t thread = 0; thread < code_.threads.size(); ++thread) {
      if (code_.places[thread].host)
        first.link.add_host_thread(thread);
      else
        first.link.add_device_thread(thread, code_.places[thread].device);
    }
    found_ = false;
    visited_.clear();
    put_back(first);
    explore(first);
    return found_;
  }
  size_t states() const { return visited_.size(); }

 private:
  static constexpr size_t most_locations = 8;
  struct alignas(64) word {
    uint32_t value = 0;
  };
  struct state {
    transport link;
    std::vector<size_t> next;  ///< instruction of each thread
    litmus::final_state seen;
  };

  void put_back(const state& at) {
    for (size_t n = 0; n < at.seen.locations.size(); ++n) memory_[n].value = at.seen.locations[n];
  }
  void take_memory(state& at) const {
    for (size_t n = 0; n < at.seen.locations.size(); ++n) at.seen.locations[n] = memory_[n].value;
  }

  bool is_new(const state& at) {
    key_maker sum;
    std::vector<uint32_t> live;
    for (uint32_t thread = 0; thread < at.next.size(); ++thread)
      if (at.next[thread] < code_.threads[thread].size()) live.push_back(thread);
    at.link.tell(sum, live);
    for (const size_t each : at.next) sum.add(each);
    for (const auto& own : at.seen.registers)
      for (const uint32_t each : own) sum.add(each);
    for (const uint32_t each : at.seen.locations) sum.add(each);
    return visited_.insert(sum.key()).second;
  }

  void explore(const state& from) {
    if (found_ || !is_new(from)) return;
    bool ended = from.link.empty();
    for (uint32_t thread = 0; thread < code_.threads.size(); ++thread) {
      if (from.next[thread] == code_.threads[thread].size()) continue;
      ended = false;
      after(from, [&](state& to) { perform(to, thread); });
    }
    for (uint32_t n = 0; n < from.link.deliverable(); ++n) after(from, [&](state& to) { to.link.deliver(n); });
    if (ended && litmus::holds(code_.outcome, from.seen)) found_ = true;
  }

  /// Explores what a step can lead to, for each answer that it asks for.
  template <typename Step>
  void after(const state& from, Step&& step) {
    scripted_surroundings all;
    do {
      if (found_) return;
      state to = from;
      put_back(from);
      std::swap(around_, all);
      step(to);
      std::swap(around_, all);
      take_memory(to);
      explore(to);
    } while (all.advance());
  }

  void perform(state& at, uint32_t thread) {
    using litmus::instruction_kind;
    const litmus::instruction& what = code_.threads[thread][at.next[thread]++];
    uint32_t* const reg = &at.seen.registers[thread][what.reg];
    const transport::access access{.address = &memory_[what.location],
                                   .size_bytes = sizeof(uint32_t),
                                   .on_device = code_.on_device[what.location]};
    const ordering how = what.weak ? ordering{} : ordering{.order = what.order, .reach = what.reach};
    switch (what.kind) {
      case instruction_kind::load:
        *reg = static_cast<uint32_t>(ordered_load(at.link, thread, access, how));
        return;
      case instruction_kind::store:
        return ordered_store(at.link, thread, access, what.value, how);
      case instruction_kind::fence:
        return ordered_fence(at.link, thread, how);
      case instruction_kind::drain_buffers:
        return at.link.fence(thread, what.weak ? transport::orders::stores : transport::orders::all);
      case instruction_kind::exchange:
      case instruction_kind::add:
      case instruction_kind::compare_exchange:
        *reg = static_cast<uint32_t>(
            ordered_modify(at.link, thread, access, modification_of(what), true, how).value_or(~uint64_t{0}));
        return;
    }
  }

  static modification modification_of(const litmus::instruction& what) {
    using litmus::instruction;
    using litmus::instruction_kind;
    const auto apply = [](const void* self, uint64_t old) {
      const auto& how = *static_cast<const instruction*>(self);
      if (how.kind == instruction_kind::add) return uint64_t{static_cast<uint32_t>(old + how.value)};
      return uint64_t{how.kind == instruction_kind::exchange ? how.value : how.desired};
    };
    const auto writes = [](const void* self, uint64_t old) {
      const auto& how = *static_cast<const instruction*>(self);
      return how.kind != instruction_kind::compare_exchange || old == how.value;
    };
    return {.apply = apply, .writes = writes, .context = &what};
  }

  const litmus::program& code_;
  link_settings settings_;
  scripted_surroundings around_;
  std::array<word, most_locations> memory_{};
  std::unordered_set<state_key> visited_;
  bool found_ = false;
};

}  // namespace heddle::sim
