#include <heddle/driver/request.h>

namespace heddle::driver {

const char* to_string(request_kind kind) {
  switch (kind) {
    case request_kind::write:
      return "write";
    case request_kind::read:
      return "read";
    case request_kind::launch:
      return "launch";
    case request_kind::flush:
      return "flush";
    case request_kind::drain_rdma:
      return "drain_rdma";
    case request_kind::shoot_down:
      return "shoot_down";
    case request_kind::copy_page:
      return "copy_page";
    case request_kind::restart:
      return "restart";
    case request_kind::restart_rdma:
      break;
  }
  return "restart_rdma";
}

}  // namespace heddle::driver
