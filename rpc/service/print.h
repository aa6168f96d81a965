// printf on the host, for an untrusted format and untrusted arguments.
//
// Each conversion is taken from the format, checked against the argument that it would print, rebuilt from the parts
// that are allowed, and only then handed to snprintf, with an argument of the type that it names.
#pragma once

#include <heddle/rpc/service/request.h>
#include <stdio.h>
#include <string.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace heddle::rpc {

/// An argument of print, as it arrived.
struct print_argument {
  print_kind kind = print_kind::signed_number;
  uint32_t size_bytes = 8;  ///< of the number where it came from: 1, 2, 4 or 8
  uint64_t value = 0;
  std::optional<std::string_view> text;  ///< nullopt of a null text
};

namespace detail {

/// One conversion of a format: "%-08.3lld" and its like.
struct print_conversion {
  /// Below what a width can be.
  static constexpr int none = -0x10000;

  std::string flags;
  int width = none;
  int precision = none;     ///< a negative one is none, printf(3)
  uint32_t most_bytes = 8;  ///< of a number
  char letter = 0;
};

class print_formatter {
 public:
  print_formatter(std::span<const print_argument> arguments, uint64_t bound_bytes)
      : arguments_(arguments), bound_bytes_(bound_bytes) {}

  std::optional<std::string> run(std::string_view format) {
    while (!format.empty()) {
      const size_t percent = std::min(format.find('%'), format.size());
      out_.append(format.substr(0, percent));
      format.remove_prefix(percent);
      if (format.empty()) break;
      format.remove_prefix(1);
      if (!format.empty() && format.front() == '%') {
        out_ += '%';
        format.remove_prefix(1);
      } else if (!convert(format)) {
        return std::nullopt;
      }
      if (out_.size() > bound_bytes_) return std::nullopt;
    }
    // An argument too many is as wrong as one too few.
    if (next_ != arguments_.size() || out_.size() > bound_bytes_) return std::nullopt;
    return std::move(out_);
  }

 private:
  /// Wider than any line that is read, and small enough for the stack.
  static constexpr int widest = 4096;

  const print_argument* next() { return next_ < arguments_.size() ? &arguments_[next_++] : nullptr; }

  bool convert(std::string_view& format) {
    print_conversion one;
    while (!format.empty() && strchr("-+ #0", format.front()) != nullptr) {
      if (one.flags.find(format.front()) == std::string::npos) one.flags += format.front();
      format.remove_prefix(1);
    }
    if (!take_number(format, one.width)) return false;
    if (one.width != one.none && one.width < 0) {  // of a negative `*`, printf(3)
      one.flags += '-';
      one.width = -one.width;
    }
    if (!format.empty() && format.front() == '.') {
      format.remove_prefix(1);
      one.precision = 0;
      if (!take_number(format, one.precision)) return false;
    }
    // The argument says how long it is; `h` and `hh` print less of it.
    const size_t length = std::min(format.find_first_not_of("hlqjztL"), format.size());
    if (format.starts_with("h")) one.most_bytes = format.starts_with("hh") ? 1 : 2;
    format.remove_prefix(length);
    if (format.empty()) return false;
    one.letter = format.front();
    format.remove_prefix(1);
    if (one.width > widest || one.precision > widest) return false;
    const print_argument* const argument = next();
    return argument != nullptr && put(one, *argument);
  }

  /// Digits, or `*` for the next argument; leaves `number` alone when there is neither.
  bool take_number(std::string_view& format, int& number) {
    if (!format.empty() && format.front() == '*') {
      format.remove_prefix(1);
      const print_argument* const argument = next();
      if (argument == nullptr || !is_number(*argument)) return false;
      const int64_t wide = signed_value(*argument);
      if (wide < -widest || wide > widest) return false;
      number = static_cast<int>(wide);
      return true;
    }
    if (format.empty() || format.front() < '0' || format.front() > '9') return true;
    number = 0;
    while (!format.empty() && format.front() >= '0' && format.front() <= '9') {
      number = number * 10 + (format.front() - '0');
      if (number > widest) return false;
      format.remove_prefix(1);
    }
    return true;
  }

  static bool is_number(const print_argument& argument) {
    return argument.kind == print_kind::signed_number || argument.kind == print_kind::unsigned_number;
  }
  static int64_t signed_value(const print_argument& argument, uint32_t most_bytes = 8) {
    switch (std::min(argument.size_bytes, most_bytes)) {
      case 1:
        return static_cast<int8_t>(argument.value);
      case 2:
        return static_cast<int16_t>(argument.value);
      case 4:
        return static_cast<int32_t>(argument.value);
      default:
        return static_cast<int64_t>(argument.value);
    }
  }
  static uint64_t unsigned_value(const print_argument& argument, uint32_t most_bytes) {
    switch (std::min(argument.size_bytes, most_bytes)) {
      case 1:
        return static_cast<uint8_t>(argument.value);
      case 2:
        return static_cast<uint16_t>(argument.value);
      case 4:
        return static_cast<uint32_t>(argument.value);
      default:
        return argument.value;
    }
  }

  bool put(const print_conversion& one, const print_argument& argument) {
    switch (one.letter) {
      case 'd':
      case 'i':
        return is_number(argument) && print(one, "ll", static_cast<long long>(signed_value(argument, one.most_bytes)));
      case 'u':
      case 'o':
      case 'x':
      case 'X':
      case 'b':  // C23, and glibc from 2.35
      case 'B':
        return is_number(argument) &&
               print(one, "ll", static_cast<unsigned long long>(unsigned_value(argument, one.most_bytes)));
      case 'c':
        return is_number(argument) && print(one, "", static_cast<int>(static_cast<unsigned char>(argument.value)));
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
      case 'a':
      case 'A': {
        if (argument.kind != print_kind::floating) return false;
        double value;
        memcpy(&value, &argument.value, sizeof value);
        return print(one, "", value);
      }
      case 'p':
        return (argument.kind == print_kind::address || argument.kind == print_kind::unsigned_number) &&
               print(one, "", reinterpret_cast<void*>(static_cast<uintptr_t>(argument.value)));
      case 's':
        return argument.kind == print_kind::text && put_text(one, argument);
      default:
        return false;  // %n, and what printf does not know
    }
  }

  bool put_text(const print_conversion& one, const print_argument& argument) {
    std::string_view text = argument.text.value_or("(null)");
    if (one.precision >= 0) text = text.substr(0, static_cast<size_t>(one.precision));
    const size_t width = one.width < 0 ? 0 : static_cast<size_t>(one.width);
    const std::string padding(width > text.size() ? width - text.size() : 0, ' ');
    const bool left = one.flags.find('-') != std::string::npos;
    if (!left) out_ += padding;
    out_ += text;
    if (left) out_ += padding;
    return true;
  }

  template <typename T>
  bool print(const print_conversion& one, const char* length, T value) {
    // Longest: a double of 309 digits before the point, and both of them at their widest.
    char text[2 * widest + 400];
    const std::string conversion = "%" + one.flags + (one.width >= 0 ? std::to_string(one.width) : "") +
                                   (one.precision >= 0 ? "." + std::to_string(one.precision) : "") + length +
                                   one.letter;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    // Made above of parts that were checked, for a value of just this type.
    const int size = snprintf(text, sizeof text, conversion.c_str(), value);
#pragma GCC diagnostic pop
    if (size < 0 || static_cast<size_t>(size) >= sizeof text) return false;
    out_.append(text, static_cast<size_t>(size));
    return true;
  }

  std::span<const print_argument> arguments_;
  uint64_t bound_bytes_;
  size_t next_ = 0;
  std::string out_;
};

}  // namespace detail

/// What printf would print, at most `bound_bytes`; nullopt when format and arguments do not belong together, when a width or a precision
/// is above 4096, or when the result is longer than the bound. Length modifiers are ignored: an argument says itself how long it is.
inline std::optional<std::string> formatted(std::string_view format, std::span<const print_argument> arguments,
                                            uint64_t bound_bytes) {
  return detail::print_formatter(arguments, bound_bytes).run(format);
}

}  // namespace heddle::rpc
