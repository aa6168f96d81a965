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
  next.outstanding = driver_->devices().gpus().size();
  if (next.outstanding == 0) {
    driver_->marks_of(next.process).flush_ended(next.payload);
    return handling::done;
  }
  for (const device_id gpu : driver_->devices().gpus())
    driver_->send({.kind = request_kind::flush, .device = gpu, .of = &next, .process = next.process});
  return handling::running;
}

bool flush_caches::receive(const request& answer) {
  if (answer.kind != request_kind::flush) return false;
  command& of = *answer.of;
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
      return events_[next.event].reached >= next.generation ? handling::done : handling::later;
    default:
      return handling::not_mine;
  }
}

}  // namespace heddle::driver
