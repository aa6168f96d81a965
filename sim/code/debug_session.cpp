#include <heddle/sim/code/debug_session.h>

#include <dwarf.h>
#include <unistd.h>

#include <cstdlib>

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

/// Whether the canonical address of the frame is behind its caller's frame pointer and the address to return to, where its own points to.
bool has_usual_frame(Dwarf_Addr at) {
  Dwarf_Addr bias = 0;
  Dwarf_CFI* const rules = dwfl_module_eh_cfi(dwfl_addrmodule(debug_session(), at), &bias);
  Dwarf_Frame* frame = nullptr;
  if (rules == nullptr || dwarf_cfi_addrframe(rules, at - bias, &frame) != 0) return false;
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  const bool is_so = dwarf_frame_cfa(frame, &operations, &count) == 0 && count == 1 &&
                     operations[0].atom == DW_OP_bregx && operations[0].number == register_of_frames &&
                     operations[0].number2 == 2 * sizeof(void*);
  std::free(frame);
  return is_so;
}

}  // namespace

Dwfl* debug_session() {
  static Dwfl* const only = open_session();
  return only;
}

std::optional<int64_t> frame_base_at(Dwarf_Die* function, Dwarf_Addr at) {
  Dwarf_Attribute attribute;
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  if (dwarf_attr_integrate(function, DW_AT_frame_base, &attribute) == nullptr ||
      dwarf_getlocation(&attribute, &operations, &count) != 0 || count != 1)
    return std::nullopt;
  if (operations[0].atom == DW_OP_reg0 + register_of_frames) return 0;
  if (operations[0].atom != DW_OP_call_frame_cfa || !has_usual_frame(at)) return std::nullopt;
  return int64_t{2 * sizeof(void*)};
}

std::mutex& debug_turn() {
  static std::mutex turn;
  return turn;
}

}  // namespace heddle::sim
