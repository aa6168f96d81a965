// The fair tail against a search through all runs: random programs of loops, locks and collectives, under every strategy. Where the search
// has gone through all runs and says that every fair one ends, no schedule may end with the budget; and none may end in a way that the
// search has not seen.
//
// Longer: HEDDLE_FAIR_PROGRAMS=10000 HEDDLE_FAIR_FIRST=1000 (how many programs, and the seed of the first).
#include <heddle/sim/runtime/gpu_calls.h>
#include <heddle/sim/verify/search.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "run.h"

namespace heddle::sim::tests {
namespace {

constexpr memory_order acquire = memory_order::acquire;
constexpr memory_order release = memory_order::release;
constexpr memory_order relaxed = memory_order::relaxed;

enum class part : uint8_t {
  nothing,
  set,               ///< word = value
  add,               ///< word += 1, atomically
  wait_for,          ///< until word is value
  wait_by_exchange,  ///< until exchange(word, value) finds 0: a lock
  give,              ///< word = 0
  with_lock,         ///< takes the lock `word`, adds 1 to `other`, gives it back
  with_both,         ///< takes two locks in turn; gives the first back where the second is taken
  poll_by_shuffle,   ///< until the value that lane `value` reads from word, by a shuffle, is not 0
  poll_by_ballot,    ///< until all have read other than 0
  poll_by_broadcast,
  poll_under_lock,   ///< takes the lock `word` in each turn, looks at `other`, gives it back
  scan,              ///< reads eight words many times in a turn, until one of two is not 0
  alternate,         ///< looks at `word` and at `other` in turn, until one is not 0
  give_up,           ///< as wait_for, but three turns at most
  meet,              ///< sync_lanes
  first_lane_alone,  ///< one lane waits for word; then all meet
  count,
};
constexpr uint32_t part_count = static_cast<uint32_t>(part::count);

struct piece {
  part what = part::nothing;
  uint8_t word = 0;
  uint8_t other = 0;
  uint8_t value = 0;
  bool pauses = false;
};
constexpr size_t most_pieces = 4;
using pieces = std::array<piece, most_pieces>;
constexpr uint32_t word_count = 4;

/// What one actor does: by value, so that it lies on the actor's own stack, where reading it is no step.
struct actor {
  pieces does;
  uint32_t* words;
  uint32_t lanes;  ///< of its wave; 1 for a host thread

  void pause(const piece& how) const {
    if (how.pauses) target::pause();
  }
  uint32_t load(uint32_t which) const { return word<uint32_t>(words[which]).load(acquire); }
  void take(const piece& how, uint32_t which) const {
    while (word<uint32_t>(words[which]).exchange(1, acquire) != 0) pause(how);
  }
  void give(uint32_t which) const { word<uint32_t>(words[which]).store(0, release); }

  void do_one(const piece& one) const {
    const uint64_t all = (uint64_t{1} << lanes) - 1;
    const bool on_device = target::is_device();
    const uint32_t self = on_device ? target::lane_id() : 0;
    switch (one.what) {
      case part::set:
        return word<uint32_t>(words[one.word]).store(one.value, release);
      case part::add:
        word<uint32_t>(words[one.word]).fetch_add(1, relaxed);
        return;
      case part::wait_for:
        while (load(one.word) != one.value) pause(one);
        return;
      case part::wait_by_exchange:
        return take(one, one.word);
      case part::give:
        return give(one.word);
      case part::with_lock:
        // Each lane within one loop around all of it, so that it ends where lanes run in lockstep too.
        for (bool done = false; !done;) {
          if (word<uint32_t>(words[one.word]).exchange(1, acquire) == 0) {
            word<uint32_t>(words[one.other]).fetch_add(1, relaxed);
            give(one.word);
            done = true;
          } else {
            pause(one);
          }
        }
        return;
      case part::with_both:
        for (bool done = false; !done;) {
          if (word<uint32_t>(words[one.word]).exchange(1, acquire) == 0) {
            done = one.word == one.other || word<uint32_t>(words[one.other]).exchange(1, acquire) == 0;
            if (done && one.other != one.word) give(one.other);
            give(one.word);
          }
          if (!done) pause(one);
        }
        return;
      case part::poll_by_shuffle:
        if (!on_device) return;
        while (runtime::shuffle(all, load(one.word), one.value % lanes) == 0) pause(one);
        return;
      case part::poll_by_ballot:
        if (!on_device) return;
        while (target::ballot(all, load(one.word) != 0) != all) pause(one);
        return;
      case part::poll_by_broadcast:
        if (!on_device) return;
        while (target::broadcast(all, load((one.word + self) % word_count)) == 0) pause(one);
        return;
      case part::poll_under_lock:
        for (bool done = false; !done;) {
          if (word<uint32_t>(words[one.word]).exchange(1, acquire) == 0) {
            done = load(one.other) != 0;
            give(one.word);
          }
          if (!done) pause(one);
        }
        return;
      case part::scan:
        for (bool done = false; !done;) {
          for (uint32_t n = 0; n < 70; ++n) {
            const uint32_t found = load(n % word_count);
            done = done || (found != 0 && (n % word_count == one.word || n % word_count == one.other));
          }
          if (!done) pause(one);
        }
        return;
      case part::alternate:
        for (uint32_t turn = 0; load(turn == 0 ? one.word : one.other) == 0; turn = 1 - turn) pause(one);
        return;
      case part::give_up:
        for (uint32_t turn = 0; turn < 3 && load(one.word) != one.value; ++turn) pause(one);
        return;
      case part::meet:
        if (on_device) target::sync_lanes(all);
        return;
      case part::first_lane_alone:
        if (!on_device) return;
        if (self == 0)
          while (load(one.word) == 0) pause(one);
        target::sync_lanes(all);
        return;
      case part::nothing:
      case part::count:
        return;
    }
  }
  void operator()() const {
    for (const piece& one : does) do_one(one);
  }
};

struct drawn_program {
  uint32_t waves = 1;
  uint32_t lanes = 1;
  bool has_thread = false;
  std::vector<pieces> of_wave;
  pieces of_main;
  pieces of_thread;
  std::vector<std::string> settings;

  program body() const {
    return [*this] {
      device host;
      auto* const words = host.allocate_shared<uint32_t>(word_count, "words");
      const actor first = {of_wave[0], words, lanes};
      const actor second = {of_wave[1], words, lanes};
      host.launch({.blocks = waves, .waves = 1, .lanes = lanes}, [first, second] {
        if (target::block_id() == 0)
          first();
        else
          second();
      });
      const actor main = {of_main, words, 1};
      if (has_thread) {
        const actor beside = {of_thread, words, 1};
        host_thread thread = host.spawn_host("beside", [beside] { beside(); });
        main();
        thread.join();
      } else {
        main();
      }
      host.synchronize();
    };
  }

  std::string text() const {
    const auto say = [](const pieces& all) {
      constexpr const char* names[] = {"-",
                                       "set",
                                       "add",
                                       "wait_for",
                                       "take",
                                       "give",
                                       "with_lock",
                                       "with_both",
                                       "poll_by_shuffle",
                                       "poll_by_ballot",
                                       "poll_by_broadcast",
                                       "poll_under_lock",
                                       "scan",
                                       "alternate",
                                       "give_up",
                                       "meet",
                                       "first_lane_alone"};
      static_assert(std::size(names) == part_count);
      std::string said;
      for (const piece& one : all)
        if (one.what != part::nothing)
          said += std::string(" ") + names[static_cast<size_t>(one.what)] + "(w" + std::to_string(one.word) + " o" +
                  std::to_string(one.other) + " v" + std::to_string(one.value) + (one.pauses ? " pause)" : ")");
      return said;
    };
    std::string said;
    for (const std::string& one : settings) said += one + ' ';
    said += "\n  " + std::to_string(waves) + " waves of " + std::to_string(lanes);
    for (uint32_t n = 0; n < waves; ++n) said += "\n  wave " + std::to_string(n) + ":" + say(of_wave[n]);
    said += "\n  main:" + say(of_main);
    if (has_thread) said += "\n  beside:" + say(of_thread);
    return said;
  }
};

drawn_program draw(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t count) { return random() % count; };
  drawn_program made;
  made.waves = static_cast<uint32_t>(1 + below(2));
  made.lanes = static_cast<uint32_t>(1 + below(made.waves == 1 ? 3 : 2));
  made.has_thread = made.waves * made.lanes < 3 && below(2) == 0;
  // The first two words are locks and the others flags; mostly they are not mistaken for each other.
  const auto a_word = [&](bool is_lock) {
    const uint64_t kind = below(16) == 0 ? below(2) : (is_lock ? 0 : 1);
    return static_cast<uint8_t>(2 * kind + below(2));
  };
  const auto a_piece = [&] {
    piece one;
    one.what = static_cast<part>(1 + below(part_count - 1));
    const bool locks = one.what == part::with_lock || one.what == part::poll_under_lock ||
                       one.what == part::with_both || one.what == part::wait_by_exchange || one.what == part::give;
    one.word = a_word(locks);
    one.other = a_word(one.what == part::with_both);
    one.value = below(16) == 0 ? 0 : 1;
    one.pauses = below(3) != 0;
    return one;
  };
  // One has to change what others wait for.
  const auto a_change = [&] {
    piece one = a_piece();
    one.what = below(3) == 0 ? part::add : part::set;
    one.word = a_word(false);
    return one;
  };
  const auto fill = [&](pieces& all, uint64_t most, bool changes_first) {
    const uint64_t count = 1 + below(most);
    for (uint64_t n = 0; n < count; ++n) all[n] = below(changes_first ? 2 : 3) == 0 ? a_change() : a_piece();
  };
  made.of_wave.resize(2);
  for (pieces& each : made.of_wave) fill(each, made.waves * made.lanes < 4 ? 3 : 2, false);
  fill(made.of_main, 3, true);
  fill(made.of_thread, 3, true);
  made.settings.emplace_back(below(2) == 0 ? "convergence=lockstep" : "convergence=independent");
  constexpr std::array models = {"fair", "fair", "fair", "fair", "fair", "obe", "hsa", "hsa_obe", "unfair"};
  made.settings.emplace_back(std::string("progress=") + models[below(models.size())]);
  made.settings.emplace_back(below(8) == 0 ? "fidelity=scoped" : "fidelity=interleaving");
  return made;
}

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* const given = std::getenv(name);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

struct verdicts_of_all {
  bool complete = false;
  std::string left_out;
  std::set<verdict> seen;
};

verdicts_of_all search_through(const drawn_program& drawn) {
  parameters settings(machine_parameters());
  for (const std::string& each : drawn.settings) EXPECT_FALSE(settings.set(each)) << each;
  for (const char* const each : {"wakes=1000", "points=atomics", "late=1000", "history=60", "budget=20000"})
    EXPECT_FALSE(settings.set(each)) << each;
  simulation machine;
  const program body = drawn.body();
  search_options options;
  options.states_max = 5000;
  options.seconds_max = 2;
  verdicts_of_all made;
  options.ended = [&](const outcome& ended, const std::vector<scheduler::answer>&) {
    made.seen.insert(ended.verdict);
    return true;
  };
  const search_result found = machine.search(
      [&](scheduler::choice_source& choices) { return machine.run(settings, body, choices, false); }, options);
  made.complete = found.complete;
  made.left_out = found.left_out;
  return made;
}

TEST(FairEnd, NoScheduleRunsOutOfItsBudgetWhereEveryFairRunEnds) {
  const uint64_t programs = from_environment("HEDDLE_FAIR_PROGRAMS", 60);
  const uint64_t first = from_environment("HEDDLE_FAIR_FIRST", 1);
  constexpr uint64_t schedules = 3;
  uint64_t whole = 0;
  uint64_t always_end = 0;
  uint64_t runs = 0;
  uint64_t wrong = 0;
  for (uint64_t seed = first; seed < first + programs && wrong < 10; ++seed) {
    const drawn_program drawn = draw(seed);
    const verdicts_of_all all = search_through(drawn);
    if (!all.complete) continue;
    ++whole;
    always_end += all.seen == std::set{verdict::ok} ? 1 : 0;
    const program body = drawn.body();
    for (const std::string& strategy : all_strategies()) {
      std::vector<std::string> settings = drawn.settings;
      settings.emplace_back("budget=3000");
      machine on(settings, strategy);
      const tally seen = on.run_many(body, schedules);
      runs += schedules;
      for (const auto& [ended, times] : seen.counts) {
        if (all.seen.contains(ended)) continue;
        // What is promised nothing may have turns all the same, while others could still go on; the search has those wait at once.
        if (ended == verdict::ok && all.seen.contains(verdict::progress)) continue;
        // A search shows one hang of those in which a lane moves; of which kind the others are, it does not say. And what a hang repeats may be
        // longer than the budget.
        constexpr auto is_hang = [](verdict one) {
          return one == verdict::deadlock || one == verdict::livelock || one == verdict::progress;
        };
        if (std::any_of(all.seen.begin(), all.seen.end(), is_hang) && (is_hang(ended) || ended == verdict::budget))
          continue;
        std::string known;
        for (const verdict one : all.seen) known += std::string(" ") + std::string(to_string(one));
        ADD_FAILURE() << "program of seed " << seed << ": all runs end with" << known << "; but " << seen.text() << '\n'
                      << drawn.text();
        ++wrong;
      }
    }
  }
  std::printf("programs of seeds %llu to %llu: %llu searched through, of which %llu always end well; %llu schedules\n",
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(first + programs - 1),
              static_cast<unsigned long long>(whole), static_cast<unsigned long long>(always_end),
              static_cast<unsigned long long>(runs));
  if (programs >= 50) {
    EXPECT_GT(whole, programs / 2);
    EXPECT_GT(always_end, programs / 5);
  }
}

}  // namespace
}  // namespace heddle::sim::tests
