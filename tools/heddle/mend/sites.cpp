#include <heddle/sim/code/local_variables.h>
#include <heddle/tools/mend/sites.h>
#include <heddle/tools/trial/overtaking.h>
#include <heddle/tools/trial/step_words.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

namespace heddle::tools {
namespace {

using sim::operation_kind;
using sim::run_record;

constexpr std::array<std::string_view, 5> order_names = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};
constexpr std::array<std::string_view, 5> scope_names = {"wave", "block", "cluster", "device", "system"};

std::string name_of(memory_order order) { return std::string(order_names[static_cast<size_t>(order)]); }
size_t width_of(scope reach) { return static_cast<size_t>(reach); }
std::string name_of(scope reach) { return std::string(scope_names[width_of(reach)]); }

bool loads(operation_kind kind) {
  return kind == operation_kind::load || kind == operation_kind::plain_load || kind == operation_kind::volatile_load;
}
bool stores(operation_kind kind) {
  return kind == operation_kind::store || kind == operation_kind::plain_store || kind == operation_kind::volatile_store;
}
bool is_plain(operation_kind kind) { return kind == operation_kind::plain_load || kind == operation_kind::plain_store; }
bool is_access(operation_kind kind) { return loads(kind) || stores(kind) || modifies(kind); }
/// Whether it tells a lane which others are with it, or is done together with these.
bool is_meeting(operation_kind kind) { return sim::is_collective(kind) || kind == operation_kind::active_mask; }
bool is_site(operation_kind kind) {
  return is_access(kind) || kind == operation_kind::fence || is_meeting(kind) || is_barrier(kind);
}

/// Words of 8 bytes that several lanes access.
class shared_words {
 public:
  explicit shared_words(const run_record& run) {
    for (const run_record::step& each : run.steps) {
      // A copy that lacks a proxy fence is found where it is issued.
      const bool issues = each.kind == operation_kind::copy && each.address != 0 && each.size_bytes != 0;
      if (is_access(each.kind) || issues) note(each, issues || run.actors[each.actor].name.starts_with("bulk copy "));
    }
  }
  bool has(const run_record::step& one) const { return shared_.contains(one.address / 8) || is_copied(one); }
  bool is_copied(const run_record::step& one) const { return copied_.contains(one.address / 8); }

 private:
  void note(const run_record::step& one, bool by_copy) {
    for (uint64_t word = one.address / 8; word <= (one.address + one.size_bytes - 1) / 8; ++word) {
      if (const auto [first, fresh] = first_.try_emplace(word, one.actor); !fresh && first->second != one.actor)
        shared_.insert(word);
      if (by_copy) copied_.insert(word);
    }
  }
  std::map<uint64_t, uint32_t> first_;
  std::set<uint64_t> shared_;
  std::set<uint64_t> copied_;  ///< in bulk
};

/// How near each step is to the finding.
class nearness {
 public:
  explicit nearness(const run_record& run) {
    const auto note = [&](uint64_t step, uint32_t rank) {
      if (step == run_record::never || step < run.first_step || step - run.first_step >= run.steps.size()) return;
      const auto [known, fresh] = steps_.try_emplace(step, rank);
      if (!fresh) known->second = std::min(known->second, rank);
      words_.insert(run.steps[step - run.first_step].address / 8);
    };
    if (run.ended_by) {
      const run_record::race& race = *run.ended_by;
      note(race.store, 0);
      note(race.load, 0);
      const bool is_known = race.store != run_record::never;
      note(race.first, is_known ? 1 : 0);
      note(race.second, is_known ? 1 : 0);
      return;
    }
    for (size_t n = 0; n < run.steps.size(); ++n) {
      const run_record::step& each = run.steps[n];
      if (!each.is_old && each.behind == run_record::never && !each.spurious) continue;
      note(run.first_step + n, 0);
      note(each.missed, 1);
      note(each.behind, 1);
    }
  }
  uint32_t of(const run_record::step& one, uint64_t number) const {
    if (const auto known = steps_.find(number); known != steps_.end()) return known->second;
    return is_access(one.kind) && words_.contains(one.address / 8) ? 2 : 3;
  }

 private:
  std::map<uint64_t, uint32_t> steps_;
  std::set<uint64_t> words_;
};

/// The innermost line of the code under test; null where none is known.
const sim::source_line* line_of(const run_record& run, const run_record::step& one) {
  if (one.calls == run_record::none) return nullptr;
  for (const sim::source_line& line : run.call_chains[one.calls])
    if (!line.file.empty()) return &line;
  return nullptr;
}

/// Adds the variables that a call which returns there leaves where they can be changed.
void note_variables(std::vector<std::pair<std::string, std::string>>& all, const void* return_address) {
  constexpr size_t most = 16;
  const std::vector<sim::source_line> lines = sim::inlined_at(return_address);
  for (const sim::local_integer& each : sim::integers_at(return_address)) {
    if (each.nesting >= lines.size()) continue;
    const sim::source_line& line = lines[lines.size() - 1 - each.nesting];
    if (line.file.empty() || sim::is_plumbing(line)) continue;
    std::pair one(line.where(), each.name);
    if (all.size() < most && std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
  }
}

/// "load acquire system": its last words say order and scope.
void read_words(std::string_view text, memory_order& order, scope& reach) {
  while (!text.empty()) {
    const size_t end = text.find(' ');
    const std::string_view word = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (const auto* at = std::find(order_names.begin(), order_names.end(), word); at != order_names.end())
      order = static_cast<memory_order>(at - order_names.begin());
    if (const auto* at = std::find(scope_names.begin(), scope_names.end(), word); at != scope_names.end())
      reach = static_cast<scope>(at - scope_names.begin());
  }
}

/// "plain store" of "plain store", "load" of "load acquire system": what advice calls the operation.
std::string noun_of(const site& at) {
  std::string noun;
  std::string_view text = at.now;
  while (!text.empty()) {
    const size_t end = text.find(' ');
    const std::string_view word = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (std::find(order_names.begin(), order_names.end(), word) != order_names.end()) break;
    noun += (noun.empty() ? "" : " ") + std::string(word);
  }
  return noun;
}

}  // namespace

std::vector<site> sites_of(const run_record& run) {
  const shared_words shared(run);
  const nearness near(run);
  std::set<size_t> overtakes;
  for (const overtaking& each : overtakings_in(run)) overtakes.insert({each.load, each.other_load});
  std::vector<uint32_t> lanes_of_wave(run.waves.size());
  for (const run_record::actor& each : run.actors) ++lanes_of_wave[each.wave];
  std::vector<site> all;
  std::set<const void*> looked_at;
  // Those that come last come first, where they are as near.
  for (size_t n = run.steps.size(); n-- > 0;) {
    const run_record::step& each = run.steps[n];
    if (!is_site(each.kind) || (is_access(each.kind) && !shared.has(each))) continue;
    const sim::source_line* const line = line_of(run, each);
    if (line == nullptr) continue;
    const std::string where = line->where();
    memory_order order = memory_order::relaxed;
    scope reach = scope::system;
    read_words(run.texts[each.operation], order, reach);
    auto at = std::find_if(all.begin(), all.end(),
                           [&](const site& known) { return known.where == where && known.kind == each.kind; });
    if (at == all.end()) {
      all.push_back(
          {.where = where, .kind = each.kind, .now = run.texts[each.operation], .order = order, .reach = reach});
      at = std::prev(all.end());
    }
    const uint32_t wave = run.actors[each.actor].wave;
    if (std::pair(order, width_of(reach)) < std::pair(at->order, width_of(at->reach)))
      at->now = run.texts[each.operation];
    at->order = std::min(at->order, order);
    at->reach = std::min(at->reach, reach);
    at->on_device = at->on_device || !run.waves[wave].host;
    at->has_siblings = at->has_siblings || (!run.waves[wave].host && lanes_of_wave[wave] > 1);
    at->is_copied = at->is_copied || (is_access(each.kind) && shared.is_copied(each));
    at->overtakes = at->overtakes || overtakes.contains(n);
    at->rank = std::min(at->rank, near.of(each, run.first_step + n));
    if (at->has_siblings && is_meeting(each.kind))
      for (const sim::source_line& call : run.call_chains[each.calls])
        if (looked_at.insert(call.address).second) note_variables(at->variables, call.address);
    ++at->times;
  }
  std::stable_sort(all.begin(), all.end(), [](const site& one, const site& other) { return one.rank < other.rank; });
  return all;
}

namespace {

// What changes cost, as they compare on devices: an order or a scope of an operation that is there; one that becomes atomic; another operation;
// a meeting of lanes.
constexpr uint32_t cost_of_order = 10;
constexpr uint32_t cost_of_scope = 10;
constexpr uint32_t cost_of_atomic = 12;
constexpr uint32_t cost_of_fence = 30;
constexpr uint32_t cost_of_meeting = 40;
constexpr uint32_t cost_of_broadcast = 45;
constexpr uint32_t cost_of_total = 60;

/// The changes of one site, as they are listed.
class changes_of {
 public:
  explicit changes_of(const site& at) : at_(at) {}

  void add(const std::string& words, const std::string& advice, uint32_t cost) {
    add_at(at_.where, words, advice, cost);
  }
  void add_at(const std::string& where, const std::string& words, const std::string& advice, uint32_t cost) {
    made_.push_back(
        {.where = where, .words = words, .advice = advice, .cost = cost, .rank = at_.rank, .times = at_.times});
  }
  /// The same operation with an order, and every scope that is as wide or wider.
  void add_order(memory_order order, uint32_t cost) {
    const std::string name = noun_of(at_);
    if (order != at_.order || is_plain(at_.kind))
      add((is_plain(at_.kind) ? "plain." : "") + name_of(order),
          "make this " + name + (is_plain(at_.kind) ? " an atomic one, " : " ") + name_of(order), cost);
    if (!at_.on_device || is_plain(at_.kind)) return;
    uint32_t more = 0;
    for (size_t width = width_of(at_.reach) + 1; width < scope_names.size(); ++width) {
      // Few programs have clusters: of what they write themselves, none is tried.
      if (static_cast<scope>(width) == scope::cluster) continue;
      const std::string reach = name_of(static_cast<scope>(width));
      more += cost_of_scope;
      if (order == at_.order)
        add(reach, "give this " + name + " " + reach + " scope", more);
      else
        add(name_of(order) + "+" + reach, "make this " + name + " " + name_of(order) + ", " + reach, cost + more);
    }
  }
  void add_beside(const std::string& side, const std::string& what, const std::string& advice, uint32_t cost) {
    add(side + ":" + what, advice + (side == "before" ? " in front of this " : " behind this ") + noun_of(at_), cost);
  }
  std::vector<site_assumption> take() {
    std::stable_sort(made_.begin(), made_.end(),
                     [](const auto& one, const auto& other) { return one.cost < other.cost; });
    return std::move(made_);
  }

 private:
  const site& at_;
  std::vector<site_assumption> made_;
};

void add_orders(changes_of& to, const site& at) {
  const memory_order now = at.order;
  if (is_plain(at.kind)) {
    to.add_order(memory_order::relaxed, cost_of_atomic);
    to.add_order(loads(at.kind) ? memory_order::acquire : memory_order::release, cost_of_atomic + cost_of_order);
    return;
  }
  to.add_order(now, 0);
  if (at.kind == operation_kind::fence) {
    if (now == memory_order::acquire || now == memory_order::release)
      to.add_order(memory_order::acq_rel, cost_of_order);
  } else if (modifies(at.kind)) {
    if (now == memory_order::relaxed) {
      to.add_order(memory_order::acquire, cost_of_order);
      to.add_order(memory_order::release, cost_of_order);
      to.add_order(memory_order::acq_rel, 2 * cost_of_order);
    } else if (now == memory_order::acquire || now == memory_order::release) {
      to.add_order(memory_order::acq_rel, cost_of_order);
    }
  } else if (now == memory_order::relaxed) {
    to.add_order(loads(at.kind) ? memory_order::acquire : memory_order::release, cost_of_order);
  }
  if (now != memory_order::seq_cst) to.add_order(memory_order::seq_cst, cost_of_total);
}

void add_fences(changes_of& to, const site& at) {
  const auto add = [&](const std::string& side, const std::string& order, uint32_t cost) {
    for (const char* reach : {"device", "system"}) {
      const bool wide = std::string_view(reach) == "system";
      if (!wide && !at.on_device) continue;
      to.add_beside(side, "fence." + order + "." + reach, "a fence, " + order + ", " + reach + ",",
                    cost + (wide ? cost_of_scope : 0));
    }
  };
  if (!stores(at.kind)) add("after", "acquire", cost_of_fence);
  if (!loads(at.kind)) add("before", "release", cost_of_fence);
  if (at.overtakes) add("before", "seq_cst", cost_of_total);
}

}  // namespace

std::vector<site_assumption> stronger(const site& at) {
  changes_of made(at);
  if (is_access(at.kind) || at.kind == operation_kind::fence) add_orders(made, at);
  if (is_access(at.kind)) add_fences(made, at);
  if (at.is_copied && !loads(at.kind))
    made.add_beside("after", "proxy_fence", "a proxy fence (fence.proxy.async)", cost_of_fence);
  if (at.has_siblings) {
    made.add_beside("before", "sync_lanes", "sync_lanes", cost_of_meeting);
    made.add_beside("after", "sync_lanes", "sync_lanes", cost_of_meeting);
    const std::string same = "sync_lanes for the lanes of the last collective";
    made.add_beside("before", "sync_same", same, cost_of_meeting + 1);
    made.add_beside("after", "sync_same", same, cost_of_meeting + 1);
  }
  for (const auto& [where, name] : at.variables)
    made.add_at(where, "after:broadcast." + name,
                "broadcast " + name + " behind this " + noun_of(at) + ", so that its lanes agree on it",
                cost_of_broadcast);
  return made.take();
}

std::vector<site_assumption> weaker(const site& at) {
  changes_of made(at);
  if (is_plain(at.kind) || !(is_access(at.kind) || at.kind == operation_kind::fence)) return {};
  const std::string name = noun_of(at);
  const auto add = [&](memory_order order) {
    made.add(name_of(order),
             at.kind == operation_kind::fence && order == memory_order::relaxed
                 ? "leave this fence out"
                 : "make this " + name + " " + name_of(order),
             0);
  };
  const bool both = modifies(at.kind) || at.kind == operation_kind::fence;
  if (at.order == memory_order::seq_cst)
    add(both ? memory_order::acq_rel : loads(at.kind) ? memory_order::acquire : memory_order::release);
  if (at.order == memory_order::acq_rel) {
    add(memory_order::acquire);
    add(memory_order::release);
  }
  if (at.order == memory_order::acquire || at.order == memory_order::release) add(memory_order::relaxed);
  if (at.on_device && width_of(at.reach) > 0) {
    const size_t next = at.reach == scope::device ? width_of(scope::block) : width_of(at.reach) - 1;
    const std::string reach = name_of(static_cast<scope>(next));
    made.add(reach, "give this " + name + " " + reach + " scope", 0);
  }
  return made.take();
}

}  // namespace heddle::tools
