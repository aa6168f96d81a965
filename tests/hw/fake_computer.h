// A computer whose GPUs are played on its processor: what a GPU's runtime keeps of devices, memory, streams and events.
//
// For tests. Every call can be made to fail, a device can be lost at any call, and a caller that breaks a rule of the
// runtime is complained about, also where a real runtime might say nothing.
#pragma once

#include <heddle/rpc/link.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace heddle::fake {

enum class status { success, not_ready, out_of_memory, invalid_value, invalid_device, invalid_handle, no_device, lost };

inline const char* error_name(status of) {
  static constexpr const char* names[] = {
      "fakeSuccess",           "fakeErrorNotReady",      "fakeErrorMemoryAllocation",
      "fakeErrorInvalidValue", "fakeErrorInvalidDevice", "fakeErrorInvalidHandle",
      "fakeErrorNoDevice",     "fakeErrorLaunchFailure"};
  return names[static_cast<int>(of)];
}
inline const char* error_text(status of) {
  static constexpr const char* texts[] = {
      "no error",       "device not ready",        "out of memory",      "invalid argument",
      "invalid device", "invalid resource handle", "no device is there", "unspecified launch failure"};
  return texts[static_cast<int>(of)];
}

enum class attribute { wave_lanes, host_reaches_memory, concurrent_access };
enum class advice { prefer_location, accessed_by };
struct properties {
  char name[64];
};

class computer;

/// Where a lane of a kernel is. Null in a host thread.
struct lane_position {
  computer* on;
  int device;
  uint32_t block;
  uint32_t thread;         ///< in its block
  uint32_t block_threads;  ///< of each block
};
inline thread_local const lane_position* this_lane = nullptr;

/// Thrown in a lane whose device is lost: no kernel goes on there.
struct lane_stopped {};

struct shape {
  int devices = 1;
  uint32_t wave_lanes = 4;
  size_t memory_bytes = 1 << 20;  ///< of each device
  bool coherent = false;          ///< host code reaches a device's memory
  link_properties link = {};      ///< its atomics
};

/// What one stream was given, and how far it has come; its address is the handle.
struct stream_state {
  struct work {
    std::function<bool()> ready;  ///< asked under the lock
    std::function<void()> run;
  };
  int device = 0;
  bool given_back = false;
  std::deque<work> waiting;
  uint64_t given = 0;
  uint64_t ended = 0;
  std::thread runner;
};

/// A point of a stream, behind the first `given` works; of no stream, it has been reached.
struct event_state {
  int device = 0;
  bool given_back = false;
  const stream_state* in = nullptr;
  uint64_t given = 0;
};

/// The computer on which the calls of fake::runtime are made: the last one that was made, or, where a program makes
/// none, one with two devices. Any thread may call any member.
class computer {
 public:
  using held = std::unique_lock<std::mutex>;

  explicit computer(const shape& with = {}) : with_(with), number_(++made()), before_(only().exchange(this)) {
    for (int index = 0; index < with.devices; ++index) devices_.push_back(std::make_unique<device_state>());
  }
  computer(const computer&) = delete;
  computer& operator=(const computer&) = delete;

  /// Ends what still runs, as the end of a process does.
  ~computer() {
    held lock(mutex_);
    for (const auto& each : devices_) each->lost = true;
    closing_ = true;
    changed_.notify_all();
    lock.unlock();
    for (const auto& each : streams_)
      if (each->runner.joinable()) each->runner.join();
    for (const auto& [memory, of] : memory_) std::free(memory);
    only() = before_;
  }

  static computer& here();

  // -- what a test says and asks --------------------------------------------------------------------------------------

  /// The nth call of this name from now on, counted from 1, answers with `with` and does nothing else. Null: of any
  /// name.
  void fail(const char* call, uint64_t nth, status with) {
    const held lock(mutex_);
    plans_.push_back({call == nullptr ? "" : call, nth, [this, with](const char* made) {
                        failed_ = made;
                        return with;
                      }});
  }
  /// The name of the last call that was made to fail so; "" before.
  std::string failed() const {
    const held lock(mutex_);
    return failed_;
  }

  /// From now on nothing runs on the device, and every call that needs it fails.
  void lose(int device) {
    const held lock(mutex_);
    lose(lock, device);
  }
  /// The same, just before the nth call from now on.
  void lose_at(int device, uint64_t nth) {
    const held lock(mutex_);
    plans_.push_back({"", nth, [this, device](const char* made) {
                        failed_ = made;
                        lose_unlocked(device);
                        return status::success;
                      }});
  }
  bool is_lost(int device) const { return devices_[static_cast<size_t>(device)]->lost; }

  /// Calls so far, and threads of theirs that wait for a stream, an event or a device now.
  uint64_t calls() const {
    const held lock(mutex_);
    return calls_;
  }
  uint32_t waiting() const {
    const held lock(mutex_);
    return waiting_;
  }

  /// The calling thread's own.
  int current_device() { return mine().current; }
  status last_error() { return std::exchange(mine().last, status::success); }

  /// Rules that were broken so far.
  std::vector<std::string> complaints() const {
    const held lock(mutex_);
    return complaints_;
  }
  /// What the caller has not tried to give back.
  std::vector<std::string> leaks() const {
    const held lock(mutex_);
    std::vector<std::string> found;
    for (const auto& [memory, of] : memory_)
      if (!of.given_back) found.push_back(std::to_string(of.bytes) + " bytes, " + name_of(of.kind));
    for (const auto& each : streams_)
      if (!each->given_back) found.push_back("a stream of device " + std::to_string(each->device));
    for (const auto& each : events_)
      if (!each->given_back) found.push_back("an event of device " + std::to_string(each->device));
    return found;
  }

  // -- how a call is made ---------------------------------------------------------------------------------------------

  /// `work(lock)` is what the call does, unless it was made to fail; `refused()` is what it does then.
  template <typename Work, typename Refused>
  status make(const char* name, Work work, Refused refused) {
    held lock(mutex_);
    ++calls_;
    if (this_lane != nullptr) complain(std::string(name) + " in a kernel");
    status answer = planned(name);
    if (answer == status::success)
      answer = work(lock);
    else
      refused();
    if (answer != status::success && answer != status::not_ready) mine().last = answer;
    return answer;
  }

  // -- devices --------------------------------------------------------------------------------------------------------

  status device_count(held&, int* found) {
    *found = with_.devices;
    return with_.devices == 0 ? status::no_device : status::success;
  }
  status get_device(held&, int* index) {
    *index = mine().current;
    return status::success;
  }
  status set_device(held&, int index) {
    if (!exists(index)) return status::invalid_device;
    mine().current = index;
    return status::success;
  }
  status link_atomics(held&, link_properties* found, int) {
    *found = with_.link;
    return status::success;
  }
  status device_attribute(held&, int* value, attribute which, int index) {
    if (!exists(index)) return status::invalid_device;
    *value = which == attribute::wave_lanes ? static_cast<int>(with_.wave_lanes) : with_.coherent;
    return status::success;
  }
  status device_properties(held&, properties* all, int index) {
    if (!exists(index)) return status::invalid_device;
    std::snprintf(all->name, sizeof all->name, "played device %d", index);
    return status::success;
  }
  status driver_version(held&, int* version) {
    *version = 1000;
    return status::success;
  }

  // -- memory ---------------------------------------------------------------------------------------------------------

  enum class kind { pinned, device, managed };

  template <kind Kind>
  status allocate(held&, void** memory, size_t bytes) {
    const int device = mine().current;
    if (const status usable = status_of(device); usable != status::success) return usable;
    size_t& used = state_of(device).used_bytes;
    if (Kind != kind::pinned && with_.memory_bytes - used < bytes) return status::out_of_memory;
    if (Kind != kind::pinned) used += bytes;
    constexpr size_t alignment = 64;
    *memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (*memory == nullptr) return status::out_of_memory;
    // No allocation of a runtime is zeroed.
    std::memset(*memory, 0xa5, bytes);
    memory_[static_cast<std::byte*>(*memory)] = {bytes, Kind, device, false};
    return status::success;
  }

  status advise(held&, void* memory, size_t bytes, advice, int index) {
    const allocation* const of = allocation_of("an advice", memory, bytes);
    if (of == nullptr || of->kind != kind::managed) return status::invalid_value;
    return index == host || exists(index) ? status_of(of->device) : status::invalid_device;
  }
  static constexpr int host = -1;

  /// Waits until the device is idle.
  template <bool Pinned>
  status free(held& lock, void* memory) {
    if (memory == nullptr) return status_of(mine().current);
    const auto found = memory_.find(static_cast<std::byte*>(memory));
    if (found == memory_.end() || found->second.given_back || (found->second.kind == kind::pinned) != Pinned) {
      complain("free of what was not allocated so");
      return status::invalid_value;
    }
    const allocation of = found->second;
    give_back(memory);
    wait(lock, [&] { return state_of(of.device).lost || is_idle(of.device); });
    if (state_of(of.device).lost) return status::lost;
    if (of.kind != kind::pinned) state_of(of.device).used_bytes -= of.bytes;
    memory_.erase(static_cast<std::byte*>(memory));
    std::free(memory);
    return status::success;
  }

  status memory_info(held&, size_t* free_bytes, size_t* all_bytes) {
    const int device = mine().current;
    *all_bytes = with_.memory_bytes;
    *free_bytes = with_.memory_bytes - state_of(device).used_bytes;
    return status_of(device);
  }

  status clear(held&, void* memory, size_t bytes, stream_state* in) {
    if (allocation_of("a clear", memory, bytes) == nullptr) return status::invalid_value;
    return give_here(in, "a clear", {nullptr, [=] { std::memset(memory, 0, bytes); }});
  }
  status copy(held&, void* to, const void* from, size_t bytes, stream_state* in) {
    if (!check_range("a copy", to, bytes) || !check_range("a copy", from, bytes)) return status::invalid_value;
    stream_state* const of = stream_of(in, "a copy");
    return of == nullptr ? status::invalid_handle : give(*of, {nullptr, [=] { std::memcpy(to, from, bytes); }});
  }

  // -- launches -------------------------------------------------------------------------------------------------------

  status load(held&) { return status_of(mine().current); }

  template <typename... Parameters>
  status launch(held&, void (*kernel)(Parameters...), uint32_t blocks, uint32_t threads, void** arguments,
                stream_state* in) {
    if (blocks == 0 || threads == 0 || threads > 1024) return status::invalid_value;
    // Arguments are taken when the call is made.
    const auto taken = [&]<size_t... N>(std::index_sequence<N...>) {
      return std::tuple<Parameters...>{*static_cast<Parameters*>(arguments[N])...};
    }(std::index_sequence_for<Parameters...>{});
    const int device = mine().current;
    return give_here(in, "a launch", {nullptr, [this, kernel, taken, device, blocks, threads] {
                                        run(device, blocks, threads, [&] { std::apply(kernel, taken); });
                                      }});
  }

  // -- streams and events ---------------------------------------------------------------------------------------------

  status create_stream(held&, stream_state** made) {
    const status usable = status_of(mine().current);
    if (usable == status::success) *made = &add_stream(mine().current);
    return usable;
  }
  /// What it was given goes on.
  status destroy_stream(held&, stream_state* which) {
    const stream_state* const of = stream_of(which, "destroy");
    if (of == nullptr || which == nullptr) return status::invalid_handle;
    give_back(which);
    return status_of(of->device);
  }
  status query_stream(held&, stream_state* which) {
    const stream_state* const of = stream_of(which, "a query");
    if (of == nullptr) return status::invalid_handle;
    if (state_of(of->device).lost) return status::lost;
    return of->ended == of->given ? status::success : status::not_ready;
  }
  status synchronize_stream(held& lock, stream_state* which) {
    const stream_state* const of = stream_of(which, "a wait for a stream");
    if (of == nullptr) return status::invalid_handle;
    wait(lock, [&, until = of->given] { return state_of(of->device).lost || of->ended >= until; });
    return status_of(of->device);
  }
  status wait_in_stream(held&, stream_state* later, event_state* earlier) {
    const event_state* const of = event_of(earlier, "a wait in a stream");
    stream_state* const in = stream_of(later, "a wait in a stream");
    if (of == nullptr || in == nullptr) return status::invalid_handle;
    if (state_of(of->device).lost) return status::lost;
    return give(*in, {[as_it_is = *of] { return is_reached(as_it_is); }, [] {}});
  }

  status create_event(held&, event_state** made) {
    const status usable = status_of(mine().current);
    if (usable != status::success) return usable;
    events_.push_back(std::make_unique<event_state>(event_state{.device = mine().current}));
    *made = events_.back().get();
    return status::success;
  }
  status destroy_event(held&, event_state* which) {
    const event_state* const of = event_of(which, "destroy");
    if (of == nullptr) return status::invalid_handle;
    give_back(which);
    return status_of(of->device);
  }
  status record_event(held&, event_state* which, stream_state* in) {
    event_state* const of = event_of(which, "a record");
    const stream_state* const where = stream_of(in, "a record");
    if (of == nullptr || where == nullptr) return status::invalid_handle;
    if (of->device != where->device) {
      complain("a record of an event in a stream of another device");
      return status::invalid_handle;
    }
    of->in = where;
    of->given = where->given;
    return status_of(of->device);
  }
  status query_event(held&, event_state* which) {
    const event_state* const of = event_of(which, "a query");
    if (of == nullptr) return status::invalid_handle;
    if (state_of(of->device).lost) return status::lost;
    return is_reached(*of) ? status::success : status::not_ready;
  }
  status synchronize_event(held& lock, event_state* which) {
    const event_state* const of = event_of(which, "a wait for an event");
    if (of == nullptr) return status::invalid_handle;
    wait(lock, [&, until = *of] { return state_of(of->device).lost || is_reached(until); });
    return status_of(of->device);
  }

  /// The caller has done its part, whether the call succeeds or not.
  void give_back(void* memory) {
    if (const auto found = memory_.find(static_cast<std::byte*>(memory)); found != memory_.end())
      found->second.given_back = true;
  }
  void give_back(stream_state* which) {
    if (which != nullptr) which->given_back = true;
  }
  void give_back(event_state* which) { which->given_back = true; }

  uint32_t wave_lanes() const { return with_.wave_lanes; }

 private:
  struct device_state {
    std::atomic<bool> lost = false;  ///< lanes ask without the lock
    size_t used_bytes = 0;
    stream_state* default_stream = nullptr;
  };
  struct allocation {
    size_t bytes;
    computer::kind kind;
    int device;
    bool given_back;
  };
  /// Something that happens at a call.
  struct plan {
    std::string call;  ///< "" is any
    uint64_t left;
    std::function<status(const char*)> happens;
  };
  struct thread_state {
    uint64_t computer = 0;  ///< the number of that on which it is so
    int current = 0;
    status last = status::success;
  };
  struct usual_computer;

  static std::atomic<computer*>& only() {
    static std::atomic<computer*> last{nullptr};
    return last;
  }
  static std::atomic<uint64_t>& made() {
    static std::atomic<uint64_t> count{0};
    return count;
  }
  thread_state& mine() const {
    static thread_local thread_state state;
    if (state.computer != number_) state = {.computer = number_};
    return state;
  }

  static const char* name_of(kind of) {
    return of == kind::pinned ? "pinned" : of == kind::device ? "of a device" : "managed";
  }
  void complain(std::string about) { complaints_.push_back(std::move(about)); }

  status planned(const char* name) {
    status answer = status::success;
    for (plan& each : plans_) {
      if (each.left == 0 || (!each.call.empty() && each.call != name)) continue;
      --each.left;
      if (each.left == 0) answer = each.happens(name);
    }
    return answer;
  }

  bool exists(int device) const { return device >= 0 && device < with_.devices; }
  device_state& state_of(int device) { return *devices_[static_cast<size_t>(device)]; }
  status status_of(int device) {
    if (!exists(device)) return status::no_device;
    return state_of(device).lost ? status::lost : status::success;
  }
  void lose(const held&, int device) { lose_unlocked(device); }
  void lose_unlocked(int device) {
    state_of(device).lost = true;
    changed_.notify_all();
  }

  template <typename Reached>
  void wait(held& lock, Reached reached) {
    ++waiting_;
    changed_.wait(lock, reached);
    --waiting_;
  }

  /// The live allocation in which all of it lies; null and a complaint where there is none.
  const allocation* allocation_of(const char* call, const void* memory, size_t bytes) {
    const allocation* const of = start_of(memory, bytes);
    if (of == nullptr) complain(std::string(call) + " of memory that is not allocated");
    return of;
  }
  /// Memory that is in no allocation is the host's own, of which nothing is known.
  bool check_range(const char* call, const void* memory, size_t bytes) {
    return start_of(memory, 1) == nullptr || allocation_of(call, memory, bytes) != nullptr;
  }
  const allocation* start_of(const void* memory, size_t bytes) const {
    auto after = memory_.upper_bound(static_cast<std::byte*>(const_cast<void*>(memory)));
    if (after == memory_.begin()) return nullptr;
    const auto& [start, of] = *--after;
    const auto offset = static_cast<size_t>(static_cast<const std::byte*>(memory) - start);
    return !of.given_back && offset <= of.bytes && bytes <= of.bytes - offset ? &of : nullptr;
  }

  /// The stream that a handle names, 0 being the default stream of the current device; null and a complaint where there
  /// is none.
  stream_state* stream_of(stream_state* which, const char* call) {
    if (which == nullptr) {
      if (!exists(mine().current)) return nullptr;
      stream_state*& usual = state_of(mine().current).default_stream;
      if (usual == nullptr) {
        usual = &add_stream(mine().current);
        // The caller has not made it.
        usual->given_back = true;
      }
      return usual;
    }
    for (const auto& each : streams_)
      if (each.get() == which && !each->given_back) return which;
    complain(std::string(call) + " with a stream that is not there");
    return nullptr;
  }
  event_state* event_of(event_state* which, const char* call) {
    for (const auto& each : events_)
      if (each.get() == which && !each->given_back) return which;
    complain(std::string(call) + " with an event that is not there");
    return nullptr;
  }
  static bool is_reached(const event_state& of) { return of.in == nullptr || of.in->ended >= of.given; }
  bool is_idle(int device) const {
    for (const auto& each : streams_)
      if (each->device == device && each->ended != each->given) return false;
    return true;
  }

  stream_state& add_stream(int device) {
    streams_.push_back(std::make_unique<stream_state>());
    stream_state& made = *streams_.back();
    made.device = device;
    made.runner = std::thread([this, &made] { run(made); });
    return made;
  }
  status give(stream_state& to, stream_state::work work) {
    if (state_of(to.device).lost) return status::lost;
    to.waiting.push_back(std::move(work));
    ++to.given;
    changed_.notify_all();
    return status::success;
  }
  /// What must be given to a stream of the current device.
  status give_here(stream_state* to, const char* call, stream_state::work work) {
    stream_state* const of = stream_of(to, call);
    if (of == nullptr) return status::invalid_handle;
    if (of->device == mine().current) return give(*of, std::move(work));
    complain(std::string(call) + " in a stream of device " + std::to_string(of->device) + " while device " +
             std::to_string(mine().current) + " is current");
    return status::invalid_handle;
  }

  /// The thread of one stream. What is left when the device is lost has ended without a start.
  void run(stream_state& of) {
    held lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return closing_ || !of.waiting.empty(); });
      if (of.waiting.empty()) return;
      const stream_state::work next = std::move(of.waiting.front());
      of.waiting.pop_front();
      const std::atomic<bool>& lost = state_of(of.device).lost;
      changed_.wait(lock, [&] { return lost || next.ready == nullptr || next.ready(); });
      if (!lost) {
        lock.unlock();
        next.run();
        lock.lock();
      }
      ++of.ended;
      changed_.notify_all();
    }
  }

  /// A kernel: each lane is a thread, and all run at once.
  template <typename Kernel>
  void run(int device, uint32_t blocks, uint32_t threads, const Kernel& kernel) {
    std::vector<std::thread> lanes;
    for (uint32_t block = 0; block < blocks; ++block)
      for (uint32_t thread = 0; thread < threads; ++thread)
        lanes.emplace_back([this, device, block, thread, threads, &kernel] {
          const lane_position position{this, device, block, thread, threads};
          this_lane = &position;
          try {
            kernel();
          } catch (const lane_stopped&) {
            return;  // it ends here, as the device has it
          }
        });
    for (std::thread& each : lanes) each.join();
  }

  const shape with_;
  const uint64_t number_;
  computer* const before_;
  mutable std::mutex mutex_;  ///< of all below it
  std::condition_variable changed_;
  std::vector<std::unique_ptr<device_state>> devices_;
  std::map<std::byte*, allocation> memory_;
  std::vector<std::unique_ptr<stream_state>> streams_;  ///< also those that were destroyed
  std::vector<std::unique_ptr<event_state>> events_;    ///< the same
  std::vector<plan> plans_;
  std::vector<std::string> complaints_;
  std::string failed_;
  uint64_t calls_ = 0;
  uint32_t waiting_ = 0;
  bool closing_ = false;
};

/// Of a program that knows nothing of this file: when it ends, a rule that it has broken is its failure.
struct computer::usual_computer {
  computer is{shape{.devices = 2, .memory_bytes = 1 << 28, .coherent = true}};

  ~usual_computer() {
    std::vector<std::string> wrong = is.complaints();
#ifndef HEDDLE_OBSERVED  // which keeps its logs to the end of the process
    for (const std::string& each : is.leaks()) wrong.push_back("not given back: " + each);
#endif
    for (const std::string& each : wrong) std::fprintf(stderr, "played runtime: %s\n", each.c_str());
    if (!wrong.empty()) std::_Exit(1);
  }
};

inline computer& computer::here() {
  if (computer* const made = only()) return *made;
  static usual_computer usual;
  return usual.is;
}

}  // namespace heddle::fake
