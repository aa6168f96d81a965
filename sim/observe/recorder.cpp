#include <heddle/sim/code/source_line.h>
#include <heddle/sim/observe/recorder.h>
#include <heddle/sim/space/heap.h>

#include <algorithm>
#include <cstdio>
#include <ranges>

namespace heddle::sim {
namespace {

uint64_t last_granule_of(const void* address, size_t size_bytes, uint64_t granule_bytes) {
  return (reinterpret_cast<uintptr_t>(address) + std::max<size_t>(size_bytes, 1) - 1) / granule_bytes;
}

}  // namespace

std::string recorder::hexadecimal(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

void recorder::performed(const lane& who, uint64_t value, uint64_t step, bool under_way, bool readable) {
  last_of_[&who] = taken_.size();
  taken_.push_back({step, &who, who.pending, calls_of(who), value});
  last_step_ = step;
  taken_.back().spurious = fails_.erase(&who) != 0;
  look_at_memory(taken_.back(), under_way, readable);
}

void recorder::performed_before_steps(const lane& who) { before_steps_ = calls_of(who); }

void recorder::wakes_for_no_reason(const lane& who) {
  const auto last = last_of_.find(&who);
  if (last != last_of_.end()) taken_[last->second].woke = true;
}

void recorder::stands_behind(uint64_t store_step, uint64_t newer_step) {
  behind_[store_step] = newer_step;
  // A plain store takes its place when its lane goes on.
  if (!odd_.empty() && odd_.back().kind == scheduler::choice_kind::place) odd_.back().step = store_step;
}

void recorder::odd_answer(const lane& who, scheduler::choice_kind kind) {
  // A lane that is woken has already taken its step.
  const auto last = last_of_.find(&who);
  const bool is_past = kind == scheduler::choice_kind::wake && last != last_of_.end();
  odd_.push_back({.who = &who, .kind = kind, .step = is_past ? taken_[last->second].step : last_step_ + 1});
}

void recorder::turn_ended(const lane& who, uint64_t state) {
  const auto last = last_of_.find(&who);
  if (last != last_of_.end()) turns_[&who].push_back({.state = state, .last = last->second});
}

std::optional<std::vector<watched>> recorder::last_turn_of(const lane& who) const {
  const auto known = turns_.find(&who);
  const auto own = last_of_.find(&who);
  if (known == turns_.end() || own == last_of_.end()) return std::nullopt;
  const std::vector<turn>& turns = known->second;
  const turn& last = turns.back();
  // The lane has left the loop of these iterations.
  if (own->second != last.last) return std::nullopt;
  // Back in an earlier state, the lane has been through all of its loop.
  auto before =
      std::find_if(turns.rbegin() + 1, turns.rend(), [&](const turn& one) { return one.state == last.state; });
  if (before == turns.rend()) {
    before = std::find_if(turns.rbegin() + 1, turns.rend(),
                          [&](const turn& one) { return taken_[one.last].what.place == taken_[last.last].what.place; });
    if (before == turns.rend()) return std::nullopt;
  }
  std::vector<watched> read;
  for (size_t n = before->last + 1; n <= last.last; ++n) {
    const operation& what = taken_[n].what;
    if (taken_[n].who == &who && what.address != nullptr) read.push_back({what.address, 0, what.size_bytes});
  }
  return read;
}

std::vector<std::pair<uint64_t, uint64_t>> recorder::stores_behind(const void* address, size_t size_bytes) const {
  std::vector<std::pair<uint64_t, uint64_t>> found;
  const watched wanted = {address, 0, static_cast<uint32_t>(size_bytes)};
  for (const auto& [store, newer] : behind_)
    if (const taken* const one = taken_in(store);
        one != nullptr && wanted.overlaps(one->what.address, one->what.size_bytes))
      found.emplace_back(store, newer);
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<const lane*> recorder::storers_of(const void* address, size_t size_bytes) const {
  std::vector<std::pair<uint64_t, const lane*>> stores;
  for (const change& one : changes_of(address, size_bytes)) stores.emplace_back(one.step, one.who);
  const watched wanted = {address, 0, static_cast<uint32_t>(size_bytes)};
  // What lies in several granules is in each: the first of them all tells.
  const uint64_t first = reinterpret_cast<uintptr_t>(address) / granule_bytes;
  for (uint64_t granule = first; granule <= last_granule_of(address, size_bytes, granule_bytes); ++granule)
    for (const accessed& one : accessed_in(granule))
      if (wanted.overlaps(one.address, one.size_bytes) &&
          std::max(first, reinterpret_cast<uintptr_t>(one.address) / granule_bytes) == granule)
        for (const auto& [who, step] : one.stores) stores.emplace_back(step, who);
  std::stable_sort(stores.begin(), stores.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<const lane*> found;
  std::unordered_set<const lane*> known;
  for (const auto& [step, who] : stores)
    if (known.insert(who).second) found.push_back(who);
  return found;
}

bool recorder::has_touched(const wave& of, const void* address, size_t size_bytes) const {
  if (peeked_.contains({&of, address})) return true;
  const watched wanted = {address, 0, static_cast<uint32_t>(size_bytes)};
  for (uint64_t granule = reinterpret_cast<uintptr_t>(address) / granule_bytes;
       granule <= last_granule_of(address, size_bytes, granule_bytes); ++granule)
    for (const accessed& one : accessed_in(granule))
      if (wanted.overlaps(one.address, one.size_bytes) && one.by.contains(&of)) return true;
  return false;
}

const std::vector<recorder::accessed>& recorder::accessed_in(uint64_t granule) const {
  for (; indexed_ < taken_.size(); ++indexed_) {
    const taken& one = taken_[indexed_];
    if (one.what.address == nullptr) continue;
    for (uint64_t each = reinterpret_cast<uintptr_t>(one.what.address) / granule_bytes;
         each <= last_granule_of(one.what.address, one.what.size_bytes, granule_bytes); ++each) {
      std::vector<accessed>& here = accessed_[each];
      auto word = std::find_if(here.begin(), here.end(), [&](const accessed& known) {
        return known.address == one.what.address && known.size_bytes == one.what.size_bytes;
      });
      if (word == here.end())
        word = here.insert(here.end(), {.address = one.what.address,
                                        .size_bytes = static_cast<uint32_t>(one.what.size_bytes),
                                        .by = {},
                                        .stores = {}});
      word->by.insert(one.who->of);
      if (is_store(one.what.kind)) word->stores[one.who] = one.step;
    }
  }
  return accessed_[granule];
}

bool recorder::has_been_at(const lane& who, const watched& word, const std::string& where) const {
  return std::any_of(taken_.begin(), taken_.end(), [&](const taken& one) {
    return one.who == &who && one.what.address != nullptr && word.overlaps(one.what.address, one.what.size_bytes) &&
           source_of(one.calls).where() == where;
  });
}

bool recorder::looks_atomically(const lane& who, const watched& word) const {
  return std::any_of(taken_.rbegin(), taken_.rend(), [&](const taken& one) {
    const bool is_plain = one.what.kind == operation_kind::plain_load || one.what.kind == operation_kind::plain_store;
    return one.who == &who && !is_plain && one.what.address != nullptr &&
           word.overlaps(one.what.address, one.what.size_bytes);
  });
}

bool recorder::has_launched(const lane& who) const {
  return std::any_of(taken_.begin(), taken_.end(),
                     [&](const taken& one) { return one.who == &who && one.what.kind == operation_kind::launch; });
}

bool recorder::tries_in_vain(const lane& who, const void* address) const {
  for (const taken& one : std::ranges::reverse_view(taken_)) {
    if (one.who != &who || one.what.address != address || !may_write(one.what.kind)) continue;
    return !one.changes;
  }
  return false;
}

void recorder::stored(const lane& who, uint64_t value) {
  const auto last = last_of_.find(&who);
  if (last != last_of_.end()) taken_[last->second].value = value;
}

void recorder::changed(const lane& who, const void* address, size_t size_bytes, bool by_step, bool readable,
                       uint64_t made_in) {
  note_change(who, address, size_bytes, by_step, readable);
  // Those of the store that has arrived; else of the lane's last step: a plain store is looked at when the lane has left the place where it
  // made it.
  const auto own = last_of_.find(&who);
  const taken* const store = made_in != 0 ? at_step(made_in) : own != last_of_.end() ? &taken_[own->second] : nullptr;
  // What arrives in the very step that stores it is in no list yet.
  const bool is_now = made_in > last_step_;
  const call_chain calls = store != nullptr ? store->calls : is_now ? calls_of(who) : before_steps_;
  const bool is_own_step = store != nullptr && (made_in != 0 || store->what.address == address);
  const uint64_t made = is_own_step ? store->step : is_now ? made_in : last_step_;
  const uint64_t first = reinterpret_cast<uintptr_t>(address) / granule_bytes;
  const uint64_t last = (reinterpret_cast<uintptr_t>(address) + size_bytes - 1) / granule_bytes;
  for (uint64_t granule = first; granule <= last; ++granule) {
    std::vector<change>& known = changes_[granule];
    const change latest = {&who, address, size_bytes, calls, made};
    const auto same = std::find_if(known.begin(), known.end(), [&](const change& earlier) {
      return earlier.who == &who && earlier.address == address && earlier.size_bytes == size_bytes;
    });
    if (same == known.end())
      known.push_back(latest);
    else
      *same = latest;
  }
}

std::vector<recorder::change> recorder::changes_of(const void* address, size_t size_bytes) const {
  std::vector<change> found;
  const watched wanted = {address, 0, static_cast<uint32_t>(size_bytes)};
  const uint64_t first = reinterpret_cast<uintptr_t>(address) / granule_bytes;
  const uint64_t last = (reinterpret_cast<uintptr_t>(address) + size_bytes - 1) / granule_bytes;
  for (uint64_t granule = first; granule <= last; ++granule) {
    const auto known = changes_.find(granule);
    if (known == changes_.end()) continue;
    for (const change& one : known->second)
      if (wanted.overlaps(one.address, one.size_bytes)) found.push_back(one);
  }
  std::sort(found.begin(), found.end(), [](const change& a, const change& b) { return a.step > b.step; });
  return found;
}

std::string recorder::describe(const heap& memory, uint64_t step) const {
  const auto found = std::lower_bound(taken_.begin(), taken_.end(), step,
                                      [](const taken& one, uint64_t wanted) { return one.step < wanted; });
  if (found == taken_.end() || found->step != step) return "step " + std::to_string(step);
  std::string text = name_of(*found->who) + ", " + sim::describe(found->what);
  // A fence is nowhere.
  if (found->what.address != nullptr)
    text += " of " + describe_location(memory, found->what.address) + " (" + std::to_string(found->what.size_bytes) +
            " bytes)";
  return text + ", step " + std::to_string(step) + ", " + source_of(found->calls).where();
}

bool recorder::is_fence(uint64_t step) const {
  const auto found = std::lower_bound(taken_.begin(), taken_.end(), step,
                                      [](const taken& one, uint64_t wanted) { return one.step < wanted; });
  return found != taken_.end() && found->step == step && found->what.kind == operation_kind::fence;
}

std::string recorder::store_in_words(uint64_t step_number) const {
  const taken* const one = taken_in(step_number);
  if (one == nullptr) return "what was there in the beginning";
  const bool modifies =
      one->what.kind == operation_kind::read_modify_write || one->what.kind == operation_kind::compare_exchange;
  return "the store of " + hexadecimal(modifies ? one->after : one->value) + " by " + name_of(*one->who) + " at " +
         source_of(one->calls).where() + " (step " + std::to_string(step_number) + ")";
}

// What the machine chose for it, in a few words that fit a column of a table.
std::string recorder::note_of(const taken& one) const {
  std::string text;
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (one.is_old)
    add(one.missed == run_record::never ? "an older value"
                                        : "an older value: missed step " + std::to_string(one.missed));
  if (const auto behind = behind_.find(one.step); behind != behind_.end())
    add("counts as older than step " + std::to_string(behind->second) + ": " + name_of(*one.who) +
        " had not acquired it");
  if (one.spurious) add("fails for no reason");
  if (one.woke) add("goes on for no reason");
  if (one.lost) add(one.what.kind == operation_kind::notify ? "lost: it never arrives" : "dropped by the link");
  return text;
}

step_record recorder::move_in_words(const run_record::move& one) {
  step_record record;
  record.step = one.step;
  record.actor = "(device)";
  record.operation = one.text;
  record.is_event = true;
  return record;
}

// An odd answer, one that is not the default, as a sentence that is read alone.
std::string recorder::in_words(const heap& memory, const odd& one) const {
  using enum scheduler::choice_kind;
  const taken* const about = taken_in(one.step);
  const std::string who = name_of(*one.who);
  const bool is_of_it = about != nullptr && about->who == one.who;
  const std::string location =
      is_of_it && about->what.address != nullptr ? describe_location(memory, about->what.address) : "";
  const std::string at = is_of_it
                             ? " at " + source_of(about->calls).where() + " (step " + std::to_string(one.step) + ")"
                             : " before step " + std::to_string(one.step);
  switch (one.kind) {
    case visible:
      if (!is_of_it || !about->is_old) return who + " read or copied in another order" + at;
      return who + " loaded an older value of " + location + ", " + hexadecimal(about->value) + "," + at +
             (about->missed == run_record::never ? "" : ": it missed " + store_in_words(about->missed));
    case scheduler::choice_kind::place: {
      const auto behind = behind_.find(one.step);
      if (!is_of_it || behind == behind_.end()) return who + " had its store take another place" + at;
      return "the store of " + hexadecimal(about->value) + " to " + location + " by " + who + at +
             " counts as older than " + store_in_words(behind->second) + ", which " + who + " had not acquired";
    }
    case spurious:
      return "the weak compare-exchange of " + location + " by " + who + at + " failed for no reason";
    case wake:
      return who + " went on" + at + ", though nothing had changed";
    case arrive: {
      if (is_of_it && about->lost) return "the ring of " + who + at + " was lost";
      const taken* const store = one.arrives == 0 ? nullptr : taken_in(one.arrives);
      if (store == nullptr)
        return is_of_it && about->what.kind == operation_kind::notify
                   ? "the ring of " + who + at + " came late, or twice"
                   : "a store went on its way over the link," + at;
      std::string text = "the store to " + describe_location(memory, store->what.address) + " by " +
                         name_of(*store->who) + " at " + source_of(store->calls).where() + " (step " +
                         std::to_string(store->step) + ") arrived over the link before step " +
                         std::to_string(one.step);
      if (const taken* const older = one.before == 0 ? nullptr : taken_in(one.before); older != nullptr)
        text += ", ahead of that to " + describe_location(memory, older->what.address) + " at " +
                source_of(older->calls).where() + " (step " + std::to_string(older->step) + ")";
      return text;
    }
    case active_mask:
      return "not all lanes that stood beside " + who + " were with it" + at;
    case start:
      return "another wave was given a place first, before step " + std::to_string(one.step);
    case arm:
      return "another arm of " + name_of(*one.who->of) + " went first, before step " + std::to_string(one.step);
    case evict:
      return "a wave or a queue was to be taken off the device before its turn was over, before step " +
             std::to_string(one.step);
    case lane:
      if (const taken* const given = taken_in(one.step - 1);
          given != nullptr && given->who == one.who && given->what.kind == operation_kind::give_notice)
        return "the notice of " + who + " at " + source_of(given->calls).where() + " (step " +
               std::to_string(one.step - 1) + ") went to another of those that waited for it";
      return "the lanes of a wave took a step in another order, from step " + std::to_string(one.step) + " on";
    case part: {
      // When lanes are parted is drawn before they are.
      const auto next =
          std::find_if(partings_.begin(), partings_.end(), [&](const parting& each) { return each.step >= one.step; });
      if (next == partings_.end()) return "lanes that stand together were to be parted later, which did not come";
      return lanes_in(next->ahead) + " of " + name_of(*next->of) + " went ahead of " + lanes_in(next->behind) +
             ", with which it stood, before step " + std::to_string(next->step);
    }
    case actor:
    case end:
      break;
  }
  return std::string(to_string(one.kind)) + " was answered otherwise than by default" + at;
}

}  // namespace heddle::sim
