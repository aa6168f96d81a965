// A thread that belongs to a scope and loses no exception.
#pragma once

#include <heddle/hw/host/position.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>

namespace heddle::host {

namespace detail {

/// The message of an exception, for a report; valid inside `use` only.
template <typename Use>
void with_message(const std::exception_ptr& error, Use use) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    use(known.what());
  } catch (...) {
    use("an exception of unknown type");
  }
}

template <typename Error>
bool is_a(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    return true;
  } catch (...) {
    return false;
  }
}

/// For errors that no caller is left to receive.
inline void print_lost_error(const char* what, const char* name, const std::exception_ptr& error) noexcept {
  with_message(error, [&](const char* message) {
    std::fprintf(stderr, "heddle: %s '%s' ended with an error that nothing asked for: %s\n", what, name, message);
  });
}

}  // namespace detail

/// A host thread. The destructor waits for it. An exception that leaves its function is kept and thrown again by
/// join(); one that is still there at destruction is printed.
class thread {
 public:
  thread() = default;

  /// Runs `function()` in a new thread that stands at `where`. `name` outlives the handle; reports use it.
  template <typename Function>
  thread(const char* name, position where, Function&& function) : name_(name), error_(new std::exception_ptr) {
    runner_ = std::thread(
        [where, error = error_.get(), work = std::decay_t<Function>(std::forward<Function>(function))]() mutable {
          this_position = where;
          try {
            // On the thread's own stack, where nothing else looks.
            auto own = std::move(work);
            own();
          } catch (...) {
            *error = std::current_exception();
          }
        });
  }

  thread(thread&&) noexcept = default;
  thread& operator=(thread&& other) noexcept {
    finish();
    name_ = other.name_;
    error_ = std::move(other.error_);
    runner_ = std::move(other.runner_);
    return *this;
  }
  ~thread() { finish(); }

  /// Waits until the thread has ended; throws what its function threw, once. Of no effect on an empty or joined handle.
  void join() {
    if (std::exception_ptr error = wait()) std::rethrow_exception(error);
  }

  /// As the destructor, which then finds nothing more to do; but an `Expected` is no error, and is not printed.
  template <typename Expected>
  void finish_expecting() noexcept {
    const std::exception_ptr error = wait();
    if (error && !detail::is_a<Expected>(error)) detail::print_lost_error("host thread", name_, error);
  }

 private:
  std::exception_ptr wait() {
    if (!runner_.joinable()) return nullptr;
    runner_.join();
    return std::exchange(*error_, nullptr);
  }

  void finish() noexcept {
    if (const std::exception_ptr error = wait()) detail::print_lost_error("host thread", name_, error);
  }

  const char* name_ = "";
  std::unique_ptr<std::exception_ptr> error_;  ///< written by the thread, read after it was joined
  std::thread runner_;
};

}  // namespace heddle::host
