// The streams of the C++ library that each program has, as the first run of a program found them: where they write to, how, and in which locale.
#pragma once

#include <memory>

namespace heddle::sim {

class standard_streams {
 public:
  standard_streams();
  ~standard_streams();
  standard_streams(const standard_streams&) = delete;
  standard_streams& operator=(const standard_streams&) = delete;

  /// To be called before each run: the first one counts.
  void keep() {
    if (kept_ == nullptr) keep_first();
  }
  /// They are to go on with the buffers that they have now: those of before are destroyed.
  void keep_buffers();
  /// To be called behind each run.
  void restore();

 private:
  struct all;
  std::unique_ptr<all> kept_;
  void keep_first();
};

}  // namespace heddle::sim
