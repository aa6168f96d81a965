// All that is watched in this process: which actors there are, which memory has which name, and where the logs are. The
// host's side of observing.
#pragma once

#include <heddle/hw/observed/event.h>
#include <heddle/hw/observed/here.h>
#include <heddle/rpc/port/process.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::observed {

/// What a run is asked to do beside running.
struct options {
  bool records = false;
  bool perturbs = false;
  uint64_t seed = 0;
  uint32_t events = 2048;  ///< kept of each actor
};

/// Memory that a device has handed out.
struct named_memory {
  const char* name = "";
  size_t size_bytes = 0;
  bool on_device = false;
  const void* owner = nullptr;  ///< the device
};

/// Where a set of ports lies, see name_ports() in tools/heddle/scenario.h.
struct named_ports {
  void* shared = nullptr;
  const uint32_t* client_locks = nullptr;
  const uint32_t* server_locks = nullptr;
  rpc::layout shape{};
};

/// What an actor is called.
struct actor_name {
  std::string text;     ///< "host main", "host server 1", "wave 2 lane 0"
  uint32_t group = 0;   ///< host threads and waves count together, in order of creation
  uint32_t member = 0;  ///< the lane of the wave
};

/// One port as its memory has it.
struct port_state {
  uint32_t client_outbox = 0;
  uint32_t server_outbox = 0;
  rpc::header header{};
  bool client_locks = false;
  bool server_locks = false;
};

/// One line of the machine's clock against the host's: ns = host_ns + (clock - at) * ns_per_tick.
struct clock_line {
  uint64_t at = 0;
  uint64_t host_ns = 0;
  double ns_per_tick = 1;
};

/// Memory for logs; the machine says from where.
struct log_memory {
  uint32_t* stop = nullptr;
  actor_log* logs = nullptr;
  event* events = nullptr;
  actor_memory* memories = nullptr;
  actor_memory* host_memories = nullptr;  ///< of host threads, where those of lanes are not reached by the host
  uint32_t actors = 0;
  uint64_t events_in_all = 0;
};

/// One for the process. Its members lock; they are called when threads begin, not at operations.
class session {
 public:
  static constexpr uint32_t actors_most = 512;

  static session& instance() {
    // Never destroyed: threads that are still under way use it to the end of the process.
    static session* const only = new session;
    return *only;
  }

  // -- the program that runs scenarios ----------------------------------------------------------------------------------------

  /// A run begins: an actor that acts now acts for the first time.
  void begin_run(const options& asked) {
    const std::lock_guard lock(mutex_);
    asked_ = asked;
    actors_.clear();
    groups_ = 0;
    memory_names_.clear();
    ports_.clear();
    main_entered_ = false;
    host_threads_ = 0;
    if (memory_) clear_logs();
    this_thread = {};
  }

  /// Has every wait end by and by. It stays so.
  void stop() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (memory_) __atomic_store_n(memory_->stop, 1, __ATOMIC_RELAXED);
  }
  bool stopping() const {
    const std::lock_guard lock(mutex_);
    return stopping_;
  }

  // -- devices ------------------------------------------------------------------------------------------------------------------

  /// Called by a device when it is made. `allocate(actors, events in all)` is asked once in a process.
  template <typename Allocate>
  void device_made(Allocate&& allocate) {
    const std::lock_guard lock(mutex_);
    if (!memory_ || memory_->events_in_all < uint64_t{asked_.events} * actors_most) {
      memory_ = allocate(actors_most, uint64_t{asked_.events} * actors_most);
      clear_logs();
      if (stopping_) *memory_->stop = 1;
    }
    if (std::exchange(main_entered_, true)) return;
    this_thread = host_view("host main");
    // It has begun already, and may have been the main thread of an earlier run.
    actor_memory& own = memory_->host_memories[this_thread.first];
    own = {};
    own.period = 1;
    memory_->logs[this_thread.first].doing = static_cast<uint32_t>(activity::running);
  }

  void allocated(const void* memory, const named_memory& what) {
    const std::lock_guard lock(mutex_);
    memory_names_[reinterpret_cast<uint64_t>(memory)] = what;
  }
  void freed(const void* memory) {
    const std::lock_guard lock(mutex_);
    memory_names_.erase(reinterpret_cast<uint64_t>(memory));
  }
  void has_ports(const named_ports& ports) {
    const std::lock_guard lock(mutex_);
    ports_.push_back(ports);
  }

  /// Before its memory is given back.
  void device_gone(const void* device) {
    const std::lock_guard lock(mutex_);
    copy_ = nullptr;
    std::erase_if(memory_names_, [&](const auto& each) { return each.second.owner == device; });
    std::erase_if(ports_, [&](const named_ports& each) { return memory_names_.count(address_of(each.shared)) == 0; });
  }

  /// How memory is read that the host does not reach; unset, it reaches all.
  void set_copy(std::function<void(void*, const void*, size_t)> copy) {
    const std::lock_guard lock(mutex_);
    copy_ = std::move(copy);
  }
  void set_clock(const clock_line& device) {
    const std::lock_guard lock(mutex_);
    device_clock_ = device;
  }

  /// The view of a host thread that is about to start.
  view new_host_thread(const char* name) {
    const std::lock_guard lock(mutex_);
    return host_view("host " + std::string(name) + " " + std::to_string(host_threads_++));
  }

  /// The view of the lanes of a launch, `lanes` to a wave.
  view new_launch(uint32_t waves, uint32_t lanes) {
    const std::lock_guard lock(mutex_);
    view made = common_view();
    made.memories = memory_ ? memory_->memories : nullptr;
    made.lanes = lanes;
    for (uint32_t wave = 0; wave < waves; ++wave)
      for (uint32_t lane = 0; lane < lanes; ++lane)
        actors_.push_back({.text = "wave " + std::to_string(wave) + (lanes > 1 ? " lane " + std::to_string(lane) : ""),
                           .group = groups_ + wave,
                           .member = lane});
    groups_ += waves;
    return made;
  }

  // -- the watchdog ----------------------------------------------------------------------------------------------------------

  /// What there is now, copied: names, logs, and memory that the host reaches.
  struct picture {
    struct actor {
      std::string name;
      uint32_t group = 0;
      uint32_t member = 0;
      actor_log log{};
      std::vector<event> events;  ///< the last ones, oldest first
    };
    std::vector<actor> actors;
    std::map<uint64_t, named_memory> memory;  ///< by address
    std::vector<named_ports> ports;
    std::vector<std::vector<port_state>> states;  ///< of each set of ports
    bool with_device_memory = false;              ///< the client's locks may lie there
    uint32_t without_log = 0;                     ///< actors beyond those that have one
    uint32_t capacity = 0;                        ///< events of each actor
  };
  /// `with_device_memory` asks the device for what only it reaches. Where the device does not answer, this does not return.
  picture take_picture(bool with_device_memory) const {
    // Kept to the end, so that nothing is given back meanwhile.
    const std::lock_guard lock(mutex_);
    picture taken;
    taken.with_device_memory = with_device_memory;
    for (const named_ports& each : ports_) taken.states.push_back(read_ports(each, with_device_memory));
    taken.memory = memory_names_;
    taken.ports = ports_;
    taken.capacity = asked_.events;
    for (uint32_t number = 0; number < actors_.size(); ++number) {
      auto& each = taken.actors.emplace_back();
      each.name = actors_[number].text;
      each.group = actors_[number].group;
      each.member = actors_[number].member;
      if (!memory_ || number >= memory_->actors) {
        ++taken.without_log;
        continue;
      }
      each.log = read_log(memory_->logs[number]);
      read_events(number, each);
    }
    return taken;
  }

  /// A number that grows as long as any actor gets anywhere: each change of memory, each thing read that is new, each lane
  /// that begins or ends.
  uint64_t progress() const {
    const std::lock_guard lock(mutex_);
    if (!memory_) return 0;
    uint64_t sum = actors_.size();
    for (uint32_t number = 0; number < actors_.size() && number < memory_->actors; ++number) {
      const actor_log now = read_log(memory_->logs[number]);
      sum += now.written + (now.doing == static_cast<uint32_t>(activity::ended) ? 1 : 0);
    }
    return sum;
  }

 private:
  session() = default;

  view common_view() const {
    view made{};
    if (!memory_) return made;
    made.stop = memory_->stop;
    made.logs = memory_->logs;
    made.events = memory_->events;
    made.capacity = asked_.events;
    made.seed = asked_.seed;
    made.first = static_cast<uint32_t>(actors_.size());
    made.lanes = 1;
    made.logged = memory_->actors;
    made.records = asked_.records;
    made.perturbs = asked_.perturbs;
    return made;
  }

  view host_view(std::string name) {
    view made = common_view();
    if (memory_) made.memories = memory_->host_memories;
    actors_.push_back({.text = std::move(name), .group = groups_++});
    return made;
  }

  static uint64_t address_of(const void* memory) { return reinterpret_cast<uint64_t>(memory); }

  /// Reads what others may be writing, word by word. They hang, so that what is read is whole; the sanitizer cannot know it.
  __attribute__((no_sanitize("thread"))) static void copy_as_it_is(void* to, const void* from, size_t bytes) {
    auto* const target = static_cast<unsigned char*>(to);
    const auto* const source = static_cast<const volatile unsigned char*>(from);
    for (size_t n = 0; n < bytes; ++n) target[n] = source[n];
  }

  std::vector<port_state> read_ports(const named_ports& of, bool with_device_memory) const {
    std::vector<unsigned char> shared(of.shape.packet_offset());
    copy_as_it_is(shared.data(), of.shared, shared.size());
    std::vector<uint32_t> client(of.shape.own_words()), server(of.shape.own_words());
    const size_t lock_bytes = client.size() * sizeof(uint32_t);
    copy_as_it_is(server.data(), of.server_locks, lock_bytes);
    if (!copy_)
      copy_as_it_is(client.data(), of.client_locks, lock_bytes);
    else if (with_device_memory)
      copy_(client.data(), of.client_locks, lock_bytes);
    std::vector<port_state> states(of.shape.ports);
    for (uint32_t port = 0; port < of.shape.ports; ++port) {
      port_state& each = states[port];
      const auto take = [&](auto& word, size_t offset) {
        std::memcpy(&word, shared.data() + offset + port * sizeof word, sizeof word);
      };
      take(each.client_outbox, rpc::layout::client_outbox_offset());
      take(each.server_outbox, of.shape.server_outbox_offset());
      take(each.header, of.shape.header_offset());
      each.client_locks = rpc::state_in(client[port / 8], port).is_held();
      each.server_locks = rpc::state_in(server[port / 8], port).is_held();
    }
    return states;
  }

  void clear_logs() { std::memset(static_cast<void*>(memory_->logs), 0, sizeof(actor_log) * memory_->actors); }

  static actor_log read_log(const actor_log& from) {
    actor_log now{};
    // Acquire: pairs with the release behind each event.
    now.written = __atomic_load_n(&from.written, __ATOMIC_ACQUIRE);
    now.operations = __atomic_load_n(&from.operations, __ATOMIC_RELAXED);
    now.changes = __atomic_load_n(&from.changes, __ATOMIC_RELAXED);
    now.doing = __atomic_load_n(&from.doing, __ATOMIC_RELAXED);
    return now;
  }

  void read_events(uint32_t number, picture::actor& into) const {
    const uint64_t capacity = asked_.events;
    const event* const ring = memory_->events + number * capacity;
    const uint64_t first = into.log.written > capacity ? into.log.written - capacity : 0;
    for (uint64_t n = first; n < into.log.written; ++n) {
      const event& from = ring[n % capacity];
      event& to = into.events.emplace_back();
      to.clock = __atomic_load_n(&from.clock, __ATOMIC_RELAXED);
      to.address = __atomic_load_n(&from.address, __ATOMIC_RELAXED);
      to.before = __atomic_load_n(&from.before, __ATOMIC_RELAXED);
      to.after = __atomic_load_n(&from.after, __ATOMIC_RELAXED);
      to.changes = __atomic_load_n(&from.changes, __ATOMIC_RELAXED);
      to.repeats = __atomic_load_n(&from.repeats, __ATOMIC_RELAXED);
      to.sort = __atomic_load_n(&from.sort, __ATOMIC_RELAXED);
      if (into.name.starts_with("wave") && device_clock_) to.clock = on_host_clock(to.clock);
    }
    // What was overwritten while it was copied is not what it says it is.
    const uint64_t now = __atomic_load_n(&memory_->logs[number].written, __ATOMIC_ACQUIRE);
    const uint64_t gone = now > capacity && now - capacity > first ? now - capacity - first : 0;
    into.events.erase(
        into.events.begin(),
        into.events.begin() + static_cast<ptrdiff_t>(gone < into.events.size() ? gone : into.events.size()));
  }

  uint64_t on_host_clock(uint64_t ticks) const {
    const auto since = static_cast<double>(static_cast<int64_t>(ticks - device_clock_->at));
    return device_clock_->host_ns + static_cast<uint64_t>(static_cast<int64_t>(since * device_clock_->ns_per_tick));
  }

  mutable std::mutex mutex_;
  options asked_;
  std::optional<log_memory> memory_;
  std::vector<actor_name> actors_;
  std::map<uint64_t, named_memory> memory_names_;
  std::vector<named_ports> ports_;
  std::function<void(void*, const void*, size_t)> copy_;
  std::optional<clock_line> device_clock_;
  uint32_t host_threads_ = 0;
  uint32_t groups_ = 0;
  bool main_entered_ = false;
  bool stopping_ = false;
};

}  // namespace heddle::observed
