#include "names.h"

#include <cstring>

#include "lexer.h"

namespace heddle::ptx {
namespace {

// What follows reads mangled names as far as reports need it. (Itanium C++ ABI, "Mangling".) Not by the demangler of the C++ library: what that
// makes of some hundred bytes may be larger than any memory.

/// The source name that begins there, which is passed; empty where none does.
std::string_view source_name(std::string_view symbol, size_t& at) {
  size_t length = 0;
  while (at < symbol.size() && is_digit(symbol[at]) && length < symbol.size())
    length = length * 10 + static_cast<size_t>(symbol[at++] - '0');
  if (length == 0 || length > symbol.size() - at) return "";
  at += length;
  return symbol.substr(at - length, length);
}

/// Behind a letter that goes on to an underscore.
void pass_underscore(std::string_view symbol, size_t& at) {
  at = std::min(symbol.find('_', at), symbol.size() - 1) + 1;
}
void pass_substitution(std::string_view symbol, size_t& at) {
  if (at < symbol.size() && std::islower(static_cast<unsigned char>(symbol[at])) != 0) return void(++at);
  pass_underscore(symbol, at);
}
void pass_number(std::string_view symbol, size_t& at) {
  while (at < symbol.size() && (is_digit(symbol[at]) || symbol[at] == 'n')) ++at;
}

/// Behind the I of a template's arguments, to behind their E. False for an expression among them, and where there is no end.
bool pass_arguments(std::string_view symbol, size_t& at) {
  std::string open = "I";
  while (at < symbol.size() && !open.empty()) {
    bool has_type = true;
    if (is_digit(symbol[at])) {
      if (source_name(symbol, at).empty()) return false;
    } else {
      const char letter = symbol[at++];
      if (letter == 'X') return false;
      if (letter == 'S') {
        pass_substitution(symbol, at);
      } else if (letter == 'T' || letter == 'A' || symbol.substr(at - 1, 2) == "Ut") {
        pass_underscore(symbol, at);
      } else if (letter == '_') {
        pass_number(symbol, at);
      } else if (letter == 'E') {
        if (open.back() == 'U') pass_underscore(symbol, at);
        open.pop_back();
      } else if (std::strchr("INJFLZU", letter) != nullptr) {
        open += letter;
        has_type = false;
      } else {
        has_type = std::islower(static_cast<unsigned char>(letter)) != 0;
      }
    }
    if (has_type && !open.empty() && open.back() == 'L') pass_number(symbol, at);
  }
  return open.empty();
}

/// The last name of a function before its own arguments; empty where there is none.
std::string_view last_name(std::string_view symbol) {
  std::string_view last;
  const bool is_nested = symbol.starts_with("_ZN");
  for (size_t at = is_nested ? 3 : 2; at < symbol.size() && (is_nested || last.empty());) {
    if (is_digit(symbol[at])) {
      const std::string_view found = source_name(symbol, at);
      if (found.empty()) break;
      last = found;
    } else if (const char letter = symbol[at++]; letter == 'S') {
      pass_substitution(symbol, at);
    } else if (letter == 'I' ? !pass_arguments(symbol, at) : std::strchr("KVrL", letter) == nullptr) {
      break;
    }
  }
  return last;
}

/// Other languages' compilers write PTX too, and what is made of it is C++.
bool is_word_of_cpp(const std::string& name) {
  constexpr std::string_view words =
      " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t "
      "char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr "
      "constinit continue decltype default delete do double dynamic_cast else enum explicit export "
      "extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq "
      "nullptr operator or or_eq private protected public register reinterpret_cast requires return "
      "short signed sizeof static static_assert static_cast struct switch template this thread_local "
      "throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while "
      "xor xor_eq ";
  return words.find(' ' + name + ' ') != std::string_view::npos;
}

}  // namespace

std::string readable_name(const std::string& symbol) {
  constexpr size_t most_letters = 120;
  const std::string_view last = symbol.starts_with("_Z") ? last_name(symbol) : "";
  std::string made;
  for (const char c : (last.empty() ? std::string_view(symbol) : last).substr(0, most_letters))
    made += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : '_';
  if (made.empty() || is_digit(made[0])) made.insert(0, "f");
  if (is_word_of_cpp(made)) made += '_';
  return made;
}

std::string name_of_variable(const std::string& symbol) {
  // "__nv_static_25_", 25 letters that name the file, "_" and the name.
  constexpr std::string_view of_file = "__nv_static_";
  if (!symbol.starts_with(of_file)) return symbol;
  size_t at = of_file.size();
  size_t letters = 0;
  for (; at < symbol.size() && is_digit(symbol[at]) && letters < symbol.size(); ++at)
    letters = letters * 10 + static_cast<size_t>(symbol[at] - '0');
  at += letters + 2;
  return at < symbol.size() ? symbol.substr(at) : symbol;
}

namespace {

/// The letters of a PTX name that a C++ name can have.
std::string letters_of(std::string_view name) {
  std::string made;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') made += c;
  return made;
}

}  // namespace

std::string storage_of(std::string_view type) {
  if (type == "pred") return "bool";
  const uint32_t bytes = bytes_of_type(type);
  return bytes == 16 ? "heddle::ptx::wide" : "uint" + std::to_string(bytes * 8) + "_t";
}

void names::look_for_labels(const std::vector<statement>& body) {
  std::vector<size_t> open = {0};
  size_t count = 0;
  for (const statement& one : body) {
    if (one.is == statement::kind::open) {
      open.push_back(++count);
      labels_.emplace_back();
    } else if (one.is == statement::kind::close) {
      if (open.size() > 1) open.pop_back();
    } else if (one.is == statement::kind::label) {
      if (!labels_[open.back()].insert(one.label).second)
        throw error{one.line, "the label " + one.label + " stands there twice"};
    }
  }
}

void names::open() {
  blocks_.emplace_back();
  blocks_.back().number = ++opened_;
}

void names::close() { blocks_.pop_back(); }

void names::add(const std::string& name, symbol what) { blocks_.back().known[name] = std::move(what); }

void names::add_registers(const variable& declared) {
  if (declared.registers != 0)
    blocks_.back().ranges[declared.name] = {declared.type, declared.registers};
  else
    add(declared.name, {symbol::kind::reg, "reg", declared.type, local(storage_of(declared.type), declared.name), 0});
}

symbol names::find(const std::string& name) {
  for (size_t n = blocks_.size(); n-- > 0;) {
    block& here = blocks_[n];
    if (const auto known = here.known.find(name); known != here.known.end()) return known->second;
    size_t digits = name.size();
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1])) != 0) --digits;
    if (digits == name.size() || name.size() - digits > 9) continue;
    // A prefix may itself end with digits.
    for (size_t end = digits; end < name.size(); ++end) {
      const auto found = here.ranges.find(name.substr(0, end));
      if (found == here.ranges.end()) continue;
      if (std::stoul(name.substr(end)) >= found->second.count) continue;
      symbol made = {symbol::kind::reg, "reg", found->second.type, local(storage_of(found->second.type), name), 0};
      return here.known[name] = made;
    }
  }
  const auto known = outside_.find(name);
  return known == outside_.end() ? symbol{} : known->second;
}

std::string names::label(const std::string& name) const {
  for (size_t n = blocks_.size(); n-- > 0;)
    if (labels_[blocks_[n].number].contains(name))
      return "at_" + number_ + (number_.empty() ? "" : "_") + std::to_string(blocks_[n].number) + "_" +
             letters_of(name);
  return {};
}

std::string names::local(const std::string& type, const std::string& wish, const std::string& behind) {
  const std::string name = "v" + std::to_string(++made_) + "_" + letters_of(wish);
  locals_ += "  [[maybe_unused]] " + type + " " + name + behind + ";\n";
  return name;
}

}  // namespace heddle::ptx
