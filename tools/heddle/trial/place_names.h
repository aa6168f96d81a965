// What the program calls words of memory, for texts that the simulator writes with offsets.
#pragma once

#include <heddle/sim/observe/run_record.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// Of the words that a run has accessed.
class place_names {
 public:
  explicit place_names(const sim::run_record& of);

  /// "ring->tail" of "ring+0x4", "the client's lock of port 0" of "client locks+0x0"; the place itself where it has no name.
  std::string name_of(const std::string& place) const;
  /// The text with these names. Where it has the size, the offset stays beside the name, as lists of steps have it: "ring->tail (+0x4, 4 bytes)", and
  /// the value behind that has its name: "taken (0xc8)".
  std::string in(std::string_view text) const;
  /// A choice of the machine, in a sentence (run_record::odd), is about one word: its values have their names, too.
  std::string in_choice(std::string_view sentence) const;

 private:
  struct access {
    std::string name;  ///< that of the place where it has no other
    bool is_slot = false;
    uint32_t size_bytes = 0;
    uint32_t values = sim::run_record::none;  ///< run_record::enumerations
  };
  /// Of one place, each size once, the smallest first.
  using accesses = std::vector<access>;
  struct mention {
    size_t begin = 0;
    size_t end = 0;
    const accesses* of = nullptr;  ///< null: of no place that is known
  };

  /// The first place in the text from `from` on.
  mention next_in(std::string_view text, size_t from) const;
  /// What stands for the mention, and for what belongs to it behind it: `end` is put there.
  std::string told(std::string_view text, const mention& one, size_t& end) const;
  /// "taken (0xc8)" of the digits "c8", where the value has a name; else "0xc8".
  std::string value(std::string_view digits, uint32_t values) const;

  const sim::run_record& of_;
  std::map<std::string, accesses, std::less<>> places_;
  std::map<std::string, std::vector<std::string>, std::less<>>
      by_offset_;  ///< of "+0x4": what places begin with, longer ones first
};

}  // namespace heddle::tools
