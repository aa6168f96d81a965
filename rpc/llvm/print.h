// printf of LLVM's clients: a format, its arguments, and then each text that the arguments point to, one after the other.
//
// Clang gives a variadic function of a GPU one struct with all arguments: integers and floats promoted as C has it, each aligned to its size
// (NVIDIA) or none (AMD, "packed"). long double is a double there.
#pragma once

#include <heddle/rpc/llvm/handlers.h>
#include <heddle/rpc/service/print.h>
#include <string.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace heddle::rpc::llvm {

/// One argument that a format consumes.
struct format_slot {
  print_kind kind;
  uint32_t size_bytes;   ///< in the struct: 4 or 8
  uint32_t value_bytes;  ///< that count: "%hhd" takes 1 byte of 4
  bool is_long_double = false;
};

namespace detail {

/// Walks a format, and gives each argument that it consumes to `Take`. What it lets through, `formatted` reads in the same way.
template <typename Take>
class slot_reader {
 public:
  slot_reader(std::string_view format, Take& take) : left_(format), give_(take) {}

  /// False where a conversion is none or is refused.
  bool run() {
    while (const size_t percent = left_.find('%') + 1) {
      left_.remove_prefix(percent);
      if (take('%')) continue;
      while (!left_.empty() && strchr("-+ #0", left_.front()) != nullptr) left_.remove_prefix(1);
      take_number();
      if (take('.')) take_number();
      if (!take_conversion()) return false;
    }
    return true;
  }

 private:
  bool take(char wanted) {
    if (left_.empty() || left_.front() != wanted) return false;
    left_.remove_prefix(1);
    return true;
  }

  void take_number() {
    if (take('*')) {
      give_(format_slot{print_kind::signed_number, 4, 4});
      return;
    }
    while (!left_.empty() && left_.front() >= '0' && left_.front() <= '9') left_.remove_prefix(1);
  }

  bool take_conversion() {
    uint32_t value_bytes = 4;
    bool is_modified = false;
    bool is_long_double = false;
    for (; !left_.empty() && strchr("hlqjztL", left_.front()) != nullptr; left_.remove_prefix(1)) {
      is_modified = true;
      is_long_double = left_.front() == 'L';
      value_bytes = left_.front() != 'h' ? 8 : value_bytes == 2 ? 1 : 2;
    }
    if (left_.empty()) return false;
    const char letter = left_.front();
    left_.remove_prefix(1);
    if (strchr("dibBouxX", letter) != nullptr) {
      const bool is_signed = letter == 'd' || letter == 'i';
      give_(format_slot{is_signed ? print_kind::signed_number : print_kind::unsigned_number, std::max(value_bytes, 4u),
                        value_bytes});
      return true;
    }
    if (strchr("fFeEgGaA", letter) != nullptr) {
      give_(format_slot{print_kind::floating, 8, 8, is_long_double});
      return true;
    }
    // Wide characters and texts have no form on this wire.
    if (is_modified) return false;
    if (letter == 'c') give_(format_slot{print_kind::signed_number, 4, 4});
    if (letter == 'p') give_(format_slot{print_kind::address, 8, 8});
    if (letter == 's') give_(format_slot{print_kind::text, 8, 8});
    return letter == 'c' || letter == 'p' || letter == 's';
  }

  std::string_view left_;
  Take& give_;
};

}  // namespace detail

/// Calls `take(slot)` for each argument that a format consumes, in order. False, behind the last that is good, at a conversion that is none
/// or is refused: %n, %m, wide characters and texts, arguments by position. Allocates nothing.
template <typename Take>
bool for_each_slot(std::string_view format, Take&& take) {
  return detail::slot_reader(format, take).run();
}

/// All of them; nullopt where one is refused.
inline std::optional<std::vector<format_slot>> slots_of(std::string_view format) {
  std::vector<format_slot> slots;
  if (!for_each_slot(format, [&](const format_slot& slot) { slots.push_back(slot); })) return std::nullopt;
  return slots;
}

/// Where an argument of `size_bytes` lies whose predecessor ends at `at`.
constexpr uint64_t slot_offset(uint64_t at, uint32_t size_bytes, bool packed) {
  return packed ? at : (at + size_bytes - 1) / size_bytes * size_bytes;
}

/// Bytes of all of them.
inline uint64_t size_of(std::span<const format_slot> slots, bool packed) {
  uint64_t end = 0;
  for (const format_slot& slot : slots) end = slot_offset(end, slot.size_bytes, packed) + slot.size_bytes;
  return end;
}

/// Their values, out of size_of() bytes; of a text its address at the client, which means nothing here.
inline std::vector<print_argument> arguments_of(std::span<const format_slot> slots,
                                                std::span<const unsigned char> bytes, bool packed) {
  std::vector<print_argument> arguments;
  arguments.reserve(slots.size());
  uint64_t end = 0;
  for (const format_slot& slot : slots) {
    const uint64_t at = slot_offset(end, slot.size_bytes, packed);
    end = at + slot.size_bytes;
    print_argument one{slot.kind, slot.value_bytes, 0, std::nullopt};
    memcpy(&one.value, bytes.data() + at, slot.size_bytes);
    arguments.push_back(one);
  }
  return arguments;
}

namespace detail {

/// What a lane prints, as it comes in. All of it together is at most the bound of one lane's request.
class lane_print {
 public:
  lane_print(bool packed, uint64_t bound_bytes) : left_bytes_(bound_bytes), packed_(packed) {}

  /// Returns the bytes of arguments that the client is to send.
  uint64_t begin(const char* format) {
    const auto slots = format == nullptr ? std::nullopt : slots_of(format);
    if (!slots || !spend(strlen(format))) return 0;
    const uint64_t size_bytes = size_of(*slots, packed_);
    if (!spend(size_bytes)) return 0;
    format_ = format;
    slots_ = *slots;
    return size_bytes;
  }

  void take_arguments(std::span<const unsigned char> bytes) {
    if (bytes.size() != size_of(slots_, packed_)) return fail();
    arguments_ = arguments_of(slots_, bytes, packed_);
    for (size_t n = 0; n < arguments_.size(); ++n)
      if (arguments_[n].kind == print_kind::text && arguments_[n].value != 0) wanted_.push_back(n);
    // Their addresses stay: a view of a text must not move when the next one comes.
    texts_.reserve(wanted_.size());
  }

  bool wants_text() const { return texts_.size() < wanted_.size(); }
  /// Where the next text lies in the client's memory; 0 where no more is wanted.
  uint64_t address() const { return wants_text() ? arguments_[wanted_[texts_.size()]].value : 0; }
  void take_text(std::span<const unsigned char> bytes, bool refused) {
    if (!wants_text()) return;
    // Without an end it is none; and one that does not fit is not kept.
    if (refused || bytes.empty() || bytes.back() != 0 || !spend(bytes.size())) return fail();
    texts_.emplace_back(reinterpret_cast<const char*>(bytes.data()));
    arguments_[wanted_[texts_.size() - 1]].text = texts_.back();
  }

  std::optional<std::string> line(uint64_t bound_bytes) const {
    if (format_.data() == nullptr) return std::nullopt;
    return formatted(format_, arguments_, bound_bytes);
  }

 private:
  bool spend(uint64_t bytes) {
    if (bytes > left_bytes_) return false;
    left_bytes_ -= bytes;
    return true;
  }
  /// Nothing is printed and nothing more is wanted.
  void fail() {
    format_ = {};
    wanted_.clear();
  }

  std::string_view format_;
  std::vector<format_slot> slots_;
  std::vector<print_argument> arguments_;
  std::vector<size_t> wanted_;  ///< arguments that are texts, and not null
  std::vector<std::string> texts_;
  uint64_t left_bytes_;
  bool packed_;
};

}  // namespace detail

template <typename Target>
void libc_handlers<Target>::print(port& at, room& lanes) {
  const auto asked = static_cast<opcode>(at.opcode());
  const bool packed = asked >= opcode::printf_to_stdout_packed && asked <= opcode::printf_to_stream_packed;
  const bool to_error = asked == opcode::printf_to_stderr || asked == opcode::printf_to_stderr_packed;
  const bool named = asked == opcode::printf_to_stream || asked == opcode::printf_to_stream_packed;
  const uint64_t bound_bytes = shared_.limits().bound_bytes;
  recv_files(at, lanes, named, to_error ? standard_error.handle : standard_output.handle);

  recv_bytes(at, lanes, &lane_room::first);
  std::vector<detail::lane_print> prints(max_lanes, detail::lane_print(packed, bound_bytes));
  if (at.ended()) return;
  for_each_lane_of(at.mask(), [&](uint32_t lane) {
    lanes[lane].result = prints[lane].begin(text_of(lanes[lane], lanes[lane].first));
  });
  send_results(at, lanes);
  recv_bytes(at, lanes, &lane_room::second);
  if (at.ended()) return;
  for_each_lane_of(at.mask(), [&](uint32_t lane) { prints[lane].take_arguments(lanes[lane].second); });

  const auto wants_text = [&] {
    return std::any_of(prints.begin(), prints.end(), [](const auto& one) { return one.wants_text(); });
  };
  while (!at.ended() && wants_text()) {
    at.send([&](packet& to, uint32_t lane) {
      to.words[0] = 0;
      to.words[1] = prints[lane].address();
    });
    for_each_lane_of(at.mask(), [&](uint32_t lane) { lanes[lane].refused = false; });
    recv_bytes(at, lanes, &lane_room::second);
    if (at.ended()) return;
    for_each_lane_of(at.mask(),
                     [&](uint32_t lane) { prints[lane].take_text(lanes[lane].second, lanes[lane].refused); });
  }
  if (at.ended()) return;
  for_each_lane_of(at.mask(), [&](uint32_t lane) {
    lane_room& mine = lanes[lane];
    const auto file = mine.file == standard_input.handle ? nullptr : shared_.files().find(mine.file);
    // A text may be printed more widely than it came, but not without end.
    const auto line = file == nullptr ? std::nullopt : prints[lane].line(4 * bound_bytes);
    if (!line) {
      mine.result = refuse(minus_one);
      return;
    }
    const service_answer done = shared_.put(mine.file, file.get(), line->data(), line->size());
    mine.result = done.ok() ? line->size() : minus_one;
  });
  at.send([&](packet& to, uint32_t lane) {
    to.words[0] = lanes[lane].result;
    to.words[1] = 0;
  });
}

}  // namespace heddle::rpc::llvm
