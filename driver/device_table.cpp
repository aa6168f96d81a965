#include <heddle/driver/device_table.h>
#include <heddle/driver/message.h>

#include <algorithm>

namespace heddle::driver {

device_id device_table::add(device_kind kind) {
  const device_id fresh = count();
  devices_.push_back({.kind = kind, .physical = {fresh}});
  if (kind == device_kind::gpu) gpus_.push_back(fresh);
  return fresh;
}

result<device_id> device_table::unify(std::span<const device_id> gpus) {
  std::string list;
  for (const device_id gpu : gpus) list += words(list.empty() ? "" : ", ", gpu);
  const auto refuse = [&](std::string name, std::string text) {
    return failure("create_unified_device", list, std::move(name), std::move(text));
  };
  if (gpus.empty()) return refuse("invalid value", "the list of GPUs is empty");
  for (size_t n = 0; n < gpus.size(); ++n) {
    const device_id gpu = gpus[n];
    if (!has(gpu)) return refuse("unknown device", words("device ", gpu, ": ", known()));
    if (kind(gpu) != device_kind::gpu)
      return refuse("invalid device",
                    words("device ", gpu, kind(gpu) == device_kind::cpu ? " is the CPU" : " is a unified device"));
    if (std::find(gpus.begin(), gpus.begin() + static_cast<ptrdiff_t>(n), gpu) !=
        gpus.begin() + static_cast<ptrdiff_t>(n))
      return refuse("invalid value", words("device ", gpu, " is named twice"));
  }
  const device_id fresh = add(device_kind::unified);
  devices_[fresh].physical.assign(gpus.begin(), gpus.end());
  return fresh;
}

std::string device_table::known() const {
  return devices_.size() == 1 ? "there is device 0" : words("there are devices 0 to ", devices_.size() - 1);
}

}  // namespace heddle::driver
