// A range of addresses, cut where pages end.
#pragma once

#include <algorithm>
#include <cstdint>

namespace heddle::driver {

/// Calls `visit(address, done, size)` for each piece of [address, address + bytes) that lies in one page, in order;
/// `done` bytes of the range lie before it. The first piece may begin within a page, the last may end within one.
template <typename Visit>
void for_each_page_piece(uint64_t address, uint64_t bytes, uint64_t page_bytes, Visit&& visit) {
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t at = address + done;
    const uint64_t size = std::min(bytes - done, page_bytes - (at & (page_bytes - 1)));
    visit(at, done, size);
    done += size;
  }
}

}  // namespace heddle::driver
