// What is told of a link: its state, to a search; which stores overtook which, in reports.
#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/link/link_memory.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace heddle::sim {

bool link_memory::tell(state_reader& to, const still_to_come& others) {
  if (!link_.tell(to, others.lanes)) return false;
  hasty_.tell(to);
  to.fact(lull_turns_);
  to.fact(quiet_turns_);
  std::vector<std::pair<const void*, releasers>> released(releasers_.begin(), releasers_.end());
  std::sort(released.begin(), released.end(),
            [](const auto& one, const auto& other) { return one.first < other.first; });
  for (const auto& [object, by] : released) {
    to.fact(reinterpret_cast<uintptr_t>(object));
    to.fact(uint64_t{by.hosts.size()} << 32 | by.device);
    for (const auto& earlier : by.hosts) {
      uint32_t kept_back = 0;
      link_.each_under_way([&](const store_under_way& made, whereabouts where) {
        const bool is_its = made.thread == earlier.thread && is_kept_back(where);
        kept_back += is_its && made.number <= earlier.stores ? 1 : 0;
      });
      to.fact(uint64_t{earlier.thread} << 32 | kept_back);
    }
  }
  // Within an access: memory does not hold the newest values.
  for (size_t n = 0; n < replaced_used_; ++n) {
    to.fact(reinterpret_cast<uintptr_t>(replaced_[n].address));
    for (const std::byte each : replaced_[n].newest) to.fact(static_cast<uint64_t>(each));
  }
  if (storing_.size_bytes != 0)
    for (const std::byte each : own_) to.fact(static_cast<uint64_t>(each));
  return to.fact(released.size() << 32 | replaced_used_);
}

void link_memory::end_load(const lane& self, const operation& how) {
  if (!core_.explains()) return;
  std::erase_if(late_loads_, [&](const late_load& each) { return each.by == &self && each.address == how.address; });
  late_load late = {.by = &self, .address = how.address, .step = core_.history.this_step(), .found_old = found_old_};
  const piece bytes = {.address = static_cast<std::byte*>(const_cast<void*>(how.address)),
                       .size_bytes = how.size_bytes};
  link_.each_under_way([&](const store_under_way& made, whereabouts where) {
    if (made.thread == self.id || !overlap(made.where, bytes)) return;
    late.missed = made;
    late.where = where;
  });
  if (late.found_old || late.missed.where.size_bytes != 0) late_loads_.push_back(late);
}

namespace {

/// Where the store is, and what waits for it.
const char* told(whereabouts where) {
  switch (where) {
    case whereabouts::device:
      return "still in the device, which sends its stores in any order: a release or fence of system scope by its lane "
             "would wait until it has arrived";
    case whereabouts::store_buffer:
      return "still in the store buffer of its thread: a fence of sequential consistency would empty that";
    case whereabouts::combining_buffer:
      return "still in a write-combining buffer of its thread: behind an sfence later stores would wait for it";
    case whereabouts::posted:
      break;
  }
  return "on the link, and not in the device's memory";
}

}  // namespace

std::string link_memory::what_is_late() const {
  constexpr size_t most = 4;
  if (late_loads_.empty()) return {};
  std::string text = "loads that came too early:\n";
  const size_t told_of = std::min(late_loads_.size(), most);
  for (size_t n = 1; n <= told_of; ++n) {
    const late_load& each = late_loads_[late_loads_.size() - n];
    text += "  " + core_.describe_step(each.step) + "\n    ";
    if (each.found_old)
      text +=
          "found an older value than there was, and waits for nothing: an acquire of system scope would, and so "
          "would a fence of system scope in front of it\n";
    else
      text += "missed " + core_.describe_step(each.missed.step) + "\n    which was " + told(each.where) + "\n";
  }
  return text;
}

std::string link_memory::overtakings() const {
  std::string text;
  for (const overtaking& one : link_.overtakings()) {
    text += "  " + core_.describe_step(one.overtaken.step) + "\n    was overtaken by " +
            core_.describe_step(one.overtaker.step) + ": " +
            (lanes_[one.overtaken.thread]->is_on_host()
                 ? settings_.host_relaxed_ordering
                       ? "relaxed ordering is on for what the host posts (link.hostro)\n"
                       : std::string(one.overtaken.to_device ? "device memory is mapped write-combining (link.wc)"
                                                             : "its memory is mapped write-combining") +
                             ", and nothing empties the buffers in between: an sfence does\n"
                 : "relaxed ordering is on (link.ro), and releases do not drain the link (link.drain)\n");
  }
  return text;
}

}  // namespace heddle::sim
