// printf of LLVM's clients: a format, its arguments, and then each text that the arguments point to, one after the other.
#pragma once

#include <heddle/rpc/llvm/format.h>
#include <heddle/rpc/llvm/handlers.h>

namespace heddle::rpc::llvm {

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
