// The promises on a machine that is there: one source for host threads, CUDA and HIP.
//
// Exit status 0: all are kept; 3: no device answers, and a line says why. A promise that is broken ends the program.
#include "promises.h"

#include <cstdio>

int main() {
  using namespace heddle::tests;
  auto opened = heddle::device::open(0);
  if (!opened) {
    std::printf("no device answers: %s\n", opened.why().line().c_str());
    return 3;
  }
  heddle::device& on = *opened.value();
  lanes_run_once(on);
  launches_keep_their_order(on);
  memory_is_zeroed(on);
  streams_keep_their_order(on);
  events_order_streams(on);
  copies_keep_their_order(on);
  a_kernel_asks_a_host_thread(on);
  mapped_memory_serves_or_is_refused(on);
  results_tell_of_success(on);
  a_device_that_is_not_there_is_an_error(on);
  std::printf("the machine keeps its promises\n");
}
