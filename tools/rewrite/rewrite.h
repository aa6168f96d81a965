// What no C++ compiler can parse, or would understand otherwise, in a source for nvcc or hipcc: rewritten in the text
// that the preprocessor makes of it. Everything else is left to the headers in sim/compat/.
//
//   kernel<<<grid, block>>>(a, b)      a call of heddle::compat::launch
//   __shared__ float tile[32];         a reference to the block's own copy
//   extern __shared__ float tile[];    a pointer to the block's dynamic shared memory
//   __device__ int count = 0;          a variable that begins anew with each run
//   int main() { ... }                 a scenario of the file's name
//   __global__, __device__, __host__   nothing
//   __cluster_dims__(2, 1, 1)          nothing; the kernel's launches have such clusters
//
// No line begins or ends elsewhere afterwards, so that all of the compiler's messages and debug information stay true.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::rewrite {

struct result {
  std::string text;
  std::vector<std::string> errors;    ///< one line each, with file and line: what is wrong, and what to write instead
  std::vector<std::string> warnings;  ///< likewise: what ends a run that comes to it, or means something else here
};

/// `preprocessed` may hold line markers. `scenario` names what main() becomes.
result rewrite(std::string_view preprocessed, std::string_view scenario);

}  // namespace heddle::rewrite
