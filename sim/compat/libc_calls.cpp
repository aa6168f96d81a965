// What a kernel calls of the C library (--wrap, in programs with sources for CUDA or HIP). A GPU has no operating system: there such a call
// is served by the RPC of the C library for GPUs (llvm_libc.cpp), where the program has one, or it does not link. Here it is served in the
// same way, or the run ends with a line that names it; no call of a lane's reaches the C library of the host. Host code calls that as ever.
//
// Three that nvcc and hipcc have on the device themselves stay as they are without an RPC client: printf, malloc and free.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <heddle/sim/compat/libc_calls.h>
#include <heddle/sim/runtime/file_calls.h>
#include <heddle/sim/runtime/gpu_calls.h>
#include <heddle/sim/runtime/program_memory.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace runtime = heddle::sim::runtime;

namespace {

// Inlined: which lanes stand together is told by the calls that they are in.
[[gnu::always_inline]] inline bool is_served() {
  return heddle_kernel_has_client != nullptr && heddle_kernel_has_client();
}

[[gnu::always_inline]] inline void require_client(const char* call) {
  if (heddle_kernel_has_client == nullptr)
    runtime::refuse_call(call,
                         "a kernel calls it, and this program has no C library for kernels; include "
                         "<llvmlibc_rpc_server.h> and run its server (docs/llvm-libc.md)");
  if (!heddle_kernel_has_client())
    runtime::refuse_call(call,
                         "a kernel calls it, and the host has not copied rpc_get_client_buffer() to where "
                         "__llvm_libc_rpc_client points");
}

}  // namespace

// Serves the call of a lane; one of the host goes on below.
#define HEDDLE_SERVE(name, call)           \
  if (runtime::is_device()) [[unlikely]] { \
    require_client(name);                  \
    return call;                           \
  }

// The C library's function, and the one that stands in its place.
#define HEDDLE_SERVED(type, name, parameters, arguments) \
  type __real_##name parameters;                         \
  type __wrap_##name parameters {                        \
    HEDDLE_SERVE(#name, heddle_kernel_##name arguments)  \
    return __real_##name arguments;                      \
  }
// The same of one that looks at, or changes, what a search has to be told.
#define HEDDLE_SERVED_TOLD(type, name, parameters, arguments, told) \
  type __real_##name parameters;                                    \
  type __wrap_##name parameters {                                   \
    HEDDLE_SERVE(#name, heddle_kernel_##name arguments)             \
    told;                                                           \
    return __real_##name arguments;                                 \
  }
// The same where the simulator sees the memory that a host thread gives to it.
#define HEDDLE_SERVED_HOST(type, name, parameters, arguments) \
  type __wrap_##name parameters {                             \
    HEDDLE_SERVE(#name, heddle_kernel_##name arguments)       \
    return heddle_host_##name arguments;                      \
  }
// One that no kernel can call.
#define HEDDLE_OF_THE_HOST(type, name, parameters, arguments) \
  type __real_##name parameters;                              \
  type __wrap_##name parameters {                             \
    if (runtime::is_device()) [[unlikely]]                    \
      runtime::refuse_call(#name, heddle_kernel_not_served);  \
    return __real_##name arguments;                           \
  }

// The same of one that changes, or looks at, the process or what files hold.
#define HEDDLE_CHANGES(type, name, parameters, arguments, changes) \
  type __real_##name parameters;                                   \
  type __wrap_##name parameters {                                  \
    if (runtime::is_device()) [[unlikely]]                         \
      runtime::refuse_call(#name, heddle_kernel_not_served);       \
    changes;                                                       \
    return __real_##name arguments;                                \
  }

// The same of one that opens a file, or a stream, which a run that leaves it open gives back.
#define HEDDLE_OPENS(type, name, parameters, arguments, opened) \
  type __real_##name parameters;                                \
  type __wrap_##name parameters {                               \
    if (runtime::is_device()) [[unlikely]]                      \
      runtime::refuse_call(#name, heddle_kernel_not_served);    \
    return opened(__real_##name arguments);                     \
  }

// The same of one on files, which the simulator looks at.
#define HEDDLE_OF_FILES(type, name, parameters, arguments)   \
  type __wrap_##name parameters {                            \
    if (runtime::is_device()) [[unlikely]]                   \
      runtime::refuse_call(#name, heddle_kernel_not_served); \
    return heddle_host_##name arguments;                     \
  }

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names

// -- lines and characters ----------------------------------------------------------------------------------------------------------

HEDDLE_SERVED(int, puts, (const char* text), (text))
HEDDLE_SERVED_HOST(int, fputs, (const char* text, FILE* to), (text, to))
HEDDLE_SERVED_TOLD(int, fputc, (int character, FILE* to), (character, to),
                   heddle_host_writes_stream(to, &character, sizeof character))
HEDDLE_SERVED_TOLD(int, fgetc, (FILE * from), (from), heddle_host_reads_stream(from, 1))
HEDDLE_SERVED_HOST(char*, fgets, (char* line, int size, FILE* from), (line, size, from))
HEDDLE_SERVED_TOLD(int, ungetc, (int character, FILE* to), (character, to),
                   heddle_host_reads_stream(to, static_cast<unsigned>(character)))

int __real_putc(int character, FILE* to);
int __wrap_putc(int character, FILE* to) {
  HEDDLE_SERVE("putc", heddle_kernel_fputc(character, to))
  heddle_host_writes_stream(to, &character, sizeof character);
  return __real_putc(character, to);
}
int __real_putchar(int character);
int __wrap_putchar(int character) {
  HEDDLE_SERVE("putchar", heddle_kernel_fputc(character, stdout))
  return __real_putchar(character);
}
int __real_getc(FILE* from);
int __wrap_getc(FILE* from) {
  HEDDLE_SERVE("getc", heddle_kernel_fgetc(from))
  heddle_host_reads_stream(from, 1);
  return __real_getc(from);
}
int __real_getchar();
int __wrap_getchar() {
  HEDDLE_SERVE("getchar", heddle_kernel_fgetc(stdin))
  heddle_host_reads_stream(stdin, 1);
  return __real_getchar();
}

// -- printf: that of nvcc and hipcc without a client ------------------------------------------------------------------------------------

int __real_vfprintf(FILE* to, const char* format, va_list from);
int __wrap_vfprintf(FILE* to, const char* format, va_list from) {
  HEDDLE_SERVE("fprintf", heddle_kernel_vfprintf(to, format, from))
  heddle_host_prints(to, format, from);
  return __real_vfprintf(to, format, from);
}
int __wrap_vprintf(const char* format, va_list from) {
  if (runtime::is_device() && is_served()) return heddle_kernel_vfprintf(stdout, format, from);
  return __real_vfprintf(stdout, format, from);
}
int __wrap_printf(const char* format, ...) {
  va_list from;
  va_start(from, format);
  const int printed = __wrap_vprintf(format, from);
  va_end(from);
  return printed;
}
int __wrap_fprintf(FILE* to, const char* format, ...) {
  va_list from;
  va_start(from, format);
  const int printed = __wrap_vfprintf(to, format, from);
  va_end(from);
  return printed;
}
int __wrap_vsnprintf(char* to, size_t size, const char* format, va_list from) {
  return heddle_host_vsnprintf(to, size, format, from);
}
int __wrap_snprintf(char* to, size_t size, const char* format, ...) {
  va_list from;
  va_start(from, format);
  const int printed = __wrap_vsnprintf(to, size, format, from);
  va_end(from);
  return printed;
}
// Their names with _FORTIFY_SOURCE.
int __wrap___vsnprintf_chk(char* to, size_t size, int, size_t, const char* format, va_list from) {
  return __wrap_vsnprintf(to, size, format, from);
}
int __wrap___snprintf_chk(char* to, size_t size, int, size_t, const char* format, ...) {
  va_list from;
  va_start(from, format);
  const int printed = __wrap_vsnprintf(to, size, format, from);
  va_end(from);
  return printed;
}
int __wrap___printf_chk(int, const char* format, ...) {
  va_list from;
  va_start(from, format);
  const int printed = __wrap_vprintf(format, from);
  va_end(from);
  return printed;
}
int __wrap___fprintf_chk(FILE* to, int, const char* format, ...) {
  va_list from;
  va_start(from, format);
  const int printed = __wrap_vfprintf(to, format, from);
  va_end(from);
  return printed;
}

// -- files -------------------------------------------------------------------------------------------------------------------------

FILE* __real_fopen(const char* path, const char* mode);
FILE* __wrap_fopen(const char* path, const char* mode) {
  HEDDLE_SERVE("fopen", heddle_kernel_fopen(path, mode))
  return heddle_host_opened_stream(__real_fopen(path, mode));
}
FILE* __real_fopen64(const char* path, const char* mode);
FILE* __wrap_fopen64(const char* path, const char* mode) {
  HEDDLE_SERVE("fopen", heddle_kernel_fopen(path, mode))
  return heddle_host_opened_stream(__real_fopen64(path, mode));
}
int __real_fclose(FILE* file);
int __wrap_fclose(FILE* file) {
  HEDDLE_SERVE("fclose", heddle_kernel_fclose(file))
  return __real_fclose(heddle_host_closed_stream(file));
}
HEDDLE_SERVED_HOST(size_t, fwrite, (const void* data, size_t size, size_t count, FILE* to), (data, size, count, to))
HEDDLE_SERVED_HOST(size_t, fread, (void* data, size_t size, size_t count, FILE* from), (data, size, count, from))
HEDDLE_SERVED_TOLD(int, fseek, (FILE * file, long offset, int origin), (file, offset, origin),
                   heddle_host_reads_stream(file, static_cast<size_t>(offset)))
HEDDLE_SERVED_TOLD(long, ftell, (FILE * file), (file), heddle_host_looks_at_stream(file))
HEDDLE_SERVED(int, fflush, (FILE * file), (file))
HEDDLE_SERVED_TOLD(int, feof, (FILE * file), (file), heddle_host_looks_at_stream(file))
HEDDLE_SERVED_TOLD(int, ferror, (FILE * file), (file), heddle_host_looks_at_stream(file))
HEDDLE_SERVED_TOLD(void, clearerr, (FILE * file), (file), heddle_host_reads_stream(file, 0))
HEDDLE_SERVED_TOLD(int, remove, (const char* path), (path), heddle_host_changes_files("remove", path))
HEDDLE_SERVED_TOLD(int, rename, (const char* before, const char* after), (before, after),
                   heddle_host_changes_files(before, after))

// -- memory: that of nvcc and hipcc without a client --------------------------------------------------------------------------------------

void* __real_malloc(size_t size);
void* __wrap_malloc(size_t size) {
  if (runtime::is_device() && is_served()) [[unlikely]]
    return heddle_kernel_malloc(size);
  void* const known = runtime::allocate_in_program(size, alignof(max_align_t));
  return known != nullptr ? known : __real_malloc(size);
}
void __real_free(void* memory);
void __wrap_free(void* memory) {
  if (runtime::is_device() && is_served()) [[unlikely]]
    return heddle_kernel_free(memory);
  if (!runtime::release_in_program(memory)) __real_free(memory);
}
void* __real_calloc(size_t count, size_t size);
void* __wrap_calloc(size_t count, size_t size) {
  if (runtime::is_device()) [[unlikely]]
    runtime::refuse_call("calloc", heddle_kernel_not_served);
  size_t bytes = 0;
  // What that heap gives is zero.
  void* const known =
      __builtin_mul_overflow(count, size, &bytes) ? nullptr : runtime::allocate_in_program(bytes, alignof(max_align_t));
  return known != nullptr ? known : __real_calloc(count, size);
}
void* __real_realloc(void* memory, size_t size);
void* __wrap_realloc(void* memory, size_t size) {
  if (runtime::is_device()) [[unlikely]]
    runtime::refuse_call("realloc", heddle_kernel_not_served);
  if (memory == nullptr) return __wrap_malloc(size);
  const size_t before = runtime::bytes_in_program(memory);
  if (before == 0) return __real_realloc(memory, size);
  void* const made = size == 0 ? nullptr : __wrap_malloc(size);
  if (made != nullptr) memcpy(made, memory, before < size ? before : size);
  if (made != nullptr || size == 0) runtime::release_in_program(memory);
  return made;
}
void* __real_aligned_alloc(size_t alignment, size_t size);
void* __wrap_aligned_alloc(size_t alignment, size_t size) {
  void* const known = runtime::allocate_in_program(size, alignment);
  return known != nullptr ? known : __real_aligned_alloc(alignment, size);
}
void* __real_memalign(size_t alignment, size_t size);
void* __wrap_memalign(size_t alignment, size_t size) {
  void* const known = runtime::allocate_in_program(size, alignment);
  return known != nullptr ? known : __real_memalign(alignment, size);
}
int __real_posix_memalign(void** memory, size_t alignment, size_t size);
int __wrap_posix_memalign(void** memory, size_t alignment, size_t size) {
  void* const known = runtime::allocate_in_program(size, alignment);
  if (known == nullptr) return __real_posix_memalign(memory, alignment, size);
  *memory = known;
  return 0;
}

// -- what is for the host alone --------------------------------------------------------------------------------------------------------

HEDDLE_OF_FILES(FILE*, fdopen, (int file, const char* mode), (file, mode))
HEDDLE_OF_THE_HOST(FILE*, freopen, (const char* path, const char* mode, FILE* file), (path, mode, file))
HEDDLE_OPENS(FILE*, tmpfile, (), (), heddle_host_opened_stream)
HEDDLE_OF_THE_HOST(int, fileno, (FILE * file), (file))
HEDDLE_OF_THE_HOST(int, setvbuf, (FILE * file, char* buffer, int mode, size_t size), (file, buffer, mode, size))
HEDDLE_CHANGES(void, rewind, (FILE * file), (file), heddle_host_reads_stream(file, 0))
HEDDLE_OF_THE_HOST(void, perror, (const char* text), (text))
ssize_t __real_getline(char** line, size_t* size, FILE* from);
ssize_t __wrap_getline(char** line, size_t* size, FILE* from) {
  if (runtime::is_device()) [[unlikely]]
    runtime::refuse_call("getline", heddle_kernel_not_served);
  // The C library lets it grow.
  if (line != nullptr && runtime::bytes_in_program(*line) != 0) {
    void* const grows = __real_malloc(*size);
    if (grows == nullptr) return -1;
    memcpy(grows, *line, *size);
    runtime::release_in_program(*line);
    *line = static_cast<char*>(grows);
  }
  heddle_host_reads_stream(from, 1);
  return __real_getline(line, size, from);
}
HEDDLE_OPENS(int, creat, (const char* path, mode_t mode), (path, mode), heddle_host_opened)
HEDDLE_OPENS(int, memfd_create, (const char* name, unsigned flags), (name, flags), heddle_host_opened)
HEDDLE_OPENS(int, shm_open, (const char* name, int flags, mode_t mode), (name, flags, mode), heddle_host_opened)
HEDDLE_OPENS(int, mkstemp, (char* path), (path), heddle_host_opened)
HEDDLE_OPENS(int, inotify_init, (), (), heddle_host_opened)
HEDDLE_OPENS(int, inotify_init1, (int flags), (flags), heddle_host_opened)
HEDDLE_OPENS(int, signalfd, (int file, const sigset_t* signals, int flags), (file, signals, flags), heddle_host_opened)
HEDDLE_OF_FILES(int, close, (int file), (file))
HEDDLE_OF_FILES(ssize_t, write, (int file, const void* data, size_t size), (file, data, size))
HEDDLE_CHANGES(off_t, lseek, (int file, off_t offset, int origin), (file, offset, origin),
               heddle_host_reads_file(file, static_cast<size_t>(offset)))
HEDDLE_CHANGES(int, unlink, (const char* path), (path), heddle_host_changes_files("unlink", path))
HEDDLE_CHANGES(int, mkdir, (const char* path, mode_t mode), (path, mode), heddle_host_changes_files("mkdir", path))
HEDDLE_CHANGES(int, rmdir, (const char* path), (path), heddle_host_changes_files("rmdir", path))
HEDDLE_CHANGES(DIR*, opendir, (const char* path), (path), heddle_host_looks_at_files())
HEDDLE_CHANGES(char*, getenv, (const char* name), (name), heddle_host_looks_at_environment())
HEDDLE_CHANGES(int, setenv, (const char* name, const char* value, int replace), (name, value, replace),
               heddle_host_changes_environment(name, value))
HEDDLE_CHANGES(int, fseeko, (FILE * file, off_t offset, int origin), (file, offset, origin),
               heddle_host_reads_stream(file, static_cast<size_t>(offset)))
HEDDLE_CHANGES(off_t, ftello, (FILE * file), (file), heddle_host_looks_at_stream(file))
HEDDLE_OF_FILES(ssize_t, pread, (int file, void* data, size_t size, off_t offset), (file, data, size, offset))
HEDDLE_OF_FILES(ssize_t, pwrite, (int file, const void* data, size_t size, off_t offset), (file, data, size, offset))
HEDDLE_CHANGES(int, access, (const char* path, int mode), (path, mode), heddle_host_looks_at_files())
HEDDLE_CHANGES(int, stat, (const char* path, struct stat* found), (path, found), heddle_host_looks_at_files())
HEDDLE_CHANGES(int, chdir, (const char* path), (path), heddle_host_changes_folder(path))
HEDDLE_CHANGES(char*, getcwd, (char* path, size_t size), (path, size), heddle_host_looks_at_folder())
HEDDLE_OF_THE_HOST(pid_t, getpid, (), ())
HEDDLE_OF_FILES(int, pipe, (int ends[2]), (ends))
HEDDLE_OF_FILES(int, dup, (int file), (file))
HEDDLE_OPENS(int, socket, (int family, int kind, int protocol), (family, kind, protocol), heddle_host_opened)
HEDDLE_OF_THE_HOST(void*, dlopen, (const char* path, int mode), (path, mode))
// With 64 bits for a file's size asked for.
HEDDLE_OPENS(FILE*, tmpfile64, (), (), heddle_host_opened_stream)
HEDDLE_OF_THE_HOST(FILE*, freopen64, (const char* path, const char* mode, FILE* file), (path, mode, file))
HEDDLE_CHANGES(int, vfscanf, (FILE * from, const char* format, va_list to), (from, format, to),
               heddle_host_reads_stream(from, 1))

// The mode is not looked at without O_CREAT or O_TMPFILE.
#define HEDDLE_OPEN(name)                                        \
  int __real_##name(const char* path, int flags, ...);           \
  int __wrap_##name(const char* path, int flags, ...) {          \
    if (runtime::is_device()) [[unlikely]]                       \
      runtime::refuse_call("open", heddle_kernel_not_served);    \
    va_list more;                                                \
    va_start(more, flags);                                       \
    const mode_t mode = va_arg(more, mode_t);                    \
    va_end(more);                                                \
    return heddle_host_opened(__real_##name(path, flags, mode)); \
  }
HEDDLE_OPEN(open)
HEDDLE_OPEN(open64)
int __real___isoc99_vfscanf(FILE* from, const char* format, va_list to);
int __wrap___isoc99_scanf(const char* format, ...) {
  if (runtime::is_device()) [[unlikely]]
    runtime::refuse_call("scanf", heddle_kernel_not_served);
  va_list to;
  va_start(to, format);
  heddle_host_reads_stream(stdin, 1);
  const int taken = __real___isoc99_vfscanf(stdin, format, to);
  va_end(to);
  return taken;
}
int __wrap___isoc99_fscanf(FILE* from, const char* format, ...) {
  if (runtime::is_device()) [[unlikely]]
    runtime::refuse_call("fscanf", heddle_kernel_not_served);
  va_list to;
  va_start(to, format);
  heddle_host_reads_stream(from, 1);
  const int taken = __real___isoc99_vfscanf(from, format, to);
  va_end(to);
  return taken;
}
HEDDLE_CHANGES(int, __isoc99_vfscanf, (FILE * from, const char* format, va_list to), (from, format, to),
               heddle_host_reads_stream(from, 1))

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
