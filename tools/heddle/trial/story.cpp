#include <heddle/scheduler/printable.h>
#include <heddle/tools/trial/hang_advice.h>
#include <heddle/tools/trial/kernel_names.h>
#include <heddle/tools/trial/masks.h>
#include <heddle/tools/trial/race_advice.h>
#include <heddle/tools/trial/step_words.h>
#include <heddle/tools/trial/story.h>
#include <heddle/tools/trial/tried_orders.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace heddle::tools {
namespace {

using sim::operation_kind;
using sim::run_record;

constexpr std::string_view story_heading = "what happened:\n";
constexpr size_t most_sentences = 10;
constexpr uint64_t behind_all = ~uint64_t{0};

std::optional<uint64_t> number_told_in(std::string_view text, size_t from = 0) {
  const uint64_t number = step_told_in(text, from);
  return number == run_record::never ? std::nullopt : std::optional(number);
}

class teller {
 public:
  teller(const run_record& of, const ended_so& how) : of_(of), how_(how), words_(of) {}

  std::vector<std::string> tell() {
    if (of_.steps.empty()) return {};
    tell_all();
    // Which steps are told is known behind that, and so which are to be told apart.
    words_.tell_apart(std::exchange(shown_, {}));
    told_.clear();
    tell_all();
    std::stable_sort(told_.begin(), told_.end(), [](const line& one, const line& other) { return one.at < other.at; });
    std::vector<std::string> sentences;
    // What came of it is told whatever else is.
    for (line& each : told_)
      if (each.at == behind_all) each.is_told = ++count_ != 0;
    for (size_t weight = 0; weight < 3; ++weight)
      for (line& each : told_) {
        if (each.is_told || each.weight != weight || count_ >= most_sentences) continue;
        each.is_told = true;
        ++count_;
      }
    kernel_names kernels(of_);
    for (const line& each : told_)
      if (each.is_told) sentences.push_back(kernels.in(each.text));
    return sentences;
  }

 private:
  struct line {
    uint64_t at = 0;
    size_t weight = 0;  ///< 0 is told first where there is too much
    std::string text;
    bool is_told = false;
  };

  void tell_all() {
    tell_decided();
    for (const uint64_t each : how_.shows) add_step(each, 0);
    if (how_.hangs)
      tell_hang();
    else if (how_.report.find("first access:") != std::string_view::npos)
      tell_race();
    else
      tell_end();
  }

  void add(uint64_t at, size_t weight, std::string text) {
    const bool known = std::any_of(told_.begin(), told_.end(), [&](const line& each) { return each.text == text; });
    if (!known) told_.push_back({.at = at, .weight = weight, .text = std::move(text)});
  }
  void add_step(uint64_t number, size_t weight, const std::string& more = {}) {
    const run_record::step* const one = words_.step_at(number);
    if (one == nullptr || !shown_.insert(number).second) return;
    add(number, weight, words_.name_of(one->actor) + " " + words_.deed_of(*one) + words_.at(number) + more);
  }

  void tell_decided() {
    size_t told = 0;
    for (const std::string& each : how_.odd)
      if (++told <= 3) add(number_told_in(each).value_or(of_.first_step), 0, each);
    told = 0;
    for (const uint64_t number : how_.turns)
      if (++told <= 3) add_step(number, 1);
  }

  /// The last store of another lane that `reader` found behind `from`, and where it did.
  void tell_handover_to(uint32_t reader, uint64_t before, size_t weight) {
    for (uint64_t number = std::min<uint64_t>(before, of_.first_step + of_.steps.size()); number-- > of_.first_step;) {
      const run_record::step& one = *words_.step_at(number);
      if (one.actor != reader || one.reads == run_record::never || one.reads == 0) continue;
      const run_record::step* const store = words_.step_at(one.reads);
      if (store == nullptr || store->actor == reader || shown_.contains(one.reads)) continue;
      add_step(one.reads, weight);
      add_step(number, weight);
      return;
    }
  }

  // -- hangs

  void tell_hang() {
    std::set<uint32_t> told;
    for (const sim::wait_edge& each : of_.edges) tell_wait(each.from_wave, each.over, told);
    for (const sim::unknown_wait& each : of_.unknown) tell_wait(each.from_wave, each.over, told);
    for (const size_t n : of_.circle) tell_call(of_.edges[n]);
    if (of_.circle.empty() && of_.unknown.empty()) tell_round();
    tell_dropped();
    add(behind_all, 0, end_of_hang());
    std::string advice = how_.advice;
    if (advice.empty() && lacks_places()) advice = advice_on_places(of_, words_, how_.report);
    if (const wrong_notice notice = wrong_notice_in(of_, words_); advice.empty() && notice.given != 0) {
      add_step(notice.given, 0);
      advice = notice.advice;
    }
    if (advice.empty()) advice = advice_on_hang(of_, words_, steps_of_round());
    if (advice.empty() && how_.message.starts_with("all that the progress model"))
      advice = advice_on_promise(of_, words_);
    if (!advice.empty()) add(behind_all, 0, advice);
  }

  /// Changes that the link drops; a ring that is lost is told as what the machine decided.
  void tell_dropped() {
    constexpr size_t most = 2;
    size_t told = 0;
    for (size_t n = 0; n < of_.steps.size() && told < most; ++n)
      if (of_.steps[n].lost && of_.steps[n].kind != operation_kind::notify) {
        add_step(of_.first_step + n, 0);
        ++told;
      }
  }

  /// A wait of a circle that is not for memory.
  void tell_call(const sim::wait_edge& each) {
    const wait_sort sort = sort_of(each.over);
    const run_record::wait* const last = last_wait_of(of_, each.from_wave);
    if (last == nullptr || (sort != wait_sort::mutex && sort != wait_sort::end)) return;
    if (const uint64_t locked = sort == wait_sort::mutex ? mutex_held_by(of_, each.to_wave) : 0; locked != 0) {
      shown_.insert(locked);
      add(locked, 0, each.to + " locks a mutex" + words_.at(locked));
    }
    const bool is_known = last->calls != run_record::none && !of_.call_chains[last->calls].empty();
    add(last->from, 0,
        each.from + " waits for " + (sort == wait_sort::mutex ? "that mutex" : "the end of " + each.to) +
            (is_known ? " (" + of_.call_chains[last->calls].front().where() + ")" : ""));
  }

  /// How many steps are repeated for ever; 0: it is another hang.
  uint64_t steps_of_round() const {
    constexpr std::string_view same = "the same ";
    const size_t at = how_.message.find(same);
    uint64_t count = 0;
    if (at != std::string_view::npos)
      std::from_chars(how_.message.data() + at + same.size(), how_.message.data() + how_.message.size(), count);
    return count;
  }

  /// Where nothing is waited for and the same steps come again: what each that takes part changes, and looks at last.
  void tell_round() {
    const uint64_t count = steps_of_round();
    if (count == 0) return;
    const uint64_t end = of_.first_step + of_.steps.size();
    std::set<std::pair<uint32_t, bool>> told;
    for (uint64_t back = 1; back <= std::min<uint64_t>(count, of_.steps.size()); ++back) {
      const uint64_t number = end - back;
      const run_record::step& one = *words_.step_at(number);
      if (one.place == run_record::none || (!one.changes && !one.has_value)) continue;
      if (told.insert({one.actor, one.changes}).second) add_step(number, one.changes ? 1 : 2, ", again and again");
    }
  }

  std::string line_of(const run_record::step& one) const {
    const bool is_known = one.calls != run_record::none && !of_.call_chains[one.calls].empty();
    return is_known ? of_.call_chains[one.calls].front().where() : "";
  }
  void tell_wait(uint32_t wave, const std::string& over, std::set<uint32_t>& told) {
    const bool is_memory = sort_of(over) == wait_sort::memory;
    // A wait for the end of another has no part in it.
    if (!is_memory || !told.insert(wave).second) return;
    const uint64_t certain = of_.judged == run_record::never ? behind_all : of_.judged;
    const run_record::wait* last = nullptr;
    for (const run_record::wait& each : of_.waits)
      if (of_.actors[each.actor].wave == wave && each.from <= certain &&
          (each.to == run_record::never || each.to >= certain))
        last = &each;
    uint32_t actor = last != nullptr ? last->actor : run_record::none;
    uint64_t looked = 0;  // when it looked at the word first, of the looks that found what is there now
    bool has_changed = false;
    for (uint64_t number = of_.first_step + of_.steps.size(); number-- > of_.first_step;) {
      const run_record::step& one = *words_.step_at(number);
      has_changed = has_changed || (looked != 0 && one.actor == actor && one.changes);
      if (of_.actors[one.actor].wave != wave || one.place == run_record::none || !words_.is_at(one, over)) continue;
      const bool stores = one.changes || sim::is_store(one.kind);
      if (looked != 0 && (stores || one.value != words_.step_at(looked)->value)) break;
      // A look at another line, before it went on to change something, was no part of this wait.
      if (has_changed && !stores && line_of(one) != line_of(*words_.step_at(looked))) break;
      if (stores) continue;
      looked = number;
      actor = one.actor;
    }
    if (looked == 0) return;
    const run_record::step& look = *words_.step_at(looked);
    shown_.insert(looked);
    std::string text = words_.name_of(actor) + " " + words_.deed_of(look) + words_.at(looked) +
                       (words_.is_wait_for_notice(look) ? "" : " and waits for a change");
    if (const std::string whose = whose_turn(wave, over); !whose.empty()) text += ", which is " + whose;
    add(looked, 0, text);
    // The store that made it what it is.
    if (look.reads != run_record::never && look.reads != 0 && words_.step_at(look.reads) != nullptr)
      add_step(look.reads, 1);
    tell_handover_to(actor, looked, 2);
    // What it has given to others before.
    for (uint64_t number = looked; number-- > of_.first_step;) {
      const run_record::step& one = *words_.step_at(number);
      if (one.actor != actor || !one.changes || is_plain_access(one.kind)) continue;
      add_step(number, 2);
      break;
    }
  }

  std::string whose_turn(uint32_t wave, const std::string& over) const {
    std::string names;
    bool supposed = false;
    for (const sim::wait_edge& each : of_.edges) {
      if (each.from_wave != wave || each.over != over || each.to == each.from) continue;
      names += (names.empty() ? "" : " or ") + each.to;
      supposed = supposed || each.supposed;
    }
    return names.empty() ? "" : (supposed ? "perhaps up to " : "up to ") + names;
  }

  /// All that wait do so for waves that have no place on the device: no circle of theirs is the reason.
  bool lacks_places() const {
    return how_.message.starts_with("all that has a place") &&
           std::all_of(of_.circle.begin(), of_.circle.end(), [&](size_t n) { return of_.edges[n].supposed; });
  }

  std::string end_of_hang() const {
    if (lacks_places()) return "so " + std::string(how_.message);
    std::string text;
    for (const size_t n : of_.circle)
      text += (text.empty() ? "so " : ", ") + of_.edges[n].from + waits_behind(of_.edges[n].from) + " for " +
              of_.edges[n].to;
    if (text.empty())
      for (const sim::unknown_wait& each : of_.unknown) {
        const bool is_notice = waits_for_notice(of_, each.from_wave) && !is_file_place(each.over);
        text = "so " + each.from + waits_behind(each.from) + (is_notice ? " for notice at " : " for ") +
               words_.part_at(each.over) + ", " + each.why;
        break;
      }
    const std::string end =
        how_.message.starts_with("nothing can ever move") ? "nothing can move" : std::string(how_.message);
    return (text.empty() ? "so " : text + ": ") + end;
  }

  // -- races

  void tell_race() {
    const size_t first_at = how_.report.find("first access:");
    const size_t second_at = how_.report.find("second access", first_at);
    const size_t edge_at = how_.report.find("missing edge: ", first_at);
    if (second_at == std::string_view::npos || edge_at == std::string_view::npos) return tell_end();
    const auto first = number_told_in(how_.report, first_at);
    const auto second = number_told_in(how_.report, second_at);
    const run_record::step* const earlier = first ? words_.step_at(*first) : nullptr;
    const run_record::step* const later = second ? words_.step_at(*second) : nullptr;
    if (earlier == nullptr || later == nullptr) return tell_end();
    add_step(*first, 0);
    const std::string_view edge = how_.report.substr(edge_at);
    const bool has_way =
        edge.find("\n  ") != std::string_view::npos &&
        (edge.find("is read by") != std::string_view::npos || edge.find("is met by") != std::string_view::npos);
    if (has_way)
      tell_way(edge);
    else
      tell_handover_to(later->actor, *second, 2);
    add_step(*second, 0, ", and nothing has ordered that behind step " + std::to_string(*first));
    uint64_t unset = unset_look_of(later->actor, *second);
    if (unset == 0) unset = unset_look_of(earlier->actor, *first);
    if (!has_way && unset != 0) {
      const run_record::step& look = *words_.step_at(unset);
      add_step(unset, 0);
      add(behind_all, 0,
          "missing: a store to " + words_.place_of(look) + " before " + words_.name_of(look.actor) + " reads it at " +
              words_.where(look));
    } else if (!has_way)
      add(behind_all, 0, advice_on_race(of_, words_, *earlier, *later, edge));
  }

  /// The last step before that one in which the lane has looked atomically at a word that nothing has stored to, and gone on by what it found; 0: none.
  uint64_t unset_look_of(uint32_t actor, uint64_t before) const {
    for (uint64_t number = before; number-- > of_.first_step;) {
      const run_record::step& one = *words_.step_at(number);
      if (one.actor == actor && !is_plain_access(one.kind) && is_never_stored(one)) return number;
    }
    return 0;
  }

  /// The store and the load over which the order would come, and what they lack.
  void tell_way(std::string_view edge) {
    const auto store = number_told_in(edge);
    const auto load = number_told_in(edge, std::min(edge.find("is read by"), edge.find("is met by")));
    if (!store || !load || words_.step_at(*store) == nullptr || words_.step_at(*load) == nullptr) return;
    const bool lacks_release = edge.find("no release where") != std::string_view::npos;
    const bool lacks_acquire = edge.find("no acquire where") != std::string_view::npos;
    const run_record::step& lacking = *words_.step_at(lacks_acquire ? *load : *store);
    const std::string& text = of_.texts[lacking.operation];
    add_step(*store, 0, lacks_release ? ": " + text + ", which publishes nothing" : "");
    add_step(*load, 0, lacks_acquire ? ": " + text + ", which acquires nothing" + where_it_fails(text) : "");
    add(behind_all, 0, advice_on_edge(of_, words_, *store, *load, edge));
  }

  // -- what ends otherwise
  void tell_end() {
    const uint64_t last = of_.first_step + of_.steps.size() - 1;
    const run_record::step& one = *words_.step_at(last);
    // What it was told, and by which lane, before it found what is wrong.
    uint64_t before = last + 1;
    for (size_t told = 0; told < 3 && before > of_.first_step; ++told) {
      const size_t count = told_.size();
      tell_handover_to(one.actor, before, 1 + told / 2);
      if (told_.size() == count) break;
      before = std::max_element(told_.begin() + static_cast<ptrdiff_t>(count), told_.end(),
                                [](const line& left, const line& right) { return left.at < right.at; })
                   ->at;
    }
    add_step(last, 1);
    if (how_.message.find(" lane ") != std::string_view::npos) tell_parting(one.actor);
    add(behind_all, 0, "so: " + std::string(how_.message));
    if (const uint64_t end = end_of_named_lane(of_, of_.actors[one.actor].wave, how_.message); end != 0)
      add_step(end, 0, ", and ends without coming there");
    const std::string advice = how_.advice.empty() ? advice_on_mask(how_.message) : how_.advice;
    if (!advice.empty()) add(behind_all, 0, advice);
  }

  /// Where lanes of one wave disagree in the end: the last look by which they parted, at one line, of one word, with two values.
  void tell_parting(uint32_t actor) {
    const uint32_t wave = of_.actors[actor].wave;
    std::map<std::pair<uint32_t, uint64_t>, uint64_t> seen;  // by line and word: the latest step of it
    for (uint64_t number = of_.first_step + of_.steps.size(); number-- > of_.first_step;) {
      const run_record::step& one = *words_.step_at(number);
      if (of_.actors[one.actor].wave != wave || sim::may_write(one.kind) || !one.has_value ||
          one.place == run_record::none || one.calls == run_record::none)
        continue;
      const auto [other, fresh] = seen.try_emplace({one.calls, one.address}, number);
      if (fresh || words_.step_at(other->second)->actor == one.actor ||
          words_.step_at(other->second)->value == one.value)
        continue;
      add_step(number, 0);
      add_step(other->second, 0,
               ": here they part; if all are to do the same, one lane looks and broadcasts what it sees");
      return;
    }
  }

  const run_record& of_;
  const ended_so& how_;
  step_words words_;
  std::vector<line> told_;
  std::set<uint64_t> shown_;
  size_t count_ = 0;
};

}  // namespace

std::vector<std::string> story_of(const run_record& of, const ended_so& how) { return teller(of, how).tell(); }

std::string story_text(const std::vector<std::string>& story) {
  if (story.empty()) return {};
  std::string text(story_heading);
  for (const std::string& each : story) text += "  " + each + '\n';
  return text;
}

std::vector<std::string> story_in(std::string_view report) {
  return report.starts_with(story_heading) ? list_in(report, story_heading.size()) : std::vector<std::string>();
}

std::vector<std::string> list_in(std::string_view report, size_t from) {
  std::vector<std::string> lines;
  while (from < report.size() && report.substr(from, 2) == "  ") {
    const size_t end = std::min(report.find('\n', from), report.size());
    lines.emplace_back(report.substr(from + 2, end - from - 2));
    from = end + 1;
  }
  return lines;
}

}  // namespace heddle::tools
