// Of which lines there is code.
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <heddle/sim/code/source_line.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>

namespace heddle::sim {
namespace {

/// Whether names that the compiler recorded are of one file. It keeps each name once.
class file_names {
 public:
  explicit file_names(const std::string& file) : file_(file) {}
  bool is_meant(const char* name) {
    if (name == nullptr) return false;
    const auto [entry, fresh] = known_.try_emplace(name);
    if (fresh)
      entry->second = is_in_file(
          {.file = std::filesystem::path(name).lexically_normal().string(), .line = 0, .function = {}}, file_);
    return entry->second;
  }

 private:
  const std::string& file_;
  std::map<const char*, bool> known_;
};

bool has_row(Dwarf_Die* unit, int line, file_names& names) {
  Dwarf_Lines* rows = nullptr;
  size_t count = 0;
  if (dwarf_getsrclines(unit, &rows, &count) != 0) return false;
  for (size_t n = 0; n < count; ++n) {
    Dwarf_Line* const row = dwarf_onesrcline(rows, n);
    int number = 0;
    if (dwarf_lineno(row, &number) == 0 && number == line && names.is_meant(dwarf_linesrc(row, nullptr, nullptr)))
      return true;
  }
  return false;
}

/// A line may hold nothing but a call that was inlined.
bool has_inlined_call(Dwarf_Die parent, Dwarf_Die* unit, int line, file_names& names) {
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0) return false;
  do {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    Dwarf_Files* files = nullptr;
    size_t count = 0;
    if (dwarf_tag(&child) == DW_TAG_inlined_subroutine &&
        dwarf_formudata(dwarf_attr(&child, DW_AT_call_line, &attribute), &value) == 0 &&
        static_cast<int>(value) == line &&
        dwarf_formudata(dwarf_attr(&child, DW_AT_call_file, &attribute), &value) == 0 &&
        dwarf_getsrcfiles(unit, &files, &count) == 0 && value < count &&
        names.is_meant(dwarf_filesrc(files, value, nullptr, nullptr)))
      return true;
    if (has_inlined_call(child, unit, line, names)) return true;
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

}  // namespace

bool has_code(const std::string& file, int line) {
  static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                           .find_debuginfo = dwfl_standard_find_debuginfo,
                                           .section_address = nullptr,
                                           .debuginfo_path = nullptr};
  const std::unique_ptr<Dwfl, decltype(&dwfl_end)> session(dwfl_begin(&callbacks), dwfl_end);
  if (session == nullptr) return false;
  dwfl_linux_proc_report(session.get(), getpid());
  dwfl_report_end(session.get(), nullptr, nullptr);
  file_names names(file);
  Dwarf_Addr bias = 0;
  for (Dwarf_Die* unit = dwfl_nextcu(session.get(), nullptr, &bias); unit != nullptr;
       unit = dwfl_nextcu(session.get(), unit, &bias))
    if (has_row(unit, line, names)) return true;
  for (Dwarf_Die* unit = dwfl_nextcu(session.get(), nullptr, &bias); unit != nullptr;
       unit = dwfl_nextcu(session.get(), unit, &bias))
    if (has_inlined_call(*unit, unit, line, names)) return true;
  return false;
}

}  // namespace heddle::sim
