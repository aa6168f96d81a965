// The calling end of LLVM's wire: ports for the lanes of a kernel, and libc over them as LLVM has it on a GPU.
#pragma once

#include <heddle/rpc/llvm/wire.h>
#include <string.h>

namespace heddle::rpc::llvm {

/// Of a text, without its end. A GPU's compilers have no strlen in common.
HEDDLE_FUNCTION inline uint64_t bytes_of(const char* text) {
  uint64_t bytes = 0;
  while (text[bytes] != 0) ++bytes;
  return bytes;
}

/// The client's end, with the names and the meaning of LLVM's rpc.h. A view: copies name the same ports.
template <typename Target>
class basic_client {
 public:
  struct Buffer {
    uint64_t data[8];
  };

  /// `shared` is layout::size_bytes() of memory that both ends reach, as the server has it; `locks` are zeroed words that the lanes of the
  /// client share, one bit a port.
  HEDDLE_FUNCTION basic_client(void* shared, uint32_t* locks, layout shape)
      : base_(static_cast<unsigned char*>(shared)), locks_(locks), shape_(shape) {}
  /// Of what a server's rpc_get_client_buffer() gave; `lanes` as the server has them.
  HEDDLE_FUNCTION basic_client(client_image& image, uint32_t lanes)
      : basic_client(image.server_outbox, image.locks, {image.ports, lanes}) {}

  HEDDLE_FUNCTION static uint64_t lanes() { return Target::lane_mask(); }
  HEDDLE_FUNCTION static bool any(uint64_t mask, bool holds) { return Target::ballot(mask, holds) != 0; }

  /// A port for the lanes that have opened it together: all of them make each call. What one end sends the other receives, in order.
  class port {
   public:
    HEDDLE_FUNCTION port(const basic_client& at, uint32_t index, uint64_t mask, uint32_t outbox)
        : at_(at), index_(index), mask_(mask), outbox_(outbox) {}
    port(const port&) = delete;
    port& operator=(const port&) = delete;
    HEDDLE_FUNCTION ~port() { close(); }

    /// `fill(Buffer*, lane)` writes the packet of each lane.
    template <typename Fill>
    HEDDLE_FUNCTION void send(Fill fill) {
      take();
      for_each_lane<Target>(mask_, [&](uint32_t lane) { fill(packet(lane), lane); });
      give();
      received_ = false;
    }
    /// `use(Buffer*, lane)` reads it.
    template <typename Use>
    HEDDLE_FUNCTION void recv(Use use) {
      if (received_) give();
      take();
      for_each_lane<Target>(mask_, [&](uint32_t lane) { use(packet(lane), lane); });
      received_ = true;
    }
    template <typename Fill, typename Use>
    HEDDLE_FUNCTION void send_and_recv(Fill fill, Use use) {
      send(fill);
      recv(use);
    }
    /// A stream of bytes, whose size may differ from lane to lane.
    HEDDLE_FUNCTION void send_n(const void* data, uint64_t bytes) {
      for (uint64_t n = 0; any(mask_, n < packets_for(bytes)); ++n)
        send([&](Buffer* to, uint32_t) {
          const uint64_t done = n == 0 ? 0 : first_packet_bytes + (n - 1) * packet_bytes;
          const uint64_t most = n == 0 ? first_packet_bytes : packet_bytes;
          if (n == 0) to->data[0] = bytes;
          if (done < bytes)
            memcpy(to->data + (n == 0 ? 1 : 0), static_cast<const unsigned char*>(data) + done,
                   bytes - done < most ? bytes - done : most);
        });
    }
    /// The same the other way: `allocate(bytes)` says where a lane's go, and is called once.
    template <typename Allocate>
    HEDDLE_FUNCTION void recv_n(void** into, uint64_t* bytes, Allocate allocate) {
      for (uint64_t n = 0; n == 0 || any(mask_, n < packets_for(*bytes)); ++n)
        recv([&](Buffer* from, uint32_t) {
          if (n == 0) *bytes = from->data[0];
          if (n == 0) *into = allocate(*bytes);
          const uint64_t done = n == 0 ? 0 : first_packet_bytes + (n - 1) * packet_bytes;
          const uint64_t most = n == 0 ? first_packet_bytes : packet_bytes;
          if (done < *bytes)
            memcpy(static_cast<unsigned char*>(*into) + done, from->data + (n == 0 ? 1 : 0),
                   *bytes - done < most ? *bytes - done : most);
        });
    }
    HEDDLE_FUNCTION uint64_t mask() const { return mask_; }
    /// Gives the port to the next call; by hand, or else by the destructor. What was sent is served nevertheless. A second close does nothing.
    HEDDLE_FUNCTION void close() {
      if (!open_) return;
      open_ = false;
      Target::sync_lanes(mask_);
      // Release: pairs with the acquire in open() of the next wave.
      if (Target::is_first_lane(mask_))
        own_word(at_.locks_[index_ / 32]).fetch_and(~(1u << index_ % 32), memory_order::release);
    }

   private:
    HEDDLE_FUNCTION Buffer* packet(uint32_t lane) const {
      return reinterpret_cast<Buffer*>(at_.base_ + at_.shape_.packet_offset()) + size_t{index_} * at_.shape_.lanes +
             lane;
    }
    HEDDLE_FUNCTION void take() {
      if (owns_) return;
      if (Target::is_first_lane(mask_))
        // Acquire: pairs with the server's release in hand_over.
        while (shared_word(at_.inbox(index_)).load(memory_order::acquire) != outbox_) Target::pause();
      Target::sync_lanes(mask_);
      owns_ = true;
    }
    HEDDLE_FUNCTION void give() {
      Target::sync_lanes(mask_);
      outbox_ ^= 1;
      // Release: pairs with the server's acquire in owns.
      if (Target::is_first_lane(mask_)) shared_word(at_.outbox(index_)).store(outbox_, memory_order::release);
      owns_ = false;
      received_ = false;
    }

    basic_client at_;
    uint32_t index_;
    uint64_t mask_;
    uint32_t outbox_;
    bool open_ = true;
    bool owns_ = true;
    bool received_ = false;
  };

  using Port = port;

  /// Opens a port for the lanes that stand here together, and waits until there is one.
  template <auto Opcode>
  HEDDLE_FUNCTION port open() const {
    const uint64_t mask = Target::lane_mask();
    uint64_t found = 0;
    if (Target::is_first_lane(mask)) {
      for (uint32_t index = Target::wave_id() % shape_.ports;; index = index + 1 == shape_.ports ? 0 : index + 1) {
        const uint32_t bit = 1u << index % 32;
        if ((own_word(locks_[index / 32]).fetch_or(bit, memory_order::acquire) & bit) == 0) {
          const uint32_t mine = shared_word(outbox(index)).load(memory_order::relaxed);
          if (shared_word(inbox(index)).load(memory_order::acquire) == mine) {
            header_of(index).mask = mask;
            header_of(index).opcode = static_cast<uint32_t>(Opcode);
            found = uint64_t{mine} << 32 | index;
            break;
          }
          own_word(locks_[index / 32]).fetch_and(~bit, memory_order::release);
        }
        Target::pause();
      }
    }
    found = Target::broadcast(mask, found);
    Target::sync_lanes(mask);
    if (shape_.header == revision::of_2026) ring(mask);
    return port(*this, static_cast<uint32_t>(found), mask, static_cast<uint32_t>(found >> 32));
  }

  // The words of a port, also for what no client writes.
  HEDDLE_FUNCTION uint32_t& outbox(uint32_t index) const {
    return reinterpret_cast<uint32_t*>(base_ + shape_.client_outbox_offset())[index];
  }
  HEDDLE_FUNCTION uint32_t& inbox(uint32_t index) const {
    return reinterpret_cast<uint32_t*>(base_ + shape_.server_outbox_offset())[index];
  }
  HEDDLE_FUNCTION header& header_of(uint32_t index) const {
    return reinterpret_cast<header*>(base_ + shape_.header_offset())[index];
  }

 private:
  using own_word = typename Target::template atomic_ref<uint32_t, scope::device>;
  using shared_word = typename Target::template atomic_ref<uint32_t, scope::system>;
  using long_word = typename Target::template atomic_ref<uint64_t, scope::system>;

  /// As `notify` of LLVM's rpc.h, where it rings: behind the header, before the packet is filled. The mailbox is looked at, as #214037 has it.
  HEDDLE_FUNCTION void ring(uint64_t mask) const {
    const auto& line = *reinterpret_cast<const doorbell_words*>(base_ + layout::doorbell_offset());
    if (!Target::is_first_lane(mask) || line.count == nullptr) return;
    // Relaxed, here and below: a ring is a hint. What it hints at is released by the hand-over.
    if (long_word(*line.count).fetch_add(1, memory_order::relaxed) != 0 || line.mailbox == nullptr) return;
    long_word(*line.mailbox).store(line.event, memory_order::relaxed);
    // Release: the driver of the device, which looks into the mailbox when it is interrupted, finds the event.
    Target::template fence<scope::system>(memory_order::release);
    if constexpr (requires { Target::interrupt(line.event); }) Target::interrupt(line.event);
  }

  unsigned char* base_;
  uint32_t* locks_;
  layout shape_;
};

/// The functions of libc/src/stdio/gpu and libc/src/stdlib/gpu, as far as the wire sees them: one call each for the lanes that stand there
/// together. `Client` is basic_client or LLVM's. A file is what a client has for a FILE*: `in`, `out`, `err` or what open() gave.
template <typename Client>
class basic_libc {
 public:
  HEDDLE_FUNCTION explicit basic_libc(Client& at) : at_(at) {}

  static constexpr uint64_t in = 1;
  static constexpr uint64_t out = 2;
  static constexpr uint64_t err = 3;

  /// 0 where it is refused.
  HEDDLE_FUNCTION uint64_t open(const char* path, const char* mode) {
    auto port = at_.template open<of(opcode::open_file)>();
    uint64_t file = 0;
    port.send_n(path, bytes_of(path) + 1);
    port.send_and_recv([&](auto* b, uint32_t) { memcpy(b->data, mode, bytes_of(mode) + 1); },
                       [&](auto* b, uint32_t) { file = b->data[0]; });
    port.close();
    return file;
  }
  /// Bytes that were written, an end of line that the opcode adds among them.
  template <opcode Opcode = opcode::write_to_stream>
  HEDDLE_FUNCTION uint64_t write(uint64_t file, const void* data, uint64_t bytes) {
    auto port = at_.template open<of(Opcode)>();
    if (Opcode == opcode::write_to_stream) port.send([&](auto* b, uint32_t) { b->data[0] = file; });
    uint64_t written = 0;
    port.send_n(data, bytes);
    port.recv([&](auto* b, uint32_t) { written = b->data[0]; });
    port.close();
    return written;
  }
  HEDDLE_FUNCTION uint64_t read(uint64_t file, void* into, uint64_t bytes) {
    auto port = at_.template open<of(opcode::read_from_stream)>();
    uint64_t sent = 0;
    uint64_t done = 0;
    port.send([&](auto* b, uint32_t) {
      b->data[0] = bytes;
      b->data[1] = file;
    });
    port.recv_n(&into, &sent, [&](uint64_t) { return into; });
    port.recv([&](auto* b, uint32_t) { done = b->data[0]; });
    port.close();
    return done;
  }
  /// At most `bytes`, its end among them; false where there is none.
  HEDDLE_FUNCTION bool gets(char* into, int bytes, uint64_t file) {
    auto port = at_.template open<of(opcode::read_fgets)>();
    uint64_t sent = 0;
    void* to = nullptr;
    port.send([&](auto* b, uint32_t) {
      b->data[0] = static_cast<uint64_t>(int64_t{bytes});
      b->data[1] = file;
    });
    port.recv_n(&to, &sent, [&](uint64_t) { return static_cast<void*>(into); });
    port.close();
    return sent != 0;
  }
  /// Those of one packet each way: close, seek, tell, flags, ungetc, malloc.
  template <opcode Opcode>
  HEDDLE_FUNCTION int64_t word(uint64_t first, uint64_t second = 0, uint64_t third = 0) {
    auto port = at_.template open<of(Opcode)>();
    uint64_t answer = 0;
    port.send_and_recv(
        [&](auto* b, uint32_t) {
          b->data[0] = first;
          b->data[1] = second;
          b->data[2] = third;
        },
        [&](auto* b, uint32_t) { answer = b->data[0]; });
    port.close();
    return static_cast<int64_t>(answer);
  }
  /// Those of texts: remove, rename, system. `sizes` may be wrong on purpose.
  template <opcode Opcode, size_t Texts>
  HEDDLE_FUNCTION int64_t text(const char* const (&texts)[Texts], uint64_t less_bytes = 0) {
    auto port = at_.template open<of(Opcode)>();
    uint64_t answer = 0;
    for (const char* const one : texts) port.send_n(one, bytes_of(one) + 1 - less_bytes);
    port.recv([&](auto* b, uint32_t) { answer = b->data[0]; });
    port.close();
    return static_cast<int64_t>(answer);
  }
  /// `arguments` lie as `Opcode` says: each aligned to its size, or packed.
  template <opcode Opcode>
  HEDDLE_FUNCTION int64_t print(uint64_t file, const char* format, const void* arguments, uint64_t less_bytes = 0) {
    const uint64_t together = at_.lanes();
    auto port = at_.template open<of(Opcode)>();
    // Those of the port, where it tells: others may have come or gone since. LLVM's does not, and its libc takes those of before.
    uint64_t mask = together;
    if constexpr (requires { port.mask(); }) mask = port.mask();
    if (Opcode == opcode::printf_to_stream || Opcode == opcode::printf_to_stream_packed)
      port.send([&](auto* b, uint32_t) { b->data[0] = file; });
    uint64_t bytes = 0;
    uint64_t result = 0;
    port.send_n(format, bytes_of(format) + 1 - less_bytes);
    port.recv([&](auto* b, uint32_t) { bytes = b->data[0]; });
    port.send_n(arguments, bytes);
    for (;;) {
      const char* text = nullptr;
      port.recv([&](auto* b, uint32_t) {
        result = b->data[0];
        text = reinterpret_cast<const char*>(b->data[1]);
      });
      if (!at_.any(mask, text != nullptr)) break;
      port.send_n(text, text == nullptr ? 0 : bytes_of(text) + 1 - less_bytes);
    }
    port.close();
    return static_cast<int32_t>(result);
  }
  HEDDLE_FUNCTION void free(uint64_t address) {
    auto port = at_.template open<of(opcode::free)>();
    port.send([&](auto* b, uint32_t) { b->data[0] = address; });
    port.close();
  }
  /// Of a function of the host, by its address or the number that it was allowed under.
  HEDDLE_FUNCTION uint64_t call(uint64_t function, const void* data, uint64_t bytes) {
    auto port = at_.template open<of(opcode::host_call)>();
    uint64_t answer = 0;
    port.send_n(data, bytes);
    port.send_and_recv([&](auto* b, uint32_t) { b->data[0] = function; },
                       [&](auto* b, uint32_t) { answer = b->data[0]; });
    port.close();
    return answer;
  }
  /// Of the program: exit or abort. Returns when the host knows.
  template <opcode Opcode>
  HEDDLE_FUNCTION void end(int code) {
    auto port = at_.template open<of(Opcode)>();
    port.send_and_recv([](auto*, uint32_t) {}, [](auto*, uint32_t) {});
    port.send([&](auto* b, uint32_t) { memcpy(b->data, &code, sizeof code); });
    port.close();
  }
  HEDDLE_FUNCTION void nothing() {
    auto port = at_.template open<of(opcode::noop)>();
    port.send([](auto*, uint32_t) {});
    port.close();
  }

  HEDDLE_FUNCTION Client& at() { return at_; }

 private:
  HEDDLE_FUNCTION static constexpr uint32_t of(opcode one) { return static_cast<uint32_t>(one); }
  Client& at_;
};

}  // namespace heddle::rpc::llvm
