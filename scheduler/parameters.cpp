#include <heddle/scheduler/own_work.h>
#include <heddle/scheduler/parameters.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <stdexcept>

namespace heddle {
namespace {

[[noreturn]] void misused(std::string_view key, const char* how) {
  std::fprintf(stderr, "heddle: parameter \"%.*s\" %s\n", static_cast<int>(key.size()), key.data(), how);
  std::abort();
}

std::string quoted(std::string_view text) {
  // A key or value comes from outside: keep the message one line, and short.
  std::string shown = "\"";
  for (const char letter : text.substr(0, 64)) shown += letter >= ' ' && letter != 127 ? letter : '?';
  return shown + (text.size() > 64 ? "...\"" : "\"");
}

/// Byte by byte on purpose. Scenarios ask for their settings while they run; == would call memcmp, which the simulator
/// takes for an access of the program under test, and so for a place to switch.
bool same_text(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  for (size_t place = 0; place < left.size(); ++place)
    if (left[place] != right[place]) return false;
  return true;
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

/// The words of "acquire+after-read", which must be one.
std::vector<std::string_view> words_of(const parameter& definition, std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t plus = 0; definition.several && (plus = text.find('+')) != std::string_view::npos;
       text.remove_prefix(plus + 1))
    words.push_back(text.substr(0, plus));
  words.push_back(text);
  return words;
}

std::string allowed(const parameter& definition) {
  if (definition.several) return "one of " + joined(definition.choices) + ", or several with + between them";
  if (definition.kind == parameter::type::one_of) return "one of " + joined(definition.choices);
  if (definition.kind == parameter::type::words) return "a line of text";
  return "a whole number from " + std::to_string(definition.minimum) + " to " + std::to_string(definition.maximum) +
         (definition.unit.empty() ? "" : " (" + definition.unit + ")");
}

void check(const parameter& definition) {
  if (definition.key.empty() || definition.key.find('=') != std::string::npos)
    misused(definition.key, "is no valid key");
  const auto& choices = definition.choices;
  const bool in_range =
      definition.default_number >= definition.minimum && definition.default_number <= definition.maximum;
  const bool is_choice = std::find(choices.begin(), choices.end(), definition.default_text) != choices.end();
  const bool fits =
      definition.kind == parameter::type::words || (definition.kind == parameter::type::one_of ? is_choice : in_range);
  if (!fits) misused(definition.key, "has a default outside its range");
}

}  // namespace

parameter parameter::number(std::string key, int64_t initial, int64_t minimum, int64_t maximum, std::string unit,
                            std::string help) {
  parameter made;
  made.key = std::move(key);
  made.kind = type::number;
  made.default_number = initial;
  made.minimum = minimum;
  made.maximum = maximum;
  made.unit = std::move(unit);
  made.help = std::move(help);
  return made;
}

parameter parameter::one_of(std::string key, std::string initial, std::vector<std::string> choices, std::string help) {
  parameter made;
  made.key = std::move(key);
  made.kind = type::one_of;
  made.default_text = std::move(initial);
  made.choices = std::move(choices);
  made.help = std::move(help);
  return made;
}

parameter parameter::some_of(std::string key, std::string initial, std::vector<std::string> choices, std::string help) {
  parameter made = one_of(std::move(key), std::move(initial), std::move(choices), std::move(help));
  made.several = true;
  return made;
}

parameter parameter::words(std::string key, std::string help) {
  parameter made;
  made.key = std::move(key);
  made.kind = type::words;
  made.help = std::move(help);
  return made;
}

std::string parameter::default_value() const {
  return kind == type::number ? std::to_string(default_number) : default_text;
}

namespace {
// Lists may be made on several OS threads at a time; only that no number comes twice matters.
uint64_t next_revision() {
  static std::atomic<uint64_t> latest{0};
  return latest.fetch_add(1, std::memory_order_relaxed) + 1;
}
}  // namespace

namespace {

// The texts of settings, each once. They stay for ever, and never change: so reading them tells nothing of a program.
constexpr size_t most_texts = 1024;
alignas(std::string) std::byte text_places[most_texts * sizeof(std::string)];

const std::string& kept(std::string_view text) {
  static std::mutex one_at_a_time;
  static std::vector<const std::string*> all;
  const std::lock_guard lock(one_at_a_time);
  for (const std::string* known : all)
    if (same_text(*known, text)) return *known;
  const std::string* const added = all.size() < most_texts ? new (text_places + all.size() * sizeof(std::string))
                                                                 std::string(text)
                                                           : new std::string(text);
  all.push_back(added);
  return *added;
}

}  // namespace

std::span<const std::byte> scheduler::own_constants() { return text_places; }

parameters::parameters(const parameters& other) {
  const scheduler::own_work aside;
  definitions_ = other.definitions_;
  values_ = other.values_;
  revision_ = other.revision_;
}

parameters::parameters(parameters&& other) noexcept {
  const scheduler::own_work aside;
  definitions_.swap(other.definitions_);
  values_.swap(other.values_);
  std::swap(revision_, other.revision_);
}

parameters& parameters::operator=(const parameters& other) {
  const scheduler::own_work aside;
  if (this == &other) return *this;
  definitions_ = other.definitions_;
  values_ = other.values_;
  revision_ = other.revision_;
  return *this;
}

parameters& parameters::operator=(parameters&& other) noexcept {
  const scheduler::own_work aside;
  definitions_.swap(other.definitions_);
  values_.swap(other.values_);
  std::swap(revision_, other.revision_);
  return *this;
}

parameters::~parameters() {
  const scheduler::own_work aside;
  std::vector<parameter>().swap(definitions_);
  std::vector<setting>().swap(values_);
}

parameters::parameters(std::vector<parameter> definitions) {
  for (parameter& added : definitions) {
    check(added);
    const auto same = std::find_if(definitions_.begin(), definitions_.end(),
                                   [&](const parameter& known) { return known.key == added.key; });
    if (same == definitions_.end()) {
      definitions_.push_back(std::move(added));
    } else {
      *same = std::move(added);
    }
  }
  for (const parameter& each : definitions_)
    values_.push_back({.number = each.default_number, .text = &kept(each.default_text)});
  revision_ = next_revision();
}

std::optional<std::string> parameters::set(std::string_view assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) return quoted(assignment) + " is no setting; write key=value";
  const std::string_view key = assignment.substr(0, equals);
  const std::string_view text = assignment.substr(equals + 1);

  const size_t index = find(key);
  if (index == definitions_.size()) {
    std::vector<std::string> known;
    for (const parameter& each : definitions_) known.push_back(each.key);
    const std::string near = nearest(key, known);
    return "unknown key " + quoted(key) + "; " +
           (near.empty() ? "the keys are " + joined(known) : "did you mean \"" + near + "\"?");
  }

  const parameter& definition = definitions_[index];
  const std::string wrong = quoted(key) + " cannot be " + quoted(text) + "; it must be " + allowed(definition);
  if (definition.kind == parameter::type::one_of) {
    for (const std::string_view word : words_of(definition, text)) {
      if (std::find(definition.choices.begin(), definition.choices.end(), word) != definition.choices.end()) continue;
      const std::string near = nearest(word, definition.choices);
      return near.empty() ? wrong : wrong + "; did you mean \"" + near + "\"?";
    }
    values_[index].text = &kept(text);
    revision_ = next_revision();
    return std::nullopt;
  }
  if (definition.kind == parameter::type::words) {
    const auto breaks = [](char letter) { return static_cast<unsigned char>(letter) < ' ' || letter == 127; };
    if (std::any_of(text.begin(), text.end(), breaks)) return wrong;
    values_[index].text = &kept(text);
    revision_ = next_revision();
    return std::nullopt;
  }

  int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return wrong;
  if (number < definition.minimum || number > definition.maximum) return wrong;
  values_[index].number = number;
  revision_ = next_revision();
  return std::nullopt;
}

int64_t parameters::number(std::string_view key) const {
  const size_t index = index_of(key);
  if (definitions_[index].kind != parameter::type::number) misused(key, "is no number");
  return values_[index].number;
}

uint32_t parameters::count(std::string_view key) const {
  const int64_t wide = number(key);
  if (wide < 0 || wide > int64_t{UINT32_MAX})
    throw std::out_of_range("the value of " + quoted(key) + " is " + std::to_string(wide) +
                            ", and count() gives at most 4294967295; number() has 64 bits");
  return static_cast<uint32_t>(wide);
}

bool parameters::includes(std::string_view key, std::string_view choice) const {
  const size_t index = index_of(key);
  const std::vector<std::string_view> words = words_of(definitions_[index], text(key));
  return std::find(words.begin(), words.end(), choice) != words.end();
}

const std::string& parameters::text(std::string_view key) const {
  const size_t index = index_of(key);
  if (definitions_[index].kind == parameter::type::number) misused(key, "is no text");
  return *values_[index].text;
}

bool parameters::has(std::string_view key) const { return find(key) != definitions_.size(); }

std::vector<std::pair<std::string, std::string>> parameters::values() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const parameter& each : definitions_) all.emplace_back(each.key, value_text(each.key));
  return all;
}

std::string parameters::value_text(std::string_view key) const {
  const size_t index = index_of(key);
  return definitions_[index].kind == parameter::type::number ? std::to_string(values_[index].number)
                                                             : *values_[index].text;
}

size_t parameters::find(std::string_view key) const {
  size_t index = 0;
  while (index < definitions_.size() && !same_text(definitions_[index].key, key)) ++index;
  return index;
}

size_t parameters::index_of(std::string_view key) const {
  const size_t index = find(key);
  if (index == definitions_.size()) misused(key, "is not defined");
  return index;
}

namespace {

/// Levenshtein distance with neighbours swapped as one edit (optimal string alignment).
size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<size_t> before_last(right.size() + 1), last(right.size() + 1), row(right.size() + 1);
  for (size_t column = 0; column <= right.size(); ++column) last[column] = column;
  for (size_t line = 1; line <= left.size(); ++line) {
    row[0] = line;
    for (size_t column = 1; column <= right.size(); ++column) {
      const size_t change = left[line - 1] == right[column - 1] ? 0 : 1;
      row[column] = std::min({last[column] + 1, row[column - 1] + 1, last[column - 1] + change});
      const bool swapped =
          line > 1 && column > 1 && left[line - 1] == right[column - 2] && left[line - 2] == right[column - 1];
      if (swapped) row[column] = std::min(row[column], before_last[column - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[right.size()];
}

}  // namespace

std::string nearest(std::string_view text, const std::vector<std::string>& known) {
  constexpr size_t length_max = 128;  // a longer text is no misspelt key; bounds the work
  if (text.empty() || text.size() > length_max) return {};
  std::string best;
  size_t best_distance = ~size_t{0};
  for (const std::string& each : known) {
    const size_t distance = edit_distance(text, each);
    const size_t near_enough = std::max<size_t>(1, std::max(text.size(), each.size()) / 3);
    if (distance > near_enough || distance >= best_distance) continue;
    best = each;
    best_distance = distance;
  }
  if (!best.empty() || text.size() < 3) return best;
  // Part of a name is far by edits and near in meaning.
  for (const std::string& each : known)
    if (each.find(text) != std::string::npos) return each;
  return {};
}

}  // namespace heddle
