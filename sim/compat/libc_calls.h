// The C library for kernels: libc_calls.cpp calls it where the program has it, llvm_libc.cpp has it. Each function is that of the C library
// under the name without the prefix, called by the lanes that stand there together.
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#define HEDDLE_IN_KERNEL extern "C" __attribute__((weak))

/// Why a call of a kernel ends its run.
constexpr const char* heddle_kernel_not_served = "a kernel calls it, and the C library for kernels does not serve it";

/// Whether the host has given kernels a client.
HEDDLE_IN_KERNEL bool heddle_kernel_has_client();

HEDDLE_IN_KERNEL int heddle_kernel_puts(const char* text);
HEDDLE_IN_KERNEL int heddle_kernel_fputs(const char* text, FILE* to);
HEDDLE_IN_KERNEL int heddle_kernel_fputc(int character, FILE* to);
HEDDLE_IN_KERNEL int heddle_kernel_fgetc(FILE* from);
HEDDLE_IN_KERNEL char* heddle_kernel_fgets(char* line, int size, FILE* from);
HEDDLE_IN_KERNEL int heddle_kernel_ungetc(int character, FILE* to);
HEDDLE_IN_KERNEL int heddle_kernel_vfprintf(FILE* to, const char* format, va_list from);
HEDDLE_IN_KERNEL FILE* heddle_kernel_fopen(const char* path, const char* mode);
HEDDLE_IN_KERNEL int heddle_kernel_fclose(FILE* file);
HEDDLE_IN_KERNEL size_t heddle_kernel_fwrite(const void* data, size_t size, size_t count, FILE* to);
HEDDLE_IN_KERNEL size_t heddle_kernel_fread(void* data, size_t size, size_t count, FILE* from);
HEDDLE_IN_KERNEL int heddle_kernel_fseek(FILE* file, long offset, int origin);
HEDDLE_IN_KERNEL long heddle_kernel_ftell(FILE* file);
HEDDLE_IN_KERNEL int heddle_kernel_fflush(FILE* file);
HEDDLE_IN_KERNEL int heddle_kernel_feof(FILE* file);
HEDDLE_IN_KERNEL int heddle_kernel_ferror(FILE* file);
HEDDLE_IN_KERNEL void heddle_kernel_clearerr(FILE* file);
HEDDLE_IN_KERNEL int heddle_kernel_remove(const char* path);
HEDDLE_IN_KERNEL int heddle_kernel_rename(const char* before, const char* after);
HEDDLE_IN_KERNEL void* heddle_kernel_malloc(size_t size);
HEDDLE_IN_KERNEL void heddle_kernel_free(void* memory);
