// Settings as one flat list of key=value: what keys there are, what each may be, and what it is now.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

/// One key: its type, range, default, unit and help.
struct parameter {
  enum class type : uint8_t { number, one_of, words };

  std::string key;
  type kind = type::number;
  int64_t default_number = 0;
  int64_t minimum = 0;
  int64_t maximum = 0;
  std::string default_text;
  std::vector<std::string> choices;
  bool several = false;  ///< of a one_of: several of the choices may be given, joined by '+'
  std::string unit;
  std::string help;

  /// A whole number in [minimum, maximum]; the unit may be empty.
  static parameter number(std::string key, int64_t initial, int64_t minimum, int64_t maximum, std::string unit,
                          std::string help);
  /// One word out of a list.
  static parameter one_of(std::string key, std::string initial, std::vector<std::string> choices, std::string help);
  /// Words out of a list: one, or several with '+' between them.
  static parameter some_of(std::string key, std::string initial, std::vector<std::string> choices, std::string help);

  /// Any text of one line, empty by default.
  static parameter words(std::string key, std::string help);

  /// The default as text.
  std::string default_value() const;
};

/// The values of a list of parameters.
class parameters {
 public:
  parameters() = default;
  // Programs under test copy their settings too: that is nothing that they do (own_work.h).
  parameters(const parameters& other);
  parameters(parameters&& other) noexcept;
  parameters& operator=(const parameters& other);
  parameters& operator=(parameters&& other) noexcept;
  ~parameters();
  /// Keys must differ; a later definition of a key replaces an earlier one in place (a scenario's own default wins).
  explicit parameters(std::vector<parameter> definitions);

  /// Takes "key=value". Nothing on success; otherwise one line that says what is wrong and names the nearest valid key
  /// or the allowed values.
  std::optional<std::string> set(std::string_view assignment);

  /// The value of a number. Asking for a key that does not exist or is no number is a mistake in the program: it ends
  /// with a message.
  int64_t number(std::string_view key) const;
  /// As number(), for the counts that shapes and sizes are made of. Throws std::out_of_range where the value has more
  /// than 32 bits: in a scenario this ends the run, at the line that asked, and not the campaign.
  uint32_t count(std::string_view key) const;
  /// The value of a one_of, or of words.
  const std::string& text(std::string_view key) const;
  /// Whether the value of a some_of names the choice.
  bool includes(std::string_view key, std::string_view choice) const;
  bool has(std::string_view key) const;

  const std::vector<parameter>& definitions() const { return definitions_; }
  /// A number that differs from that of every list with other values, for caches of what was read.
  uint64_t revision() const { return revision_; }
  /// Every key with its value as text, in order of definition.
  std::vector<std::pair<std::string, std::string>> values() const;
  std::string value_text(std::string_view key) const;

 private:
  struct setting {
    int64_t number = 0;
    const std::string* text = nullptr;  ///< where it stays for ever
  };
  size_t find(std::string_view key) const;      ///< the number of definitions when there is none of that key
  size_t index_of(std::string_view key) const;  ///< ends with a message when there is none

  std::vector<parameter> definitions_;
  std::vector<setting> values_;
  uint64_t revision_ = 0;
};

/// The entry of `known` that is nearest to `text` by edit distance, else the first that contains it, else empty: none
/// is near enough to be meant.
std::string nearest(std::string_view text, const std::vector<std::string>& known);

}  // namespace heddle
