#include <heddle/tools/progress/judge/model.h>

#include <bit>

namespace heddle::judge {
namespace {

thread_set lowest(thread_set all) { return all & (~all + 1); }
thread_set highest(thread_set all) { return std::bit_floor(all); }

thread_set lowest(thread_set all, uint32_t count) {
  thread_set chosen = 0;
  for (; count != 0 && all != 0; --count) {
    chosen |= lowest(all);
    all &= ~lowest(all);
  }
  return chosen;
}

/// All threads up to the highest of these.
thread_set up_to(thread_set all) { return all == 0 ? 0 : highest(all) | (highest(all) - 1); }

/// The waves of F.
thread_set fair_waves(model which, const standing& now) {
  const thread_set live = now.live & now.waves;
  const thread_set started = now.started & now.waves;
  switch (which.is) {
    case rule::fair:
    case rule::turns:
      return live;
    case rule::hsa:
      return lowest(live);
    case rule::obe:
      return live & started;
    case rule::hsa_obe:
      return lowest(live) | (live & started);
    case rule::lobe:
      return live & up_to(started);
    case rule::unfair:
      return 0;
    case rule::slots:
      return lowest(live, which.slots);
    case rule::then_first:
      return lowest(live);
    case rule::else_first:
      return highest(live);
  }
  return 0;
}

}  // namespace

const std::vector<model>& open_models() {
  static const std::vector<model> models = {{rule::fair},    {rule::hsa},  {rule::obe},
                                            {rule::hsa_obe}, {rule::lobe}, {rule::unfair}};
  return models;
}

std::string to_string(model which) {
  switch (which.is) {
    case rule::fair:
      return "fair";
    case rule::hsa:
      return "hsa";
    case rule::obe:
      return "obe";
    case rule::hsa_obe:
      return "hsa_obe";
    case rule::lobe:
      return "lobe";
    case rule::unfair:
      return "unfair";
    case rule::slots:
      return "slots " + std::to_string(which.slots) + " in order";
    case rule::turns:
      return "slots " + std::to_string(which.slots) + " by turns of " + std::to_string(which.quantum);
    case rule::then_first:
      return "lockstep then-first";
    case rule::else_first:
      return "lockstep else-first";
  }
  return "";
}

thread_set may_step(model which, const standing& now) {
  switch (which.is) {
    case rule::slots:
    case rule::then_first:
    case rule::else_first:
      return fair_set(which, now);
    case rule::turns:
      return now.resident | (now.live & ~now.waves);
    default:
      return now.live;
  }
}

thread_set fair_set(model which, const standing& now) { return fair_waves(which, now) | (now.live & ~now.waves); }

bool owes_a_start(const standing& now, thread_set fair) {
  return (fair & now.waves) == 0 && (now.live & ~now.started & now.waves) != 0;
}

}  // namespace heddle::judge
