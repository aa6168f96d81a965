// What a thread that serves does while there is nothing to do, and when it is told to stop: one loop for the servers of every protocol, and
// threads that serve several of them.
#pragma once

#include <heddle/rpc/placement.h>
#include <heddle/rpc/wait.h>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace heddle::rpc {

/// How a thread waits that finds nothing to serve.
struct serve_pace {
  uint32_t polls = 256;  ///< looks that find nothing before it sleeps; without_bound: it never does, and counts nothing
  uint64_t sleep_ns = 10'000'000;       ///< looks at least this often: a ring may be lost on the way
  std::function<void()> on_sleep = {};  ///< called when it goes to sleep, not when it wakes for nothing and sleeps on
};

template <typename Server>
concept has_doorbell = requires(const Server& at) { at.wait(at.rings(), uint64_t{}); };

/// The count of rings of a server's doorbell; 0 where it has none.
template <typename Server>
doorbell rings_of(const Server& at) {
  if constexpr (has_doorbell<Server>)
    return at.rings();
  else
    return 0;
}

/// Serves until the word `stop` is not 0, and not once more: looks by `serve()`, which says whether it has done something. Looks `polls`
/// times, takes the count of rings, looks again, and only then sleeps on the doorbell: a ring that comes in between is not slept through.
/// `at` is a server of any protocol here. One that has no doorbell (offload) is looked at again and again.
template <typename Target, typename Server, typename Serve>
void serve_until(uint32_t& stop, const Server& at, Serve&& serve, const serve_pace& pace = {}) {
  using word_ref = typename Target::template atomic_ref<uint32_t, scope::system>;
  for (uint32_t empty_looks = 0;;) {
    // Before the look for work: what was sent before either is then found.
    const bool arms = empty_looks >= pace.polls;
    const doorbell rings = arms ? rings_of(at) : doorbell{0};
    // Acquire pairs with the release in request_stop.
    if (word_ref(stop).load(memory_order::acquire) != 0) return;
    if (serve()) {
      empty_looks = 0;
    } else if (!arms) {
      if (pace.polls != without_bound) ++empty_looks;
      Target::pause();
    } else {
      // Once, however often it wakes for nothing: a thread that waits must not change memory, or it cannot be proved that it waits.
      if (empty_looks == pace.polls && pace.on_sleep) pace.on_sleep();
      empty_looks = pace.polls + 1;
      if constexpr (has_doorbell<Server>)
        at.wait(rings, pace.sleep_ns);
      else
        Target::pause();
    }
  }
}

/// As serve_until, and then ends the server: what is there is served, at most `backlog` times, and clients that wait or call later are told. As
/// fast as they may call, it ends. With several threads each ends so; a request that one has in hand when another ends it is served, and its
/// client may not see the answer.
template <typename Target, typename Server, typename Serve>
void serve_until_ended(uint32_t& stop, const Server& at, uint32_t backlog, Serve&& serve, const serve_pace& pace = {}) {
  serve_until<Target>(stop, at, serve, pace);
  for (uint32_t n = 0; n < backlog && serve(); ++n) {
  }
  at.end();
}

/// Tells loops that watch `stop` to end, and wakes those that sleep on `bell`. Returns at once.
template <typename Target>
void request_stop(uint32_t& stop, doorbell& bell) {
  // Release: pairs with the acquire in serve_until.
  typename Target::template atomic_ref<uint32_t, scope::system>(stop).store(1, memory_order::release);
  Target::notify(bell);
}

/// Threads that serve several servers, of one device or of several, of one protocol or of several.
template <typename Target>
class server_pool {
 public:
  /// What a thread does for one server.
  struct source {
    std::function<bool()> serve;      ///< does one thing if there is one to do, and says whether
    std::function<doorbell()> rings;  ///< the count of its doorbell's rings
    std::function<void()> end;        ///< behind the last serve: what it takes to end the server; may be empty
  };

  /// That of a server of slots, FIFOs, hostcalls or offload that may end: `serve(at)` does one thing and says whether. `backlog` as for
  /// serve_until_ended.
  template <typename Server, typename Serve>
  static source source_of(Server view, uint32_t backlog, Serve serve) {
    const auto at = std::make_shared<Server>(std::move(view));
    return {[at, serve] { return serve(*at); }, [at] { return rings_of(*at); },
            [at, serve, backlog] {
              for (uint32_t n = 0; n < backlog && serve(*at); ++n) {
              }
              at->end();
            }};
  }

  server_pool() = default;
  server_pool(const server_pool&) = delete;
  server_pool& operator=(const server_pool&) = delete;
  ~server_pool() {
    stop();
    join();
  }

  /// Adds a server before start(): `make(thread)` makes what a thread does for it; each thread has its own views and its own room.
  void add(std::function<source(uint32_t thread)> make) { makers_.push_back(std::move(make)); }

  /// `look_ns`: how often a thread that sleeps looks whether a doorbell has rung; no thread can sleep on several. An error, and no thread,
  /// where the threads cannot run where the placement says, or behind stop().
  result<void> start(uint32_t threads, serve_pace pace, uint64_t look_ns, const thread_placement& placement) {
    if (const result<void> can = check_placement(placement, threads); !can) return can;
    if (word_ref(stop_).load(memory_order::relaxed) != 0)
      return error{"server_pool::start", "stopped", "range", "its servers have ended: make another pool"};
    for (uint32_t thread = 0; thread < threads; ++thread)
      threads_.emplace_back([this, thread, pace, look_ns, placement] {
        const placed here(placement, thread);
        run(thread, pace, look_ns);
      });
    return {};
  }
  /// The same, wherever the system has them run.
  void start(uint32_t threads, serve_pace pace = {}, uint64_t look_ns = 50'000) {
    start(threads, std::move(pace), look_ns, {}).value();
  }
  /// Has each thread serve what is there, end its servers, and return. Returns at once.
  void stop() {
    // Release: pairs with the acquire in run.
    word_ref(stop_).store(1, memory_order::release);
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  using word_ref = typename Target::template atomic_ref<uint32_t, scope::system>;

  void run(uint32_t thread, const serve_pace& pace, uint64_t look_ns) {
    std::vector<source> sources;
    for (const auto& make : makers_) sources.push_back(make(thread));
    std::vector<doorbell> rings(sources.size());
    uint32_t empty_looks = 0;
    while (word_ref(stop_).load(memory_order::acquire) == 0) {
      const bool arms = empty_looks >= pace.polls;
      if (arms) take_rings(sources, rings);
      if (serve_all(sources, thread)) {
        empty_looks = 0;
      } else if (!arms) {
        if (pace.polls != without_bound) ++empty_looks;
        Target::pause();
      } else {
        if (empty_looks == pace.polls && pace.on_sleep) pace.on_sleep();
        empty_looks = pace.polls + 1;
        sleep(sources, rings, pace.sleep_ns, look_ns);
      }
    }
    for (const source& each : sources)
      if (each.end) each.end();
  }

  /// Each server once, from another one on in each thread: none waits for another's work to run out.
  static bool serve_all(const std::vector<source>& sources, uint32_t thread) {
    bool any = false;
    for (size_t n = 0; n < sources.size(); ++n) any |= sources[(n + thread) % sources.size()].serve();
    return any;
  }
  static void take_rings(const std::vector<source>& sources, std::vector<doorbell>& rings) {
    for (size_t n = 0; n < sources.size(); ++n) rings[n] = sources[n].rings();
  }
  void sleep(const std::vector<source>& sources, const std::vector<doorbell>& rings, uint64_t sleep_ns,
             uint64_t look_ns) {
    using clock = std::chrono::steady_clock;
    const auto begun = clock::now();
    while (static_cast<uint64_t>(std::chrono::nanoseconds(clock::now() - begun).count()) < sleep_ns) {
      if (word_ref(stop_).load(memory_order::acquire) != 0) return;
      for (size_t n = 0; n < sources.size(); ++n)
        if (sources[n].rings() != rings[n]) return;
      std::this_thread::sleep_for(std::chrono::nanoseconds(look_ns));
    }
  }

  std::vector<std::function<source(uint32_t)>> makers_;
  std::vector<std::thread> threads_;
  uint32_t stop_ = 0;
};

}  // namespace heddle::rpc
