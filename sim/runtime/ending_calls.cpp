// Calls of the C library that would end the process: in code under test they end the run (--wrap).
#include <heddle/sim/code/program_state.h>
#include <heddle/sim/runtime/entry.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

namespace runtime = heddle::sim::runtime;
using heddle::scheduler::verdict;
using heddle::sim::execution;
using heddle::sim::lane;

namespace {

// In these the words are put together by the simulator: their copies are no accesses of the lane's.

[[noreturn]] void crash(lane& self, const char* call, const runtime::caller& from) {
  const runtime::entered inside(self);
  runtime::refuse(self, verdict::crash, std::string(call) + " is called: it would end the process", from);
}
[[noreturn]] void crash(lane& self, const char* function, int status, const runtime::caller& from) {
  const runtime::entered inside(self);
  crash(self, (std::string(function) + "(" + std::to_string(status) + ")").c_str(), from);
}

std::string name_of_signal(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? std::to_string(signal) : std::string("SIG") + name;
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

[[noreturn]] void __real___assert_fail(const char* assertion, const char* file, unsigned int line,
                                       const char* function);
[[noreturn]] void __real_exit(int status);
[[noreturn]] void __real__exit(int status);
[[noreturn]] void __real__Exit(int status);
[[noreturn]] void __real_quick_exit(int status);
[[noreturn]] void __real_abort();
int __real_raise(int signal);

[[noreturn]] void __wrap___assert_fail(const char* assertion, const char* file, unsigned int line,
                                       const char* function) {
  lane* const self = execution::current;
  if (self == nullptr) __real___assert_fail(assertion, file, line, function);
  const runtime::entered inside(*self);
  runtime::refuse(*self, verdict::assertion, std::string("assert(") + assertion + ")", HEDDLE_CALLER);
}

[[noreturn]] void __wrap_exit(int status) {
  lane* const self = execution::current;
  if (self == nullptr) __real_exit(status);
  if (status == 0 && self->is_host() && heddle::sim::is_program()) {
    runtime::end_program();
    execution::instance->end_host(*self);
  }
  const runtime::entered inside(*self);
  runtime::refuse(*self, verdict::assertion, "exit(" + std::to_string(status) + ") is called", HEDDLE_CALLER);
}

[[noreturn]] void __wrap__exit(int status) {
  lane* const self = execution::current;
  if (self == nullptr) __real__exit(status);
  crash(*self, "_exit", status, HEDDLE_CALLER);
}

[[noreturn]] void __wrap__Exit(int status) {
  lane* const self = execution::current;
  if (self == nullptr) __real__Exit(status);
  crash(*self, "_Exit", status, HEDDLE_CALLER);
}

[[noreturn]] void __wrap_quick_exit(int status) {
  lane* const self = execution::current;
  if (self == nullptr) __real_quick_exit(status);
  crash(*self, "quick_exit", status, HEDDLE_CALLER);
}

[[noreturn]] void __wrap_abort() {
  lane* const self = execution::current;
  if (self == nullptr) __real_abort();
  crash(*self, "abort()", HEDDLE_CALLER);
}

int __wrap_raise(int signal) {
  lane* const self = execution::current;
  if (self == nullptr) return __real_raise(signal);
  const runtime::entered inside(*self);
  runtime::refuse(*self, verdict::crash, "raise(" + name_of_signal(signal) + ") is called", HEDDLE_CALLER);
}

// Signal 0 only asks whether the process is there.
int __real_kill(pid_t process, int signal);
int __wrap_kill(pid_t process, int signal) {
  lane* const self = execution::current;
  const bool to_itself = process == 0 || process == -1 || process == getpid() || process == -getpgrp();
  if (self == nullptr || signal == 0 || !to_itself) return __real_kill(process, signal);
  const runtime::entered inside(*self);
  runtime::refuse(*self, verdict::crash, "kill(" + name_of_signal(signal) + ") is called", HEDDLE_CALLER);
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
