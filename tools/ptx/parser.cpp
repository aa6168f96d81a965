#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "lexer.h"
#include "module.h"

namespace heddle::ptx {

uint32_t bytes_of_type(std::string_view type) {
  if (type == "pred") return 1;
  if (type == "f16x2" || type == "bf16x2" || type == "s16x2" || type == "u16x2") return 4;
  if (type == "bf16") return 2;
  if (type == "b128") return 16;
  if (type.size() < 2 || type.size() > 3 || std::string_view("busf").find(type[0]) == std::string_view::npos) return 0;
  const std::string_view bits = type.substr(1);
  const uint32_t bytes = bits == "8" ? 1 : bits == "16" ? 2 : bits == "32" ? 4 : bits == "64" ? 8 : 0;
  return type[0] == 'f' && bytes == 1 ? 0 : bytes;
}

uint64_t variable::element_bytes() const { return bytes_of_type(type); }

namespace {

/// As many as any compiler writes; more is a text that was made to hurt.
constexpr size_t deepest_nesting = 64;
constexpr uint64_t largest_variable_bytes = uint64_t{1} << 32;
constexpr uint64_t most_registers = 1 << 20;

bool is_space(std::string_view word) {
  for (const std::string_view space : {".reg", ".global", ".const", ".shared", ".local", ".param", ".sreg"})
    if (word == space || (word.starts_with(space) && word.substr(space.size()).starts_with("::"))) return true;
  return false;
}

class parser {
 public:
  explicit parser(std::string_view text) : tokens_(tokens_of(text)) {}

  module file() {
    while (peek().is != token::kind::end) top_level();
    if (made_.version.empty()) throw error{1, "this is no PTX: a file begins with .version"};
    return std::move(made_);
  }

  std::vector<statement> statements() {
    while (peek().is != token::kind::end) body_statement(0);
    return std::move(body_);
  }

 private:
  // -- tokens ------------------------------------------------------------------------------------------------------------------------

  const token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const token& take() { return tokens_[at_ < tokens_.size() - 1 ? at_++ : at_]; }
  bool is_sign(char c, size_t ahead = 0) const {
    return peek(ahead).is == token::kind::sign && peek(ahead).text[0] == c;
  }
  bool is_directive(std::string_view name) const {
    return peek().is == token::kind::directive && peek().text == name;
  }
  bool take_if(char c) {
    if (!is_sign(c)) return false;
    take();
    return true;
  }
  [[noreturn]] void wrong(const std::string& what) const {
    const token& here = peek();
    throw error{here.line,
                what + (here.is == token::kind::end ? ", at the end of the text"
                                                    : ", at \"" + std::string(here.text.substr(0, 60)) + "\"")};
  }
  void expect(char c) {
    if (!take_if(c)) wrong(std::string("a ") + c + " is missing");
  }
  std::string word(const char* what) {
    if (peek().is != token::kind::word) wrong(std::string(what) + " is missing");
    return std::string(take().text);
  }
  uint64_t natural(const char* what) {
    if (peek().is != token::kind::number) wrong(std::string(what) + " is missing");
    const operand found = number();
    if (found.is != operand::kind::integer) wrong(std::string(what) + " is no integer");
    return found.bits;
  }

  operand number() {
    std::string written(take().text);
    operand made;
    const auto is_float = [&](char letter, size_t digits) {
      return written.size() == digits + 2 && written[0] == '0' && (written[1] | 0x20) == letter;
    };
    char* end = nullptr;
    if (is_float('f', 8) || is_float('d', 16)) {
      made.is = is_float('f', 8) ? operand::kind::single : operand::kind::real;
      made.bits = std::strtoull(written.c_str() + 2, &end, 16);
    } else if (written.find('.') != std::string::npos ||
               (written.find_first_of("eE") != std::string::npos && written.find_first_of("xX") == std::string::npos)) {
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

  /// A sum of integers, as an offset; signs in front.
  int64_t offset() {
    int64_t sum = 0;
    while (is_sign('+') || is_sign('-')) {
      bool minus = false;
      while (is_sign('+') || is_sign('-')) minus = (take().text[0] == '-') != minus;
      const auto value = static_cast<int64_t>(natural("an offset"));
      sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(minus ? -value : value));
    }
    return sum;
  }

  operand address() {
    operand made;
    made.is = operand::kind::address;
    expect('[');
    made.parts.push_back(one_operand(1));
    made.offset = made.parts[0].is == operand::kind::name ? offset() : 0;
    while (take_if(',')) made.parts.push_back(one_operand(1));
    expect(']');
    return made;
  }

  operand list(operand::kind is, char close, size_t depth) {
    operand made;
    made.is = is;
    take();
    if (take_if(close)) return made;
    do made.parts.push_back(one_operand(depth + 1));
    while (take_if(','));
    expect(close);
    return made;
  }

  operand one_operand(size_t depth = 0) {
    if (depth > deepest_nesting) wrong("too many brackets in each other");
    if (is_sign('[')) return address();
    if (is_sign('{')) return list(operand::kind::vector, '}', depth);
    if (is_sign('(')) return list(operand::kind::group, ')', depth);
    operand made;
    if (take_if('!')) {
      made = one_operand(depth + 1);
      made.negated = !made.negated;
      return made;
    }
    if (is_sign('-') || is_sign('+') || is_sign('~')) {
      const char sign = take().text[0];
      made = one_operand(depth + 1);
      if (made.is == operand::kind::integer)
        made.bits = sign == '-' ? 0 - made.bits : sign == '~' ? ~made.bits : made.bits;
      else if (made.is == operand::kind::real && sign == '-')
        made.bits ^= uint64_t{1} << 63;
      else if (made.is == operand::kind::single && sign == '-')
        made.bits ^= uint64_t{1} << 31;
      else if (sign != '+')
        wrong("a sign before what is no number");
      return made;
    }
    if (peek().is == token::kind::number) return number();
    made.name = word("an operand");
    if (take_if('|')) made.second = word("a second destination");
    if (is_sign('+') || is_sign('-')) made.offset = offset();
    return made;
  }

  // -- declarations ------------------------------------------------------------------------------------------------------------------

  /// What stands before the name of a variable: space, type, alignment and so on.
  variable specifiers(variable made) {
    while (peek().is == token::kind::directive) {
      const std::string name(take().text);
      if (is_space(name)) {
        // ".param .u64 .ptr .global": where the parameter points to, not where it is.
        if (made.space.empty()) made.space = name.substr(1, name.find(':') == std::string::npos ? name.size() : name.find(':') - 1);
      } else if (name == ".align") {
        made.align = natural("an alignment");
        if (made.align == 0 || (made.align & (made.align - 1)) != 0 || made.align > 4096) wrong("no such alignment");
      } else if (name == ".v2" || name == ".v4" || name == ".v8") {
        made.vector = static_cast<uint32_t>(name[2] - '0');
      } else if (name == ".extern" || name == ".weak" || name == ".visible" || name == ".common") {
        made.is_extern = made.is_extern || name == ".extern";
        made.is_weak = made.is_weak || name == ".weak" || name == ".common";
      } else if (name == ".ptr") {
        continue;
      } else if (name == ".attribute") {
        one_operand_group();
      } else if (bytes_of_type(std::string_view(name).substr(1)) != 0) {
        made.type = name.substr(1);
      } else {
        --at_;
        wrong("this is not known before a variable");
      }
    }
    return made;
  }

  void one_operand_group() {
    expect('(');
    size_t depth = 1;
    while (depth != 0) {
      if (peek().is == token::kind::end) wrong("a ) is missing");
      if (is_sign('(')) ++depth;
      if (is_sign(')')) --depth;
      take();
    }
  }

  void initial(variable& made, size_t depth = 0) {
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
      one.value.offset += offset();
    } else if (peek().is == token::kind::number && is_sign('(', 1)) {
      // 0xFF(name): one byte of an address.
      wrong("a byte of an address as an initial value is not simulated");
    } else {
      one.value = one_operand();
    }
    made.values.push_back(std::move(one));
  }

  /// The name and what follows it, of one variable.
  variable declarator(const variable& before) {
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
      if (!is_sign(']')) count = natural("a length");
      expect(']');
      if (count > largest_variable_bytes) wrong("this variable is too large");
      made.elements *= count;
      if (made.elements > largest_variable_bytes) wrong("this variable is too large");
    }
    if (made.type.empty()) wrong("a variable without a type");
    if (take_if('=')) initial(made);
    return made;
  }

  /// Up to the semicolon; one for each name.
  std::vector<variable> declaration() {
    const variable before = specifiers({});
    std::vector<variable> made;
    do made.push_back(declarator(before));
    while (take_if(','));
    expect(';');
    return made;
  }

  std::vector<variable> parameters(const char* names_missing) {
    std::vector<variable> made;
    expect('(');
    if (take_if(')')) return made;
    do {
      variable one = specifiers({});
      // Of a prototype, "_".
      if (peek().is == token::kind::word) one = declarator(one);
      if (one.type.empty()) wrong(names_missing);
      made.push_back(std::move(one));
    } while (take_if(','));
    expect(')');
    return made;
  }

  // -- the file ----------------------------------------------------------------------------------------------------------------------

  void skip_braces() {
    if (!take_if('{')) return;
    for (size_t depth = 1; depth != 0; take()) {
      if (peek().is == token::kind::end) wrong("a } is missing");
      if (is_sign('{')) ++depth;
      if (is_sign('}')) --depth;
    }
  }

  void file_name() {
    take();
    const uint64_t number_of_file = natural("the number of a file");
    if (peek().is != token::kind::text) wrong("the name of a file is missing");
    made_.files[static_cast<uint32_t>(number_of_file)] = std::string(take().text);
    while (take_if(',')) natural("a number");
  }

  void top_level() {
    if (is_directive(".version")) {
      take();
      if (peek().is != token::kind::number) wrong("a version is missing");
      made_.version = std::string(take().text);
    } else if (is_directive(".target")) {
      take();
      made_.target = word("a target");
      while (take_if(',')) word("a target");
    } else if (is_directive(".address_size")) {
      take();
      if (natural("a size of addresses") != 64) wrong("only addresses of 64 bits are simulated");
    } else if (is_directive(".file")) {
      file_name();
    } else if (is_directive(".section")) {
      take();
      take();
      skip_braces();
    } else if (is_directive(".pragma")) {
      take();
      take();
      expect(';');
    } else if (is_directive(".loc")) {
      loc();
    } else if (is_directive(".alias")) {
      take();
      const std::string name = word("a name");
      expect(',');
      made_.aliases[name] = word("a name");
      expect(';');
    } else if (peek().is == token::kind::directive) {
      variable_or_function();
    } else if (is_sign(';')) {
      take();
    } else {
      wrong("this is no PTX");
    }
  }

  void variable_or_function() {
    function made;
    made.line = peek().line;
    const size_t begin = at_;
    while (is_directive(".visible") || is_directive(".extern") || is_directive(".weak") || is_directive(".common") ||
           is_directive(".attribute")) {
      if (is_directive(".attribute")) {
        take();
        one_operand_group();
        continue;
      }
      made.is_weak = made.is_weak || is_directive(".weak");
      made.is_visible = made.is_visible || !is_directive(".common");
      take();
    }
    if (is_directive(".entry") || is_directive(".func")) return function_definition(std::move(made));
    at_ = begin;
    for (variable& one : declaration()) {
      if (one.space.empty()) wrong("a variable without a state space");
      made_.variables.push_back(std::move(one));
    }
  }

  void function_definition(function made) {
    made.is_entry = take().text == ".entry";
    while (is_directive(".attribute")) {
      take();
      one_operand_group();
    }
    if (!made.is_entry && is_sign('(')) made.returns = parameters("a type is missing");
    made.name = word("the name of a function");
    if (is_sign('(')) made.parameters = parameters("a type is missing");
    while (peek().is == token::kind::directive) {
      const std::string_view name = take().text;
      if (name == ".reqnctapercluster" || name == ".maxclusterrank") cluster_ = true;
      if (name == ".pragma") {
        take();
        expect(';');
        continue;
      }
      while (peek().is == token::kind::number || is_sign(',')) {
        if (name == ".reqnctapercluster" && peek().is == token::kind::number && peek().text != "1")
          wrong("clusters of several blocks are not simulated");
        take();
      }
    }
    if (take_if('{')) {
      made.has_body = true;
      body_.clear();
      calls_.clear();
      here_ = {};
      size_t depth = 1;
      while (depth != 0) {
        if (peek().is == token::kind::end) wrong("a } is missing");
        if (is_sign('}') && depth == 1) break;
        depth = body_statement(depth);
      }
      take();
      made.body = std::move(body_);
      body_.clear();
    } else {
      expect(';');
    }
    made_.functions.push_back(std::move(made));
  }

  // -- bodies ------------------------------------------------------------------------------------------------------------------------

  statement& add(statement::kind is) {
    statement made;
    made.is = is;
    made.line = peek().line;
    made.source = here_;
    body_.push_back(std::move(made));
    return body_.back();
  }

  /// Returns how many braces are open behind it.
  size_t body_statement(size_t depth) {
    if (is_sign('{')) {
      add(statement::kind::open);
      take();
      if (depth + 1 > deepest_nesting) wrong("too many braces in each other");
      return depth + 1;
    }
    if (is_sign('}')) {
      if (depth == 0) wrong("a } without a {");
      add(statement::kind::close);
      take();
      return depth - 1;
    }
    if (take_if(';')) return depth;
    if (peek().is == token::kind::directive)
      body_directive();
    else if (peek().is == token::kind::word && is_sign(':', 1))
      label();
    else
      an_instruction();
    return depth;
  }

  void body_directive() {
    if (is_directive(".loc")) return loc();
    if (is_directive(".file")) return file_name();
    if (is_directive(".pragma")) {
      take();
      take();
      return expect(';');
    }
    const size_t line = peek().line;
    for (variable& one : declaration()) {
      if (one.space.empty()) wrong("a variable without a state space");
      statement& made = add(statement::kind::variable);
      made.line = line;
      made.declared = std::move(one);
    }
  }

  void label() {
    const std::string name = word("a label");
    expect(':');
    if (is_directive(".branchtargets")) {
      statement& made = add(statement::kind::targets);
      made.label = name;
      take();
      std::vector<std::string> targets;
      do targets.push_back(word("a label"));
      while (take_if(','));
      expect(';');
      body_.back().targets = std::move(targets);
    } else if (is_directive(".callprototype")) {
      statement made = add(statement::kind::prototype);
      made.label = name;
      take();
      if (is_sign('(')) made.returns = parameters("a type is missing");
      if (peek().is == token::kind::word) word("a name");
      if (is_sign('(')) made.parameters = parameters("a type is missing");
      while (!is_sign(';') && peek().is != token::kind::end) take();
      expect(';');
      body_.back() = std::move(made);
    } else {
      add(statement::kind::label).label = name;
    }
  }

  void an_instruction() {
    statement made = add(statement::kind::instruction);
    if (take_if('@')) {
      made.what.guard_negated = take_if('!');
      made.what.guard = word("a predicate");
    }
    std::string opcode = word("an instruction");
    for (size_t dot = 0; dot != std::string::npos;) {
      const size_t next = opcode.find('.', dot);
      const std::string part = opcode.substr(dot, next == std::string::npos ? next : next - dot);
      if (dot == 0)
        made.what.name = part;
      else
        made.what.modifiers.push_back(part);
      dot = next == std::string::npos ? next : next + 1;
    }
    if (!is_sign(';')) {
      do made.what.operands.push_back(one_operand());
      while (take_if(','));
    }
    expect(';');
    body_.back() = std::move(made);
  }

  /// .loc FILE LINE COLUMN, function_name LABEL + NUMBER, inlined_at FILE LINE COLUMN: of a chain of inlined calls, the
  /// innermost line that is not the CUDA toolkit's.
  void loc() {
    take();
    place found;
    found.file = static_cast<uint32_t>(natural("a file"));
    found.line = static_cast<uint32_t>(natural("a line"));
    if (peek().is == token::kind::number) found.column = static_cast<uint32_t>(natural("a column"));
    while (take_if(',')) {
      const std::string what = word("an attribute of a line");
      if (what == "function_name") {
        if (peek().is == token::kind::word) one_operand();
      } else if (what == "inlined_at") {
        place outer;
        outer.file = static_cast<uint32_t>(natural("a file"));
        outer.line = static_cast<uint32_t>(natural("a line"));
        outer.column = static_cast<uint32_t>(natural("a column"));
        calls_[found] = outer;
      }
    }
    here_ = {found.file, found.line};
    chains_of_ = found;
    remember_chain(found);
  }

  struct place {
    uint32_t file = 0, line = 0, column = 0;
    auto operator<=>(const place&) const = default;
  };

  /// Files are named behind the functions: which line is a person's own is decided there (outermost_user_line()). Until then
  /// the chain is kept as a number of its own behind the real files'.
  void remember_chain(place from) {
    std::vector<location> chain = {{from.file, from.line}};
    for (size_t n = 0; n < deepest_nesting; ++n) {
      const auto outer = calls_.find(from);
      if (outer == calls_.end()) break;
      from = outer->second;
      chain.push_back({from.file, from.line});
    }
    if (chain.size() == 1) return;
    inlined.push_back(std::move(chain));
    here_ = {first_chain + static_cast<uint32_t>(inlined.size() - 1), 0};
  }

 public:
  static constexpr uint32_t first_chain = 1U << 30;
  std::vector<std::vector<location>> inlined;

 private:
  std::vector<token> tokens_;
  size_t at_ = 0;
  module made_;
  std::vector<statement> body_;
  location here_;
  place chains_of_;
  std::map<place, place> calls_;
  bool cluster_ = false;
};

bool is_toolkit(const std::string& file) {
  return file.find("/targets/x86_64-linux/include/") != std::string::npos ||
         file.find("/include/cccl/") != std::string::npos || file.find("/include/crt/") != std::string::npos ||
         (file.find("cuda") != std::string::npos && file.find("/include/") != std::string::npos &&
          file.starts_with("/usr/"));
}

/// Puts lines of files in the place of chains of calls.
void resolve_chains(module& made, const std::vector<std::vector<location>>& chains) {
  for (function& one : made.functions)
    for (statement& each : one.body) {
      if (each.source.file < parser::first_chain) continue;
      const std::vector<location>& chain = chains[each.source.file - parser::first_chain];
      each.source = chain.front();
      for (const location& here : chain) {
        const auto file = made.files.find(here.file);
        if (file == made.files.end() || is_toolkit(file->second)) continue;
        each.source = here;
        break;
      }
    }
}

}  // namespace

parsed parse(std::string_view text) {
  try {
    parser one(text);
    parsed found = {one.file(), std::nullopt};
    resolve_chains(found.made, one.inlined);
    return found;
  } catch (const error& wrong) {
    return {{}, wrong};
  }
}

parsed_statements parse_statements(std::string_view text) {
  try {
    return {parser(text).statements(), std::nullopt};
  } catch (const error& wrong) {
    return {{}, wrong};
  }
}

}  // namespace heddle::ptx
