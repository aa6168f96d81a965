// On which processors of the host the threads that serve run, and from which of its memories they and their clients are served.
#pragma once

#include <errno.h>
#include <heddle/rpc/result.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace heddle::rpc {

inline constexpr int32_t any_node = -1;

/// By default the system chooses.
struct thread_placement {
  std::vector<uint32_t> processors = {};  ///< thread n runs on the n-th of these, in turns
  /// Threads run on the processors of this NUMA node, or on those of `processors`, and memory that is allocated for them is taken there.
  int32_t numa_node = any_node;

  bool is_anywhere() const { return processors.empty() && numa_node == any_node; }
};

namespace detail {

inline error wrong_placement(const char* what, const std::string& value, const std::string& why) {
  return error{"placement", what, value, why};
}

inline std::string list_of(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (const uint32_t number : numbers) text.append(text.empty() ? "" : ", ").append(std::to_string(number));
  return text;
}

/// "0-3,8", as Linux writes sets of processors. (Documentation/admin-guide/cputopology.rst.)
inline std::vector<uint32_t> parsed_processors(const std::string& list) {
  std::vector<uint32_t> all;
  for (size_t at = 0; at < list.size();) {
    size_t end = 0;
    const auto first = static_cast<uint32_t>(std::stoul(list.substr(at), &end));
    at += end;
    uint32_t last = first;
    if (at < list.size() && list[at] == '-') {
      last = static_cast<uint32_t>(std::stoul(list.substr(++at), &end));
      at += end;
    }
    for (uint32_t n = first; n <= last; ++n) all.push_back(n);
    ++at;
  }
  return all;
}

}  // namespace detail

/// The processors on which the calling thread may run.
inline result<std::vector<uint32_t>> own_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    return detail::wrong_placement("sched_getaffinity", "this thread", strerror(errno));
  std::vector<uint32_t> all;
  for (uint32_t n = 0; n < CPU_SETSIZE; ++n)
    if (CPU_ISSET(n, &set)) all.push_back(n);
  return all;
}

/// Those of a NUMA node. An error where there is no such node, or the system does not say.
inline result<std::vector<uint32_t>> processors_of_node(int32_t node) {
  std::ifstream from("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
  std::string list;
  if (node < 0 || !std::getline(from, list))
    return detail::wrong_placement("numa_node", std::to_string(node), "this computer names no such node");
  return detail::parsed_processors(list);
}

/// Has the calling thread run on these processors alone.
inline result<void> run_on(const std::vector<uint32_t>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const uint32_t n : processors) {
    if (n >= CPU_SETSIZE) return detail::wrong_placement("processors", std::to_string(n), "there is no such processor");
    CPU_SET(n, &set);
  }
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    return detail::wrong_placement("processors", detail::list_of(processors), strerror(errno));
  return {};
}

/// Where thread number `thread` runs; nothing where the system chooses. An error where that is not among the processors that the calling
/// thread may use.
inline result<std::vector<uint32_t>> processors_of(const thread_placement& placement, uint32_t thread) {
  if (placement.is_anywhere()) return std::vector<uint32_t>{};
  result<std::vector<uint32_t>> own = own_processors();
  if (!own) return own.why();
  std::vector<uint32_t> wanted;
  if (!placement.processors.empty()) {
    wanted = {placement.processors[thread % placement.processors.size()]};
  } else {
    result<std::vector<uint32_t>> of_node = processors_of_node(placement.numa_node);
    if (!of_node) return of_node.why();
    wanted = std::move(of_node.value());
  }
  std::vector<uint32_t> both;
  for (const uint32_t n : wanted)
    if (std::find(own.value().begin(), own.value().end(), n) != own.value().end()) both.push_back(n);
  if (both.empty())
    return detail::wrong_placement("processors", detail::list_of(wanted),
                                   "this process may run on " + detail::list_of(own.value()));
  return both;
}

/// Whether each of `threads` threads can run where it is to.
inline result<void> check_placement(const thread_placement& placement, uint32_t threads) {
  if (placement.numa_node != any_node) {
    const result<std::vector<uint32_t>> of_node = processors_of_node(placement.numa_node);
    if (!of_node) return of_node.why();
  }
  const auto different = static_cast<uint32_t>(std::max<size_t>(placement.processors.size(), 1));
  for (uint32_t thread = 0; thread < std::min(threads, different); ++thread) {
    const result<std::vector<uint32_t>> found = processors_of(placement, thread);
    if (!found) return found.why();
  }
  return {};
}

/// While it lives, the calling thread runs where thread `thread` of the placement does: what it writes first lies in memory there. (Linux gives
/// a page to the node whose processor touches it first; Documentation/admin-guide/mm/numa_memory_policy.rst.) A placement that cannot be is
/// for check_placement() to tell; here the thread stays where it is.
class placed {
 public:
  explicit placed(const thread_placement& placement, uint32_t thread = 0) {
    if (placement.is_anywhere()) return;
    result<std::vector<uint32_t>> before = own_processors();
    result<std::vector<uint32_t>> here = processors_of(placement, thread);
    if (before && here && run_on(here.value())) before_ = std::move(before.value());
  }
  placed(const placed&) = delete;
  placed& operator=(const placed&) = delete;
  ~placed() {
    if (!before_.empty()) (void)run_on(before_);
  }

 private:
  std::vector<uint32_t> before_;
};

}  // namespace heddle::rpc
