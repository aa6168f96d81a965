// What a source tells the host's processor in instructions of its own, and the compiler instruments not: fences and stores past the caches of x86, by asm
// statements and by <immintrin.h>. They become what the simulator sees.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::rewrite {

struct host_instructions {
  std::string text;
  std::vector<std::string>
      unseen;  ///< one line each, with file and line: an asm statement whose accesses to memory nothing sees
};

/// `preprocessed` may hold line markers; it is C or C++. No line begins or ends elsewhere afterwards.
///
///   mfence, lock; addl $0,(%rsp)      a fence of sequential consistency
///   lfence                            a fence that acquires
///   sfence                            the simulator's sfence (sim/runtime/calls.h)
///   _mm_stream_si32() and its like    plain stores
///   xchg, lock cmpxchg and their like accesses (host_accesses.h)
host_instructions see_host_instructions(std::string_view preprocessed, bool is_c);

}  // namespace heddle::rewrite
