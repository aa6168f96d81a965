#include <dlfcn.h>
#include <elf.h>
#include <heddle/sim/code/thread_locals.h>
#include <link.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace heddle::sim {

constinit thread_local_block thread_locals_of_program;

namespace {

/// A variable, from the thread pointer on.
struct variable {
  ptrdiff_t offset = 0;
  size_t size_bytes = 0;
};

/// Not the program's own, but of heddle or of the C++ library where that is linked statically.
bool is_of_a_library(std::string_view name) {
  return name.find("6heddle") != std::string_view::npos || name.starts_with("_ZSt") ||
         name.find("eh_globals") != std::string_view::npos || name.starts_with("_ZN3tbb");
}

std::byte* thread_pointer() { return static_cast<std::byte*>(__builtin_thread_pointer()); }

/// The variables by the program's symbols, and what they are before anything runs.
struct layout {
  std::vector<variable> variables;
  std::vector<std::byte> initial;  ///< one behind the other
  thread_local_image image;

  layout() {
    dl_iterate_phdr(
        [](dl_phdr_info* object, size_t, void* to) {
          static_cast<layout*>(to)->look_at(*object);
          return 0;
        },
        this);
    if (variables.empty()) thread_locals_of_program = {};
  }

 private:
  // The program comes first. Variables of the libraries that it was loaded with lie in one block with its own.
  void look_at(const dl_phdr_info& object) {
    const bool is_program = std::exchange(is_first_, false);
    for (size_t n = 0; n < object.dlpi_phnum; ++n) {
      const auto& segment = object.dlpi_phdr[n];
      if (segment.p_type != PT_TLS || object.dlpi_tls_data == nullptr) continue;
      const ptrdiff_t at = static_cast<const std::byte*>(object.dlpi_tls_data) - thread_pointer();
      constexpr ptrdiff_t largest_block = 1 << 20;
      if (at > largest_block || at < -largest_block) continue;
      if (is_program) read(object, segment, at);
      const ptrdiff_t end = at + static_cast<ptrdiff_t>(segment.p_memsz);
      thread_local_block& all = thread_locals_of_program;
      const ptrdiff_t low = all.size_bytes == 0 ? at : std::min(all.begin, at);
      const ptrdiff_t high =
          all.size_bytes == 0 ? end : std::max(all.begin + static_cast<ptrdiff_t>(all.size_bytes), end);
      all = {.begin = low, .size_bytes = static_cast<size_t>(high - low)};
    }
    if (is_program && object.dlpi_tls_data == nullptr) read_symbols(0);
  }

  void read(const dl_phdr_info& program, const ElfW(Phdr) & segment, ptrdiff_t at) {
    read_symbols(at);
    image = {.bytes = reinterpret_cast<const std::byte*>(program.dlpi_addr + segment.p_vaddr),
             .initialized_bytes = segment.p_filesz,
             .begin = at,
             .size_bytes = segment.p_memsz};
    for (const variable& each : variables)
      for (size_t n = 0; n < each.size_bytes; ++n) {
        const auto in_image = static_cast<size_t>(each.offset - at) + n;
        initial.push_back(in_image < segment.p_filesz ? image.bytes[in_image] : std::byte{0});
      }
    add_call_once();
  }

  // What std::call_once tells the C++ library, by variables of its own.
  void add_call_once() {
    if (!calls_once_) return;
    for (const char* name : {"_ZSt15__once_callable", "_ZSt11__once_call"})
      if (const void* const found = dlsym(RTLD_DEFAULT, name)) {
        variables.push_back({static_cast<const std::byte*>(found) - thread_pointer(), sizeof(void*)});
        initial.resize(initial.size() + sizeof(void*));
      }
  }

  void read_symbols(ptrdiff_t block_at) {
    std::ifstream in("/proc/self/exe", std::ios::binary);
    Elf64_Ehdr head = {};
    if (!in.read(reinterpret_cast<char*>(&head), sizeof head) || head.e_ident[EI_CLASS] != ELFCLASS64) return;
    std::vector<Elf64_Shdr> sections(head.e_shnum);
    const auto bytes_at = [&](uint64_t at, void* to, size_t size_bytes) {
      in.seekg(static_cast<std::streamoff>(at));
      return static_cast<bool>(in.read(static_cast<char*>(to), static_cast<std::streamsize>(size_bytes)));
    };
    if (!bytes_at(head.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr))) return;
    for (const Elf64_Shdr& section : sections) {
      if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
      std::vector<Elf64_Sym> symbols(section.sh_size / sizeof(Elf64_Sym));
      std::string names(sections[section.sh_link].sh_size, '\0');
      if (!bytes_at(section.sh_offset, symbols.data(), symbols.size() * sizeof(Elf64_Sym)) ||
          !bytes_at(sections[section.sh_link].sh_offset, names.data(), names.size()))
        return;
      for (const Elf64_Sym& each : symbols) {
        if (ELF64_ST_TYPE(each.st_info) != STT_TLS || each.st_name >= names.size()) continue;
        const std::string_view name = names.c_str() + each.st_name;
        if (each.st_shndx == SHN_UNDEF)
          calls_once_ = calls_once_ || name.starts_with("_ZSt15__once_callable");
        else if (each.st_size != 0 && !is_of_a_library(name))
          variables.push_back({block_at + static_cast<ptrdiff_t>(each.st_value), each.st_size});
      }
    }
  }

  bool is_first_ = true;
  bool calls_once_ = false;
};

const layout& known() {
  static const layout of_program;
  return of_program;
}

// Before anything runs, so that is_thread_local() knows.
[[gnu::constructor]] void look_at_program() { known(); }

void load(const std::vector<std::byte>& from) {
  const std::byte* next = from.data();
  for (const variable& each : known().variables) {
    std::memcpy(thread_pointer() + each.offset, next, each.size_bytes);
    next += each.size_bytes;
  }
}

void keep(std::vector<std::byte>& to) {
  to.resize(known().initial.size());
  std::byte* next = to.data();
  for (const variable& each : known().variables) {
    std::memcpy(next, thread_pointer() + each.offset, each.size_bytes);
    next += each.size_bytes;
  }
}

}  // namespace

const thread_local_image& thread_locals_at_first() { return known().image; }

void thread_local_values::begin_run(bool anew) {
  if (loaded_ != 0 && thread_locals_of_program.size_bytes != 0) load(kept_[0]);
  loaded_ = 0;
  on_ = false;
  errnos_.clear();
  if (!anew) return;
  errno = 0;
  if (thread_locals_of_program.size_bytes != 0) load(known().initial);
}

void thread_local_values::begins(uint32_t thread) {
  on_ = true;
  if (errnos_.size() <= thread) errnos_.resize(thread + size_t{1});
  errnos_[thread] = 0;
  if (thread_locals_of_program.size_bytes == 0) return;
  if (kept_.size() <= thread) kept_.resize(thread + size_t{1});
  kept_[thread] = known().initial;
}

void thread_local_values::exchange(uint32_t thread) {
  errnos_[loaded_] = errno;
  errno = errnos_[thread];
  if (thread_locals_of_program.size_bytes != 0) {
    keep(kept_[loaded_]);
    load(kept_[thread]);
  }
  loaded_ = thread;
}

bool thread_local_values::visit_state(state_reader& to) const {
  // No errno: it is looked at behind the call that sets it, with no step between them, and the C library sets it where it looks at a stream for the
  // first time, which is in one run of many.
  if (!on_ || thread_locals_of_program.size_bytes == 0) return true;
  // Not which thread has run last: what each finds when it goes on is all that counts.
  for (size_t n = 0; n < std::max(kept_.size(), size_t{loaded_} + 1); ++n) {
    const std::byte* kept = n < kept_.size() && n != loaded_ ? kept_[n].data() : nullptr;
    if (n != loaded_ && kept == nullptr) continue;
    if (!to.fact(n)) return false;
    for (const variable& each : known().variables) {
      if (!to.bytes(n == loaded_ ? thread_pointer() + each.offset : kept, each.size_bytes)) return false;
      if (n != loaded_) kept += each.size_bytes;
    }
  }
  return true;
}

}  // namespace heddle::sim
