#include <heddle/driver/flush.h>

namespace heddle::driver {

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

}  // namespace heddle::driver
