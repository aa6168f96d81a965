#include <heddle/driver/contents.h>
#include <heddle/driver/split.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle::driver {

uint64_t contents::read(uint64_t physical_address, std::span<std::byte> to) const {
  uint64_t unwritten = 0;
  for_each_page_piece(physical_address, to.size(), page_bytes(), [&](uint64_t address, uint64_t done, uint64_t size) {
    const frame* const at = frames_.find(address >> page_bits_);
    if (at == nullptr) {
      std::memset(to.data() + done, 0, size);
      return;
    }
    const uint64_t offset = address & (page_bytes() - 1);
    std::memcpy(to.data() + done, at->bytes.get() + offset, size);
    if (at->poisoned_bytes != 0)
      for (uint64_t n = 0; n < size; ++n) unwritten += at->is_poisoned[offset + n] ? 1 : 0;
  });
  return unwritten;
}

void contents::write(uint64_t physical_address, std::span<const std::byte> from) {
  for_each_page_piece(physical_address, from.size(), page_bytes(), [&](uint64_t address, uint64_t done, uint64_t size) {
    frame& at = touch(address);
    const uint64_t offset = address & (page_bytes() - 1);
    std::memcpy(at.bytes.get() + offset, from.data() + done, size);
    for (uint64_t n = offset; at.poisoned_bytes != 0 && n < offset + size; ++n)
      if (at.is_poisoned[n]) {
        at.is_poisoned[n] = false;
        --at.poisoned_bytes;
      }
  });
}

void contents::poison(uint64_t physical_address) {
  frame& at = touch(physical_address);
  std::memset(at.bytes.get(), static_cast<int>(poisoned), page_bytes());
  at.is_poisoned.assign(page_bytes(), true);
  at.poisoned_bytes = page_bytes();
}

void contents::clear(uint64_t physical_address) {
  frame* const at = frames_.find(physical_address >> page_bits_);
  if (at == nullptr) return;
  spare_.push_back(std::move(*at));
  frames_.erase(physical_address >> page_bits_);
}

void contents::copy_page(uint64_t from, uint64_t to) {
  const frame* const source = frames_.find(from >> page_bits_);
  if (source == nullptr) return clear(to);
  frame& at = touch(to);
  std::memcpy(at.bytes.get(), source->bytes.get(), page_bytes());
  at.is_poisoned = source->is_poisoned;
  at.poisoned_bytes = source->poisoned_bytes;
}

contents::frame& contents::touch(uint64_t physical_address) {
  frame& at = frames_[physical_address >> page_bits_];
  if (at.bytes != nullptr) return at;
  if (!spare_.empty()) {
    at = std::move(spare_.back());
    spare_.pop_back();
    at.poisoned_bytes = 0;
    std::memset(at.bytes.get(), 0, page_bytes());
  } else {
    at.bytes = std::make_unique<std::byte[]>(page_bytes());
  }
  return at;
}

}  // namespace heddle::driver
