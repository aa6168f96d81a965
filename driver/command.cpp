#include <heddle/driver/command.h>
#include <heddle/driver/message.h>

#include <utility>

namespace heddle::driver {

const char* to_string(command_kind kind) {
  switch (kind) {
    case command_kind::copy_to_device:
      return "copy_to_device";
    case command_kind::copy_to_host:
      return "copy_to_host";
    case command_kind::copy_on_device:
      return "copy_on_device";
    case command_kind::launch:
      return "launch";
    case command_kind::unified_launch:
      return "unified_launch";
    case command_kind::flush:
      return "flush";
    case command_kind::no_op:
      return "no_op";
    case command_kind::record_event:
      return "record_event";
    case command_kind::wait_event:
      return "wait_event";
    case command_kind::migrate:
      return "migrate";
    case command_kind::custom:
      break;
  }
  return "custom";
}

std::string command::describe() const {
  std::string said =
      words(kind == command_kind::custom ? name.c_str() : to_string(kind), " ", number, " (process ", process, ", ");
  switch (kind) {
    case command_kind::copy_to_device:
    case command_kind::copy_to_host:
    case command_kind::copy_on_device:
    case command_kind::migrate:
      said += words(address_text{address}, ", ", bytes, " bytes)");
      break;
    case command_kind::record_event:
    case command_kind::wait_event:
      said += words("event ", event, ")");
      break;
    default:
      said += words("device ", device, ")");
      break;
  }
  return said;
}

void command::clear() {
  command fresh;
  fresh.staged = std::move(staged);
  fresh.staged.clear();
  fresh.parts = std::move(parts);
  fresh.parts.clear();
  fresh.held = std::move(held);
  fresh.held.clear();
  *this = std::move(fresh);
}

const char* to_string(request_kind kind) {
  switch (kind) {
    case request_kind::write:
      return "write";
    case request_kind::read:
      return "read";
    case request_kind::copy:
      return "copy";
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
