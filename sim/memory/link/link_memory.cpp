#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/link/link_memory.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace heddle::sim {

using scheduler::choice_kind;
using scheduler::verdict;

link_memory::link_memory(run_core& core, arrival_listener& arrivals)
    : core_(core), arrivals_(arrivals), settings_(core.machine.link), link_(settings_, *this) {}

// -- the run -----------------------------------------------------------------------------------------------------------------------

void link_memory::reset() {
  link_.reset();
  lanes_.clear();
  asking_ = nullptr;
  lull_turns_ = 0;
  quiet_turns_ = 0;
  kernels_.clear();
  started_.clear();
  releasers_.clear();
  replaced_used_ = 0;
  storing_.size_bytes = 0;
  seen_at_ = nullptr;
  hasty_.reset();
  late_loads_.clear();
}

void link_memory::begins(lane& fresh, const lane* by) {
  if (fresh.id >= lanes_.size()) {
    lanes_.resize(fresh.id + size_t{1});
    started_.resize(fresh.id + size_t{1});
  }
  lanes_[fresh.id] = &fresh;
  if (fresh.is_on_host()) {
    link_.add_host_thread(fresh.id);
  } else {
    link_.add_device_thread(fresh.id, 0);
    const uint32_t kernel = fresh.of->kernel;
    if (kernel >= kernels_.size()) kernels_.resize(kernel + size_t{1}, {.at_ns = link_.now_ns()});
  }
  // Starting a thread is more than a store to the processor: its buffers are empty by then.
  if (by != nullptr) {
    link_.fence(by->id);
    drained(*by);
  }
  link_.see_present(fresh.id);
}

void link_memory::start_kernel(lane& self) {
  kernel_start& launch = kernels_[self.of->kernel];
  if (!launch.drawn) {
    launch.drawn = true;
    launch.at_ns += link_.delay_of(self.id, settings_.launch_ns);
  }
  link_.not_before(self.id, launch.at_ns);
}

void link_memory::let_arrive(lane& self) {
  asking_ = &self;
  if (!started_[self.id]) {
    started_[self.id] = true;
    if (!self.is_on_host()) start_kernel(self);
  }
  link_.begin_turn(self.id);
  if (link_.empty()) return;
  if (quiet_turns_ != 0) {
    --quiet_turns_;
    return;
  }
  // Whether, and then which: what there is a lot of is not to be early for that. Each no lets the lull that follows be longer, so that
  // under random answers there are lulls of all lengths: a lane that reads what overtook something has time to look for that.
  constexpr uint32_t longest_lull = 255;
  while (const uint32_t count = link_.deliverable()) {
    if (core_.pick(self, 2, choice_kind::arrive) == 0) {
      if (!settings_.lulls) return;
      quiet_turns_ = core_.pick(self, lull_turns_ + 1, choice_kind::arrive);
      lull_turns_ = std::min(lull_turns_ * 2 + 1, longest_lull);
      return;
    }
    lull_turns_ = 0;
    link_.deliver(core_.pick(self, count, choice_kind::arrive));
  }
}

bool link_memory::all_arrives(lane& self) {
  bool any = false;
  while (something_arrives(self)) any = true;
  return any;
}

bool link_memory::something_arrives(lane& self) {
  asking_ = &self;
  const uint32_t count = link_.deliverable();
  // Where time decides, it passes.
  if (count == 0) return link_.deliver_all();
  link_.deliver(core_.pick(self, count, choice_kind::arrive));
  return true;
}

uint32_t link_memory::choose(uint32_t, transport::question what, uint32_t count) {
  if (what == transport::question::delay) return core_.pick(*asking_, count, choice_kind::arrive);
  if (!core_.may_be_late(*asking_)) return 0;
  const uint32_t picked = core_.pick(*asking_, count, choice_kind::visible);
  if (picked != 0) --asking_->left.late;
  found_old_ = found_old_ || picked != 0;
  return picked;
}

void link_memory::arrived(const store_under_way& what, bool changed) {
  // What stands in for the newest bytes stays; these are the newest now.
  for (size_t n = 0; n < replaced_used_; ++n) {
    replaced& hidden = replaced_[n];
    for (size_t byte = 0; byte < what.where.size_bytes; ++byte) {
      const auto at = static_cast<size_t>(what.where.address + byte - hidden.address);
      if (at < hidden.newest.size()) hidden.newest[at] = static_cast<std::byte>(what.value >> byte * 8);
    }
  }
  if (core_.explains()) core_.store_arrived(what.step, what.where.size_bytes);
  // Stores leave a processor in order.
  drained(*lanes_[what.thread]);
  if (changed) arrivals_.arrived(*lanes_[what.thread], what.where.address, what.where.size_bytes, what.step);
  note_forgotten();
}

void link_memory::note_forgotten() {
  if (notes_ != nullptr && link_.has_forgotten()) notes_->forgot = true;
}

void link_memory::before_hasty_store(lane& self, const operation& how) {
  look_at_hasty(self, how, false);
  std::vector<piece> before;
  if (notes_ != nullptr && self.is_on_host())
    link_.each_under_way([&](const store_under_way& made, whereabouts where) {
      if (made.thread == self.id && is_kept_back(where)) before.push_back(made.where);
    });
  link_.fence(self.id);
  if (notes_ == nullptr || !self.is_on_host()) return;
  for (const piece& where : before) hasty_.stored(self.id, where.address, where.size_bytes);
  hasty_.stored(self.id, how.address, how.size_bytes);
}

void link_memory::look_at_hasty(const lane& self, const operation& how, bool loads) {
  if (notes_ == nullptr || hasty_.empty()) return;
  if (hasty_.may_miss(self.id, how.address, how.size_bytes))
    notes_->untold =
        "a store to a variable in a thread's frame, or on the C++ heap, takes effect at once; a processor may keep it "
        "back behind a load (have the variable elsewhere)";
  if (loads) hasty_.loads(self.id);
}

// -- atomic accesses ---------------------------------------------------------------------------------------------------------------

// Of a thread's frame not all accesses are seen: what is noted of a word of it need not be what it holds.
bool link_memory::covers(const void* address) const {
  return core_.map.heap.contains(address) || (!core_.map.may_vanish(address) && !core_.map.is_on_host_stack(address));
}

bool link_memory::is_on_device(const void* address) const {
  const heap& memory = core_.map.heap;
  if (!memory.contains(address)) return false;
  const allocation* const known = memory.nearest(address);
  return known != nullptr && (known->kind == memory_kind::device || settings_.shared_on_device);
}

bool link_memory::combines(const void* address) const {
  const heap& memory = core_.map.heap;
  if (!memory.contains(address)) return false;
  const allocation* const known = memory.nearest(address);
  return known != nullptr && known->kind == memory_kind::combining;
}

transport::access link_memory::access_of(const operation& how) const {
  return {.address = how.address,
          .size_bytes = how.size_bytes,
          .on_device = is_on_device(how.address),
          .combines = combines(how.address),
          .is_signal = how.kind == operation_kind::notify,
          .step = core_.history.this_step()};
}

uint64_t link_memory::load(lane& self, const operation& how) {
  asking_ = &self;
  look_at_hasty(self, how, true);
  if (covers(how.address)) {
    begin_load();
    const uint64_t value = ordered_load(link_, self.id, access_of(how), {.order = how.order, .reach = how.reach});
    end_load(self, how);
    note_forgotten();
    return value;
  }
  // Order counts also where the memory itself is immediate.
  if (how.order != memory_order::relaxed) link_.take_published(self.id);
  uint64_t value = 0;
  std::memcpy(&value, how.address, how.size_bytes);
  return value;
}

void link_memory::store(lane& self, const operation& how, uint64_t value) {
  asking_ = &self;
  if (covers(how.address)) {
    look_at_hasty(self, how, false);
    ordered_store(link_, self.id, access_of(how), value, {.order = how.order, .reach = how.reach});
  } else {
    before_hasty_store(self, how);
    link_.publish(self.id);
    std::memcpy(const_cast<void*>(how.address), &value, how.size_bytes);
  }
  if (how.order == memory_order::seq_cst) drained(self);
}

uint64_t link_memory::read_modify_write(lane& self, const operation& how, const modification& next) {
  asking_ = &self;
  look_at_hasty(self, how, false);
  drained(self);
  if (!covers(how.address)) {
    link_.fence(self.id);
    link_.publish(self.id);
    link_.take_published(self.id);
    uint64_t old = 0;
    std::memcpy(&old, how.address, how.size_bytes);
    if (next.writes != nullptr && !next.writes(next.context, old)) return old;
    const uint64_t value = next.apply(next.context, old);
    std::memcpy(const_cast<void*>(how.address), &value, how.size_bytes);
    return old;
  }
  const transport::access what = access_of(how);
  const std::optional<uint64_t> old =
      ordered_modify(link_, self.id, what, next, next.is_atomic_op, {.order = how.order, .reach = how.reach});
  if (old) {
    const bool is_dropped =
        settings_.rmw == rmw_capability::dropped && self.is_on_host() == what.on_device && !what.is_signal;
    if (is_dropped && core_.observers.recorder != nullptr &&
        (next.writes == nullptr || next.writes(next.context, *old)))
      core_.observers.recorder->change_is_dropped(self);
    return *old;
  }
  core_.end(self, verdict::memory,
            sim::describe(how) + " of " + describe_location(core_.map.heap, how.address) +
                " across the link, which carries " +
                (settings_.rmw == rmw_capability::pcie ? "no atomics but fetch_add, exchange and compare_exchange"
                                                       : "no atomics") +
                " (link.rmw)");
}

void link_memory::fence(lane& self, const operation& how) {
  asking_ = &self;
  ordered_fence(link_, self.id, {.order = how.order, .reach = how.reach});
  if (how.order == memory_order::seq_cst) drained(self);
}

void link_memory::store_fence(lane& self, const operation& how) {
  asking_ = &self;
  // A call is about to read what the thread has stored.
  if (how.kind != operation_kind::fence) return before_hasty_store(self, how);
  link_.fence(self.id, transport::orders::stores);
}

// -- plain accesses ----------------------------------------------------------------------------------------------------------------

// Puts bytes in memory for as long as the code under test makes its access.
void link_memory::show(std::byte* address, const std::byte* bytes, size_t size_bytes) {
  if (replaced_used_ == replaced_.size()) replaced_.emplace_back();
  replaced& hidden = replaced_[replaced_used_++];
  hidden.address = address;
  hidden.newest.assign(address, address + size_bytes);
  std::memcpy(address, bytes, size_bytes);
}

void link_memory::put_back() {
  while (replaced_used_ != 0) {
    const replaced& hidden = replaced_[--replaced_used_];
    std::memcpy(hidden.address, hidden.newest.data(), hidden.newest.size());
  }
}

void link_memory::before_plain_load(lane& self, const operation& how) {
  asking_ = &self;
  look_at_hasty(self, how, true);
  seen_at_ = nullptr;
  if (!covers(how.address)) return;
  const transport::access what = access_of(how);
  if (!self.is_on_host() && what.on_device) {
    // One that is assumed to acquire.
    if (acquires(how.order)) ordered_fence(link_, self.id, {.order = memory_order::acquire, .reach = how.reach});
    return;
  }
  auto* const address = static_cast<std::byte*>(const_cast<void*>(how.address));
  seen_.resize(how.size_bytes);
  begin_load();
  link_.load_range(self.id, what, seen_.data());
  end_load(self, how);
  if (acquires(how.order)) ordered_fence(link_, self.id, {.order = memory_order::acquire, .reach = how.reach});
  note_forgotten();
  if (std::memcmp(seen_.data(), address, how.size_bytes) == 0) return;
  show(address, seen_.data(), how.size_bytes);
  seen_at_ = address;
  self.unsettled = true;
}

void link_memory::before_plain_store(lane& self, const operation& how) {
  asking_ = &self;
  // One that is assumed to release.
  if (releases(how.order)) ordered_fence(link_, self.id, {.order = memory_order::release, .reach = how.reach});
  if (!covers(how.address)) return before_hasty_store(self, how);
  look_at_hasty(self, how, false);
  const transport::access what = access_of(how);
  if (!self.is_on_host() && what.on_device) {
    if (core_.explains()) core_.store_arrived(what.step, how.size_bytes);
    return;
  }
  // A store that never comes is recognised by the bytes that stay as the lane had them.
  own_.resize(how.size_bytes);
  link_.read_own(self.id, what, own_.data());
  show(static_cast<std::byte*>(const_cast<void*>(how.address)), own_.data(), how.size_bytes);
  storing_ = how;
  storing_step_ = what.step;
  self.unsettled = true;
}

bool link_memory::withdraw_store(lane&, const void* loaded) {
  const auto* const to = static_cast<const std::byte*>(storing_.address);
  const auto* const from = static_cast<const std::byte*>(loaded);
  const size_t size_bytes = storing_.size_bytes;
  const bool overlaps = from < to + size_bytes && to < from + size_bytes;
  if (size_bytes == 0 || overlaps || std::memcmp(to, own_.data(), size_bytes) != 0) return false;
  storing_.size_bytes = 0;
  put_back();
  return true;
}

void link_memory::see_again(lane&) {
  if (storing_.size_bytes == 0 || seen_at_ != storing_.address) return;
  show(static_cast<std::byte*>(const_cast<void*>(storing_.address)), seen_.data(), seen_.size());
}

void link_memory::look_again(lane& self, const operation& how) {
  asking_ = &self;
  if (!covers(how.address)) return;
  const transport::access what = access_of(how);
  if (!self.is_on_host() && what.on_device) return;
  auto* const address = static_cast<std::byte*>(const_cast<void*>(how.address));
  seen_.resize(how.size_bytes);
  link_.load_range(self.id, what, seen_.data());
  if (std::memcmp(seen_.data(), address, how.size_bytes) == 0) return;
  show(address, seen_.data(), how.size_bytes);
  self.unsettled = true;
}

void link_memory::after_plain(lane& self) {
  const operation how = storing_;
  const uint32_t size_bytes = std::exchange(storing_.size_bytes, 0);
  if (size_bytes == 0) return put_back();
  asking_ = &self;
  const auto* const address = static_cast<const std::byte*>(how.address);
  scratch_.assign(address, address + size_bytes);
  put_back();
  // Whole objects are announced once too often (object_read in runtime/entry.h); those accesses have none of these sizes.
  const bool is_word = size_bytes <= plain_store_in_progress::largest_bytes && std::has_single_bit(size_bytes);
  if (!is_word && scratch_ == own_) {
    if (core_.explains()) core_.store_arrived(storing_step_, size_bytes);
    return;
  }
  transport::access what = access_of(how);
  what.step = storing_step_;
  link_.store_range(self.id, what, scratch_.data());
}

}  // namespace heddle::sim
