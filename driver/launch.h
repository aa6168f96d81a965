// Launches, of one GPU and of a unified device.
#pragma once

#include <heddle/driver/middleware.h>

namespace heddle::driver {

/// One request for each GPU that has work-groups to execute; the command ends when all have answered.
class launch_kernels final : public middleware {
 public:
  explicit launch_kernels(driver_services& driver) : driver_(&driver) {}

  const char* name() const override { return "launch"; }
  handling process(command& next) override;
  bool receive(const request& answer) override;

 private:
  driver_services* driver_;
};

}  // namespace heddle::driver
