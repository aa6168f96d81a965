// Small programs under test, for measuring the simulator.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::bench {

/// One client and one server thread of the host, `rounds` round trips through two flags, 8 visible operations each: the
/// "mailbox" that other tools were measured with.
void mailbox(uint32_t rounds);

/// The same with the server on a std::thread.
void mailbox_of_threads(uint32_t rounds);

/// A lane of the device that fills `filled_bytes` of memory of a device, of which there are 2 MiB, so many times.
void fills(size_t filled_bytes, uint32_t times);
inline constexpr size_t most_filled_bytes = size_t{2} << 20;

/// `waves` waves of one lane that each load and store a word of their own `operations` times: nothing but scheduling.
void busy_waves(uint32_t waves, uint32_t operations);

}  // namespace heddle::bench
