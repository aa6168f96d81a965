// The host's files as clients see them: handles of a table, and paths below one directory.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <heddle/rpc/service/request.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace heddle::rpc {

/// Which files clients may reach.
enum class file_access : uint8_t {
  none,       ///< only the standard streams
  beneath,    ///< those below a directory: no path and no symbolic link leads out of it
  everywhere  ///< all that the program may reach; relative paths begin at the directory
};

/// Holds a stream as flockfile(3) does.
class file_lock {
 public:
  explicit file_lock(FILE* file) : file_(file) { flockfile(file_); }
  file_lock(const file_lock&) = delete;
  file_lock& operator=(const file_lock&) = delete;
  ~file_lock() { funlockfile(file_); }

 private:
  FILE* file_;
};

/// Writes out what a stream has buffered, but for one that a thread is at work on.
inline void flush_unless_in_use(FILE* file) {
  if (ftrylockfile(file) != 0) return;
  fflush_unlocked(file);
  funlockfile(file);
}

/// The table of open files. Any thread may call; the table is not locked while a file is read or written. Nothing is buffered: what one
/// handle has written is what another reads, and what counts for the limit on a file's size.
class file_table {
 public:
  using stream = std::shared_ptr<FILE>;

  /// At most `most` files are open at a time, the standard streams not among them.
  file_table(file_access access, std::string directory, uint32_t most)
      : access_(access), directory_(std::move(directory)), entries_(first_file + most) {
    const auto keep_open = [](FILE*) {};
    entries_[0].open = stream(stdin, keep_open);
    entries_[1].open = stream(stdout, keep_open);
    entries_[2].open = stream(stderr, keep_open);
  }

  /// The file of a handle; null when there is none.
  stream find(uint64_t handle) const {
    const std::scoped_lock guard(lock_);
    const auto index = static_cast<uint32_t>(handle);
    if (index >= entries_.size() || entries_[index].generation != handle >> 32) return nullptr;
    return entries_[index].open;
  }

  service_answer open(const char* path, const char* mode) {
    const std::optional<int> flags = flags_of(mode);
    if (!flags) return {service_status::malformed};
    if (access_ == file_access::none) return {service_status::refused};
    const std::optional<uint32_t> index = reserve();
    if (!index) return {service_status::no_memory};
    const int descriptor = open_file(path, *flags);
    FILE* const opened = descriptor < 0 ? nullptr : fdopen(descriptor, plain_mode(mode).c_str());
    if (opened == nullptr) {
      const service_answer failed = refusal();
      if (descriptor >= 0) ::close(descriptor);
      const std::scoped_lock guard(lock_);
      entries_[*index].reserved = false;
      return failed;
    }
    setvbuf(opened, nullptr, _IONBF, 0);
    const std::scoped_lock guard(lock_);
    entry& mine = entries_[*index];
    mine.open = stream(opened, [](FILE* file) { fclose(file); });
    mine.reserved = false;
    return {service_status::ok, 0, uint64_t{mine.generation} << 32 | *index};
  }

  service_answer close(uint64_t handle) {
    stream file;
    {
      const std::scoped_lock guard(lock_);
      const auto index = static_cast<uint32_t>(handle);
      if (index < first_file || index >= entries_.size() || entries_[index].generation != handle >> 32 ||
          entries_[index].open == nullptr)
        return {service_status::bad_handle};
      file.swap(entries_[index].open);
      // A handle that is used once more names nothing, also when the entry has been given away again.
      ++entries_[index].generation;
    }
    // What is still buffered may not fit on the disk. A thread that uses the file at this moment closes it in the end.
    if (fflush(file.get()) != 0) return {service_status::failed, errno};
    return {service_status::ok};
  }

  /// Calls `write()`, which writes so many bytes where the stream stands, or at the file's end when it appends, if that leaves the
  /// file within `most_bytes`; EFBIG otherwise. Writes of one file through several handles take turns. What has no size, such as a
  /// pipe, may always be written, and waits for no other.
  template <typename Write>
  service_answer grow(FILE* file, uint64_t size_bytes, uint64_t most_bytes, Write write) const {
    struct stat now{};
    if (fstat(fileno(file), &now) != 0 || !S_ISREG(now.st_mode)) return write();
    const std::scoped_lock guard(growing_[(now.st_dev * 31 + now.st_ino) % growing_.size()]);
    // Again, now that no other handle writes.
    const off_t position = ftello(file);
    if (position < 0 || fstat(fileno(file), &now) != 0) return {service_status::failed, errno};
    auto from = static_cast<uint64_t>(position);
    const int flags = fcntl(fileno(file), F_GETFL);
    if (flags >= 0 && (flags & O_APPEND) != 0) from = std::max(from, static_cast<uint64_t>(now.st_size));
    if (size_bytes > most_bytes || from > most_bytes - size_bytes) return {service_status::failed, EFBIG};
    return write();
  }

  service_answer remove(const char* path) const {
    return in_parent_of(path, [](int directory, const char* name) { return unlinkat(directory, name, 0); });
  }

  service_answer rename(const char* from, const char* to) const {
    return in_parent_of(from, [&](int from_directory, const char* from_name) {
      int renamed = -1;
      const service_answer target = in_parent_of(to, [&](int to_directory, const char* to_name) {
        return renamed = renameat(from_directory, from_name, to_directory, to_name);
      });
      if (!target.ok() && target.error != 0) errno = target.error;
      return renamed;
    });
  }

  /// Files that are open now, without the standard streams.
  uint32_t open_count() const {
    const std::scoped_lock guard(lock_);
    uint32_t count = 0;
    for (size_t n = first_file; n < entries_.size(); ++n) count += entries_[n].open != nullptr ? 1 : 0;
    return count;
  }

 private:
  static constexpr uint32_t first_file = 3;

  struct entry {
    stream open;
    uint32_t generation = 0;
    bool reserved = false;
  };

  /// An entry that no other open gets.
  std::optional<uint32_t> reserve() {
    const std::scoped_lock guard(lock_);
    for (size_t n = first_file; n < entries_.size(); ++n) {
      if (entries_[n].open != nullptr || entries_[n].reserved) continue;
      entries_[n].reserved = true;
      return static_cast<uint32_t>(n);
    }
    return std::nullopt;
  }

  /// The flags of open(2) that a mode of fopen(3) asks for; nullopt when it is none.
  static std::optional<int> flags_of(const char* mode) {
    if (*mode != 'r' && *mode != 'w' && *mode != 'a') return std::nullopt;
    bool updates = false;
    int more = 0;
    for (const char* next = mode + 1; *next != 0; ++next) {
      if (*next == '+' && !updates)
        updates = true;
      else if (*next == 'x' && *mode != 'r' && more == 0)
        more = O_EXCL;
      else if (*next != 'b')
        return std::nullopt;
    }
    const int access = updates ? O_RDWR : (*mode == 'r' ? O_RDONLY : O_WRONLY);
    if (*mode == 'r') return access;
    return access | O_CREAT | more | (*mode == 'w' ? O_TRUNC : O_APPEND);
  }
  /// What fdopen needs of it.
  static std::string plain_mode(const char* mode) {
    return std::string(1, *mode) + (strchr(mode, '+') != nullptr ? "+" : "");
  }

  static service_answer refusal() {
    // EXDEV: the path would leave the directory (openat2(2)).
    if (errno == EXDEV) return {service_status::refused};
    return {service_status::failed, errno};
  }

  /// As open_path, without waiting: for a pipe that is open at one end alone open(2) would wait for ever. Below the directory there
  /// are files for clients, and nothing else that can be read from or written to.
  int open_file(const char* path, int flags) const {
    const int opened = open_path(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    struct stat found{};
    if (opened < 0 || access_ == file_access::everywhere) return opened;
    if (fstat(opened, &found) == 0 && S_ISREG(found.st_mode)) return opened;
    ::close(opened);
    // As where a path leads out of the directory.
    errno = EXDEV;
    return -1;
  }

  /// A descriptor, or -1 with errno.
  int open_path(const char* path, int flags, mode_t mode) const {
    if (access_ == file_access::everywhere && *path == '/') return ::open(path, flags, mode);
    const int root = ::open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) return -1;
    int opened = -1;
    if (access_ == file_access::everywhere) {
      opened = openat(root, path, flags, mode);
    } else {
#ifdef __linux__
      open_how how{};
      how.flags = static_cast<uint64_t>(flags);
      how.mode = (flags & O_CREAT) != 0 ? mode : 0;
      how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
      opened = static_cast<int>(syscall(SYS_openat2, root, path, &how, sizeof how));
#else
      errno = ENOSYS;
#endif
    }
    const int why = errno;
    ::close(root);
    errno = why;
    return opened;
  }

  /// Calls `act(directory, name)` for the last name of a path; it answers as a system call does.
  template <typename Act>
  service_answer in_parent_of(const char* path, Act act) const {
    if (access_ == file_access::none) return {service_status::refused};
    const std::string whole(path);
    const size_t slash = whole.rfind('/');
    const std::string parent = slash == std::string::npos ? "." : (slash == 0 ? "/" : whole.substr(0, slash));
    const std::string name = slash == std::string::npos ? whole : whole.substr(slash + 1);
    const int directory = open_path(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (directory < 0) return refusal();
    const int done = act(directory, name.c_str());
    const service_answer answer = done == 0 ? service_answer{service_status::ok} : refusal();
    ::close(directory);
    return answer;
  }

  file_access access_;
  std::string directory_;
  mutable std::mutex lock_;
  std::vector<entry> entries_;
  mutable std::array<std::mutex, 16> growing_;  ///< by file
};

}  // namespace heddle::rpc
