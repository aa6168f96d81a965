#include <heddle/sim/code/branch_probes.h>
#include <heddle/sim/faults/crash.h>
#include <heddle/sim/faults/interrupted_calls.h>
#include <heddle/sim/faults/registers.h>
#include <heddle/sim/fiber/fiber.h>
#include <heddle/sim/run/execution.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

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
  if (who.of->named)
    std::snprintf(note.actor, sizeof note.actor, "%s", who.of->name.c_str());
  else if (who.is_host())
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

/// What is known of a run that stops here, besides the lane and the place.
void take_numbers(const execution& here, fault_note& note) {
  note.steps = here.core().history.steps;
  note.choices = here.core().choices.made();
  note.digest = here.core().history.digest.value();
}

// A branch that tells which way it goes: no fault.
bool goes_on_at_branch(ucontext_t& context) {
  if (!branch_probes::any()) return false;
  uintptr_t pc = registers_of(context).pc;
  const branch_log::decision told = branch_probes::jump(pc, flags_of(context));
  if (told.probe == 0) return false;
  go_on_at(context, pc);
  if (const lane* const who = execution::current; who != nullptr && who->tells != nullptr)
    who->tells->add(told.probe, told.taken);
  return true;
}

void on_fault(int signal, siginfo_t* fault, void* raw) {
  if (signal == SIGILL && goes_on_at_branch(*static_cast<ucontext_t*>(raw))) return;
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
  note.is_doubtful = !trusted;
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

/// What grows as long as the run goes on, or is put into words behind its end.
uint64_t headway_of(const run_core& core) {
  const recorder* const record = core.observers.recorder.get();
  return core.history.steps + core.history.uncounted + (record == nullptr ? 0 : record->told());
}

void on_watch(int, siginfo_t*, void* raw) {
  const left_code_under_test here_and_now;
  const int error_before = errno;
  using asks = watched_run::asks;
  watched_run* const by = watcher;
  if (by == nullptr) return;
  execution* const here = execution::instance;
  const asks asked = by->asked.load(std::memory_order_acquire);
  by->steps.store(here == nullptr ? 0 : headway_of(here->core()), std::memory_order_relaxed);
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

}  // namespace heddle::sim
