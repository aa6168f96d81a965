#include "fat_binary.h"

#include <dlfcn.h>

#include <cctype>
#include <cstdint>
#include <cstring>

#include "module.h"

namespace heddle::ptx {
namespace {

constexpr uint32_t fat_magic = 0xba55ed50;
constexpr uint64_t most_packed = 1000;  // bytes of text in one

[[noreturn]] void wrong(const std::string& what) { throw error{0, what}; }

/// Bytes of which each read is checked.
class bytes {
 public:
  bytes(std::string_view of, const char* what) : of_(of), what_(what) {}
  template <typename Number>
  Number at(uint64_t place) const {
    Number value;
    std::memcpy(&value, part(place, sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view part(uint64_t place, uint64_t count) const {
    if (place > of_.size() || count > of_.size() - place) wrong(std::string(what_) + " ends too early");
    return of_.substr(place, count);
  }

 private:
  std::string_view of_;
  const char* what_;
};

/// LZ4's block format: literals and copies of what is there already.
std::string from_lz4(std::string_view packed, uint64_t size) {
  const bytes from(packed, "a compressed part of a fat binary");
  std::string made;
  made.reserve(size);
  size_t place = 0;
  const auto length = [&](uint64_t nibble) {
    uint64_t count = nibble;
    if (nibble == 15)
      for (uint8_t more = 255; more == 255; count += more) more = from.at<uint8_t>(place++);
    return count;
  };
  while (place < packed.size() && made.size() < size) {
    const auto token = from.at<uint8_t>(place++);
    const uint64_t literals = length(token >> 4);
    made += from.part(place, literals);
    place += literals;
    if (made.size() >= size || place >= packed.size()) break;
    const auto distance = from.at<uint16_t>(place);
    place += sizeof distance;
    const uint64_t copied = length(token & 15) + 4;
    if (distance == 0 || distance > made.size() || copied > size - made.size())
      wrong("a compressed part of a fat binary is damaged");
    // One by one: what is copied may be what this copy makes.
    for (uint64_t n = 0; n < copied; ++n) made += made[made.size() - distance];
  }
  if (made.size() != size) wrong("a compressed part of a fat binary is damaged");
  return made;
}

/// By the system's library, where it is.
std::string from_zstd(std::string_view packed, uint64_t size) {
  void* const library = dlopen("libzstd.so.1", RTLD_NOW);
  using function = size_t (*)(void*, size_t, const void*, size_t);
  const auto decompress = library == nullptr ? nullptr : reinterpret_cast<function>(dlsym(library, "ZSTD_decompress"));
  if (decompress == nullptr) wrong("its PTX is compressed by zstd: install libzstd.so.1, or give nvcc -no-compress");
  std::string made(size, '\0');
  if (decompress(made.data(), size, packed.data(), packed.size()) != size)
    wrong("a compressed part of a fat binary is damaged");
  return made;
}

/// An entry of a fat binary, by the offsets of its fields.
std::string text_of(std::string_view entry, uint32_t header_bytes) {
  constexpr uint64_t is_lz4 = 0x2000, is_zstd = 0x8000;
  const bytes from(entry, "an entry of a fat binary");
  const auto flags = from.at<uint64_t>(40);
  const std::string_view content = from.part(header_bytes, entry.size() - header_bytes);
  std::string text;
  if ((flags & (is_lz4 | is_zstd)) == 0) {
    text = content;
  } else {
    const std::string_view packed = from.part(header_bytes, from.at<uint32_t>(16));
    const auto size = from.at<uint64_t>(56);
    if (size > packed.size() * most_packed + 65536)
      wrong("an entry of a fat binary says that it has more than its bytes can be");
    text = (flags & is_lz4) != 0 ? from_lz4(packed, size) : from_zstd(packed, size);
  }
  // It is filled up with zeros.
  text.resize(std::strlen(text.c_str()));
  return text;
}

/// Behind its header; an empty text where there is no PTX.
std::string newest_ptx(std::string_view entries) {
  constexpr uint16_t kind_ptx = 1;
  std::string newest;
  int64_t architecture = -1;
  const bytes from(entries, "a fat binary");
  for (uint64_t place = 0; place < entries.size();) {
    const auto kind = from.at<uint16_t>(place);
    const auto header_bytes = from.at<uint32_t>(place + 4);
    const auto content_bytes = from.at<uint64_t>(place + 8);
    if (header_bytes < 64) wrong("an entry of a fat binary has a header of " + std::to_string(header_bytes) + " bytes");
    if (content_bytes > entries.size()) wrong("a fat binary ends too early");
    const std::string_view entry = from.part(place, header_bytes + content_bytes);
    const auto of = static_cast<int64_t>(from.at<uint32_t>(place + 28));
    if (kind == kind_ptx && of > architecture) {
      newest = text_of(entry, header_bytes);
      architecture = of;
    }
    place += header_bytes + content_bytes;
  }
  return newest;
}

/// Fat binaries one behind the other, perhaps with zeros between them.
void add_texts(std::string_view content, std::vector<std::string>& texts) {
  const bytes from(content, "a fat binary");
  for (uint64_t place = 0; place + 16 <= content.size();) {
    if (from.at<uint64_t>(place) == 0) {
      place += 8;
      continue;
    }
    if (from.at<uint32_t>(place) != fat_magic) wrong("a fat binary begins with something else");
    const uint64_t header_bytes = from.at<uint16_t>(place + 6);
    const auto entry_bytes = from.at<uint64_t>(place + 8);
    if (header_bytes < 16) wrong("a fat binary has a header of " + std::to_string(header_bytes) + " bytes");
    if (entry_bytes > content.size()) wrong("a fat binary ends too early");
    std::string text = newest_ptx(from.part(place + header_bytes, entry_bytes));
    if (text.empty()) wrong("a fat binary has no PTX: give nvcc -arch=compute_90, or another code=compute_..");
    texts.push_back(std::move(text));
    place += header_bytes + entry_bytes;
  }
}

bool is_elf(std::string_view content) { return content.starts_with("\177ELF"); }

struct section {
  std::string_view name;
  uint64_t offset;
  uint64_t size;
};

/// Those of an object or a program that have a name and a content, which may lie outside of the file.
std::vector<section> sections_of(std::string_view content) {
  const bytes from(content, "the object");
  constexpr uint8_t wide = 2;
  if (from.at<uint8_t>(4) != wide || from.at<uint8_t>(5) != 1)
    wrong("the object is not one of 64 bits, lower byte first");
  const auto table = from.at<uint64_t>(40);
  const uint64_t bytes_of_each = from.at<uint16_t>(58);
  uint64_t count = from.at<uint16_t>(60);
  uint64_t names = from.at<uint16_t>(62);
  if (table == 0) wrong("the object has no sections");
  const auto header = [&](uint64_t n) {
    if (n > content.size()) wrong("the object ends too early");
    return bytes(from.part(table + n * bytes_of_each, 64), "a section of the object");
  };
  // Where there are more than fit the header, the first section says how many.
  if (count == 0) count = header(0).at<uint64_t>(32);
  if (names == 0xffff) names = header(0).at<uint32_t>(40);
  const bytes of_names = header(names);
  const std::string_view all_names = from.part(of_names.at<uint64_t>(24), of_names.at<uint64_t>(32));
  constexpr uint32_t without_content = 8;
  std::vector<section> made;
  for (uint64_t n = 1; n < count; ++n) {
    const bytes one = header(n);
    const auto at = one.at<uint32_t>(0);
    const std::string_view name = at < all_names.size() ? all_names.substr(at) : "";
    if (one.at<uint32_t>(4) != without_content && !name.empty())
      made.push_back({name.substr(0, name.find('\0')), one.at<uint64_t>(24), one.at<uint64_t>(32)});
  }
  return made;
}

constexpr std::string_view linked_section = "__nv_relfatbin";

void add_texts_of_elf(std::string_view content, std::vector<std::string>& texts) {
  for (const section& one : sections_of(content))
    if (one.name == ".nv_fatbin" || one.name == linked_section)
      add_texts(bytes(content, "the object").part(one.offset, one.size), texts);
}

}  // namespace

bool is_binary(std::string_view content) {
  uint32_t magic = 0;
  if (content.size() >= sizeof magic) std::memcpy(&magic, content.data(), sizeof magic);
  return is_elf(content) || magic == fat_magic;
}

std::vector<std::string> ptx_in(std::string_view content) {
  std::vector<std::string> texts;
  if (!is_binary(content)) return {std::string(content)};
  is_elf(content) ? add_texts_of_elf(content, texts) : add_texts(content, texts);
  if (texts.empty()) wrong("there is no PTX in it");
  return texts;
}

std::string linked_name_in(std::string_view content) {
  std::string found;
  bool is_linked = false;
  if (!is_elf(content)) return found;
  for (const section& one : sections_of(content)) {
    is_linked = is_linked || one.name == linked_section;
    if (one.name == "__nv_module_id") found = bytes(content, "the object").part(one.offset, one.size);
  }
  found.resize(std::strlen(found.c_str()));
  for (const char c : found)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') wrong("the name of its device code is no name");
  return is_linked ? found : "";
}

}  // namespace heddle::ptx
