// A lane that runs off its stack says so, instead of ending the program without a word.
#pragma once

namespace heddle::sim {

/// To be called on each OS thread that runs simulations. From then on a lane of this thread that touches the page that guards
/// its stack ends the program with exit code 3 and one line that names the lane and the setting to raise; any other fault ends
/// as it would have without this.
void report_stack_overflows();

}  // namespace heddle::sim
