#include "thread_locals.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "tokens.h"

namespace heddle::rewrite {
namespace {

/// They lie in one block with the program's own, and code that is not the program's looks for them there (sim/code/thread_locals.cpp).
bool is_of_a_library(std::string_view name) {
  return name.find("6heddle") != std::string_view::npos || name.starts_with("_ZSt") ||
         name.find("eh_globals") != std::string_view::npos || name.starts_with("_ZN3tbb");
}

std::string lower(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(), [](unsigned char c) { return std::tolower(c); });
  return made;
}

std::string_view trimmed(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : line.substr(first);
}

/// What only fills a call up to the length that a linker expects: by a prefix, or by bytes, which mean something else everywhere but before the call.
bool is_prefix(std::string_view line) { return line == "data16" || line == "rex64"; }
bool is_filling(std::string_view line) {
  const std::string_view word = line.substr(0, line.find_first_of(" \t"));
  return (word == ".value" && line.ends_with("0x6666")) || (word == ".byte" && line.ends_with("0x66"));
}

std::string_view symbol_before(std::string_view line, size_t at) {
  const size_t begin = line.find_last_of(" \t,$", at);
  return line.substr(begin + 1, at - begin - 1);
}

/// The address of a variable from its thread's pointer on, as an executable has it.
std::string offsets_of(std::string_view line) {
  constexpr std::string_view of_library = "@dtpoff";
  std::string made(line);
  for (size_t at = lower(made).find(of_library); at != std::string::npos; at = lower(made).find(of_library))
    made.replace(at, of_library.size(), "@tpoff");
  return made;
}

constexpr std::string_view own_pointer = "\tcall\theddle_thread_pointer@PLT\n";
constexpr std::string_view real_pointer = "\tmovq\t%fs:0, %rax\n";

class converter {
 public:
  std::string run(std::string_view assembly) {
    for (size_t at = 0; at < assembly.size();) {
      const size_t end = std::min(assembly.find('\n', at), assembly.size());
      take(assembly.substr(at, end - at));
      at = end + 1;
    }
    return std::move(made_);
  }

 private:
  void take(std::string_view line) {
    const std::string_view words = trimmed(line);
    if (is_prefix(words) || (asks_ && is_filling(words))) return;
    const std::string small = words.find('@') == std::string_view::npos ? std::string() : lower(words);
    if (const size_t at = small.find("@tlsgd("); at != std::string::npos) {
      variable_ = symbol_before(words, at);
      asks_ = true;
    } else if (const size_t block = small.find("@tlsld("); block != std::string::npos) {
      variable_.clear();
      asks_ = true;
    } else if (small.find("__tls_get_addr") != std::string::npos && small.find("call") != std::string::npos) {
      asks_ = false;
      made_ += is_of_a_library(variable_) ? real_pointer : own_pointer;
      if (!variable_.empty()) made_ += "\taddq\t" + variable_ + "@gottpoff(%rip), %rax\n";
    } else {
      const bool is_instruction = !words.starts_with('.') && small.find("@dtpoff") != std::string::npos;
      made_ += is_instruction ? offsets_of(line) : std::string(line);
      made_ += '\n';
    }
  }

  std::string made_;
  bool asks_ = false;     ///< for an address, by the next call
  std::string variable_;  ///< whose address the next call asks for; none: where all of the program's own are
};

}  // namespace

bool has_thread_locals(std::string_view preprocessed) {
  constexpr std::array<std::string_view, 3> words = {"thread_local", "__thread", "_Thread_local"};
  const auto has = [&](std::string_view word) { return preprocessed.find(word) != std::string_view::npos; };
  if (std::none_of(words.begin(), words.end(), has)) return false;
  const token_list tokens(preprocessed);
  for (size_t n = 0; n < tokens.size(); ++n) {
    if (!tokens.is_identifier(n) || std::find(words.begin(), words.end(), tokens.text_of(n)) == words.end()) continue;
    const std::string file = tokens.place_of(tokens[n].begin).file;
    if (!file.starts_with("/usr/") && file.find("/heddle/sim/") == std::string::npos) return true;
  }
  return false;
}

const std::vector<std::string>& options_of_thread_locals() {
  static const std::vector<std::string> all = {"-fPIC", "-fno-semantic-interposition", "-ftls-model=global-dynamic",
                                               "-fplt"};
  return all;
}

std::string ask_for_thread_locals(std::string_view assembly) { return converter().run(assembly); }

}  // namespace heddle::rewrite
