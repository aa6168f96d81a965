// The driver's chain of middlewares: each command, and each answer, goes to the first that knows it.
#pragma once

#include <heddle/driver/command_queues.h>
#include <heddle/driver/middleware.h>
#include <heddle/driver/trace.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace heddle::driver {

class middleware_chain {
 public:
  middleware_chain(command_queues& queues, const tracer& tracing) : queues_(&queues), tracer_(&tracing) {}

  /// Puts it at this place of the chain, 0 the first; behind the last it is asked last.
  void add(std::unique_ptr<middleware> fresh, size_t place);
  size_t length() const { return chain_.size(); }

  // -- parts of the driver's cycle: whether there was something to do

  bool tick();
  /// The first command of the queue, unless it runs already.
  bool offer(command_queue& queue);
  /// What is in no queue.
  handling offer(command& outside);
  void ended(const command& done);
  /// An answer; that of a request of none of them is ignored.
  void receive(const request& answer);

 private:
  command_queues* queues_;
  const tracer* tracer_;
  std::vector<std::unique_ptr<middleware>> chain_;
};

}  // namespace heddle::driver
