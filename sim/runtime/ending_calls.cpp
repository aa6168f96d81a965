// Calls of the C library that would end the process: in code under test they end the run (--wrap).
#include <heddle/sim/runtime/entry.h>

#include <cstdlib>
#include <string>

namespace runtime = heddle::sim::runtime;
using heddle::sim::lane;
using heddle::sim::operation_kind;
using heddle::sim::world;

namespace {

[[noreturn]] void end_run(lane& self, std::string why, const runtime::caller& from) {
  const runtime::entered inside(self);
  world& here = *world::instance;
  here.finish_plain_store(self);
  self.pending = runtime::make_operation(operation_kind::none, nullptr, 0, from);
  here.end(self, heddle::scheduler::verdict::assertion, std::move(why));
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

[[noreturn]] void __real___assert_fail(const char* assertion, const char* file, unsigned int line,
                                       const char* function);
[[noreturn]] void __real_exit(int status);

[[noreturn]] void __wrap___assert_fail(const char* assertion, const char* file, unsigned int line,
                                       const char* function) {
  lane* const self = world::current;
  if (self == nullptr) __real___assert_fail(assertion, file, line, function);
  end_run(*self, std::string("assert(") + assertion + ")", HEDDLE_CALLER);
}

[[noreturn]] void __wrap_exit(int status) {
  lane* const self = world::current;
  if (self == nullptr) __real_exit(status);
  end_run(*self, "exit(" + std::to_string(status) + ") is called", HEDDLE_CALLER);
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
