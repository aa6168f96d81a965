#include <dwarf.h>
#include <heddle/sim/base/words.h>
#include <heddle/sim/code/debug_session.h>
#include <heddle/sim/code/function_names.h>
#include <heddle/sim/code/source_line.h>
#include <heddle/sim/code/unit_entries.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>

// The linker's: where the program lies.
extern "C" const char __executable_start;  // NOLINT(bugprone-reserved-identifier)

namespace heddle::sim {
namespace {

/// The debug information of this process, opened when it is first asked for.
class debug_info {
 public:
  static debug_info& instance() {
    static debug_info only;
    return only;
  }

  std::vector<source_line> look_up(const void* return_address) {
    std::vector<source_line> found;
    // The call ends where the return address begins.
    const Dwarf_Addr address = reinterpret_cast<uintptr_t>(return_address) - 1;
    Dwfl_Module* const module = session_ == nullptr ? nullptr : dwfl_addrmodule(session_, address);
    if (module != nullptr) collect(module, address, found);
    if (found.empty()) {
      source_line unknown;
      if (module != nullptr)
        if (const char* symbol = dwfl_module_addrname(module, address)) unknown.function = readable_symbol(symbol);
      if (module != nullptr && unknown.function.empty()) unknown.module = offset_in(module, address);
      found.push_back(std::move(unknown));
    }
    for (source_line& line : found) line.address = return_address;
    return found;
  }

  std::vector<Dwarf_Die> around(const void* return_address) {
    const Dwarf_Addr address = reinterpret_cast<uintptr_t>(return_address) - 1;
    Dwarf_Addr bias = 0;
    Dwarf_Die* const unit = session_ == nullptr ? nullptr : dwfl_addrdie(session_, address, &bias);
    return unit == nullptr ? std::vector<Dwarf_Die>() : nesting_at(unit, address - bias);
  }

  std::string variable(const void* where) {
    const Dwarf_Addr address = reinterpret_cast<uintptr_t>(where);
    Dwfl_Module* const module = session_ == nullptr ? nullptr : dwfl_addrmodule(session_, address);
    if (module == nullptr) return {};
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* const name = dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
    if (name == nullptr || GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || offset >= symbol.st_size) return {};
    std::string plain = name;
    // What heddle-ptx calls a variable of a device whose name the host has too.
    if (const size_t at = plain.rfind(".device"); at != std::string::npos) plain.resize(at);
    return readable_symbol(plain) + (offset == 0 ? "" : "+" + hexadecimal(offset));
  }

  code_range function(const void* where) {
    const Dwarf_Addr address = reinterpret_cast<uintptr_t>(where);
    Dwfl_Module* const module = session_ == nullptr ? nullptr : dwfl_addrmodule(session_, address);
    if (module == nullptr) return {};
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* const name = dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
    if (name == nullptr || GELF_ST_TYPE(symbol.st_info) != STT_FUNC || offset >= symbol.st_size) return {};
    return {static_cast<const std::byte*>(where) - offset, symbol.st_size, name};
  }

  std::vector<code_range> functions(const void* near, const std::string& symbol) {
    std::vector<code_range> found;
    Dwfl_Module* const module =
        session_ == nullptr ? nullptr : dwfl_addrmodule(session_, reinterpret_cast<uintptr_t>(near));
    const int count = module == nullptr ? 0 : dwfl_module_getsymtab(module);
    for (int n = 0; n < count; ++n) {
      GElf_Sym one;
      GElf_Addr address = 0;
      const char* const name = dwfl_module_getsym_info(module, n, &one, &address, nullptr, nullptr, nullptr);
      if (name == nullptr || GELF_ST_TYPE(one.st_info) != STT_FUNC || symbol != name) continue;
      found.push_back({reinterpret_cast<const std::byte*>(address), one.st_size, symbol});
    }
    return found;
  }

  symbol_range symbol(const std::string& name) {
    const auto [known, is_new] = symbols_.try_emplace(name);
    if (!is_new) return known->second;
    Dwfl_Module* const program =
        session_ == nullptr ? nullptr : dwfl_addrmodule(session_, reinterpret_cast<uintptr_t>(&__executable_start));
    const int count = program == nullptr ? 0 : dwfl_module_getsymtab(program);
    for (int n = 0; n < count && known->second.low == nullptr; ++n) {
      GElf_Sym one;
      GElf_Addr address = 0;
      const char* const here = dwfl_module_getsym_info(program, n, &one, &address, nullptr, nullptr, nullptr);
      const bool is_either = GELF_ST_TYPE(one.st_info) == STT_FUNC || GELF_ST_TYPE(one.st_info) == STT_OBJECT;
      if (here != nullptr && is_either && one.st_shndx != SHN_UNDEF && name == here)
        known->second = {reinterpret_cast<const std::byte*>(address), one.st_size};
    }
    return known->second;
  }

  const std::string& folder() {
    if (!folder_is_known_) find_folder();
    return folder_;
  }

 private:
  debug_info() : session_(debug_session()) {}

  // Where a loader puts the module differs from process to process; offsets do not.
  static std::string offset_in(Dwfl_Module* module, Dwarf_Addr address) {
    Dwarf_Addr start = 0;
    const char* const name = dwfl_module_info(module, nullptr, &start, nullptr, nullptr, nullptr, nullptr, nullptr);
    return (name == nullptr ? "" : std::filesystem::path(name).filename().string()) + "+" +
           hexadecimal(address - start);
  }

  static std::filesystem::path common(const std::filesystem::path& one, const std::filesystem::path& other) {
    std::filesystem::path both;
    for (auto left = one.begin(), right = other.begin(); left != one.end() && right != other.end() && *left == *right;
         ++left, ++right)
      both /= *left;
    return both;
  }

  /// Start-up code of the C library, which is C, may say where that was built: on another machine.
  static bool is_written_here(int language, const std::filesystem::path& file) {
    if (is_cpp(language)) return true;
    std::error_code wrong;
    const bool is_c = language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 ||
                      language == DW_LANG_C11 || language == 0x2d;  // C17, of version 6
    return is_c && std::filesystem::is_regular_file(file, wrong);
  }

  static bool is_cpp(int language) {
    switch (language) {
      case DW_LANG_C_plus_plus:
      case DW_LANG_C_plus_plus_03:
      case DW_LANG_C_plus_plus_11:
      case DW_LANG_C_plus_plus_14:
        return true;
      default:  // of version 6 of DWARF, which older headers lack: C++17 and C++20
        return language == 0x2b || language == 0x2c;
    }
  }

  void find_folder() {
    folder_is_known_ = true;
    Dwfl_Module* const program =
        session_ == nullptr ? nullptr : dwfl_addrmodule(session_, reinterpret_cast<uintptr_t>(&__executable_start));
    if (program == nullptr) return;
    std::filesystem::path sources, all;
    Dwarf_Addr bias = 0;
    for (Dwarf_Die* unit = dwfl_module_nextcu(program, nullptr, &bias); unit != nullptr;
         unit = dwfl_module_nextcu(program, unit, &bias)) {
      Dwarf_Attribute attribute;
      const char* const name = dwarf_formstring(dwarf_attr(unit, DW_AT_name, &attribute));
      const char* const compiled_in = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
      if (name == nullptr) continue;
      std::filesystem::path file = name;
      // heddle's own, as it is compiled (cmake/compile.cmake): they lie nowhere.
      const std::string_view first = file.is_relative() ? std::string_view(name) : std::string_view();
      if (first.starts_with("sim/") || first.starts_with("driver/") || first.starts_with("scheduler/") ||
          first.starts_with("tools/heddle/"))
        continue;
      const std::filesystem::path build = compiled_in == nullptr ? "" : compiled_in;
      // What nvcc writes for the host's compiler lies in a folder of its own.
      if (file.native().find(".cudafe1.") != std::string::npos) file = file.filename();
      if (file.is_relative() && build.is_absolute()) file = build / file;
      if (!is_written_here(dwarf_srclang(unit), file)) continue;
      file = file.lexically_normal().parent_path();
      // What was compiled elsewhere, as libraries of a distribution are, has other names or none that begin at a root.
      if (!file.is_absolute() || file.string().starts_with("/usr/")) continue;
      sources = sources.empty() ? file : common(sources, file);
      all = all.empty() ? sources : common(all, file);
      if (build.is_absolute()) all = common(all, build.lexically_normal());
    }
    // "/" and "/home" hold everything.
    constexpr std::ptrdiff_t fewest_names = 3;
    const auto depth_of = [](const std::filesystem::path& path) { return std::distance(path.begin(), path.end()); };
    folder_ = depth_of(all) >= fewest_names ? all.string() : depth_of(sources) > 1 ? sources.string() : "";
  }

  void collect(Dwfl_Module* module, Dwarf_Addr address, std::vector<source_line>& found) {
    Dwfl_Line* const innermost = dwfl_module_getsrc(module, address);
    if (innermost == nullptr) return;
    int line = 0;
    const char* file = dwfl_lineinfo(innermost, nullptr, &line, nullptr, nullptr, nullptr);
    found.push_back({shortened(file), line, {}});

    Dwarf_Addr bias = 0;
    Dwarf_Die* const unit = dwfl_module_addrdie(module, address, &bias);
    if (unit == nullptr) return;
    std::vector<Dwarf_Die> nesting = nesting_at(unit, address - bias);
    for (size_t n = nesting.size(); n-- > 0;) {
      found.back().function = name_of_function(&nesting[n]);
      if (n != 0) found.push_back(caller_of(&nesting[n], unit));
    }
  }

  /// From the function down: each inlined call that holds the address lies within the one before it.
  static std::vector<Dwarf_Die> nesting_at(Dwarf_Die* unit, Dwarf_Addr address) {
    std::vector<Dwarf_Die> nesting;
    if (const Dwarf_Die* const function = entries_of(*unit).function_at(address)) {
      nesting.push_back(*function);
      descend(*function, address, nesting);
    }
    return nesting;
  }

  static void descend(Dwarf_Die parent, Dwarf_Addr address, std::vector<Dwarf_Die>& nesting) {
    Dwarf_Die child;
    if (dwarf_child(&parent, &child) != 0) return;
    do {
      const int tag = dwarf_tag(&child);
      if (tag == DW_TAG_inlined_subroutine) {
        if (dwarf_haspc(&child, address) <= 0) continue;
        nesting.push_back(child);
        return descend(child, address, nesting);
      }
      if (tag == DW_TAG_lexical_block && dwarf_haspc(&child, address) > 0) return descend(child, address, nesting);
    } while (dwarf_siblingof(&child, &child) == 0);
  }

  source_line caller_of(Dwarf_Die* inlined, Dwarf_Die* unit) {
    source_line caller;
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &value) == 0)
      caller.line = static_cast<int>(value);
    Dwarf_Files* files = nullptr;
    size_t file_count = 0;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &value) == 0 &&
        dwarf_getsrcfiles(unit, &files, &file_count) == 0 && value < file_count)
      if (const char* name = dwarf_filesrc(files, value, nullptr, nullptr)) caller.file = shortened(name);
    return caller;
  }

  std::string shortened(const char* file) {
    if (file == nullptr) return {};
    std::filesystem::path path = std::filesystem::path(file).lexically_normal();
    if (path.is_absolute() && !folder().empty()) {
      const std::filesystem::path below = path.lexically_relative(folder());
      if (!below.empty() && *below.begin() != "..") path = below;
    }
    return path.string();
  }

  Dwfl* session_;
  std::map<std::string, symbol_range> symbols_;  ///< symbol()
  std::string folder_;                           ///< source_folder()
  bool folder_is_known_ = false;
};

}  // namespace

std::string source_line::where() const {
  if (!file.empty()) return file + ":" + std::to_string(line);
  if (!function.empty()) return function;
  if (!module.empty()) return module;
  char text[32];
  std::snprintf(text, sizeof text, "%p", address);
  return text;
}

std::string source_folder() {
  const std::scoped_lock mine(debug_turn());
  return debug_info::instance().folder();
}

std::string variable_at(const void* address) {
  const std::scoped_lock mine(debug_turn());
  return debug_info::instance().variable(address);
}

code_range function_at(const void* address) {
  const std::scoped_lock mine(debug_turn());
  return debug_info::instance().function(address);
}

symbol_range symbol_named(const std::string& symbol) {
  const std::scoped_lock mine(debug_turn());
  return debug_info::instance().symbol(symbol);
}

std::vector<code_range> functions_named(const void* address, const std::string& symbol) {
  const std::scoped_lock mine(debug_turn());
  return debug_info::instance().functions(address, symbol);
}

std::vector<Dwarf_Die> functions_around(const void* return_address) {
  return debug_info::instance().around(return_address);
}

std::vector<source_line> inlined_at(const void* return_address) {
  static std::map<const void*, std::vector<source_line>> known;
  const std::scoped_lock mine(debug_turn());
  auto entry = known.find(return_address);
  if (entry == known.end()) entry = known.emplace(return_address, debug_info::instance().look_up(return_address)).first;
  return entry->second;
}

// Of the CUDA toolkit too, and of what nvcc makes of launches.
bool is_plumbing(const source_line& line) {
  const std::string& file = line.file;
  return file == "sim/target.h" || file == "tools/heddle/program.cpp" || file == "scheduler/parameters.cpp" ||
         file.starts_with("sim/compat/") || file == "rpc/llvm/c_interface.h" || file == "sim/code/program_state.cpp" ||
         file == "sim/runtime/thread_calls.cpp" || file == "sim/runtime/openmp.h" ||
         file == "sim/runtime/openmp_calls.cpp" || file == "sim/runtime/once_calls.cpp" ||
         file == "sim/runtime/thread_values.cpp" || file.find("/heddle/sim/compat/") != std::string::npos ||
         file.find("/targets/x86_64-linux/include/") != std::string::npos || file.starts_with("/usr/local/cuda") ||
         file.find("/include/cccl/") != std::string::npos || file.find(".cudafe1.") != std::string::npos ||
         file == "sim/device.h" || file.ends_with("/heddle/sim/target.h") || file.ends_with("/heddle/sim/device.h") ||
         file.starts_with("/usr/include/") || file.starts_with("/usr/lib/");
}

namespace {
/// Whether the path has this end, of whole names.
bool ends_in(const std::string& path, const std::string& file) {
  return path.ends_with(file) &&
         (path.size() == file.size() || file.starts_with('/') || path[path.size() - file.size() - 1] == '/');
}
}  // namespace

// A path may be given whole though lines have it shortened.
bool is_in_file(const source_line& line, const std::string& file) {
  if (ends_in(line.file, file)) return true;
  return file.size() > line.file.size() && ends_in(file, line.file) && ends_in(source_folder() + "/" + line.file, file);
}

static constexpr std::string_view name_of_registration = "a lambda of heddle_registers_main";
static constexpr std::string_view name_of_ptx_kernels = "a lambda of know_kernel";  // sim/compat/ptx/module.h

/// What comes before a lane's first frame: the simulator, or the command that runs the scenario.
static bool is_below_lane(const source_line& line) {
  const auto ends = [&](std::string_view file) { return line.file.ends_with(file); };
  return ends("sim/run/execution.cpp") || ends("sim/fiber/fiber.cpp") || ends("heddle/trial/trial.cpp") ||
         ends("heddle/trial/explain.cpp") || ends("heddle/verify/verification.cpp") ||
         ends("heddle/replay/command.cpp") || ends("heddle/mend/attempts.cpp");
}

std::vector<source_line> lines_of(const call_chain& calls, size_t most) {
  std::vector<source_line> found;
  for (const void* return_address : calls) {
    const auto here = return_address == nullptr ? std::vector<source_line>() : inlined_at(return_address);
    if (here.empty() || std::any_of(here.begin(), here.end(), is_below_lane)) break;
    for (const source_line& line : here)
      if (!is_plumbing(line) && found.size() < most) found.push_back(line);
  }
  // What stands behind the source and calls its main() (tools/rewrite/main_scenario.cpp), or its kernels, is told where nothing else is.
  while (found.size() > 1 &&
         (found.back().function == name_of_registration || found.back().function == name_of_ptx_kernels))
    found.pop_back();
  if (!found.empty() && found.back().function == name_of_registration) found.back().function = "main";
  return found;
}

// No call is looked up that need not be: that takes time, and stack.
source_line source_of(const call_chain& calls) {
  for (const void* return_address : calls) {
    const auto here = return_address == nullptr ? std::vector<source_line>() : inlined_at(return_address);
    if (here.empty() || std::any_of(here.begin(), here.end(), is_below_lane)) break;
    for (const source_line& line : here)
      if (!line.file.empty() && !is_plumbing(line)) return line;
  }
  return source_of(calls.front());
}

source_line source_of(const void* return_address) {
  if (return_address == nullptr) return {"", 0, "before its first operation"};
  const std::vector<source_line> all = inlined_at(return_address);
  for (const source_line& line : all)
    if (!is_plumbing(line)) return line;
  return all.front();
}

}  // namespace heddle::sim
