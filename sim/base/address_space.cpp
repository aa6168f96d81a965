#include <heddle/scheduler/own_errors.h>
#include <heddle/sim/base/address_space.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace heddle::sim {
namespace {

/// What the process has mapped; 0 where the system does not tell.
size_t mapped_bytes(size_t page_bytes) {
  std::FILE* const told = std::fopen("/proc/self/statm", "r");
  if (told == nullptr) return 0;
  unsigned long pages = 0;
  if (std::fscanf(told, "%lu", &pages) != 1) pages = 0;
  std::fclose(told);
  return pages * page_bytes;
}

}  // namespace

size_t share_of_address_space(size_t wanted, size_t parts) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t mapped = mapped_bytes(page_bytes);
  const size_t left = limit.rlim_cur > mapped ? limit.rlim_cur - mapped : 0;
  return std::min(wanted, std::max(left / parts / page_bytes, size_t{1}) * page_bytes);
}

void no_address_space(size_t bytes, const char* what) {
  dprintf(scheduler::own_errors, "heddle: cannot reserve %zu KiB of address space for %s: %s; %s\n", bytes >> 10, what,
          std::strerror(errno), more_address_space);
  std::exit(3);
}

}  // namespace heddle::sim
