#include <heddle/tools/registry.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

const heddle::parameter calls = heddle::parameter::number("calls", 3, 1, 100, "calls", "how often");

void good(const heddle::parameters& set) { std::printf("good %u\n", set.count("calls")); }
void trapping(const heddle::parameters&) { std::abort(); }
void leaving(const heddle::parameters&) { std::exit(9); }
void hanging(const heddle::parameters&) {
  for (;;) pause();
}
heddle::scheduler::verdict deadlock(const heddle::parameters&) { return heddle::scheduler::verdict::deadlock; }

const bool registered =
    heddle::register_scenario({.name = "real.good", .summary = "Works.", .parameters = {calls}, .body = good}) &&
    heddle::register_scenario({.name = "real.trapping", .summary = "Traps.", .body = trapping}) &&
    heddle::register_scenario({.name = "real.leaving", .summary = "Ends the program.", .body = leaving}) &&
    heddle::register_scenario({.name = "zoo.hanging", .summary = "Hangs.", .expected = deadlock, .body = hanging});

}  // namespace
