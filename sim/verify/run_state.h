// The state of a run in which a lane is to be chosen: what the search through all runs compares.
//
// Not part of it is what only decides how soon a wait is recognised: how many fruitless turns a lane has had, what it has read in them,
// how often its wait may still end. Two runs that differ in these alone can do the same.
#pragma once

#include <heddle/sim/base/known_facts.h>
#include <heddle/sim/base/state_reader.h>
#include <heddle/sim/run/execution.h>
#include <heddle/sim/verify/diamonds.h>

#include <cstdint>
#include <vector>

namespace heddle::sim {

/// Visits everything that can influence what happens next, except what only decides how soon a wait is recognised as one, and what late memory
/// keeps. False where the state of this run cannot be told. To be called on the OS thread's own stack (run_core::aside): then every lane has been left.
bool visit_state(const execution& run, state_reader& to);
/// The same of what late memory keeps, where there is one.
bool visit_late(const execution& run, state_reader& to);
/// The same taken apart. False where that is not done.
bool visit_apart(const execution& run, state_reader& to, known_facts& known);

/// What a step of a lane may change beside memory. To be called as visit_state() is.
diamonds::standing standing_of(const execution& run);

/// The order in which a search goes through the lanes that may go next, so that most ways follow from others (diamonds.h): the numbers of the candidates, four
/// bits each, the first one lowest. 0: as they are numbered.
uint64_t order_of_lanes(const std::vector<lane*>& candidates);

/// Where the lane stands in its loop with its private state, and what it has read since its last progress.
void visit_wait(const lane& waiter, state_reader& stands, state_reader& has_read);

}  // namespace heddle::sim
