// What a kernel asks of its host: files, printing, memory, time, and functions that the host has registered.
//
// Every call is made by the lanes that stand together, each with its own arguments, and takes one port. It returns when the host has
// answered, or when the host has ended (service_status::ended): then a call may or may not have been carried out if its request had
// more than one packet or its server was told to give up, and was not carried out otherwise.
//
// What progress a call needs is said at basic_client::open: where a request or an answer has more than 56 bytes, the
// server waits inside the call for its client.
#pragma once

#include <heddle/rpc/port/client.h>
#include <heddle/rpc/service/parts.h>
#include <heddle/rpc/service/signature.h>

namespace heddle::rpc {

/// What a host function gave, and whether it did.
template <typename Result>
struct call_answer {
  service_answer answer;
  Result result = {};
  HEDDLE_FUNCTION bool ok() const { return answer.ok(); }
};
template <>
struct call_answer<void> {
  service_answer answer;
  HEDDLE_FUNCTION bool ok() const { return answer.ok(); }
};

/// A view that can be copied into a kernel byte by byte.
template <typename Target, typename Check = unchecked>
class basic_service_client {
 public:
  using port_client = basic_client<Target, may_end_and<Check>>;

  /// `bound_bytes` is the largest request or answer of one lane, the same as the server's; a multiple of 8, at least 256.
  HEDDLE_FUNCTION explicit basic_service_client(const port_client& ports,
                                                uint64_t bound_bytes = default_service_bound_bytes)
      : ports_(ports), bound_bytes_(bound_bytes) {}

  // -- files ----------------------------------------------------------------------------------------------------------------

  /// Opens the file that `path` names below the directory that the host allows. `mode` is that of fopen(3): r, w or a,
  /// then any of + b x. The answer's value is the handle: `file{answer.value}`.
  HEDDLE_FUNCTION service_answer open(const char* path, const char* mode) const {
    const auto named = detail::encode(path);
    const auto how = detail::encode(mode);
    const service_request head{0, named.elements.size_bytes, how.elements.size_bytes};
    return ask<opcode::open_file>({view_of(head), named.elements, how.elements});
  }
  HEDDLE_FUNCTION service_answer close(file which) const {
    const service_request head{which.handle, 0, 0};
    return ask<opcode::close_file>({view_of(head)});
  }

  /// Writes `size_bytes` bytes; the answer's value is how many of them were written, also where the call fails in
  /// between. Any size: what is above the service's bound goes in several calls, and other clients may write in between.
  HEDDLE_FUNCTION service_answer write(file to, const void* data, uint64_t size_bytes) const {
    const auto* const from = static_cast<const unsigned char*>(data);
    uint64_t written = 0;
    for (;;) {
      const uint64_t bytes = one_call_of(size_bytes - written);
      const service_request head{to.handle, bytes, 0};
      service_answer answer = ask<opcode::write>({view_of(head), bytes_view{from + written, bytes}});
      written += answer.value;
      if (!answer.ok() || answer.value < bytes || written >= size_bytes) {
        answer.value = written;
        return answer;
      }
    }
  }

  /// Reads up to `size_bytes` bytes; the answer's value is how many there were. Fewer, with status ok, at the file's end.
  HEDDLE_FUNCTION service_answer read(file from, void* data, uint64_t size_bytes) const {
    auto* const to = static_cast<unsigned char*>(data);
    uint64_t taken = 0;
    for (;;) {
      const uint64_t bytes = one_call_of(size_bytes - taken);
      const service_request head{from.handle, bytes, 0};
      detail::part_sink sinks[] = {{}, {to + taken, bytes}};
      service_answer answer = ask<opcode::read>({view_of(head)}, sinks);
      taken += answer.value < bytes ? answer.value : bytes;
      if (!answer.ok() || answer.value < bytes || taken >= size_bytes) {
        answer.value = taken;
        return answer;
      }
    }
  }

  /// Moves the file's position; the answer's value is the new one, from the file's start.
  HEDDLE_FUNCTION service_answer seek(file in, int64_t offset_bytes, seek_origin origin) const {
    const service_request head{in.handle, static_cast<uint64_t>(offset_bytes), static_cast<uint64_t>(origin)};
    return ask<opcode::seek>({view_of(head)});
  }
  /// The answer's value is the file's position, from its start; nothing changes.
  HEDDLE_FUNCTION service_answer position(file in) const { return ask_state(in, file_question::position); }
  HEDDLE_FUNCTION service_answer flush(file which) const {
    const service_request head{which.handle, 0, 0};
    return ask<opcode::flush>({view_of(head)});
  }
  /// Whether the last read came to the file's end: the answer's value is 1 or 0.
  HEDDLE_FUNCTION service_answer at_end(file in) const { return ask_state(in, file_question::at_end); }
  /// Whether a read or a write has failed since the file was opened or was cleared: the answer's value is 1 or 0.
  HEDDLE_FUNCTION service_answer has_failed(file in) const { return ask_state(in, file_question::has_failed); }
  /// Neither, from now on.
  HEDDLE_FUNCTION service_answer clear(file in) const { return ask_state(in, file_question::clear); }
  /// Puts a character back, to be read next; one at a time for certain.
  HEDDLE_FUNCTION service_answer unread(file in, unsigned char character) const {
    return ask_state(in, file_question::unread, character);
  }
  HEDDLE_FUNCTION service_answer remove(const char* path) const {
    const auto named = detail::encode(path);
    const service_request head{0, named.elements.size_bytes, 0};
    return ask<opcode::remove_file>({view_of(head), named.elements});
  }
  HEDDLE_FUNCTION service_answer rename(const char* from, const char* to) const {
    const auto before = detail::encode(from);
    const auto after = detail::encode(to);
    const service_request head{0, before.elements.size_bytes, after.elements.size_bytes};
    return ask<opcode::rename_file>({view_of(head), before.elements, after.elements});
  }

  // -- printing -------------------------------------------------------------------------------------------------------------

  /// printf(3) on the host, each lane with its own arguments: what one lane prints stays together, lanes of one call in
  /// ascending order. All conversions but %n. An argument that its conversion does not fit makes the answer
  /// `malformed`, and nothing is printed. The answer's value is the number of bytes.
  template <typename... Arguments>
  HEDDLE_FUNCTION service_answer print(const char* format, const Arguments&... arguments) const {
    return print_to(standard_output, format, arguments...);
  }
  /// The text and the end of its line, in one piece.
  HEDDLE_FUNCTION service_answer puts(const char* text) const { return print("%s\n", text); }
  template <typename... Arguments>
  HEDDLE_FUNCTION service_answer print_to(file to, const char* format, const Arguments&... arguments) const {
    return with_print(sender<false>{*this}, to, format, arguments...);
  }

  // -- without an answer ----------------------------------------------------------------------------------------------------
  //
  // A posted call returns when its request has been handed over: the lane goes on, its buffers are free again, and it does not learn what
  // becomes of it. A request that does not fit in one hand-over is waited for up to its last. What a wave posts is carried out in the order in which it
  // posts it; that of several waves, and of posted calls and those with an answer, in any order: settle() stands between them. An answer is
  // `ok`, `too_large` (nothing was sent) or `ended` (it may have been carried out or not). A post that comes when the host has ended may still
  // be `ok`, as it reads nothing over the link: the next one, and settle(), tell. What cannot be carried out is counted by the host
  // (service_counts::posts_failed).

  /// As write(); the answer's value is how many bytes were posted.
  HEDDLE_FUNCTION service_answer post_write(file to, const void* data, uint64_t size_bytes) const {
    const auto* const from = static_cast<const unsigned char*>(data);
    uint64_t posted = 0;
    for (;;) {
      const uint64_t bytes = one_call_of(size_bytes - posted);
      const service_request head{to.handle, bytes, 0};
      service_answer answer = post<opcode::post_write>({view_of(head), bytes_view{from + posted, bytes}});
      if (answer.ok()) posted += bytes;
      if (!answer.ok() || posted >= size_bytes) {
        answer.value = posted;
        return answer;
      }
    }
  }
  /// As print().
  template <typename... Arguments>
  HEDDLE_FUNCTION service_answer post_print(const char* format, const Arguments&... arguments) const {
    return post_print_to(standard_output, format, arguments...);
  }
  HEDDLE_FUNCTION service_answer post_puts(const char* text) const { return post_print("%s\n", text); }
  template <typename... Arguments>
  HEDDLE_FUNCTION service_answer post_print_to(file to, const char* format, const Arguments&... arguments) const {
    return with_print(sender<true>{*this}, to, format, arguments...);
  }
  /// Waits until what this wave has posted has been carried out. `ended` where the host has ended before that.
  HEDDLE_FUNCTION service_answer settle() const {
    return {ports_.wait_for_own() ? service_status::ok : service_status::ended};
  }

  /// As print_to(), with arguments that were made before: `count` words, and as many parts, of which those of texts are used.
  HEDDLE_FUNCTION service_answer print_list(file to, const char* format, const detail::sent_argument* words,
                                            const bytes_view* texts, uint32_t count) const {
    constexpr uint32_t most = 32;
    if (count > most) return {service_status::malformed};
    const auto text = detail::encode(format);
    const service_request head{to.handle, text.elements.size_bytes, count};
    bytes_view parts[3 + most] = {};
    parts[0] = view_of(head);
    parts[1] = {words, count * sizeof(detail::sent_argument)};
    parts[2] = text.elements;
    for (uint32_t n = 0; n < count; ++n) parts[3 + n] = texts[n];
    return ask<opcode::print>(parts);
  }

  // -- the program ----------------------------------------------------------------------------------------------------------

  /// Asks the host to end the program with this status. Returns when the host has taken note of it, before it does so.
  HEDDLE_FUNCTION service_answer exit(int32_t code) const {
    const service_request head{0, static_cast<uint64_t>(static_cast<int64_t>(code)), 0};
    return ask<opcode::exit>({view_of(head)});
  }
  /// As exit(), for a program that cannot go on; `why` is printed first.
  HEDDLE_FUNCTION service_answer abort(const char* why) const {
    const auto text = detail::encode(why);
    const service_request head{0, text.elements.size_bytes, 0};
    return ask<opcode::abort>({view_of(head), text.elements});
  }

  /// `size_bytes` bytes of the memory that the host has set aside for this client, aligned to 16; null when there is none.
  HEDDLE_FUNCTION void* allocate(uint64_t size_bytes) const {
    const service_request head{0, size_bytes, 0};
    const service_answer answer = ask<opcode::allocate>({view_of(head)});
    return answer.ok() ? reinterpret_cast<void*>(static_cast<uintptr_t>(answer.value)) : nullptr;
  }
  /// Gives memory of allocate back; null does nothing.
  HEDDLE_FUNCTION service_answer free(void* memory) const {
    const service_request head{reinterpret_cast<uintptr_t>(memory), 0, 0};
    return ask<opcode::free>({view_of(head)});
  }

  /// The host's clock, in nanoseconds: the answer's value.
  HEDDLE_FUNCTION service_answer clock(clock_kind which = clock_kind::steady) const {
    const service_request head{0, static_cast<uint64_t>(which), 0};
    return ask<opcode::clock>({view_of(head)});
  }

  /// The value of a variable of the host's environment that the host allows, with as much of it as fits put into `buffer`, with its
  /// terminating zero where that fits, too. The answer's value is its length. A variable that is not set is `failed` with error ENOENT.
  HEDDLE_FUNCTION service_answer environment(const char* name, char* buffer, uint64_t size_bytes) const {
    const auto text = detail::encode(name);
    const uint64_t wanted = one_call_of(size_bytes);
    const service_request head{0, text.elements.size_bytes, wanted};
    detail::part_sink sinks[] = {{}, {buffer, wanted}};
    return ask<opcode::environment>({view_of(head), text.elements}, sinks);
  }

  // -- functions of the host ------------------------------------------------------------------------------------------------

  /// Calls the host function of this number, or of a name, `named("name")`, which must take and give just that:
  ///   client.call<double(span<const float>, int)>(named("sum"), span{values, 3}, 2)
  /// Each lane calls with its own arguments. One hand-over each way for up to 56 bytes of them.
  template <typename Function, typename... Arguments>
  HEDDLE_FUNCTION auto call(uint64_t number, Arguments... arguments) const {
    return caller<Function>::convert_and_call(*this, number, arguments...);
  }

  /// As call(), without an answer: what the function gives is dropped, and no span comes back.
  template <typename Function, typename... Arguments>
  HEDDLE_FUNCTION service_answer post_call(uint64_t number, Arguments... arguments) const {
    return caller<Function>::convert_and_post(*this, number, arguments...);
  }

  HEDDLE_FUNCTION const port_client& ports() const { return ports_; }
  HEDDLE_FUNCTION uint64_t bound_bytes() const { return bound_bytes_; }

 private:
  HEDDLE_FUNCTION service_answer ask_state(file in, file_question asked, uint64_t character = 0) const {
    const service_request head{in.handle, static_cast<uint64_t>(asked), character};
    return ask<opcode::file_state>({view_of(head)});
  }

  template <typename T>
  HEDDLE_FUNCTION static bytes_view view_of(const T& value) {
    return {&value, sizeof value};
  }

  /// What of so many bytes goes in one call.
  HEDDLE_FUNCTION uint64_t one_call_of(uint64_t size_bytes) const {
    const uint64_t most = (bound_bytes_ - sizeof(service_request)) & ~uint64_t{7};
    return size_bytes < most ? size_bytes : most;
  }

  /// How the request of a print goes out: with an answer or without.
  template <bool Posts>
  struct sender {
    const basic_service_client& by;
    template <uint32_t Parts>
    HEDDLE_FUNCTION service_answer operator()(const bytes_view (&request)[Parts]) const {
      if constexpr (Posts)
        return by.template post<opcode::post_print>(request);
      else
        return by.template ask<opcode::print>(request);
    }
  };
  template <typename Send, typename... Arguments>
  HEDDLE_FUNCTION static service_answer with_print(const Send& send, file to, const char* format,
                                                   const Arguments&... arguments) {
    constexpr uint32_t count = sizeof...(Arguments);
    const auto text = detail::encode(format);
    const service_request head{to.handle, text.elements.size_bytes, count};
    detail::sent_argument words[count + 1] = {};
    bytes_view parts[3 + count + 1] = {};
    parts[0] = view_of(head);
    parts[1] = {words, count * sizeof(detail::sent_argument)};
    parts[2] = text.elements;
    uint32_t n = 0;
    ((words[n] = detail::printed(arguments, parts[3 + n]), ++n), ...);
    return send(parts);
  }

  /// A call without an answer, through the wave's own port.
  template <opcode Opcode, uint32_t Parts>
  HEDDLE_FUNCTION service_answer post(const bytes_view (&request)[Parts]) const {
    static_assert(is_post(static_cast<uint16_t>(Opcode)), "the host would answer");
    if (detail::bytes_of_parts(request, bound_bytes_) > bound_bytes_) return {service_status::too_large};
    auto port = ports_.template open_own<Opcode>();
    if (port) detail::send_parts<Target>(port, request, bound_bytes_);
    return {port.ended() ? service_status::ended : service_status::ok};
  }

  template <opcode Opcode, uint32_t Parts>
  HEDDLE_FUNCTION service_answer ask(const bytes_view (&request)[Parts]) const {
    detail::part_sink sinks[1] = {};
    return ask<Opcode>(request, sinks);
  }

  /// The first sink is for the answer's head.
  template <opcode Opcode, uint32_t Parts, uint32_t Sinks>
  HEDDLE_FUNCTION service_answer ask(const bytes_view (&request)[Parts], detail::part_sink (&sinks)[Sinks]) const {
    service_answer answer;
    sinks[0] = {&answer, sizeof answer};
    auto port = ports_.template open<Opcode>();
    if (port) {
      detail::send_parts<Target>(port, request, bound_bytes_);
      detail::recv_parts<Target>(port, sinks, bound_bytes_);
    }
    if (port.ended()) answer = {port.unanswered() ? service_status::unanswered : service_status::ended};
    return answer;
  }

  template <typename Function>
  struct caller;
  template <typename Result, typename... Taken>
  struct caller<Result(Taken...)> {
    /// Arguments become what the function takes here, as in any call; but no fraction is lost in silence.
    template <typename... Given>
    HEDDLE_FUNCTION static call_answer<Result> convert_and_call(const basic_service_client& from, uint64_t number,
                                                                Given... given) {
      check<Given...>();
      return call(from, number, static_cast<Taken>(given)...);
    }
    template <typename... Given>
    HEDDLE_FUNCTION static service_answer convert_and_post(const basic_service_client& from, uint64_t number,
                                                           Given... given) {
      check<Given...>();
      return post(from, number, static_cast<Taken>(given)...);
    }
    template <typename... Given>
    HEDDLE_FUNCTION static constexpr void check() {
      static_assert(sizeof...(Given) == sizeof...(Taken), "the host function takes another number of arguments");
      static_assert((detail::types::is_convertible_v<Given, Taken> && ...),
                    "an argument is not what the host function takes");
      static_assert(!((detail::types::is_floating_point_v<Given> && detail::types::is_integral_v<Taken>) || ...),
                    "a fraction is passed where the host function takes an integer");
    }

    static constexpr uint32_t count = sizeof...(Taken);
    HEDDLE_FUNCTION static constexpr service_request head_of(uint64_t number) {
      return {number, detail::signature<Result(Taken...)>::hash(), count};
    }
    /// What is sent: the head, and two parts for each argument.
    HEDDLE_FUNCTION static void fill(bytes_view (&parts)[1 + 2 * count], const service_request& head,
                                     const detail::encoded_argument (&encoded)[count + 1]) {
      parts[0] = view_of(head);
      for (uint32_t n = 0; n < count; ++n) {
        parts[1 + 2 * n] = encoded[n].counted ? view_of(encoded[n].word) : encoded[n].fixed;
        parts[2 + 2 * n] = encoded[n].elements;
      }
    }

    HEDDLE_FUNCTION static service_answer post(const basic_service_client& from, uint64_t number, Taken... taken) {
      const service_request head = head_of(number);
      const detail::encoded_argument encoded[count + 1] = {detail::encode(taken)...};
      bytes_view parts[1 + 2 * count] = {};
      fill(parts, head, encoded);
      return from.template post<opcode::post_call>(parts);
    }

    HEDDLE_FUNCTION static call_answer<Result> call(const basic_service_client& from, uint64_t number, Taken... taken) {
      const service_request head = head_of(number);
      // One more, because an array has at least one element.
      const detail::encoded_argument encoded[count + 1] = {detail::encode(taken)...};
      bytes_view parts[1 + 2 * count] = {};
      // The answer's head, the result, what comes back.
      detail::part_sink sinks[2 + count] = {};
      fill(parts, head, encoded);
      for (uint32_t n = 0; n < count; ++n) sinks[2 + n] = encoded[n].comes_back;
      call_answer<Result> answer;
      if constexpr (!detail::types::is_void_v<Result>) sinks[1] = {&answer.result, sizeof answer.result};
      answer.answer = from.template ask<opcode::host_call>(parts, sinks);
      return answer;
    }
  };

  port_client ports_;
  uint64_t bound_bytes_;
};

}  // namespace heddle::rpc
