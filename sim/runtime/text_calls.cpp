// Calls of the C library that read and write memory of host threads beside what moves files (file_transfers.cpp): behind `--wrap` of their names in
// sim/compat/libc_calls.cpp.
#include <heddle/sim/runtime/file_calls.h>
#include <heddle/sim/runtime/file_memory.h>
#include <unistd.h>

#include <cstring>

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the names
ssize_t __real_pread(int file, void* data, size_t size_bytes, off_t offset);
ssize_t __real_pwrite(int file, const void* data, size_t size_bytes, off_t offset);
size_t __real_fread(void* data, size_t size, size_t count, FILE* from);
size_t __real_fwrite(const void* data, size_t size, size_t count, FILE* to);
char* __real_fgets(char* line, int size, FILE* from);
int __real_fputs(const char* text, FILE* to);
int __real_vsnprintf(char* to, size_t size_bytes, const char* format, va_list from);
// NOLINTEND(bugprone-reserved-identifier)

using heddle::sim::runtime::caller;
using heddle::sim::runtime::fill_memory;
using heddle::sim::runtime::have_memory_read;

ssize_t heddle_host_pread(int file, void* data, size_t size_bytes, off_t offset) {
  heddle_host_looks_at_opening(file);
  heddle_host_looks_at_files();
  return fill_memory(data, size_bytes, HEDDLE_CALLER,
                     [&](void* to) { return __real_pread(file, to, size_bytes, offset); });
}
ssize_t heddle_host_pwrite(int file, const void* data, size_t size_bytes, off_t offset) {
  have_memory_read(data, size_bytes, HEDDLE_CALLER);
  heddle_host_writes_file(file, data, size_bytes);
  return __real_pwrite(file, data, size_bytes, offset);
}

size_t heddle_host_fread(void* data, size_t size, size_t count, FILE* from) {
  size_t size_bytes = 0;
  if (size == 0 || __builtin_mul_overflow(size, count, &size_bytes)) return __real_fread(data, size, count, from);
  heddle_host_reads_stream(from, size_bytes);
  // A part of the last item is stored too.
  return fill_memory(data, size_bytes, HEDDLE_CALLER, [&](void* to) { return __real_fread(to, 1, size_bytes, from); }) /
         size;
}
size_t heddle_host_fwrite(const void* data, size_t size, size_t count, FILE* to) {
  size_t size_bytes = 0;
  if (!__builtin_mul_overflow(size, count, &size_bytes)) have_memory_read(data, size_bytes, HEDDLE_CALLER);
  heddle_host_writes_stream(to, data, size_bytes);
  return __real_fwrite(data, size, count, to);
}

char* heddle_host_fgets(char* line, int size, FILE* from) {
  if (size <= 0) return __real_fgets(line, size, from);
  heddle_host_reads_stream(from, static_cast<size_t>(size));
  const size_t stored = fill_memory(line, static_cast<size_t>(size), HEDDLE_CALLER, [&](void* to) -> size_t {
    return __real_fgets(static_cast<char*>(to), size, from) == nullptr ? 0 : std::strlen(static_cast<char*>(to)) + 1;
  });
  return stored == 0 ? nullptr : line;
}
int heddle_host_fputs(const char* text, FILE* to) {
  heddle::sim::runtime::string_read(text, ~size_t{0}, HEDDLE_CALLER);
  heddle_host_writes_stream(to, text, std::strlen(text));
  return __real_fputs(text, to);
}

int heddle_host_vsnprintf(char* to, size_t size_bytes, const char* format, va_list from) {
  int length = -1;
  fill_memory(to, size_bytes, HEDDLE_CALLER, [&](void* text) -> size_t {
    length = __real_vsnprintf(static_cast<char*>(text), size_bytes, format, from);
    return length < 0 ? 0 : std::min(static_cast<size_t>(length) + 1, size_bytes);
  });
  return length;
}

}  // extern "C"
