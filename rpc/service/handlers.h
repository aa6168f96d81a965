// What the service library itself answers: one function an opcode, from an untrusted request to an answer.
#pragma once

#include <heddle/rpc/port/opcode.h>
#include <heddle/rpc/service/allocation.h>
#include <heddle/rpc/service/files.h>
#include <heddle/rpc/service/host_call.h>
#include <heddle/rpc/service/print.h>
#include <heddle/rpc/service/reader.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace heddle::rpc {

/// What clients of a service may reach, and how much of it. Without a word from its owner a service gives them the
/// standard output and error streams, the clocks, and the end of the program.
struct service_limits {
  /// The largest request, and the largest answer, of one lane: a multiple of 8, from 256. A server thread keeps room
  /// for two of them for each lane.
  uint64_t bound_bytes = default_service_bound_bytes;

  /// Of no file while `directory` is empty, unless it is `everywhere`.
  file_access files = file_access::beneath;
  std::string directory = {};
  bool input =
      false;  ///< clients may read the standard input; each such call may hold a server thread until there is some
  uint32_t open_files = 64;  ///< at a time
  /// No write of a client's makes a file larger than this; it fails with EFBIG. How many files there are is not bounded.
  uint64_t file_bytes = uint64_t{1} << 30;

  /// The variables of the environment that clients may ask for.
  std::vector<std::string> environment = {};

  /// Where memory for kernels comes from, in place of the block of `memory_bytes`.
  memory_source memory = {};

  /// What an exit does, in place of ending the program as quick_exit(3) does. Called behind the answer. What clients have written to
  /// files, and the standard output and error streams, are written out before; not a stream that a thread is at work on, nor others of the
  /// program.
  std::function<void(int32_t code)> on_exit = {};
  /// What an abort does, in place of printing a line and calling abort(3).
  std::function<void(const std::string& why)> on_abort = {};
  /// What is done when a host function or a handler has thrown, in place of printing a line. Its client is told in any case.
  std::function<void(const std::string& line)> on_throw = {};
  /// Nanoseconds, in place of those of clock_gettime(2).
  std::function<uint64_t(clock_kind)> clock = {};
};

/// The end of the program that a client asks for, to be carried out when it has its answer.
struct requested_end {
  bool wanted = false;
  bool aborts = false;
  int32_t code = 0;
  std::string why;
};

/// Any thread may call; nothing is locked while a host function or the file system is at work.
class service_handlers {
 public:
  service_handlers(service_limits limits, void* memory, uint64_t memory_bytes)
      : limits_(std::move(limits)),
        files_(access_of(limits_), limits_.directory.empty() ? "." : limits_.directory, limits_.open_files),
        memory_(memory, memory_bytes, limits_.memory) {}

  /// Answers one lane; `bytes` is its whole request, as it came.
  void answer(uint16_t asked, std::span<unsigned char> bytes, answer_writer& to, requested_end& end) {
    request_reader from(bytes);
    const auto head = from.take_value<service_request>();
    service_answer given{service_status::malformed};
    bool has_memory = true;
    const auto work = [&] {
      try {
        if (head) given = handle(static_cast<opcode>(asked), *head, from, to, end);
      } catch (const std::bad_alloc&) {
        has_memory = false;
      }
    };
    const bool done = !has_thrown("a host function that a kernel called", work) && has_memory;
    if (!done) {
      to.clear();
      given = {has_memory ? service_status::failed : service_status::no_memory};
    }
    to.set_head(given);
  }

  /// Does some work and returns whether it has thrown; tells of that, in a line that begins with `whose` it was.
  template <typename Work>
  bool has_thrown(const char* whose, Work&& work) const {
    std::string what;
    try {
      work();
      return false;
    } catch (const std::exception& thrown) {
      what = std::string(" has thrown: ") + thrown.what();
    } catch (...) {
      what = " has thrown what is no std::exception";
    }
    // Behind the handler: a line may take long, and what it is told by may throw too.
    const std::string line = whose + what;
    try {
      if (limits_.on_throw)
        limits_.on_throw(line);
      else
        fprintf(stderr, "heddle: %s\n", line.c_str());
    } catch (...) {
      fprintf(stderr, "heddle: %s, and on_throw has thrown when it was told\n", line.c_str());
    }
    return true;
  }

  /// Carries out what a client has asked for.
  void end_program(const requested_end& end) const {
    if (end.aborts) {
      if (limits_.on_abort) return limits_.on_abort(end.why);
      fprintf(stderr, "heddle: a kernel has aborted: %s\n", end.why.c_str());
      ::abort();
    }
    if (limits_.on_exit) return limits_.on_exit(end.code);
    // fflush(nullptr) would wait for each stream that another thread is reading from, for ever where nothing comes.
    flush_unless_in_use(stdout);
    flush_unless_in_use(stderr);
    quick_exit(end.code);
  }

  /// What the limits come to.
  static file_access access_of(const service_limits& limits) {
    const bool named = limits.files == file_access::everywhere || !limits.directory.empty();
    return named ? limits.files : file_access::none;
  }

  host_calls& calls() { return calls_; }
  const service_limits& limits() const { return limits_; }
  file_table& files() { return files_; }
  const file_table& files() const { return files_; }
  memory_pool& memory() { return memory_; }
  const memory_pool& memory() const { return memory_; }

  /// Writes to a file of the table, `file` for `handle`. What is written by several threads at a time is not mixed, and does not pass the
  /// limit together.
  service_answer put(uint64_t handle, FILE* file, const void* data, size_t size_bytes) const {
    const auto write_all = [&]() -> service_answer {
      const size_t written = fwrite(data, 1, size_bytes, file);
      return written == size_bytes ? service_answer{service_status::ok, 0, written} : failed(written);
    };
    const file_lock guard(file);
    if (handle <= standard_error.handle) return write_all();
    return files_.grow(file, size_bytes, limits_.file_bytes, write_all);
  }

 private:
  service_answer handle(opcode asked, const service_request& head, request_reader& from, answer_writer& to,
                        requested_end& end) {
    switch (asked) {
      case opcode::write:
      case opcode::post_write:
        return write(head, from);
      case opcode::read:
        return read(head, to);
      case opcode::open_file: {
        const auto path = from.take_text(head.value);
        const auto mode = from.take_text(head.extra);
        return path && mode ? files_.open(*path, *mode) : service_answer{service_status::malformed};
      }
      case opcode::close_file:
        return files_.close(head.subject);
      case opcode::seek:
        return seek(head);
      case opcode::flush: {
        const auto file = files_.find(head.subject);
        if (file == nullptr) return {service_status::bad_handle};
        return fflush(file.get()) == 0 ? service_answer{service_status::ok} : failed();
      }
      case opcode::file_state:
        return state(head);
      case opcode::remove_file: {
        const auto path = from.take_text(head.value);
        return path ? files_.remove(*path) : service_answer{service_status::malformed};
      }
      case opcode::rename_file: {
        const auto before = from.take_text(head.value);
        const auto after = from.take_text(head.extra);
        return before && after ? files_.rename(*before, *after) : service_answer{service_status::malformed};
      }
      case opcode::print:
      case opcode::post_print:
        return print(head, from);
      case opcode::exit:
        end = {true, false, static_cast<int32_t>(head.value), {}};
        return {service_status::ok};
      case opcode::abort: {
        const auto why = from.take_text(head.value);
        end = {true, true, 0, why ? *why : "(no reason given)"};
        return {service_status::ok};
      }
      case opcode::allocate: {
        void* const memory = memory_.allocate(head.value);
        if (memory == nullptr) return {service_status::no_memory};
        return {service_status::ok, 0, reinterpret_cast<uintptr_t>(memory)};
      }
      case opcode::free:
        return {head.subject == 0 || memory_.free(head.subject) ? service_status::ok : service_status::bad_handle};
      case opcode::clock:
        return clock(head);
      case opcode::environment:
        return environment(head, from, to);
      case opcode::host_call:
      case opcode::post_call:
        return calls_.call(head, from, to);
      case opcode::nothing:
        return {service_status::ok};
    }
    return {service_status::unhandled};
  }

  static service_answer failed(uint64_t value = 0) { return {service_status::failed, errno, value}; }

  service_answer write(const service_request& head, request_reader& from) const {
    const auto data = from.take(head.value);
    if (!data) return {service_status::malformed};
    const auto file = files_.find(head.subject);
    if (file == nullptr) return {service_status::bad_handle};
    return put(head.subject, file.get(), data->data(), data->size());
  }

  service_answer read(const service_request& head, answer_writer& to) const {
    if (head.subject == standard_input.handle && !limits_.input) return {service_status::refused};
    const auto file = files_.find(head.subject);
    if (file == nullptr) return {service_status::bad_handle};
    const auto data = to.add(head.value);
    if (!data) return {service_status::too_large};
    const bool had_failed = ferror(file.get()) != 0;
    errno = 0;
    const size_t taken = fread(data->data(), 1, data->size(), file.get());
    to.shorten_last(*data, taken);
    if (taken < head.value && ferror(file.get()) != 0 && (!had_failed || errno != 0)) return failed(taken);
    return {service_status::ok, 0, taken};
  }

  service_answer state(const service_request& head) const {
    if (head.value > static_cast<uint64_t>(file_question::position)) return {service_status::malformed};
    const auto asked = static_cast<file_question>(head.value);
    // Flags of the host's own streams are the host's to change, and its input is the client's where the limits say so.
    const bool is_output = head.subject == standard_output.handle || head.subject == standard_error.handle;
    if (is_output && asked != file_question::at_end && asked != file_question::has_failed)
      return {service_status::refused};
    if (head.subject == standard_input.handle && !limits_.input) return {service_status::refused};
    const auto file = files_.find(head.subject);
    if (file == nullptr) return {service_status::bad_handle};
    const auto is = [](int flag) { return service_answer{service_status::ok, 0, flag != 0 ? uint64_t{1} : 0}; };
    if (asked == file_question::at_end) return is(feof(file.get()));
    if (asked == file_question::has_failed) return is(ferror(file.get()));
    if (asked == file_question::unread) {
      const int back = ungetc(static_cast<unsigned char>(head.extra), file.get());
      return back == EOF ? failed() : service_answer{service_status::ok, 0, static_cast<uint64_t>(back)};
    }
    if (asked == file_question::position) {
      const off_t at = ftello(file.get());
      return at < 0 ? failed() : service_answer{service_status::ok, 0, static_cast<uint64_t>(at)};
    }
    clearerr(file.get());
    return {service_status::ok};
  }

  service_answer seek(const service_request& head) const {
    const auto file = files_.find(head.subject);
    if (file == nullptr) return {service_status::bad_handle};
    if (head.extra > static_cast<uint64_t>(seek_origin::end)) return {service_status::malformed};
    // They may be files of the host's, such as a log, and a write far behind their end would make them as large as that.
    if (head.subject <= standard_error.handle) return {service_status::refused};
    constexpr int origins[] = {SEEK_SET, SEEK_CUR, SEEK_END};
    if (fseeko(file.get(), static_cast<off_t>(head.value), origins[head.extra]) != 0) return failed();
    const off_t at = ftello(file.get());
    return at < 0 ? failed() : service_answer{service_status::ok, 0, static_cast<uint64_t>(at)};
  }

  service_answer print(const service_request& head, request_reader& from) const {
    struct word_pair {
      uint32_t kind;
      uint32_t size_bytes;
      uint64_t value;
    };
    // More than any call has; what it costs is bounded by the request's size in any case.
    if (head.extra > limits_.bound_bytes / sizeof(word_pair)) return {service_status::malformed};
    std::vector<print_argument> arguments(head.extra);
    for (print_argument& argument : arguments) {
      const auto pair = from.take_value<word_pair>();
      if (!pair || pair->kind > static_cast<uint32_t>(print_kind::address)) return {service_status::malformed};
      argument = {static_cast<print_kind>(pair->kind), pair->size_bytes, pair->value, std::nullopt};
    }
    const auto format = from.take_text(head.value);
    if (!format) return {service_status::malformed};
    for (print_argument& argument : arguments) {
      if (argument.kind != print_kind::text || argument.value == detail::null_size) continue;
      const auto text = from.take(argument.value);
      if (!text) return {service_status::malformed};
      argument.text = std::string_view(reinterpret_cast<const char*>(text->data()), text->size());
    }
    const auto file = files_.find(head.subject);
    if (file == nullptr) return {service_status::bad_handle};
    // A text may be printed more widely than it came, but not without end.
    const auto line = formatted(*format, arguments, 4 * limits_.bound_bytes);
    if (!line) return {service_status::malformed};
    return put(head.subject, file.get(), line->data(), line->size());
  }

  service_answer clock(const service_request& head) const {
    if (head.value > static_cast<uint64_t>(clock_kind::system)) return {service_status::malformed};
    const auto which = static_cast<clock_kind>(head.value);
    if (limits_.clock) return {service_status::ok, 0, limits_.clock(which)};
    timespec now{};
    if (clock_gettime(which == clock_kind::steady ? CLOCK_MONOTONIC : CLOCK_REALTIME, &now) != 0) return failed();
    return {service_status::ok, 0,
            static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec)};
  }

  service_answer environment(const service_request& head, request_reader& from, answer_writer& to) const {
    const auto name = from.take_text(head.value);
    if (!name) return {service_status::malformed};
    const auto& allowed = limits_.environment;
    if (std::find(allowed.begin(), allowed.end(), *name) == allowed.end()) return {service_status::refused};
    const char* const value = getenv(*name);
    if (value == nullptr) return {service_status::failed, ENOENT};
    const size_t size_bytes = strlen(value);
    if (!to.add(value, std::min<uint64_t>(size_bytes + 1, head.extra))) return {service_status::too_large};
    return {service_status::ok, 0, size_bytes};
  }

  service_limits limits_;
  file_table files_;
  memory_pool memory_;
  host_calls calls_;
};

}  // namespace heddle::rpc
