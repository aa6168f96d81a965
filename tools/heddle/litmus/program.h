// A litmus test: a few threads of straight-line accesses to shared words, and the outcome that is asked about.
#pragma once

#include <heddle/rpc/target.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::litmus {

enum class instruction_kind : uint8_t {
  load,
  store,
  exchange,
  add,
  compare_exchange,
  fence,
  drain_buffers,  ///< mfence: the host waits until its store buffer and its combining buffers are empty; and sfence
};

struct instruction {
  instruction_kind kind = instruction_kind::load;
  bool weak = false;  ///< plain: `order` and `reach` mean nothing. Of drain_buffers: an sfence, which waits for nothing
  bool x86 = false;   ///< written as an instruction of the host: MOV, or a locked operation
  memory_order order = memory_order::relaxed;
  scope reach = scope::system;
  uint32_t location = 0;  ///< in program::locations
  uint32_t reg = 0;       ///< that receives what was read
  uint32_t value = 0;     ///< stored or added; what a compare_exchange looks for
  uint32_t desired = 0;   ///< what a compare_exchange stores
};

struct place {
  bool host = false;
  uint32_t device = 0;
  uint32_t block = 0;  ///< of the device; threads of one block are waves of it
};

/// "P1:r0 = 1" or "x != 2"; joined as a tree.
struct condition {
  enum class kind : uint8_t { reg, location, all_of, any_of };
  kind is = kind::all_of;
  uint32_t thread = 0;  ///< of a register
  uint32_t index = 0;   ///< the register, or the location
  bool equal = true;    ///< "=", otherwise "!="
  uint32_t value = 0;
  std::vector<condition> parts;  ///< of all_of and any_of
};

inline constexpr uint32_t registers = 3;  ///< r0, r1, r2 of each thread

struct program {
  std::vector<place> places;  ///< one a thread
  std::vector<std::vector<instruction>> threads;
  std::vector<std::string> locations;  ///< 32-bit words, zero at first
  std::vector<bool> on_device;         ///< per location: it lies in device memory, not in the host's
  condition outcome;
};

/// What one run left: registers[thread][register], and the final value of each location.
struct final_state {
  std::vector<std::vector<uint32_t>> registers;
  std::vector<uint32_t> locations;
};

/// Parses the columns of a row. `placement` ("x=host y=device") may be empty: everything lies in host memory. Throws
/// std::invalid_argument with one line that says what is wrong and where.
program parse(std::string_view threads, std::string_view code, std::string_view outcome,
              std::string_view placement = {});

bool holds(const condition& asked, const final_state& seen);

}  // namespace heddle::litmus
