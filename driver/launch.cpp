#include <heddle/driver/launch.h>

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

}  // namespace heddle::driver
