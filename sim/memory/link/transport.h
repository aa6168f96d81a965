// The link between host and device as a state machine: stores under way, and what an operation forces to happen before it.
//
// It knows threads by number, memory by address, and nothing else. A load returns at once, so what has to have happened before
// it is made to happen; a load of the device that waits for nothing may instead return what memory held at any moment since the
// last one that its thread waited for, as if its request had been sent then. What a real device can do and this one cannot is
// to answer a load after a later store of the same thread has arrived (load buffering).
//
// The shape (pools, links, buffers) follows Iorga et al., "The semantics of shared memory in Intel CPU/FPGA systems", OOPSLA 2021.
#pragma once

#include <heddle/sim/base/state_reader.h>
#include <heddle/sim/memory/late_memory.h>
#include <heddle/sim/memory/link/history.h>
#include <heddle/sim/memory/link/ordering.h>
#include <heddle/sim/settings/link.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heddle::sim {

/// A store of at most one granule that has been made and is not in memory.
struct store_under_way {
  piece where;
  uint64_t value = 0;
  bool to_device = false;  ///< where the memory is
  bool combines = false;   ///< in a write-combining buffer, behind the store buffer of its host thread
  uint32_t device = 0;     ///< on whose link it is
  bool releases = false;   ///< a release store, or the first behind a fence: what is older should be there before
  uint32_t thread = 0;
  uint32_t epoch = 0;     ///< of its device; see device_side
  uint32_t fences = 0;    ///< fences of its device before it; of a host thread: its sfences
  uint32_t blockers = 0;  ///< older ones to the same bytes, in the list that it stands in
  /// Of a store of two granules: 1 for the first half, behind which the other one stands, -1 for that. Both arrive as one.
  int32_t half = 0;
  uint64_t number = 0;  ///< in order of issue
  uint64_t event = 0;   ///< of its device, where that issued it
  uint64_t turn = 0;    ///< when it was issued
  uint64_t due_ns = 0;
  uint64_t step = 0;  ///< of the run, for reports
};

/// Where a store is that is not in memory.
enum class whereabouts : uint8_t { device, posted, store_buffer, combining_buffer };
/// A host thread's processor keeps it back.
constexpr bool is_kept_back(whereabouts where) { return where >= whereabouts::store_buffer; }

/// A store that came before an older one although a release or a fence stood between them.
struct overtaking {
  store_under_way overtaken;
  store_under_way overtaker;
};

/// The first overtakings of a run.
class overtaking_list {
 public:
  void note(const store_under_way& overtaken, const store_under_way& overtaker) {
    constexpr size_t most = 8;
    if (all_.size() < most) all_.push_back({.overtaken = overtaken, .overtaker = overtaker});
  }
  const std::vector<overtaking>& all() const { return all_; }

 private:
  std::vector<overtaking> all_;
};

class transport {
 public:
  enum class question : uint8_t {
    visible,  ///< which of several values a load returns; 0 is the newest
    delay,    ///< how long something takes; 0 is the shortest, and long ones are few
  };

  /// What the state machine asks and tells.
  class surroundings {
   public:
    surroundings() = default;
    surroundings(const surroundings&) = default;
    surroundings& operator=(const surroundings&) = default;
    virtual ~surroundings() = default;
    /// An answer below `count`, which is at least 2; 0 is the default.
    virtual uint32_t choose(uint32_t thread, question what, uint32_t count) = 0;
    /// The store has arrived in memory; whether it made a difference there.
    virtual void arrived(const store_under_way& what, bool changed) = 0;
  };

  struct access {
    const void* address = nullptr;
    size_t size_bytes = 0;
    bool on_device = false;  ///< where the memory is
    bool combines = false;   ///< the host maps it write-combining, whatever the settings say
    uint32_t device = 0;     ///< whose memory, or for a host thread whose link; a device thread has its own
    bool is_signal = false;  ///< an interrupt or doorbell: no read-modify-write to the link
    uint64_t step = 0;       ///< of the run, for reports
  };

  /// `around` must outlive this.
  transport(const link_settings& settings, surroundings& around) : settings_(settings), around_(&around) {}
  void reset();

  /// Threads are numbered densely; each is added before it does anything.
  void add_host_thread(uint32_t thread);
  void add_device_thread(uint32_t thread, uint32_t device);
  bool is_host(uint32_t thread) const { return threads_[thread].host; }

  static constexpr uint64_t every_store = ~uint64_t{0};

  // -- operations, each complete when it returns

  /// Reads up to a granule that does not reach into the next. `waits`: an acquire of system scope; later loads of the thread
  /// see nothing older.
  uint64_t load(uint32_t thread, const access& what, bool waits);
  /// Reads a range of any size; a device's loads do not wait.
  void load_range(uint32_t thread, const access& what, std::byte* into);
  /// `releases` only marks the store; the fence before it is the caller's.
  void store(uint32_t thread, const access& what, uint64_t value, bool releases);
  void store_range(uint32_t thread, const access& what, const std::byte* bytes);
  /// Of two granules, which arrive as one. A host thread's leaves its buffers at once.
  void store_wide(uint32_t thread, const access& what, uint64_t low, uint64_t high, bool releases);
  /// Returns the old value; nothing when it is refused (see refuses).
  std::optional<uint64_t> modify(uint32_t thread, const access& what, const modification& next, bool is_atomic_op);
  /// Whether a read-modify-write is impossible: of memory behind the link, and the capability does not allow it.
  /// `is_atomic_op`: it is fetch_add, exchange or compare_exchange.
  bool refuses(uint32_t thread, const access& what, bool is_atomic_op) const;
  enum class orders : uint8_t { all, stores };
  /// A fence of system scope on the device; mfence and what implies it on the host. Of a host thread's stores alone: an sfence, behind which stores
  /// leave its buffers after those before it, and for which no load waits (Intel SDM, volume 3, "Memory Ordering").
  /// `stores`: of a host thread's, those among the first so many of all threads.
  void fence(uint32_t thread, orders what = orders::all, uint64_t stores = every_store);

  // -- order inside the machine, without the link

  /// What the thread has waited for, those that synchronise with it through the device (of whatever scope) have waited for.
  void publish(uint32_t thread);
  void take_published(uint32_t thread);
  /// The same from one thread to another one.
  void hand_on(uint32_t from, uint32_t to);
  /// All that the thread has stored arrives, and all that its device or its host side has sent; another thread waits for it. Of a host thread's
  /// stores, those among the first so many of all threads.
  void finish(uint32_t thread, uint32_t waiting, uint64_t stores = every_store);
  /// How many stores all threads have made.
  uint64_t stores_made() const { return numbers_; }
  /// Later loads of the thread see nothing older than what memory holds now.
  void see_present(uint32_t thread) { threads_[thread].floor = moment_; }
  /// As if the thread had synchronised with all that its device has done so far: at the end of a kernel.
  void see_all(uint32_t thread);
  /// The thread does nothing before this time.
  void not_before(uint32_t thread, uint64_t at_ns);

  // -- stores under way

  /// A turn of the thread begins: time passes, and what is due or too old arrives.
  void begin_turn(uint32_t thread);
  /// How many stores could arrive next, or go on their way; none when latency is simulated, where they arrive when due.
  uint32_t deliverable() const;
  /// Delivers one of them, [0, deliverable()).
  void deliver(uint32_t index);
  /// Everything arrives; whether there was anything.
  bool deliver_all();
  /// How long something takes that takes this long at least; 0 when latency is not simulated.
  uint64_t delay_of(uint32_t thread, uint32_t nominal_ns);
  bool empty() const { return under_way_ == 0; }
  /// Calls it for each store that is not in memory, and where it is.
  template <typename Each>
  void each_under_way(const Each& each) const {
    for (const device_side& device : devices_) {
      for (const store_under_way& one : device.requests) each(one, whereabouts::device);
      for (const store_under_way& one : device.posted) each(one, whereabouts::posted);
    }
    for (const thread_state& state : threads_) {
      for (const store_under_way& one : state.buffer) each(one, whereabouts::store_buffer);
      for (const store_under_way& one : state.combining) each(one, whereabouts::combining_buffer);
    }
  }

  /// What the thread would read here if all that it (a device thread: its device) has stored had arrived.
  void read_own(uint32_t thread, const access& what, std::byte* into) const;
  /// The memory has been given back: stores to it are dropped.
  void forget(const void* address, size_t size_bytes);

  uint64_t now_ns() const { return now_ns_; }
  /// The first ones that happened.
  const std::vector<overtaking>& overtakings() const { return overtakings_.all(); }
  /// Tells all that can influence what comes, beside memory itself; addresses count. `live`: the threads that have not ended. False where
  /// time decides.
  bool tell(state_reader& to, std::span<const uint32_t> live) const;
  /// Whether an old value that a thread could still have read has been forgotten.
  bool has_forgotten() const {
    return history_.has_forgotten() || std::any_of(devices_.begin(), devices_.end(), [](const device_side& each) {
             return each.same_address.has_forgotten();
           });
  }

 private:
  struct thread_state {
    bool host = false;
    uint32_t device = 0;                     ///< of a device thread
    uint64_t floor = 0;                      ///< of a device thread: it has waited for everything up to this moment
    uint64_t answers_behind = 0;             ///< posted writes up to this number are ahead of the answers to its loads
    uint64_t last_event = 0;                 ///< of a device thread: its last access across the link
    uint64_t synchronised = 0;               ///< of a device thread: the events of its device that happened before
    uint64_t ready_ns = 0;                   ///< when its last operation is complete
    uint64_t answered_ns = 0;                ///< when the last of its loads is answered
    std::vector<store_under_way> buffer;     ///< of a host thread: its store buffer, in order
    std::vector<store_under_way> combining;  ///< of a host thread: its write-combining buffers
    uint32_t fences = 0;                     ///< of a host thread: sfences that had stores before them

    uint64_t start_ns(uint64_t now_ns) const { return ready_ns > now_ns ? ready_ns : now_ns; }
  };
  /// Requests of one epoch are in the device's pool together and leave it in any order; those of an older epoch have left, and
  /// are on the link. A fence that does not wait for arrival begins an epoch. Without a pool each request is one.
  struct device_side {
    std::vector<store_under_way> requests;  ///< to the host, in order of issue
    uint32_t epoch = 0;
    uint32_t fences = 0;
    uint64_t floor = 0;    ///< for all of its threads
    uint64_t binding = 0;  ///< what arrives from the link of the events up to this one is ahead of every later request
    uint64_t published = 0;  ///< the highest floor, answers_behind and events of the threads that published
    uint64_t published_answers = 0;
    uint64_t published_events = 0;
    uint64_t events = 0;  ///< accesses of its threads across the link
    read_floors same_address;
    std::vector<store_under_way> posted;  ///< by the host, to the device; in order
  };

  bool passes(packet_kind behind, packet_kind ahead, bool from_device) const {
    return may_pass({behind, from_device}, {ahead, from_device}, settings_);
  }
  void tell_device(state_reader& to, uint32_t number, std::span<const uint32_t> live) const;

  static constexpr uint32_t every_epoch = ~uint32_t{0};
  bool is_latency_on() const { return settings_.latency != latency_model::off; }

  // loads
  uint64_t load_across(thread_state& state, uint32_t thread, const piece& bytes, bool waits);
  uint64_t load_from_host(thread_state& state, uint32_t thread, const access& what, const piece& bytes);
  uint64_t choose_value(thread_state& state, uint32_t thread, const piece& bytes);
  void wait_for_answer(thread_state& state, uint32_t thread);

  // stores
  store_under_way make_store(uint32_t thread, const access& what, const piece& bytes, uint64_t value);
  void store_piece(const store_under_way& made);
  void add_request(device_side& device, store_under_way made);
  void add_to_buffer(thread_state& state, const store_under_way& made);
  uint64_t replace(uint32_t thread, const access& what, const modification& next);

  // what has to happen before something else does; the thread waits for it
  void push_before_request(thread_state& state, uint32_t thread, const piece& bytes, packet_kind kind);
  void push_requests(thread_state& state, device_side& device, uint32_t before_epoch = every_epoch);
  void push_posted(thread_state& state, device_side& device, uint64_t up_to_number);
  void drain_buffers(thread_state& state, uint64_t stores = every_store);

  // steps of stores under way
  bool may_arrive(const device_side& device, const store_under_way& what) const;
  void take_request(device_side& device, size_t index);
  void take_one_request(device_side& device, size_t index);
  bool may_arrive_posted(const device_side& device, size_t index) const;
  void take_posted(device_side& device, size_t index = 0);
  void leave_buffer(thread_state& state);
  void leave_combining(thread_state& state, size_t first);
  void leave_processor(store_under_way what);
  void arrive(const store_under_way& what);
  template <typename Test>
  bool deliver_oldest(Test&& test);

  link_settings settings_;
  surroundings* around_;
  std::vector<thread_state> threads_;
  std::vector<uint32_t> host_threads_;
  std::vector<device_side> devices_;
  value_history history_;
  std::vector<value_history::value> seen_;  ///< reused by choose_value
  overtaking_list overtakings_;
  uint64_t moment_ = 0;  ///< changes of memory so far
  uint64_t numbers_ = 0;
  uint64_t turns_ = 0;
  uint64_t now_ns_ = 0;
  size_t under_way_ = 0;
};

}  // namespace heddle::sim
