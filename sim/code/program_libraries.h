// Code of the program under test that heddle has not compiled: shared libraries that the program was linked with, and heddle was not, and objects and
// archives (program_state.h).
#pragma once

#include <string>

namespace heddle::sim {

/// Whether there are any. None is what heddle itself needs, the C and the C++ library among it, what was loaded by LD_PRELOAD or dlopen(), and the
/// library that malloc() comes from.
bool has_program_libraries();

/// The names of all such code, libraries as the program asks for them: "libthree.a, libone.so.1 and libtwo.so". Empty for none.
const std::string& names_of_unseen_code();

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
