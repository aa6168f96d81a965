// Launches and copies in streams: which of them come after which, and who waits for them.
//
// A stream's launches, of which a copy counts as one, run one after the other. The default stream, 0, comes after all that blocking streams were given before, and they
// come after what it was given (CUDA C++ Programming Guide, "Implicit Synchronization"). Nothing else orders two streams.
#include <heddle/sim/run/world.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace heddle::sim {

using scheduler::verdict;

bool world::may_begin(const launched_kernel& runs) const {
  return std::all_of(runs.after.begin(), runs.after.end(),
                     [&](uint32_t earlier) { return kernel_ends_[earlier] != 0; });
}

bool world::some_have_no_place() const {
  return std::any_of(kernels_.begin(), kernels_.end(),
                     [&](const launched_kernel& runs) { return runs.started_blocks < runs.blocks && may_begin(runs); });
}

void world::kernel_ended(lane& self) {
  const uint32_t ordinal = self.of->kernel;
  while (!kernels_.empty() && kernels_.front().live_waves == 0) kernels_.pop_front();
  work_ended(self, ordinal);
}

void world::work_ended(lane& self, uint32_t ordinal) {
  uint64_t& end = kernel_ends_[ordinal];
  end = 1;
  more_or_less_runs(self, launch_devices_[ordinal], ~uint64_t{0});
  wake_readers(self, &end, sizeof end);
}

// With one device it is all of them.
void world::more_or_less_runs(lane& self, uint32_t device, uint64_t change) {
  kernels_running_ += change;
  wake_readers(self, &kernels_running_, sizeof kernels_running_);
  uint64_t& running = devices_[device].running;
  running += change;
  if (devices_.size() != 1) wake_readers(self, &running, sizeof running);
}

bool world::waits_for_end_of(const lane& who, const wave& work) const {
  if (work.host && !work.copies) return who.awaits == &work.ended;
  return who.awaits == &kernels_running_ || who.awaits == &kernel_ends_[work.kernel] ||
         who.awaits == &devices_[work.device].running;
}

result<uint32_t> world::unify(std::span<const uint32_t> gpus) {
  result<uint32_t> made = devices_.unify(gpus);
  if (made) devices_[made.value()].stream = create_stream(false, made.value());
  return made;
}

result<uint32_t> world::open_process(uint32_t gpu) {
  if (gpu >= devices_.gpus())
    return error{"open_process", std::to_string(gpu), "no such device",
                 "there are " + std::to_string(devices_.gpus()) + " GPUs, numbered from 0 (driver.devices)"};
  place_memory();
  const uint32_t made = devices_.open_process(gpu);
  devices_[made].stream = create_stream(false, made);
  // From now on it matters whose memory is.
  for (const allocation& each : heap_.allocations())
    if (each.kind == memory_kind::device) heap_.watch(each.base);
  return made;
}

std::vector<uint32_t> world::work_before(uint32_t stream) const {
  const stream_state& own = streams_[stream];
  std::vector<uint32_t> launches = own.waits;
  const auto add = [&](const stream_state& other) {
    launches.insert(launches.end(), other.last.begin(), other.last.end());
  };
  const uint32_t of_default = devices_[own.device].stream;
  if (stream != of_default || !own.blocking) {
    add(own);
    if (own.blocking) add(streams_[of_default]);
    return launches;
  }
  for (const stream_state& other : streams_)
    if (other.blocking && other.device == own.device) add(other);
  return launches;
}

std::vector<uint32_t> world::take_place_in(uint32_t stream, lane& self) {
  std::vector<uint32_t> after = work_before(stream);
  streams_[stream].waits.clear();
  streams_[stream].last.assign(1, kernels_launched_);
  streams_used_ = true;
  kernel_ends_.push_back(0);
  if (late_ != nullptr) late_->release_object(self, launch_of(kernels_launched_));
  launch_devices_.push_back(streams_[stream].device);
  ++kernels_launched_;
  ++kernels_running_;
  ++devices_[streams_[stream].device].running;
  return after;
}

void world::copy_in_stream(lane& self, const stream_copy& what, uint32_t stream, const fiber_body& how_to_run,
                           const operation& how) {
  step(self, how);
  if (counted_ == 0) begin_counting();
  check_stream(self, stream, how);
  check_host_stacks(self);
  wave& engine = new_wave();
  engine.host = engine.copies = true;
  engine.kernel = kernels_launched_;
  engine.device = streams_[stream].device;
  engine.after = take_place_in(stream, self);
  engine.name = "copy " + std::to_string(++copies_given_) +
                (stream == 0 ? " of the default stream" : " of stream " + std::to_string(stream));
  engine.live_lanes = 1;
  engine.resident = true;
  lane& copies = new_lane(engine, 0);
  copies.how_to_run = &how_to_run;
  if (late_ != nullptr) {
    late_->begins(copies, nullptr);
    late_->acquire_object(copies, launch_of(engine.kernel));
  }
  begin(copies);
  std::memcpy(copies.body, &what, sizeof what);
  fair_.live(engine);
  add_candidate(copies);
  more_or_less_runs(self, engine.device, 0);
  performed(self, copies_given_);
}

void world::check_stream(lane& self, uint32_t stream, const operation& how) {
  if (stream < streams_.size() && !streams_[stream].destroyed) return;
  self.pending = how;
  end(self, verdict::assertion,
      stream < streams_.size() ? "a stream that has been destroyed is used"
                               : "a stream that was never created is used");
}

uint32_t world::create_stream(bool blocking, uint32_t device) {
  streams_used_ = true;
  streams_.push_back({.blocking = blocking, .device = device});
  return static_cast<uint32_t>(streams_.size() - 1);
}

// What it was given goes on.
void world::destroy_stream(lane& self, uint32_t stream, const operation& how) {
  check_stream(self, stream, how);
  if (stream == devices_[streams_[stream].device].stream) {
    self.pending = how;
    end(self, verdict::assertion, "the default stream is destroyed");
  }
  streams_[stream].destroyed = true;
}

uint32_t world::create_event() {
  streams_used_ = true;
  events_.emplace_back();
  return static_cast<uint32_t>(events_.size() - 1);
}

std::vector<uint32_t> world::work_of(lane& self, uint32_t stream, const operation& how) {
  check_stream(self, stream, how);
  return work_before(stream);
}

std::vector<uint32_t>& world::event(lane& self, uint32_t event, const operation& how) {
  if (event < events_.size()) return events_[event];
  self.pending = how;
  end(self, verdict::assertion, "an event that was never created is used");
}

void world::delay_stream(lane& self, uint32_t stream, const std::vector<uint32_t>& launches, const operation& how) {
  check_stream(self, stream, how);
  std::vector<uint32_t>& waits = streams_[stream].waits;
  waits.insert(waits.end(), launches.begin(), launches.end());
}

void world::wait_for_launches(lane& self, const std::vector<uint32_t>& launches, const operation& how) {
  step(self, how);
  performed(self, launches.size());
  for (const uint32_t launch : launches) {
    self.call[2] = launch;  // what the call still waits for
    if (kernel_ends_[launch] == 0) {
      self.pending = how;
      wait_for(self, kernel_ends_[launch], 1);
    }
    if (late_ != nullptr) late_->acquire_object(self, end_of(launch));
  }
  // The end of a kernel writes back what the device holds.
  if (late_ != nullptr && !launches.empty()) late_->all_arrives(self);
}

void world::enter_driver(lane& self, bool is_launch, operation how) {
  if (machine_.driver == driver_calls::context) {
    how.kind = operation_kind::lock_mutex;
    lock_mutex(self, &context_, mutex_kind::normal, how);
  } else if (!is_launch) {
    how.kind = operation_kind::synchronize;
    finish_plain_store(self);
    self.pending = how;
    wait_for(self, kernels_running_, 0);
    for (uint32_t device = 0; device < devices_.size(); ++device) acquire_kernels(self, device);
  }
}

void world::leave_driver(lane& self, operation how) {
  if (machine_.driver != driver_calls::context) return;
  how.kind = operation_kind::unlock_mutex;
  unlock_mutex(self, &context_, how);
}

bool world::have_ended(lane& self, const std::vector<uint32_t>& launches, const operation& how) {
  step(self, how);
  self.called = true;
  bool all = true;
  for (const uint32_t launch : launches) {
    const uint64_t& end = kernel_ends_[launch];
    self.reads.add(&end, sizeof end, end);
    all = all && end != 0;
  }
  performed(self, all ? 1 : 0);
  if (!all) return false;
  if (late_ != nullptr && !launches.empty()) late_->all_arrives(self);
  for (const uint32_t launch : launches)
    if (late_ != nullptr) late_->acquire_object(self, end_of(launch));
  return true;
}

}  // namespace heddle::sim
