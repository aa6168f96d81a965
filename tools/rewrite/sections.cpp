#include "sections.h"

#include <ar.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::rewrite {
namespace {

/// What the sections of variables and of their initialization are called from now on.
struct section_names {
  std::string_view data;
  std::string_view bss;
  std::string_view init;
};
constexpr section_names of_program = {"heddle_data", "heddle_bss", "heddle_init"};
constexpr section_names of_others = {"heddle_other_data", "heddle_other_bss", "heddle_init"};
/// In each object that heddle has compiled; it is not loaded.
constexpr std::string_view mark = ".heddle";
/// Loaded: names of files with objects that heddle has not compiled.
constexpr std::string_view unseen = "heddle_unseen";

/// What the section is called from now on; as before where that is empty.
std::string_view new_name_of(std::string_view name, const section_names& names) {
  const auto is = [&](std::string_view kind) {
    return name == kind || (name.starts_with(kind) && name[kind.size()] == '.');
  };
  if (is(".data.rel.ro")) return {};
  if (is(".data")) return names.data;
  if (is(".bss")) return names.bss;
  // Those with a priority are of what must be known before any run.
  if (name == ".init_array") return names.init;
  return {};
}

/// A part of the file as it lies there; false where the file ends before.
template <typename T>
bool take(const std::string& bytes, uint64_t at, T& to) {
  if (at > bytes.size() || bytes.size() - at < sizeof to) return false;
  std::memcpy(&to, bytes.data() + at, sizeof to);
  return true;
}

/// Reads the section headers, and has them and their names stand at the end of the file, where more fit.
struct section_table {
  Elf64_Ehdr head = {};
  std::vector<Elf64_Shdr> sections;
  std::string names;

  bool read(const std::string& bytes) {
    if (!take(bytes, 0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return false;
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof(Elf64_Shdr)) return false;
    // With very many sections their number stands in the first.
    Elf64_Shdr first = {};
    if (!take(bytes, head.e_shoff, first)) return false;
    const uint64_t count = head.e_shnum != 0 ? head.e_shnum : first.sh_size;
    names_at_ = head.e_shstrndx != SHN_XINDEX ? head.e_shstrndx : first.sh_link;
    if (names_at_ >= count) return false;
    sections.resize(count);
    for (uint64_t n = 0; n < count; ++n)
      if (!take(bytes, head.e_shoff + n * sizeof(Elf64_Shdr), sections[n])) return false;
    const Elf64_Shdr& table = sections[names_at_];
    if (table.sh_offset > bytes.size() || table.sh_size > bytes.size() - table.sh_offset) return false;
    names = bytes.substr(table.sh_offset, table.sh_size);
    return true;
  }
  std::string_view name_of(const Elf64_Shdr& section) const {
    return section.sh_name < names.size() ? std::string_view(names.c_str() + section.sh_name) : std::string_view();
  }
  bool has(std::string_view name) const {
    return std::any_of(sections.begin(), sections.end(), [&](const Elf64_Shdr& each) { return name_of(each) == name; });
  }
  /// Whether the condition holds for any symbol, given its name and whether it is defined here.
  template <typename Condition>
  bool any_symbol(const std::string& bytes, const Condition& condition) const {
    for (const Elf64_Shdr& table : sections) {
      if (table.sh_type != SHT_SYMTAB || table.sh_link >= sections.size()) continue;
      const Elf64_Shdr& strings = sections[table.sh_link];
      if (strings.sh_offset > bytes.size() || strings.sh_size > bytes.size() - strings.sh_offset) continue;
      const std::string_view text(bytes.data() + strings.sh_offset, strings.sh_size);
      Elf64_Sym each = {};
      for (uint64_t n = 0; n < table.sh_size / sizeof each; ++n) {
        if (!take(bytes, table.sh_offset + n * sizeof each, each) || each.st_name >= text.size()) break;
        const bool is_local = ELF64_ST_BIND(each.st_info) == STB_LOCAL;
        if (!is_local && condition(std::string_view(text.data() + each.st_name), each.st_shndx != SHN_UNDEF))
          return true;
      }
    }
    return false;
  }
  void rename(Elf64_Shdr& section, std::string_view name) {
    section.sh_name = static_cast<Elf64_Word>(names.size());
    names.append(name).push_back('\0');
  }
  /// A section of its own behind all others.
  void add(std::string& bytes, std::string_view name, uint64_t flags, std::string_view content) {
    Elf64_Shdr made = {};
    rename(made, name);
    made.sh_type = SHT_PROGBITS;
    made.sh_flags = flags;
    made.sh_offset = bytes.size();
    made.sh_size = content.size();
    made.sh_addralign = 1;
    bytes += content;
    sections.push_back(made);
  }
  void write_to(std::string& bytes) {
    sections[names_at_].sh_offset = bytes.size();
    sections[names_at_].sh_size = names.size();
    bytes += names;
    bytes.append(-bytes.size() % alignof(Elf64_Shdr), '\0');
    head.e_shoff = bytes.size();
    if (sections.size() < SHN_LORESERVE) {
      head.e_shnum = static_cast<Elf64_Half>(sections.size());
    } else {
      head.e_shnum = 0;
      sections.front().sh_size = sections.size();
    }
    std::memcpy(bytes.data(), &head, sizeof head);
    bytes.append(reinterpret_cast<const char*>(sections.data()), sections.size() * sizeof(Elf64_Shdr));
  }

 private:
  uint64_t names_at_ = 0;
};

void rename_all(section_table& table, const section_names& names) {
  for (Elf64_Shdr& section : table.sections) {
    if ((section.sh_flags & SHF_ALLOC) == 0 || (section.sh_flags & SHF_TLS) != 0) continue;
    const std::string_view name = new_name_of(table.name_of(section), names);
    if (name.empty()) continue;
    table.rename(section, name);
    // One section is no longer like others of the kind that the linker puts together.
    if (section.sh_type == SHT_INIT_ARRAY) section.sh_type = SHT_PROGBITS;
  }
}

std::string content_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string write(const std::string& file, const std::string& bytes) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << bytes;
  out.close();
  return out ? std::string() : file + ": cannot be written";
}

enum class kind_of_object : uint8_t {
  none,
  seen,    ///< heddle has compiled it, or its accesses call the simulator all the same
  unseen,  ///< neither
  heap,    ///< it is what the program's heap comes from, which no run begins anew
};

kind_of_object kind_of(const section_table& table, const std::string& bytes) {
  if (table.head.e_type != ET_REL) return kind_of_object::none;
  for (const std::string_view own : {mark, of_program.data, of_program.bss, of_program.init, unseen})
    if (table.has(own)) return kind_of_object::seen;
  const auto named = [&](std::string_view beginning, bool whole, bool defined) {
    return table.any_symbol(bytes, [&](std::string_view name, bool is_defined) {
      return is_defined == defined && (whole ? name == beginning : name.starts_with(beginning));
    });
  };
  if (named("malloc", true, true)) return kind_of_object::heap;
  return named("__tsan_", false, false) ? kind_of_object::seen : kind_of_object::unseen;
}

/// What the bytes were. The variables of an object that is not seen lie apart behind it.
kind_of_object set_other_apart(std::string& bytes, const std::string& name) {
  section_table table;
  if (!table.read(bytes)) return kind_of_object::none;
  const kind_of_object kind = kind_of(table, bytes);
  if (kind != kind_of_object::unseen) return kind;
  rename_all(table, of_others);
  table.add(bytes, unseen, SHF_ALLOC, name + '\0');
  table.write_to(bytes);
  return kind;
}

constexpr std::string_view archive_magic = "!<arch>\n";

/// The same of the members of an archive (ar.h).
bool set_members_apart(std::string& bytes, const std::string& name) {
  std::string made(archive_magic);
  bool any = false;
  ar_hdr head = {};
  for (uint64_t at = archive_magic.size(); take(bytes, at, head);) {
    const uint64_t size = std::strtoull(std::string(head.ar_size, sizeof head.ar_size).c_str(), nullptr, 10);
    std::string member = bytes.substr(at + sizeof head, size);
    if (std::memcmp(head.ar_fmag, ARFMAG, sizeof head.ar_fmag) != 0 || member.size() != size) return false;
    const kind_of_object kind = set_other_apart(member, name);
    if (kind == kind_of_object::heap) return false;
    any = any || kind == kind_of_object::unseen;
    std::string size_told = std::to_string(member.size());
    size_told.resize(sizeof head.ar_size, ' ');
    std::memcpy(head.ar_size, size_told.data(), sizeof head.ar_size);
    made.append(reinterpret_cast<const char*>(&head), sizeof head) += member;
    if (made.size() % 2 != 0) made += '\n';
    at += sizeof head + size + size % 2;
  }
  if (any) bytes = std::move(made);
  return any;
}

}  // namespace

std::string set_variables_apart(const std::string& object_file) {
  std::string bytes = content_of(object_file);
  section_table table;
  if (!table.read(bytes)) return object_file + ": no object file of ELF with 64 bits; compile without -flto";
  rename_all(table, of_program);
  if (!table.has(mark)) table.add(bytes, mark, 0, std::string_view("\0", 1));
  table.write_to(bytes);
  return write(object_file, bytes);
}

prebuilt set_prebuilt_apart(const std::string& name, const std::string& from, const std::string& to) {
  std::string bytes = content_of(from);
  prebuilt made;
  made.is_apart = bytes.starts_with(archive_magic) ? set_members_apart(bytes, name)
                                                   : set_other_apart(bytes, name) == kind_of_object::unseen;
  if (made.is_apart) made.wrong = write(to, bytes);
  return made;
}

bool is_program(const std::string& object_file) {
  const std::string bytes = content_of(object_file);
  section_table table;
  return table.read(bytes) && table.any_symbol(bytes, [](std::string_view name, bool is_defined) {
    return is_defined && name == "heddle_is_program";
  });
}

}  // namespace heddle::rewrite
