#include <heddle/scheduler/estimate.h>
#include <heddle/tools/fuzz/campaign/scenario_campaign.h>
#include <heddle/tools/trial/explain.h>
#include <heddle/tools/trial/traces.h>

#include <algorithm>

namespace heddle::tools {
namespace {

constexpr double seconds_per_piece = 0.1;
constexpr uint64_t piece_max = 1 << 16;
constexpr auto between_lines = std::chrono::milliseconds(50);

/// Whether the seed is one of the range.
bool lies_in(uint64_t seed, seed_range range) { return range.count == 0 || seed - range.first < range.count; }

}  // namespace

scenario_campaign::scenario_campaign(const scenario& tested, const parameters& settings, options asked)
    : tested_(tested),
      settings_(settings),
      options_(std::move(asked)),
      header_(trace_header(tested, settings, options_.strategy)),
      dealer_(options_.seeds, options_.before.done),
      sum_(options_.before.sum) {
  for (const scheduler::finding& each : sum_.findings)
    kept_.push_back({scheduler::failure::of(each.first), each.first.seed, {}});
  for (const scheduler::finding& each : options_.known)
    kept_.push_back({scheduler::failure::of(each.first), each.first.seed, {}});
  if (options_.resumed) look_into_folder();
}

/// Traces of runs that were made and not added up, because the campaign was ended at that moment, and those of the groups that are known.
void scenario_campaign::look_into_folder() {
  std::vector<kept_finding> here;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(options_.folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(tested_.name + "-") || !name.ends_with(trace_ending)) continue;
    const scheduler::trace_or_error read = scheduler::read_trace(entry.path().string());
    if (!read.value || !lies_in(read.value->seed, options_.seeds)) continue;
    const scheduler::trace& found = *read.value;
    const bool mine = found.scenario == tested_.name && found.build_id == header_.build_id &&
                      found.parameters == header_.parameters && found.strategy == header_.strategy;
    if (mine) here.push_back({scheduler::failure::of(found), found.seed, entry.path().string(), true, true});
  }
  for (const kept_finding& each : here) {
    kept_finding* const known = kept(each.how);
    if (known == nullptr) {
      kept_.push_back(each);
    } else if (each.seed <= known->seed) {
      const bool from_folder = known->seed != each.seed || known->from_folder;
      *known = each;
      known->from_folder = from_folder;
    }
  }
  // The campaign was ended between writing the trace of a lower seed and taking that of a later one away.
  for (const kept_finding& each : here) {
    const kept_finding* const known = kept(each.how);
    if (known->seed < each.seed && !known->file.empty()) std::filesystem::remove(each.file, ignored);
  }
}

double scenario_campaign::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::optional<seed_range> scenario_campaign::next() {
  const std::scoped_lock guard(lock_);
  holds_back_ = false;
  if (stopped() || (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed))) return std::nullopt;
  if (stood_still_ >= stuck_runs_max) return std::nullopt;
  const bool late = options_.seconds_max > 0 && seconds() >= options_.seconds_max;
  if (late && dealt_any_) return std::nullopt;
  // Until a run has been timed: few, so that no worker waits for another.
  uint64_t most = 8;
  if (seconds_per_run_ > 0)
    most = std::clamp<uint64_t>(static_cast<uint64_t>(seconds_per_piece / seconds_per_run_), 1, piece_max);
  if (options_.seeds.count != 0) most = std::min(most, options_.seeds.count / (uint64_t{4} * options_.workers) + 1);
  std::optional<seed_range> dealt = dealer_.next(most);
  if (dealt && !options_.keeps_elsewhere && all_unsupported()) {
    // How many are run must not depend on the number of workers: the first ones, all of them, decide on the others.
    const uint64_t number = dealt->first - options_.seeds.first;
    if (sum_.schedules >= alike_runs_max) {
      ended_alike_ = true;
      return std::nullopt;
    }
    const uint64_t in_front = number < alike_runs_max ? std::min(dealt->count, alike_runs_max - number) : 0;
    dealer_.give_back({dealt->first + in_front, dealt->count - in_front});
    holds_back_ = in_front == 0;
    if (holds_back_) return std::nullopt;
    dealt->count = in_front;
  }
  if (dealt) dealt_any_ = true;
  return dealt;
}

/// Whether no run that has been added up ended otherwise.
bool scenario_campaign::all_unsupported() const {
  return sum_.schedules == 0 || (sum_.findings.size() == 1 && sum_.findings.front().count == sum_.schedules &&
                                 sum_.findings.front().first.outcome == scheduler::verdict::unsupported);
}

bool scenario_campaign::holds_back() const {
  const std::scoped_lock guard(lock_);
  return holds_back_;
}

double scenario_campaign::seconds_left() const {
  // A piece runs once at least, and the first one has to.
  return options_.seconds_max > 0 ? std::max(options_.seconds_max - seconds(), 1e-9) : 0;
}

std::vector<scheduler::finding> scenario_campaign::known() const {
  const std::scoped_lock guard(lock_);
  std::vector<scheduler::finding> groups;
  for (const kept_finding& each : kept_) {
    groups.emplace_back();
    each.how.note_in(groups.back().first);
    groups.back().first.seed = each.seed;
  }
  return groups;
}

std::shared_ptr<const scheduler::estimate> scenario_campaign::estimate_with(campaign_worker& with) {
  std::call_once(estimated_, [&] {
    estimate_ = scheduler::estimate_for(*with.deciding, [&](scheduler::choice_source& choices) {
      run_scenario(with.machine, tested_, settings_, choices, false);
    });
  });
  return estimate_;
}

scheduler::campaign_result scenario_campaign::run(campaign_worker& with, seed_range seeds,
                                                  const std::function<void()>& after_run) {
  scheduler::campaign_options piece;
  piece.first_seed = seeds.first;
  piece.schedules = seeds.count;
  piece.seconds_max = seconds_left();
  piece.known_estimate = estimate_with(with);
  piece.header = header_;
  piece.stop = options_.stop;
  bool goes_on = true;
  piece.is_news = [&](const scheduler::failure& how, uint64_t seed) { return is_news(how, seed); };
  piece.found = [&](const scheduler::finding& found) { return goes_on = keep(found); };
  piece.progress = [&](const scheduler::campaign_result&) {
    under_way_.fetch_add(1, std::memory_order_relaxed);
    if (options_.progress) show();
    if (after_run) after_run();
  };
  return scheduler::run_campaign(piece, *with.deciding, [&](scheduler::choice_source& choices, bool explain) {
    return run_or_explain(with.machine, tested_, settings_, choices, explain);
  });
}

void scenario_campaign::add(seed_range dealt, scheduler::campaign_result result) {
  const std::scoped_lock guard(lock_);
  const uint64_t ran = std::min(result.schedules, dealt.count);
  dealer_.give_back({dealt.first + ran, dealt.count - ran});
  if (ran == 0) return;
  if (result.schedules >= 1) seconds_per_run_ = result.seconds / static_cast<double>(result.schedules);
  if (options_.kept_in != nullptr && error_.empty()) {
    const auto failed =
        options_.kept_in->add(tested_.name, {dealt.first, ran}, result, options_.before.sum.seconds + seconds());
    if (failed) stop_with(*failed);
  }
  under_way_.fetch_sub(std::min(ran, under_way_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
  sum_.add(std::move(result));
}

bool scenario_campaign::is_news(const scheduler::failure& how, uint64_t seed) const {
  const std::scoped_lock guard(lock_);
  const auto same = std::find_if(kept_.begin(), kept_.end(), [&](const kept_finding& each) { return each.how == how; });
  return same == kept_.end() || seed < same->seed || (seed == same->seed && same->from_folder);
}

scenario_campaign::kept_finding* scenario_campaign::kept(const scheduler::failure& how) {
  const auto same = std::find_if(kept_.begin(), kept_.end(), [&](const kept_finding& each) { return each.how == how; });
  return same == kept_.end() ? nullptr : &*same;
}

bool scenario_campaign::keep(const scheduler::finding& found) {
  const std::scoped_lock guard(lock_);
  kept_finding* known = kept(scheduler::failure::of(found.first));
  if (known != nullptr && (known->seed < found.first.seed || (known->seed == found.first.seed && !known->from_folder)))
    return !stopped();
  if (options_.keeps_elsewhere) {
    if (known == nullptr)
      kept_.push_back({scheduler::failure::of(found.first), found.first.seed, {}});
    else
      known->seed = found.first.seed;
    return options_.keeps_elsewhere(found) && !stopped();
  }
  if (options_.stops_at_first && !tested_.expected_verdict(settings_).contains(found.first.outcome))
    stopped_.store(true, std::memory_order_relaxed);
  bool own = false;
  const std::string file = options_.folder.empty() || !error_.empty() ? "" : write(found.first, own);
  if (!error_.empty()) return false;
  if (known != nullptr && known->file == file) own = own || known->own;
  if (known == nullptr) {
    kept_.push_back({scheduler::failure::of(found.first), found.first.seed, file, false, own});
    return !stopped();
  }
  // A later seed shows nothing that this one does not, and is counted; a campaign of one worker would not have written it.
  std::error_code ignored;
  if (known->own && !known->file.empty() && known->file != file) std::filesystem::remove(known->file, ignored);
  *known = {scheduler::failure::of(found.first), found.first.seed, file, false, own};
  return !stopped();
}

/// The file's name. What another campaign has written is not written over; `written` says whether this one has.
std::string scenario_campaign::write(const scheduler::trace& found, bool& written) {
  const kept_trace made = keep_trace(found, options_.folder);
  written = made.fresh;
  if (!made.error.empty() && options_.folder_may_fail)
    not_kept_ = made.error;
  else if (!made.error.empty())
    stop_with(made.error);
  return made.file;
}

void scenario_campaign::stop_with(std::string why) {
  if (error_.empty()) error_ = std::move(why);
  stopped_.store(true, std::memory_order_relaxed);
}

std::string scenario_campaign::error() const {
  const std::scoped_lock guard(lock_);
  return error_;
}

std::string scenario_campaign::not_kept() const {
  const std::scoped_lock guard(lock_);
  return not_kept_;
}

void scenario_campaign::made_steps(uint64_t steps) {
  steps_under_way_.store(steps, std::memory_order_relaxed);
  if (options_.progress) show();
}

void scenario_campaign::show() {
  const std::unique_lock only(showing_, std::try_to_lock);
  if (!only) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - shown_ < between_lines) return;
  shown_ = now;
  scheduler::campaign_result so_far;
  {
    const std::scoped_lock guard(lock_);
    so_far.schedules = sum_.schedules + under_way_.load(std::memory_order_relaxed);
    for (const scheduler::finding& each : sum_.findings) {
      so_far.findings.emplace_back();
      so_far.findings.back().first.outcome = each.first.outcome;
      so_far.findings.back().count = each.count;
    }
  }
  so_far.seconds = options_.before.sum.seconds + seconds();
  if (so_far.schedules == 0) so_far.steps = steps_under_way_.load(std::memory_order_relaxed);
  options_.progress(so_far);
}

void scenario_campaign::made_runs(int64_t more) {
  under_way_.fetch_add(static_cast<uint64_t>(more), std::memory_order_relaxed);
  if (options_.progress) show();
}

void scenario_campaign::complained(const complaints& more) {
  const std::scoped_lock guard(lock_);
  const uint64_t before = complaints_.count;
  if (before == 0 || more.seed < complaints_.seed) complaints_ = more;
  complaints_.count = before + more.count;
}

void scenario_campaign::stood_still(uint64_t more) {
  const std::scoped_lock guard(lock_);
  stood_still_ += more;
}

void scenario_campaign::cut_short(uint64_t seed, uint64_t steps) {
  const std::scoped_lock guard(lock_);
  if (!cut_ || seed < cut_->seed) cut_ = {.seed = seed, .steps = steps};
}

std::vector<scheduler::finding> scenario_campaign::unexplained() const {
  if (options_.keeps_elsewhere) return {};
  const std::scoped_lock guard(lock_);
  std::vector<scheduler::finding> all;
  for (const scheduler::finding& each : sum_.findings)
    if (each.first.scenario.empty()) all.push_back(each);
  return all;
}

void scenario_campaign::explained(const scheduler::finding& named, scheduler::finding whole) {
  const std::scoped_lock guard(lock_);
  scheduler::finding* const same = sum_.find(scheduler::failure::of(named.first));
  if (same == nullptr) return;
  whole.count = same->count;
  *same = std::move(whole);
  kept_finding* const known = kept(scheduler::failure::of(same->first));
  if (known != nullptr && known->file.empty() && !options_.folder.empty()) known->file = write(same->first, known->own);
}

void scenario_campaign::give_up(std::string why) {
  const std::scoped_lock guard(lock_);
  stop_with(std::move(why));
}

void scenario_campaign::complete(campaign_worker& with) {
  for (scheduler::finding& each : sum_.findings) {
    if (!each.first.scenario.empty()) continue;
    scheduler::campaign_options again;
    again.first_seed = each.first.seed;
    again.schedules = 1;
    again.known_estimate = estimate_with(with);
    again.header = header_;
    scheduler::campaign_result made =
        scheduler::run_campaign(again, *with.deciding, [&](scheduler::choice_source& choices, bool explain) {
          return run_or_explain(with.machine, tested_, settings_, choices, explain);
        });
    scheduler::finding* const same = made.find(scheduler::failure::of(each.first));
    if (same == nullptr) {
      each.not_reproducible = "its seed now ends otherwise than when the campaign ran it";
      const uint64_t seed = each.first.seed;
      const scheduler::failure how = scheduler::failure::of(each.first);
      each.first = header_;
      each.first.seed = seed;
      how.note_in(each.first);
      continue;
    }
    same->count = each.count;
    each = std::move(*same);
    kept_finding* const known = kept(scheduler::failure::of(each.first));
    if (known != nullptr && known->file.empty() && !options_.folder.empty())
      known->file = write(each.first, known->own);
  }
}

trial scenario_campaign::take() {
  trial made;
  made.tested = &tested_;
  made.expected = tested_.expected_verdict(settings_);
  made.runs = std::move(sum_);
  made.runs.seconds = options_.before.sum.seconds + seconds();
  made.runs.stopped = stopped() || (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed));
  made.stood_still = stood_still_;
  made.ended_alike = ended_alike_;
  made.cut = cut_;
  made.printed = complaints_;
  for (const scheduler::finding& each : made.runs.findings) {
    const kept_finding* const known = kept(scheduler::failure::of(each.first));
    made.files.push_back(known == nullptr ? "" : known->file);
  }
  return made;
}

}  // namespace heddle::tools
