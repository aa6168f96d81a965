// Whole numbers out of JSON from outside.
#pragma once

#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace heddle::tools {

/// The number under `key`. The JSON library would make one of anything: of what does not fit, it has no defined value. Throws what
/// json::at() throws where there is no such key, and std::invalid_argument where the value is no whole number, or too large.
template <std::unsigned_integral Number>
Number whole_number(const nlohmann::ordered_json& from, const char* key) {
  constexpr Number most = std::numeric_limits<Number>::max();
  const nlohmann::ordered_json& value = from.at(key);
  if (!value.is_number_unsigned() || value.get<uint64_t>() > most)
    throw std::invalid_argument(std::string("\"") + key + "\" must be a whole number from 0 to " +
                                std::to_string(most));
  return value.get<Number>();
}

}  // namespace heddle::tools
