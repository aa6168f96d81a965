// What is known of how the program was compiled.
#pragma once

namespace heddle::sim {

/// Whether any file of the program was compiled with the flags of heddle::under_test.
extern bool is_any_code_instrumented;

}  // namespace heddle::sim
