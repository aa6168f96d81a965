// Files that are written whole or not at all, and files that are read up to a size.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::scheduler {

/// Writes the file whole and synced, or not at all: under a name of its own first, which is then renamed. A symbolic link stays one,
/// and the file that it names is written. What is there and is no regular file, such as a device or a pipe, is written as it stands;
/// so is the file that standard output or standard error goes to, behind what is there.
/// Nothing on success, otherwise one line (disk full, no such folder, "-", which might stand for standard output).
std::optional<std::string> write_whole(const std::filesystem::path& file, std::string_view text);

/// One line when a file of this name could not be written; to be asked before the work whose results it is for. Leaves nothing
/// behind, and opens no pipe.
std::optional<std::string> cannot_write(const std::filesystem::path& file);

/// What is in a file, or why it cannot be read: "Is a directory".
struct text_or_reason {
  std::optional<std::string> text;
  std::string reason;
  int wrong = 0;  ///< as errno has it; EFBIG: it has more than may be read
};
/// Of more than bytes_max nothing is kept: a file without an end, such as /dev/zero, is refused.
text_or_reason read_whole(const std::filesystem::path& file, size_t bytes_max);

}  // namespace heddle::scheduler
