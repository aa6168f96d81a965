#include <heddle/tools/trial/overtaking.h>
#include <heddle/tools/trial/step_words.h>

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

}  // namespace

std::optional<overtaking> overtaking_of(const run_record& run, size_t late, size_t missed_store) {
  const std::vector<run_record::step>& steps = run.steps;
  overtaking of = {.load = late, .missed_store = missed_store};
  const bool is_load = !may_store(steps[late].kind);
  std::unordered_map<uint64_t, size_t> stored;  // by address, where the lane did so last
  for (size_t n = 0; n < late; ++n)
    if (steps[n].actor == steps[late].actor && may_store(steps[n].kind) && !overlap(steps[n], steps[missed_store]))
      stored[steps[n].address] = n;
  for (size_t n = missed_store + 1; n < steps.size(); ++n) {
    const run_record::step& other = steps[n];
    if (other.actor != steps[missed_store].actor || !(may_load(other.kind) || (!is_load && may_store(other.kind))))
      continue;
    const auto found = stored.find(other.address);
    if (found == stored.end()) continue;
    of.store = found->second;
    of.other_load = n;
    return of;
  }
  return std::nullopt;
}

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
    if (const std::optional<overtaking> one = overtaking_of(run, n, store)) found.push_back(*one);
  }
  return found;
}

}  // namespace heddle::tools
