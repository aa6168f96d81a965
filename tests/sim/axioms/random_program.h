// Random litmus programs: drawn from a seed, printed in the grammar of the litmus files, and made smaller.
#pragma once

#include <heddle/tools/litmus/program.h>

#include <cstdint>
#include <functional>
#include <string>

namespace heddle::sim::tests::axioms {

/// How large the programs may be.
struct program_size {
  uint32_t threads_max = 4;       ///< at least 2
  uint32_t instructions_max = 4;  ///< of a thread
  uint32_t locations_max = 3;
};

/// Two to threads_max threads on one device and on the host, over the whole grammar of the litmus files that PTX has; host
/// threads use system scope. The same seed gives the same program everywhere. The outcome asks for nothing.
litmus::program random_program(uint64_t seed, const program_size& size);

/// The program with every access relaxed at system scope and a fence.sc of system scope between any two instructions.
litmus::program fully_fenced(litmus::program from);

/// Threads and code as the litmus files spell them, on one line each, with which locations lie in device memory.
std::string to_text(const litmus::program& from);

/// "P0:r0=1 P1:r2=0 x=2": the registers that the program writes, and the locations.
std::string to_text(const litmus::program& from, const litmus::final_state& seen);

/// A program that `still_fails` as `failing` does, from which no thread, instruction, order or read-modify-write can be taken
/// so that it still does. Greedy.
litmus::program smallest(litmus::program failing, const std::function<bool(const litmus::program&)>& still_fails);

}  // namespace heddle::sim::tests::axioms
