// The protocols whose call carries one line for each lane, as they are measured: slots, hostcalls, reverse offload, the
// FIFO. A payload that is larger than a line takes several calls.
#pragma once

#include "mailbox_memory.h"

#include <heddle/rpc/selected_device.h>

#include <stdint.h>

#include <utility>

namespace heddle::bench {

/// A line on the wire, as far as it is filled: eight words, or the six that reverse offload has for arguments.
HEDDLE_FUNCTION constexpr uint64_t answer_to_line(uint64_t sum) { return sum * 3 + 1; }

/// `Link` is what connects the two ends, see below. Every call is checked.
template <typename Link>
class lines {
 public:
  static constexpr const char* name = Link::name;
  static constexpr bool is_served = true;

  struct client {
    typename Link::client end;
    uint64_t bytes;

    HEDDLE_FUNCTION void call(uint64_t, uint64_t number) const {
      bool wrong = false;
      for (uint64_t left = bytes; left != 0;) {
        const uint64_t words = left / sizeof(uint64_t) < Link::words ? left / sizeof(uint64_t) : Link::words;
        end.call(
            [&](uint64_t* line, uint32_t) {
              for (uint64_t n = 0; n < words; ++n) line[n] = number;
              for (uint64_t n = words; n < Link::words; ++n) line[n] = 0;
            },
            [&](const uint64_t* line, uint32_t) { wrong |= line[0] != answer_to_line(number * words); });
        left -= words * sizeof(uint64_t);
      }
      if (wrong) target::trap(fault::protocol, "a call is answered with something else");
    }
  };

  class server {
   public:
    explicit server(const typename Link::server& end) : end_(end) {}
    bool serve() {
      return end_.serve([](uint64_t* line) {
        uint64_t sum = 0;
        for (uint64_t n = 0; n < Link::words; ++n) sum += line[n];
        line[0] = answer_to_line(sum);
      });
    }
    doorbell rings() const
      requires(Link::can_ring)
    {
      return end_.end.rings();
    }
    void wait(doorbell seen, uint64_t timeout_ns) const
      requires(Link::can_ring)
    {
      end_.end.wait(seen, timeout_ns);
    }

   private:
    typename Link::server end_;
  };

  lines(device& on, point at) : memory_(on), at_(std::move(at)) {}

  result<void> prepare() {
    if (at_.bytes % sizeof(uint64_t) != 0 || at_.bytes == 0)
      return error{name, "payload", "not measured", "a payload is a multiple of 8 bytes"};
    return link_.prepare(memory_, at_);
  }
  client make_client() const { return {link_.make_client(), at_.bytes}; }
  server make_server(uint32_t number) const { return server(link_.make_server(number)); }

 private:
  device_memory memory_;
  point at_;
  Link link_;
};

/// As many slots as waves: none waits for another's.
template <typename ClientMachine>
class slot_link {
 public:
  static constexpr const char* name = "slots";
  static constexpr bool can_ring = true;
  static constexpr uint64_t words = 8;
  // A GPU's link may carry loads and stores alone.
#ifdef HEDDLE_LANES_ARE_THREADS
  using form = rpc::bit_a_slot;
#else
  using form = rpc::word_a_slot;
#endif

  struct client {
    rpc::basic_slot_client<ClientMachine, form> end;
    template <typename Fill, typename Use>
    HEDDLE_FUNCTION void call(Fill fill, Use use) const {
      while (!end.invoke([&](rpc::packet& line, uint32_t lane) { fill(line.words, lane); },
                         [&](rpc::packet& line, uint32_t lane) { use(line.words, lane); }))
        target::pause();
    }
  };
  struct server {
    rpc::basic_slot_server<target, form> end;
    template <typename Operate>
    bool serve(Operate operate) {
      return end.handle([&](rpc::packet& line, uint32_t) { operate(line.words); }, [](rpc::packet&, uint32_t) {});
    }
  };

  result<void> prepare(device_memory& memory, const point& at) {
    if (at.waves > rpc::max_slots) return error{name, "waves", "not measured", "more waves than slots there can be"};
    shape_ = {at.waves, at.lanes};
    result<unsigned char*> shared = memory.mailboxes(shape_.size_bytes(), at.mailbox);
    if (!shared) return shared.why();
    result<uint32_t*> client_locks = memory.of_device<uint32_t>(shape_.own_words(), "client locks");
    if (!client_locks) return client_locks.why();
    rings_ = at.rings;
    result<uint32_t*> server_locks = memory.of_host<uint32_t>(shape_.own_words(), "server locks");
    if (!server_locks) return server_locks.why();
    shared_ = shared.value();
    client_locks_ = client_locks.value();
    server_locks_ = server_locks.value();
    return {};
  }
  client make_client() const { return {{shared_, client_locks_, shape_, rings_}}; }
  server make_server(uint32_t) const { return {{shared_, server_locks_, shape_}}; }

 private:
  rpc::ringing rings_;
  rpc::slot_layout<form> shape_{1, 1};
  unsigned char* shared_ = nullptr;
  uint32_t* client_locks_ = nullptr;
  uint32_t* server_locks_ = nullptr;
};

/// As many packets as waves, as ROCm has them; no server sleeps, so no client rings.
template <typename ClientMachine>
class hostcall_link {
 public:
  static constexpr const char* name = "hostcalls";
  static constexpr bool can_ring = false;
  static constexpr uint64_t words = 8;

  struct client {
    rpc::basic_hostcall_client<ClientMachine> end;
    template <typename Fill, typename Use>
    HEDDLE_FUNCTION void call(Fill fill, Use use) const {
      end.call(
          0, [&](rpc::packet& line, uint32_t lane) { fill(line.words, lane); },
          [&](rpc::packet& line, uint32_t lane) { use(line.words, lane); });
    }
  };
  struct server {
    rpc::basic_hostcall_server<target> end;
    template <typename Operate>
    bool serve(Operate operate) {
      return end.serve([&](uint32_t, rpc::packet& line, uint32_t) { operate(line.words); }) != 0;
    }
  };

  result<void> prepare(device_memory& memory, const point& at) {
    if (at.waves > rpc::max_hostcall_packets)
      return error{name, "waves", "not measured", "more waves than packets there can be"};
    if (at.mailbox == placement::device)
      return error{name, "mailbox", "not measured", "its packets are laid out by the host, in host memory"};
    shape_ = {at.waves, at.lanes};
    result<unsigned char*> shared = memory.mailboxes(shape_.size_bytes(), at.mailbox);
    if (!shared) return shared.why();
    shared_ = shared.value();
    shape_.prepare(shared_);
    return {};
  }
  client make_client() const { return {{shared_, shape_, false}}; }
  server make_server(uint32_t) const { return {rpc::basic_hostcall_server<target>(shared_, shape_)}; }

 private:
  rpc::hostcall_layout shape_{1, 1};
  unsigned char* shared_ = nullptr;
};

/// One mailbox for all waves, or a ring of as many entries.
template <typename ClientMachine, typename Form>
class offload_link {
 public:
  static constexpr bool has_one_entry = Form::has_one_entry;
  static constexpr bool can_ring = false;
  static constexpr const char* name = has_one_entry ? "mailbox" : "offload";
  static constexpr uint64_t words = 6;

  struct client {
    rpc::basic_offload_client<ClientMachine, Form> end;
    template <typename Fill, typename Use>
    HEDDLE_FUNCTION void call(Fill fill, Use use) const {
      end.call(
          0,
          [&](rpc::offload_line& line, uint32_t lane) {
            fill(line.words, lane);
            line.payload_bytes = 0;
          },
          [&](rpc::offload_line& line, uint32_t lane) { use(line.words, lane); });
    }
  };
  struct server {
    rpc::basic_offload_server<target, Form, rpc::mapped_entries<target>> end;
    template <typename Operate>
    bool serve(Operate operate) {
      return end.handle([&](uint64_t, rpc::offload_line& line, uint32_t) { operate(line.words); });
    }
  };

  result<void> prepare(device_memory& memory, const point& at) {
    uint32_t entries = 1;
    while (!has_one_entry && entries < at.waves) entries *= 2;
    shape_ = {entries, at.lanes};
    if (!shape_.is_valid()) return error{name, "waves", "not measured", "more waves than entries there can be"};
    result<unsigned char*> shared = memory.mailboxes(shape_.size_bytes(), at.mailbox);
    if (!shared) return shared.why();
    result<uint32_t*> own = memory.of_device<uint32_t>(1, "the clients' word");
    if (!own) return own.why();
    result<uint32_t*> locks = memory.of_host<uint32_t>(shape_.lock_words(), "server locks");
    if (!locks) return locks.why();
    shared_ = shared.value();
    own_ = own.value();
    locks_ = locks.value();
    return {};
  }
  client make_client() const { return {{shared_, own_, shape_}}; }
  server make_server(uint32_t number) const {
    return {{rpc::mapped_entries<target>(shared_, shape_), locks_, {}, number * (shape_.entries / 2)}};
  }

 private:
  rpc::offload_layout shape_{1, 1};
  unsigned char* shared_ = nullptr;
  uint32_t* own_ = nullptr;
  uint32_t* locks_ = nullptr;
};

}  // namespace heddle::bench
