#include <heddle/scheduler/append.h>
#include <heddle/sim/memory/causality.h>

#include <algorithm>

namespace heddle::sim {

void widen(clock_entries& of, uint32_t lane) {
  // Mostly it is one more; the first of a late lane's clock are many.
  if (of.size() == lane)
    scheduler::append(of, 0u);
  else if (of.size() < lane)
    of.resize(lane + size_t{1});
}

bool includes(const clock_entries& whole, const clock_entries& part, uint32_t except) {
  const auto all = static_cast<uint32_t>(part.size());
  const auto both = static_cast<uint32_t>(std::min(whole.size(), part.size()));
  // Without a way out, so that several are compared at once; as signed words, as in join().
  uint32_t greater = 0;
  for (uint32_t n = 0; n < both; ++n)
    greater |= (static_cast<int32_t>(part[n]) > static_cast<int32_t>(whole[n]) ? 1u : 0u) & (n != except ? 1u : 0u);
  for (uint32_t n = both; n < all; ++n) greater |= n != except ? part[n] : 0;
  return greater == 0;
}

void join(clock_entries& to, const clock_entries& from) {
  constexpr size_t few = 8;
  const size_t both = std::min(to.size(), from.size());
  for (size_t n = both; n < from.size(); ++n) scheduler::append(to, from[n]);
  uint32_t* const into = to.data();
  const uint32_t* const other = from.data();
  // Several at a time is worth its beginning only where there are many.
  if (both <= few) {
    for (size_t n = 0; n < both; ++n)
      if (into[n] < other[n]) into[n] = other[n];
    return;
  }
  // Epochs are counted by steps and stay far below 2^31; and signed words are what every x86 compares several of at once.
  for (size_t n = 0; n < both; ++n)
    into[n] = static_cast<int32_t>(into[n]) < static_cast<int32_t>(other[n]) ? other[n] : into[n];
}

}  // namespace heddle::sim
