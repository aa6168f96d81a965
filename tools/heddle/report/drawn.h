// What of a run is drawn: texts, the states of slots and words, from the changes of memory, and the way from each store to its readers.
#pragma once

#include <heddle/sim/call_times.h>
#include <heddle/sim/observe/run_record.h>
#include <heddle/tools/trial/slot_names.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace heddle::tools {

// What places and values are called.

/// "0x2a"
std::string hexadecimal(uint64_t value);

/// Texts of the record, and more of them, by number.
class page_texts {
 public:
  explicit page_texts(const sim::run_record& of);
  uint32_t of(const std::string& text);
  /// "0x2"; where the values of the enumeration, which may be run_record::none, have names, "taken (0x2)".
  uint32_t of_value(uint64_t value, uint32_t enumeration);
  const std::vector<std::string>& all() const { return texts_; }

 private:
  const sim::run_record& record_;
  std::vector<std::string> texts_;
  std::map<std::string, uint32_t> index_;
};

/// "port 0, client's outbox", "ring->tail"; empty where neither the program nor its debug information names what the step accesses.
std::string part_of(const sim::run_record::step& one, const sim::run_record& of, const slot_names& names);

/// By place (run_record::texts) what is there; where accesses differ in size, what the smallest one is to.
std::map<uint32_t, std::string> parts_of(const sim::run_record& of, const slot_names& names);

// States.

/// One slot of a protocol, or one word that several actors touch, and what it held when.
struct state_strip {
  enum class sort : uint8_t { port, slot, word };
  // States of ports and slots.
  static constexpr uint64_t client_posted = 1;  ///< its mailbox is not zero
  static constexpr uint64_t server_posted = 2;
  static constexpr uint64_t client_locked = 4;
  static constexpr uint64_t server_locked = 8;
  static constexpr uint64_t side_ended = 16;  ///< a mailbox holds a word that is neither all zeros nor all ones

  struct change {
    uint64_t step = 0;   ///< from behind this one on
    uint64_t state = 0;  ///< of a word: its value
    uint32_t actor = 0;  ///< that made the change
  };

  std::string name;  ///< "port 0", "ring->tail", "stop flag+0x0"
  sort kind = sort::word;
  uint32_t values = sim::run_record::none;  ///< of a word: run_record::enumerations
  std::vector<change> changes;
  std::vector<uint32_t> places;  ///< run_record::texts: accesses to these are of this strip
};

/// All named slots that ever change, then words that several actors touch, the busiest first. `left_out`: how many words have no strip.
std::vector<state_strip> strips_of(const sim::run_record& of, const slot_names& names, size_t& left_out);

// From each store to the actors that read it.

/// A store and another actor that has read the same bytes behind it. Steps count from 0, as in run_record::steps.
struct store_flow {
  static constexpr uint32_t none = ~uint32_t{0};
  uint32_t store = 0;
  uint32_t seen = none;    ///< the first load that returned it
  uint32_t missed = none;  ///< the last load before that, or of all, that returned something older
};

/// In order of the stores.
std::vector<store_flow> flows_of(const sim::run_record& of);

// Virtual time.

/// Of each step of the record the time of its thread behind it, in picoseconds; empty where no clock was read. What a thread does never comes before
/// what it did: a clock that is put back has looked in vain, and what was done since takes no time either. Nor does it come before the store whose value it has read.
std::vector<uint64_t> times_of(const sim::run_record& of, const std::vector<sim::call_times::reading>& clocks);

}  // namespace heddle::tools
