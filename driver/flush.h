// The flush of the caches, which comes before a copy to the host.
#pragma once

#include <heddle/driver/middleware.h>

namespace heddle::driver {

/// All GPUs write their dirty bytes back; the command ends when the last one has answered. Until then nothing of its
/// queue begins, so no byte is read before all are in memory.
class flush_caches final : public middleware {
 public:
  explicit flush_caches(driver_services& driver) : driver_(&driver) {}

  const char* name() const override { return "flush"; }
  handling process(command& next) override;
  bool receive(const request& answer) override;

 private:
  driver_services* driver_;
};

}  // namespace heddle::driver
