#include <heddle/sim/stack_overflow.h>
#include <heddle/sim/world.h>
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <memory>

namespace heddle::sim {
namespace {

struct sigaction previous_action;

void on_fault(int signal, siginfo_t* fault, void*) {
  const world* const here = world::instance;
  if (here == nullptr || !here->guards(fault->si_addr)) {
    // Not ours: the access is made again on return, and fails as if nobody had looked.
    sigaction(signal, &previous_action, nullptr);
    return;
  }
  // The lane may be in the middle of an allocation: nothing here may allocate.
  char who[96] = "a lane";
  const lane* const over = here->owner_of_guard(fault->si_addr);
  const bool host = over != nullptr && over->is_host();
  if (host) {
    std::snprintf(who, sizeof who, "host %s", over->of->name.c_str());
  } else if (over != nullptr) {
    std::snprintf(who, sizeof who, "wave %u lane %u", over->of->device_id, over->index);
  }
  const settings& machine = here->machine();
  const size_t stack_bytes = (host ? machine.host_stack_bytes : machine.stack_bytes) - sanitizer_stack_bytes;
  char line[256];
  const int length = std::snprintf(
      line, sizeof line, "heddle: the stack of %s is too small: raise %s, which is %zu (--set %s=N)\n", who,
      host ? "host_stack_kib" : "stack_kib", stack_bytes / 1024, host ? "host_stack_kib" : "stack_kib");
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line, static_cast<size_t>(length));
  _exit(3);
}

/// Where the handler runs: not on the stack that is used up.
class alternate_stack {
 public:
  alternate_stack() {
    stack_t known = {};
    // AddressSanitizer has given the thread one already.
    if (sigaltstack(nullptr, &known) != 0 || (known.ss_flags & SS_DISABLE) == 0) return;
    memory_ = std::make_unique<std::byte[]>(size_bytes);
    known.ss_sp = memory_.get();
    known.ss_size = size_bytes;
    known.ss_flags = 0;
    sigaltstack(&known, nullptr);
  }
  ~alternate_stack() {
    if (memory_ == nullptr) return;
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
  alternate_stack(const alternate_stack&) = delete;
  alternate_stack& operator=(const alternate_stack&) = delete;

 private:
  static constexpr size_t size_bytes = 32768;
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace

void report_stack_overflows() {
  static thread_local const alternate_stack here;
  static const bool installed = [] {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSEGV, &action, &previous_action) == 0;
  }();
  static_cast<void>(installed);
}

}  // namespace heddle::sim
