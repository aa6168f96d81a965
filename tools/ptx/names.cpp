#include "names.h"

#include <algorithm>
#include <cctype>

namespace heddle::ptx {
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
