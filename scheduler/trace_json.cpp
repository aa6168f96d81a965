#include <heddle/scheduler/trace_json.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace heddle::scheduler {
namespace {

using json = nlohmann::ordered_json;  // keeps the order of parameters

constexpr size_t text_bytes_max = size_t{32} << 20;
constexpr int depth_max = 3;
constexpr std::string_view format_name = "heddle trace 1";

/// What is wrong with a text; caught in this file.
struct malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string hexadecimal(uint64_t value) {
  std::string digits(16, '0');
  for (size_t place = 16; place > 0; --place, value >>= 4) digits[place - 1] = "0123456789abcdef"[value & 15];
  return digits;
}

json head_of(const trace& recorded) {
  json settings = json::object();
  for (const auto& [key, value] : recorded.parameters) settings[key] = value;
  return {{"format", format_name},         {"version", recorded.version},
          {"build_id", recorded.build_id}, {"scenario", recorded.scenario},
          {"parameters", settings},        {"strategy", recorded.strategy},
          {"seed", recorded.seed},         {"verdict", to_string(recorded.outcome)},
          {"where", recorded.where},       {"digest", hexadecimal(recorded.digest)},
          {"steps", recorded.steps}};
}

std::string printed(const json& value, int indent) {
  // A name from outside may not be UTF-8; the trace is still to be written.
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

const json& field(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw malformed(std::string("it has no \"") + key + "\"");
  return *found;
}

std::string text_field(const json& object, const char* key) {
  const json& value = field(object, key);
  if (!value.is_string()) throw malformed(std::string("\"") + key + "\" must be a string");
  std::string text = value.get<std::string>();
  if (text.size() > 65'536) throw malformed(std::string("\"") + key + "\" is too long");
  return text;
}

uint64_t number_field(const json& object, const char* key) {
  const json& value = field(object, key);
  if (!value.is_number_unsigned()) throw malformed(std::string("\"") + key + "\" must be a whole number from 0");
  return value.get<uint64_t>();
}

uint64_t digest_field(const json& object) {
  const std::string text = text_field(object, "digest");
  uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (failed != std::errc() || end != text.data() + text.size() || hexadecimal(value) != text)
    throw malformed("\"digest\" must be 16 hexadecimal digits");
  return value;
}

trace head_from(const json& object) {
  if (!object.is_object()) throw malformed("it is no JSON object");
  const std::string format = text_field(object, "format");
  if (format != format_name) throw malformed("its \"format\" is not \"" + std::string(format_name) + "\"");
  trace read;
  read.version = text_field(object, "version");
  read.build_id = text_field(object, "build_id");
  read.scenario = text_field(object, "scenario");
  const json& settings = field(object, "parameters");
  if (!settings.is_object()) throw malformed("\"parameters\" must be an object");
  for (const auto& [key, value] : settings.items()) {
    if (!value.is_string()) throw malformed("the values of \"parameters\" must be strings");
    read.parameters.emplace_back(key, value.get<std::string>());
  }
  read.strategy = text_field(object, "strategy");
  read.seed = number_field(object, "seed");
  const auto outcome = parse_verdict(text_field(object, "verdict"));
  if (!outcome) throw malformed("its \"verdict\" is not one that this version knows");
  read.outcome = *outcome;
  read.where = text_field(object, "where");
  read.digest = digest_field(object);
  read.steps = number_field(object, "steps");
  return read;
}

/// "actor 1/3 x5": of 3 actors number 1 was picked, five times in a row. "x1" is left out.
std::string run_to_text(const answer& picked, size_t times) {
  std::string text =
      std::string(to_string(picked.kind)) + ' ' + std::to_string(picked.picked) + '/' + std::to_string(picked.count);
  if (times > 1) text += " x" + std::to_string(times);
  return text;
}

/// Takes a number and what must follow it off the front of `text`.
uint64_t take_number(std::string_view& text, std::string_view follows) {
  uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc()) throw malformed("an answer is not of the form \"actor 1/3 x5\"");
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.empty() && text.substr(0, follows.size()) != follows)
    throw malformed("an answer is not of the form \"actor 1/3 x5\"");
  text.remove_prefix(std::min(follows.size(), text.size()));
  return value;
}

void append_run(const json& item, std::vector<answer>& answers) {
  if (!item.is_string()) throw malformed("\"answers\" must hold strings");
  std::string_view text = item.get_ref<const std::string&>();
  const size_t space = text.find(' ');
  const auto kind = parse_choice_kind(text.substr(0, space));
  if (!kind || space == std::string_view::npos)
    throw malformed("an answer is of a kind that this version does not know");
  text.remove_prefix(space + 1);
  const uint64_t picked = take_number(text, "/");
  const uint64_t count = take_number(text, " x");
  const uint64_t times = text.empty() ? 1 : take_number(text, "");
  if (!text.empty()) throw malformed("an answer is not of the form \"actor 1/3 x5\"");
  if (count < 2 || count >= no_answer || picked >= count) throw malformed("an answer is outside its choice");
  if (times == 0 || times > answers_max - answers.size()) throw malformed("it has too many answers");
  answers.insert(answers.end(), times,
                 {.kind = *kind, .count = static_cast<uint32_t>(count), .picked = static_cast<uint32_t>(picked)});
}

/// Parses with bounds on size, depth and number of values, so that a hostile text cannot make the parser allocate much.
json parsed(std::string_view text) {
  if (text.size() > text_bytes_max) throw malformed("it is larger than a trace can be");
  const size_t values_max = text.size() / 8 + 64;  // no value that a trace may hold is shorter
  size_t values = 0;
  const auto watch = [&](int depth, json::parse_event_t, json&) {
    if (depth > depth_max) throw malformed("it is nested too deeply");
    if (++values > 2 * values_max) throw malformed("it has too many values");
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::parse_error& error) {
    throw malformed("it is damaged or cut off near byte " + std::to_string(error.byte));
  }
}

trace_or_error checked(const auto& read) {
  try {
    return {.value = read(), .error = {}};
  } catch (const malformed& wrong) {
    return {.value = {}, .error = std::string("this is no valid trace: ") + wrong.what()};
  } catch (const json::exception&) {
    return {.value = {}, .error = "this is no valid trace: its JSON cannot be read"};
  }
}

}  // namespace

std::string head_to_json(const trace& recorded) { return printed(head_of(recorded), -1); }

trace_or_error head_from_json(std::string_view text) {
  return checked([&] { return head_from(parsed(text)); });
}

std::string to_json(const trace& recorded) {
  std::string text = printed(head_of(recorded), 2);
  text.erase(text.rfind('\n'));  // the answers go before the closing brace, one run a line
  text += ",\n  \"answers\": [";
  const auto& answers = recorded.answers;
  for (size_t first = 0, next = 0; first < answers.size(); first = next) {
    while (next < answers.size() && answers[next] == answers[first]) ++next;
    text += (first == 0 ? "\n    \"" : ",\n    \"") + run_to_text(answers[first], next - first) + '"';
  }
  return text + (answers.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

trace_or_error from_json(std::string_view text) {
  return checked([&] {
    const json object = parsed(text);
    trace read = head_from(object);
    const json& answers = field(object, "answers");
    if (!answers.is_array()) throw malformed("\"answers\" must be an array");
    for (const json& item : answers) append_run(item, read.answers);
    return read;
  });
}

}  // namespace heddle::scheduler
