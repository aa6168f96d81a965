#include <heddle/driver/middlewares.h>

#include <algorithm>

namespace heddle::driver {

handling launch_kernels::process(command& next) {
  if (next.kind != command_kind::launch && next.kind != command_kind::unified_launch) return handling::not_mine;
  next.outstanding = 0;
  for (const launch_part& part : next.parts) {
    if (part.groups.count == 0) continue;
    ++next.outstanding;
    request order = {
        .kind = request_kind::launch, .device = part.device, .of = &next, .process = next.process, .part = part};
    order.virtual_address = part.packet;
    driver_->send(order);
  }
  return handling::running;
}

bool launch_kernels::receive(const request& answer) {
  if (answer.kind != request_kind::launch) return false;
  if (--answer.of->outstanding == 0) driver_->complete(*answer.of);
  return true;
}

handling flush_caches::process(command& next) {
  if (next.kind != command_kind::flush) return handling::not_mine;
  // What has ended by now is in the caches; what ends meanwhile may come too late.
  next.payload = driver_->marks_of(next.process).flush_begins();
  const std::vector<device_id> gpus = gpus_of(next);
  next.outstanding = gpus.size();
  const bool is_late = driver_->settings().fault == driver_fault::late_flush;
  for (const device_id gpu : gpus)
    driver_->send(
        {.kind = request_kind::flush, .device = gpu, .of = is_late ? &nobodys_ : &next, .process = next.process});
  if (!gpus.empty() && !is_late) return handling::running;
  driver_->marks_of(next.process).flush_ended(next.payload);
  return handling::done;
}

std::vector<device_id> flush_caches::gpus_of(const command& flush) const {
  const auto of = driver_->settings().fault == driver_fault::own_flush ? driver_->devices().physical(flush.device)
                                                                       : driver_->devices().gpus();
  return {of.begin(), of.end()};
}

bool flush_caches::receive(const request& answer) {
  if (answer.kind != request_kind::flush) return false;
  command& of = *answer.of;
  if (&of == &nobodys_) return true;
  if (--of.outstanding != 0) return true;
  driver_->marks_of(of.process).flush_ended(of.payload);
  driver_->complete(of);
  return true;
}

handling queue_events::process(command& next) {
  switch (next.kind) {
    case command_kind::no_op:
      return handling::done;
    case command_kind::record_event: {
      uint64_t& reached = events_[next.event].reached;
      reached = std::max(reached, next.generation);
      return handling::done;
    }
    case command_kind::wait_event:
      return has_come_to(next.event, next.generation) ? handling::done : handling::later;
    default:
      return handling::not_mine;
  }
}

}  // namespace heddle::driver
