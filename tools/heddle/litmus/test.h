// A litmus test as a table gives it: a program, the machine that it runs on, and what is expected of its outcome there.
#pragma once

#include <heddle/tools/litmus/csv.h>
#include <heddle/tools/litmus/program.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::litmus {

enum class expectation : uint8_t {
  forbidden,       ///< one schedule that shows the outcome makes the machine unsound
  seen,            ///< the outcome must be seen, or the machine is incomplete
  aim,             ///< allowed; the outcome needs a store whose place is not its place of arrival (`coherence`)
  caught,          ///< a protocol's bug: the outcome must be seen, or a race found
  load_buffering,  ///< allowed; needs a load that takes effect after a later store of its thread: not modelled
  weak_host,       ///< allowed; needs a host weaker than x86: not modelled
};

/// As it is printed: "forbidden", "allowed", "allowed (coherence)", ...
std::string_view to_string(expectation value);
inline bool is_modelled(expectation value) {
  return value != expectation::load_buffering && value != expectation::weak_host;
}

struct test {
  std::string table;  ///< the file's name without folder and ending
  std::string name;
  std::string configuration;  ///< of the link, "pool+drain"; empty where the table has none
  program code;
  expectation expected = expectation::forbidden;
  std::vector<std::string> settings;  ///< of the machine, "key=value"

  /// "ptx/MP+weak.sys+cta", "pcie/MP-gh.plain [pool+drain]".
  std::string full_name() const;
};

/// The tests of a table. The kind of table is told by its titles: verdicts of the contract (ptx.csv), the same with the
/// meaning of each outcome (rpc.csv), or verdicts per configuration of the link (pcie.csv); tools/heddle/litmus/data/README.md
/// describes them. Throws std::invalid_argument with one line that names file and line.
std::vector<test> tests_of(const csv_table& table);

}  // namespace heddle::litmus
