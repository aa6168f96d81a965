#include <heddle/tools/trial/slot_names.h>

#include <algorithm>

namespace heddle::tools {

slot_names::found slot_names::word_at(uint64_t address) const {
  for (const sim::run_record::slots& each : of_.named) {
    const auto in = [&](uint64_t begin, uint32_t per_word, part which) -> found {
      const uint64_t words = (uint64_t{each.count} + per_word - 1) / per_word;
      if (begin == 0 || address < begin || address >= begin + words * word_bytes) return {};
      const auto first = static_cast<uint32_t>((address - begin) / word_bytes) * per_word;
      return {.of = &each, .which = which, .first = first, .count = std::min(per_word, each.count - first)};
    };
    for (const found& one : {in(each.client_outbox, each.slots_per_word, part::client_outbox),
                             in(each.server_outbox, each.slots_per_word, part::server_outbox),
                             in(each.client_locks, each.locks_per_word, part::client_locks),
                             in(each.server_locks, each.locks_per_word, part::server_locks)})
      if (one.of != nullptr) return one;
  }
  return {};
}

std::string slot_names::part_at(uint64_t address) const {
  const found one = word_at(address / word_bytes * word_bytes);
  if (one.of == nullptr) return {};
  constexpr const char* names[] = {"client's outbox", "server's outbox", "client's lock", "server's lock"};
  const std::string what = names[static_cast<size_t>(one.which)];
  if (one.count == 1) return one.of->each + " " + std::to_string(one.first) + ", " + what;
  return one.of->each + "s " + std::to_string(one.first) + " to " + std::to_string(one.first + one.count - 1) + ", " +
         what;
}

}  // namespace heddle::tools
