// Pipes, event counters, pairs of sockets and interest lists (epoll) that the host threads of a run have made: which file belongs to which, and what
// is on its way in them. The operating system carries the bytes; what is kept here says where a thread waits, and is part of the state of a run.
#pragma once

#include <heddle/sim/base/state_reader.h>
#include <heddle/sim/space/file_words.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace heddle::sim {

class program_files {
 public:
  /// What an interest list waits for.
  struct interest {
    int file = -1;
    uint32_t events = 0;
    uint64_t data = 0;
  };
  struct channel {
    file_kind kind = file_kind::pipe;
    uint32_t number = 0;                              ///< among those of its kind
    bool whole = false;                               ///< each write is read as one message
    bool counts_down = false;                         ///< of an event counter: a read takes one (EFD_SEMAPHORE)
    uint64_t count = 0;                               ///< of an event counter
    std::vector<interest> interests;                  ///< of an interest list
    std::array<bool, 2> closed = {};                  ///< by side: nothing is written to the other one any more
    std::array<std::deque<std::byte>, 2> to_read;     ///< by side
    std::array<std::deque<size_t>, 2> message_bytes;  ///< of `whole`: what to_read consists of
    const void* word(uint32_t side) const { return file_word(kind, number, side); }
  };
  /// One end of a channel.
  struct end {
    channel* of = nullptr;
    uint32_t side = 0;
    explicit operator bool() const { return of != nullptr; }
    /// Where a lane waits for something to read, and where for room for what it writes.
    const void* incoming() const { return of->word(side); }
    const void* outgoing() const { return of->word(writes_to()); }
    uint32_t writes_to() const { return of->kind == file_kind::event_counter ? side : 1 - side; }
  };

  bool ignores_broken = false;  ///< a write that nothing reads any more is an error, and no signal

  ~program_files() { clear(); }
  bool empty() const { return channels_.empty() && !ignores_broken; }
  /// Closes what the run has left open.
  void clear();

  /// A channel whose sides are these files, which the operating system has just made: one, or two. They get numbers that are the same in every
  /// process, where there are enough of them, in place of those they have. False where there are too many; then they are closed.
  bool add(file_kind kind, std::span<int> files, channel** made);
  /// The file is a copy of a known one.
  void add_copy(int file, const end& of) { files_.push_back({file, of.of, of.side}); }
  /// A copy of a known file, with a number as those of add() have; -1, and errno, where there is none.
  int copy(int file, const end& of);
  end find(int file) const;
  /// The file is to be closed, or to become another one. Whether it was the last of its end.
  bool forget(int file);

  // What has been done to an end: only bytes that were really taken or given.
  static void wrote(const end& at, std::span<const std::byte> bytes);
  static void took(const end& at, size_t bytes);

  /// False when the visitor needs no more.
  bool visit_state(state_reader& to) const;

 private:
  struct known_file {
    int number = -1;
    channel* of = nullptr;
    uint32_t side = 0;
  };
  std::deque<channel> channels_;
  std::vector<known_file> files_;
  std::array<uint32_t, 4> made_ = {};
};

}  // namespace heddle::sim
