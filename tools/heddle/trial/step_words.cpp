#include <heddle/tools/trial/last_waits.h>
#include <heddle/tools/trial/step_words.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace heddle::tools {

using sim::operation_kind;
using sim::run_record;

namespace {

/// What an operation that is on no memory does; `text` is what reports call it.
std::string deed_without_place(operation_kind kind, const std::string& text) {
  switch (kind) {
    case operation_kind::pause:
      return "pauses";
    case operation_kind::active_mask:
      return "asks which lanes are there";
    case operation_kind::broadcast:
    case operation_kind::ballot:
    case operation_kind::shuffle:
      return "comes to a " + text;
    case operation_kind::sync_lanes:
      return "comes to a barrier of its wave";
    case operation_kind::block_barrier:
      return "comes to the barrier of its block";
    case operation_kind::block_arrive:
      return "arrives at the barrier of its block";
    case operation_kind::cluster_arrive:
      return "arrives at the barrier of its cluster";
    case operation_kind::cluster_wait:
      return "comes to the barrier of its cluster";
    case operation_kind::clock:
      return "reads the clock";
    case operation_kind::synchronize:
      return "waits for earlier work";
    case operation_kind::query:
      return "asks whether earlier work has ended";
    case operation_kind::join:
      return "waits for the end of a thread";
    case operation_kind::launch:
      return "launches a kernel";
    case operation_kind::spawn:
      return "starts a thread";
    case operation_kind::copy:
      return "gives a stream a copy";
    case operation_kind::fence:
      return "makes a " + text;
    case operation_kind::wait:
    case operation_kind::wait_notice:
      return "waits for notice";
    case operation_kind::notify:
    case operation_kind::give_notice:
      return "gives notice";
    default:
      return "goes on with " + text;
  }
}

/// "a variable in its frame" of "frame of host main-0x100", of which debug information has no name; empty of other places.
std::string variable_in_frame(std::string_view place, std::string_view self) {
  constexpr std::string_view begins = "frame of ";
  const size_t end = place.rfind("-0x");
  if (!place.starts_with(begins) || end == std::string_view::npos || end < begins.size()) return {};
  const std::string_view owner = place.substr(begins.size(), end - begins.size());
  return owner == self ? "a variable in its frame" : "a variable in the frame of " + std::string(owner);
}

}  // namespace

bool is_never_stored(const run_record::step& one) {
  constexpr uint64_t filled = 0xa5a5a5a5a5a5a5a5;
  return one.reads == 0 && one.size_bytes >= 4 && one.size_bytes <= 8 &&
         one.value == filled >> (64 - 8 * one.size_bytes);
}

const run_record::step* step_words::step_at(uint64_t number) const {
  const bool is_there = number >= of_.first_step && number - of_.first_step < of_.steps.size();
  return is_there ? &of_.steps[number - of_.first_step] : nullptr;
}

std::string step_words::name_of(uint32_t actor) const {
  const run_record::actor& who = of_.actors[actor];
  const auto lanes = lanes_.find(who.wave);
  const bool alone = lanes == lanes_.end() || lanes->second.size() < 2;
  return alone ? of_.waves[who.wave].name : who.name;
}

std::string step_words::where(const run_record::step& one) const {
  if (one.calls == run_record::none || of_.call_chains[one.calls].empty()) return {};
  const auto from = from_.find(one.calls);
  return of_.call_chains[one.calls].front().where() + (from == from_.end() ? "" : " from " + from->second);
}

void step_words::tell_apart(const std::set<uint64_t>& numbers) {
  std::map<std::string, std::set<uint32_t>> by_line;  // the chains of calls that led to it
  for (const uint64_t number : numbers)
    if (const run_record::step* const one = step_at(number); one != nullptr && !where(*one).empty())
      by_line[of_.call_chains[one->calls].front().where()].insert(one->calls);
  for (const auto& [line, chains] : by_line)
    for (const uint32_t each : chains)
      for (const uint32_t other : chains) {
        const auto &calls = of_.call_chains[each], &others = of_.call_chains[other];
        size_t depth = 1;
        while (depth < calls.size() && depth < others.size() && calls[depth].where() == others[depth].where()) ++depth;
        if (depth < calls.size()) from_.try_emplace(each, calls[depth].where());
      }
}

std::string step_words::at(uint64_t number) const {
  const run_record::step* const one = step_at(number);
  const std::string place = one == nullptr ? "" : where(*one);
  return " (step " + std::to_string(number) + (place.empty() ? "" : ", " + place) + ")";
}

std::string step_words::place_of(const run_record::step& one) const {
  if (one.place == run_record::none) return "memory";
  const std::string part = names_.part_at(one.address);
  if (part.empty() && one.part != run_record::none) return of_.texts[one.part];
  if (part.empty()) {
    const std::string& text = of_.texts[one.place];
    const std::string frame = variable_in_frame(text, of_.actors[one.actor].name);
    return frame.empty() ? text.substr(0, text.find(" (")) : frame;
  }
  return "the " + part.substr(part.find(", ") + 2) + " of " + part.substr(0, part.find(", "));
}

scope step_words::reach_of(const run_record::step& one) const {
  constexpr std::array<std::string_view, 4> narrow = {"wave", "block", "cluster", "device"};
  const std::string& text = of_.texts[one.operation];
  if (of_.waves[of_.actors[one.actor].wave].host) return scope::system;
  for (size_t width = 0; width < narrow.size(); ++width)
    if (text.ends_with(narrow[width])) return static_cast<scope>(width);
  return scope::system;
}

bool step_words::is_lock_of_slot(const run_record::step& one) const {
  const slot_names::found slot = names_.word_at(one.address / slot_names::word_bytes * slot_names::word_bytes);
  return slot.of != nullptr && slot.is_lock();
}

bool step_words::is_of_slot(const run_record::step& one) const {
  return names_.word_at(one.address / slot_names::word_bytes * slot_names::word_bytes).of != nullptr;
}

bool step_words::is_wait_for_notice(const run_record::step& one) const {
  return one.kind == operation_kind::wait_notice && one.place != run_record::none &&
         !is_file_place(of_.texts[one.place]);
}

std::string step_words::deed_of(const run_record::step& one) const {
  if (is_wait_for_notice(one)) return "waits for notice at " + place_of(one);
  if (one.kind == operation_kind::give_notice && one.place != run_record::none && !is_file_place(of_.texts[one.place]))
    return "gives notice at " + place_of(one);
  const slot_names::found slot = names_.word_at(one.address / slot_names::word_bytes * slot_names::word_bytes);
  const bool is_lock = slot.of != nullptr && slot.is_lock();
  if (is_lock && one.has_value && slot.count == 1 && !sim::may_write(one.kind))
    return "finds " + place_of(one) + (slot.is_set(one.value, 0) ? " held" : " free") +
           (one.is_old ? ", an old value" : "");
  const bool is_outbox = slot.of != nullptr && !is_lock;
  const std::string place = place_of(one);
  const bool changes_both =
      one.kind == operation_kind::read_modify_write || one.kind == operation_kind::compare_exchange;
  if (is_lock && changes_both) {
    if (!one.changes) return "finds " + place + " taken";
    for (uint32_t n = 0; n < slot.count; ++n) {
      const bool was = slot.is_set(one.value, n);
      if (was == slot.is_set(one.after, n)) continue;
      return (was ? "gives back the " : "takes the ") + place.substr(4, place.find(" of ") - 4) + " of " +
             slot.of->each + " " + std::to_string(slot.first + n);
    }
  }
  const bool stores = sim::is_store(one.kind);
  // Where there are two phases, each complement of the word hands the slot over.
  if (is_outbox && stores && !slot.of->four_phase) return "hands over by " + place;
  if (is_outbox && stores) return (one.after != 0 ? "posts by " : "takes back ") + place;
  const std::string plain = is_plain_access(one.kind) ? " by a plain access" : "";
  if (stores) return "stores " + place + value_of(one.changes ? one.after : one.value, one, " = ") + plain;
  if (changes_both && one.lost) return "changes " + place + " across the link, which drops that";
  if (changes_both)
    return one.changes ? "changes " + place + " from " + text_of(one.value, one) + " to " + text_of(one.after, one)
                       : "finds " + place + value_of(one.value, one, " = ");
  if (one.place != run_record::none && one.kind == operation_kind::lock_mutex) return "locks " + place;
  if (one.place != run_record::none && one.kind == operation_kind::unlock_mutex) return "unlocks " + place;
  if (one.place != run_record::none && one.has_value)
    return "reads " + place + value_of(one.value, one, ": ") +
           (one.is_old && !is_never_stored(one) ? ", an old value" : "") + plain +
           (is_never_stored(one) ? ", which nothing has stored" : "");
  if (one.place != run_record::none) return (sim::may_write(one.kind) ? "writes " : "reads ") + place + plain;
  return deed_without_place(one.kind, of_.texts[one.operation]);
}

std::string step_words::text_of(uint64_t value, const run_record::step& one) const {
  if (one.values != run_record::none)
    if (std::string name = of_.enumerations[one.values].name_of(value); !name.empty()) return name;
  if (value < 100'000) return std::to_string(value);
  char digits[24];
  const auto [end, failed] = std::to_chars(digits, digits + sizeof digits, value, 16);
  return "0x" + std::string(digits, failed == std::errc() ? end : digits);
}
std::string step_words::value_of(uint64_t value, const run_record::step& one, const char* between) const {
  return one.has_value && one.size_bytes <= 8 ? between + text_of(value, one) : "";
}

bool step_words::is_at(const run_record::step& one, const std::string& place) const {
  const std::string& text = of_.texts[one.place];
  return text.starts_with(place) && (text.size() == place.size() || text[place.size()] == ' ');
}

std::string step_words::part_at(const std::string& place) const {
  const auto found = std::find_if(of_.steps.begin(), of_.steps.end(), [&](const run_record::step& one) {
    return one.place != run_record::none && (one.part != run_record::none || is_of_slot(one)) && is_at(one, place);
  });
  return found == of_.steps.end() ? place : place_of(*found);
}

}  // namespace heddle::tools
