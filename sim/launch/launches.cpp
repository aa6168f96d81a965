#include <heddle/driver/split.h>
#include <heddle/sim/base/invariant.h>
#include <heddle/sim/launch/command_driver.h>
#include <heddle/sim/launch/launches.h>

#include <algorithm>
#include <cstring>

namespace heddle::sim {
using scheduler::verdict;

launches::launches(run_core& core, device_allocations& memory, lockstep_waves& lockstep, waits& waiting)
    : core_(core), memory_(memory), lockstep_(lockstep), waits_(waiting) {}
launches::~launches() = default;

namespace {

std::string name_in_stream(const char* what, uint32_t number, uint32_t stream) {
  return std::string(what) + ' ' + std::to_string(number) +
         (stream == 0 ? " of the default stream" : " of stream " + std::to_string(stream));
}

// CUDA C++ Programming Guide, "Thread Block Clusters"; 16 blocks are what a kernel may ask for that asks for sizes that not every device has.
void check_clusters(run_core& core, lane& self, const grid_shape& shape, uint64_t waves, size_t gpus) {
  const auto sizes = [](const extent& of) {
    return std::to_string(of.x) + "x" + std::to_string(of.y) + "x" + std::to_string(of.z);
  };
  const extent& cluster = shape.cluster;
  constexpr uint64_t most = 16;
  if (cluster.count() == 0 || cluster.count() > most)
    core.end(self, verdict::assertion, "a cluster has 1 to 16 blocks, and not " + sizes(cluster));
  if (shape.grid.x % cluster.x != 0 || shape.grid.y % cluster.y != 0 || shape.grid.z % cluster.z != 0)
    core.end(self, verdict::assertion,
             "a grid of " + sizes(shape.grid) + " blocks cannot be cut into clusters of " + sizes(cluster));
  if (waves > core.machine.resident)
    core.end(self, verdict::assertion,
             "a cluster of " + std::to_string(waves) + " waves does not fit on a device that holds " +
                 std::to_string(core.machine.resident) + " (setting 'resident')");
  if (gpus > 1)
    core.end(self, verdict::unsupported, "clusters of several blocks on a device of several GPUs are not simulated");
}

}  // namespace

void launches::check_shape(lane& self, const grid_shape& shape) const {
  const uint64_t blocks = shape.grid.count();
  const uint64_t threads = shape.block.count();
  if (blocks == 0 || threads == 0 || shape.wave_lanes == 0 || shape.wave_lanes > 64)
    core_.end(self, verdict::assertion,
              "a launch needs at least one block, one wave and one lane, and at most 64 lanes a wave");
  const uint64_t waves = waves_of_block(shape);
  if (waves > core_.machine.resident)
    core_.end(self, verdict::assertion,
              "a block of " + std::to_string(waves) + " waves does not fit on a device that holds " +
                  std::to_string(core_.machine.resident) + " (setting 'resident')");
  if (shape.cluster.count() != 1)
    check_clusters(core_, self, shape, waves * shape.cluster.count(),
                   memory_.devices()[streams_[shape.stream].device].gpus.size());
  constexpr size_t most = memory_map::most_lanes_at_once;
  if (blocks > most || threads * blocks > most)
    core_.end(self, verdict::unsupported,
              "a launch of " + std::to_string(blocks) + " blocks of " + std::to_string(threads) +
                  " threads, and at most " + std::to_string(most) +
                  " lanes are simulated at a time: give the program a size with which it launches at most " +
                  std::to_string(most / threads) + " such blocks here");
}

uint32_t launches::add(lane& self, const grid_shape& shape, const fiber_body& body, const void* bytes) {
  check_stream(self, shape.stream, self.pending);
  check_shape(self, shape);
  memory_.cache().forget();
  launched_kernel& added = kernels_.emplace_back();
  core_.threads.kernels_under_way = kernels_.size();
  added.shape = shape;
  added.blocks = static_cast<uint32_t>(shape.grid.count());
  added.cluster_blocks = static_cast<uint32_t>(shape.cluster.count());
  added.waves_per_block = static_cast<uint32_t>(waves_of_block(shape));
  added.live_waves = added.blocks * added.waves_per_block;
  added.first_wave = core_.threads.waves_used;
  added.ordinal = kernels_launched_;
  if (shape.early && commands_ == nullptr && streams_[shape.stream].last.size() == 1)
    for (const launched_kernel& before : kernels_)
      if (before.ordinal == streams_[shape.stream].last[0] && kernel_ends_[before.ordinal] == 0) {
        added.early_behind = before.ordinal;
        early_.keep(before);
      }
  added.after = take_place_in(shape.stream, self);
  added.device = streams_[shape.stream].device;
  added.priority = streams_[shape.stream].priority;
  evictions_.begins_to_wait(added);
  deal_out(added);
  if (memory_.unflushed().on() && commands_ == nullptr) memory_.unflushed().kernel_launched(core_.map.heap);
  added.body = body;
  if (core_.machine.convergence == convergence::lockstep && shape.block.count() > 1)
    lockstep_.prepare(self, reinterpret_cast<const void*>(body.invoke));
  added.bytes.resize(body.size_bytes);
  std::memcpy(added.bytes.data(), bytes, body.size_bytes);
  for (uint32_t n = 0; n < added.live_waves; ++n) {
    wave& fresh = core_.new_wave();
    fresh.device_id = device_waves_++;
    fresh.kernel = added.ordinal;
    fresh.device = added.device;
    fresh.runs = &added;
    fresh.block = n / added.waves_per_block;
    fresh.in_kernel = n;
    fresh.live_lanes = added.lanes_of(n % added.waves_per_block);
    fresh.named = shape.named != nullptr;
    if (fresh.named) fresh.name = name_in_stream(shape.named, ++named_launches_, shape.stream);
    core_.enabled.fair.live(fresh);
  }
  added.for_each_share([&](const launched_kernel::share& of) {
    for (size_t n = size_t{of.next} * added.waves_per_block; n < size_t{of.end} * added.waves_per_block; ++n)
      core_.threads.waves[added.first_wave + n].gpu = of.gpu;
  });
  more_or_less_runs(self, added.device, 0);
  if (commands_ == nullptr) {
    added.come_blocks = added.blocks;
    start_blocks(self);
    return added.blocks;
  }
  // The driver brings them.
  added.for_each_share([](launched_kernel::share& of) {
    of.end = of.next;
    of.others.clear();
  });
  commands_->launch(self, added);
  return added.blocks;
}

uint32_t launches::add_copy(lane& self, const stream_copy& what, uint32_t stream, const fiber_body& how_to_run) {
  check_stream(self, stream, self.pending);
  // Before the launch, of which it knows all that is done until then.
  for (const void* const given : {static_cast<const void*>(what.to), what.from}) core_.frames.give_any(self, given);
  place_in_stream at = {.stream = stream, .ordinal = kernels_launched_};
  at.after = take_place_in(stream, self);
  ++copies_given_;
  if (what.function != nullptr && !functions_.are_drawn()) {
    const host_functions how = core_.machine.host.functions;
    const bool any = how == host_functions::any && core_.phase.is_open();
    functions_.draw(any ? core_.pick(self, 2, scheduler::choice_kind::start) != 0 : how == host_functions::one);
  }
  if (commands_ != nullptr)
    commands_->copy(self, what, at, how_to_run);
  else
    start_engine(self, what, at,
                 name_in_stream(what.named != nullptr      ? what.named
                                : what.function == nullptr ? "copy"
                                                           : "host function",
                                copies_given_, stream),
                 how_to_run);
  more_or_less_runs(self, streams_[stream].device, 0);
  return copies_given_;
}

lane& launches::start_engine(lane& self, const stream_copy& what, const place_in_stream& at, const std::string& name,
                             const fiber_body& how_to_run) {
  core_.check_host_stacks(self);
  wave& engine = core_.new_wave();
  engine.host = engine.copies = true;
  engine.kernel = at.ordinal;
  engine.device = streams_[at.stream].device;
  engine.by_gpu = what.by_gpu;
  if (what.by_gpu) engine.gpu = memory_.devices()[engine.device].gpus.front();
  engine.after = at.after;
  engine.name = name;
  engine.live_lanes = 1;
  engine.resident = true;
  lane& copies = core_.new_lane(engine, 0);
  copies.how_to_run = &how_to_run;
  if (core_.late != nullptr) {
    core_.late->begins(copies, nullptr);
    core_.late->acquire_object(copies, object_of_launch(engine.kernel));
  }
  core_.begin(copies);
  std::memcpy(copies.body, &what, sizeof what);
  core_.enabled.fair.live(engine);
  core_.enable(copies);
  return copies;
}

void launches::wave_ended(lane& last) {
  wave& of = *last.of;
  --resident_waves_;
  if (core_.machine.evict == eviction::queue) --of.runs->placed_waves;
  --memory_.devices()[of.gpu].resident;
  if (of.runs->cluster_blocks > 1 && !bulk_.block_is_live(of)) memory_.block_ended(last);
  if (commands_ != nullptr) commands_->block_ended(last);
  --of.runs->live_waves;
  if (of.runs->has_ended()) kernel_ended(last);
  start_blocks(last);
}

void launches::copy_ended(lane& engine) {
  if (engine.of->bulk) {
    if (bulk_copies::has_ended(engine)) kernel_ended(engine);
    return start_blocks(engine);
  }
  if (commands_ != nullptr) return commands_->piece_ended(engine);
  work_ended(engine, engine.of->kernel);
  start_blocks(engine);
}

// Where not all that may begin have a place, those of the highest priority get one first, of these those that were launched first.
void launches::start_blocks(lane& self) {
  if (evictions_.are_on()) {
    core_.phase.want_places(true);
    core_.enabled.asks_until = 0;
    for (uint32_t gpu = 0; gpu < memory_.devices().gpus(); ++gpu) evictions_.give_places(self, gpu, false);
    return;
  }
  const auto start = [&](launched_kernel& runs) {
    if (runs.started_blocks < runs.blocks && may_begin(runs))
      runs.for_each_share([&](launched_kernel::share& of) { start_blocks_of(self, runs, of); });
  };
  if (!prioritised_) {
    for (launched_kernel& runs : kernels_) start(runs);
    return;
  }
  std::vector<launched_kernel*> order;
  for (launched_kernel& runs : kernels_) order.push_back(&runs);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* one, const auto* other) { return one->priority > other->priority; });
  for (launched_kernel* runs : order) start(*runs);
}

// Pages and blocks of one number go to one GPU of a unified device, where there are as many of both.
void launches::deal_out(launched_kernel& added) const {
  const std::vector<uint32_t>& gpus = memory_.devices()[added.device].gpus;
  if (gpus.size() > 1) added.parts.resize(gpus.size());
  size_t n = 0;
  added.for_each_share([&](launched_kernel::share& of) {
    const driver::share mine = core_.machine.split->of(added.blocks, gpus.size(), n);
    of.gpu = gpus[n++];
    of.next = static_cast<uint32_t>(mine.first);
    of.end = static_cast<uint32_t>(mine.end());
    if (!core_.machine.starts_in_order)
      for (uint32_t block = of.next; block < of.end; block += added.cluster_blocks) of.others.push_back(block);
  });
}

void launches::start_blocks_of(lane& self, launched_kernel& runs, launched_kernel::share& of) {
  if (core_.times != nullptr) core_.times->starts_blocks(self);
  const uint32_t together = runs.cluster_blocks;
  const auto left = [&] { return (of.end - of.next) / together; };
  const auto have_room = [&](uint32_t clusters) {
    return evictions_.fits(of.gpu, uint64_t{clusters} * runs.waves_of_cluster());
  };
  while (left() != 0 && have_room(1)) {
    uint32_t block = of.next;
    if (!core_.machine.starts_in_order) {
      // Where all have a place, the order in which they get it does not show.
      const uint32_t which =
          have_room(left()) || left() == 1 ? 0 : core_.pick(self, left(), scheduler::choice_kind::start);
      block = of.others[which];
      of.others.erase(of.others.begin() + which);
    }
    of.next += together;
    for (uint32_t n = 0; n < together; ++n) start_block(runs, runs.block_of({.cluster = block / together, .rank = n}));
  }
}

void launches::start_block(launched_kernel& runs, uint32_t block) {
  uint32_t gpu = 0;
  for (uint32_t n = 0; n < runs.waves_per_block; ++n) {
    wave& starts = core_.threads.waves[runs.first_wave + size_t{block} * runs.waves_per_block + n];
    gpu = starts.gpu;
    starts.resident = true;
    core_.enabled.fair.placed(starts);
    for (uint32_t index = 0; index < runs.lanes_of(n); ++index) {
      lane& fresh = core_.new_lane(starts, index);
      fresh.how_to_run = &runs.body;
      if (core_.late != nullptr) {
        core_.late->begins(fresh, nullptr);
        core_.late->acquire_object(fresh, object_of_launch(runs.ordinal));
        // What it may begin in front of is not ordered before, wherever that ends.
        for (const uint32_t earlier : runs.after)
          if (kernel_ends_[earlier] != 0 && (earlier != runs.early_behind || !early_.has_let(earlier)))
            core_.late->acquire_object(fresh, object_of_end(earlier));
        if (runs.early_behind != launched_kernel::none && early_.has_let(runs.early_behind))
          early_.for_each_before(runs.early_behind,
                                 [&](uint32_t earlier) { core_.late->acquire_object(fresh, object_of_end(earlier)); });
        core_.late->has_begun(fresh);
      }
    }
    if (core_.machine.convergence == convergence::lockstep && starts.lanes.size() > 1) lockstep_.keep_together(starts);
    for (lane* fresh : starts.lanes) core_.enable(*fresh);
  }
  resident_waves_ += runs.waves_per_block;
  if (evictions_.are_on())
    for (uint32_t n = 0; n < runs.waves_per_block; ++n)
      evictions_.begin_turn(core_.threads.waves[runs.first_wave + size_t{block} * runs.waves_per_block + n]);
  memory_.devices()[gpu].resident += runs.waves_per_block;
  ++runs.started_blocks;
}

void launches::acquire_kernels(lane& self, uint32_t device) {
  early_.seen().see_all(device);
  if (core_.late == nullptr) return;
  uint32_t n = seen_idle_.by == self.id && seen_idle_.device == device ? seen_idle_.launches : 0;
  for (; n < kernels_launched_; ++n)
    if (launch_devices_[n] == device) core_.late->acquire_object(self, object_of_end(n));
  seen_idle_ = {.by = self.id, .device = device, .launches = n};
}

bool launches::visit_state(state_reader& to) const {
  const bool counts = to.fact(functions_.state()) && to.fact(kernels_launched_) && to.fact(kernels_running_) &&
                      to.fact(resident_waves_) && (commands_ == nullptr || to.fact(commands_->past()));
  return counts && visit_streams(to) && (!evictions_.are_on() || evictions_.visit_state(to));
}

void launches::visit_kernels(state_reader& to) const {
  for (const launched_kernel& runs : kernels_) {
    to.fact(uint64_t{runs.ordinal} << 32 | runs.started_blocks);
    runs.for_each_share([&](const launched_kernel::share& of) {
      to.fact(uint64_t{of.gpu} << 32 | of.next);
      for (const uint32_t block : of.others) to.fact(block);
    });
    for (const uint32_t earlier : runs.after) to.fact(earlier);
    to.fact(runs.early_behind);
    for (const uint8_t each : runs.lets_begin) to.fact(each);
    for (const block_state& block : runs.states) {
      to.fact(uint64_t{block.arrivals} << 32 | block.at_barrier);
      for (const uint64_t came : block.came) to.fact(came);
    }
    for (const cluster_state& cluster : runs.clusters)
      for (const cluster_state::lanes& wave : cluster.waves) {
        to.fact(wave.came);
        to.fact(wave.pending);
        to.fact(cluster.phases & 1);
      }
    if (runs.started_blocks < runs.blocks) to.bytes(runs.bytes.data(), runs.bytes.size());
  }
  for (const uint64_t end : kernel_ends_) to.fact(end);
  if (core_.notes != nullptr && core_.notes->asks_for_ends) early_.seen().visit_state(to);
  early_.visit_state(to);
  bulk_.visit_state(to);
  for (const uint32_t stream : launch_streams_) to.fact(stream);  // which stays on its device
  const device_set& devices = memory_.devices();
  for (uint32_t device = devices.gpus(); device < devices.size(); ++device)
    for (const uint32_t gpu : devices[device].gpus) to.fact(gpu);
}

void launches::check_invariants() const {
  must_hold(kernel_ends_.size() == kernels_launched_, "launches: each has an end to wait for");
  must_hold(launch_streams_.size() == kernels_launched_, "launches: each is in a stream");
  uint64_t running = 0;
  for (const uint64_t end : kernel_ends_) {
    must_hold(end <= 1, "launches: an end is told once");
    running += end == 0 ? 1 : 0;
  }
  must_hold(running == kernels_running_, "launches: those that run are counted");
  const device_set& devices = memory_.devices();
  for (uint32_t device = 0; device < devices.size(); ++device) {
    uint64_t on_device = 0;
    for (size_t n = 0; n < kernel_ends_.size(); ++n)
      on_device += launch_devices_[n] == device && kernel_ends_[n] == 0 ? 1 : 0;
    must_hold(on_device == devices[device].running, "launches: those that run are counted by device");
  }
  for (const uint32_t device : launch_devices_) must_hold(device < devices.size(), "launches: the device is there");
  std::vector<uint32_t> on_gpu(devices.size());
  uint32_t resident = 0;
  uint32_t of_device = 0;
  for (size_t n = 0; n < core_.threads.waves_used; ++n) {
    const wave& each = core_.threads.waves[n];
    if (each.host) continue;
    if (each.resident && each.live()) {
      ++resident;
      ++on_gpu[each.gpu];
    }
    must_hold(!each.is_evicted() || evictions_.are_on(), "launches: nothing is evicted where that is off");
    must_hold(each.device_id == of_device++, "launches: waves of the device are numbered as they are launched");
    must_hold(each.kernel < kernels_launched_, "launches: a wave is of a launch");
  }
  for (uint32_t gpu = 0; gpu < devices.gpus(); ++gpu)
    must_hold(on_gpu[gpu] == devices[gpu].resident, "launches: waves that have a place are counted by GPU");
  must_hold(of_device == device_waves_, "launches: waves of the device are counted");
  must_hold(resident == resident_waves_, "launches: waves that have a place are counted");
  for (const launched_kernel& each : kernels_) {
    must_hold(each.started_blocks <= each.come_blocks && each.come_blocks <= each.blocks,
              "kernel: no block starts twice, or before it is there");
    must_hold(each.live_waves <= each.blocks * each.waves_per_block, "kernel: its live waves are its own");
    must_hold(each.ordinal < kernels_launched_, "kernel: its number is one of a launch");
    for (const uint32_t earlier : each.after) must_hold(earlier < each.ordinal, "kernel: it comes after earlier work");
    must_hold(each.states.empty() || each.states.size() == each.blocks, "kernel: each block has its state");
    must_hold(each.started_blocks % each.cluster_blocks == 0, "kernel: the blocks of a cluster start together");
  }
  must_hold(kernels_.empty() || !kernels_.front().has_ended(), "launches: the first kernel has not ended");
  for (const stream_state& each : streams_) {
    must_hold(each.device < devices.size(), "stream: its device is there");
    for (const uint32_t launch : each.last)
      must_hold(launch < kernels_launched_, "stream: its latest work was given to it");
    for (const uint32_t launch : each.waits)
      must_hold(launch < kernels_launched_, "stream: it waits for what was launched");
  }
  for (const event_state& each : events_)
    for (const uint32_t launch : each.work)
      must_hold(launch < kernels_launched_, "event: it waits for what was launched");
}

}  // namespace heddle::sim
