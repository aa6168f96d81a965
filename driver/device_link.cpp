#include <heddle/driver/device_link.h>

namespace heddle::driver {

void device_link::send(request what) {
  what.number = ++requests_made_;
  port_.push(what);
  cycle_->tick_soon();
}

bool device_link::send_next() {
  if (port_.empty()) return false;
  const request next = port_.pop();
  tracer_->tell(trace_kind::request_leaves, next.of, &next);
  travel(next, false, way_to(next));
  return true;
}

std::optional<request> device_link::take_answer() {
  if (answers_.empty()) return std::nullopt;
  const request next = answers_.pop();
  tracer_->tell(trace_kind::answer_arrives, next.of, &next);
  return next;
}

picoseconds device_link::way_to(const request& what) const {
  if (what.device == cpu_device) return 0;
  switch (what.kind) {
    case request_kind::read:
      return settings_->read / 2;
    case request_kind::write:
      return settings_->posted + what.bytes * settings_->copy_byte;
    case request_kind::launch:
      return settings_->launch;
    default:
      return settings_->posted;
  }
}

void device_link::travel(const request& what, bool is_answer, picoseconds delay) {
  uint64_t slot = in_flight_.size();
  if (free_in_flight_.empty()) {
    in_flight_.push_back({what, is_answer});
  } else {
    slot = free_in_flight_.back();
    free_in_flight_.pop_back();
    in_flight_[slot] = {what, is_answer};
  }
  // What goes one way between the driver and one device keeps its order where the owner of the engine chooses.
  const uint64_t way = uint64_t{what.device} << 1 | (is_answer ? 1 : 0);
  engine_->schedule(engine_->now() + delay, event_rank::primary, *this, way, slot).value();
}

void device_link::arrived(uint64_t slot) {
  const in_flight here = in_flight_[slot];
  free_in_flight_.push_back(slot);
  if (here.is_answer) {
    answers_.push(here.what);
    cycle_->tick_soon();
    return;
  }
  tracer_->tell(trace_kind::request_arrives, here.what.of, &here.what);
  devices_->arrive(here.what);
}

}  // namespace heddle::driver
