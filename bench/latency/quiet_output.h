// Standard output that goes nowhere: what kernels print while they are timed is not to be read.
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

namespace heddle::bench {

/// For its lifetime. Without /dev/null, or without a free descriptor, output stays as it is.
class quiet_output {
 public:
  quiet_output() {
    fflush(stdout);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0) return;
    kept_ = dup(STDOUT_FILENO);
    if (kept_ >= 0) dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
  }
  ~quiet_output() {
    fflush(stdout);
    if (kept_ < 0) return;
    dup2(kept_, STDOUT_FILENO);
    close(kept_);
  }
  quiet_output(const quiet_output&) = delete;
  quiet_output& operator=(const quiet_output&) = delete;

 private:
  int kept_ = -1;
};

}  // namespace heddle::bench
