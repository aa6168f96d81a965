// Exceptions that leave a lane, and std::terminate: the run ends where they were thrown.
#pragma once

namespace heddle::sim {

/// From then on an exception that no function of a lane catches ends the run with verdict `assertion` at the place of the throw; and whatever
/// else calls std::terminate in a lane, be it an exception that leaves what is noexcept, with verdict `crash`. Outside of lanes std::terminate
/// does what it did before.
void end_runs_at_terminate();

}  // namespace heddle::sim
