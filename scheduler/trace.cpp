#include <heddle/scheduler/answer_code.h>
#include <heddle/scheduler/trace.h>
#include <heddle/scheduler/whole_file.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <new>

namespace heddle::scheduler {
namespace {

constexpr std::string_view token_prefix = "heddle2.";
constexpr std::string_view first_prefix = "heddle1.";  ///< of older versions, which are read
constexpr size_t inflated_bytes_max = size_t{64} << 20;
constexpr size_t file_bytes_max = size_t{384} << 20;  // answers_max of them in the longest form
constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

trace_or_error unreadable(std::string line) { return {.value = {}, .error = std::move(line)}; }

std::string to_base64url(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 4 / 3 + 3);
  uint32_t bits = 0;
  int bit_count = 0;
  for (const char byte : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(byte);
    for (bit_count += 8; bit_count >= 6; bit_count -= 6) text += alphabet[(bits >> (bit_count - 6)) & 63];
  }
  if (bit_count > 0) text += alphabet[(bits << (6 - bit_count)) & 63];
  return text;
}

std::optional<std::string> from_base64url(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  int bit_count = 0;
  for (const char letter : text) {
    const size_t digit = alphabet.find(letter);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = (bits << 6) | static_cast<uint32_t>(digit);
    bit_count += 6;
    if (bit_count < 8) continue;
    bit_count -= 8;
    bytes += static_cast<char>((bits >> bit_count) & 255);
  }
  // What is left must be padding: fewer than 6 bits, all zero; else two texts would mean the same.
  const bool padded = bit_count < 6 && (bits & ((1u << bit_count) - 1)) == 0;
  return padded ? std::optional(bytes) : std::nullopt;
}

std::string checksum(std::string_view bytes) {
  const uLong value = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  std::string text;
  for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>((value >> shift) & 255);
  return text;
}

/// What heads of tokens are made of, so that none of it is spelled in them. Part of the format: it cannot change.
constexpr std::string_view dictionary =
    "abcdefghijklmnopqrstuvwxyz0123456789 the payload is not what the host has made of this request is run, served, "
    "refused scenarios/drivers.h: scenarios/lanes/lanes.h: scenarios/sctbench/"
    "scenarios/weak_memory/ scenarios/offloads.h: rpc/port/server.h: rpc/port/process.h: rpc/port/client.h: "
    "rpc/mailbox.h: scenarios/zoo/weakened.h: scenarios/ports.h: scenarios/zoo/ .cpp: starvation livelock progress "
    "memory assertion protocol mask crash deadlock scope race host interrupts, host main, host server, wave a request "
    "is answered that nobody has looked at a lane was masked off: a scope is too narrow takes part in a whose mask "
    "does not name it of the same value  is not ordered after a plain load by host server is not ordered after an "
    "atomic store by wave lane read-modify-write acquire release compare-exchange load relaxed device of plain store "
    "of plain load of client locks server locks requests queue flags by wave lane by host server by host main is not "
    "ordered after an atomic load by host server is not ordered after a plain store by wave lane "
    "port.lanes.ring.slot.offload.driver.sctbench.zoo. random round-robin pct pos rhythm starve surw unfair urw mix "
    "fidelity=link progress=hsa waves=lanes=ports=calls=progress=unfair0.1.0";

constexpr int raw_deflate = -15;

std::string deflated(const std::string& bytes) {
  z_stream stream = {};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, raw_deflate, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  deflateSetDictionary(&stream, reinterpret_cast<const Bytef*>(dictionary.data()),
                       static_cast<uInt>(dictionary.size()));
  std::string packed(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

/// Piece by piece, so that a bomb is given up at the bound and not allocated for. `with_dictionary`: as deflated() has made it.
std::optional<std::string> inflated(std::string_view packed, bool with_dictionary) {
  z_stream stream = {};
  if (inflateInit2(&stream, with_dictionary ? raw_deflate : MAX_WBITS) != Z_OK) return std::nullopt;
  if (with_dictionary)
    inflateSetDictionary(&stream, reinterpret_cast<const Bytef*>(dictionary.data()),
                         static_cast<uInt>(dictionary.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string bytes;
  std::array<char, 65'536> piece;
  int state = Z_OK;
  while (state == Z_OK && bytes.size() <= inflated_bytes_max) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = piece.size();
    state = inflate(&stream, Z_NO_FLUSH);
    bytes.append(piece.data(), piece.size() - stream.avail_out);
  }
  const bool whole = state == Z_STREAM_END && stream.avail_in == 0 && bytes.size() <= inflated_bytes_max;
  inflateEnd(&stream);
  return whole ? std::optional(bytes) : std::nullopt;
}

/// The answers of a token of the first form. False when the bytes are none.
bool unpack_answers(std::string_view bytes, std::vector<answer>& answers) {
  const auto shape_count = take_number(bytes);
  if (!shape_count || *shape_count > bytes.size() / 3) return false;
  for (uint64_t shape = 0; shape < *shape_count; ++shape) {
    const auto kind = take_number(bytes);
    const auto count = take_number(bytes);
    const auto times = take_number(bytes);
    if (!kind || *kind >= choice_kind_count || !count || *count < 2 || *count >= no_answer) return false;
    // Each answer takes a byte or more for its pick, so no small text makes a large vector.
    if (!times || *times > answers_max || answers.size() + *times > std::min(answers_max, bytes.size())) return false;
    answers.insert(answers.end(), *times,
                   {.kind = static_cast<choice_kind>(*kind), .count = static_cast<uint32_t>(*count), .picked = 0});
  }
  for (answer& each : answers) {
    const auto picked = take_number(bytes);
    if (!picked || *picked >= each.count) return false;
    each.picked = static_cast<uint32_t>(*picked);
  }
  return bytes.empty();
}

void put_text(std::string& bytes, std::string_view text) {
  put_number(bytes, text.size());
  bytes += text;
}

/// False when the bytes end too early.
bool take_text(std::string_view& bytes, std::string& text) {
  const auto size = take_number(bytes);
  if (!size || *size > bytes.size()) return false;
  text = bytes.substr(0, *size);
  bytes.remove_prefix(*size);
  return true;
}

/// Two digits a byte where they are such; else as they are.
void put_build_id(std::string& bytes, const std::string& id) {
  const bool is_hexadecimal = id.size() % 2 == 0 && id.find_first_not_of("0123456789abcdef") == std::string::npos;
  put_number(bytes, id.size() * 2 + (is_hexadecimal ? 1 : 0));
  if (!is_hexadecimal) {
    bytes += id;
    return;
  }
  const auto digit = [&](size_t at) { return id[at] <= '9' ? id[at] - '0' : id[at] - 'a' + 10; };
  for (size_t at = 0; at < id.size(); at += 2) bytes += static_cast<char>(digit(at) * 16 + digit(at + 1));
}

bool take_build_id(std::string_view& bytes, std::string& id) {
  const auto form = take_number(bytes);
  if (!form) return false;
  const uint64_t size = *form / 2;
  const bool is_hexadecimal = *form % 2 != 0;
  if ((is_hexadecimal ? size / 2 : size) > bytes.size()) return false;
  id.clear();
  if (is_hexadecimal) {
    for (const char each : bytes.substr(0, size / 2)) {
      const auto byte = static_cast<unsigned char>(each);
      id += "0123456789abcdef"[byte / 16];
      id += "0123456789abcdef"[byte % 16];
    }
  } else {
    id = bytes.substr(0, size);
  }
  bytes.remove_prefix(is_hexadecimal ? size / 2 : size);
  return true;
}

/// What words tell, and numbers: what compresses.
std::string head_in_words(const trace& recorded) {
  std::string bytes;
  put_text(bytes, to_string(recorded.outcome));
  for (const std::string* each :
       {&recorded.version, &recorded.scenario, &recorded.strategy, &recorded.where, &recorded.hang, &recorded.gist})
    put_text(bytes, *each);
  put_number(bytes, recorded.parameters.size());
  for (const auto& [key, value] : recorded.parameters) {
    put_text(bytes, key);
    put_text(bytes, value);
  }
  put_number(bytes, recorded.seed);
  put_number(bytes, recorded.steps);
  return bytes;
}

bool read_head_in_words(std::string_view bytes, trace& into) {
  std::string outcome;
  if (!take_text(bytes, outcome)) return false;
  for (std::string* each : {&into.version, &into.scenario, &into.strategy, &into.where, &into.hang, &into.gist})
    if (!take_text(bytes, *each)) return false;
  const auto parameters = take_number(bytes);
  if (!parameters || *parameters > bytes.size()) return false;
  for (uint64_t each = 0; each < *parameters; ++each) {
    auto& [key, value] = into.parameters.emplace_back();
    if (!take_text(bytes, key) || !take_text(bytes, value)) return false;
  }
  const auto seed = take_number(bytes);
  const auto steps = take_number(bytes);
  const auto known = parse_verdict(outcome);
  if (!seed || !steps || !known || !bytes.empty()) return false;
  into.outcome = *known;
  into.seed = *seed;
  into.steps = *steps;
  return true;
}

/// What is the content of a token of the second form, behind its checksum.
trace_or_error read_content(std::string_view bytes) {
  trace made;
  const trace_or_error malformed = unreadable("this token is no valid trace: it is malformed");
  if (!take_build_id(bytes, made.build_id) || bytes.size() < 8) return malformed;
  for (size_t byte = 0; byte < 8; ++byte)
    made.digest |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[byte])) << (8 * byte);
  bytes.remove_prefix(8);
  std::string packed;
  if (!take_text(bytes, packed)) return malformed;
  const auto words = inflated(packed, true);
  if (!words) return unreadable("this token is no valid trace: its content cannot be decompressed");
  if (!read_head_in_words(*words, made)) return malformed;
  // What holds for a file of a trace holds for this.
  trace_or_error read = detail::head_from_json(detail::head_to_json(made));
  if (!read.value) return read;
  if (*read.value != made) return malformed;
  if (!decode_answers(bytes, read.value->answers))
    return unreadable("this token is no valid trace: its answers are malformed");
  return read;
}

trace_or_error read_file(const std::string& name) {
  text_or_reason found = read_whole(name, file_bytes_max);
  if (!found.text) {
    const int wrong = found.wrong;
    if (wrong == EFBIG) return unreadable("\"" + name + "\": this is no valid trace: it is too large");
    if (wrong != ENOENT && wrong != ENAMETOOLONG) return unreadable("cannot read \"" + name + "\": " + found.reason);
    return unreadable("there is no file \"" + name.substr(0, 64) + (name.size() > 64 ? "...\"" : "\"") +
                      ", and it is no token either (a token begins with \"" + std::string(token_prefix) + "\")");
  }
  std::string& text = *found.text;
  trace_or_error read;
  if (is_token(text)) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
    read = from_token(text);
  } else {
    read = from_json(text);
  }
  if (!read.value) read.error = "\"" + name + "\": " + read.error;
  return read;
}

}  // namespace

std::string to_token(const trace& recorded) {
  // A name that is no UTF-8 is written as a file of a trace has it.
  const trace_or_error plain = detail::head_from_json(detail::head_to_json(recorded));
  const trace& head = plain.value ? *plain.value : recorded;
  std::string bytes;
  put_build_id(bytes, head.build_id);
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>((head.digest >> shift) & 255);
  put_text(bytes, deflated(head_in_words(head)));
  bytes += coded_answers(recorded.answers);
  return std::string(token_prefix) + to_base64url(checksum(bytes) + bytes);
}

namespace {

/// Of a token of the first form.
trace_or_error read_first_form(std::string_view packed) {
  const auto content = inflated(packed, false);
  if (!content) return unreadable("this token is no valid trace: its content cannot be decompressed");
  std::string_view rest = *content;
  const auto head_bytes = take_number(rest);
  if (!head_bytes || *head_bytes > rest.size()) return unreadable("this token is no valid trace: it ends too early");
  trace_or_error read = detail::head_from_json(rest.substr(0, *head_bytes));
  if (!read.value) return read;
  if (!unpack_answers(rest.substr(*head_bytes), read.value->answers))
    return unreadable("this token is no valid trace: its answers are malformed");
  return read;
}

}  // namespace

bool is_token(std::string_view text) { return text.starts_with(token_prefix) || text.starts_with(first_prefix); }

trace_or_error from_token(std::string_view token) {
  if (!is_token(token))
    return unreadable("this is no token: it does not begin with \"" + std::string(token_prefix) + "\"");
  if (token.size() > file_bytes_max) return unreadable("this token is too large");
  const auto bytes = from_base64url(token.substr(token_prefix.size()));
  constexpr std::string_view damaged = "this token is damaged or cut off; copy it again, whole and on one line";
  if (!bytes || bytes->size() < 4) return unreadable(std::string(damaged));
  const std::string_view content = std::string_view(*bytes).substr(4);
  if (checksum(content) != bytes->substr(0, 4)) return unreadable(std::string(damaged));
  return token.starts_with(first_prefix) ? read_first_form(content) : read_content(content);
}

std::optional<std::string> write_trace(const trace& recorded, const std::filesystem::path& file) {
  if (recorded.answers.size() > answers_max)
    return "\"" + file.string() + "\": the run has too many choices for a trace";
  return write_whole(file, to_json(recorded));
}

trace_or_error read_trace(std::string_view file_or_token) {
  if (is_token(file_or_token)) return from_token(file_or_token);
  return read_file(std::string(file_or_token));
}

}  // namespace heddle::scheduler
