// One instruction of PTX as a statement of C++, which calls what stands in sim/compat/ptx/.
#pragma once

#include <string>
#include <vector>

#include "names.h"
#include "table.h"

namespace heddle::ptx {

class emitter {
 public:
  /// `in_kernel`: `exit` and `ret` end the lane. `results` are the registers that a function gives back, with where they go.
  explicit emitter(names& known) : names_(known) {}

  struct result {
    std::string from;
    std::string to;
  };
  struct where {
    bool in_kernel = true;
    bool copies_alone = true;  ///< no other function makes or waits for copies of this one's lanes (cp.async)
    std::vector<result> results = {};
    std::map<std::string, std::vector<std::string>> targets = {};  ///< lists of labels
  };
  where about;

  /// A statement, with its guard. Throws error.
  std::string emit(const statement& one);
  /// Before a label, and at each: what lies behind it may be jumped back to.
  void passed(const std::string& cpp_label) { seen_[cpp_label] = visible_; }

 private:
  std::string statement_of(const matched& row);
  std::string plain_call(const matched& row);
  std::string move(const matched& row);
  std::string loaded(const matched& row, const operand& to, const std::string& value);
  std::string stored(const matched& row, const operand& from);
  std::string load(const matched& row);
  std::string store(const matched& row);
  std::string atomic(const matched& row);
  std::string multimem(const matched& row);
  std::string jump(const matched& row);
  std::string go_to(const std::string& name);
  std::string call();
  std::string leave();
  std::string barrier(const matched& row);
  std::string copy(const matched& row);
  std::string bulk_copy(const matched& row);
  std::string mbarrier(const matched& row);

  std::string source(const operand& from, const std::string& type);
  std::string constant(const operand& from, const std::string& type) const;
  /// Where a register can be assigned; a sink has a local of its own.
  std::string destination(const operand& to, const std::string& type);
  std::string address(const operand& at);
  std::string pack(const operand& from, const std::string& type);
  std::string unpack(const operand& to, const std::string& value, const std::string& type);
  std::string space_of(const matched& row, const operand& at);
  [[noreturn]] void wrong(const std::string& what) const;

  /// The condition code, and the count of rounds in silent loops: locals that are there where they are used.
  const std::string& carry();
  const std::string& rounds();

  names& names_;
  std::string carry_;
  std::string rounds_;
  std::string copies_;
  const statement* at_ = nullptr;
  size_t visible_ = 0;                  ///< how many visible operations stand before this one
  std::map<std::string, size_t> seen_;  ///< the same at each label so far
};

/// Whether a function that is no kernel makes copies (cp.async), or waits for some.
bool functions_copy(const module& of);

/// The modifiers that say how memory is accessed: not where, nor what caches are told.
std::vector<std::string> how_of(const std::vector<std::string>& modifiers);

/// An assignment; a value that is longer than the register is cut.
inline std::string given(const std::string& to, const std::string& value) {
  return to + " = (decltype(" + to + "))(" + value + ");";
}

/// The C++ arguments that stand for types and modifiers: "t_u32, m_add".
std::string tags_of(const std::vector<std::string>& types, const std::vector<std::string>& modifiers);

/// Whether PTX has a special register of this name: "%tid.x".
bool is_special(const std::string& name);

/// At the begin of a kernel: what its directives say of the threads of a block.
std::string checks_of_block(const function& one);

}  // namespace heddle::ptx
