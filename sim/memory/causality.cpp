#include <heddle/sim/memory/causality.h>

namespace heddle::sim {

void join(clock_entries& to, const clock_entries& from) {
  if (to.size() < from.size()) to.resize(from.size(), 0);
  uint32_t* const into = to.data();
  const uint32_t* const other = from.data();
  const size_t count = from.size();
  for (size_t n = 0; n < count; ++n) into[n] = into[n] < other[n] ? other[n] : into[n];
}

}  // namespace heddle::sim
