// How things are cut: pages and work-groups between GPUs, ranges of addresses where pages end.
#pragma once

#include <heddle/rpc/result.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

namespace heddle::driver {

/// The items [first, first + count).
struct share {
  uint64_t first = 0;
  uint64_t count = 0;

  constexpr uint64_t end() const { return first + count; }
  constexpr bool contains(uint64_t item) const { return item >= first && item - first < count; }
  friend constexpr bool operator==(const share&, const share&) = default;
};

/// The share of the GPU at place `index` of `gpus`, at least 1, in `items`. In constant time: the first `items % gpus`
/// take one more than the others, which is the same rule.
constexpr share share_of(uint64_t items, uint64_t gpus, uint64_t index) {
  const uint64_t each = items / gpus;
  const uint64_t larger = items % gpus;
  return {.first = index * each + (index < larger ? index : larger), .count = each + (index < larger ? 1 : 0)};
}

static_assert(share_of(15, 4, 0) == share{0, 4} && share_of(15, 4, 1) == share{4, 4} &&
              share_of(15, 4, 2) == share{8, 4} && share_of(15, 4, 3) == share{12, 3});

/// The rule by which pages and work-groups are dealt to the GPUs of a unified device. Pages and work-groups of one count are dealt alike, so
/// those of one number go to one GPU.
class split_rule {
 public:
  virtual ~split_rule() = default;
  virtual const char* name() const = 0;
  /// What the GPU at this place of the device's list gets, where there are `gpus`, at least 1. The shares of all of them are consecutive in the
  /// list's order, begin at 0, and are all items. Called often: in little time, always with the same answer.
  virtual share of(uint64_t items, uint64_t gpus, uint64_t index) const = 0;
};

/// share_of(): with n items and g GPUs left, the next GPU takes ceil(n / g) of them. So 15 pages over 4 GPUs are 0-3, 4-7, 8-11 and
/// 12-14, as in MGPUSim's description of unified GPUs, and no GPU is idle while there are as many items as GPUs.
const split_rule& even_split();
/// All that there are: "even"; "full", where each GPU takes ceil(items / gpus) until none is left, and the last ones may get none; "rest-last",
/// where each takes floor(items / gpus), and the last one the rest too; and those that were added, in their order.
std::span<const split_rule* const> split_rules();
/// Null where there is none of this name.
const split_rule* find_split_rule(std::string_view name);
/// Adds a rule of the user's, which must outlive all drivers; before settings are read. Errors: its name is taken, or it does not deal all of
/// some items, each to one GPU, in order.
result<void> add_split_rule(const split_rule& fresh);

// A range of addresses, cut where pages end.

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
