#include <heddle/tools/cli/common.h>
#include <heddle/tools/litmus/program.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>

namespace heddle::litmus {
namespace {

constexpr uint32_t most_blocks = 4096;  // a program launches all blocks up to the highest that it names

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw std::invalid_argument(tools::one_line(where + ": " + what));
}

std::string quoted(std::string_view text) { return "\"" + std::string(text.substr(0, 64)) + "\""; }

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(trimmed(text.substr(0, at)));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + separator.size());
  }
}

std::optional<uint32_t> number(std::string_view text) {
  uint32_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || failed != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

uint32_t number_at(const std::string& where, std::string_view text) {
  const auto value = number(text);
  if (!value) refuse(where, quoted(text) + " is no number; write one from 0 to 4294967295");
  return *value;
}

std::optional<uint32_t> parse_register(std::string_view text) {
  if (!text.starts_with('r')) return {};
  const auto index = number(text.substr(1));
  return index && *index < registers ? index : std::nullopt;
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

place parse_place(const std::string& where, std::string_view text) {
  if (text == "host") return {.host = true};
  const size_t dot = text.find(".cta");
  if (text.starts_with("gpu") && dot != std::string_view::npos) {
    const auto device = number(text.substr(3, dot - 3));
    const auto block = number(text.substr(dot + 4));
    if (device && block && *block < most_blocks) return {.host = false, .device = *device, .block = *block};
  }
  refuse(where, quoted(text) + " is no place; write host, or gpu0.ctaN with N below " + std::to_string(most_blocks));
}

memory_order parse_order(const std::string& where, std::string_view text, const std::vector<std::string_view>& known) {
  if (std::find(known.begin(), known.end(), text) == known.end()) {
    std::string names;
    for (const std::string_view each : known) names += (names.empty() ? "" : ", ") + std::string(each);
    refuse(where, quoted(text) + " is no order here; write one of " + names);
  }
  if (text == "relaxed") return memory_order::relaxed;
  if (text == "acquire") return memory_order::acquire;
  if (text == "release") return memory_order::release;
  return text == "sc" ? memory_order::seq_cst : memory_order::acq_rel;
}

scope parse_scope(const std::string& where, std::string_view text) {
  if (text == "cta") return scope::block;
  if (text == "gpu") return scope::device;
  if (text == "sys") return scope::system;
  refuse(where, quoted(text) + " is no scope; write one of cta, gpu, sys");
}

/// One instruction: its name taken apart at the dots, and its operands.
class instruction_parser {
 public:
  instruction_parser(program& into, bool host, std::string where, std::string_view text)
      : into_(into), host_(host), where_(std::move(where)) {
    const size_t blank = std::min(text.find(' '), text.size());
    name_ = text.substr(0, blank);
    words_ = split(name_, ".");
    const std::string_view rest = trimmed(text.substr(blank));
    if (!rest.empty()) operands_ = split(rest, ",");
  }

  instruction parse() {
    const std::string_view first = words_.front();
    if (first == "ld" || first == "st") return access(first == "ld");
    if (first == "atom") return atomic();
    if (first == "lock") return locked();
    if (first == "fence") return fence();
    if (name_ == "mfence" || name_ == "sfence") return drain();
    refuse(where_, quoted(name_) + " is no instruction; write one of ld, st, atom, fence" +
                       (host_ ? ", lock, mfence, sfence" : ""));
  }

 private:
  instruction access(bool reads) {
    instruction made;
    made.kind = reads ? instruction_kind::load : instruction_kind::store;
    if (words_.size() == 1) {
      host_only();
      made.x86 = true;
    } else if (words_.size() == 2 && words_[1] == "weak") {
      made.weak = true;
    } else {
      parts(3, reads ? "ld.ORDER.SCOPE or ld.weak" : "st.ORDER.SCOPE or st.weak");
      made.order = parse_order(where_, words_[1],
                               {std::string_view("relaxed"), std::string_view(reads ? "acquire" : "release")});
      made.reach = reach(words_[2]);
    }
    operands(2, reads ? "a register and a location" : "a location and a value");
    if (reads) made.reg = register_of(operands_[0]);
    made.location = location(operands_[reads ? 1 : 0]);
    if (!reads) made.value = number_at(where_, operands_[1]);
    return made;
  }

  instruction atomic() {
    parts(4, "atom.ORDER.SCOPE.exch, add or cas");
    instruction made;
    made.order = parse_order(where_, words_[1], {"relaxed", "acquire", "release", "acq_rel"});
    made.reach = reach(words_[2]);
    if (words_[3] == "exch") {
      made.kind = instruction_kind::exchange;
    } else if (words_[3] == "add") {
      made.kind = instruction_kind::add;
    } else if (words_[3] == "cas") {
      made.kind = instruction_kind::compare_exchange;
    } else {
      refuse(where_, quoted(words_[3]) + " is no operation; write one of exch, add, cas");
    }
    return modify(made);
  }

  instruction locked() {
    host_only();
    parts(2, "lock.xchg or lock.xadd");
    instruction made;
    made.x86 = true;
    made.order = memory_order::seq_cst;
    if (words_[1] == "xchg") {
      made.kind = instruction_kind::exchange;
    } else if (words_[1] == "xadd") {
      made.kind = instruction_kind::add;
    } else {
      refuse(where_, quoted(words_[1]) + " is no locked operation; write one of xchg, xadd");
    }
    return modify(made);
  }

  instruction modify(instruction made) {
    const bool compares = made.kind == instruction_kind::compare_exchange;
    operands(compares ? 4 : 3, compares ? "a register, a location, the value to find and the value to store"
                                        : "a register, a location and a value");
    made.reg = register_of(operands_[0]);
    made.location = location(operands_[1]);
    made.value = number_at(where_, operands_[2]);
    if (compares) made.desired = number_at(where_, operands_[3]);
    return made;
  }

  instruction fence() {
    operands(0, "no operands");
    instruction made;
    made.kind = instruction_kind::fence;
    if (words_.size() == 2 && words_[1] == "sys") {
      // The fence of a device that does not say of which kind: the strongest.
      if (host_) refuse(where_, "fence.sys is the device's; write mfence, or fence.ORDER.sys");
      made.order = memory_order::seq_cst;
      return made;
    }
    parts(3, "fence.acq_rel.SCOPE or fence.sc.SCOPE");
    made.order = parse_order(where_, words_[1], {"acq_rel", "sc"});
    made.reach = reach(words_[2]);
    return made;
  }

  instruction drain() {
    host_only();
    operands(0, "no operands");
    return {.kind = instruction_kind::drain_buffers,
            .weak = name_ == "sfence",
            .x86 = true,
            .order = memory_order::seq_cst};
  }

  void host_only() {
    if (!host_)
      refuse(where_, quoted(name_) +
                         " is an instruction of the host; a device has ld, st, atom and fence "
                         "with order and scope");
  }
  void parts(size_t count, const std::string& form) {
    if (words_.size() != count) refuse(where_, quoted(name_) + " is no instruction; write " + form);
  }
  void operands(size_t count, const std::string& what) {
    if (operands_.size() != count)
      refuse(where_, quoted(name_) + " takes " + what + ", not " + std::to_string(operands_.size()) + " operands");
  }
  scope reach(std::string_view text) {
    const scope made = parse_scope(where_, text);
    if (host_ && made != scope::system)
      refuse(where_, "the host has system scope only; write sys instead of " + std::string(text));
    return made;
  }
  uint32_t register_of(std::string_view text) {
    const auto index = parse_register(text);
    if (!index) refuse(where_, quoted(text) + " is no register; write one of r0, r1, r2");
    return *index;
  }
  uint32_t location(std::string_view text) {
    if (!is_word(text)) refuse(where_, quoted(text) + " is no location; write a word of lower-case letters");
    const auto known = std::find(into_.locations.begin(), into_.locations.end(), text);
    if (known == into_.locations.end()) {
      into_.locations.emplace_back(text);
      return static_cast<uint32_t>(into_.locations.size() - 1);
    }
    return static_cast<uint32_t>(known - into_.locations.begin());
  }

  program& into_;
  bool host_;
  std::string where_;
  std::string_view name_;
  std::vector<std::string_view> words_;
  std::vector<std::string_view> operands_;
};

/// The outcome, by recursive descent; "/\" binds tighter than "\/".
class outcome_parser {
 public:
  outcome_parser(const program& about, std::string_view text) : about_(about), whole_(text), rest_(text) {}

  condition parse() {
    condition made = any_of();
    if (!rest().empty()) refuse(where, quoted(rest_) + " is left over; join terms by /\\ or \\/");
    return made;
  }

 private:
  static inline const std::string where = "outcome";

  std::string_view rest() { return rest_ = trimmed(rest_); }
  bool take(std::string_view token) {
    if (!rest().starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  condition any_of() {
    condition made = all_of();
    if (!take("\\/")) return made;
    condition both{.is = condition::kind::any_of};
    both.parts.push_back(std::move(made));
    do {
      both.parts.push_back(all_of());
    } while (take("\\/"));
    return both;
  }

  condition all_of() {
    condition made = unit();
    if (!take("/\\")) return made;
    condition both{.is = condition::kind::all_of};
    both.parts.push_back(std::move(made));
    do {
      both.parts.push_back(unit());
    } while (take("/\\"));
    return both;
  }

  condition unit() {
    if (!take("(")) return term();
    // Each "(" is a call of this function.
    if (++depth_ > most_depth) refuse(where, "more than " + std::to_string(most_depth) + " nested parentheses");
    condition made = any_of();
    if (!take(")")) refuse(where, "a \"(\" is not closed in " + quoted(whole_));
    --depth_;
    return made;
  }

  condition term() {
    const std::string_view text = rest().substr(0, std::min(rest().find_first_of(" ()/\\"), rest().size()));
    rest_.remove_prefix(text.size());
    const size_t op = std::min(text.find_first_of("!="), text.size());
    condition made;
    made.equal = !text.substr(op).starts_with("!=");
    const std::string_view value = text.substr(std::min(op + (made.equal ? 1 : 2), text.size()));
    const auto wanted = number(value);
    if (op == text.size() || !wanted) refuse(where, quoted(text) + " is no term; write P0:r0=1 or x=1, with = or !=");
    made.value = *wanted;
    name(text.substr(0, op), made);
    return made;
  }

  void name(std::string_view text, condition& made) const {
    const size_t colon = text.find(':');
    if (colon != std::string_view::npos) {
      const auto thread = number(text.substr(1, colon - 1));
      const auto index = parse_register(text.substr(colon + 1));
      if (!text.starts_with('P') || !thread || *thread >= about_.threads.size() || !index)
        refuse(where, quoted(text) + " is no register of a thread; write P0:r0 to P" +
                          std::to_string(about_.threads.size() - 1) + ":r" + std::to_string(registers - 1));
      made.is = condition::kind::reg;
      made.thread = *thread;
      made.index = *index;
      return;
    }
    const auto known = std::find(about_.locations.begin(), about_.locations.end(), text);
    if (known == about_.locations.end()) refuse(where, "no instruction names the location " + quoted(text));
    made.is = condition::kind::location;
    made.index = static_cast<uint32_t>(known - about_.locations.begin());
  }

  static constexpr uint32_t most_depth = 100;
  const program& about_;
  std::string_view whole_;
  std::string_view rest_;
  uint32_t depth_ = 0;
};

void parse_placement(program& into, std::string_view text) {
  into.on_device.assign(into.locations.size(), false);
  for (const std::string_view each : split(text, " ")) {
    if (each.empty()) continue;
    const size_t equals = std::min(each.find('='), each.size());
    const auto known = std::find(into.locations.begin(), into.locations.end(), each.substr(0, equals));
    const std::string_view kind = each.substr(std::min(equals + 1, each.size()));
    if (kind != "host" && kind != "device")
      refuse("placement", quoted(each) + " is no place of a location; write x=host or x=device");
    if (known == into.locations.end())
      refuse("placement", "no instruction names the location " + quoted(each.substr(0, equals)));
    into.on_device[static_cast<size_t>(known - into.locations.begin())] = kind == "device";
  }
}

}  // namespace

program parse(std::string_view threads, std::string_view code, std::string_view outcome, std::string_view placement) {
  program made;
  for (const std::string_view each : split(threads, "||"))
    made.places.push_back(parse_place("threads: P" + std::to_string(made.places.size()), each));
  const std::vector<std::string_view> bodies = split(code, "||");
  if (bodies.size() != made.places.size())
    refuse("program", std::to_string(bodies.size()) + " threads, but " + std::to_string(made.places.size()) +
                          " places; give one place per thread");
  for (size_t thread = 0; thread < bodies.size(); ++thread) {
    std::vector<instruction>& body = made.threads.emplace_back();
    for (const std::string_view each : split(bodies[thread], ";"))
      body.push_back(
          instruction_parser(made, made.places[thread].host, "program: P" + std::to_string(thread), each).parse());
  }
  made.outcome = outcome_parser(made, outcome).parse();
  parse_placement(made, placement);
  return made;
}

bool holds(const condition& asked, const final_state& seen) {
  const auto each = [&](const condition& part) { return holds(part, seen); };
  switch (asked.is) {
    case condition::kind::reg:
      return (seen.registers[asked.thread][asked.index] == asked.value) == asked.equal;
    case condition::kind::location:
      return (seen.locations[asked.index] == asked.value) == asked.equal;
    case condition::kind::all_of:
      return std::all_of(asked.parts.begin(), asked.parts.end(), each);
    case condition::kind::any_of:
      return std::any_of(asked.parts.begin(), asked.parts.end(), each);
  }
  return false;
}

}  // namespace heddle::litmus
