#include <heddle/sim/code/branch_probes.h>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace heddle::sim {
namespace {

constexpr size_t most_probes = size_t{1} << 13;
constexpr std::byte no_instruction{0x06};  // "push es", which 64-bit code does not have

/// By number. An address is written when the rest of the probe is there.
struct planted {
  std::atomic<uintptr_t> at = 0;
  std::byte stood{};
  branch_probe what;
};
std::array<planted, most_probes> table;
std::atomic<size_t> count = 0;
std::mutex planting;

// Number 0 is none: probing goes on from 1.
size_t first_place_of(uintptr_t address) { return (address * 0x9e3779b97f4a7c15u >> 32) % most_probes; }

bool write_byte(uintptr_t at, std::byte what) {
  const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const page = reinterpret_cast<void*>(at & ~(page_bytes - 1));
  // The system's own call: the code under test may have one of this name.
  if (syscall(SYS_mprotect, page, page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  __atomic_store_n(reinterpret_cast<unsigned char*>(at), std::to_integer<unsigned char>(what), __ATOMIC_SEQ_CST);
  syscall(SYS_mprotect, page, page_bytes, PROT_READ | PROT_EXEC);
  return true;
}

// Intel SDM, appendix B.1.4.7: the lowest bit negates.
bool holds(uint8_t condition, uint64_t flags) {
  const bool carry = (flags & 1) != 0, parity = (flags >> 2 & 1) != 0, zero = (flags >> 6 & 1) != 0,
             sign = (flags >> 7 & 1) != 0, overflow = (flags >> 11 & 1) != 0;
  bool is = false;
  switch (condition >> 1) {
    case 0:
      is = overflow;
      break;
    case 1:
      is = carry;
      break;
    case 2:
      is = zero;
      break;
    case 3:
      is = carry || zero;
      break;
    case 4:
      is = sign;
      break;
    case 5:
      is = parity;
      break;
    case 6:
      is = sign != overflow;
      break;
    default:
      is = zero || sign != overflow;
      break;
  }
  return is != ((condition & 1) != 0);
}

}  // namespace

bool branch_log::is_equal(const branch_log& other) const {
  const auto left = [](const branch_log& one) {
    return one.any() ? std::span(one.entries_).subspan(one.next_, one.count_ - one.next_) : std::span<const uint16_t>();
  };
  const auto mine = left(*this), others = left(other);
  return std::equal(mine.begin(), mine.end(), others.begin(), others.end());
}

uint64_t branch_log::digest() const {
  uint64_t state = 0;
  for (uint16_t n = next_; n < count_; ++n) {
    const uint64_t word = uint64_t{branch_probes::numbered(entries_[n] >> 1).node} << 1 | (entries_[n] & 1);
    state = (state ^ (word + 1)) * 0x9e3779b97f4a7c15u + (state >> 29);
  }
  return state;
}

uint16_t branch_probes::at(uintptr_t address) {
  for (size_t place = first_place_of(address);; place = (place + 1) % most_probes) {
    // Pairs with the release in plant().
    const uintptr_t there = place == 0 ? ~uintptr_t{0} : table[place].at.load(std::memory_order_acquire);
    if (there == address) return static_cast<uint16_t>(place);
    if (there == 0) return 0;
  }
}

uint16_t branch_probes::plant(const branch_probe& what) {
  const std::lock_guard<std::mutex> one(planting);
  if (const uint16_t known = at(what.at); known != 0) return known;
  // Some places stay empty, where a search ends.
  if (count.load(std::memory_order_relaxed) >= most_probes / 2) return 0;
  size_t place = first_place_of(what.at);
  while (place == 0 || table[place].at.load(std::memory_order_relaxed) != 0) place = (place + 1) % most_probes;
  planted& fresh = table[place];
  fresh.what = what;
  fresh.stood = *reinterpret_cast<const std::byte*>(what.at);
  // Pairs with the acquire in at(): a thread that meets the byte below finds all of the probe.
  fresh.at.store(what.at, std::memory_order_release);
  // Also of one that cannot be written: its place is taken.
  count.fetch_add(1, std::memory_order_relaxed);
  if (!write_byte(what.at, no_instruction)) {
    fresh.at.store(~uintptr_t{0}, std::memory_order_release);
    return 0;
  }
  return static_cast<uint16_t>(place);
}

const branch_probe& branch_probes::numbered(uint16_t number) { return table[number].what; }

bool branch_probes::any() { return count.load(std::memory_order_relaxed) != 0; }

void branch_probes::restore(uintptr_t low, std::span<std::byte> copy) {
  if (!any()) return;
  for (size_t n = 0; n < copy.size(); ++n)
    if (copy[n] == no_instruction)
      if (const uint16_t known = at(low + n); known != 0) copy[n] = table[known].stood;
}

branch_log::decision branch_probes::jump(uintptr_t& pc, uint64_t flags) {
  const uint16_t number = at(pc);
  if (number == 0) return {};
  const branch_probe& what = table[number].what;
  const bool taken = holds(what.condition, flags);
  pc = taken ? what.target : what.end;
  return {number, taken};
}

}  // namespace heddle::sim
