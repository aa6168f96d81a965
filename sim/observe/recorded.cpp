// What the recorder has kept, made a record.
#include <heddle/sim/observe/recorder.h>
#include <heddle/sim/space/heap.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <ranges>
#include <set>
#include <utility>

namespace heddle::sim {

/// What the program calls lanes, places, lines and values of steps. Each is looked up once: of many steps there are few of them.
class recorder::named_steps {
 public:
  named_steps(const heap& memory, const typed_memory& types) : memory_(memory), types_(types) {}

  const std::string& actor(const lane& who) {
    return known(actors_, &who, [&] { return name_of(who); });
  }
  const std::string& location(const void* address) {
    return known(locations_, address, [&] { return describe_location(memory_, address); });
  }
  const std::string& where(const call_chain& calls) {
    return known(lines_, calls, [&] { return source_of(calls).where(); });
  }
  void name(step_record& one, const void* address, uint32_t size_bytes, uint64_t value) {
    const auto [entry, fresh] = parts_.try_emplace({address, size_bytes});
    if (fresh) entry->second = types_.at(memory_, address, size_bytes);
    one.part = entry->second.name;
    const type_number type = entry->second.type;
    const auto [values, unknown] = enumerations_.try_emplace(type);
    if (unknown) values->second.enumerators = enumerators_of(type);
    one.value_name = values->second.name_of(value);
  }

 private:
  template <typename Map, typename Key, typename Find>
  static const std::string& known(Map& in, const Key& key, Find&& find) {
    const auto [entry, fresh] = in.try_emplace(key);
    if (fresh) entry->second = find();
    return entry->second;
  }

  const heap& memory_;
  const typed_memory& types_;
  std::unordered_map<const lane*, std::string> actors_;
  std::unordered_map<const void*, std::string> locations_;
  std::map<call_chain, std::string> lines_;
  std::map<std::pair<const void*, uint32_t>, typed_memory::part> parts_;
  std::unordered_map<type_number, run_record::enumeration> enumerations_;
};

/// Texts, each once.
class recorder::words {
 public:
  words(run_record& into, const heap& memory, const typed_memory& types)
      : into_(into), memory_(memory), types_(types) {}

  uint32_t text(const std::string& said) {
    const auto [entry, fresh] = texts_.try_emplace(said, static_cast<uint32_t>(into_.texts.size()));
    if (fresh) into_.texts.push_back(said);
    return entry->second;
  }
  uint32_t place(const void* address) {
    const auto [entry, fresh] = places_.try_emplace(address, 0);
    if (fresh) entry->second = text(describe_location(memory_, address));
    return entry->second;
  }
  struct typed {
    uint32_t part = run_record::none;
    uint32_t values = run_record::none;
  };
  typed part(const void* address, uint32_t size_bytes) {
    const auto [entry, fresh] = parts_.try_emplace({address, size_bytes});
    if (!fresh) return entry->second;
    const typed_memory::part found = types_.at(memory_, address, size_bytes);
    if (!found.name.empty()) entry->second.part = text(found.name);
    entry->second.values = enumeration(found.type);
    return entry->second;
  }
  uint32_t calls(const call_chain& chain) {
    const auto [entry, fresh] = chains_.try_emplace(chain, static_cast<uint32_t>(into_.call_chains.size()));
    if (fresh) into_.call_chains.push_back(lines_of(chain));
    return entry->second;
  }
  uint32_t what_for(const waiting& one) {
    if (one.told.why == wait_reason::collective || one.told.why == wait_reason::barrier)
      return text(std::string(to_string(one.what.kind)) +
                  (is_collective(one.what.kind) ? " of " + lanes_in(one.what.mask) : ""));
    if (one.told.why != wait_reason::change) return text(to_string(one.what.kind));
    std::string said;
    for (const watched& each : one.on) {
      said += (said.empty() ? "" : ", ") + into_.texts[place(each.address)];
      if (each.by_change) continue;
      char value[32];
      std::snprintf(value, sizeof value, " = 0x%llx", static_cast<unsigned long long>(each.value));
      said += value;
    }
    return text(said.empty() ? to_string(one.what.kind) : said);
  }

 private:
  uint32_t enumeration(type_number type) {
    const auto [entry, fresh] = enumerations_.try_emplace(type, run_record::none);
    if (!fresh) return entry->second;
    std::vector<std::pair<uint64_t, std::string>> enumerators = enumerators_of(type);
    if (enumerators.empty()) return run_record::none;
    into_.enumerations.push_back({.enumerators = std::move(enumerators)});
    return entry->second = static_cast<uint32_t>(into_.enumerations.size() - 1);
  }

  run_record& into_;
  const heap& memory_;
  const typed_memory& types_;
  std::map<std::pair<const void*, uint32_t>, typed> parts_;
  std::unordered_map<type_number, uint32_t> enumerations_;
  std::unordered_map<std::string, uint32_t> texts_;
  std::unordered_map<const void*, uint32_t> places_;
  std::map<call_chain, uint32_t> chains_;
};

namespace {

/// A plain store that is the last step of its actor, and has changed nothing, may not have been made: where it ended the run, memory has the value
/// before.
void forget_values_not_stored(run_record& of) {
  std::set<uint32_t> later;
  for (run_record::step& one : std::ranges::reverse_view(of.steps))
    if (later.insert(one.actor).second && one.kind == operation_kind::plain_store && !one.changes)
      one.has_value = false;
}

}  // namespace

run_record recorder::record(const heap& memory, size_t most) const {
  run_record made;
  words said(made, memory, types);
  for (const life& each : lives_) {
    if (each.who == nullptr) continue;
    made.actors.push_back({.name = name_of(*each.who),
                           .wave = each.who->of->id,
                           .lane = each.who->index,
                           .begun = each.begun,
                           .ended = each.ended});
  }
  const size_t from = taken_.size() > most ? taken_.size() - most : 0;
  made.first_step = from < taken_.size() ? taken_[from].step : last_step_ + 1;
  made.steps.reserve(taken_.size() - from);
  for (size_t n = from; n < taken_.size(); ++n) {
    const taken& one = taken_[n];
    const operation& what = one.what;
    ++told_;
    const words::typed typed = what.address == nullptr ? words::typed() : said.part(what.address, what.size_bytes);
    made.steps.push_back(
        {.actor = one.who->id,
         .operation = said.text(sim::describe(what)),
         .kind = what.kind,
         .place = what.address == nullptr ? run_record::none : said.place(what.address),
         .part = typed.part,
         .values = typed.values,
         .calls = said.calls(one.calls),
         .size_bytes = what.size_bytes,
         .address = reinterpret_cast<uintptr_t>(what.address),
         .value = one.value,
         .has_value = one.is_made && one.is_seen &&
                      (what.address != nullptr || is_collective(what.kind) || what.kind == operation_kind::active_mask),
         .changes = one.changes,
         .is_old = one.is_old,
         .lost = one.lost,
         .after = one.after,
         .reads = one.reads,
         .arrived = one.arrived,
         .missed = one.missed,
         .behind = behind_.contains(one.step) ? behind_.at(one.step) : run_record::never,
         .spurious = one.spurious,
         .woke = one.woke});
  }
  forget_values_not_stored(made);
  for (const memory_change& one : memory_changes_)
    made.changes.push_back({.step = one.step,
                            .actor = one.who->id,
                            .place = said.place(one.address),
                            .address = reinterpret_cast<uintptr_t>(one.address),
                            .size_bytes = one.size_bytes,
                            .value = one.value});
  for (const waiting& one : waits_) {
    made.waits.push_back(one.told);
    made.waits.back().text = said.what_for(one);
    made.waits.back().calls = said.calls(one.calls);
  }
  for (const runtime::named_slots& each : named_)
    made.named.push_back({.name = each.name,
                          .each = each.each,
                          .count = each.count,
                          .slots_per_word = each.slots_per_word,
                          .locks_per_word = each.locks_per_word,
                          .four_phase = each.four_phase,
                          .client_outbox = reinterpret_cast<uintptr_t>(each.client_outbox),
                          .server_outbox = reinterpret_cast<uintptr_t>(each.server_outbox),
                          .client_locks = reinterpret_cast<uintptr_t>(each.client_locks),
                          .server_locks = reinterpret_cast<uintptr_t>(each.server_locks)});
  made.moves = moves_;
  made.judged = judged_;
  for (const odd& one : odd_) made.odd.push_back(in_words(memory, one));
  return made;
}

step_record recorder::in_words(const taken& one, named_steps& names) const {
  step_record record;
  record.step = one.step;
  record.actor = names.actor(*one.who);
  record.operation = sim::describe(one.what);
  if (one.what.address != nullptr)
    record.location = names.location(one.what.address) + " (" + std::to_string(one.what.size_bytes) + " bytes)";
  if (one.what.address != nullptr || is_collective(one.what.kind) || one.what.kind == operation_kind::active_mask)
    record.value = hexadecimal(one.value);
  record.where = names.where(one.calls);
  record.note = note_of(one);
  return record;
}

step_record recorder::arrival_in_words(const taken& one, named_steps& names) const {
  step_record record = in_words(one, names);
  record.actor = "(link)";
  record.operation = (one.what.kind == operation_kind::notify ? "the ring of step " : "the store of step ") +
                     std::to_string(one.step) + " arrives";
  record.note = names.actor(*one.who) + " made it";
  record.step = one.arrived;
  record.is_event = true;
  return record;
}

std::vector<step_record> recorder::steps_between(const heap& memory, uint64_t after, uint64_t to) const {
  const auto is_before = [](uint64_t wanted, const taken& one) { return wanted < one.step; };
  const auto first = std::upper_bound(taken_.begin(), taken_.end(), after, is_before);
  const auto last = std::upper_bound(taken_.begin(), taken_.end(), to, is_before);
  named_steps names(memory, types);
  std::vector<step_record> said;
  for (auto each = first; each < last; ++each) said.push_back(in_words(*each, names));
  return said;
}

std::vector<step_record> recorder::steps(const heap& memory, size_t most) const {
  std::vector<step_record> said;
  named_steps names(memory, types);
  const auto say = [&](step_record record, const taken& one) {
    ++told_;
    if (one.what.address != nullptr) names.name(record, one.what.address, one.what.size_bytes, one.value);
    said.push_back(std::move(record));
  };
  const size_t from = taken_.size() > most ? taken_.size() - most : 0;
  said.reserve(taken_.size() - from);
  // What arrives later than it is stored has a line of its own, where it arrives.
  std::vector<const taken*> late;
  for (const taken& one : taken_)
    if (one.arrived != run_record::never && one.arrived > one.step && is_store(one.what.kind)) late.push_back(&one);
  std::stable_sort(late.begin(), late.end(), [](const taken* a, const taken* b) { return a->arrived < b->arrived; });
  auto next = late.begin();
  auto move = moves_.begin();
  for (size_t n = from; n < taken_.size(); ++n) {
    for (; move != moves_.end() && move->step < taken_[n].step; ++move)
      if (n != from || from == 0) said.push_back(move_in_words(*move));
    for (; next != late.end() && (*next)->arrived < taken_[n].step; ++next)
      if (n != from) say(arrival_in_words(**next, names), **next);
    say(in_words(taken_[n], names), taken_[n]);
  }
  for (; next != late.end(); ++next) say(arrival_in_words(**next, names), **next);
  for (; move != moves_.end(); ++move) said.push_back(move_in_words(*move));
  return said;
}

}  // namespace heddle::sim
