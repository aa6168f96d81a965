// What a call asks for: 16 bits, of which the lower half of the range belongs to the library.
#pragma once

#include <heddle/rpc/target.h>

namespace heddle::rpc {

/// Opcodes below are reserved for the library's own services.
inline constexpr uint16_t first_user_opcode = 32768;

/// The n-th opcode of a user's program, n in [0, 32767].
HEDDLE_FUNCTION constexpr uint16_t user_opcode(uint16_t n) { return static_cast<uint16_t>(first_user_opcode + n); }

HEDDLE_FUNCTION constexpr bool is_reserved(uint16_t opcode) { return opcode < first_user_opcode; }

/// The library's own opcodes.
enum class opcode : uint16_t {
  nothing = 0,  ///< the server only gives the port back
  // The service library (rpc/service/); what each carries is said in rpc/service/request.h.
  write = 1,
  read = 2,
  open_file = 3,
  close_file = 4,
  seek = 5,
  flush = 6,
  remove_file = 7,
  rename_file = 8,
  print = 9,
  exit = 10,
  abort = 11,
  allocate = 12,
  free = 13,
  clock = 14,
  environment = 15,
  host_call = 16,
  file_state = 17,
  post_write = 18,  ///< as write, and without an answer
  post_print = 19,  ///< as print, likewise
  post_call = 20,   ///< as host_call, likewise
};

/// Whether a call is one without an answer: the server closes it when it has been carried out.
HEDDLE_FUNCTION constexpr bool is_post(uint16_t asked) {
  return asked >= static_cast<uint16_t>(opcode::post_write) && asked <= static_cast<uint16_t>(opcode::post_call);
}

namespace detail {
template <auto Opcode>
HEDDLE_FUNCTION constexpr uint16_t checked_opcode() {
  if constexpr (!same_as<decltype(Opcode), const opcode> && !same_as<decltype(Opcode), opcode>) {
    static_assert(static_cast<uint64_t>(Opcode) <= 0xffff, "an opcode has 16 bits");
    static_assert(static_cast<uint64_t>(Opcode) >= first_user_opcode,
                  "opcodes below 32768 are reserved for the library: use heddle::rpc::user_opcode(n)");
  }
  return static_cast<uint16_t>(Opcode);
}
}  // namespace detail

}  // namespace heddle::rpc
