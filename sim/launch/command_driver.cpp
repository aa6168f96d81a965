#include <heddle/sim/base/invariant.h>
#include <heddle/sim/launch/command_driver.h>
#include <heddle/sim/launch/launches.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace heddle::sim {

using scheduler::verdict;

namespace {

driver::driver_settings settings_of(const settings& machine) {
  driver::driver_settings made;
  made.copies = machine.detail == driver_detail::message ? driver::copy_model::timed : driver::copy_model::instant;
  made.flush_before_copy = machine.flushes;
  // Which blocks have a place on a device is for launches to say.
  made.compute_units = 1;
  made.groups_per_unit = made.groups_per_cycle = 1u << 20;
  made.paced = made.launches_from_host = true;
  made.split = machine.split;
  made.fault = machine.stepped.fault;
  made.middleware = machine.stepped.middleware;
  // Those of launches and copies are the machine's own, with which kernels and engines begin.
  made.launch = made.copy = 0;
  made.posted = machine.time.posted;
  made.read = machine.time.read;
  made.fence = machine.time.fence;
  return made;
}

}  // namespace

class command_driver::host_copies final : public driver::middleware {
 public:
  explicit host_copies(command_driver& of) : of_(of) {}
  const char* name() const override { return "host copy"; }
  driver::handling process(driver::command& next) override {
    if (next.kind != driver::command_kind::custom) return driver::handling::not_mine;
    work& copies = of_.work_[next.payload];
    of_.start_engine(copies, copies.copy, {.of = &next});
    return driver::handling::running;
  }

 private:
  command_driver& of_;
};

command_driver::command_driver(run_core& core, device_allocations& memory, launches& launched, waits& waiting,
                               const fiber_body& drives)
    : core_(core), memory_(memory), launched_(launched), waits_(waiting), drives_(drives) {
  hands_ = {.settings = settings_of(core.machine), .runner = this, .mover = this, .listener = this};
}

command_driver::~command_driver() = default;

void command_driver::reset() {
  actor_ = acting_ = nullptr;
  wanted_ = under_way_ = commands_ = past_ = news_ = 0;
  pages_came_at_ = 0;
  engines_ = 0;
  blocks_have_come_ = false;
  queues_.clear();
  work_.clear();
  pieces_.clear();
  moved_.clear();
  ended_.clear();
  held_back_.clear();
  room().add_middleware(std::make_unique<host_copies>(*this), room().chain_length());
}

// Any mixing function does; this is that of SplitMix64.
void command_driver::note(uint64_t what) {
  past_ += what + 0x9e3779b97f4a7c15u;
  past_ = (past_ ^ past_ >> 30) * 0xbf58476d1ce4e5b9u;
  past_ = (past_ ^ past_ >> 27) * 0x94d049bb133111ebu;
  past_ ^= past_ >> 31;
}

// -- what is enqueued -----------------------------------------------------------------------------------------------------------------

driver::queue_id command_driver::queue_of(uint32_t stream) {
  if (queues_.size() <= stream) queues_.resize(stream + size_t{1}, no_queue);
  if (queues_[stream] != no_queue) return queues_[stream];
  const device_set& devices = memory_.devices();
  const uint32_t device = launched_.device_of_stream(stream);
  const driver::context_id context = devices.context_of(device);
  room().contexts().select_device(context, devices.number_in_driver(device)).value();
  return queues_[stream] = queues().create_queue(context).value();
}

command_driver::work& command_driver::begin_work(const place_in_stream& at) {
  must_hold(at.ordinal == work_.size(), "driver: work is enqueued in the order of its numbers");
  work& fresh = work_.emplace_back();
  fresh.at = at;
  note(uint64_t{at.stream} << 32 | at.ordinal);
  for (const uint32_t earlier : at.after) {
    work& before = work_[earlier];
    if (before.has_ended || before.at.stream == at.stream) continue;
    queues().enqueue_wait(queue_of(at.stream), mark(before)).value();
  }
  return fresh;
}

driver::event_id command_driver::mark(work& of) {
  if (!of.mark) {
    of.mark = queues().create_event();
    queues().enqueue_record(queue_of(of.at.stream), *of.mark).value();
  }
  return *of.mark;
}

void command_driver::recorded(lane& self, std::span<const uint32_t> earlier) {
  const uint64_t before = queues().commands_made();
  for (const uint32_t each : earlier)
    if (!work_[each].has_ended) mark(work_[each]);
  if (queues().commands_made() != before) signal(self);
}

void command_driver::enqueued(lane& self, work& of) {
  of.command = queues().commands_made();
  signal(self);
}

void command_driver::count_commands() {
  under_way_ += queues().commands_made() - commands_;
  commands_ = queues().commands_made();
}

void command_driver::signal(lane& self) {
  count_commands();
  held_back_.clear();
  note(commands_ << 8 | 1);
  if (core_.times != nullptr) room().engine().pass_until(core_.times->now(self));
  wanted_ = 1;
  if (actor_ == nullptr)
    begin_actor(self);
  else
    waits_.wake_readers(self, &wanted_, sizeof wanted_);
}

void command_driver::begin_actor(lane& self) {
  core_.check_host_stacks(self);
  wave& fresh = core_.new_wave();
  fresh.host = fresh.drives = true;
  fresh.name = "driver";
  fresh.live_lanes = 1;
  fresh.resident = true;
  lane& drives = core_.new_lane(fresh, 0);
  drives.how_to_run = &drives_;
  if (core_.late != nullptr) core_.late->begins(drives, nullptr);
  core_.begin(drives);
  core_.enabled.fair.live(fresh);
  core_.enable(drives);
  actor_ = &drives;
}

void command_driver::launch(lane& self, launched_kernel& runs) {
  work& of = begin_work({.stream = runs.shape.stream, .ordinal = runs.ordinal, .after = runs.after});
  of.runs = &runs;
  of.groups.resize(runs.blocks);
  of.live_waves.assign(runs.blocks, runs.waves_per_block);
  const extent& block = runs.shape.block;
  const extent& grid = runs.shape.grid;
  const auto code = runs.body.invoke;
  const result<void> said = queues().enqueue_launch(queue_of(runs.shape.stream),
                                                    {.code = std::as_bytes(std::span(&code, 1)),
                                                     .arguments = runs.bytes,
                                                     .grid = {grid.x * block.x, grid.y * block.y, grid.z * block.z},
                                                     .group = block});
  if (!said) core_.end(self, verdict::assertion, said.why().line());
  for (const std::byte each : runs.bytes) note(static_cast<uint64_t>(each));
  // The device reads them where the driver has copied them to.
  std::fill(runs.bytes.begin(), runs.bytes.end(), std::byte{0});
  enqueued(self, of);
}

std::optional<uint64_t> command_driver::in_driver(uint32_t stream, const void* address, size_t size_bytes) const {
  const heap& memory = core_.map.heap;
  if (!memory.contains(address)) return std::nullopt;
  const allocation* const of = memory.nearest(address);
  if (of == nullptr || of->freed || of->kind != memory_kind::device || !of->holds(address, size_bytes))
    return std::nullopt;
  return memory_.devices().address_of(launched_.device_of_stream(stream), of->base,
                                      static_cast<size_t>(static_cast<const std::byte*>(address) - of->base));
}

bool command_driver::needs_flush(uint32_t stream, const void* from) {
  return core_.machine.flushes && in_driver(stream, from, 1) && queues().needs_flush(queue_of(stream));
}

void command_driver::copy(lane& self, const stream_copy& what, const place_in_stream& at,
                          const fiber_body& how_to_run) {
  work& of = begin_work(at);
  of.copy = what;
  of.how_to_run = &how_to_run;
  for (const void* const each : {static_cast<const void*>(what.to), what.from}) note(reinterpret_cast<uintptr_t>(each));
  note(what.size_bytes);
  of.name = "copy " + std::to_string(++engines_) +
            (at.stream == 0 ? " of the default stream" : " of stream " + std::to_string(at.stream));
  const driver::queue_id queue = queue_of(at.stream);
  const auto to = in_driver(at.stream, what.to, what.size_bytes);
  const auto from = in_driver(at.stream, what.from, what.size_bytes);
  result<void> said = error{"copy", "", "not the driver's", "neither side is memory of the device's process"};
  if (to && from)
    said = queues().enqueue_copy_on_device(queue, *to, *from, what.size_bytes);
  else if (to)
    said = queues().enqueue_copy_to_device(queue, *to, {static_cast<const std::byte*>(what.from), what.size_bytes});
  else if (from)
    said = queues().enqueue_copy_to_host(queue, {static_cast<std::byte*>(what.to), what.size_bytes}, *from);
  // What the driver does not know, or refuses, is copied all the same: the engine finds out what is wrong with it.
  if (!said) queues().enqueue_custom(queue, "copy", at.ordinal).value();
  enqueued(self, of);
}

void command_driver::flush(lane& self, const place_in_stream& at) {
  work& of = begin_work(at);
  queues().enqueue_flush(queue_of(at.stream)).value();
  enqueued(self, of);
}

// -- what devices do for it -------------------------------------------------------------------------------------------------------------

command_driver::work* command_driver::work_of_command(uint64_t command) {
  // Numbers of commands grow with those of work.
  const auto found = std::lower_bound(work_.begin(), work_.end(), command,
                                      [](const work& each, uint64_t number) { return each.command < number; });
  return found == work_.end() || found->command != command ? nullptr : &*found;
}

driver::execution command_driver::execute(const driver::work_group& group, driver::group_memory_port& memory) {
  work& of = *work_of_command(group.launch);
  launched_kernel& runs = *of.runs;
  if (runs.come_blocks == 0) {
    // While a page moves, what is in host memory is out of the device's reach.
    auto code = runs.body.invoke;
    if (memory.read(group.code_object, std::as_writable_bytes(std::span(&code, 1))) == driver::access::waits ||
        memory.read(group.arguments, runs.bytes) == driver::access::waits)
      return {.how = driver::execution::state::waits};
    must_hold(code == runs.body.invoke, "driver: a kernel's code is where its packet says");
    memory_.unflushed().kernel_launched(core_.map.heap);
  }
  ++runs.come_blocks;
  of.groups[group.flat] = group;
  const place_in_cluster place = runs.place_of(static_cast<uint32_t>(group.flat));
  runs.for_each_share([&](launched_kernel::share& part) {
    if (part.gpu + 1 != group.device) return;
    // The blocks of a cluster may start when all of them are there.
    if (runs.cluster_blocks > 1) {
      if (runs.come_of_cluster.empty()) runs.come_of_cluster.resize(runs.blocks / runs.cluster_blocks);
      if (++runs.come_of_cluster[place.cluster] != runs.cluster_blocks) return;
    }
    if (!core_.machine.starts_in_order) part.others.push_back(place.cluster * runs.cluster_blocks);
    part.end += runs.cluster_blocks;
  });
  blocks_have_come_ = true;
  return {.how = driver::execution::state::later};
}

void command_driver::block_ended(lane& last) {
  const wave& of = *last.of;
  work& launch = work_[of.kernel];
  if (--launch.live_waves[of.block] != 0) return;
  // What the device does for it, it does now.
  if (core_.times != nullptr) room().engine().pass_until(core_.times->now(last));
  room().finish(launch.groups[of.block]).value();
  note(uint64_t{of.kernel} << 40 | uint64_t{of.block} << 8 | 2);
  signal(last);
}

void command_driver::move(const driver::request& piece) {
  work& of = *work_of_command(piece.of->part_of != 0 ? piece.of->part_of : piece.of->number);
  stream_copy what = of.copy;
  what.size_bytes = piece.bytes;
  std::byte* const on_device = memory_.devices().memory_at(piece.process, piece.virtual_address);
  what.to = piece.kind == driver::request_kind::read ? piece.to_host : on_device;
  what.from = piece.kind == driver::request_kind::read ? on_device
              : piece.kind == driver::request_kind::write
                  ? piece.from_host
                  : memory_.devices().memory_at(piece.process, piece.from_virtual);
  start_engine(of, what, piece);
}

void command_driver::start_engine(work& of, const stream_copy& what, const driver::request& piece) {
  std::vector<uint32_t> after;
  for (const uint32_t earlier : of.at.after)
    if (work_[earlier].has_ended) after.push_back(earlier);
  lane& engine = launched_.start_engine(*acting_, what,
                                        {.stream = of.at.stream, .ordinal = of.at.ordinal, .after = std::move(after)},
                                        of.name, *of.how_to_run);
  if (core_.times != nullptr) core_.times->not_before(engine, room().engine().now());
  pieces_.push_back({.engine = &engine, .what = piece});
}

void command_driver::piece_ended(lane& engine) {
  const auto found =
      std::find_if(pieces_.begin(), pieces_.end(), [&](const moving& each) { return each.engine == &engine; });
  const driver::request what = found->what;
  pieces_.erase(found);
  if (core_.times != nullptr) room().engine().pass_until(core_.times->now(engine));
  if (what.of->kind == driver::command_kind::custom || hands_.settings.copies == driver::copy_model::instant)
    moved_.push_back(what);
  else
    room().moved(what);
  note(uint64_t{engine.id} << 8 | 3);
  signal(engine);
}

bool command_driver::any_kernel_runs() const {
  return std::any_of(launched_.kernels().begin(), launched_.kernels().end(),
                     [](const launched_kernel& each) { return each.come_blocks != 0 && each.live_waves != 0; });
}

void command_driver::flush(driver::device_id gpu) { memory_.write_back(gpu - 1, any_kernel_runs()); }

void command_driver::record(const driver::trace_record& what) {
  if (what.kind != driver::trace_kind::command_ends) return;
  --under_way_;
  work* const of = work_of_command(what.command);
  if (of == nullptr) return;
  of->has_ended = true;
  ended_.push_back(of->at.ordinal);
}

void command_driver::take_moved() {
  for (const driver::request& each : moved_) room().services().complete(*each.of);
  moved_.clear();
}

// -- the actor ----------------------------------------------------------------------------------------------------------------------------

// What is held back is offered again when anything else has happened.
void command_driver::begin_next(driver::queue_id queue) {
  const uint64_t first = room().next_of(queue);
  const bool held_back = !room().begin_next(queue) && room().next_of(queue) == first;
  count_commands();
  if (held_back)
    held_back_.push_back(first);
  else
    held_back_.clear();
}

bool command_driver::step(lane& self) {
  wanted_ = 0;
  ended_.clear();
  blocks_have_come_ = false;
  const uint64_t news = news_;
  driver::event_engine& engine = room().engine();
  const bool each_event = core_.machine.detail == driver_detail::message;
  const auto events = static_cast<uint32_t>(each_event ? engine.choices() : engine.pending() != 0 ? 1 : 0);
  ready_.clear();
  for (const driver::queue_id each : queues_)
    if (each != no_queue && room().may_begin(each) &&
        std::find(held_back_.begin(), held_back_.end(), room().next_of(each)) == held_back_.end())
      ready_.push_back(each);
  const uint32_t answers = moved_.empty() ? 0 : 1;
  const auto count = events + answers + static_cast<uint32_t>(ready_.size());
  if (count == 0) return false;
  const uint32_t picked =
      count == 1 || !core_.phase.is_open() ? 0 : core_.pick(self, count, scheduler::choice_kind::start);
  note(uint64_t{picked} << 8 | 4);
  if (core_.times != nullptr) engine.pass_until(core_.times->now(self));
  acting_ = &self;
  if (picked >= events + answers)
    begin_next(ready_[picked - events - answers]);
  else if (picked >= events)
    take_moved();
  else if (each_event)
    engine.step(picked);
  else
    engine.run();
  if (picked < events + answers) held_back_.clear();
  acting_ = nullptr;
  if (core_.times != nullptr) core_.times->not_before(self, engine.now());
  for (const driver::queue_id each : queues_)
    if (const driver::command_queue* const of = each == no_queue ? nullptr : queues().find(each);
        of != nullptr && of->fault)
      core_.end(self, verdict::assertion, of->fault->line());
  if (!ended_.empty() || news_ != news) memory_.devices().commands_have_ended();
  return true;
}

}  // namespace heddle::sim
