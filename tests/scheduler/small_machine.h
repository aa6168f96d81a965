// A machine for tests of strategies: actors that are coroutines, one memory, one operation a step. Its counts are what a strategy's paper
// counts, so that what a paper proves can be looked for.
#pragma once

#include <heddle/scheduler/choice.h>
#include <heddle/scheduler/estimate.h>
#include <heddle/scheduler/strategy.h>

#include <coroutine>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::scheduler {

class small_machine {
 public:
  /// What an actor waits for a turn with. The code behind the co_await is what it does in that turn.
  struct operation {
    uint64_t location = 0;
    bool writes = false;
    bool pauses = false;                    ///< the end of a turn in a loop that waits
    std::function<bool()> ready = nullptr;  ///< it is no candidate until this holds
  };

  struct actor {
    struct promise_type {
      operation pending;
      actor get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
      std::suspend_never initial_suspend() noexcept { return {}; }
      std::suspend_always final_suspend() noexcept { return {}; }
      std::suspend_always await_transform(operation next) {
        pending = std::move(next);
        return {};
      }
      void return_void() {}
      [[noreturn]] void unhandled_exception() { std::abort(); }
    };
    std::coroutine_handle<promise_type> frame;
  };

  static operation reads(uint64_t location) { return {.location = location, .writes = false}; }
  static operation writes(uint64_t location) { return {.location = location, .writes = true}; }
  static operation pauses() { return {.pauses = true}; }
  static operation reads_when(uint64_t location, std::function<bool()> ready) {
    return {.location = location, .writes = false, .ready = std::move(ready)};
  }

  /// Runs the actors that `start` adds until none can go on. `says_version` as a machine that tells which came and went.
  struct ended {
    std::vector<uint32_t> order;      ///< the actor of each step
    std::vector<uint64_t> locations;  ///< and where
    bool all = true;                  ///< every actor has ended
  };
  explicit small_machine(bool says_version = true) : says_version_(says_version) {}
  small_machine(const small_machine&) = delete;
  small_machine& operator=(const small_machine&) = delete;
  ~small_machine() { clear(); }

  void add(actor fresh) { all_.push_back({.frame = fresh.frame}); }

  ended run(choice_source& choices, const std::function<void(small_machine&)>& start, uint64_t steps_max = 100'000) {
    clear();
    start(*this);
    ended made;
    while (made.order.size() < steps_max) {
      look();
      if (candidates_.empty()) break;
      const candidate_list list(this, &look_at, nullptr, says_version_ ? &version_ : nullptr);
      const uint32_t picked = choices.pick(static_cast<uint32_t>(candidates_.size()), choice_kind::actor, list);
      const uint32_t who = candidates_.at(picked);
      made.order.push_back(who);
      made.locations.push_back(all_[who].frame.promise().pending.location);
      step(choices, who);
    }
    for (const standing& each : all_) made.all = made.all && each.frame.done();
    return made;
  }

 private:
  struct standing {
    std::coroutine_handle<actor::promise_type> frame;
    uint32_t operations = 0;
    uint32_t fruitless = 0;
  };

  void clear() {
    for (const standing& each : all_) each.frame.destroy();
    all_.clear();
    candidates_.clear();
    ++version_;
  }

  void look() {
    std::vector<uint32_t> now;
    for (uint32_t who = 0; who < all_.size(); ++who) {
      const standing& each = all_[who];
      if (each.frame.done()) continue;
      const auto& ready = each.frame.promise().pending.ready;
      if (!ready || ready()) now.push_back(who);
    }
    if (now != candidates_) ++version_;
    candidates_ = std::move(now);
  }

  void step(choice_source& choices, uint32_t who) {
    const candidate as_it_was = shown(who);
    ++all_[who].operations;
    const auto frame = all_[who].frame;  // others may be added
    frame.resume();
    if (!frame.done() && frame.promise().pending.pauses) all_[who].fruitless += 2;  // the pause, and the look before it
    if (!choices.looks_at_steps()) return;
    candidate done = as_it_was;
    ++done.operations;
    choices.performed(done);
  }

  candidate shown(uint32_t who) const {
    const operation& next = all_[who].frame.promise().pending;
    return {.actor = who,
            .group = who,
            .guaranteed = true,
            .writes = next.writes,
            .location = next.location,
            .operations = all_[who].operations,
            .fruitless = all_[who].fruitless};
  }
  static candidate look_at(const void* context, uint32_t index) {
    const auto& self = *static_cast<const small_machine*>(context);
    return self.shown(self.candidates_[index]);
  }

  bool says_version_;
  std::vector<standing> all_;
  std::vector<uint32_t> candidates_;
  uint64_t version_ = 1;
};

}  // namespace heddle::scheduler
