// What the opcodes of libc do: one function for each, from a client that is not trusted to an answer for each of its lanes.
#pragma once

#include <heddle/rpc/llvm/port.h>
#include <heddle/rpc/service/handlers.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <unordered_map>

namespace heddle::rpc::llvm {

/// What clients may reach, and how much of it, beside what every service limits.
struct service_policy {
  /// What system() does. Where there is none, it is refused: clients get -1.
  std::function<int(const char* command)> system = {};
  /// For the next hand-over of a call that has begun, in nanoseconds. Then the call is given up and its port is closed for good.
  /// 0: for ever.
  uint64_t patience_ns = 0;
  /// A lane that announces more in one stream has its port closed for good: it would go on sending.
  uint64_t stream_bytes = uint64_t{1} << 30;
};

/// A function of the host that clients may call: it gets a copy of what was sent, aligned to 16.
using host_function = std::function<uint64_t(std::span<unsigned char> argument)>;

/// What a serving thread keeps of each lane from call to call.
struct lane_room {
  std::vector<unsigned char> first;
  std::vector<unsigned char> second;
  uint64_t file = no_file;
  uint64_t result = 0;
  bool refused = false;  ///< a stream was above the bound, or there was no memory for it
};
using room = std::array<lane_room, max_lanes>;

/// Any thread may call. What is said of a lane's failure is what libc says of it: a null pointer, -1, or fewer bytes than were to be done.
template <typename Target>
class libc_handlers {
 public:
  using port = basic_port<Target>;

  libc_handlers(service_limits limits, service_policy policy, void* memory, uint64_t memory_bytes)
      : policy_(std::move(policy)), shared_(std::move(limits), memory, memory_bytes) {}

  /// Serves a call of libc; false, with nothing received, where the opcode is none of libc.
  bool serve(port& at, room& lanes, requested_end& end) {
    for (lane_room& lane : lanes) lane.refused = false;
    switch (static_cast<opcode>(at.opcode())) {
      case opcode::noop:
        at.recv([](const packet&, uint32_t) {});
        return true;
      case opcode::exit:
      case opcode::abort:
        end_program(at, end);
        return true;
      case opcode::write_to_stdout:
      case opcode::write_to_stderr:
      case opcode::write_to_stream:
      case opcode::write_to_stdout_newline:
        write(at, lanes);
        return true;
      case opcode::read_from_stream:
        read(at, lanes, false);
        return true;
      case opcode::read_fgets:
        read(at, lanes, true);
        return true;
      case opcode::host_call:
        call(at, lanes);
        return true;
      case opcode::free:
        at.recv([&](const packet& from, uint32_t) {
          if (from.words[0] != 0 && !shared_.memory().free(from.words[0])) count_refusal();
        });
        return true;
      case opcode::open_file:
      case opcode::remove:
      case opcode::rename:
      case opcode::system:
        serve_path(at, lanes);
        return true;
      case opcode::printf_to_stdout:
      case opcode::printf_to_stdout_packed:
      case opcode::printf_to_stderr:
      case opcode::printf_to_stderr_packed:
      case opcode::printf_to_stream:
      case opcode::printf_to_stream_packed:
        print(at, lanes);
        return true;
      default:
        return serve_word(at, lanes);
    }
  }

  service_handlers& shared() { return shared_; }
  const service_handlers& shared() const { return shared_; }
  const service_policy& policy() const { return policy_; }
  std::unordered_map<uint64_t, host_function>& functions() { return functions_; }
  uint64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }

 private:
  using stream = file_table::stream;
  static constexpr uint64_t minus_one = ~uint64_t{0};

  uint64_t refuse(uint64_t answer) {
    count_refusal();
    return answer;
  }
  void count_refusal() { refusals_.fetch_add(1, std::memory_order_relaxed); }

  // -- streams ---------------------------------------------------------------------------------------------------------------

  /// Receives a stream of each lane into memory; a lane above the bound is refused, and what it sends is dropped.
  void recv_bytes(port& at, room& lanes, std::vector<unsigned char> lane_room::* into) {
    const uint64_t most = shared_.limits().bound_bytes;
    for_each_lane_of(at.mask(), [&](uint32_t lane) { (lanes[lane].*into).clear(); });
    at.recv_n([&](uint32_t lane, uint64_t size_bytes, const unsigned char* data, uint64_t bytes) {
      lane_room& mine = lanes[lane];
      if (size_bytes > most) mine.refused = true;
      if (mine.refused) return;
      try {
        (mine.*into).insert((mine.*into).end(), data, data + bytes);
      } catch (const std::bad_alloc&) {
        mine.refused = true;
      }
    });
  }

  /// A text that ends within what was sent; null otherwise.
  static const char* text_of(const lane_room& lane, const std::vector<unsigned char>& bytes) {
    if (lane.refused || bytes.empty() || bytes.back() != 0) return nullptr;
    return reinterpret_cast<const char*>(bytes.data());
  }

  /// Receives one packet and answers each lane with `answer(packet)` in its first word.
  template <typename Answer>
  void exchange(port& at, room& lanes, Answer&& answer) {
    at.recv([&](const packet& from, uint32_t lane) { lanes[lane].result = answer(from); });
    send_results(at, lanes);
  }
  static void send_results(port& at, const room& lanes) {
    at.send([&](packet& to, uint32_t lane) { to.words[0] = lanes[lane].result; });
  }

  /// A file that clients may read from; the standard input where the limits allow it.
  stream readable(uint64_t value) const {
    const uint64_t handle = handle_of(value);
    if (handle == standard_output.handle || handle == standard_error.handle) return nullptr;
    if (handle == standard_input.handle && !shared_.limits().input) return nullptr;
    return shared_.files().find(handle);
  }
  /// A file whose place and flags are the client's own; not the standard streams, which may be files of the host's.
  stream owned(uint64_t value) const {
    const uint64_t handle = handle_of(value);
    return handle <= standard_error.handle ? nullptr : shared_.files().find(handle);
  }

  // -- calls of one word ------------------------------------------------------------------------------------------------------

  bool serve_word(port& at, room& lanes) {
    switch (static_cast<opcode>(at.opcode())) {
      case opcode::close_file:
        exchange(at, lanes, [&](const packet& from) {
          const bool closed = shared_.files().close(handle_of(from.words[0])).ok();
          return closed ? 0 : refuse(minus_one);
        });
        return true;
      case opcode::malloc:
        exchange(at, lanes, [&](const packet& from) {
          void* const memory = shared_.memory().allocate(from.words[0]);
          return memory == nullptr ? refuse(0) : reinterpret_cast<uintptr_t>(memory);
        });
        return true;
      case opcode::feof:
      case opcode::ferror:
        exchange(at, lanes, [&](const packet& from) { return flag(at.opcode(), from.words[0]); });
        return true;
      case opcode::clearerr:
        exchange(at, lanes, [&](const packet& from) -> uint64_t {
          const stream file = readable(from.words[0]);
          if (file == nullptr) return refuse(0);
          clearerr(file.get());
          return 0;
        });
        return true;
      case opcode::fseek:
        exchange(at, lanes, [&](const packet& from) { return seek(from); });
        return true;
      case opcode::ftell:
        exchange(at, lanes, [&](const packet& from) {
          const stream file = owned(from.words[0]);
          return file == nullptr ? refuse(minus_one) : static_cast<uint64_t>(ftello(file.get()));
        });
        return true;
      case opcode::fflush:
        exchange(at, lanes, [&](const packet& from) { return flush(from.words[0]); });
        return true;
      case opcode::ungetc:
        exchange(at, lanes, [&](const packet& from) {
          const stream file = readable(from.words[1]);
          if (file == nullptr) return refuse(minus_one);
          return static_cast<uint64_t>(int64_t{ungetc(static_cast<int>(from.words[0]), file.get())});
        });
        return true;
      default:
        return false;
    }
  }

  uint64_t flag(uint32_t asked, uint64_t value) {
    const uint64_t handle = handle_of(value);
    const bool is_output = handle == standard_output.handle || handle == standard_error.handle;
    const stream file = is_output ? shared_.files().find(handle) : readable(value);
    if (file == nullptr) return refuse(1);
    const int set = asked == static_cast<uint32_t>(opcode::feof) ? feof(file.get()) : ferror(file.get());
    return set != 0 ? 1 : 0;
  }

  uint64_t seek(const packet& from) {
    constexpr int origins[] = {SEEK_SET, SEEK_CUR, SEEK_END};
    const stream file = owned(from.words[0]);
    const auto origin = static_cast<uint32_t>(from.words[2]);
    if (file == nullptr || origin > 2) return refuse(minus_one);
    return fseeko(file.get(), static_cast<off_t>(from.words[1]), origins[origin]) == 0 ? 0 : minus_one;
  }

  uint64_t flush(uint64_t value) {
    if (value == 0) {
      // All that clients have: what they write to files is not buffered.
      flush_unless_in_use(stdout);
      flush_unless_in_use(stderr);
      return 0;
    }
    const uint64_t handle = handle_of(value);
    // Of the host's input it would drop what was read ahead.
    if (handle == standard_input.handle) return 0;
    const stream file = shared_.files().find(handle);
    if (file == nullptr) return refuse(minus_one);
    return fflush(file.get()) == 0 ? 0 : minus_one;
  }

  // -- calls of streams -------------------------------------------------------------------------------------------------------

  void serve_path(port& at, room& lanes) {
    recv_bytes(at, lanes, &lane_room::first);
    const auto asked = static_cast<opcode>(at.opcode());
    if (asked == opcode::rename) recv_bytes(at, lanes, &lane_room::second);
    if (asked == opcode::open_file) {
      at.recv([&](const packet& from, uint32_t lane) { lanes[lane].result = open(lanes[lane], from); });
    } else if (!at.ended()) {
      for_each_lane_of(at.mask(), [&](uint32_t lane) {
        lane_room& mine = lanes[lane];
        const char* const path = text_of(mine, mine.first);
        const char* const other = asked == opcode::rename ? text_of(mine, mine.second) : path;
        mine.result = path != nullptr && other != nullptr ? act(asked, path, other) : refuse(minus_one);
      });
    }
    send_results(at, lanes);
  }

  uint64_t open(const lane_room& lane, const packet& mode) {
    const char* const path = text_of(lane, lane.first);
    const auto* const text = reinterpret_cast<const char*>(mode.words);
    if (path == nullptr || memchr(text, 0, sizeof mode) == nullptr) return refuse(0);
    const service_answer opened = shared_.files().open(path, text);
    return opened.ok() ? stream_of(opened.value) : refuse(0);
  }

  uint64_t act(opcode asked, const char* path, const char* other) {
    if (asked == opcode::system) {
      if (!policy_.system) return refuse(minus_one);
      int64_t status = -1;
      (void)shared_.has_thrown("what does system()", [&] { status = policy_.system(path); });
      return static_cast<uint64_t>(status);
    }
    const service_answer done =
        asked == opcode::remove ? shared_.files().remove(path) : shared_.files().rename(path, other);
    return done.ok() ? 0 : refuse(minus_one);
  }

  /// Takes the files of the lanes where they are named, or the one that the opcode names.
  void recv_files(port& at, room& lanes, bool named, uint64_t otherwise) {
    for (lane_room& lane : lanes) lane.file = otherwise;
    if (named) at.recv([&](const packet& from, uint32_t lane) { lanes[lane].file = handle_of(from.words[0]); });
  }

  /// Data of any size, in pieces of the bound; each piece, and so each line that fits, is written at once.
  void write(port& at, room& lanes) {
    const auto asked = static_cast<opcode>(at.opcode());
    const bool newline = asked == opcode::write_to_stdout_newline;
    recv_files(at, lanes, asked == opcode::write_to_stream,
               asked == opcode::write_to_stderr ? standard_error.handle : standard_output.handle);
    for (lane_room& lane : lanes) {
      lane.first.clear();
      lane.result = 0;
    }
    uint64_t taken[max_lanes] = {};
    at.recv_n([&](uint32_t lane, uint64_t size_bytes, const unsigned char* data, uint64_t bytes) {
      lane_room& mine = lanes[lane];
      taken[lane] += bytes;
      if (mine.refused) return;
      try {
        mine.first.insert(mine.first.end(), data, data + bytes);
        const bool is_last = taken[lane] == size_bytes;
        if (is_last && newline) mine.first.push_back('\n');
        if (is_last || mine.first.size() >= shared_.limits().bound_bytes) put(mine);
      } catch (const std::bad_alloc&) {
        mine.refused = true;
      }
    });
    send_results(at, lanes);
  }

  /// Writes what a lane has gathered. After a failure it writes no more.
  void put(lane_room& mine) {
    const stream file = mine.file == standard_input.handle ? nullptr : shared_.files().find(mine.file);
    if (file == nullptr) count_refusal();
    if (file != nullptr) {
      const service_answer done = shared_.put(mine.file, file.get(), mine.first.data(), mine.first.size());
      mine.result += done.value;
      mine.refused = !done.ok();
    } else {
      mine.refused = true;
    }
    mine.first.clear();
  }

  /// At most the bound of bytes, as a read may end early; or a line, of at most as many.
  void read(port& at, room& lanes, bool line) {
    at.recv([&](const packet& from, uint32_t lane) {
      lane_room& mine = lanes[lane];
      mine.first.clear();
      const stream file = readable(from.words[1]);
      if (file == nullptr) return count_refusal();
      try {
        mine.first.resize(std::min(from.words[0], shared_.limits().bound_bytes));
      } catch (const std::bad_alloc&) {
        return count_refusal();
      }
      mine.first.resize(line ? take_line(file.get(), mine.first)
                             : fread(mine.first.data(), 1, mine.first.size(), file.get()));
    });
    at.send_n([&](uint32_t lane) { return std::span<const unsigned char>(lanes[lane].first); });
    if (line) return;
    at.send([&](packet& to, uint32_t lane) { to.words[0] = lanes[lane].first.size(); });
  }

  /// Bytes of the line with its end, as LLVM's client takes them; 0 where there is none.
  static size_t take_line(FILE* file, std::span<unsigned char> into) {
    if (into.empty()) return 0;
    auto* const text = reinterpret_cast<char*>(into.data());
    return fgets(text, static_cast<int>(into.size()), file) == nullptr ? 0 : strlen(text) + 1;
  }

  // -- others -----------------------------------------------------------------------------------------------------------------

  void end_program(port& at, requested_end& end) {
    const bool aborts = at.opcode() == static_cast<uint32_t>(opcode::abort);
    at.recv([](const packet&, uint32_t) {});
    // The client waits for this one, to be sure that a server listens.
    at.send([](packet&, uint32_t) {});
    requested_end asked{false, aborts, 0, "(LLVM's libc gives no reason)"};
    at.recv([&](const packet& from, uint32_t) {
      if (!asked.wanted) asked.code = static_cast<int32_t>(from.words[0]);
      asked.wanted = true;
    });
    if (!at.ended()) end = asked;
  }

  void call(port& at, room& lanes) {
    recv_bytes(at, lanes, &lane_room::first);
    at.recv([&](const packet& from, uint32_t lane) {
      lane_room& mine = lanes[lane];
      // A number, whatever it is at the client: none that it sends is called as an address.
      const auto found = functions_.find(from.words[0]);
      mine.result = minus_one;
      if (mine.refused || found == functions_.end()) return count_refusal();
      (void)shared_.has_thrown("a host function that a kernel called",
                               [&] { mine.result = found->second(mine.first); });
    });
    send_results(at, lanes);
  }

  void print(port& at, room& lanes);

  service_policy policy_;
  service_handlers shared_;
  std::unordered_map<uint64_t, host_function> functions_;
  std::atomic<uint64_t> refusals_{0};
};

}  // namespace heddle::rpc::llvm

#include <heddle/rpc/llvm/print.h>
