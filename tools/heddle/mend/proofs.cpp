#include <heddle/sim/settings.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/mend/proofs.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/verify/verification.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

namespace heddle::tools {

namespace {

/// What bounds random runs is lifted, so that what is proved has all runs of these settings and more; with `own_history` but for the stores that
/// are kept of a location: as many as the settings say.
proof_attempt proof_with(const parameters& settings, const trying& how, bool own_history) {
  verify_options options;
  options.seconds_max = 10;
  options.memory_mib = 2048;
  options.stop = &interrupt_flag();
  // Those of the scenario are part of what is proved.
  for (const parameter& each : how.tested->parameters)
    if (const std::string value = settings.value_text(each.key); !value.empty())
      options.assignments.push_back(each.key + "=" + value);
  if (own_history) options.assignments.push_back("history=" + settings.value_text("history"));
  return prove_in_copy(*how.tested, settings, options);
}

/// Whether a search within the finding's own bound on the stores that are kept can tell more than one without.
bool has_own_history(const parameters& settings, const trying& how, const proof_attempt& without_bound) {
  const auto is_history = [](const parameter& each) { return each.key == "history"; };
  const auto& own = how.tested->parameters;
  if (std::any_of(own.begin(), own.end(), is_history)) return false;
  if (!settings.has("history") || !settings.has("fidelity") || settings.text("fidelity") != "scoped") return false;
  const auto& all = settings.definitions();
  const auto defined = std::find_if(all.begin(), all.end(), is_history);
  return settings.number("history") != defined->default_number || without_bound.left_out == sim::search_forgot_stores;
}

/// First of all runs, whatever a load may find. Where no search can tell that, of those that the finding's own settings have: the answer names them.
proof_attempt proof_with(const parameters& settings, const trying& how) {
  proof_attempt made = proof_with(settings, how, false);
  if (made.complete || made.found || interrupt_flag() || !has_own_history(settings, how, made)) return made;
  proof_attempt within = proof_with(settings, how, true);
  return within.complete || within.found ? within : made;
}

/// With all numbers of the scenario as small as they can be. Nothing where that is no smaller, or shows nothing without the change.
std::optional<parameters> smallest(const trying& how) {
  const std::vector<parameter> machine = sim::machine_parameters();
  parameters made = how.settings;
  bool is_smaller = false;
  for (const parameter& each : how.tested->parameters) {
    const auto same_key = [&](const parameter& other) { return other.key == each.key; };
    if (each.kind != parameter::type::number || std::any_of(machine.begin(), machine.end(), same_key)) continue;
    is_smaller = is_smaller || made.number(each.key) > each.minimum;
    made.set(each.key + "=" + std::to_string(std::min(made.number(each.key), each.minimum)));
  }
  if (!is_smaller || sim::without_effect(made)) return std::nullopt;
  trying few = how;
  few.settings = made;
  few.schedules = 500;
  few.schedule = nullptr;
  return try_all({attempt{}}, few).front().found ? std::optional(made) : std::nullopt;
}

}  // namespace

std::optional<proof_attempt> proof_of(const attempt& assumed, const trying& how, bool or_smaller) {
  const parameters settings = assuming(how.settings, assumed);
  if (cannot_verify(settings)) return std::nullopt;
  proof_attempt made = proof_with(settings, how);
  if (made.complete || made.found || !or_smaller || interrupt_flag()) return made;
  const std::optional<parameters> less = smallest(how);
  return less ? proof_with(assuming(*less, assumed), how) : made;
}

std::string in_words(const proof_attempt& proof) {
  if (proof.found) return "a run that ends badly was found among all of them";
  if (!proof.complete) return "not proved: " + proof.left_out;
  // "progress=..., fidelity=..., host=..., convergence=..., waves=1, lanes=1"
  const size_t model_ends = proof.of.find("convergence=");
  const size_t own = model_ends == std::string::npos ? model_ends : proof.of.find(", ", model_ends);
  return "proved, " + grouped(proof.states) + " states" +
         (own == std::string::npos ? "" : " with " + proof.of.substr(own + 2));
}

nlohmann::ordered_json to_json(const proof_attempt& proof) {
  return {{"result", proof.result()},
          {"words", in_words(proof)},
          {"of", proof.of},
          {"states", proof.states},
          {"runs", proof.runs},
          {"seconds", proof.seconds},
          {"incomplete_because", proof.left_out}};
}

uint32_t jobs_of(uint32_t asked) { return asked != 0 ? asked : std::max(1u, std::thread::hardware_concurrency()); }

}  // namespace heddle::tools
