#include <fcntl.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/version.h>
#include <heddle/tools/verify/search_store.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;

// A file is: the first line, how many bytes the header has, the header, what the search has put there, and a checksum of all before.
constexpr std::string_view first_line = "heddle search 1\n";
constexpr size_t header_bytes_most = size_t{1} << 26;
constexpr size_t checksum_bytes = sizeof(uint64_t);

std::string because(int error) { return std::string(": ") + std::strerror(error); }

json to_json(const search_stage& stage) {
  return {{"behind_weighed", stage.behind_weighed},
          {"with_points", stage.with_points},
          {"with_frames", stage.with_frames},
          {"weighed_complete", stage.weighed_complete},
          {"states", stage.states},
          {"transitions", stage.transitions},
          {"executions", stage.executions},
          {"runs", stage.runs},
          {"depth_max", stage.depth_max},
          {"seconds", stage.seconds},
          {"left_out", stage.left_out.data()}};
}

search_stage stage_of(const json& told) {
  search_stage made = {.behind_weighed = told.at("behind_weighed"),
                       .with_points = told.at("with_points"),
                       .with_frames = told.at("with_frames"),
                       .weighed_complete = told.at("weighed_complete"),
                       .states = told.at("states"),
                       .transitions = told.at("transitions"),
                       .executions = told.at("executions"),
                       .runs = told.at("runs"),
                       .depth_max = told.at("depth_max"),
                       .seconds = told.at("seconds"),
                       .left_out = {}};
  told.at("left_out").get<std::string>().copy(made.left_out.data(), made.left_out.size() - 1);
  return made;
}

saved_header header_from(const json& told) {
  saved_header made = {.scenario = told.at("scenario"), .settings = told.at("settings"), .of = {}};
  made.of.stage = stage_of(told.at("stage"));
  made.of.layout = {
      .string_bytes = told.at("string_bytes"), .pointers = told.at("pointers"), .stack_bytes = told.at("stack_bytes")};
  made.of.marks = {.libraries = told.at("libraries"),
                   .mappings = told.at("mappings"),
                   .heap = told.at("heap"),
                   .stack = told.at("stack")};
  return made;
}

/// Whether the file ends with the checksum of all before.
bool is_sound(const std::string& file, uint64_t size_bytes) {
  saved_in all;
  const uint64_t summed = size_bytes - checksum_bytes;
  if (!all.open(file.c_str(), 0, summed)) return false;
  std::array<char, 4096> part;
  while (all.left_bytes() != 0)
    if (!all.take(part.data(), std::min<uint64_t>(part.size(), all.left_bytes()))) return false;
  saved_in last;
  uint64_t checksum = 0;
  return last.open(file.c_str(), summed, checksum_bytes) && last.take(&checksum, checksum_bytes) &&
         checksum == all.checksum();
}

}  // namespace

// -- reading

bool saved_in::open(const char* name, uint64_t from, uint64_t size_bytes) {
  file_ = ::open(name, O_RDONLY | O_CLOEXEC);
  left_bytes_ = unread_bytes_ = size_bytes;
  return file_ >= 0 && lseek(file_, static_cast<off_t>(from), SEEK_SET) >= 0;
}

saved_in::~saved_in() {
  if (file_ >= 0) ::close(file_);
}

bool saved_in::take(void* to, size_t size_bytes) {
  if (size_bytes > left_bytes_) return false;
  auto* into = static_cast<char*>(to);
  while (size_bytes != 0) {
    if (at_ == end_) {
      const size_t wanted = std::min<uint64_t>(buffer_.size(), unread_bytes_);
      for (end_ = 0; end_ < wanted;) {
        const ssize_t got = read(file_, buffer_.data() + end_, wanted - end_);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        end_ += static_cast<size_t>(got);
      }
      at_ = 0;
      unread_bytes_ -= wanted;
      sum_.add(std::string_view(buffer_.data(), end_));
    }
    const size_t part = std::min(size_bytes, end_ - at_);
    std::memcpy(into, buffer_.data() + at_, part);
    at_ += part;
    into += part;
    size_bytes -= part;
    left_bytes_ -= part;
  }
  return true;
}

header_or_error read_saved(const std::string& file) {
  header_or_error made;
  struct stat about = {};
  const auto wrong = [&](const std::string& why) {
    made.error = "--resume " + file + ": " + why;
    return made;
  };
  if (::stat(file.c_str(), &about) != 0) return wrong("it cannot be read" + because(errno));
  const auto size_bytes = static_cast<uint64_t>(about.st_size);
  saved_in from;
  std::string line(first_line.size(), '\0');
  uint64_t header_bytes = 0;
  const bool begins = S_ISREG(about.st_mode) && size_bytes >= line.size() + sizeof header_bytes + checksum_bytes &&
                      from.open(file.c_str(), 0, size_bytes - checksum_bytes) && from.take(line.data(), line.size());
  if (!begins || !line.starts_with(first_line.substr(0, first_line.find('1'))))
    return wrong("it is no search that heddle verify --save has saved");
  if (line != first_line) return wrong("it was saved by another version of heddle; begin again by --save");
  if (!is_sound(file, size_bytes)) return wrong("it is damaged or cut short; begin again by --save");
  const bool has_header =
      from.number(header_bytes) && header_bytes <= std::min<uint64_t>(header_bytes_most, from.left_bytes());
  std::string header(has_header ? header_bytes : 0, '\0');
  if (!has_header || !from.take(header.data(), header.size())) return wrong("it is damaged; begin again by --save");
  try {
    const json told = json::parse(header);
    if (told.at("heddle") != version())
      return wrong("it was saved by another version of heddle; begin again by --save");
    made.value = header_from(told);
    if (told.at("build") != build_id() || made.value.of.marks.libraries != marks_of_this_process().libraries)
      return wrong("it is of another build of this program or of a library of it; begin again by --save");
  } catch (const std::exception&) {
    return wrong("it is damaged; begin again by --save");
  }
  made.value.of.searched_at = line.size() + sizeof header_bytes + header_bytes;
  made.value.of.searched_bytes = from.left_bytes();
  return made;
}

// -- writing

void saved_out::open() {
  is_open_ = true;
  part_ = name_ + (".part" + std::to_string(::getpid()));
  file_ = ::open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) failed_ = errno;
  const std::string header = header_();
  put(first_line.data(), first_line.size());
  number(header.size());
  put(header.data(), header.size());
}

saved_out::~saved_out() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(part_.c_str());
}

void saved_out::put(const void* from, size_t size_bytes) {
  if (!is_open_) open();
  const auto* first = static_cast<const char*>(from);
  while (size_bytes != 0) {
    const size_t part = std::min(size_bytes, buffer_.size() - used_);
    std::memcpy(buffer_.data() + used_, first, part);
    used_ += part;
    first += part;
    size_bytes -= part;
    if (used_ == buffer_.size()) flush();
  }
}

void saved_out::flush() {
  if (used_ == 0) return;
  sum_.add(std::string_view(buffer_.data(), used_));
  write_out(buffer_.data(), used_);
  used_ = 0;
}

void saved_out::write_out(const char* from, size_t size_bytes) {
  while (size_bytes != 0 && failed_ == 0) {
    const ssize_t written = ::write(file_, from, size_bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      failed_ = errno;
      return;
    }
    from += written;
    size_bytes -= static_cast<size_t>(written);
  }
}

std::string saved_out::finish() {
  flush();
  const uint64_t checksum = sum_.value();
  write_out(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  if (failed_ == 0 && ::fsync(file_) != 0) failed_ = errno;
  if (file_ >= 0 && ::close(file_) != 0 && failed_ == 0) failed_ = errno;
  if (failed_ == 0 && ::rename(part_.c_str(), name_) != 0) failed_ = errno;
  if (failed_ != 0 && file_ >= 0) ::unlink(part_.c_str());
  file_ = -1;
  return failed_ == 0 ? "" : "cannot write \"" + std::string(name_) + "\"" + because(failed_);
}

std::string header_of(const std::string& scenario, const std::vector<std::string>& settings, const search_request& of) {
  return json_line(json{{"heddle", version()},
                        {"build", build_id()},
                        {"scenario", scenario},
                        {"settings", settings},
                        {"stage", to_json(of.stage)},
                        {"string_bytes", of.layout.string_bytes},
                        {"pointers", of.layout.pointers},
                        {"stack_bytes", of.layout.stack_bytes},
                        {"libraries", of.marks.libraries},
                        {"mappings", of.marks.mappings},
                        {"heap", of.marks.heap},
                        {"stack", of.marks.stack}});
}

}  // namespace heddle::tools
