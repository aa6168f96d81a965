#include <dlfcn.h>
#include <elf.h>
#include <heddle/sim/code/program_libraries.h>
#include <heddle/sim/code/program_state.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// The bounds of the program's own image, set by the linker.
extern "C" const char __executable_start;  // NOLINT(bugprone-reserved-identifier)
extern "C" const char _end;                // NOLINT(bugprone-reserved-identifier)

namespace heddle::sim {
namespace {

// What heddle's libraries are linked with, and what sanitizers and MPI add. What these need themselves is found.
constexpr std::array needed_by_heddle = {
    "libstdc++.so", "libc++",     "libgcc_s.so",    "libm.so",    "libc.so",   "libpthread.so",
    "libdl.so",     "librt.so",   "ld-linux",       "libgomp.so", "libomp.so", "libboost_context.so",
    "libdw.so",     "libelf.so",  "libcapstone.so", "libtbb.so",  "libz.so",   "libasan.so",
    "libubsan.so",  "libtsan.so", "libmpi",         "libgtest",   "libgmock",  "libbenchmark"};

struct library_range {
  uintptr_t first = 0;
  uintptr_t end = 0;

  bool contains(uintptr_t place) const { return place >= first && place < end; }
};

/// Variables of a library, between what the loader alone writes.
struct library_variables {
  std::byte* first;
  std::vector<std::byte> initial;

  bool are_changed() const { return std::memcmp(first, initial.data(), initial.size()) != 0; }
};

struct loaded_object {
  std::string name;  ///< by which others ask for it
  std::vector<std::string> needed;
  std::vector<library_range> code;
  std::vector<library_range> written;
  std::vector<library_range>
      of_loader;  ///< within `written`: what is not written once it is relocated, and addresses of functions
};

/// An address in the dynamic section; the loader has relocated it, but for that of the kernel's own object.
template <typename Value>
const Value* at(const dl_phdr_info& info, uintptr_t address) {
  return reinterpret_cast<const Value*>(address < info.dlpi_addr ? info.dlpi_addr + address : address);
}

void read_dynamic(const dl_phdr_info& info, const ElfW(Dyn) * entry, loaded_object& made) {
  const char* strings = nullptr;
  uintptr_t table = 0;
  size_t calls_bytes = 0;
  for (const auto* each = entry; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag == DT_STRTAB) strings = at<char>(info, each->d_un.d_ptr);
    if (each->d_tag == DT_PLTGOT) table = reinterpret_cast<uintptr_t>(at<char>(info, each->d_un.d_ptr));
    if (each->d_tag == DT_PLTRELSZ) calls_bytes = each->d_un.d_val;
  }
  if (strings == nullptr) return;
  for (const auto* each = entry; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag == DT_NEEDED) made.needed.emplace_back(strings + each->d_un.d_val);
    if (each->d_tag == DT_SONAME) made.name = strings + each->d_un.d_val;
  }
  // Three words of the loader, then one for each function that is called, which it writes at the first call.
  if (table != 0) made.of_loader.push_back({table, table + (3 + calls_bytes / sizeof(ElfW(Rela))) * sizeof(uintptr_t)});
}

loaded_object read_object(const dl_phdr_info& info) {
  loaded_object made;
  made.name = info.dlpi_name;
  made.name.erase(0, made.name.rfind('/') + 1);
  for (size_t n = 0; n < info.dlpi_phnum; ++n) {
    const auto& segment = info.dlpi_phdr[n];
    const uintptr_t first = info.dlpi_addr + segment.p_vaddr;
    const library_range whole = {first, first + segment.p_memsz};
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) made.code.push_back(whole);
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0) made.written.push_back(whole);
    // The loader protects whole pages, and leaves one alone that holds variables behind these.
    constexpr uintptr_t page = 4096;
    if (segment.p_type == PT_GNU_RELRO) made.of_loader.push_back({first & ~(page - 1), whole.end & ~(page - 1)});
    if (segment.p_type == PT_DYNAMIC) read_dynamic(info, reinterpret_cast<const ElfW(Dyn)*>(first), made);
  }
  return made;
}

bool is_needed_by_heddle(std::string_view name) {
  return std::any_of(needed_by_heddle.begin(), needed_by_heddle.end(),
                     [&](const char* each) { return name.starts_with(each); });
}

struct library {
  std::string name;
  std::string untold;  ///< why its state is no part of a proof
  std::vector<library_range> code;
  std::vector<library_variables> all;
};

struct libraries {
  std::vector<library> all;

  libraries() {
    std::vector<loaded_object> loaded;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* to) {
          static_cast<std::vector<loaded_object>*>(to)->push_back(read_object(*info));
          return 0;
        },
        &loaded);
    if (loaded.empty()) return;
    std::set<std::string> of_program;
    std::set<std::string> of_heddle;
    for (const std::string& each : loaded.front().needed)
      reach(loaded, each, is_needed_by_heddle(each) ? of_heddle : of_program);
    void* const allocates = dlsym(RTLD_DEFAULT, "malloc");
    for (size_t n = 1; n < loaded.size(); ++n) {
      const loaded_object& each = loaded[n];
      if (of_program.contains(each.name) && !of_heddle.contains(each.name) && !is_needed_by_heddle(each.name) &&
          !is_in(each.code, allocates))
        all.push_back({each.name,
                       each.name +
                           " keeps what is not seen, for heddle has not compiled it: link its archive, at best one "
                           "that `heddle build` has made",
                       each.code, variables_of(each)});
    }
  }

  static bool is_in(const std::vector<library_range>& code, const void* place) {
    return std::any_of(code.begin(), code.end(),
                       [&](const library_range& each) { return each.contains(reinterpret_cast<uintptr_t>(place)); });
  }

  const library* find(const void* place) const {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const library& each) { return is_in(each.code, place); });
    return found == all.end() ? nullptr : &*found;
  }

 private:
  static void reach(const std::vector<loaded_object>& loaded, const std::string& name, std::set<std::string>& reached) {
    if (!reached.insert(name).second) return;
    for (const loaded_object& each : loaded)
      if (each.name == name)
        for (const std::string& next : each.needed) reach(loaded, next, reached);
  }

  static std::vector<library_variables> variables_of(const loaded_object& each) {
    std::vector<library_variables> made;
    std::vector<library_range> left_out = each.of_loader;
    std::sort(left_out.begin(), left_out.end(),
              [](const library_range& one, const library_range& other) { return one.first < other.first; });
    for (const library_range& segment : each.written) {
      uintptr_t from = segment.first;
      for (const library_range& out : left_out) {
        if (out.end <= from || out.first >= segment.end) continue;
        add(made, from, out.first);
        from = out.end;
      }
      add(made, from, segment.end);
    }
    return made;
  }

  static void add(std::vector<library_variables>& made, uintptr_t first, uintptr_t end) {
    if (first >= end) return;
    auto* const begin = reinterpret_cast<std::byte*>(first);
    made.push_back({begin, std::vector<std::byte>(begin, begin + (end - first))});
  }
};

const libraries& libraries_of_program() {
  static const libraries all;
  return all;
}

std::string unseen_thread_libraries;

}  // namespace

bool has_program_libraries() { return !libraries_of_program().all.empty(); }

const std::string& names_of_unseen_code() {
  static const std::string names = [] {
    std::vector<std::string> each = unseen_files();
    for (const library& one : libraries_of_program().all) each.push_back(one.name);
    std::string listed;
    for (size_t n = 0; n < each.size(); ++n) listed += (n == 0 ? "" : n + 1 == each.size() ? " and " : ", ") + each[n];
    return listed;
  }();
  return names;
}

const char* why_calls_are_untold(const void* place) {
  const libraries& all = libraries_of_program();
  if (const library* const found = all.find(place)) return found->untold.c_str();
  const bool is_own = place >= &__executable_start && place < &_end;
  return is_own && !all.all.empty() ? all.all.front().untold.c_str() : nullptr;
}

void reset_program_libraries() {
  for (const library& each : libraries_of_program().all)
    for (const library_variables& some : each.all)
      if (some.are_changed()) std::memcpy(some.first, some.initial.data(), some.initial.size());
}

const char* find_changed_program_library() {
  for (const library& each : libraries_of_program().all)
    for (const library_variables& some : each.all)
      if (some.are_changed()) return each.untold.c_str();
  return nullptr;
}

void note_unseen_thread(const void* place) {
  Dl_info found = {};
  std::string name = "a library";
  if (dladdr(place, &found) != 0 && found.dli_fname != nullptr) {
    name = found.dli_fname;
    name.erase(0, name.rfind('/') + 1);
  }
  if (unseen_thread_libraries.find(name) == std::string::npos)
    unseen_thread_libraries += (unseen_thread_libraries.empty() ? "" : ", ") + name;
}

const std::string& libraries_with_unseen_threads() { return unseen_thread_libraries; }

}  // namespace heddle::sim
