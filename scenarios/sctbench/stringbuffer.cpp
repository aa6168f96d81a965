// stringbuffer: JDK 1.4's StringBuffer.append(StringBuffer). It asks the other buffer for its length, and then for that many characters;
// each is synchronized, the two together are not. Meanwhile another thread empties the buffer and fills it again.
#include "sctbench.h"

namespace heddle::tests {
namespace {

struct stringbuffer_program : sctbench::nothing_more {
  bool in_one_go = false;
  uint32_t* memory = nullptr;

  /// The buffer has three characters at first: what is kept is by how many it has fewer.
  static constexpr int32_t length_at_first = 3;

  void erase_and_append(sctbench::mutex monitor, sctbench::shared_int missing) const {
    monitor.lock();
    missing.write(length_at_first);
    monitor.unlock();
    monitor.lock();
    missing.write(missing.read() - length_at_first);
    monitor.unlock();
  }
  void append(sctbench::mutex monitor, sctbench::shared_int missing) const {
    monitor.lock();
    const int32_t length = length_at_first - missing.read();
    if (!in_one_go) {
      monitor.unlock();
      monitor.lock();
    }
    HEDDLE_CHECK(length <= length_at_first - missing.read(), "more characters are asked for than there are");
    monitor.unlock();
  }
  void operator()(uint32_t thread) const {
    const sctbench::mutex monitor(memory), own_monitor(memory + 2);
    const sctbench::shared_int missing(memory + 1);
    if (thread == 1) {
      own_monitor.lock();  // of the buffer that is appended to, which no other thread has
      append(monitor, missing);
      own_monitor.unlock();
    } else {
      erase_and_append(monitor, missing);
    }
  }
};

void run_stringbuffer(const parameters& set) {
  stringbuffer_program program;
  program.in_one_go = sctbench::is_fixed(set);
  sctbench::run_threads(2, true, 3, program);
}

}  // namespace

HEDDLE_SCENARIO(run_stringbuffer,
                {.name = "sctbench.stringbuffer",
                 .summary = "SCTBench's stringbuffer: a buffer is emptied between two calls that append it to another",
                 .parameters = sctbench::with_common({}),
                 .expected = sctbench::verdict_of});

}  // namespace heddle::tests
