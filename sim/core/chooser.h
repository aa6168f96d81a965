// The source of the strategy's answers in a run, and the lane that asks.
#pragma once

#include <heddle/scheduler/choice.h>

#include <cstdint>

namespace heddle::sim {

struct lane;

struct chooser {
  scheduler::choice_source* source = nullptr;
  lane* asks = nullptr;  ///< the lane that has come to the last choice
  bool stopped = false;  ///< the source gave no answer

  uint64_t made() const { return source == nullptr ? 0 : source->recorded().size(); }
};

}  // namespace heddle::sim
