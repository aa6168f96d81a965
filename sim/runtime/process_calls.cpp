// Calls that change the process itself: its environment, its folder, its locale, the numbers that rand() gives next, what the C++ library calls where memory
// is used up. They reach the C and C++ libraries, and what they change is restored behind the run (--wrap).
#include <heddle/scheduler/digest.h>
#include <heddle/sim/code/program_state.h>
#include <heddle/sim/runtime/file_calls.h>
#include <heddle/sim/runtime/files.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace runtime = heddle::sim::runtime;
using heddle::sim::execution;
using heddle::sim::lane;
using part = heddle::sim::process_state::part;

namespace {

// -- what a search has to be told ------------------------------------------------------------------------------------------------------

using thing = heddle::sim::outside_calls::thing;

/// Behind the parts of the process.
constexpr thing contents = 8;  ///< of all files
constexpr thing first_file = thing{1} << 48;
thing place_in(int file) { return first_file + static_cast<unsigned>(file); }
thing flags_of(int file) { return 2 * first_file + static_cast<unsigned>(file); }
/// That it is open. Its number may be another one in another run: of what the run has opened, it is known by which thread did, and when.
thing opening_by_number(int file) { return 3 * first_file + static_cast<unsigned>(file); }
thing opening_of(int file) {
  constexpr thing by_run = 4 * first_file;
  const uint64_t opening = execution::instance->hosts().left.opening_of(file);
  return opening != 0 ? by_run + opening : opening_by_number(file);
}
thing place_in(const FILE* stream) { return reinterpret_cast<uintptr_t>(stream); }

/// Whether the lane is the only one that can act, or has been until now.
bool is_alone(const heddle::sim::run_core& core, const lane& self) {
  if (core.history.counted == 0) return true;
  for (size_t n = 0; n < core.threads.lanes_used; ++n) {
    const lane& other = core.threads.lanes[n];
    if (&other != &self && other.state != heddle::sim::lane_state::ended) return false;
  }
  return true;
}

/// The host thread that calls, in a search.
lane* explored() {
  lane* const self = runtime::host_thread();
  return self != nullptr && execution::instance->core().notes != nullptr ? self : nullptr;
}

void look(thing at) {
  lane* const self = explored();
  if (self == nullptr) return;
  const runtime::entered inside(*self);
  const heddle::sim::run_core& core = execution::instance->core();
  // What was changed before is in no state that was met until now.
  if (core.notes->outside.looks(at, self->id, is_alone(core, *self))) core.notes->grown = true;
}

template <typename... Words>
void change(thing of, const Words&... to) {
  lane* const self = explored();
  if (self == nullptr) return;
  const runtime::entered inside(*self);
  execution& here = *execution::instance;
  heddle::sim::outside_calls& known = here.core().notes->outside;
  known.changes(of, self->id, is_alone(here.core(), *self));
  if (!known.is_looked_at(of)) return;
  heddle::scheduler::digest all;
  all.add(here.hosts().changed_outside);
  all.add(of);
  (all.add(to), ...);
  here.hosts().changed_outside = all.value();
}

void look_at_opening_of(int file) {
  if (explored() != nullptr) look(opening_of(file));
}

std::string_view bytes_of(const void* data, size_t size_bytes) {
  return {static_cast<const char*>(data), data == nullptr ? 0 : size_bytes};
}

/// A program without a main() of its own does not begin anew.
void keep_before_change(part changes) {
  lane* const self = execution::current;
  if (self == nullptr || !heddle::sim::is_program()) return;
  const runtime::entered inside(*self);
  execution::instance->hosts().process.keep(changes);
}
void change(part of, uint64_t to) {
  keep_before_change(of);
  // Each of these gives back what was there, or goes by it.
  if (of != part::environment && of != part::folder) look(static_cast<thing>(of));
  change(static_cast<thing>(of), to);
}
uint64_t as_word(const void* address) { return reinterpret_cast<uintptr_t>(address); }
template <typename Number>
  requires std::is_arithmetic_v<Number>
uint64_t as_word(Number number) {
  return static_cast<uint64_t>(number);
}
/// What the first argument says; text is what it says, and not where it lies.
uint64_t first_of() { return 0; }
uint64_t first_of(const char* text, auto...) {
  heddle::scheduler::digest all;
  if (text != nullptr) all.add(std::string_view(text));
  return all.value();
}
uint64_t first_of(auto first, auto...) { return as_word(first); }

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

void heddle_host_changes_environment(const char* name, const char* value) {
  change(part::environment, first_of(name) + 3 * first_of(value));
}
void heddle_host_changes_folder(const char* path) { change(part::folder, first_of(path)); }
void heddle_host_looks_at_environment() { look(static_cast<thing>(part::environment)); }
void heddle_host_looks_at_folder() { look(static_cast<thing>(part::folder)); }

void heddle_host_looks_at_files() { look(contents); }
void heddle_host_changes_files(const char* call, const char* path) { change(contents, first_of(call), first_of(path)); }
void heddle_host_looks_at_stream(FILE* stream) { look(place_in(stream)); }
void heddle_host_reads_stream(FILE* stream, size_t how_much) {
  look(contents);
  look(place_in(stream));
  change(place_in(stream), how_much);
}
// What is told to the standard streams nothing looks at.
void heddle_host_writes_stream(FILE* stream, const void* data, size_t size_bytes) {
  if (stream == stdout || stream == stderr) return;
  change(place_in(stream), size_bytes);
  change(contents, bytes_of(data, size_bytes));
}
void heddle_host_prints(FILE* stream, const char* format, va_list from) {
  if (stream == stdout || stream == stderr || explored() == nullptr) return;
  va_list again;
  va_copy(again, from);
  char* text = nullptr;
  {
    const runtime::entered inside(*explored());
    if (vasprintf(&text, format, again) < 0) text = nullptr;
  }
  va_end(again);
  heddle_host_writes_stream(stream, text, text == nullptr ? 0 : std::strlen(text));
  const runtime::entered inside(*explored());
  std::free(text);
}
void heddle_host_looks_at_opening(int file) { look_at_opening_of(file); }
void heddle_host_closes(int file) {
  if (explored() == nullptr) return;
  change(opening_of(file), uint64_t{0});
  // A thread that comes too late knows its number alone.
  change(opening_by_number(file), uint64_t{0});
}
void heddle_host_looks_at_flags(int file) {
  look_at_opening_of(file);
  look(flags_of(file));
}
void heddle_host_changes_flags(int file, uint64_t which, uint64_t to) {
  look_at_opening_of(file);
  change(flags_of(file), which, to);
}
void heddle_host_changes_size(int file, uint64_t size_bytes) {
  look_at_opening_of(file);
  change(contents, place_in(file), size_bytes);
}
void heddle_host_reads_file(int file, size_t size_bytes) {
  look_at_opening_of(file);
  look(contents);
  look(place_in(file));
  change(place_in(file), size_bytes);
}
void heddle_host_writes_file(int file, const void* data, size_t size_bytes) {
  if (file == STDOUT_FILENO || file == STDERR_FILENO) return;
  look_at_opening_of(file);
  change(place_in(file), size_bytes);
  change(contents, bytes_of(data, size_bytes));
}

#define HEDDLE_CHANGES(changed, type, name, parameters, arguments) \
  type __real_##name parameters;                                   \
  type __wrap_##name parameters {                                  \
    change(part::changed, first_of arguments);                     \
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
  if (name != nullptr)
    change(part::locale, first_of(name) + static_cast<unsigned>(category));
  else
    look(static_cast<thing>(part::locale));
  return __real_setlocale(category, name);
}

// std::locale::global(const std::locale&), which gives back a class: the address of what is given back comes first.
HEDDLE_CHANGES(locale, void*, _ZNSt6locale6globalERKS_, (void* before, const void* locale), (before, locale))
// std::filesystem::current_path(const std::filesystem::path&), and with a std::error_code&
HEDDLE_CHANGES(folder, void, _ZNSt10filesystem12current_pathERKNS_7__cxx114pathE, (const void* path), (path))
HEDDLE_CHANGES(folder, void, _ZNSt10filesystem12current_pathERKNS_7__cxx114pathERSt10error_code,
               (const void* path, void* wrong), (path, wrong))

// std::set_terminate(std::terminate_handler), std::set_new_handler(std::new_handler), std::pmr::set_default_resource(std::pmr::memory_resource*)
HEDDLE_CHANGES(terminate_handler, void*, _ZSt13set_terminatePFvvE, (void* handler), (handler))
HEDDLE_CHANGES(new_handler, void*, _ZSt15set_new_handlerPFvvE, (void* handler), (handler))
HEDDLE_CHANGES(memory_resource, void*, _ZNSt3pmr20set_default_resourceEPNS_15memory_resourceE, (void* resource),
               (resource))

#define HEDDLE_LOOKS_AT(at, name)       \
  void* __real_##name();                \
  void* __wrap_##name() {               \
    look(static_cast<thing>(part::at)); \
    return __real_##name();             \
  }
// Those that give what these have set.
HEDDLE_LOOKS_AT(terminate_handler, _ZSt13get_terminatev)
HEDDLE_LOOKS_AT(new_handler, _ZSt15get_new_handlerv)
HEDDLE_LOOKS_AT(memory_resource, _ZNSt3pmr20get_default_resourceEv)

// std::ios_base::sync_with_stdio(bool), which may destroy the buffers of the standard streams and give them others.
bool __real__ZNSt8ios_base15sync_with_stdioEb(bool with);
bool __wrap__ZNSt8ios_base15sync_with_stdioEb(bool with) {
  const bool was_with = __real__ZNSt8ios_base15sync_with_stdioEb(with);
  lane* const self = execution::current;
  if (self == nullptr || with || !was_with) return was_with;
  const runtime::entered inside(*self);
  execution::instance->hosts().streams.keep_buffers();
  return was_with;
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
