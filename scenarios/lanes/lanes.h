// What the lanes of a wave do to each other: programs that end, or do not, depending on whether each lane is scheduled on its own
// (convergence=independent) or a wave has one program counter (lockstep).
#pragma once

#include <heddle/tools/scenario.h>

namespace heddle::tests::lanes {

using scheduler::verdict;

/// A word that all lanes of a device share.
template <typename T>
using device_word = target::atomic_ref<T, scope::device>;

inline std::vector<parameter> wave_of(int64_t lanes) {
  return {
      parameter::number("lanes", lanes, 2, 64, "", "lanes of the wave"),
      parameter::one_of("pause", "yes", {"yes", "no"}, "whether loops that wait call pause()"),
  };
}

inline bool in_lockstep(const parameters& set) {
  return set.has("convergence") && set.text("convergence") == "lockstep";
}

/// What a loop that waits does before it looks again.
struct waiting {
  bool pauses;
  explicit waiting(const parameters& set) : pauses(set.text("pause") == "yes") {}
  HEDDLE_FUNCTION void operator()() const {
    if (pauses) target::pause();
  }
};

/// What each lane runs. A class, because a compiler for GPUs takes no lambda of a host function for a kernel.
template <typename Kernel>
struct wave_kernel {
  uint32_t* words;
  waiting wait;
  Kernel kernel;
  HEDDLE_FUNCTION void operator()() const { kernel(words, wait); }
};

/// One wave of these lanes runs `kernel(words, wait)`; then `check(first word)` looks at what it has left.
template <typename Kernel, typename Check>
void run_wave(const parameters& set, Kernel kernel, Check check) {
  device on;
  auto* const words = on.template allocate_device<uint32_t>(2, "words");
  const waiting wait(set);
  on.launch({.blocks = 1, .waves = 1, .lanes = set.count("lanes")}, wave_kernel<Kernel>{words, wait, kernel});
  on.synchronize();
  uint32_t left[2] = {};
  on.copy(left, words, sizeof left);
  check(left[1]);
  on.free(words);
}

}  // namespace heddle::tests::lanes
