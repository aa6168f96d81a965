#include <heddle/tools/cli/table.h>
#include <heddle/tools/report/drawn.h>
#include <heddle/tools/report/explanation.h>
#include <heddle/tools/report/sources.h>
#include <heddle/tools/trial/step_words.h>

#include <algorithm>
#include <set>

namespace heddle::tools {
namespace {

using scheduler::verdict;
using sim::run_record;

constexpr size_t most_waiters = 8;

std::string counted(uint64_t number, const std::string& one, const std::string& many) {
  return grouped(number) + ' ' + (number == 1 ? one : many);
}

/// Where the wave waits when the verdict is certain.
std::string place_of(const run_record& of, uint32_t wave) {
  for (size_t n = of.waits.size(); n-- > 0;) {
    const run_record::wait& one = of.waits[n];
    const bool is_over = one.to != run_record::never && (of.judged == run_record::never || one.to < of.judged);
    if (of.actors[one.actor].wave != wave || is_over || one.from > of.judged || one.calls == run_record::none) continue;
    const auto& lines = of.call_chains[one.calls];
    if (!lines.empty()) return place_in_source(lines.front());
  }
  return {};
}

/// "ports+0x80 (port 0, server's outbox)"
std::string place_in_words(const run_record& of, const std::string& place, const slot_names& names) {
  const auto text = std::find(of.texts.begin(), of.texts.end(), place);
  const auto index = static_cast<uint32_t>(text - of.texts.begin());
  const run_record::step* smallest = nullptr;
  for (const run_record::step& one : of.steps)
    if (one.place == index && (smallest == nullptr || one.size_bytes < smallest->size_bytes)) smallest = &one;
  const std::string part = smallest == nullptr ? "" : part_of(*smallest, of, names);
  return part.empty() ? place : place + " (" + part + ")";
}

std::string waits_for(const run_record& of, const sim::wait_edge& edge, const slot_names& names) {
  const std::string where = place_of(of, edge.from_wave);
  std::string text = edge.from + waits_behind(edge.from);
  if (!where.empty()) text += " at " + where;
  const bool is_place = edge.over.find("+0x") != std::string::npos;
  if (!is_place) return text + " for " + edge.to + " (" + edge.over + ")";
  text += " for a change of " + place_in_words(of, edge.over, names);
  if (edge.supposed) return text + ", which may be up to " + edge.to;
  if (!edge.why.empty()) return text + ", which is up to " + edge.to + " (" + edge.why + ")";
  return text + ", which is up to " + edge.to;
}

std::string circle_of(const run_record& of, const slot_names& names) {
  std::string text;
  for (const size_t n : of.circle) text += (text.empty() ? "" : "; ") + waits_for(of, of.edges[n], names);
  if (text.empty()) return {};
  const bool supposed = std::any_of(of.circle.begin(), of.circle.end(), [&](size_t n) { return of.edges[n].supposed; });
  text += supposed ? ". If so, " : ". So ";
  std::set<std::string> members;
  for (const size_t n : of.circle) members.insert(of.edges[n].from);
  if (members.size() == 1) return text + *members.begin() + waits_behind(*members.begin()) + " for itself.";
  for (const size_t n : of.circle) text += of.edges[n].from + " -> ";
  return text + of.edges[of.circle.front()].from + " is a circle, and nothing in it can be the first to move.";
}

std::string others_of(const run_record& of, const slot_names& names) {
  std::string text;
  size_t told = 0;
  for (size_t n = 0; n < of.edges.size(); ++n) {
    // Of those that are supposed the words below say which are left.
    if (of.edges[n].supposed || std::find(of.circle.begin(), of.circle.end(), n) != of.circle.end()) continue;
    if (++told > most_waiters) continue;
    text += (text.empty() ? "" : "; ") + waits_for(of, of.edges[n], names);
  }
  for (const sim::unknown_wait& one : of.unknown) {
    if (++told > most_waiters) continue;
    text += (text.empty() ? "" : "; ") + one.from + waits_behind(one.from) + " for " +
            place_in_words(of, one.over, names) + ", " + one.why;
  }
  if (text.empty()) return {};
  if (told > most_waiters) text += "; and " + std::to_string(told - most_waiters) + " more like these";
  return (of.circle.empty() ? "" : "Beside them ") + text + ".";
}

std::string lateness_of(const run_record& of) {
  uint64_t old = 0, late = 0, under_way = 0, lost = 0, dropped = 0;
  for (size_t n = 0; n < of.steps.size(); ++n) {
    const run_record::step& one = of.steps[n];
    if (one.is_old) ++old;
    if (one.lost) ++(one.kind == sim::operation_kind::notify ? lost : dropped);
    const bool stores = one.kind == sim::operation_kind::store || one.kind == sim::operation_kind::plain_store ||
                        one.kind == sim::operation_kind::volatile_store || one.kind == sim::operation_kind::notify;
    if (!stores || one.lost) continue;
    if (one.arrived == run_record::never) ++under_way;
    if (one.arrived != run_record::never && one.arrived > of.first_step + n) ++late;
  }
  std::string text;
  const auto add = [&](uint64_t count, const std::string& one, const std::string& many) {
    if (count != 0) text += (text.empty() ? "" : ", ") + counted(count, one, many);
  };
  add(old, "load found an old value", "loads found old values");
  add(late, "store or ring was under way for a while", "stores or rings were under way for a while");
  add(under_way, "store or ring was still under way at the end", "stores or rings were still under way at the end");
  add(lost, "ring was lost", "rings were lost");
  add(dropped, "change was dropped by the link", "changes were dropped by the link");
  return text.empty() ? "" : text + ".";
}

}  // namespace

std::string meaning_of(verdict found) {
  switch (found) {
    case verdict::ok:
      return "The run ended, and nothing was wrong with it.";
    case verdict::deadlock:
      return "Nothing can ever move again.";
    case verdict::progress:
      return "Under this progress model the run never ends: all that is promised a turn waits for what is not.";
    case verdict::livelock:
      return "All that can move does so for ever, and nothing gets done.";
    case verdict::starvation:
      return "An actor that had a right to a turn was passed over too often.";
    case verdict::race:
      return "Two accesses to the same memory are not ordered, and one of them is a plain store or meets one.";
    case verdict::scope_race:
      return "Two accesses to the same memory are not ordered, because a scope is too narrow.";
    case verdict::protocol:
      return "An invariant of the protocol was broken.";
    case verdict::mask:
      return "The mask of a collective and the lanes that came to it disagree.";
    case verdict::memory:
      return "Memory was accessed that may not be.";
    case verdict::assertion:
      return "A check of the program failed.";
    case verdict::budget:
      return "The run was ended before anything was certain; this is no bug by itself.";
    case verdict::crash:
      return "The program did what would have ended its process.";
    case verdict::stuck:
      return "Something ran on, or blocked, without a point at which another could go on.";
    case verdict::unsupported:
      return "The program did what the simulator cannot see. Nothing is known of this run.";
  }
  return {};
}

std::string explanation_of(const run_record& of, const scheduler::run_result& result, const slot_names& names) {
  std::string text;
  const auto add = [&](const std::string& sentences) {
    if (!sentences.empty()) text += (text.empty() ? "" : " ") + sentences;
  };
  std::string message = result.message;
  if (!message.empty() && message + "." != "nothing can ever move again.") {
    message.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(message.front())));
    add(message + ".");
  }
  add(circle_of(of, names));
  add(others_of(of, names));
  if (of.edges.empty() && result.outcome != verdict::ok && !of.steps.empty()) {
    const run_record::step& last = of.steps.back();
    std::string told = "The last step was that of " + of.actors[last.actor].name + ": " + of.texts[last.operation];
    if (last.place != run_record::none) told += " of " + place_in_words(of, of.texts[last.place], names);
    if (!result.where.empty()) told += "; the verdict is about " + result.where;
    add(told + ".");
  }
  if (of.judged != run_record::never)
    add("This was certain after step " + grouped(of.judged) +
        "; what follows shows whether it would end if all had turns.");
  add(lateness_of(of));
  return text;
}

std::vector<std::string> not_recorded(const run_record& of, uint64_t steps, size_t words_left_out) {
  std::vector<std::string> said;
  if (of.first_step > 1)
    said.push_back("The run has " + grouped(steps) + " steps; the page shows those from step " +
                   grouped(of.first_step) + " on.");
  if (of.steps.empty()) said.emplace_back("No step was recorded: nothing of the program was seen to run.");
  if (of.named.empty())
    said.emplace_back(
        "The program does not say where its ports or slots lie (name_ports, name_slots in heddle/tools/scenario.h), so "
        "mailboxes and locks are shown as words of memory.");
  if (words_left_out != 0)
    said.push_back(counted(words_left_out, "more word", "more words") +
                   " of memory that several touch have no column of their own.");
  return said;
}

}  // namespace heddle::tools
