// A look at each operation that lanes publish, where a run asks for it.
#pragma once

namespace heddle::sim {

class execution;
struct lane;

/// The lane has published an operation, and run_core::looks_at_each is set: changes it to what the run assumes (assumptions.h), and in the fair tail
/// tells words that lanes only count in from all others (lasso::note_count).
[[gnu::cold]] void look_at_published(execution& here, lane& self);

}  // namespace heddle::sim
