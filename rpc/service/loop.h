// What each thread of a service does: look for calls, answer them, sleep when there are none, end when it is told to.
#pragma once

#include <heddle/rpc/placement.h>
#include <heddle/rpc/port/server.h>
#include <heddle/rpc/service/handlers.h>

#include <atomic>
#include <memory>
#include <unordered_map>

namespace heddle::rpc {

/// Where the answers of a service lie: the mailboxes, packets and staging areas that its clients read.
enum class answer_memory : uint8_t {
  shared,  ///< with the requests, in memory that both ends reach
  device,  ///< in memory of the device that the host maps (device.try_allocate_mapped): no client reads over the link
};

/// How a service is laid out. What its clients may do is said by service_limits.
struct service_shape {
  uint32_t ports = 64;   ///< calls at a time; best one a wave that may call (basic_client::open), at most max_ports
  uint32_t lanes = 0;    ///< of the widest wave; 0: the widest that the device has
  uint32_t servers = 1;  ///< threads; as many handlers may be at work at a time
  uint32_t polls = 256;  ///< looks for work that find none before a thread sleeps
  uint64_t sleep_ns = 10'000'000;  ///< looks for work at least this often: a ring may be lost on the way
  /// Behind which calls clients wake a thread that sleeps, by an atomic addition over the link: each (true), none (false), each n-th. A call that
  /// is not rung for may wait for sleep_ns. Where no client can wake a thread (CUDA, HIP) none
  /// rings: a thread that finds nothing naps, and looks again.
  ringing rings = true;
  uint32_t stage_bytes =
      1 << 16;  ///< of each port, for what does not fit in packets; at most max_stage_bytes, 0 for none
  /// Looks for each packet of a call that has begun, before the call is given up and its port has ended: a wave that died in the middle then
  /// holds a thread no longer. without_bound: until join() gives up.
  uint32_t patience = without_bound;
  answer_memory answers = answer_memory::shared;  ///< an error where the device's memory cannot be mapped
  /// Where its threads run, and from where its memory is taken. Of machines whose threads are threads of this computer.
  thread_placement placement = {};
  uint64_t memory_bytes = 0;  ///< device memory set aside for what clients allocate
  bool counts = true;         ///< keeps service_counts: additions to words that all threads share
};

/// Whether a client's ring wakes a thread that sleeps on the doorbell. A machine where it does not has `nap(n, most_ns)`: what a thread does the
/// n-th time that it finds nothing.
template <typename Target>
inline constexpr bool can_be_woken = !requires { requires !Target::can_wake; };

/// What a service has done so far.
struct service_counts {
  uint64_t calls = 0;      ///< ports served
  uint64_t unhandled = 0;  ///< of them, those with a user's opcode that has no handler
  uint64_t given_up = 0;   ///< of them, those whose client did not go on
  uint64_t thrown = 0;     ///< of them, those whose handler has thrown: the client learns that there is no answer
  uint64_t sleeps = 0;     ///< times that a thread has gone to sleep
  /// Calls without an answer, lane by lane, that could not be carried out. Counted also where `service_shape::counts` is false.
  uint64_t posts_failed = 0;
};

/// The part of a service that its threads share. For a program that starts threads itself, or has a loop of its own.
template <typename Target, typename Check = unchecked>
class service_loop {
 public:
  using port_server = basic_server<Target, may_end_and<Check>>;
  using port = typename port_server::port;

  /// What a serving thread keeps from call to call.
  struct room {
    std::vector<unsigned char> request[max_lanes];
    std::vector<unsigned char> answer[max_lanes];
  };

  /// `shared` and `locks` as for basic_server, with the word of give_up; `words` are two zeroed words of the host's.
  service_loop(port_memory shared, uint32_t* locks, layout ports, uint32_t* words, service_shape shape,
               std::unique_ptr<service_handlers> handlers)
      : shared_(shared), locks_(locks), ports_(ports), words_(words), shape_(shape), handlers_(std::move(handlers)) {}

  /// A server for serve_one; each thread has its own.
  port_server server(uint32_t start = 0, uint32_t home = 0) const { return {shared_, locks_, ports_, start, home}; }

  /// Serves one port if one is ready, and says whether. Where it `stops`, the port has ended behind the answer: its client cannot call
  /// again. Lets no exception through: what a handler throws is printed, and its client learns that there is no answer.
  bool serve_one(port_server& at, room& mine, bool stops = false) {
    requested_end end;
    {
      port opened = at.try_open();
      if (!opened) return false;
      if (stops) opened.end_when_closed();
      opened.set_patience(shape_.patience);
      count(calls_);
      if (handlers_->has_thrown("a handler of an opcode", [&] { serve(opened, mine, end); })) {
        count(thrown_);
        opened.refuse();
      }
      if (opened.given_up()) count(given_up_);
    }
    // The port is closed: the client has its answer.
    if (end.wanted) (void)handlers_->has_thrown("what ends the program", [&] { handlers_->end_program(end); });
    return true;
  }

  /// Serves until stop; `number` tells the threads apart.
  void run(uint32_t number) {
    const auto mine = std::make_unique<room>();
    // Where each thread has some lines of mailboxes to itself, each has a home among them.
    const uint32_t each = (ports_.ports + shape_.servers - 1) / shape_.servers;
    port_server at = each >= 16 && shape_.servers > 1 ? server(number * each, each) : server(number);
    for (uint32_t empty_looks = 0;;) {
      // Both before the look for work: what was sent before either is then found. Acquire pairs with the release in stop.
      const doorbell rings = at.rings();
      if (word_ref(words_[0]).load(memory_order::acquire) != 0) break;
      if (serve_one(at, *mine)) {
        empty_looks = 0;
      } else if (empty_looks < shape_.polls) {
        ++empty_looks;
        Target::pause();
      } else {
        // Once, however often it wakes for nothing: a thread that waits must not change memory, or it cannot be proved that it waits.
        if (empty_looks == shape_.polls) count(sleeps_);
        if constexpr (can_be_woken<Target>) {
          empty_looks = shape_.polls + 1;
          at.wait(rings, shape_.sleep_ns);
        } else {
          Target::nap(empty_looks - shape_.polls, shape_.sleep_ns);
          if (empty_looks != ~uint32_t{0}) ++empty_looks;
        }
      }
    }
    // Each port is served once more at most: however fast its client is, it then finds it ended.
    while (!at.try_end())
      if (!serve_one(at, *mine, true)) Target::pause();
    // A release: pairs with the acquire in ended_threads.
    Target::notify(words_[1]);
  }

  /// Has every run end once each call that was sent before is answered. Returns at once.
  void stop() {
    word_ref(words_[0]).store(1, memory_order::release);
    Target::notify(
        *reinterpret_cast<doorbell*>(static_cast<unsigned char*>(shared_.requests) + layout::doorbell_offset()));
  }

  /// How many runs have ended.
  uint32_t ended_threads() const { return word_ref(words_[1]).load(memory_order::acquire); }
  /// Sleeps until that is no longer `seen`, for the time, or for no reason at all.
  void wait_for_ended_threads(uint32_t seen, uint64_t timeout_ns) { Target::wait(words_[1], seen, timeout_ns); }

  service_counts counts() const {
    return {calls_.load(std::memory_order_relaxed),    unhandled_.load(std::memory_order_relaxed),
            given_up_.load(std::memory_order_relaxed), thrown_.load(std::memory_order_relaxed),
            sleeps_.load(std::memory_order_relaxed),   posts_failed_.load(std::memory_order_relaxed)};
  }
  service_handlers& handlers() const { return *handlers_; }
  const service_shape& shape() const { return shape_; }

  /// Before the first run.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): it is moved, which the check does not see where the type depends on Target
  bool add_handler(uint16_t opcode, std::function<void(port&)> handler) {
    return user_.try_emplace(opcode, std::move(handler)).second;
  }

 private:
  using word_ref = typename Target::template atomic_ref<uint32_t, scope::system>;

  void count(std::atomic<uint64_t>& of) const {
    if (shape_.counts) of.fetch_add(1, std::memory_order_relaxed);
  }

  void serve(port& opened, room& mine, requested_end& end) {
    const uint16_t asked = opened.opcode();
    if (!is_reserved(asked)) {
      const auto handler = user_.find(asked);
      if (handler != user_.end()) return handler->second(opened);
      count(unhandled_);
      opened.refuse();
      return;
    }
    const uint64_t bound_bytes = handlers_->limits().bound_bytes;
    uint64_t starved = 0;
    const stream_result received = opened.recv_n(
        [&](uint32_t lane, uint64_t bytes) -> void* {
          try {
            mine.request[lane].resize(bytes);
            return mine.request[lane].data();
          } catch (const std::bad_alloc&) {
            starved |= uint64_t{1} << lane;
            return nullptr;
          }
        },
        bound_bytes);
    if (opened.ended()) return;
    for_each_lane<Target>(opened.mask(), [&](uint32_t lane) {
      answer_writer to(mine.answer[lane], bound_bytes);
      if ((received.refused >> lane & 1) != 0) {
        const bool no_memory = (starved >> lane & 1) != 0;
        to.set_head({no_memory ? service_status::no_memory : service_status::too_large});
      } else {
        handlers_->answer(asked, mine.request[lane], to, end);
      }
      if (is_post(asked) && !to.head().ok()) posts_failed_.fetch_add(1, std::memory_order_relaxed);
    });
    // No lane waits for it: to close the port is to say that it has been carried out.
    if (is_post(asked)) return;
    opened.send_n([&](uint32_t lane) { return bytes_view{mine.answer[lane].data(), mine.answer[lane].size()}; },
                  bound_bytes);
  }

  port_memory shared_;
  uint32_t* locks_;
  layout ports_;
  uint32_t* words_;  ///< whether to stop; how many runs have ended
  service_shape shape_;
  std::unique_ptr<service_handlers> handlers_;
  std::unordered_map<uint16_t, std::function<void(port&)>> user_;
  std::atomic<uint64_t> calls_{0};
  std::atomic<uint64_t> unhandled_{0};
  std::atomic<uint64_t> given_up_{0};
  std::atomic<uint64_t> thrown_{0};
  std::atomic<uint64_t> sleeps_{0};
  std::atomic<uint64_t> posts_failed_{0};
};

}  // namespace heddle::rpc
