// Inline PTX in a source for nvcc: `asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");` as C++ that calls the
// same as what tools/ptx makes of whole files. Assembly of AMD's GPUs is replaced too (gcn_assembly.h). That of the host, in which no instruction is
// one of a GPU, stays as it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::rewrite {

struct inlined {
  std::string text;
  std::vector<std::string> errors;  ///< one line each, with file and line
  std::vector<std::string>
      warnings;  ///< likewise: an instruction that is not simulated, which ends a run that comes to it
};

/// `preprocessed` may hold line markers. No line begins or ends elsewhere afterwards.
inlined inline_ptx(std::string_view preprocessed);

}  // namespace heddle::rewrite
