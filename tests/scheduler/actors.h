// A choice among actors, for tests of strategies.
#pragma once

#include <heddle/scheduler/strategy.h>

#include <utility>
#include <vector>

namespace heddle::scheduler {

/// Candidates that a test sets up.
class actors {
 public:
  explicit actors(std::vector<candidate> all) : all_(std::move(all)) {}

  choice asked() const {
    return {.kind = choice_kind::actor, .count = static_cast<uint32_t>(all_.size()), .candidates = list()};
  }
  candidate_list list() const { return {this, look}; }
  uint32_t size() const { return static_cast<uint32_t>(all_.size()); }
  const candidate& operator[](uint32_t index) const { return all_[index]; }

  /// The actor that the strategy picks.
  uint32_t picked_by(strategy& deciding) const { return all_[deciding.pick(asked())].actor; }

 private:
  static candidate look(const void* context, uint32_t index) {
    return static_cast<const actors*>(context)->all_[index];
  }

  std::vector<candidate> all_;
};

}  // namespace heddle::scheduler
