// Work that heddle's own objects, such as its settings, do for a program under test: an onlooker of that program must
// not take it for a part of the program.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

namespace heddle::scheduler {

/// An onlooker of the program: how it looks away, on this OS thread, and looks again.
struct onlooker {
  void* (*look_away)() = nullptr;
  void (*look_again)(void* looked_away) = nullptr;
};

/// Set once by what simulates programs. Relaxed: it is set before there is anything to look at, and never changed.
inline constinit std::atomic<const onlooker*> looks_on = nullptr;

/// Until this goes, what is done is heddle's own.
class own_work {
 public:
  own_work()
      : who_(looks_on.load(std::memory_order_relaxed)), looked_away_(who_ == nullptr ? nullptr : who_->look_away()) {}
  ~own_work() {
    if (who_ != nullptr) who_->look_again(looked_away_);
  }
  own_work(const own_work&) = delete;
  own_work& operator=(const own_work&) = delete;

 private:
  const onlooker* who_;
  void* looked_away_;
};

/// Objects of heddle's that never change once a program can read them: the texts of settings.
std::span<const std::byte> own_constants();

}  // namespace heddle::scheduler
