#include <heddle/driver/aql_packet.h>
#include <heddle/driver/gpu.h>
#include <heddle/driver/message.h>
#include <heddle/driver/split.h>

#include <algorithm>
#include <cassert>
#include <type_traits>

namespace heddle::driver {

class gpu::port final : public group_memory_port {
 public:
  port(gpu& on, process_id process, command* of) : on_(&on), process_(process), of_(of) {}

  access read(uint64_t address, std::span<std::byte> to) override {
    return seen(on_->read(process_, address, to, of_));
  }
  access write(uint64_t address, std::span<const std::byte> from) override {
    return seen(on_->write(process_, address, from, of_));
  }
  bool waited() const { return waited_; }

 private:
  access seen(access how) {
    if (how == access::waits) waited_ = true;
    return how;
  }
  gpu* on_;
  process_id process_;
  command* of_;
  bool waited_ = false;
};

gpu::gpu(device_id id, gpu_surroundings& around)
    : ticking(around.engine(), around.settings().cycle),
      id_(id),
      around_(&around),
      cache_(around.settings().page_bits, around.memory_bytes()),
      translations_(around.settings().page_bits),
      dispatcher_(around.settings().compute_units, around.settings().groups_per_unit, around.settings().dispatch),
      most_slots_(size_t{around.settings().compute_units} * around.settings().groups_per_unit) {}

void gpu::arrive(const request& what) {
  const driver_settings& set = around_->settings();
  request reply = what;
  byte_mover* const mover = what.of != nullptr && what.of->staged.empty() ? around_->mover() : nullptr;
  switch (what.kind) {
    case request_kind::write:
      if (mover != nullptr) return mover->move(what);
      around_->memory_bytes().write(what.physical_address, {what.from_host, what.bytes});
      cache_.invalidate(what.physical_address, what.bytes);
      return around_->answer(reply, set.posted);
    case request_kind::read:
      if (mover != nullptr) return mover->move(what);
      reply.poisoned_bytes = around_->memory_bytes().read(what.physical_address, {what.to_host, what.bytes});
      return around_->answer(reply, set.read - set.read / 2 + what.bytes * set.copy_byte);
    case request_kind::copy: {
      if (mover != nullptr) return mover->move(what);
      std::vector<std::byte> between(what.bytes);
      reply.poisoned_bytes = around_->memory_bytes().read(what.from, between);
      around_->memory_bytes().write(what.physical_address, between);
      cache_.invalidate(what.physical_address, what.bytes);
      return around_->answer(reply, set.read + what.bytes * set.copy_byte);
    }
    case request_kind::launch:
      if (takes_launches()) return begin(what);
      held_back_.push_back(what);
      return;
    case request_kind::flush:
      flushes_.push(what);
      around_->engine().schedule(around_->engine().now() + set.fence, event_rank::primary, flush_end_).value();
      return;
    case request_kind::drain_rdma:
      // An access is over when its work-group goes on, so none is under way here.
      rdma_open_ = false;
      return around_->answer(reply, set.posted);
    case request_kind::shoot_down:
      paused_ = true;
      for (const uint64_t address : *what.pages)
        if (set.fault != driver_fault::kept_translation) translations_.shoot_down(what.process, address);
      if (set.flush_before_copy) write_back();
      return around_->answer(reply, set.fence + set.posted);
    case request_kind::copy_page:
      if (byte_mover* const bytes = around_->mover())
        bytes->copy_page(what);
      else
        around_->memory_bytes().copy_page(what.from, what.physical_address);
      return around_->answer(reply, set.read + what.bytes * set.copy_byte);
    case request_kind::restart:
      paused_ = false;
      begin_held_back();
      retry();
      tick_soon();
      return around_->answer(reply, set.posted);
    case request_kind::restart_rdma:
      rdma_open_ = true;
      begin_held_back();
      retry();
      return around_->answer(reply, set.posted);
  }
}

void gpu::begin_held_back() {
  if (!takes_launches()) return;
  for (const request& order : held_back_) begin(order);
  held_back_.clear();
}

void gpu::write_back() {
  cache_.flush();
  if (around_->mover() != nullptr) around_->mover()->flush(id_);
}

// Until then nothing has to be in memory.
void gpu::end_flush() {
  const request what = flushes_.pop();
  write_back();
  around_->answer(what, around_->settings().posted);
}

void gpu::begin(const request& order) {
  auto idle = std::find_if(kernels_.begin(), kernels_.end(), [](const auto& each) { return !each->busy; });
  if (idle == kernels_.end()) idle = kernels_.insert(idle, std::make_unique<running_kernel>());
  running_kernel& fresh = **idle;
  fresh.order = order;
  fresh.on_units = 0;
  fresh.busy = true;
  fresh.answered = false;
  // As a command processor does it: all that is known of the kernel is what the packet says.
  aql_packet packet;
  static_assert(std::is_trivially_copyable_v<aql_packet>);
  if (read(order.process, order.part.packet, std::as_writable_bytes(std::span(&packet, 1)), order.of) != access::done ||
      packet.header != aql_packet::dispatch_header) {
    if (order.of != nullptr)
      order.of->fail(failure("launch", order.of->describe(), "invalid packet",
                             words("device ", id_, " finds none at ", address_text{order.part.packet})));
    packet = {};
  }
  fresh.pattern = {.launch = packet.completion_signal,
                   .process = order.process,
                   .device = id_,
                   .grid = {.items = {packet.grid_x, packet.grid_y, packet.grid_z},
                            .group = {packet.group_x, packet.group_y, packet.group_z}},
                   .code_object = packet.code_object,
                   .arguments = packet.arguments,
                   .group_bytes = packet.group_bytes,
                   .private_bytes = packet.private_bytes};
  // The kernel is the packet's, and this GPU's part of it is what the launch says.
  fresh.filter = {.grid = fresh.pattern.grid, .mine = fresh.pattern.grid.empty() ? share{} : order.part.groups};
  dispatcher_.begin(fresh.work, fresh.filter.mine);
  active_.push_back(&fresh);
  if (fresh.work.left == 0) return end_if_done(fresh);
  tick_soon();
}

bool gpu::tick() {
  if (paused_) return false;
  bool any = !again_.empty();
  now_again_.swap(again_);
  for (const uint32_t at : now_again_) execute(at);
  now_again_.clear();
  uint32_t started = 0;
  // A kernel whose last group ends here leaves the list, and the next one has its place.
  for (size_t n = 0; n < active_.size() && started < around_->settings().groups_per_cycle;) {
    running_kernel& from = *active_[n];
    const auto placed = dispatcher_.place(from.work);
    if (!placed) {
      ++n;
      continue;
    }
    const uint32_t at = take_slot();
    group_slot& into = slots_[at];
    into.of = &from;
    into.group = from.pattern;
    into.group.unit = placed->unit;
    into.group.flat = placed->group;
    into.group.place = from.pattern.grid.place(placed->group);
    assert(from.filter.accepts(into.group.place));
    into.group.size = from.pattern.grid.size_of(into.group.place);
    into.group.slot = at;
    ++from.on_units;
    ++started;
    execute(at);
    if (from.work.left == 0 && from.on_units != 0) end_if_done(from);
  }
  return any || started != 0;
}

// Slots are made when they are first needed: there may be room for many more groups than ever come.
uint32_t gpu::take_slot() {
  if (free_slots_.empty()) {
    assert(slots_.size() < most_slots_);
    slots_.emplace_back();
    return static_cast<uint32_t>(slots_.size() - 1);
  }
  const uint32_t at = free_slots_.back();
  free_slots_.pop_back();
  return at;
}

void gpu::execute(uint32_t at) {
  group_slot& what = slots_[at];
  what.state = slot_state::runs;
  execution how;
  if (work_group_runner* const runner = around_->runner()) {
    port memory(*this, what.group.process, what.of->order.of);
    how = runner->execute(what.group, memory);
    if (how.how == execution::state::waits && !memory.waited()) {
      if (command* const of = what.of->order.of)
        of->fail(failure("launch", of->describe(), "waits for nothing",
                         words("work-group ", what.group.flat, " waits, and none of its accesses does")));
      how = {};
    }
  }
  switch (how.how) {
    case execution::state::done:
      if (how.duration == 0) return leave(at);
      around_->engine()
          .schedule(around_->engine().now() + how.duration, event_rank::primary, group_end_, 0, at)
          .value();
      return;
    case execution::state::waits:
      what.state = slot_state::waits;
      waiting_.push_back(at);
      return;
    case execution::state::later:
      what.state = slot_state::outside;
      around_->left_outside(true);
      return;
  }
}

void gpu::retry() {
  if (work_group_runner* const runner = around_->runner()) runner->retry(id_);
  if (waiting_.empty()) return;
  again_.insert(again_.end(), waiting_.begin(), waiting_.end());
  waiting_.clear();
  tick_soon();
}

bool gpu::finish(uint32_t at) {
  if (at >= slots_.size() || slots_[at].state != slot_state::outside) return false;
  around_->left_outside(false);
  leave(at);
  return true;
}

void gpu::leave(uint32_t at) {
  group_slot& what = slots_[at];
  what.state = slot_state::free;
  free_slots_.push_back(at);
  dispatcher_.leave(what.group.unit);
  running_kernel& of = *what.of;
  --of.on_units;
  // Its place may be wanted, by this kernel or by another one.
  tick_soon();
  end_if_done(of);
}

void gpu::end_if_done(running_kernel& of) {
  if (of.work.left != 0) return;
  const bool is_over = of.on_units == 0;
  if (!of.answered && (is_over || around_->settings().fault == driver_fault::early_end)) {
    of.answered = true;
    around_->answer(of.order, around_->settings().posted);
  }
  if (!is_over) return;
  of.busy = false;
  active_.erase(std::find(active_.begin(), active_.end(), &of));
}

access gpu::translate(process_id process, uint64_t address, page& walked, command* of) {
  if (paused_) return access::waits;
  if (const page* const known = translations_.find(process, address)) {
    walked = *known;
  } else {
    page_slot* const slot = around_->pages().find(process, address);
    if (slot == nullptr) {
      if (of != nullptr)
        of->fail(failure(
            "launch", of->describe(), "memory fault",
            words("device ", id_, " accesses ", address_text{address}, ", which process ", process, " has not got")));
      return access::fault;
    }
    if (slot->entry.migrating) return access::waits;
    if (slot->entry.device != id_ && slot->entry.unified && !slot->entry.pinned) {
      around_->wants_page(*slot, id_);
      return access::waits;
    }
    translations_.put(slot->entry);
    walked = slot->entry;
  }
  return walked.device == id_ || rdma_open_ ? access::done : access::waits;
}

access gpu::translate_all(process_id process, uint64_t address, uint64_t bytes, command* of) {
  access all = access::done;
  for_each_page_piece(address, bytes, around_->pages().page_bytes(), [&](uint64_t at, uint64_t, uint64_t) {
    page walked;
    if (all != access::fault) {
      const access one = translate(process, at, walked, of);
      if (one != access::done) all = one;
    }
  });
  return all;
}

access gpu::read(process_id process, uint64_t address, std::span<std::byte> to, command* of) {
  if (const access all = translate_all(process, address, to.size(), of); all != access::done) return all;
  uint64_t poisoned_bytes = 0;
  for_each_page_piece(
      address, to.size(), around_->pages().page_bytes(), [&](uint64_t at, uint64_t done, uint64_t size) {
        page walked;
        translate(process, at, walked, of);
        const uint64_t physical_address = walked.physical_address + (at - walked.virtual_address);
        l2_cache* const cache = around_->cache_of(walked.device);
        poisoned_bytes += cache != nullptr ? cache->read(physical_address, to.subspan(done, size))
                                           : around_->memory_bytes().read(physical_address, to.subspan(done, size));
      });
  if (poisoned_bytes != 0 && of != nullptr)
    of->fail(failure("launch", of->describe(), "poisoned",
                     words("device ", id_, " reads ", poisoned_bytes, " bytes from ", address_text{address},
                           " on that were not written since their page was remapped")));
  return access::done;
}

access gpu::write(process_id process, uint64_t address, std::span<const std::byte> from, command* of) {
  if (const access all = translate_all(process, address, from.size(), of); all != access::done) return all;
  for_each_page_piece(address, from.size(), around_->pages().page_bytes(),
                      [&](uint64_t at, uint64_t done, uint64_t size) {
                        page walked;
                        translate(process, at, walked, of);
                        const uint64_t physical_address = walked.physical_address + (at - walked.virtual_address);
                        if (l2_cache* const cache = around_->cache_of(walked.device))
                          cache->write(physical_address, from.subspan(done, size));
                        else
                          around_->memory_bytes().write(physical_address, from.subspan(done, size));
                      });
  return access::done;
}

}  // namespace heddle::driver
