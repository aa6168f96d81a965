// Which devices there are: the CPU, GPUs, and unified devices, each of which is several GPUs that look like one.
#pragma once

#include <heddle/driver/ids.h>
#include <heddle/rpc/result.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle::driver {

enum class device_kind : uint8_t { cpu, gpu, unified };

class device_table {
 public:
  /// The number of the new device. The first one must be the CPU, and no other.
  device_id add(device_kind kind);

  /// A unified device of these GPUs, in this order. A GPU may be in several. Errors: an empty list, a device that is
  /// not there, that is no GPU, or that is named twice.
  result<device_id> unify(std::span<const device_id> gpus);

  uint32_t count() const { return static_cast<uint32_t>(devices_.size()); }
  bool has(device_id device) const { return device < devices_.size(); }
  device_kind kind(device_id device) const { return devices_[device].kind; }
  /// The devices whose memory and compute units it has: itself, or those that it unifies, in their order.
  std::span<const device_id> physical(device_id device) const { return devices_[device].physical; }
  /// All GPUs, in the order of their numbers.
  std::span<const device_id> gpus() const { return gpus_; }

  /// "there are devices 0 to 4", for messages.
  std::string known() const;

 private:
  struct entry {
    device_kind kind = device_kind::cpu;
    std::vector<device_id> physical;
  };
  std::vector<entry> devices_;
  std::vector<device_id> gpus_;
};

}  // namespace heddle::driver
