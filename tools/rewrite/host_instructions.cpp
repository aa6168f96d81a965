#include "host_instructions.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "host_accesses.h"
#include "tokens.h"

namespace heddle::rewrite {
namespace {

constexpr std::string_view full_fence = "__atomic_thread_fence(5)";
constexpr std::string_view load_fence = "__atomic_thread_fence(2)";
constexpr std::string_view store_fence = "heddle_x86_sfence()";
constexpr std::string_view look_at_clock = "heddle_x86_rdtsc()";

struct builtin {
  std::string_view name;
  std::string_view instead;
};
/// Without arguments.
constexpr std::array<builtin, 4> plain_builtins = {{{"__builtin_ia32_rdtsc", look_at_clock},
                                                    {"__builtin_ia32_mfence", full_fence},
                                                    {"__builtin_ia32_lfence", load_fence},
                                                    {"__builtin_ia32_sfence", store_fence}}};

struct stream_builtin {
  std::string_view name;
  std::string_view value;
  size_t vector_bytes = 0;  ///< of the value; 0: no vector
};
constexpr std::array<stream_builtin, 8> streams = {{{"__builtin_ia32_movnti", "int"},
                                                    {"__builtin_ia32_movnti64", "long long"},
                                                    {"__builtin_ia32_movntdq", "long long", 16},
                                                    {"__builtin_ia32_movntps", "float", 16},
                                                    {"__builtin_ia32_movntpd", "double", 16},
                                                    {"__builtin_ia32_movntdq256", "long long", 32},
                                                    {"__builtin_ia32_movntps256", "float", 32},
                                                    {"__builtin_ia32_movntpd256", "double", 32}}};

/// The text of an asm statement in lower case, its instructions divided by one ';' each and its words by one blank.
std::string normal(std::string_view text) {
  std::string made;
  for (const char c : text) {
    const bool ends = c == ';' || c == '\n';
    const char next = ends ? ';' : std::isspace(static_cast<unsigned char>(c)) != 0 ? ' ' : c;
    const bool is_between = next == ' ' || next == ';';
    if (is_between && (made.empty() || made.back() == ';')) continue;
    if (next == ';' && made.back() == ' ') made.pop_back();
    if (next == ' ' && made.back() == ' ') continue;
    made += static_cast<char>(std::tolower(static_cast<unsigned char>(next)));
  }
  while (!made.empty() && (made.back() == ';' || made.back() == ' ')) made.pop_back();
  return made;
}

/// `lock; addl $0,0(%%rsp)`, by which many a program has a full fence.
bool is_locked_nothing(std::string text) {
  std::replace(text.begin(), text.end(), ';', ' ');
  std::erase(text, ' ');
  if (!text.starts_with("lock") || !(text.ends_with("sp)") || text.ends_with("sp]"))) return false;
  text.erase(0, 4);
  const bool changes = text.starts_with("add") || text.starts_with("or");
  return changes && (text.find("$0,") != std::string::npos || text.find("$0x0,") != std::string::npos);
}

std::optional<std::string_view> instead_of(const std::string& text) {
  if (text == "mfence" || is_locked_nothing(text)) return full_fence;
  if (text == "lfence") return load_fence;
  if (text == "sfence") return store_fence;
  return std::nullopt;
}

/// Whether it is a hint, or a question to the processor that it answers alike in every run.
bool touches_no_memory(const std::string& text) {
  constexpr std::array<std::string_view, 7> known = {"", "nop", "pause", "rep;nop", "rep nop", "cpuid", "yield"};
  const bool is_prefetch = text.starts_with("prefetch") && text.find(';') == std::string::npos;
  return is_prefetch || std::find(known.begin(), known.end(), text) != known.end();
}

class reader {
 public:
  reader(std::string_view text, bool is_c) : text_(text), tokens_(text), is_c_(is_c) {}

  host_instructions run() {
    for (size_t n = 0; n < tokens_.size(); ++n) {
      const std::string_view word = tokens_.text_of(n);
      if (word == "asm" || word == "__asm__" || word == "__asm")
        statement(n);
      else if (word.starts_with("__builtin_ia32_") && tokens_.is(n + 1, "("))
        call(n, word);
    }
    made_.text += text_.substr(copied_);
    declare_all();
    return std::move(made_);
  }

 private:
  void put(size_t first, size_t last, std::string_view by) {
    made_.text += text_.substr(copied_, tokens_[first].begin - copied_);
    made_.text += by;
    copied_ = tokens_[last].end;
  }
  void replace(size_t first, size_t last, std::string_view by) {
    const size_t begin = tokens_[first].begin;
    const size_t end = tokens_[last].end;
    put(first, last, by);
    for (size_t at = text_.find('\n', begin); at < end; at = text_.find('\n', at + 1)) made_.text += '\n';
    if (by == store_fence)
      declare(is_c_ ? "void heddle_x86_sfence(void); " : "extern \"C\" void heddle_x86_sfence(); ");
    if (by == look_at_clock) declare_clock();
  }
  /// Behind the first line marker, which names the source.
  void declare_all() {
    if (declared_.empty()) return;
    if (!text_.starts_with('#')) {
      made_.text.insert(0, declared_);
      return;
    }
    const size_t end = made_.text.find('\n');
    const std::string first = made_.text.substr(0, end);
    made_.text.insert(end + 1, "# 1 \"sim/compat/x86.h\" 1\n" + declared_ + '\n' + first + " 2\n");
  }
  void declare(const std::string& what) {
    if (declared_.find(what) == std::string::npos) declared_ += what;
  }

  void declare_clock() {
    declare(is_c_ ? "unsigned long long heddle_x86_rdtsc(void); "
                  : "extern \"C\" unsigned long long heddle_x86_rdtsc(); ");
  }

  void call(size_t n, std::string_view word) {
    if (word == "__builtin_ia32_rdtscp") {
      declare_clock();
      declare(
          "static __inline __attribute__((always_inline, artificial)) unsigned long long heddle_x86_rdtscp(unsigned* "
          "processor) { *processor = 0; return heddle_x86_rdtsc(); } ");
      return replace(n, n, "heddle_x86_rdtscp");
    }
    for (const builtin& each : plain_builtins)
      if (word == each.name && tokens_.match(n + 1) == n + 2) return replace(n, n + 2, each.instead);
    for (const stream_builtin& each : streams) {
      if (word != each.name) continue;
      const std::string name = "heddle_x86_" + std::string(word.substr(sizeof "__builtin_ia32_" - 1));
      std::string value(each.value);
      std::string declaration;
      if (each.vector_bytes != 0) {
        value = name + "_value";
        declaration = "typedef " + std::string(each.value) + " " + value + " __attribute__((vector_size(" +
                      std::to_string(each.vector_bytes) + "), may_alias)); ";
      }
      declare(declaration + "static __inline __attribute__((always_inline, artificial)) void " + name + "(void* to, " +
              value + " what) { *(" + value + "*)to = what; } ");
      return replace(n, n, name);
    }
  }

  void statement(size_t n) {
    size_t open = n + 1;
    bool is_goto = false;
    while (tokens_.is(open, "volatile") || tokens_.is(open, "__volatile__") || tokens_.is(open, "__volatile") ||
           tokens_.is(open, "inline") || tokens_.is(open, "goto"))
      is_goto = tokens_.is(open++, "goto") || is_goto;
    if (!tokens_.is(open, "(") || tokens_.match(open) == token_list::none) return;
    const size_t close = tokens_.match(open);
    size_t at = open + 1;
    std::string text;
    while (at < close && tokens_[at].kind == token_kind::literal) text += content_of(tokens_.text_of(at++));
    if (at == open + 1) return;
    text = normal(text);
    if (const auto instead = instead_of(text)) return replace(n, close, *instead);
    if (touches_no_memory(text)) return;
    const asm_statement what = taken_apart(text, at, close);
    const bool reads_clock = text.find("rdtsc") != std::string::npos;
    if (!what.reaches_memory() && !reads_clock) return;
    const token_list::place at_statement = tokens_.place_of(tokens_[n].begin);
    const std::string& file = at_statement.file;
    const size_t line = at_statement.line;
    if (file.find("/heddle/sim/") != std::string::npos) return;
    const bool is_of_system = file.starts_with("/usr/");
    const std::string place = file + ":" + std::to_string(line) + ": warning: ";
    if (const auto instead = is_goto ? std::nullopt : accesses_of(what, is_c_)) {
      declare(std::string(functions_of_accesses()));
      if (reads_clock) declare_clock();
      // Nothing is to be said of how this is written: it passes for a header of the system.
      const auto marker = [&](size_t of_line) { return "\n# " + std::to_string(of_line) + " \"" + file + "\""; };
      const size_t last = tokens_.place_of(tokens_[close].begin).line;
      const std::string after = marker(last) + (is_of_system ? " 3\n" : "\n");
      put(n, close, marker(line) + " 3\n" + *instead + after);
      if (!what.orders_memory && what.reaches_memory() && !is_of_system)
        warn(place +
             "this asm statement has no \"memory\" among what it clobbers: the compiler may move other "
             "accesses over it, which heddle does not show");
      return;
    }
    // The C library's.
    if (is_of_system) return;
    warn(place + (reads_clock ? "this asm statement reads the processor's own clock, which differs from run to run"
                              : "heddle does not see what this asm statement reads and writes"));
  }

  /// What stands between two places of the text, without line markers and comments.
  std::string words(size_t first, size_t last) const {
    std::string made;
    for (size_t n = first; n < last; ++n) {
      if (n != first && tokens_[n - 1].end != tokens_[n].begin) made += ' ';
      made += tokens_.text_of(n);
    }
    return made;
  }

  /// What stands behind the text of an asm statement, from its first ':' to the bracket that closes it.
  asm_statement taken_apart(std::string text, size_t at, size_t close) const {
    asm_statement made;
    made.text = std::move(text);
    constexpr size_t clobbers = 3;
    for (size_t section = 0; at < close;) {
      if (tokens_.is(at, ":")) {
        if (++section == 2) made.outputs = made.operands.size();
        ++at;
      } else if (tokens_.is(at, ",")) {
        ++at;
      } else if (section >= clobbers) {
        made.orders_memory = made.orders_memory || tokens_.is(at, "\"memory\"");
        ++at;
      } else {
        asm_operand one;
        if (tokens_.is(at, "[") && tokens_.match(at) != token_list::none) {
          one.name = words(at + 1, tokens_.match(at));
          at = tokens_.match(at) + 1;
        }
        while (at < close && tokens_[at].kind == token_kind::literal)
          one.constraint += content_of(tokens_.text_of(at++));
        if (tokens_.is(at, "(") && tokens_.match(at) != token_list::none) {
          one.expression = words(at + 1, tokens_.match(at));
          at = tokens_.match(at) + 1;
        } else {
          ++at;  // no asm statement that a compiler takes
        }
        made.operands.push_back(std::move(one));
      }
      if (section == 1) made.outputs = made.operands.size();
    }
    return made;
  }

  /// Once for each line: what a macro makes there of one statement are many.
  void warn(std::string text) {
    if (std::find(made_.unseen.begin(), made_.unseen.end(), text) == made_.unseen.end())
      made_.unseen.push_back(std::move(text));
  }

  /// Of a string literal; what its escapes of one letter mean.
  static std::string content_of(std::string_view literal) {
    std::string made;
    for (size_t n = literal.find('"') + 1; n + 1 < literal.size(); ++n) {
      if (literal[n] == '\\' && n + 2 < literal.size()) {
        const char c = literal[++n];
        made += c == 'n' ? '\n' : c == 't' ? ' ' : c;
      } else {
        made += literal[n];
      }
    }
    return made;
  }

  std::string_view text_;
  token_list tokens_;
  bool is_c_;
  host_instructions made_;
  std::string declared_;
  size_t copied_ = 0;
};

}  // namespace

host_instructions see_host_instructions(std::string_view preprocessed, bool is_c) {
  const auto has = [&](std::string_view word) { return preprocessed.find(word) != std::string_view::npos; };
  if (!has("asm") && !has("__builtin_ia32_")) return {std::string(preprocessed), {}};
  return reader(preprocessed, is_c).run();
}

}  // namespace heddle::rewrite
