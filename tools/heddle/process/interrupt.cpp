#include <heddle/scheduler/own_errors.h>
#include <heddle/tools/process/copied_process.h>
#include <heddle/tools/process/interrupt.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <new>

namespace heddle::tools {
namespace {

struct flag {
  std::atomic<bool> raised = false;
  std::atomic<int> by = 0;  ///< the signal
};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "a signal handler may not take a lock");

flag own_flag;
flag* the_flag = &own_flag;

// Code under test runs on small stacks of its own, where a handler's frame may not fit.
alignas(16) char handler_stack[128 * 1024];

extern "C" void heddle_on_interrupt(int signal) {
  const int error_before = errno;
  the_flag->by.store(signal, std::memory_order_relaxed);
  // What sees the flag may ask by which signal: pairs with its acquire.
  if (!the_flag->raised.exchange(true, std::memory_order_acq_rel)) {
    constexpr char line[] = "heddle: stopping, with what there is; once more: at once\n";
    [[maybe_unused]] const auto written = write(scheduler::own_errors, line, sizeof line - 1);
  }
  errno = error_before;
}

}  // namespace

void catch_interrupt() {
  if (this_copy() != nullptr) return;
  // Before anything keeps the address of the flag.
  share_interrupt_flag();
  stack_t stack = {};
  stack.ss_sp = handler_stack;
  stack.ss_size = sizeof handler_stack;
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = heddle_on_interrupt;
  action.sa_flags = SA_ONSTACK | SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // Under nohup a terminal that goes ends nothing.
  struct sigaction as_started = {};
  sigaction(SIGHUP, nullptr, &as_started);
  if (as_started.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  // Beyond its soft limit a process is told so once a second, and ended at the hard one.
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  sigaction(SIGXCPU, &action, nullptr);
}

const std::atomic<bool>& interrupt_flag() { return the_flag->raised; }

void share_interrupt_flag() {
  if (the_flag != &own_flag) return;
  void* const mapped = mmap(nullptr, sizeof(flag), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return;
  flag* const shared = new (mapped) flag;
  the_flag = shared;
  // One that came meanwhile has raised the other.
  shared->by.store(own_flag.by.load(std::memory_order_relaxed), std::memory_order_relaxed);
  if (own_flag.raised.load(std::memory_order_acquire)) shared->raised.store(true, std::memory_order_release);
}

int interrupt_status() {
  const int by = the_flag->by.load(std::memory_order_relaxed);
  return 128 + (by == SIGTERM || by == SIGHUP ? by : SIGINT);
}

}  // namespace heddle::tools
