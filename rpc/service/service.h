// The service library on the machine that this build selects: what a kernel calls, and the host side of it.
#pragma once

#include <heddle/rpc/selected_device.h>
#include <heddle/rpc/service/server.h>

namespace heddle::rpc {

using service_client = basic_service_client<target, checking>;
using service = basic_service<target, device, checking>;

}  // namespace heddle::rpc
