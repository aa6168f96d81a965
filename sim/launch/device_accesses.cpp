// Accesses to memory that are wrong, or that have pages moved.
#include <heddle/driver/split.h>
#include <heddle/sim/code/thread_locals.h>
#include <heddle/sim/launch/command_driver.h>
#include <heddle/sim/launch/device_allocations.h>
#include <heddle/sim/space/lane_heap.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace heddle::sim {

using scheduler::verdict;

namespace {
constexpr uintptr_t lowest_address = 65536;
}  // namespace

std::string device_allocations::named_process(uint32_t process) {
  return process == 0 ? "the program's own process" : "process " + std::to_string(process);
}

/// "plain load of 4 bytes at ", or "mutex lock at " of a call on an object.
static std::string reaches(const operation& how) {
  const bool is_call = how.kind == operation_kind::lock_mutex || how.kind == operation_kind::unlock_mutex ||
                       how.kind == operation_kind::wait_notice || how.kind == operation_kind::give_notice;
  return std::string(to_string(how.kind)) + (is_call ? " at " : " of " + std::to_string(how.size_bytes) + " bytes at ");
}

void device_allocations::check_elsewhere(lane& self) {
  const void* const address = self.pending.address;
  if (mapped_ranges::contains(address)) {
    const operation& how = self.pending;
    core_.end(self, verdict::memory,
              reaches(how) + core_.map.ranges.describe(address) + ": " +
                  core_.map.ranges.why_not(address, self.is_host() ? mapped_ranges::of_host : self.of->device));
  }
  if (core_.map.heap.program() != nullptr && core_.map.heap.program()->contains(address)) {
    const operation& how = self.pending;
    if (core_.map.heap.program()->is_allocated(address, how.size_bytes)) [[likely]]
      return;
    const std::string what = reaches(how);
    bad_use_of_program_heap(self, address, what, "out of bounds");
  }
  if (core_.map.host_stacks->contains(address) && (self.is_host() || core_.frames.are_open(address))) {
    if (self.is_host() && self.is_on_stack(address)) return;
    // A bulk copy is made for a lane of a kernel, which reaches no frames of the host.
    if (lane* const owner = self.of->bulk ? nullptr : core_.threads.owner_of_frame(address))
      return core_.frames.reach(*owner, address);
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
    const char* const wrong = core_.map.heap.check(how.address, how.size_bytes);
    if (wrong != nullptr) look_closer(self, wrong);
  } else {
    check_elsewhere(self);
  }
  if (reinterpret_cast<uintptr_t>(how.address) % how.size_bytes == 0) return;
  char at[64];
  std::snprintf(at, sizeof at, "%p", how.address);
  std::string where;
  core_.aside(self, [&] { where = describe_location(core_.map.heap, how.address); });
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
              reaches(how) + core_.map.heap.describe(how.address) + ": " + wrong + where_freed(self, how.address));
  }
  std::snprintf(at, sizeof at, "%p", how.address);
  if (reinterpret_cast<uintptr_t>(how.address) < lowest_address)
    core_.end(self, verdict::memory, std::string(to_string(how.kind)) + " through a null pointer (" + at + ")");
  // The stack of a lane that has ended may have another owner by now.
  for (size_t n = 0; n < core_.threads.lanes_used; ++n)
    if (core_.threads.lanes[n].begun && core_.threads.lanes[n].state != lane_state::ended &&
        core_.threads.lanes[n].is_on_stack(how.address)) {
      if (((self.is_host() && !self.of->bulk) || core_.frames.are_open(how.address)) &&
          core_.threads.lanes[n].is_host())
        core_.end(self, verdict::memory,
                  std::string(to_string(how.kind)) + " in a frame of " + name_of(core_.threads.lanes[n]) +
                      " that has returned");
      core_.end(self, verdict::memory,
                std::string(to_string(how.kind)) + " on the stack of " + name_of(core_.threads.lanes[n]) +
                    "; share memory that the device allocates, and capture by value");
    }
  core_.end(self, verdict::memory, std::string(to_string(how.kind)) + " on the stack of a lane that has ended");
}

void device_allocations::out_of_reach(lane& self) {
  const operation& how = self.pending;
  core_.end(
      self, verdict::memory,
      std::string(to_string(how.kind)) + " of " + std::to_string(how.size_bytes) + " bytes at " +
          core_.map.heap.describe(how.address) +
          ": memory of a device, which the host does not reach by its address; have it copied, or allocate memory of "
          "both (driver.reach=all is a machine on which the host reaches it)");
}

void device_allocations::check_peer(lane& self) {
  const operation& how = self.pending;
  const allocation& of = core_.map.heap.holder(how.address);
  const uint32_t mine = self.of->device;
  if (of.peers == peer_reach::all || of.device == mine) return;
  const bool is_own = of.peers == peer_reach::let_to_it;
  const bool may_load = is_own && (of.let_to_load >> mine & 1) != 0;
  if (is_own ? (may_write(how.kind) ? (of.let_to_store >> mine & 1) != 0 : may_load)
             : (devices_[mine].peers >> of.device & 1) != 0)
    return;
  const std::string_view name = of.name;
  const std::string peer = std::to_string(of.device), here = std::to_string(mine);
  const std::string runtime = name.starts_with("hip") ? "hip" : "cuda";
  const std::string mend =
      !is_own ? "; call " + runtime + "DeviceEnablePeerAccess(" + peer + ", 0) where device " + here +
                    " is current, before the launch"
      : name.find("Graph") != std::string_view::npos
          ? ": the node of a graph that allocates memory names devices that reach it (accessDescs)"
          : ": devices reach memory of a pool where " + runtime +
                "MemPoolSetAccess lets them, whatever DeviceEnablePeerAccess says; call it for device " + here +
                (may_load ? " by " + runtime + "MemAccessFlagsProtReadWrite" : "") + ", before the launch";
  core_.end(self, verdict::memory,
            std::string(to_string(how.kind)) + " of " + std::to_string(how.size_bytes) + " bytes at " +
                core_.map.heap.describe(how.address) + ": memory of device " + peer + ", which device " + here +
                " was not let to " + (may_load ? "store to" : "reach") + mend +
                " (driver.reach=all is a machine on which devices reach each other)");
}

// -- the program's own heap ---------------------------------------------------------------------------------------------------------

std::string device_allocations::who_freed(const void* base) const {
  for (const freed_block& known : freed_)
    if (known.base == base) {
      const std::string where = source_of(known.calls).where();
      return " by " + name_of(*known.by) + (where.empty() ? "" : " at " + where);
    }
  return "";
}

std::string device_allocations::where_freed(lane& self, const void* address) {
  const allocation* const of = core_.map.heap.contains(address) ? core_.map.heap.nearest(address) : nullptr;
  if (of == nullptr || !of->freed || !of->holds(address, 1)) return "";
  std::string told;
  core_.aside(self, [&] { told = who_freed(of->base); });
  return told.empty() ? "" : "; it was freed" + told;
}

void device_allocations::bad_use_of_program_heap(lane& self, const void* address, const std::string& what,
                                                 const char* wrong) {
  const lane_heap::block block = core_.map.heap.program()->nearest(address);
  std::string message = what;
  const auto tell = [&] {
    if (block.state == lane_heap::block_state::none) {
      message += std::string("memory of the C++ heap that nothing has allocated: ") + wrong;
      return;
    }
    const auto offset = static_cast<const std::byte*>(address) - block.base;
    char place[32];
    std::snprintf(place, sizeof place, offset < 0 ? "-0x%zx" : "+0x%zx",
                  static_cast<size_t>(offset < 0 ? -offset : offset));
    const std::string made_at = core_.map.heap.program()->made_at(block);
    message += std::string(place) + " in " + std::to_string(block.size_bytes) + " bytes of the C++ heap that " +
               name_of(core_.threads.lanes[block.lane]) + " has allocated" + (made_at.empty() ? "" : " at " + made_at) +
               ": ";
    if (block.state == lane_heap::block_state::allocated) {
      message += wrong;
      return;
    }
    message += "after the memory was freed";
    message += who_freed(block.base);
  };
  // Debug information takes more stack than a lane has.
  core_.aside(self, tell);
  core_.end(self, verdict::memory, message);
}

void device_allocations::release_in_program(lane& self, void* pointer) {
  const lane_heap& heap = *core_.map.heap.program();
  const lane_heap::block block = heap.nearest(pointer);
  // An object that outlives the runs, as of a library, may have had it from an earlier one.
  if (block.state == lane_heap::block_state::none) return;
  if (block.base != pointer || block.state != lane_heap::block_state::allocated)
    bad_use_of_program_heap(self, pointer, "frees ", "not the start of an allocation");
  if (core_.late != nullptr) {
    if (core_.machine.points == plain_points::unchecked && core_.threads.live_lanes > 1 &&
        core_.late->is_accessed_beside(self, block.base, block.size_bytes))
      core_.end(self, verdict::memory,
                std::to_string(block.size_bytes) + " bytes of the C++ heap that " +
                    name_of(core_.threads.lanes[block.lane]) +
                    " has allocated are freed, and a plain access by another lane is not ordered before");
    core_.late->released(self, pointer, block.size_bytes);
  }
  if (freed_.size() < most_freed) freed_.push_back({pointer, &self, calls_of(self)});
  core_.map.heap.note_program_free();
  lane_heap::release(pointer, &heap);
}

// -- page tables -----------------------------------------------------------------------------------------------------------------

bool device_allocations::look_closer(lane& self, const char* said) {
  if (said != heap::is_watched) bad_access(self, said);
  const allocation& of = *core_.map.heap.nearest(self.pending.address);
  // A host thread drives all processes, and reaches the memory of all of them.
  if (self.is_host() && !self.of->copies) return hands_ != nullptr && devices_.moves(of.base);
  const uint32_t owner = devices_[of.device].process;
  const uint32_t mine = devices_[self.of->device].process;
  if (owner != mine)
    core_.end(self, verdict::memory,
              std::string(to_string(self.pending.kind)) + " of " + std::to_string(self.pending.size_bytes) +
                  " bytes at " + core_.map.heap.describe(self.pending.address) + ": a memory fault, for " +
                  named_process(mine) + " has nothing there, and the memory is that of " + named_process(owner));
  // A page stays where it is while a copy of it is under way.
  if (self.is_host()) return false;
  if (hands_ != nullptr) return devices_.moves(of.base);
  move_pages(self, of);
  return false;
}

bool device_allocations::may_move_pages(const lane& self) const {
  const void* const address = self.pending.address;
  if (hands_ == nullptr || self.of->copies || !core_.map.heap.contains(address)) return false;
  const allocation* const of = core_.map.heap.nearest(address);
  return of != nullptr && of->watched && !of->freed && devices_.moves(of->base);
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

// -- pages that a driver moves whose commands are stepped ----------------------------------------------------------------------------

bool command_driver::reaches(lane& self) {
  const operation& how = self.pending;
  const allocation& of = *core_.map.heap.nearest(how.address);
  const device_set& devices = memory_.devices();
  const auto offset = static_cast<size_t>(static_cast<const std::byte*>(how.address) - of.base);
  const uint64_t address = *devices.address_of(of.device, of.base, offset);
  const driver::process_id process = room().contexts().process_of(devices.context_of(of.device)).value();
  const driver::page_table& pages = room().allocator().pages();
  const auto of_all = [&](auto&& holds) {
    bool all = true;
    driver::for_each_page_piece(address, how.size_bytes, pages.page_bytes(), [&](uint64_t at, uint64_t, uint64_t) {
      all = all && holds(at, pages.find(process, at)->entry);
    });
    return all;
  };
  if (self.is_host()) return of_all([](uint64_t, const driver::page& entry) { return !entry.migrating; });
  if (core_.times != nullptr) room().engine().pass_until(core_.times->now(self));
  driver::gpu& on = *room().gpu_of(self.of->gpu + 1);
  const bool knew =
      of_all([&](uint64_t at, const driver::page&) { return on.translations().find(process, at) != nullptr; });
  const uint64_t asked = room().pages_asked_for();
  const bool done = on.reach(process, address, how.size_bytes) == driver::access::done;
  if (room().pages_asked_for() != asked) {
    note(address << 8 | 5);
    signal(self);
  }
  if (!done) return false;
  if (!knew) note(address << 8 | 6);
  return of_all([&](uint64_t at, const driver::page& entry) {
    const driver::page* const used = on.translations().find(process, at);
    // Until the device is told to forget it, it may use what it has.
    if (used == nullptr || entry.migrating || used->physical_address == entry.physical_address) return true;
    core_.end(self, verdict::memory,
              std::string(to_string(how.kind)) + " of " + std::to_string(how.size_bytes) + " bytes at " +
                  core_.map.heap.describe(how.address) + ": GPU " + std::to_string(self.of->gpu) +
                  " has kept its translation of a page that has moved to GPU " + std::to_string(entry.device - 1));
  });
}

void command_driver::retry(driver::device_id) {
  ++news_;
  pages_came_at_ = room().engine().now();
  waits_.wake_readers(*acting_, &news_, sizeof news_);
}

// As it is in memory: what a cache of the old owner holds is not in it.
void command_driver::copy_page(const driver::request& page) {
  std::byte* const at = memory_.devices().memory_at(page.process, page.virtual_address);
  const std::byte* const known = at == nullptr ? nullptr : memory_.unflushed().found_by_copy(core_.map.heap, at);
  if (known == nullptr) return;
  const allocation& of = *core_.map.heap.nearest(at);
  const size_t bytes = std::min<size_t>(page.bytes, static_cast<size_t>(of.base + of.size_bytes - at));
  if (std::memcmp(at, known, bytes) == 0) return;
  std::memcpy(at, known, bytes);
  waits_.wake_readers(*acting_, at, bytes);
}

}  // namespace heddle::sim
