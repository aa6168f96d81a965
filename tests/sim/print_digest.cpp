// Prints the digests of a fixed program, and where this process has put things: equal and different in every process.
#include "fixed_program.h"

int main() {
  using namespace heddle::sim::tests;
  machine on;
  for (uint64_t seed = 1; seed <= 5; ++seed)
    std::printf("%016llx ", static_cast<unsigned long long>(on.run(fixed_program, seed).digest));
  std::printf("\n%p %p\n", reinterpret_cast<void*>(&main), static_cast<void*>(std::make_unique<int>(1).get()));
  return 0;
}
