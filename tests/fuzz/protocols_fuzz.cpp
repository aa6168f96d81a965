// The servers of slots, FIFOs, hostcalls and offload, and the loop of a service, must survive whatever a device does. With libFuzzer:
// protocols_fuzz CORPUS -max_total_time=600, with HEDDLE_FUZZ_PROTOCOL=N of one protocol alone. By itself, it replays the files and folders that
// it is given.
//
// The first byte of an input says which protocol. What follows is what a device does whenever the host loads an atomic word of the memory that
// they share, and between the lanes of a handler. It is read from its front, in steps:
//   0  write anything anywhere: offset (2 bytes), count (1 byte), that many bytes
//   1  toggle a bit of one of the first words, where mailboxes, tops and tails are: which word, which bit
//   2  write a small number into one of the first words: which word, the number
//   3  have the next call of a handler throw
//   4, 5  let the host go on
// Whatever is short of bytes is filled up with zeros. An input that has ended makes the host stop. For the loop of a service the next bytes say
// after how many waits it is stopped and gives up, and the device is that of hostile_device.h.
#include <heddle/rpc/offload/server.h>
#include <heddle/rpc/ring/fifo.h>
#include <heddle/rpc/ring/hostcall.h>
#include <heddle/rpc/slot/server.h>

#include "service_input.h"

#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace heddle::tests {
namespace {

/// Memory of a device and its host, and what the device does with it.
class shared_memory {
 public:
  shared_memory(size_t bytes, std::span<const uint8_t> actions)
      : memory_(bytes / sizeof(line) + 1), bytes_(bytes), actions_(actions) {}

  unsigned char* data() { return memory_.front().bytes; }
  bool has_ended() const { return actions_.empty(); }
  bool holds(const void* at, size_t bytes) const {
    const auto* const first = static_cast<const unsigned char*>(at);
    return first >= memory_.front().bytes && first + bytes <= memory_.front().bytes + bytes_;
  }

  void act() {
    while (!actions_.empty() && step()) {
    }
  }

  /// What a handler does first.
  void enter_handler() {
    act();
    if (std::exchange(throws_, false)) throw handler_throws{};
  }

  struct handler_throws {};

 private:
  struct alignas(64) line {
    unsigned char bytes[64];
  };

  uint8_t take() {
    uint8_t value = 0;
    take(&value, 1);
    return value;
  }
  void take(void* to, size_t bytes) {
    const size_t there = std::min(bytes, actions_.size());
    if (there != 0) memcpy(to, actions_.data(), there);
    actions_ = actions_.subspan(there);
  }
  /// The first word of one of the first lines, or one of the first words behind four lines: what ends hand over is there in each layout.
  uint32_t& word(uint8_t which) {
    const size_t at = which < 16 ? size_t{which} * sizeof(line) : size_t{which} * sizeof(uint32_t);
    return *reinterpret_cast<uint32_t*>(data() + at % (bytes_ / sizeof(uint32_t) * sizeof(uint32_t)));
  }

  bool step() {
    switch (take() % 6) {
      case 0: {
        const size_t low = take();
        const size_t offset = (low | size_t{take()} << 8) % bytes_;
        const size_t count = take();
        take(data() + offset, std::min(count, bytes_ - offset));
        return true;
      }
      case 1: {
        uint32_t& at = word(take());
        at ^= uint32_t{1} << take() % 32;
        return true;
      }
      case 2: {
        uint32_t& at = word(take());
        at = take();
        return true;
      }
      case 3:
        throws_ = true;
        return true;
      default:
        return false;
    }
  }

  std::vector<line> memory_;
  size_t bytes_;
  std::span<const uint8_t> actions_;
  bool throws_ = false;
};

shared_memory* at_work = nullptr;

/// The host, whose device acts before each load of an atomic word.
struct watched_target : host::basic_target<1> {
  template <typename T, scope Scope>
  struct atomic_ref : host::atomic_ref<T, Scope> {
    using host::atomic_ref<T, Scope>::atomic_ref;
    T load(memory_order order) const {
      at_work->act();
      return host::atomic_ref<T, Scope>::load(order);
    }
  };
  static void pause() { at_work->act(); }
  static void wait(doorbell&, uint32_t, uint64_t) { at_work->act(); }
};

void must(bool holds) {
  if (!holds) abort();
}

/// Has `serve` look for work until the device has ended, and a few times more. An exception of a handler comes through.
template <typename Serve>
void serve_until_ended(Serve serve) {
  for (uint32_t after = 0; after < 8; after += at_work->has_ended() ? 1 : 0) {
    at_work->act();
    try {
      serve();
    } catch (const shared_memory::handler_throws&) {
      // As a program would: it goes on.
    }
  }
}

template <typename Form>
void run_slots(std::span<const uint8_t> actions) {
  constexpr rpc::slot_layout<Form> shape{3, 3};
  shared_memory memory(shape.size_bytes(), actions);
  at_work = &memory;
  std::vector<uint32_t> own(shape.own_words());
  rpc::basic_slot_server<watched_target, Form> server(memory.data(), own.data(), shape);
  uint32_t handled = 0;
  const auto handle = [&](rpc::packet& line, uint32_t lane) {
    must(lane < shape.lanes && memory.holds(&line, sizeof line));
    ++handled;
    line.words[0] += 1;
    memory.enter_handler();
    line.words[1] += 1;
  };
  serve_until_ended([&] {
    handled = 0;
    must(server.handle(handle, handle) || handled == 0);
    must(handled <= shape.lanes);
  });
  for (uint32_t slot = 0; slot < shape.slots; ++slot) must(!rpc::state_in(own[slot / 8], slot).is_held());
}

struct wide_entry {
  uint64_t words[3];
};

template <typename Form, typename Entry>
void run_fifo(std::span<const uint8_t> actions) {
  using entry = Entry;
  constexpr rpc::fifo_layout<entry> shape{4};
  shared_memory memory(shape.size_bytes(), actions);
  at_work = &memory;
  const rpc::basic_fifo_consumer<watched_target, entry, Form> consumer(memory.data(), shape);
  serve_until_ended([&] {
    uint32_t handled = 0;
    const uint32_t consumed = consumer.consume(
        [&](const entry& copy) {
          must(!memory.holds(&copy, sizeof copy));
          const uint64_t before = copy.words[0];
          ++handled;
          memory.enter_handler();
          must(copy.words[0] == before);
        },
        16);
    must(consumed <= 16 && consumed == handled);
  });
}

void run_hostcalls(std::span<const uint8_t> actions) {
  constexpr rpc::hostcall_layout shape{3, 3};
  shared_memory memory(shape.size_bytes(), actions);
  shape.prepare(memory.data());
  at_work = &memory;
  const rpc::basic_hostcall_server<watched_target> server(memory.data(), shape);
  serve_until_ended([&] {
    uint32_t handled = 0;
    const uint32_t served = server.serve([&](uint32_t, rpc::packet& line, uint32_t lane) {
      must(lane < shape.lanes && memory.holds(&line, sizeof line));
      must(++handled <= shape.packets * shape.lanes);
      memory.enter_handler();
      line.words[0] += 1;
    });
    must(served <= shape.packets);
  });
}

struct acting_copy {
  void operator()(void* to, const void* from, size_t bytes) const {
    at_work->act();
    memcpy(to, from, bytes);
  }
};
using mapped = rpc::mapped_entries<watched_target>;
using copied = rpc::copied_entries<acting_copy>;

template <typename Memory>
Memory make_entries(void* memory, rpc::offload_layout shape) {
  if constexpr (std::is_same_v<Memory, copied>)
    return {memory, shape, acting_copy{}};
  else
    return Memory(memory, shape);
}

template <typename Form, typename Memory>
void run_offload(std::span<const uint8_t> actions) {
  // Static: g++ 12 ends with an internal error where the functions below would have copies.
  static constexpr rpc::offload_layout shape{2, 3};
  constexpr size_t payload_bytes = 128;
  shared_memory memory(shape.size_bytes() + payload_bytes, actions);
  at_work = &memory;
  const rpc::payload_range payloads{reinterpret_cast<uintptr_t>(memory.data()) + shape.size_bytes(), payload_bytes};
  const rpc::offload_limits limits{.functions = 4, .payload_bytes = 100, .payloads = {&payloads, 1}};
  std::vector<uint32_t> locks(shape.lock_words());
  rpc::basic_offload_server<watched_target, Form, Memory> server(make_entries<Memory>(memory.data(), shape),
                                                                 locks.data(), limits);
  serve_until_ended([&] {
    uint32_t handled = 0;
    server.handle([&](uint64_t function, rpc::offload_line& line, uint32_t lane) {
      must(function < limits.functions && lane < shape.lanes && !memory.holds(&line, sizeof line));
      must(++handled <= shape.lanes && line.payload_bytes <= limits.payload_bytes);
      unsigned char here[payload_bytes] = {};
      const uint64_t bytes = line.payload_bytes;
      memory.enter_handler();
      must(bytes == line.payload_bytes);
      // Where there is no payload, the address is whatever the device wrote.
      must(server.fetch(here, line.payload, bytes) || bytes == 0);
      must(server.put(line.payload, here, bytes) || bytes == 0);
      // Around the limits.
      must(!server.fetch(here, payloads.address - 1, 2) && !server.put(payloads.address + payload_bytes - 1, here, 2));
    });
  });
  for (const uint32_t word : locks) must(word == 0);
}

using run = void (*)(std::span<const uint8_t>);
constexpr run protocols[] = {
    run_slots<rpc::word_a_slot>,
    run_slots<rpc::bit_a_slot>,
    run_slots<rpc::bit_by_compare>,
    run_fifo<rpc::lap_parity, wide_entry>,
    run_fifo<rpc::cleared_flag, wide_entry>,
    run_hostcalls,
    run_offload<rpc::single_mailbox, mapped>,
    run_offload<rpc::offload_ring, mapped>,
    run_offload<rpc::single_mailbox, copied>,
    run_offload<rpc::offload_ring, copied>,
    [](std::span<const uint8_t> actions) { run_service_loop_against(actions, "/nowhere"); },
    run_fifo<rpc::flag_inside, rpc::fifo_pair>,
};

}  // namespace
}  // namespace heddle::tests

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const only = getenv("HEDDLE_FUZZ_PROTOCOL");
  // What the device prints is of no interest, and what it reads must not be waited for.
  static const bool silent =
      freopen("/dev/null", "r", stdin) != nullptr && freopen("/dev/null", "w", stdout) != nullptr;
  if (!silent) abort();
  if (size == 0) return 0;
  const size_t which = only != nullptr ? strtoul(only, nullptr, 10) : data[0];
  heddle::tests::protocols[which % std::size(heddle::tests::protocols)]({data + 1, size - 1});
  return 0;
}
