// The parts of named slots, in words.
#pragma once

#include <heddle/sim/observe/run_record.h>

#include <cstdint>
#include <string>

namespace heddle::tools {

class slot_names {
 public:
  explicit slot_names(const sim::run_record& of) : of_(of) {}
  /// "port 0, client's outbox"; empty when the address is no part of a named slot.
  std::string part_at(uint64_t address) const;

  static constexpr uint64_t word_bytes = 4;
  static constexpr uint32_t locks_per_word = 32;

  enum class part : uint8_t { client_outbox, server_outbox, client_locks, server_locks };
  struct found {
    const sim::run_record::slots* of = nullptr;  ///< null: no part of a named slot
    part which = part::client_outbox;
    uint32_t first = 0;  ///< the first slot of the word
    uint32_t count = 0;  ///< of slots in the word
  };
  /// `address` of a word of 4 bytes.
  found word_at(uint64_t address) const;

 private:
  const sim::run_record& of_;
};

}  // namespace heddle::tools
