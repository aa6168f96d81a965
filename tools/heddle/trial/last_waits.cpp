#include <heddle/tools/trial/last_waits.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace heddle::tools {

using sim::operation_kind;
using sim::run_record;

wait_sort sort_of(const std::string& over) {
  if (over == "a mutex") return wait_sort::mutex;
  if (over == "its end" || over.starts_with("end of the ")) return wait_sort::end;
  if (over == "a place on the device") return wait_sort::place;
  if (over.starts_with("its turn in ")) return wait_sort::turn;
  if (over == "masked off") return wait_sort::siblings;
  // As operations are called: this part knows no simulator.
  const bool is_call = over.starts_with("a ") || over == "block barrier" || over == "cluster barrier";
  return is_call ? wait_sort::other : wait_sort::memory;
}

bool is_file_place(std::string_view place) {
  constexpr std::string_view kinds[] = {"pipe", "eventfd", "socketpair", "epoll"};
  return std::any_of(std::begin(kinds), std::end(kinds), [&](std::string_view kind) {
    return place == kind || (place.starts_with(kind) && place.substr(kind.size()).starts_with(" #"));
  });
}

uint64_t last_look_of(const run_record& of, const step_words& words, uint32_t wave, const std::string& over) {
  for (size_t n = of.steps.size(); n-- > 0;) {
    const run_record::step& one = of.steps[n];
    if (of.actors[one.actor].wave == wave && one.place != run_record::none && words.is_at(one, over))
      return of.first_step + n;
  }
  return 0;
}

const run_record::wait* last_wait_of(const run_record& of, uint32_t wave) {
  const run_record::wait* last = nullptr;
  for (const run_record::wait& each : of.waits)
    if (of.actors[each.actor].wave == wave && each.from <= of.judged &&
        (each.to == run_record::never || (of.judged != run_record::never && each.to >= of.judged)))
      last = &each;
  return last;
}

uint64_t mutex_held_by(const run_record& of, uint32_t wave) {
  std::set<uint64_t> given_back;
  for (size_t n = of.steps.size(); n-- > 0;) {
    const run_record::step& one = of.steps[n];
    if (of.actors[one.actor].wave != wave) continue;
    if (one.kind == operation_kind::unlock_mutex) given_back.insert(one.address);
    if (one.kind == operation_kind::lock_mutex && !given_back.contains(one.address)) return of.first_step + n;
  }
  return 0;
}

const run_record::step* lock_taken_before(const run_record& of, const step_words& words, const run_record::step& tried,
                                          uint32_t wave) {
  const auto modifies = [](const run_record::step& one) {
    return one.kind == operation_kind::read_modify_write || one.kind == operation_kind::compare_exchange;
  };
  const run_record::step* const taken = words.step_at(tried.reads);
  const bool is_it = taken != nullptr && modifies(tried) && !tried.changes && modifies(*taken);
  return is_it && of.actors[taken->actor].wave == wave ? taken : nullptr;
}

}  // namespace heddle::tools
