// The serving end of LLVM's wire: ports as LLVM's clients open them, seen from a host that trusts none of them.
//
// What the server knows of a port it keeps in memory of its own: no store of a client's changes which words it compares or which thread has
// the port. Packets are copied before they are looked at.
#pragma once

#include <heddle/rpc/check.h>
#include <heddle/rpc/llvm/wire.h>
#include <heddle/rpc/lock.h>
#include <string.h>
#include <time.h>

#include <algorithm>

namespace heddle::rpc::llvm {

/// Calls `function(lane)` for each lane of `mask`, from the lowest.
template <typename Function>
void for_each_lane_of(uint64_t mask, Function&& function) {
  for (; mask != 0; mask &= mask - 1) function(static_cast<uint32_t>(__builtin_ctzll(mask)));
}

/// A view of the memory of all ports. Copies name the same ports.
template <typename Target>
class server_end {
 public:
  /// Words of the server's own: locks, then what it has stored to its outbox, then the word of give_up.
  static constexpr size_t own_words(uint32_t ports) { return lock_words(ports) + ports + 1; }

  /// `shared` is layout::size_bytes() of memory that both ends reach, `own` own_words() zeroed words of the host's. `rings` is for the
  /// revision of 2026.
  server_end(void* shared, uint32_t* own, layout shape, const doorbell_words& rings = {})
      : base_(static_cast<unsigned char*>(shared)), own_(own), shape_(shape), rings_(rings) {}

  /// Writes the doorbell, for clients built with the revision of 2026. Before the first client calls.
  void show_doorbell() const {
    if (shape_.header == revision::of_2026) {
      doorbell_words& line = *reinterpret_cast<doorbell_words*>(base_ + layout::doorbell_offset());
      // A server that goes on with the clients of one before leaves what they read.
      if (line.count != rings_.count || line.mailbox != rings_.mailbox || line.event != rings_.event) line = rings_;
    }
  }

  /// Takes the server's outbox over, as zeros or as a server before has left it. Before the first thread serves.
  void begin() const {
    for (uint32_t port = 0; port < shape_.ports; ++port)
      mine(port).store(box(port).load(memory_order::relaxed) & 1, memory_order::relaxed);
  }

  /// Whether a client waits for the server to act on the port.
  bool owns(uint32_t port) const {
    // Acquire, system scope: pairs with the client's release fence in front of the store to its outbox. Bit 0 is all that a client's word
    // says, whatever stands above it.
    const uint32_t inbox = word(shape_.client_outbox_offset(), port).load(memory_order::acquire);
    // Relaxed: the holder of the port's lock has stored it.
    return ((inbox ^ mine(port).load(memory_order::relaxed)) & 1) != 0;
  }

  void hand_over(uint32_t port) const {
    const uint32_t next = mine(port).load(memory_order::relaxed) ^ 1;
    mine(port).store(next, memory_order::relaxed);
    // Release, system scope: pairs with the client's acquire fence behind its load of this word.
    box(port).store(next, memory_order::release);
  }

  /// A call is done with, answered or not. What the count says is the clients' word: it may wrap, and is a hint alone.
  void finish() const {
    // Relaxed: a client that finds 0 here rings, and what it has stored is released by its hand-over.
    if (rings_.count != nullptr)
      typename Target::template atomic_ref<uint64_t, scope::system>(*rings_.count).fetch_sub(1, memory_order::relaxed);
  }

  lock_bits<Target, unchecked> locks() const { return lock_bits<Target, unchecked>(own_); }

  /// Reads each word once: a client may change it at any time.
  header header_of(uint32_t port) const {
    const volatile header& from = reinterpret_cast<const header*>(base_ + shape_.header_offset())[port];
    return {from.mask & lanes_that_exist(), from.opcode, 0};
  }
  packet& packet_of(uint32_t port, uint32_t lane) const {
    return reinterpret_cast<packet*>(base_ + shape_.packet_offset())[size_t{port} * shape_.lanes + lane];
  }

  /// Makes each thread give up the calls that it waits in, now and later.
  void give_up() const { give_up_word().store(1, memory_order::relaxed); }
  bool has_given_up() const { return give_up_word().load(memory_order::relaxed) != 0; }

  const layout& shape() const { return shape_; }

 private:
  using shared_word = typename Target::template atomic_ref<uint32_t, scope::system>;
  using own_word = typename Target::template atomic_ref<uint32_t, scope::device>;

  static constexpr size_t lock_words(uint32_t ports) { return (size_t{ports} + 31) / 32; }
  shared_word word(size_t offset, uint32_t port) const {
    return shared_word(reinterpret_cast<uint32_t*>(base_ + offset)[port]);
  }
  shared_word box(uint32_t port) const { return word(shape_.server_outbox_offset(), port); }
  own_word mine(uint32_t port) const { return own_word(own_[lock_words(shape_.ports) + port]); }
  own_word give_up_word() const { return own_word(own_[lock_words(shape_.ports) + shape_.ports]); }
  /// The mask comes from the other side and indexes packets.
  uint64_t lanes_that_exist() const { return ~uint64_t{0} >> (64 - shape_.lanes); }

  unsigned char* base_;
  uint32_t* own_;
  layout shape_;
  doorbell_words rings_;
};

/// How long a port waits for its client within a call, and how much it takes of it.
struct port_bounds {
  uint64_t patience_ns = 0;                   ///< for the next hand-over of a call that has begun; 0: for ever
  uint64_t stream_bytes = uint64_t{1} << 30;  ///< a lane that announces more in one stream is not listened to
};

/// A port that a client has opened, for a thread that serves it; or an empty one. Its operations mirror those of the client. Where they do
/// not, or the client does not go on, it has `ended`, and the port is closed for good: its client is not answered any more.
template <typename Target>
class basic_port {
 public:
  using end = server_end<Target>;

  /// Empty.
  explicit basic_port(const end& at) : end_(at) {}
  /// Of a port whose lock this thread holds.
  basic_port(const end& at, uint32_t index, const port_bounds& bounds)
      : end_(at), bounds_(bounds), index_(index), open_(true), owns_(true) {
    const header head = at.header_of(index);
    mask_ = head.mask;
    opcode_ = head.opcode;
  }
  basic_port(const basic_port&) = delete;
  basic_port& operator=(const basic_port&) = delete;
  /// Gives back what this end owns, and closes.
  ~basic_port() {
    if (!open_) return;
    if (!ended_) {
      if (owns_) give();
      // What stays locked is never opened again.
      if (!kept_) end_.locks().unlock(index_);
    }
    end_.finish();
  }

  explicit operator bool() const { return open_; }
  uint32_t index() const { return index_; }
  uint64_t mask() const { return mask_; }
  uint32_t opcode() const { return opcode_; }
  /// From then on sends and receives do nothing and call no function.
  bool ended() const { return ended_; }

  /// Closes the port for good when this call is answered.
  void keep_when_closed() { kept_ = true; }
  /// Closes the port for good, now: what its client sends makes no sense.
  void abandon() { ended_ = true; }

  /// Waits for the packet and calls `use(const packet&, lane)` with a copy for each lane. A packet that was received before goes back
  /// first.
  template <typename Use>
  void recv(Use&& use) {
    if (ended_) return;
    if (received_) give();
    if (!take()) return;
    for_each_lane_of(mask_, [&](uint32_t lane) {
      packet copy;
      const volatile packet& from = end_.packet_of(index_, lane);
      for (uint32_t n = 0; n < 8; ++n) copy.words[n] = from.words[n];
      use(static_cast<const packet&>(copy), lane);
    });
    received_ = true;
  }

  /// Waits for the packet, has `fill(packet&, lane)` write it for each lane, and hands it over. It lies in shared memory: write only.
  template <typename Fill>
  void send(Fill&& fill) {
    if (ended_ || !take()) return;
    for_each_lane_of(mask_, [&](uint32_t lane) { fill(end_.packet_of(index_, lane), lane); });
    give();
  }

  /// Receives a stream of each lane. `take(lane, size_bytes, data, bytes)` gets the parts of a lane's stream in order, at least one; they
  /// come to `size_bytes` together.
  template <typename Take>
  void recv_n(Take&& take) {
    uint64_t size_bytes[max_lanes] = {};
    uint64_t packets = 1;
    for (uint64_t n = 0; n < packets && !ended_; ++n) {
      uint64_t largest = 0;
      recv([&](const packet& from, uint32_t lane) {
        if (n == 0) largest = std::max(largest, size_bytes[lane] = from.words[0]);
        if (size_bytes[lane] > bounds_.stream_bytes) return;
        const uint64_t done = n == 0 ? 0 : first_packet_bytes + (n - 1) * packet_bytes;
        const uint64_t left = size_bytes[lane] - std::min(done, size_bytes[lane]);
        const uint32_t first = n == 0 ? 1 : 0;
        if (n == 0 || left != 0)
          take(lane, size_bytes[lane], reinterpret_cast<const unsigned char*>(from.words + first),
               std::min(left, n == 0 ? first_packet_bytes : packet_bytes));
      });
      if (n != 0) continue;
      // It would send that much, and nothing that this end could say would stop it.
      if (largest > bounds_.stream_bytes) return abandon();
      packets = packets_for(largest);
    }
  }

  /// Sends a stream of each lane: `source(lane)` is a span of bytes.
  template <typename Source>
  void send_n(Source&& source) {
    uint64_t packets = 1;
    for (uint64_t n = 0; n < packets && !ended_; ++n)
      send([&](packet& to, uint32_t lane) {
        const auto bytes = source(lane);
        const uint64_t done =
            std::min<uint64_t>(n == 0 ? 0 : first_packet_bytes + (n - 1) * packet_bytes, bytes.size());
        const uint64_t room = n == 0 ? first_packet_bytes : packet_bytes;
        if (n == 0) to.words[0] = bytes.size();
        if (bytes.size() > done)
          memcpy(to.words + (n == 0 ? 1 : 0), bytes.data() + done, std::min<uint64_t>(room, bytes.size() - done));
        packets = std::max(packets, packets_for(bytes.size()));
      });
  }

 private:
  void give() {
    end_.hand_over(index_);
    owns_ = false;
    received_ = false;
  }

  /// Waits for the packet; false where the call is given up.
  bool take() {
    if (owns_) return true;
    uint32_t polls = 0;
    uint64_t deadline_ns = 0;
    while (!end_.owns(index_)) {
      // No counting where nothing is counted: a thread that waits changes nothing, so that it can be proved that it waits.
      if (end_.has_given_up() || (bounds_.patience_ns != 0 && is_late(polls++, deadline_ns))) {
        ended_ = true;
        return false;
      }
      Target::pause();
    }
    owns_ = true;
    return true;
  }

  /// Looks at the clock every so many polls.
  bool is_late(uint32_t polls, uint64_t& deadline_ns) const {
    if (polls % 64 != 0) return false;
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t now_ns = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
    if (deadline_ns == 0) deadline_ns = now_ns + std::min(bounds_.patience_ns, ~uint64_t{0} - now_ns);
    return now_ns >= deadline_ns;
  }

  end end_;
  port_bounds bounds_;
  uint64_t mask_ = 0;
  uint32_t index_ = 0;
  uint32_t opcode_ = 0;
  bool open_ = false;
  bool owns_ = false;
  bool received_ = false;  ///< the last operation was a receive
  bool ended_ = false;
  bool kept_ = false;
};

/// One thread's look at all ports.
template <typename Target>
class basic_server {
 public:
  using port = basic_port<Target>;

  basic_server(const server_end<Target>& at, const port_bounds& bounds, uint32_t start = 0)
      : end_(at), bounds_(bounds), start_(start % at.shape().ports) {}

  /// A port whose client waits for this end, or an empty one. Begins behind the port that it opened last, so that none is passed over.
  port try_open() {
    const uint32_t ports = end_.shape().ports;
    for (uint32_t n = 0; n < ports; ++n) {
      const uint32_t index = (start_ + n) % ports;
      // A look first: a lock taken for every idle port would keep other threads off.
      if (!end_.owns(index) || !end_.locks().try_lock(index)) continue;
      if (end_.owns(index)) {
        start_ = (index + 1) % ports;
        return port(end_, index, bounds_);
      }
      // Another thread has served it in between.
      end_.locks().unlock(index);
    }
    return port(end_);
  }

  /// As try_open, for a server that ends: a port with nothing to serve is closed for good, and so is one that is served now. Each port is
  /// opened once at most, by one of the threads that do this.
  port try_end() {
    for (; ended_ < end_.shape().ports; ++ended_) {
      // Held by another thread, which looks at it here when it has served it; or closed for good.
      if (!end_.locks().try_lock(ended_) || !end_.owns(ended_)) continue;
      return port(end_, ended_++, bounds_);
    }
    return port(end_);
  }

 private:
  server_end<Target> end_;
  port_bounds bounds_;
  uint32_t start_;
  uint32_t ended_ = 0;
};

}  // namespace heddle::rpc::llvm
