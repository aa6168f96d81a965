// A search that is cut and goes on finds what one finds that goes through in one go.
#include <heddle/sim/verify/saved_bytes.h>

#include <cstring>

#include "explored.h"
#include "random_program.h"

namespace heddle::sim::tests {
namespace {

class kept_bytes final : public bytes_out {
 public:
  void put(const void* from, size_t size_bytes) override {
    const auto* const first = static_cast<const char*>(from);
    all.insert(all.end(), first, first + size_bytes);
  }
  std::vector<char> all;
};

class read_bytes final : public bytes_in {
 public:
  explicit read_bytes(const std::vector<char>& all) : all_(all) {}
  bool take(void* to, size_t size_bytes) override {
    if (size_bytes > left_bytes()) return false;
    if (size_bytes != 0) std::memcpy(to, all_.data() + at_, size_bytes);
    at_ += size_bytes;
    return true;
  }
  uint64_t left_bytes() const override { return all_.size() - at_; }

 private:
  const std::vector<char>& all_;
  size_t at_ = 0;
};

/// What a search has found that was cut behind every so many runs.
struct in_parts {
  explored all;
  uint64_t parts = 0;
};

/// Each part makes `runs` more of them.
in_parts search_in_parts(const program& body, const std::vector<std::string>& settings,
                         const std::function<std::string()>& note, uint64_t runs, search_options options = {}) {
  in_parts made;
  std::vector<char> left;
  // Of one process, in which addresses stay what they are.
  simulation machine;
  const parameters values = settings_of(settings);
  do {
    kept_bytes next;
    read_bytes from(left);
    search_options part = options;
    part.saves_to = &next;
    part.goes_on_from = made.parts == 0 ? nullptr : &from;
    part.runs_max = made.all.search.runs + runs;
    part.begun_again = [&] {
      made.all.verdicts.clear();
      made.all.notes.clear();
    };
    part.ended = [&](const outcome& ended, const std::vector<scheduler::answer>&) {
      made.all.verdicts.insert(ended.verdict);
      if (ended.verdict == verdict::ok && note) made.all.notes.insert(note());
      return true;
    };
    made.all.search = machine.search(
        [&](scheduler::choice_source& choices) { return machine.run(values, body, choices, false); }, part);
    ++made.parts;
    EXPECT_EQ(made.all.search.not_gone_on, "");
    EXPECT_EQ(made.all.search.not_saved, "");
    if (!made.all.search.not_gone_on.empty() || !made.all.search.not_saved.empty()) return made;
    left = std::move(next.all);
  } while (made.all.search.cut && made.parts < 50'000);
  return made;
}

TEST(SearchResume, OutcomesOfRandomProgramsAreTheSame) {
  const std::vector<std::string> models = {"fair", "hsa", "obe", "unfair"};
  const uint64_t first = first_program();
  constexpr uint64_t programs = 40;
  uint64_t compared = 0;
  uint64_t parts = 0;
  uint64_t runs = 0;
  uint64_t runs_in_parts = 0;
  std::map<verdict, uint64_t> verdicts;
  for (uint64_t seed = first; seed < first + programs; ++seed) {
    using with = random_program::with;
    random_program tested(seed, seed % 3 == 0 ? with::messages : seed % 3 == 1 ? with::waits : with::loads_and_stores);
    std::vector<std::string> settings = {"progress=" + models[seed % 4]};
    if (seed % 5 == 0)
      settings.insert(settings.end(), {"fidelity=link", "late=1000", "link.age=1000000000", "link.lull=off"});
    else if (seed % 5 != 1)
      settings.insert(settings.end(), {"fidelity=scoped", "late=1000", "history=60"});
    const auto note = [&] { return tested.left(); };
    explorer_of whole([&] { tested.run(); }, settings, note);
    search_options options;
    options.runs_max = 20'000;
    const explored all = whole.all(options);
    if (!all.search.complete) continue;
    ++compared;
    // One run a part where they are few.
    const uint64_t each = 1 + all.search.runs / (seed % 2 == 0 ? 20 : 5);
    const in_parts cut = search_in_parts([&] { tested.run(); }, settings, note, each);
    ASSERT_TRUE(cut.all.search.complete) << cut.all.search.left_out << ", program " << seed;
    if (all.verdicts.contains(verdict::race)) {
      // Which of two runs a race ends depends on which state was met first.
      ASSERT_TRUE(cut.all.verdicts.contains(verdict::race)) << "program " << seed;
    } else {
      ASSERT_EQ(cut.all.notes, all.notes) << "program " << seed;
      ASSERT_EQ(cut.all.verdicts, all.verdicts) << "program " << seed;
    }
    for (const verdict one : all.verdicts) ++verdicts[one];
    // No part goes again through what another one has: but for what each learns of spins, and what is noted anew, which is a third in one of some
    // hundred programs, and next to nothing in all together.
    ASSERT_LE(cut.all.search.runs, all.search.runs * 2 + 20) << "program " << seed;
    parts += cut.parts;
    runs += all.search.runs;
    runs_in_parts += cut.all.search.runs;
  }
  std::printf("programs %llu to %llu: %llu compared in %llu parts, %llu runs in one go, %llu in parts\n",
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(first + programs - 1),
              static_cast<unsigned long long>(compared), static_cast<unsigned long long>(parts),
              static_cast<unsigned long long>(runs), static_cast<unsigned long long>(runs_in_parts));
  EXPECT_LE(runs_in_parts, runs + runs / 8);
  EXPECT_GE(compared, programs / 2);
  EXPECT_GE(parts, compared * 3);
  EXPECT_GE(verdicts[verdict::ok], programs / 4);
}

}  // namespace
}  // namespace heddle::sim::tests
