#include <heddle/sim/heap.h>
#include <heddle/sim/recorder.h>
#include <heddle/sim/source_line.h>

#include <algorithm>
#include <cstdio>

namespace heddle::sim {

void recorder::performed(const lane& who, uint64_t value, uint64_t step, bool under_way, bool readable) {
  last_of_[&who] = taken_.size();
  taken_.push_back({step, &who, who.pending, calls_of(who), value});
  last_step_ = step;
  look_at_memory(taken_.back(), under_way, readable);
  if (who.pending.address == nullptr) return;
  std::vector<const lane*>& users = users_[who.pending.address];
  if (std::find(users.begin(), users.end(), &who) == users.end()) users.push_back(&who);
}

void recorder::performed_before_steps(const lane& who) { before_steps_ = calls_of(who); }

std::vector<const lane*> recorder::users_of(const void* address) const {
  const auto known = users_.find(address);
  return known == users_.end() ? std::vector<const lane*>() : known->second;
}

void recorder::stored(const lane& who, uint64_t value) {
  const auto last = last_of_.find(&who);
  if (last != last_of_.end()) taken_[last->second].value = value;
}

void recorder::changed(const lane& who, const void* address, size_t size_bytes, bool by_step, bool readable) {
  note_change(who, address, size_bytes, by_step, readable);
  // Those of the lane's last step: a plain store is looked at when the lane has left the place where it made it.
  const auto step = last_of_.find(&who);
  const call_chain calls = step == last_of_.end() ? before_steps_ : taken_[step->second].calls;
  const uint64_t first = reinterpret_cast<uintptr_t>(address) / granule_bytes;
  const uint64_t last = (reinterpret_cast<uintptr_t>(address) + size_bytes - 1) / granule_bytes;
  for (uint64_t granule = first; granule <= last; ++granule) {
    std::vector<change>& known = changes_[granule];
    const change latest = {&who, address, size_bytes, calls, last_step_};
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

step_record recorder::in_words(const heap& memory, const taken& one) {
  step_record record;
  record.step = one.step;
  record.actor = name_of(*one.who);
  record.operation = sim::describe(one.what);
  if (one.what.address != nullptr)
    record.location =
        describe_location(memory, one.what.address) + " (" + std::to_string(one.what.size_bytes) + " bytes)";
  if (one.what.address != nullptr || is_collective(one.what.kind) || one.what.kind == operation_kind::active_mask) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(one.value));
    record.value = text;
  }
  record.where = source_of(one.calls).where();
  return record;
}

std::vector<step_record> recorder::steps(const heap& memory, size_t most) const {
  std::vector<step_record> said;
  const size_t from = taken_.size() > most ? taken_.size() - most : 0;
  said.reserve(taken_.size() - from);
  for (size_t n = from; n < taken_.size(); ++n) said.push_back(in_words(memory, taken_[n]));
  return said;
}

std::vector<step_record> recorder::steps_between(const heap& memory, uint64_t after, uint64_t to) const {
  const auto is_before = [](uint64_t wanted, const taken& one) { return wanted < one.step; };
  const auto first = std::upper_bound(taken_.begin(), taken_.end(), after, is_before);
  const auto last = std::upper_bound(taken_.begin(), taken_.end(), to, is_before);
  std::vector<step_record> said;
  for (auto each = first; each < last; ++each) said.push_back(in_words(memory, *each));
  return said;
}

}  // namespace heddle::sim
