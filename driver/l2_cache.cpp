#include <heddle/driver/l2_cache.h>
#include <heddle/driver/split.h>

#include <cstring>
#include <utility>

namespace heddle::driver {

uint64_t l2_cache::read(uint64_t physical_address, std::span<std::byte> to) const {
  uint64_t unwritten = 0;
  for_each_page_piece(physical_address, to.size(), page_bytes(), [&](uint64_t address, uint64_t done, uint64_t size) {
    const line* const at = lines_.find(address >> page_bits_);
    if (at == nullptr) {
      unwritten += memory_->read(address, to.subspan(done, size));
      return;
    }
    const uint64_t offset = address & (page_bytes() - 1);
    for (uint64_t n = 0; n < size;) {
      uint64_t end = n;
      while (end < size && at->dirty[offset + end] == at->dirty[offset + n]) ++end;
      if (at->dirty[offset + n])
        std::memcpy(to.data() + done + n, at->bytes.get() + offset + n, end - n);
      else
        unwritten += memory_->read(address + n, to.subspan(done + n, end - n));
      n = end;
    }
  });
  return unwritten;
}

void l2_cache::write(uint64_t physical_address, std::span<const std::byte> from) {
  for_each_page_piece(physical_address, from.size(), page_bytes(), [&](uint64_t address, uint64_t done, uint64_t size) {
    const uint64_t page = address >> page_bits_;
    line& at = lines_[page];
    if (at.bytes == nullptr) {
      if (!spare_.empty()) {
        at = std::move(spare_.back());
        spare_.pop_back();
      } else {
        at.bytes = std::make_unique<std::byte[]>(page_bytes());
      }
      at.dirty.assign(page_bytes(), false);
      at.dirty_bytes = 0;
      pages_.push_back(page);
    }
    const uint64_t offset = address & (page_bytes() - 1);
    std::memcpy(at.bytes.get() + offset, from.data() + done, size);
    for (uint64_t n = offset; n < offset + size; ++n)
      if (!at.dirty[n]) {
        at.dirty[n] = true;
        ++at.dirty_bytes;
        ++dirty_bytes_;
      }
  });
}

void l2_cache::invalidate(uint64_t physical_address, uint64_t bytes) {
  if (dirty_bytes_ == 0) return;
  for_each_page_piece(physical_address, bytes, page_bytes(), [&](uint64_t address, uint64_t, uint64_t size) {
    line* const at = lines_.find(address >> page_bits_);
    if (at == nullptr) return;
    const uint64_t offset = address & (page_bytes() - 1);
    for (uint64_t n = offset; n < offset + size; ++n)
      if (at->dirty[n]) {
        at->dirty[n] = false;
        --at->dirty_bytes;
        --dirty_bytes_;
      }
  });
}

uint64_t l2_cache::flush() {
  uint64_t written = 0;
  for (const uint64_t page : pages_) {
    const line* const at = lines_.find(page);
    if (at == nullptr) continue;
    if (at->dirty_bytes != 0) ++written;
    for (uint64_t n = 0; n < page_bytes();) {
      uint64_t end = n;
      while (end < page_bytes() && at->dirty[end] == at->dirty[n]) ++end;
      if (at->dirty[n]) memory_->write((page << page_bits_) + n, {at->bytes.get() + n, end - n});
      n = end;
    }
    forget(page);
  }
  pages_.clear();
  return written;
}

void l2_cache::forget(uint64_t page) {
  line* const at = lines_.find(page);
  dirty_bytes_ -= at->dirty_bytes;
  spare_.push_back(std::move(*at));
  lines_.erase(page);
}

}  // namespace heddle::driver
