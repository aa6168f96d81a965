// Launches and copies in streams: which of them come after which, and what waits for them.
//
// A stream's launches, of which a copy counts as one, run one after the other. Work of the default stream, 0, comes after all earlier work of
// blocking streams, and before their later work (CUDA C++ Programming Guide, "Implicit Synchronization"). Nothing else orders two streams.
#include <heddle/sim/launch/command_driver.h>
#include <heddle/sim/launch/launches.h>

#include <algorithm>
#include <string>
#include <utility>

namespace heddle::sim {

using scheduler::verdict;

namespace {

// Whatever is done in it, be it no work, comes behind the earlier work of all blocking streams and before their later work. (CUDA Runtime API, "Stream
// synchronization behavior".)
bool is_default(const auto& of, uint32_t stream, const device_set& devices) {
  return of.blocking && stream == devices[of.device].stream;
}

}  // namespace

void launches::forget_rest() {
  streams_used_ = prioritised_ = false;
  kernels_.clear();
  kernel_ends_.clear();
  streams_.resize(core_.machine.devices);
  for (uint32_t device = 0; device < core_.machine.devices; ++device) {
    streams_[device].forget();
    streams_[device].device = device;
  }
  launch_devices_.clear();
  launch_streams_.clear();
  events_.clear();
  early_.forget();
}

bool launches::may_begin(const launched_kernel& runs) const {
  if (commands_ != nullptr) return runs.come_blocks != 0;
  if (runs.started_blocks == 0 && functions_.holding(runs.ordinal)) return false;
  return std::all_of(runs.after.begin(), runs.after.end(), [&](uint32_t earlier) {
    return kernel_ends_[earlier] != 0 ||
           (earlier == runs.early_behind && early_begins::all_let(core_, kernels_, earlier));
  });
}

bool launches::some_have_no_place(uint64_t turn) const {
  if (std::any_of(kernels_.begin(), kernels_.end(), [&](const launched_kernel& runs) {
        return runs.started_blocks < runs.come_blocks && may_begin(runs);
      }))
    return true;
  if (!evictions_.are_on()) return false;
  for (size_t n = 0; n < core_.threads.waves_used; ++n) {
    const wave& of = core_.threads.waves[n];
    if (!of.live() || !of.is_evicted()) continue;
    const bool goes_round =
        std::any_of(of.lanes.begin(), of.lanes.end(), [&](const lane* who) { return who->last_turn > turn; });
    const bool could = std::any_of(of.lanes.begin(), of.lanes.end(),
                                   [](const lane* who) { return who->state == lane_state::evicted; });
    if (could && !goes_round) return true;
  }
  return false;
}

void launches::kernel_ended(lane& self) {
  const uint32_t ordinal = self.of->kernel;
  const uint32_t behind = self.of->runs->early_behind;
  while (!kernels_.empty() && kernels_.front().has_ended()) kernels_.pop_front();
  core_.threads.kernels_under_way = kernels_.size();
  if (commands_ != nullptr) return;
  if (behind != launched_kernel::none && kernel_ends_[behind] == 0) return early_.hold_back(ordinal, behind);
  uint32_t before = behind;
  for (uint32_t ended = ordinal; ended != launched_kernel::none; ended = early_.take_held_back(ended)) {
    // What waits for the end of this one waits for that of the other too.
    if (before != launched_kernel::none && core_.late != nullptr) {
      core_.late->acquire_object(self, object_of_end(before));
      core_.late->release_object(self, object_of_end(ended));
    }
    work_ended(self, ended);
    before = ended;
  }
}

void launches::work_ended(lane& self, uint32_t ordinal) {
  uint64_t& end = kernel_ends_[ordinal];
  end = 1;
  early_.seen().ended(ordinal);
  functions_.ended(ordinal);
  more_or_less_runs(self, launch_devices_[ordinal], ~uint64_t{0});
  waits_.wake_readers(self, &end, sizeof end);
}

// With one device it is all of them.
void launches::more_or_less_runs(lane& self, uint32_t device, uint64_t change) {
  kernels_running_ += change;
  waits_.wake_readers(self, &kernels_running_, sizeof kernels_running_);
  uint64_t& running = memory_.devices()[device].running;
  running += change;
  if (memory_.devices().size() != 1) waits_.wake_readers(self, &running, sizeof running);
}

bool launches::waits_for_end_of(const lane& who, const wave& work) const {
  if (work.bulk && (who.awaits == &work.ended || who.awaits == &work.has_read)) return true;
  if (work.host && !work.copies) return who.awaits == &work.ended;
  return who.awaits == &kernels_running_ || who.awaits == &kernel_ends_[work.kernel] ||
         who.awaits == &memory_.devices()[work.device].running;
}

result<uint32_t> launches::unify(std::span<const uint32_t> gpus) {
  result<uint32_t> made = memory_.devices().unify(gpus);
  if (made) memory_.devices()[made.value()].stream = create_stream(false, made.value());
  return made;
}

result<uint32_t> launches::open_process(uint32_t gpu) {
  if (gpu >= memory_.devices().gpus())
    return error{"open_process", std::to_string(gpu), "no such device",
                 "there are " + std::to_string(memory_.devices().gpus()) + " GPUs, numbered from 0 (driver.devices)"};
  memory_.place_all();
  const uint32_t made = memory_.devices().open_process(gpu);
  memory_.devices()[made].stream = create_stream(false, made);
  // From now on it matters to which process memory belongs.
  for (const allocation& each : core_.map.heap.allocations())
    if (each.kind == memory_kind::device) core_.map.heap.watch(each.base);
  return made;
}

namespace {

// Streams that wait for each other would name the same work again and again, and each that came before it in its stream: what waits for the last one
// waits for all.
void leave_latest(std::vector<uint32_t>& work, const std::vector<uint32_t>& streams) {
  constexpr size_t few = 16;
  if (work.size() < 2) return;
  if (work.size() <= few) {
    const auto is_behind = [&](uint32_t earlier, size_t at) {
      for (size_t n = 0; n < work.size(); ++n)
        if (streams[work[n]] == streams[earlier] && (work[n] > earlier || (work[n] == earlier && n < at))) return true;
      return false;
    };
    std::vector<uint32_t> latest;
    for (size_t n = 0; n < work.size(); ++n)
      if (!is_behind(work[n], n)) latest.push_back(work[n]);
    work = std::move(latest);
    return;
  }
  const auto in_streams = [&](uint32_t one, uint32_t other) {
    return std::pair(streams[one], ~one) < std::pair(streams[other], ~other);
  };
  const auto of_one_stream = [&](uint32_t one, uint32_t other) { return streams[one] == streams[other]; };
  std::sort(work.begin(), work.end(), in_streams);
  work.erase(std::unique(work.begin(), work.end(), of_one_stream), work.end());
  std::sort(work.begin(), work.end());
}

}  // namespace

std::vector<uint32_t> launches::work_before(uint32_t stream) const {
  const stream_state& own = streams_[stream];
  std::vector<uint32_t> before;
  // To wait for an event is an operation of a stream as a launch is.
  const auto add = [&](const stream_state& other) {
    before.insert(before.end(), other.waits.begin(), other.waits.end());
    before.insert(before.end(), other.last.begin(), other.last.end());
  };
  if (!is_default(own, stream, memory_.devices())) {
    add(own);
    if (own.blocking) add(streams_[memory_.devices()[own.device].stream]);
    leave_latest(before, launch_streams_);
    return before;
  }
  for (const stream_state& other : streams_)
    if (other.blocking && other.device == own.device) add(other);
  leave_latest(before, launch_streams_);
  std::sort(before.begin(), before.end());
  return before;
}

std::vector<uint32_t> launches::take_place_in(uint32_t stream, lane& self) {
  std::vector<uint32_t> after = work_before(stream);
  streams_[stream].waits.clear();
  streams_[stream].last.assign(1, kernels_launched_);
  streams_used_ = true;
  kernel_ends_.push_back(0);
  early_.seen().launched(streams_[stream].device);
  if (core_.late != nullptr) core_.late->release_object(self, object_of_launch(kernels_launched_));
  launch_devices_.push_back(streams_[stream].device);
  launch_streams_.push_back(stream);
  ++kernels_launched_;
  ++kernels_running_;
  ++memory_.devices()[streams_[stream].device].running;
  return after;
}

void launches::check_stream(lane& self, uint32_t stream, const operation& how) const {
  if (stream < streams_.size() && !streams_[stream].destroyed) return;
  self.pending = how;
  core_.end(self, verdict::assertion,
            stream < streams_.size() ? "a stream that has been destroyed is used"
                                     : "a stream that was never created is used");
}

uint32_t launches::create_stream(bool blocking, uint32_t device, int32_t priority) {
  streams_used_ = true;
  prioritised_ = prioritised_ || priority != 0;
  streams_.push_back({.blocking = blocking, .device = device, .priority = priority});
  return static_cast<uint32_t>(streams_.size() - 1);
}

// What it was given goes on.
void launches::destroy_stream(lane& self, uint32_t stream, const operation& how) {
  check_stream(self, stream, how);
  if (stream == memory_.devices()[streams_[stream].device].stream) {
    self.pending = how;
    core_.end(self, verdict::assertion, "the default stream is destroyed");
  }
  streams_[stream].destroyed = true;
}

uint32_t launches::create_event() {
  streams_used_ = true;
  events_.emplace_back();
  return static_cast<uint32_t>(events_.size() - 1);
}

std::vector<uint32_t> launches::work_of(lane& self, uint32_t stream, const operation& how) {
  check_stream(self, stream, how);
  return work_before(stream);
}

event_state& launches::event(lane& self, uint32_t event, const operation& how) {
  if (event < events_.size() && !events_[event].destroyed) return events_[event];
  self.pending = how;
  core_.end(self, verdict::assertion,
            event < events_.size() ? "an event that is destroyed is used" : "an event that was never created is used");
}

void launches::destroy_event(lane& self, uint32_t event, const operation& how) {
  launches::event(self, event, how);
  events_[event].destroyed = true;
}

void launches::record(lane& self, uint32_t event, uint32_t stream, const operation& how) {
  std::vector<uint32_t> work = work_of(self, stream, how);
  event_state& recorded = launches::event(self, event, how);
  if (is_default(streams_[stream], stream, memory_.devices())) streams_[stream].waits = work;
  recorded.work = std::move(work);
  recorded.recorded = true;
  if (commands_ != nullptr) commands_->recorded(self, events_[event].work);
}

void launches::delay_stream(lane& self, uint32_t stream, const std::vector<uint32_t>& work, const operation& how) {
  check_stream(self, stream, how);
  std::vector<uint32_t>& waits = streams_[stream].waits;
  if (is_default(streams_[stream], stream, memory_.devices())) waits = work_before(stream);
  waits.insert(waits.end(), work.begin(), work.end());
  leave_latest(waits, launch_streams_);
}

// -- the driver ---------------------------------------------------------------------------------------------------------------------

void launches::take_settings(const fiber_body* drives) {
  commands_ = nullptr;
  if (core_.machine.detail != driver_detail::call)
    commands_ = std::make_unique<command_driver>(core_, memory_, *this, waits_, *drives);
  memory_.drive_with(commands_ == nullptr ? nullptr : &commands_->hands());
}

void launches::begin_commands() {
  commands_->reset();
  streams_for_flushes_.clear();
}

const uint64_t* launches::news_of_pages() const { return commands_ == nullptr ? nullptr : &commands_->news_of_pages(); }

bool launches::drive(lane& self) {
  const bool any = commands_->step(self);
  for (const uint32_t ordinal : commands_->ended()) {
    if (core_.times != nullptr) core_.times->lets_go_on(self, object_of_end(ordinal));
    work_ended(self, ordinal);
  }
  if (commands_->blocks_have_come()) start_blocks(self);
  if (any) core_.note_progress(self);
  return any;
}

std::optional<uint32_t> launches::flush_before_copy(lane& self, uint32_t device, const void* from) {
  if (commands_ == nullptr || !commands_->needs_flush(memory_.devices()[device].stream, from)) return std::nullopt;
  constexpr uint32_t none = ~uint32_t{0};
  if (streams_for_flushes_.size() <= device) streams_for_flushes_.resize(device + size_t{1}, none);
  if (streams_for_flushes_[device] == none) streams_for_flushes_[device] = create_stream(false, device);
  const uint32_t stream = streams_for_flushes_[device];
  place_in_stream at = {.stream = stream, .ordinal = kernels_launched_};
  at.after = take_place_in(stream, self);
  commands_->flush(self, at);
  more_or_less_runs(self, device, 0);
  return at.ordinal;
}

bool launches::visit_streams(state_reader& to) const {
  const auto tell = [&](const std::vector<uint32_t>& work) {
    return to.fact(work.size()) &&
           std::all_of(work.begin(), work.end(), [&](uint32_t launch) { return to.fact(launch); });
  };
  return to.fact(streams_.size()) && to.fact(events_.size()) &&
         std::all_of(streams_.begin(), streams_.end(),
                     [&](const stream_state& each) {
                       return to.fact(each.destroyed ? 1 : 0) && tell(each.last) && tell(each.waits);
                     }) &&
         std::all_of(events_.begin(), events_.end(), [&](const event_state& each) {
           return to.fact((each.destroyed ? 1 : 0) | (each.recorded ? 2 : 0)) && tell(each.work);
         });
}

}  // namespace heddle::sim
