#include <heddle/driver/tracer.h>

namespace heddle::driver {

void tracer::tell(trace_kind kind, const command* of, const request* asked) const {
  if (listener_ == nullptr) return;
  trace_record what = {.time = engine_->now(), .kind = kind};
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
