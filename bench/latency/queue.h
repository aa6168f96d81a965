// What you would write without a protocol, between threads: a queue under a mutex, with a condition variable on each
// side. For machines whose lanes are threads of this process.
#pragma once

#include "meter.h"

#include <heddle/rpc/selected_device.h>

#include <stdint.h>
#include <string.h>

#include <condition_variable>
#include <deque>
#include <mutex>

namespace heddle::bench {

class queue {
 public:
  static constexpr const char* name = "mutex-queue";
  static constexpr bool is_served = true;

  struct request {
    const std::vector<unsigned char>* payload;
    uint64_t number;
    uint64_t answer = 0;
    bool done = false;
  };
  struct shared_state {
    std::mutex lock;
    std::condition_variable work;
    std::condition_variable answered;
    std::deque<request*> waiting;
  };

  struct client {
    shared_state* state;
    const std::vector<unsigned char>* payload;

    void call(uint64_t, uint64_t number) const {
      request mine{payload, number};
      std::unique_lock held(state->lock);
      state->waiting.push_back(&mine);
      state->work.notify_one();
      state->answered.wait(held, [&] { return mine.done; });
      if (mine.answer != number + payload->size())
        target::trap(fault::protocol, "a call is answered with something else");
    }
  };

  class server {
   public:
    server(shared_state* state, uint64_t bytes) : state_(state), sink_(bytes) {}
    /// Sleeps for a while when there is nothing, so that it learns when it is over.
    bool serve() {
      std::unique_lock held(state_->lock);
      if (!state_->work.wait_for(held, std::chrono::milliseconds(5), [&] { return !state_->waiting.empty(); }))
        return false;
      request* const next = state_->waiting.front();
      state_->waiting.pop_front();
      held.unlock();
      memcpy(sink_.data(), next->payload->data(), sink_.size());
      held.lock();
      next->answer = next->number + sink_.size();
      next->done = true;
      state_->answered.notify_all();
      return true;
    }

   private:
    shared_state* state_;
    std::vector<unsigned char> sink_;
  };

  queue(device&, const point& at)
      : at_(at), payload_(at.bytes * at.lanes, 7), state_(std::make_unique<shared_state>()) {}
  static result<void> prepare() { return {}; }
  client make_client() const { return {state_.get(), &payload_}; }
  server make_server(uint32_t) const { return {state_.get(), payload_.size()}; }

 private:
  point at_;
  std::vector<unsigned char> payload_;
  std::unique_ptr<shared_state> state_;
};

}  // namespace heddle::bench
