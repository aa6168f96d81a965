// What a service call looks like on the wire: one stream of request, one stream of answer, whatever the call carries.
//
// Each lane streams a request: a head of three words, then the parts that the opcode asks for, each padded to whole
// words. Each gets an answer: a head of two words, then the parts of the answer. A call whose request and answer have
// up to 56 bytes is one hand-over each way.
//
//   opcode        subject   value            extra             parts of the request       answer's value, parts of the answer
//   write         file      bytes                              data                       bytes written
//   read          file      bytes wanted                                                  bytes read; the data
//   open_file               bytes of path    bytes of mode     path, mode                 the file
//   close_file    file
//   seek          file      offset           origin                                       position from the start
//   flush         file
//   remove_file             bytes of path                      path
//   rename_file             bytes of old     bytes of new      old path, new path
//   print         file      bytes of format  arguments         words, format, texts       bytes printed
//   exit                    code
//   abort                   bytes of text                      text
//   allocate                bytes                                                         address
//   free          address
//   file_state    file      file_question    character                                    1 or 0; the character; the position
//   clock                   clock_kind                                                    nanoseconds
//   environment             bytes of name    bytes wanted      name                       bytes of the value; as many as fit
//   post_write, post_print, post_call: as write, print, host_call, without an answer: the server closes the port when it has carried them out
//   host_call     number    signature        arguments         words, spans               the result, spans that the host may change
#pragma once

#include <heddle/rpc/target.h>

namespace heddle::rpc {

/// What became of a service call. The numbers travel: they never change.
enum class service_status : uint32_t {
  ok = 0,
  ended = 1,            ///< the server has ended without a whole answer; never sent by a server
  unhandled = 2,        ///< there is no handler for this opcode, number or name
  refused = 3,          ///< the server's settings do not allow it
  malformed = 4,        ///< the request contradicts itself: sizes, a format and its arguments, a mode
  too_large = 5,        ///< above the bound of the service, in bytes of one lane's request
  bad_handle = 6,       ///< no such file is open, or no such address was allocated
  no_memory = 7,        ///< nothing of that size is left for this client, or too many files are open
  failed = 8,           ///< the host's own call failed; `error` says how
  wrong_signature = 9,  ///< the function of that number takes, or gives, something else
  unanswered =
      10,  ///< the server has closed the call without an answer: something failed on the way; never sent by a server
};

/// A lane's answer.
struct service_answer {
  service_status status = service_status::ended;
  int32_t error = 0;   ///< the host's errno where status is `failed`, otherwise 0
  uint64_t value = 0;  ///< what it is depends on the call

  HEDDLE_FUNCTION bool ok() const { return status == service_status::ok; }
};
static_assert(sizeof(service_answer) == 16);

/// In front of every lane's request.
struct service_request {
  uint64_t subject = 0;
  uint64_t value = 0;
  uint64_t extra = 0;
};
static_assert(sizeof(service_request) == 24);

/// A file of the host, as a client names it: an index and a generation, never an address.
struct file {
  uint64_t handle = 0;
};
inline constexpr file standard_input{0};
inline constexpr file standard_output{1};
inline constexpr file standard_error{2};

/// Where a seek counts from.
enum class seek_origin : uint64_t { start = 0, here = 1, end = 2 };

/// What file_state asks, or does.
enum class file_question : uint64_t {
  at_end = 0,      ///< feof(3)
  has_failed = 1,  ///< ferror(3)
  clear = 2,       ///< clearerr(3)
  unread = 3,      ///< ungetc(3)
  position = 4,    ///< ftell(3)
};

enum class clock_kind : uint64_t {
  steady = 0,  ///< since some moment before the service began; never goes back
  system = 1,  ///< since 1970-01-01 00:00 UTC
};

/// What an argument of `print` is, in the low half of its first word; the second is its value, or the size of a text.
enum class print_kind : uint32_t { signed_number = 0, unsigned_number = 1, floating = 2, text = 3, address = 4 };

/// The largest request, and the largest answer, of one lane, unless a service is given another bound.
inline constexpr uint64_t default_service_bound_bytes = uint64_t{1} << 16;

/// Rounded up to whole words, as every part of a request or an answer is.
HEDDLE_FUNCTION constexpr uint64_t whole_words(uint64_t bytes) { return (bytes + 7) & ~uint64_t{7}; }

/// The number by which a host function registered under this name is called: FNV-1a, 64 bits (Fowler, Noll, Vo; RFC
/// 9923), with the highest bit set, so that it is none of the numbers that a program gives itself.
HEDDLE_FUNCTION constexpr uint64_t named(const char* name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *name != 0; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100000001b3u;
  return hash | uint64_t{1} << 63;
}

}  // namespace heddle::rpc
