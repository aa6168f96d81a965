// What both kinds of copies have in common.
#pragma once

#include <heddle/driver/middleware.h>

namespace heddle::driver {

inline bool is_copy(const command& what) {
  return what.kind == command_kind::copy_to_device || what.kind == command_kind::copy_to_host;
}

/// Notes in the command that it has read bytes that were not written.
void report_poison(command& copy, uint64_t poisoned_bytes);

}  // namespace heddle::driver
