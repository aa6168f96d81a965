#include <heddle/tools/progress/judge/program.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

namespace heddle::judge {
namespace {

constexpr std::array<char, 3> letters = {'T', 'H', 'S'};  // by thread_kind

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

/// Reads from left to right; what it refuses begins with where it stands.
class reader {
 public:
  explicit reader(std::string_view text) : rest_(text) {}

  program read() {
    skip_blanks();
    if (rest_.empty()) refuse("it is empty; write a thread, such as T0{0:st m0=1}");
    while (!rest_.empty()) {
      if (made_.threads.size() == threads_max)
        refuse("more than " + std::to_string(threads_max) + " threads; leave some out");
      made_.threads.push_back(thread());
      skip_blanks();
    }
    return std::move(made_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw std::invalid_argument("program: " + where_ + what); }

  [[noreturn]] void expected(const std::string& what) const {
    refuse(rest_.empty() ? what + " is missing at the end" : what + " must stand before \"" + ahead() + "\"");
  }

  /// What comes next, cut short and without control characters.
  std::string ahead() const {
    std::string text(rest_.substr(0, 16));
    for (char& each : text)
      if (static_cast<unsigned char>(each) < ' ') each = ' ';
    return text + (rest_.size() > 16 ? "..." : "");
  }

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

  bool take(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    // A word of letters ends where another character comes.
    if (is_lower(word.back()) && rest_.size() > word.size() && is_lower(rest_[word.size()])) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void need(std::string_view word) {
    if (!take(word)) expected("\"" + std::string(word) + "\"");
  }

  std::optional<uint32_t> take_number() {
    skip_blanks();
    size_t digits = 0;
    uint32_t value = 0;
    while (digits < rest_.size() && is_digit(rest_[digits])) {
      if (digits == 6) refuse("the number at \"" + ahead() + "\" is too large");
      value = 10 * value + static_cast<uint32_t>(rest_[digits++] - '0');
    }
    if (digits == 0) return std::nullopt;
    rest_.remove_prefix(digits);
    return value;
  }

  uint32_t number(const std::string& what) {
    const std::optional<uint32_t> value = take_number();
    if (!value) expected(what);
    return *value;
  }

  uint8_t value() {
    const uint32_t read = number("a value");
    if (read > value_max)
      refuse("the value " + std::to_string(read) + " is too large; the largest is " + std::to_string(value_max));
    return static_cast<uint8_t>(read);
  }

  uint8_t location() {
    skip_blanks();
    size_t length = 0;
    while (length < rest_.size() && (is_lower(rest_[length]) || (length != 0 && is_digit(rest_[length])))) ++length;
    if (length == 0) expected("a location, a lower-case word such as m0,");
    const std::string name(rest_.substr(0, length));
    rest_.remove_prefix(length);
    std::vector<std::string>& known = made_.locations;
    const auto found = std::find(known.begin(), known.end(), name);
    if (found != known.end()) return static_cast<uint8_t>(found - known.begin());
    if (known.size() == locations_max) refuse("more than " + std::to_string(locations_max) + " locations; use fewer");
    known.push_back(name);
    return static_cast<uint8_t>(known.size() - 1);
  }

  void exchange(step& into) {
    into.exchange = into.writes = true;
    need("(");
    into.location = location();
    need(",");
    into.written = value();
    need(")");
  }

  /// A target as it is written; END is ~0.
  void branch(step& into, uint32_t& target) {
    into.branches = true;
    if (take("ld"))
      into.location = location();
    else if (take("xchg"))
      exchange(into);
    else
      expected("\"ld\" or \"xchg\"");
    need("==");
    into.compared = value();
    need("goto");
    target = take("END") ? ~0u : number("a step's number or END");
  }

  step one_step(uint32_t& target) {
    step made;
    if (take("if")) {
      branch(made, target);
    } else if (take("st")) {
      made.writes = true;
      made.location = location();
      need("=");
      made.written = value();
    } else if (take("xchg")) {
      exchange(made);
    } else {
      expected("a step (\"st\", \"xchg\", \"if ld\" or \"if xchg\")");
    }
    return made;
  }

  void begin_thread(thread_code& made) {
    where_.clear();
    const auto kind = std::find(letters.begin(), letters.end(), rest_.front());
    if (kind == letters.end()) expected("a thread, which begins with T (wave), H (host thread) or S (server),");
    made.kind = static_cast<thread_kind>(kind - letters.begin());
    rest_.remove_prefix(1);
    const std::string letter(1, *kind);
    made.number = number("the number of the thread " + letter);
    const auto same_kind = [&](const thread_code& other) { return other.kind == made.kind; };
    const auto before = std::count_if(made_.threads.begin(), made_.threads.end(), same_kind);
    if (made.number != static_cast<uint32_t>(before))
      refuse("the thread " + made.name() + " must be " + letter + std::to_string(before) +
             ": threads of a kind are numbered 0, 1, ... in their order");
  }

  thread_code thread() {
    thread_code made;
    begin_thread(made);
    where_ = made.name() + ": ";
    need("{");
    std::vector<uint32_t> targets;
    do {
      const size_t place = made.steps.size();
      if (place == steps_max) refuse("more than " + std::to_string(steps_max) + " steps; make it shorter");
      where_ = made.name() + ": ";
      const uint32_t label = number("the number of step " + std::to_string(place));
      if (label != place)
        refuse("step " + std::to_string(label) + " must be " + std::to_string(place) +
               ": steps are numbered 0, 1, ... in their order");
      where_ = made.name() + ", step " + std::to_string(place) + ": ";
      need(":");
      made.steps.push_back(one_step(targets.emplace_back(0)));
    } while (take(";"));
    need("}");
    resolve(made, targets);
    where_.clear();
    return made;
  }

  void resolve(thread_code& made, const std::vector<uint32_t>& targets) {
    const size_t count = made.steps.size();
    for (size_t n = 0; n < count; ++n) {
      if (targets[n] != ~0u && targets[n] >= count) {
        where_ = made.name() + ", step " + std::to_string(n) + ": ";
        refuse("goes to step " + std::to_string(targets[n]) + ", which is not there; the steps are 0 to " +
               std::to_string(count - 1) + ", and END");
      }
      made.steps[n].target = static_cast<uint8_t>(std::min<size_t>(targets[n], count));
    }
  }

  std::string_view rest_;
  std::string where_;
  program made_;
};

std::string to_string(const program& code, const thread_code& thread, const step& what) {
  const std::string& location = code.locations[what.location];
  const std::string exchange = "xchg(" + location + "," + std::to_string(what.written) + ")";
  if (!what.branches) return what.exchange ? exchange : "st " + location + "=" + std::to_string(what.written);
  return "if " + (what.exchange ? exchange : "ld " + location) + "==" + std::to_string(what.compared) + " goto " +
         (what.target == thread.steps.size() ? "END" : std::to_string(what.target));
}

}  // namespace

std::string thread_code::name() const { return letters[static_cast<size_t>(kind)] + std::to_string(number); }

program parse(std::string_view text) { return reader(text).read(); }

std::string to_string(const program& code, const thread_code& thread) {
  std::string text = thread.name() + "{";
  for (size_t n = 0; n < thread.steps.size(); ++n)
    text += (n == 0 ? "" : "; ") + std::to_string(n) + ":" + to_string(code, thread, thread.steps[n]);
  return text + "}";
}

std::string to_string(const program& code) {
  std::string text;
  for (const thread_code& each : code.threads) text += (text.empty() ? "" : " ") + to_string(code, each);
  return text;
}

}  // namespace heddle::judge
