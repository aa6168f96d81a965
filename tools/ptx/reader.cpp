#include "reader.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace heddle::ptx {
namespace {

constexpr uint64_t largest_variable_bytes = uint64_t{1} << 32;
constexpr uint64_t most_registers = 1 << 20;

bool is_space(std::string_view word) {
  for (const std::string_view space : {".reg", ".global", ".const", ".shared", ".local", ".param", ".sreg"})
    if (word == space || (word.starts_with(space) && word.substr(space.size()).starts_with("::"))) return true;
  return false;
}

/// So much of a token as a line can show.
std::string first_of(std::string_view text) {
  constexpr size_t most = 60;
  return std::string(text.substr(0, std::min(text.find('\n'), most)));
}

}  // namespace

// -- tokens ------------------------------------------------------------------------------------------------------------------------

const token& reader::peek(size_t ahead) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
bool reader::is_sign(char c, size_t ahead) const {
  return peek(ahead).is == token::kind::sign && peek(ahead).text[0] == c;
}
bool reader::is_directive(std::string_view name) const {
  return peek().is == token::kind::directive && peek().text == name;
}
bool reader::take_if(char c) {
  if (!is_sign(c)) return false;
  take();
  return true;
}
void reader::wrong(const std::string& what) const {
  const token& here = peek();
  throw error{here.line, what + (here.is == token::kind::end ? ", at the end of the text"
                                                             : ", at \"" + std::string(first_of(here.text)) + "\"")};
}
void reader::expect(char c) {
  if (!take_if(c)) wrong(std::string("a ") + c + " is missing");
}
std::string reader::word(const char* what) {
  if (peek().is != token::kind::word) wrong(std::string(what) + " is missing");
  return std::string(take().text);
}
uint64_t reader::natural(const char* what) {
  if (peek().is != token::kind::number) wrong(std::string(what) + " is missing");
  const operand found = number();
  if (found.is != operand::kind::integer) wrong(std::string(what) + " is no integer");
  return found.bits;
}

namespace {

/// What is given by its bits: 0f3F800000 by 8 digits, 0d3FF0000000000000 by 16.
bool has_bits(std::string_view number, char letter, size_t digits) {
  return number.size() == digits + 2 && number[0] == '0' && (number[1] | 0x20) == letter;
}
bool is_single(std::string_view number) { return has_bits(number, 'f', 8); }
bool is_double(std::string_view number) { return has_bits(number, 'd', 16); }

}  // namespace

/// By its bits, or as 1.5 and 1e3.
bool reader::is_float(std::string_view number) {
  if (is_single(number) || is_double(number) || number.find('.') != std::string_view::npos) return true;
  return number.find_first_of("eE") != std::string_view::npos && number.find_first_of("xX") == std::string_view::npos;
}

operand reader::number() {
  std::string written(take().text);
  operand made;
  char* end = nullptr;
  if (is_single(written) || is_double(written)) {
    made.is = is_single(written) ? operand::kind::single : operand::kind::real;
    made.bits = std::strtoull(written.c_str() + 2, &end, 16);
  } else if (is_float(written)) {
    made.is = operand::kind::real;
    const double value = std::strtod(written.c_str(), &end);
    std::memcpy(&made.bits, &value, sizeof value);
  } else {
    if (written.back() == 'U' || written.back() == 'u') written.pop_back();
    made.is = operand::kind::integer;
    const bool binary = written.size() > 2 && written[0] == '0' && (written[1] | 0x20) == 'b';
    made.bits = binary ? std::strtoull(written.c_str() + 2, &end, 2) : std::strtoull(written.c_str(), &end, 0);
  }
  if (*end != '\0') {
    --at_;
    wrong("this is no number");
  }
  return made;
}

// -- operands ----------------------------------------------------------------------------------------------------------------------

operand reader::address(size_t depth) {
  operand made;
  made.is = operand::kind::address;
  expect('[');
  made.parts.push_back(one_operand(depth + 1));
  while (take_if(',')) made.parts.push_back(one_operand(depth + 1));
  expect(']');
  return made;
}

operand reader::list(operand::kind is, char close, size_t depth) {
  operand made;
  made.is = is;
  take();
  if (take_if(close)) return made;
  do made.parts.push_back(one_operand(depth + 1));
  while (take_if(','));
  expect(close);
  return made;
}

operand reader::one_argument(size_t depth) {
  return is_sign('(') ? list(operand::kind::group, ')', depth) : one_operand(depth);
}

operand reader::one_operand(size_t depth) {
  if (depth > deepest_nesting) wrong("too many brackets in each other");
  if (is_sign('[')) return address(depth);
  if (is_sign('{')) return list(operand::kind::vector, '}', depth);
  if (begins_constant()) return constant(depth);
  operand made;
  if (take_if('!')) {
    made = one_operand(depth + 1);
    made.negated = !made.negated;
    return made;
  }
  made.name = word("an operand");
  if (take_if('|')) made.second = word("a second destination");
  if (is_sign('+') || is_sign('-')) made.offset = offset(depth);
  return made;
}

// -- declarations ------------------------------------------------------------------------------------------------------------------

/// What stands before the name of a variable: space, type, alignment and so on.
variable reader::specifiers() {
  variable made;
  while (peek().is == token::kind::directive) {
    const std::string name(take().text);
    if (is_space(name)) {
      // ".param .u64 .ptr .global": where the parameter points to, not where it is.
      if (made.space.empty())
        made.space = name.substr(1, name.find(':') == std::string::npos ? name.size() : name.find(':') - 1);
    } else if (name == ".align") {
      made.align = natural("an alignment");
      if (made.align == 0 || (made.align & (made.align - 1)) != 0 || made.align > 4096) wrong("no such alignment");
    } else if (name == ".v2" || name == ".v4" || name == ".v8") {
      made.vector = static_cast<uint32_t>(name[2] - '0');
    } else if (name == ".extern" || name == ".weak" || name == ".visible" || name == ".common") {
      made.is_extern = made.is_extern || name == ".extern";
      made.is_weak = made.is_weak || name == ".weak" || name == ".common";
      made.is_visible = true;
    } else if (name == ".ptr") {
      continue;
    } else if (name == ".attribute") {
      skip_group();
    } else if (bytes_of_type(std::string_view(name).substr(1)) != 0) {
      made.type = name.substr(1);
    } else {
      --at_;
      wrong("this is not known before a variable");
    }
  }
  return made;
}

void reader::skip_group() {
  expect('(');
  size_t depth = 1;
  while (depth != 0) {
    if (peek().is == token::kind::end) wrong("a ) is missing");
    if (is_sign('(')) ++depth;
    if (is_sign(')')) --depth;
    take();
  }
}

void reader::initial(variable& made, size_t depth) {
  if (depth > deepest_nesting) wrong("too many brackets in each other");
  if (take_if('{')) {
    if (take_if('}')) return;
    do initial(made, depth + 1);
    while (take_if(','));
    return expect('}');
  }
  initial_value one;
  if (peek().is == token::kind::word && peek().text == "generic") {
    take();
    expect('(');
    one.generic = true;
    one.value = one_operand();
    expect(')');
    one.value.offset += offset(depth);
  } else if (peek().is == token::kind::number && is_sign('(', 1)) {
    // 0xFF(name): one byte of an address.
    wrong("a byte of an address as an initial value is not simulated");
  } else {
    one.value = one_operand();
  }
  made.values.push_back(std::move(one));
}

/// The name and what follows it, of one variable.
variable reader::declarator(const variable& before) {
  variable made = before;
  made.name = word("a name");
  if (take_if('<')) {
    const uint64_t count = natural("a count of registers");
    if (count > most_registers) wrong("too many registers");
    made.registers = static_cast<uint32_t>(count);
    expect('>');
  }
  while (take_if('[')) {
    made.is_array = true;
    uint64_t count = 0;
    if (!is_sign(']')) {
      const operand length = constant(0);
      if (length.is != operand::kind::integer) wrong("a length is no integer");
      count = length.bits;
    }
    expect(']');
    if (count != 0 && made.elements > largest_variable_bytes / count) wrong("this variable is too large");
    made.elements *= count;
  }
  if (made.type.empty()) wrong("a variable without a type");
  if (take_if('=')) initial(made);
  return made;
}

/// Up to the semicolon; one for each name.
std::vector<variable> reader::declaration() {
  const variable before = specifiers();
  std::vector<variable> made;
  do made.push_back(declarator(before));
  while (take_if(','));
  expect(';');
  return made;
}

std::vector<variable> reader::parameters(const char* names_missing) {
  std::vector<variable> made;
  expect('(');
  if (take_if(')')) return made;
  do {
    variable one = specifiers();
    // Of a prototype, "_".
    if (peek().is == token::kind::word) one = declarator(one);
    if (one.type.empty()) wrong(names_missing);
    made.push_back(std::move(one));
  } while (take_if(','));
  expect(')');
  return made;
}

}  // namespace heddle::ptx
