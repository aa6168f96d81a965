// Small programs whose progress can be judged exactly: threads of a few steps over words of memory.
//
//   program := thread { thread }
//   thread  := ("T" | "H" | "S") N "{" step { ";" step } "}"
//   step    := N ":" ( "st" LOC "=" V | "xchg(" LOC "," V ")"
//                    | "if ld" LOC "==" V "goto" target | "if xchg(" LOC "," V ")==" V "goto" target )
//   target  := N | "END"
//
// T is a wave of the device, H a host thread, S a server: a host thread that serves the others and need not end. N counts from 0,
// for each kind of thread and within a thread; LOC is a lower-case word; V is a number up to 255. Memory is 0 at first. A thread
// ends at END or behind its last step. The grammar without H and S is that of the programs of Sorensen, Salvador, Raval, Evrard,
// Wickerson, Martonosi and Donaldson, "Specifying and testing GPU workgroup progress models" (OOPSLA'21).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::judge {

enum class thread_kind : uint8_t { wave, host, server };

struct step {
  uint8_t location = 0;  ///< which of program::locations
  bool writes = false;   ///< `written`; "st" and "xchg"
  bool branches = false;
  bool exchange = false;  ///< reads and writes at once; else a load or a store
  uint8_t written = 0;
  uint8_t compared = 0;  ///< a branch is taken when the value that was there is this one
  uint8_t target = 0;    ///< of a branch; as many as there are steps: END
};

struct thread_code {
  thread_kind kind = thread_kind::wave;
  uint32_t number = 0;  ///< among those of its kind; of waves the id, lower ones come first
  std::vector<step> steps;

  /// "T0", "H1"
  std::string name() const;
};

struct program {
  std::vector<thread_code> threads;
  std::vector<std::string> locations;  ///< names, in order of appearance
};

inline constexpr size_t threads_max = 32;
inline constexpr size_t steps_max = 254;  ///< of a thread
inline constexpr size_t locations_max = 64;
inline constexpr uint32_t value_max = 255;

/// Reads a program. Throws std::invalid_argument with one line that says in which thread and at which step what is
/// wrong, and how to mend it.
program parse(std::string_view text);

/// The text that parse() reads.
std::string to_string(const program& code);
std::string to_string(const program& code, const thread_code& thread);

}  // namespace heddle::judge
