#include "ptx_axioms.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "relation.h"

namespace heddle::sim::tests::axioms {
namespace {

using litmus::instruction;
using litmus::instruction_kind;

enum class event_kind : uint8_t { initial, read, write, fence };

struct event {
  event_kind kind = event_kind::initial;
  uint32_t thread = 0;
  uint32_t location = 0;
  bool strong = false;
  bool acquire = false;
  bool release = false;
  bool sequential = false;  ///< fence.sc
  scope reach = scope::system;
  const instruction* from = nullptr;
  std::optional<size_t> partner;  ///< the other half of a read-modify-write

  bool is_write() const { return kind == event_kind::write || kind == event_kind::initial; }
  bool is_access() const { return kind != event_kind::fence; }
};

bool modifies(instruction_kind kind) {
  return kind == instruction_kind::exchange || kind == instruction_kind::add ||
         kind == instruction_kind::compare_exchange;
}

/// What the instruction is when the host is an x86 processor.
instruction on_x86(instruction made) {
  if (made.kind == instruction_kind::fence) return made;
  made.weak = false;
  made.reach = scope::system;
  made.order = made.kind == instruction_kind::load    ? memory_order::acquire
               : made.kind == instruction_kind::store ? memory_order::release
                                                      : memory_order::acq_rel;
  return made;
}

void check_expressible(const instruction& made) {
  const bool fence = made.kind == instruction_kind::fence;
  if (made.kind == instruction_kind::drain_buffers || made.x86)
    throw std::invalid_argument(
        "an instruction of x86 has no meaning in PTX: write the host's code as accesses of PTX");
  if (made.order == memory_order::seq_cst && !fence)
    throw std::invalid_argument("PTX has no sequentially consistent access: write a fence.sc in front of it");
  if (fence && made.order != memory_order::acq_rel && made.order != memory_order::seq_cst)
    throw std::invalid_argument("a fence of PTX is acq_rel or sc");
}

/// The search through the executions in which given compare_exchanges succeed and the others fail. That settles the events;
/// open are what each read reads from, the order of fence.sc, and coherence. Every axiom forbids cycles or paths, so that a
/// violation by some of the choices is one by any that extend them: the search checks after each choice.
class execution_search {
 public:
  execution_search(const litmus::program& from, const std::vector<std::vector<instruction>>& threads,
                   uint64_t successes, bool no_load_buffering, uint64_t& checks_left, std::set<flat_state>& found)
      : program_(from),
        no_load_buffering_(no_load_buffering),
        checks_left_(checks_left),
        found_(found),
        events_(make_events(from, threads, successes)),
        none_(events_.size()),
        program_order_(none_),
        same_location_(none_),
        morally_strong_(none_),
        modification_(none_),
        dependency_(none_),
        release_pattern_(none_),
        acquire_pattern_(none_) {
    for (size_t each = 0; each < events_.size(); ++each)
      if (events_[each].kind == event_kind::read) reads_.push_back(each);
    for (size_t first = 0; first < events_.size(); ++first)
      for (size_t second = 0; second < events_.size(); ++second) relate(first, second);
    find_patterns();
  }

  void run() { choose_source(0, none_); }

 private:
  static std::vector<event> make_events(const litmus::program& from,
                                        const std::vector<std::vector<instruction>>& threads, uint64_t successes) {
    std::vector<event> made;
    for (uint32_t location = 0; location < from.locations.size(); ++location) {
      event first;
      first.location = location;
      made.push_back(first);
    }
    size_t compared = 0;
    for (uint32_t thread = 0; thread < threads.size(); ++thread) {
      for (const instruction& each : threads[thread]) {
        const bool writes = each.kind != instruction_kind::compare_exchange || (successes >> compared++ & 1U) != 0;
        append(made, each, thread, writes);
      }
    }
    if (made.size() > relation::events_max) throw std::invalid_argument("the program has too many events");
    return made;
  }

  static void append(std::vector<event>& to, const instruction& from, uint32_t thread, bool writes) {
    event made;
    made.thread = thread;
    made.from = &from;
    made.strong = !from.weak;
    made.reach = from.reach;
    const bool acquires = made.strong && (from.order == memory_order::acquire || from.order == memory_order::acq_rel);
    const bool releases = made.strong && (from.order == memory_order::release || from.order == memory_order::acq_rel);
    if (from.kind == instruction_kind::fence) {
      made.kind = event_kind::fence;
      made.strong = true;
      made.sequential = from.order == memory_order::seq_cst;
      to.push_back(made);
      return;
    }
    made.location = from.location;
    if (from.kind != instruction_kind::store) {
      made.kind = event_kind::read;
      made.acquire = acquires;
      to.push_back(made);
    }
    if (from.kind == instruction_kind::load || !writes) return;
    made.kind = event_kind::write;
    made.acquire = false;
    made.release = releases;
    if (modifies(from.kind)) {
      made.partner = to.size() - 1;
      to.back().partner = to.size();
    }
    to.push_back(made);
  }

  bool includes(const event& of, const event& other) const {
    const litmus::place& here = program_.places[of.thread];
    const litmus::place& there = program_.places[other.thread];
    const bool one_device = here.host == there.host && (here.host || here.device == there.device);
    switch (of.reach) {
      case scope::wave:
        return of.thread == other.thread;
      case scope::block:
        return one_device && here.block == there.block;
      case scope::device:
        return one_device;
      default:
        return true;
    }
  }

  void relate(size_t first, size_t second) {
    const event& one = events_[first];
    const event& other = events_[second];
    const bool overlap = one.is_access() && other.is_access() && one.location == other.location;
    if (overlap) same_location_.add(first, second);
    if (first == second || one.kind == event_kind::initial || other.kind == event_kind::initial) return;
    const bool one_thread = one.thread == other.thread;
    if (one_thread && first < second) program_order_.add(first, second);
    if (one.partner == second && first < second) {
      modification_.add(first, second);
      if (one.from->kind != instruction_kind::exchange) dependency_.add(first, second);
    }
    const bool related = one_thread || (one.strong && other.strong && includes(one, other) && includes(other, one));
    if (related && (overlap || !one.is_access() || !other.is_access())) morally_strong_.add(first, second);
  }

  /// From the operation that the pattern begins with to the write that is observed, and from the read that observes to the
  /// operation that the pattern ends with.
  void find_patterns() {
    for (size_t each = 0; each < events_.size(); ++each) {
      const event& at = events_[each];
      if (at.release) release_pattern_.add(each, each);
      if (at.acquire) acquire_pattern_.add(each, each);
      for (size_t other = 0; other < events_.size(); ++other) {
        if (!program_order_.has(each, other)) continue;
        const event& later = events_[other];
        const bool one_location = same_location_.has(each, other);
        const bool fence_first = at.kind == event_kind::fence;
        const bool fence_last = later.kind == event_kind::fence;
        if (later.kind == event_kind::write && later.strong && (fence_first || (at.release && one_location)))
          release_pattern_.add(each, other);
        if (at.kind == event_kind::read && at.strong && (fence_last || (later.acquire && one_location)))
          acquire_pattern_.add(each, other);
      }
    }
  }

  relation observation(const relation& reads_from) const {
    const relation direct = morally_strong_ & reads_from;
    // Through any number of read-modify-writes.
    const relation through = modification_.then(direct).closed();
    return direct | direct.then(through);
  }

  relation causality(const relation& reads_from, const relation& fences) const {
    const relation observed = observation(reads_from);
    const relation synchronises = morally_strong_ & release_pattern_.then(observed).then(acquire_pattern_);
    const relation po = program_order_.or_identity();
    const relation base = po.then((synchronises | fences).then(po).closed());
    return base | observed.then(base | (program_order_ & same_location_));
  }

  /// The part of coherence that is no choice.
  relation forced_coherence(const relation& cause) const {
    relation made(events_.size());
    for (size_t first = 0; first < events_.size(); ++first) {
      if (!events_[first].is_write()) continue;
      for (size_t second = 0; second < events_.size(); ++second) {
        if (first == second || !events_[second].is_write() || !same_location_.has(first, second)) continue;
        if (events_[first].kind == event_kind::initial || cause.has(first, second) || program_order_.has(first, second))
          made.add(first, second);
      }
    }
    return made.closed();
  }

  /// Whether the choices made so far break no axiom. `coherence` is transitive.
  bool consistent(const relation& reads_from, const relation& fences, const relation& cause,
                  const relation& coherence) {
    if (checks_left_ == 0) return false;
    --checks_left_;
    if (coherence.reflexive_somewhere()) return false;
    if (fences.then(cause).reflexive_somewhere()) return false;
    if ((reads_from | dependency_).cyclic()) return false;
    if (no_load_buffering_ && (reads_from | program_order_).cyclic()) return false;
    const relation from_read = reads_from.inverse().then(coherence);
    if ((reads_from | from_read).then(cause).reflexive_somewhere()) return false;
    const relation split = (morally_strong_ & from_read).then(morally_strong_ & coherence) & modification_;
    for (const size_t each : reads_)
      if (!split.empty(each)) return false;
    const relation per_location =
        (morally_strong_ & (reads_from | coherence | from_read)) | (program_order_ & same_location_);
    return !per_location.cyclic();
  }

  bool consistent(const relation& reads_from, const relation& fences) {
    const relation cause = causality(reads_from, fences);
    return consistent(reads_from, fences, cause, forced_coherence(cause));
  }

  /// Empty while it depends on a read whose source is still open. Reads-from and dependencies have no cycle.
  std::optional<uint32_t> value_read(size_t read, const relation& reads_from) const {
    for (size_t each = 0; each < events_.size(); ++each)
      if (reads_from.has(each, read)) return value_written(each, reads_from);
    return std::nullopt;
  }

  std::optional<uint32_t> value_written(size_t write, const relation& reads_from) const {
    const event& at = events_[write];
    if (at.kind == event_kind::initial) return 0;
    if (at.from->kind == instruction_kind::compare_exchange) return at.from->desired;
    if (at.from->kind != instruction_kind::add) return at.from->value;
    const std::optional<uint32_t> old = value_read(*at.partner, reads_from);
    if (!old) return std::nullopt;
    return *old + at.from->value;
  }

  bool comparisons_possible(const relation& reads_from) const {
    return std::all_of(reads_.begin(), reads_.end(), [&](size_t each) {
      const event& at = events_[each];
      if (at.from->kind != instruction_kind::compare_exchange) return true;
      const std::optional<uint32_t> seen = value_read(each, reads_from);
      return !seen || (*seen == at.from->value) == at.partner.has_value();
    });
  }

  void choose_source(size_t next, const relation& reads_from) {
    if (next == reads_.size()) {
      choose_fence_order(reads_from, none_);
      return;
    }
    const size_t read = reads_[next];
    for (size_t write = 0; write < events_.size(); ++write) {
      if (!events_[write].is_write() || !same_location_.has(write, read)) continue;
      relation extended = reads_from;
      extended.add(write, read);
      if (consistent(extended, none_) && comparisons_possible(extended)) choose_source(next + 1, extended);
    }
  }

  void choose_fence_order(const relation& reads_from, const relation& fences) {
    for (size_t first = 0; first < events_.size(); ++first) {
      for (size_t second = first + 1; second < events_.size(); ++second) {
        if (!events_[first].sequential || !events_[second].sequential || !morally_strong_.has(first, second) ||
            program_order_.has(first, second) || fences.has(first, second) || fences.has(second, first))
          continue;
        for (const auto& [before, after] : {std::pair(first, second), std::pair(second, first)}) {
          relation extended = fences;
          extended.add(before, after);
          if (consistent(reads_from, extended)) choose_fence_order(reads_from, extended);
        }
        return;
      }
    }
    choose_coherence(reads_from, fences);
  }

  /// Causality does not depend on coherence, and no axiom relates the coherence of two locations: each is searched alone.
  void choose_coherence(const relation& reads_from, const relation& fences) {
    const relation cause = causality(reads_from, fences);
    const relation forced = forced_coherence(cause);
    if (!consistent(reads_from, fences, cause, forced)) return;
    std::vector<std::set<uint32_t>> last(program_.locations.size());
    for (uint32_t location = 0; location < last.size(); ++location) {
      order_writes(location, reads_from, fences, cause, forced, last[location]);
      if (last[location].empty()) return;
    }
    flat_state state = registers_after(reads_from);
    collect(last, state);
  }

  void order_writes(uint32_t location, const relation& reads_from, const relation& fences, const relation& cause,
                    const relation& coherence, std::set<uint32_t>& last) {
    for (size_t first = 0; first < events_.size(); ++first) {
      if (events_[first].kind != event_kind::write || events_[first].location != location) continue;
      for (size_t second = first + 1; second < events_.size(); ++second) {
        if (events_[second].kind != event_kind::write || !morally_strong_.has(first, second) ||
            !same_location_.has(first, second) || coherence.has(first, second) || coherence.has(second, first))
          continue;
        for (const auto& [before, after] : {std::pair(first, second), std::pair(second, first)}) {
          relation extended = coherence;
          extended.add(before, after);
          extended = extended.closed();
          if (consistent(reads_from, fences, cause, extended))
            order_writes(location, reads_from, fences, cause, extended, last);
        }
        return;
      }
    }
    for (size_t each = 0; each < events_.size(); ++each)
      if (events_[each].is_write() && events_[each].location == location && coherence.empty(each))
        last.insert(value_written(each, reads_from).value());
  }

  flat_state registers_after(const relation& reads_from) const {
    flat_state made(program_.threads.size() * litmus::registers);
    for (const size_t each : reads_)
      made[events_[each].thread * litmus::registers + events_[each].from->reg] = value_read(each, reads_from).value();
    return made;
  }

  void collect(const std::vector<std::set<uint32_t>>& last, flat_state& state) {
    const size_t location = state.size() - program_.threads.size() * litmus::registers;
    if (location == last.size()) {
      found_.insert(state);
      return;
    }
    for (const uint32_t value : last[location]) {
      state.push_back(value);
      collect(last, state);
      state.pop_back();
    }
  }

  const litmus::program& program_;
  bool no_load_buffering_;
  uint64_t& checks_left_;
  std::set<flat_state>& found_;
  std::vector<event> events_;  ///< first the initial writes, then thread by thread in program order
  std::vector<size_t> reads_;
  relation none_;
  relation program_order_;
  relation same_location_;
  relation morally_strong_;
  relation modification_;  ///< from the read to the write
  relation dependency_;    ///< what is written, or whether, depends on what is read
  relation release_pattern_;
  relation acquire_pattern_;
};

}  // namespace

flat_state flatten(const litmus::final_state& seen) {
  flat_state made;
  for (const std::vector<uint32_t>& of : seen.registers) made.insert(made.end(), of.begin(), of.end());
  made.insert(made.end(), seen.locations.begin(), seen.locations.end());
  return made;
}

litmus::final_state unflatten(const litmus::program& from, const flat_state& state) {
  litmus::final_state made;
  auto next = state.begin();
  for (size_t thread = 0; thread < from.threads.size(); ++thread, next += litmus::registers)
    made.registers.emplace_back(next, next + litmus::registers);
  made.locations.assign(next, state.end());
  return made;
}

std::optional<std::set<flat_state>> allowed_states(const litmus::program& from, const model& rules,
                                                   uint64_t checks_max) {
  std::vector<std::vector<instruction>> threads = from.threads;
  uint32_t compared = 0;
  for (size_t thread = 0; thread < threads.size(); ++thread) {
    for (instruction& each : threads[thread]) {
      check_expressible(each);
      if (rules.x86_host && from.places[thread].host) each = on_x86(each);
      if (each.kind == instruction_kind::compare_exchange) ++compared;
    }
  }
  std::set<flat_state> found;
  uint64_t checks_left = checks_max;
  for (uint64_t successes = 0; successes < uint64_t{1} << compared; ++successes) {
    execution_search(from, threads, successes, rules.no_load_buffering, checks_left, found).run();
    if (checks_left == 0) return std::nullopt;
  }
  return found;
}

}  // namespace heddle::sim::tests::axioms
