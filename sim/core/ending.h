// How a run ends: its verdict, and what is told of it.
#pragma once

#include <heddle/scheduler/verdict.h>
#include <heddle/sim/code/source_line.h>

#include <string>
#include <vector>

namespace heddle::sim {

struct lane;

struct ending {
  scheduler::verdict verdict = scheduler::verdict::ok;
  std::string message;
  std::vector<std::string> waiting;  ///< the lanes and host threads that waited when the hang was found
  call_chain about = {};             ///< the place in the code under test that the verdict is about
  const lane* ended_by = nullptr;    ///< the lane whose operation the verdict is about; null: it is about none
  std::string report;                ///< written when a hang was judged; empty: it is still to be written

  bool is_plain() const { return verdict == scheduler::verdict::ok && message.empty(); }
  void forget() {
    verdict = scheduler::verdict::ok;
    message.clear();
    waiting.clear();
    about = {};
    ended_by = nullptr;
    report.clear();
  }
};

}  // namespace heddle::sim
