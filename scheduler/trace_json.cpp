#include <heddle/scheduler/trace.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace heddle::scheduler {
namespace {

using json = nlohmann::ordered_json;  // keeps the order of parameters

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
          {"where", recorded.where},       {"hang", recorded.hang},
          {"gist", recorded.gist},         {"digest", hexadecimal(recorded.digest)},
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
  // Traces of older versions lack them.
  if (object.contains("hang")) read.hang = text_field(object, "hang");
  if (object.contains("gist")) read.gist = text_field(object, "gist");
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

[[noreturn]] void malformed_answer() { throw malformed("an answer is not of the form \"actor 1/3 x5\""); }

/// Takes a number off the front of `text`.
uint64_t take_decimal(std::string_view& text) {
  uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc()) malformed_answer();
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

void take_word(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) malformed_answer();
  text.remove_prefix(expected.size());
}

void append_run(std::string_view text, std::vector<answer>& answers) {
  const size_t space = text.find(' ');
  const auto kind = parse_choice_kind(text.substr(0, space));
  if (!kind || space == std::string_view::npos)
    throw malformed("an answer is of a kind that this version does not know");
  text.remove_prefix(space + 1);
  const uint64_t picked = take_decimal(text);
  take_word(text, "/");
  const uint64_t count = take_decimal(text);
  uint64_t times = 1;
  if (!text.empty()) {
    take_word(text, " x");
    times = take_decimal(text);
  }
  if (!text.empty()) malformed_answer();
  if (count < 2 || count >= no_answer || picked >= count) throw malformed("an answer is outside its choice");
  if (times == 0 || times > answers_max - answers.size()) throw malformed("it has too many answers");
  answers.insert(answers.end(), times,
                 {.kind = *kind, .count = static_cast<uint32_t>(count), .picked = static_cast<uint32_t>(picked)});
}

/// Takes a trace's text as a stream of values: whatever it holds, no more is kept than a trace needs. The fields are
/// checked by head_from, the answers here.
class trace_text final : public nlohmann::json_sax<json> {
 public:
  const json& head() const { return head_; }
  bool has_answers() const { return has_answers_; }
  std::vector<answer> take_answers() { return std::move(answers_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(json::number_integer_t value) override { return put(value); }
  bool number_unsigned(json::number_unsigned_t value) override { return put(value); }
  bool number_float(json::number_float_t value, const std::string&) override { return put(value); }
  bool binary(json::binary_t&) override { return put(nullptr); }
  bool string(std::string& value) override {
    if (inside_ == place::answers) {
      append_run(value, answers_);
      return true;
    }
    return put(std::move(value));
  }

  bool start_object(size_t) override {
    if (inside_ == place::outside) {
      inside_ = place::trace;
    } else if (inside_ == place::trace && key_ == "parameters") {
      inside_ = place::parameters;
      head_[key_] = json::object();
    } else {
      throw malformed("an object stands where none belongs");
    }
    return true;
  }

  bool end_object() override {
    inside_ = inside_ == place::parameters ? place::trace : place::outside;
    return true;
  }

  bool start_array(size_t) override {
    if (inside_ != place::trace || key_ != "answers") throw malformed("an array stands where none belongs");
    inside_ = place::answers;
    has_answers_ = true;
    return true;
  }

  bool end_array() override {
    inside_ = place::trace;
    return true;
  }

  bool key(std::string& name) override {
    const json& object = inside_ == place::parameters ? head_["parameters"] : head_;
    if (object.contains(name) || (name == "answers" && has_answers_)) throw malformed("a key stands there twice");
    if (object.size() >= keys_max) throw malformed("it has too many keys");
    key_ = std::move(name);
    return true;
  }

  bool parse_error(size_t position, const std::string&, const json::exception&) override {
    throw malformed("it is damaged or cut off near byte " + std::to_string(position));
  }

 private:
  enum class place : uint8_t { outside, trace, parameters, answers };
  static constexpr size_t keys_max = 1'000;

  bool put(json value) {
    if (inside_ == place::outside) throw malformed("it is no JSON object");
    if (inside_ == place::answers) throw malformed("\"answers\" must hold strings");
    (inside_ == place::parameters ? head_["parameters"] : head_)[key_] = std::move(value);
    return true;
  }

  place inside_ = place::outside;
  std::string key_;
  json head_ = json::object();
  bool has_answers_ = false;
  std::vector<answer> answers_;
};

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

std::string detail::head_to_json(const trace& recorded) { return printed(head_of(recorded), -1); }

trace_or_error detail::head_from_json(std::string_view text) {
  return checked([&] {
    trace_text content;
    json::sax_parse(text, &content);
    return head_from(content.head());
  });
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
    trace_text content;
    json::sax_parse(text, &content);
    if (!content.has_answers()) throw malformed("it has no \"answers\"");
    trace read = head_from(content.head());
    read.answers = content.take_answers();
    return read;
  });
}

}  // namespace heddle::scheduler
