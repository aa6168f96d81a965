// The program that runs the rows: options, a table beside the model's verdicts, and the same as JSON. Included last by the source that
// litmus_generate makes.
#pragma once

#include <heddle/hw/litmus/row.h>
#include <heddle/hw/litmus/run_host.h>

#ifdef HEDDLE_LITMUS_ON_DEVICE
#include <heddle/hw/litmus/run_device.h>
#endif

#include <regex.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#define HEDDLE_LITMUS_TEXT(...) HEDDLE_LITMUS_TEXT_OF(__VA_ARGS__)
#define HEDDLE_LITMUS_TEXT_OF(...) #__VA_ARGS__
#define HEDDLE_LITMUS_NAME HEDDLE_LITMUS_TEXT(HEDDLE_TARGET)

namespace heddle::machine_litmus {

#ifdef HEDDLE_LITMUS_ON_DEVICE
using runner = device_runner;
#else
using runner = host_runner;
#endif

inline constexpr int forbidden_seen = 1;
inline constexpr int wrong_input = 2;
inline constexpr int no_device = 3;

struct options {
  std::string pattern;
  uint64_t instances = 10'000'000;  ///< of each row
  double seconds = 0;               ///< for all rows together; 0: no limit
  uint64_t seed = 1;
  uint32_t device = 0;
  std::string json;
  bool list = false;
  bool help = false;
};

inline constexpr const char* usage =
    "usage: litmus_" HEDDLE_LITMUS_NAME
    " [OPTIONS]\n\n"
    "Runs the rows of the litmus tables on this machine, and prints what was seen beside the model's verdicts.\n\n"
    "  --row REGEX      only rows whose name matches\n"
    "  --instances N    of each row (10000000)\n"
    "  --time S         seconds for all rows together, each gets an equal part of what is left\n"
    "  --seed N         of where threads and locations are put (1)\n"
    "  --device N       which device, from 0\n"
    "  --json FILE      the same as JSON; whole after each row\n"
    "  --list           the rows, their verdicts and programs\n\n"
    "Exit status: 0 nothing forbidden was seen; 1 it was; 2 the input was wrong; 3 no device answers.\n";

template <typename Number>
Number number_in(const std::string& option, const std::string& text) {
  Number made = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), made);
  if (status != std::errc() || end != text.data() + text.size() || text.starts_with('-'))
    throw std::invalid_argument(option + " cannot be \"" + text + "\"; it must be a number, 0 or more");
  return made;
}

inline options parse(const std::vector<std::string>& arguments) {
  options made;
  for (size_t n = 0; n < arguments.size(); ++n) {
    const std::string& option = arguments[n];
    if (option == "--list") made.list = true;
    if (option == "--help" || option == "-h") made.help = true;
    if (option == "--list" || option == "--help" || option == "-h") continue;
    static const std::vector<std::string> known = {"--row", "--instances", "--time", "--seed", "--device", "--json"};
    if (std::find(known.begin(), known.end(), option) == known.end())
      throw std::invalid_argument("there is no option \"" + option + "\"; --help lists them");
    if (++n == arguments.size()) throw std::invalid_argument(option + " needs a value");
    const std::string& value = arguments[n];
    if (option == "--row") made.pattern = value;
    if (option == "--instances") made.instances = number_in<uint64_t>(option, value);
    if (option == "--time") made.seconds = number_in<double>(option, value);
    if (option == "--seed") made.seed = number_in<uint64_t>(option, value);
    if (option == "--device") made.device = number_in<uint32_t>(option, value);
    if (option == "--json") made.json = value;
  }
  return made;
}

inline std::vector<const row*> rows_asked_for(const std::string& pattern) {
  std::vector<const row*> found;
  // POSIX's: the compiler of hipcc before ROCm 6 crashes on <regex>.
  regex_t wanted;
  if (regcomp(&wanted, pattern.c_str(), REG_EXTENDED | REG_NOSUB) != 0)
    throw std::invalid_argument("--row cannot be \"" + pattern +
                                "\"; it must be a regular expression (POSIX extended)");
  for (const row& each : rows)
    if (regexec(&wanted, each.name, 0, nullptr, 0) == 0) found.push_back(&each);
  regfree(&wanted);
  if (found.empty()) throw std::invalid_argument("no row matches --row \"" + pattern + "\"");
  return found;
}

/// A row's result, judged.
struct judged {
  const row* of;
  counted what;
  uint64_t seen = 0;

  judged(const row& which, counted made) : of(&which), what(std::move(made)) {
    const key_layout keys(which);
    for (uint64_t key = 0; key < what.tally.size(); ++key)
      if (what.tally[key] != 0 && which.holds(keys.decode(which, key))) seen += what.tally[key];
  }
  bool forbidden() const { return std::string_view(of->expected) == "forbidden"; }
  const char* verdict() const {
    if (!what.skipped.empty()) return "skipped";
    if (forbidden()) return seen != 0 ? "FORBIDDEN" : "ok";
    return seen != 0 ? "seen" : "not seen";
  }
};

/// "P0:r0=1 P1:r0=0 x=2".
inline std::string text_of(const row& which, const final_state& seen) {
  std::string made;
  for (uint32_t n = 0; n < which.threads; ++n)
    for (uint32_t r = 0; r < which.thread[n].registers; ++r)
      made += "P" + std::to_string(n) + ":r" + std::to_string(r) + "=" + std::to_string(seen.registers[n][r]) + " ";
  for (uint32_t n = 0; n < which.locations; ++n)
    if ((which.asked >> n & 1) != 0)
      made += std::string(which.location_names[n]) + "=" + std::to_string(seen.locations[n]) + " ";
  if (!made.empty()) made.pop_back();
  return made;
}

inline std::string quoted(std::string_view text) {
  std::string made = "\"";
  for (const char each : text) {
    if (each == '"' || each == '\\') made += '\\';
    made += static_cast<unsigned char>(each) < ' ' ? ' ' : each;
  }
  return made + '"';
}

inline std::string json_of(const judged& each) {
  const row& which = *each.of;
  const key_layout keys(which);
  std::string outcomes;
  for (uint64_t key = 0; key < each.what.tally.size(); ++key)
    if (each.what.tally[key] != 0)
      outcomes += (outcomes.empty() ? "" : ", ") + quoted(text_of(which, keys.decode(which, key))) + ": " +
                  std::to_string(each.what.tally[key]);
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.2f", each.what.seconds);
  return "{\"row\": " + quoted(which.name) + ", \"program\": " + quoted(which.program) +
         ", \"outcome\": " + quoted(which.outcome) + ", \"model\": " + quoted(which.expected) +
         ", \"result\": " + quoted(each.verdict()) + ", \"seen\": " + std::to_string(each.seen) +
         ", \"instances\": " + std::to_string(each.what.instances) + ", \"seconds\": " + seconds +
         (each.what.skipped.empty() ? "" : ", \"why\": " + quoted(each.what.skipped)) + ", \"outcomes\": {" + outcomes +
         "}}";
}

/// What a result was made by and on.
inline std::string context_of(const runner& on, const std::string& command) {
  const std::time_t now = std::time(nullptr);
  char date[32];
  std::tm parts = {};
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
  std::string processor;
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; processor.empty() && std::getline(lines, line);)
    if (line.starts_with("model name")) processor = line.substr(std::min(line.find(':') + 2, line.size()));
  double load[1] = {0};
  (void)getloadavg(load, 1);
  char busy[32];
  std::snprintf(busy, sizeof busy, "%.2f", load[0]);
  std::string made = "  \"date\": " + quoted(date) +
                     ",\n  \"machine\": \"" HEDDLE_LITMUS_NAME "\",\n  \"device\": " + quoted(on.name()) + ",\n";
  if (!on.driver().empty()) made += "  \"driver\": " + quoted(on.driver()) + ",\n";
  return made + "  \"processor\": " + quoted(processor) + ",\n  \"num_cpus\": " + std::to_string(processors().size()) +
         ",\n  \"load_avg\": " + busy + ",\n  \"compiler\": " + quoted(__VERSION__) +
         ",\n  \"command\": " + quoted(command) + "\n";
}

/// The file is whole at any time: what is there so far. A device or a pipe is written as it stands, once all is there; a symbolic link
/// stays one.
inline void write_json(const std::string& file, const std::string& context, const std::vector<judged>& all,
                       bool whole) {
  struct stat there{};
  const bool is_there = stat(file.c_str(), &there) == 0;
  const bool is_file = is_there && S_ISREG(there.st_mode);
  if (is_there && !is_file && !whole) return;
  const bool in_place = !is_file && lstat(file.c_str(), &there) == 0;
  const std::unique_ptr<char, void (*)(void*)> named(is_file ? realpath(file.c_str(), nullptr) : nullptr, std::free);
  const std::string to = named ? named.get() : file;
  const std::string part = in_place ? to : to + ".part";
  std::ofstream out(part);
  out << "{\n \"context\": {\n" << context << " },\n \"whole\": " << (whole ? "true" : "false") << ",\n \"rows\": [";
  for (size_t n = 0; n < all.size(); ++n) out << (n == 0 ? "\n  " : ",\n  ") << json_of(all[n]);
  out << "\n ]\n}\n";
  out.close();
  if (!out || (!in_place && std::rename(part.c_str(), to.c_str()) != 0))
    throw std::invalid_argument("cannot write " + file + ": " + std::strerror(errno));
}

inline int run_rows(runner& on, const options& asked, const std::vector<const row*>& chosen,
                    const std::string& command) {
  const std::string context = context_of(on, command);
  const auto began = std::chrono::steady_clock::now();
  std::vector<judged> all;
  std::printf("%-10s %-26s %15s %13s %12s  %s\n", "result", "the model", "instances", "seen", "in a million", "row");
  for (size_t n = 0; n < chosen.size(); ++n) {
    double seconds = 1e9;
    if (asked.seconds != 0) {
      const double gone = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
      seconds = std::max(asked.seconds - gone, 0.0) / static_cast<double>(chosen.size() - n);
    }
    const judged& made = all.emplace_back(*chosen[n], on.run(*chosen[n], {asked.instances, seconds}));
    const double often =
        made.what.instances == 0 ? 0 : 1e6 * static_cast<double>(made.seen) / static_cast<double>(made.what.instances);
    std::printf("%-10s %-26s %15llu %13llu %12.3f  %s%s%s\n", made.verdict(), made.of->expected,
                static_cast<unsigned long long>(made.what.instances), static_cast<unsigned long long>(made.seen), often,
                made.of->name, made.what.skipped.empty() ? "" : ": ", made.what.skipped.c_str());
    std::fflush(stdout);
    if (!asked.json.empty()) write_json(asked.json, context, all, n + 1 == chosen.size());
  }
  size_t forbidden = 0;
  size_t broken = 0;
  size_t allowed = 0;
  size_t seen = 0;
  for (const judged& each : all) {
    if (!each.what.skipped.empty()) continue;
    ++(each.forbidden() ? forbidden : allowed);
    if (each.seen != 0) ++(each.forbidden() ? broken : seen);
  }
  std::printf("forbidden outcomes seen: %zu of %zu; allowed ones: %zu of %zu\n", broken, forbidden, seen, allowed);
  return broken != 0 ? forbidden_seen : 0;
}

inline int run(const std::vector<std::string>& arguments, const std::string& command) {
  const options asked = parse(arguments);
  if (asked.help) {
    std::fputs(usage, stdout);
    return 0;
  }
  const std::vector<const row*> chosen = rows_asked_for(asked.pattern);
  if (asked.list) {
    for (const row* each : chosen)
      std::printf("%s\t%s\t%s\t%s\n", each->name, each->expected, each->program, each->outcome);
    return 0;
  }
#ifdef HEDDLE_LITMUS_ON_DEVICE
  result<std::unique_ptr<runner>> on = runner::open(asked.device, asked.seed);
  if (!on) {
    std::printf("no device answers: %s\n", on.why().line().c_str());
    return no_device;
  }
  return run_rows(*on.value(), asked, chosen, command);
#else
  runner on(asked.seed);
  return run_rows(on, asked, chosen, command);
#endif
}

}  // namespace heddle::machine_litmus

int main(int count, char** arguments) {
  std::string command;
  for (int n = 0; n < count; ++n) command += std::string(n == 0 ? "" : " ") + arguments[n];
  try {
    return heddle::machine_litmus::run({arguments + 1, arguments + count}, command);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "litmus: %s\n", error.what());
    return heddle::machine_litmus::wrong_input;
  }
}
