#include <heddle/tools/trial/missing_orders.h>
#include <heddle/tools/trial/overtaking.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

namespace heddle::tools {
namespace {

using sim::operation_kind;
using sim::run_record;

/// A store, and the load of another lane that reads it: indices in run_record::steps.
struct handover {
  size_t store = 0;
  size_t load = 0;
};
using way = std::vector<handover>;

class seeker {
 public:
  seeker(const run_record& of, size_t late, size_t missed) : of_(of), words_(of), late_(late), missed_(missed) {}

  std::vector<missing_order> seek() const {
    std::vector<missing_order> all;
    for (const way& each : ways()) add_of_way(all, each);
    if (!all.empty()) return all;
    if (const auto both = overtaking_of(of_, late_, missed_)) all.push_back(fences_of(*both));
    std::erase_if(all, [](const missing_order& each) { return each.changes.empty(); });
    return all;
  }

 private:
  const run_record::step& step(size_t n) const { return of_.steps[n]; }
  bool is_same_word(size_t one, size_t other) const {
    return step(one).address < step(other).address + step(other).size_bytes &&
           step(other).address < step(one).address + step(one).size_bytes;
  }
  /// The store that it has read, where that is in the record, and behind the one that was missed.
  std::optional<size_t> read_by(size_t n) const {
    const uint64_t store = step(n).reads;
    if (store == run_record::never || store < of_.first_step + missed_ || store - of_.first_step >= n) return {};
    return store - of_.first_step;
  }

  /// How the lane of the late step may have known of the missed store: by a word that it has read of that lane, the last ones first; else by way of
  /// others.
  std::vector<way> ways() const {
    constexpr size_t most = 3;
    std::vector<way> direct;
    for (size_t n = late_; n-- > missed_ && direct.size() < most;) {
      const auto store = step(n).actor == step(late_).actor ? read_by(n) : std::nullopt;
      if (!store || *store == missed_ || step(*store).actor != step(missed_).actor) continue;
      const bool is_known = std::any_of(direct.begin(), direct.end(), [&](const way& each) {
        return where(each.front().store) == where(*store) && where(each.front().load) == where(n);
      });
      if (!is_known) direct.push_back({{.store = *store, .load = n}});
    }
    if (direct.empty())
      if (way by_others = way_by_others(); !by_others.empty()) direct.push_back(std::move(by_others));
    return direct;
  }

  way way_by_others() const {
    struct reached {
      size_t at = 0;
      std::optional<handover> by = std::nullopt;  ///< none: it knows of the store itself, or has made it
    };
    std::map<uint32_t, reached> lanes = {{step(missed_).actor, {.at = missed_}}};
    for (size_t n = missed_ + 1; n < late_; ++n) {
      const auto store = lanes.contains(step(n).actor) ? std::nullopt : read_by(n);
      if (!store) continue;
      const auto from = lanes.find(step(*store).actor);
      if (*store == missed_)
        lanes[step(n).actor] = {.at = n};
      else if (from != lanes.end() && from->second.at <= *store)
        lanes[step(n).actor] = {.at = n, .by = handover{.store = *store, .load = n}};
    }
    way found;
    for (auto lane = lanes.find(step(late_).actor); lane != lanes.end() && lane->second.by;
         lane = lanes.find(step(found.front().store).actor))
      found.insert(found.begin(), *lane->second.by);
    return found;
  }

  std::string where(size_t n) const { return words_.where(step(n)); }
  bool has_order(size_t n, std::string_view order) const {
    return step(n).operation != run_record::none &&
           of_.texts[step(n).operation].find(" " + std::string(order)) != std::string::npos;
  }
  bool releases(size_t n) const {
    return has_order(n, "release") || has_order(n, "acq_rel") || has_order(n, "seq_cst");
  }
  bool acquires(size_t n) const {
    return has_order(n, "acquire") || has_order(n, "acq_rel") || has_order(n, "seq_cst");
  }
  bool is_fence(size_t n, uint32_t actor) const {
    return step(n).actor == actor && step(n).kind == operation_kind::fence;
  }

  scope needed(const handover& by) const {
    const run_record::wave& one = of_.waves[of_.actors[step(by.store).actor].wave];
    const run_record::wave& other = of_.waves[of_.actors[step(by.load).actor].wave];
    if (one.host || other.host) return scope::system;
    return one.launched == other.launched && one.block == other.block ? scope::block : scope::device;
  }
  static std::string name_of(scope reach) {
    return reach == scope::system ? "system" : reach == scope::device ? "device" : "block";
  }

  /// What gives the order that the store, or the load, of a hand-over has: itself or fences; empty where it has none.
  std::vector<size_t> orders_of(const handover& by, bool of_store) const {
    const size_t self = of_store ? by.store : by.load;
    std::vector<size_t> found;
    if (of_store ? releases(self) : acquires(self)) found.push_back(self);
    for (size_t n = of_store ? missed_ : self; n < (of_store ? self : late_); ++n)
      if (is_fence(n, step(self).actor) && (of_store ? releases(n) : acquires(n))) found.push_back(n);
    return found;
  }

  /// What the one end of a hand-over lacks.
  std::vector<order_change> lacks(const handover& by, bool of_store) const {
    const size_t self = of_store ? by.store : by.load;
    const std::string place = where(self);
    const std::vector<size_t> has = orders_of(by, of_store);
    std::vector<order_change> made;
    if (has.empty()) {
      if (!place.empty()) made.push_back(order_at(self, of_store, needed(by)));
      return made;
    }
    for (const size_t each : has)
      if (words_.reach_of(step(each)) < needed(by) && !where(each).empty())
        made.push_back({.where = where(each),
                        .words = name_of(needed(by)),
                        .text = "a wider scope at " + where(each) + ", which is " + of_.texts[step(each).operation]});
    return made;
  }

  order_change order_at(size_t n, bool of_store, scope reach) const {
    const run_record::step& one = step(n);
    const std::string place = where(n);
    const bool is_atomic = one.kind == operation_kind::load || one.kind == operation_kind::store || modifies(one.kind);
    const std::string order = of_store ? "release" : "acquire";
    // There may be several at one line.
    const std::string deed = modifies(one.kind) ? "change" : of_store ? "store" : "load";
    const std::string what = " (its " + deed + " of " + words_.place_of(one) + ")";
    // A volatile access has no order that could be stronger.
    if (!is_atomic)
      return {.where = place,
              .words = (of_store ? "before:fence." : "after:fence.") + order + "." + name_of(reach),
              .text = "a fence (" + order + ") " + (of_store ? "before " : "behind ") + place + what};
    const bool needs_both = modifies(one.kind) && (of_store ? acquires(n) : releases(n));
    return {.where = place,
            .words = needs_both ? "acq_rel" : order,
            .text = (of_store ? "a release at " : "an acquire at ") + place + what + ", or a fence " +
                    (of_store ? "before it" : "behind it")};
  }

  void add_of_way(std::vector<missing_order>& all, const way& by) const {
    std::vector<order_change> changes;
    for (const handover& each : by)
      for (const bool of_store : {true, false})
        for (order_change& one : lacks(each, of_store)) changes.push_back(std::move(one));
    if (changes.empty()) return;
    missing_order whole = {.changes = {}, .why = why(by), .late = of_.first_step + late_, .steps = {}};
    for (const handover& each : by)
      for (const size_t n : {each.store, each.load}) whole.steps.push_back(of_.first_step + n);
    for (const order_change& each : changes) {
      missing_order one = whole;
      one.changes = {each};
      all.push_back(std::move(one));
    }
    whole.changes = std::move(changes);
    if (whole.changes.size() > 1) all.push_back(std::move(whole));
  }

  bool is_old_load() const { return step(late_).is_old; }

  std::string why(const way& by) const {
    const std::string last = words_.name_of(step(late_).actor) + " has read " + words_.place_of(step(by.back().load)) +
                             words_.at(of_.first_step + by.back().load) + " and ";
    return last + (is_old_load() ? "may still miss what " : "may still store behind what ") +
           words_.name_of(step(missed_).actor) + " has stored to " + words_.place_of(step(missed_)) + " before" +
           words_.at(of_.first_step + missed_);
  }

  missing_order fences_of(const overtaking& both) const {
    const auto side = [&](size_t first, size_t second) {
      const auto deed = [&](size_t n) {
        return std::string(sim::may_write(step(n).kind) ? "store of " : "load of ") + words_.place_of(step(n)) +
               " at " + where(n);
      };
      return words_.name_of(step(first).actor) + " between its " + deed(first) + " and its " + deed(second);
    };
    if (where(both.load).empty() || where(both.other_load).empty()) return {};
    const std::string fence = "before:fence.seq_cst." + name_of(needed({both.missed_store, both.load}));
    return {.changes = {{.where = where(both.load),
                         .words = fence,
                         .text = "a full fence (seq_cst) on both sides, of " + side(both.store, both.load)},
                        {.where = where(both.other_load),
                         .words = fence,
                         .text = "of " + side(both.missed_store, both.other_load)}},
            .why = is_old_load() ? "without them each may load what was there before the other's store"
                                 : "without them the store of each may count as older than the other's",
            .is_of_both = true,
            .late = of_.first_step + late_,
            .steps = {}};
  }

  const run_record& of_;
  const step_words words_;
  const size_t late_;
  const size_t missed_;
};

}  // namespace

std::string missing_order::assumed() const {
  std::string all;
  for (const order_change& each : changes) all += (all.empty() ? "" : ",") + each.where + "=" + each.words;
  return all;
}

std::string missing_order::text() const {
  std::string all;
  for (const order_change& each : changes) all += (all.empty() ? "" : is_of_both ? ", and " : "; and ") + each.text;
  return all + ": " + why;
}

std::vector<missing_order> missing_orders(const run_record& of, const std::vector<uint64_t>& decided) {
  std::vector<uint64_t> steps = decided;
  std::sort(steps.rbegin(), steps.rend());
  std::vector<missing_order> all;
  for (const uint64_t number : steps) {
    if (number < of.first_step || number - of.first_step >= of.steps.size()) continue;
    const run_record::step& late = of.steps[number - of.first_step];
    const uint64_t missed = late.is_old ? late.missed : late.behind;
    if (missed == run_record::never || missed < of.first_step || missed >= number) continue;
    if (of.steps[missed - of.first_step].actor == late.actor) continue;
    for (missing_order& each : seeker(of, number - of.first_step, missed - of.first_step).seek())
      all.push_back(std::move(each));
  }
  return all;
}

}  // namespace heddle::tools
