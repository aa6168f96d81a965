// Hostcalls: packets that a wave takes from a stack of free ones, fills, puts on a stack of ready ones, and gets back answered.
//
// The shape of ROCm's hostcall as it was until 2026 (ROCm-Device-Libs, hostcall_impl.cl; rocclr, devhostcall.cpp): both
// stacks in host memory, a doorbell, and host threads that take all ready packets at once.
//
// Needs from the machine: compare-and-swap and exchange over the link (check_link_of<hostcall_layout>(device) asks for them). ROCm's needs as many packets as waves; with fewer, a call waits
// for the holder of a packet, which must be guaranteed a turn (`obe`, or under `hsa` a packet that the other waves cannot hold).
#pragma once

#include <heddle/rpc/check.h>
#include <heddle/rpc/layout.h>
#include <heddle/rpc/link.h>
#include <heddle/rpc/ring/stack.h>
#include <heddle/rpc/ring/wait.h>

namespace heddle::rpc {

inline constexpr uint32_t max_hostcall_packets = uint32_t{1} << 20;

/// What a packet says of its call; the payload lies beside it, 64 bytes for each lane.
struct hostcall_header {
  uint64_t below;    ///< the packet below it on the stack that it is on
  uint64_t mask;     ///< the lanes that call
  uint32_t service;  ///< what they ask for
  uint32_t control;  ///< which end has the packet, see hostcall_control
};
static_assert(sizeof(hostcall_header) == 24);

/// Values of a packet's control word.
struct hostcall_control {
  static constexpr uint32_t of_client = 0;  ///< free, being filled, or answered
  static constexpr uint32_t posted = 1;
  static constexpr uint32_t abandoned = 2;  ///< posted, and its client waits no more: the server gives it back
  static constexpr uint32_t refused = 3;    ///< the client's again, and there is no answer in it
};

/// Where things lie in the shared allocation, in bytes. Doorbell, top of the free stack and top of the ready stack have
/// a cache line each; headers and payload follow. Packets in [1, max_hostcall_packets], lanes in [1, max_lanes].
struct hostcall_layout {
  static constexpr const char* name = "hostcalls";
  static constexpr link_properties needs = {.swap = true, .compare = true};
  static constexpr const char* instead = "ports, and slots of a word each, need loads and stores alone";

  uint32_t packets;
  uint32_t lanes;

  HEDDLE_FUNCTION constexpr bool is_valid() const {
    return packets != 0 && packets <= max_hostcall_packets && lanes != 0 && lanes <= max_lanes;
  }
  HEDDLE_FUNCTION static constexpr size_t doorbell_offset() { return 0; }
  /// The word by which the server says that it has ended; in the doorbell's line.
  HEDDLE_FUNCTION static constexpr size_t end_offset() { return line_bytes / 2; }
  HEDDLE_FUNCTION static constexpr size_t free_offset() { return line_bytes; }
  HEDDLE_FUNCTION static constexpr size_t ready_offset() { return 2 * line_bytes; }
  HEDDLE_FUNCTION static constexpr size_t header_offset() { return 3 * line_bytes; }
  HEDDLE_FUNCTION constexpr size_t payload_offset() const {
    const size_t bytes = size_t{packets} * sizeof(hostcall_header);
    return header_offset() + (bytes + line_bytes - 1) / line_bytes * line_bytes;
  }
  /// The size of the shared allocation, which must be aligned to line_bytes.
  HEDDLE_FUNCTION constexpr size_t size_bytes() const {
    return payload_offset() + size_t{packets} * lanes * sizeof(packet);
  }

  /// Makes zeroed memory a set of free packets, before it is used.
  HEDDLE_FUNCTION void prepare(void* shared) const {
    auto* const base = static_cast<unsigned char*>(shared);
    auto* const headers = reinterpret_cast<hostcall_header*>(base + header_offset());
    for (uint32_t n = 0; n + 1 < packets; ++n) headers[n].below = counted_tag::named(n + 1);
    *reinterpret_cast<uint64_t*>(base + free_offset()) = counted_tag::named(0);
  }
};

/// What both ends see of the shared memory. A view: it owns nothing and can be passed to a kernel byte by byte.
template <typename Target, typename Tag>
class hostcall_end {
 public:
  using word_ref = typename Target::template atomic_ref<uint32_t, scope::system>;

  HEDDLE_FUNCTION hostcall_end(void* shared, hostcall_layout shape)
      : shape_(shape), base_(static_cast<unsigned char*>(shared)) {}

  HEDDLE_FUNCTION uint32_t packet_count() const { return shape_.packets; }
  HEDDLE_FUNCTION uint64_t lanes_that_exist() const {
    return shape_.lanes == max_lanes ? ~uint64_t{0} : (uint64_t{1} << shape_.lanes) - 1;
  }

  HEDDLE_FUNCTION hostcall_header& header_of(uint64_t name) const { return headers()[Tag::packet_of(name)]; }
  HEDDLE_FUNCTION word_ref control_of(uint64_t name) const { return word_ref(header_of(name).control); }
  /// A lane's line of the packet's payload.
  HEDDLE_FUNCTION packet& line_of(uint64_t name, uint32_t lane) const {
    return reinterpret_cast<packet*>(base_ +
                                     shape_.payload_offset())[uint64_t{Tag::packet_of(name)} * shape_.lanes + lane];
  }
  HEDDLE_FUNCTION doorbell& bell() const {
    return *reinterpret_cast<doorbell*>(base_ + hostcall_layout::doorbell_offset());
  }

  HEDDLE_FUNCTION end_word<Target> ending() const {
    return end_word<Target>(*reinterpret_cast<uint32_t*>(base_ + hostcall_layout::end_offset()));
  }

  struct below_in_header {
    hostcall_header* headers;
    HEDDLE_FUNCTION uint64_t& operator()(uint64_t name) const { return headers[Tag::packet_of(name)].below; }
  };
  using stack = packet_stack<Target, below_in_header>;
  HEDDLE_FUNCTION stack free_packets() const { return {top_at(hostcall_layout::free_offset()), {headers()}}; }
  HEDDLE_FUNCTION stack ready_packets() const { return {top_at(hostcall_layout::ready_offset()), {headers()}}; }

  /// Lets the next caller have the packet.
  HEDDLE_FUNCTION void give_back(uint64_t name) const { free_packets().push(Tag::retagged(name)); }

  /// Whether every packet is free and no call is under way. To be asked when both ends are quiescent.
  HEDDLE_FUNCTION bool all_idle() const {
    uint32_t found = 0;
    uint64_t name = free_packets().top();
    for (; name != 0 && found < shape_.packets; ++found) {
      if (Tag::packet_of(name) >= shape_.packets) return false;
      if (control_of(name).load(memory_order::relaxed) != hostcall_control::of_client) return false;
      name = typename stack::word_ref(header_of(name).below).load(memory_order::relaxed);
    }
    return name == 0 && found == shape_.packets && ready_packets().top() == 0;
  }

 private:
  HEDDLE_FUNCTION hostcall_header* headers() const {
    return reinterpret_cast<hostcall_header*>(base_ + hostcall_layout::header_offset());
  }
  HEDDLE_FUNCTION uint64_t& top_at(size_t offset) const { return *reinterpret_cast<uint64_t*>(base_ + offset); }

  hostcall_layout shape_;
  unsigned char* base_;
};

/// The end that calls: waves of a GPU, or any thread. A view that can be copied into a kernel byte by byte.
template <typename Target, typename Check = unchecked, typename Tag = counted_tag>
class basic_hostcall_client {
 public:
  /// `shared` is shape.size_bytes() that both ends reach and that shape.prepare has seen. A client that `rings` wakes a
  /// server that sleeps on the doorbell.
  HEDDLE_FUNCTION basic_hostcall_client(void* shared, hostcall_layout of, bool rings = true)
      : end_(shared, of), rings_(rings) {
    require_layout<Target, Check>(of.is_valid(), "a layout has no packets or no lanes, or more than there may be");
  }

  /// A call by the lanes that stand here together: `fill(line, lane)` writes the request of each lane, `use(line, lane)` reads what the
  /// server has made of it. With a bound each of its two waits looks `turns` + 1 times. When it times out for a packet, nothing has happened.
  /// When it times out for the answer, the request will be handled once; the answer is dropped, and the server gives the packet back.
  /// When the server's handler has thrown, `use` is not called, and the status is `unanswered`. Where Check::may_end and the server ends before
  /// it has answered, the status is `ended`; whether a request that it was to answer was handled is not known.
  HEDDLE_CALLS_BACK
  template <typename Fill, typename Use>
  HEDDLE_FUNCTION ring_result call(uint32_t service, Fill&& fill, Use&& use, uint32_t turns = without_bound) const {
    call_begins<Target>();
    const ring_result made = call_together(service, fill, use, turns);
    call_ends<Target>(made.status == ring_status::done);
    return made;
  }

  /// Whether every packet is free, see hostcall_end::all_idle.
  HEDDLE_FUNCTION bool all_idle() const { return end_.all_idle(); }
  HEDDLE_FUNCTION uint32_t packet_count() const { return end_.packet_count(); }

 private:
  using end = hostcall_end<Target, Tag>;

  HEDDLE_CALLS_BACK
  template <typename Fill, typename Use>
  HEDDLE_FUNCTION ring_result call_together(uint32_t service, Fill& fill, Use& use, uint32_t turns) const {
    const uint64_t mask = Target::lane_mask();
    require<Target, Check>((mask & ~end_.lanes_that_exist()) == 0, "a wave is wider than the packets of its client");
    uint64_t name = 0;
    if (Target::is_first_lane(mask)) name = take(turns);
    name = Target::broadcast(mask, name);
    // The first lane's acquire of the packet reaches the other lanes.
    Target::sync_lanes(mask);
    if (name == 0) return {ring_status::timed_out, ring_wait::packet, 0, 0};
    if constexpr (Check::may_end) {
      if (name == no_server) return {ring_status::ended, ring_wait::packet, 0, 0};
    }

    for_each_lane<Target>(mask, with_line<Fill>{end_, name, fill});
    // Puts what every lane wrote before the first lane's release.
    Target::sync_lanes(mask);
    uint32_t outcome = 0;
    if (Target::is_first_lane(mask)) {
      post(name, mask, service);
      outcome = static_cast<uint32_t>(wait_for_answer(name, turns));
    }
    const auto answered = static_cast<ring_status>(Target::broadcast(mask, outcome));
    // The first lane's acquire of the answer reaches the other lanes.
    Target::sync_lanes(mask);
    if (answered == ring_status::timed_out || (Check::may_end && answered == ring_status::ended))
      return {answered, ring_wait::answer, Tag::packet_of(name), 0};

    if (answered == ring_status::done) for_each_lane<Target>(mask, with_line<Use>{end_, name, use});
    Target::sync_lanes(mask);
    if (Target::is_first_lane(mask)) end_.give_back(name);
    return {answered, ring_wait::nothing, Tag::packet_of(name), 0};
  }

  /// In place of a packet; no packet has this name.
  static constexpr uint64_t no_server = ~uint64_t{0};

  HEDDLE_FUNCTION bool has_ended() const {
    if constexpr (Check::may_end)
      return end_.ending().is_set();
    else
      return false;
  }

  /// A packet, or 0 when the bound was reached, or no_server.
  HEDDLE_FUNCTION uint64_t take(uint32_t turns) const {
    bounded_wait<Target> wait(turns);
    for (;;) {
      const uint64_t name = end_.free_packets().pop();
      if (name != 0) {
        if constexpr (Check::enabled)
          require<Target, Check>(end_.control_of(name).load(memory_order::relaxed) == hostcall_control::of_client,
                                 "a packet that was free is in use");
        return name;
      }
      if (has_ended()) return no_server;
      if (!wait.again()) return 0;
    }
  }

  HEDDLE_FUNCTION void post(uint64_t name, uint64_t mask, uint32_t service) const {
    hostcall_header& header = end_.header_of(name);
    header.mask = mask;
    header.service = service;
    // Relaxed: the push releases it together with the rest.
    end_.control_of(name).store(hostcall_control::posted, memory_order::relaxed);
    end_.ready_packets().push(name);
    // Behind the push: a server that hears the ring finds the packet.
    if (rings_) Target::notify(end_.bell());
  }

  HEDDLE_FUNCTION ring_status wait_for_answer(uint64_t name, uint32_t turns) const {
    bounded_wait<Target> wait(turns);
    uint32_t found = 0;
    // Relaxed: the many looks that find nothing order nothing.
    while ((found = end_.control_of(name).load(memory_order::relaxed)) == hostcall_control::posted) {
      const bool ended = has_ended();
      if (!ended && wait.again()) continue;
      // Relaxed: the answer that has come after all is acquired below. Otherwise the packet is the server's for good.
      if (end_.control_of(name).compare_exchange_strong(found, hostcall_control::abandoned, memory_order::relaxed))
        return ended ? ring_status::ended : ring_status::timed_out;
      break;
    }
    // Acquire, system scope: with the relaxed load before it pairs with the release of control by the server.
    acquire_seen<Target, scope::system>(end_.header_of(name).control);
    if (found != hostcall_control::refused) return ring_status::done;
    // Relaxed: the push that gives the packet back releases it.
    end_.control_of(name).store(hostcall_control::of_client, memory_order::relaxed);
    return ring_status::unanswered;
  }

  /// Calls `function(line, lane)`. A class, because nvcc's check cannot be switched off for a lambda.
  template <typename Function>
  struct with_line {
    const end& at;
    uint64_t name;
    Function& function;
    HEDDLE_CALLS_BACK
    HEDDLE_FUNCTION void operator()(uint32_t lane) const { function(at.line_of(name, lane), lane); }
  };

  end end_;
  bool rings_;
};

/// The end that answers: any number of host threads, each with a view of its own over the same memory.
template <typename Target, typename Check = unchecked, typename Tag = counted_tag>
class basic_hostcall_server {
 public:
  HEDDLE_FUNCTION basic_hostcall_server(void* shared, hostcall_layout of) : end_(shared, of) {
    require_layout<Target, Check>(of.is_valid(), "a layout has no packets or no lanes, or more than there may be");
  }

  /// Takes all packets that are ready, and answers them, the last one first: `handle(service, line, lane)` for each
  /// lane that calls. Returns how many packets there were. Does not wait. Where `handle` throws, the client of that packet learns that
  /// there is no answer, the packets behind it are ready again, and the exception goes on to the caller.
  ///
  /// A line is the memory that the client shares: what a handler checks and then uses, it must copy first.
  HEDDLE_CALLS_BACK
  template <typename Handle>
  HEDDLE_FUNCTION uint32_t serve(Handle&& handle) const {
    taken_packets left{end_, end_.ready_packets().take_all()};
    // What the other side writes is not believed: neither numbers of packets nor that the list ends.
    while (left.name != 0 && left.served < end_.packet_count()) {
      if (Tag::packet_of(left.name) >= end_.packet_count()) {
        require<Target, Check>(false, "a packet that does not exist is ready");
        break;
      }
      // Once: a hostile client may change it at any time.
      const volatile hostcall_header& header = end_.header_of(left.name);
      const uint64_t mask = header.mask & end_.lanes_that_exist();
      const uint32_t service = header.service;
      left.in_hand = true;
      for (uint32_t lane = 0; lane < max_lanes; ++lane)
        if ((mask >> lane & 1) != 0) handle(service, end_.line_of(left.name, lane), lane);
      const uint32_t before = left.answer(hostcall_control::of_client);
      require<Target, Check>(before == hostcall_control::posted || before == hostcall_control::abandoned,
                             "a packet is answered that nothing has posted");
    }
    return left.served;
  }

  /// The count of rings, to be taken before serve and given to wait if that finds nothing.
  HEDDLE_FUNCTION doorbell rings() const {
    // Acquire pairs with the release in notify: the look that follows finds every packet whose ring is counted here.
    return typename both_ends::word_ref(end_.bell()).load(memory_order::acquire);
  }
  /// Sleeps until a client that rings has posted since `seen` was taken, or until the time-out. Look for work behind it whatever the
  /// count says: a ring may be lost on its way. (rocm-systems #8192: a listener that looked at the count alone.)
  HEDDLE_FUNCTION void wait(doorbell seen, uint64_t timeout_ns) const { Target::wait(end_.bell(), seen, timeout_ns); }

  /// Where Check::may_end: tells the clients that no request is answered any more. Does not wait, however many call. Calls that wait, and
  /// that are made later, end with the status `ended`. Serve what is there before.
  HEDDLE_FUNCTION void end() const {
    static_assert(Check::may_end, "only a server whose clients expect it may end: may_end_and<Check>");
    end_.ending().set();
  }

  HEDDLE_FUNCTION bool all_idle() const { return end_.all_idle(); }

 private:
  using both_ends = hostcall_end<Target, Tag>;

  /// What take_all has given, less what is answered. Where a handler throws, refuses the packet in hand and posts the others again.
  struct taken_packets {
    const both_ends& at;
    uint64_t name;
    uint32_t served = 0;
    bool in_hand = false;

    /// Gives the first packet back with this control word, goes on to the one below it, and returns the control word of before.
    HEDDLE_FUNCTION uint32_t answer(uint32_t with) {
      const auto control = at.control_of(name);
      // Read before the answer: behind it the packet is the client's.
      const uint64_t below = word_below();
      // Release, system scope: pairs with the acquire of control by the client. An exchange: it may have stopped waiting meanwhile.
      const uint32_t before = control.exchange(with, memory_order::release);
      if (before == hostcall_control::abandoned) {
        // Relaxed: the push that gives it back releases it.
        if (with != hostcall_control::of_client) control.store(hostcall_control::of_client, memory_order::relaxed);
        at.give_back(name);
      }
      in_hand = false;
      name = below;
      ++served;
      return before;
    }

    HEDDLE_FUNCTION ~taken_packets() {
      if (in_hand) answer(hostcall_control::refused);
      for (; name != 0 && served < at.packet_count() && Tag::packet_of(name) < at.packet_count(); ++served) {
        const uint64_t below = word_below();
        at.ready_packets().push(name);
        name = below;
      }
    }

    HEDDLE_FUNCTION uint64_t word_below() const {
      return typename both_ends::stack::word_ref(at.header_of(name).below).load(memory_order::relaxed);
    }
  };

  both_ends end_;
};

}  // namespace heddle::rpc
