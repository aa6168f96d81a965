#include <heddle/tools/trial/missing_barrier.h>
#include <heddle/tools/trial/race_advice.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace heddle::tools {
namespace {

using sim::operation_kind;
using sim::run_record;

class race_adviser {
 public:
  race_adviser(const run_record& of, const step_words& words) : of_(of), words_(words) {}

  std::string advice(const run_record::step& earlier, const run_record::step& later, std::string_view edge) const {
    if (edge.find("the scope of one does not include") != std::string_view::npos)
      return wider_scopes({&earlier, &later}, of_.ended_by ? of_.ended_by->of_accesses : scope::system);
    std::string text = "missing: ";
    if (edge.find("a copy by cp.async is made at some time") != std::string_view::npos)
      return text + "a wait of " + words_.name_of(earlier.actor) + " for the copy that it has issued at " +
             words_.where(earlier) + ", before " + words_.where(later) + " or what that comes behind";
    if (edge.find("a bulk copy is of another proxy") != std::string_view::npos)
      return text + "fence.proxy.async behind " + words_.where(earlier) + ", by " + words_.name_of(earlier.actor) +
             " or by what comes between it and the copy";
    if (is_bulk_copy(earlier.actor) || is_bulk_copy(later.actor)) {
      const bool copy_is_first = is_bulk_copy(earlier.actor);
      const run_record::step& other = copy_is_first ? later : earlier;
      text += "a wait for the end of " + words_.name_of(copy_is_first ? earlier.actor : later.actor) +
              ", at its mbarrier or by wait_group, before " + words_.where(other) + " or what that comes behind";
      return copy_is_first ? text : text + "; or an order that has it issued later";
    }
    if (const auto told = missing_barrier(of_, words_, earlier, later, edge); !told.empty()) return "missing: " + told;
    if (const auto order = order_of_streams(earlier, later); !order.empty()) return text + order;
    const bool either_copies = is_copy(earlier.actor) || is_copy(later.actor);
    const bool either_is_plain = is_plain_access(earlier.kind) || is_plain_access(later.kind);
    const bool at_one_object = earlier.address == later.address && earlier.size_bytes == later.size_bytes;
    if (!either_copies && !either_is_plain && !at_one_object) {
      // Scopes that reach and yet a race: the memory model knows atomic accesses by what they access.
      text += "one size at " + words_.where(earlier) + " (" + std::to_string(earlier.size_bytes) + " bytes) and at " +
              words_.where(later) + " (" + std::to_string(later.size_bytes) +
              "): atomic accesses that overlap in part race as plain ones do; or, if they are not to meet, ";
    } else if (!either_copies && is_plain_access(earlier.kind) != is_plain_access(later.kind)) {
      const run_record::step& plain = is_plain_access(earlier.kind) ? earlier : later;
      const run_record::step& other = is_plain_access(earlier.kind) ? later : earlier;
      // What loads a word, or stores it, may be a flag; what counts on it wants it set first.
      const bool may_be_flag = other.kind != operation_kind::read_modify_write;
      if (!may_be_flag)
        return text + order_between(earlier, later, atomic_at(plain) + "; or, if they are not to meet, ");
      text += atomic_at(plain) + "; or, if they are not to meet, ";
    }
    text += either_copies ? wait_for(earlier, later) : order_between(earlier, later);
    return either_copies || !at_one_object ? text : text + atomic_flag(earlier, later);
  }

  /// Of what leads from one to the other what it lacks.
  std::string advice_on_edge(uint64_t store, uint64_t load, std::string_view edge) const {
    const auto at = [&](uint64_t number) {
      const std::string place = words_.where(*words_.step_at(number));
      return place.empty() ? "step " + std::to_string(number) : place;
    };
    const auto has = [&](std::string_view words) { return edge.find(words) != std::string_view::npos; };
    if (has("no release where")) return "missing: a release at " + at(store) + ", or a fence before it";
    if (has("no acquire where"))
      return "missing: an acquire" + where_it_fails(of_.texts[words_.step_at(load)->operation]) + " at " + at(load) +
             ", or a fence behind it";
    if (has("no atomic store where"))
      return "missing: an atomic store, relaxed or stronger, at " + at(store) + ": a fence orders no plain one";
    const scope needed = of_.ended_by ? of_.ended_by->of_edge : scope::system;
    std::string text = wider_scopes(used_by_edge(store, load), needed);
    if (text.empty()) text = "missing: a scope that includes both, at " + at(store) + " or " + at(load);
    if (has("there is no acquire, where")) text += "; and an acquire at " + at(load) + ", or a fence behind it";
    return text;
  }

 private:
  using steps = std::vector<const run_record::step*>;

  /// "missing: a wider scope at a.cu:21, which is store release block": of those that do not reach so far.
  std::string wider_scopes(const steps& used, scope needed) const {
    std::string text;
    for (const run_record::step* each : used) {
      if (words_.reach_of(*each) >= needed) continue;
      const std::string one = words_.where(*each) + ", which is " + of_.texts[each->operation];
      if (text.find(one) == std::string::npos)
        text += (text.empty() ? "missing: a wider scope at " : ", and at ") + one;
    }
    return text;
  }

  /// What an edge goes through: the store and the load, or fences in the place of either; and read-modify-writes in between.
  steps used_by_edge(uint64_t store, uint64_t load) const {
    const run_record::step& from = *words_.step_at(store);
    const run_record::step& to = *words_.step_at(load);
    steps used = {&from};
    // Of a fence: the store behind it, and the load in front of it.
    const run_record::step* read = to.kind == operation_kind::fence ? nullptr : &to;
    for (uint64_t number = load; read == nullptr && --number > store;) {
      const run_record::step& one = *words_.step_at(number);
      const run_record::step* const stored = words_.step_at(one.reads);
      if (one.actor != to.actor || !is_atomic_access(one) || stored == nullptr) continue;
      if (from.kind == operation_kind::fence ? stored->actor == from.actor && one.reads > store : one.reads == store)
        read = &one;
    }
    for (uint64_t number = store + 1; read != nullptr && number < load; ++number) {
      const run_record::step& one = *words_.step_at(number);
      const bool is_store = number == read->reads || (one.changes && sim::may_write(one.kind));
      if (&one != read && one.address == read->address && is_atomic_access(one) && is_store) used.push_back(&one);
    }
    if (read != nullptr) used.push_back(read);
    if (read != &to) used.push_back(&to);
    return used;
  }
  static bool is_atomic_access(const run_record::step& one) {
    return one.place != run_record::none && !is_plain_access(one.kind);
  }

  /// "; or, where one waits by this word, a store with release at a.c:4 and a load with acquire at a.c:5", of a word of threads of the host that
  /// one of them stores and the other one loads, both by plain accesses, as those of C to what is volatile are; else empty.
  std::string atomic_flag(const run_record::step& earlier, const run_record::step& later) const {
    const auto is_of_host = [&](const run_record::step& one) { return of_.waves[of_.actors[one.actor].wave].host; };
    if (!is_of_host(earlier) || !is_of_host(later) || !std::has_single_bit(earlier.size_bytes)) return "";
    constexpr uint32_t most_bytes = 8;
    const bool stores_first = earlier.kind == operation_kind::plain_store;
    const run_record::step& store = stores_first ? earlier : later;
    const run_record::step& load = stores_first ? later : earlier;
    if (store.kind != operation_kind::plain_store || load.kind != operation_kind::plain_load ||
        earlier.size_bytes > most_bytes)
      return "";
    return "; or, where one waits by this word, a store with release at " + words_.where(store) +
           " and a load with acquire at " + words_.where(load) + " (volatile orders nothing between threads)";
  }

  std::string atomic_at(const run_record::step& plain) const { return "an atomic access at " + words_.where(plain); }
  std::string wait_for(const run_record::step& first, const run_record::step& second) const {
    return "a wait of " + words_.name_of(second.actor) + " before " + words_.where(second) + " for something that " +
           words_.name_of(first.actor) + " releases behind " + words_.where(first);
  }

  /// "a barrier of block 0 between a.cu:21 and a.cu:25; or a wait of ...". `between`: what is told between the two.
  std::string order_between(const run_record::step& earlier, const run_record::step& later,
                            const std::string& between = {}) const {
    // The lane that came first may be the one that is ahead: what the other one does comes first in the program. So it does where the first has read
    // what nothing had stored, or has looked there again and again.
    const bool is_ahead = (is_of_one_block(earlier, later) && is_ahead_of(earlier, later)) ||
                          ((is_never_stored(earlier) || is_look_of_loop(earlier)) && sim::may_write(later.kind)) ||
                          (are_of_two_kernels(earlier, later) && is_given_first(later, earlier));
    const run_record::step& first = is_ahead ? later : earlier;
    const run_record::step& second = is_ahead ? earlier : later;
    return barrier_between(first, second) + between + wait_for(first, second);
  }
  /// Whether a thread of the host has loaded the word at this line before.
  bool is_look_of_loop(const run_record::step& one) const {
    return of_.waves[of_.actors[one.actor].wave].host && one.kind == operation_kind::plain_load && pass_of(one) > 1;
  }
  bool is_of_one_block(const run_record::step& earlier, const run_record::step& later) const {
    const run_record::wave& one = of_.waves[of_.actors[earlier.actor].wave];
    const run_record::wave& other = of_.waves[of_.actors[later.actor].wave];
    return !one.host && !other.host && one.launched == other.launched && one.block == other.block;
  }

  bool are_of_two_kernels(const run_record::step& earlier, const run_record::step& later) const {
    const run_record::wave& one = of_.waves[of_.actors[earlier.actor].wave];
    const run_record::wave& other = of_.waves[of_.actors[later.actor].wave];
    return !one.host && !other.host && one.launched != other.launched;
  }

  /// Whether the lane of `one` has been where the other one is, and that lane has not been as often where `one` is.
  bool is_ahead_of(const run_record::step& one, const run_record::step& other) const {
    return !is_at_line_of(one, other) && times_at(one, other, other.actor) < pass_of(one) &&
           times_at(other, one, one.actor) >= pass_of(other);
  }
  /// A loop that is unrolled has several places for one line.
  bool is_at_line_of(const run_record::step& one, const run_record::step& other) const {
    if (one.calls == other.calls) return true;
    if (one.calls == run_record::none || other.calls == run_record::none) return false;
    const auto &calls = of_.call_chains[one.calls], &others = of_.call_chains[other.calls];
    return !calls.empty() && !others.empty() && !calls.front().file.empty() &&
           calls.front().line == others.front().line && calls.front().file == others.front().file;
  }
  /// How often the lane has made such a step, before this one of its own.
  uint64_t times_at(const run_record::step& such, const run_record::step& before, uint32_t actor) const {
    uint64_t count = 0;
    for (const run_record::step& one : of_.steps) {
      if (&one == &before) break;
      count += one.actor == actor && one.kind == such.kind && is_at_line_of(one, such) ? 1 : 0;
    }
    return count;
  }
  uint64_t pass_of(const run_record::step& what) const { return times_at(what, what, what.actor) + 1; }

  /// "a barrier of block 0 between a.cu:21 and a.cu:25; or ", of lanes that have one in common.
  std::string barrier_between(const run_record::step& earlier, const run_record::step& later) const {
    if (are_of_two_kernels(earlier, later))
      return "an order of the two kernels: one stream, an event, or a wait of the host between them; or ";
    if (!is_of_one_block(earlier, later)) return {};
    const run_record::wave& one = of_.waves[of_.actors[earlier.actor].wave];
    const bool one_wave = of_.actors[earlier.actor].wave == of_.actors[later.actor].wave;
    const std::string barrier = "a barrier of " + (one_wave ? one.name : "block " + std::to_string(one.block));
    const std::string line = words_.where(earlier);
    if (line.empty() || line != words_.where(later)) {
      const bool is_round = times_at(later, earlier, earlier.actor) != 0 && pass_of(later) > 1;
      return barrier + " between " + line + " and " + (is_round ? "the next pass of " : "") + words_.where(later) +
             "; or ";
    }
    if (const uint64_t pass = pass_of(earlier); pass != pass_of(later))
      return barrier + " between one pass of " + line + " and the next; or ";
    // Nothing lies between two that do the same at one time.
    if (earlier.kind == later.kind || changes_what_it_loads(earlier) || changes_what_it_loads(later))
      return "an atomic operation at " + line + ", to which both come with nothing in between; or one of them alone " +
             "comes there; or ";
    return barrier + " between what " + line + " loads and what it stores; or ";
  }

  /// Whether its lane both loads and stores these bytes at this line: "counter = counter + 1".
  bool changes_what_it_loads(const run_record::step& what) const {
    const bool is_store = sim::may_write(what.kind);
    return std::any_of(of_.steps.begin(), of_.steps.end(), [&](const run_record::step& one) {
      return one.actor == what.actor && one.address == what.address && sim::may_write(one.kind) != is_store &&
             words_.where(one) == words_.where(what);
    });
  }

  /// Of work of streams and another stream's kernel: neither waits for words, and the program orders streams.
  std::string order_of_streams(const run_record::step& earlier, const run_record::step& later) const {
    const auto is_of_device = [&](uint32_t actor) {
      return is_stream_work(actor) || !of_.waves[of_.actors[actor].wave].host;
    };
    if (!is_stream_work(earlier.actor) && !is_stream_work(later.actor)) return {};
    if (!is_of_device(earlier.actor) || !is_of_device(later.actor)) return {};
    const bool turned = is_given_first(later, earlier);
    return "an order of " + words_.name_of((turned ? later : earlier).actor) + " before " +
           words_.name_of((turned ? earlier : later).actor) +
           ": one stream, an event, or a wait of the host between them";
  }
  /// Whether the program has launched it, or given it to its stream, before the other one.
  bool is_given_first(const run_record::step& one, const run_record::step& other) const {
    return of_.waves[of_.actors[one.actor].wave].launched < of_.waves[of_.actors[other.actor].wave].launched;
  }
  bool is_stream_work(uint32_t actor) const {
    constexpr std::string_view kinds[] = {"copy ", "memset ", "write ", "allocation ", "release "};
    const std::string name = words_.name_of(actor);
    return std::any_of(std::begin(kinds), std::end(kinds),
                       [&](std::string_view each) { return name.starts_with(each); });
  }

  /// Whether it is a copy in a stream, whose accesses the program cannot change.
  bool is_copy(uint32_t actor) const {
    return words_.name_of(actor).starts_with("copy ") || words_.name_of(actor).starts_with("memset ");
  }
  bool is_bulk_copy(uint32_t actor) const {
    return words_.name_of(actor).starts_with("bulk copy ") || words_.name_of(actor).starts_with("asynchronous copy ");
  }

  const run_record& of_;
  const step_words& words_;
};

}  // namespace

std::string advice_on_race(const run_record& of, const step_words& words, const run_record::step& earlier,
                           const run_record::step& later, std::string_view edge) {
  return race_adviser(of, words).advice(earlier, later, edge);
}

std::string advice_on_edge(const run_record& of, const step_words& words, uint64_t store, uint64_t load,
                           std::string_view edge) {
  return race_adviser(of, words).advice_on_edge(store, load, edge);
}

}  // namespace heddle::tools
