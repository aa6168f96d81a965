#include <heddle/driver/message.h>
#include <heddle/driver/middleware_chain.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace heddle::driver {
namespace {

std::vector<const middleware_maker*>& all_makers() {
  static std::vector<const middleware_maker*> all;
  return all;
}

}  // namespace

std::span<const middleware_maker* const> middleware_makers() { return all_makers(); }

const middleware_maker* find_middleware_maker(std::string_view name) {
  for (const middleware_maker* const each : all_makers())
    if (each->name() == name) return each;
  return nullptr;
}

result<void> add_middleware_maker(const middleware_maker& fresh) {
  if (fresh.name() == std::string_view("none") || find_middleware_maker(fresh.name()) != nullptr)
    return failure("add_middleware_maker", fresh.name(), "in use", "there is a middleware of this name");
  all_makers().push_back(&fresh);
  return {};
}

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
  switch (offer(next)) {
    case handling::not_mine:
      break;
    case handling::later:
      return false;
    case handling::running:
      queue.running = true;
      return true;
    case handling::done:
      ended(next);
      queues_->end(queue, next);
      return true;
  }
  std::string asked;
  for (const auto& each : chain_) asked += words(asked.empty() ? "" : ", ", each->name());
  next.fail(failure("enqueue", next.describe(), "unhandled command", "nothing in the chain knows it: " + asked));
  queues_->end(queue, next);
  return true;
}

handling middleware_chain::offer(command& outside) {
  for (const auto& each : chain_)
    if (const handling how = each->process(outside); how != handling::not_mine) return how;
  return handling::not_mine;
}

void middleware_chain::ended(const command& done) {
  for (const auto& each : chain_) each->ended(done);
}

void middleware_chain::receive(const request& answer) {
  for (const auto& each : chain_)
    if (each->receive(answer)) return;
}

}  // namespace heddle::driver
