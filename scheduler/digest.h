// A running hash that tells two runs apart: by the simulator over its steps, by a campaign over its runs.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace heddle::scheduler {

/// 64 bits over a sequence of words; the order counts. Not for use against an adversary.
///
/// No address and nothing that depends on the order of a hash table may be added: equal runs must have equal digests in
/// every process.
/// The mixing function is variant 13 of D. Stafford, "Better bit mixing" (2011), which is SplitMix64's last step.
class digest {
 public:
  void add(uint64_t word) { state_ = mixed(state_ ^ word) + 0x9e3779b97f4a7c15; }

  /// Several words as one, in less time: two are multiplied on their own (odd constants, as in multilinear hashing;
  /// Lemire and Kaser, "Strongly universal string hashing is fast", 2014), and only the sum is taken in.
  void add(uint64_t first, uint64_t second, uint64_t third = 0) {
    const uint64_t sum =
        (first + 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93 + (second + 0xa0761d6478bd642f) * 0xe7037ed1a0b428db;
    // One multiplication lies between two calls; value() does the rest of the mixing.
    state_ = (state_ ^ sum ^ sum >> 32) * 0x9fb21c651e98df25 + third;
    state_ ^= state_ >> 29;
  }

  /// The bytes and how many they are, so that "ab", "c" differs from "a", "bc".
  void add(std::string_view text) {
    add(uint64_t{text.size()});
    for (size_t done = 0; done < text.size(); done += 8) {
      uint64_t word = 0;
      std::memcpy(&word, text.data() + done, text.size() - done < 8 ? text.size() - done : 8);
      add(word);
    }
  }

  uint64_t value() const { return mixed(state_); }

 private:
  static uint64_t mixed(uint64_t word) {
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
  }

  uint64_t state_ = 0x6865646c65;  // any constant but 0, which mixes to 0
};

}  // namespace heddle::scheduler
