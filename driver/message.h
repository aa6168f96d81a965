// The words of an error: what was called, and with which arguments.
#pragma once

#include <heddle/rpc/result.h>

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace heddle::driver {

/// A number that is written as an address.
struct address_text {
  uint64_t value = 0;
};

namespace detail {

inline void append(std::string& to, std::string_view words) { to += words; }
inline void append(std::string& to, std::integral auto number) { to += std::to_string(number); }
inline void append(std::string& to, address_text address) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, address.value, 16);
  to += "0x";
  to.append(digits, end.ptr);
}

}  // namespace detail

/// The parts one after the other: text, whole numbers and addresses.
template <typename... Part>
std::string words(const Part&... parts) {
  std::string all;
  (detail::append(all, parts), ...);
  return all;
}

/// "free(process 1, 0x1000): in use: a queued command needs it"
inline error failure(std::string call, std::string arguments, std::string name, std::string text) {
  return {std::move(call), std::move(arguments), std::move(name), std::move(text)};
}

}  // namespace heddle::driver
