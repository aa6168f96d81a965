#include <heddle/driver/message.h>
#include <heddle/driver/middleware_chain.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace heddle::driver {

void middleware_chain::add(std::unique_ptr<middleware> fresh, size_t place) {
  chain_.insert(chain_.begin() + static_cast<ptrdiff_t>(std::min(place, chain_.size())), std::move(fresh));
}

bool middleware_chain::tick() {
  bool any = false;
  for (const auto& each : chain_) any = each->tick() || any;
  return any;
}

bool middleware_chain::offer(command_queue& queue) {
  if (queue.running || queue.waiting.empty()) return false;
  command& next = *queue.waiting.front();
  if (!next.begun) {
    next.begun = true;
    tracer_->tell(trace_kind::command_begins, &next, nullptr);
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
        queues_->end(queue, next);
        return true;
    }
  std::string asked;
  for (const auto& each : chain_) asked += words(asked.empty() ? "" : ", ", each->name());
  next.fail(failure("enqueue", next.describe(), "unhandled command", "nobody in the chain knows it: " + asked));
  queues_->end(queue, next);
  return true;
}

void middleware_chain::receive(const request& answer) {
  for (const auto& each : chain_)
    if (each->receive(answer)) return;
}

}  // namespace heddle::driver
