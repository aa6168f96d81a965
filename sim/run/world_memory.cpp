// What a lane may touch, and what that means to a digest.
#include <heddle/scheduler/own_work.h>
#include <heddle/sim/run/world.h>
#include <heddle/sim/space/address_space.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

namespace heddle::sim {

using scheduler::verdict;

namespace {
constexpr size_t page_bytes = 4096;  // the least that any page has
}

uint64_t world::stable(uint64_t word) const {
  // Where things lie differs from process to process; how far they are from the start of their region does not.
  enum region : uint64_t { of_image = 2, of_device_stacks = 3, of_host_stacks = 4 };
  if (heap_.contains(reinterpret_cast<const void*>(word)))
    return in_heap(heap_.offset_of(reinterpret_cast<const void*>(word)));
  if (word - image_low_ < image_high_ - image_low_) return uint64_t{of_image} << 60 | (word - image_low_);
  if (device_stacks_->contains(reinterpret_cast<const void*>(word)))
    return uint64_t{of_device_stacks} << 60 | device_stacks_->offset_of(reinterpret_cast<const void*>(word));
  if (host_stacks_->contains(reinterpret_cast<const void*>(word)))
    return uint64_t{of_host_stacks} << 60 | host_stacks_->offset_of(reinterpret_cast<const void*>(word));
  return unstable;
}

void world::add_words_to_digest(const void* address, uint32_t size_bytes) {
  const auto* bytes = static_cast<const std::byte*>(address);
  for (uint32_t done = 0; done < size_bytes; done += sizeof(uint64_t)) {
    const uint32_t left = size_bytes - done;
    digest_.add(stable_value(
        watched::value_at(bytes + done, left < sizeof(uint64_t) ? left : static_cast<uint32_t>(sizeof(uint64_t)))));
  }
}

void world::read_elsewhere(lane& self, const void* address, uint32_t size_bytes, uint64_t value, uint64_t watched_for) {
  has_read(self, address, size_bytes, watched_for);
  performed(self, value);
}

void world::look_at_plain_store(lane& self) {
  settle(self);
  // Member by member: a copy of them all would wait for those that were written last.
  const void* const address = self.storing.address;
  const uint32_t size_bytes = std::exchange(self.storing.size_bytes, 0);
  if (size_bytes == 0) return;
  if (!heap_.contains(address) || size_bytes > sizeof self.storing.before) [[unlikely]]
    return look_at_store_elsewhere(self, address, size_bytes);
  const uint64_t value = watched::value_at(address, size_bytes);
  digest_.add(0, in_heap(heap_.offset_of(address)), stable_value(value));
  if (value != self.storing.before) wake_readers(self, address, size_bytes);
  if (recorder_) [[unlikely]]
    recorder_->stored(self, value);
}

void world::look_at_store_elsewhere(lane& self, const void* address, uint32_t size_bytes) {
  if (may_vanish(address)) {
    // The code under test may have freed the object that it wrote last.
    changed(self, address, size_bytes);
    return;
  }
  const uint64_t value = watched::value_at(address, size_bytes);
  add_to_digest(0, address, size_bytes, value);
  if (value != self.storing.before || size_bytes > plain_store_in_progress::largest_bytes)
    changed(self, address, size_bytes);
  if (recorder_) recorder_->stored(self, value);
}

void world::check_access_elsewhere(lane& self) {
  const void* const address = self.pending.address;
  if (host_stacks_->contains(address) && self.is_host() && !self.of->copies) {
    if (is_on_stack(self, address)) return;
    if (lane* const owner = owner_of_frame(address)) return share_frames(*owner, address);
  }
  if (device_stacks_->contains(address) || host_stacks_->contains(address) ||
      reinterpret_cast<uintptr_t>(address) < lowest_address)
    bad_access(self, nullptr);
}

// -- frames of host threads ------------------------------------------------------------------------------------------------------

void world::share_frames(lane& owner, const void* from) {
  const uintptr_t first = reinterpret_cast<uintptr_t>(from) & ~uintptr_t{7};
  const auto low = reinterpret_cast<uintptr_t>(owner.private_low);
  if (first < low) return;
  owner.private_bytes = std::min<size_t>(owner.private_bytes, first - low);
}

// It stands in the simulator, and all that is alive on its stack is above where it came in.
lane* world::owner_of_frame(const void* address) {
  for (size_t n = 0; n < lanes_used_; ++n) {
    lane& who = lanes_[n];
    if (!who.is_host() || !who.begun || who.state == lane_state::ended || !is_on_stack(who, address)) continue;
    const bool is_alive = who.pending.private_state != nullptr && address >= who.pending.private_state;
    return is_alive ? &who : nullptr;
  }
  return nullptr;
}

void world::share_captured(const void* object, size_t size_bytes) {
  const auto* const bytes = static_cast<const std::byte*>(object);
  for (size_t at = 0; at + sizeof(void*) <= size_bytes; at += sizeof(void*)) {
    const void* word = nullptr;
    std::memcpy(&word, bytes + at, sizeof word);
    if (!host_stacks_->contains(word)) continue;
    if (lane* const owner = owner_of_frame(word)) share_frames(*owner, word);
  }
}

// -- what never changes ------------------------------------------------------------------------------------------------------------

namespace {

/// Segments of the program and of the libraries that it was loaded with which cannot be written, and what cannot be once it has been
/// relocated: string literals, tables, vtables. And what heddle keeps for them.
struct constant_ranges {
  struct range {
    uintptr_t first = 0;
    uintptr_t end = 0;
  };
  std::vector<range> all;

  constant_ranges() {
    dl_iterate_phdr(
        [](dl_phdr_info* object, size_t, void* to) {
          for (size_t n = 0; n < object->dlpi_phnum; ++n) {
            const auto& segment = object->dlpi_phdr[n];
            const bool is_fixed =
                (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) == 0) || segment.p_type == PT_GNU_RELRO;
            const uintptr_t first = object->dlpi_addr + segment.p_vaddr;
            if (is_fixed) static_cast<constant_ranges*>(to)->all.push_back({first, first + segment.p_memsz});
          }
          return 0;
        },
        this);
    const auto own = scheduler::own_constants();
    all.push_back({reinterpret_cast<uintptr_t>(own.data()), reinterpret_cast<uintptr_t>(own.data() + own.size())});
    std::sort(all.begin(), all.end(), [](const range& one, const range& other) { return one.first < other.first; });
  }
};

}  // namespace

bool world::look_whether_constant(const void* address) const {
  static const constant_ranges known;
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  const auto behind =
      std::upper_bound(known.all.begin(), known.all.end(), wanted,
                       [](uintptr_t place, const constant_ranges::range& each) { return place < each.first; });
  const uintptr_t low = behind == known.all.begin() ? 0 : std::prev(behind)->end;
  if (wanted < low) return true;
  variable_low_ = low;
  variable_bytes_ = (behind == known.all.end() ? ~uintptr_t{0} : behind->first) - low;
  return false;
}

void world::check_atomic_access_elsewhere(lane& self) {
  const operation& how = self.pending;
  if (heap_.contains(how.address)) {
    if (const char* wrong = heap_.check(how.address, how.size_bytes)) look_closer(self, wrong);
  } else {
    check_access_elsewhere(self);
  }
  if (reinterpret_cast<uintptr_t>(how.address) % how.size_bytes == 0) return;
  char at[64];
  std::snprintf(at, sizeof at, "%p", how.address);
  const std::string where = describe_location(heap_, how.address);
  const std::string size = std::to_string(how.size_bytes);
  end(self, verdict::memory,
      std::string(to_string(how.kind)) + " of " + size + " bytes at " + (where.empty() ? at : where) +
          ": misaligned, an atomic access of " + size + " bytes needs an address that is a multiple of " + size);
}

void world::bad_access(lane& self, const char* wrong) {
  const operation how = self.pending;
  char at[64];
  if (wrong != nullptr) {
    end(self, verdict::memory,
        std::string(to_string(how.kind)) + " of " + std::to_string(how.size_bytes) + " bytes at " +
            heap_.describe(how.address) + ": " + wrong);
  }
  std::snprintf(at, sizeof at, "%p", how.address);
  if (reinterpret_cast<uintptr_t>(how.address) < lowest_address)
    end(self, verdict::memory, std::string(to_string(how.kind)) + " through a null pointer (" + at + ")");
  // The stack of a lane that has ended may have another owner by now.
  for (size_t n = 0; n < lanes_used_; ++n)
    if (lanes_[n].begun && lanes_[n].state != lane_state::ended && is_on_stack(lanes_[n], how.address)) {
      if (self.is_host() && !self.of->copies && lanes_[n].is_host())
        end(self, verdict::memory,
            std::string(to_string(how.kind)) + " in a frame of " + name_of(lanes_[n]) + " that has returned");
      end(self, verdict::memory,
          std::string(to_string(how.kind)) + " on the stack of " + name_of(lanes_[n]) +
              "; share memory that the device allocates, and capture by value");
    }
  end(self, verdict::memory, std::string(to_string(how.kind)) + " on the stack of a lane that has ended");
}

void world::arrived(const lane& issuer, const void* address, size_t size_bytes, uint64_t stored_in) {
  if (!heap_.contains(address)) changed_elsewhere(address, size_bytes);
  ++changes_;
  watches_.changed(address, size_bytes, [&](lane& waiter) {
    if (waiter.state == lane_state::waiting && waiter.reads.covers(address, size_bytes)) wake(waiter);
  });
  if (recorder_) recorder_->changed(issuer, address, size_bytes, false, !may_vanish(address), stored_in);
}

std::string world::describe_step(uint64_t step) const {
  if (step == 0) return "an access by host main, before any other actor existed";
  return recorder_ == nullptr ? "step " + std::to_string(step) : recorder_->describe(heap_, step);
}

void world::found_race(lane& self, const access_record& earlier, bool scope_race, const race_finder::edge* missing,
                       const lane* knows) {
  ++(scope_race ? scope_races_ : races_);
  if (!machine_.races_end) return;
  const lane& other = lanes_[earlier.lane];
  const std::string kind = earlier.plain ? (earlier.writes ? "a plain store" : "a plain load")
                                         : (earlier.writes ? "an atomic store" : "an atomic load");
  std::string message = describe(self.pending) + " of " + describe_location(heap_, self.pending.address) + " by " +
                        name_of(self) + " is not ordered after " + kind + " by " + name_of(other);
  if (scope_race) message += ": a scope is too narrow";
  if (recorder_) {
    recorder_->performed(self, 0, this_step(), false, false);
    race_ = {.earlier = earlier, .second_step = this_step(), .second = &self, .missing = nullptr, .knows = knows};
    if (missing != nullptr) race_.missing = std::make_unique<race_finder::edge>(*missing);
  }
  end(self, scope_race ? verdict::scope_race : verdict::race, message);
}

std::string world::race_report() const {
  const std::string first = name_of(lanes_[race_.earlier.lane]);
  const std::string second = name_of(*race_.second);
  std::string text = "first access:\n  " + describe_step(race_.earlier.step) +
                     "\nsecond access, not ordered after it:\n  " + describe_step(race_.second_step) +
                     "\nmissing edge: ";
  if (race_.missing == nullptr) {
    if (verdict_ == verdict::scope_race)
      return text + "both are atomic, but the scope of one does not include the lane of the other\n";
    text += "nothing that " + first + " stored after its access was read by " + second +
            ", directly or through others, before the second\n";
    if (race_.knows == nullptr) return text;
    const std::string of_wave =
        "between lanes of a wave a broadcast, a ballot and a shuffle order nothing: sync_lanes would\n";
    return text +
           (race_.knows == &lanes_[race_.earlier.lane] ? "both lanes are of " + name_of(*race_.second->of) + ", and "
                                                       : name_of(*race_.knows) + " had acquired it, but ") +
           of_wave;
  }
  switch (race_.missing->lacks) {
    case missing_order::scope:
      text += "a scope is too narrow where";
      break;
    case missing_order::release:
      text += "no release where";
      break;
    case missing_order::acquire:
      text += "no acquire where";
      break;
  }
  const auto is_fence = [&](uint64_t step) { return recorder_ != nullptr && recorder_->is_fence(step); };
  const bool through_fence = is_fence(race_.missing->store_step) || is_fence(race_.missing->load_step);
  return text + "\n  " + describe_step(race_.missing->store_step) +
         (through_fence ? "\n  is met by\n  " : "\n  is read by\n  ") + describe_step(race_.missing->load_step) + "\n";
}

const lane* world::owner_of_guard(const void* address) const {
  for (size_t n = 0; n < lanes_used_; ++n) {
    const lane& who = lanes_[n];
    if (!who.begun || who.state == lane_state::ended) continue;
    const std::byte* const low = who.runs.stack().low;
    if (address < low && guards(low - 1) && static_cast<const std::byte*>(address) >= low - page_bytes) return &who;
  }
  return nullptr;
}

lane* world::lane_on(const std::byte* address) {
  for (size_t n = 0; n < lanes_used_; ++n) {
    lane& who = lanes_[n];
    if (!who.begun || who.state == lane_state::ended) continue;
    const stack_arena::stack& on = who.runs.stack();
    if (address >= on.low - page_bytes && address < on.high()) return &who;
  }
  return nullptr;
}

void* world::try_allocate(lane& self, size_t size_bytes, memory_kind kind, const char* name, uint32_t device,
                          const void* owner, bool moves) {
  got_somewhere(self);
  if (moves) place_memory();
  void* const memory = heap_.allocate(size_bytes, kind, name, device, owner);
  if (memory == nullptr || kind != memory_kind::device || !devices_.places_memory()) return memory;
  if (devices_.place(memory, size_bytes == 0 ? 1 : size_bytes, device, moves)) {
    if (moves || devices_.has_several_processes()) heap_.watch(memory);
    return memory;
  }
  heap_.release(memory);
  return nullptr;
}

void* world::allocate(lane& self, size_t size_bytes, memory_kind kind, const char* name, uint32_t device,
                      const void* owner, const operation& how) {
  void* const memory = try_allocate(self, size_bytes, kind, name, device, owner);
  if (memory != nullptr) return memory;
  self.pending = how;
  end(self, verdict::memory,
      "no memory left for " + std::to_string(size_bytes) + " bytes of " + name +
          (heap_.total_bytes() == heap::capacity_bytes ? "" : std::string("; ") + more_address_space));
}

// -- page tables that somebody looks at ------------------------------------------------------------------------------------------

void world::place_memory() {
  if (devices_.places_memory()) return;
  devices_.needs_placing();
  for (const allocation& each : heap_.allocations())
    if (!each.freed && each.kind == memory_kind::device)
      devices_.place(each.base, each.size_bytes == 0 ? 1 : each.size_bytes, each.device).value();
}

namespace {

std::string named_process(uint32_t process) {
  return process == 0 ? "the program's own process" : "process " + std::to_string(process);
}

}  // namespace

void world::look_closer(lane& self, const char* said) {
  if (said != heap::is_watched) bad_access(self, said);
  const allocation& of = *heap_.nearest(self.pending.address);
  // A host thread drives all processes, and reaches the memory of all of them.
  if (self.is_host() && !self.of->copies) return;
  const uint32_t owner = devices_[of.device].process;
  const uint32_t mine = devices_[self.of->device].process;
  if (owner != mine)
    end(self, verdict::memory,
        std::string(to_string(self.pending.kind)) + " of " + std::to_string(self.pending.size_bytes) + " bytes at " +
            heap_.describe(self.pending.address) + ": a memory fault, for " + named_process(mine) +
            " has nothing there, and the memory is that of " + named_process(owner));
  if (!self.is_host()) move_pages(self, of);
}

// The first lane of another GPU that uses a page has it moved there. A driver that does not have the old GPU's cache written back before
// it copies the page (driver.flush=off) brings along what was in memory before the first kernel.
void world::move_pages(lane& self, const allocation& of) {
  const auto first = static_cast<size_t>(static_cast<const std::byte*>(self.pending.address) - of.base);
  const size_t end = first + self.pending.size_bytes;
  for (size_t at = first - first % device_set::page_bytes; at < end; at += device_set::page_bytes) {
    if (!devices_.move_page(of.base, at, self.of->gpu) || !unflushed_.on()) continue;
    for (size_t byte = at; byte < std::min(at + device_set::page_bytes, of.size_bytes); ++byte)
      if (const std::byte* const stale = unflushed_.found_by_copy(heap_, of.base + byte)) of.base[byte] = *stale;
  }
}

result<void> world::check_process(const char* call, uint32_t device, const void* address, size_t size_bytes) const {
  if (!devices_.has_several_processes() || !heap_.contains(address)) return {};
  const allocation* const of = heap_.nearest(address);
  if (of == nullptr || of->kind != memory_kind::device || !of->holds(address, size_bytes)) return {};
  const uint32_t owner = devices_[of->device].process;
  const uint32_t mine = devices_[device].process;
  if (owner == mine) return {};
  return error{call, heap_.describe(address), "memory fault",
               named_process(mine) + " has nothing there, and the memory is that of " + named_process(owner)};
}

void world::require_process(lane& self, const char* call, uint32_t device, const void* address, size_t size_bytes,
                            const operation& how) {
  const result<void> mine = check_process(call, device, address, size_bytes);
  if (mine) return;
  self.pending = how;
  end(self, verdict::memory, mine.why().line());
}

result<device_page> world::page_of(uint32_t device, const void* address) {
  if (const result<void> mine = check_process("page_of", device, address, 1); !mine) return mine.why();
  const allocation* const of = heap_.contains(address) ? heap_.nearest(address) : nullptr;
  if (of == nullptr || of->freed || of->kind != memory_kind::device || !of->holds(address, 1))
    return error{"page_of", heap_.contains(address) ? heap_.describe(address) : "", "invalid pointer",
                 "this is no memory of a device"};
  place_memory();
  return devices_.page_of(of->base, static_cast<size_t>(static_cast<const std::byte*>(address) - of->base));
}

result<void*> world::at(uint32_t device, uint64_t address) {
  place_memory();
  const auto [base, offset] = devices_.placed_at(device, address);
  if (base != nullptr && heap_.nearest(base)->holds(static_cast<const std::byte*>(base) + offset, 1))
    return const_cast<void*>(static_cast<const void*>(static_cast<const std::byte*>(base) + offset));
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return error{"at", text, "memory fault", named_process(devices_[device].process) + " has nothing at this address"};
}

// Where memory has no end, as many bytes as there are addresses that were never given out.
device_memory world::memory_of(uint32_t device) const {
  if (devices_.places_memory()) return devices_.memory_of(device);
  return {.free_bytes = heap_.free_bytes(), .total_bytes = heap_.total_bytes()};
}

size_t world::piece_of_copy(const void* to, const void* from, size_t at_byte, size_t size_bytes) {
  size_t piece = size_bytes - at_byte;
  if (!devices_.places_memory()) return piece;
  for (const void* const side : {to, from}) {
    const auto* const byte = static_cast<const std::byte*>(side) + at_byte;
    if (!heap_.contains(byte)) continue;
    const allocation* const of = heap_.nearest(byte);
    if (of == nullptr || of->freed || of->kind != memory_kind::device || !of->holds(byte, 1)) continue;
    // From page to page, as long as one GPU has them.
    const auto offset = static_cast<size_t>(byte - of->base);
    const size_t end = std::min(offset + piece, of->size_bytes);
    size_t next = (offset / page_bytes + 1) * page_bytes;
    while (next < end && devices_.gpu_of(of->base, next) == devices_.gpu_of(of->base, offset)) next += page_bytes;
    piece = std::min(piece, std::min(next, end) - offset);
  }
  return piece;
}

void world::map_cached(lane& self, void* memory, const operation& how) {
  finish_plain_store(self);
  self.pending = how;
  const allocation* const known = heap_.contains(memory) ? heap_.nearest(memory) : nullptr;
  if (known == nullptr || known->freed || known->base != memory)
    end(self, verdict::memory, "memory is to be cached that the device has not allocated");
  cache_.map(known->base, known->size_bytes);
}

void world::release(lane& self, void* pointer, const operation& how) {
  finish_plain_store(self);
  self.pending = how;
  let_go(self, pointer);
  if (const char* wrong = heap_.release(pointer))
    end(self, verdict::memory, std::string(wrong) + " (" + heap_.describe(pointer) + ")");
  if (devices_.places_memory()) devices_.give_back(pointer);
  unflushed_.freed(pointer);
  got_somewhere(self);
}

void world::let_go(lane& self, const void* pointer) {
  if (notes_ == nullptr || late_ == nullptr || machine_.plain_points || !heap_.contains(pointer)) return;
  if (const allocation* const freed = heap_.nearest(pointer))
    notes_->freed_under_access =
        notes_->freed_under_access || late_->is_accessed_beside(self, freed->base, freed->size_bytes);
}

void world::release_all_of(lane& self, const void* owner) {
  finish_plain_store(self);
  if (kernels_running_ != 0) return;
  heap_.release_all_of(owner, [&](std::byte* base) {
    let_go(self, base);
    if (devices_.places_memory()) devices_.give_back(base);
    unflushed_.freed(base);
  });
}

}  // namespace heddle::sim
