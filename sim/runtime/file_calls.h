// Calls on pipes, event counters, pairs of sockets and interest lists, by host code of a program whose kernels have a C library of their own
// (sim/compat/libc_calls.cpp): what stands behind `--wrap` of these names elsewhere.
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

extern "C" {
int heddle_host_close(int file);
int heddle_host_dup(int file);
FILE* heddle_host_fdopen(int file, const char* mode);
int heddle_host_pipe(int* files);
ssize_t heddle_host_write(int file, const void* data, size_t size_bytes);

ssize_t heddle_host_pread(int file, void* data, size_t size_bytes, off_t offset);
ssize_t heddle_host_pwrite(int file, const void* data, size_t size_bytes, off_t offset);
size_t heddle_host_fread(void* data, size_t size, size_t count, FILE* from);
size_t heddle_host_fwrite(const void* data, size_t size, size_t count, FILE* to);
char* heddle_host_fgets(char* line, int size, FILE* from);
int heddle_host_fputs(const char* text, FILE* to);
int heddle_host_vsnprintf(char* to, size_t size_bytes, const char* format, va_list from);

// What a host thread of a run has opened or mapped, and what it has closed: the rest is given back behind the run. They return the first.
int heddle_host_opened(int file);
FILE* heddle_host_opened_stream(FILE* stream);
FILE* heddle_host_closed_stream(FILE* stream);
void* heddle_host_mapped(void* memory, size_t size_bytes);
void* heddle_host_unmapped(void* memory, size_t size_bytes);

// To be called before a host thread looks at, or changes, what is no memory of the run: what files hold, the place in one. A search keeps it
// (sim/memory/outside_calls.h).
void heddle_host_looks_at_files();
void heddle_host_changes_files(const char* call, const char* path);
void heddle_host_looks_at_stream(FILE* stream);
void heddle_host_reads_stream(FILE* stream, size_t how_much);
void heddle_host_writes_stream(FILE* stream, const void* data, size_t size_bytes);
void heddle_host_prints(FILE* stream, const char* format, va_list from);
void heddle_host_reads_file(int file, size_t size_bytes);
void heddle_host_writes_file(int file, const void* data, size_t size_bytes);
void heddle_host_looks_at_opening(int file);
void heddle_host_closes(int file);
void heddle_host_looks_at_flags(int file);
void heddle_host_changes_flags(int file, uint64_t which, uint64_t to);
void heddle_host_changes_size(int file, uint64_t size_bytes);
void heddle_host_looks_at_environment();

// To be called before a host thread changes the environment, or the folder, of the process: the run gives it back.
void heddle_host_changes_environment(const char* name, const char* value);
void heddle_host_changes_folder(const char* path);
void heddle_host_looks_at_folder();
}
