// What the C library knows of the host threads of a run: how they were begun and ended, what is theirs alone, and what runs once.
#pragma once

#include <heddle/sim/base/state_reader.h>
#include <heddle/sim/sync/openmp_place.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace heddle::sim {

/// What is to be called with an object when a thread, or the program, ends.
struct ending_call {
  void (*call)(void* object) = nullptr;
  void* object = nullptr;
};

/// A thread that the C library has begun, or the main one.
struct host_thread_facts {
  void* result = nullptr;
  bool detached = false;
  bool joined = false;
  std::vector<void*> values;                ///< by key
  std::vector<ending_call> at_its_end;      ///< destructors of its thread-local variables, the last one first
  std::vector<ending_call> behind_its_end;  ///< what the C++ library does then, the last one first
  openmp_place openmp;
  /// Its own copy of the program's thread-local variables, from where the thread pointer would be on (thread_values.cpp).
  std::byte* thread_pointer = nullptr;

  /// Keeps the memory of lists.
  void reset() {
    result = nullptr;
    detached = joined = false;
    openmp = {};
    thread_pointer = nullptr;
    values.clear();
    at_its_end.clear();
    behind_its_end.clear();
  }
};

class host_threads {
 public:
  struct key {
    bool in_use = false;
    void (*destroy)(void* value) = nullptr;
  };
  /// A barrier of the C library.
  struct barrier {
    const void* object = nullptr;
    uint32_t count = 0;
    uint32_t arrived = 0;
    uint64_t round = 0;
  };

  void clear();
  bool empty() const { return !used_; }

  /// Of the wave with this number.
  host_thread_facts& of(uint32_t wave);
  bool knows(uint32_t wave) const { return wave < facts_used_; }

  std::vector<key>& keys() {
    used_ = true;
    return keys_;
  }
  /// What runs once and is under way, by the address that says whether it has been done: by which lane. None: it is not, or an earlier run was
  /// ended in the middle of it.
  static constexpr uint32_t none = ~uint32_t{0};
  uint32_t under_way(const void* once) const;
  void begins(const void* once, uint32_t lane);
  void ends(const void* once);

  /// A lock for readers and writers, or a spin lock, has been taken by the lane.
  void takes(const void* lock, uint32_t lane);
  /// It is given back: false where the lane does not hold it.
  bool gives(const void* lock, uint32_t lane);
  /// One of the lanes that hold it, or none.
  uint32_t holder_of(const void* lock) const;

  barrier& barrier_at(const void* object, uint32_t count);
  barrier* known_barrier(const void* object);
  void forget_barrier(const void* object);

  /// What is called when the program ends, the last one first.
  std::vector<ending_call>& at_exit() {
    used_ = true;
    return at_exit_;
  }

  /// False when the visitor needs no more.
  bool visit_state(state_reader& to) const;

 private:
  struct once {
    const void* flag = nullptr;
    uint32_t lane = 0;
  };
  bool used_ = false;
  std::vector<host_thread_facts> facts_;  ///< the first facts_used_ are of this run
  size_t facts_used_ = 0;
  std::vector<key> keys_;
  std::vector<once> under_way_;
  std::vector<barrier> barriers_;
  std::vector<std::pair<const void*, uint32_t>> held_;  ///< locks and the lanes that hold them, sorted
  std::vector<ending_call> at_exit_;
};

}  // namespace heddle::sim
