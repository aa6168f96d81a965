#include <heddle/sim/faults/crash.h>
#include <heddle/sim/fiber/fiber.h>
#include <heddle/sim/run/execution.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace heddle::sim {
namespace {

constexpr std::array caught = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
std::array<struct sigaction, caught.size()> previous_actions;

watched_run* watcher = nullptr;

/// The interrupted registers that matter.
struct registers {
  uintptr_t pc = 0;
  uintptr_t sp = 0;
  uintptr_t frame = 0;
  bool by_store = false;
};

#if defined(__x86_64__)
registers registers_of(const ucontext_t& context) {
  const auto& all = context.uc_mcontext.gregs;
  constexpr greg_t is_write = 2;  // in the error code of a page fault
  return {.pc = static_cast<uintptr_t>(all[REG_RIP]),
          .sp = static_cast<uintptr_t>(all[REG_RSP]),
          .frame = static_cast<uintptr_t>(all[REG_RBP]),
          .by_store = (all[REG_ERR] & is_write) != 0};
}

void go_on_at(ucontext_t& context, void (*function)(), std::byte* stack_top) {
  auto& all = context.uc_mcontext.gregs;
  constexpr greg_t direction = 0x400;
  all[REG_RIP] = static_cast<greg_t>(reinterpret_cast<uintptr_t>(function));
  // As behind a call.
  all[REG_RSP] = static_cast<greg_t>(reinterpret_cast<uintptr_t>(stack_top) - sizeof(void*));
  all[REG_RBP] = 0;
  all[REG_EFL] &= ~direction;
}

/// Whether the process stood in a system call: before it, where the kernel makes it again, or behind it.
bool in_system_call(uintptr_t pc) {
  const auto is_call = [](uintptr_t at) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(at);
    return bytes[0] == 0x0f && bytes[1] == 0x05;
  };
  return is_call(pc) || is_call(pc - 2);
}
constexpr bool can_go_on = true;
#elif defined(__aarch64__)
registers registers_of(const ucontext_t& context) {
  constexpr int frame = 29;
  return {.pc = context.uc_mcontext.pc, .sp = context.uc_mcontext.sp, .frame = context.uc_mcontext.regs[frame]};
}
void go_on_at(ucontext_t& context, void (*function)(), std::byte* stack_top) {
  constexpr int frame = 29, link = 30;
  context.uc_mcontext.pc = reinterpret_cast<uintptr_t>(function);
  context.uc_mcontext.sp = reinterpret_cast<uintptr_t>(stack_top);
  context.uc_mcontext.regs[frame] = context.uc_mcontext.regs[link] = 0;
}
bool in_system_call(uintptr_t pc) {
  constexpr uint32_t call = 0xd4000001;
  const auto* const at = reinterpret_cast<const uint32_t*>(pc);
  return at[0] == call || at[-1] == call;
}
constexpr bool can_go_on = true;
#else
registers registers_of(const ucontext_t&) { return {}; }
void go_on_at(ucontext_t&, void (*)(), std::byte*) {}
bool in_system_call(uintptr_t) { return false; }
constexpr bool can_go_on = false;
#endif

/// Memory for a stack that is mapped, not allocated: the C++ heap may be damaged.
class spare_stack {
 public:
  explicit spare_stack(size_t size_bytes)
      : size_bytes_(size_bytes),
        memory_(mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  }
  ~spare_stack() {
    if (is_there()) munmap(memory_, size_bytes_);
  }
  spare_stack(const spare_stack&) = delete;
  spare_stack& operator=(const spare_stack&) = delete;
  bool is_there() const { return memory_ != MAP_FAILED; }
  std::byte* low() const { return static_cast<std::byte*>(memory_); }
  std::byte* top() const { return low() + size_bytes_; }
  size_t size_bytes() const { return size_bytes_; }

 private:
  size_t size_bytes_;
  void* memory_;
};

/// What an OS thread needs to outlive a fault of a lane.
class rescue {
 public:
  rescue() {
    stack_t known = {};
    // AddressSanitizer has given the thread one already.
    if (sigaltstack(nullptr, &known) != 0 || (known.ss_flags & SS_DISABLE) == 0 || !handlers_.is_there()) return;
    known.ss_sp = handlers_.low();
    known.ss_size = handlers_.size_bytes();
    known.ss_flags = 0;
    own_ = sigaltstack(&known, nullptr) == 0;
  }
  ~rescue() {
    if (!own_) return;
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
  rescue(const rescue&) = delete;
  rescue& operator=(const rescue&) = delete;

  static rescue& of_this_thread() {
    static thread_local rescue mine;
    return mine;
  }

  bool ready() const { return endings_.is_there(); }
  std::byte* ending_stack_top() const { return endings_.top(); }

  fault_note note;
  lane* who = nullptr;
  volatile sig_atomic_t in_handler = 0;

 private:
  spare_stack handlers_{size_t{128} << 10};  ///< where handlers run: not on the stack that is used up
  spare_stack endings_{size_t{512} << 10};   ///< where a run is ended that has been interrupted
  bool own_ = false;
};

// Set by catch_crashes(), so that a handler need not ask for a variable that is made on first use.
thread_local constinit rescue* mine = nullptr;

/// The calls that led to the interrupted place.
struct unwinding {
  uintptr_t pc;
  call_chain& into;
  size_t count;
  bool found;
};

_Unwind_Reason_Code unwind_step(_Unwind_Context* context, void* argument) {
  auto& to = *static_cast<unwinding*>(argument);
  int is_before = 0;
  const uintptr_t at = _Unwind_GetIPInfo(context, &is_before);
  if (at == to.pc) to.found = true;
  if (!to.found) return _URC_NO_REASON;  // the handler's own
  if (at == 0 || to.count == to.into.size()) return _URC_END_OF_STACK;
  // All are given as addresses that a call returns to.
  to.into[to.count++] = reinterpret_cast<const void*>(at + (is_before != 0 ? 1 : 0));
  return _URC_NO_REASON;
}

#if defined(__GNUC__)
__attribute__((no_sanitize("address")))
#endif
void find_calls(const lane& who, const registers& at, bool by_jump, call_chain& calls) {
  const stack_arena::stack& stack = who.runs.stack();
  const auto on_stack = [&](uintptr_t address) {
    const auto* const byte = reinterpret_cast<const std::byte*>(address);
    return byte >= stack.low && byte + 2 * sizeof(void*) <= stack.high();
  };
  calls = {};
  if (!by_jump) {
    unwinding to = {.pc = at.pc, .into = calls, .count = 0, .found = false};
    _Unwind_Backtrace(&unwind_step, &to);
    // What the C library was at says nothing.
    const auto own = std::find_if(calls.begin(), calls.begin() + to.count,
                                  [](const void* place) { return execution::instance->core().map.is_in_image(place); });
    if (own != calls.begin() + to.count) std::fill(std::move(own, calls.end(), calls.begin()), calls.end(), nullptr);
    if (to.count > 1) return;
  }
  // From frame to frame, as far as code under test keeps frame pointers.
  size_t count = 0;
  calls = {};
  if (!by_jump)
    calls[count++] = reinterpret_cast<const void*>(at.pc + 1);
  else if (on_stack(at.sp))
    calls[count++] = *reinterpret_cast<void* const*>(at.sp);
  uintptr_t frame = at.frame;
  while (count < calls.size() && on_stack(frame)) {
    auto* const words = reinterpret_cast<const uintptr_t*>(frame);
    if (words[1] == 0) break;
    calls[count++] = reinterpret_cast<const void*>(words[1]);
    if (words[0] <= frame) break;
    frame = words[0];
  }
}

bool is_canonical(uint64_t address) {
  const uint64_t above = address >> 47;
  return above == 0 || above == 0x1ffff;
}

/// Whether the fault is the access that the lane has asked the simulator for.
bool is_of_pending(const lane& who, const siginfo_t& fault) {
  const auto asked = reinterpret_cast<uintptr_t>(who.pending.address);
  if (asked == 0) return false;
  if (!is_canonical(asked)) return true;
  const auto address = reinterpret_cast<uintptr_t>(fault.si_addr);
  return fault.si_code > 0 && address >= asked && address - asked < who.pending.size_bytes + uint64_t{64};
}

/// An end within a handler is known at once.
void publish(const fault_note& note) {
  if (watcher == nullptr || watcher->note_is_there.load(std::memory_order_relaxed)) return;
  watcher->note = note;
  // Pairs with the watcher's acquire, when this process has ended or been stopped.
  watcher->note_is_there.store(true, std::memory_order_release);
}

void name_actor(const lane& who, fault_note& note) {
  if (who.is_host())
    std::snprintf(note.actor, sizeof note.actor, "%s%s", who.of->copies ? "" : "host ", who.of->name.c_str());
  else
    std::snprintf(note.actor, sizeof note.actor, "wave %u lane %u", who.of->device_id, who.index);
}

// Where an interrupted lane goes on: on a stack of its own, no longer in a handler.
extern "C" [[noreturn]] void heddle_end_run() {
  execution::current = nullptr;
  sigset_t all;
  sigemptyset(&all);
  for (const int each : caught) sigaddset(&all, each);
  sigaddset(&all, watch_signal());
  pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
  execution& here = *execution::instance;
  if (mine->note.kind == fault_note::what::abandoned) here.core().stop(*mine->who);
  const bool stuck = mine->note.kind == fault_note::what::stuck;
  here.core().end_at(*mine->who, stuck ? scheduler::verdict::stuck : scheduler::verdict::crash, message_of(mine->note),
                     mine->note.calls);
}

bool can_end_in_place() { return can_go_on && mine != nullptr && mine->ready(); }

void end_in_place(lane& who, ucontext_t& context) {
  mine->who = &who;
  go_on_at(context, &heddle_end_run, mine->ending_stack_top());
}

/// A handler is no code under test, whatever it calls.
class left_code_under_test {
 public:
  left_code_under_test() : was_(execution::current) { execution::current = nullptr; }
  ~left_code_under_test() { execution::current = was_; }
  left_code_under_test(const left_code_under_test&) = delete;
  left_code_under_test& operator=(const left_code_under_test&) = delete;
  const lane* lane_that_ran() const { return was_; }

 private:
  lane* was_;
};

void pass_on(int signal, const siginfo_t& fault) {
  execution::current = nullptr;  // the calls below are no lane's
  // No lane's: the access is made again on return, and fails as if this handler were not there.
  size_t index = 0;
  while (caught[index] != signal) ++index;
  sigaction(signal, &previous_actions[index], nullptr);
  const bool comes_again =
      fault.si_code > 0 && (signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE);
  if (!comes_again) ::raise(signal);
}

/// What is known of a run that stops here, besides who and where.
void take_numbers(const execution& here, fault_note& note) {
  note.steps = here.core().history.steps;
  note.choices = here.core().choices.made();
  note.digest = here.core().history.digest.value();
}

void on_fault(int signal, siginfo_t* fault, void* raw) {
  const left_code_under_test here_and_now;
  const int error_before = errno;
  auto& context = *static_cast<ucontext_t*>(raw);
  if (mine == nullptr || mine->in_handler != 0) {
    if (mine != nullptr && mine->in_handler != 0) publish(mine->note);
    pass_on(signal, *fault);
    return;
  }
  mine->in_handler = 1;
  const registers at = registers_of(context);
  execution* const here = execution::instance;
  const bool from_outside = fault->si_code <= 0 && fault->si_pid != getpid();
  fault_note& note = mine->note;
  note = {};
  note.kind = fault_note::what::signal;
  note.signal = signal;
  note.code = fault->si_code;
  const bool has_address = fault->si_code > 0 && (signal == SIGSEGV || signal == SIGBUS);
  if (has_address) {
    note.address = reinterpret_cast<uintptr_t>(fault->si_addr);
    note.by_store = at.by_store;
    note.by_jump = note.address == at.pc;
  }
  lane* who = nullptr;
  if (here != nullptr && !from_outside) {
    take_numbers(*here, note);
    if (signal == SIGSEGV && fault->si_code > 0 && here->core().map.guards(fault->si_addr)) {
      who = const_cast<lane*>(here->core().threads.owner_of_guard(here->core().map, fault->si_addr));
      if (who != nullptr) {
        const settings& machine = here->machine();
        note.kind = fault_note::what::overflow;
        note.on_host = who->is_host();
        note.stack_kib = static_cast<uint32_t>(
            ((who->is_host() ? machine.host_stack_bytes : machine.stack_bytes) - sanitizer_stack_bytes) / 1024);
      }
    }
    if (who == nullptr) who = here->core().threads.lane_on(reinterpret_cast<const std::byte*>(at.sp));
  }
  if (who == nullptr) {
    if (!from_outside) publish(note);
    pass_on(signal, *fault);
    mine->in_handler = 0;
    errno = error_before;
    return;
  }
  name_actor(*who, note);
  const bool in_code_under_test = here_and_now.lane_that_ran() == who;
  const bool overflows = note.kind == fault_note::what::overflow;
  const bool asked_for = !in_code_under_test && !overflows && is_of_pending(*who, *fault);
  note.in_simulator = !in_code_under_test && !asked_for && !overflows;
  if (asked_for) {
    if (note.address == 0) note.address = reinterpret_cast<uintptr_t>(who->pending.address);
    note.by_store = may_write(who->pending.kind);
  }
  // What the C library was at may not be left in the middle: it may have been at the heap.
  const bool in_program = here->core().map.is_in_image(reinterpret_cast<const void*>(at.pc));
  const bool trusted =
      asked_for || (in_program && (in_code_under_test || overflows)) || (in_code_under_test && note.by_jump);
  if (asked_for || note.in_simulator)
    note.calls = calls_of(*who);
  else
    find_calls(*who, at, note.by_jump, note.calls);
  if (!trusted) publish(note);
  const bool goes_on = trusted || (watcher == nullptr ? overflows : watcher->survives.load(std::memory_order_relaxed));
  if (!goes_on || !can_end_in_place()) {
    publish(note);
    pass_on(signal, *fault);
  } else {
    if (!trusted && watcher != nullptr) watcher->is_damaged.store(true, std::memory_order_relaxed);
    end_in_place(*who, context);
  }
  mine->in_handler = 0;
  errno = error_before;
}

void on_watch(int, siginfo_t*, void* raw) {
  const left_code_under_test here_and_now;
  const int error_before = errno;
  using asks = watched_run::asks;
  watched_run* const by = watcher;
  if (by == nullptr) return;
  execution* const here = execution::instance;
  const asks asked = by->asked.load(std::memory_order_acquire);
  by->steps.store(here == nullptr ? 0 : here->core().history.steps, std::memory_order_relaxed);
  by->answers.fetch_add(1, std::memory_order_release);
  const bool ends = asked == asks::end_as_stuck || asked == asks::abandon;
  if (!ends || here == nullptr || mine == nullptr || mine->in_handler != 0) {
    errno = error_before;
    return;
  }
  mine->in_handler = 1;
  auto& context = *static_cast<ucontext_t*>(raw);
  const registers at = registers_of(context);
  lane* const who = here->core().threads.lane_on(reinterpret_cast<const std::byte*>(at.sp));
  if (who != nullptr && here_and_now.lane_that_ran() == who && can_end_in_place()) {
    const bool trusted = here->core().map.is_in_image(reinterpret_cast<const void*>(at.pc)) || in_system_call(at.pc);
    if (trusted || by->insists.load(std::memory_order_relaxed)) {
      fault_note& note = mine->note;
      note = {};
      note.kind = asked == asks::abandon ? fault_note::what::abandoned : fault_note::what::stuck;
      take_numbers(*here, note);
      name_actor(*who, note);
      if (asked == asks::end_as_stuck) find_calls(*who, at, false, note.calls);
      by->asked.store(asks::nothing, std::memory_order_relaxed);
      if (asked == asks::end_as_stuck) by->stuck_runs.fetch_add(1, std::memory_order_relaxed);
      if (!trusted) {
        if (asked == asks::end_as_stuck) publish(note);
        by->is_damaged.store(true, std::memory_order_relaxed);
      }
      end_in_place(*who, context);
    }
  }
  mine->in_handler = 0;
  errno = error_before;
}

std::string hexadecimal(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

/// The address where it is the program's own number; where the system places things differs from process to process.
std::string address_text(const fault_note& note) {
  constexpr uint64_t placed_from = uint64_t{0x5000} << 32;
  if (note.address >= placed_from && note.address >> 47 == 0) return "an address";
  return hexadecimal(note.address);
}

std::string fault_text(const fault_note& note) {
  if (note.code == SI_KERNEL || (note.address != 0 && !is_canonical(note.address)))
    return "an access through a pointer that no memory has (not canonical)";
  const std::string what = note.by_jump ? "a jump to " : note.by_store ? "a store to " : "a load from ";
  const std::string address = address_text(note);
  if (note.signal == SIGSEGV && note.code == SEGV_ACCERR)
    return what + address +
           (note.by_jump    ? ", which is no code"
            : note.by_store ? ", which may not be written"
                            : ", which may not be read");
  if (note.signal == SIGSEGV) return what + address + ", where no memory is";
  return what + address;
}

std::string signal_text(const fault_note& note) {
  const bool raised = note.code <= 0;
  switch (note.signal) {
    case SIGSEGV:
      return "SIGSEGV: " + (raised ? "the program sends it to itself" : fault_text(note));
    case SIGBUS:
      return "SIGBUS: " + (raised ? "the program sends it to itself" : fault_text(note));
    case SIGFPE:
      if (note.code == FPE_INTDIV) return "SIGFPE: an integer is divided by zero, or the quotient is too large";
      return "SIGFPE";
    case SIGILL:
      return raised ? "SIGILL" : "SIGILL: an instruction that is none, such as __builtin_trap()";
    case SIGABRT:
      return "SIGABRT: abort(), by the C or C++ library: it has found its heap damaged, or a call or an exception that "
             "may not be";
    case SIGTRAP:
      return raised ? "SIGTRAP" : "SIGTRAP: a breakpoint";
    case SIGSYS:
      return raised ? "SIGSYS" : "SIGSYS: a system call that is not allowed";
    default:
      return "signal " + std::to_string(note.signal) + " (" + strsignal(note.signal) + ")";
  }
}

}  // namespace

int watch_signal() { return SIGURG; }  // ignored where it has no handler

void be_watched(watched_run* by) {
  watcher = by;
  if (by == nullptr) return;
  struct sigaction action = {};
  action.sa_sigaction = on_watch;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(watch_signal(), &action, nullptr);
}

void catch_crashes() {
  mine = &rescue::of_this_thread();
  static const bool installed = [] {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, watch_signal());
    bool all = true;
    for (size_t n = 0; n < caught.size(); ++n) all = sigaction(caught[n], &action, &previous_actions[n]) == 0 && all;
    return all;
  }();
  static_cast<void>(installed);
}

std::string message_of(const fault_note& note) {
  const std::string actor = note.actor[0] == '\0' ? "the program" : note.actor;
  switch (note.kind) {
    case fault_note::what::nothing:
    case fault_note::what::abandoned:
      return {};
    case fault_note::what::stuck:
      return actor +
             " goes on without a scheduling point: in a loop that touches no memory but its own stack, or in a call "
             "that blocks";
    case fault_note::what::overflow: {
      const std::string function = source_of(note.calls).function;
      const std::string key = note.on_host ? "host_stack_kib" : "stack_kib";
      return "the stack of " + actor + " is too small" + (function.empty() ? "" : " in " + function) + ": raise " +
             key + ", which is " + std::to_string(note.stack_kib) + " (--set " + key +
             "=N), unless the recursion has no end";
    }
    case fault_note::what::signal:
      break;
  }
  if (note.in_simulator)
    return signal_text(note) + ", in the simulator itself while " + actor +
           " is served: most likely the program has damaged the C++ heap, which both share";
  return signal_text(note);
}

outcome outcome_of(const fault_note& note) {
  outcome made;
  made.verdict = note.kind == fault_note::what::stuck ? scheduler::verdict::stuck : scheduler::verdict::crash;
  made.message = message_of(note);
  if (note.calls.front() != nullptr) made.where = source_of(note.calls).where();
  if (note.actor[0] != '\0') {
    made.report = std::string(note.actor) + " ends the run: " + made.message + "\n";
    bool first = true;
    for (const source_line& line : lines_of(note.calls)) {
      made.report += (first ? "    at   " : "    from ") + line.where() +
                     (line.function.empty() ? "" : " (" + line.function + ")") + '\n';
      first = false;
    }
  }
  made.steps = note.steps;
  made.digest = note.digest;
  return made;
}

}  // namespace heddle::sim
