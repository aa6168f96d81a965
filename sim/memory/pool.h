// Values with several references, whose memory is used again when none is left. On one OS thread.
#pragma once

#include <heddle/scheduler/append.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace heddle::sim {

template <typename Value>
class pool;

/// A reference to a value of a pool, or to none. The value is cleared, and goes back to its pool, with the last reference.
template <typename Value>
class pooled {
 public:
  pooled() = default;
  pooled(const pooled& other) : shared_(other.shared_) {
    if (shared_ != nullptr) ++shared_->users;
  }
  pooled(pooled&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
  pooled& operator=(pooled other) noexcept {
    std::swap(shared_, other.shared_);
    return *this;
  }
  // Inline, because most of those that are destroyed have been moved from.
  [[gnu::always_inline]] ~pooled() {
    if (shared_ != nullptr) give_up();
  }

  explicit operator bool() const { return shared_ != nullptr; }
  const Value& operator*() const { return shared_->value; }
  const Value* operator->() const { return &shared_->value; }
  /// Whether both refer to one value.
  bool is_same(const pooled& other) const { return shared_ == other.shared_; }
  /// Whether it is the only reference to its value.
  bool is_only() const { return shared_ != nullptr && shared_->users == 1; }
  /// Of the only reference: others do not expect their value to change.
  Value& edit() { return shared_->value; }

 private:
  friend class pool<Value>;
  struct counted {
    Value value;
    uint32_t users = 0;
    pool<Value>* home = nullptr;
  };
  explicit pooled(counted* shared) : shared_(shared) { ++shared_->users; }
  void give_up() {
    if (--shared_->users == 0) shared_->home->take_back(shared_);
  }

  counted* shared_ = nullptr;
};

/// Must outlive all references to its values.
template <typename Value>
class pool {
 public:
  pool() = default;
  ~pool() {
    for (auto* unused : free_) delete unused;
  }
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;

  /// A cleared value, which may keep the memory of its last use.
  pooled<Value> take() {
    if (free_.empty()) [[unlikely]]
      make_one();
    auto* const taken = free_.back();
    free_.pop_back();
    return pooled<Value>(taken);
  }

 private:
  friend class pooled<Value>;
  [[gnu::cold, gnu::noinline]] void make_one() {
    auto* const made = new typename pooled<Value>::counted;
    made->home = this;
    free_.push_back(made);
  }
  void take_back(typename pooled<Value>::counted* unused) {
    unused->value.clear();
    scheduler::append(free_, unused);
  }

  std::vector<typename pooled<Value>::counted*> free_;
};

}  // namespace heddle::sim
