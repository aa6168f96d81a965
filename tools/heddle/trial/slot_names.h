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

  enum class part : uint8_t { client_outbox, server_outbox, client_locks, server_locks };
  struct found {
    const sim::run_record::slots* of = nullptr;  ///< null: no part of a named slot
    part which = part::client_outbox;
    uint32_t first = 0;  ///< the first slot of the word
    uint32_t count = 0;  ///< of slots in the word

    bool is_lock() const { return which == part::client_locks || which == part::server_locks; }
    /// Of the word of a mailbox or of locks: whether the bit of the slot that is its `index`-th is set.
    bool is_set(uint64_t word, uint32_t index) const {
      if (!is_lock()) return (of->slots_per_word == 1 ? word & 1 : word >> index & 1) != 0;
      return (word >> index * (32 / of->locks_per_word) & 1) != 0;
    }
  };
  /// `address` of a word of 4 bytes.
  found word_at(uint64_t address) const;

 private:
  const sim::run_record& of_;
};

}  // namespace heddle::tools
