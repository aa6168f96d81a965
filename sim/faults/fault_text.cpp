// Faults in words.
#include <heddle/sim/base/words.h>
#include <heddle/sim/faults/crash.h>
#include <heddle/sim/faults/registers.h>
#include <signal.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace heddle::sim {
namespace {

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

std::string message_of(const fault_note& note) {
  const std::string actor = note.actor[0] == '\0' ? "the program" : note.actor;
  switch (note.kind) {
    case fault_note::what::nothing:
    case fault_note::what::abandoned:
      return {};
    case fault_note::what::stuck:
      return actor +
             " goes on without a scheduling point: in a loop that touches no memory but its own stack (a compiler "
             "takes the "
             "load of a plain variable out of a loop that waits for it: make that atomic), or in a call that blocks";
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
