#include <heddle/scheduler/estimate.h>
#include <heddle/scheduler/random.h>

#include <algorithm>

namespace heddle::scheduler {
namespace {

constexpr uint64_t seed_of_estimates = 0;

/// Answers as `random`, and writes down what it is told.
class counting_strategy final : public strategy {
 public:
  void begin(uint64_t seed) override { answers_.begin(seed); }

  uint32_t pick(const choice& asked) override {
    ++made_.choices[static_cast<size_t>(asked.kind)];
    const uint32_t picked = answers_.pick(asked);
    if (asked.kind != choice_kind::actor || !asked.candidates.known()) return picked;
    meet(asked.candidates.highest_actor(asked.count));
    return picked;
  }

  bool looks_at_steps() const override { return true; }
  void performed(const candidate& who) override {
    meet(who.actor);
    history& past = histories_[who.actor];
    past.operations.push_back({.location = who.location, .writes = who.writes});
    // Operations that have turned out to be fruitless are the last that it did; a pause counts itself.
    const size_t in_vain = who.fruitless - past.fruitless;
    past.fruitless = who.fruitless;
    past.operations.resize(past.operations.size() - std::min(in_vain, past.operations.size()));
    last_ = who.actor;
    if (made_.choices_of(choice_kind::actor) != 0) ++made_.steps;
  }

  std::string_view name() const override { return "count"; }

  estimate result() {
    struct access {
      uint64_t location;
      uint32_t actor;
      bool writes;
    };
    std::vector<access> all;
    for (uint32_t actor = 0; actor < histories_.size(); ++actor) {
      made_.actors[actor].operations = histories_[actor].operations.size();
      for (const operation& each : histories_[actor].operations)
        if (each.location != 0) all.push_back({each.location, actor, each.writes});
    }
    std::stable_sort(all.begin(), all.end(), [](const access& a, const access& b) { return a.location < b.location; });
    for (auto first = all.begin(); first != all.end();) {
      const auto last =
          std::find_if(first, all.end(), [&](const access& one) { return one.location != first->location; });
      estimate::of_location made = {.location = first->location};
      for (; first != last; ++first) {
        if (made.uses.empty() || made.uses.back().actor != first->actor) made.uses.push_back({.actor = first->actor});
        ++made.uses.back().operations;
        made.written = made.written || first->writes;
      }
      if (made.uses.size() > 1 && made.written) made_.shared.push_back(std::move(made));
    }
    return std::move(made_);
  }

 private:
  struct operation {
    uint64_t location = 0;
    bool writes = false;
  };
  struct history {
    std::vector<operation> operations;
    uint32_t fruitless = 0;
  };

  /// An actor that is met for the first time was started by the last operation.
  void meet(uint32_t actor) {
    while (made_.actors.size() <= actor) {
      made_.actors.push_back({.operations = 0, .parent = last_});
      histories_.emplace_back();
    }
  }

  random_strategy answers_;
  estimate made_;
  std::vector<history> histories_;  ///< by actor
  uint32_t last_ = estimate::no_actor;
};

}  // namespace

estimate estimated_by(const run_for_estimate& run) {
  counting_strategy counting;
  choice_source choices;
  choices.begin(counting, seed_of_estimates);
  run(choices);
  return counting.result();
}

std::shared_ptr<const estimate> estimate_for(const strategy& deciding, const run_for_estimate& run) {
  if (!deciding.wants_estimate()) return nullptr;
  return std::make_shared<const estimate>(estimated_by(run));
}

}  // namespace heddle::scheduler
