#include <heddle/sim/sync/program_files.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace heddle::sim {
namespace {

/// Numbers below are taken by what the process has open beside the program's files, which differs from process to process.
constexpr int first_number = 256;

/// Moves the file there. The old number where that is not possible, -1 with the file closed where that fails.
int renumbered(int file) {
  const int flags = fcntl(file, F_GETFD);
  const int moved = fcntl(file, (flags & FD_CLOEXEC) != 0 ? F_DUPFD_CLOEXEC : F_DUPFD, first_number);
  // Where fewer may be open than begin there, it stays.
  if (moved == -1) return errno == EINVAL ? file : -1;
  close(file);
  return moved;
}

}  // namespace

void program_files::clear() {
  for (const known_file& each : files_) close(each.number);
  files_.clear();
  channels_.clear();
  made_ = {};
  ignores_broken = false;
}

bool program_files::add(file_kind kind, std::span<int> files, channel** made) {
  for (size_t n = 0; n < files.size(); ++n) {
    const int moved = renumbered(files[n]);
    if (moved == -1) {
      for (const int each : files) close(each);
      errno = EMFILE;
      return false;
    }
    files[n] = moved;
  }
  channel& fresh = channels_.emplace_back();
  fresh.kind = kind;
  fresh.number = made_[static_cast<size_t>(kind)]++;
  for (size_t n = 0; n < files.size(); ++n) files_.push_back({files[n], &fresh, static_cast<uint32_t>(n)});
  *made = &fresh;
  return true;
}

int program_files::copy(int file, const end& of) {
  int made = fcntl(file, F_DUPFD, first_number);
  if (made == -1 && errno == EINVAL) made = dup(file);
  if (made != -1) add_copy(made, of);
  return made;
}

program_files::end program_files::find(int file) const {
  for (const auto& each : files_)
    if (each.number == file) return {each.of, each.side};
  return {};
}

bool program_files::forget(int file) {
  const end of = find(file);
  if (!of) return false;
  std::erase_if(files_, [&](const auto& each) { return each.number == file; });
  const bool last = std::none_of(files_.begin(), files_.end(),
                                 [&](const auto& each) { return each.of == of.of && each.side == of.side; });
  if (last) of.of->closed[of.side] = true;
  if (last)
    for (channel& each : channels_)
      std::erase_if(each.interests, [&](const interest& one) { return one.file == file; });
  return last;
}

void program_files::wrote(const end& at, std::span<const std::byte> bytes) {
  channel& of = *at.of;
  if (of.kind == file_kind::event_counter) {
    uint64_t more = 0;
    std::copy_n(bytes.begin(), std::min(bytes.size(), sizeof more), reinterpret_cast<std::byte*>(&more));
    of.count += more;
    return;
  }
  of.to_read[at.writes_to()].insert(of.to_read[at.writes_to()].end(), bytes.begin(), bytes.end());
  if (of.whole) of.message_bytes[at.writes_to()].push_back(bytes.size());
}

void program_files::took(const end& at, size_t bytes) {
  channel& of = *at.of;
  if (of.kind == file_kind::event_counter) {
    of.count = of.counts_down ? of.count - 1 : 0;
    return;
  }
  std::deque<std::byte>& all = of.to_read[at.side];
  std::deque<size_t>& messages = of.message_bytes[at.side];
  // What a read has no room for of a message is gone.
  if (of.whole && !messages.empty()) {
    bytes = messages.front();
    messages.pop_front();
  }
  all.erase(all.begin(), all.begin() + static_cast<ptrdiff_t>(std::min(bytes, all.size())));
}

bool program_files::visit_state(state_reader& to) const {
  const auto all_of = [&](const channel& one) {
    bool more = to.fact(static_cast<uint64_t>(one.kind)) && to.fact(one.count) && to.fact(one.interests.size()) &&
                to.fact(uint64_t{one.closed[0]} << 1 | uint64_t{one.closed[1]});
    for (const interest& each : one.interests)
      more = more && to.fact(static_cast<uint64_t>(each.file)) && to.fact(each.events) && to.fact(each.data);
    for (uint32_t side = 0; side < 2; ++side) {
      more = more && to.fact(one.to_read[side].size());
      for (const std::byte each : one.to_read[side]) more = more && to.fact(static_cast<uint64_t>(each));
      for (const size_t each : one.message_bytes[side]) more = more && to.fact(each);
    }
    return more;
  };
  return to.fact(uint64_t{files_.size()} << 1 | (ignores_broken ? 1u : 0u)) &&
         std::all_of(channels_.begin(), channels_.end(), all_of) &&
         std::all_of(files_.begin(), files_.end(),
                     [&](const known_file& each) { return to.fact(static_cast<uint64_t>(each.number)); });
}

}  // namespace heddle::sim
