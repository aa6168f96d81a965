// The debug information of this process, as what reads it shares it. For the sources of this room.
#pragma once

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace heddle::sim {

/// Opened when it is first asked for; null where there is none.
Dwfl* debug_session();

/// Simulations of several OS threads share the debug information, which libdw does not protect: to be held while it is used.
std::mutex& debug_turn();

/// The function that the call which returns there stands in, and behind it those that are inlined around the call, the innermost last.
std::vector<Dwarf_Die> functions_around(const void* return_address);

/// rbp, as DWARF counts: the frame pointer.
constexpr uint32_t register_of_frames = 6;

/// How many bytes above where its frame pointer points to the function's variables are counted from, at the address `at`; nothing where they are
/// counted from something else, as in a frame that is aligned.
std::optional<int64_t> frame_base_at(Dwarf_Die* function, Dwarf_Addr at);

}  // namespace heddle::sim
