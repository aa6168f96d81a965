#include "inline_ptx.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "gcn_assembly.h"
#include "ptx/table.h"
#include "ptx/translate.h"
#include "tokens.h"

namespace heddle::rewrite {
namespace {

/// Names of PTX that are not simulated, by which its text is known all the same.
constexpr const char* other_names[] = {"cp",       "mbarrier", "multimem",     "mma",  "wmma",       "wgmma",
                                       "ldmatrix", "stmatrix", "tex",          "tld4", "suld",       "sust",
                                       "sured",    "tcgen05",  "createpolicy", "mapa", "getctarank", "alloca",
                                       "discard",  "istypep",  "txq"};

struct asm_operand {
  std::string constraint;
  std::string expression;
};

struct asm_statement {
  size_t end = 0;  ///< the closing bracket
  std::string text;
  std::vector<asm_operand> outputs;
  std::vector<asm_operand> inputs;
  bool is_extended = false;
};

/// What a string literal means.
std::string decoded(std::string_view literal) {
  if (const size_t raw = literal.find("R\""); raw != std::string_view::npos && raw < 3) {
    const size_t open = literal.find('(');
    const size_t close = literal.rfind(')');
    return std::string(literal.substr(open + 1, close - open - 1));
  }
  std::string made;
  const size_t begin = literal.find('"') + 1;
  for (size_t n = begin; n + 1 < literal.size(); ++n) {
    if (literal[n] != '\\') {
      made += literal[n];
      continue;
    }
    const char c = literal[++n];
    made += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
  }
  return made;
}

class asm_reader {
 public:
  explicit asm_reader(std::string_view text) : text_(text), tokens_(text) {}

  inlined run() {
    size_t copied = 0;
    for (size_t n = 0; n < tokens_.size(); ++n) {
      if (!tokens_.is(n, "asm") && !tokens_.is(n, "__asm__") && !tokens_.is(n, "__asm")) continue;
      const std::optional<asm_statement> found = statement_at(n);
      if (!found) continue;
      const std::string replacement = is_ptx(found->text) ? replaced(*found, n) : replaced_gcn(*found, n);
      if (replacement.empty()) continue;
      made_.text += text_.substr(copied, tokens_[n].begin - copied);
      made_.text += replacement;
      copied = tokens_[found->end].end;
      // Line ends and markers in between stay.
      made_.text += lines_between(tokens_[n].begin, copied);
      n = found->end;
    }
    made_.text += text_.substr(copied);
    return std::move(made_);
  }

 private:
  std::string lines_between(size_t begin, size_t end) const {
    std::string kept;
    for (size_t at = text_.find('\n', begin); at < end; at = text_.find('\n', at + 1)) {
      kept += '\n';
      if (at + 1 >= end || text_[at + 1] != '#') continue;
      kept += text_.substr(at + 1, text_.find('\n', at + 1) - at - 1);
    }
    return kept;
  }

  /// None where it is something else, such as the name of a function in assembly.
  std::optional<asm_statement> statement_at(size_t n) const {
    size_t open = n + 1;
    while (tokens_.is(open, "volatile") || tokens_.is(open, "__volatile__") || tokens_.is(open, "__volatile")) ++open;
    if (!tokens_.is(open, "(") || tokens_.match(open) == token_list::none) return std::nullopt;
    asm_statement made;
    made.end = tokens_.match(open);
    size_t at = open + 1;
    while (at < made.end && tokens_[at].kind == token_kind::literal) made.text += decoded(tokens_.text_of(at++));
    if (at == open + 1) return std::nullopt;
    std::vector<asm_operand>* const lists[] = {&made.outputs, &made.inputs};
    for (std::vector<asm_operand>* const list : lists) {
      if (!tokens_.is(at, ":")) break;
      made.is_extended = true;
      ++at;
      while (at < made.end && tokens_[at].kind == token_kind::literal) {
        std::string constraint;
        while (at < made.end && tokens_[at].kind == token_kind::literal) constraint += decoded(tokens_.text_of(at++));
        const size_t close = tokens_.is(at, "(") ? tokens_.match(at) : token_list::none;
        if (close == token_list::none) return std::nullopt;
        list->push_back(
            {constraint, std::string(text_.substr(tokens_[at].begin, tokens_[close].end - tokens_[at].begin))});
        at = close + 1;
        if (tokens_.is(at, ",")) ++at;
      }
    }
    made.is_extended = made.is_extended || tokens_.is(at, ":");
    return made;
  }

  /// Whether some instruction of it is one of PTX by its name: of two parts, or one of those that have but one.
  static bool is_ptx(const std::string& text) {
    const auto is_letter = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '%';
    };
    for (size_t at = 0; at < text.size();) {
      if (!is_letter(text[at])) {
        ++at;
        continue;
      }
      size_t end = at;
      while (end < text.size() && is_letter(text[end])) ++end;
      const std::string word = text.substr(at, end - at);
      const bool has_dot = end < text.size() && text[end] == '.';
      const bool is_directive = at > 0 && text[at - 1] == '.';
      const auto is_word = [&](const auto& name) { return word == name; };
      const bool is_named = std::any_of(ptx::table().begin(), ptx::table().end(),
                                        [&](const ptx::row& row) { return word == row.name; }) ||
                            std::any_of(std::begin(other_names), std::end(other_names), is_word);
      if (!is_directive && is_named && (has_dot || word == "trap" || word == "exit" || word == "brkpt")) return true;
      at = end;
    }
    return false;
  }

  static std::string type_of(const std::string& constraint) {
    for (const char c : constraint) {
      if (c == 'h') return "b16";
      if (c == 'r') return "b32";
      if (c == 'l') return "b64";
      if (c == 'f') return "f32";
      if (c == 'd') return "f64";
      if (c == 'q') return "b128";
      if (c == 'n') return "b64";
    }
    return {};
  }

  /// The text with names in the place of %0, %1 and so on; `%%` is one of them.
  std::string named(const asm_statement& what) {
    if (!what.is_extended) return what.text;
    std::string made;
    for (size_t n = 0; n < what.text.size(); ++n) {
      if (what.text[n] != '%' || n + 1 == what.text.size()) {
        made += what.text[n];
      } else if (what.text[n + 1] == '%') {
        made += what.text[++n];
      } else if (what.text[n + 1] == '=') {
        made += std::to_string(number_);
        ++n;
      } else if (std::isdigit(static_cast<unsigned char>(what.text[n + 1])) != 0) {
        made += "%operand";
      } else {
        made += '%';
      }
    }
    return made;
  }

  std::string replaced(const asm_statement& what, size_t n) {
    ++number_;
    std::string before = "do { ";
    std::string behind;
    std::vector<ptx::asm_register> registers;
    const auto add = [&](const asm_operand& one, bool is_output) {
      const std::string name = "heddle_asm_" + std::to_string(registers.size());
      const std::string type = type_of(one.constraint);
      if (type.empty()) {
        wrong(n, "the constraint \"" + one.constraint + "\" is none of PTX: h, r, l, f, d, q and n are");
        return;
      }
      const std::string word = ptx::register_type(type);
      const bool reads = !is_output || one.constraint.find('+') != std::string::npos;
      if (is_output) {
        before += "auto&& " + name + "_of = " + one.expression + "; ";
        behind += "::heddle::ptx::asm_out<" + word + ">(" + name + "_of, " + name + "); ";
      }
      const std::string value = is_output ? name + "_of" : one.expression;
      before += "[[maybe_unused]] " + word + " " + name + " = " +
                (reads ? "::heddle::ptx::asm_in<" + word + ">(" + value + ")" : std::string("0")) + "; ";
      registers.push_back({name, type});
    };
    for (const asm_operand& one : what.outputs) add(one, true);
    for (const asm_operand& one : what.inputs) add(one, false);
    const ptx::translation made = ptx::translate_asm(named(what), registers, number_);
    // Headers have more than a program runs.
    for (const std::string& error : made.errors)
      made_.warnings.push_back(place_of(n) + ": warning: inline PTX: " + error + "; a run that comes to it ends there");
    const std::string does =
        made.errors.empty()
            ? "using namespace ::heddle::ptx; " + names_of_calls(made.text) + made.text
            : "::heddle::sim::runtime::refuse_call(\"inline PTX\", \"" + quoted(made.errors[0]) + "\"); ";
    return before + "{ " + does + "} " + behind + "} while (false)";
  }

  /// Empty where it is none of AMD's GPUs either.
  std::string replaced_gcn(const asm_statement& what, size_t n) {
    std::string unknown;
    const std::optional<std::string> made = gcn_assembly(what.text, unknown);
    if (!unknown.empty())
      made_.warnings.push_back(place_of(n) + ": warning: assembly of AMD's GPUs: `" + unknown +
                               "`: not simulated; a run that comes to it ends there");
    return made.value_or("");
  }

  /// Declares what the text calls: a function of the program may have the same name.
  static std::string names_of_calls(const std::string& text) {
    std::set<std::string> called;
    for (size_t open = text.find('<'); open != std::string::npos; open = text.find('<', open + 1)) {
      size_t begin = open;
      while (begin > 0 && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) != 0 || text[begin - 1] == '_'))
        --begin;
      const std::string name = text.substr(begin, open - begin);
      const bool is_one = name == "ld" || name == "st" || name == "atom" || name == "red" || name.starts_with("i_") ||
                          name.starts_with("multimem_");
      if (is_one && (begin == 0 || text[begin - 1] != ':')) called.insert(name);
    }
    std::string made;
    for (const std::string& name : called) made += "using ::heddle::ptx::" + name + "; ";
    return made;
  }

  static std::string quoted(const std::string& text) {
    std::string made;
    for (const char c : text) made += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return made;
  }

  std::string place_of(size_t n) const {
    const auto [file, line] = tokens_.place_of(tokens_[n].begin);
    return file + ":" + std::to_string(line);
  }

  void wrong(size_t n, const std::string& what) {
    made_.errors.push_back(place_of(n) + ": error: inline PTX: " + what);
  }

  std::string_view text_;
  token_list tokens_;
  inlined made_;
  size_t number_ = 0;
};

}  // namespace

inlined inline_ptx(std::string_view preprocessed) {
  if (preprocessed.find("asm") == std::string_view::npos) return {std::string(preprocessed), {}, {}};
  return asm_reader(preprocessed).run();
}

}  // namespace heddle::rewrite
