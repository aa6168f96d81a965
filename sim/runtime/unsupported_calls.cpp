// Calls that have something run outside of the simulation: processes, signals, timers. In code under test they end the run
// (--wrap), for what they start would neither be scheduled nor seen, and a verdict about the rest would be about another program.
#include <heddle/sim/runtime/entry.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/time.h>
#include <sys/types.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace runtime = heddle::sim::runtime;
using heddle::sim::execution;
using heddle::sim::lane;

namespace {

[[noreturn]] void unsupported(lane& self, const char* call, const char* why, const runtime::caller& from) {
  const runtime::entered inside(self);
  runtime::refuse(self, heddle::scheduler::verdict::unsupported, std::string(call) + ": " + why, from);
}

constexpr const char* no_process =
    "the simulator does not see another process; do it outside of the scenario, or have a host thread (std::thread, "
    "device.spawn_host) do what it does";
constexpr const char* no_signal =
    "signals are not simulated; have a host thread (device.spawn_host) do what the handler does";
constexpr const char* no_timer =
    "a timer runs on the real clock, which the simulator does not see; have a host thread (device.spawn_host) sleep";

/// Whether a host thread asks for what is simulated: that a write to a pipe that nothing reads any more is an error, or a signal.
bool takes_broken_files(sighandler_t handler) {
  lane* const self = execution::current;
  if (self == nullptr || !self->is_on_host() || (handler != SIG_IGN && handler != SIG_DFL)) return false;
  const runtime::entered inside(*self);
  execution::instance->hosts().files.ignores_broken = handler == SIG_IGN;
  return true;
}

/// Signals that only come from outside of the process, or by calls that end the run: in a run nothing calls what handles them.
bool never_comes(int number) {
  constexpr std::array known = {SIGHUP,  SIGINT,   SIGQUIT, SIGTERM, SIGUSR1,
                                SIGUSR2, SIGWINCH, SIGCHLD, SIGCONT, SIGTSTP};
  const lane* const self = execution::current;
  return self != nullptr && self->is_on_host() && std::find(known.begin(), known.end(), number) != known.end();
}

// The arguments of execl and its like, up to the null pointer that ends them.
std::vector<char*> listed(const char* first, va_list& more) {
  std::vector<char*> all;
  for (const char* each = first; each != nullptr; each = va_arg(more, const char*))
    all.push_back(const_cast<char*>(each));
  all.push_back(nullptr);
  return all;
}

}  // namespace

// Ends the run where a lane calls; a call from elsewhere goes on below.
#define HEDDLE_REFUSE(call, why)                                           \
  if (lane* const self = execution::current; self != nullptr) [[unlikely]] \
  unsupported(*self, call, why, HEDDLE_CALLER)

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

// -- processes ---------------------------------------------------------------------------------------------------------------------

pid_t __real_fork();
pid_t __wrap_fork() {
  HEDDLE_REFUSE("fork", no_process);
  return __real_fork();
}

// The child of a vfork must not return from here; that of a fork may.
pid_t __wrap_vfork() {
  HEDDLE_REFUSE("vfork", no_process);
  return __real_fork();
}

int __real_posix_spawn(pid_t* process, const char* path, const posix_spawn_file_actions_t* files,
                       const posix_spawnattr_t* how, char* const* arguments, char* const* environment);
int __wrap_posix_spawn(pid_t* process, const char* path, const posix_spawn_file_actions_t* files,
                       const posix_spawnattr_t* how, char* const* arguments, char* const* environment) {
  HEDDLE_REFUSE("posix_spawn", no_process);
  return __real_posix_spawn(process, path, files, how, arguments, environment);
}

int __real_posix_spawnp(pid_t* process, const char* file, const posix_spawn_file_actions_t* files,
                        const posix_spawnattr_t* how, char* const* arguments, char* const* environment);
int __wrap_posix_spawnp(pid_t* process, const char* file, const posix_spawn_file_actions_t* files,
                        const posix_spawnattr_t* how, char* const* arguments, char* const* environment) {
  HEDDLE_REFUSE("posix_spawnp", no_process);
  return __real_posix_spawnp(process, file, files, how, arguments, environment);
}

int __real_system(const char* command);
int __wrap_system(const char* command) {
  HEDDLE_REFUSE("system", no_process);
  return __real_system(command);
}

FILE* __real_popen(const char* command, const char* mode);
FILE* __wrap_popen(const char* command, const char* mode) {
  HEDDLE_REFUSE("popen", no_process);
  return __real_popen(command, mode);
}

int __real_daemon(int stays, int keeps_open);
int __wrap_daemon(int stays, int keeps_open) {
  HEDDLE_REFUSE("daemon", no_process);
  return __real_daemon(stays, keeps_open);
}

int __real_execve(const char* path, char* const* arguments, char* const* environment);
int __wrap_execve(const char* path, char* const* arguments, char* const* environment) {
  HEDDLE_REFUSE("execve", no_process);
  return __real_execve(path, arguments, environment);
}

int __real_execv(const char* path, char* const* arguments);
int __wrap_execv(const char* path, char* const* arguments) {
  HEDDLE_REFUSE("execv", no_process);
  return __real_execv(path, arguments);
}

int __real_execvp(const char* file, char* const* arguments);
int __wrap_execvp(const char* file, char* const* arguments) {
  HEDDLE_REFUSE("execvp", no_process);
  return __real_execvp(file, arguments);
}

int __wrap_execl(const char* path, const char* first, ...) {
  HEDDLE_REFUSE("execl", no_process);
  va_list more;
  va_start(more, first);
  const std::vector<char*> arguments = listed(first, more);
  va_end(more);
  return __real_execv(path, arguments.data());
}

int __wrap_execlp(const char* file, const char* first, ...) {
  HEDDLE_REFUSE("execlp", no_process);
  va_list more;
  va_start(more, first);
  const std::vector<char*> arguments = listed(first, more);
  va_end(more);
  return __real_execvp(file, arguments.data());
}

// -- signals -----------------------------------------------------------------------------------------------------------------------

sighandler_t __real_signal(int number, sighandler_t handler);
sighandler_t __wrap_signal(int number, sighandler_t handler) {
  if (number == SIGPIPE && takes_broken_files(handler)) return SIG_DFL;
  if (never_comes(number)) return SIG_DFL;
  HEDDLE_REFUSE("signal", no_signal);
  return __real_signal(number, handler);
}

// A call that only asks changes nothing.
int __real_sigaction(int number, const struct sigaction* action, struct sigaction* before);
int __wrap_sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  if (action != nullptr && number == SIGPIPE && takes_broken_files(action->sa_handler)) return 0;
  if (action != nullptr && never_comes(number)) {
    if (before != nullptr) *before = {};
    return 0;
  }
  if (action != nullptr) {
    HEDDLE_REFUSE("sigaction", no_signal);
  }
  return __real_sigaction(number, action, before);
}

int __real_pthread_kill(pthread_t thread, int number);
int __wrap_pthread_kill(pthread_t thread, int number) {
  HEDDLE_REFUSE("pthread_kill", no_signal);
  return __real_pthread_kill(thread, number);
}

int __real_pthread_sigqueue(pthread_t thread, int number, sigval value);
int __wrap_pthread_sigqueue(pthread_t thread, int number, sigval value) {
  HEDDLE_REFUSE("pthread_sigqueue", no_signal);
  return __real_pthread_sigqueue(thread, number, value);
}

int __real_tgkill(pid_t process, pid_t thread, int number);
int __wrap_tgkill(pid_t process, pid_t thread, int number) {
  HEDDLE_REFUSE("tgkill", no_signal);
  return __real_tgkill(process, thread, number);
}

// -- threads -----------------------------------------------------------------------------------------------------------------------

int __real_pthread_cancel(pthread_t thread);
int __wrap_pthread_cancel(pthread_t thread) {
  HEDDLE_REFUSE("pthread_cancel", "cancellation is not simulated; have the thread look at a flag");
  return __real_pthread_cancel(thread);
}

// -- timers ------------------------------------------------------------------------------------------------------------------------

unsigned __real_alarm(unsigned seconds);
unsigned __wrap_alarm(unsigned seconds) {
  HEDDLE_REFUSE("alarm", no_timer);
  return __real_alarm(seconds);
}

int __real_setitimer(__itimer_which_t which, const itimerval* to, itimerval* before);
int __wrap_setitimer(__itimer_which_t which, const itimerval* to, itimerval* before) {
  HEDDLE_REFUSE("setitimer", no_timer);
  return __real_setitimer(which, to, before);
}

int __real_timer_create(clockid_t clock, sigevent* event, timer_t* made);
int __wrap_timer_create(clockid_t clock, sigevent* event, timer_t* made) {
  HEDDLE_REFUSE("timer_create", no_timer);
  return __real_timer_create(clock, event, made);
}

int __real_timerfd_create(int clock, int flags);
int __wrap_timerfd_create(int clock, int flags) {
  HEDDLE_REFUSE("timerfd_create", no_timer);
  return __real_timerfd_create(clock, flags);
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
