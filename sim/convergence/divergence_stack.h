// The reconvergence stack of a lockstep wave, which says which of its lanes run together: as on AMD's GPUs, and on NVIDIA's before Volta.
//
// Lanes that diverge at a branch reconverge at its immediate post-dominator in the function's structured code (gated_graph.h). One arm runs until
// it gets there, then the next, then all go on. Lanes that leave, by a `break`, a `return` or a `continue`, stand still until the others come to where
// they go. (Fung, Sham, Yuan, Aamodt, "Dynamic Warp Formation", MICRO 2007, section 3; ElTantawy and Aamodt, MICRO
// 2016, on what follows for lanes that wait for each other.)
//
// A lane is seen at its visible operations alone. So the stack follows the code from where a group stood to where its lanes are seen
// next, call by call: what they pass without an operation they pass together. Where several ways lead there, the branch between them has told
// which one each lane has taken (branch_probes.h).
#pragma once

#include <heddle/sim/code/branch_probes.h>
#include <heddle/sim/code/control_flow.h>
#include <heddle/sim/code/source_line.h>

#include <array>
#include <functional>
#include <vector>

namespace heddle::sim {

/// Puts the arms of a divergence in the order in which they run. An arm is given by where the first of its lanes is seen: a return
/// address in the function that diverges.
using arm_order = std::function<void(std::vector<uint32_t>& order, const std::vector<const void*>& arms)>;

class divergence_stack {
 public:
  explicit divergence_stack(code_map& code) : code_(&code) {}

  /// A wave of these lanes starts; each is at its first operation.
  void begin(uint64_t lanes);

  /// Each lane that ran has performed its operation and is seen at the next. `paths` by lane; those of `ended` lanes and of lanes that did
  /// not run are ignored, or are as they were. `same_call`: lanes that are at another operation of the call that they were in. `logs`, by lane
  /// likewise: what they have told since; those that are passed by leave them.
  void advance(const std::array<const call_path*, 64>& paths, uint64_t ended, uint64_t same_call,
               std::array<branch_log, 64>& logs, const arm_order& order);

  /// The lanes that run now: all of them are at the same operation. Ended ones may be among them.
  uint64_t running() const { return depth_ == 0 ? 0 : entries_[depth_ - 1].lanes; }

  /// Equal for equal stacks.
  uint64_t digest() const;

  /// Why a lane does not run.
  struct hold {
    uint64_t runs = 0;                 ///< the lanes that run before it
    const void* until = nullptr;       ///< the address that they must pass; null for the end of the function
    const control_flow* in = nullptr;  ///< that function; null when it is not known
  };
  hold hold_of(uint32_t lane, uint64_t ended) const;

 private:
  /// A place in the code, as seen from within `depth` calls.
  struct point {
    const control_flow* in = nullptr;
    uint32_t node = 0;
    uint32_t depth = 0;
    friend bool operator==(const point&, const point&) = default;
  };
  enum class stand : uint8_t {
    before,  ///< at the beginning of the node
    at,      ///< at an operation, the call that ends the node
    behind,  ///< has taken that operation
  };
  struct entry {
    uint64_t lanes = 0;
    point here;
    stand stands = stand::before;
    call_path outer;  ///< the calls around the point, `here.depth` of them
    bool joins = false;
    point until;  ///< where it ends, when it `joins` the one below
  };
  /// Lanes that are seen at the same place.
  struct seen {
    uint64_t lanes = 0;
    const call_path* path = nullptr;
    const branch_log* log = nullptr;     ///< of the first of them: all have told the same
    point aim;                           ///< where they go; `in` is null when they do not leave
    uint32_t node = control_flow::none;  ///< in the frame that is looked at; none: the frame is gone
  };
  struct arm {
    uint64_t lanes = 0;
    uint32_t node = 0;
    const call_path* path = nullptr;
  };

  entry& top() { return entries_[depth_ - 1]; }
  entry& push();
  void pop() { --depth_; }
  void look(const std::array<const call_path*, 64>& paths, uint64_t lanes);
  void look_in_frame(const entry& one);
  bool stays_within(const entry& one, const call_path& path) const;
  void stand_at(entry& one, const call_path& path);
  enum class progress : uint8_t { settled, changed, on };
  progress walk(uint64_t lanes, uint64_t same_call, const arm_order& order);
  progress pass_call(uint64_t lanes, const arm_order& order);
  progress pass_branch(uint64_t lanes, const arm_order& order);
  void decide(const control_flow& in, uint32_t branch);
  bool leave_call(entry& one);
  bool arrive(const entry& one);
  void set_aim(uint64_t lanes, const point& aim);
  void forget_aims(uint64_t lanes, uint32_t depth);
  bool is_leaving(const seen& group, const point& from) const {
    return group.aim.in == from.in && group.aim.depth == from.depth;
  }
  uint32_t way_of(const seen& group, uint32_t branch) const;
  void climb(entry& one);
  void split(uint32_t node, uint64_t lanes, std::vector<arm>& arms, stand how, const arm_order& order);
  progress scatter(const arm_order& order);
  uint32_t behind(const point& call) const;

  code_map* code_;
  std::vector<entry> entries_;  ///< [0, depth_) are in use
  size_t depth_ = 0;
  bool fresh_ = false;
  std::vector<seen> seen_;
  std::vector<arm> arms_;
  std::vector<uint32_t> decided_;  ///< by group of seen_: the way that it has told it takes; none: it has not
  std::array<branch_log, 64>* logs_ = nullptr;
  uint64_t leaving_ = 0;          ///< the lanes that leave
  std::array<point, 64> aims_{};  ///< of these
};

}  // namespace heddle::sim
