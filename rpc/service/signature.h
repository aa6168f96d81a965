// What a registered host function takes and gives, as both ends see it: the words that travel, and a hash that keeps
// the ends from misunderstanding each other.
#pragma once

#include <heddle/rpc/service/parts.h>
#include <heddle/rpc/service/request.h>

#if __has_include(<type_traits>)
#include <type_traits>
namespace heddle::rpc::detail {
namespace types = ::std;
}
#else
// Clang for a GPU alone: no standard library need be there, and the questions are the compiler's.
namespace heddle::rpc::detail::types {
template <typename T>
inline constexpr bool is_pointer_v = __is_pointer(T);
template <typename T>
inline constexpr bool is_reference_v = __is_reference(T);
template <typename T>
inline constexpr bool is_const_v = __is_const(T);
template <typename T>
inline constexpr bool is_void_v = __is_void(T);
template <typename T>
inline constexpr bool is_enum_v = __is_enum(T);
template <typename T>
inline constexpr bool is_integral_v = __is_integral(T);
template <typename T>
inline constexpr bool is_signed_v = __is_signed(T);
template <typename T>
inline constexpr bool is_floating_point_v = __is_floating_point(T);
template <typename T>
inline constexpr bool is_trivially_copyable_v = __is_trivially_copyable(T);
template <typename From, typename To>
inline constexpr bool is_convertible_v = __is_convertible(From, To);
template <typename T>
using remove_const_t = __remove_const(T);
template <typename T>
using underlying_type_t = __underlying_type(T);
}  // namespace heddle::rpc::detail::types
#endif

namespace heddle::rpc {

/// `count` elements one behind the other, as an argument of a host call. Of `span<const T>` the host gets a copy;
/// `span<T>` comes back as the host's function leaves it. Null data is legal and arrives as null.
template <typename T>
struct span {
  T* data = nullptr;
  uint64_t count = 0;

  constexpr span() = default;
  HEDDLE_FUNCTION constexpr span(T* first, uint64_t elements) : data(first), count(elements) {}
  /// Of what may be changed, what may not.
  template <typename U>
    requires(same_as<const U, T>)
  HEDDLE_FUNCTION constexpr span(const span<U>& other) : data(other.data), count(other.count) {}
};

namespace detail {

/// The size of what was null.
inline constexpr uint64_t null_size = ~uint64_t{0};

/// How an argument travels. Values: their bytes. Spans and texts: a word with the count of elements, or null_size, then the elements.
enum class argument_kind : uint64_t { value = 1, span_in = 2, span_both = 3, text = 4 };

/// What names memory of another object: std::string_view, std::span and their like.
template <typename T>
concept is_view = !__is_aggregate(T) && requires(const T& of) {
  *of.data();
  of.size();
};

template <typename T>
struct argument_traits {
  static_assert(
      !types::is_pointer_v<T>,
      "an address of one side means nothing on the other: pass a heddle::rpc::span, or const char* for a text");
  static_assert(!is_view<T>,
                "a view of one side means nothing on the other: pass a heddle::rpc::span, or const char* for a text");
  static_assert(types::is_trivially_copyable_v<T> && !types::is_reference_v<T>,
                "arguments and results of host calls are copied byte by byte");
  static constexpr argument_kind kind = argument_kind::value;
  using element = T;
};

template <typename T>
struct argument_traits<span<T>> {
  using element = types::remove_const_t<T>;
  static_assert(types::is_trivially_copyable_v<element> && !types::is_pointer_v<element>,
                "elements of a span are copied byte by byte, and addresses mean nothing on the other side");
  static_assert(alignof(element) <= 8, "parts of a request are aligned to words of 8 bytes");
  static constexpr argument_kind kind = types::is_const_v<T> ? argument_kind::span_in : argument_kind::span_both;
};

template <typename T>
inline constexpr bool is_span = false;
template <typename T>
inline constexpr bool is_span<span<T>> = true;

template <>
struct argument_traits<const char*> {
  static constexpr argument_kind kind = argument_kind::text;
  using element = char;
};

HEDDLE_FUNCTION constexpr uint64_t mixed(uint64_t hash, uint64_t with) { return (hash ^ with) * 0x100000001b3u; }

/// Kind, size and class of a type. Names of types would differ between compilers.
template <typename T>
HEDDLE_FUNCTION constexpr uint64_t hash_of_type(uint64_t hash) {
  using element = typename argument_traits<T>::element;
  hash = mixed(hash, static_cast<uint64_t>(argument_traits<T>::kind));
  hash = mixed(hash, sizeof(element));
  const uint64_t sort = types::is_floating_point_v<element> ? 1
                        : !types::is_integral_v<element>    ? 2
                        : types::is_signed_v<element>       ? 3
                                                            : 4;
  return mixed(hash, sort);
}

template <typename Function>
struct signature;

template <typename Result, typename... Arguments>
struct signature<Result(Arguments...)> {
  using result = Result;
  static_assert(types::is_void_v<Result> || types::is_trivially_copyable_v<Result>, "a result is copied byte by byte");
  static_assert(!types::is_pointer_v<Result> && !is_view<Result> && !is_span<Result>,
                "an address of the host means nothing to a kernel: have the host fill a span that the kernel passes");

  /// Equal on both ends when they agree on how many arguments there are, and on kind, size and class of each and of the result.
  HEDDLE_FUNCTION static constexpr uint64_t hash() {
    uint64_t all = 0xcbf29ce484222325u;
    if constexpr (!types::is_void_v<Result>) all = hash_of_type<Result>(all);
    all = mixed(all, sizeof...(Arguments));
    ((all = hash_of_type<Arguments>(all)), ...);
    return all;
  }
};

/// One argument, ready to be sent: a fixed part, then elements.
struct encoded_argument {
  bytes_view fixed;      ///< a value
  uint64_t word = 0;     ///< of a span or a text: elements, or null_size
  bool counted = false;  ///< `word` is sent in place of `fixed`
  bytes_view elements;
  part_sink comes_back;
};

template <typename T>
HEDDLE_FUNCTION inline encoded_argument encode(const T& value) {
  encoded_argument encoded;
  encoded.fixed = {&value, sizeof(T)};
  return encoded;
}

template <typename T>
HEDDLE_FUNCTION inline encoded_argument encode(const span<T>& value) {
  encoded_argument encoded;
  encoded.counted = true;
  encoded.word = value.data == nullptr ? null_size : value.count;
  const uint64_t count = value.data == nullptr ? 0 : value.count;
  encoded.elements.data = value.data;
  // A count whose bytes do not fit in 64 bits is above every bound: what stands for it here must be, too.
  encoded.elements.size_bytes = count > null_size / sizeof(T) ? null_size - 7 : count * sizeof(T);
  if constexpr (!types::is_const_v<T>) encoded.comes_back = {value.data, encoded.elements.size_bytes};
  return encoded;
}

/// With the terminating zero.
HEDDLE_FUNCTION inline encoded_argument encode(const char* text) {
  encoded_argument encoded;
  encoded.counted = true;
  uint64_t size_bytes = 0;
  if (text != nullptr) {
    while (text[size_bytes] != 0) ++size_bytes;
    ++size_bytes;
  }
  encoded.word = text == nullptr ? null_size : size_bytes;
  encoded.elements = {text, size_bytes};
  return encoded;
}

/// An argument of print as it goes over the wire, and how one is made; `part` is where the text of one lies.
struct sent_argument {
  uint32_t kind;
  uint32_t size_bytes;
  uint64_t value;
};
HEDDLE_FUNCTION inline sent_argument printed(const char* text, bytes_view& part) {
  if (text == nullptr) return {static_cast<uint32_t>(print_kind::text), 0, null_size};
  uint64_t size_bytes = 0;
  while (text[size_bytes] != 0) ++size_bytes;
  part = {text, size_bytes};
  return {static_cast<uint32_t>(print_kind::text), 0, size_bytes};
}
template <typename T>
HEDDLE_FUNCTION sent_argument printed(const T& value, bytes_view& part) {
  if constexpr (types::is_convertible_v<T, const char*>) {
    return printed(static_cast<const char*>(value), part);
  } else if constexpr (types::is_floating_point_v<T>) {
    const auto wide = static_cast<double>(value);
    sent_argument argument{static_cast<uint32_t>(print_kind::floating), sizeof wide, 0};
    __builtin_memcpy(&argument.value, &wide, sizeof wide);
    return argument;
  } else if constexpr (types::is_pointer_v<T>) {
    return {static_cast<uint32_t>(print_kind::address), sizeof value, reinterpret_cast<uintptr_t>(value)};
  } else if constexpr (types::is_enum_v<T>) {
    return printed(static_cast<types::underlying_type_t<T>>(value), part);
  } else {
    static_assert(types::is_integral_v<T>, "print takes numbers, texts and addresses");
    if constexpr (types::is_signed_v<T>)
      return {static_cast<uint32_t>(print_kind::signed_number), sizeof value,
              static_cast<uint64_t>(static_cast<int64_t>(value))};
    return {static_cast<uint32_t>(print_kind::unsigned_number), sizeof value, static_cast<uint64_t>(value)};
  }
}

}  // namespace detail
}  // namespace heddle::rpc
