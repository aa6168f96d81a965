// The mailbox as a test of Relacy's, which the file beside it keeps apart: its headers define macros for names of the standard library.
#pragma once

#include <cstdint>

namespace heddle::bench {

/// Runs so many schedules of a mailbox of `rounds` (1, 4 or 16) round trips under Relacy's random scheduler, from number `first` on. False
/// when one of them did not end well.
bool run_relacy_mailbox(uint32_t rounds, uint64_t first, uint64_t schedules);

}  // namespace heddle::bench
