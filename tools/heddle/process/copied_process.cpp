#include <heddle/scheduler/own_errors.h>
#include <heddle/tools/process/copied_process.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/process/kept_output.h>
#include <heddle/tools/process/seconds_text.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <thread>
#include <utility>

namespace heddle::tools {
namespace {

using asks = sim::watched_run::asks;

copy_page* here = nullptr;
int explanations = 0;  // that are under way

void write_all(int socket, const char* from, size_t size) {
  while (size > 0) {
    const ssize_t written = ::send(socket, from, size, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      if (here != nullptr) _exit(0);  // the parent has gone
      return;
    }
    from += written;
    size -= static_cast<size_t>(written);
  }
}

void read_all(int socket, char* to, size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(socket, to, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) _exit(0);
    to += got;
    size -= static_cast<size_t>(got);
  }
}

void send_text(int socket, const std::string& text) {
  const uint64_t size = text.size();
  std::string whole(reinterpret_cast<const char*>(&size), sizeof size);
  whole += text;
  write_all(socket, whole.data(), whole.size());
}

[[noreturn]] void be_copy(copy_page* page, int socket, pid_t parent,
                          const std::function<void(const message_line&)>& work) {
  // Whatever becomes of the parent, its copies do not outlive it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  close_files_of_the_parent();
  here = page;
  // The parent decides what an interrupt means.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
  sim::be_watched(&page->watched);
  int status = 0;
  try {
    work(message_line(socket));
  } catch (const std::exception& error) {
    dprintf(scheduler::own_errors, "heddle: %s\n", error.what());
    status = 3;
  }
  std::cout.flush();
  std::fflush(nullptr);
  _exit(status);  // not exit(): what the parent set up is not the copy's to tear down
}

std::string signal_name(int number) {
  const char* const name = sigabbrev_np(number);
  return name == nullptr ? "signal " + std::to_string(number) : std::string("SIG") + name;
}

}  // namespace

care& care_of_runs() {
  static care all;
  return all;
}

copy_page* this_copy() { return here; }

void be_no_copy() {
  here = nullptr;
  sim::be_watched(nullptr);
}

run_under_way::run_under_way(const scenario& tested, uint64_t seed) {
  // Asking how much there is takes as long as a short run.
  constexpr uint64_t often = 256;
  static thread_local uint64_t runs = 0;  // workers may be threads
  if (++runs % often == 0) kept_output::bound();
  if (here == nullptr) return;
  if (explanations == 0) {
    here->tested.store(&tested, std::memory_order_relaxed);
    here->seed.store(seed, std::memory_order_relaxed);
  }
  // Pairs with the acquire in copied_process::look and how_it_ended.
  here->watched.runs.store(here->watched.runs.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

explaining::explaining() {
  if (++explanations == 1 && here != nullptr) here->explains.store(true, std::memory_order_relaxed);
}

explaining::~explaining() {
  if (--explanations == 0 && here != nullptr) here->explains.store(false, std::memory_order_relaxed);
}

run_under_way::~run_under_way() {
  if (here == nullptr) return;
  here->watched.runs.store(here->watched.runs.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void message_line::send(const std::string& text) const {
  // What programs have printed comes out first: with its answer the parent may end the copy.
  std::cout.flush();
  std::fflush(stdout);
  send_text(socket_, text);
}

std::string message_line::receive() const {
  uint64_t size = 0;
  read_all(socket_, reinterpret_cast<char*>(&size), sizeof size);
  std::string text(size, '\0');
  read_all(socket_, text.data(), size);
  return text;
}

copied_process::copied_process(const std::function<void(const message_line&)>& work, options asked) {
  page_bytes_ = sizeof(copy_page) + asked.answers_logged * sizeof(scheduler::answer);
  void* const mapped =
      mmap(nullptr, page_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  int ends[2] = {-1, -1};
  if (mapped == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    error_ = std::string("cannot start a process: ") + std::strerror(errno);
    if (mapped != MAP_FAILED) munmap(mapped, page_bytes_);
    over_ = reaped_ = true;
    return;
  }
  page_ = new (mapped) copy_page;
  page_->answers_max = asked.answers_logged;
  page_->watched.survives.store(asked.survives_damage, std::memory_order_relaxed);
  seconds_to_stop_ = asked.seconds_to_stop;
  seeds_come_once_ = asked.seeds_come_once;
  stood_still_ = asked.stood_still;
  share_interrupt_flag();
  std::cout.flush();
  std::fflush(nullptr);  // else the copy would print this process's buffer again
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[0]);
    be_copy(page_, ends[1], parent, work);
  }
  close(ends[1]);
  socket_ = ends[0];
  if (pid_ < 0) {
    error_ = std::string("cannot start a process: ") + std::strerror(errno);
    over_ = reaped_ = true;
    return;
  }
  fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) | O_NONBLOCK);
  close_in_copies(socket_);
}

copied_process::~copied_process() {
  if (!reaped_) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (socket_ >= 0) {
    forget_file(socket_);
    close(socket_);
  }
  if (page_ != nullptr) munmap(page_, page_bytes_);
}

void copied_process::send(const std::string& text) {
  if (over_) return;
  // It waits for this: it takes all of it.
  fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) & ~O_NONBLOCK);
  send_text(socket_, text);
  fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) | O_NONBLOCK);
}

std::optional<std::string> copied_process::receive() {
  if (socket_ < 0) return std::nullopt;
  char part[65536];
  while (true) {
    uint64_t size = 0;
    if (received_.size() >= sizeof size) {
      std::memcpy(&size, received_.data(), sizeof size);
      if (received_.size() - sizeof size >= size) {
        std::string text = received_.substr(sizeof size, size);
        received_.erase(0, sizeof size + size);
        return text;
      }
    }
    const ssize_t got = ::recv(socket_, part, sizeof part, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    received_.append(part, static_cast<size_t>(got));
  }
}

bool copied_process::has_ended() {
  if (over_) return true;
  const pid_t ended = waitpid(pid_, &status_, WNOHANG);
  if (ended == pid_ || (ended < 0 && errno == ECHILD)) over_ = reaped_ = true;
  return over_;
}

void copied_process::ask(asks what, bool insists) {
  page_->watched.insists.store(insists, std::memory_order_relaxed);
  page_->watched.asked.store(what, std::memory_order_release);
  kill(pid_, sim::watch_signal());
}

/// Where the run that is under way is.
standstill copied_process::at_present() const { return {page_->seed.load(std::memory_order_relaxed), steps_seen_}; }

/// For how many seconds the run that is under way may make no scheduling point.
double copied_process::patience() const {
  // What stood still for all of the time, behind as many steps of the same schedule, does so again.
  constexpr double again_seconds = 1;
  const double asked = care_of_runs().stuck_seconds;
  const bool is_again = stood_still_ == at_present() && !page_->estimates.load(std::memory_order_relaxed);
  return is_again ? std::min(asked, again_seconds) : asked;
}

/// For how many seconds since the last call the copy could have run and others did (proc(5), schedstat); 0 where the system does not say so.
double copied_process::waited_for_processor() {
  uint64_t ran_ns = 0, waited_ns = 0;
  std::ifstream told("/proc/" + std::to_string(pid_) + "/schedstat");
  if (!(told >> ran_ns >> waited_ns)) return 0;
  return static_cast<double>(waited_ns - std::exchange(waited_ns_, waited_ns)) * 1e-9;
}

namespace {

constexpr double gentle_seconds = 0.3;

}  // namespace

void copied_process::stop_run(double passed, double seconds_to_stop) {
  stopping_ += passed;
  if (stopping_ > seconds_to_stop) {
    was_stopped_ = true;
    kill(pid_, SIGKILL);
  } else {
    ask(asks::abandon, stopping_ > gentle_seconds);
  }
}

void copied_process::look() {
  constexpr double longest_gap = 0.25;  // this process may have been stopped meanwhile, and the copy with it
  constexpr double ending_seconds = 1.5;
  if (over_) return;
  const auto now = clock::now();
  const double passed = std::min(std::chrono::duration<double>(now - looked_).count(), longest_gap);
  looked_ = now;
  if (interrupt_flag().load(std::memory_order_relaxed)) {
    was_stopped_ = true;
    return stop_run(passed, seconds_to_stop_);
  }
  const bool ends = ends_runs_ && !page_->explains.load(std::memory_order_relaxed);
  if (care_of_runs().stuck_seconds <= 0) {
    if (ends && page_->watched.runs.load(std::memory_order_acquire) % 2 == 1) stop_run(passed, ending_seconds);
    return;
  }
  // On a machine that has other work a run stands still for no longer than it could have gone on.
  // What it waited is told once it runs again: that may be longer than since the last look.
  const double could_run = passed - waited_for_processor();
  sim::watched_run& run = page_->watched;
  const uint64_t runs = run.runs.load(std::memory_order_acquire);
  if (runs != runs_seen_ || runs % 2 == 0) {
    runs_seen_ = runs;
    quiet_ = asked_ = probed_ = 0;
    steps_seen_ = ~uint64_t{0};
    moves_ = false;
    return;
  }
  if (const uint64_t answers = run.answers.load(std::memory_order_acquire); answers != 0) {
    const uint64_t steps = run.steps.load(std::memory_order_relaxed);
    if (answers != std::exchange(answers_seen_, answers)) moves_ = steps_seen_ != ~uint64_t{0} && steps != steps_seen_;
    if (steps != steps_seen_) {
      steps_seen_ = steps;
      quiet_ = asked_ = 0;
    }
  }
  quiet_ = std::max(0.0, quiet_ + could_run);
  probed_ += passed;
  // One that stands still has the time that it takes to be sure of that.
  if (ends && (moves_ || stopping_ > 0)) return stop_run(passed, ending_seconds);
  const double allowed = patience();
  if (quiet_ >= allowed) {
    const bool is_known = steps_seen_ != ~uint64_t{0} && !page_->estimates.load(std::memory_order_relaxed);
    if (seeds_come_once_ && is_known) stood_still_ = at_present();
    asked_ = std::max(0.0, asked_ + could_run);
    if (asked_ > ending_seconds) {
      was_stuck_ = true;
      kill(pid_, SIGKILL);
    } else {
      ask(asks::end_as_stuck, asked_ > gentle_seconds);
    }
    return;
  }
  if (probed_ < std::min(0.25, allowed / 4)) return;
  probed_ = 0;
  ask(asks::steps, false);
}

sudden_end copied_process::how_it_ended() const {
  sudden_end made;
  if (page_ == nullptr) {
    made.message = error_;
    return made;
  }
  const sim::watched_run& run = page_->watched;
  made.in_run = run.runs.load(std::memory_order_acquire) % 2 == 1;
  made.tested = page_->tested.load(std::memory_order_relaxed);
  made.seed = page_->seed.load(std::memory_order_relaxed);
  const uint64_t answers = std::min(page_->answers.load(std::memory_order_acquire), page_->answers_max);
  made.answers.assign(page_->log(), page_->log() + answers);
  made.choices = answers;
  if (run.note_is_there.load(std::memory_order_acquire)) {
    const sim::outcome told = sim::outcome_of(run.note);
    made.is_told = true;
    made.is_doubtful = run.note.is_doubtful;
    made.outcome = told.verdict;
    made.where = told.where;
    made.message = told.message;
    made.report = told.report;
    made.steps = told.steps;
    made.digest = told.digest;
    made.choices = run.note.choices;
    return made;
  }
  if (was_stuck_) {
    made.outcome = scheduler::verdict::stuck;
    made.message = "the run stands still for " + seconds_text(care_of_runs().stuck_seconds) +
                   " without a scheduling point, and cannot be ended where it stands";
  } else if (WIFEXITED(status_)) {
    made.message = "the process ends with status " + std::to_string(WEXITSTATUS(status_)) +
                   ", by a call that the simulator does not see";
  } else {
    made.was_killed = WTERMSIG(status_) == SIGKILL;
    made.message = "the process is killed by " + signal_name(WTERMSIG(status_));
  }
  return made;
}

void wait_for_any(const std::vector<copied_process*>& copies) {
  constexpr int wait_ms = 20;
  std::vector<pollfd> lines;
  for (const copied_process* each : copies)
    if (each->socket() >= 0) lines.push_back({.fd = each->socket(), .events = POLLIN, .revents = 0});
  poll(lines.data(), lines.size(), wait_ms);
  for (copied_process* each : copies) each->look();
}

}  // namespace heddle::tools
