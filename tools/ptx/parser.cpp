#include <map>

#include "reader.h"

namespace heddle::ptx {

uint32_t bytes_of_type(std::string_view type) {
  if (type == "pred") return 1;
  if (type == "f16x2" || type == "bf16x2" || type == "s16x2" || type == "u16x2") return 4;
  if (type == "bf16" || type == "e4m3x2" || type == "e5m2x2") return 2;
  if (type == "b128") return 16;
  if (type.size() < 2 || type.size() > 3 || std::string_view("busf").find(type[0]) == std::string_view::npos) return 0;
  const std::string_view bits = type.substr(1);
  const uint32_t bytes = bits == "8" ? 1 : bits == "16" ? 2 : bits == "32" ? 4 : bits == "64" ? 8 : 0;
  return type[0] == 'f' && bytes == 1 ? 0 : bytes;
}

uint64_t variable::element_bytes() const { return bytes_of_type(type); }

namespace {

class parser : private reader {
 public:
  explicit parser(std::string_view text) : reader(text) {}

  module file() {
    while (peek().is != token::kind::end) top_level();
    if (made_.version.empty()) throw error{1, "this is no PTX: a file begins with .version"};
    return std::move(made_);
  }

  std::vector<statement> statements() {
    size_t depth = 0;
    while (peek().is != token::kind::end) depth = body_statement(depth);
    if (depth != 0) wrong("a } is missing");
    return std::move(body_);
  }

 private:
  // -- the file ----------------------------------------------------------------------------------------------------------------------

  void skip_braces() {
    if (!take_if('{')) return;
    for (size_t depth = 1; depth != 0; take()) {
      if (peek().is == token::kind::end) wrong("a } is missing");
      if (is_sign('{')) ++depth;
      if (is_sign('}')) --depth;
    }
  }

  /// Chains of calls have the numbers behind those of files (remember_chain()).
  uint32_t number_of_file() {
    const uint64_t number = natural("the number of a file");
    if (number >= first_chain) wrong("there are not so many files");
    return static_cast<uint32_t>(number);
  }

  void file_name() {
    take();
    const uint32_t number = number_of_file();
    if (peek().is != token::kind::text) wrong("the name of a file is missing");
    made_.files[number] = std::string(take().text);
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
    const size_t begin = place();
    while (is_directive(".visible") || is_directive(".extern") || is_directive(".weak") || is_directive(".common") ||
           is_directive(".attribute")) {
      if (is_directive(".attribute")) {
        take();
        skip_group();
        continue;
      }
      made.is_weak = made.is_weak || is_directive(".weak");
      made.is_visible = made.is_visible || !is_directive(".common");
      take();
    }
    if (is_directive(".entry") || is_directive(".func")) return function_definition(std::move(made));
    back_to(begin);
    for (variable& one : declaration()) {
      if (one.space.empty()) wrong("a variable without a state space");
      made_.variables.push_back(std::move(one));
    }
  }

  void function_definition(function made) {
    made.is_entry = take().text == ".entry";
    while (is_directive(".attribute")) {
      take();
      skip_group();
    }
    if (!made.is_entry && is_sign('(')) made.returns = parameters("a type is missing");
    made.name = word("the name of a function");
    if (is_sign('(')) made.parameters = parameters("a type is missing");
    while (peek().is == token::kind::directive) {
      const std::string_view name = take().text;
      if (name == ".pragma") {
        take();
        expect(';');
        continue;
      }
      while (peek().is == token::kind::number || is_sign(',')) {
        std::string* const list = name == ".reqnctapercluster" ? &made.cluster
                                  : name == ".maxntid"         ? &made.maxntid
                                  : name == ".reqntid"         ? &made.reqntid
                                                               : nullptr;
        if (list != nullptr && peek().is == token::kind::number)
          *list += (list->empty() ? "" : ", ") + std::string(peek().text);
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
      const bool calls = made.what.name == "call";
      do made.what.operands.push_back(calls ? one_argument() : one_operand());
      while (take_if(','));
    }
    expect(';');
    body_.back() = std::move(made);
  }

  /// .loc FILE LINE COLUMN, function_name LABEL + NUMBER, inlined_at FILE LINE COLUMN: of a chain of inlined calls, the
  /// innermost line that is not the CUDA toolkit's.
  void loc() {
    take();
    inlined_place found;
    found.file = number_of_file();
    found.line = static_cast<uint32_t>(natural("a line"));
    if (peek().is == token::kind::number) found.column = static_cast<uint32_t>(natural("a column"));
    while (take_if(',')) {
      const std::string what = word("an attribute of a line");
      if (what == "function_name") {
        if (peek().is == token::kind::word) one_operand();
      } else if (what == "inlined_at") {
        inlined_place outer;
        outer.file = number_of_file();
        outer.line = static_cast<uint32_t>(natural("a line"));
        outer.column = static_cast<uint32_t>(natural("a column"));
        calls_[found] = outer;
      }
    }
    here_ = {found.file, found.line};
    remember_chain(found);
  }

  struct inlined_place {
    uint32_t file = 0, line = 0, column = 0;
    auto operator<=>(const inlined_place&) const = default;
  };

  /// Files are named behind the functions: which line is a person's own is decided at the end (resolve_chains()). Until then
  /// the chain is kept as a number of its own behind the real files'.
  void remember_chain(inlined_place from) {
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
  module made_;
  std::vector<statement> body_;
  location here_;
  std::map<inlined_place, inlined_place> calls_;
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
