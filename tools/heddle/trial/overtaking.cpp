#include <heddle/tools/trial/overtaking.h>

#include <algorithm>
#include <unordered_map>

namespace heddle::tools {
namespace {

using sim::operation_kind;
using sim::run_record;

bool may_load(operation_kind kind) {
  return kind == operation_kind::load || kind == operation_kind::plain_load || kind == operation_kind::volatile_load ||
         modifies(kind);
}
bool may_store(operation_kind kind) {
  return (sim::is_store(kind) && kind != operation_kind::notify) || modifies(kind);
}
bool overlap(const run_record::step& one, const run_record::step& other) {
  return one.address < other.address + other.size_bytes && other.address < one.address + one.size_bytes;
}

/// Fills in the other side of a load that has missed a store. False: there is none.
bool find_other_side(const run_record& run, overtaking& of) {
  const std::vector<run_record::step>& steps = run.steps;
  std::unordered_map<uint64_t, size_t> stored;  // by address, where the lane that loads did so last
  for (size_t n = 0; n < of.load; ++n)
    if (steps[n].actor == steps[of.load].actor && may_store(steps[n].kind) &&
        !overlap(steps[n], steps[of.missed_store]))
      stored[steps[n].address] = n;
  for (size_t n = of.missed_store + 1; n < steps.size(); ++n) {
    if (steps[n].actor != steps[of.missed_store].actor || !may_load(steps[n].kind)) continue;
    const auto found = stored.find(steps[n].address);
    if (found == stored.end()) continue;
    of.store = found->second;
    of.other_load = n;
    return true;
  }
  return false;
}

}  // namespace

std::vector<overtaking> overtakings_in(const run_record& run) {
  constexpr size_t most = 32;  // each is looked for in the whole run
  std::vector<overtaking> found;
  size_t looked_at = 0;
  for (size_t n = run.steps.size(); n-- > 0 && looked_at < most;) {
    const run_record::step& each = run.steps[n];
    if (!each.is_old || each.missed == run_record::never || each.missed < run.first_step) continue;
    const size_t store = each.missed - run.first_step;
    if (store >= run.steps.size() || run.steps[store].actor == each.actor) continue;
    ++looked_at;
    overtaking one = {.load = n, .missed_store = store};
    if (find_other_side(run, one)) found.push_back(one);
  }
  return found;
}

std::string advice_on_overtaking(const run_record& of, const step_words& words, const std::vector<uint64_t>& decided) {
  const std::vector<overtaking> all = overtakings_in(of);
  const auto one = std::find_if(all.begin(), all.end(), [&](const overtaking& each) {
    return std::find(decided.begin(), decided.end(), of.first_step + each.load) != decided.end();
  });
  if (one == all.end()) return {};
  const auto side = [&](size_t store, size_t load) {
    const run_record::step& first = of.steps[store];
    const run_record::step& second = of.steps[load];
    return words.name_of(first.actor) + " between its store of " + words.place_of(first) + " at " + words.where(first) +
           " and its load of " + words.place_of(second) + " at " + words.where(second);
  };
  return "to change: a full fence (seq_cst) on both sides, of " + side(one->store, one->load) + ", and of " +
         side(one->missed_store, one->other_load) +
         ": without them each may load what was there before the other's store";
}

}  // namespace heddle::tools
