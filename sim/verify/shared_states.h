// What the copies of a search share: the states that they have met, numbered, the ways between them, and work that one hands to another.
//
// It lies in memory that stays shared across fork(). One lock guards all of it: a copy takes it once for each state, for a fraction of
// the time that a run takes. Pages that are never touched take no memory.
#pragma once

#include <heddle/sim/base/state_key.h>
#include <heddle/sim/verify/fair_cycles.h>
#include <heddle/sim/verify/saved_bytes.h>
#include <heddle/sim/verify/shared_array.h>
#include <heddle/sim/verify/shared_ways.h>
#include <heddle/sim/verify/state_covers.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace heddle::sim {

class shared_states {
 public:
  static constexpr uint32_t none = ~uint32_t{0};

  /// A state, and where it was met first: after which one, and how many answers lie between the two.
  struct state {
    state_key key;
    uint64_t owed = 0;  ///< as state_graph::state has them
    uint64_t answers_begin = 0;
    uint32_t answers = 0;
    uint32_t from = none;
    bool start = false;
  };
  struct found {
    uint32_t number = none;  ///< of the state; none where there is no room
    bool fresh = false;
  };

  /// For so many processes. Takes no more address space than there is.
  explicit shared_states(uint32_t processes) : shared_states(processes, room_there_is()) {}

  /// The number of a state; none where it was not met.
  uint32_t find(const state_key& key) {
    const shared_lock::holder held(shared_->locked);
    return slot_of(key) - 1;
  }
  /// Numbers the state in the order in which it is met, if it is not known; its answers are those behind the state `from`.
  found add(const state& seen, const std::vector<uint8_t>& answers);
  void add_way(const state_graph::step* step);
  void clear();

  uint32_t count() const { return shared_->states.load(std::memory_order_relaxed); }
  uint64_t ways() const { return shared_->ways.load(std::memory_order_relaxed); }
  uint64_t bytes() const {
    return count() * (sizeof(state) + 2 * sizeof(uint32_t)) + shared_->answers +
           shared_->steps * sizeof(state_graph::step) + covers_.bytes() + ways_of_diamonds_.bytes();
  }
  /// The answers that lead to a state.
  std::vector<uint8_t> answers_to(uint32_t number) const;
  state_graph graph() const;
  state_covers& covers() { return covers_; }
  /// The ways of steps that commute (diamonds.h). They are not saved.
  shared_ways& ways_of_diamonds() { return ways_of_diamonds_; }

  /// All states, the ways between them, and how many runs there were.
  void save(bytes_out& to) const;
  /// The same of another process, in place of what is here. False where they are damaged, or there is no room for them; then what is here is of no use.
  bool load(bytes_in& from);

  // -- several processes

  uint32_t processes() const { return shared_->processes; }
  /// Counts a run; all until now.
  uint64_t count_run() { return shared_->runs.fetch_add(1, std::memory_order_relaxed) + 1; }
  uint64_t runs() const { return shared_->runs.load(std::memory_order_relaxed); }
  /// All are to leave: the search is over, or begins again.
  // Release: pairs with the acquire in is_over, for what the one that ends it has noted before.
  void end() { shared_->over.store(true, std::memory_order_release); }
  // Acquire: pairs with the release in end.
  bool is_over() const { return shared_->over.load(std::memory_order_acquire); }

  /// A process has met a state with memory from malloc() in it, which cannot be saved; whether any has.
  void note_unsaved() { shared_->unsaved.store(true, std::memory_order_relaxed); }
  bool any_unsaved() const { return shared_->unsaved.load(std::memory_order_relaxed); }

  /// Whether a process has nothing to do, and no work lies there for it.
  bool wants_work() const {
    return shared_->idle.load(std::memory_order_relaxed) != 0 &&
           shared_->work_bytes.load(std::memory_order_relaxed) == 0;
  }
  /// Puts work there, as bytes; false where some lies there already, or it is too much.
  bool put_work(const void* bytes, size_t size_bytes);
  /// Waits for work, which calls `meanwhile` now and then. Nothing: no process has any left, or the search is over.
  template <typename Meanwhile>
  std::vector<std::byte> take_work(Meanwhile&& meanwhile);

  /// Work that lies there. To be called when all other processes are gone.
  std::vector<std::byte> untaken_work() const {
    return {&work_[0], &work_[0] + shared_->work_bytes.load(std::memory_order_relaxed)};
  }

  /// What a process leaves behind for the first one: bytes, one part after the other.
  void leave_behind(const void* bytes, size_t size_bytes);
  size_t left_behind_bytes() const { return shared_->left_behind; }
  const std::byte* left_behind() const { return &left_behind_[0]; }

 private:
  struct shared {
    shared_lock locked;
    uint32_t processes;
    std::atomic<uint32_t> states;
    uint32_t slots_log2;
    uint64_t answers;
    uint64_t steps;
    std::atomic<uint64_t> ways;
    std::atomic<uint64_t> runs;
    std::atomic<bool> over;
    std::atomic<bool> unsaved;
    std::atomic<uint32_t> idle;
    std::atomic<uint64_t> work_bytes;  ///< 0: there is none
    uint64_t left_behind;
  };
  static constexpr uint32_t fewest_slots_log2 = 10;
  static size_t room_there_is();
  shared_states(uint32_t processes, size_t most);
  /// Open addressing with linear probing, at most three quarters full; keys are as good as random already. A slot has one more than the state's number.
  /// The slots lie behind the smaller ones that they have replaced.
  uint32_t& slot_of(const state_key& key);
  void grow();
  void number_all();
  bool is_whole() const;

  mutable shared_array<shared> header_;
  shared* shared_ = &header_[0];
  shared_array<state> states_;
  shared_array<uint32_t> slots_;
  shared_array<uint8_t> answers_;
  shared_array<state_graph::step> steps_;
  state_covers covers_;
  shared_ways ways_of_diamonds_;
  shared_array<std::byte> work_;
  shared_array<std::byte> left_behind_;
};

template <typename Meanwhile>
std::vector<std::byte> shared_states::take_work(Meanwhile&& meanwhile) {
  if (shared_->processes == 1) return {};
  shared_->idle.fetch_add(1, std::memory_order_relaxed);
  while (!is_over()) {
    {
      const shared_lock::holder held(shared_->locked);
      if (const uint64_t size_bytes = shared_->work_bytes.load(std::memory_order_relaxed); size_bytes != 0) {
        std::vector<std::byte> taken(&work_[0], &work_[0] + size_bytes);
        shared_->work_bytes.store(0, std::memory_order_relaxed);
        shared_->idle.fetch_sub(1, std::memory_order_relaxed);
        return taken;
      }
      if (shared_->idle.load(std::memory_order_relaxed) == shared_->processes) return {};
    }
    meanwhile();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return {};
}

}  // namespace heddle::sim
