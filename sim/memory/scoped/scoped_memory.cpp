// What scoped memory keeps of lanes and of locations, within a run and from one run to the next.
#include <heddle/sim/memory/scoped/scoped_inline.h>

#include <algorithm>
#include <memory>

namespace heddle::sim {

scoped_memory::scoped_memory(run_core& core, race_log& races)
    : core_(core), race_log_(races), machine_(core.machine), link_(core.machine.link) {}
scoped_memory::~scoped_memory() = default;

// -- lanes -----------------------------------------------------------------------------------------------------------------------

void scoped_memory::reset() {
  for (size_t n = 0; n < granules_used_; ++n) {
    granule& used = granules_[n];
    for (uint8_t at = 0; at < used.count; ++at) {
      drop_message(used.order[at]);
    }
    used.count = 0;
    used.base_readable = 0xff;
    used.accesses.clear();
  }
  granules_used_ = 0;
  for (const size_t slot : heap_touched_) of_heap_[slot] = nullptr;
  heap_touched_.clear();
  if (!elsewcore_.empty()) elsewcore_.clear();
  for (size_t n = 0; n < lanes_used_; ++n) {
    lane_facts& used = *lanes_[n];
    used.clock.clear();
    used.now = snapshot();
    used.fences.clear();
    used.deferred.clear();
    used.pending.clear();
    if (used.shares_counter) {
      used.acquired.clear();
      used.parted.clear();
      used.arm_view = snapshot();
    }
    used.epoch = 0;
    used.learnt_at = 0;
  }
  lanes_used_ = 0;
  totals_.clear();
  host_fences_.clear();
  objects_.clear();
  races_.reset();
  arrives_in_order_ = !link_.pool && !link_.relaxed_ordering && !link_.shared_on_device;
  arrived_in_order_ = 0;
  overtakings_.clear();
}

void scoped_memory::begins(lane& fresh, const lane* by) {
  while (lanes_.size() <= fresh.id) lanes_.push_back(std::make_unique<lane_facts>());
  lanes_used_ = std::max<size_t>(lanes_used_, fresh.id + size_t{1});
  lane_facts& mine = *lanes_[fresh.id];
  fresh.memory = &mine;
  mine.wave = fresh.of->id;
  mine.host = fresh.is_host();
  mine.side = mine.host ? 0 : fresh.of->gpu + 1;
  mine.tso = mine.host && !machine_.weak_host;
  mine.least_reach = mine.host ? uint8_t{same_system} : uint8_t{same_wave};
  mine.shares_counter = !mine.host && machine_.convergence == convergence::lockstep;
  // A host thread is a block of its own: what a block shares does not exist there.
  mine.block = mine.host ? uint64_t{1} << 63 | fresh.of->id : uint64_t{fresh.of->kernel} << 32 | fresh.of->block;
  mine.many_pending = lane_facts::few_pending;
  mine.store_bytes = 0;
  mine.window_address = nullptr;
  mine.seen_address = nullptr;
  mine.flag_step = 0;
  if (by != nullptr) {
    mine.clock.join_all(facts(*by).clock);
    clock_changed(mine);
    new_epoch(*by, facts(*by));
  }
  new_epoch(fresh, mine);
}

void scoped_memory::take_snapshot(lane_facts& mine) {
  mine.now = snapshots_.take();
  mine.now.edit().assign(mine.clock);
}

// Nothing is under way here: a store that has not arrived is one that others need not read yet.
void scoped_memory::let_arrive(lane&) {}
bool scoped_memory::all_arrives(lane&) { return false; }

// -- locations -------------------------------------------------------------------------------------------------------------------

// The first access to it, or one outside of the heap.
scoped_memory::granule& scoped_memory::add_granule(const void* address) {
  const auto place = reinterpret_cast<uintptr_t>(address) & ~uintptr_t{granule_bytes - 1};
  auto* const low = reinterpret_cast<std::byte*>(place);
  if (core_.map.heap.contains(low)) {
    const size_t slot = core_.map.heap.offset_of(low) / granule_bytes;
    if (slot >= of_heap_.size()) of_heap_.resize(std::max(slot + 1, of_heap_.size() * 2), nullptr);
    of_heap_[slot] = new_granule(low);
    scheduler::append(heap_touched_, slot);
    return *of_heap_[slot];
  }
  granule*& known = elsewcore_[place];
  if (known == nullptr) known = new_granule(low);
  return *known;
}

scoped_memory::granule* scoped_memory::new_granule(std::byte* address) {
  if (granules_used_ == granules_.size()) granules_.emplace_back();
  granule& fresh = granules_[granules_used_];
  fresh.number = static_cast<uint32_t>(granules_used_++);
  fresh.address = address;
  fresh.serial = fresh.newest = ++serials_;
  fresh.base = scoped::read_granule(address);
  fresh.has_unordered = false;
  return &fresh;
}

uint64_t scoped_memory::value_at(const granule& in, int cut) {
  uint64_t value = in.base;
  for (int n = 0; n <= cut; ++n) {
    const message& one = *in.order[static_cast<size_t>(n)];
    const uint64_t bytes = scoped::bytes_of_mask[one.mask];
    value = (value & ~bytes) | (one.value & bytes);
  }
  return value;
}

bool scoped_memory::readable_at(const granule& in, int cut, uint8_t mask) {
  for (int n = cut; n >= 0 && mask != 0; --n) {
    const message& one = *in.order[static_cast<size_t>(n)];
    if ((one.mask & mask & ~one.readable) != 0) return false;
    mask = static_cast<uint8_t>(mask & ~one.mask);
  }
  return (mask & ~in.base_readable) == 0;
}

// A load that would need the forgotten store must not find an older one in its place.
void scoped_memory::forget_oldest(granule& in) {
  for (uint8_t n = 0; n < in.count; ++n) {
    message* const oldest = in.order[n];
    uint8_t covered = 0;
    for (uint8_t later = n + 1; later < in.count && (oldest->mask & ~covered) != 0; ++later)
      covered |= in.order[later]->mask;
    const auto mask = oldest->mask;
    if ((mask & ~covered) != 0) continue;
    if (notes_ != nullptr && may_be_read(in, n)) notes_->forgot = true;
    for (uint8_t older = 0; older < n; ++older) {
      message& one = *in.order[older];
      one.readable = static_cast<uint8_t>(one.readable & ~mask);
    }
    in.base_readable = static_cast<uint8_t>(in.base_readable & ~mask);
    for (uint8_t other = 0; in.has_unordered && other < in.count; ++other)
      std::erase_if(in.order[other]->unordered, [&](const message::racing& one) { return one.with == oldest; });
    drop_message(oldest);
    std::copy(in.order.begin() + n + 1, in.order.begin() + in.count, in.order.begin() + n);
    --in.count;
    return;
  }
}

inline void scoped_memory::drop_message(message* unused) {
  unused->releases = {};
  unused->observers.clear();
  unused->observed_by_first = {};
  unused->observed_by.clear();
  unused->unordered.clear();
  unused->host_saw = false;
  scheduler::append(free_messages_, unused);
}

void scoped_memory::make_messages() {
  constexpr size_t together = 16;
  for (size_t n = 0; n < together; ++n) free_messages_.push_back(&messages_.emplace_back());
}

}  // namespace heddle::sim
