#include <heddle/driver/split.h>
#include <heddle/scheduler/printable.h>
#include <heddle/sim/code/device_variables.h>
#include <heddle/sim/code/library_state.h>
#include <heddle/sim/code/source_line.h>
#include <heddle/sim/memory/link/link_memory.h>
#include <heddle/sim/memory/scoped/scoped_memory.h>
#include <heddle/sim/report/hang_report.h>
#include <heddle/sim/run/crash.h>
#include <heddle/sim/run/uncaught.h>
#include <heddle/sim/run/world.h>
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/space/address_space.h>
#include <heddle/sim/verify/lane_heap.h>
#include <heddle/sim/verify/search.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <set>
#include <string_view>
#include <utility>

// The bounds of the program's own image, set by the linker.
extern "C" const char __executable_start;  // NOLINT(bugprone-reserved-identifier)
extern "C" const char _end;                // NOLINT(bugprone-reserved-identifier)

namespace heddle::sim {

constinit bool is_any_code_instrumented = false;
constinit bool begins_on_clear_stacks = false;

using scheduler::verdict;
using std::string_view_literals::operator""sv;

thread_local constinit lane* world::current = nullptr;
thread_local constinit world* world::instance = nullptr;

namespace {

// A whole MI300X is 304 x 32 waves of 64 lanes. Only address space is taken for those that have not begun.
constexpr size_t most_lanes_at_once = size_t{1} << 20;
constexpr size_t most_hosts = 1024;

// Of names, which are short: a call into the C library takes longer. The length of `part`, or more than that of any name where `whole` does
// not begin with it.
size_t length_of_beginning(std::string_view whole, const char* part) {
  for (size_t n = 0;; ++n) {
    if (part[n] == '\0') return n;
    if (n == whole.size() || whole[n] != part[n]) return ~size_t{0};
  }
}

}  // namespace

std::string name_of(const wave& who) {
  if (who.copies) return scheduler::printable(who.name);
  if (who.host) return "host " + scheduler::printable(who.name);
  return "wave " + std::to_string(who.device_id);
}

std::string name_of(const lane& who) {
  if (who.is_host()) return name_of(*who.of);
  return name_of(*who.of) + " lane " + std::to_string(who.index);
}

#if defined(__GNUC__)
__attribute__((no_sanitize("address")))
#endif
call_chain
calls_of(const lane& who) {
  call_chain calls = {who.pending.place};
  const auto& stack = who.runs.stack();
  const auto on_stack = [&](const void* at) {
    const auto* byte = static_cast<const std::byte*>(at);
    return byte >= stack.low && byte + 2 * sizeof(void*) <= stack.high();
  };
  if (who.pending.frame == nullptr || !on_stack(who.pending.frame)) return calls;
  // Each frame holds its caller's frame, and the address to return to behind it.
  auto* frame = static_cast<void* const*>(who.pending.frame[0]);
  for (size_t n = 1; n < calls.size() && on_stack(frame) && frame[1] != nullptr; ++n) {
    calls[n] = frame[1];
    auto* const outer = static_cast<void* const*>(frame[0]);
    if (outer <= frame) break;
    frame = outer;
  }
  return calls;
}

world::world() : view_(this, &world::look_at, &world::next_in_turn, &fair_.version()) {
  image_low_ = reinterpret_cast<uintptr_t>(&__executable_start);
  image_high_ = reinterpret_cast<uintptr_t>(&_end);
  catch_crashes();
  scheduler::looks_on.store(&runtime::looks_on_at_lanes(), std::memory_order_relaxed);
  end_runs_at_terminate();
}

world::~world() = default;

void world::prepare(scheduler::choice_source& choices, bool explain) {
  reset_device_variables();
  reset_library_state();
  heap_.reset();
  devices_.reset(machine_.devices, machine_.device_bytes);
  unflushed_.reset(!machine_.flushes);
  choose_memory();
  rings_.reset(machine_.doorbells);
  ringer_ = nullptr;
  lanes_used_ = waves_used_ = 0;
  free_stacks_.clear();
  free_host_stacks_.clear();
  stacks_used_ = host_stacks_used_ = 0;
  stack_to_free_ = host_stack_to_free_ = no_stack;
  hosts_spawned_ = copies_given_ = 0;
  kernels_running_ = 0;
  clock_ = 0;
  kernels_launched_ = device_waves_ = resident_waves_ = 0;
  live_lanes_ = 0;
  candidates_.clear();
  fair_.reset(machine_.progress);
  watches_.clear();
  changes_ = proof_changes_ = 0;
  proving_ = proof::none;
  proof_last_ = turn_order::none;
  collectives_opened_ = 0;
  choices_ = &choices;
  digest_ = {};
  steps_ = switches_ = library_steps_ = 0;
  next_limit_ = machine_.budget;
  uncounted_ = 0;
  counted_ = 0;
  tail_.forget();
  if (verdict_ != verdict::ok || recorder_ != nullptr || !message_.empty()) [[unlikely]]
    forget_finding();
  if (streams_used_ || keeps_turns_ || cache_.on() || !name_counts_.empty() || !mutexes_.empty() ||
      !hidden_stores_.empty()) [[unlikely]]
    forget_rest();
  if (explain || machine_.starvation != 0) [[unlikely]]
    look_on(explain);
  headway_.reset(choices.looks_at_headway());
  tells_steps_ = choices.looks_at_steps();
  observed_ = recorder_ != nullptr || starvation_.on() || headway_.on() || tells_steps_;
  races_ = scope_races_ = 0;
  errand_ = nullptr;
  denied_ = false;
  if (lane_heap* const lanes = lanes_allocate_in()) lanes->begin_run();
  hidden_order_ = {};
  in_rounds_ = in_lockstep();
  together_used_ = 0;
  due_.clear();
  places_lifted_ = false;
  stopped_ = false;
}

void world::take_settings(const parameters& values) {
  machine_ = settings::from(values);
  settings_revision_ = values.revision();
  allowed_ = {.late = machine_.late, .spurious = machine_.spurious, .wakes = machine_.wakes};
  link_ = nullptr;  // it is built for one set of them
  if (device_stacks_ == nullptr || device_stacks_->stack_bytes() != machine_.stack_bytes)
    device_stacks_ = std::make_unique<stack_arena>(machine_.stack_bytes, most_lanes_at_once);
  if (host_stacks_ == nullptr || host_stacks_->stack_bytes() != machine_.host_stack_bytes)
    host_stacks_ = std::make_unique<stack_arena>(machine_.host_stack_bytes, most_hosts);
  starvation_.reset(machine_.starvation);
  requests_.reset(machine_.starvation);
  forget_rest();
}

// For who looks on.
void world::look_on(bool explain) {
  if (explain) recorder_ = std::make_unique<recorder>();
  starvation_.reset(machine_.starvation);
  requests_.reset(machine_.starvation);
}

void world::forget_rest() {
  turns_.clear();
  keeps_turns_ = false;
  names_.clear();
  name_counts_.clear();
  mutexes_.clear();
  cache_.reset();
  hidden_stores_.clear();
  streams_used_ = false;
  kernels_.clear();
  kernel_ends_.clear();
  streams_.resize(machine_.devices);
  for (uint32_t device = 0; device < machine_.devices; ++device) {
    streams_[device].forget();
    streams_[device].device = device;
  }
  launch_devices_.clear();
  events_.clear();
}

void world::forget_finding() {
  verdict_ = verdict::ok;
  recorder_ = nullptr;
  race_.missing = nullptr;
  message_.clear();
  waiting_.clear();
  about_ = {};
  ended_by_ = nullptr;
  report_.clear();
  waits_.clear();
  edges_.clear();
  unknown_.clear();
  unexplained_.clear();
  circle_.clear();
}

void world::choose_memory() {
  late_ = nullptr;
  if (machine_.fidelity == fidelity::scoped) {
    if (scoped_ == nullptr) scoped_ = std::make_unique<scoped_memory>(*this, machine_);
    late_ = scoped_.get();
  } else if (machine_.fidelity == fidelity::link) {
    if (link_ == nullptr) link_ = std::make_unique<link_memory>(*this, machine_.link);
    late_ = link_.get();
  }
  link_delivers_ = false;  // as long as no other actor could see a difference
  if (call_times_ != nullptr) {
    if (timed_ == nullptr) timed_ = std::make_unique<timed_memory>(*this);
    timed_->begin_run(late_, machine_.time, *call_times_);
    late_ = timed_.get();
  }
  if (late_ != nullptr) {
    late_->reset();
    late_->take_notes(notes_);
  }
}

const outcome& world::run(const parameters& values, const std::function<void()>& body,
                          scheduler::choice_source& choices, bool explain, run_record* record) {
  // Campaigns run the same settings over and over.
  if (values.revision() != settings_revision_) [[unlikely]]
    take_settings(values);
  records_ = explain && record != nullptr;
  prepare(choices, explain);
  static constexpr fiber_body run_main = {
      .size_bytes = sizeof(const std::function<void()>*),
      .move_to = [](void* to, void* from) { std::memcpy(to, from, sizeof(const std::function<void()>*)); },
      .invoke = [](void* main_body) { (**static_cast<const std::function<void()>**>(main_body))(); },
  };
  main_body_ = &body;
  wave& host = new_wave();
  host.host = true;
  if (host.name != "main"sv) [[unlikely]]
    host.name = "main";
  host.live_lanes = 1;
  lane& main = new_lane(host, 0);
  if (late_ != nullptr) late_->begins(main, nullptr);
  main.how_to_run = &run_main;
  begin(main);
  run_main.move_to(main.body, &main_body_);
  host.resident = true;
  fair_.live(host);
  add_candidate(main);

  if (result_is_told_) [[unlikely]]
    result_ = {};
  result_is_told_ = false;
  if (!draw_end_game()) {
    result_ = {};
    result_.stopped_by_source = true;
    return result_;
  }
  first_limit_ = std::exchange(next_limit_, 0);  // each operation asks whether it is a step
  look_how_to_choose();
  instance = this;
  exceptions_ = &exceptions_in_flight::of_this_thread();
  fiber::switch_to(root_, main.runs, *exceptions_);
  while (errand_ != nullptr) {
    (*std::exchange(errand_, nullptr))();
    fiber::switch_to(root_, errand_for_->runs, *exceptions_);
  }
  current = nullptr;

  result_.verdict = verdict_;
  result_.races = races_;
  result_.scope_races = scope_races_;
  result_.steps = steps_;
  result_.library_steps = library_steps_;
  result_.switches = switches_;
  result_.digest = digest_.value();
  result_.stopped_by_source = stopped_;
  if (verdict_ != verdict::ok || recorder_ != nullptr || !message_.empty()) [[unlikely]]
    tell_more(record);
  instance = nullptr;
  return result_;
}

// What is known beside the verdict, where it is not all well or somebody asks for it.
void world::tell_more(run_record* record) {
  result_is_told_ = true;
  if (verdict_ == verdict::deadlock || verdict_ == verdict::progress || verdict_ == verdict::livelock ||
      verdict_ == verdict::starvation) {
    result_.waiting = waiting_;
    result_.hang = roles_of(waiting_);
  }
  result_.message = message_;
  if (verdict_ != verdict::ok && about_.front() != nullptr) result_.where = source_of(about_).where();
  if (recorder_ != nullptr) {
    constexpr size_t most_steps = 200000;
    result_.steps_taken = recorder_->steps(heap_, most_steps);
    if (verdict_ != verdict::ok && report_.empty()) write_report();
    result_.report = std::move(report_);
    result_.waits = std::move(waits_);
    result_.unexplained = std::move(unexplained_);
    if (verdict_ == verdict::race || verdict_ == verdict::scope_race) {
      result_.report = race_report();
      result_.waits.clear();
      result_.unexplained.clear();
      edges_.clear();
      unknown_.clear();
      circle_.clear();
    }
    if (verdict_ != verdict::ok && about_.front() != nullptr)
      if (const source_line place = source_of(about_); place.file.empty() && !place.module.empty())
        result_.report += "no debug information for " + place.module +
                          ": this is an offset in the program, for addr2line; compile with -g, and do not strip\n";
    if (record != nullptr) *record = tell_record(most_steps);
    if (late_ != nullptr && verdict_ != verdict::ok)
      if (const std::string overtaken = late_->overtakings(); !overtaken.empty())
        result_.report += "stores that were overtaken:\n" + overtaken;
  }
}

run_record world::tell_record(size_t most_steps) const {
  run_record made = recorder_->record(heap_, most_steps);
  for (size_t n = 0; n < waves_used_; ++n) {
    const wave& each = waves_[n];
    made.waves.push_back({.name = name_of(each),
                          .host = each.host,
                          .block = each.block,
                          .launched = each.launched_in,
                          .placed = each.resident,
                          .ended = !each.live()});
  }
  made.edges = edges_;
  made.unknown = unknown_;
  made.circle = circle_;
  return made;
}

// Whichever of them, and however many.
std::string world::roles_of(const std::vector<std::string>& waiting) {
  std::set<std::string> roles;
  for (const std::string& each : waiting)
    roles.insert(each.starts_with("host ")   ? each.substr(0, each.find(" #"))
                 : each.starts_with("copy ") ? "copy"
                                             : "wave");
  std::string text;
  for (const std::string& each : roles) text += (text.empty() ? "" : ", ") + each;
  return text;
}

void world::write_report() {
  hang_report written(*this);
  report_ = written.text(cycle_text());
  waits_ = written.graph().empty() ? "" : written.graph().dot(message_);
  unexplained_ = written.unexplained();
  if (!records_) return;
  edges_ = written.graph().edges();
  unknown_ = written.graph().unknown();
  circle_ = written.graph().circle();
}

// Mostly it is the name that it had in the run before.
void world::name_wave(wave& host, const char* name) {
  const char* const known = host.name.c_str();
  for (size_t n = 0; known[n] == name[n]; ++n)
    if (name[n] == '\0') return;
  host.name = name;
}

wave& world::new_wave() {
  if (waves_used_ == waves_.size()) waves_.emplace_back();
  wave& fresh = waves_[waves_used_];
  // The containers keep their memory from run to run.
  fresh.lanes.clear();
  fresh.collectives.clear();
  std::construct_at(static_cast<wave_state*>(&fresh));  // in place: an assignment would make another one first
  fresh.id = static_cast<uint32_t>(waves_used_++);
  fresh.launched_in = steps_;
  return fresh;
}

lane& world::new_lane(wave& of, uint32_t index) {
  if (lanes_used_ == lanes_.size()) lanes_.emplace_back();
  lane& fresh = lanes_[lanes_used_];
  std::construct_at(static_cast<lane_run*>(&fresh));
  fresh.of = &of;
  fresh.id = static_cast<uint32_t>(lanes_used_++);
  fresh.index = index;
  fresh.registrations.clear();
  got_somewhere(fresh);
  fresh.proof.forget();
  fresh.is_explored = notes_ != nullptr;
  scheduler::append(of.lanes, &fresh);
  ++live_lanes_;
  if (recorder_) [[unlikely]]
    recorder_->begins(fresh, steps_);
  return fresh;
}

namespace {

// What the last run has left there would be part of this run's state wherever the code under test does not write all of a frame.
void clear_stack(const stack_arena::stack& on, size_t most_bytes) {
  const size_t size_bytes = std::min(on.size_bytes, most_bytes);
  std::memset(on.high() - size_bytes, 0, size_bytes);
}

}  // namespace

void world::no_stack_left(lane& self) {
  self.begun = false;
  end(self, verdict::unsupported,
      "more than " + std::to_string(device_stacks_->capacity()) + " lanes that have not ended; " + more_address_space);
}

void world::begin(lane& self) {
  self.begun = true;
  const size_t bytes = self.how_to_run->size_bytes;
  stack_arena::stack on;
  if (self.is_host()) {
    if (free_host_stacks_.empty()) {
      self.stack_slot = host_stacks_used_++;
    } else {
      self.stack_slot = free_host_stacks_.back();
      free_host_stacks_.pop_back();
    }
    on = host_stacks_->at(self.stack_slot);
  } else {
    if (free_stacks_.empty()) {
      if (stacks_used_ == device_stacks_->capacity()) [[unlikely]]
        no_stack_left(self);
      self.stack_slot = stacks_used_++;
    } else {
      self.stack_slot = free_stacks_.back();
      free_stacks_.pop_back();
    }
    on = device_stacks_->at(self.stack_slot);
  }
  if (self.is_explored) {
    clear_stack(on, size_t{32} << 10);
  } else if (begins_on_clear_stacks && self.is_host()) {
    // What a thread gives to another may have bytes that it has not written, and where they seem to point must not depend on earlier runs
    // (share_captured). Its first frames are where that is made.
    clear_stack(on, size_t{4} << 10);
  }
  self.private_low = on.low;
  self.private_bytes = on.size_bytes;
  constexpr size_t line_bytes = 64;
  self.body = on.high() - (bytes + line_bytes - 1) / line_bytes * line_bytes;
  self.runs.reset(on, self.is_host() ? 0 : static_cast<uint32_t>(self.stack_slot), bytes, &world::run_lane, &self);
  if (!self.is_host()) {
    const launched_kernel& of = *self.of->runs;
    std::memcpy(self.body, of.bytes.data(), of.bytes.size());
  }
}

void world::run_lane(void* argument) {
  lane& self = *static_cast<lane*>(argument);
  world& here = *instance;
  self.first_frame = __builtin_frame_address(0);
  if (!self.of->stepped) here.first_step(*self.of);
  current = &self;
  // What the code under test has not caught is not caught here: then the stack still stands where it was thrown (uncaught.cpp).
  self.how_to_run->invoke(self.body);
  current = nullptr;
  self.pending.frame = nullptr;  // what it pointed to has returned
  here.finish_plain_store(self);
  // Where plain accesses are no points, nobody has been asked since the last other operation whether the lane goes on. One that is
  // promised no turn need not come to its end, which others may wait for.
  const operation_kind last = self.pending.kind;
  if (!here.machine_.plain_points && !self.of->guaranteed && self.of->together == nullptr &&
      (last == operation_kind::plain_load || last == operation_kind::plain_store)) {
    self.pending = {};
    here.yield(self);
  }
  here.lane_ended(self);
}

void world::leave(lane& self) {
  fiber::switch_to(self.runs, root_, *exceptions_);
  std::abort();  // nobody enters an abandoned lane
}

void world::aside(lane& self, const std::function<void()>& work) {
  errand_ = &work;
  errand_for_ = &self;
  fiber::switch_to(self.runs, root_, *exceptions_);
}

void world::end(lane& about, scheduler::verdict found, const std::string& message) {
  end_at(about, found, message, calls_of(about));
}

void world::end_at(lane& about, scheduler::verdict found, const std::string& message, const call_chain& calls) {
  verdict_ = found;
  message_ = scheduler::printable(message);
  about_ = calls;
  ended_by_ = &about;
  report_.clear();
  leave(about);
}

void world::stop(lane& self) {
  stopped_ = true;
  leave(self);
}

void world::acquire_kernels(lane& self, uint32_t device) {
  if (late_ == nullptr) return;
  // The end of a kernel writes back what the device holds.
  late_->all_arrives(self);
  for (uint32_t n = 0; n < kernels_launched_; ++n)
    if (launch_devices_[n] == device) late_->acquire_object(self, end_of(n));
}

void world::lane_ended(lane& self) {
  wave& of = *self.of;
  if (late_ != nullptr)
    late_->release_object(self, of.host && !of.copies ? static_cast<const void*>(&of.ended) : end_of(of.kernel));
  remove_candidate(self);
  self.state = lane_state::ended;
  if (recorder_) [[unlikely]]
    recorder_->ended(self, steps_);
  of.ended_mask |= lane_bit(self);
  --of.live_lanes;
  --live_lanes_;
  if (!of.collectives.empty()) leave_collectives(self);
  if (!of.host) leave_block(of);
  if (!self.is_host()) {
    // Its stack is still in use; the one that was freed before it is not.
    if (stack_to_free_ != no_stack) scheduler::append(free_stacks_, stack_to_free_);
    stack_to_free_ = self.stack_slot;
  } else if (of.copies) {
    if (host_stack_to_free_ != no_stack) scheduler::append(free_host_stacks_, host_stack_to_free_);
    host_stack_to_free_ = self.stack_slot;
  }
  if (!of.live()) {
    fair_.ended(of);
    of.ended = 1;
    wake_readers(self, &of.ended, sizeof of.ended);
    if (!of.host) {
      --resident_waves_;
      --devices_[of.gpu].resident;
      if (--of.runs->live_waves == 0) kernel_ended(self);
      start_blocks(self);
    } else if (of.copies) {
      work_ended(self, of.kernel);
      start_blocks(self);
    }
  }
  if (live_lanes_ == 0 && kernels_.empty()) {
    if (denied_) verdict_ = verdict::progress;
    if (late_ != nullptr) late_->all_arrives(self);
    leave(self);
  }
  block(self);
  std::abort();
}

void world::refuse_in_kernel(lane& self, const char* what, const operation& how) {
  finish_plain_store(self);
  self.pending = how;
  end(self, verdict::unsupported,
      std::string(what) + " in a kernel (dynamic parallelism) is not simulated: do it in a host thread");
}

void world::launch(lane& self, const grid_shape& shape, const fiber_body& body, const void* bytes,
                   const operation& how) {
  require_host(self, "a launch", how);
  step(self, how);
  if (counted_ == 0) begin_counting();
  const uint64_t blocks = shape.grid.count();
  const uint64_t threads = shape.block.count();
  if (blocks == 0 || threads == 0 || shape.wave_lanes == 0 || shape.wave_lanes > 64)
    end(self, verdict::assertion,
        "a launch needs at least one block, one wave and one lane, and at most 64 lanes a wave");
  const uint64_t waves = (threads + shape.wave_lanes - 1) / shape.wave_lanes;
  if (waves > machine_.resident)
    end(self, verdict::assertion,
        "a block of " + std::to_string(waves) + " waves does not fit on a device that holds " +
            std::to_string(machine_.resident) + " (setting 'resident')");
  if (blocks > most_lanes_at_once || threads * blocks > most_lanes_at_once)
    end(self, verdict::assertion, "a launch of more than " + std::to_string(most_lanes_at_once) + " lanes");
  check_stream(self, shape.stream, how);
  cache_.forget();
  launched_kernel& added = kernels_.emplace_back();
  added.shape = shape;
  added.blocks = static_cast<uint32_t>(blocks);
  added.waves_per_block = static_cast<uint32_t>(waves);
  added.live_waves = added.blocks * added.waves_per_block;
  added.first_wave = waves_used_;
  added.ordinal = kernels_launched_;
  added.after = take_place_in(shape.stream, self);
  added.device = streams_[shape.stream].device;
  deal_out(added);
  if (unflushed_.on()) unflushed_.kernel_launched(heap_);
  added.body = body;
  added.bytes.resize(body.size_bytes);
  std::memcpy(added.bytes.data(), bytes, body.size_bytes);
  for (uint32_t n = 0; n < added.live_waves; ++n) {
    wave& fresh = new_wave();
    fresh.device_id = device_waves_++;
    fresh.kernel = added.ordinal;
    fresh.device = added.device;
    fresh.runs = &added;
    fresh.block = n / added.waves_per_block;
    fresh.in_kernel = n;
    fresh.live_lanes = added.lanes_of(n % added.waves_per_block);
    fair_.live(fresh);
  }
  added.for_each_share([&](const launched_kernel::share& of) {
    for (size_t n = size_t{of.next} * added.waves_per_block; n < size_t{of.end} * added.waves_per_block; ++n)
      waves_[added.first_wave + n].gpu = of.gpu;
  });
  more_or_less_runs(self, added.device, 0);
  start_blocks(self);
  performed(self, added.blocks);
  if (!machine_.launches_block || !self.is_host()) return;
  operation until_it_ends = how;
  until_it_ends.kind = operation_kind::synchronize;
  wait_for_launches(self, {kernels_launched_ - 1}, until_it_ends);
}

// Where not all that may begin have a place, those that were launched first get one first.
void world::start_blocks(lane& self) {
  for (launched_kernel& runs : kernels_)
    if (runs.started_blocks < runs.blocks && may_begin(runs))
      runs.for_each_share([&](launched_kernel::share& of) { start_blocks_of(self, runs, of); });
}

// Pages and blocks of one number go to one GPU of a unified device, where there are as many of both.
void world::deal_out(launched_kernel& added) const {
  const std::vector<uint32_t>& gpus = devices_[added.device].gpus;
  if (gpus.size() > 1) added.parts.resize(gpus.size());
  size_t n = 0;
  added.for_each_share([&](launched_kernel::share& of) {
    const driver::share mine = driver::share_of(added.blocks, gpus.size(), n);
    of.gpu = gpus[n++];
    of.next = static_cast<uint32_t>(mine.first);
    of.end = static_cast<uint32_t>(mine.end());
    if (!machine_.starts_in_order)
      for (uint32_t block = of.next; block < of.end; ++block) of.others.push_back(block);
  });
}

void world::start_blocks_of(lane& self, launched_kernel& runs, launched_kernel::share& of) {
  if (timed_memory* const time = timed()) time->starts_blocks(self);
  const uint32_t& resident = devices_[of.gpu].resident;
  const auto left = [&] { return of.end - of.next; };
  const auto fits = [&](uint32_t blocks) {
    return places_lifted_ || resident + uint64_t{blocks} * runs.waves_per_block <= machine_.resident;
  };
  while (left() != 0 && fits(1)) {
    uint32_t block = of.next;
    if (!machine_.starts_in_order) {
      // Where all have a place, the order in which they get it does not show.
      const uint32_t which = fits(left()) || left() == 1 ? 0 : pick(self, left(), scheduler::choice_kind::start);
      block = of.others[which];
      of.others.erase(of.others.begin() + which);
    }
    ++of.next;
    start_block(runs, block);
  }
}

void world::start_block(launched_kernel& runs, uint32_t block) {
  uint32_t gpu = 0;
  for (uint32_t n = 0; n < runs.waves_per_block; ++n) {
    wave& starts = waves_[runs.first_wave + size_t{block} * runs.waves_per_block + n];
    gpu = starts.gpu;
    starts.resident = true;
    fair_.placed(starts);
    for (uint32_t index = 0; index < runs.lanes_of(n); ++index) {
      lane& fresh = new_lane(starts, index);
      fresh.how_to_run = &runs.body;
      if (late_ != nullptr) {
        late_->begins(fresh, nullptr);
        late_->acquire_object(fresh, launch_of(runs.ordinal));
        for (const uint32_t earlier : runs.after) late_->acquire_object(fresh, end_of(earlier));
      }
      add_candidate(fresh);
    }
    if (in_lockstep() && starts.lanes.size() > 1) keep_together(starts);
  }
  resident_waves_ += runs.waves_per_block;
  devices_[gpu].resident += runs.waves_per_block;
  ++runs.started_blocks;
}

void world::check_host_stacks(lane& self) {
  if (host_stacks_used_ == host_stacks_->capacity() && free_host_stacks_.empty())
    end(self, verdict::assertion,
        "more than " + std::to_string(host_stacks_->capacity()) + " host threads, and copies that have not ended" +
            (host_stacks_->capacity() == most_hosts ? "" : std::string("; ") + more_address_space));
}

const wave& world::spawn_host(lane& self, const char* name, const fiber_body& body, void* from) {
  // Alone it need not ask for its turn.
  if (counted_ == 0)
    begin_counting();
  else
    yield(self);
  check_host_stacks(self);
  wave& fresh = new_wave();
  fresh.host = true;
  // Threads of one name are told apart by a number.
  uint32_t namesakes = 0;
  for (size_t n = 0; n + 1 < waves_used_; ++n) {
    const std::string_view known = waves_[n].name;
    if (!waves_[n].host) continue;
    const size_t length = length_of_beginning(known, name);
    if (length > known.size()) continue;
    const std::string_view rest = known.substr(length);
    if (rest.empty() || rest.starts_with(" #")) ++namesakes;
  }
  if (namesakes == 0)
    name_wave(fresh, name);
  else
    fresh.name = std::string(name) + " #" + std::to_string(namesakes + 1);
  fresh.ordinal = hosts_spawned_++;
  fresh.live_lanes = 1;
  fresh.resident = true;
  lane& thread = new_lane(fresh, 0);
  thread.how_to_run = &body;
  if (late_ != nullptr) late_->begins(thread, &self);
  begin(thread);
  share_captured(from, body.size_bytes);
  body.move_to(thread.body, from);
  fair_.live(fresh);
  add_candidate(thread);
  got_somewhere(self);
  performed(self, fresh.id);
  return fresh;
}

// -- the public face ----------------------------------------------------------------------------------------------------------

simulation::simulation() : world_(std::make_unique<world>()) {}
simulation::~simulation() = default;

search_result simulation::search(const explored_run& run, const search_options& options) {
  return search_all(*this, run, options);
}

void simulation::tell_of_others(const other_schedules* known) { world_->tell_of_others(known); }

void simulation::time_calls(call_times* into) { world_->time_calls(into); }

void simulation::explore(search_notes* notes) { world_->explore(notes); }

const outcome& simulation::run(const parameters& values, const std::function<void()>& body,
                               scheduler::choice_source& choices, bool explain, run_record* record) {
  return world_->run(values, body, choices, explain, record);
}

}  // namespace heddle::sim
