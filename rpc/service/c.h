// The C library's names for what a kernel asks of its host: heddle_printf, heddle_fopen, ... over the client that the kernel carries.
//
//   __global__ void kernel(heddle_host host) {
//     heddle_FILE* const file = heddle_fopen(host, "result.txt", "w");
//     if (file == nullptr) return;
//     heddle_fprintf(host, file, "%d: %f\n", threadIdx.x, value);
//     heddle_fclose(host, file);
//   }
//
// What each takes and returns is said in the C standard under the name without the prefix; the first argument is the host. What that would
// say in errno is lost: where you need it, ask the client itself (client.h). A host that has ended makes every call fail.
#pragma once

#include <heddle/rpc/rpc.h>
#include <heddle/rpc/service/client.h>
#include <stdarg.h>
#include <stddef.h>

/// What rpc::service's client() gives; a small value.
using heddle_host = heddle::rpc::basic_service_client<heddle::target, heddle::rpc::checking>;

/// A file of the host. Never dereferenced: it holds the handle.
struct heddle_FILE;

#define heddle_stdin (reinterpret_cast<heddle_FILE*>(uintptr_t{1}))
#define heddle_stdout (reinterpret_cast<heddle_FILE*>(uintptr_t{2}))
#define heddle_stderr (reinterpret_cast<heddle_FILE*>(uintptr_t{3}))

/// What a kernel's printf takes beside its format at most; more, and -1 is returned and nothing is printed.
inline constexpr uint32_t heddle_printf_arguments_max = 32;

// Compilers for CUDA and HIP have no variadic functions on a device: there, printing is by templates, and there is no va_list.
#if !(defined(__CUDACC__) || defined(__HIPCC__)) || defined(HEDDLE_COMPAT_WAVE_LANES)
#define HEDDLE_VARIADIC_FUNCTIONS
#endif

namespace heddle::rpc::detail {

HEDDLE_FUNCTION inline file file_of(heddle_FILE* stream) { return {reinterpret_cast<uintptr_t>(stream) - 1}; }
HEDDLE_FUNCTION inline int zero_if(bool ok) { return ok ? 0 : -1; }

#ifdef HEDDLE_VARIADIC_FUNCTIONS
/// The arguments of a format, taken from a va_list by what their conversions say. (C23, 7.23.6.1.)
class printed_arguments {
 public:
  HEDDLE_FUNCTION printed_arguments(const char* format, va_list from) {
    va_copy(from_, from);
    while (ok_ && *format != 0)
      if (*format++ == '%') format = take(format);
  }
  printed_arguments(const printed_arguments&) = delete;
  printed_arguments& operator=(const printed_arguments&) = delete;
  HEDDLE_FUNCTION ~printed_arguments() { va_end(from_); }

  HEDDLE_FUNCTION bool ok() const { return ok_; }
  HEDDLE_FUNCTION const heddle::rpc::detail::sent_argument* words() const { return words_; }
  HEDDLE_FUNCTION const bytes_view* texts() const { return texts_; }
  HEDDLE_FUNCTION uint32_t count() const { return count_; }

 private:
  enum class width : uint8_t {
    of_char,
    of_short,
    of_int,
    of_long,
    of_long_long,
    of_max,
    of_size,
    of_difference,
    of_long_double
  };

  /// Takes what the conversion behind a percent sign needs; returns what follows.
  HEDDLE_FUNCTION const char* take(const char* at) {
    if (*at == '%') return at + 1;
    while (*at == '-' || *at == '+' || *at == ' ' || *at == '#' || *at == '0') ++at;
    at = take_number(at);
    if (*at == '.') at = take_number(at + 1);
    const width length = take_length(at);
    switch (*at) {
      case 'd':
      case 'i':
        take_signed(length);
        break;
      case 'u':
      case 'x':
      case 'X':
      case 'o':
      case 'b':
      case 'B':
        take_unsigned(length);
        break;
      case 'c':
        add(static_cast<int64_t>(va_arg(from_, int)));
        break;
      case 's':
        add(va_arg(from_, const char*));
        break;
      case 'p':
        add(static_cast<const void*>(va_arg(from_, void*)));
        break;
      case 'a':
      case 'A':
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        add(length == width::of_long_double ? static_cast<double>(va_arg(from_, long double)) : va_arg(from_, double));
        break;
      default:
        // What it takes is not known, and so neither is what comes behind it.
        ok_ = false;
        return at;
    }
    return at + 1;
  }

  HEDDLE_FUNCTION const char* take_number(const char* at) {
    if (*at == '*') {
      add(static_cast<int64_t>(va_arg(from_, int)));
      return at + 1;
    }
    while (*at >= '0' && *at <= '9') ++at;
    return at;
  }

  HEDDLE_FUNCTION static width take_length(const char*& at) {
    switch (*at) {
      case 'h':
        ++at;
        if (*at != 'h') return width::of_short;
        ++at;
        return width::of_char;
      case 'l':
        ++at;
        if (*at != 'l') return width::of_long;
        ++at;
        return width::of_long_long;
      case 'q':
        ++at;
        return width::of_long_long;
      case 'j':
        ++at;
        return width::of_max;
      case 'z':
        ++at;
        return width::of_size;
      case 't':
        ++at;
        return width::of_difference;
      case 'L':
        ++at;
        return width::of_long_double;
      default:
        return width::of_int;
    }
  }

  HEDDLE_FUNCTION void take_signed(width length) {
    switch (length) {
      case width::of_char:
        return add(static_cast<signed char>(va_arg(from_, int)));
      case width::of_short:
        return add(static_cast<short>(va_arg(from_, int)));
      case width::of_long:
        return add(va_arg(from_, long));
      case width::of_long_long:
      case width::of_max:
        return add(va_arg(from_, long long));
      case width::of_size:
      case width::of_difference:
        return add(va_arg(from_, ptrdiff_t));
      default:
        return add(va_arg(from_, int));
    }
  }
  HEDDLE_FUNCTION void take_unsigned(width length) {
    switch (length) {
      case width::of_char:
        return add(static_cast<unsigned char>(va_arg(from_, int)));
      case width::of_short:
        return add(static_cast<unsigned short>(va_arg(from_, int)));
      case width::of_long:
        return add(va_arg(from_, unsigned long));
      case width::of_long_long:
      case width::of_max:
        return add(va_arg(from_, unsigned long long));
      case width::of_size:
      case width::of_difference:
        return add(va_arg(from_, size_t));
      default:
        return add(va_arg(from_, unsigned));
    }
  }

  template <typename T>
  HEDDLE_FUNCTION void add(T value) {
    if (count_ == heddle_printf_arguments_max) {
      ok_ = false;
      return;
    }
    words_[count_] = heddle::rpc::detail::printed(value, texts_[count_]);
    ++count_;
  }

  va_list from_;
  heddle::rpc::detail::sent_argument words_[heddle_printf_arguments_max] = {};
  bytes_view texts_[heddle_printf_arguments_max] = {};
  uint32_t count_ = 0;
  bool ok_ = true;
};
#endif

}  // namespace heddle::rpc::detail

// -- printing --------------------------------------------------------------------------------------------------------------------

#ifndef HEDDLE_VARIADIC_FUNCTIONS

template <typename... Arguments>
HEDDLE_FUNCTION inline int heddle_fprintf(const heddle_host& host, heddle_FILE* to, const char* format,
                                          const Arguments&... arguments) {
  const auto answer = host.print_to(heddle::rpc::detail::file_of(to), format, arguments...);
  return answer.ok() ? static_cast<int>(answer.value) : -1;
}
template <typename... Arguments>
HEDDLE_FUNCTION inline int heddle_printf(const heddle_host& host, const char* format, const Arguments&... arguments) {
  return heddle_fprintf(host, heddle_stdout, format, arguments...);
}

#else

inline int heddle_vfprintf(const heddle_host& host, heddle_FILE* to, const char* format, va_list from) {
  const heddle::rpc::detail::printed_arguments taken(format, from);
  if (!taken.ok()) return -1;
  const auto answer =
      host.print_list(heddle::rpc::detail::file_of(to), format, taken.words(), taken.texts(), taken.count());
  return answer.ok() ? static_cast<int>(answer.value) : -1;
}
inline int heddle_vprintf(const heddle_host& host, const char* format, va_list from) {
  return heddle_vfprintf(host, heddle_stdout, format, from);
}
__attribute__((format(printf, 3, 4))) inline int heddle_fprintf(const heddle_host& host, heddle_FILE* to,
                                                                const char* format, ...) {
  va_list from;
  va_start(from, format);
  const int printed = heddle_vfprintf(host, to, format, from);
  va_end(from);
  return printed;
}
__attribute__((format(printf, 2, 3))) inline int heddle_printf(const heddle_host& host, const char* format, ...) {
  va_list from;
  va_start(from, format);
  const int printed = heddle_vfprintf(host, heddle_stdout, format, from);
  va_end(from);
  return printed;
}

#endif

HEDDLE_FUNCTION inline int heddle_puts(const heddle_host& host, const char* text) {
  return heddle::rpc::detail::zero_if(host.puts(text).ok());
}
HEDDLE_FUNCTION inline int heddle_fputs(const heddle_host& host, const char* text, heddle_FILE* to) {
  return heddle::rpc::detail::zero_if(host.print_to(heddle::rpc::detail::file_of(to), "%s", text).ok());
}

// -- files -----------------------------------------------------------------------------------------------------------------------

HEDDLE_FUNCTION inline heddle_FILE* heddle_fopen(const heddle_host& host, const char* path, const char* mode) {
  const auto answer = host.open(path, mode);
  return answer.ok() ? reinterpret_cast<heddle_FILE*>(static_cast<uintptr_t>(answer.value + 1)) : nullptr;
}
HEDDLE_FUNCTION inline int heddle_fclose(const heddle_host& host, heddle_FILE* file) {
  return heddle::rpc::detail::zero_if(host.close(heddle::rpc::detail::file_of(file)).ok());
}
HEDDLE_FUNCTION inline size_t heddle_fwrite(const heddle_host& host, const void* data, size_t size, size_t count,
                                            heddle_FILE* to) {
  if (size == 0 || count == 0 || count > SIZE_MAX / size) return 0;
  return static_cast<size_t>(host.write(heddle::rpc::detail::file_of(to), data, uint64_t{size} * count).value) / size;
}
HEDDLE_FUNCTION inline size_t heddle_fread(const heddle_host& host, void* data, size_t size, size_t count,
                                           heddle_FILE* from) {
  if (size == 0 || count == 0 || count > SIZE_MAX / size) return 0;
  return static_cast<size_t>(host.read(heddle::rpc::detail::file_of(from), data, uint64_t{size} * count).value) / size;
}
HEDDLE_FUNCTION inline int heddle_fgetc(const heddle_host& host, heddle_FILE* from) {
  unsigned char character = 0;
  return heddle_fread(host, &character, 1, 1, from) == 1 ? character : -1;
}
/// A call for each character: read in blocks where lines are long.
HEDDLE_FUNCTION inline char* heddle_fgets(const heddle_host& host, char* line, int size, heddle_FILE* from) {
  int count = 0;
  for (; count + 1 < size; ++count) {
    const int character = heddle_fgetc(host, from);
    if (character < 0) break;
    line[count] = static_cast<char>(character);
    if (character == '\n') {
      ++count;
      break;
    }
  }
  // Room for the end alone is room enough for nothing.
  if (count == 0 && size != 1) return nullptr;
  line[count] = 0;
  return line;
}
HEDDLE_FUNCTION inline int heddle_ungetc(const heddle_host& host, int character, heddle_FILE* to) {
  if (character < 0) return -1;
  const auto byte = static_cast<unsigned char>(character);
  return host.unread(heddle::rpc::detail::file_of(to), byte).ok() ? byte : -1;
}
/// `origin`: 0 from the start, 1 from here, 2 from the end: SEEK_SET, SEEK_CUR, SEEK_END.
HEDDLE_FUNCTION inline int heddle_fseek(const heddle_host& host, heddle_FILE* file, long long offset, int origin) {
  return heddle::rpc::detail::zero_if(
      origin >= 0 && origin <= 2 &&
      host.seek(heddle::rpc::detail::file_of(file), offset, static_cast<heddle::rpc::seek_origin>(origin)).ok());
}
HEDDLE_FUNCTION inline long long heddle_ftell(const heddle_host& host, heddle_FILE* file) {
  const auto answer = host.position(heddle::rpc::detail::file_of(file));
  return answer.ok() ? static_cast<long long>(answer.value) : -1;
}
HEDDLE_FUNCTION inline int heddle_feof(const heddle_host& host, heddle_FILE* file) {
  const auto answer = host.at_end(heddle::rpc::detail::file_of(file));
  return answer.ok() && answer.value != 0 ? 1 : 0;
}
/// Also where the host cannot be asked any more.
HEDDLE_FUNCTION inline int heddle_ferror(const heddle_host& host, heddle_FILE* file) {
  const auto answer = host.has_failed(heddle::rpc::detail::file_of(file));
  return answer.ok() && answer.value == 0 ? 0 : 1;
}
HEDDLE_FUNCTION inline void heddle_clearerr(const heddle_host& host, heddle_FILE* file) {
  (void)host.clear(heddle::rpc::detail::file_of(file));
}
HEDDLE_FUNCTION inline int heddle_fflush(const heddle_host& host, heddle_FILE* file) {
  return heddle::rpc::detail::zero_if(host.flush(heddle::rpc::detail::file_of(file)).ok());
}
HEDDLE_FUNCTION inline int heddle_remove(const heddle_host& host, const char* path) {
  return heddle::rpc::detail::zero_if(host.remove(path).ok());
}
HEDDLE_FUNCTION inline int heddle_rename(const heddle_host& host, const char* from, const char* to) {
  return heddle::rpc::detail::zero_if(host.rename(from, to).ok());
}

// -- the program -----------------------------------------------------------------------------------------------------------------

HEDDLE_FUNCTION inline void* heddle_malloc(const heddle_host& host, size_t size) { return host.allocate(size); }
HEDDLE_FUNCTION inline void heddle_free(const heddle_host& host, void* memory) { (void)host.free(memory); }
/// Returns when the host has taken note: a lane cannot be ended from here.
HEDDLE_FUNCTION inline void heddle_exit(const heddle_host& host, int code) { (void)host.exit(code); }
HEDDLE_FUNCTION inline void heddle_abort(const heddle_host& host, const char* why) { (void)host.abort(why); }
/// getenv(3) into a buffer: `buffer`, or null where the variable is not set, not allowed, or does not fit.
HEDDLE_FUNCTION inline char* heddle_getenv(const heddle_host& host, const char* name, char* buffer, size_t size) {
  const auto answer = host.environment(name, buffer, size);
  return answer.ok() && answer.value < size ? buffer : nullptr;
}
/// Nanoseconds of a clock that never goes back; 0 where the host has ended.
HEDDLE_FUNCTION inline unsigned long long heddle_clock_ns(const heddle_host& host) {
  const auto answer = host.clock();
  return answer.ok() ? answer.value : 0;
}
