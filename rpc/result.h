// What a call that can fail answers: a value, or why there is none. For host code; a kernel has no caller to answer to.
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include <string>
#include <utility>
#include <variant>

namespace heddle {

/// Why a call of a machine's runtime failed.
struct error {
  std::string call;     ///< of the runtime, such as "cudaMalloc"
  std::string subject;  ///< what it was for: the name of an allocation, a device; may be empty
  std::string name;     ///< the runtime's own name of the failure, such as "cudaErrorMemoryAllocation"
  std::string text;     ///< the runtime's own words for it

  /// "cudaMalloc(mailboxes): cudaErrorMemoryAllocation: out of memory"
  std::string line() const { return call + '(' + subject + "): " + name + ": " + text; }

  /// Prints the line and ends the program.
  [[noreturn]] void end_program() const {
    fprintf(stderr, "heddle: %s\n", line().c_str());
    abort();
  }
};

/// A T, or the error that stands in its place. Converts to whether it is a T.
template <typename T>
class [[nodiscard]] result {
 public:
  result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  result(error why) : held_(std::in_place_index<1>, std::move(why)) {}

  explicit operator bool() const { return held_.index() == 0; }

  /// The T; where there is none, the error's line, and the end of the program.
  T& value() {
    if (const error* const failed = std::get_if<1>(&held_)) failed->end_program();
    return *std::get_if<0>(&held_);
  }

  /// The error. Where there is none, that is the caller's mistake, and the end of the program.
  const error& why() const {
    if (const error* const failed = std::get_if<1>(&held_)) return *failed;
    error{"result::why", "", "no error", "asked of a call that succeeded"}.end_program();
  }

 private:
  std::variant<T, error> held_;
};

/// For calls that give nothing but may fail.
template <>
class [[nodiscard]] result<void> {
 public:
  result() : held_(done{}) {}
  result(error why) : held_(std::move(why)) {}

  explicit operator bool() const { return bool(held_); }
  void value() { held_.value(); }
  const error& why() const { return held_.why(); }

 private:
  struct done {};
  result<done> held_;
};

}  // namespace heddle
