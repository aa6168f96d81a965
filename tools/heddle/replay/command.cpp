#include <heddle/scheduler/printable.h>
#include <heddle/scheduler/replay.h>
#include <heddle/scheduler/shrink.h>
#include <heddle/scheduler/whole_file.h>
#include <heddle/sim/observe/run_record.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/process/copied_process.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/replay/debugger.h>
#include <heddle/tools/replay/step_table.h>
#include <heddle/tools/trial/explain.h>
#include <heddle/tools/trial/place_names.h>
#include <heddle/tools/trial/story.h>
#include <heddle/tools/trial/traces.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;

/// What came of all repetitions.
struct replayed {
  scheduler::replay_result first;
  std::vector<sim::step_record> steps;
  sim::run_record record;
  uint64_t runs = 0;
  uint64_t equal = 0;        ///< runs that were the recorded one
  std::string disagreement;  ///< of the first that was not
};

/// `stops`: for a debugger, in this run and no other that would explain it.
scheduler::run_result told_run(sim::simulation& machine, const recorded_run& found, scheduler::choice_source& choices,
                               bool stops, std::vector<sim::step_record>* steps, sim::run_record* record = nullptr) {
  if (!stops) return explained_run(machine, *found.tested, found.settings, choices, steps, record);
  const run_under_way known(*found.tested, choices.seed());
  const sim::outcome& ended =
      machine.run(found.settings, [&] { found.tested->body(found.settings); }, choices, true, record);
  if (steps != nullptr) *steps = ended.steps_taken;
  return result_of(ended);
}

replayed run_all(const recorded_run& found, uint64_t repeat, bool stops) {
  sim::simulation machine;
  replayed all;
  while (all.runs < repeat && !interrupt_flag()) {
    const bool first = all.runs == 0;
    const auto run = [&](scheduler::choice_source& choices, bool explain) {
      return explain ? told_run(machine, found, choices, stops, &all.steps, &all.record)
                     : run_scenario(machine, *found.tested, found.settings, choices, false);
    };
    scheduler::replay_result again = scheduler::run_again(found.recorded, run, first);
    ++all.runs;
    if (again.disagreement.empty()) {
      ++all.equal;
    } else if (all.disagreement.empty()) {
      all.disagreement = again.disagreement;
    }
    if (first) all.first = std::move(again);
  }
  return all;
}

/// The edges of the wait graph, as the drawing has them.
json waits_of(const sim::run_record& of) {
  const place_names names(of);
  json edges = json::array();
  for (const sim::wait_edge& each : of.edges)
    edges.push_back({{"from", each.from},
                     {"to", each.to},
                     {"over", each.over},
                     {"name", names.name_of(each.over)},
                     {"supposed", each.supposed},
                     {"cycle", each.on_cycle},
                     {"why", each.why}});
  json unknown = json::array();
  for (const sim::unknown_wait& each : of.unknown)
    unknown.push_back(
        {{"from", each.from}, {"over", each.over}, {"name", names.name_of(each.over)}, {"why", each.why}});
  return {{"edges", edges}, {"circle", of.circle}, {"unknown", unknown}};
}

json as_json(const recorded_run& found, const replayed& all, bool with_steps) {
  const scheduler::trace& recorded = found.recorded;
  const scheduler::run_result& result = all.first.result;
  json shown = {{"scenario", recorded.scenario},
                {"verdict", to_string(result.outcome)},
                {"where", result.where},
                {"steps", result.steps},
                {"digest", digest_digits(result.digest)},
                {"message", result.message},
                {"report", result.report},
                {"waits", result.waits},
                {"waits_for", waits_of(all.record)},
                {"story", story_in(result.report)},
                {"decided", decided_in(result.report)},
                {"contrast", contrast_in(result.report)},
                {"ok", all.disagreement.empty()},
                {"runs", all.runs},
                {"equal", all.equal},
                {"disagreement", all.disagreement},
                {"note", found.note}};
  if (with_steps) shown["trace"] = steps_as_json(all.steps);
  return shown;
}

void print_text(const recorded_run& found, const replayed& all, const invocation& asked) {
  const scheduler::trace& recorded = found.recorded;
  const bool with_steps = asked.show_steps;
  const scheduler::run_result& result = all.first.result;
  if (with_steps) {
    print_steps(std::cout, all.steps);
    std::cout << '\n';
  }
  if (all.first.disagreement.empty()) {
    std::cout << scheduler::printable(recorded.scenario) << ": "
              << painted(to_string(result.outcome),
                         result.outcome == scheduler::verdict::ok ? colour::good : colour::bad);
    if (!result.where.empty()) std::cout << " at " << result.where;
    std::cout << ", " << grouped(result.steps) << " steps, digest " << digest_digits(result.digest) << '\n'
              << indented(result.message, 2);
    const auto [summary, details] = paragraphs(result.report);
    std::cout << indented(summary, 2) << indented(details, 2);
    // A token is in the line that was typed.
    const bool is_token = scheduler::is_token(asked.file_or_token);
    if (result.outcome != scheduler::verdict::ok)
      std::cout << "  as a page: " << shell_word(asked.program) << " report "
                << (is_token ? "TOKEN" : shell_word(asked.file_or_token)) << '\n';
    if (!found.note.empty()) std::cout << "  " << found.note << '\n';
  }
  if (all.runs > 1) std::cout << all.equal << " of " << all.runs << " equal digests\n";
}

/// Writes the wait graph; the exit status, 0 when it is written.
int write_dot(const std::string& waits, const std::string& to) {
  if (waits.empty()) return fail(wrong_input, "--dot: nothing waits for anything at the end of this run");
  const auto failed = scheduler::write_whole(to, waits);
  return failed ? fail(cannot_go_on, *failed) : 0;
}

// -- --try ---------------------------------------------------------------------------------------------------------------------------

/// What came of a trace that was followed as far as it fitted.
struct tried {
  scheduler::run_result result;
  std::vector<sim::step_record> steps;
  scheduler::trace made;  ///< of the run that was made, a trace of this build
  std::string left;       ///< scheduler::try_strategy::disagreement
  size_t followed = 0;    ///< recorded answers that were given
  bool same = false;      ///< it ended as the recorded run, be it at another line of the same file
  bool same_line = false;
};

/// "rpc/mailbox.h" of "rpc/mailbox.h:52": lines move when a file is edited.
std::string_view file_of(std::string_view where) { return where.substr(0, where.rfind(':')); }

tried try_run(const recorded_run& found, bool stops) {
  const scheduler::trace& recorded = found.recorded;
  sim::simulation machine;
  scheduler::try_strategy following(recorded.answers);
  scheduler::choice_source choices;
  choices.begin(following, recorded.seed);
  tried made;
  made.result = told_run(machine, found, choices, stops, &made.steps);
  made.left = following.disagreement();
  made.followed = following.followed();
  made.made = trace_header(*found.tested, found.settings, scheduler::shrunk_strategy);
  made.made.seed = recorded.seed;
  made.made.digest = made.result.digest;
  made.made.steps = made.result.steps;
  made.made.answers = choices.recorded();
  scheduler::failure::of(made.result).note_in(made.made);
  made.same_line = scheduler::is_same_failure(recorded, made.result);
  scheduler::trace moved = recorded;
  if (file_of(moved.where) == file_of(made.result.where)) moved.where = made.result.where;
  made.same = scheduler::is_same_failure(moved, made.result);
  return made;
}

std::string verdict_at(scheduler::verdict outcome, const std::string& where) {
  return std::string(to_string(outcome)) + (where.empty() ? "" : " at " + where);
}

void print_json(const recorded_run& found, const tried& all, bool with_steps) {
  json shown = {{"scenario", found.recorded.scenario},
                {"verdict", to_string(all.result.outcome)},
                {"where", all.result.where},
                {"steps", all.result.steps},
                {"digest", digest_digits(all.result.digest)},
                {"message", all.result.message},
                {"report", all.result.report},
                {"waits", all.result.waits},
                {"ok", all.same},
                {"left", all.left},
                {"followed", all.followed},
                {"recorded", found.recorded.answers.size()},
                {"unknown_settings", found.unknown},
                {"token", token_of(all.made)},
                {"note", found.note}};
  if (with_steps) shown["trace"] = steps_as_json(all.steps);
  write_json(shown);
}

void print_text(const recorded_run& found, const tried& all, const invocation& asked) {
  const scheduler::trace& recorded = found.recorded;
  if (asked.show_steps) {
    print_steps(std::cout, all.steps);
    std::cout << '\n';
  }
  std::cout << recorded.scenario << ": " << verdict_at(all.result.outcome, all.result.where) << ", "
            << grouped(all.result.steps) << " steps\n";
  if (!found.note.empty()) std::cout << "  " << found.note << '\n';
  for (const std::string& each : found.unknown) std::cout << "  without " << each << ", which is not valid here\n";
  if (all.left.empty())
    std::cout << "  it fits: all " << grouped(recorded.answers.size()) << " choices\n";
  else
    std::cout << "  it left the recording " << all.left << "; " << grouped(all.followed) << " of "
              << grouped(recorded.answers.size()) << " recorded answers were given in all\n";
  std::cout << "  it ended "
            << (all.same_line ? "as"
                : all.same    ? "at another line, else as"
                              : "otherwise than")
            << " the recorded run: " << verdict_at(recorded.outcome, recorded.where) << '\n'
            << indented(all.result.message, 2);
  const auto [summary, details] = paragraphs(all.result.report);
  std::cout << indented(summary, 2) << indented(details, 2);
  if (all.result.outcome != scheduler::verdict::ok)
    std::cout << how_to_play(all.made, asked.program, {.with_token = true});
}

int try_trace(const invocation& asked) {
  recorded_run found = find_to_try(asked.file_or_token);
  if (!found.error.empty()) return fail(wrong_input, found.error);
  for (const std::string& each : asked.settings)
    if (const auto wrong = found.settings.set(each)) return fail(wrong_input, *wrong);
  if (found.settings.has("assume"))
    if (const auto wrong = sim::wrong_assumption(found.settings.text("assume"))) return fail(wrong_input, *wrong);
  catch_interrupt();
  const tried all = try_run(found, asked.replays.debugged());
  if (asked.json) {
    print_json(found, all, asked.show_steps);
  } else {
    print_text(found, all, asked);
  }
  if (!asked.replays.dot_file.empty())
    if (const int failed = write_dot(all.result.waits, asked.replays.dot_file)) return failed;
  if (interrupt_flag()) return interrupted;
  // With what is assumed it is another program: how it ends is the answer.
  if (!asked.change.assumed.empty())
    return all.result.outcome == scheduler::verdict::ok ? as_expected : not_as_expected;
  if (!all.same)
    return fail(wrong_input, std::string("not the recorded finding: ") +
                                 (all.left.empty() ? "" : "it left the recording " + all.left + ", and ") +
                                 "it ended with " + verdict_at(all.result.outcome, all.result.where) + " instead of " +
                                 verdict_at(found.recorded.outcome, found.recorded.where));
  return found.recorded.outcome == scheduler::verdict::ok ? as_expected : not_as_expected;
}

/// The exit status of a replay that has been told.
int status_of(const scheduler::trace& recorded, const replayed& all) {
  // A doubtful crash that shows elsewhere is the recorded one.
  const copy_page* const page = this_copy();
  const bool shows_elsewhere = page != nullptr && page->watched.note.is_doubtful &&
                               recorded.outcome == scheduler::verdict::crash &&
                               all.first.result.outcome == scheduler::verdict::crash;
  if (shows_elsewhere && !all.disagreement.empty()) {
    std::cerr << "heddle: recorded at " << recorded.where << ": " << damage_shows_anywhere << '\n';
    return not_as_expected;
  }
  if (!all.disagreement.empty()) return fail(wrong_input, "not the recorded run: " + all.disagreement);
  if (interrupt_flag()) return interrupted;
  return recorded.outcome == scheduler::verdict::ok ? as_expected : not_as_expected;
}

}  // namespace

int replay(const invocation& asked) {
  const stops_of_command stops(asked);
  if (!stops.error().empty()) return fail(wrong_input, stops.error());
  const bool tries = asked.try_it || !asked.change.assumed.empty();
  if (tries && !asked.replays.gdb) return try_trace(asked);
  const recorded_run found =
      tries ? find_to_try(asked.file_or_token) : find_recorded(asked.file_or_token, asked.program);
  if (!found.error.empty()) return fail(wrong_input, found.error);
  if (asked.replays.gdb) return become_gdb(asked);
  const scheduler::trace& recorded = found.recorded;

  catch_interrupt();
  const replayed all = run_all(found, asked.repeat, stops.any());
  if (all.runs == 0) return interrupted;
  if (!asked.replays.dot_file.empty() && all.first.disagreement.empty())
    if (const int failed = write_dot(all.first.result.waits, asked.replays.dot_file)) return failed;
  const bool is_crash = all.first.result.outcome == scheduler::verdict::crash;
  if (!asked.json) {
    print_text(found, all, asked);
  } else {
    // What is told is told: where the heap is damaged, to free what it was told by would be another crash.
    auto shown = std::make_unique<json>(as_json(found, all, asked.show_steps));
    auto text = std::make_unique<std::string>(shown->dump(2, ' ', false, json::error_handler_t::replace));
    write_json_text(*text);
    if (is_crash) {
      [[maybe_unused]] const json* const kept = shown.release();
      [[maybe_unused]] const std::string* const kept_text = text.release();
    }
  }
  const int status = status_of(recorded, all);
  // Nor is the rest of the process taken apart.
  if (is_crash) end_copy(std::to_string(finish_output(status)));
  return status;
}

}  // namespace heddle::tools
