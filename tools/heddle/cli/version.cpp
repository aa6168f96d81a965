#include <elf.h>
#include <heddle/tools/cli/version.h>
#include <link.h>

#include <cstring>
#include <string_view>

namespace heddle::tools {
namespace {

size_t rounded_up(size_t bytes) { return (bytes + 3) & ~size_t{3}; }

/// The description of the note NT_GNU_BUILD_ID in a segment of notes, as hexadecimal digits.
std::string build_id_in(std::string_view notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes.data(), sizeof header);
    const size_t name_at = sizeof header;
    const size_t value_at = name_at + rounded_up(header.n_namesz);
    const size_t end = value_at + rounded_up(header.n_descsz);
    if (end > notes.size()) break;
    const bool gnu = notes.substr(name_at, header.n_namesz) == std::string_view("GNU", sizeof "GNU");  // with its zero
    if (gnu && header.n_type == NT_GNU_BUILD_ID) {
      std::string digits;
      for (const char byte : notes.substr(value_at, header.n_descsz)) {
        digits += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
        digits += "0123456789abcdef"[static_cast<unsigned char>(byte) & 15];
      }
      return digits;
    }
    notes.remove_prefix(end);
  }
  return {};
}

int look_at_object(dl_phdr_info* object, size_t, void* result) {
  for (size_t index = 0; index < object->dlpi_phnum; ++index) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[index];
    if (segment.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr);
    const std::string found = build_id_in({notes, segment.p_memsz});
    if (found.empty()) continue;
    *static_cast<std::string*>(result) = found;
    break;
  }
  return 1;  // the first object is the program itself; libraries have ids of their own
}

}  // namespace

std::string build_id() {
  std::string found;
  dl_iterate_phdr(look_at_object, &found);
  return found;
}

std::string version() { return HEDDLE_VERSION; }

}  // namespace heddle::tools
