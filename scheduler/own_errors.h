// Where heddle itself tells what goes wrong.
#pragma once

#include <atomic>

namespace heddle::scheduler {

/// The descriptor for dprintf(): standard error, or what was it before standard error of the code under test went elsewhere. Read by handlers of signals.
inline std::atomic<int> own_errors = 2;
static_assert(std::atomic<int>::is_always_lock_free);

}  // namespace heddle::scheduler
