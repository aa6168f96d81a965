#include <heddle/sim/verify/forecast.h>
#include <heddle/sim/verify/random_probe.h>
#include <heddle/sim/verify/search_bounds.h>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>

namespace heddle::sim {
namespace {

// More say little more: the states of one run have much in common.
constexpr uint64_t most_runs = 64;
constexpr double most_seconds = 1;
constexpr double patience_seconds = 3;

}  // namespace

void forecaster::be_the_copy(int told) const {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(ends_a_copy, SIG_DFL);
  if (options_.set_apart) options_.set_apart();
  const auto start = std::chrono::steady_clock::now();
  scheduler::choice_source choices;
  std::array<uint64_t, 3> counts = {};
  for (uint64_t seed = 1; seed <= most_runs && seconds_since(start) < most_seconds; ++seed) {
    if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed) && seed > 1) break;
    random_probe made(seed);
    deciding_.begin_to_probe(made);
    choices.begin(deciding_, 0);
    run_(choices);
    ++counts[0];
    counts[1] += made.met();
    counts[2] += made.known();
  }
  _exit(write(told, counts.data(), sizeof counts) == sizeof counts ? 0 : 1);
}

bool forecaster::wait_for(pid_t copy, int told) const {
  const auto start = std::chrono::steady_clock::now();
  pollfd line = {.fd = told, .events = POLLIN, .revents = 0};
  constexpr int wait_ms = 20;
  while (poll(&line, 1, wait_ms) <= 0) {
    const bool stops = options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
    if (stops || seconds_since(start) > patience_seconds) {
      kill(copy, ends_a_copy);
      return false;
    }
  }
  return true;
}

// Capture and recapture: of what is met at random, as large a part is known as of all (Chapman, 1951; of state spaces: Pelanek and Simecek, "Estimating State
// Space Parameters", PDMC 2008). States near the beginning are met more often than deep ones, which a search depth first knows sooner: while little is known,
// too few are forecast.
void forecaster::make(search_result& so_far) const {
  std::array<int, 2> ends = {};
  if (pipe(ends.data()) != 0) return;
  const uint64_t states = known_.count();
  const pid_t copy = fork();
  if (copy == 0) be_the_copy(ends[1]);
  close(ends[1]);
  std::array<uint64_t, 3> counts = {};
  const bool told = copy > 0 && wait_for(copy, ends[0]) && read(ends[0], counts.data(), sizeof counts) == sizeof counts;
  close(ends[0]);
  int how = 0;
  if (copy > 0) waitpid(copy, &how, 0);
  if (told && counts[1] != 0)
    so_far.forecast = {.runs = counts[0], .met = counts[1], .known = counts[2], .states_then = states};
}

}  // namespace heddle::sim
