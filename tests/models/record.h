// The states that the port and slot protocols go through in C++, as tests/models/both_sides.pml has them: ten bits for each box, a
// port or a slot, and the steps from one state to the next.
//
// record.cpp is no code under test: what it does is no scheduling point, so it is one with the operation that it notes.
#pragma once

#include <heddle/rpc/mailbox.h>
#include <heddle/sim/target.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

namespace heddle::tests::models {

/// What the data of a box is.
enum class content : uint8_t { nothing, request, answer };

/// Where everything of the boxes lies: mailboxes of one word a box, or of one bit where there is but one box.
struct placement {
  uint32_t boxes = 0;
  const uint32_t* client_outbox = nullptr;
  const uint32_t* server_outbox = nullptr;
  const uint32_t* client_locks = nullptr;
  const uint32_t* server_locks = nullptr;
  uint32_t bits_of_lock = 1;  ///< from one box's lock bit to the next one's
  const unsigned char* data = nullptr;
  size_t data_bytes = 0;  ///< of one box
};

/// Zeroes the states of all boxes, not the steps seen. To be called before the boxes, which must be zeroed, are used.
void begin_record(const placement& at);

/// Every step of any box since the last call of forget_steps, as "before > after"; both as the model prints them.
std::set<std::string> seen_steps();
void forget_steps();

// -- what the machine below notes -----------------------------------------------------------------------------------------------

/// A mailbox has this value now. Other words are ignored.
void note_stored(const void* word, uint64_t value);
/// A side has read this from a mailbox. Its inbox alone counts, and the holder of the box's lock: others only steer by what they read.
void note_loaded(rpc::side by, uint32_t actor, const void* word, uint64_t value);
/// A side has set lock bits, and found `before`; and has cleared these bits.
void note_locked(rpc::side by, uint32_t actor, const void* word, uint64_t bits, uint64_t before);
void note_unlocked(rpc::side by, const void* word, uint64_t bits);

// -- what a test notes ------------------------------------------------------------------------------------------------------------

/// The caller begins to read or write a packet or line.
void begin_use(rpc::side by, const void* data);
void end_use(rpc::side by, const void* data);
/// The same; the data is this now.
void end_use(rpc::side by, const void* data, content now);

/// The machine `Base`, whose operations on the words of boxes are noted, for one side. A client's actor is its wave, of which one lane
/// acts; a server's is `Server`.
template <rpc::side By, uint32_t Server = 0, typename Base = sim::target>
struct recording : Base {
  static uint32_t actor() { return By == rpc::side::client ? Base::wave_id() : Server; }

  template <typename T, scope Scope>
  class atomic_ref : public Base::template atomic_ref<T, Scope> {
    using base = typename Base::template atomic_ref<T, Scope>;

   public:
    explicit atomic_ref(T& word) : base(word), word_(&word) {}

    T load(memory_order order) const {
      const T found = base::load(order);
      note_loaded(By, actor(), word_, found);
      return found;
    }
    void store(T value, memory_order order) const {
      base::store(value, order);
      note_stored(word_, value);
    }
    T fetch_or(T bits, memory_order order) const {
      const T before = base::fetch_or(bits, order);
      note_locked(By, actor(), word_, bits, before);
      return before;
    }
    T fetch_and(T bits, memory_order order) const {
      const T before = base::fetch_and(bits, order);
      note_unlocked(By, word_, static_cast<T>(~bits));
      return before;
    }
    T fetch_add(T value, memory_order order) const {
      const T before = base::fetch_add(value, order);
      note_stored(word_, static_cast<T>(before + value));
      note_unlocked(By, word_, static_cast<T>(before & ~(before + value)));
      return before;
    }
    bool compare_exchange_strong(T& expected, T desired, memory_order order) const {
      const bool done = base::compare_exchange_strong(expected, desired, order);
      if (done) note_stored(word_, desired);
      return done;
    }

   private:
    T* word_;
  };
};

}  // namespace heddle::tests::models
