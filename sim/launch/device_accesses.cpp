// Accesses to memory that are wrong, or that have pages moved.
#include <heddle/sim/code/thread_locals.h>
#include <heddle/sim/launch/device_allocations.h>

#include <algorithm>
#include <cstdio>

namespace heddle::sim {

using scheduler::verdict;

namespace {
constexpr uintptr_t lowest_address = 65536;
}

std::string device_allocations::named_process(uint32_t process) {
  return process == 0 ? "the program's own process" : "process " + std::to_string(process);
}

void device_allocations::check_elsewhere(lane& self) {
  const void* const address = self.pending.address;
  if (core_.map.host_stacks->contains(address) && self.is_host()) {
    if (self.is_on_stack(address)) return;
    // A copy has no business there.
    if (lane* const owner = self.of->copies ? nullptr : core_.threads.owner_of_frame(address))
      return owner->share_frames(address);
  }
  if (core_.map.device_stacks->contains(address) || core_.map.host_stacks->contains(address) ||
      reinterpret_cast<uintptr_t>(address) < lowest_address)
    bad_access(self, nullptr);
}

void device_allocations::check_atomic_elsewhere(lane& self) {
  const operation& how = self.pending;
  if (is_thread_local(how.address)) [[unlikely]]
    core_.end(self, verdict::unsupported,
              std::string(to_string(how.kind)) +
                  " of a thread-local variable, which other threads could be given: make it part of what each of them "
                  "allocates");
  if (core_.map.heap.contains(how.address)) {
    if (const char* wrong = core_.map.heap.check(how.address, how.size_bytes)) look_closer(self, wrong);
  } else {
    check_elsewhere(self);
  }
  if (reinterpret_cast<uintptr_t>(how.address) % how.size_bytes == 0) return;
  char at[64];
  std::snprintf(at, sizeof at, "%p", how.address);
  const std::string where = describe_location(core_.map.heap, how.address);
  const std::string size = std::to_string(how.size_bytes);
  core_.end(self, verdict::memory,
            std::string(to_string(how.kind)) + " of " + size + " bytes at " + (where.empty() ? at : where) +
                ": misaligned, an atomic access of " + size + " bytes needs an address that is a multiple of " + size);
}

void device_allocations::bad_access(lane& self, const char* wrong) {
  const operation how = self.pending;
  char at[64];
  if (wrong != nullptr) {
    core_.end(self, verdict::memory,
              std::string(to_string(how.kind)) + " of " + std::to_string(how.size_bytes) + " bytes at " +
                  core_.map.heap.describe(how.address) + ": " + wrong);
  }
  std::snprintf(at, sizeof at, "%p", how.address);
  if (reinterpret_cast<uintptr_t>(how.address) < lowest_address)
    core_.end(self, verdict::memory, std::string(to_string(how.kind)) + " through a null pointer (" + at + ")");
  // The stack of a lane that has ended may have another owner by now.
  for (size_t n = 0; n < core_.threads.lanes_used; ++n)
    if (core_.threads.lanes[n].begun && core_.threads.lanes[n].state != lane_state::ended &&
        core_.threads.lanes[n].is_on_stack(how.address)) {
      if (self.is_host() && !self.of->copies && core_.threads.lanes[n].is_host())
        core_.end(self, verdict::memory,
                  std::string(to_string(how.kind)) + " in a frame of " + name_of(core_.threads.lanes[n]) +
                      " that has returned");
      core_.end(self, verdict::memory,
                std::string(to_string(how.kind)) + " on the stack of " + name_of(core_.threads.lanes[n]) +
                    "; share memory that the device allocates, and capture by value");
    }
  core_.end(self, verdict::memory, std::string(to_string(how.kind)) + " on the stack of a lane that has ended");
}

// -- page tables -----------------------------------------------------------------------------------------------------------------

void device_allocations::look_closer(lane& self, const char* said) {
  if (said != heap::is_watched) bad_access(self, said);
  const allocation& of = *core_.map.heap.nearest(self.pending.address);
  // A host thread drives all processes, and reaches the memory of all of them.
  if (self.is_host() && !self.of->copies) return;
  const uint32_t owner = devices_[of.device].process;
  const uint32_t mine = devices_[self.of->device].process;
  if (owner != mine)
    core_.end(self, verdict::memory,
              std::string(to_string(self.pending.kind)) + " of " + std::to_string(self.pending.size_bytes) +
                  " bytes at " + core_.map.heap.describe(self.pending.address) + ": a memory fault, for " +
                  named_process(mine) + " has nothing there, and the memory is that of " + named_process(owner));
  if (!self.is_host()) move_pages(self, of);
}

// The first lane of another GPU that uses a page causes its move there. A driver that does not have the old GPU's cache written back before
// it copies the page (driver.flush=off) copies what was in memory before the first kernel.
void device_allocations::move_pages(lane& self, const allocation& of) {
  const auto first = static_cast<size_t>(static_cast<const std::byte*>(self.pending.address) - of.base);
  const size_t end = first + self.pending.size_bytes;
  for (size_t at = first - first % device_set::page_bytes; at < end; at += device_set::page_bytes) {
    if (!devices_.move_page(of.base, at, self.of->gpu) || core_.machine.flushes) continue;
    for (size_t byte = at; byte < std::min(at + device_set::page_bytes, of.size_bytes); ++byte)
      if (const std::byte* const stale = unflushed_.found_by_copy(core_.map.heap, of.base + byte))
        of.base[byte] = *stale;
  }
}

}  // namespace heddle::sim
