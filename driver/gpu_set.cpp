#include <heddle/driver/gpu_set.h>
#include <heddle/driver/message.h>

namespace heddle::driver {

gpu_set::gpu_set(const surroundings& around)
    : around_(around),
      contents_(around.settings.page_bits),
      memory_(around.settings.page_bits, devices_, *this, *around.settings.split),
      migrator_(around.services, *this) {
  devices_.add(device_kind::cpu);
  gpus_.push_back(nullptr);
  memory_.add_memory(cpu_device, around.settings.cpu_bytes).value();
}

gpu_set::~gpu_set() = default;

// -- devices ------------------------------------------------------------------------------------------------------------------------

result<device_id> gpu_set::register_gpu(uint64_t memory_bytes) {
  const device_id fresh = devices_.count();
  if (const auto range = memory_.add_memory(fresh, memory_bytes); !range) return range.why();
  devices_.add(device_kind::gpu);
  gpus_.resize(fresh + size_t{1});
  gpus_[fresh] = std::make_unique<gpu>(fresh, static_cast<gpu_surroundings&>(*this));
  return fresh;
}

result<device_id> gpu_set::create_unified_device(std::span<const device_id> gpus) {
  result<device_id> fresh = devices_.unify(gpus);
  if (fresh) gpus_.resize(devices_.count());
  return fresh;
}

// -- memory -------------------------------------------------------------------------------------------------------------------------

void gpu_set::released(const page& old) {
  for (const device_id each : devices_.gpus()) gpus_[each]->translations().shoot_down(old.process, old.virtual_address);
  if (l2_cache* const cache = cache_of(old.device)) cache->invalidate(old.physical_address, old.size_bytes);
  contents_.clear(old.physical_address);
}

l2_cache* gpu_set::cache_of(device_id device) {
  gpu* const on = gpu_of(device);
  return on == nullptr ? nullptr : &on->cache();
}

void gpu_set::write_memory(const page& where, uint64_t offset, std::span<const std::byte> from) {
  contents_.write(where.physical_address + offset, from);
  if (l2_cache* const cache = cache_of(where.device)) cache->invalidate(where.physical_address + offset, from.size());
}

uint64_t gpu_set::read_memory(const page& where, uint64_t offset, std::span<std::byte> to) {
  return contents_.read(where.physical_address + offset, to);
}

// -- the link -----------------------------------------------------------------------------------------------------------------------

void gpu_set::arrive(const request& what) {
  if (what.device == cpu_device) return deliver_to_cpu(what);
  gpus_[what.device]->arrive(what);
}

void gpu_set::deliver_to_cpu(const request& what) {
  // The CPU's memory is on this side of the link; nothing else is asked of it.
  request reply = what;
  if (what.kind == request_kind::write) {
    contents_.write(what.physical_address, {what.from_host, what.bytes});
  } else if (what.kind == request_kind::copy) {
    std::vector<std::byte> between(what.bytes);
    reply.poisoned_bytes = contents_.read(what.from, between);
    contents_.write(what.physical_address, between);
  } else {
    reply.poisoned_bytes = contents_.read(what.physical_address, {what.to_host, what.bytes});
  }
  answer(reply, 0);
}

void gpu_set::moved(const request& piece) {
  const driver_settings& set = around_.settings;
  switch (piece.kind) {
    case request_kind::write:
      return answer(piece, set.posted);
    case request_kind::read:
      return answer(piece, set.read - set.read / 2 + piece.bytes * set.copy_byte);
    default:
      return answer(piece, set.read + piece.bytes * set.copy_byte);
  }
}

void gpu_set::abandon(const page& old) {
  contents_.clear(old.physical_address);
  // What was not written back is lost with it.
  if (l2_cache* const cache = cache_of(old.device)) cache->invalidate(old.physical_address, old.size_bytes);
}

// -- migration ----------------------------------------------------------------------------------------------------------------------

void gpu_set::wants_page(page_slot& slot, device_id to) {
  slot.entry.migrating = true;
  migrator_.wants(slot, to);
  around_.cycle.tick_soon();
}

bool gpu_set::translates(device_id device, process_id process, uint64_t address) {
  return gpus_[device]->translations().find(process, address) != nullptr;
}

void gpu_set::answer_walks() {
  for (const device_id each : devices_.gpus()) gpus_[each]->retry();
}

// -- outside ------------------------------------------------------------------------------------------------------------------------

result<void> gpu_set::finish(const work_group& group) {
  gpu* const on = gpu_of(group.device);
  if (on != nullptr && on->finish(group.slot)) return {};
  return failure("finish", words("device ", group.device, ", work-group ", group.flat), "invalid value",
                 "it was left to no other");
}

}  // namespace heddle::driver
