// Words that streams write and wait for, as CUDA and HIP have them. Included by their headers alone.
#pragma once

namespace heddle::compat {

enum class word_test : unsigned int { at_least = 0, equal = 1, any_bit = 2, not_all_bits = 3 };

/// Of the words' own width, whose differences wrap. (CUDA Driver API, "CUstreamWaitValue_flags".)
template <typename Word, word_test Test>
bool word_holds(uint64_t found, uint64_t value) {
  const auto one = static_cast<Word>(found);
  const auto other = static_cast<Word>(value);
  if constexpr (Test == word_test::equal) return one == other;
  if constexpr (Test == word_test::any_bit) return (one & other) != 0;
  if constexpr (Test == word_test::not_all_bits) return static_cast<Word>(~(one | other)) != 0;
  return static_cast<std::make_signed_t<Word>>(one - other) >= 0;
}

template <typename Word>
void write_in_stream(const void* stream, void* to, Word value, bool is_ordered) {
  const uint32_t number = stream_number(stream);
  if (sim::runtime::streams_have_words() && !is_capturing(number))
    return sim::runtime::write_word_in_stream(to, sizeof(Word), value, is_ordered, number);
  const memory_order order = is_ordered ? memory_order::release : memory_order::relaxed;
  launch_body([=] { sim::runtime::store(to, sizeof(Word), value, order, scope::system); }, one_lane(stream, "write"));
}

/// False: there is no such test.
template <typename Word>
bool wait_in_stream(const void* stream, const void* at, Word value, unsigned int test,
                    Word mask = static_cast<Word>(-1)) {
  static constexpr decltype(&word_holds<Word, word_test::equal>) tests[] = {
      word_holds<Word, word_test::at_least>, word_holds<Word, word_test::equal>, word_holds<Word, word_test::any_bit>,
      word_holds<Word, word_test::not_all_bits>};
  if (test >= sizeof tests / sizeof *tests) return false;
  const sim::runtime::awaited_word what = {.value = value, .mask = mask, .holds = tests[test]};
  const uint32_t number = stream_number(stream);
  if (sim::runtime::streams_have_words() && !is_capturing(number)) {
    sim::runtime::wait_for_word_in_stream(at, sizeof(Word), what, number);
    return true;
  }
  launch_body(
      [=] {
        while (!what.holds(sim::runtime::load(at, sizeof(Word), memory_order::acquire, scope::system) & what.mask,
                           what.value))
          sim::runtime::pause();
      },
      one_lane(stream, "wait"));
  return true;
}

}  // namespace heddle::compat
