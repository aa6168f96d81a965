#include <heddle/sim/code/debug_session.h>
#include <unistd.h>

namespace heddle::sim {
namespace {

Dwfl* open_session() {
  static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                           .find_debuginfo = dwfl_standard_find_debuginfo,
                                           .section_address = nullptr,
                                           .debuginfo_path = nullptr};
  Dwfl* const session = dwfl_begin(&callbacks);
  if (session == nullptr) return nullptr;
  dwfl_linux_proc_report(session, getpid());
  dwfl_report_end(session, nullptr, nullptr);
  return session;
}

}  // namespace

Dwfl* debug_session() {
  static Dwfl* const only = open_session();
  return only;
}

std::mutex& debug_turn() {
  static std::mutex turn;
  return turn;
}

}  // namespace heddle::sim
