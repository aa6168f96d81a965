#include <heddle/tools/trial/place_names.h>
#include <heddle/tools/trial/step_words.h>

#include <algorithm>
#include <charconv>

namespace heddle::tools {
namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";
constexpr std::string_view variable_begins = "a variable in ";

/// Where the offset of a place begins in the text, "+0x4", or "-0x40" of what lies in a frame; npos: nowhere.
size_t offset_in(std::string_view text, size_t from) {
  return std::min(text.find("+0x", from), text.find("-0x", from));
}
size_t last_offset_in(std::string_view text) {
  const size_t above = text.rfind("+0x"), below = text.rfind("-0x");
  return above == std::string_view::npos ? below : below == std::string_view::npos ? above : std::max(above, below);
}
constexpr size_t offset_digits = 3;  // behind "+0x"

/// Whether a place may begin behind this text: names of memory may have blanks in them.
bool may_begin_behind(std::string_view text) {
  if (text.empty()) return true;
  if (text.back() == '(' || text.back() == '"') return true;
  return text.ends_with(" of ") || text.ends_with(" to ") || text.ends_with(" at ") || text.ends_with("reads ");
}

std::string_view digits_in(std::string_view text, size_t at, std::string_view digits) {
  const size_t end = std::min(text.find_first_not_of(digits, at), text.size());
  return text.substr(at, end - at);
}

/// "4 bytes" of " (4 bytes) = 0x0"; empty where no size stands first.
std::string_view size_in(std::string_view text) {
  constexpr std::string_view opening = " (";
  if (!text.starts_with(opening)) return {};
  const std::string_view number = digits_in(text, opening.size(), "0123456789");
  const size_t end = text.find(')');
  const std::string_view unit = text.substr(opening.size() + number.size(), end - opening.size() - number.size());
  if (number.empty() || end == std::string_view::npos || (unit != " byte" && unit != " bytes")) return {};
  return text.substr(opening.size(), number.size() + unit.size());
}

}  // namespace

place_names::place_names(const sim::run_record& of) : of_(of) {
  const step_words words(of);
  for (const sim::run_record::step& one : of.steps) {
    if (one.place == sim::run_record::none) continue;
    const std::string& text = of.texts[one.place];
    const std::string_view place = std::string_view(text).substr(0, text.find(" ("));
    auto known = places_.find(place);
    if (known == places_.end()) known = places_.emplace(std::string(place), accesses()).first;
    accesses& all = known->second;
    if (std::any_of(all.begin(), all.end(), [&](const access& each) { return each.size_bytes == one.size_bytes; }))
      continue;
    all.push_back({.name = words.place_of(one),
                   .is_slot = words.is_of_slot(one),
                   .size_bytes = one.size_bytes,
                   .values = one.values});
    std::sort(all.begin(), all.end(),
              [](const access& left, const access& right) { return left.size_bytes < right.size_bytes; });
  }
  for (const auto& [place, all] : places_)
    if (const size_t at = last_offset_in(place); at != std::string::npos)
      by_offset_[place.substr(at)].push_back(place.substr(0, at));
  for (auto& [offset, beginnings] : by_offset_)
    std::sort(beginnings.begin(), beginnings.end(),
              [](const std::string& left, const std::string& right) { return left.size() > right.size(); });
}

std::string place_names::name_of(const std::string& place) const {
  const auto known = places_.find(place);
  return known == places_.end() ? place : known->second.front().name;
}

place_names::mention place_names::next_in(std::string_view text, size_t from) const {
  for (size_t at = offset_in(text, from); at != std::string_view::npos; at = offset_in(text, at + 1)) {
    const size_t end = at + offset_digits + digits_in(text, at + offset_digits, hex_digits).size();
    const auto known = by_offset_.find(text.substr(at, end - at));
    if (known == by_offset_.end()) continue;
    const std::string_view before = text.substr(from, at - from);
    for (const std::string& each : known->second) {
      if (!before.ends_with(each) || !may_begin_behind(text.substr(0, at - each.size()))) continue;
      const size_t begin = at - each.size();
      return {.begin = begin, .end = end, .of = &places_.find(text.substr(begin, end - begin))->second};
    }
  }
  return {};
}

std::string place_names::told(std::string_view text, const mention& one, size_t& end) const {
  const std::string place(text.substr(one.begin, one.end - one.begin));
  end = one.end;
  const std::string_view size = size_in(text.substr(end));
  // Of no step, whose frame it is in is to be said.
  if (one.of->front().name.starts_with(variable_begins)) return place;
  if (size.empty()) return one.of->front().name;
  uint32_t size_bytes = 0;
  std::from_chars(size.data(), size.data() + size.size(), size_bytes);
  const auto exact =
      std::find_if(one.of->begin(), one.of->end(), [&](const access& each) { return each.size_bytes == size_bytes; });
  if (exact == one.of->end() || exact->name == place) return place;
  const std::string offset = exact->is_slot ? place : place.substr(last_offset_in(place));
  // That of a frame says nothing beside a name.
  std::string said =
      exact->name + " (" + (place.starts_with("frame of ") ? "" : offset + ", ") + std::string(size) + ")";
  end += size.size() + std::string_view(" ()").size();
  constexpr std::string_view equals = " = 0x";
  if (!text.substr(end).starts_with(equals)) return said;
  const std::string_view digits = digits_in(text, end + equals.size(), hex_digits);
  end += equals.size() + digits.size();
  return said + " = " + value(digits, exact->values);
}

std::string place_names::value(std::string_view digits, uint32_t values) const {
  uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  const std::string name = values == sim::run_record::none ? "" : of_.enumerations[values].name_of(number);
  return name.empty() ? "0x" + std::string(digits) : name + " (0x" + std::string(digits) + ")";
}

std::string place_names::in(std::string_view text) const {
  std::string made;
  size_t done = 0;
  for (mention one = next_in(text, 0); one.of != nullptr; one = next_in(text, done)) {
    made += text.substr(done, one.begin - done);
    made += told(text, one, done);
  }
  made += text.substr(done);
  return made;
}

std::string place_names::in_choice(std::string_view sentence) const {
  std::string made = in(sentence);
  const mention about = next_in(sentence, 0);
  if (about.of == nullptr) return made;
  for (const std::string_view begins : {"the store of 0x", ", 0x"})
    for (size_t at = made.find(begins); at != std::string::npos; at = made.find(begins, at + 1)) {
      const size_t number = at + begins.size() - std::string_view("0x").size();
      const std::string digits(digits_in(made, at + begins.size(), hex_digits));
      made.replace(number, digits.size() + std::string_view("0x").size(), value(digits, about.of->front().values));
    }
  return made;
}

}  // namespace heddle::tools
