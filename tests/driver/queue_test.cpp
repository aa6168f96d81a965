// Queues and the chain of middlewares that execute commands: rows 12, 15 and 16 of the driver's table.
#include "machine.h"

#include <algorithm>

namespace heddle::driver::tests {
namespace {

using enum command_kind;

// -- drain a queue

TEST(driver_drain, what_is_enqueued_and_not_drained_is_not_executed) {
  machine it;
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 64).value();
  const queue_id queue = it.queue();
  const auto bytes = pattern(64);
  it.driver.queues().enqueue_copy_to_device(queue, buffer, bytes).value();
  it.driver.engine().run();
  EXPECT_TRUE(it.trace.records.empty());
  EXPECT_FALSE(it.driver.queues().query(queue).value());
  EXPECT_EQ(it.driver.now(), 0u);
  it.driver.drain(queue).value();
  EXPECT_EQ(it.trace.ended().size(), 1u);
  EXPECT_TRUE(it.driver.queues().query(queue).value());
}

TEST(driver_drain, a_synchronous_call_makes_a_queue_and_drains_it) {
  machine it;
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 64).value();
  const auto bytes = pattern(64);
  it.driver.copy_to_device(it.context, buffer, bytes).value();
  std::vector<std::byte> seen(64);
  it.driver.copy_to_host(it.context, seen, buffer).value();
  EXPECT_EQ(seen, bytes);
  // Its name is gone, and so is that of any other queue that was destroyed.
  const queue_id queue = it.queue();
  it.driver.queues().destroy_queue(queue).value();
  const queue_id next = it.queue();
  EXPECT_NE(queue, next);
  EXPECT_TRUE(fails(it.driver.drain(queue), "unknown queue"));
  EXPECT_TRUE(fails(it.driver.queues().enqueue_no_op(queue), "unknown queue"));
  EXPECT_TRUE(works(it.driver.queues().enqueue_no_op(next)));
  EXPECT_TRUE(fails(it.driver.queues().destroy_queue(next), "in use", {"1 commands", "no_op"}));
}

TEST(driver_drain, a_queue_that_waits_for_ever_is_an_error_that_names_what_waits) {
  machine it;
  const event_id event = it.driver.queues().create_event();
  const queue_id first = it.queue();
  const queue_id second = it.queue();
  // Each records behind its wait for the other.
  const event_id other = it.driver.queues().create_event();
  it.driver.queues().enqueue_record(first, event).value();
  it.driver.drain(first).value();
  it.driver.queues().enqueue_no_op(first).value();
  it.driver.drain(first).value();
  const queue_id third = it.queue();
  it.driver.queues().enqueue_custom(third, "a plug", 0).value();
  class plug final : public middleware {
   public:
    const char* name() const override { return "plug"; }
    handling process(command& next) override {
      if (next.kind != custom) return handling::not_mine;
      return open ? handling::done : handling::later;
    }
    bool open = false;
  };
  auto made = std::make_unique<plug>();
  plug& hole = *made;
  it.driver.add_middleware(std::move(made), 0);
  it.driver.queues().enqueue_record(third, other).value();
  it.driver.queues().enqueue_wait(second, other).value();
  EXPECT_TRUE(fails(it.driver.drain(second), "deadlock", {"event 1", "a plug"}));
  EXPECT_FALSE(it.driver.queues().query_event(other).value());
  // It is told, and nothing is lost: the queues go on when they can.
  hole.open = true;
  EXPECT_TRUE(works(it.driver.drain(second)));
  EXPECT_TRUE(it.driver.queues().query_event(other).value());
}

// -- command queues

TEST(driver_command_queues, a_queue_keeps_its_order) {
  machine it;
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 64).value();
  const auto first = pattern(64, 1);
  const auto second = pattern(64, 2);
  std::vector<std::byte> seen(64);
  std::vector<std::byte> seen_later(64);
  const queue_id queue = it.queue();
  it.driver.queues().enqueue_copy_to_device(queue, buffer, first).value();
  it.driver.queues().enqueue_copy_to_host(queue, seen, buffer).value();
  it.driver.queues().enqueue_copy_to_device(queue, buffer, second).value();
  it.driver.queues().enqueue_copy_to_host(queue, seen_later, buffer).value();
  it.driver.drain(queue).value();
  EXPECT_EQ(seen, first);
  EXPECT_EQ(seen_later, second);
  // The next one begins when the one before has ended.
  picoseconds ended = 0;
  for (const trace_record& each : it.trace.records) {
    if (each.kind == trace_kind::command_begins) {
      EXPECT_GE(each.time, ended);
    }
    if (each.kind == trace_kind::command_ends) ended = each.time;
  }
}

TEST(driver_command_queues, others_go_on_beside_a_queue_that_is_busy) {
  machine it;
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 64).value();
  const auto bytes = pattern(64);
  std::vector<queue_id> queues;
  for (int n = 0; n < 5; ++n) {
    queues.push_back(it.queue());
    it.driver.queues().enqueue_copy_to_device(queues.back(), buffer, bytes).value();
  }
  for (const queue_id queue : queues) it.driver.drain(queue).value();
  for (const trace_record& each : it.trace.of(trace_kind::command_begins)) EXPECT_EQ(each.time, 0u);
  // Five copies at once take little more than one.
  machine alone;
  const uint64_t other = alone.driver.contexts().allocate(alone.context, 64).value();
  alone.driver.copy_to_device(alone.context, other, bytes).value();
  EXPECT_LT(it.driver.now(), alone.driver.now() + 10'000);
}

TEST(driver_command_queues, at_most_one_command_a_queue_and_tick_and_none_is_passed_over) {
  machine it;
  const context_id other = it.driver.contexts().create_context();
  std::vector<queue_id> queues = {it.queue(), it.driver.queues().create_queue(other).value(), it.queue()};
  for (int n = 0; n < 4; ++n)
    for (const queue_id queue : queues) it.driver.queues().enqueue_no_op(queue).value();
  for (const queue_id queue : queues) it.driver.drain(queue).value();
  // By cycle: contexts in the order of their creation, and of each its queues.
  const auto begun = it.trace.of(trace_kind::command_begins);
  ASSERT_EQ(begun.size(), 12u);
  for (size_t n = 0; n < begun.size(); ++n) {
    EXPECT_EQ(begun[n].time, n / 3 * 1000);
    EXPECT_EQ(begun[n].queue, (std::vector<queue_id>{queues[0], queues[2], queues[1]})[n % 3]);
  }
}

TEST(driver_command_queues, every_command_begins_and_ends_in_the_trace) {
  machine it;
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 64).value();
  const auto bytes = pattern(64);
  std::vector<std::byte> seen(64);
  const event_id event = it.driver.queues().create_event();
  const queue_id queue = it.queue();
  it.driver.queues().enqueue_no_op(queue).value();
  it.driver.queues().enqueue_copy_to_device(queue, buffer, bytes).value();
  it.driver.queues().enqueue_launch(queue, a_launch()).value();
  it.driver.queues().enqueue_copy_to_host(queue, seen, buffer).value();
  it.driver.queues().enqueue_flush(queue).value();
  it.driver.queues().enqueue_record(queue, event).value();
  it.driver.queues().enqueue_wait(queue, event).value();
  it.driver.drain(queue).value();
  for (const command_kind kind : {no_op, copy_to_device, launch, copy_to_host, flush, record_event, wait_event}) {
    EXPECT_GT(it.trace.count(trace_kind::command_begins, kind), 0u) << to_string(kind);
    EXPECT_EQ(it.trace.count(trace_kind::command_begins, kind), it.trace.count(trace_kind::command_ends, kind))
        << to_string(kind);
  }
}

TEST(driver_command_queues, an_event_orders_two_queues) {
  machine it;
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 64).value();
  const auto bytes = pattern(64);
  std::vector<std::byte> seen(64);
  const queue_id reader = it.queue();
  const queue_id writer = it.queue();
  const event_id event = it.driver.queues().create_event();
  it.driver.queues().enqueue_copy_to_device(writer, buffer, bytes).value();
  it.driver.queues().enqueue_record(writer, event).value();
  it.driver.queues().enqueue_wait(reader, event).value();
  it.driver.queues().enqueue_copy_to_host(reader, seen, buffer).value();
  EXPECT_FALSE(it.driver.queues().query_event(event).value());
  it.driver.drain(reader).value();
  EXPECT_EQ(seen, bytes);
  EXPECT_TRUE(fails(it.driver.queues().enqueue_wait(reader, 5), "unknown event", {"event 5"}));
  EXPECT_TRUE(fails(it.driver.queues().enqueue_record(reader, 5), "unknown event"));
  EXPECT_TRUE(fails(it.driver.queues().query_event(5), "unknown event"));
  EXPECT_TRUE(it.driver.queues().query_event(it.driver.queues().create_event()).value()) << "never recorded";
}

TEST(driver_command_queues, a_wait_means_the_record_that_came_before_it) {
  machine it;
  const queue_id queue = it.queue();
  const queue_id other = it.queue();
  const event_id event = it.driver.queues().create_event();
  it.driver.queues().enqueue_record(other, event).value();
  it.driver.queues().enqueue_wait(queue, event).value();
  // A later record that cannot be reached does not hold the wait up.
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 64).value();
  const auto bytes = pattern(64);
  it.driver.queues().enqueue_copy_to_device(other, buffer, bytes).value();
  it.driver.queues().enqueue_record(other, event).value();
  it.driver.drain(queue).value();
  EXPECT_LT(it.driver.now(), 100'000u);
  EXPECT_FALSE(it.driver.queues().query_event(event).value());
  it.driver.drain(other).value();
  EXPECT_TRUE(it.driver.queues().query_event(event).value());
}

TEST(driver_command_queues, the_same_calls_give_the_same_trace_to_the_bit) {
  const auto run = [] {
    machine it({30, 30});
    const uint64_t buffer = it.driver.contexts().allocate(it.context, 3 * page_bytes).value();
    it.select(it.unified({1, 2}));
    const auto bytes = pattern(3 * page_bytes);
    std::vector<std::byte> seen(3 * page_bytes);
    std::vector<queue_id> queues = {it.queue(), it.queue(), it.queue()};
    for (const queue_id queue : queues) {
      it.driver.queues().enqueue_copy_to_device(queue, buffer, bytes).value();
      it.driver.queues().enqueue_launch(queue, a_launch({500, 2, 1}, {32, 1, 1})).value();
      it.driver.queues().enqueue_copy_to_host(queue, seen, buffer).value();
    }
    for (const queue_id queue : queues) it.driver.drain(queue).value();
    return it.trace.records;
  };
  const auto first = run();
  EXPECT_GT(first.size(), 100u);
  EXPECT_EQ(first, run());
}

// -- middleware chain

class named final : public middleware {
 public:
  named(std::string called, std::vector<std::string>& log) : called_(std::move(called)), log_(&log) {}
  const char* name() const override { return called_.c_str(); }
  handling process(command& next) override {
    log_->push_back(called_ + (next.kind == custom ? " sees " + next.name : ""));
    return next.kind == custom && next.name == called_ ? handling::done : handling::not_mine;
  }

 private:
  std::string called_;
  std::vector<std::string>* log_;
};

TEST(driver_middleware_chain, the_first_that_knows_a_command_has_it) {
  machine it;
  std::vector<std::string> log;
  it.driver.add_middleware(std::make_unique<named>("b", log), it.driver.chain_length());
  it.driver.add_middleware(std::make_unique<named>("c", log), it.driver.chain_length());
  it.driver.add_middleware(std::make_unique<named>("a", log), 0);
  const queue_id queue = it.queue();
  it.driver.queues().enqueue_custom(queue, "b", 0).value();
  it.driver.queues().enqueue_custom(queue, "a", 0).value();
  it.driver.drain(queue).value();
  EXPECT_EQ(log, (std::vector<std::string>{"a sees b", "b sees b", "a sees a"}));
  log.clear();
  it.driver.queues().enqueue_no_op(queue).value();
  it.driver.drain(queue).value();
  EXPECT_EQ(log, (std::vector<std::string>{"a"})) << "what the driver has always known is known in the chain, too";
}

TEST(driver_middleware_chain, a_command_that_nobody_knows_is_an_error_that_names_it) {
  machine it;
  const queue_id queue = it.queue();
  it.driver.queues().enqueue_custom(queue, "defragment", 3).value();
  it.driver.queues().enqueue_no_op(queue).value();
  EXPECT_TRUE(
      fails(it.driver.drain(queue), "unhandled command", {"defragment 1", "timed copy, flush, launch, events"}));
  EXPECT_TRUE(it.driver.is_empty(queue)) << "it does not stand in the way";
}

TEST(driver_middleware_chain, each_ticks_once_a_cycle_and_can_take_its_time) {
  // A command that lasts three cycles of its middleware.
  class slow final : public middleware {
   public:
    explicit slow(driver_services& driver) : driver_(&driver) {}
    const char* name() const override { return "slow"; }
    handling process(command& next) override {
      if (next.kind != custom) return handling::not_mine;
      of_ = &next;
      left_ = 3;
      return handling::running;
    }
    bool tick() override {
      if (of_ == nullptr) return false;
      if (--left_ == 0) driver_->complete(*std::exchange(of_, nullptr));
      return true;
    }

   private:
    driver_services* driver_;
    command* of_ = nullptr;
    int left_ = 0;
  };
  machine it;
  it.driver.add_middleware(std::make_unique<slow>(it.driver.services()), 2);
  const queue_id queue = it.queue();
  it.driver.queues().enqueue_custom(queue, "slow", 0).value();
  it.driver.drain(queue).value();
  EXPECT_EQ(it.trace.of(trace_kind::command_ends).at(0).time, 3000u);
}

/// Cuts what is copied back, and launches, in two, and has a flush before the first half of what is copied back.
class cutter final : public middleware {
 public:
  explicit cutter(driver_services& driver) : driver_(&driver) {}
  const char* name() const override { return "cutter"; }
  handling process(command& next) override {
    if (next.part_of != 0 || next.number == cut_) return handling::not_mine;
    if (next.kind == copy_to_host && next.bytes > 1) return copy(next);
    if (next.kind == launch && next.parts.front().groups.count > 1) return launches(next);
    return handling::not_mine;
  }
  void ended(const command& done) override { ends.push_back(done.describe()); }
  std::vector<std::string> ends;

 private:
  handling copy(command& next) {
    cut_ = next.number;
    command& half = driver_->put_before(next, copy_to_host);
    half.address = next.address;
    half.to_host = next.to_host;
    half.bytes = next.bytes / 2;
    next.address += half.bytes;
    next.to_host += half.bytes;
    next.bytes -= half.bytes;
    // Of two that are put before it the last is the first.
    driver_->put_before(half, flush);
    return handling::later;
  }
  handling launches(command& next) {
    cut_ = next.number;
    command& half = driver_->put_before(next, launch);
    half.parts = next.parts;
    share& first = half.parts.front().groups;
    share& rest = next.parts.front().groups;
    first.count /= 2;
    rest.first += first.count;
    rest.count -= first.count;
    return handling::later;
  }
  driver_services* driver_;
  uint64_t cut_ = 0;
};

TEST(driver_middleware_chain, one_of_the_users_cuts_commands_and_adds_others) {
  machine it;
  auto made = std::make_unique<cutter>(it.driver.services());
  cutter& cuts = *made;
  it.driver.add_middleware(std::move(made), 0);
  const uint64_t free_before = it.free_pages(1);
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 2 * page_bytes).value();
  const auto bytes = pattern(2 * page_bytes);
  it.driver.copy_to_device(it.context, buffer, bytes).value();
  const queue_id queue = it.queue();
  const queue_id other = it.queue();
  const event_id launched = it.driver.queues().create_event();
  it.driver.queues().enqueue_launch(queue, a_launch({5 * 64, 1, 1}, {64, 1, 1})).value();
  it.driver.queues().enqueue_record(queue, launched).value();
  std::vector<std::byte> back(2 * page_bytes);
  it.driver.queues().enqueue_wait(other, launched).value();
  it.driver.queues().enqueue_copy_to_host(other, back, buffer).value();
  it.driver.drain(queue).value();
  it.driver.drain(other).value();
  EXPECT_TRUE(back == bytes);
  std::vector<uint64_t> groups;
  for (const work_group& each : it.kernels.executed) groups.push_back(each.flat);
  std::sort(groups.begin(), groups.end());
  EXPECT_EQ(groups, (std::vector<uint64_t>{0, 1, 2, 3, 4})) << "each group once, of two launches";
  EXPECT_EQ(it.trace.count(trace_kind::command_ends, launch), 2u);
  EXPECT_EQ(it.trace.count(trace_kind::command_ends, copy_to_host), 2u);
  EXPECT_EQ(it.trace.count(trace_kind::command_ends, flush), 2u) << "the driver's own, and the one that was added";
  EXPECT_EQ(cuts.ends.size(), it.trace.ended().size()) << "it is told of each";
  it.driver.contexts().free(it.context, buffer).value();
  EXPECT_EQ(it.free_pages(1), free_before) << "what a launch takes is given back once";
}

TEST(driver_middleware_chain, one_of_the_users_is_known_by_its_name_once) {
  struct maker final : middleware_maker {
    explicit maker(const char* of) : named(of) {}
    const char* name() const override { return named; }
    std::unique_ptr<middleware> make(driver_services& driver) const override {
      return std::make_unique<cutter>(driver);
    }
    const char* named;
  };
  static const maker cutting("cutting");
  static const maker none("none");
  EXPECT_TRUE(works(add_middleware_maker(cutting)));
  EXPECT_TRUE(fails(add_middleware_maker(cutting), "in use", {"cutting"}));
  EXPECT_TRUE(fails(add_middleware_maker(none), "in use", {"none"}));
  EXPECT_EQ(find_middleware_maker("cutting"), &cutting);
  EXPECT_EQ(find_middleware_maker("none"), nullptr);
  driver_settings settings = small();
  settings.middleware = &cutting;
  machine it({64}, settings);
  it.driver.launch(it.context, a_launch({5 * 64, 1, 1}, {64, 1, 1})).value();
  EXPECT_EQ(it.trace.count(trace_kind::command_ends, launch), 2u) << "it is first in the chain";
}

TEST(driver_middleware_chain, one_request_a_cycle_goes_out_and_one_answer_a_cycle_comes_in) {
  machine it;
  const uint64_t buffer = it.driver.contexts().allocate(it.context, 20 * page_bytes).value();
  const auto bytes = pattern(20 * page_bytes);
  it.driver.copy_to_device(it.context, buffer, bytes).value();
  for (const trace_kind kind : {trace_kind::request_leaves, trace_kind::answer_arrives}) {
    const auto seen = it.trace.of(kind);
    ASSERT_EQ(seen.size(), 20u);
    for (size_t n = 1; n < seen.size(); ++n) EXPECT_GE(seen[n].time, seen[n - 1].time + 1000);
  }
}

TEST(driver_paced_queues, go_on_when_their_owner_says_so_and_not_before) {
  driver_settings settings = small();
  settings.paced = true;
  machine it({64}, settings);
  const queue_id first = it.queue();
  const queue_id second = it.queue();
  const event_id event = it.driver.queues().create_event();
  it.driver.queues().enqueue_no_op(first).value();
  it.driver.queues().enqueue_record(first, event).value();
  it.driver.queues().enqueue_wait(second, event).value();
  it.driver.signal();
  it.driver.engine().run();
  EXPECT_FALSE(it.driver.is_empty(first));
  EXPECT_TRUE(it.driver.may_begin(first));
  EXPECT_FALSE(it.driver.may_begin(second)) << "its event has not been reached";
  EXPECT_FALSE(it.driver.begin_next(second));
  EXPECT_TRUE(it.driver.begin_next(first));
  EXPECT_TRUE(it.driver.begin_next(first));
  EXPECT_TRUE(it.driver.begin_next(second));
  EXPECT_TRUE(it.driver.is_empty(first) && it.driver.is_empty(second));
  EXPECT_FALSE(it.driver.begin_next(first)) << "nothing is left";
}

}  // namespace
}  // namespace heddle::driver::tests
