#include <heddle/tools/report/drawn.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <unordered_map>

namespace heddle::tools {
namespace {

constexpr uint64_t word_bytes = 4;
constexpr size_t most_words = 32;

bool is_atomic(sim::operation_kind kind) {
  return kind == sim::operation_kind::load || kind == sim::operation_kind::store ||
         kind == sim::operation_kind::read_modify_write || kind == sim::operation_kind::compare_exchange ||
         kind == sim::operation_kind::notify;
}

/// What is known of a word of memory at a step, while the steps are gone through.
struct word_use {
  uint64_t accesses = 0;
  std::set<uint32_t> actors;
  bool atomic = false;
  uint32_t place = sim::run_record::none;
};

/// By its part and the names of its values, where an access of this size is known.
void name_word(state_strip& strip, const sim::run_record::change& of, const sim::run_record::step* access,
               const sim::run_record& in) {
  const bool has_part = access != nullptr && access->part != sim::run_record::none;
  strip.name = in.texts[has_part ? access->part : of.place];
  if (access != nullptr) strip.values = access->values;
}

}  // namespace

std::string hexadecimal(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

page_texts::page_texts(const sim::run_record& of) : record_(of), texts_(of.texts) {
  for (uint32_t n = 0; n < texts_.size(); ++n) index_[texts_[n]] = n;
}

uint32_t page_texts::of(const std::string& text) {
  const auto [entry, fresh] = index_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
  if (fresh) texts_.push_back(text);
  return entry->second;
}

uint32_t page_texts::of_value(uint64_t value, uint32_t enumeration) {
  const std::string digits = hexadecimal(value);
  if (enumeration == sim::run_record::none) return of(digits);
  const std::string name = record_.enumerations[enumeration].name_of(value);
  return of(name.empty() ? digits : name + " (" + digits + ")");
}

std::string part_of(const sim::run_record::step& one, const sim::run_record& of, const slot_names& names) {
  if (one.place == sim::run_record::none) return {};
  std::string part = names.part_at(one.address);
  if (part.empty() && one.part != sim::run_record::none) part = of.texts[one.part];
  return part;
}

std::map<uint32_t, std::string> parts_of(const sim::run_record& of, const slot_names& names) {
  std::map<uint32_t, const sim::run_record::step*> smallest;
  for (const sim::run_record::step& one : of.steps) {
    if (one.place == sim::run_record::none) continue;
    const sim::run_record::step*& known = smallest[one.place];
    if (known == nullptr || one.size_bytes < known->size_bytes) known = &one;
  }
  std::map<uint32_t, std::string> parts;
  for (const auto& [place, one] : smallest)
    if (std::string part = part_of(*one, of, names); !part.empty()) parts[place] = std::move(part);
  return parts;
}

std::vector<state_strip> strips_of(const sim::run_record& of, const slot_names& names, size_t& left_out) {
  std::map<std::pair<const sim::run_record::slots*, uint32_t>, state_strip> slots;
  std::map<std::pair<uint64_t, uint32_t>, state_strip> words;
  std::map<uint64_t, word_use> used;
  std::map<std::pair<uint64_t, uint32_t>, const sim::run_record::step*> accessed;

  const auto slot_at = [&](const slot_names::found& where, uint32_t index) -> state_strip& {
    const auto [entry, fresh] = slots.try_emplace({where.of, where.first + index});
    if (fresh) {
      entry->second.kind = where.of->four_phase ? state_strip::sort::slot : state_strip::sort::port;
      entry->second.name = where.of->each + " " + std::to_string(where.first + index);
      if (where.of != of.named.data()) entry->second.name += " of " + where.of->name;
    }
    return entry->second;
  };

  for (const sim::run_record::step& each : of.steps) {
    if (each.address == 0 || each.size_bytes > sizeof(uint64_t)) continue;
    accessed.try_emplace({each.address, each.size_bytes}, &each);
    word_use& use = used[each.address];
    ++use.accesses;
    use.actors.insert(each.actor);
    use.atomic = use.atomic || is_atomic(each.kind);
    use.place = each.place;
  }

  for (const sim::run_record::change& each : of.changes) {
    bool is_slot = false;
    for (uint64_t offset = 0; offset < each.size_bytes; offset += word_bytes) {
      const slot_names::found where = names.word_at(each.address + offset);
      if (where.of == nullptr) continue;
      is_slot = true;
      const auto word = static_cast<uint32_t>(each.value >> offset * 8);
      const bool is_lock = where.is_lock();
      const bool is_client =
          where.which == slot_names::part::client_outbox || where.which == slot_names::part::client_locks;
      const bool has_word = !is_lock && where.of->slots_per_word == 1;
      const uint64_t bit = is_lock ? (is_client ? state_strip::client_locked : state_strip::server_locked)
                                   : (is_client ? state_strip::client_posted : state_strip::server_posted);
      for (uint32_t index = 0; index < where.count; ++index) {
        const bool on = where.is_set(word, index);
        const auto known = slots.find({where.of, where.first + index});
        if (known == slots.end() && !on && !(has_word && word != 0)) continue;
        state_strip& strip = slot_at(where, index);
        const uint64_t before = strip.changes.empty() ? 0 : strip.changes.back().state;
        uint64_t state = on ? before | bit : before & ~bit;
        if (has_word && word != 0 && word != ~uint32_t{0} && word != 1) state |= state_strip::side_ended;
        if (state != before) strip.changes.push_back({.step = each.step, .state = state, .actor = each.actor});
      }
    }
    if (is_slot) continue;
    const auto use = used.find(each.address);
    if (use == used.end() || !use->second.atomic || use->second.actors.size() < 2) continue;
    state_strip& strip = words[{each.address, each.size_bytes}];
    strip.changes.push_back({.step = each.step, .state = each.value, .actor = each.actor});
    const auto access = accessed.find({each.address, each.size_bytes});
    name_word(strip, each, access == accessed.end() ? nullptr : access->second, of);
  }

  std::vector<state_strip> made;
  for (auto& [key, strip] : slots) {
    for (const auto& [address, use] : used) {
      const slot_names::found where = names.word_at(address / word_bytes * word_bytes);
      if (where.of == key.first && where.first <= key.second && key.second < where.first + where.count)
        strip.places.push_back(use.place);
    }
    made.push_back(std::move(strip));
  }
  std::vector<std::pair<uint64_t, state_strip*>> busiest;
  for (auto& [key, strip] : words) {
    strip.places.push_back(used[key.first].place);
    busiest.emplace_back(used[key.first].accesses, &strip);
  }
  std::stable_sort(busiest.begin(), busiest.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  left_out = busiest.size() > most_words ? busiest.size() - most_words : 0;
  if (busiest.size() > most_words) busiest.resize(most_words);
  for (const auto& [accesses, strip] : busiest) made.push_back(std::move(*strip));
  return made;
}

std::vector<store_flow> flows_of(const sim::run_record& of) {
  std::map<std::pair<uint32_t, uint32_t>, store_flow> flows;  // by store and reader
  std::unordered_map<uint64_t, uint32_t> newest;              // by address: the last store of a word
  const auto flow = [&](uint32_t store, uint32_t reader) -> store_flow& {
    store_flow& one = flows[{store, reader}];
    one.store = store;
    return one;
  };
  for (uint32_t n = 0; n < of.steps.size(); ++n) {
    const sim::run_record::step& one = of.steps[n];
    const bool has_read = one.reads != sim::run_record::never;
    if (has_read && one.is_old) {
      const auto latest = newest.find(one.address);
      const uint64_t read = one.reads < of.first_step ? 0 : one.reads - of.first_step + 1;
      if (latest != newest.end() && latest->second + uint64_t{1} > read &&
          of.steps[latest->second].actor != one.actor) {
        store_flow& missing = flow(latest->second, one.actor);
        if (missing.seen == store_flow::none) missing.missed = n;
      }
    }
    if (has_read && one.reads >= of.first_step) {
      const auto store = static_cast<uint32_t>(one.reads - of.first_step);
      if (store < n && of.steps[store].actor != one.actor) {
        store_flow& seen = flow(store, one.actor);
        if (seen.seen == store_flow::none) seen.seen = n;
      }
    }
    if (may_write(one.kind) && one.address != 0) newest[one.address] = n;
  }
  std::vector<store_flow> made;
  made.reserve(flows.size());
  for (const auto& [key, one] : flows) made.push_back(one);
  return made;
}

std::vector<uint64_t> times_of(const sim::run_record& of, const std::vector<sim::call_times::reading>& clocks) {
  if (clocks.empty()) return {};
  std::vector<uint64_t> times(of.steps.size());
  std::vector<uint64_t> stands(of.actors.size());
  auto next = clocks.begin();
  for (size_t n = 0; n < of.steps.size(); ++n) {
    for (; next != clocks.end() && next->step <= of.first_step + n; ++next)
      if (next->lane < stands.size()) stands[next->lane] = next->at_ps;
    times[n] = stands[of.steps[n].actor];
  }
  std::vector<uint64_t> latest(of.actors.size(), ~uint64_t{0});
  for (size_t n = of.steps.size(); n-- > 0;) {
    uint64_t& most = latest[of.steps[n].actor];
    times[n] = most = std::min(most, times[n]);
  }
  std::fill(stands.begin(), stands.end(), 0);
  for (size_t n = 0; n < of.steps.size(); ++n) {
    const sim::run_record::step& one = of.steps[n];
    uint64_t& least = stands[one.actor];
    if (one.reads != sim::run_record::never && one.reads >= of.first_step && one.reads < of.first_step + n)
      least = std::max(least, times[one.reads - of.first_step]);
    times[n] = least = std::max(least, times[n]);
  }
  return times;
}

}  // namespace heddle::tools
