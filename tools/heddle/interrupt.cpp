#include <heddle/tools/interrupt.h>

#include <csignal>

namespace heddle::tools {
namespace {

std::atomic<bool> raised = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not take a lock");

// Code under test runs on small stacks of its own, where a handler's frame may not fit.
alignas(16) char handler_stack[64 * 1024];

extern "C" void heddle_on_interrupt(int) { raised.store(true, std::memory_order_relaxed); }

}  // namespace

void catch_interrupt() {
  stack_t stack = {};
  stack.ss_sp = handler_stack;
  stack.ss_size = sizeof handler_stack;
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = heddle_on_interrupt;
  action.sa_flags = SA_ONSTACK | SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // Beyond its soft limit a process is told so once a second, and ended at the hard one.
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  sigaction(SIGXCPU, &action, nullptr);
}

const std::atomic<bool>& interrupt_flag() { return raised; }

}  // namespace heddle::tools
