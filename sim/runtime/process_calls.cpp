// Calls that change the process itself: its environment, its folder, its locale, the numbers that rand() gives next. They reach the C library, and what
// they change is restored behind the run (--wrap).
#include <heddle/sim/code/program_state.h>
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/file_calls.h>
#include <sys/types.h>

namespace runtime = heddle::sim::runtime;
using heddle::sim::execution;
using heddle::sim::lane;
using part = heddle::sim::process_state::part;

namespace {

/// A program without a main() of its own does not begin anew.
void keep_before_change(part changes) {
  lane* const self = execution::current;
  if (self == nullptr || !heddle::sim::is_program()) return;
  const runtime::entered inside(*self);
  execution::instance->hosts().process.keep(changes);
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

void heddle_host_changes_environment() { keep_before_change(part::environment); }
void heddle_host_changes_folder() { keep_before_change(part::folder); }

#define HEDDLE_CHANGES(changed, type, name, parameters, arguments) \
  type __real_##name parameters;                                   \
  type __wrap_##name parameters {                                  \
    keep_before_change(part::changed);                             \
    return __real_##name arguments;                                \
  }

HEDDLE_CHANGES(environment, int, unsetenv, (const char* name), (name))
HEDDLE_CHANGES(environment, int, putenv, (char* text), (text))
HEDDLE_CHANGES(environment, int, clearenv, (), ())
HEDDLE_CHANGES(folder, int, fchdir, (int folder), (folder))
HEDDLE_CHANGES(file_mask, mode_t, umask, (mode_t mask), (mask))
HEDDLE_CHANGES(random_numbers, int, rand, (), ())
HEDDLE_CHANGES(random_numbers, void, srand, (unsigned seed), (seed))
HEDDLE_CHANGES(random_numbers, long, random, (), ())
HEDDLE_CHANGES(random_numbers, void, srandom, (unsigned seed), (seed))
HEDDLE_CHANGES(random_numbers, double, drand48, (), ())
HEDDLE_CHANGES(random_numbers, long, lrand48, (), ())
HEDDLE_CHANGES(random_numbers, long, mrand48, (), ())
HEDDLE_CHANGES(random_numbers, void, srand48, (long seed), (seed))

// Without a name it only asks.
char* __real_setlocale(int category, const char* name);
char* __wrap_setlocale(int category, const char* name) {
  if (name != nullptr) keep_before_change(part::locale);
  return __real_setlocale(category, name);
}

// std::locale::global(const std::locale&), which gives back a class: the address of what is given back comes first.
HEDDLE_CHANGES(locale, void*, _ZNSt6locale6globalERKS_, (void* before, const void* locale), (before, locale))
// std::filesystem::current_path(const std::filesystem::path&), and with a std::error_code&
HEDDLE_CHANGES(folder, void, _ZNSt10filesystem12current_pathERKNS_7__cxx114pathE, (const void* path), (path))
HEDDLE_CHANGES(folder, void, _ZNSt10filesystem12current_pathERKNS_7__cxx114pathERSt10error_code,
               (const void* path, void* wrong), (path, wrong))

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
