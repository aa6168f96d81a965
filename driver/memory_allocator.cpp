#include <heddle/driver/memory_allocator.h>
#include <heddle/driver/message.h>
#include <heddle/driver/split.h>

#include <cassert>

namespace heddle::driver {
namespace {

std::string about(process_id process, uint64_t address) {
  return words("process ", process, ", ", address_text{address});
}

std::string about(process_id process, uint64_t address, uint64_t bytes, device_id device) {
  return words("process ", process, ", ", address_text{address}, ", ", bytes, " bytes, device ", device);
}

}  // namespace

memory_allocator::memory_allocator(unsigned page_bits, const device_table& devices, page_watcher& watcher,
                                   const split_rule& split)
    : page_bits_(page_bits),
      devices_(&devices),
      watcher_(&watcher),
      split_(&split),
      physical_(uint64_t{1} << page_bits),
      pages_(page_bits) {
  processes_.push_back(std::make_unique<address_space>());  // number 0 is no process
}

result<physical_memory::range> memory_allocator::add_memory(device_id device, uint64_t size_bytes) {
  return physical_.add(device, size_bytes, pages_.end());
}

process_id memory_allocator::create_process() {
  processes_.push_back(std::make_unique<address_space>());
  // So that null is never an address that is given out.
  processes_.back()->next_address = pages_.page_bytes();
  return static_cast<process_id>(processes_.size() - 1);
}

result<uint64_t> memory_allocator::allocate(process_id process, uint64_t bytes, device_id device, bool unified) {
  const auto arguments = [&] { return words("process ", process, ", ", bytes, " bytes, device ", device); };
  if (!has(process) || !devices_->has(device)) return check("allocate", arguments(), process, device).why();
  if (bytes == 0) return failure("allocate", arguments(), "invalid value", "a buffer of no bytes");
  auto& space = *processes_[process];
  const uint64_t address = space.next_address;
  const uint64_t count = (bytes - 1) / pages_.page_bytes() + 1;
  if (count > (pages_.end() - address) / pages_.page_bytes())
    return failure("allocate", arguments(), "out of memory", "the process has no virtual addresses left");
  const auto gpus = devices_->physical(device);
  for (size_t n = 0; n < gpus.size(); ++n)
    if (split_->of(count, gpus.size(), n).count > physical_.free_pages(gpus[n]))
      return check_room("allocate", arguments(), count, device, {}).why();
  for (size_t n = 0; n < gpus.size(); ++n) {
    const share mine = split_->of(count, gpus.size(), n);
    for (uint64_t at = mine.first; at < mine.end(); ++at) {
      const page fresh = {.process = process,
                          .device = gpus[n],
                          .virtual_address = address + at * pages_.page_bytes(),
                          .physical_address = physical_.take(gpus[n]),
                          .size_bytes = pages_.page_bytes(),
                          .valid = true,
                          .unified = unified};
      pages_.insert(fresh).value()->buffer = address;
    }
  }
  space.buffers[address >> page_bits_] = {.bytes = bytes, .pages = count};
  space.next_address = address + count * pages_.page_bytes();
  return address;
}

result<void> memory_allocator::free(process_id process, uint64_t address) {
  const auto arguments = [&] { return about(process, address); };
  const buffer* const what = find_buffer(process, address);
  if (what == nullptr) {
    if (!has(process)) return check("free", arguments(), process, cpu_device);
    if (const uint64_t start = buffer_at(process, address); start != 0)
      return failure("free", arguments(), "invalid pointer",
                     words("it points into the buffer that begins at ", address_text{start}));
    if (address >= pages_.page_bytes() && address < processes_[process]->next_address)
      return failure("free", arguments(), "double free", "the buffer that was there has been given back");
    return failure("free", arguments(), "invalid pointer", "the process was never given this address");
  }
  const uint64_t end = address + what->pages * pages_.page_bytes();
  if (const std::string busy = why_busy(process, address, end); !busy.empty())
    return failure("free", arguments(), "in use", busy);
  for (uint64_t at = address; at < end; at += pages_.page_bytes())
    if (const page_slot* const slot = pages_.find(process, at)) release(*slot);
  processes_[process]->buffers.erase(address >> page_bits_);
  return {};
}

result<void> memory_allocator::remap(process_id process, uint64_t address, uint64_t bytes, device_id device) {
  const std::string arguments = about(process, address, bytes, device);
  if (result<void> known = check("remap", arguments, process, device); !known) return known;
  if (const result<uint64_t> in = buffer_of("remap", process, address, bytes); !in) return in.why();
  const uint64_t first = pages_.first_byte(address);
  const uint64_t end = pages_.first_byte(address + bytes - 1) + pages_.page_bytes();
  const uint64_t count = (end - first) >> page_bits_;
  std::vector<uint64_t> returned(devices_->count());
  for (uint64_t at = first; at < end; at += pages_.page_bytes()) ++returned[pages_.find(process, at)->entry.device];
  if (const std::string busy = why_busy(process, first, end); !busy.empty())
    return failure("remap", arguments, "in use", busy);
  if (result<void> room = check_room("remap", arguments, count, device, returned); !room) return room;

  // All old pages first: one that comes back may be wanted at once.
  for (uint64_t at = first; at < end; at += pages_.page_bytes()) {
    const page& old = pages_.find(process, at)->entry;
    watcher_->released(old);
    give_back(old);
  }
  std::vector<page> fresh;
  const auto gpus = devices_->physical(device);
  for (size_t n = 0; n < gpus.size(); ++n) {
    const share mine = split_->of(count, gpus.size(), n);
    for (uint64_t at = mine.first; at < mine.end(); ++at) {
      page changed = pages_.find(process, first + at * pages_.page_bytes())->entry;
      changed.device = gpus[n];
      changed.physical_address = physical_.take(gpus[n]);
      changed.pinned = false;
      fresh.push_back(changed);
    }
  }
  pages_.update(fresh).value();
  for (const page& changed : fresh) watcher_->replaced(changed);
  return {};
}

result<void> memory_allocator::remove_page(process_id process, uint64_t address) {
  const std::string arguments = about(process, address);
  const page_slot* const slot = pages_.find(process, address);
  if (slot == nullptr) return failure("remove_page", arguments, "invalid pointer", "the process has no page there");
  const uint64_t first = slot->entry.virtual_address;
  if (const std::string busy = why_busy(process, first, first + pages_.page_bytes()); !busy.empty())
    return failure("remove_page", arguments, "in use", busy);
  if (buffer* const what = find_buffer(process, slot->buffer)) ++what->removed;
  release(*slot);
  return {};
}

result<page> memory_allocator::allocate_page_at(process_id process, device_id device, uint64_t address, bool unified) {
  const std::string arguments = about(process, address, pages_.page_bytes(), device);
  if (const result<void> known = check("allocate_page_at", arguments, process, device); !known) return known.why();
  if (devices_->kind(device) == device_kind::unified)
    return failure("allocate_page_at", arguments, "invalid device", "one page cannot be on several GPUs");
  page_slot* const slot = pages_.find(process, address);
  if (slot == nullptr)
    return failure("allocate_page_at", arguments, "invalid pointer", "the process has no page there");
  const uint64_t first = slot->entry.virtual_address;
  if (const std::string busy = why_busy(process, first, first + pages_.page_bytes()); !busy.empty())
    return failure("allocate_page_at", arguments, "in use", busy);
  if (physical_.free_pages(device) == 0 && slot->entry.device != device)
    return failure("allocate_page_at", arguments, "out of memory", "the device has no page left");
  const page old = slot->entry;
  watcher_->released(old);
  give_back(old);
  page changed = old;
  changed.device = device;
  changed.physical_address = physical_.take(device);
  changed.unified = unified;
  changed.pinned = false;
  pages_.update(changed).value();
  watcher_->replaced(changed);
  return changed;
}

result<page> memory_allocator::move(page_slot& slot, device_id device) {
  const page old = slot.entry;
  if (physical_.free_pages(device) == 0)
    return failure("migrate", about(old.process, old.virtual_address, old.size_bytes, device), "out of memory",
                   "the device has no page left");
  page changed = old;
  changed.device = device;
  changed.physical_address = physical_.take(device);
  pages_.update(changed).value();
  return old;
}

result<uint64_t> memory_allocator::buffer_of(const char* call, process_id process, uint64_t address,
                                             uint64_t bytes) const {
  const auto refuse = [&](std::string name, std::string text) {
    return failure(call, words(about(process, address), ", ", bytes, " bytes"), std::move(name), std::move(text));
  };
  const page_slot* const slot = pages_.find(process, address);
  if (slot == nullptr || slot->buffer == 0) {
    if (has(process) && address >= pages_.page_bytes() && address < processes_[process]->next_address)
      return refuse("invalid pointer", "the memory there has been given back");
    return refuse("invalid pointer", "the process was never given this address");
  }
  if (bytes == 0) return refuse("invalid value", "a range of no bytes");
  const buffer& all = *find_buffer(process, slot->buffer);
  if (bytes > all.bytes || address - slot->buffer > all.bytes - bytes)
    return refuse("out of bounds", words("the buffer at ", address_text{slot->buffer}, " has ", all.bytes, " bytes"));
  if (all.removed != 0)
    for (uint64_t at = pages_.first_byte(address); at < address + bytes; at += pages_.page_bytes())
      if (pages_.find(process, at) == nullptr)
        return refuse("invalid pointer", words("the page at ", address_text{at}, " was removed"));
  return slot->buffer;
}

uint64_t memory_allocator::buffer_at(process_id process, uint64_t address) const {
  const page_slot* const slot = pages_.find(process, address);
  return slot == nullptr ? 0 : slot->buffer;
}

void memory_allocator::hold(process_id process, uint64_t address) { ++find_buffer(process, address)->held; }

void memory_allocator::let_go(process_id process, uint64_t address) {
  buffer* const what = find_buffer(process, address);
  assert(what != nullptr && what->held != 0);
  --what->held;
}

memory_allocator::buffer* memory_allocator::find_buffer(process_id process, uint64_t address) const {
  if (!has(process) || (address & (pages_.page_bytes() - 1)) != 0) return nullptr;
  return processes_[process]->buffers.find(address >> page_bits_);
}

result<void> memory_allocator::check(const char* call, const std::string& arguments, process_id process,
                                     device_id device) const {
  if (!has(process)) return failure(call, arguments, "unknown process", words("there is no process ", process));
  if (!devices_->has(device)) return failure(call, arguments, "unknown device", devices_->known());
  return {};
}

result<void> memory_allocator::check_room(const char* call, const std::string& arguments, uint64_t count,
                                          device_id device, const std::vector<uint64_t>& returned) const {
  const auto gpus = devices_->physical(device);
  for (size_t n = 0; n < gpus.size(); ++n) {
    const uint64_t wanted = split_->of(count, gpus.size(), n).count;
    const uint64_t free = physical_.free_pages(gpus[n]) + (gpus[n] < returned.size() ? returned[gpus[n]] : 0);
    if (wanted > free)
      return failure(call, arguments, "out of memory",
                     words("device ", gpus[n], " has ", free, " free pages of ", wanted, " that it would take"));
  }
  return {};
}

std::string memory_allocator::why_busy(process_id process, uint64_t first, uint64_t end) const {
  for (uint64_t at = first; at < end; at += pages_.page_bytes()) {
    const page_slot* const slot = pages_.find(process, at);
    if (slot == nullptr) continue;
    if (slot->entry.migrating) return words("the page at ", address_text{at}, " is being migrated");
    if (slot->in_flight != 0) return words("a copy of the page at ", address_text{at}, " is under way");
    if (const buffer* const what = find_buffer(process, slot->buffer); what != nullptr && what->held != 0)
      return "a command that has not ended needs this buffer";
  }
  return {};
}

void memory_allocator::release(const page_slot& slot) {
  const page old = slot.entry;
  watcher_->released(old);
  pages_.remove(old.process, old.virtual_address).value();
  give_back(old);
}

}  // namespace heddle::driver
