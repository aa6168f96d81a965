// Answers in few bytes, for tokens: an adaptive range coder, which learns from the answers so far what comes next.
#pragma once

#include <heddle/scheduler/choice.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::scheduler {

/// Appends a whole number: seven bits a byte, lowest first (LEB128).
inline void put_number(std::string& bytes, uint64_t value) {
  for (; value >= 128; value >>= 7) bytes += static_cast<char>((value & 127) | 128);
  bytes += static_cast<char>(value);
}

/// Takes one off the front. Nothing when the bytes end too early or the number is too long.
inline std::optional<uint64_t> take_number(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return value;
  }
  return std::nullopt;
}

/// Likely answers take a fraction of a bit, equally likely ones as many bits as they carry.
std::string coded_answers(const std::vector<answer>& answers);

/// Appends the answers that coded_answers() wrote. False where the bytes are not of that form; no small text makes a large
/// vector.
bool decode_answers(std::string_view bytes, std::vector<answer>& answers);

}  // namespace heddle::scheduler
