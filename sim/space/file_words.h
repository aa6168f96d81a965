// What stands for a pipe, an event counter or the like where lanes wait for it: an address that is the same in every process, and holds nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::sim {

enum class file_kind : uint8_t { pipe, event_counter, socket_pair, interest_list };

/// For the bytes that are to be read at this side, 0 or 1, of the one with this number among its kind. Beyond a bound the words are used again:
/// then some lanes look up once too often.
const void* file_word(file_kind kind, uint32_t number, uint32_t side);
/// "pipe", "eventfd #2": as reports name it; empty when the address is none of these.
std::string name_of_file_word(const void* address);

}  // namespace heddle::sim
