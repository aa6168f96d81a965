// The functions of the host that kernels may call: those that were registered, by the number or the name that they were
// registered under, with just the arguments that they take. No address that a device sends is ever called.
#pragma once

#include <heddle/rpc/result.h>
#include <heddle/rpc/service/reader.h>
#include <heddle/rpc/service/signature.h>

#include <functional>
#include <string>
#include <tuple>
#include <unordered_map>

namespace heddle::rpc {

namespace detail {

/// One argument, out of a request; nullopt when the request does not hold one.
template <typename T>
struct decoder {
  static std::optional<T> take(request_reader& from) { return from.take_value<T>(); }
  static bool give_back(const T&, answer_writer&) { return true; }
};

template <typename T>
struct decoder<span<T>> {
  static std::optional<span<T>> take(request_reader& from) {
    const auto count = from.take_value<uint64_t>();
    if (!count) return std::nullopt;
    if (*count == null_size) return from.take(0) ? std::optional(span<T>{}) : std::nullopt;
    if (*count > null_size / sizeof(T)) return std::nullopt;
    const auto bytes = from.take(*count * sizeof(T));
    if (!bytes) return std::nullopt;
    return span<T>{reinterpret_cast<T*>(bytes->data()), *count};
  }
  static bool give_back(const span<T>& argument, answer_writer& to) {
    if constexpr (std::is_const_v<T>) return true;
    return to.add(argument.data, argument.count * sizeof(T));
  }
};

template <>
struct decoder<const char*> {
  static std::optional<const char*> take(request_reader& from) {
    const auto size_bytes = from.take_value<uint64_t>();
    if (!size_bytes) return std::nullopt;
    if (*size_bytes == null_size) return nullptr;
    return from.take_text(*size_bytes);
  }
  static bool give_back(const char*, answer_writer&) { return true; }
};

}  // namespace detail

/// Takes the arguments of one lane out of a request, calls `function`, and adds the result and the spans that come back to the answer.
template <typename Result, typename... Arguments, typename Function>
service_answer invoke(std::type_identity<Result(Arguments...)>, Function& function, request_reader& from,
                      answer_writer& to) {
  // Braces: from left to right.
  std::tuple<std::optional<Arguments>...> taken{detail::decoder<Arguments>::take(from)...};
  return std::apply(
      [&](auto&... arguments) -> service_answer {
        if (!(arguments.has_value() && ...) || !from.is_empty()) return {service_status::malformed};
        bool fits = true;
        if constexpr (std::is_void_v<Result>) {
          function(*arguments...);
        } else {
          const Result result = function(*arguments...);
          fits = to.add(&result, sizeof result);
        }
        if (!(fits && (detail::decoder<Arguments>::give_back(*arguments, to) && ...))) {
          to.clear();
          return {service_status::too_large};
        }
        return {service_status::ok};
      },
      taken);
}

/// The registered functions of a service. Filled before the servers start, only read afterwards.
class host_calls {
 public:
  template <typename Function, typename Callable>
  result<void> add(uint64_t number, std::string name, Callable callable) {
    // Shared: std::function holds what can be copied.
    const auto held = std::make_shared<Callable>(std::move(callable));
    const auto [at, is_new] = calls_.try_emplace(
        number, registered{name, detail::signature<Function>::hash(), [held](request_reader& from, answer_writer& to) {
                             return invoke(std::type_identity<Function>{}, *held, from, to);
                           }});
    if (is_new) return {};
    return error{"service::add", std::move(name), "taken",
                 "a host function is already registered under this number: " + at->second.name};
  }

  service_answer call(const service_request& head, request_reader& from, answer_writer& to) const {
    const auto found = calls_.find(head.subject);
    if (found == calls_.end()) return {service_status::unhandled};
    if (found->second.signature != head.value) return {service_status::wrong_signature};
    return found->second.invoke(from, to);
  }

 private:
  struct registered {
    std::string name;
    uint64_t signature;
    std::function<service_answer(request_reader&, answer_writer&)> invoke;
  };
  std::unordered_map<uint64_t, registered> calls_;
};

}  // namespace heddle::rpc
