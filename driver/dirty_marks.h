// Whether a copy to the host must be preceded by a flush: whether a kernel may have left something in a cache since the last one.
#pragma once

#include <cstdint>

namespace heddle::driver {

/// The marks of one queue of a process.
struct queue_marks {
  uint64_t launches = 0;      ///< that have not ended
  uint64_t before_flush = 0;  ///< of these, the ones in front of a flush that this queue has been given
  uint64_t flushed = 0;       ///< launches of the process that had ended when this queue was given its last flush
};

/// The marks of a process; all contexts of a process share them, because they share its memory.
///
/// A launch makes the process dirty when it is enqueued, not when it runs. A flush makes it clean for what is behind
/// it: for its own queue as soon as it is enqueued, for the others when it has happened. A launch that is under way in
/// another queue keeps it dirty, because it is open which of the two comes first. All this in constant time.
class dirty_marks {
 public:
  void launch_enqueued(queue_marks& in) {
    ++in.launches;
    ++under_way_;
  }
  void launch_ended(queue_marks& in) {
    --in.launches;
    --under_way_;
    if (in.before_flush == 0) {
      ++ended_;
      return;
    }
    --in.before_flush;
    // Launches are numbered as they end. What this queue's flush covers stays a range from the first one on.
    if (in.flushed == ended_) ++in.flushed;
    ++ended_;
  }

  /// Of a copy to the host that the queue is given now.
  bool needs_flush(const queue_marks& in) const {
    return in.launches > in.before_flush || under_way_ > in.launches ||
           ended_ > (in.flushed > flushed_ ? in.flushed : flushed_);
  }
  void flush_enqueued(queue_marks& in) const {
    in.before_flush = in.launches;
    in.flushed = ended_;
  }
  /// What the flush, which begins now, covers: to be given to flush_ended().
  uint64_t flush_begins() const { return ended_; }
  void flush_ended(uint64_t covered) {
    if (covered > flushed_) flushed_ = covered;
  }

 private:
  uint64_t under_way_ = 0;  ///< launches that are enqueued or run
  uint64_t ended_ = 0;      ///< launches that have ended
  uint64_t flushed_ = 0;    ///< of these, what has been written back since
};

}  // namespace heddle::driver
