// The C library's functions on memory, as code under test calls them: one visible read and one visible write each.
//
// g++ emits plain calls, which the linker sends here (--wrap); clang calls the __tsan_ names for three of them.
#include <heddle/sim/runtime/plain_accesses.h>

#include <cstddef>

namespace runtime = heddle::sim::runtime;

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker and the compiler chose the names

void* __real_memcpy(void* to, const void* from, size_t size_bytes);
void* __real_memmove(void* to, const void* from, size_t size_bytes);
void* __real_memset(void* to, int value, size_t size_bytes);
int __real_memcmp(const void* a, const void* b, size_t size_bytes);
size_t __real_strlen(const char* text);
int __real_strcmp(const char* a, const char* b);
int __real_strncmp(const char* a, const char* b, size_t most);
char* __real_strcpy(char* to, const char* from);
char* __real_strncpy(char* to, const char* from, size_t most);

namespace {

[[gnu::noinline]] void* visible_copy(void* (*real)(void*, const void*, size_t), void* to, const void* from,
                                     size_t size_bytes, const void* place, void* frame) {
  runtime::caller by = HEDDLE_CALLER;
  by.place = place;
  by.frame = static_cast<void* const*>(frame);
  const runtime::hidden_operands hidden(*heddle::sim::execution::current, runtime::as_operand(to),
                                        runtime::as_operand(from), size_bytes);
  runtime::plain_read(from, size_bytes, by);
  const runtime::same_call more(from);
  heddle::sim::lane& self = *heddle::sim::execution::current;
  runtime::range_write(to, size_bytes, by, [&] {
    runtime::look_again_inside(self, from, size_bytes);
    real(to, from, size_bytes);
  });
  return to;
}

[[gnu::noinline]] void* visible_fill(void* to, int value, size_t size_bytes, const void* place, void* frame) {
  runtime::caller by = HEDDLE_CALLER;
  by.place = place;
  by.frame = static_cast<void* const*>(frame);
  const runtime::hidden_operands hidden(*heddle::sim::execution::current, runtime::as_operand(to),
                                        static_cast<unsigned char>(value), size_bytes);
  runtime::range_fill(to, value, size_bytes, by, [&] { __real_memset(to, value, size_bytes); });
  return to;
}

}  // namespace

// The simulator's own calls come here too, and are not observed: the entry points look at that first, with nothing saved yet. What an entry
// point itself keeps on the stack is the same each time.
#define HEDDLE_COPY(name, real)                                                                                  \
  void* name(void* to, const void* from, size_t size_bytes) {                                                    \
    if (heddle::sim::execution::current == nullptr) [[likely]]                                                   \
      return real(to, from, size_bytes);                                                                         \
    return visible_copy(&(real), to, from, size_bytes, __builtin_return_address(0), __builtin_frame_address(0)); \
  }

#define HEDDLE_FILL(name)                                                                                \
  void* name(void* to, int value, size_t size_bytes) {                                                   \
    if (heddle::sim::execution::current == nullptr) [[likely]]                                           \
      return __real_memset(to, value, size_bytes);                                                       \
    return visible_fill(to, value, size_bytes, __builtin_return_address(0), __builtin_frame_address(0)); \
  }

HEDDLE_COPY(__wrap_memcpy, __real_memcpy)
HEDDLE_COPY(__wrap_memmove, __real_memmove)
HEDDLE_COPY(__tsan_memcpy, __real_memcpy)
HEDDLE_COPY(__tsan_memmove, __real_memmove)
HEDDLE_FILL(__wrap_memset)
HEDDLE_FILL(__tsan_memset)

int __wrap_memcmp(const void* a, const void* b, size_t size_bytes) {
  if (heddle::sim::execution::current != nullptr) {
    const runtime::caller by = HEDDLE_CALLER;
    const runtime::hidden_operands hidden(*heddle::sim::execution::current, runtime::as_operand(a),
                                          runtime::as_operand(b), size_bytes);
    runtime::plain_read(a, size_bytes, by);
    const runtime::same_call more(a);
    runtime::plain_read(b, size_bytes, by);
    runtime::look_again(a, size_bytes);
  }
  return __real_memcmp(a, b, size_bytes);
}

// How long a string is can only be known by looking, which is what the visible read then stands for.

size_t __wrap_strlen(const char* text) {
  if (heddle::sim::execution::current != nullptr) {
    const runtime::caller by = HEDDLE_CALLER;
    const runtime::hidden_operands hidden(*heddle::sim::execution::current, runtime::as_operand(text));
    runtime::string_read(text, ~size_t{0}, by);
  }
  return __real_strlen(text);
}

int __wrap_strcmp(const char* a, const char* b) {
  if (heddle::sim::execution::current != nullptr) {
    const runtime::caller by = HEDDLE_CALLER;
    const runtime::hidden_operands hidden(*heddle::sim::execution::current, runtime::as_operand(a),
                                          runtime::as_operand(b));
    runtime::string_read(a, ~size_t{0}, by);
    const runtime::same_call more(a);
    runtime::string_read(b, ~size_t{0}, by);
  }
  return __real_strcmp(a, b);
}

int __wrap_strncmp(const char* a, const char* b, size_t most) {
  if (heddle::sim::execution::current != nullptr) {
    const runtime::caller by = HEDDLE_CALLER;
    const runtime::hidden_operands hidden(*heddle::sim::execution::current, runtime::as_operand(a),
                                          runtime::as_operand(b), most);
    runtime::string_read(a, most, by);
    const runtime::same_call more(a);
    runtime::string_read(b, most, by);
  }
  return __real_strncmp(a, b, most);
}

char* __wrap_strcpy(char* to, const char* from) {
  if (heddle::sim::execution::current == nullptr) return __real_strcpy(to, from);
  const runtime::caller by = HEDDLE_CALLER;
  const runtime::hidden_operands hidden(*heddle::sim::execution::current, runtime::as_operand(to),
                                        runtime::as_operand(from));
  runtime::string_read(from, ~size_t{0}, by);
  const runtime::same_call more(from);
  runtime::range_write(to, __real_strlen(from) + 1, by, [&] { __real_strcpy(to, from); });
  return to;
}

char* __wrap_strncpy(char* to, const char* from, size_t most) {
  if (heddle::sim::execution::current == nullptr) return __real_strncpy(to, from, most);
  const runtime::caller by = HEDDLE_CALLER;
  const runtime::hidden_operands hidden(*heddle::sim::execution::current, runtime::as_operand(to),
                                        runtime::as_operand(from), most);
  runtime::string_read(from, most, by);
  const runtime::same_call more(from);
  runtime::range_write(to, most, by, [&] { __real_strncpy(to, from, most); });
  return to;
}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
