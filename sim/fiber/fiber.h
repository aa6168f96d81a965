// Fibers: what a lane runs on. A stack out of an arena that is mapped once and recycled, and a thin switch over Boost.Context.
#pragma once

#include <heddle/sim/base/sanitizers.h>

#include <boost/context/detail/fcontext.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#ifdef HEDDLE_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace heddle::sim {

/// Equal stacks, mapped once without reserving memory, never unmapped before the arena dies. Each has a page below it that
/// cannot be touched, as far as the kernel's limit on mappings allows; beyond that the stacks lie back to back.
class stack_arena {
 public:
  /// `stack_bytes` is rounded up to whole pages; `capacity` stacks at most, fewer where the address space is limited. Ends the program with
  /// a message when it is too small for a single one.
  stack_arena(size_t stack_bytes, size_t capacity);
  ~stack_arena();
  stack_arena(const stack_arena&) = delete;
  stack_arena& operator=(const stack_arena&) = delete;

  struct stack {
    std::byte* low = nullptr;
    size_t size_bytes = 0;
    std::byte* high() const { return low + size_bytes; }
    /// Whether a frame's two words, its caller's frame and where it returns to, lie there. What a register holds may be no frame: any
    /// address is answered for.
    bool holds_frame(const void* frame) const {
      const auto offset = reinterpret_cast<uintptr_t>(frame) - reinterpret_cast<uintptr_t>(low);
      return offset < size_bytes && size_bytes - offset >= 2 * sizeof(void*);
    }
  };

  /// Stack number `index`: zero, as far as its last user came; what lies below a frame of which it left some kilobytes untouched may be what it left.
  stack at(size_t index) {
    if (guarded_ <= index) guard_up_to(index);
    std::byte* const low = base_ + index * stride_bytes_ + guard_bytes();
#ifdef HEDDLE_ADDRESS_SANITIZER
    // The last user of the stack may have been abandoned in mid-flight, its frames still poisoned.
    ASAN_UNPOISON_MEMORY_REGION(low, stack_bytes_);
#endif
    if (used_bytes_.size() <= index)
      used_bytes_.resize(index + 1);
    else if (used_bytes_[index] != 0)
      clear(low, used_bytes_[index]);
    used_bytes_[index] = std::max(used_bytes_[index], static_cast<uint32_t>(fewest_used_bytes));
    return {low, stack_bytes_};
  }

  size_t capacity() const { return capacity_; }
  size_t stack_bytes() const { return stack_bytes_; }
  bool contains(const void* address) const { return offset_of(address) < reserved_bytes_; }
  size_t offset_of(const void* address) const {
    return static_cast<size_t>(static_cast<const std::byte*>(address) - base_);
  }
  /// Whether the address lies in one of the pages that guard the stacks.
  bool is_guard(const void* address) const;

 private:
  size_t guard_bytes() const { return stride_bytes_ - stack_bytes_; }
  void guard_up_to(size_t index);
  /// Of a stack whose users have come down so far, or further: then `used_bytes` grows.
  void clear(std::byte* low, uint32_t& used_bytes) const;

  static constexpr size_t fewest_used_bytes = 1024;
  static constexpr size_t untouched_bytes = 2048;  ///< below what was used nothing was, if nothing was in so many bytes

  std::byte* base_ = nullptr;
  size_t reserved_bytes_ = 0;
  size_t stack_bytes_ = 0;
  size_t stride_bytes_ = 0;
  size_t capacity_ = 0;
  size_t guarded_ = 0;                ///< stacks [0, guarded_) have their guard page in place
  std::vector<uint32_t> used_bytes_;  ///< by stack; 0: it is as it was mapped
};

/// The exceptions in flight of one OS thread (Itanium C++ ABI, section 2.2.2: the layout that every C++ runtime on these systems
/// shares).
struct exceptions_in_flight {
  void* caught;
  unsigned uncaught;

  /// Those of the calling OS thread, which are asked for once.
  [[gnu::hot]] static exceptions_in_flight& of_this_thread();
};

/// A stack of execution that can be left and entered again. It is reset, not destroyed: whatever is on its stack is abandoned.
class fiber {
 public:
  using entry = void (*)(void* argument);

  /// Makes the next switch to this fiber call `run(argument)`, which must never return, on a stack that starts
  /// `reserved_bytes` below the top of `on`. `colour` spreads the tops of many stacks over the cache.
  [[gnu::hot]] void reset(const stack_arena::stack& on, uint32_t colour, size_t reserved_bytes, entry run,
                          void* argument);

  /// Leaves `from`, which must be running, and enters `to`. Returns when another fiber switches back to `from`. `exceptions` are
  /// those of the OS thread that all these fibers run on; the ones in flight stay with their fiber. Inline, because the processor
  /// mispredicts each return that follows a switch.
  [[gnu::always_inline]] static void switch_to(fiber& from, fiber& to, exceptions_in_flight& exceptions) {
    // Boost 1.81 leaves these two words to the OS thread: two fibers that switch inside `catch` would get each other's exception
    // (boostorg/context PR #281).
    from.exceptions_ = exceptions;
    exceptions = to.exceptions_;
    from.entering_ = &to;
#ifdef HEDDLE_ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(&from.fake_stack_, to.sanitizer_bottom_, to.sanitizer_size_);
#endif
    arrive(from, boost::context::detail::jump_fcontext(to.context_, &from));
  }

  /// The bounds that reset() gave; empty for the OS thread's own stack.
  const stack_arena::stack& stack() const { return stack_; }
  /// Where the fiber's first frame begins.
  const std::byte* top() const { return top_; }
  /// The exceptions in flight when it was last left.
  const exceptions_in_flight& exceptions() const { return exceptions_; }

 private:
  /// The first thing on each arrival in a fiber.
  [[gnu::always_inline]] static void arrive([[maybe_unused]] fiber& self,
                                            const boost::context::detail::transfer_t& from) {
    auto* const left = static_cast<fiber*>(from.data);
    left->context_ = from.fctx;
#ifdef HEDDLE_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(self.fake_stack_, &left->sanitizer_bottom_, &left->sanitizer_size_);
#endif
  }
  [[gnu::hot]] static void start(boost::context::detail::transfer_t from);

  boost::context::detail::fcontext_t context_ = nullptr;
  fiber* entering_ = nullptr;  ///< the fiber that this one switches to; at its start that learns from here which it is
  exceptions_in_flight exceptions_ = {};
  entry run_ = nullptr;
  void* argument_ = nullptr;
  stack_arena::stack stack_;
  std::byte* top_ = nullptr;
  // AddressSanitizer's view of this stack; the bounds of the OS thread's own stack are learnt when it is first left.
  void* fake_stack_ = nullptr;
  const void* sanitizer_bottom_ = nullptr;
  size_t sanitizer_size_ = 0;
};

}  // namespace heddle::sim
