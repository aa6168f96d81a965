// Memory that stays shared across fork(), and a lock in it.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <thread>
#include <type_traits>

namespace heddle::sim {

/// Room for many elements, zero at first.
template <typename Element>
class shared_array {
  static_assert(std::is_trivially_copyable_v<Element> || std::is_standard_layout_v<Element>);

 public:
  explicit shared_array(size_t most) : most_(most) {
    void* const made = mmap(nullptr, most * sizeof(Element), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) throw std::bad_alloc();
    first_ = static_cast<Element*>(made);
  }
  ~shared_array() { munmap(first_, most_ * sizeof(Element)); }
  shared_array(const shared_array&) = delete;
  shared_array& operator=(const shared_array&) = delete;

  Element& operator[](size_t n) { return first_[n]; }
  const Element& operator[](size_t n) const { return first_[n]; }
  size_t most() const { return most_; }

 private:
  Element* first_ = nullptr;
  size_t most_;
};

/// In memory that is zero at first: then it is free.
class shared_lock {
 public:
  class holder {
   public:
    explicit holder(shared_lock& of) : of_(of) {
      // Acquire: pairs with the release below, for what the last holder has done.
      for (uint32_t tries = 0; of_.locked_.exchange(1, std::memory_order_acquire) != 0; ++tries)
        if (tries > 100) std::this_thread::yield();
    }
    // Release: pairs with the acquire above.
    ~holder() { of_.locked_.store(0, std::memory_order_release); }
    holder(const holder&) = delete;
    holder& operator=(const holder&) = delete;

   private:
    shared_lock& of_;
  };

 private:
  std::atomic<uint32_t> locked_;
};

}  // namespace heddle::sim
