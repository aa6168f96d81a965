#include <fcntl.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/json_number.h>
#include <heddle/tools/fuzz/campaign/behaviours_json.h>
#include <heddle/tools/fuzz/campaign/journal.h>
#include <heddle/tools/process/copied_process.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;

constexpr size_t checksum_size = 9;  // with the blank
/// A journal of years is smaller.
constexpr size_t bytes_max = size_t{1} << 32;

std::string checksum_of(std::string_view text) {
  char checksum[16];
  const auto sum = crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size());
  std::snprintf(checksum, sizeof checksum, "%08lx ", static_cast<unsigned long>(sum));
  return checksum;
}

/// "CHECKSUM JSON\n"; the checksum is CRC-32 of the JSON, 8 hexadecimal digits.
std::string sealed(const json& content) {
  const std::string text = json_line(content);
  return checksum_of(text) + text + '\n';
}

/// The JSON of a line; discarded when the line is not as it was written. By its bytes: to write the JSON again in order
/// to compare would take as much of the stack as it is deep.
json unsealed(std::string_view line) {
  if (line.size() < checksum_size || checksum_of(line.substr(checksum_size)) != line.substr(0, checksum_size))
    return json(json::value_t::discarded);
  return json::parse(line.substr(checksum_size), nullptr, false);
}

std::string last_error() { return std::strerror(errno); }

std::string quoted(const std::filesystem::path& file) { return '"' + file.string() + '"'; }

json to_json(const campaign_plan& plan) {
  return {{"heddle", plan.version},      {"build", plan.build_id},          {"scenarios", plan.scenarios},
          {"settings", plan.settings},   {"strategy", plan.strategy},       {"seed", plan.seed},
          {"schedules", plan.schedules}, {"seconds_max", plan.seconds_max}, {"shard", plan.part.text()}};
}

campaign_plan plan_of(const json& line) {
  const auto part = shard::parse(line.at("shard").get<std::string>());
  if (!part) throw std::invalid_argument("its shard is none");
  return {.version = line.at("heddle"),
          .build_id = line.at("build"),
          .scenarios = line.at("scenarios"),
          .settings = line.at("settings"),
          .strategy = line.at("strategy"),
          .seed = whole_number<uint64_t>(line, "seed"),
          .schedules = whole_number<uint64_t>(line, "schedules"),
          .seconds_max = line.at("seconds_max"),
          .part = *part};
}

json to_json(const std::string& scenario, seed_range ran, const scheduler::campaign_result& result, double elapsed) {
  json groups = json::array();
  for (const scheduler::finding& each : result.findings)
    groups.push_back({{"verdict", to_string(each.first.outcome)},
                      {"where", each.first.where},
                      {"hang", each.first.hang},
                      {"gist", each.first.gist},
                      {"seed", each.first.seed},
                      {"count", each.count}});
  json made = {{"scenario", scenario},
               {"first", ran.first},
               {"count", ran.count},
               {"steps", result.steps},
               {"library_steps", result.library_steps},
               {"choices", result.choices},
               {"excused", result.excused},
               {"digest", result.digest},
               {"elapsed", elapsed},
               {"findings", groups}};
  if (result.seen.any()) made["behaviours"] = json_of(result.seen);
  return made;
}

void take_in(const json& line, campaign_record& record) {
  scenario_record& known = record.scenarios[line.at("scenario").get<std::string>()];
  const seed_range ran{whole_number<uint64_t>(line, "first"), whole_number<uint64_t>(line, "count")};
  scheduler::campaign_result part;
  part.schedules = ran.count;
  part.steps = whole_number<uint64_t>(line, "steps");
  part.library_steps = line.value("library_steps", uint64_t{0});
  part.choices = whole_number<uint64_t>(line, "choices");
  part.excused = line.value("excused", std::map<std::string, uint64_t>{});
  part.digest = whole_number<uint64_t>(line, "digest");
  part.seconds = line.at("elapsed");
  if (line.contains("behaviours")) part.seen = behaviours_of(line.at("behaviours"));
  for (const json& each : line.at("findings")) {
    scheduler::finding found;
    const auto outcome = scheduler::parse_verdict(each.at("verdict").get<std::string>());
    if (!outcome) throw std::invalid_argument("it names a verdict that does not exist");
    found.first.outcome = *outcome;
    found.first.where = each.at("where");
    found.first.hang = each.at("hang");
    found.first.gist = each.at("gist");
    found.first.seed = whole_number<uint64_t>(each, "seed");
    found.count = whole_number<uint64_t>(each, "count");
    part.findings.push_back(std::move(found));
  }
  known.done.push_back(ran);
  known.sum.add(std::move(part));
}

}  // namespace

std::optional<std::string> read_journal(std::string_view text, const std::filesystem::path& file,
                                        campaign_record& record, size_t& whole) {
  size_t number = 0;
  whole = 0;
  for (size_t end = text.find('\n'); end != std::string_view::npos; whole = end + 1, end = text.find('\n', whole)) {
    ++number;
    const std::string at = quoted(file) + " is damaged in line " + std::to_string(number);
    const json line = unsealed(text.substr(whole, end - whole));
    // A crash of the whole machine may leave a last line that is as long as it was and has other bytes.
    if (line.is_discarded() && end + 1 == text.size() && number > 1) break;
    if (line.is_discarded()) return at + ": it is not as it was written. Begin the campaign anew in another folder";
    try {
      if (number == 1)
        record.plan = plan_of(line);
      else
        take_in(line, record);
    } catch (const std::exception& error) {
      return at + ": " + one_line(error.what());
    }
  }
  if (number == 0) return quoted(file) + " is damaged in line 1: it is not whole. Begin the campaign anew";
  return std::nullopt;
}

journal::~journal() { close(); }

void journal::close() {
  if (opened_ < 0) return;
  forget_file(opened_);
  ::close(opened_);
}

std::filesystem::path journal::file_in(const std::filesystem::path& folder, const shard& part) {
  if (part.parts == 1) return folder / "campaign.jsonl";
  return folder / ("campaign-" + std::to_string(part.number) + "of" + std::to_string(part.parts) + ".jsonl");
}

/// The lock belongs to the open file and ends with the process.
std::optional<std::string> journal::open(const std::filesystem::path& file, int flags) {
  const int opened = ::open(file.c_str(), flags | O_CLOEXEC, 0666);
  if (opened < 0) return "cannot open " + quoted(file) + ": " + last_error();
  // A copy of a process that was killed may have it still, for as long as it takes to end.
  constexpr int attempts_most = 40;
  constexpr std::chrono::milliseconds between(50);
  int attempts = 1;
  while (::flock(opened, LOCK_EX | LOCK_NB) != 0 && attempts++ < attempts_most) std::this_thread::sleep_for(between);
  if (attempts > attempts_most) {
    ::close(opened);
    return quoted(file) + " is being written by another process: wait for it, or take another folder";
  }
  close();
  opened_ = opened;
  // The lock is gone with this process, not with the last of its copies.
  close_in_copies(opened_);
  file_ = file;
  return std::nullopt;
}

std::optional<std::string> journal::begin(const std::filesystem::path& file, const campaign_plan& plan) {
  if (std::filesystem::exists(file)) {
    if (auto busy = open(file, O_RDWR)) return busy;
    std::filesystem::path aside;
    for (int number = 1; aside.empty() || std::filesystem::exists(aside); ++number)
      aside = file.parent_path() / (file.stem().string() + ".before-" + std::to_string(number) + ".jsonl");
    std::error_code failed;
    std::filesystem::rename(file, aside, failed);
    if (failed) return "cannot set " + quoted(file) + " aside: " + failed.message();
  }
  // It is there whole or not at all: a journal without its first line says nothing.
  const std::filesystem::path made = file.string() + ".part" + std::to_string(::getpid());
  auto failed = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
  if (!failed) {
    file_ = file;
    failed = append(sealed(to_json(plan)));
  }
  if (!failed && ::rename(made.c_str(), file.c_str()) != 0)
    failed = "cannot make " + quoted(file) + ": " + last_error();
  if (failed) ::unlink(made.c_str());
  return failed;
}

std::optional<std::string> journal::resume(const std::filesystem::path& file, campaign_record& record) {
  if (!std::filesystem::exists(file))
    return "there is no campaign in " + quoted(file.parent_path()) + ": " + quoted(file) +
           " does not exist. fuzz --out makes one";
  if (auto failed = open(file, O_RDWR | O_APPEND)) return failed;
  std::string text;
  try {
    text = read_file(file.string(), bytes_max);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  size_t whole = 0;
  if (auto damaged = read_journal(text, file, record, whole)) return damaged;
  if (whole < text.size() && ::ftruncate(opened_, static_cast<off_t>(whole)) != 0)
    return "cannot write " + quoted(file) + ": " + last_error();
  return std::nullopt;
}

std::optional<std::string> journal::add(const std::string& scenario, seed_range ran,
                                        const scheduler::campaign_result& result, double elapsed) {
  if (opened_ < 0) return std::nullopt;
  return append(sealed(to_json(scenario, ran, result, elapsed)));
}

std::optional<std::string> journal::append(const std::string& line) {
  struct stat before{};
  const bool known = ::fstat(opened_, &before) == 0;
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t written = ::write(opened_, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;
    done += static_cast<size_t>(written);
  }
  if (done == line.size() && ::fdatasync(opened_) == 0) return std::nullopt;
  std::string failed = "cannot write " + quoted(file_) + ": " + last_error() + "; make room, and go on with --resume";
  // What was written of the line would be taken for a line that is not whole, and is: nothing is lost if this fails.
  if (known && ::ftruncate(opened_, before.st_size) != 0) failed += " (its last line is not whole)";
  return failed;
}

}  // namespace heddle::tools
