// Programs of a few threads, drawn at random from the grammar.
#pragma once

#include <heddle/scheduler/random_stream.h>

#include <cstdint>
#include <string>

namespace heddle::judge {

/// Programs by number: the same on every machine.
class generator {
 public:
  explicit generator(uint64_t seed) : draw_(seed) {}

  /// Waves of one to three steps on two words, as the published ones; with `host`, a host thread of at most two beside them.
  std::string next(bool host, uint32_t waves = 3) {
    std::string text;
    for (uint32_t n = 0; n < waves; ++n) text += "T" + std::to_string(n) + thread(1 + draw_.below(3)) + " ";
    if (host) text += (draw_.below(2) == 0 ? "H0" : "S0") + thread(1 + draw_.below(2));
    return text;
  }

 private:
  std::string thread(uint32_t steps) {
    std::string text = "{";
    for (uint32_t n = 0; n < steps; ++n) text += (n == 0 ? "" : "; ") + std::to_string(n) + ":" + step(n, steps);
    return text + "}";
  }

  std::string step(uint32_t at, uint32_t steps) {
    const std::string location = draw_.below(2) == 0 ? "m0" : "m1";
    const std::string exchange = "xchg(" + location + "," + std::to_string(draw_.below(2)) + ")";
    const uint32_t kind = draw_.below(8);
    if (kind < 3) return "st " + location + "=" + (draw_.below(4) == 0 ? "0" : "1");
    // Most branches wait or leave.
    const uint32_t where = draw_.below(8);
    const std::string target = where < 4 ? std::to_string(at) : where < 7 ? "END" : std::to_string(draw_.below(steps));
    return "if " + (kind < 6 ? "ld " + location : exchange) + "==" + (draw_.below(3) == 0 ? "1" : "0") + " goto " +
           target;
  }

  scheduler::random_stream draw_;
};

}  // namespace heddle::judge
