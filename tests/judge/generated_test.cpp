// Programs of three threads, drawn at random from the grammar: what must hold between the models, on each of them.
#include "generated.h"
#include "verdicts.h"

namespace heddle::judge {
namespace {

constexpr uint64_t programs = 2'000;

/// What must hold between the verdicts of any program.
void expect_hierarchy(examination& of) {
  const auto implies = [&](model weaker, model stronger, fairness how) {
    EXPECT_TRUE(!ends(of, weaker, how) || ends(of, stronger, how))
        << to_string(of.code()) << " ends under " << to_string(weaker) << ", not under " << to_string(stronger) << ", "
        << to_string(how);
  };
  for (const fairness how : all_fairness) {
    implies(unfair, hsa, how);
    implies(unfair, obe, how);
    implies(hsa, hsa_obe, how);
    implies(obe, hsa_obe, how);
    implies(hsa_obe, lobe, how);
    implies(lobe, fair, how);
  }
  // Weak passes are strong ones, but under `unfair`, where no step of a wave leads anywhere by right.
  for (const model each : open_models()) {
    if (each == unfair) continue;
    EXPECT_TRUE(!ends(of, each, fairness::weak) || ends(of, each, fairness::strong))
        << to_string(of.code()) << ", " << to_string(each);
  }
}

TEST(generated, models_are_ordered_by_strength_on_every_program) {
  generator all(1);
  for (uint64_t n = 0; n < programs; ++n) {
    examination of(parse(all.next(false)));
    expect_hierarchy(of);
  }
}

TEST(generated, and_so_they_are_beside_a_host_thread) {
  generator all(2);
  for (uint64_t n = 0; n < programs; ++n) {
    examination of(parse(all.next(true)));
    expect_hierarchy(of);
  }
}

TEST(generated, each_model_differs_from_its_neighbours_on_some_program) {
  generator all(1);
  const std::vector<std::pair<model, model>> pairs = {{unfair, hsa},  {unfair, obe},  {hsa, obe},      {obe, hsa},
                                                      {hsa, hsa_obe}, {obe, hsa_obe}, {hsa_obe, lobe}, {lobe, fair}};
  // By fairness and pair: programs that end under the second and may hang under the first.
  std::array<std::vector<size_t>, 2> separated = {std::vector<size_t>(pairs.size()), std::vector<size_t>(pairs.size())};
  for (uint64_t n = 0; n < programs; ++n) {
    examination of(parse(all.next(false)));
    for (const fairness how : all_fairness)
      for (size_t pair = 0; pair < pairs.size(); ++pair)
        separated[static_cast<size_t>(how)][pair] +=
            !ends(of, pairs[pair].first, how) && ends(of, pairs[pair].second, how) ? 1 : 0;
  }
  for (const fairness how : all_fairness)
    for (size_t pair = 0; pair < pairs.size(); ++pair) {
      const std::string name = to_string(pairs[pair].first) + " < " + to_string(pairs[pair].second);
      RecordProperty(name + ", " + to_string(how), static_cast<int>(separated[static_cast<size_t>(how)][pair]));
      EXPECT_GT(separated[static_cast<size_t>(how)][pair], 0u) << name << ", " << to_string(how);
    }
}

TEST(generated, each_weak_hang_can_be_played) {
  for (const bool host : {false, true}) {
    generator all(3);
    for (uint64_t n = 0; n < programs / 2; ++n) {
      examination of(parse(all.next(host)));
      for (const model each : open_models()) {
        const judgement judged = of.judge(each, fairness::weak);
        if (judged.why) replayed(of.code()).check(each, *judged.why);
        if (HasFailure()) FAIL() << to_string(of.code()) << ", " << to_string(each);
      }
    }
  }
}

TEST(generated, as_many_slots_as_threads_are_fair_and_one_is_lockstep) {
  generator all(4);
  for (uint64_t n = 0; n < programs / 4; ++n) {
    examination of(parse(all.next(n % 2 == 0)));
    EXPECT_EQ(both(of, {rule::slots, 3}), both(of, fair)) << to_string(of.code());
    EXPECT_EQ(both(of, {rule::slots, 1}), both(of, {rule::then_first})) << to_string(of.code());
  }
}

}  // namespace
}  // namespace heddle::judge
