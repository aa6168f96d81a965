#include <heddle/sim/verify/saved_search.h>

#include <algorithm>

namespace heddle::sim {
namespace {

using variables = std::vector<std::pair<const void*, size_t>>;

std::vector<uint64_t> as_numbers(const variables& all) {
  std::vector<uint64_t> made;
  for (const auto& [address, size_bytes] : all)
    made.insert(made.end(), {reinterpret_cast<uintptr_t>(address), size_bytes});
  return made;
}

variables as_variables(const std::vector<uint64_t>& numbers) {
  variables made;
  for (size_t n = 0; n + 1 < numbers.size(); n += 2)
    made.emplace_back(reinterpret_cast<const void*>(numbers[n]), numbers[n + 1]);
  return made;
}

}  // namespace

void saved_search::save(bytes_out& to) const {
  for (const uint64_t each : {executions, depth_max, restarts}) to.number(each);
  to.put(&seconds, sizeof seconds);
  to.all(std::vector<char>(left_out.begin(), left_out.end()));
  to.all(left.put_off);
  to.number(left.paths.size());
  for (const std::vector<std::byte>& each : left.paths) to.all(each);
  to.all(samples.states);
  to.all(as_numbers(samples.variables));
  to.all(notes);
}

bool saved_search::load(bytes_in& from) {
  std::vector<char> why;
  std::vector<uint64_t> of_samples;
  uint64_t paths = 0;
  const bool begins = from.number(executions) && from.number(depth_max) && from.number(restarts) &&
                      from.take(&seconds, sizeof seconds) && from.all(why) && from.all(left.put_off) &&
                      from.number(paths) && paths <= from.left_bytes();
  if (!begins) return false;
  left_out.assign(why.begin(), why.end());
  left.paths.resize(paths);
  for (std::vector<std::byte>& each : left.paths)
    if (!from.all(each)) return false;
  if (!from.all(samples.states) || !from.all(of_samples) || !from.all(notes)) return false;
  samples.variables = as_variables(of_samples);
  return true;
}

bool saved_search::is_of(const shared_states& known) const {
  return left.is_of(known.count()) &&
         std::all_of(samples.states.begin(), samples.states.end(),
                     [&](const state_samples::sample& each) { return each.state < known.count(); });
}

void tell(const search_notes& notes, std::vector<uint64_t>& into) {
  into.push_back(notes.variables.size());
  for (const auto& [address, size_bytes] : notes.variables)
    into.insert(into.end(), {reinterpret_cast<uintptr_t>(address), size_bytes});
  notes.tell(into);
}

void learn(const std::vector<uint64_t>& told, size_t at, search_notes& notes) {
  for (uint64_t count = told[at++]; count > 0; --count) {
    size_t& size_bytes = notes.variables[reinterpret_cast<const void*>(told[at++])];
    size_bytes = std::max<size_t>(size_bytes, told[at++]);
  }
  notes.learn(told, at);
}

}  // namespace heddle::sim
