// Copies that take no virtual time, for studies of kernels alone.
#pragma once

#include <heddle/driver/middleware.h>

namespace heddle::driver {

/// The bytes are moved when the command is first in its queue, and it leaves in the same tick. A flush that comes
/// before it takes its time as ever. A page that is being migrated is waited for.
class instant_copy final : public middleware {
 public:
  explicit instant_copy(driver_services& driver) : driver_(&driver) {}

  const char* name() const override { return "instant copy"; }
  handling process(command& next) override;

 private:
  driver_services* driver_;
};

}  // namespace heddle::driver
