#include <heddle/driver/copy_instant.h>
#include <heddle/driver/copy_timed.h>
#include <heddle/driver/flush.h>
#include <heddle/driver/gpu_driver.h>
#include <heddle/driver/launch.h>
#include <heddle/driver/message.h>

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

namespace heddle::driver {

gpu_driver::gpu_driver(const driver_settings& settings, work_group_runner* runner)
    : ticking(engine_, settings.cycle),
      settings_(settings),
      runner_(runner),
      contents_(settings.page_bits),
      memory_(settings.page_bits, devices_, *this),
      marks_(1),
      migrator_(*this, *this) {
  assert(settings.page_bits >= 8 && settings.page_bits <= 24 && settings.cycle != 0 && settings.port_requests != 0);
  assert(settings.compute_units != 0 && settings.groups_per_unit != 0 && settings.groups_per_cycle != 0);
  devices_.add(device_kind::cpu);
  gpus_.push_back(nullptr);
  memory_.add_memory(cpu_device, settings.cpu_bytes).value();
  if (settings.copies == copy_model::timed)
    chain_.push_back(std::make_unique<timed_copy>(services()));
  else
    chain_.push_back(std::make_unique<instant_copy>(services()));
  chain_.push_back(std::make_unique<flush_caches>(services()));
  chain_.push_back(std::make_unique<launch_kernels>(services()));
  auto events = std::make_unique<queue_events>();
  events_ = events.get();
  chain_.push_back(std::move(events));
}

gpu_driver::~gpu_driver() = default;

// -- devices and contexts ---------------------------------------------------------------------------------------------------------

result<device_id> gpu_driver::register_gpu(uint64_t memory_bytes) {
  const device_id fresh = devices_.count();
  if (const auto range = memory_.add_memory(fresh, memory_bytes); !range) return range.why();
  devices_.add(device_kind::gpu);
  gpus_.resize(fresh + size_t{1});
  gpus_[fresh] = std::make_unique<gpu>(fresh, static_cast<gpu_surroundings&>(*this));
  return fresh;
}

result<device_id> gpu_driver::create_unified_device(context_id context, std::span<const device_id> gpus) {
  if (const auto by = context_for("create_unified_device", context); !by) return by.why();
  result<device_id> fresh = devices_.unify(gpus);
  if (fresh) gpus_.resize(devices_.count());
  return fresh;
}

gpu* gpu_driver::gpu_of(device_id device) { return device < gpus_.size() ? gpus_[device].get() : nullptr; }

context_id gpu_driver::create_context() {
  const process_id process = memory_.create_process();
  marks_.resize(process + size_t{1});
  contexts_.push_back(std::make_unique<context_state>());
  contexts_.back()->process = process;
  contexts_.back()->device = devices_.gpus().empty() ? cpu_device : devices_.gpus().front();
  return static_cast<context_id>(contexts_.size() - 1);
}

result<context_id> gpu_driver::create_context_beside(context_id other) {
  const auto known = context_for("create_context_beside", other);
  if (!known) return known.why();
  contexts_.push_back(std::make_unique<context_state>());
  contexts_.back()->process = contexts_[other]->process;
  contexts_.back()->device = contexts_[other]->device;
  return static_cast<context_id>(contexts_.size() - 1);
}

result<gpu_driver::context_state*> gpu_driver::context_for(const char* call, context_id context) {
  if (context < contexts_.size()) return contexts_[context].get();
  return failure(call, words("context ", context), "unknown context", words("there are ", contexts_.size()));
}

result<process_id> gpu_driver::process_of(context_id context) const {
  if (context < contexts_.size()) return contexts_[context]->process;
  return failure("process_of", words("context ", context), "unknown context", words("there are ", contexts_.size()));
}

result<void> gpu_driver::select_device(context_id context, device_id device) {
  auto in = context_for("select_device", context);
  if (!in) return in.why();
  if (!devices_.has(device))
    return failure("select_device", words("context ", context, ", device ", device), "unknown device",
                   devices_.known());
  in.value()->device = device;
  return {};
}

result<device_id> gpu_driver::selected_device(context_id context) const {
  if (context < contexts_.size()) return contexts_[context]->device;
  return failure("selected_device", words("context ", context), "unknown context",
                 words("there are ", contexts_.size()));
}

// -- memory ------------------------------------------------------------------------------------------------------------------------

memory_allocator& gpu_driver::memory() { return memory_; }

result<uint64_t> gpu_driver::allocate(context_id context, uint64_t bytes) {
  auto in = context_for("allocate", context);
  if (!in) return in.why();
  return memory_.allocate(in.value()->process, bytes, in.value()->device);
}

result<uint64_t> gpu_driver::allocate_unified(context_id context, uint64_t bytes) {
  auto in = context_for("allocate_unified", context);
  if (!in) return in.why();
  return memory_.allocate(in.value()->process, bytes, in.value()->device, true);
}

result<void> gpu_driver::free(context_id context, uint64_t address) {
  auto in = context_for("free", context);
  if (!in) return in.why();
  return memory_.free(in.value()->process, address);
}

result<void> gpu_driver::remap(context_id context, uint64_t address, uint64_t bytes, device_id device) {
  auto in = context_for("remap", context);
  if (!in) return in.why();
  return memory_.remap(in.value()->process, address, bytes, device);
}

result<void> gpu_driver::remove_page(context_id context, uint64_t address) {
  auto in = context_for("remove_page", context);
  if (!in) return in.why();
  return memory_.remove_page(in.value()->process, address);
}

result<page> gpu_driver::allocate_page_at(context_id context, device_id device, uint64_t address, bool unified) {
  auto in = context_for("allocate_page_at", context);
  if (!in) return in.why();
  return memory_.allocate_page_at(in.value()->process, device, address, unified);
}

void gpu_driver::released(const page& old) {
  for (const device_id each : devices_.gpus()) gpus_[each]->translations().shoot_down(old.process, old.virtual_address);
  if (l2_cache* const cache = cache_of(old.device)) cache->invalidate(old.physical_address, old.size_bytes);
  contents_.clear(old.physical_address);
}

l2_cache* gpu_driver::cache_of(device_id device) {
  gpu* const on = gpu_of(device);
  return on == nullptr ? nullptr : &on->cache();
}

void gpu_driver::write_memory(const page& where, uint64_t offset, std::span<const std::byte> from) {
  contents_.write(where.physical_address + offset, from);
  if (l2_cache* const cache = cache_of(where.device)) cache->invalidate(where.physical_address + offset, from.size());
}

uint64_t gpu_driver::read_memory(const page& where, uint64_t offset, std::span<std::byte> to) {
  return contents_.read(where.physical_address + offset, to);
}

// -- the cycle ----------------------------------------------------------------------------------------------------------------------

bool gpu_driver::tick() {
  bool any = send_request();
  any = migrator_.answer_mmu() || any;
  any = migrator_.send() || any;
  for (const auto& each : chain_) any = each->tick() || any;
  any = take_answer() || any;
  any = take_commands() || any;
  return migrator_.take_wanted() || any;
}

bool gpu_driver::send_request() {
  if (port_.empty()) return false;
  const request next = port_.pop();
  tell(trace_kind::request_leaves, next.of, &next);
  travel(next, false, way_to(next));
  return true;
}

picoseconds gpu_driver::way_to(const request& what) const {
  if (what.device == cpu_device) return 0;
  switch (what.kind) {
    case request_kind::read:
      return settings_.read / 2;
    case request_kind::write:
      return settings_.posted + what.bytes * settings_.copy_byte;
    case request_kind::launch:
      return settings_.launch;
    default:
      return settings_.posted;
  }
}

bool gpu_driver::take_answer() {
  if (answers_.empty()) return false;
  const request next = answers_.pop();
  tell(trace_kind::answer_arrives, next.of, &next);
  if (migrator_.receive(next)) return true;
  for (const auto& each : chain_)
    if (each->receive(next)) break;
  return true;
}

bool gpu_driver::take_commands() {
  bool any = false;
  for (const auto& each : contexts_)
    for (command_queue* const queue : each->queues) any = offer(*queue) || any;
  return any;
}

bool gpu_driver::offer(command_queue& queue) {
  if (queue.running || queue.waiting.empty()) return false;
  command& next = *queue.waiting.front();
  if (!next.begun) {
    next.begun = true;
    tell(trace_kind::command_begins, &next, nullptr);
  }
  for (const auto& each : chain_) switch (each->process(next)) {
      case handling::not_mine:
        continue;
      case handling::later:
        return false;
      case handling::running:
        queue.running = true;
        return true;
      case handling::done:
        end(queue, next);
        return true;
    }
  std::string asked;
  for (const auto& each : chain_) asked += words(asked.empty() ? "" : ", ", each->name());
  next.fail(failure("enqueue", next.describe(), "unhandled command", "nobody in the chain knows it: " + asked));
  end(queue, next);
  return true;
}

void gpu_driver::complete(command& done) { end(*find(done.queue), done); }

void gpu_driver::end(command_queue& queue, command& done) {
  tell(trace_kind::command_ends, &done, nullptr);
  if (done.kind == command_kind::launch || done.kind == command_kind::unified_launch)
    marks_[done.process].launch_ended(queue.marks);
  for (const uint64_t buffer : done.held) memory_.let_go(done.process, buffer);
  for (const launch_part& part : done.parts)
    for (const uint64_t buffer : {part.code_object, part.arguments, part.packet})
      memory_.free(done.process, buffer).value();
  if (done.fault && !queue.fault) queue.fault = std::move(done.fault);
  queue.waiting.pop();
  queue.running = false;
  if (queue.waiting.empty()) ++emptied_;
  done.clear();
  free_commands_.push_back(&done);
  tick_soon();
}

// -- the link -----------------------------------------------------------------------------------------------------------------------

void gpu_driver::send(request what) {
  what.number = ++requests_made_;
  port_.push(what);
  tick_soon();
}

void gpu_driver::answer(const request& what, picoseconds delay) { travel(what, true, delay); }

void gpu_driver::travel(const request& what, bool is_answer, picoseconds delay) {
  uint64_t slot = in_flight_.size();
  if (free_in_flight_.empty()) {
    in_flight_.push_back({what, is_answer});
  } else {
    slot = free_in_flight_.back();
    free_in_flight_.pop_back();
    in_flight_[slot] = {what, is_answer};
  }
  engine_.schedule(engine_.now() + delay, event_rank::primary, link_, 0, slot).value();
}

void gpu_driver::arrived(uint64_t slot) {
  const in_flight here = in_flight_[slot];
  free_in_flight_.push_back(slot);
  if (here.is_answer) {
    answers_.push(here.what);
    tick_soon();
    return;
  }
  tell(trace_kind::request_arrives, here.what.of, &here.what);
  if (here.what.device == cpu_device) return deliver_to_cpu(here.what);
  gpus_[here.what.device]->arrive(here.what);
}

void gpu_driver::deliver_to_cpu(const request& what) {
  // The CPU's memory is on this side of the link; nothing else is asked of it.
  request reply = what;
  if (what.kind == request_kind::write)
    contents_.write(what.physical_address, {what.from_host, what.bytes});
  else
    reply.poisoned_bytes = contents_.read(what.physical_address, {what.to_host, what.bytes});
  travel(reply, true, 0);
}

// -- migration ----------------------------------------------------------------------------------------------------------------------

void gpu_driver::wants_page(page_slot& slot, device_id to) {
  slot.entry.migrating = true;
  migrator_.wants(slot, to);
  tick_soon();
}

bool gpu_driver::translates(device_id device, process_id process, uint64_t address) {
  return gpus_[device]->translations().find(process, address) != nullptr;
}

void gpu_driver::answer_walks() {
  for (const device_id each : devices_.gpus()) gpus_[each]->retry();
}

// -- outside ------------------------------------------------------------------------------------------------------------------------

result<void> gpu_driver::finish(const work_group& group) {
  gpu* const on = gpu_of(group.device);
  if (on != nullptr && on->finish(group.slot)) return {};
  return failure("finish", words("device ", group.device, ", work-group ", group.flat), "invalid value",
                 "it was not left to anybody");
}

void gpu_driver::add_middleware(std::unique_ptr<middleware> fresh, size_t place) {
  chain_.insert(chain_.begin() + static_cast<ptrdiff_t>(std::min(place, chain_.size())), std::move(fresh));
}

void gpu_driver::tell(trace_kind kind, const command* of, const request* asked) const {
  if (listener_ == nullptr) return;
  trace_record what = {.time = engine_.now(), .kind = kind};
  if (of != nullptr) {
    what.command = of->number;
    what.what = of->kind;
    what.queue = of->queue;
    what.device = of->device;
    what.address = of->address;
    what.bytes = of->bytes;
  }
  if (asked != nullptr) {
    what.request = asked->number;
    what.asked = asked->kind;
    what.device = asked->device;
    what.address = asked->virtual_address;
    what.bytes = asked->bytes;
  }
  listener_->record(what);
}

}  // namespace heddle::driver
