#include "sections.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

namespace heddle::rewrite {
namespace {

/// What the section is called from now on; as before where that is empty.
std::string_view new_name_of(std::string_view name) {
  const auto is = [&](std::string_view kind) {
    return name == kind || (name.starts_with(kind) && name[kind.size()] == '.');
  };
  if (is(".data.rel.ro")) return {};
  if (is(".data")) return "heddle_data";
  if (is(".bss")) return "heddle_bss";
  // Those with a priority are of what must be known before any run.
  if (name == ".init_array") return "heddle_init";
  return {};
}

/// A part of the file as it lies there; false where the file ends before.
template <typename T>
bool take(const std::string& bytes, uint64_t at, T& to) {
  if (at > bytes.size() || bytes.size() - at < sizeof to) return false;
  std::memcpy(&to, bytes.data() + at, sizeof to);
  return true;
}

/// Reads the section headers, and has the one with their names stand at the end of the file, where more names fit.
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
    names_at = head.e_shstrndx != SHN_XINDEX ? head.e_shstrndx : first.sh_link;
    if (names_at >= count) return false;
    sections.resize(count);
    for (uint64_t n = 0; n < count; ++n)
      if (!take(bytes, head.e_shoff + n * sizeof(Elf64_Shdr), sections[n])) return false;
    const Elf64_Shdr& table = sections[names_at];
    if (table.sh_offset > bytes.size() || table.sh_size > bytes.size() - table.sh_offset) return false;
    names = bytes.substr(table.sh_offset, table.sh_size);
    return true;
  }
  std::string_view name_of(const Elf64_Shdr& section) const {
    return section.sh_name < names.size() ? std::string_view(names.c_str() + section.sh_name) : std::string_view();
  }
  void write_to(std::string& bytes) {
    sections[names_at].sh_offset = bytes.size();
    sections[names_at].sh_size = names.size();
    bytes += names;
    std::memcpy(bytes.data() + head.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr));
  }

 private:
  uint64_t names_at = 0;
};

}  // namespace

std::string set_variables_apart(const std::string& object_file) {
  std::ifstream in(object_file, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  in.close();
  section_table table;
  if (!table.read(bytes)) return object_file + ": no object file of ELF with 64 bits; compile without -flto";
  bool any = false;
  for (Elf64_Shdr& section : table.sections) {
    if ((section.sh_flags & SHF_ALLOC) == 0 || (section.sh_flags & SHF_TLS) != 0) continue;
    const std::string_view name = new_name_of(table.name_of(section));
    if (name.empty()) continue;
    section.sh_name = static_cast<Elf64_Word>(table.names.size());
    table.names.append(name).push_back('\0');
    // One section is no longer like others of the kind that the linker puts together.
    if (section.sh_type == SHT_INIT_ARRAY) section.sh_type = SHT_PROGBITS;
    any = true;
  }
  if (!any) return {};
  table.write_to(bytes);
  std::ofstream out(object_file, std::ios::binary | std::ios::trunc);
  out << bytes;
  out.close();
  return out ? std::string() : object_file + ": cannot be written";
}

}  // namespace heddle::rewrite
