// Shared libraries that the program under test was linked with, and heddle was not. Their code is not instrumented.
#pragma once

#include <string>

namespace heddle::sim {

/// Whether there are any. None is what heddle itself needs, the C and the C++ library among it, what was loaded by LD_PRELOAD or dlopen(), and the
/// library that malloc() comes from.
bool has_program_libraries();

/// Their names, as the program asks for them: "libone.so.1 and libtwo.so".
const std::string& names_of_program_libraries();

/// Gives the variables of all the values that they had when this was first called. Not their variables of `thread_local`, and nothing of
/// what they have on the heap.
void reset_program_libraries();

/// Why runs are no proof where the variables of one are not what they were then; null where all are.
const char* find_changed_program_library();

/// Why runs are no proof in which a library waits for other threads or gives them notice, by a call that returns to `place`: code of such a
/// library, or of the program itself, where a library has jumped. Null for other code.
const char* why_calls_are_untold(const void* place);

/// Notes that code at `place`, in a run, has started a thread that the simulator does not see. It lives on behind the run.
void note_unseen_thread(const void* place);

/// What the libraries are called that did; empty for none. It stays so for this process and its copies.
const std::string& libraries_with_unseen_threads();

}  // namespace heddle::sim
