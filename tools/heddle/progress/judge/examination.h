// Whether a program ends under a progress model: exactly, on the graph of all its states.
//
// weak    fails iff some strongly connected component with an edge has, for every thread of F, a step of that thread. (F is the same
//         in all states of a component.) Minimal progress: a component without a step of a wave does not count where a start is owed.
// strong  fails iff some reachable state is not in the least set G that holds the final states, those in which no wave is in F while
//         some are live (not under `unfair`), and those from which a step of a thread of F leads into G.
//
// CONCUR'18 and OOPSLA'21, see model.h; the strong rule is that of the latter's artifact.
#pragma once

#include <heddle/tools/progress/judge/graph.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heddle::judge {

enum class fairness : uint8_t {
  weak,    ///< no thread of F is starved for ever
  strong,  ///< also, a step of F that is enabled again and again is taken
};
const char* to_string(fairness value);

/// Why a program may not end: after `stem`, under weak fairness the steps of `cycle` lead back to where they began, with a step of
/// every thread of F; under strong fairness (no cycle) no steps of F lead to an end. Both are lists of threads, one a step.
struct witness {
  std::vector<uint32_t> stem;
  std::vector<uint32_t> cycle;
  thread_set fair = 0;  ///< F after the stem
};

struct judgement {
  bool ends = true;            ///< P: every execution that the model allows ends; else F
  std::optional<witness> why;  ///< when it may not
};

class examination {
 public:
  /// Throws std::invalid_argument with one line when there are more than `states_max` states.
  explicit examination(program code, size_t states_max = states_max_default);
  ~examination();
  examination(const examination&) = delete;
  examination& operator=(const examination&) = delete;

  const program& code() const { return code_; }
  /// Of the graph in which every live thread may step.
  size_t states() const;

  /// Throws as the constructor does.
  judgement judge(model which, fairness how);

 private:
  struct explored;
  const explored& graph_of(model which);

  program code_;
  size_t states_max_;
  std::unique_ptr<explored> open_;
  std::unique_ptr<explored> restricted_;  ///< of the model that was asked for last
  model restricted_by_;
};

/// "T0:0 T1:0": each step with its number in the thread, from `start`, which is left at the end of them.
std::string steps_text(const program& code, state& start, const std::vector<uint32_t>& steps);

/// The witness in one line.
std::string to_string(const program& code, const witness& why);

}  // namespace heddle::judge
