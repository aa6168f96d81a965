// Which threads run the functions of the host that streams are given (host_settings::functions), and whose turn it is where that is one for all.
// (CUDA Runtime API, "cudaLaunchHostFunc": functions without a mandated order may be serialized, and must not wait for work of the device that is not
// mandated to run earlier.)
#pragma once

#include <cstdint>
#include <optional>

namespace heddle::sim {

class function_turns {
 public:
  void forget() { *this = {}; }

  /// What is drawn holds for the run. Until then nothing is known to be in one thread.
  bool are_drawn() const { return drawn_ != drawn::nothing; }
  void draw(bool one_thread) { drawn_ = one_thread ? drawn::one : drawn::each; }
  bool in_one_thread() const { return drawn_ == drawn::one; }

  /// In that thread: the function that was given to a stream as work of this number begins, when the last one has ended.
  void begins(uint32_t ordinal) {
    last_ = ordinal;
    runs_ = true;
  }
  void ended(uint32_t ordinal) { runs_ = runs_ && last_ != ordinal; }
  /// The one that has begun last, by its number; it may have ended.
  std::optional<uint32_t> last() const { return last_; }
  std::optional<uint32_t> running() const { return runs_ ? last_ : std::nullopt; }
  /// The one that runs, where work of this number, which was given later, must not start.
  std::optional<uint32_t> holding(uint32_t ordinal) const { return runs_ && *last_ < ordinal ? last_ : std::nullopt; }

  /// Differs where what is to come may.
  uint64_t state() const {
    return static_cast<uint64_t>(drawn_) << 34 | uint64_t{runs_} << 32 | uint64_t{last_.has_value()} << 33 |
           last_.value_or(0);
  }

 private:
  enum class drawn : uint8_t { nothing, one, each };
  drawn drawn_ = drawn::nothing;
  std::optional<uint32_t> last_;
  bool runs_ = false;
};

}  // namespace heddle::sim
