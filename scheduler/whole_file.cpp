#include <fcntl.h>
#include <heddle/scheduler/whole_file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <system_error>

namespace heddle::scheduler {
namespace {

std::string refusal(const std::filesystem::path& file, const std::string& reason) {
  return "cannot write \"" + file.string() + "\": " + reason;
}
std::string refusal(const std::filesystem::path& file) { return refusal(file, std::strerror(errno)); }

/// For some programs the name stands for standard output.
std::optional<std::string> ambiguous(const std::filesystem::path& file) {
  if (file != "-") return std::nullopt;
  return refusal(file, "standard output is \"/dev/stdout\", and a file of that name is \"./-\"");
}

bool is_same(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/// Where a file is to be written.
struct place {
  std::filesystem::path path;     ///< behind the symbolic links
  bool stays = false;             ///< nothing may take its place: it is written as it stands
  int descriptor = -1;            ///< that it is open at already: standard output's or standard error's
  std::optional<int> wrong = {};  ///< an errno
};

/// What the last of the links names, whether it is there or not.
std::filesystem::path without_links(std::filesystem::path path) {
  constexpr int links_max = 40;  // as Linux has it
  std::error_code none;
  for (int links = 0; links < links_max && std::filesystem::is_symlink(path, none); ++links) {
    const std::filesystem::path named = std::filesystem::read_symlink(path, none);
    if (none) break;
    path = named.is_absolute() ? named : path.parent_path() / named;
  }
  return path;
}

place place_of(const std::filesystem::path& file) {
  struct stat there{};
  struct stat other{};
  if (::stat(file.c_str(), &there) != 0) {
    if (errno != ENOENT) return {.path = file, .wrong = errno};
    return {.path = without_links(file)};
  }
  if (S_ISDIR(there.st_mode)) return {.path = file, .wrong = EISDIR};
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO})
    if (::fstat(standard, &other) == 0 && is_same(there, other))
      return {.path = file, .stays = true, .descriptor = standard};
  if (!S_ISREG(there.st_mode)) return {.path = file, .stays = true};
  // A link of /proc may say a name that the file has no more.
  std::filesystem::path named = without_links(file);
  if (::stat(named.c_str(), &other) != 0 || !is_same(there, other)) return {.path = file, .stays = true};
  return {.path = std::move(named)};
}

/// False with errno set when not all could be written.
bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

/// The rename itself must reach the disk too. Some file systems cannot sync a folder; that is not an error of ours.
void sync_folder(const std::filesystem::path& folder) {
  const int opened = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;
  ::fsync(opened);
  ::close(opened);
}

std::optional<std::string> write_in_place(const std::filesystem::path& file, const place& at, std::string_view text) {
  if (at.descriptor >= 0) {
    // What was printed before comes before.
    std::cout.flush();
    std::fflush(stdout);
    return write_all(at.descriptor, text) ? std::nullopt : std::optional(refusal(file));
  }
  const int opened = ::open(at.path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (opened < 0) return refusal(file);
  std::optional<std::string> failed;
  if (!write_all(opened, text)) failed = refusal(file);
  if (::close(opened) != 0 && !failed) failed = refusal(file);
  return failed;
}

std::filesystem::path unfinished(const std::filesystem::path& file) {
  return file.string() + ".part" + std::to_string(::getpid());
}

}  // namespace

std::optional<std::string> write_whole(const std::filesystem::path& file, std::string_view text) {
  if (auto wrong = ambiguous(file)) return wrong;
  const place at = place_of(file);
  if (at.wrong) return refusal(file, std::strerror(*at.wrong));
  if (at.stays) return write_in_place(file, at, text);
  const std::filesystem::path temporary = unfinished(at.path);
  const int opened = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (opened < 0) return refusal(file);
  std::optional<std::string> failed;
  if (!write_all(opened, text) || ::fsync(opened) != 0) failed = refusal(file);
  if (::close(opened) != 0 && !failed) failed = refusal(file);
  if (!failed && ::rename(temporary.c_str(), at.path.c_str()) != 0) failed = refusal(file);
  if (failed)
    ::unlink(temporary.c_str());
  else
    sync_folder(at.path.parent_path());
  return failed;
}

std::optional<std::string> cannot_write(const std::filesystem::path& file) {
  if (auto wrong = ambiguous(file)) return wrong;
  const place at = place_of(file);
  if (at.wrong) return refusal(file, std::strerror(*at.wrong));
  if (at.descriptor >= 0) return std::nullopt;
  if (at.stays) return ::access(at.path.c_str(), W_OK) == 0 ? std::nullopt : std::optional(refusal(file));
  // What is there already is written over as a whole, under another name first.
  const std::filesystem::path tried = unfinished(at.path);
  const int opened = ::open(tried.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (opened < 0) return refusal(file);
  ::close(opened);
  ::unlink(tried.c_str());
  return std::nullopt;
}

text_or_reason read_whole(const std::filesystem::path& file, size_t bytes_max) {
  const auto failed = [] { return text_or_reason{.text = {}, .reason = std::strerror(errno), .wrong = errno}; };
  const int opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) return failed();
  std::string text;
  std::array<char, 65'536> piece;
  ssize_t got = 0;
  while (text.size() <= bytes_max) {
    got = ::read(opened, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece.data(), static_cast<size_t>(got));
  }
  const text_or_reason wrong = got < 0 ? failed() : text_or_reason{};
  ::close(opened);
  if (got < 0) return wrong;
  if (text.size() > bytes_max)
    return {.text = {}, .reason = "it is larger than " + std::to_string(bytes_max >> 20) + " MiB", .wrong = EFBIG};
  return {.text = std::move(text), .reason = {}};
}

}  // namespace heddle::scheduler
