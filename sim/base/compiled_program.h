// What is known of how the program was compiled.
#pragma once

namespace heddle::sim {

/// Whether any file of the program was compiled with the flags of heddle::under_test.
extern bool is_any_code_instrumented;
/// Whether host threads begin on stacks whose first frames are zero, as the compiler leaves padding of what they are given unwritten.
extern bool begins_on_clear_stacks;

}  // namespace heddle::sim
