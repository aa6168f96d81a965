// The runs before a search.
#pragma once

#include <heddle/sim/memory/late_memory.h>
#include <heddle/sim/verify/search.h>

#include <functional>

namespace heddle::sim {

/// What a program and its libraries keep from their first run on, such as variables that are initialised when they are met, is not to be
/// part of a run that is gone through. Then a few runs begin the notes: with each thing that is noted later, the search begins again.
/// Ends early with a run that stands still, each of which takes as long as a run may, and when the search is to stop.
/// They are the same in each process, so that what they leave in its heap is.
void warm_up(const std::function<void(search_notes*)>& explore, const explored_run& run, const search_options& options,
             search_notes& notes);

}  // namespace heddle::sim
