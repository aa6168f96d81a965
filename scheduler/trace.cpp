#include <fcntl.h>
#include <heddle/scheduler/trace.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace heddle::scheduler {
namespace {

constexpr std::string_view token_prefix = "heddle1.";
constexpr size_t inflated_bytes_max = size_t{64} << 20;
constexpr size_t file_bytes_max = size_t{384} << 20;  // answers_max of them in the longest form
constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

trace_or_error failure(std::string line) { return {.value = {}, .error = std::move(line)}; }

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

void put_number(std::string& bytes, uint64_t value) {
  for (; value >= 128; value >>= 7) bytes += static_cast<char>((value & 127) | 128);
  bytes += static_cast<char>(value);
}

/// Seven bits a byte, lowest first (LEB128). Nothing when the bytes end too early or the number is too long.
std::optional<uint64_t> take_number(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 63 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return value;
  }
  return std::nullopt;
}

std::string checksum(std::string_view bytes) {
  const uLong value = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  std::string text;
  for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>((value >> shift) & 255);
  return text;
}

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string packed(size, '\0');
  compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
            static_cast<uLong>(bytes.size()), Z_BEST_COMPRESSION);
  packed.resize(size);
  return packed;
}

/// Piece by piece, so that a bomb is given up at the bound and not allocated for.
std::optional<std::string> inflated(std::string_view packed) {
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK) return std::nullopt;
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

/// Kinds and counts in runs, then the picks: in this order they compress best.
std::string packed_answers(const std::vector<answer>& answers) {
  std::string shapes;
  uint64_t shape_count = 0;
  for (size_t first = 0, next = 0; first < answers.size(); first = next, ++shape_count) {
    while (next < answers.size() && answers[next].kind == answers[first].kind &&
           answers[next].count == answers[first].count)
      ++next;
    put_number(shapes, static_cast<uint64_t>(answers[first].kind));
    put_number(shapes, answers[first].count);
    put_number(shapes, next - first);
  }
  std::string bytes;
  put_number(bytes, shape_count);
  bytes += shapes;
  for (const answer& each : answers) put_number(bytes, each.picked);
  return bytes;
}

/// False when the bytes are not what packed_answers writes.
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

std::string last_error() { return std::strerror(errno); }

/// False with errno set when not all could be written and synced.
bool write_synced(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return ::fsync(file) == 0;
}

/// The rename itself must reach the disk too. Some file systems cannot sync a folder; that is not an error of ours.
void sync_folder(const std::filesystem::path& folder) {
  const int opened = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;
  ::fsync(opened);
  ::close(opened);
}

trace_or_error read_file(const std::string& name) {
  const int opened = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) {
    if (errno != ENOENT && errno != ENAMETOOLONG) return failure("cannot read \"" + name + "\": " + last_error());
    return failure("there is no file \"" + name.substr(0, 64) + (name.size() > 64 ? "...\"" : "\"") +
                   ", and it is no token either (a token begins with \"" + std::string(token_prefix) + "\")");
  }
  std::string text;
  std::array<char, 65'536> piece;
  ssize_t got = 0;
  while (text.size() <= file_bytes_max) {
    got = ::read(opened, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece.data(), static_cast<size_t>(got));
  }
  const std::string reason = got < 0 ? last_error() : "";
  ::close(opened);
  if (got < 0) return failure("cannot read \"" + name + "\": " + reason);
  if (text.size() > file_bytes_max) return failure("\"" + name + "\": this is no valid trace: it is too large");

  trace_or_error read;
  if (text.starts_with(token_prefix)) {
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
  const std::string head = detail::head_to_json(recorded);
  std::string bytes;
  put_number(bytes, head.size());
  bytes += head;
  bytes += packed_answers(recorded.answers);
  const std::string packed = deflated(bytes);
  return std::string(token_prefix) + to_base64url(checksum(packed) + packed);
}

trace_or_error from_token(std::string_view token) {
  if (!token.starts_with(token_prefix))
    return failure("this is no token: it does not begin with \"" + std::string(token_prefix) + "\"");
  if (token.size() > file_bytes_max) return failure("this token is too large");
  const auto bytes = from_base64url(token.substr(token_prefix.size()));
  constexpr std::string_view damaged = "this token is damaged or cut off; copy it again, whole and on one line";
  if (!bytes || bytes->size() < 4) return failure(std::string(damaged));
  const std::string_view packed = std::string_view(*bytes).substr(4);
  if (checksum(packed) != bytes->substr(0, 4)) return failure(std::string(damaged));

  const auto content = inflated(packed);
  if (!content) return failure("this token is no valid trace: its content cannot be decompressed");
  std::string_view rest = *content;
  const auto head_bytes = take_number(rest);
  if (!head_bytes || *head_bytes > rest.size()) return failure("this token is no valid trace: it ends too early");
  trace_or_error read = detail::head_from_json(rest.substr(0, *head_bytes));
  if (!read.value) return read;
  if (!unpack_answers(rest.substr(*head_bytes), read.value->answers))
    return failure("this token is no valid trace: its answers are malformed");
  return read;
}

std::optional<std::string> write_trace(const trace& recorded, const std::filesystem::path& file) {
  if (recorded.answers.size() > answers_max)
    return "\"" + file.string() + "\": the run has too many choices for a trace";
  const std::filesystem::path temporary = file.string() + ".part" + std::to_string(::getpid());
  const int opened = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (opened < 0) return "cannot write \"" + file.string() + "\": " + last_error();
  bool written = write_synced(opened, to_json(recorded));
  std::string reason = written ? "" : last_error();
  if (::close(opened) != 0 && written) {
    written = false;
    reason = last_error();
  }
  if (written && ::rename(temporary.c_str(), file.c_str()) != 0) {
    written = false;
    reason = last_error();
  }
  if (written) {
    sync_folder(file.parent_path());
    return std::nullopt;
  }
  ::unlink(temporary.c_str());
  return "cannot write \"" + file.string() + "\": " + reason;
}

trace_or_error read_trace(std::string_view file_or_token) {
  if (file_or_token.starts_with(token_prefix)) return from_token(file_or_token);
  return read_file(std::string(file_or_token));
}

}  // namespace heddle::scheduler
