// A file of PTX, taken apart: what parse() makes of the text. (PTX ISA, "Syntax", "State Spaces, Types, and Variables",
// "Directives".)
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::ptx {

/// What is wrong with a text, and in which of its lines.
struct error {
  size_t line = 0;
  std::string message;
};

struct operand {
  enum class kind : uint8_t {
    name,     ///< a register, special register, variable, function or label; `!name` is negated; `_` a sink
    integer,  ///< in `bits`
    single,   ///< 0f3F800000: its bits
    real,     ///< 1.5, or 0d3FF0000000000000: the bits of a double
    vector,   ///< {a, b}
    address,  ///< [a + offset]: `parts` has the base and, with an index, the index
    group,    ///< (a, b): the arguments of a call
  };
  kind is = kind::name;
  std::string name = {};
  std::string second = {};  ///< of `d|p`
  uint64_t bits = 0;
  int64_t offset = 0;
  bool negated = false;
  std::vector<operand> parts = {};
};

/// A line of the source that the PTX was made of; file 0 is none.
struct location {
  uint32_t file = 0;
  uint32_t line = 0;
  bool operator==(const location&) const = default;
};

struct instruction {
  std::string guard = {};  ///< the predicate register; empty where there is none
  bool guard_negated = false;
  std::string name = {};
  std::vector<std::string> modifiers = {};  ///< without their dots, in order
  std::vector<operand> operands = {};

  bool has(std::string_view modifier) const {
    for (const std::string& one : modifiers)
      if (one == modifier) return true;
    return false;
  }
};

/// One value of an initial value: a number, or the address of something.
struct initial_value {
  operand value;
  bool generic = false;  ///< generic(name)
};

struct variable {
  std::string space;  ///< "reg", "global", "const", "shared", "local", "param"
  std::string type;   ///< "u32"
  std::string name;
  uint32_t vector = 1;    ///< of .v2 and .v4
  uint64_t elements = 1;  ///< of all dimensions; 0 is an array without a length
  uint64_t align = 0;
  uint32_t registers = 0;  ///< of `%r<100>`: 100
  bool is_extern = false;
  bool is_weak = false;
  bool is_visible = false;  ///< to other files
  bool is_array = false;
  std::vector<initial_value> values = {};

  uint64_t element_bytes() const;
  uint64_t size_bytes() const { return element_bytes() * vector * elements; }
};

/// The bytes of a value of a type such as "u32"; 0 for what is no such type. A predicate has one.
uint32_t bytes_of_type(std::string_view type);

struct statement {
  enum class kind : uint8_t { instruction, label, variable, open, close, prototype, targets };
  kind is = kind::instruction;
  size_t line = 0;  ///< in the PTX
  location source = {};
  instruction what = {};
  variable declared = {};
  std::string label = {};                 ///< also of a prototype, and of a list of targets
  std::vector<std::string> targets = {};  ///< of a list
  std::vector<variable> returns = {};     ///< of a prototype
  std::vector<variable> parameters = {};  ///< of a prototype
};

struct function {
  std::string name;
  std::string cluster;  ///< "2, 1, 1": blocks of a cluster along each axis, where it says so
  std::string maxntid;  ///< the same of the threads of a block, whose product is the most
  std::string reqntid;  ///< and of those that it has
  bool is_entry = false;
  bool has_body = false;
  bool is_weak = false;
  bool is_visible = false;
  size_t line = 0;
  std::vector<variable> returns = {};
  std::vector<variable> parameters = {};
  std::vector<statement> body = {};
};

struct module {
  std::string version;
  std::string target;
  std::map<uint32_t, std::string> files;
  std::vector<variable> variables;
  std::vector<function> functions;
  std::map<std::string, std::string> aliases;
};

/// What is parsed, or why it cannot be: never both.
struct parsed {
  module made;
  std::optional<error> wrong;
};

/// A whole file.
parsed parse(std::string_view text);

struct parsed_statements {
  std::vector<statement> made;
  std::optional<error> wrong;
};

/// The text of an asm statement: instructions, labels, registers, braces.
parsed_statements parse_statements(std::string_view text);

}  // namespace heddle::ptx
