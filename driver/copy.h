// Copies between host and devices, and on devices: with their virtual time, or without.
#pragma once

#include <heddle/driver/middleware.h>

#include <vector>

namespace heddle::driver {

// What both kinds of copies have in common.

inline bool is_copy(const command& what) {
  return what.kind == command_kind::copy_to_device || what.kind == command_kind::copy_to_host ||
         what.kind == command_kind::copy_on_device;
}

/// Notes in the command that it has read bytes that were not written.
void report_poison(command& copy, uint64_t poisoned_bytes);

// Copies that take virtual time: page by page, each by the device that has the page.

/// A copy waits for its fixed part, then sends one request for each page that it touches, at most one a cycle, and ends
/// with the last answer. Each copy has a delay of its own. A page that is being migrated is waited for. Where a page
/// is, is looked up when its request is made.
class timed_copy final : public middleware {
 public:
  explicit timed_copy(driver_services& driver) : driver_(&driver) {}

  const char* name() const override { return "timed copy"; }
  handling process(command& next) override;
  bool tick() override;
  bool receive(const request& answer) override;

 private:
  struct copy {
    command* of = nullptr;
    picoseconds begins = 0;
    uint64_t sent_bytes = 0;
    uint64_t unanswered = 0;
    uint64_t poisoned_bytes = 0;
  };
  bool send_next(copy& from);

  driver_services* driver_;
  std::vector<copy> copies_;  ///< under way, in the order in which they began
};

// Copies that take no virtual time, for studies of kernels alone.

/// The bytes are moved when the command is first in its queue, and it leaves in the same tick. A flush that comes
/// before it takes its time as ever. A page that is being migrated is waited for. Where there is a byte_mover, it is given the copy as one
/// piece, and the command ends when that has been moved.
class instant_copy final : public middleware {
 public:
  explicit instant_copy(driver_services& driver) : driver_(&driver) {}

  const char* name() const override { return "instant copy"; }
  handling process(command& next) override;

 private:
  /// The bytes of the command that begin at this address. How many of them are poisoned.
  uint64_t read(const command& what, uint64_t address, std::byte* to) const;
  void write(const command& what, const std::byte* from) const;

  driver_services* driver_;
};

}  // namespace heddle::driver
