// Small programs that are drawn: what a search finds of them is compared with what another one finds.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "explored.h"

namespace heddle::sim::tests {

/// The first of the random programs: HEDDLE_FIRST_PROGRAM, to repeat what a test has printed, or drawn.
inline uint64_t first_program() {
  const char* const given = std::getenv("HEDDLE_FIRST_PROGRAM");
  return given == nullptr ? std::random_device()() % 1'000'000 : std::strtoull(given, nullptr, 10);
}

/// A random program of a few lanes and words; what each lane has read is its outcome.
class random_program {
 public:
  enum class with {
    loads_and_stores,
    waits,  ///< lanes may also wait for a word to be stored to, for ever if need be, and words are more, so that some have one lane alone
    /// One lane stores and the others load and wait. The first word is 1 all the time: loads of it teach different things in states that are else the
    /// same. Some accesses are plain, to words of their own. In half of the programs the first lane is not at its end before the others come to their
    /// last operation: then no lane goes on alone to its end, and there is a state before each last operation.
    messages
  };
  /// `by_host`: the host's main thread does what the last lane would.
  explicit random_program(uint64_t seed, with what = with::loads_and_stores, bool by_host = false) : by_host_(by_host) {
    std::mt19937_64 draw(seed);
    const auto below = [&](uint64_t count) { return static_cast<uint32_t>(draw() % count); };
    const bool messages = what == with::messages;
    if (messages) first_word_ = 1;
    meets_ = messages && below(2) == 0;
    lanes_ = 2 + below(2);
    for (uint32_t lane = 0; lane < lanes_; ++lane) {
      const uint32_t count = messages ? 3 + below(lanes_ == 2 ? 3 : 1) : lanes_ == 2 ? 1 + below(3) : lane == 0 ? 2 : 1;
      // A third of the programs have more plain accesses: that makes races.
      const bool plain = seed % 3 == 0;
      const std::array<uint32_t, 7> sends = {2, 2, 2, plain ? 7u : 2u, 3, 5, 7};
      const std::array<uint32_t, 7> receives = {0, 0, plain ? 8u : 0u, 1, 5, 6, 8};
      for (uint32_t n = 0; n < count; ++n) {
        const uint32_t kind = what == with::loads_and_stores ? below(6)
                              : what == with::waits          ? below(7)
                              : lane == 0                    ? sends[below(7)]
                                                             : receives[below(7)];
        const uint32_t at = messages ? below(4) / 2 * (1 + below(2)) : below(what == with::loads_and_stores ? 2 : 3);
        code_.push_back({.lane = lane,
                         .kind = messages && at == 0 && kind == 3 ? 4 : kind,
                         .word = at,
                         .value = 1 + (messages ? 0 : below(2)),
                         .order = below(2) == 0 ? relaxed : memory_order::acq_rel});
      }
    }
  }

  void run() {
    device machine;
    auto* const words = machine.allocate_shared<uint32_t>(112, "words");
    auto* const results = machine.allocate_shared<uint32_t>(code_.size(), "results");
    words[0] = first_word_;
    const auto perform_all = [=, this](uint32_t self) {
      for (size_t n = 0; n < code_.size(); ++n) {
        if (code_[n].lane != self) continue;
        const bool is_last = n + 1 == code_.size() || code_[n + 1].lane != self;
        if (meets_ && is_last) meet(word<uint32_t>(words[96]), self == 0);
        results[n] = perform(code_[n], words);
      }
    };
    machine.launch({.blocks = lanes_ - (by_host_ ? 1 : 0), .waves = 1, .lanes = 1},
                   [=] { perform_all(target::block_id()); });
    if (by_host_) perform_all(lanes_ - 1);
    machine.synchronize();
    left_.clear();
    for (size_t n = 0; n < code_.size(); ++n) left_ += std::to_string(results[n]) + ' ';
    left_ += "| " + std::to_string(words[0]) + ' ' + std::to_string(words[16]) + ' ' + std::to_string(words[32]);
    machine.free(words);
    machine.free(results);
  }
  const std::string& left() const { return left_; }

 private:
  struct operation {
    uint32_t lane = 0;
    uint32_t kind = 0;
    uint32_t word = 0;
    uint32_t value = 0;
    memory_order order = relaxed;
  };
  void meet(const word<uint32_t>& there, bool waits) const {
    if (!waits)
      (void)there.fetch_add(1, relaxed);
    else
      while (there.load(relaxed) != lanes_ - 1) target::pause();
  }
  static uint32_t perform(const operation& what, uint32_t* words) {
    const word<uint32_t> at(words[size_t{16} * what.word]);
    const bool strong = what.order != relaxed;
    switch (what.kind) {
      case 0:
      case 1:
        return at.load(strong ? memory_order::acquire : relaxed) + 1;
      case 2:
        at.store(what.value, strong ? memory_order::release : relaxed);
        return 0;
      case 3:
        return at.fetch_add(what.value, what.order) + 1;
      case 4:
        return at.fetch_or(what.value, what.order) + 1;
      case 6:
        while (at.load(strong ? memory_order::acquire : relaxed) == 0) target::pause();
        return 0;
      case 7:
        words[48 + size_t{16} * what.word] = what.value;
        return 0;
      case 8:
        return words[48 + size_t{16} * what.word] + 1;
      default:
        target::fence<scope::system>(strong ? memory_order::seq_cst : memory_order::acq_rel);
        return 0;
    }
  }

  uint32_t lanes_ = 0;
  uint32_t first_word_ = 0;
  bool meets_ = false;
  bool by_host_ = false;
  std::vector<operation> code_;
  std::string left_;
};

}  // namespace heddle::sim::tests
