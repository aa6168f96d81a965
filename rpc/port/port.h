// A port: the right to exchange packets with the other end, from open to close. The same class on both ends.
//
// Half-duplex, as in LLVM libc's GPU RPC. The client's first operation is a send, the server's first a receive, and
// each operation of one end has its mirror on the other. A receive does not give the packet back by itself: the next
// send, the next receive, or the close of the server does.
#pragma once

#include <heddle/rpc/port/process.h>
#include <heddle/rpc/wait.h>

namespace heddle::rpc {

/// What a hand-over was. Travels in the low bits of header::step of a checked build, so that the other end can tell a
/// mismatch from an answer.
enum class hand_over_kind : uint32_t { data = 0, back = 1, closed = 2, refused = 3 };

namespace detail {
struct stage;
}

/// What became of a stream of per-lane buffers.
struct stream_result {
  uint64_t refused = 0;  ///< one bit per lane whose size was above the bound, or for which there was no memory
  HEDDLE_FUNCTION bool ok() const { return refused == 0; }
};

/// A part of what one buffer of a whole wave streams (basic_port::recv_all).
struct bytes_piece {
  const void* data;
  uint64_t size_bytes;
  uint64_t offset_bytes;  ///< in the buffer
  uint64_t total_bytes;   ///< of the buffer
};

/// The default bound on what one lane may stream in one operation.
inline constexpr uint64_t default_stream_bound_bytes = uint64_t{1} << 20;

/// Neither copyable nor movable: an open port cannot be lost, and its destructor closes it where close() has not. A port of the server may
/// be empty: try_open found nothing.
template <typename Target, side Side, typename Check>
class basic_port {
 public:
  using end = process<Target, Side, Check>;

  basic_port(const basic_port&) = delete;
  basic_port(basic_port&&) = delete;
  basic_port& operator=(const basic_port&) = delete;
  basic_port& operator=(basic_port&&) = delete;

  HEDDLE_FUNCTION ~basic_port() { close(); }

  /// Closes the port now, as the destructor does: a client that goes on for long gives its port back when it needs it no more. All lanes of
  /// the call make it. Afterwards the port is not open and has ended; a second close does nothing.
  HEDDLE_FUNCTION void close() {
    if (!open_) return;
    leave();
    if constexpr (Side == side::client) call_ends<Target>(!ended_);
    open_ = false;
    ended_ = true;
  }

  /// Whether the port is open. Always true for a client's until it is closed, but where the server has ended or the wave is too wide.
  HEDDLE_FUNCTION explicit operator bool() const { return open_; }

  /// Whether the other end has ended or has closed the port without an answer, or this end has given the call up or closed the port. From
  /// then on sends and receives do nothing and call no function. The same in all lanes.
  HEDDLE_FUNCTION bool ended() const { return ended_; }
  /// A client's port: whether it has ended because the server has closed it without the answer that this end waits for: its
  /// handler has thrown, there is none, or it does not mirror this end. A checked build traps in the last case.
  HEDDLE_FUNCTION bool unanswered() const { return unanswered_; }

  /// A server's port: whether this end has given the call up, because its client did not go on (set_patience, basic_server::give_up).
  HEDDLE_FUNCTION bool given_up() const { return given_up_; }

  /// A server's port: closes it without an answer. A client that waits for one is told so (unanswered). Of a port that is not open it does
  /// nothing.
  HEDDLE_FUNCTION void refuse() {
    static_assert(Side == side::server, "a client closes a port by close() or its destructor");
    if (!open_) return;
    refused_ = true;
    leave();
    open_ = false;
    ended_ = true;
  }

  /// A server's port, where Check::may_end: ends the port for good when it closes, whatever its client sends next. What was sent is
  /// answered first. For a server that stops.
  HEDDLE_FUNCTION void end_when_closed() {
    static_assert(Side == side::server && Check::may_end, "only a server whose clients expect it may end");
    ends_ = true;
  }

  /// A server's port, where Check::may_end: each wait for the client of this call looks `turns` + 1 times at most. Then the call is given up
  /// (ended()), and the port has ended for good: its client, which may have died in the middle, is told if it still lives.
  HEDDLE_FUNCTION void set_patience(uint32_t turns) {
    static_assert(Side == side::server && Check::may_end, "only a server whose clients expect it may give a call up");
    patience_ = turns;
  }

  /// The port's number, in [0, port_count).
  HEDDLE_FUNCTION uint32_t index() const { return index_; }
  /// The lanes that take part, as the client's wave numbers them.
  HEDDLE_FUNCTION uint64_t mask() const { return mask_; }
  /// What the client asks for.
  HEDDLE_FUNCTION uint16_t opcode() const { return opcode_; }

  /// Waits for the packet, lets `fill(packet&, lane)` write it for each lane of the mask, and hands it over. Where packets lie by word (by_word_and)
  /// it is a word_packet&, here and below.
  HEDDLE_CALLS_BACK
  template <typename Fill>
  HEDDLE_FUNCTION void send(Fill&& fill) {
    if (Side == side::server) require<Target, Check>(!owns_ || received_, "the server sends before it has received");
    if (ended_) return;
    if (!owns_) {
      take();
      if (ended_) return;
      expect_received();
    }
    require_ownership();
    for_each_lane<Target>(mask_, with_packet<Side, Fill>{*this, fill});
    give(hand_over_kind::data);
    received_ = false;
  }

  /// Waits for the packet and lets `use(packet&, lane)` read it for each lane of the mask. After an earlier receive,
  /// gives that packet back first. The packet stays with this end: in a layout of one allocation `use` may change it for a send that follows.
  HEDDLE_CALLS_BACK
  template <typename Use>
  HEDDLE_FUNCTION void recv(Use&& use) {
    if (ended_) return;
    if (received_) give(hand_over_kind::back);
    if (Side == side::client) require<Target, Check>(!owns_, "the client receives before it has sent");
    if (!owns_) take();
    if (ended_) return;
    expect_data();
    require_ownership();
    for_each_lane<Target>(mask_, with_packet<other(Side), Use>{*this, use});
    received_ = true;
  }

  /// A send and the receive of its answer.
  HEDDLE_CALLS_BACK
  template <typename Fill, typename Use>
  HEDDLE_FUNCTION void send_and_recv(Fill&& fill, Use&& use) {
    send(fill);
    recv(use);
  }

  /// Receives and answers with the same packet, as `work(packet&, lane)` leaves it.
  HEDDLE_CALLS_BACK
  template <typename Work>
  HEDDLE_FUNCTION void recv_and_send(Work&& work) {
    recv(work);
    send(answer_of_received{*this});
  }

  /// Of a client: a send and the receive of an answer of one word, `use(word, lane)`. Where the layout has `words`, and the server answers by
  /// send_word(), it comes with the look that finds it: one read over the link less than recv() takes. Otherwise it is the packet's first word.
  HEDDLE_CALLS_BACK
  template <typename Fill, typename Use>
  HEDDLE_FUNCTION void send_and_recv_word(Fill&& fill, Use&& use);
  /// Of a server: as send(), of the word `value(lane)`, which a client may take by send_and_recv_word(), or by recv() as the packet's first word.
  HEDDLE_CALLS_BACK
  template <typename Value>
  HEDDLE_FUNCTION void send_word(Value&& value);

  /// Streams one buffer that all lanes of the mask name alike; they copy it together, 16 bytes each in turn, into the port's staging area, and
  /// hand that over as often as it takes. A size above `bound_bytes` travels without its data, and is refused. Needs a staging area.
  HEDDLE_FUNCTION stream_result send_all(const void* data, uint64_t size_bytes,
                                         uint64_t bound_bytes = default_stream_bound_bytes);
  /// Receives what send_all() of the other end streams: `use(piece)`, a bytes_piece, in every lane, for each piece in turn, which lies in memory that the other
  /// end shares, and is the caller's until it returns. An empty buffer is one empty piece; of a refused one there is none.
  HEDDLE_CALLS_BACK
  template <typename Use>
  HEDDLE_FUNCTION stream_result recv_all(Use&& use, uint64_t bound_bytes = default_stream_bound_bytes);

  /// Streams `source(lane)`, a bytes_view, of each lane of the mask; the other end mirrors it by recv_n with the same
  /// bound. A lane whose size is above `bound_bytes` sends its size and nothing else, and is refused.
  template <typename Source>
    requires(!convertible_to<Source, const void*>)
  HEDDLE_FUNCTION stream_result send_n(Source&& source, uint64_t bound_bytes = default_stream_bound_bytes);

  /// As send_n(source), for a buffer that the calling lane names itself; where one thread runs the wave, all lanes send this one.
  HEDDLE_FUNCTION stream_result send_n(const void* data, uint64_t size_bytes,
                                       uint64_t bound_bytes = default_stream_bound_bytes);

  /// Receives what send_n of the other end streams. `allocate(lane, size_bytes)` is called once per lane of the mask,
  /// never with a size above `bound_bytes`, and returns where that many bytes go. A lane that is above the bound, or
  /// gets null, is refused: its data is taken off the wire and dropped, so that both ends stay in step.
  template <typename Allocate>
  HEDDLE_FUNCTION stream_result recv_n(Allocate&& allocate, uint64_t bound_bytes = default_stream_bound_bytes);

  /// Which part of the port's staging area the lanes of this call have, for what one side writes: for what streams by itself. Whose packet it is,
  /// theirs it is.
  template <side Writer>
  HEDDLE_FUNCTION detail::stage stage() const;
  static constexpr side here = Side;

 private:
  template <typename, typename>
  friend class basic_client;
  template <typename, typename>
  friend class basic_server;

  struct found {
    uint32_t index;
    own_state was;
    uint64_t mask;
    uint16_t opcode;
  };

  /// Calls `function(packet&, lane)`. A class, because nvcc's check cannot be switched off for a lambda.
  template <side Writer, typename Function>
  struct with_packet {
    const basic_port& port;
    Function& function;
    HEDDLE_CALLS_BACK
    HEDDLE_FUNCTION void operator()(uint32_t lane) const {
      auto&& held = port.end_.template packet_of<Writer>(port.index_, lane);
      function(held, lane);
    }
  };
  /// Makes what was received the answer. In one allocation it is.
  struct answer_of_received {
    const basic_port& port;
    template <typename Packet>
    HEDDLE_FUNCTION void operator()(Packet& to, uint32_t lane) const {
      auto&& from = port.end_.template packet_of<other(Side)>(port.index_, lane);
      if (&from.words[0] == &to.words[0]) return;
      for (uint32_t n = 0; n < packet_bytes / sizeof(uint64_t); ++n) to.words[n] = from.words[n];
    }
  };

  /// Not open; `ended` where that is because the other end has ended.
  HEDDLE_FUNCTION explicit basic_port(const end& at, bool ended = false) : end_(at), ended_(ended) {}
  /// A client's port rings the doorbell when it has handed over its first packet, if this is a call to ring for.
  HEDDLE_FUNCTION basic_port(const end& at, const found& port, ringing rings = {}, bool alone = false)
      : end_(at),
        mask_(port.mask),
        index_(port.index),
        outbox_(port.was.outbox()),
        was_(port.was),
        opcode_(port.opcode),
        open_(true),
        owns_(true),
        alone_(alone),
        rings_(rings),
        is_first_(true) {
    // The server's port begins with the packet of the client's first send in hand.
    if constexpr (Side == side::server && Check::enabled) check_step();
  }

  /// Waits for the packet. The first lane's acquire, one at the end of its polling, reaches the other lanes through the barrier.
  HEDDLE_FUNCTION void take() {
    uint32_t inbox = 0;
    if (Target::is_first_lane(mask_))
      inbox = end_.boxes().wait_for_ownership(index_, outbox_,
                                              [this, left = patience_]() mutable { return gives_up(left); });
    end_.bring_packet(index_);
    if constexpr (Side == side::client || Check::may_end) {
      inbox = Target::broadcast(mask_, inbox);
      ended_ = !end_.boxes().owns(inbox, outbox_);
      given_up_ = Side == side::server && ended_;
    }
    Target::sync_lanes(mask_);
    if (ended_) return;
    owns_ = true;
    if constexpr (Check::enabled) check_step();
    // In a checked build a close that mirrors nothing is for expect_data and expect_received.
    if constexpr (Side == side::client)
      ended_ = unanswered_ = end_.boxes().is_unanswered(inbox) && (!Check::enabled || kind_ == hand_over_kind::refused);
  }

  /// Waits for the words of all lanes of the mask, and takes the packet with them; false where the packet came without them, or must be looked at.
  HEDDLE_FUNCTION bool take_words(uint64_t* words);

  /// Whether this end need not wait any longer for a peer that may never answer; `left` looks are left of its patience.
  HEDDLE_FUNCTION bool gives_up([[maybe_unused]] uint32_t& left) const {
    using word_ref = typename Target::template atomic_ref<uint32_t, scope::device>;
    if constexpr (Side == side::server && Check::may_end) {
      if (left == 0) return true;
      // A wait without bound counts nothing: its loop comes back to the state it was in.
      if (left != without_bound) --left;
      // Relaxed: the word says all there is to know.
      return word_ref(end_.give_up_word()).load(memory_order::relaxed) != 0;
    }
    return false;
  }

  /// Hands the packet over. The barrier puts what every lane did before the first lane's release.
  HEDDLE_FUNCTION void give(hand_over_kind kind) {
    Target::sync_lanes(mask_);
    ++step_;
    if (Target::is_first_lane(mask_)) {
      if constexpr (Check::enabled) end_.template header_of<Side>(index_).step = stamp(kind);
      if (Side == side::server && kind >= hand_over_kind::closed)
        end_.boxes().hand_over_unanswered(index_, outbox_);
      else
        end_.boxes().hand_over(index_, outbox_);
      // Rung after the hand-over, so that the server that wakes finds the packet, and once a call: a server that has
      // the port open polls it.
      if constexpr (Side == side::client)
        if (is_first_ && end_.rings().is_due(rings_)) Target::notify(end_.bell());
    }
    is_first_ = false;
    outbox_ = ~outbox_;
    owns_ = false;
    received_ = false;
  }

  HEDDLE_FUNCTION void leave() {
    if constexpr (Side == side::server) {
      // A client may close behind an asynchronous send; the server always gives back what it owns.
      if (owns_) give(refused_ ? hand_over_kind::refused : hand_over_kind::closed);
    } else {
      if (owns_ && Target::is_first_lane(mask_)) end_.rings().answered(rings_);
    }
    Target::sync_lanes(mask_);
    if (!Target::is_first_lane(mask_)) return;
    if constexpr (Check::may_end && Side == side::server) {
      // The client may be anywhere in its call: this port can never be used again, and a client that still lives learns it.
      if (ended_ || ends_) return end_.boxes().end(index_, outbox_);
    }
    // Of a server's port only the outbox counts: it looks for what it is given.
    end_.states().unlock(index_, was_, own_state(outbox_, Side == side::client && !owns_), alone_);
  }

  // -- checks ---------------------------------------------------------------------------------------------------------------

  HEDDLE_FUNCTION static uint32_t stamp_of(uint32_t step) { return step << 2; }
  HEDDLE_FUNCTION uint32_t stamp(hand_over_kind kind) const { return stamp_of(step_) | static_cast<uint32_t>(kind); }

  /// The other end's count of hand-overs must be ours and one more.
  HEDDLE_FUNCTION void check_step() {
    const uint32_t theirs = end_.template header_of<other(Side)>(index_).step;
    // The count travels without its two upper bits.
    require<Target, Check>(((theirs ^ stamp_of(step_ + 1)) >> 2) == 0,
                           "the two ends of a port do not mirror each other: steps differ");
    ++step_;
    kind_ = static_cast<hand_over_kind>(theirs & 3);
  }

  HEDDLE_FUNCTION void expect_data() const {
    require<Target, Check>(kind_ == hand_over_kind::data,
                           "the two ends of a port do not mirror each other: this end receives "
                           "what the other end did not send");
  }

  /// A packet that comes back for one more send was received, and the other end waits for the next.
  HEDDLE_FUNCTION void expect_received() const {
    require<Target, Check>(kind_ == hand_over_kind::back,
                           "the two ends of a port do not mirror each other: this end sends "
                           "what the other end does not receive");
  }

  HEDDLE_FUNCTION void require_ownership() const {
    if constexpr (Check::enabled) {
      if (!Target::is_first_lane(mask_)) return;
      const auto boxes = end_.boxes();
      require<Target, Check>(boxes.owns(boxes.peek_inbox(index_), boxes.peek_outbox(index_)),
                             "a packet is used by the end that does not own it");
      require<Target, Check>(end_.states().peek_held(index_), "a packet is used by an end that does not hold the port");
    }
  }

  end end_;
  uint64_t mask_ = 0;
  uint32_t index_ = 0;
  uint32_t outbox_ = 0;
  own_state was_;
  uint32_t step_ = 0;  ///< hand-overs of both ends since open
  uint32_t patience_ = without_bound;
  hand_over_kind kind_ = hand_over_kind::data;
  uint16_t opcode_ = 0;
  bool open_ = false;
  bool owns_ = false;
  bool received_ = false;  ///< the last operation was a receive
  bool alone_ = false;     ///< no other lanes ever have this port
  ringing rings_;
  bool is_first_ = false;  ///< the next hand-over is the call's first
  bool ended_ = false;
  bool unanswered_ = false;
  bool refused_ = false;
  bool given_up_ = false;
  bool ends_ = false;
};

}  // namespace heddle::rpc

#include <heddle/rpc/port/stream.h>
