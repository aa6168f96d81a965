#include <heddle/sim/base/compiled_program.h>
#include <heddle/sim/code/program_libraries.h>
#include <heddle/sim/code/program_state.h>
#include <heddle/sim/launch/command_driver.h>
#include <heddle/sim/run/execution.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace heddle::sim {

using scheduler::verdict;
using std::string_view_literals::operator""sv;

constinit bool is_any_code_instrumented = false;

namespace {

// The length of `part` when `whole` begins with it, else more than any name's length. Names are short: a call into the C library would
// take longer.
size_t length_of_beginning(std::string_view whole, const char* part) {
  for (size_t n = 0;; ++n) {
    if (part[n] == '\0') return n;
    if (n == whole.size() || whole[n] != part[n]) return ~size_t{0};
  }
}

// Mostly the wave had this name in the previous run, too.
void name_wave(wave& host, const char* name) {
  const char* const known = host.name.c_str();
  for (size_t n = 0; known[n] == name[n]; ++n)
    if (name[n] == '\0') return;
  host.name = name;
}

/// A step of what is given to a stream. Within one operation of several parts nothing comes in between (lane::gives_as_one).
void step_in_stream(execution& run, lane& self, const operation& next) {
  if (!self.gives_as_one) return run.step(self, next);
  run.finish_plain_store(self, next.frame);
  self.pending = next;
}

// The driver's actor. No code under test has called it: all that it will do is in the driver, and in where it stands here, which is what it hides.
void drive(execution& run, lane& self) {
  execution::current = nullptr;
  void* const no_frame[2] = {nullptr, nullptr};
  operation how;
  how.kind = operation_kind::drive;
  how.frame = no_frame;
  how.private_state = reinterpret_cast<const std::byte*>(no_frame);
  enum : uint64_t { looks, waits, leaves };
  while (true) {
    self.call = {looks};
    run.step(self, how);
    const bool any = run.launched().drive(self);
    run.performed(self, any ? 1 : 0);
    if (any) continue;
    if (run.launched().commands()->is_idle()) break;
    self.call = {waits};
    run.wait_for(self, run.launched().commands()->wanted(), 1);
  }
  // The fault: it has found nothing to do, and still counts as there when something is enqueued before it has gone.
  self.call = {leaves};
  if (run.machine().stepped.loses_signals) run.step(self, how);
  // In the same step: what is enqueued from now on begins the next one.
  run.launched().commands()->actor_ends();
  execution::current = &self;
}

}  // namespace

execution::execution() {
  static constexpr fiber_body drives = {
      .size_bytes = sizeof(uint64_t), .move_to = nullptr, .invoke = [](void*) { drive(*instance, *current); }};
  core_.lane_entry = &run_lane;
  drives_ = &drives;
}

// -- a run --------------------------------------------------------------------------------------------------------------------------

void execution::begin_main(const std::function<void()>& body) {
  static constexpr fiber_body run_main = {
      .size_bytes = sizeof(const std::function<void()>*),
      .move_to = [](void* to, void* from) { std::memcpy(to, from, sizeof(const std::function<void()>*)); },
      .invoke =
          [](void* main_body) {
            if (is_program()) [[unlikely]]
              initialize_program();
            (**static_cast<const std::function<void()>**>(main_body))();
          },
  };
  main_body_ = &body;
  wave& host = core_.new_wave();
  host.host = true;
  if (host.name != "main"sv) [[unlikely]]
    host.name = "main";
  host.live_lanes = 1;
  lane& main = core_.new_lane(host, 0);
  if (core_.late != nullptr) core_.late->begins(main, nullptr);
  main.how_to_run = &run_main;
  core_.begin(main);
  run_main.move_to(main.body, &main_body_);
  host.resident = true;
  core_.enabled.fair.live(host);
  core_.enable(main);
}

bool execution::run(const parameters& values, const std::function<void()>& body, scheduler::choice_source& choices,
                    bool explain, bool record) {
  prepare(values, choices, explain, record);
  if (is_program()) hosts_.streams.keep();
  // No store to these is seen, so that each of them may have changed.
  if (core_.notes != nullptr)
    for (const variable_block& each : core_.map.unseen)
      core_.notes->variables.try_emplace(each.first, each.size_bytes());
  begin_main(body);
  if (!judge_.draw_end_game()) return false;
  core_.enabled.first_limit = std::exchange(core_.enabled.next_limit, 0);  // each operation asks whether it is a step
  look_how_to_choose();
  instance = this;
  root_stack& root = core_.stack;
  root.exceptions = &exceptions_in_flight::of_this_thread();
  fiber::switch_to(root.root, core_.threads.lanes[0].runs, *root.exceptions);
  while (root.task != nullptr) {
    (*std::exchange(root.task, nullptr))();
    fiber::switch_to(root.root, root.task_of->runs, *root.exceptions);
  }
  current = nullptr;
  // Before anything else is done with the files of the process.
  if (hosts_.process.is_changed()) [[unlikely]]
    hosts_.process.restore();
  hosts_.streams.restore();
  if (core_.notes != nullptr)
    if (const char* const untold = find_changed_program_library()) core_.notes->untold = untold;
  return true;
}

void execution::run_lane(void* argument) {
  lane& self = *static_cast<lane*>(argument);
  execution& run = *instance;
  self.first_frame = __builtin_frame_address(0);
  if (!self.of->stepped) {
    run.core_.first_step(*self.of);
    run.launches_.early().seen().see_before(*self.of);
  }
  current = &self;
  // An exception that leaves the code under test is not caught here: then the stack is still that of the throw (faults/uncaught.cpp).
  self.how_to_run->invoke(self.body);
  current = nullptr;
  self.pending.frame = nullptr;  // what it pointed to has returned
  run.finish_plain_store(self, waits::all_frames);
  if (self.assumed.due != nullptr) [[unlikely]] {
    self.pending = {};
    if (run.assumes()) assume(run, self);
  }
  // Where plain accesses are no scheduling points, the lane has had none since its last other operation. A lane outside the fair set need not
  // reach its end, for which others may wait: it yields once more.
  const operation_kind last = self.pending.kind;
  if (run.core_.machine.points != plain_points::all && !self.of->guaranteed && self.of->together == nullptr &&
      (last == operation_kind::plain_load || last == operation_kind::plain_store)) {
    self.pending = {};
    run.yield(self);
  }
  run.lane_ended(self);
}

void execution::lane_ended(lane& self) {
  wave& of = *self.of;
  const bool denied = !of.guaranteed;
  if (core_.late != nullptr)
    core_.late->release_object(self,
                               of.host && !of.copies ? static_cast<const void*>(&of.ended) : object_of_end(of.kernel));
  if (of.bulk && core_.late != nullptr) core_.late->release_object(self, &of.ended);
  if (!of.host && core_.late != nullptr && of.runs->cluster_blocks > 1) [[unlikely]]
    core_.late->release_object(self, object_of_block_end(of.kernel, of.block));
  if (core_.late != nullptr) core_.late->has_ended(self);
  core_.disable(self);
  self.state = lane_state::ended;
  if (core_.observers.recorder) [[unlikely]]
    core_.observers.recorder->ended(self, core_.history.steps);
  of.ended_mask |= lane_bit(self);
  --of.live_lanes;
  --core_.threads.live_lanes;
  if (of.host && !of.copies) std::erase(core_.threads.live_hosts, &self);
  if (!of.collectives.empty()) collectives_.leave(self);
  if (!of.host) {
    collectives_.leave_barrier(of);
    collectives_.leave_cluster(self);
    core_.threads.device_stacks.give_back(self.stack_slot);
  } else if (of.copies || of.drives) {
    core_.threads.host_stacks.give_back(self.stack_slot);
  }
  if (!of.live()) {
    core_.enabled.fair.ended(of);
    of.ended = 1;
    waits_.wake_readers(self, &of.ended, sizeof of.ended);
    if (!of.host)
      launches_.wave_ended(self);
    else if (of.copies)
      launches_.copy_ended(self);
  }
  if (core_.notes != nullptr && denied) [[unlikely]]
    core_.notes->quiet.note_denied_end(self.id);
  if (core_.threads.live_lanes == 0 && launches_.kernels().empty()) {
    if (core_.phase.denied) core_.ending.verdict = verdict::progress;
    if (core_.late != nullptr) core_.late->all_arrives(self);
    if (!core_.phase.denied) races_.end_run(self);
    core_.leave(self);
  }
  block(self);
  std::abort();
}

void execution::end_host(lane& self) {
  current = nullptr;
  self.pending.frame = nullptr;  // its calls are over
  finish_plain_store(self, waits::all_frames);
  lane_ended(self);
  std::abort();
}

// -- launches and host threads ------------------------------------------------------------------------------------------------------

void execution::refuse_in_kernel(lane& self, const char* what, const operation& how) {
  finish_plain_store(self, how.frame);
  self.pending = how;
  core_.end(self, verdict::unsupported,
            std::string(what) + " in a kernel (dynamic parallelism) is not simulated: do it in a host thread");
}

void execution::launch(lane& self, const grid_shape& shape, const fiber_body& body, const void* bytes,
                       const operation& how) {
  require_host(self, "a launch", how);
  step_in_stream(*this, self, how);
  if (core_.history.counted == 0) begin_counting();
  if (core_.observers.recorder) [[unlikely]]
    core_.observers.recorder->types.launched(bytes, body.size_bytes, how.place);
  performed(self, launches_.add(self, shape, body, bytes));
  if (!core_.machine.launches_block || !self.is_host() || self.gives_as_one) return;
  operation until_it_ends = how;
  until_it_ends.kind = operation_kind::synchronize;
  wait_for_launches(self, {launches_.launched() - 1}, until_it_ends);
}

void execution::copy_in_stream(lane& self, const stream_copy& what, uint32_t stream, const fiber_body& how_to_run,
                               const operation& how) {
  step_in_stream(*this, self, how);
  if (core_.history.counted == 0) begin_counting();
  performed(self, launches_.add_copy(self, what, stream, how_to_run));
}

const wave& execution::spawn_host(lane& self, const char* name, const fiber_body& body, void* from) {
  // While it is the only actor, it need not yield.
  if (core_.history.counted == 0)
    begin_counting();
  else
    yield(self);
  core_.check_host_stacks(self);
  wave& fresh = core_.new_wave();
  fresh.host = true;
  // Threads of one name are told apart by a number.
  uint32_t namesakes = 0;
  for (size_t n = 0; n + 1 < core_.threads.waves_used; ++n) {
    const wave& each = core_.threads.waves[n];
    const std::string_view known = each.name;
    if (!each.host) continue;
    const size_t length = length_of_beginning(known, name);
    if (length > known.size()) continue;
    const std::string_view rest = known.substr(length);
    if (rest.empty() || rest.starts_with(" #")) ++namesakes;
  }
  if (namesakes == 0)
    name_wave(fresh, name);
  else
    fresh.name = std::string(name) + " #" + std::to_string(namesakes + 1);
  fresh.ordinal = core_.threads.hosts_spawned++;
  fresh.live_lanes = 1;
  fresh.resident = true;
  lane& thread = core_.new_lane(fresh, 0);
  thread.how_to_run = &body;
  hosts_.values.begins(fresh.id);
  // Before the thread begins, which knows of all that is done until then.
  core_.frames.give_captured(self, from, body.size_bytes);
  if (core_.late != nullptr) core_.late->begins(thread, &self);
  core_.begin(thread);
  body.move_to(thread.body, from);
  core_.enabled.fair.live(fresh);
  core_.enable(thread);
  core_.note_progress(self);
  performed(self, fresh.id);
  return fresh;
}

// -- memory and requests ------------------------------------------------------------------------------------------------------------

void execution::release(lane& self, void* pointer, const operation& how) {
  finish_plain_store(self, how.frame);
  self.pending = how;
  memory_.release(self, pointer);
}

void execution::release_all_of(lane& self, const void* owner) {
  finish_plain_store(self, nullptr);
  if (launches_.running_anywhere() == 0) memory_.release_all_of(self, owner);
}

void execution::map_cached(lane& self, void* memory, const operation& how) {
  finish_plain_store(self, how.frame);
  self.pending = how;
  memory_.map_cached(self, memory);
}

void execution::request_made(lane& self, uint64_t id) {
  if (core_.observers.requests.on()) core_.observers.requests.made(self, id, core_.history.steps);
}

void execution::request_served(lane& self, uint64_t id, const operation& how) {
  if (!core_.observers.requests.on()) return;
  const std::string starved = core_.observers.requests.served(id);
  if (starved.empty()) return;
  finish_plain_store(self, how.frame);
  self.pending = how;
  core_.end(self, verdict::starvation, starved);
}

}  // namespace heddle::sim
