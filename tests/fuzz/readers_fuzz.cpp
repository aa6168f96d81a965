// Every file that the command reads: whatever is in it, it is read, or refused in one line. With libFuzzer:
// readers_fuzz CORPUS -max_total_time=600. By itself, it replays the files and folders that it is given.
//
// The first byte of an input says which reader has the rest. Where a checksum guards the content, another byte says that the rest is the content,
// and it is sealed here: no search comes past a checksum by chance.
#include <heddle/scheduler/trace.h>
#include <heddle/tools/fuzz/campaign/journal.h>
#include <heddle/tools/hardware/dump.h>
#include <heddle/tools/litmus/csv.h>
#include <heddle/tools/litmus/progress_table.h>
#include <heddle/tools/litmus/test.h>
#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "../../tools/ptx/fat_binary.h"
#include "../../tools/ptx/module.h"
#include "../../tools/ptx/translate.h"

namespace heddle::tests {
namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "readers_fuzz: %s\n", what);
  std::abort();
}

void require_one_line(const std::string& error) {
  require(!error.empty() && error.find('\n') == std::string::npos, "an error is not one line");
}

void read_back(const scheduler::trace_or_error& read) {
  if (!read.value) return require_one_line(read.error);
  const auto token = scheduler::from_token(scheduler::to_token(*read.value));
  require(token.value == read.value, "the token of a trace is not that trace");
  const auto file = scheduler::from_json(scheduler::to_json(*read.value));
  require(file.value == read.value, "the file of a trace is not that trace");
}

std::string base64url(std::string_view bytes) {
  constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  uint32_t held = 0;
  int bits = 0;
  for (const char each : bytes) {
    held = held << 8 | static_cast<unsigned char>(each);
    for (bits += 8; bits >= 6; bits -= 6) text += letters[held >> (bits - 6) & 63];
  }
  if (bits > 0) text += letters[held << (6 - bits) & 63];
  return text;
}

/// `begin`, "heddle1." or "heddle2.", and the checksum and the bytes.
std::string sealed_token(std::string_view packed, std::string_view begin = "heddle1.") {
  const auto sum = crc32_z(0, reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(sum >> shift & 255);
  return std::string(begin) + base64url(bytes.append(packed));
}

std::string deflated(std::string_view bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string packed(size, '\0');
  compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
            static_cast<uLong>(bytes.size()), Z_BEST_SPEED);
  packed.resize(size);
  return packed;
}

/// Each line with its checksum in front.
std::string sealed_lines(std::string_view text) {
  std::string sealed;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    char sum[16];
    std::snprintf(sum, sizeof sum, "%08lx ",
                  static_cast<unsigned long>(crc32_z(0, reinterpret_cast<const Bytef*>(line.data()), line.size())));
    sealed.append(sum).append(line);
    if (line.size() == text.size()) break;
    sealed += '\n';
    text.remove_prefix(line.size() + 1);
  }
  return sealed;
}

void read_journal_of(std::string_view text) {
  tools::campaign_record record;
  size_t whole = 0;
  if (const auto error = tools::read_journal(text, "campaign.jsonl", record, whole))
    require_one_line(*error);
  else
    require(whole <= text.size() && whole > 0, "more of a journal is whole than there is");
}

void read_dump_of(std::string_view text) {
  const tools::dump_or_error read = tools::dump_from_json(text);
  if (!read.value) return require_one_line(read.error);
  require(tools::dump_from_json(tools::to_json(*read.value)).value == read.value,
          "the file of a dump is not that dump");
}

void read_table(std::string_view text) {
  try {
    const litmus::csv_table table("table.csv", text);
    if (litmus::is_progress_table(table))
      litmus::progress_tests_of(table);
    else
      litmus::tests_of(table);
  } catch (const std::invalid_argument& error) {
    require_one_line(error.what());
  }
}

void translate_ptx(std::string_view text) {
  try {
    if (ptx::is_binary(text)) (void)ptx::ptx_in(text);
    (void)ptx::linked_name_in(text);
  } catch (const ptx::error&) {
  }
  const ptx::translation made = ptx::translate(text, {"a.ptx", ""});
  for (const std::string& error : made.errors) require_one_line(error);
}

void translate_inline_ptx(std::string_view text) {
  const ptx::translation made = ptx::translate_asm(text, {{"a", "b32"}, {"b", "b64"}}, 1);
  for (const std::string& error : made.errors) require_one_line(error);
}

void read_one(char reader, std::string_view text) {
  switch (reader) {
    case 't':
      return read_back(scheduler::from_token(text));
    case 'z':
      return read_back(scheduler::from_token(sealed_token(text)));
    case 'p':
      return read_back(scheduler::from_token(sealed_token(deflated(text))));
    case 'k':
      return read_back(scheduler::from_token(sealed_token(text, "heddle2.")));
    case 'j':
      return read_back(scheduler::from_json(text));
    case 'd':
      return read_dump_of(text);
    case 'l':
      return read_journal_of(text);
    case 's':
      return read_journal_of(sealed_lines(text));
    case 'c':
      return read_table(text);
    case 'x':
      return translate_ptx(text);
    case 'a':
      return translate_inline_ptx(text);
    default:
      return;
  }
}

}  // namespace
}  // namespace heddle::tests

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  heddle::tests::read_one(static_cast<char>(*data), {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
