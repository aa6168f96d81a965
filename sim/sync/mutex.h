// The mutexes of host code, and which lane holds each. The C library's own would block the OS thread that all fibers share.
#pragma once

#include <heddle/sim/base/state_reader.h>
#include <heddle/sim/code/source_line.h>

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

namespace heddle::sim {

struct lane;
struct run_core;

/// How a mutex answers the lane that holds it and locks it again.
enum class mutex_kind : uint8_t { normal, recursive, error_checking };

class mutex_table {
 public:
  struct holder {
    const lane* who = nullptr;
    call_chain calls = {};  ///< where it was locked
    uint64_t depth = 0;
  };

  void clear() {
    holders_.clear();
    robust_.clear();
  }
  bool empty() const { return holders_.empty(); }

  enum class answer : uint8_t { locked, must_wait, deadlock };
  /// Locks it when that is possible at once.
  answer try_lock(const void* mutex, mutex_kind kind, const lane& self);
  /// False when the lane does not hold it.
  bool unlock(const void* mutex, const lane& self);

  /// Null when no lane holds it.
  const holder* holder_of(const void* mutex) const;
  /// It is one that tells of a holder that has ended (PTHREAD_MUTEX_ROBUST).
  void is_robust(const void* mutex) { robust_.insert(mutex); }
  /// Ends the run where the lane, which ends, holds such a one.
  void check_end_of(run_core& core, lane& self) const;
  /// Ends the run: the lane does with the mutex, "unlocks" it, what its holder alone may do.
  [[noreturn, gnu::cold]] void misused(run_core& core, lane& self, const char* does, const void* mutex) const;
  /// Which are held, by which lane and how often; false when the visitor needs no more.
  bool visit_state(state_reader& to) const;

 private:
  std::unordered_map<const void*, holder> holders_;
  std::unordered_set<const void*> robust_;
};

}  // namespace heddle::sim
