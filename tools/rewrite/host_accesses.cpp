#include "host_accesses.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "asm_lines.h"
#include "asm_words.h"

namespace heddle::rewrite {
namespace {

/// Where an operand of an instruction is: `get` reads it and `set` writes it, in C.
struct place {
  enum class kind : unsigned char { none, constant, cell, memory } is = kind::none;
  std::string text;        ///< of a constant its value, of a cell its name, of memory its address
  std::string size_bytes;  ///< in C; empty where the instruction has to say it
};

class translator {
 public:
  translator(const asm_statement& from, bool is_c) : from_(from), is_c_(is_c) {}

  std::optional<std::string> run() {
    if (!take_operands()) return std::nullopt;
    const std::optional<std::vector<asm_line>> lines = lines_of(from_.text);
    if (!lines) return std::nullopt;
    std::string labels;
    for (const asm_line& each : *lines) {
      if (!each.label.empty()) labels += (labels.empty() ? "__label__ " : ", ") + each.label;
      if (!line(each)) return std::nullopt;
    }
    if (!labels.empty()) labels += "; ";
    if (!(reaches_memory_ || reads_clock_) || !knows_flags(flags_read_)) return std::nullopt;
    // An access that releases may still come behind a later one, and the statement is more to the compiler.
    const std::string still = from_.orders_memory ? "__asm__ __volatile__(\"\" ::: \"memory\"); " : "";
    return "do { " + labels + still + begin_ + body_ + end_ + still + "} while (0)";
  }

 private:
  // -- operands of the statement
  bool take_operands() {
    begin_ =
        "heddle_x86_word heddle_a = 0, heddle_b = 0, heddle_c = 0, heddle_d = 0; "
        "int heddle_zf = 0, heddle_cf = 0, heddle_sf = 0, heddle_of = 0; (void)heddle_a; (void)heddle_b; "
        "(void)heddle_c; "
        "(void)heddle_d; (void)heddle_zf; (void)heddle_cf; (void)heddle_sf; (void)heddle_of; ";
    for (size_t n = 0; n < from_.operands.size(); ++n)
      if (!take(n)) return false;
    return true;
  }

  bool take(size_t n) {
    const asm_operand& one = from_.operands[n];
    const bool is_output = n < from_.outputs;
    const bool is_read = !is_output || one.constraint.find('+') != std::string::npos;
    std::string letters;
    for (const char c : one.constraint)
      if (std::string_view("=+&%, ").find(c) == std::string_view::npos) letters += c;
    const std::string number = std::to_string(n);
    const std::string expression = "(" + one.expression + ")";
    place made;
    if (letters.starts_with("@cc")) return is_output && take_flag(letters.substr(3), expression);
    if (letters == "m" || letters == "o" || letters == "V") {
      const std::string pointer = "heddle_p" + number;
      begin_ += "unsigned char* const " + pointer + " = (unsigned char*)(unsigned long)&" + expression + "; ";
      places_.push_back({place::kind::memory, pointer, "sizeof" + expression});
      return true;
    }
    if (const size_t matched = is_output ? none : matched_by(letters); matched != none) {
      if (matched >= from_.outputs || places_[matched].is != place::kind::cell) return false;
      read_into(places_[matched].text, expression);
      places_.push_back(places_[matched]);
      return true;
    }
    if (letters.find_first_not_of("rqQRabcdinegmMIJKNeZli") != std::string::npos || letters.empty()) return false;
    const bool is_fixed = letters.size() == 1 && known_registers.find(letters[0]) != std::string_view::npos;
    made = {place::kind::cell, is_fixed ? "heddle_" + letters : "heddle_r" + number, "sizeof" + expression};
    if (!is_fixed) begin_ += "heddle_x86_word " + made.text + " = 0; ";
    if (is_read) read_into(made.text, expression);
    if (is_output) write_from(made.text, "(" + std::string(without_casts(one.expression)) + ")");
    places_.push_back(made);
    return true;
  }

  /// The output that a constraint such as `0` or `[name]` says to be in the same place.
  size_t matched_by(std::string_view letters) const {
    size_t matched = none;
    if (letters.starts_with('['))
      for (size_t n = 0; n < from_.outputs; ++n)
        if ("[" + from_.operands[n].name + "]" == letters) return n;
    std::from_chars(letters.data(), letters.data() + letters.size(), matched);
    return matched;
  }

  // By their bytes: pointers, numbers, enumerations alike.
  void read_into(const std::string& cell, const std::string& expression) {
    begin_ += "{ " + std::string(is_c_ ? "__auto_type" : "auto") + " heddle_v = " + expression +
              "; __builtin_memcpy(&" + cell +
              ", (void*)(unsigned long)&heddle_v, sizeof heddle_v < 8 ? sizeof heddle_v : 8); } ";
  }
  void write_from(const std::string& cell, const std::string& expression) {
    end_ += "{ __typeof__" + expression + " heddle_v; __builtin_memcpy((void*)(unsigned long)&heddle_v, &" + cell +
            ", sizeof heddle_v < 8 ? sizeof heddle_v : 8); " + expression + " = heddle_v; } ";
  }

  bool take_flag(const std::string& name, const std::string& expression) {
    const std::string value = condition_of(name);
    if (value.empty()) return false;
    end_ += expression + " = " + value + "; ";
    flags_read_ += value;
    places_.emplace_back();
    return true;
  }

  // -- operands of an instruction
  place place_of(const std::string& word) const {
    if (word.starts_with('$')) return constant(word.substr(1));
    size_t size_bytes = 0;
    if (const char name = register_of(word, size_bytes))
      return {place::kind::cell, std::string("heddle_") + name, std::to_string(size_bytes)};
    if (word.ends_with(')')) return behind_pointer(word);
    if (!word.starts_with('%')) return {};
    std::string_view rest = std::string_view(word).substr(1);
    std::string size;
    if (!rest.empty() && std::isalpha(static_cast<unsigned char>(rest[0])) != 0) {
      constexpr std::string_view letters = "bwkq";
      const size_t at = letters.find(rest[0]);
      if (at == std::string_view::npos) return {};
      size = std::to_string(1u << at);
      rest.remove_prefix(1);
    }
    const size_t n = number_of(rest);
    if (n >= places_.size()) return {};
    place found = places_[n];
    if (!size.empty()) found.size_bytes = size;
    return found;
  }
  static place constant(const std::string& digits) {
    const bool is_negative = digits.starts_with('-');
    const std::string rest = is_negative ? digits.substr(1) : digits;
    const bool is_hex = rest.starts_with("0x");
    const std::string_view allowed = is_hex ? "0123456789abcdefx" : "0123456789";
    if (rest.empty() || rest.find_first_not_of(allowed) != std::string::npos) return {};
    return {place::kind::constant, "(heddle_x86_word)" + (is_negative ? "-" + rest + "ll" : rest + "ull"), {}};
  }
  size_t number_of(std::string_view name) const {
    if (name.starts_with('[')) {
      for (size_t n = 0; n < from_.operands.size(); ++n)
        if (is_named(from_.operands[n].name, name.substr(1, name.size() - 2))) return n;
      return places_.size();
    }
    size_t n = places_.size();
    const auto read = std::from_chars(name.data(), name.data() + name.size(), n);
    return read.ptr == name.data() + name.size() && !name.empty() ? n : places_.size();
  }
  /// `8(%1)`
  place behind_pointer(const std::string& word) const {
    const size_t open = word.find('(');
    const std::string offset = word.substr(0, open);
    const place pointer = place_of(word.substr(open + 1, word.size() - open - 2));
    if (pointer.is != place::kind::cell || offset.find_first_not_of("-0123456789") != std::string::npos) return {};
    return {place::kind::memory, "((unsigned char*)" + pointer.text + (offset.empty() ? "" : " + " + offset) + ")", {}};
  }

  static std::string get(const place& from, const std::string& size) {
    if (from.is == place::kind::memory) return "heddle_x86_load(" + from.text + ", " + size + ")";
    return "heddle_x86_part(" + from.text + ", " + size + ")";
  }
  static std::string set(const place& to, const std::string& value, const std::string& size) {
    if (to.is == place::kind::memory) return "heddle_x86_store(" + to.text + ", " + value + ", " + size + "); ";
    return to.text + " = heddle_x86_with(" + to.text + ", " + value + ", " + size + "); ";
  }

  // -- instructions
  bool line(const asm_line& one) {
    if (!one.label.empty()) {
      body_ += one.label + ": ; ";
      tells_flags(false, false);  // jumps come from elsewhere
    }
    if (!one.target.empty()) {
      if (!knows_flags(one.condition)) return false;
      body_ += (one.condition.empty() ? "" : "if (" + one.condition + ") ") + "goto " + one.target + "; ";
      return true;
    }
    return one.words.empty() || instruction(one.words, one.is_locked);
  }

  /// Whether the last instruction that changes a flag of these is one of which that is told.
  bool knows_flags(std::string_view read) const {
    const bool zero = read.find("zf") != std::string_view::npos || read.find("sf") != std::string_view::npos;
    return (!zero || knows_zero_) && (read.find("cf") == std::string_view::npos || knows_carry_) &&
           (read.find("of") == std::string_view::npos || knows_overflow_);
  }
  void tells_flags(bool zero, bool carry, bool overflow = false) {
    knows_zero_ = zero;
    knows_carry_ = carry;
    knows_overflow_ = overflow;
  }

  bool instruction(const std::string& words, bool is_locked) {
    const size_t blank = words.find(' ');
    std::string name = words.substr(0, blank);
    std::vector<place> at;
    if (blank != std::string::npos)
      for (const std::string& each : divided(words.substr(blank + 1), ',')) {
        at.push_back(place_of(each));
        if (at.back().is == place::kind::none) return false;
      }
    for (const place& each : at) reaches_memory_ = reaches_memory_ || each.is == place::kind::memory;
    if (name == "pause" || name == "nop") return at.empty();
    if (name == "mfence" || name == "lfence") {
      body_ += name == "mfence" ? "__atomic_thread_fence(5); " : "__atomic_thread_fence(2); ";
      return at.empty();
    }
    if (name == "rdtsc" || name == "rdtscp") {
      body_ += "heddle_a = heddle_x86_rdtsc(); heddle_d = heddle_a >> 32; heddle_a = heddle_x86_part(heddle_a, 4); ";
      reads_clock_ = true;
      return at.empty();
    }
    if (name.starts_with("set")) return flag_to(name.substr(3), at);
    if (name == "cmpxchg16b" || name == "cmpxchg8b") return wide_exchange(name == "cmpxchg8b" ? 4 : 8, is_locked, at);
    std::string size = size_by_suffix(name);
    if (size.empty())
      for (const place& each : at)
        if (each.is == place::kind::cell) size = each.size_bytes;
    if (size.empty())
      for (const place& each : at)
        if (each.is == place::kind::memory) size = each.size_bytes;
    if (size.empty()) return false;
    if (at.size() == 1) return of_one(name, at[0], size, is_locked);
    return at.size() == 2 && of_two(name, at[0], at[1], size, is_locked);
  }

  bool flag_to(const std::string& name, const std::vector<place>& at) {
    const std::string value = condition_of(name);
    if (value.empty() || !knows_flags(value) || at.size() != 1 || at[0].is != place::kind::cell) return false;
    body_ += set(at[0], "(heddle_x86_word)(" + value + ")", "1");
    return true;
  }

  static std::string flags_of(const std::string& value, const std::string& size) {
    return "heddle_zf = heddle_x86_part(" + value + ", " + size + ") == 0; heddle_sf = (int)(heddle_x86_part(" + value +
           ", " + size + ") >> (" + size + " * 8 - 1)); ";
  }

  bool of_one(const std::string& name, const place& at, const std::string& size, bool is_locked) {
    if (name == "inc" || name == "dec")
      return change("add", at, name == "inc" ? "1ull" : "~0ull", size, is_locked, flags::are_those_of_a_sum);
    if (name == "not") return change("xor", at, "~0ull", size, is_locked, flags::stay);
    if (name != "neg" || (is_locked && at.is != place::kind::memory)) return false;
    tells_flags(true, true);
    body_ += "{ heddle_x86_word heddle_o = ";
    body_ += is_locked ? "heddle_x86_neg(" + at.text + ", " + size + "); " : get(at, size) + "; ";
    if (!is_locked) body_ += set(at, "0 - heddle_o", size);
    body_ += "heddle_cf = heddle_o != 0; " + flags_of("0 - heddle_o", size) + "} ";
    return true;
  }

  bool of_two(const std::string& name, const place& from, const place& to, const std::string& size, bool is_locked) {
    const bool is_to_memory = to.is == place::kind::memory;
    if (to.is == place::kind::constant) return false;
    if (name == "mov" && !is_locked) {
      body_ += set(to, get(from, size), size);
      return true;
    }
    if (name == "xchg") {
      const place& memory = is_to_memory ? to : from;
      const place& cell = is_to_memory ? from : to;
      if (cell.is != place::kind::cell || memory.is != place::kind::memory) return false;
      body_ += set(cell, "heddle_x86_xchg(" + memory.text + ", " + cell.text + ", " + size + ")", size);
      return true;
    }
    if (name == "xadd") return is_to_memory && from.is == place::kind::cell && add_and_keep(from, to, size, is_locked);
    if (name == "cmpxchg") {
      if (!is_to_memory || !is_locked) return false;
      tells_flags(true, false);
      body_ += "heddle_zf = heddle_x86_cmpxchg(" + to.text + ", &heddle_a, " + get(from, size) + ", " + size + "); ";
      return true;
    }
    if (name == "cmp" || name == "test") return !is_locked && compare(name == "cmp", from, to, size);
    if (name == "add") return change(name, to, get(from, size), size, is_locked, flags::are_those_of_a_sum);
    if (name == "and" || name == "or" || name == "xor")
      return change(name, to, get(from, size), size, is_locked, flags::are_those_of_bits);
    if (name == "sub") return change("add", to, "0 - " + get(from, size), size, is_locked, flags::are_others);
    if (name == "sbb") {
      if (from.is != place::kind::cell || from.text != to.text || !knows_carry_) return false;
      body_ += set(to, "(heddle_cf ? ~0ull : 0ull)", size);
      tells_flags(false, true);
      return true;
    }
    if (name == "shl") {
      if (from.is != place::kind::constant || to.is != place::kind::cell) return false;
      tells_flags(false, false);
      body_ += set(to, get(to, size) + " << (" + from.text + " & 63)", size);
      return true;
    }
    if (name.starts_with("bt")) return bit(name, from, to, size, is_locked);
    return false;
  }

  /// `cmp` tells of a difference, `test` of the bits in common.
  bool compare(bool is_difference, const place& by, const place& at, const std::string& size) {
    tells_flags(true, true, true);
    body_ += "{ heddle_x86_word heddle_o = " + get(at, size) + ", heddle_m = heddle_x86_part(" + get(by, size) + ", " +
             size + "), heddle_n = heddle_o " + (is_difference ? "-" : "&") + " heddle_m; " +
             flags_of("heddle_n", size);
    body_ += is_difference ? "heddle_cf = heddle_o < heddle_m; heddle_of = (int)(heddle_x86_part((heddle_o ^ heddle_m) "
                             "& (heddle_o ^ heddle_n), " +
                                 size + ") >> (" + size + " * 8 - 1)); } "
                           : std::string("heddle_cf = heddle_of = 0; } ");
    return true;
  }

  /// What was there before goes to the register.
  bool add_and_keep(const place& from, const place& to, const std::string& size, bool is_locked) {
    tells_flags(true, false);
    body_ += "{ heddle_x86_word heddle_n = " + from.text + ", heddle_o = ";
    body_ += is_locked ? "heddle_x86_add(" + to.text + ", heddle_n, " + size + "); " : get(to, size) + "; ";
    if (!is_locked) body_ += set(to, "heddle_o + heddle_n", size);
    body_ += flags_of("heddle_o + heddle_n", size) + set(from, "heddle_o", size) + "} ";
    return true;
  }

  enum class flags : unsigned char { stay, are_those_of_bits, are_those_of_a_sum, are_others };
  bool change(const std::string& how, const place& at, const std::string& by, const std::string& size, bool is_locked,
              flags then) {
    const std::string sign = how == "add" ? "+" : how == "and" ? "&" : how == "or" ? "|" : "^";
    if (is_locked && at.is != place::kind::memory) return false;
    if (then != flags::stay) tells_flags(true, false, then != flags::are_others);
    body_ += "{ heddle_x86_word heddle_m = (" + by + "), heddle_o = ";
    body_ += is_locked ? "heddle_x86_" + how + "(" + at.text + ", heddle_m, " + size + ")" : get(at, size);
    body_ += ", heddle_n = heddle_o " + sign + " heddle_m; (void)heddle_n; ";
    if (!is_locked) body_ += set(at, "heddle_n", size);
    if (then != flags::stay) body_ += flags_of("heddle_n", size);
    if (then == flags::are_those_of_bits) body_ += "heddle_of = 0; ";
    if (then == flags::are_those_of_a_sum)
      body_ += "heddle_of = (int)(heddle_x86_part(~(heddle_o ^ heddle_m) & (heddle_o ^ heddle_n), " + size + ") >> (" +
               size + " * 8 - 1)); ";
    body_ += "} ";
    return true;
  }

  bool bit(const std::string& name, const place& which, const place& at, const std::string& size, bool is_locked) {
    if (at.is != place::kind::memory || (!is_locked && name != "bt")) return false;
    tells_flags(false, true);
    const std::string number =
        "(long)heddle_x86_signed(" + which.text + ", " + (which.size_bytes.empty() ? "8" : which.size_bytes) + ")";
    const std::string unit = "(" + size + " * 8)";
    body_ += "{ long heddle_i = " + number + ", heddle_w = heddle_i >> (" + size + " == 8 ? 6 : " + size +
             " == 4 ? 5 : 4); heddle_x86_word heddle_m = 1ull << (heddle_i & (" + unit +
             " - 1)); unsigned char* heddle_q = " + at.text + " + heddle_w * (long)" + size + "; heddle_cf = (";
    const std::string arguments =
        name == "btr" ? "(heddle_q, ~heddle_m, " + size + ")" : "(heddle_q, heddle_m, " + size + ")";
    body_ += name == "bts"   ? "heddle_x86_or" + arguments
             : name == "btr" ? "heddle_x86_and" + arguments
             : name == "btc" ? "heddle_x86_xor" + arguments
                             : "heddle_x86_load(heddle_q, " + size + ")";
    body_ += " & heddle_m) != 0; } ";
    return true;
  }

  bool wide_exchange(size_t half_bytes, bool is_locked, const std::vector<place>& at) {
    if (!is_locked || at.size() != 1 || at[0].is != place::kind::memory) return false;
    tells_flags(true, false);
    body_ += "heddle_zf = heddle_x86_cmpxchg" + std::to_string(half_bytes * 2) + "(" + at[0].text +
             ", &heddle_a, &heddle_d, heddle_b, heddle_c); ";
    return true;
  }

  static constexpr size_t none = static_cast<size_t>(-1);
  const asm_statement& from_;
  bool is_c_;
  std::vector<place> places_;  ///< of the statement's operands
  std::string begin_;
  std::string body_;
  std::string end_;
  std::string flags_read_;
  bool reaches_memory_ = false;
  bool reads_clock_ = false;
  bool knows_zero_ = false;
  bool knows_carry_ = false;
  bool knows_overflow_ = false;
};

}  // namespace

std::optional<std::string> accesses_of(const asm_statement& statement, bool is_c) {
  return translator(statement, is_c).run();
}

bool asm_statement::reaches_memory() const {
  const auto is_memory = [](const asm_operand& one) { return one.constraint.find('m') != std::string::npos; };
  return orders_memory || std::any_of(operands.begin(), operands.end(), is_memory);
}

}  // namespace heddle::rewrite
