// The arguments of a variadic call, as a client copies them out of its va_list: which bytes belong to which conversion.
//
// Clang gives a variadic function of a GPU one struct with all arguments: integers and floats promoted as C has it, each aligned to its size
// (NVIDIA) or none (AMD, "packed"). long double is a double there.
#pragma once

#include <heddle/rpc/service/print.h>
#include <string.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace heddle::rpc::llvm {

/// One argument that a format consumes.
struct format_slot {
  print_kind kind;
  uint32_t size_bytes;   ///< in the struct: 4 or 8
  uint32_t value_bytes;  ///< that count: "%hhd" takes 1 byte of 4
};

namespace detail {

/// Walks a format. What it lets through, `formatted` reads in the same way.
class slot_reader {
 public:
  explicit slot_reader(std::string_view format) : left_(format) {}

  std::optional<std::vector<format_slot>> run() {
    while (const size_t percent = left_.find('%') + 1) {
      left_.remove_prefix(percent);
      if (take('%')) continue;
      while (!left_.empty() && strchr("-+ #0", left_.front()) != nullptr) left_.remove_prefix(1);
      take_number();
      if (take('.')) take_number();
      if (!take_conversion()) return std::nullopt;
    }
    return std::move(slots_);
  }

 private:
  bool take(char wanted) {
    if (left_.empty() || left_.front() != wanted) return false;
    left_.remove_prefix(1);
    return true;
  }

  void take_number() {
    if (take('*')) {
      slots_.push_back({print_kind::signed_number, 4, 4});
      return;
    }
    while (!left_.empty() && left_.front() >= '0' && left_.front() <= '9') left_.remove_prefix(1);
  }

  bool take_conversion() {
    uint32_t value_bytes = 4;
    bool is_modified = false;
    for (; !left_.empty() && strchr("hlqjztL", left_.front()) != nullptr; left_.remove_prefix(1)) {
      is_modified = true;
      value_bytes = left_.front() != 'h' ? 8 : value_bytes == 2 ? 1 : 2;
    }
    if (left_.empty()) return false;
    const char letter = left_.front();
    left_.remove_prefix(1);
    if (strchr("dibBouxX", letter) != nullptr) {
      const bool is_signed = letter == 'd' || letter == 'i';
      slots_.push_back({is_signed ? print_kind::signed_number : print_kind::unsigned_number, std::max(value_bytes, 4u),
                        value_bytes});
      return true;
    }
    if (strchr("fFeEgGaA", letter) != nullptr) {
      slots_.push_back({print_kind::floating, 8, 8});
      return true;
    }
    // Wide characters and texts have no form on this wire.
    if (is_modified) return false;
    if (letter == 'c') slots_.push_back({print_kind::signed_number, 4, 4});
    if (letter == 'p') slots_.push_back({print_kind::address, 8, 8});
    if (letter == 's') slots_.push_back({print_kind::text, 8, 8});
    return letter == 'c' || letter == 'p' || letter == 's';
  }

  std::string_view left_;
  std::vector<format_slot> slots_;
};

}  // namespace detail

/// The arguments that a format consumes, in order; nullopt for a conversion that is none or is refused: %n, %m, wide characters and texts,
/// arguments by position.
inline std::optional<std::vector<format_slot>> slots_of(std::string_view format) {
  return detail::slot_reader(format).run();
}

/// Where an argument of `size_bytes` lies whose predecessor ends at `at`.
constexpr uint64_t slot_offset(uint64_t at, uint32_t size_bytes, bool packed) {
  return packed ? at : (at + size_bytes - 1) / size_bytes * size_bytes;
}

/// Bytes of all of them.
inline uint64_t size_of(std::span<const format_slot> slots, bool packed) {
  uint64_t end = 0;
  for (const format_slot& slot : slots) end = slot_offset(end, slot.size_bytes, packed) + slot.size_bytes;
  return end;
}

/// Their values, out of size_of() bytes; of a text its address at the client, which means nothing here.
inline std::vector<print_argument> arguments_of(std::span<const format_slot> slots,
                                                std::span<const unsigned char> bytes, bool packed) {
  std::vector<print_argument> arguments;
  arguments.reserve(slots.size());
  uint64_t end = 0;
  for (const format_slot& slot : slots) {
    const uint64_t at = slot_offset(end, slot.size_bytes, packed);
    end = at + slot.size_bytes;
    print_argument one{slot.kind, slot.value_bytes, 0, std::nullopt};
    memcpy(&one.value, bytes.data() + at, slot.size_bytes);
    arguments.push_back(one);
  }
  return arguments;
}

}  // namespace heddle::rpc::llvm
