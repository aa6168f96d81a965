#include <heddle/scheduler/answer_code.h>
#include <heddle/scheduler/trace.h>

#include <algorithm>
#include <bit>
#include <map>
#include <type_traits>
#include <utility>

namespace heddle::scheduler {
namespace {

// The range coder is that of LZMA (Igor Pavlov, LZMA specification, 2015): a range of 32 bits, with a carry into what has been written.

constexpr int probability_bits = 16;
constexpr uint32_t certain = uint32_t{1} << probability_bits;
/// Nothing is more likely than this, so that each bit that is read takes something of the text.
constexpr uint32_t likely_max = certain - certain / 512;

class encoder {
 public:
  void put(bool bit, uint32_t probability_of_1) {
    const uint32_t bound = (range_ >> probability_bits) * probability_of_1;
    if (bit) {
      range_ = bound;
    } else {
      low_ += bound;
      range_ -= bound;
    }
    for (; range_ < top; range_ <<= 8) shift_low();
  }

  std::string finish() {
    for (int byte = 0; byte < 5; ++byte) shift_low();
    // The decoder reads zeros behind the end; the first byte is always 0.
    while (bytes_.size() > 1 && bytes_.back() == '\0') bytes_.pop_back();
    return bytes_.substr(1);
  }

 private:
  static constexpr uint32_t top = uint32_t{1} << 24;

  void shift_low() {
    if (low_ < 0xff000000u || low_ > 0xffffffffu) {
      const auto carry = static_cast<unsigned char>(low_ >> 32);
      bytes_ += static_cast<char>(cached_ + carry);
      for (; pending_ != 0; --pending_) bytes_ += static_cast<char>(0xff + carry);
      cached_ = static_cast<unsigned char>(low_ >> 24);
    } else {
      ++pending_;
    }
    low_ = (low_ & 0x00ffffffu) << 8;
  }

  uint64_t low_ = 0;
  uint32_t range_ = ~uint32_t{0};
  unsigned char cached_ = 0;
  uint64_t pending_ = 0;
  std::string bytes_;
};

class decoder {
 public:
  explicit decoder(std::string_view bytes) : bytes_(bytes) {
    for (int byte = 0; byte < 4; ++byte) code_ = code_ << 8 | next();
  }

  bool take(uint32_t probability_of_1) {
    const uint32_t bound = (range_ >> probability_bits) * probability_of_1;
    const bool bit = code_ < bound;
    if (bit) {
      range_ = bound;
    } else {
      code_ -= bound;
      range_ -= bound;
    }
    for (; range_ < top; range_ <<= 8) code_ = code_ << 8 | next();
    return bit;
  }

  /// More was read than the encoder can have left away.
  bool is_beyond_end() const { return beyond_ > 8; }

 private:
  static constexpr uint32_t top = uint32_t{1} << 24;

  uint32_t next() {
    if (at_ < bytes_.size()) return static_cast<unsigned char>(bytes_[at_++]);
    ++beyond_;
    return 0;
  }

  std::string_view bytes_;
  size_t at_ = 0;
  size_t beyond_ = 0;
  uint32_t range_ = ~uint32_t{0};
  uint32_t code_ = 0;
};

/// How likely a bit is 1, learnt from those that were seen in one context.
struct counter {
  static constexpr uint32_t most_seen = 30;
  uint16_t probability = certain / 2;
  uint16_t seen = 0;

  void learn(bool bit) {
    const int32_t target = bit ? static_cast<int32_t>(certain) - 1 : 0;
    const int32_t moved = probability + (target - probability) * 2 / (2 * seen + 3);
    probability = static_cast<uint16_t>(moved);
    if (seen < most_seen) ++seen;
  }
};

/// Counters of contexts. Two contexts may have one counter; that costs a little of the text's shortness.
class contexts {
 public:
  /// For so many answers.
  explicit contexts(uint64_t answers)
      : index_bits_(std::clamp(static_cast<int>(std::bit_width(answers)) + 6, 8, 16)),
        counters_(size_t{1} << index_bits_) {}
  counter& at(uint64_t context, uint32_t node) {
    uint64_t mixed = (context ^ (uint64_t{node} << 40)) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9u;
    return counters_[mixed >> (64 - index_bits_)];
  }

 private:
  int index_bits_;
  std::vector<counter> counters_;
};

/// A number below `count`, bit by bit: each with what a wide context says of it and, as long as that has seen little, a narrow one.
template <class Coder>
class model {
 public:
  model(Coder& coder, uint64_t answers) : coder_(coder), wide_(answers), narrow_(answers) {}

  uint32_t code(uint32_t value, uint32_t count, uint64_t wide, uint64_t narrow) {
    uint32_t node = 1;
    uint32_t made = 0;
    for (int bit = static_cast<int>(std::bit_width(count - 1)) - 1; bit >= 0; --bit) {
      counter& near = wide_.at(wide, node);
      counter& far = narrow_.at(narrow, node);
      const uint32_t far_weight = 1 + std::min<uint32_t>(far.seen, 2);
      const uint32_t mixed =
          (near.probability * uint32_t{near.seen} + far.probability * far_weight) / (near.seen + far_weight);
      const bool is_1 = pass((value >> bit & 1) != 0, std::clamp(mixed, certain - likely_max, likely_max));
      near.learn(is_1);
      far.learn(is_1);
      made = made << 1 | (is_1 ? 1 : 0);
      node = node << 1 | (is_1 ? 1 : 0);
    }
    return made;
  }

 private:
  bool pass(bool bit, uint32_t probability) {
    if constexpr (std::is_same_v<Coder, encoder>) {
      coder_.put(bit, probability);
      return bit;
    } else {
      return coder_.take(probability);
    }
  }

  Coder& coder_;
  contexts wide_;
  contexts narrow_;
};

using shape = std::pair<choice_kind, uint32_t>;

/// Part of the format: there may be so many kinds.
constexpr uint64_t kinds_most = 16;
static_assert(choice_kind_count <= kinds_most);

/// What the next answer is guessed from: the last shapes, and what was picked last where the shape was this.
struct history {
  explicit history(size_t shapes) : last(shapes, 0) {}
  uint32_t before = 0;
  uint32_t before_that = 0;
  uint32_t picked = 0;
  std::vector<uint32_t> last;

  static constexpr uint64_t of_shape = 1, of_pick = 2;
  static uint64_t context(uint64_t what, uint64_t first, uint64_t second = 0, uint64_t third = 0) {
    return ((what * 0x10001 + first) * 0x10001 + second) * 0x10001 + third;
  }
  uint64_t wide_of_shape() const { return context(of_shape, before, before_that, picked); }
  uint64_t narrow_of_shape() const { return context(of_shape, before, before_that); }
  uint64_t wide_of_pick(uint32_t index) const { return context(of_pick, index, last[index]); }
  static uint64_t narrow_of_pick(uint32_t index) { return context(of_pick, index); }
  void add(uint32_t index, uint32_t pick) {
    last[index] = picked = pick;
    before_that = std::exchange(before, index);
  }
};

}  // namespace

std::string coded_answers(const std::vector<answer>& answers) {
  std::map<shape, uint32_t> indices;
  std::string bytes;
  std::string listed;
  for (const answer& each : answers) {
    const bool is_new = indices.emplace(shape(each.kind, each.count), static_cast<uint32_t>(indices.size())).second;
    if (!is_new) continue;
    put_number(listed, uint64_t{each.count - 2} * kinds_most + static_cast<uint64_t>(each.kind));
  }
  put_number(bytes, answers.size());
  put_number(bytes, indices.size());
  bytes += listed;
  encoder coder;
  model<encoder> coded(coder, answers.size());
  history known(indices.size());
  for (const answer& each : answers) {
    const uint32_t index = indices.at(shape(each.kind, each.count));
    coded.code(index, static_cast<uint32_t>(indices.size()), known.wide_of_shape(), known.narrow_of_shape());
    coded.code(each.picked, each.count, known.wide_of_pick(index), history::narrow_of_pick(index));
    known.add(index, each.picked);
  }
  return bytes + coder.finish();
}

bool decode_answers(std::string_view bytes, std::vector<answer>& answers) {
  const auto count = take_number(bytes);
  const auto shape_count = take_number(bytes);
  if (!count || *count > answers_max || !shape_count || *shape_count > bytes.size() || *shape_count > *count)
    return false;
  std::vector<shape> shapes;
  for (uint64_t each = 0; each < *shape_count; ++each) {
    const auto listed = take_number(bytes);
    if (!listed || *listed % kinds_most >= choice_kind_count || *listed / kinds_most >= no_answer - 2) return false;
    shapes.emplace_back(static_cast<choice_kind>(*listed % kinds_most),
                        static_cast<uint32_t>(*listed / kinds_most + 2));
  }
  if (*count > 0 && shapes.empty()) return false;
  decoder coder(bytes);
  model<decoder> coded(coder, *count);
  history known(shapes.size());
  for (uint64_t each = 0; each < *count; ++each) {
    const uint32_t index =
        coded.code(0, static_cast<uint32_t>(shapes.size()), known.wide_of_shape(), known.narrow_of_shape());
    if (index >= shapes.size()) return false;
    const auto [kind, among] = shapes[index];
    const uint32_t picked = coded.code(0, among, known.wide_of_pick(index), history::narrow_of_pick(index));
    if (picked >= among || coder.is_beyond_end()) return false;
    answers.push_back({.kind = kind, .count = among, .picked = picked});
    known.add(index, picked);
  }
  return true;
}

}  // namespace heddle::scheduler
