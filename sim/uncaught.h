// Exceptions that leave a lane, and std::terminate: the run ends where they were thrown.
#pragma once

namespace heddle::sim {

/// From then on std::terminate in a lane, be it because nobody catches an exception or because it leaves what is noexcept, ends the run with
/// verdict `assertion`, at the place of the throw. Everywhere else it does what it did before.
void end_runs_at_terminate();

}  // namespace heddle::sim
