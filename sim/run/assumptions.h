// What a run assumes of the program that is not so: other orders and scopes, fences and barriers that stand nowhere, by source line.
#pragma once

#include <heddle/sim/code/local_variables.h>
#include <heddle/sim/machine/lane.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heddle::sim {

/// A fence or barrier that stands nowhere in the program.
struct added_operation {
  operation_kind kind =
      operation_kind::none;  ///< fence, sync_lanes (of all lanes of the wave that have not ended), block_barrier
  bool of_proxy = false;     ///< the fence is one of proxies
  bool of_same = false;      ///< sync_lanes: of the lanes of the mask that the lane's last collective had
  memory_order order = memory_order::seq_cst;
  scope reach = scope::system;
};

/// How all operations of one line are changed.
struct site_change {
  std::optional<memory_order> order = std::nullopt;        ///< not of plain accesses
  std::optional<memory_order> plain_order = std::nullopt;  ///< of plain accesses, which are atomic with it
  std::optional<scope> reach = std::nullopt;
  added_operation before = {};
  added_operation after = {};
  std::string shares =
      {};  ///< the local variable that all lanes of a collective, or of an active mask, have from its first lane behind it
};

struct assumption {
  std::string file;  ///< or the end of its path
  int line = 0;
  site_change change;
};

/// "FILE:LINE=CHANGE", several with commas between them. A CHANGE is an order, "plain." and an order, a scope, "before:" or "after:" with "fence.ORDER.SCOPE",
/// "proxy_fence", "sync_lanes", "sync_same" or "sync_block", "after:broadcast." and a variable; several with "+" between them. Or one line that says what
/// is wrong.
struct assumptions_or_error {
  std::vector<assumption> all;
  std::string error;
};
assumptions_or_error parse_assumptions(std::string_view text);

/// The assumptions of a run. A line's operations are those that reports name by it: the innermost line of the code under test.
class assumptions {
 public:
  /// Throws std::invalid_argument, with one line, where the text cannot be read.
  void take(const std::string& text);
  bool any() const { return !changes_.empty(); }
  /// How the lane's pending operation is changed; null: it stays as it is. And what is shared behind the call that led there and returns to `place`:
  /// that may be a call of any line that is under way.
  struct found {
    const site_change* change = nullptr;
    const site_change* shares = nullptr;
    const void* place = nullptr;
  };
  found at(const lane& self);
  /// The variable of that name where a call returns to; null where it has no place there. `others` says which have one.
  const local_integer* integer_at(const void* place, const std::string& name, std::string* others);

 private:
  struct known_place {
    const site_change* change = nullptr;
    const site_change* shares = nullptr;
    bool is_plumbing = false;  ///< the line is that of a caller
  };
  const known_place& look_up(const void* place);
  void look_at_lines(const void* place, known_place& into) const;

  std::string text_;
  std::vector<std::pair<source_line, site_change>> changes_;
  bool shares_any_ = false;
  std::unordered_map<const void*, known_place> known_;          ///< by return address
  std::map<const void*, std::vector<local_integer>> integers_;  ///< likewise
};

/// The operation, as it is with the order and scope of the change.
void apply(const site_change& by, operation& to);

class execution;
/// The lane has published an operation: changes it to what the run assumes, and performs what is added in front of it.
[[gnu::cold]] void assume(execution& here, lane& self);

}  // namespace heddle::sim
