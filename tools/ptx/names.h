// What the names in a body of PTX stand for in C++, by their scopes.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "module.h"

namespace heddle::ptx {

/// Something that has a name.
struct symbol {
  enum class kind : uint8_t { none, reg, variable, function };
  kind is = kind::none;
  std::string space;       ///< of a variable
  std::string type;        ///< of a register
  std::string expression;  ///< C++: of a register its local, of a variable its address
  uint64_t bytes = 0;      ///< of a variable
};

/// The C++ type that holds a register of this type.
std::string storage_of(std::string_view type);

/// A C++ name by which people know a function or a variable: of _Z3addIfEvPT_, "add"; of a word of C++, with "_" behind it. In time that grows as the symbol does.
std::string readable_name(const std::string& symbol);

/// What the source calls a variable that nvcc has named after its file; other names stay.
std::string name_of_variable(const std::string& symbol);

/// Scopes in each other, of one function. Registers become locals when they are first used: all of them stand at its top.
class names {
 public:
  /// `number` tells the labels of one asm statement from those of others.
  names(const std::map<std::string, symbol>& outside, std::string number)
      : outside_(outside), number_(std::move(number)) {}

  /// The labels of each block are known before they are used.
  void look_for_labels(const std::vector<statement>& body);

  void open();
  void close();
  void add(const std::string& name, symbol what);
  /// `%r<100>`, or one register.
  void add_registers(const variable& declared);

  symbol find(const std::string& name);
  /// The C++ label; empty where there is none.
  std::string label(const std::string& name) const;

  const std::string& locals() const { return locals_; }
  /// One more local, with a name of its own.
  std::string local(const std::string& type, const std::string& wish, const std::string& behind = " = 0");

 private:
  struct range {
    std::string type;
    uint32_t count = 0;
  };
  struct block {
    size_t number = 0;
    std::map<std::string, symbol> known;
    std::map<std::string, range> ranges;  ///< by prefix
  };

  const std::map<std::string, symbol>& outside_;
  std::string number_;
  std::vector<block> blocks_ = {{}};
  std::vector<std::set<std::string>> labels_ = {{}};  ///< by number of block
  size_t opened_ = 0;
  size_t made_ = 0;
  std::string locals_;
};

}  // namespace heddle::ptx
